//! The part of a search that does not change: what every step of the blocks takes, gives and waits for.
//!
//! Counters, packets and barriers are numbered here, so that states are small and steps are quickly taken.

use super::parts::{Block, Packet, PartStep};
use super::state::{Count, Place, State};
use super::{SharedCounters, Unserved};
use crate::events::{CounterId, Events, MeetingId};
use crate::ir::counter::CounterKind;
use rustc_hash::FxHashMap;

/// A step of a block: the block's number, and the step's in it.
pub(super) type At = (usize, usize);

/// What a step does, as far as others notice.
pub(super) struct Act {
    /// The counters that it takes from.
    pub(super) takes: Vec<usize>,
    /// The counters that it gives to.
    pub(super) gives: Vec<usize>,
    /// The packets that it reads.
    reads: Vec<usize>,
    /// The barrier that it reaches.
    pub(super) barrier: Option<usize>,
    /// What it does with a shared counter, where the order of that matters.
    pub(super) turn: Option<(Turn, usize)>,
}

/// What is done with a shared counter in an order that matters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// A ticket of a channel is drawn.
    Wait,
    /// A semaphore is acquired.
    Acquire,
    /// A semaphore is released.
    Release,
}

/// The part of a search that does not change.
pub(super) struct Model {
    pub(super) blocks: Vec<Block>,
    acts: Vec<Vec<Act>>,
    /// The counters' initial values.
    initial: Vec<i64>,
    /// For each counter that is shared, the last step of each block that does something with it whose order matters.
    pub(super) users: Vec<Vec<At>>,
    /// The members of each barrier.
    barriers: Vec<Vec<usize>>,
    /// For each packet, the steps that write it.
    writers: Vec<Vec<At>>,
}

impl Model {
    /// These blocks of a program, which have nothing to do with the others.
    pub(super) fn new(shared: &SharedCounters, blocks: Vec<Block>) -> Model {
        let mut numbers = Numbers::new(shared);
        let mut acts: Vec<Vec<Act>> = Vec::with_capacity(blocks.len());
        for block in &blocks {
            acts.push(block.steps.iter().map(|step| numbers.number_step(step)).collect());
        }
        let Numbers { initial, packets, barriers, .. } = numbers;
        let mut model = Model {
            users: vec![Vec::new(); initial.len()],
            barriers: vec![Vec::new(); barriers.len()],
            writers: vec![Vec::new(); packets.len()],
            blocks,
            acts,
            initial,
        };
        model.find_users();
        model.find_members(shared.events, &barriers);
        model.find_writers(&packets);
        model
    }

    fn find_users(&mut self) {
        for (block, acts) in self.acts.iter().enumerate() {
            for (at, act) in acts.iter().enumerate() {
                let users = act.turn.and_then(|(_, counter)| self.users.get_mut(counter));
                let Some(users) = users else { continue };
                match users.last_mut() {
                    Some(last) if last.0 == block => last.1 = at,
                    Some(_) | None => users.push((block, at)),
                }
            }
        }
    }

    fn find_members(&mut self, events: &Events, barriers: &FxHashMap<MeetingId, usize>) {
        for (id, number) in barriers {
            let rank = events.barrier(*id).map(|barrier| barrier.rank);
            let members = events.members(*id);
            let is_member = |block: &Block| Some(block.rank) == rank && members.contains(&block.id);
            let blocks = self.blocks.iter().enumerate().filter(|(_, block)| is_member(block));
            if let Some(row) = self.barriers.get_mut(*number) {
                row.extend(blocks.map(|(at, _)| at));
            }
        }
    }

    fn find_writers(&mut self, numbers: &FxHashMap<Packet, usize>) {
        for (at, block) in self.blocks.iter().enumerate() {
            for (number, step) in block.steps.iter().enumerate() {
                step.visit_packets(true, &mut |packet| {
                    let row = numbers.get(&packet).and_then(|row| self.writers.get_mut(*row));
                    row.into_iter().for_each(|row| row.push((at, number)));
                });
            }
        }
    }

