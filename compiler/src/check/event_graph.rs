//! For one finding, after the fact: everything that must have run before an operation, and a schedule that leads to it.
//!
//! In: a program, and moments of its run: a block's operation, a proxy's request, the start of a launch. Out: the
//! fewest other moments that have to come before, in an order in which they can run. Only execution order counts: a
//! relaxed signal comes before its wait like any other. Where several signals could satisfy a wait, the first ones are
//! taken.
//!
//! The checks do not use this module, so that they can stay lean: all details of a finding are derived from the program
//! again.

mod chains;
mod late;
mod needs;
mod turns;

use super::budget::MOMENTS;
use crate::diagnostic::witness::{self, Event, Step};
use crate::events::{self, BlockSteps, CounterId, Events, StepBuffer};
use crate::ir::counter::CounterKind;
use crate::ir::{BarrierId, BlockId, ChannelId, Op, OriginId, Program, RankId, SemaphoreId};
use crate::source::At;
use chains::Packets;
pub(super) use late::Late;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::ops::Range;

/// A block, a proxy or a user, numbered over all ranks: all blocks, then all proxies, then all users.
pub(super) type Agent = u32;

/// One action of an agent: a block's operation, a proxy's request, or the start or end of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Moment {
    /// In which launch.
    pub(super) launch: u32,
    /// Whose.
    pub(super) agent: Agent,
    /// The block's line or the proxy's request. The number after a block's last line is its end; a user has 0 only.
    pub(super) at: u32,
}

/// A step of a block, by the operation that it comes from. What it does is in [`EventGraph::with_step`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'p> {
    /// The operation.
    pub(super) op: &'p Op,
    /// Where in the block.
    pub(super) step: Step,
    /// Whether others can learn from it what the block did before: it gives something, or is a barrier.
    pub(super) tells: bool,
    /// Whether the block learns from it what others did: it takes something, waits for packets, or is a barrier.
    pub(super) hears: bool,
}

/// A request to a proxy.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// The block and the line that make it.
    block: Agent,
    line: u32,
    /// Whether it moves data, or only sends a signal.
    moves: bool,
}

/// A proxy, and the block that it serves if there are others.
#[derive(Clone, Copy, Debug)]
struct Server {
    block: Option<Agent>,
    proxy: Agent,
}

/// What an agent does in a launch.
#[derive(Clone, Debug)]
enum Chain<'p> {
    Block { rank: RankId, block: BlockId, steps: BlockSteps<'p>, lines: Vec<Line<'p>> },
    Proxy { rank: RankId, channel: ChannelId, requests: Vec<Request> },
    User { rank: RankId },
}

/// Agents and places in their chains, in ascending order.
type Places = Vec<(Agent, u32)>;

/// A program as chains of moments, with the moments that provide what others wait for.
pub(super) struct EventGraph<'p> {
    /// The program.
    pub(super) program: &'p Program,
    events: Events<'p>,
    chains: Vec<Chain<'p>>,
    /// The agents that are a rank's blocks.
    blocks: Vec<Range<Agent>>,
    /// The agents that serve an end of a port channel: one, or one for each block that pushes to it.
    proxies: BTreeMap<(RankId, ChannelId), Vec<Server>>,
    first_user: Agent,
    /// Signals that come in at an end of a channel, and waits for them.
    signals: BTreeMap<(RankId, ChannelId), Places>,
    waits: BTreeMap<(RankId, ChannelId), Places>,
    releases: BTreeMap<(RankId, SemaphoreId), Places>,
    acquires: BTreeMap<(RankId, SemaphoreId), Places>,
    barriers: BTreeMap<(RankId, BarrierId), Places>,
    packets: Packets,
    /// How many cells a chunk has.
    parts: u32,
}

/// The moments that were reached, in an order in which they can run.
pub(super) struct Run<'a, 'p> {
    graph: &'a EventGraph<'p>,
    /// Where several agents write a packet: whose write is waited for; without it, the first one's.
    late: Option<&'a Late>,
    order: Vec<Moment>,
    done: FxHashSet<Moment>,
}

impl<'a, 'p> Run<'a, 'p> {
    /// A run in which nothing has been done yet.
    pub(super) fn new(graph: &'a EventGraph<'p>) -> Run<'a, 'p> {
        Run::by(graph, None)
    }

    /// The same; where several agents write a packet, `late` chooses whose write is waited for.
    pub(super) fn by(graph: &'a EventGraph<'p>, late: Option<&'a Late>) -> Run<'a, 'p> {
        Run { graph, late, order: Vec::new(), done: FxHashSet::default() }
    }

