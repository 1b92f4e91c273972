//! Whether blocks that share a counter can deadlock: a search through all schedules of a small program.
//!
//! In: a program in which several blocks wait on one end of a channel, or acquire one semaphore, as its author accepts
//! (`#[allow(shared, "why")]`), and which one schedule runs to its end. Out: E0601 for a schedule that does not; or the
//! shared counters for which it is open whether there is one.
//!
//! Only steps whose order matters are tried in every order: which block draws which ticket of a channel; and each
//! acquire, release and look at a semaphore. An acquire first decrements the semaphore and then looks at it until the
//! value is back to what it was, if that was not positive, as MSCCL++'s device code does: it does not see a release
//! that another block's acquire cancels in between. Everything else is done as soon as possible, since it takes nothing
//! from other blocks.
//!
//! Blocks that have nothing to do with each other are searched separately. What may be tried is divided equally among
//! these parts; what the small ones leave is divided among the others.

mod model;
mod parts;
mod search;
mod state;
mod turn;
mod unsure;

use super::budget::{Exceeded, PLACES, STATES};
use crate::diagnostic::{Code, Diagnostic};
use crate::events::{CounterId, Events, SizeClass};
use crate::interpreter::Stuck;
use crate::ir::counter::{CounterKind, Owned};
use crate::ir::sharing::Sharing;
use crate::ir::{BlockId, OriginId, Program, RankId};
use model::Model;
use parts::Block;
use rustc_hash::{FxHashMap, FxHashSet};
use search::{Progress, Search};
use std::collections::BTreeSet;

/// The result of a search.
pub(super) enum Explored {
    /// Some schedule does not run to its end.
    Stuck(Box<Diagnostic>),
    /// No such schedule was found; there may be one only because of these counters.
    Searched(Undecided),
}

/// The counters that blocks share in the parts of a program whose schedules were not all tried, and why they were not.
pub(super) type Undecided = FxHashMap<Owned, Unsearched>;

/// Why not all schedules were tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsearched {
    /// There are too many.
    TooMany(Exceeded),
    /// The threads of a block would have to be modeled separately: each of them takes from a shared counter on its own.
    Threads,
}

/// A part that is searched.
struct Part {
    search: Search,
    /// The counters that its blocks share.
    shared: Vec<Owned>,
    /// Whether threads of a block take from one counter separately: then nothing is proved.
    is_threaded: bool,
}

/// Searches the schedules of a program in which counters are shared. The threads of the blocks in `threaded` take from
/// one counter separately.
pub(super) fn explore(program: &Program, threaded: &FxHashSet<(RankId, BlockId)>) -> Explored {
    let sharing = Sharing::accepted(program);
    let events = Events::new(program, SizeClass::Outline);
    let shared_counters = SharedCounters { events: &events, sharing: &sharing };
    let mut undecided = Undecided::default();
    let mut parts = Vec::new();
    for blocks in parts::parts(program) {
        let shared = shared_counters.list(&blocks);
        if shared.is_empty() {
            continue;
        }
        if let Some(why) = unsure::why(&shared_counters, &blocks) {
            undecided.extend(shared.into_iter().map(|counter| (counter, why)));
            continue;
        }
        let is_threaded = blocks.iter().any(|block| threaded.contains(&(block.rank, block.id)));
        let search = Search::new(Model::new(&shared_counters, blocks));
        parts.push(Part { search, shared, is_threaded });
    }
    let mut left = Left { states: STATES.count(), places: PLACES.count() };
    loop {
        let before = left.states;
        match round(&events, parts, &mut left, &mut undecided) {
            Err(report) => return Explored::Stuck(report),
            Ok(halfway) => parts = halfway,
        }
        if left.states == before {
            break;
        }
    }
    for part in parts {
        // What is left of each is less than a state of this part takes.
        let is_full = left.share(1, part.search.size()) < left.states;
        let budget = if is_full { &PLACES } else { &STATES };
        let why = Unsearched::TooMany(budget.exceeded());
        undecided.extend(part.shared.into_iter().map(|one| (one, why)));
    }
    Explored::Searched(undecided)
}

/// The counters that several blocks use, as their authors accept.
struct SharedCounters<'a, 'p> {
    events: &'a Events<'p>,
    sharing: &'a Sharing,
}