    pub(super) fn start(&self) -> State {
        State {
            places: vec![Place::default(); self.blocks.len()],
            counts: self.initial.iter().map(|given| Count { given: *given, begun: 0 }).collect(),
        }
    }

    /// What a block does next; none at its end.
    pub(super) fn act(&self, state: &State, block: usize) -> Option<&Act> {
        self.acts.get(block)?.get(state.place(block).at)
    }

    /// The blocks that meet at a barrier.
    pub(super) fn members(&self, barrier: usize) -> &[usize] {
        self.barriers.get(barrier).map_or(&[], Vec::as_slice)
    }

    /// Whether all packets that a step reads have been written.
    pub(super) fn has_packets(&self, state: &State, act: &Act) -> bool {
        let is_done = |(block, at): &At| state.place(*block).at > *at;
        let written =
            |packet: &usize| self.writers.get(*packet).is_some_and(|all| all.iter().any(is_done));
        act.reads.iter().all(written)
    }

    /// A block that has not reached its end: preferably one that has drawn something.
    pub(super) fn unfinished(&self, state: &State) -> Option<usize> {
        let open = || (0..self.blocks.len()).filter(|block| self.act(state, *block).is_some());
        open().find(|block| state.place(*block).drawn.is_some()).or_else(|| open().next())
    }

    /// A block that has drawn from a shared counter and waits; none if it is at something else.
    pub(super) fn unserved(&self, state: &State, block: usize) -> Option<Unserved> {
        let place = state.place(block);
        let row = self.blocks.get(block).filter(|_| place.drawn.is_some())?;
        let step = row.steps.get(place.at)?;
        let (counter, origin) = (step.takes().next()?, step.step()?.origin);
        Some(Unserved { rank: row.rank, block: row.id, origin, counter })
    }
}

/// The numbers of what steps have to do with, in the order in which they are met.
struct Numbers<'a, 'p> {
    shared: &'a SharedCounters<'a, 'p>,
    counters: FxHashMap<CounterId, usize>,
    initial: Vec<i64>,
    packets: FxHashMap<Packet, usize>,
    barriers: FxHashMap<MeetingId, usize>,
}

impl<'a, 'p> Numbers<'a, 'p> {
    fn new(shared: &'a SharedCounters<'a, 'p>) -> Numbers<'a, 'p> {
        Numbers {
            shared,
            counters: FxHashMap::default(),
            initial: Vec::new(),
            packets: FxHashMap::default(),
            barriers: FxHashMap::default(),
        }
    }

    fn number_step(&mut self, step: &PartStep) -> Act {
        let takes = step.takes().map(|counter| self.counter(counter)).collect();
        let gives = step.gives().map(|counter| self.counter(counter)).collect();
        let mut reads = Vec::new();
        step.visit_packets(false, &mut |packet| {
            let next = self.packets.len();
            reads.push(*self.packets.entry(packet).or_insert(next));
        });
        let barrier = step.step().and_then(|step| step.arrival).map(|arrival| {
            let next = self.barriers.len();
            *self.barriers.entry(arrival.meeting).or_insert(next)
        });
        Act { takes, gives, reads, barrier, turn: self.find_turn(step) }
    }

    fn counter(&mut self, id: CounterId) -> usize {
        let next = self.initial.len();
        let number = *self.counters.entry(id).or_insert(next);
        if number == next {
            self.initial.push(self.shared.events.initial_value(id));
        }
        number
    }

    /// What a step does with a shared counter in an order that matters. Which signal comes first does not.
    fn find_turn(&mut self, part: &PartStep) -> Option<(Turn, usize)> {
        let step = part.step()?;
        let taken = step.takes.first().map(|take| take.counter);
        let released = step.gives.iter().find(|give| give.channel.is_none());
        let id = taken.or_else(|| released.and_then(|give| give.counter))?;
        if !self.shared.is_shared(id) {
            return None;
        }
        let turn = match (taken, self.shared.events.counter(id)?.kind) {
            (Some(_), CounterKind::Channel(_)) => Turn::Wait,
            (Some(_), CounterKind::Semaphore(_)) => Turn::Acquire,
            (None, _) => Turn::Release,
        };
        Some((turn, self.counter(id)))
    }
}