    /// Runs everything that must run before a moment, and the moment itself. False where it is never reached, or not
    /// within the limit.
    pub(super) fn reach(&mut self, target: Moment) -> bool {
        let mut open: FxHashSet<Moment> = FxHashSet::default();
        let mut path: Vec<(Moment, Vec<Moment>)> = Vec::new();
        let mut next = Some(target);
        loop {
            if let Some(moment) = next.take().filter(|moment| !self.done.contains(moment)) {
                let full = self.order.len() + path.len() > MOMENTS.count();
                // A moment that waits for itself is never reached.
                if full || !open.insert(moment) {
                    return false;
                }
                let Some(needs) = self.graph.needs(moment, self.late) else { return false };
                path.push((moment, needs));
            }
            let Some((moment, needs)) = path.last_mut() else { return true };
            next = needs.pop();
            if next.is_none() {
                let moment = *moment;
                path.pop();
                self.pass(moment);
            }
        }
    }

    /// Runs everything that must run before a moment, but not the moment itself. False where it is never reached, or
    /// not within the limit.
    pub(super) fn reach_all_before(&mut self, target: Moment) -> bool {
        let needs = self.graph.needs(target, self.late);
        // The last need is served first.
        needs.is_some_and(|needs| needs.into_iter().rev().all(|one| self.reach(one)))
    }

    /// Marks a moment as done, and with a barrier the moments that meet there.
    fn pass(&mut self, moment: Moment) {
        for moment in std::iter::once(moment).chain(self.graph.meets(moment)) {
            if self.done.insert(moment) {
                self.order.push(moment);
            }
        }
    }

    /// Runs everything before a line of a block that the block never gets past, and lets it arrive there.
    pub(super) fn stand_at(&mut self, moment: Moment) -> bool {
        let before = match moment.at.checked_sub(1) {
            Some(at) => Moment { at, ..moment },
            None => self.graph.start(self.graph.rank(moment.agent), moment.launch),
        };
        let reached = self.reach(before);
        if reached {
            self.order.push(moment);
        }
        reached
    }

    /// Whether a moment was reached.
    pub(super) fn has(&self, moment: Moment) -> bool {
        self.done.contains(&moment)
    }

    /// All moments that were reached, in order.
    pub(super) fn moments(&self) -> &[Moment] {
        &self.order
    }
}

impl<'p> EventGraph<'p> {
    /// A block's agent.
    fn block(&self, rank: RankId, block: BlockId) -> Agent {
        self.blocks.get(rank.0 as usize).map_or(0, |agents| agents.start) + block.0
    }

    /// The agents that are blocks.
    pub(super) fn all_blocks(&self) -> Range<Agent> {
        0..self.blocks.last().map_or(0, |agents| agents.end)
    }

    /// A block's operation in the first launch.
    pub(super) fn at_step(&self, rank: RankId, block: BlockId, step: Step) -> Option<Moment> {
        let agent = self.block(rank, block);
        let at = self.lines(agent).iter().position(|line| line.step == step)?;
        Some(Moment { launch: 0, agent, at: at as u32 })
    }

    /// The start of a launch on a rank, which is also the end of the previous one.
    pub(super) fn start(&self, rank: RankId, launch: u32) -> Moment {
        Moment { launch, agent: self.first_user + rank.0, at: 0 }
    }

    /// The operations of a block, in order; empty for other agents.
    pub(super) fn lines(&self, agent: Agent) -> &[Line<'p>] {
        match self.chain(agent) {
            Some(Chain::Block { lines, .. }) => lines,
            Some(Chain::Proxy { .. } | Chain::User { .. }) | None => &[],
        }
    }

