//! Whether blocks that share a counter can come to a stop: a search through all schedules of a small program.
//!
//! In: a program in which several blocks wait on one end of a channel, or acquire one semaphore, as its author accepts
//! (`#[allow(shared, "why")]`), and which one schedule brings to its end. Out: that every schedule does; or E0601, for
//! one that does not; or that the program is too large to tell.
//!
//! Only what depends on the order is tried in every order: who draws which ticket of a channel; and of a semaphore each
//! acquisition, release and look. An acquisition takes one away first and then looks until the value is back to what it
//! was, if that was not positive, as MSCCL++'s device code does: what another takes in between is not seen. All else is
//! done as soon as it can be, since it takes nothing from anyone. Blocks that have nothing to do with each other are searched
//! apart ([`parts`]), and what is done with one counter is tried before all else where nobody is still to come to it
//! ([`Scene::tried`]).

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

/// The most states that are looked at.
const MOST_STATES: usize = 50_000;

/// What a search found.
pub(super) enum Explored {
    /// Every schedule comes to its end.
    Free,
    /// One does not.
    Stuck(Box<Diagnostic>),
    /// That cannot be said.
    Unknown(Unsearched),
}

/// Why a program's schedules are not all tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsearched {
    /// There are too many.
    TooMany,
    /// Threads of a block would have to be told apart: they come to a shared counter each for itself.
    Threads,
}

/// Searches a program in which these counters are shared.
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
        let Some(less) = left.checked_sub(1) else {
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

/// What is said of a block that comes no further.
fn stuck(scene: &Scene, state: &State, block: usize) -> Explored {
    let row = scene.blocks.get(block).zip(scene.op(state, block));
    let unknown = Explored::Unknown(Unsearched::Threads);
    let Some((row, (rank, op))) = row else { return unknown };
    let shared = counter::takes(op).find(|counter| scene.is_shared(rank, *counter));
    // Operations whose packets come in pieces are not told apart here.
    let Some(counter) = shared else { return unknown };
    Explored::Stuck(Box::new(never_served(scene.program, (rank, row.id), op.origin, counter)))
}

/// What is said of blocks that come no further in some schedule that was run: that one of them waits for a counter that others
/// take from, too. There is one wherever another schedule comes to its end: the first operation of that one that
/// is not done here has all that it waits for, but what others took.
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

/// A block that waits for ever for what others took.
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
        format!("in some schedule block `{name}` of rank {} waits for `{of}` for ever", rank.0);
    let report = Diagnostic::new(Code::E0601, program.origins.at(origin), message);
    match counter {
        Counter::Channel(_) => report
            .note("several blocks wait on it: who comes first takes the first signal")
            .help("give each block one of its own: a family with one more index"),
        Counter::Semaphore(_) => report
            .note("several blocks acquire it: one that waits does not see a value that another takes away at once")
            .help("let one block acquire it, or give each block one of its own"),
    }
}

#[cfg(test)]
mod tests;
