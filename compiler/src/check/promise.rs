//! The collective's promise: what every output chunk must hold at the end.
//!
//! In: the memory that a run left. Without races, every schedule leaves the same memory, so one run decides.
//! * E0701: a chunk holds each promised contribution as often as it is promised, and nothing else; what several sources
//!   were combined to, they were combined by the collective's operator.

mod path;
mod trace;

use super::event_graph::EventGraph;
use super::names;
use crate::diagnostic::{Code, Diagnostic};
use crate::interpreter::{self, Broken, BrokenPromises, Combined, Memory, Times};
use crate::ir;
use crate::ir::contribution::Contribution;
use crate::ir::{Op, Transfer};
use crate::source::{At, Place};
use std::collections::BTreeMap;

/// The content of a chunk that nothing writes; the message already says so.
const UNWRITTEN: &[(u32, u32)] = &[(Contribution::NOBODY, 0)];

/// Reports the first chunk that breaks a promise, and how many more do: usually they have one cause.
pub(super) fn check(program: &ir::Program, memory: &Memory) -> Vec<Diagnostic> {
    let Some(broken) = interpreter::broken_promises(program, memory) else { return Vec::new() };
    let first = &broken.first;
    let graph = EventGraph::new(program, memory.parts());
    let by = first.combined.and_then(|combined| combiner(program, graph.as_ref(), first, combined));
    let report = match &by {
        Some(by) => wrong_operator(program, first, by),
        None => report(program, first),
    };
    let report = match &graph {
        Some(graph) => path::show(graph, memory, first, by.map(|by| by.reduce), report),
        None => report,
    };
    vec![others(unwritten(report, program, &broken), broken.chunks)]
}

/// Adds how much of a rank's output nothing writes, if that is more than the reported chunk: usually there are more
/// chunks than the author thought.
fn unwritten(report: Diagnostic, program: &ir::Program, broken: &BrokenPromises) -> Diagnostic {
    let first = &broken.first;
    if first.last_writer.is_some() {
        return report;
    }
    let all = program.ranks.lookup(first.rank).map_or(0, |rank| rank.output_chunks);
    let mut report = match broken.unwritten {
        0 | 1 => report,
        count => report.note(format!(
            "nothing writes {count} of the {all} chunks of `output` of rank {}",
            first.rank.0
        )),
    };
    let chunks = program.ranks.iter().map(|rank| rank.input_chunks.max(rank.output_chunks));
    let most = chunks.max().unwrap_or_default();
    if most > 1 && uses_first_chunks_only(program) {
        let name = &program.collective.name;
        let text = format!(
            "`input[0]` and `output[0]` are one of the {most} chunks of {name}, not all of them: write `[..]` for all"
        );
        report.helps.insert(0, text);
    }
    report
}

/// Whether a program from source uses no other chunk of inputs and outputs than the first: its author may take that for the
/// whole buffer.
fn uses_first_chunks_only(program: &ir::Program) -> bool {
    let mut operands = program
        .all_ops()
        .filter_map(Op::transfer)
        .flat_map(Transfer::operands)
        .filter(|operand| operand.buffer != ir::Buffer::Scratch)
        .peekable();
    program.collective.place.is_some()
        && operands.peek().is_some()
        && operands.all(|operand| operand.index == 0 && operand.size == 1)
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
        if adds_up_lists(program, origin) {
            report = report.help("every operand of a list is combined with all others: write `[..]` instead of `[*]` to combine chunk by chunk");
        }
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
        (&broken.missing, "missing".to_owned()),
        (&sources(&broken.too_few), too_few(&broken.too_few)),
        (&sources(&broken.doubled), doubled(&broken.doubled)),
        (&broken.unexpected, "not promised".to_owned()),
    ] {
        if !list.is_empty() && list.as_slice() != UNWRITTEN {
            report = report.note(format!("{text}: {}", contributions(list)));
        }
    }
    report
}

/// Whether an operation from source combines several chunks of one buffer into several chunks: then each of these is the
/// combination of all.
fn adds_up_lists(program: &ir::Program, origin: ir::OriginId) -> bool {
    let op = program.all_ops().find(|op| op.origin == origin);
    let Some(transfer) = op.and_then(Op::transfer) else { return false };
    let mut places = transfer.sources.iter().map(|operand| (operand.buffer, operand.place));
    let mut seen = Vec::new();
    let is_known = |place| {
        let known = seen.contains(&place);
        seen.push(place);
        known
    };
    program.collective.place.is_some()
        && transfer.verb.reduces()
        && transfer.destinations.len() > 1
        && places.any(is_known)
}

