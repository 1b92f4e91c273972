//! The threads of blocks, each of which does one piece of one operation at a time.

use super::Writer;
use super::code::{Kind, Step};
use super::machine::{DelayedStore, Key, Machine};
use super::memory::{Spot, Stretch, page};
use super::proxy::{Put, Request};
use super::transfer::{Move, Side, moves, wakes};
use crate::ir::{
    Action, BarrierId, ChannelId, ChannelKind, RankId, SemaphoreId, Signal, Transfer, Verb,
};
use std::rc::Rc;

/// After one of how many pieces a store that was held back comes without a reason.
const COMES: u64 = 8;

/// How far a thread has come in its launch.
#[derive(Default)]
pub(super) struct Thread {
    /// Its step.
    pub(super) at: usize,
    /// How often it has met the other threads of its block.
    pub(super) meetings: u64,
    /// How many of its channels or semaphores it has done, or the index of its current move.
    entry: usize,
    /// Its next piece of that move.
    piece: u64,
    /// How many bytes of that piece it has done: the packets of the others are not there yet.
    done: u64,
    /// The number of the signal, or of the request, that it waits for.
    ticket: Option<u64>,
    moves: Option<Rc<[Move]>>,
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
    rank: RankId,
    launch: u32,
    writer: Writer,
}

