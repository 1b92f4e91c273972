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

use super::lanes::{Which, list_signalled, visit_uses};
use crate::check::budget::{Exceeded, IN_TURN, KNOWN_IN_TURN};
use crate::events::{Arrival, Events, MeetingId, StepBuffer};
use crate::ir::{self, BlockId, Rank, RankId, SemaphoreId};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

/// For blocks, what is known to be over.
type Clock = BTreeMap<BlockId, BlockClock>;

/// What is known to be over of a block.
#[derive(Clone, Default)]
struct BlockClock {
    /// The line before which all is over.
    all: usize,
    /// The lines before which all that a thread did is over, where that is more.
    threads: BTreeMap<u32, usize>,
}

impl BlockClock {
    fn merge(&mut self, other: &BlockClock) {
        if other.all > self.all {
            self.all = other.all;
            self.threads.retain(|_, line| *line > other.all);
        }
        for (thread, line) in &other.threads {
            self.learn(*thread, *line);
        }
    }

    fn learn(&mut self, thread: u32, line: usize) {
        if line > self.all {
            let known = self.threads.entry(thread).or_default();
            *known = (*known).max(line);
        }
    }

    /// Whether a use by the block is over.
    fn knows_of(&self, uses: &Uses) -> bool {
        self.all > uses.line || self.threads.get(&uses.thread) > Some(&uses.line)
    }
}

/// How many entries of clocks may still be made, for all ranks of a program together.
pub(super) struct ClockEntries {
    left: Cell<u64>,
}

impl ClockEntries {
    /// The whole budget.
    pub(super) fn new() -> ClockEntries {
        ClockEntries { left: Cell::new(KNOWN_IN_TURN.amount()) }
    }

    /// Adds to a clock what another one knows.
    fn merge(&self, clock: &mut Clock, other: &Clock) {
        for (block, known) in other {
            self.spend(1 + known.threads.len());
            clock.entry(*block).or_default().merge(known);
        }
    }

    fn spend(&self, entries: usize) {
        self.left.set(self.left.get().saturating_sub(entries as u64));
    }

    fn are_left(&self) -> bool {
        self.left.get() > 0
    }
}

/// How a counter has been used so far.
struct Uses {
    /// The last use.
    block: BlockId,
    thread: u32,
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
///
/// What blocks do is read once; what they do in pipelines is in no order.
pub(super) fn in_turn(events: &Events, id: RankId, entries: &ClockEntries) -> UsedInTurn {
    let Some(rank) = events.program().ranks.lookup(id) else { return UsedInTurn::default() };
    let steps = RankSteps::new(events, id, rank);
    let mut semaphores: BTreeSet<SemaphoreId> = rank.semaphores.ids().collect();
    let mut exceeded = None;
    for round in 0.. {
        let mut run = Run::new(events, rank, &steps, entries, &semaphores);
        while run.advance() {}
        if !entries.are_left() {
            exceeded = Some(KNOWN_IN_TURN.exceeded());
            break;
        }
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
            let all = found.map(|(which, _)| which).filter(|which| !steps.piped.contains(which));
            return UsedInTurn { all: all.collect(), exceeded };
        }
    }
    UsedInTurn { all: BTreeSet::new(), exceeded }
}

/// What the blocks of a rank do with counters.
struct RankSteps {
    /// For each block, its steps outside pipelines.
    blocks: Vec<Vec<TurnStep>>,
    /// What is used in pipelines, except for releases.
    piped: BTreeSet<Which>,
    /// How the rank uses its semaphores.
    semaphores: Vec<Semaphore>,
}

/// A step of a block, as far as counters and meetings go.
struct TurnStep {
    /// Whether the threads meet before it or in it.
    meets: bool,
    arrival: Option<Arrival>,
    uses: Vec<ThreadUse>,
}

/// The use of a counter by a thread.
#[derive(Clone, Copy)]
struct ThreadUse {
    thread: u32,
    which: Which,
}

impl RankSteps {
    fn new(events: &Events, id: RankId, rank: &Rank) -> RankSteps {
        let unused = |row: &ir::Semaphore| Semaphore {
            initial: row.initial.max(0) as usize,
            is_orderly: !row.shared,
            ..Semaphore::default()
        };
        let semaphores = rank.semaphores.iter().map(unused).collect();
        let mut all = RankSteps { blocks: Vec::new(), piped: BTreeSet::new(), semaphores };
        let signalled = list_signalled(events, id);
        let mut buffer = StepBuffer::default();
        for block in rank.blocks.ids() {
            let steps = events.block_steps(id, block);
            let mut own = Vec::new();
            for at in 0..steps.len() {
                let Some(step) = events.lower_step(&steps, at, &mut buffer) else { continue };
                let mut uses = Vec::new();
                visit_uses(events, id, &signalled, &step, &mut |thread, which| {
                    uses.push(ThreadUse { thread, which });
                });
                let in_pipeline = step.site.inner.is_some();
                uses.iter().for_each(|one| all.count_use(block, *one, in_pipeline));
                if !in_pipeline {
                    let (meets, arrival) = (step.joined || step.is_join, step.arrival);
                    own.push(TurnStep { meets, arrival, uses });
                }
            }
            all.blocks.push(own);
        }
        all
    }

