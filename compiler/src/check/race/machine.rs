//! One run through a program, in one order that its waits allow, with what every block knows on the way.
//!
//! A block is an agent, and so is the proxy behind each port channel: it does what was pushed to it, in order, at some
//! later time, knowing what the pushing thread knew. A thread of a block knows what all its threads knew when they met
//! last, and what it has heard of since.

use super::access::{self, Element, Lane};
use super::cells::{Cells, Place, Touch};
use super::clock::{Agent, Clock, Flow};
use super::overlay;
use super::step::{Step, steps};
use crate::interrupt::Interrupt;
use crate::ir::{
    Action, Buffer, ChannelId, ChannelKind, Op, Program, RankId, SemaphoreId, Transfer, Verb,
    memory, run,
};
use crate::table::{Id, Table};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ops::Range;
use std::rc::Rc;

/// Two accesses that nothing orders.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conflict<'p> {
    /// What kind it is.
    pub(super) kind: Kind,
    /// The one that came first in the run.
    pub(super) first: Touch<'p>,
    /// The other one; the same one where only one is to be told of.
    pub(super) second: Touch<'p>,
    /// Where they meet.
    pub(super) place: Place,
    /// Whether execution is ordered, and only memory is not.
    pub(super) relaxed: bool,
}

/// The kinds of conflict: see the codes of [`super`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// E0501
    Race,
    /// E0503
    Threads,
    /// E0510
    Start,
    /// E0512
    End,
    /// E0520
    Unwritten,
    /// E0521
    Twice,
    /// E0515
    Launches,
}

/// How a launch leaves things.
pub(super) struct After<'p> {
    pub(super) cells: Vec<Cells<'p>>,
    pub(super) packets: FxHashMap<(RankId, u64), Packet<'p>>,
    pub(super) ends: Vec<Clock>,
    /// How many flows there are.
    flows: u32,
    /// What was found.
    pub(super) conflicts: Vec<Conflict<'p>>,
}

/// A packet of this launch.
#[derive(Clone, Debug)]
pub(super) struct Packet<'p> {
    /// What had been run when it was written; where there are several writers, by all of them.
    pub(super) clock: Rc<Clock>,
    /// What it was made from, if all writers agree.
    pub(super) flow: Option<Rc<Flow>>,
    /// Who wrote it.
    pub(super) writers: SmallVec<[Touch<'p>; 1]>,
    /// Who read it.
    pub(super) readers: Vec<Touch<'p>>,
}

/// So many threads have a packet each of the smallest operation.
const FIRST_THREADS: usize = 2;

struct Block<'p> {
    rank: RankId,
    steps: Vec<Step<'p>>,
    at: usize,
    /// What all threads know.
    base: Clock,
    /// What single threads know beyond that.
    threads: Vec<Option<Clock>>,
    /// What the elements of the last operations have learnt, which all threads know once they meet.
    learnt: Clock,
    /// The same by the threads that have learnt it, as far as operations follow in which threads are told apart.
    lanes: FxHashMap<Lane, Clock>,
    /// What the first threads have learnt.
    first: Clock,
    arrived: bool,
}

#[derive(Default)]
struct Counter {
    given: Vec<Rc<Clock>>,
    givers: Vec<Agent>,
    taken: usize,
}

pub(super) struct Machine<'p, 'b> {
    pub(super) program: &'p Program,
    pub(super) parts: u32,
    pub(super) before: Option<&'b After<'p>>,
    pub(super) cells: Vec<Cells<'p>>,
    pub(super) packets: FxHashMap<(RankId, u64), Packet<'p>>,
    signals: Table<RankId, Vec<Counter>>,
    semaphores: Table<RankId, Vec<Counter>>,
    /// The agent of each port channel's proxy, and how often it was pushed.
    proxies: Table<RankId, Vec<(Agent, u32)>>,
    /// The agents that are a rank's blocks.
    pub(super) blocks_of: Table<RankId, Range<Agent>>,
    /// Whether it is followed what memory was made from: only packets tell of it.
    pub(super) follows: bool,
    /// Whether packets lie where plain chunks of scratch do.
    pub(super) mixed: bool,
    /// The first agent that is no block.
    pub(super) first_proxy: Agent,
    /// What had been run by the last step that wrote packets.
    pub(super) stamp: Option<(Agent, u32, Rc<Clock>)>,
    /// How many flows there are.
    pub(super) flows: u32,
    pub(super) conflicts: Vec<Conflict<'p>>,
}

