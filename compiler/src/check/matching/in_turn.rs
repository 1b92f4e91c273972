//! Blocks of one rank that use a counter in turn: each use is over before the next one begins, in every schedule.
//!
//! In: a rank. Out: the ends of channels and the semaphores that several blocks use, but only in turn. Which use gets
//! what does not depend on the schedule then.
//!
//! Only what the rank itself does counts: the order of the operations of a block, semaphores, and barriers. The rank is
//! run as if no other rank ever made it wait. An operation of a list is its thread's, and what a thread passes on is
//! what it did itself, and what all threads had done when they last met. A semaphore orders blocks if one block takes
//! from it, in a certain order, and, unless all releases are needed, one thread gives to it; or if it is itself released
//! in turn, and acquired in turn. What is used in a pipeline is in no order.
//!
//! Which semaphores are used in turn is found by assuming it of all, and taking it back where it does not follow. What is
//! left is right, although each may follow from the others: take the first use in any schedule that comes too early. All
//! uses before it were in turn, so whoever makes it has learned by then that the use before it is over, as it does in this run.

use super::lanes::{self, Which, meets, signalled};
use crate::check::budget::{Exceeded, IN_TURN};
use crate::check::race::step::meet;
use crate::ir::{self, Action, BarrierId, BlockId, Op, Program, Rank, SemaphoreId, all_ops};
use std::collections::{BTreeMap, BTreeSet};

/// A thread of a block; none for all threads together.
type By = (BlockId, Option<usize>);

/// For blocks and their threads, the line before which all is known to be over.
type Clock = BTreeMap<By, usize>;

/// How a counter has been used so far.
struct Uses {
    /// The last use.
    block: BlockId,
    thread: usize,
    line: usize,
    by_several: bool,
    /// Whether each use is known to be over where the next one begins.
    in_turn: bool,
}

/// What several threads of a rank use, but only in turn.
#[derive(Debug, Default)]
pub(super) struct UsedInTurn {
    /// All of it that is known.
    pub(super) all: BTreeSet<Which>,
    /// The budget because of which there may be more.
    pub(super) exceeded: Option<Exceeded>,
}

/// The counters of a rank that several threads use, all of them in turn.
pub(super) fn in_turn(program: &Program, rank: &Rank) -> UsedInTurn {
    let piped = in_pipelines(rank);
    let mut semaphores: BTreeSet<SemaphoreId> = rank.semaphores.ids().collect();
    let mut exceeded = None;
    for round in 0.. {
        let mut run = Run::new(program, rank, &semaphores);
        while run.advance() {}
        if !run.has_ended() {
            break;
        }
        let before = semaphores.len();
        semaphores.retain(|id| run.is_used_in_turn(*id));
        if semaphores.len() < before
            && let Err(bound) = IN_TURN.allow(round + 1)
        {
            semaphores.clear();
            exceeded = Some(bound);
        }
        if semaphores.len() == before {
            let found = run.uses.into_iter().filter(|(_, uses)| uses.by_several && uses.in_turn);
            let all = found.map(|(which, _)| which).filter(|which| !piped.contains(which));
            return UsedInTurn { all: all.collect(), exceeded };
        }
    }
    UsedInTurn { all: BTreeSet::new(), exceeded }
}

/// Every counter that is used in a pipeline.
fn in_pipelines(rank: &Rank) -> BTreeSet<Which> {
    let signalled = signalled(rank);
    let mut found = BTreeSet::new();
    let pipelines = rank.blocks.iter().flat_map(|block| &block.ops).filter_map(Op::pipeline);
    for op in pipelines.flat_map(|pipeline| all_ops(&pipeline.body)) {
        lanes::uses(&signalled, op, &mut |_, which| {
            found.insert(which);
        });
    }
    found
}

/// How far a block has come, and what its threads know.
#[derive(Default)]
struct BlockPlace {
    line: usize,
    /// The line at which the threads last met.
    met: usize,
    /// What all threads know, and what single ones have learned since they met.
    all: Clock,
    own: BTreeMap<usize, Clock>,
}

impl BlockPlace {
    fn meet(&mut self) {
        self.met = self.line;
        for learned in std::mem::take(&mut self.own).into_values() {
            merge(&mut self.all, &learned);
        }
    }

    /// What a thread knows before the line where it is.
    fn knows(&self, block: BlockId, thread: usize) -> Clock {
        let mut clock = self.all.clone();
        if let Some(own) = self.own.get(&thread) {
            merge(&mut clock, own);
        }
        clock.insert((block, None), self.met);
        clock.insert((block, Some(thread)), self.line);
        clock
    }