    fn count_use(&mut self, block: BlockId, one: ThreadUse, in_pipeline: bool) {
        let (Which::Acquires(id) | Which::Releases(id)) = one.which else {
            if in_pipeline {
                self.piped.insert(one.which);
            }
            return;
        };
        let Some(row) = self.semaphores.get_mut(id.0 as usize) else { return };
        row.in_pipeline |= in_pipeline;
        if one.which == Which::Acquires(id) {
            if in_pipeline {
                self.piped.insert(one.which);
            }
            row.is_orderly &= row.acquirer.is_none_or(|other| other == block);
            row.acquirer = Some(block);
        } else {
            row.releasers.insert((block, one.thread));
            row.releases += 1;
        }
    }
}

/// How far a block has come, and what its threads know.
#[derive(Default)]
struct BlockPlace {
    line: usize,
    /// The line at which the threads last met.
    met: usize,
    /// What all threads know, and what single ones have learned since they met. Blocks that met in a barrier know the
    /// same.
    all: Rc<Clock>,
    own: BTreeMap<u32, Clock>,
}

/// What a thread knows when it releases a semaphore.
#[derive(Clone)]
struct Told {
    all: Rc<Clock>,
    own: Clock,
}

impl BlockPlace {
    fn meet(&mut self, entries: &ClockEntries) {
        self.met = self.line;
        if !self.own.is_empty() && Rc::strong_count(&self.all) > 1 {
            entries.spend(self.all.len());
        }
        for learned in std::mem::take(&mut self.own).into_values() {
            entries.merge(Rc::make_mut(&mut self.all), &learned);
        }
    }

    /// What a thread knows before the line where it is.
    fn knows(&self, block: BlockId, thread: u32, entries: &ClockEntries) -> Told {
        let mut own = Clock::new();
        if let Some(learned) = self.own.get(&thread) {
            entries.merge(&mut own, learned);
        }
        let mut here = BlockClock { all: self.met, threads: BTreeMap::new() };
        here.learn(thread, self.line);
        own.entry(block).or_default().merge(&here);
        Told { all: Rc::clone(&self.all), own }
    }

    /// Whether a thread knows before the line where it is that the last use of a counter is over.
    fn knows_of(&self, block: BlockId, thread: u32, uses: &Uses) -> bool {
        if uses.block == block {
            return self.met > uses.line || thread == uses.thread && self.line > uses.line;
        }
        let clocks = [Some(&*self.all), self.own.get(&thread)];
        let mut known = clocks.into_iter().flatten().filter_map(|clock| clock.get(&uses.block));
        known.any(|known| known.knows_of(uses))
    }
}

/// A semaphore as it is used.
#[derive(Clone, Default)]
struct Semaphore {
    initial: usize,
    /// Whether it is certain which of its threads takes first: one block acquires it, and has not accepted otherwise.
    is_orderly: bool,
    /// Whether it is released in turn and acquired in turn.
    in_turn: bool,
    acquirer: Option<BlockId>,
    releasers: BTreeSet<(BlockId, u32)>,
    /// How many releases there are in all.
    releases: usize,
    in_pipeline: bool,
    /// What the releases told that no acquire has needed so far, in order.
    told: VecDeque<Told>,
    /// What all earlier ones told.
    learned: Clock,
    released: usize,
    taken: usize,
}

impl Semaphore {
    /// Whether it can be acquired. Where that depends on pipelines, it is not waited for.
    fn is_ready(&self) -> bool {
        self.in_pipeline || self.taken < self.released + self.initial
    }

    /// Whether what releases tell is heard by any acquire.
    fn tells(&self) -> bool {
        !self.in_pipeline && (self.in_turn || self.is_orderly)
    }

    /// Takes once more, and adds to a clock what that tells.
    fn take(&mut self, clock: &mut Clock, entries: &ClockEntries) {
        self.taken += 1;
        let needed = self.taken.saturating_sub(self.initial);
        let is_certain = self.releasers.len() == 1 || needed == self.releases;
        if !self.tells() || !(self.in_turn || is_certain) {
            return;
        }
        let heard = self.released - self.told.len();
        // One operation may take twice, more than there is.
        let more = needed.saturating_sub(heard).min(self.told.len());
        for told in self.told.drain(..more) {
            entries.merge(&mut self.learned, &told.all);
            entries.merge(&mut self.learned, &told.own);
        }
        entries.merge(clock, &self.learned);
    }
}

/// A run of a rank on its own.
struct Run<'a, 'p> {
    events: &'a Events<'p>,
    rank: &'p Rank,
    steps: &'a RankSteps,
    entries: &'a ClockEntries,
    places: Vec<BlockPlace>,
    semaphores: Vec<Semaphore>,
    uses: BTreeMap<Which, Uses>,
}

