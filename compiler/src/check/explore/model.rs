//! The part of a search that does not change: what every step of the blocks takes, gives and waits for.
//!
//! Counters, packets and barriers are numbered here, so that states are small and steps are quickly taken.

use super::Unserved;
use super::packets::{Packet, packets};
use super::parts::Block;
use super::state::{Count, Place, State};
use crate::ir::counter::{Counter, Owned, given, takes};
use crate::ir::sharing::Sharing;
use crate::ir::{Action, BarrierId, Op, Program, RankId};
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
pub(super) struct Model<'p> {
    pub(super) blocks: Vec<Block<'p>>,
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

impl<'p> Model<'p> {
    /// These blocks of a program, which have nothing to do with the others.
    pub(super) fn new(program: &Program, sharing: &Sharing, blocks: Vec<Block<'p>>) -> Model<'p> {
        let mut numbers = Numbers::new(program, sharing);
        let acts = blocks
            .iter()
            .map(|block| block.steps.iter().map(|step| numbers.act(block.rank, step.op)).collect());
        let acts: Vec<Vec<Act>> = acts.collect();
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
        model.find_members(program, &barriers);
        model.find_writers(program, &packets);
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

    fn find_members(
        &mut self,
        program: &Program,
        barriers: &FxHashMap<(RankId, BarrierId), usize>,
    ) {
        for ((rank, id), number) in barriers {
            let members = program.ranks.lookup(*rank).and_then(|rank| rank.barriers.lookup(*id));
            let is_member = |block: &Block| {
                block.rank == *rank && members.is_some_and(|members| members.contains(&block.id))
            };
            let blocks = self.blocks.iter().enumerate().filter(|(_, block)| is_member(block));
            if let Some(row) = self.barriers.get_mut(*number) {
                row.extend(blocks.map(|(at, _)| at));
            }
        }
    }

    fn find_writers(&mut self, program: &Program, numbers: &FxHashMap<Packet, usize>) {
        for (at, block) in self.blocks.iter().enumerate() {
            for (number, step) in block.steps.iter().enumerate() {
                packets(program, block.rank, step.op, true, &mut |packet| {
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
        let op = row.steps.get(place.at)?.op;
        let counter = takes(&op.action).next()?;
        Some(Unserved { rank: row.rank, block: row.id, origin: op.origin, counter })
    }
}

/// The numbers of what steps have to do with, in the order in which they are met.
struct Numbers<'p> {
    program: &'p Program,
    sharing: &'p Sharing,
    counters: FxHashMap<Owned, usize>,
    initial: Vec<i64>,
    packets: FxHashMap<Packet, usize>,
    barriers: FxHashMap<(RankId, BarrierId), usize>,
}

impl<'p> Numbers<'p> {
    fn new(program: &'p Program, sharing: &'p Sharing) -> Numbers<'p> {
        Numbers {
            program,
            sharing,
            counters: FxHashMap::default(),
            initial: Vec::new(),
            packets: FxHashMap::default(),
            barriers: FxHashMap::default(),
        }
    }

    fn act(&mut self, rank: RankId, op: &Op) -> Act {
        let program = self.program;
        let takes = takes(&op.action).map(|counter| self.counter((rank, counter))).collect();
        let gives = given(program, rank, op).map(|counter| self.counter(counter)).collect();
        let mut reads = Vec::new();
        packets(program, rank, op, false, &mut |packet| {
            let next = self.packets.len();
            reads.push(*self.packets.entry(packet).or_insert(next));
        });
        let barrier = self.barrier(rank, op);
        Act { takes, gives, reads, barrier, turn: self.turn(rank, op) }
    }

    fn barrier(&mut self, rank: RankId, op: &Op) -> Option<usize> {
        let Action::Barrier { id, .. } = &op.action else { return None };
        let next = self.barriers.len();
        Some(*self.barriers.entry((rank, *id)).or_insert(next))
    }

    fn counter(&mut self, (rank, counter): Owned) -> usize {
        let next = self.initial.len();
        let number = *self.counters.entry((rank, counter)).or_insert(next);
        if number == next {
            let rank = self.program.ranks.lookup(rank);
            self.initial.push(match counter {
                Counter::Channel(_) => 0,
                Counter::Semaphore(id) => {
                    rank.and_then(|rank| rank.semaphores.lookup(id)).map_or(0, |one| one.initial)
                }
            });
        }
        number
    }

    fn turn(&mut self, rank: RankId, op: &Op) -> Option<(Turn, usize)> {
        let (turn, counter) = match &op.action {
            Action::Wait(signal) => (Turn::Wait, Counter::Channel(*signal.channels.first()?)),
            Action::Acquire(list) => (Turn::Acquire, Counter::Semaphore(*list.first()?)),
            Action::Release(list) => (Turn::Release, Counter::Semaphore(*list.first()?)),
            Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Flush(_)
            | Action::Transfer(_)
            | Action::Pipeline(_) => return None,
        };
        let is_shared = self.sharing.is_shared(rank, counter);
        is_shared.then(|| (turn, self.counter((rank, counter))))
    }
}