    /// The program's steps.
    pub(super) fn events(&self) -> &Events<'p> {
        &self.events
    }

    /// The rank whose signals arrive at a counter; none for semaphores.
    pub(super) fn peer_of(&self, counter: CounterId) -> Option<RankId> {
        let counter = self.events.counter(counter)?;
        let CounterKind::Channel(channel) = counter.kind else { return None };
        self.program.ranks.lookup(counter.rank)?.channels.lookup(channel)?.peer()
    }

    /// Looks at a step of a block; none for other agents, and beyond the last step.
    pub(super) fn with_step<T>(
        &self,
        agent: Agent,
        at: u32,
        look: impl FnOnce(&events::Step) -> T,
    ) -> Option<T> {
        let Chain::Block { steps, .. } = self.chain(agent)? else { return None };
        let mut buffer = StepBuffer::default();
        self.events.lower_step(steps, at.into(), &mut buffer).map(|step| look(&step))
    }

    fn chain(&self, agent: Agent) -> Option<&Chain<'p>> {
        self.chains.get(agent as usize)
    }

    /// The block and the line that a moment belongs to: for a request, those that made it; none for a user.
    pub(super) fn line(&self, moment: Moment) -> Option<(Agent, u32)> {
        match self.chain(moment.agent)? {
            Chain::Block { .. } => Some((moment.agent, moment.at)),
            Chain::Proxy { requests, .. } => {
                requests.get(moment.at as usize).map(|request| (request.block, request.line))
            }
            Chain::User { .. } => None,
        }
    }

    /// The proxy's request that is its `count`-th one to move data.
    pub(super) fn moving(&self, agent: Agent, count: u32) -> Option<u32> {
        let Some(Chain::Proxy { requests, .. }) = self.chain(agent) else { return None };
        let mut moving = requests.iter().enumerate().filter(|(_, request)| request.moves);
        moving.nth(count as usize).map(|(at, _)| at as u32)
    }

    /// How many cells a chunk has.
    pub(super) fn parts(&self) -> u32 {
        self.parts
    }

    /// The index of a proxy's moment among the requests of its line.
    pub(super) fn entry(&self, moment: Moment) -> Option<usize> {
        let (agent, at) = self.line(moment)?;
        let Chain::Proxy { channel, .. } = self.chain(moment.agent)? else { return None };
        self.with_step(agent, at, |step| {
            let mut requests = step.requests.iter().filter(|request| request.put.is_some());
            requests.position(|request| request.channel == *channel)
        })?
    }

    /// Whether an agent is a proxy.
    pub(super) fn is_proxy(&self, agent: Agent) -> bool {
        matches!(self.chain(agent), Some(Chain::Proxy { .. }))
    }

    /// The rank of an agent.
    pub(super) fn rank(&self, agent: Agent) -> RankId {
        match self.chain(agent) {
            Some(
                Chain::Block { rank, .. } | Chain::Proxy { rank, .. } | Chain::User { rank, .. },
            ) => *rank,
            None => RankId::default(),
        }
    }

    /// A moment as an event of a witness.
    pub(super) fn event(&self, moment: Moment) -> Event {
        let line = self.line(moment);
        let lines = line.and_then(|(agent, at)| self.lines(agent).get(at as usize));
        let block = line.map_or(0, |(agent, _)| self.number(agent));
        let agent = match self.chain(moment.agent) {
            Some(Chain::Block { .. }) => witness::Agent::Block(block),
            Some(Chain::Proxy { channel, .. }) => {
                witness::Agent::Proxy { channel: channel.0, block }
            }
            Some(Chain::User { .. }) | None => witness::Agent::User,
        };
        Event {
            launch: moment.launch,
            rank: self.rank(moment.agent).0,
            agent,
            step: lines.map(|line| line.step),
            place: lines.map(|line| self.program.origins.place(line.op.origin)),
        }
    }

    /// The place of a moment's operation; none for a user.
    pub(super) fn at(&self, moment: Moment) -> Option<At> {
        let (agent, at) = self.line(moment)?;
        let line = self.lines(agent).get(at as usize)?;
        Some(self.program.origins.at(line.op.origin))
    }

    /// A block's name.
    pub(super) fn block_name(&self, agent: Agent) -> &'p str {
        let Some(Chain::Block { rank, block, .. }) = self.chain(agent) else { return "" };
        let row = self.program.ranks.lookup(*rank).and_then(|row| row.blocks.lookup(*block));
        row.map_or("", |row| &row.name)
    }

    /// The first operation of a block that comes from an origin.
    pub(super) fn first_from(
        &self,
        rank: RankId,
        block: BlockId,
        origin: OriginId,
    ) -> Option<Moment> {
        let agent = self.block(rank, block);
        let at = self.lines(agent).iter().position(|line| line.op.origin == origin)?;
        Some(Moment { launch: 0, agent, at: at as u32 })
    }

    /// A block's number on its rank.
    pub(super) fn number(&self, agent: Agent) -> u32 {
        match self.chain(agent) {
            Some(Chain::Block { block, .. }) => block.0,
            Some(Chain::Proxy { .. } | Chain::User { .. }) | None => 0,
        }
    }
}