/// Who does an access, and what is known then.
pub(super) struct Actor<'c, 'p> {
    pub(super) agent: Agent,
    pub(super) rank: RankId,
    pub(super) step: u32,
    pub(super) clock: &'c Clock,
    /// What it has been told by packets of its own beside that.
    pub(super) heard: Option<&'c Clock>,
    pub(super) op: &'p Op,
}

/// Runs a program; none if it stands still or is no longer wanted. With the launch before, conflicts with it are found
/// too.
pub(super) fn run<'p>(
    program: &'p Program,
    parts: u32,
    before: Option<&After<'p>>,
    interrupt: &Interrupt,
) -> Option<After<'p>> {
    let windows = run::windows(program);
    let mut blocks: Vec<Block<'p>> = Vec::new();
    for (rank, row) in program.ranks.entries() {
        for block in &row.blocks {
            blocks.push(Block {
                rank,
                steps: steps(program, &windows, &block.ops, parts),
                at: 0,
                base: Clock::default(),
                threads: Vec::new(),
                learnt: Clock::default(),
                lanes: FxHashMap::default(),
                first: Clock::default(),
                arrived: false,
            });
        }
    }
    let mut machine = Machine::new(program, parts, before, blocks.len() as Agent);
    let mut moved = true;
    while moved {
        moved = false;
        if interrupt.is_set() {
            return None;
        }
        for agent in 0..blocks.len() {
            while machine.step(&mut blocks, agent) {
                moved = true;
            }
        }
    }
    if blocks.iter().any(|block| block.at < block.steps.len()) {
        return None;
    }
    Some(machine.finish(blocks))
}

impl<'c> Actor<'c, '_> {
    /// All that it knows.
    pub(super) fn clocks(&self) -> impl Iterator<Item = &'c Clock> + use<'c> {
        std::iter::once(self.clock).chain(self.heard)
    }
}

impl<'p, 'b> Machine<'p, 'b> {
    fn new(
        program: &'p Program,
        parts: u32,
        before: Option<&'b After<'p>>,
        mut next: Agent,
    ) -> Self {
        let mut proxies: Table<RankId, Vec<(Agent, u32)>> = Table::default();
        let first_proxy = next;
        for row in &program.ranks {
            let mut list = Vec::new();
            for channel in &row.channels {
                list.push((next, 0));
                next += Agent::from(channel.kind() == ChannelKind::Port);
            }
            proxies.push(list);
        }
        let mut first = 0;
        let blocks_of = program.ranks.iter().map(|rank| {
            let agents = first..first + rank.blocks.len() as Agent;
            first = agents.end;
            agents
        });
        let blocks_of = blocks_of.collect();
        let counters =
            |count: usize| -> Vec<Counter> { (0..count).map(|_| Counter::default()).collect() };
        Machine {
            program,
            parts,
            before,
            cells: program.ranks.iter().map(|_| Cells::default()).collect(),
            packets: FxHashMap::default(),
            signals: program.ranks.iter().map(|rank| counters(rank.channels.len())).collect(),
            semaphores: program.ranks.iter().map(|rank| counters(rank.semaphores.len())).collect(),
            proxies,
            blocks_of,
            follows: has_packets(program),
            mixed: overlay::mixed(program),
            first_proxy,
            stamp: None,
            flows: before.map_or(0, |before| before.flows),
            conflicts: Vec::new(),
        }
    }

