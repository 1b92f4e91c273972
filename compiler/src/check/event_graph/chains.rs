//! Lays out a program as chains: what each agent does in a launch, and who provides what others
//! wait for.

use super::{Agent, Chain, EventGraph, Line, Places, Request, Server};
use crate::check::budget::LINES;
use crate::check::pushers;
use crate::diagnostic::witness::Step;
use crate::events::{
    self, BlockSteps, CellForm, CounterId, Events, Give, ProxyRequest, SizeClass, StepBuffer,
};
use crate::ir::counter::CounterKind;
use crate::ir::grain::Grain;
use crate::ir::windows::choose_windows;
use crate::ir::{ChannelKind, Program, RankId};
use crate::table::Id;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Range;

/// Who writes the packets of each cell of scratch.
pub(super) type Packets = FxHashMap<(RankId, u64), Places>;

impl<'p> EventGraph<'p> {
    /// Lays out a program whose chunks are cut into `parts` parts; none where it is too large.
    pub(in crate::check) fn new(program: &'p Program, parts: u32) -> Option<EventGraph<'p>> {
        let grain = Grain::parts(parts);
        let windows = choose_windows(program);
        let events = Events::new(program, SizeClass::Symbolic { grain, windows });
        let mut graph = EventGraph {
            program,
            events,
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
            for block in row.blocks.ids() {
                let steps = graph.events.block_steps(rank, block);
                rows = usize::try_from(steps.len()).ok()?.checked_add(rows)?;
                if rows > LINES.count() {
                    return None;
                }
                let lines = graph.list_lines(&steps);
                graph.chains.push(Chain::Block { rank, block, steps, lines });
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

    /// Where each step of a block comes from.
    fn list_lines(&self, steps: &BlockSteps<'p>) -> Vec<Line<'p>> {
        let mut buffer = StepBuffer::default();
        let mut lines = Vec::new();
        for at in 0..steps.len() {
            let Some(op) = self.events.operation(steps, at) else { continue };
            let Some(step) = self.events.lower_step(steps, at, &mut buffer) else { continue };
            let inner = step.site.inner.map(|inner| (inner.operation, inner.turn));
            lines.push(Line {
                op,
                step: Step { operation: step.site.operation, inner },
                tells: tells_others(&step),
                hears: hears_others(&step),
            });
        }
        lines
    }

    /// Adds the proxies of each end of a port channel, numbered as the checks for races number them: if several blocks push
    /// to it, a proxy for each of them, and then as many queues, in which nothing happens here.
    fn add_proxies(&mut self) {
        for (rank, row) in self.program.ranks.entries() {
            let shared = pushers::list_shared_ports(&self.events, rank);
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

/// Whether others can learn from a step what its block did before.
fn tells_others(step: &events::Step) -> bool {
    let mut requests = step.requests.iter();
    !step.gives.is_empty()
        || step.arrival.is_some()
        || requests.any(|request| request.signal.is_some())
}

/// Whether a block learns from a step what others did.
fn hears_others(step: &events::Step) -> bool {
    let mut reads = step.moves.iter().flat_map(|one| step.reads(one));
    !step.takes.is_empty()
        || step.arrival.is_some()
        || reads.any(|extent| extent.form == CellForm::Packets)
}

/// Records who signals, waits, releases, acquires and writes packets.
struct Index<'p> {
    graph: EventGraph<'p>,
    rows: usize,
}

impl<'p> Index<'p> {
    /// All blocks, in order; none where there are too many packets.
    fn blocks(&mut self) -> Option<()> {
        let mut buffer = StepBuffer::default();
        for agent in self.graph.all_blocks() {
            let Some(Chain::Block { rank, steps, .. }) = self.graph.chain(agent) else { continue };
            let (rank, steps) = (*rank, steps.clone());
            for at in 0..steps.len() {
                self.graph.events.lower_step(&steps, at, &mut buffer);
                if let Some(step) = buffer.step() {
                    self.add_step(rank, (agent, at as u32), &step)?;
                }
            }
        }
        Some(())
    }

    fn add_step(&mut self, rank: RankId, me: (Agent, u32), step: &events::Step) -> Option<()> {
        for take in step.takes {
            self.add_take(take.counter, me);
        }
        let mut writers = Vec::new();
        for request in step.requests {
            let made = self.request(rank, request, me);
            writers.extend(request.put.zip(made));
            if let Some(signal) = &request.signal {
                self.add_give(signal, made.unwrap_or(me));
            }
        }
        for give in step.gives {
            self.add_give(give, me);
        }
        if let Some(barrier) =
            step.arrival.and_then(|arrival| self.graph.events.barrier(arrival.meeting))
        {
            let key = (barrier.rank, barrier.barrier);
            self.graph.barriers.entry(key).or_default().push(me);
        }
        let is_pushed = step.is_pushed();
        for (number, one) in (0..).zip(step.moves) {
            let pushed = writers.iter().find(|(put, _)| *put == number).map(|(_, made)| *made);
            let writer = if is_pushed { pushed } else { Some(me) };
            let packets = step.writes(one).iter().filter(|extent| extent.form.is_packets());
            for extent in packets {
                for cell in extent.start..extent.start.saturating_add(one.elements) {
                    self.graph.packets.entry((extent.rank, cell)).or_default().extend(writer);
                    self.rows += 1;
                }
            }
            if self.rows > LINES.count() {
                return None;
            }
        }
        Some(())
    }

    fn add_take(&mut self, counter: CounterId, me: (Agent, u32)) {
        let Some(counter) = self.graph.events.counter(counter) else { return };
        let places = match counter.kind {
            CounterKind::Channel(id) => self.graph.waits.entry((counter.rank, id)).or_default(),
            CounterKind::Semaphore(id) => {
                self.graph.acquires.entry((counter.rank, id)).or_default()
            }
        };
        places.push(me);
    }

    fn add_give(&mut self, give: &Give, giver: (Agent, u32)) {
        let Some(counter) = give.counter.and_then(|id| self.graph.events.counter(id)) else {
            return;
        };
        let places = match counter.kind {
            CounterKind::Channel(id) => self.graph.signals.entry((counter.rank, id)).or_default(),
            CounterKind::Semaphore(id) => {
                self.graph.releases.entry((counter.rank, id)).or_default()
            }
        };
        places.push(giver);
    }

    /// A request to a channel's proxy, if it has one.
    fn request(
        &mut self,
        rank: RankId,
        request: &ProxyRequest,
        (block, line): (Agent, u32),
    ) -> Option<(Agent, u32)> {
        let mut servers = self.graph.proxies.get(&(rank, request.channel))?.iter();
        let proxy = servers.find(|one| one.block.is_none_or(|served| served == block))?.proxy;
        let Some(Chain::Proxy { requests, .. }) = self.graph.chains.get_mut(proxy as usize) else {
            return None;
        };
        requests.push(Request { block, line, moves: request.put.is_some() });
        Some((proxy, requests.len() as u32 - 1))
    }
}

impl EventGraph<'_> {
    /// The agents that are a rank's blocks.
    pub(in crate::check) fn blocks_of(&self, rank: RankId) -> Range<Agent> {
        self.blocks.get(rank.index()).cloned().unwrap_or_default()
    }
}
