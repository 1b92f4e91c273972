//! Lays out a program as chains: what each agent does in a launch, and who provides what others
//! wait for.

use super::{Agent, Chain, EventGraph, Line, Places, Request, Server};
use crate::check::budget::LINES;
use crate::check::pushers;
use crate::diagnostic::witness::Step;
use crate::ir::memory::{Group, covered, extents, groups, writes_packets};
use crate::ir::windows::{Windows, choose_windows};
use crate::ir::{Action, ChannelId, ChannelKind, Op, Operand, Program, RankId, Transfer};
use crate::table::Id;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Range;

/// Who writes the packets of each cell of scratch.
pub(super) type Packets = FxHashMap<(RankId, u64), Places>;

impl<'p> EventGraph<'p> {
    /// Lays out a program whose chunks are cut into `parts` parts; none where it is too large.
    pub(in crate::check) fn new(program: &'p Program, parts: u32) -> Option<EventGraph<'p>> {
        let windows = choose_windows(program);
        let mut graph = EventGraph {
            program,
            chains: Vec::new(),
            blocks: Vec::new(),
            proxies: BTreeMap::new(),
            first_user: 0,
            signals: BTreeMap::new(),
            waits: BTreeMap::new(),
            releases: BTreeMap::new(),
            acquires: BTreeMap::new(),
            barriers: BTreeMap::new(),
            packets: Packets::default(),
            parts,
        };
        let mut rows = 0;
        for (rank, row) in program.ranks.entries() {
            let first = graph.chains.len() as Agent;
            for (block, row) in row.blocks.entries() {
                let lines = lines(&windows, &row.ops, parts, &mut rows)?;
                graph.chains.push(Chain::Block { rank, block, lines });
            }
            graph.blocks.push(first..graph.chains.len() as Agent);
        }
        graph.add_proxies();
        graph.first_user = graph.chains.len() as Agent;
        graph.chains.extend(program.ranks.ids().map(|rank| Chain::User { rank }));
        let mut index = Index { graph, rows };
        index.blocks()?;
        Some(index.graph)
    }

    /// Adds the proxies of each end of a port channel, numbered as the checks for races number them: if several blocks push
    /// to it, a proxy for each of them, and then as many queues, in which nothing happens here.
    fn add_proxies(&mut self) {
        for (rank, row) in self.program.ranks.entries() {
            let shared: BTreeMap<_, _> = pushers::several(rank, row).into_iter().collect();
            let ports = row.channels.entries().filter(|(_, c)| c.kind() == ChannelKind::Port);
            for (channel, _) in ports {
                let blocks = match shared.get(&(rank, channel)) {
                    Some(blocks) => {
                        blocks.iter().map(|block| Some(self.block(rank, *block))).collect()
                    }
                    None => vec![None],
                };
                let queues = if blocks.len() > 1 { blocks.len() } else { 0 };
                let first = self.chains.len() as Agent;
                let servers = (first..).zip(&blocks);
                let servers = servers.map(|(proxy, block)| Server { block: *block, proxy });
                self.proxies.insert((rank, channel), servers.collect());
                let none = Chain::Proxy { rank, channel, requests: Vec::new() };
                self.chains.extend(vec![none; blocks.len() + queues]);
            }
        }
    }
}

/// Operations in the order in which they run, pipelines unrolled.
fn lines<'p>(
    windows: &Windows,
    ops: &'p [Op],
    parts: u32,
    rows: &mut usize,
) -> Option<Vec<Line<'p>>> {
    let mut lines = Vec::with_capacity(ops.len());
    for (operation, op) in (0..).zip(ops) {
        let Action::Pipeline(pipeline) = &op.action else {
            lines.push(Line { op, step: Step { operation, inner: None }, window: None });
            continue;
        };
        for turn in 0..windows.turns(pipeline) {
            *rows += pipeline.body.len();
            if *rows > LINES.count() {
                return None;
            }
            for (k, op) in (0..).zip(&pipeline.body) {
                let step = Step { operation, inner: Some((k, turn as u32)) };
                let window = Some(windows.window(pipeline, turn, parts));
                lines.push(Line { op, step, window });
            }
        }
    }
    *rows += ops.len();
    (*rows <= LINES.count()).then_some(lines)
}

/// Records who signals, waits, releases, acquires and writes packets.
struct Index<'p> {
    graph: EventGraph<'p>,
    rows: usize,
}

impl<'p> Index<'p> {
    /// All blocks, in order; none where there are too many packets.
    fn blocks(&mut self) -> Option<()> {
        for agent in self.graph.all_blocks() {
            let rank = self.graph.rank(agent);
            for at in 0..self.graph.lines(agent).len() {
                let Some(line) = self.graph.lines(agent).get(at).cloned() else { continue };
                self.line(rank, (agent, at as u32), &line)?;
            }
        }
        Some(())
    }