    /// Whether a thread knows before the line where it is that the last use of a counter is over.
    fn knows_of(&self, block: BlockId, thread: usize, uses: &Uses) -> bool {
        if uses.block == block {
            return self.met > uses.line || thread == uses.thread && self.line > uses.line;
        }
        let clocks = [Some(&self.all), self.own.get(&thread)];
        let known = |by| clocks.iter().flatten().any(|clock| clock.get(&by) > Some(&uses.line));
        known((uses.block, None)) || known((uses.block, Some(uses.thread)))
    }
}

fn merge(clock: &mut Clock, other: &Clock) {
    for (by, line) in other {
        let known = clock.entry(*by).or_insert(0);
        *known = (*known).max(*line);
    }
}

/// A semaphore as it is used.
#[derive(Default)]
struct Semaphore {
    initial: usize,
    /// Whether it is certain which of its threads takes first: one block acquires it, and has not accepted otherwise.
    is_orderly: bool,
    /// Whether it is released in turn and acquired in turn.
    in_turn: bool,
    acquirer: Option<BlockId>,
    releasers: BTreeSet<(BlockId, usize)>,
    /// How many releases there are in all.
    releases: usize,
    in_pipeline: bool,
    /// What each release has told, in order.
    told: Vec<Clock>,
    taken: usize,
}

impl Semaphore {
    /// Whether it can be acquired. Where that depends on pipelines, it is not waited for.
    fn is_ready(&self) -> bool {
        self.in_pipeline || self.taken < self.told.len() + self.initial
    }

    /// What one more acquire knows.
    fn take(&mut self) -> Clock {
        self.taken += 1;
        let needed = self.taken.saturating_sub(self.initial);
        let is_certain = self.releasers.len() == 1 || needed == self.releases;
        let orders = !self.in_pipeline && (self.in_turn || self.is_orderly && is_certain);
        let mut clock = Clock::new();
        for told in self.told.iter().take(if orders { needed } else { 0 }) {
            merge(&mut clock, told);
        }
        clock
    }
}

/// A run of a rank on its own.
struct Run<'p> {
    program: &'p Program,
    rank: &'p Rank,
    signalled: Vec<bool>,
    places: Vec<BlockPlace>,
    semaphores: Vec<Semaphore>,
    uses: BTreeMap<Which, Uses>,
}