fn sources(times: &[Times]) -> Vec<(u32, u32)> {
    times.iter().map(|one| one.of).collect()
}

fn too_few(times: &[Times]) -> String {
    match times {
        [one] => format!("{}, but promised {}", often(one.found), often(one.promised)),
        _ => "less often than promised".to_owned(),
    }
}

fn doubled(times: &[Times]) -> String {
    match times {
        [one] if one.promised > 1 => {
            format!("{}, but promised {}", often(one.found), often(one.promised))
        }
        [one] => often(one.found),
        _ if times.iter().all(|one| (one.found, one.promised) == (2, 1)) => "twice".to_owned(),
        _ => "more often than promised".to_owned(),
    }
}

fn often(count: u32) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    }
}

/// The operation that combined a chunk's contributions by another operator than the collective's. Where there are too many
/// to be followed, it is the first one of the program with such an operator.
fn combiner(
    program: &ir::Program,
    graph: Option<&EventGraph>,
    broken: &Broken,
    combined: Combined,
) -> Option<Foreign> {
    let here = graph.and_then(|graph| path::combining(graph, broken));
    let made_it = |one: &Foreign| match combined {
        Combined::By(op) => op == one.reduce,
        Combined::Never | Combined::Mixed => true,
    };
    let mut all = program.all_ops().filter_map(|op| foreign(program, op));
    here.or_else(|| all.find(made_it))
}

/// Reports that a chunk was combined by another operator than the collective's, at the operation that did it.
fn wrong_operator(program: &ir::Program, broken: &Broken, by: &Foreign) -> Diagnostic {
    let (name, op) = (&program.collective.name, program.collective.op.word());
    let (chunk, rank, used) = (broken.chunk, broken.rank.0, by.reduce.word());
    let message = format!(
        "`output[{chunk}]` of rank {rank} is not what {name} promises: its contributions are combined by `{used}`, and `{op}` is promised"
    );
    let report = Diagnostic::new(Code::E0701, program.origins.at(by.origin), message);
    let in_source = report.primary.as_ref().is_some_and(|at| matches!(at.place, Place::Source(_)));
    let report = report.label(format!("`{used}` combines them here"));
    let report = match program.collective.place {
        Some(promised) => report.and(promised, format!("the promise, with `op = {op}`")),
        None => report,
    };
    report.help(match in_source {
        true => format!(
            "remove `op = {used}`: without it, an operation combines by the collective's `op`; or promise `op = {used}`"
        ),
        false => "give all reductions of the plan the same `reduce_op`".to_owned(),
    })
}

/// A reduction by another operator than the collective's.
struct Foreign {
    origin: ir::OriginId,
    reduce: ir::ReduceOp,
}

/// An operation, if it is such a reduction.
fn foreign(program: &ir::Program, op: &Op) -> Option<Foreign> {
    let Transfer { verb, reduce, .. } = op.transfer()?;
    let is_foreign = verb.reduces() && *reduce != program.collective.op;
    is_foreign.then_some(Foreign { origin: op.origin, reduce: *reduce })
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
    let times = |times: &Times| {
        let (found, name) = (often(times.found), one(&[times.of]));
        match times.promised {
            1 => format!("{name} is in it {found}"),
            more => format!("{name} is in it {found}, and promised {}", often(more)),
        }
    };
    if let (Some(few), []) = (broken.too_few.first(), broken.missing.as_slice())
        && broken.unexpected.is_empty()
        && broken.doubled.is_empty()
    {
        return times(few);
    }
    match (broken.doubled.first(), broken.missing.first(), broken.unexpected.first()) {
        _ if nobody(&broken.unexpected) => "it holds memory that was never written".to_string(),
        (Some(doubled), ..) => times(doubled),
        (None, Some((wanted, chunk)), Some((rank, other))) if wanted == rank => format!(
            "rank {rank}'s `input[{chunk}]` is missing, and its `input[{other}]` does not belong there"
        ),
        (None, Some(_), Some((rank, _))) => {
            format!("{} is missing, and rank {rank}'s does not belong there", one(&broken.missing))
        }
        (None, Some(_), None) => format!("{} is missing", one(&broken.missing)),
        (None, None, _) => format!("{} does not belong there", one(&broken.unexpected)),
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