impl<'p> Machine<'_, 'p> {
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

    fn act(&mut self, agent: usize) -> Option<Turn> {
        let (block, thread) = self.place(agent);
        let step = self.step(block, self.threads.get(agent)?.at)?;
        let state = self.blocks.get(block)?;
        let (rank, launch) = (state.rank, self.ranks.get(state.rank.0 as usize)?.launch);
        let writer = Writer { rank, block: state.block, origin: step.op.origin };
        let here = Position { agent, block, thread, rank, launch, writer };
        match &step.op.action {
            Action::Sync => Some(self.meet(here)),
            Action::Barrier { id, arrivals } => self.arrive(here, *id, *arrivals),
            Action::Signal(signal) => self.signal_all(here, signal),
            Action::Wait(signal) => self.wait_for_all(here, &signal.channels),
            Action::Acquire(semaphores) => self.acquire(here, semaphores),
            Action::Release(semaphores) => self.release(here, semaphores),
            Action::Flush(channels) if self.program.flush_waits => self.flush(here, channels),
            Action::Flush(_) | Action::Pipeline(_) => Some(Turn::Next),
            Action::Transfer(transfer) => match step.kind {
                Kind::Whole | Kind::Observe => self.transfer(here, step, transfer),
                Kind::Meet => Some(self.meet(here)),
                Kind::Push => self.push(here, step, transfer),
            },
        }
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

    fn all_are_here(&mut self, block: usize) -> bool {
        let Some(state) = self.blocks.get_mut(block) else { return false };
        state.met = (state.met + 1) % self.shape.threads;
        state.met == 0
    }

    /// Lets all threads of a block continue from where they met.
    fn pass(&mut self, block: usize) {
        for agent in block * self.shape.threads..(block + 1) * self.shape.threads {
            if let Some(thread) = self.threads.get_mut(agent) {
                thread.meetings += 1;
            }
            self.advance(agent);
        }
    }

    fn arrive(&mut self, here: Position, id: BarrierId, arrivals: u32) -> Option<Turn> {
        if !self.all_are_here(here.block) {
            return Some(Turn::Stands);
        }
        self.store_all(here.block);
        let arrived = self.ranks.get_mut(here.rank.0 as usize)?.arrived.get_mut(id.0 as usize)?;
        arrived.push(here.block);
        if arrived.len() >= arrivals as usize {
            let arrived = std::mem::take(arrived);
            arrived.into_iter().for_each(|block| self.pass(block));
        }
        Some(Turn::Stands)
    }

    fn signal_all(&mut self, here: Position, signal: &Signal) -> Option<Turn> {
        let Some(channel) = self.own(here, &signal.channels) else { return Some(Turn::Next) };
        let port = self.is_port(here.rank, *channel);
        if port || !signal.relaxed {
            self.store_known(here.block, here.thread);
        }
        if port {
            self.ask(here.rank, *channel, Request::Signal);
        } else {
            self.signal(here.rank, *channel);
        }
        Some(self.done(here))
    }

    fn is_port(&self, rank: RankId, channel: ChannelId) -> bool {
        let rank = self.program.ranks.lookup(rank);
        let channel = rank.and_then(|rank| rank.channels.lookup(channel));
        channel.is_some_and(|channel| channel.kind() == ChannelKind::Port)
    }

    fn wait_for_all(&mut self, here: Position, channels: &[ChannelId]) -> Option<Turn> {
        let Some(channel) = self.own(here, channels) else { return Some(Turn::Next) };
        let rank = self.ranks.get_mut(here.rank.0 as usize)?;
        let waits = rank.waits.get_mut(channel.0 as usize)?;
        let ticket = self.threads.get_mut(here.agent)?.ticket.get_or_insert_with(|| {
            *waits += 1;
            *waits
        });
        if rank.signals.get(channel.0 as usize)? < ticket {
            return Some(Turn::Waits(Key::Signal(here.rank, *channel)));
        }
        Some(self.done(here))
    }

    fn acquire(&mut self, here: Position, semaphores: &[SemaphoreId]) -> Option<Turn> {
        let Some(id) = self.own(here, semaphores) else { return Some(Turn::Next) };
        let rank = self.ranks.get_mut(here.rank.0 as usize)?;
        let value = rank.semaphores.get_mut(id.0 as usize)?;
        if *value <= 0 {
            return Some(Turn::Waits(Key::Semaphore(here.rank, *id)));
        }
        *value -= 1;
        Some(self.done(here))
    }

    fn release(&mut self, here: Position, semaphores: &[SemaphoreId]) -> Option<Turn> {
        let Some(id) = self.own(here, semaphores) else { return Some(Turn::Next) };
        self.store_known(here.block, here.thread);
        let rank = self.ranks.get_mut(here.rank.0 as usize)?;
        let value = rank.semaphores.get_mut(id.0 as usize)?;
        *value = value.saturating_add(1);
        self.wake(Key::Semaphore(here.rank, *id));
        Some(self.done(here))
    }

    /// The moves of the thread's operation, computed once.
    fn moves(
        &mut self,
        here: Position,
        step: &Step<'p>,
        transfer: &Transfer,
    ) -> Option<Rc<[Move]>> {
        let (program, chunk_bytes) = (self.program, self.sizes.chunk_bytes(here.launch));
        let thread = self.threads.get_mut(here.agent)?;
        let moves = thread.moves.get_or_insert_with(|| {
            moves(program, here.rank, transfer, step.window.as_ref(), chunk_bytes).into()
        });
        Some(Rc::clone(moves))
    }

    fn transfer(&mut self, here: Position, step: &Step<'p>, transfer: &Transfer) -> Option<Turn> {
        let moves = self.moves(here, step, transfer)?;
        let thread = self.threads.get(here.agent)?;
        let Some(one) = moves.get(thread.entry) else { return Some(Turn::Next) };
        let packets = one.reads.iter().chain(&one.writes).any(|side| side.packets);
        // A packet carries half as much data as a thread otherwise moves, so the same data is another thread's.
        let piece = self.shape.piece(self.sizes.chunk_bytes(here.launch));
        let size = if packets { piece / 2 } else { piece };
        let start = (here.thread as u64 + thread.piece * self.shape.threads as u64) * size;
        if start >= one.bytes {
            return Some(self.done(here));
        }
        let (done, bytes) = (thread.done, size.min(one.bytes - start));
        let more = match self.piece(here, step.kind, one, (start + done, bytes - done))? {
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
    fn piece(
        &mut self,
        here: Position,
        kind: Kind,
        one: &Move,
        (start, bytes): (u64, u64),
    ) -> Option<Result<u64, Key>> {
        let (mut sum, mut bytes): (Option<Vec<u8>>, u64) = (None, bytes);
        for side in &one.reads {
            for spot in &side.spots {
                let from = spot.ahead(start);
                let data = self.load(here, side, from, bytes)?;
                if data.is_empty() {
                    return Some(Err(Key::Packets(from.rank, page(from))));
                }
                bytes = data.len() as u64;
                match &mut sum {
                    Some(sum) => {
                        sum.truncate(data.len());
                        self.data.element().combine(one.op, sum, &data);
                    }
                    None => sum = Some(data),
                }
            }
        }
        let sum = sum.filter(|_| kind == Kind::Whole);
        for side in one.writes.iter().filter(|_| sum.is_some()) {
            for spot in &side.spots {
                self.store(here, side, spot.ahead(start), sum.as_deref().unwrap_or_default())?;
            }
        }
        Some(Ok(bytes))
    }

    /// Some bytes of what is read; of packets, those before the first one that is not there.
    fn load(&mut self, here: Position, side: &Side, spot: Spot, bytes: u64) -> Option<Vec<u8>> {
        let own = self.own_stores(here, side, spot, bytes)?;
        if side.packets {
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
        side: &Side,
        spot: Spot,
        bytes: u64,
    ) -> Option<Option<Stretch>> {
        if self.blocks.get(here.block)?.late.is_empty() {
            return Some(None);
        }
        let stretch = self.memory.stretch(spot, bytes, side.packets, here.launch);
        let stretch = self.allowed(stretch, here.writer, spot)?;
        if side.packets {
            self.store_before(here.block, &stretch);
        }
        Some(Some(stretch))
    }

    fn store(&mut self, here: Position, side: &Side, spot: Spot, data: &[u8]) -> Option<()> {
        let bytes = data.len() as u64;
        if side.packets {
            self.own_stores(here, side, spot, bytes)?;
            let done = self.memory.write_packets(spot, data, here.launch);
            self.allowed(done, here.writer, spot)?;
            if wakes(side) {
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

    /// Requests puts from proxies; pair k is thread k's.
    fn push(&mut self, here: Position, step: &Step<'p>, transfer: &Transfer) -> Option<Turn> {
        let moves = self.moves(here, step, transfer)?;
        let own = self.own(here, &moves).zip(self.own(here, &transfer.channels));
        let Some((one, channel)) = own else { return Some(Turn::Next) };
        if self.threads.get(here.agent)?.ticket.is_none() {
            self.store_known(here.block, here.thread);
            let asked = self.request(here, transfer.verb, one, *channel)?;
            self.threads.get_mut(here.agent)?.ticket = Some(asked);
        }
        match transfer.verb.flushes() {
            true => self.served(here, *channel),
            false => Some(self.done(here)),
        }
    }

    /// Waits for what was requested of the proxies before.
    fn flush(&mut self, here: Position, channels: &[ChannelId]) -> Option<Turn> {
        let Some(channel) = self.own(here, channels) else { return Some(Turn::Next) };
        if !self.is_port(here.rank, *channel) {
            return Some(self.done(here));
        }
        let asked = self.proxies.get(self.proxy_of(here.rank, *channel)?)?.asked;
        self.threads.get_mut(here.agent)?.ticket.get_or_insert(asked);
        self.served(here, *channel)
    }

    /// Waits until a proxy has done the thread's request.
    fn served(&mut self, here: Position, channel: ChannelId) -> Option<Turn> {
        let ticket = self.threads.get(here.agent)?.ticket?;
        let proxy = self.proxies.get(self.proxy_of(here.rank, channel)?)?;
        if proxy.done < ticket {
            return Some(Turn::Waits(Key::Proxy(here.rank, channel)));
        }
        Some(self.done(here))
    }

    fn request(
        &mut self,
        here: Position,
        verb: Verb,
        one: &Move,
        channel: ChannelId,
    ) -> Option<u64> {
        let (from, to) = (one.reads.first()?, one.writes.first()?);
        let put = Put {
            from: *from.spots.first()?,
            to: *to.spots.first()?,
            bytes: one.bytes,
            packets: to.packets,
            launch: here.launch,
            writer: here.writer,
        };
        let mut asked = self.ask(here.rank, channel, Request::Put(put));
        if verb.signals() {
            asked = self.ask(here.rank, channel, Request::Signal);
        }
        Some(asked)
    }
}
