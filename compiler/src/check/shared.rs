//! Counters that several blocks, or several threads of a block, take from, as their author accepts
//! (`#[allow(shared, "why")]`): which of them gets what depends on the schedule.
//!
//! In: a program of which one schedule runs to its end. Out:
//! * E0601: some other schedule does not;
//! * W0502: for each counter of which this is open, why.

use super::explore::{Explored, Unsearched, explore};
use super::found::Found;
use super::matching::{InTurn, Unordered, shared_by_threads};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::counter::CounterKind;
use crate::ir::{OriginId, Program, Rank, RankId};

/// Checks all schedules of a program in which counters are shared.
pub(super) fn check(program: &Program) -> Vec<Diagnostic> {
    if !program.ranks.iter().any(Rank::may_share) {
        return Vec::new();
    }
    let by_threads = shared_by_threads(program);
    let threaded = by_threads.iter().map(|(rank, one)| (*rank, one.block)).collect();
    let undecided = match explore(program, &threaded) {
        Explored::Stuck(report) => return vec![*report],
        Explored::Searched(undecided) => undecided,
    };
    let (in_turn, mut found) = (InTurn::of(program), Found::default());
    for (rank, one) in &by_threads {
        found.add(not_searched(unproved_threads(program, *rank, one), Unsearched::Threads));
    }
    for (id, rank) in program.ranks.entries() {
        let mut add = |counter, name, origin| {
            let why = undecided.get(&(id, counter)).filter(|_| !in_turn.takes(id, counter));
            let report = |why: &Unsearched| not_searched(unproved(program, id, name, origin), *why);
            why.map(report).into_iter().for_each(|report| found.add(report));
        };
        for (channel, row) in rank.channels.entries() {
            add(CounterKind::Channel(channel), &row.name, row.origin);
        }
        for (semaphore, row) in rank.semaphores.entries() {
            add(CounterKind::Semaphore(semaphore), &row.name, row.origin);
        }
    }
    found.finish("place")
}

/// Why not all schedules are tried, and what to do about that.
fn not_searched(report: Diagnostic, why: Unsearched) -> Diagnostic {
    match why {
        Unsearched::TooMany(exceeded) => report
            .note("the program has too many schedules to try them all")
            .note(exceeded.limit())
            .help("check it with fewer ranks, blocks or instances: there all schedules are tried"),
        Unsearched::Threads => report
            .note("the threads of a block take from it separately, in an operation with others: such schedules are not tried")
            .help("use it alone in an operation, with `sync;` before it if the block has just waited for others"),
    }
}

/// A counter that the threads of one block share, as its author accepts.
fn unproved_threads(program: &Program, rank: RankId, one: &Unordered) -> Diagnostic {
    let message = format!(
        "threads of one block share `{}` of rank {}: it is not proved that none of them waits forever",
        one.name, rank.0
    );
    Diagnostic::new(Code::W0502, program.origins.at(one.second), message)
}

/// A counter that blocks share, as its author accepts.
fn unproved(program: &Program, rank: RankId, name: &str, origin: OriginId) -> Diagnostic {
    let message = format!(
        "several blocks share `{name}` of rank {}: it is not proved that none of them waits forever",
        rank.0
    );
    Diagnostic::new(Code::W0502, program.origins.at(origin), message)
        .note("which wait takes which signal depends on the schedule; one schedule was run to its end")
        .note("order and the absence of races are proved nevertheless: only what comes first in every schedule counts")
}
