//! Whether blocks that share a counter can deadlock: a search through all schedules of a small program.
//!
//! In: a program in which several blocks wait on one end of a channel, or acquire one semaphore, as its author accepts
//! (`#[allow(shared, "why")]`), and which one schedule runs to its end. Out: every schedule does; or E0601, for one
//! that does not; or the program is too large to tell.
//!
//! Only steps whose order matters are tried in every order: which block draws which ticket of a channel; and each
//! acquire, release and look at a semaphore. An acquire first decrements the semaphore and then looks at it until the
//! value is back to what it was, if that was not positive, as MSCCL++'s device code does: it does not see a release
//! that another block's acquire cancels in between. Everything else is done as soon as possible, since it takes nothing
//! from other blocks.

mod counter;
mod parts;
mod scene;
mod state;
mod turn;

use crate::diagnostic::{Code, Diagnostic};
use crate::ir::run::{Awaits, Stuck};
use crate::ir::sharing::Sharing;
use crate::ir::{BlockId, OriginId, Program, RankId};
use counter::Counter;
use rustc_hash::FxHashSet;
use scene::Scene;
use state::State;

/// The most states that are visited.
const MOST_STATES: usize = 50_000;

/// The most numbers that the states of a part hold together: a state has some for each channel of all ranks.
const MOST_NUMBERS: usize = 20_000_000;

/// The result of a search.
pub(super) enum Explored {
    /// Every schedule runs to its end.
    Free,
    /// Some schedule does not.
    Stuck(Box<Diagnostic>),
    /// The search could not tell.
    Unknown(Unsearched),
}

/// Why not all schedules of a program were tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsearched {
    /// There are too many.
    TooMany,
    /// The threads of a block would have to be modeled separately: each of them takes from a shared counter on its own.
    Threads,
}

/// Searches the schedules of a program in which counters are shared.
pub(super) fn explore(program: &Program) -> Explored {
    let mut left = MOST_STATES;
    let mut unknown = None;
    for part in parts::parts(program, scene::blocks(program)) {
        let found = match Scene::new(program, part) {
            Ok(scene) if scene.shares() => search(&scene, &mut left),
            Ok(_) => Explored::Free,
            Err(why) => Explored::Unknown(why),
        };
        match found {
            Explored::Free => {}
            Explored::Stuck(report) => return Explored::Stuck(report),
            Explored::Unknown(why) => unknown = unknown.or(Some(why)),
        }
    }
    unknown.map_or(Explored::Free, Explored::Unknown)
}

/// Searches a part of a program; `left` is how many states may still be looked at.
fn search(scene: &Scene, left: &mut usize) -> Explored {
    let mut met = FxHashSet::default();
    let mut open = vec![scene.start()];
    while let Some(mut state) = open.pop() {
        scene.settle(&mut state);
        if !met.insert(state.clone()) {
            continue;
        }
        let is_small = met.len().saturating_mul(scene.size()) <= MOST_NUMBERS;
        let Some(less) = left.checked_sub(1).filter(|_| is_small) else {
            return Explored::Unknown(Unsearched::TooMany);
        };
        *left = less;
        let next = scene.tried(&state);
        let last = next.is_empty().then(|| scene.unfinished(&state)).flatten();
        if let Some(block) = last {
            return stuck(scene, &state, block);
        }
        open.extend(next);
    }
    Explored::Free
}

/// The report for a block that can go no further.
fn stuck(scene: &Scene, state: &State, block: usize) -> Explored {
    let row = scene.blocks.get(block).zip(scene.op(state, block));
    let unknown = Explored::Unknown(Unsearched::Threads);
    let Some((row, (rank, op))) = row else { return unknown };
    let shared = counter::takes(op).find(|counter| scene.is_shared(rank, *counter));
    // Then the block may only seem to be stuck: that an operation's packets may arrive in pieces is not modeled here.
    let Some(counter) = shared else { return unknown };
    Explored::Stuck(Box::new(never_served(scene.program, (rank, row.id), op.origin, counter)))
}

/// The report about blocks that are stuck in a schedule that was run: one of them waits for a counter from which other
/// blocks take, too. There is such a block whenever some other schedule reaches its end: the first operation of that schedule
/// that is not done in this one lacks only what others took.
pub(super) fn standing(program: &Program, stuck: &[Stuck]) -> Option<Diagnostic> {
    let sharing = Sharing::of(program);
    let one = stuck.iter().find(|one| sharing.is_awaited(one.rank, one.awaits))?;
    let counter = match one.awaits {
        Awaits::Signal(id) => Counter::Channel(id),
        Awaits::Semaphore(id) => Counter::Semaphore(id),
        Awaits::Barrier(_) | Awaits::Packets => return None,
    };
    Some(never_served(program, (one.rank, one.block), one.origin, counter))
}

/// A block that waits forever for what others took.
fn never_served(
    program: &Program,
    (rank, block): (RankId, BlockId),
    origin: OriginId,
    counter: Counter,
) -> Diagnostic {
    let row = program.ranks.lookup(rank);
    let name = row.and_then(|rank| rank.blocks.lookup(block)).map_or("", |row| &*row.name);
    let of = row.and_then(|rank| match counter {
        Counter::Channel(id) => rank.channels.lookup(id).map(|one| &*one.name),
        Counter::Semaphore(id) => rank.semaphores.lookup(id).map(|one| &*one.name),
    });
    let of = of.unwrap_or("");
    let message =
        format!("in some schedule, block `{name}` of rank {} waits for `{of}` forever", rank.0);
    let report = Diagnostic::new(Code::E0601, program.origins.at(origin), message);
    match counter {
        Counter::Channel(_) => report
            .note("several blocks wait on it: whichever comes first takes the first signal")
            .help("give each block one of its own: a family with one more index"),
        Counter::Semaphore(_) => report
            .note("several blocks acquire it: a waiting block does not see a value that another block takes right away")
            .help("let one block acquire it, or give each block one of its own"),
    }
}

#[cfg(test)]
mod tests;
