//! One run through a program, in one order that its waits allow, with what every block knows on the way.
//!
//! A block is an agent, and so is the proxy behind each port channel: it does what was pushed to it, in order, at some
//! later time, knowing what the pushing thread knew. A thread of a block knows what all its threads knew when they met
//! last, and what it has heard of since.

use super::access::{self, Access, Element};
use super::cells::{Cells, Place, Share, Touch};
use super::clock::{self, Agent, Clock, Flow};
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
    /// E0515
    Launches,
}

/// How a launch leaves things.
pub(super) struct After<'p> {
    cells: Vec<Cells<'p>>,
    packets: FxHashMap<(RankId, u64), Packet<'p>>,
    ends: Vec<Clock>,
    /// What was found.
    pub(super) conflicts: Vec<Conflict<'p>>,
}

/// A packet of this launch.
#[derive(Clone, Debug)]
struct Packet<'p> {
    /// What had been run when it was written.
    clock: Rc<Clock>,
    flow: Rc<Flow>,
    readers: Vec<Touch<'p>>,
}

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
    arrived: bool,
}

#[derive(Default)]
struct Counter {
    given: Vec<Rc<Clock>>,
    givers: Vec<Agent>,
    taken: usize,
}

struct Machine<'p, 'b> {
    program: &'p Program,
    parts: u32,
    before: Option<&'b After<'p>>,
    cells: Vec<Cells<'p>>,
    packets: FxHashMap<(RankId, u64), Packet<'p>>,
    signals: Table<RankId, Vec<Counter>>,
    semaphores: Table<RankId, Vec<Counter>>,
    /// The agent of each port channel's proxy, and how often it was pushed.
    proxies: Table<RankId, Vec<(Agent, u32)>>,
    owners: Vec<RankId>,
    /// The agents that are a rank's blocks.
    blocks_of: Table<RankId, Range<Agent>>,
    /// Whether it is followed what memory was made from: only packets tell of it.
    follows: bool,
    /// How many flows there are.
    flows: u32,
    conflicts: Vec<Conflict<'p>>,
}

/// Who does an access, and what is known then.
struct Actor<'c, 'p> {
    agent: Agent,
    rank: RankId,
    step: u32,
    clock: &'c Clock,
    op: &'p Op,
}

/// Runs a program; none if it stands still or is no longer wanted. With the launch before, conflicts with it are found
/// too.
pub(super) fn run<'p>(
    program: &'p Program,
    parts: u32,
    before: Option<&After<'p>>,
    interrupt: &Interrupt,
) -> Option<After<'p>> {
    let mut blocks: Vec<Block<'p>> = Vec::new();
    let mut owners = Vec::new();
    for (rank, row) in program.ranks.entries() {
        for block in &row.blocks {
            owners.push(rank);
            blocks.push(Block {
                rank,
                steps: steps(program, &block.ops, parts),
                at: 0,
                base: Clock::default(),
                threads: Vec::new(),
                learnt: Clock::default(),
                arrived: false,
            });
        }
    }
    let mut machine = Machine::new(program, parts, before, owners);
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