    fn line(&mut self, rank: RankId, me: (Agent, u32), line: &Line<'p>) -> Option<()> {
        let op: &'p Op = line.op;
        match &op.action {
            Action::Signal(signal) => {
                signal.channels.iter().for_each(|channel| self.signal(rank, *channel, me, false));
            }
            Action::Wait(signal) => {
                for channel in &signal.channels {
                    self.graph.waits.entry((rank, *channel)).or_default().push(me);
                }
            }
            Action::Acquire(list) => {
                for id in list {
                    self.graph.acquires.entry((rank, *id)).or_default().push(me);
                }
            }
            Action::Release(list) => {
                for id in list {
                    self.graph.releases.entry((rank, *id)).or_default().push(me);
                }
            }
            Action::Barrier { id, .. } => {
                self.graph.barriers.entry((rank, *id)).or_default().push(me);
            }
            Action::Transfer(transfer) => return self.transfer(rank, me, line, transfer),
            Action::Flush(list) if self.graph.program.flush_waits => {
                for channel in list {
                    self.request(rank, *channel, me, false);
                }
            }
            Action::Sync | Action::Flush(_) | Action::Pipeline(_) => {}
        }
        Some(())
    }

    /// A signal over a channel, sent by its proxy if it has one.
    fn signal(&mut self, rank: RankId, channel: ChannelId, me: (Agent, u32), moved: bool) {
        let giver = self.request(rank, channel, me, moved).unwrap_or(me);
        let end =
            self.graph.program.ranks.lookup(rank).and_then(|row| row.channels.lookup(channel));
        if let Some((peer, there)) = end.and_then(|end| Some((end.peer()?, end.partner?))) {
            self.graph.signals.entry((peer, there)).or_default().push(giver);
        }
    }

    /// A request to a channel's proxy, if it has one.
    fn request(
        &mut self,
        rank: RankId,
        channel: ChannelId,
        (block, line): (Agent, u32),
        moves: bool,
    ) -> Option<(Agent, u32)> {
        let mut servers = self.graph.proxies.get(&(rank, channel))?.iter();
        let proxy = servers.find(|one| one.block.is_none_or(|served| served == block))?.proxy;
        let Some(Chain::Proxy { requests, .. }) = self.graph.chains.get_mut(proxy as usize) else {
            return None;
        };
        requests.push(Request { block, line, moves });
        Some((proxy, requests.len() as u32 - 1))
    }

    fn transfer(
        &mut self,
        rank: RankId,
        me: (Agent, u32),
        line: &Line<'p>,
        transfer: &'p Transfer,
    ) -> Option<()> {
        let port = transfer.via == Some(ChannelKind::Port);
        let signals = transfer.verb.signals();
        let mut writers = Vec::new();
        for channel in transfer.channels.iter().filter(|_| port) {
            match signals {
                true => self.signal(rank, *channel, me, true),
                false => {
                    writers.extend(self.request(rank, *channel, me, true));
                }
            }
        }
        for (k, group) in groups(transfer).iter().enumerate() {
            let writer = if port { writers.get(k).copied() } else { Some(me) };
            for (_, operand) in
                group.destinations.iter().filter(|(i, _)| writes_packets(transfer.verb, *i))
            {
                let cells = range(transfer, line, group, self.graph.parts);
                each_packet(
                    self.graph.program,
                    rank,
                    operand,
                    &cells,
                    self.graph.parts,
                    &mut |at| {
                        self.graph.packets.entry(at).or_default().extend(writer);
                        self.rows += 1;
                    },
                );
            }
            if self.rows > LINES.count() {
                return None;
            }
        }
        Some(())
    }
}

/// The cells of a group's operands that a line covers, counted from their first one.
pub(super) fn range(transfer: &Transfer, line: &Line, group: &Group, parts: u32) -> Range<u64> {
    let size = group.destinations.first().map_or(0, |(_, operand)| operand.size);
    covered(transfer.slice, line.window.as_ref(), u64::from(size) * u64::from(parts))
}

/// The packets that an operand consists of.
pub(super) fn each_packet(
    program: &Program,
    here: RankId,
    operand: &Operand,
    cells: &Range<u64>,
    parts: u32,
    visit: &mut dyn FnMut((RankId, u64)),
) {
    for extent in extents(&program.ranks, here, *operand) {
        let first = extent.start * u64::from(parts);
        cells.clone().for_each(|cell| visit((extent.rank, first + cell)));
    }
}

impl EventGraph<'_> {
    /// The agents that are a rank's blocks.
    pub(in crate::check) fn blocks_of(&self, rank: RankId) -> Range<Agent> {
        self.blocks.get(rank.index()).cloned().unwrap_or_default()
    }
}
