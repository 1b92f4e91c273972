//! The threads of blocks, each of which does one piece of one step at a time.

use super::Writer;
use super::machine::{DelayedStore, Key, Machine};
use super::memory::{Spot, Stretch, page};
use super::proxy::{Put, Request};
use crate::events::{
    Arrival, CounterId, Give, MemoryExtent, MemoryReach, Move, ProxyRequest, Step, StepBuffer,
    Strength, Take,
};
use crate::ir::Buffer;
use crate::ir::counter::CounterKind;
use std::rc::Rc;

/// After one of how many pieces a store that was held back comes without a reason.
const COMES: u64 = 8;

/// How far a thread has come in its launch.
#[derive(Default)]
pub(super) struct Thread {
    /// Its step.
    pub(super) at: u64,
    /// How often it has met the other threads of its block.
    pub(super) meetings: u64,
    /// Whether it has met them before this step, where they meet before a step.
    has_met: bool,
    /// How many entries of its lists it has done, or the index of its current move.
    entry: usize,
    /// Its next piece of that move.
    piece: u64,
    /// How many bytes of that piece it has done: the packets of the others are not there yet.
    done: u64,
    /// The number of the signal, or of the request, that it waits for.
    ticket: Option<u64>,
    /// Its step, once it has begun it.
    lowered: Option<Rc<StepBuffer>>,
}

/// The result of a thread's turn.
enum Turn {
    /// It has more to do here.
    On,
    /// It is done with the step.
    Next,
    Waits(Key),
    /// It continues when others let it.
    Stands,
}

/// Where a thread is.
#[derive(Clone, Copy)]
struct Position {
    agent: usize,
    block: usize,
    thread: usize,
    launch: u32,
    writer: Writer,
}

/// Some bytes of a move.
#[derive(Clone, Copy)]
struct Piece {
    start: u64,
    bytes: u64,
}

impl Machine<'_, '_> {
    /// A thread's turn. An operation that refers to something that does not exist does nothing.
    pub(super) fn thread(&mut self, agent: usize) {
        match self.act(agent).unwrap_or(Turn::Next) {
            Turn::On => self.ready.add(agent),
            Turn::Next => self.advance(agent),
            Turn::Waits(key) => self.park(agent, key),
            Turn::Stands => {}
        }
    }

    fn advance(&mut self, agent: usize) {
        if let Some(thread) = self.threads.get_mut(agent) {
            let (at, meetings) = (thread.at + 1, thread.meetings);
            *thread = Thread { at, meetings, ..Thread::default() };
        }
        self.settle(agent);
    }

    /// The step of a thread, lowered once for all threads of a block that are at it together.
    fn current_step(&mut self, agent: usize, block: usize) -> Option<Rc<StepBuffer>> {
        let thread = self.threads.get(agent)?;
        if let Some(lowered) = &thread.lowered {
            return Some(Rc::clone(lowered));
        }
        let at = thread.at;
        let lowered = self.lower_step(block, at)?;
        self.threads.get_mut(agent)?.lowered = Some(Rc::clone(&lowered));
        Some(lowered)
    }

    fn act(&mut self, agent: usize) -> Option<Turn> {
        let (block, thread) = self.place(agent);
        let lowered = self.current_step(agent, block)?;
        let step = lowered.step()?;
        let state = self.blocks.get(block)?;
        let (rank, launch) = (state.rank, self.ranks.get(state.rank.0 as usize)?.launch);
        let writer = Writer { rank, block: state.block, origin: step.origin };
        let here = Position { agent, block, thread, launch, writer };
        let progress = self.threads.get(agent)?;
        // Before the first step of a launch, the threads are together.
        if step.joined && progress.at > 0 && !progress.has_met {
            return Some(self.meet_before(here));
        }
        if let Some(arrival) = step.arrival {
            return self.arrive(here, arrival);
        }
        if step.is_join {
            return Some(self.meet(here));
        }
        if !step.takes.is_empty() {
            return self.take(here, step.takes);
        }
        if !step.requests.is_empty() {
            return self.push(here, &step);
        }
        if !step.gives.is_empty() {
            return self.give_next(here, step.gives);
        }
        self.do_piece(here, &step)
    }

