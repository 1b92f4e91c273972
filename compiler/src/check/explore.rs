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
mod scene;
mod state;
mod turn;

use crate::diagnostic::{Code, Diagnostic};
use crate::ir::Program;
use counter::Counter;
use rustc_hash::FxHashSet;
use scene::Scene;
use state::State;

/// The most states that are visited.
const MOST_STATES: usize = 50_000;

/// The result of a search.
pub(super) enum Explored {
    /// Every schedule runs to its end.
    Free,
    /// Some schedule does not.
    Stuck(Box<Diagnostic>),
    /// The search could not tell.
    Unknown,
}

/// Searches the schedules of a program in which counters are shared.
pub(super) fn explore(program: &Program) -> Explored {
    let Some(scene) = Scene::new(program) else { return Explored::Unknown };
    let mut met = FxHashSet::default();
    let mut open = vec![scene.start()];
    while let Some(mut state) = open.pop() {
        scene.settle(&mut state);
        if !met.insert(state.clone()) {
            continue;
        }
        if met.len() > MOST_STATES {
            return Explored::Unknown;
        }
        let next: Vec<State> =
            (0..scene.blocks.len()).filter_map(|block| scene.turn(&state, block)).collect();
        let last = next.is_empty().then(|| scene.unfinished(&state)).flatten();
        if let Some(block) = last {
            return stuck(&scene, &state, block);
        }
        open.extend(next);
    }
    Explored::Free
}

/// The report for a block that can go no further.
fn stuck(scene: &Scene, state: &State, block: usize) -> Explored {
    let row = scene.blocks.get(block).zip(scene.op(state, block));
    let Some((row, (rank, op))) = row else { return Explored::Unknown };
    let shared = counter::takes(op).find(|counter| scene.is_shared(rank, *counter));
    // Then the block may only seem to be stuck: that an operation's packets may arrive in pieces is not modeled here.
    let Some(counter) = shared else { return Explored::Unknown };
    let rank_row = scene.program.ranks.lookup(rank);
    let name = rank_row.and_then(|rank| rank.blocks.lookup(row.id)).map_or("", |row| &*row.name);
    let of = rank_row.and_then(|rank| match counter {
        Counter::Channel(id) => rank.channels.lookup(id).map(|one| &*one.name),
        Counter::Semaphore(id) => rank.semaphores.lookup(id).map(|one| &*one.name),
    });
    let of = of.unwrap_or("");
    let message =
        format!("in some schedule, block `{name}` of rank {} waits for `{of}` forever", rank.0);
    let report = Diagnostic::new(Code::E0601, scene.program.origins.at(op.origin), message);
    Explored::Stuck(Box::new(match counter {
        Counter::Channel(_) => report
            .note("several blocks wait on it: whichever comes first takes the first signal")
            .help("give each block one of its own: a family with one more index"),
        Counter::Semaphore(_) => report
            .note("several blocks acquire it: a waiting block does not see a value that another block takes right away")
            .help("let one block acquire it, or give each block one of its own"),
    }))
}