impl<'a, 'p> Run<'a, 'p> {
    /// A run in which these semaphores are assumed to be used in turn.
    fn new(
        events: &'a Events<'p>,
        rank: &'p Rank,
        steps: &'a RankSteps,
        entries: &'a ClockEntries,
        in_turn: &BTreeSet<SemaphoreId>,
    ) -> Run<'a, 'p> {
        let places = rank.blocks.iter().map(|_| BlockPlace::default()).collect();
        let mut semaphores = steps.semaphores.clone();
        for (id, row) in (0..).map(SemaphoreId).zip(&mut semaphores) {
            row.in_turn = in_turn.contains(&id);
        }
        Run { events, rank, steps, entries, places, semaphores, uses: BTreeMap::new() }
    }

    /// Whether all blocks have come to their ends.
    fn has_ended(&self) -> bool {
        let mut places = self.places.iter().zip(&self.steps.blocks);
        places.all(|(place, steps)| place.line == steps.len())
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

    /// The step that a block is at.
    fn step_of(&self, block: BlockId) -> Option<&'a TurnStep> {
        let line = self.places.get(block.0 as usize)?.line;
        self.steps.blocks.get(block.0 as usize)?.get(line)
    }

    /// Takes a block's next step, if it can.
    fn step(&mut self, block: BlockId) -> bool {
        if !self.entries.are_left() {
            return false;
        }
        let Some(step) = self.step_of(block) else { return false };
        let Some(place) = self.places.get_mut(block.0 as usize) else { return false };
        if step.meets {
            place.meet(self.entries);
        }
        if let Some(arrival) = step.arrival {
            return self.barrier(arrival.meeting);
        }
        let is_missing = |one: &ThreadUse| match one.which {
            Which::Acquires(id) => {
                !self.semaphores.get(id.0 as usize).is_some_and(Semaphore::is_ready)
            }
            Which::Signals(_) | Which::Waits(_) | Which::Releases(_) => false,
        };
        if step.uses.iter().any(is_missing) {
            return false;
        }
        step.uses.iter().for_each(|one| self.record(block, *one));
        step.uses.iter().for_each(|one| self.pass_on(block, *one));
        if let Some(place) = self.places.get_mut(block.0 as usize) {
            place.line += 1;
        }
        true
    }

    /// Notes the use of a counter.
    fn record(&mut self, block: BlockId, one: ThreadUse) {
        let Some(place) = self.places.get(block.0 as usize) else { return };
        let ThreadUse { thread, which } = one;
        let line = place.line;
        let Some(uses) = self.uses.get_mut(&which) else {
            let first = Uses { block, thread, line, by_several: false, in_turn: true };
            self.uses.insert(which, first);
            return;
        };
        uses.in_turn &= place.knows_of(block, thread, uses);
        uses.by_several |= (uses.block, uses.thread) != (block, thread);
        (uses.block, uses.thread, uses.line) = (block, thread, line);
    }

    /// Lets a thread tell others what it knows, by a release, and hear it, by an acquire.
    fn pass_on(&mut self, block: BlockId, one: ThreadUse) {
        let Some(place) = self.places.get_mut(block.0 as usize) else { return };
        let (Which::Acquires(id) | Which::Releases(id)) = one.which else { return };
        let Some(row) = self.semaphores.get_mut(id.0 as usize) else { return };
        if one.which == Which::Acquires(id) {
            row.take(place.own.entry(one.thread).or_default(), self.entries);
        } else {
            row.released += 1;
            if row.tells() {
                row.told.push_back(place.knows(block, one.thread, self.entries));
            }
        }
    }

    /// Lets the blocks of a barrier go on, if all of them are there.
    fn barrier(&mut self, id: MeetingId) -> bool {
        let members = self.events.members(id);
        let here = |block: &BlockId| {
            let arrival = self.step_of(*block).and_then(|step| step.arrival);
            arrival.is_some_and(|one| one.meeting == id && one.arrivals as usize == members.len())
        };
        if members.is_empty() || !members.iter().all(here) {
            return false;
        }
        let mut all = Clock::new();
        let mut merged: Option<Rc<Clock>> = None;
        for block in members {
            if let Some(place) = self.places.get_mut(block.0 as usize) {
                place.meet(self.entries);
                place.line += 1;
                place.met = place.line;
                // What blocks have learned in the barrier before is the same for all of them.
                if !merged.as_ref().is_some_and(|merged| Rc::ptr_eq(merged, &place.all)) {
                    self.entries.merge(&mut all, &place.all);
                    merged = Some(Rc::clone(&place.all));
                }
                all.insert(*block, BlockClock { all: place.line, threads: BTreeMap::new() });
            }
        }
        let all = Rc::new(all);
        for block in members {
            if let Some(place) = self.places.get_mut(block.0 as usize) {
                place.all = Rc::clone(&all);
            }
        }
        true
    }
}