    /// The thread's next entry of a list. Entries are divided among the threads in
    /// turn, as far as they are handled at all.
    fn own<'l, T>(&self, here: Position, list: &'l [T]) -> Option<&'l T> {
        let entry = self.threads.get(here.agent).map_or(0, |thread| thread.entry);
        let own = here.thread + entry * self.shape.threads;
        list.get(own).filter(|_| own < self.entries)
    }

    /// The thread is done with one entry of a list.
    fn done(&mut self, here: Position) -> Turn {
        if let Some(thread) = self.threads.get_mut(here.agent) {
            thread.entry += 1;
            (thread.piece, thread.done, thread.ticket) = (0, 0, None);
        }
        Turn::On
    }

    fn meet(&mut self, here: Position) -> Turn {
        if self.all_are_here(here.block) {
            self.pass(here.block);
        }
        Turn::Stands
    }

    /// The threads meet before they begin their step.
    fn meet_before(&mut self, here: Position) -> Turn {
        if self.all_are_here(here.block) {
            for agent in self.agents_of(here.block) {
                if let Some(thread) = self.threads.get_mut(agent) {
                    thread.meetings += 1;
                    thread.has_met = true;
                }
                self.settle(agent);
            }
        }
        Turn::Stands
    }

    fn all_are_here(&mut self, block: usize) -> bool {
        let Some(state) = self.blocks.get_mut(block) else { return false };
        state.met = (state.met + 1) % self.shape.threads;
        state.met == 0
    }

    /// Lets all threads of a block continue from where they met.
    fn pass(&mut self, block: usize) {
        for agent in self.agents_of(block) {
            if let Some(thread) = self.threads.get_mut(agent) {
                thread.meetings += 1;
            }
            self.advance(agent);
        }
    }

    fn arrive(&mut self, here: Position, arrival: Arrival) -> Option<Turn> {
        if !self.all_are_here(here.block) {
            return Some(Turn::Stands);
        }
        self.store_all(here.block);
        let arrived = self.arrived.get_mut(arrival.meeting.0 as usize)?;
        arrived.push(here.block);
        if arrived.len() >= arrival.arrivals as usize {
            let arrived = std::mem::take(arrived);
            arrived.into_iter().for_each(|block| self.pass(block));
        }
        Some(Turn::Stands)
    }

    fn take(&mut self, here: Position, takes: &[Take]) -> Option<Turn> {
        let Some(take) = self.own(here, takes) else { return Some(Turn::Next) };
        let is_there = match self.counter_kind(take.counter)? {
            CounterKind::Channel(_) => self.take_signal(here, take.counter)?,
            CounterKind::Semaphore(_) => self.acquire(take.counter)?,
        };
        Some(if is_there { self.done(here) } else { Turn::Waits(Key::Counter(take.counter)) })
    }

    /// Who waits on a channel gets the next signal that nobody else waits for.
    fn take_signal(&mut self, here: Position, counter: CounterId) -> Option<bool> {
        let waits = self.waits.get_mut(counter.0 as usize)?;
        let ticket = self.threads.get_mut(here.agent)?.ticket.get_or_insert_with(|| {
            *waits += 1;
            *waits
        });
        let come = *self.counters.get(counter.0 as usize)?;
        Some(u64::try_from(come).is_ok_and(|come| come >= *ticket))
    }

    fn acquire(&mut self, counter: CounterId) -> Option<bool> {
        let value = self.counters.get_mut(counter.0 as usize)?;
        let is_there = *value > 0;
        *value -= i64::from(is_there);
        Some(is_there)
    }

    fn give_next(&mut self, here: Position, gives: &[Give]) -> Option<Turn> {
        let Some(give) = self.own(here, gives) else { return Some(Turn::Next) };
        if give.strength == Strength::Strong {
            self.store_known(here.block, here.thread);
        }
        self.give(give.counter);
        Some(self.done(here))
    }

    /// A piece of the step's moves.
    fn do_piece(&mut self, here: Position, step: &Step) -> Option<Turn> {
        let thread = self.threads.get(here.agent)?;
        let Some(one) = step.moves.get(thread.entry) else { return Some(Turn::Next) };
        let mut extents = step.reads(one).iter().chain(step.writes(one));
        let has_packets = extents.any(|extent| extent.form.is_packets());
        // A packet carries half as much data as a thread otherwise moves, so the same data is another thread's.
        let whole = self.shape.piece(self.sizes.chunk_bytes(here.launch));
        let size = if has_packets { whole / 2 } else { whole };
        let start = (here.thread as u64 + thread.piece * self.shape.threads as u64) * size;
        if start >= one.elements {
            return Some(self.done(here));
        }
        let (done, bytes) = (thread.done, size.min(one.elements - start));
        let left = Piece { start: start + done, bytes: bytes - done };
        let more = match self.move_piece(here, step, one, left)? {
            Ok(more) => more,
            Err(key) => return Some(Turn::Waits(key)),
        };
        let thread = self.threads.get_mut(here.agent)?;
        thread.done += more;
        if thread.done == bytes {
            (thread.piece, thread.done) = (thread.piece + 1, 0);
        }
        if self.shape.late && self.random.below(COMES) == 0 {
            self.store_first(here.block);
        }
        Some(Turn::On)
    }

    /// Reads, combines and writes the first of some bytes of a move, as far as their packets are there,
    /// since a thread does not wait for a packet before it has written those before it.
    /// Returns how many bytes it did; or what to wait for, if it could do none.
    fn move_piece(
        &mut self,
        here: Position,
        step: &Step,
        one: &Move,
        piece: Piece,
    ) -> Option<Result<u64, Key>> {
        let (mut sum, mut bytes): (Option<Vec<u8>>, u64) = (None, piece.bytes);
        for extent in step.reads(one) {
            let from = Spot::from(*extent).ahead(piece.start);
            let data = self.load(here, extent, from, bytes)?;
            if data.is_empty() {
                return Some(Err(Key::Packets(from.rank, page(from))));
            }
            bytes = data.len() as u64;
            match &mut sum {
                Some(sum) => {
                    sum.truncate(data.len());
                    self.data.element().combine(one.reduce, sum, &data);
                }
                None => sum = Some(data),
            }
        }
        let sum = sum.unwrap_or_default();
        for extent in step.writes(one) {
            self.store(here, extent, Spot::from(*extent).ahead(piece.start), &sum)?;
        }
        Some(Ok(bytes))
    }

    /// Some bytes of what is read; of packets, those before the first one that is not there.
    fn load(
        &mut self,
        here: Position,
        extent: &MemoryExtent,
        spot: Spot,
        bytes: u64,
    ) -> Option<Vec<u8>> {
        let own = self.own_stores(here, extent, spot, bytes)?;
        if extent.form.is_packets() {
            let found = self.memory.packets(spot, bytes, here.launch);
            return self.allowed(found, here.writer, spot);
        }
        let found = self.memory.read(spot, bytes, here.launch).map(<[u8]>::to_vec);
        let mut data = self.allowed(found, here.writer, spot)?;
        if let Some(read) = own {
            self.see_own(here.block, &read, &mut data);
        }
        Some(data)
    }

    /// The memory that an access is to, if the block has stores that others do not see yet. Packets are seen at once, so
    /// before they are read or written, those stores are carried out that are to the same place.
    fn own_stores(
        &mut self,
        here: Position,
        extent: &MemoryExtent,
        spot: Spot,
        bytes: u64,
    ) -> Option<Option<Stretch>> {
        if self.blocks.get(here.block)?.late.is_empty() {
            return Some(None);
        }
        let has_packets = extent.form.is_packets();
        let stretch = self.memory.stretch(spot, bytes, has_packets, here.launch);
        let stretch = self.allowed(stretch, here.writer, spot)?;
        if has_packets {
            self.store_before(here.block, &stretch);
        }
        Some(Some(stretch))
    }

    fn store(
        &mut self,
        here: Position,
        extent: &MemoryExtent,
        spot: Spot,
        data: &[u8],
    ) -> Option<()> {
        let bytes = data.len() as u64;
        if extent.form.is_packets() {
            self.own_stores(here, extent, spot, bytes)?;
            let done = self.memory.write_packets(spot, data, here.launch);
            self.allowed(done, here.writer, spot)?;
            if spot.buffer == Buffer::Scratch {
                self.wake_packets(spot, bytes);
            }
        } else if self.shape.late {
            let stretch = self.memory.stretch(spot, bytes, false, here.launch);
            let stretch = self.allowed(stretch, here.writer, spot)?;
            let meetings = self.threads.get(here.agent)?.meetings;
            let (thread, launch, writer) = (here.thread, here.launch, here.writer);
            let data = data.to_vec();
            self.keep(
                here.block,
                DelayedStore { thread, meetings, spot, stretch, data, launch, writer },
            );
        } else {
            let done = self.memory.write(spot, data, here.launch, here.writer);
            self.allowed(done, here.writer, spot)?;
        }
        Some(())
    }

    /// Asks proxies; request k is thread k's. A thread waits for its request, and so for all before it, where the step says
    /// so.
    fn push(&mut self, here: Position, step: &Step) -> Option<Turn> {
        let Some(request) = self.own(here, step.requests) else { return Some(Turn::Next) };
        if self.threads.get(here.agent)?.ticket.is_none() {
            let asked = self.ask_for(here, step, request)?;
            self.threads.get_mut(here.agent)?.ticket = Some(asked);
        }
        if !request.awaited {
            return Some(self.done(here));
        }
        let ticket = self.threads.get(here.agent)?.ticket?;
        if self.proxies.get(request.end.0 as usize)?.done < ticket {
            return Some(Turn::Waits(Key::Proxy(request.end)));
        }
        Some(self.done(here))
    }

    /// Pushes a request; returns how many its proxy has been given, including it.
    fn ask_for(&mut self, here: Position, step: &Step, request: &ProxyRequest) -> Option<u64> {
        let mut asked = self.proxies.get(request.end.0 as usize)?.asked;
        if request.put.is_some() || request.signal.is_some() {
            self.store_known(here.block, here.thread);
        }
        if let Some(put) = request.put {
            let put = self.find_put(here, step, step.moves.get(put as usize)?)?;
            asked = self.ask(request.end, Request::Put(put));
        }
        if let Some(signal) = request.signal {
            asked = self.ask(request.end, Request::Signal(signal.counter));
        }
        Some(asked)
    }

    fn find_put(&self, here: Position, step: &Step, one: &Move) -> Option<Put> {
        let (from, to) = (step.reads(one).first()?, step.writes(one).first()?);
        debug_assert!(to.reach != MemoryReach::Group, "a port has one peer");
        Some(Put {
            from: Spot::from(*from),
            to: Spot::from(*to),
            bytes: one.elements,
            packets: to.form.is_packets(),
            launch: here.launch,
            writer: here.writer,
        })
    }
}
