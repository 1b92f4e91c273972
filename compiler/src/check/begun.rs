//! Reports about ranks that end before others have begun, although their collective promises that these have.
//!
//! In: the ranks that were found. Out:
//! * E0702: the first of them, with whom it waits for, and how many others there are.

use super::event_graph::{EventGraph, Moment, Run};
use super::names;
use super::race::Early;
use crate::diagnostic::witness::{Finding, Witness};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::grain::count_parts;
use crate::ir::{Program, RankId};

/// Reports the first rank that may end too early; usually all have one cause.
pub(super) fn report(program: &Program, early: &[Early]) -> Option<Diagnostic> {
    let first = early.first()?;
    let (rank, begins) = (first.rank.0, first.missing.first()?);
    let message = format!("rank {rank} may end before rank {} has begun", begins.0);
    let label = format!("`{}` promises that it has", program.collective.name);
    let report = match program.collective.place {
        Some(place) => Diagnostic::new(Code::E0702, place, message).label(label),
        None => Diagnostic::without_place(Code::E0702, message).note(label),
    };
    let report = report.note(waits(program, first));
    let report = others(report, early.iter().map(|one| one.missing.len()).sum());
    Some(match EventGraph::new(program, count_parts(program)) {
        Some(graph) => show(&graph, first.rank, *begins, report),
        None => report,
    })
}

/// For whom a rank is known to wait, among those for which it must.
fn waits(program: &Program, early: &Early) -> String {
    let rank = early.rank;
    let begun = program.ranks.lookup(rank).map_or(&[] as &[RankId], |row| &row.begun);
    let waits = |id: &&RankId| **id != rank && early.missing.binary_search(id).is_err();
    match begun.iter().filter(waits).map(|id| id.0).collect::<Vec<u32>>().as_slice() {
        [] => format!("rank {} waits for none of the ranks for which it must", rank.0),
        known => format!(
            "before it ends, rank {} waits only for {}, directly or through others",
            rank.0,
            names::ranks(known)
        ),
    }
}

fn others(report: Diagnostic, pairs: usize) -> Diagnostic {
    match pairs {
        0 | 1 => report,
        2 => report.note("the same for 1 other pair of ranks"),
        more => report.note(format!("the same for {} other pairs of ranks", more - 1)),
    }
}

/// Adds a way out, and a schedule in which the rank ends too early. If the blocks seem to do everything in order, it is the
/// threads of some block that do not: each signals as soon as it has waited itself.
fn show(graph: &EventGraph, rank: RankId, begins: RankId, mut report: Diagnostic) -> Diagnostic {
    let mut run = Run::new(graph);
    let end = |agent| Moment { launch: 0, agent, at: graph.lines(agent).len() as u32 };
    let ends = graph.blocks_of(rank).all(|agent| run.reach(end(agent)));
    if ends && run.has(graph.start(begins, 0)) {
        return report
            .note("each thread of a block signals as soon as it has waited for its own channel")
            .help("let the threads of a block meet between a wait and the signals that pass it on: `sync;`");
    }
    if ends {
        let finding = Finding::Early { ends: rank.0, begins: begins.0 };
        report.witness = Some(Box::new(Witness::new(finding, graph.turns(run.moments()))));
    }
    report.help(format!(
        "let rank {} signal rank {}, or a rank for which that one waits",
        begins.0, rank.0
    ))
}