impl<'p> SharedCounters<'_, 'p> {
    /// Whether several blocks take from a counter.
    fn is_shared(&self, id: CounterId) -> bool {
        let counter = self.events.counter(id);
        counter.is_some_and(|one| self.sharing.is_shared(one.rank, one.kind))
    }

    /// The counters from which several of these blocks take.
    fn list(&self, blocks: &[Block]) -> Vec<Owned> {
        let steps = blocks.iter().flat_map(|block| &block.steps);
        let taken = steps.flat_map(|step| step.takes()).filter(|id| self.is_shared(*id));
        let shared: BTreeSet<CounterId> = taken.collect();
        let owned = |id| self.events.counter(id).map(|counter| (counter.rank, counter.kind));
        let mut all: Vec<Owned> = shared.into_iter().filter_map(owned).collect();
        all.sort_unstable();
        all
    }
}

/// What may still be visited.
#[derive(Clone, Copy)]
struct Left {
    states: usize,
    places: usize,
}

impl Left {
    /// How many states of this size each of so many parts may visit.
    fn share(self, parts: usize, size: usize) -> usize {
        (self.states / parts.max(1)).min(self.places / parts.max(1) / size.max(1))
    }

    fn spend(&mut self, states: usize, size: usize) {
        self.states = self.states.saturating_sub(states);
        self.places = self.places.saturating_sub(states.saturating_mul(size));
    }
}

/// Lets each part visit its share of what is left. Returns the parts that need more, or the report of a deadlock.
fn round(
    events: &Events,
    parts: Vec<Part>,
    left: &mut Left,
    undecided: &mut Undecided,
) -> Result<Vec<Part>, Box<Diagnostic>> {
    let (at_first, count) = (*left, parts.len());
    let mut halfway = Vec::new();
    for mut part in parts {
        let (size, met) = (part.search.size(), part.search.met());
        let progress = part.search.go_on(at_first.share(count, size));
        left.spend(part.search.met() - met, size);
        match progress {
            Progress::Stuck(stuck) => return Err(Box::new(report_unserved(events, &stuck))),
            Progress::Halfway => halfway.push(part),
            Progress::Done if part.is_threaded || part.search.is_unsure => {
                undecided.extend(part.shared.into_iter().map(|one| (one, Unsearched::Threads)));
            }
            Progress::Done => {}
        }
    }
    Ok(halfway)
}

/// The report about blocks that are stuck in a schedule that was run: one of them waits for a counter from which other
/// blocks take, too. There is such a block whenever some other schedule reaches its end: the first operation of that schedule
/// that is not done in this one lacks only what others took.
pub(super) fn standing(program: &Program, stuck: &[Stuck]) -> Option<Diagnostic> {
    let sharing = Sharing::accepted(program);
    let events = Events::new(program, SizeClass::Outline);
    let one = stuck.iter().find_map(|one| {
        let Stuck { rank, block, origin, awaits, .. } = *one;
        let kind = awaits.counter().filter(|kind| sharing.is_shared(rank, *kind))?;
        Some(Unserved { rank, block, origin, counter: events.counter_on(rank, kind) })
    });
    one.map(|one| report_unserved(&events, &one))
}

/// A block that waits forever for what others took.
struct Unserved {
    rank: RankId,
    block: BlockId,
    /// Where it waits.
    origin: OriginId,
    counter: CounterId,
}

fn report_unserved(events: &Events, one: &Unserved) -> Diagnostic {
    let Unserved { rank, block, origin, counter } = *one;
    let (program, counter) = (events.program(), events.kind_on(rank, counter));
    let row = program.ranks.lookup(rank);
    let name = row.and_then(|rank| rank.blocks.lookup(block)).map_or("", |row| &*row.name);
    let of = row.and_then(|rank| match counter {
        CounterKind::Channel(id) => rank.channels.lookup(id).map(|one| &*one.name),
        CounterKind::Semaphore(id) => rank.semaphores.lookup(id).map(|one| &*one.name),
    });
    let of = of.unwrap_or("");
    let message =
        format!("in some schedule, block `{name}` of rank {} waits for `{of}` forever", rank.0);
    let report = Diagnostic::new(Code::E0601, program.origins.at(origin), message);
    match counter {
        CounterKind::Channel(_) => report
            .note("several blocks wait on it: whichever comes first takes the first signal")
            .help("give each block one of its own: a family with one more index"),
        CounterKind::Semaphore(_) => report
            .note("several blocks acquire it: a waiting block does not see a value that another block takes right away")
            .help("let one block acquire it, or give each block one of its own"),
    }
}

#[cfg(test)]
mod tests;