impl<'p> Run<'p> {
    /// A run in which these semaphores are assumed to be used in turn.
    fn new(program: &'p Program, rank: &'p Rank, in_turn: &BTreeSet<SemaphoreId>) -> Run<'p> {
        let places = rank.blocks.iter().map(|_| BlockPlace::default()).collect();
        let (signalled, mut semaphores) = (signalled(rank), semaphores(rank));
        for (id, row) in (0..).map(SemaphoreId).zip(&mut semaphores) {
            row.in_turn = in_turn.contains(&id);
        }
        Run { program, rank, signalled, places, semaphores, uses: BTreeMap::new() }
    }

    /// Whether all blocks have come to their ends.
    fn has_ended(&self) -> bool {
        let mut places = self.places.iter().zip(&self.rank.blocks);
        places.all(|(place, row)| place.line == row.ops.len())
    }

    /// Whether a semaphore was released in turn and acquired in turn, and not in pipelines.
    fn is_used_in_turn(&self, id: SemaphoreId) -> bool {
        let in_turn = |which| self.uses.get(&which).is_none_or(|uses| uses.in_turn);
        let piped = self.semaphores.get(id.0 as usize).is_none_or(|row| row.in_pipeline);
        !piped && in_turn(Which::Acquires(id)) && in_turn(Which::Releases(id))
    }

    /// Advances every block as far as it comes; says whether any did.
    fn advance(&mut self) -> bool {
        let mut moved = false;
        for block in self.rank.blocks.ids() {
            while self.step(block) {
                moved = true;
            }
        }
        moved
    }

    fn op(&self, block: BlockId) -> Option<&'p Op> {
        let line = self.places.get(block.0 as usize)?.line;
        self.rank.blocks.lookup(block)?.ops.get(line)
    }

    /// Takes a block's next step, if it can.
    fn step(&mut self, block: BlockId) -> bool {
        let (Some(op), Some(ops)) = (self.op(block), self.rank.blocks.lookup(block)) else {
            return false;
        };
        let Some(place) = self.places.get_mut(block.0 as usize) else { return false };
        let before = place.line.checked_sub(1).and_then(|line| ops.ops.get(line));
        if before.is_none_or(|before| meet(self.program, before, op)) || meets(op) {
            place.meet();
        }
        match &op.action {
            Action::Barrier { id, .. } => return self.barrier(*id),
            Action::Acquire(list) => {
                let row = |id: &SemaphoreId| self.semaphores.get(id.0 as usize);
                if !list.iter().all(|id| row(id).is_some_and(Semaphore::is_ready)) {
                    return false;
                }
            }
            Action::Sync
            | Action::Signal(_)
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Release(_)
            | Action::Transfer(_)
            | Action::Pipeline(_) => {}
        }
        self.record(block, op);
        self.pass_on(block, op);
        if let Some(place) = self.places.get_mut(block.0 as usize) {
            place.line += 1;
        }
        true
    }

    /// Notes the counters that an operation uses.
    fn record(&mut self, block: BlockId, op: &Op) {
        let Some(place) = self.places.get(block.0 as usize) else { return };
        let all = &mut self.uses;
        let mut note = |thread, which| {
            let line = place.line;
            let Some(uses) = all.get_mut(&which) else {
                all.insert(which, Uses { block, thread, line, by_several: false, in_turn: true });
                return;
            };
            uses.in_turn &= place.knows_of(block, thread, uses);
            uses.by_several |= (uses.block, uses.thread) != (block, thread);
            (uses.block, uses.thread, uses.line) = (block, thread, line);
        };
        lanes::uses(&self.signalled, op, &mut note);
        if let Action::Release(list) = &op.action {
            (0..).zip(list).for_each(|(thread, id)| note(thread, Which::Releases(*id)));
        }
    }

    /// Lets threads tell others what they know, by releases, and hear it, by acquires.
    fn pass_on(&mut self, block: BlockId, op: &Op) {
        let Some(place) = self.places.get_mut(block.0 as usize) else { return };
        let (Action::Release(list) | Action::Acquire(list)) = &op.action else { return };
        for (thread, id) in list.iter().enumerate() {
            let Some(row) = self.semaphores.get_mut(id.0 as usize) else { continue };
            if matches!(op.action, Action::Release(_)) {
                row.told.push(place.knows(block, thread));
            } else {
                merge(place.own.entry(thread).or_default(), &row.take());
            }
        }
    }

    /// Lets the blocks of a barrier go on, if all of them are there.
    fn barrier(&mut self, id: BarrierId) -> bool {
        let Some(members) = self.rank.barriers.lookup(id) else { return false };
        let here = |block: &BlockId| {
            let action = self.op(*block).map(|op| &op.action);
            let all = members.len();
            matches!(action, Some(Action::Barrier { id: there, arrivals }) if *there == id && *arrivals as usize == all)
        };
        if !members.iter().all(here) {
            return false;
        }
        let mut all = Clock::new();
        for block in members {
            if let Some(place) = self.places.get_mut(block.0 as usize) {
                place.meet();
                place.line += 1;
                place.met = place.line;
                merge(&mut all, &place.all);
                all.insert((*block, None), place.line);
            }
        }
        for block in members {
            if let Some(place) = self.places.get_mut(block.0 as usize) {
                merge(&mut place.all, &all);
            }
        }
        true
    }
}

/// How a rank uses its semaphores.
fn semaphores(rank: &Rank) -> Vec<Semaphore> {
    let unused = |row: &ir::Semaphore| Semaphore {
        initial: row.initial.max(0) as usize,
        is_orderly: !row.shared,
        ..Semaphore::default()
    };
    let mut all: Vec<Semaphore> = rank.semaphores.iter().map(unused).collect();
    for (block, row) in rank.blocks.entries() {
        for op in &row.ops {
            let pipeline = op.pipeline();
            let inner = pipeline.into_iter().flat_map(|pipeline| all_ops(&pipeline.body));
            for one in std::iter::once(op).chain(inner) {
                let (Action::Release(list) | Action::Acquire(list)) = &one.action else { continue };
                for (thread, id) in list.iter().enumerate() {
                    let Some(row) = all.get_mut(id.0 as usize) else { continue };
                    row.in_pipeline |= pipeline.is_some();
                    if matches!(one.action, Action::Acquire(_)) {
                        row.is_orderly &= row.acquirer.is_none_or(|other| other == block);
                        row.acquirer = Some(block);
                    } else {
                        row.releasers.insert((block, thread));
                        row.releases += 1;
                    }
                }
            }
        }
    }
    all
}