impl<'p, 'b> Machine<'p, 'b> {
    fn new(
        program: &'p Program,
        parts: u32,
        before: Option<&'b After<'p>>,
        mut owners: Vec<RankId>,
    ) -> Self {
        let mut proxies: Table<RankId, Vec<(Agent, u32)>> = Table::default();
        for (rank, row) in program.ranks.entries() {
            let mut list = Vec::new();
            for channel in &row.channels {
                list.push((owners.len() as Agent, 0));
                if channel.kind() == ChannelKind::Port {
                    owners.push(rank);
                }
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
            owners,
            blocks_of,
            follows: has_packets(program),
            flows: 0,
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
            Action::Wait(signal) => {
                self.wait(block, agent as Agent, &signal.channels, signal.relaxed)
            }
            Action::Flush(_) => true,
            Action::Release(list) => {
                for (thread, id) in list.iter().enumerate() {
                    self.release(block, agent as Agent, thread as u8, *id);
                }
                true
            }
            Action::Acquire(list) => self.acquire(block, agent as Agent, list),
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
        clock.ran(agent, block.at as u32);
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

    fn wait(
        &mut self,
        block: &mut Block<'p>,
        _agent: Agent,
        channels: &[ChannelId],
        relaxed: bool,
    ) -> bool {
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
        let at = block.at as u32;
        let mut clock = block.thread(thread).clone();
        clock.ran(agent, at);
        if let Some(counter) = counters(&mut self.semaphores, block.rank, id.index()) {
            counter.give(agent, clock);
        }
    }

    fn acquire(&mut self, block: &mut Block<'p>, _agent: Agent, list: &[SemaphoreId]) -> bool {
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
            false => {
                let base = block.base.clone();
                let mut learnt = std::mem::take(&mut block.learnt);
                for element in &elements {
                    let actor = Actor {
                        agent,
                        rank: block.rank,
                        step: block.at as u32,
                        clock: &base,
                        op: step.op,
                    };
                    self.element(&actor, element, &mut learnt);
                }
                block.learnt = learnt;
            }
        }
        true
    }

    /// One element: what it reads, then what it writes. What its packets tell is known to its own writes at once, and
    /// goes into `learnt` for the block.
    fn element(&mut self, actor: &Actor<'_, 'p>, element: &Element, learnt: &mut Clock) {
        let mut parts: SmallVec<[Rc<Flow>; 2]> = SmallVec::new();
        let mut told = None;
        for read in element.reads.iter().filter(|read| read.packet) {
            let touch = touch(actor, element, read, false);
            let Some(packet) = self.packets.get_mut(&(read.place.rank, read.place.cell)) else {
                continue;
            };
            packet.readers.push(touch);
            parts.push(Rc::clone(&packet.flow));
            for clock in [told.get_or_insert_with(|| actor.clock.clone()), &mut *learnt] {
                clock.merge_run(&packet.clock);
                clock.consume(&packet.flow);
            }
        }
        let actor = Actor { clock: told.as_ref().unwrap_or(actor.clock), ..*actor };
        for read in element.reads.iter().filter(|read| !read.packet) {
            self.plain(&actor, read, touch(&actor, element, read, false), None);
            parts.extend(self.made_from(read.place));
        }
        let flow = self.flow((actor.agent, actor.step, element.number), parts);
        let mut run = None;
        for write in &element.writes {
            let touch = touch(&actor, element, write, true);
            match write.packet {
                false => self.plain(&actor, write, touch, flow.as_ref()),
                true => {
                    self.check_packet_launch(&actor, write, touch);
                    let clock = run.get_or_insert_with(|| Rc::new(run_by(&actor)));
                    if let Some(flow) = &flow {
                        let packet = Packet {
                            clock: Rc::clone(clock),
                            flow: Rc::clone(flow),
                            readers: Vec::new(),
                        };
                        self.packets.insert((write.place.rank, write.place.cell), packet);
                    }
                }
            }
        }
    }

    /// What was made by an element; followed only where there are packets to tell of it.
    fn flow(
        &mut self,
        element: clock::Element,
        parts: SmallVec<[Rc<Flow>; 2]>,
    ) -> Option<Rc<Flow>> {
        self.flows += 1;
        self.follows.then(|| Rc::new(Flow { id: self.flows, element, parts }))
    }

    /// What a cell holds was made by this.
    fn made_from(&self, place: Place) -> Option<Rc<Flow>> {
        self.cells.get(place.rank.index())?.get(place.buffer, place.cell)?.made_from.clone()
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
            let base = block.base.clone();
            for element in elements {
                let reads = Element { writes: Vec::new(), ..element.clone() };
                let actor = Actor { agent, rank, step: block.at as u32, clock: &base, op: step.op };
                let mut learnt = std::mem::take(&mut block.learnt);
                self.element(&actor, &reads, &mut learnt);
                block.learnt = learnt;
            }
            block.meet(agent);
        }
        for (thread, channel) in transfer.channels.iter().enumerate() {
            let (proxy, pushed) = self.proxy(rank, *channel);
            let mut clock = block.thread(thread as u8).clone();
            clock.ran(agent, block.at as u32);
            clock.join(proxy, pushed);
            for element in elements.iter().filter(|element| element.entry == thread) {
                let actor = Actor { agent: proxy, rank, step: pushed, clock: &clock, op: step.op };
                let mut learnt = Clock::default();
                self.element(&actor, element, &mut learnt);
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

    /// An access to plain memory.
    fn plain(
        &mut self,
        actor: &Actor<'_, 'p>,
        access: &Access,
        touch: Touch<'p>,
        made_from: Option<&Rc<Flow>>,
    ) {
        let place = access.place;
        if place.rank != actor.rank && !self.started(actor.clock, place.rank) {
            self.conflicts.push(Conflict {
                kind: Kind::Start,
                first: touch,
                second: touch,
                place,
                relaxed: false,
            });
            return;
        }
        if place.buffer == Buffer::Scratch {
            self.check_launch(actor, touch, place);
        }
        let Some(cell) = self
            .cells
            .get_mut(place.rank.index())
            .and_then(|cells| cells.get_mut(place.buffer, place.cell))
        else {
            return;
        };
        let mut earlier: Vec<Touch<'p>> = cell.write.into_iter().collect();
        if touch.write {
            earlier.extend(cell.reads.iter().copied());
            cell.write = Some(touch);
            cell.made_from = made_from.cloned();
            cell.reads.clear();
        } else {
            cell.reads.push(touch);
        }
        for first in earlier {
            if !ordered(actor.clock, &first, &touch) {
                let relaxed = actor.clock.has_run(first.agent, first.step);
                let kind = if first.agent == touch.agent { Kind::Threads } else { Kind::Race };
                self.conflicts.push(Conflict { kind, first, second: touch, place, relaxed });
            }
        }
    }

    /// Whether a rank is known to have started this launch.
    fn started(&self, clock: &Clock, rank: RankId) -> bool {
        self.blocks_of.lookup(rank).is_some_and(|agents| clock.has_run_any(agents.clone()))
    }

    /// Scratch in the launch before: what touched it must be known to be done.
    fn check_launch(&mut self, actor: &Actor<'_, 'p>, touch: Touch<'p>, place: Place) {
        let Some(before) = self.before else { return };
        let Some(cell) = before
            .cells
            .get(place.rank.index())
            .and_then(|cells| cells.get(place.buffer, place.cell))
        else {
            return;
        };
        let earlier = cell.write.iter().chain(cell.reads.iter().filter(|_| touch.write));
        let late = earlier.copied().find(|first| !self.ended(before, actor, first, false));
        if let Some(first) = late {
            self.conflicts.push(Conflict {
                kind: Kind::Launches,
                first,
                second: touch,
                place,
                relaxed: false,
            });
        }
    }

    /// Packets of the launch before (or, in doubled scratch, of the one before that): their readers must be done.
    fn check_packet_launch(&mut self, actor: &Actor<'_, 'p>, write: &Access, touch: Touch<'p>) {
        let Some(before) = self.before else { return };
        let Some(packet) = before.packets.get(&(write.place.rank, write.place.cell)) else {
            return;
        };
        let doubled = self.program.options.double_scratch;
        let late =
            packet.readers.iter().copied().find(|first| !self.ended(before, actor, first, doubled));
        if let Some(first) = late {
            let place = write.place;
            self.conflicts.push(Conflict {
                kind: Kind::Launches,
                first,
                second: touch,
                place,
                relaxed: false,
            });
        }
    }

    /// Whether something of an earlier launch is known to be done: the end of that launch on some rank knows it, and
    /// that rank is known to have started this one, or with another launch between, to have started that.
    fn ended(
        &self,
        before: &After<'p>,
        actor: &Actor<'_, 'p>,
        first: &Touch<'p>,
        launch_between: bool,
    ) -> bool {
        let knows = |rank: RankId| {
            before.ends.get(rank.index()).is_some_and(|end| {
                end.has_run(first.agent, first.step) || end.knows(first.agent, first.step)
            })
        };
        if knows(actor.rank) {
            return true;
        }
        // Mostly it is the rank itself that did it.
        let own_end = before.ends.get(actor.rank.index()).filter(|_| launch_between);
        let clocks = || std::iter::once(actor.clock).chain(own_end);
        if knows(first.rank) && clocks().any(|clock| self.started(clock, first.rank)) {
            return true;
        }
        clocks().any(|clock| {
            clock.agents().filter_map(|agent| self.owners.get(agent as usize).copied()).any(&knows)
        })
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
        After { cells: self.cells, packets: self.packets, ends, conflicts: self.conflicts }
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
    }

    /// What a thread knows.
    fn thread(&mut self, thread: u8) -> &mut Clock {
        let index = usize::from(thread);
        if self.threads.len() <= index {
            self.threads.resize(index + 1, None);
        }
        let base = &self.base;
        #[expect(clippy::indexing_slicing, reason = "resized just now")]
        self.threads[index].get_or_insert_with(|| base.clone())
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

/// What has been run once this element has.
fn run_by(actor: &Actor) -> Clock {
    let mut clock = actor.clock.execution_only();
    clock.ran(actor.agent, actor.step);
    clock
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

fn touch<'p>(actor: &Actor<'_, 'p>, element: &Element, access: &Access, write: bool) -> Touch<'p> {
    Touch {
        agent: actor.agent,
        rank: actor.rank,
        step: actor.step,
        element: element.number,
        write,
        share: access.share,
        base: access.base,
        op: actor.op,
    }
}

/// Whether a clock knows of an access: its effect, or that what it read was consumed.
fn known(clock: &Clock, touch: &Touch) -> bool {
    clock.knows(touch.agent, touch.step)
        || !touch.write && clock.consumed((touch.agent, touch.step, touch.element))
}

/// Whether the second access, made with this knowledge, comes after the first.
fn ordered(clock: &Clock, first: &Touch, second: &Touch) -> bool {
    let same_operation = first.agent == second.agent && first.step == second.step;
    let same_thread = first.agent == second.agent
        && first.share == second.share
        && first.share != Share::Other
        && first.base == second.base;
    same_operation && first.element == second.element || same_thread || known(clock, first)
}