    /// Does a block's next step, if it can.
    fn step(&mut self, blocks: &mut [Block<'p>], agent: usize) -> bool {
        let Some(block) = blocks.get_mut(agent) else { return false };
        let Some(step) = block.steps.get(block.at).cloned() else { return false };
        if step.joined {
            block.meet(agent as Agent);
        }
        let done = match &step.op.action {
            Action::Sync => {
                block.meet(agent as Agent);
                true
            }
            Action::Barrier { id, .. } => {
                block.meet(agent as Agent);
                block.arrived = true;
                return self.barrier(blocks, agent, id.index());
            }
            Action::Signal(signal) => {
                for (thread, channel) in signal.channels.iter().enumerate() {
                    self.signal(block, agent as Agent, thread as u8, *channel, signal.relaxed);
                }
                true
            }
            Action::Wait(signal) => self.wait(block, &signal.channels, signal.relaxed),
            Action::Flush(_) => true,
            Action::Release(list) => {
                for (thread, id) in list.iter().enumerate() {
                    self.release(block, agent as Agent, thread as u8, *id);
                }
                true
            }
            Action::Acquire(list) => self.acquire(block, list),
            Action::Transfer(transfer) => self.transfer(block, agent as Agent, &step, transfer),
            Action::Pipeline(_) => true,
        };
        if done {
            block.at += 1;
        }
        done
    }

    fn barrier(&mut self, blocks: &mut [Block<'p>], agent: usize, id: usize) -> bool {
        let Some(rank) = blocks.get(agent).map(|block| block.rank) else { return false };
        let first = self.blocks_of[rank].start as usize;
        let members = self.program.ranks[rank].barriers.iter().nth(id);
        let members: Vec<usize> =
            members.into_iter().flatten().map(|block| first + block.index()).collect();
        let at_it = |block: &Block| {
            block.arrived
                && block.steps.get(block.at).is_some_and(
                    |step| matches!(&step.op.action, Action::Barrier { id: there, .. } if there.index() == id),
                )
        };
        if !members.iter().all(|member| blocks.get(*member).is_some_and(at_it)) {
            return false;
        }
        let mut all = Clock::default();
        for member in &members {
            if let Some(block) = blocks.get_mut(*member) {
                // The barrier itself has happened for everyone behind it.
                block.base.join(*member as Agent, block.at as u32 + 1);
                all.merge(&block.base);
            }
        }
        for member in &members {
            if let Some(block) = blocks.get_mut(*member) {
                block.base = all.clone();
                block.arrived = false;
                block.at += 1;
            }
        }
        true
    }

    fn signal(
        &mut self,
        block: &mut Block<'p>,
        agent: Agent,
        thread: u8,
        channel: ChannelId,
        relaxed: bool,
    ) {
        let row = &self.program.ranks[block.rank].channels[channel];
        let (Some(peer), Some(there)) = (row.peer(), row.partner) else { return };
        let port = row.kind() == ChannelKind::Port;
        let mut clock = block.thread(thread).clone();
        clock.start(agent);
        if port {
            let (proxy, pushed) = self.proxy(block.rank, channel);
            clock.join(proxy, pushed);
        }
        // A port channel is always strong.
        let clock = if relaxed && !port { clock.execution_only() } else { clock };
        if let Some(counter) = counters(&mut self.signals, peer, there.index()) {
            counter.give(agent, clock);
        }
    }

    fn proxy(&self, rank: RankId, channel: ChannelId) -> (Agent, u32) {
        self.proxies[rank].get(channel.index()).copied().unwrap_or((0, 0))
    }

    fn wait(&mut self, block: &mut Block<'p>, channels: &[ChannelId], relaxed: bool) -> bool {
        let rank = block.rank;
        let ready = channels.iter().all(|channel| {
            counters(&mut self.signals, rank, channel.index())
                .is_some_and(|counter| counter.taken < counter.given.len())
        });
        if !ready {
            return false;
        }
        for (thread, channel) in channels.iter().enumerate() {
            let port = self.program.ranks[rank].channels[*channel].kind() == ChannelKind::Port;
            let Some(counter) = counters(&mut self.signals, rank, channel.index()) else {
                continue;
            };
            counter.taken += 1;
            let Some(heard) = counter.heard(counter.taken) else { continue };
            let own = block.thread(thread as u8);
            match relaxed && !port {
                true => own.merge_run(&heard),
                false => own.merge(&heard),
            }
        }
        true
    }

    fn release(&mut self, block: &mut Block<'p>, agent: Agent, thread: u8, id: SemaphoreId) {
        let mut clock = block.thread(thread).clone();
        clock.start(agent);
        if let Some(counter) = counters(&mut self.semaphores, block.rank, id.index()) {
            counter.give(agent, clock);
        }
    }

    fn acquire(&mut self, block: &mut Block<'p>, list: &[SemaphoreId]) -> bool {
        let rank = block.rank;
        let initial = |program: &Program, id: SemaphoreId| {
            program.ranks[rank].semaphores[id].initial.max(0) as usize
        };
        let ready = list.iter().all(|id| {
            let start = initial(self.program, *id);
            counters(&mut self.semaphores, rank, id.index())
                .is_some_and(|counter| counter.taken < counter.given.len() + start)
        });
        if !ready {
            return false;
        }
        for (thread, id) in list.iter().enumerate() {
            let start = initial(self.program, *id);
            let Some(counter) = counters(&mut self.semaphores, rank, id.index()) else { continue };
            counter.taken += 1;
            let heard = counter.heard(counter.taken.saturating_sub(start));
            if let Some(heard) = heard {
                block.thread(thread as u8).merge(&heard);
            }
        }
        true
    }

    fn transfer(
        &mut self,
        block: &mut Block<'p>,
        agent: Agent,
        step: &Step<'p>,
        transfer: &'p Transfer,
    ) -> bool {
        let elements = access::elements(self.program, block.rank, transfer, step, self.parts);
        let packets = |element: &Element| {
            element.reads.iter().all(|read| {
                !read.packet || self.packets.contains_key(&(read.place.rank, read.place.cell))
            })
        };
        if !elements.iter().all(packets) {
            return false;
        }
        match transfer.via == Some(ChannelKind::Port) {
            true => self.push(block, agent, step, transfer, &elements),
            false => self.elements(block, agent, step, transfer, &elements),
        }
        true
    }

    /// What the threads of a block do, each its elements.
    fn elements(
        &mut self,
        block: &mut Block<'p>,
        agent: Agent,
        step: &Step<'p>,
        transfer: &Transfer,
        elements: &[Element],
    ) {
        let several = elements.last().is_some_and(|element| element.entry > 0);
        let followed =
            block.steps.get(block.at + 1).is_some_and(|next| !next.joined && !meets(next));
        for element in elements {
            let actor = Actor {
                agent,
                rank: block.rank,
                step: block.at as u32,
                clock: &block.base,
                heard: block.lanes.get(&element.lane),
                op: step.op,
            };
            let goes_on = followed || several;
            let Some(told) = self.element(&actor, element, goes_on) else { continue };
            block.learnt.merge_told(&told);
            if !goes_on {
                continue;
            }
            // A chunk has packets for two threads at least; a slice may have none.
            if element.lane.at == 0 && transfer.slice.is_none() {
                block.first.merge_steps(&told);
            }
            block.lanes.insert(element.lane, told);
        }
    }

    /// What is pushed to a proxy: done later, but with no more knowledge than the pushing thread has now.
    fn push(
        &mut self,
        block: &mut Block<'p>,
        agent: Agent,
        step: &Step<'p>,
        transfer: &'p Transfer,
        elements: &[Element],
    ) {
        let rank = block.rank;
        let reads_first = transfer.verb == Verb::ReadPutPackets;
        if reads_first {
            // All threads read the packets and meet before one of them pushes.
            let reads = elements.iter().map(|e| Element { writes: Vec::new(), ..e.clone() });
            let reads: Vec<Element> = reads.collect();
            self.elements(block, agent, step, transfer, &reads);
            block.meet(agent);
        }
        for (thread, channel) in transfer.channels.iter().enumerate() {
            let (proxy, pushed) = self.proxy(rank, *channel);
            let mut clock = block.thread(thread as u8).clone();
            clock.start(agent);
            clock.join(proxy, pushed);
            for element in elements.iter().filter(|element| element.entry == thread) {
                let actor = Actor {
                    agent: proxy,
                    rank,
                    step: pushed,
                    clock: &clock,
                    heard: None,
                    op: step.op,
                };
                self.element(&actor, element, false);
            }
            if let Some(slot) = proxy_slot(&mut self.proxies, rank, channel.index()) {
                slot.1 += 1;
            }
            match transfer.verb {
                Verb::PutWithSignal => self.signal(block, agent, thread as u8, *channel, false),
                Verb::PutWithSignalAndFlush => {
                    self.signal(block, agent, thread as u8, *channel, false);
                    block.thread(thread as u8).join(proxy, pushed + 1);
                }
                Verb::Copy
                | Verb::Put
                | Verb::Get
                | Verb::Reduce
                | Verb::Broadcast
                | Verb::PutPackets
                | Verb::ReadPutPackets
                | Verb::CopyPackets
                | Verb::UnpackPackets
                | Verb::ReducePackets
                | Verb::BroadcastPackets => {}
            }
        }
    }

    /// What is left when all blocks have ended, and what their user then meets.
    fn finish(mut self, blocks: Vec<Block<'p>>) -> After<'p> {
        let mut ends: Vec<Clock> = self.program.ranks.iter().map(|_| Clock::default()).collect();
        for (agent, mut block) in blocks.into_iter().enumerate() {
            block.meet(agent as Agent);
            block.base.join(agent as Agent, block.at as u32);
            if let Some(end) = ends.get_mut(block.rank.index()) {
                end.merge(&block.base);
            }
        }
        for (index, (cells, end)) in self.cells.iter().zip(&ends).enumerate() {
            for buffer in [Buffer::Input, Buffer::Output] {
                for (number, cell) in cells.buffer(buffer).iter().enumerate() {
                    for touch in cell.write.iter().chain(&cell.reads) {
                        if known(end, touch) {
                            continue;
                        }
                        let rank = RankId::from_index(index);
                        let place = Place { rank, buffer, cell: number as u64 };
                        let relaxed = end.has_run(touch.agent, touch.step);
                        let conflict = Conflict {
                            kind: Kind::End,
                            first: *touch,
                            second: *touch,
                            place,
                            relaxed,
                        };
                        self.conflicts.push(conflict);
                    }
                }
            }
        }
        After {
            cells: self.cells,
            packets: self.packets,
            ends,
            flows: self.flows,
            conflicts: self.conflicts,
        }
    }
}

impl Block<'_> {
    /// All threads meet: each learns what any knows.
    fn meet(&mut self, agent: Agent) {
        for thread in self.threads.drain(..).flatten() {
            self.base.merge(&thread);
        }
        let learnt = std::mem::take(&mut self.learnt);
        self.base.merge(&learnt);
        self.base.join(agent, self.at as u32);
        self.lanes.clear();
        self.first = Clock::default();
    }

    /// What a thread knows.
    fn thread(&mut self, thread: u8) -> &mut Clock {
        let index = usize::from(thread);
        if self.threads.len() <= index {
            self.threads.resize(index + 1, None);
        }
        let base = &self.base;
        #[expect(clippy::indexing_slicing, reason = "resized just now")]
        let clock = self.threads[index].get_or_insert_with(|| base.clone());
        if index < FIRST_THREADS {
            clock.merge_steps(&self.first);
        }
        clock
    }
}

impl Counter {
    fn give(&mut self, giver: Agent, clock: Clock) {
        self.given.push(Rc::new(clock));
        if !self.givers.contains(&giver) {
            self.givers.push(giver);
        }
    }

    /// What the `count`-th taker knows: with one giver all that was given up to there; with several only where it took
    /// all there are, since their order depends on the schedule.
    fn heard(&self, count: usize) -> Option<Rc<Clock>> {
        if self.givers.len() > 1 {
            if count < self.given.len() {
                return None;
            }
            let mut all = Clock::default();
            self.given.iter().for_each(|clock| all.merge(clock));
            return Some(Rc::new(all));
        }
        count.checked_sub(1).and_then(|at| self.given.get(at)).cloned()
    }
}

/// Whether an operation is a meeting of its block's threads.
fn meets(step: &Step) -> bool {
    matches!(step.op.action, Action::Sync | Action::Barrier { .. })
}

/// Whether any operation writes packets.
fn has_packets(program: &Program) -> bool {
    let mut found = false;
    for block in program.ranks.iter().flat_map(|rank| &rank.blocks) {
        run::each_op(&block.ops, &mut |op| {
            if let Action::Transfer(transfer) = &op.action {
                found |= memory::accesses(transfer).any(|access| access.packets);
            }
        });
    }
    found
}

fn counters(
    table: &mut Table<RankId, Vec<Counter>>,
    rank: RankId,
    index: usize,
) -> Option<&mut Counter> {
    table.iter_mut().nth(rank.index())?.get_mut(index)
}

fn proxy_slot(
    table: &mut Table<RankId, Vec<(Agent, u32)>>,
    rank: RankId,
    index: usize,
) -> Option<&mut (Agent, u32)> {
    table.iter_mut().nth(rank.index())?.get_mut(index)
}

/// Whether a clock knows of an access: its effect, or that what it read was consumed.
pub(super) fn known(clock: &Clock, touch: &Touch) -> bool {
    clock.knows(touch.agent, touch.step)
        || !touch.write && clock.consumed((touch.agent, touch.step, touch.element))
}

/// Whether a clock knows that an access was made, visible or not.
pub(super) fn past(clock: &Clock, touch: &Touch) -> bool {
    clock.has_run(touch.agent, touch.step) || clock.heard((touch.agent, touch.step, touch.element))
}
