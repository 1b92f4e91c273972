//! The collective's promise: what every output chunk must hold at the end.
//!
//! In: the memory that a run left. Without races, every schedule leaves the same memory, so one run decides.
//! * E0701: a chunk holds each promised contribution exactly once, and nothing else.

mod path;
mod trace;

use super::event_graph::EventGraph;
use super::names;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::ir::run::{self, Broken, Contribution, Memory};
use crate::source::At;
use std::collections::BTreeMap;

/// The content of a chunk that nothing writes; the message already says so.
const UNWRITTEN: &[(u32, u32)] = &[(Contribution::NOBODY, 0)];

/// Reports the first chunk that breaks a promise, and how many more do: usually they have one cause.
pub(super) fn check(program: &ir::Program, memory: &Memory) -> Vec<Diagnostic> {
    let broken = run::broken_promises(program, memory);
    let Some(first) = broken.first() else { return Vec::new() };
    let report = report(program, first);
    let report = match EventGraph::new(program, memory.parts()) {
        Some(graph) => path::show(&graph, memory, first, report),
        None => report,
    };
    vec![others(unwritten(report, program, &broken), broken.len())]
}

/// Adds how much of a rank's output nothing writes, if that is more than the reported chunk: usually there are more
/// chunks than the author thought.
fn unwritten(report: Diagnostic, program: &ir::Program, broken: &[Broken]) -> Diagnostic {
    let Some(first) = broken.first().filter(|first| first.last_writer.is_none()) else {
        return report;
    };
    let beside = |one: &&Broken| one.rank == first.rank && one.last_writer.is_none();
    let count = broken.iter().filter(beside).count();
    let all = program.ranks.lookup(first.rank).map_or(0, |rank| rank.output_chunks);
    match count {
        0 | 1 => report,
        count => report.note(format!(
            "nothing writes {count} of the {all} chunks of `output` of rank {}",
            first.rank.0
        )),
    }
}

fn report(program: &ir::Program, broken: &Broken) -> Diagnostic {
    let name = &program.collective.name;
    let (chunk, rank) = (broken.chunk, broken.rank.0);
    let place = broken.last_writer.map(|origin| program.origins.at(origin));
    let place = place.or(program.collective.place.map(At::from));
    let message =
        format!("`output[{chunk}]` of rank {rank} is not what {name} promises: {}", why(broken));
    // In a plan, a chunk that nothing writes has no place.
    let mut report = match place {
        Some(place) => Diagnostic::new(Code::E0701, place, message),
        None => Diagnostic::without_place(Code::E0701, message),
    };
    if let Some(origin) = broken.last_writer {
        let values = program.origins.values(origin);
        let values =
            if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) };
        report = report.label(format!("the last write to it{values}"));
        if let Some(promised) = program.collective.place {
            report = report.and(promised, "the promise");
        }
    } else {
        report = report.label("nothing writes this chunk");
    }
    for (list, text) in [
        (&broken.missing, "missing"),
        (&broken.doubled, "twice"),
        (&broken.unexpected, "not promised"),
    ] {
        if !list.is_empty() && list.as_slice() != UNWRITTEN {
            report = report.note(format!("{text}: {}", contributions(list)));
        }
    }
    report
}

/// Adds how many other chunks are wrong.
fn others(report: Diagnostic, count: usize) -> Diagnostic {
    match count {
        1 => report,
        2 => report.note("1 other chunk is wrong too"),
        more => report.note(format!("{} other chunks are wrong too", more - 1)),
    }
}

fn why(broken: &Broken) -> String {
    let nobody = |list: &[(u32, u32)]| list.iter().any(|(rank, _)| *rank == Contribution::NOBODY);
    let one = |list: &[(u32, u32)]| {
        list.first().map_or_else(String::new, |(rank, _)| format!("rank {rank}'s contribution"))
    };
    match (broken.doubled.is_empty(), broken.missing.first(), broken.unexpected.first()) {
        _ if nobody(&broken.unexpected) => "it holds memory that was never written".to_string(),
        (false, ..) => format!("{} is in it twice", one(&broken.doubled)),
        (true, Some((wanted, chunk)), Some((rank, other))) if wanted == rank => format!(
            "rank {rank}'s `input[{chunk}]` is missing, and its `input[{other}]` does not belong there"
        ),
        (true, Some(_), Some((rank, _))) => {
            format!("{} is missing, and rank {rank}'s does not belong there", one(&broken.missing))
        }
        (true, Some(_), None) => format!("{} is missing", one(&broken.missing)),
        (true, None, _) => format!("{} does not belong there", one(&broken.unexpected)),
    }
}

/// "`input[3]` of ranks 0 to 7, ..": up to eight chunks.
fn contributions(list: &[(u32, u32)]) -> String {
    let mut from: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let (nobody, known): (Vec<_>, Vec<_>) =
        list.iter().partition(|(rank, _)| *rank == Contribution::NOBODY);
    for (rank, chunk) in known {
        from.entry(chunk).or_default().push(rank);
    }
    let known = from.iter().map(|(chunk, of)| format!("`input[{chunk}]` of {}", names::ranks(of)));
    let nobody = nobody.first().map(|_| "memory that was never written".to_owned());
    let all: Vec<String> = known.chain(nobody).collect();
    let (shown, rest) = all.split_at(all.len().min(8));
    if rest.is_empty() {
        return shown.join(", ");
    }
    format!("{}, and {} more", shown.join(", "), rest.len())
}
