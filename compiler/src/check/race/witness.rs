//! Witnesses of conflicts: the two accesses, the nearest synchronization on each side, and a schedule in which they
//! meet.

use super::super::event_graph::{EventGraph, Moment, Run};
use super::super::names;
use super::super::nearest::{self, ChunkOfRank};
use super::acts::Touch;
use super::machine::{Conflict, Kind};
use super::words::{OTHER_WAY, signal_first};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::witness::{Access, Cells, Finding, Race, Turn, Witness};
use crate::ir;
use crate::ir::grain::Grain;
use std::ops::Range;

/// Adds a conflict's witness to its report.
pub(super) fn show(
    graph: &EventGraph,
    conflict: &Conflict,
    cells: Range<u64>,
    report: Diagnostic,
) -> Diagnostic {
    let Some((first, second)) = moments(graph, conflict) else { return report };
    // A proxy's signal is part of its request.
    let after = first.filter(|first| after_matters(conflict.kind) && !graph.is_proxy(first.agent));
    let before = Some(second).filter(|_| before_matters(conflict.kind));
    let told = after.and_then(|at| nearest::after(graph, at));
    let heard = before.and_then(|at| nearest::before(graph, at));
    let mut report = report;
    if let Some(at) = after {
        let block = nearest::block(graph, at);
        report = match told {
            Some(told) => {
                let text = format!("after it, {block} {}", nearest::told(graph, told));
                also(graph, report, told, text)
            }
            None => report.note(format!("after it, {block} signals no one")),
        };
    }
    if let Some(at) = before {
        let block = nearest::block(graph, at);
        report = match heard {
            Some(heard) => {
                let text = format!("before it, {block} {}", nearest::heard(graph, heard));
                also(graph, report, heard, text)
            }
            None => report.note(format!("before it, {block} waits for no one")),
        };
    }
    if let Some(first) = first.filter(|_| conflict.kind == Kind::Race) {
        report = heard_late(graph, conflict, report, (first, second));
    }
    if conflict.kind == Kind::Unwritten {
        report = written_elsewhere(graph, conflict, report);
    }
    let (ordered, schedule) = meeting(graph, first, second);
    let race = Race {
        memory: Cells {
            rank: conflict.place.rank.0,
            buffer: names::buffer(conflict.second.buffer),
            start: cells.start,
            end: cells.end,
            parts: graph.parts(),
        },
        first: first.map(|moment| Access {
            event: graph.event(moment),
            write: conflict.kind == Kind::Start || conflict.first.write,
        }),
        second: Access {
            event: graph.event(second),
            write: conflict.kind == Kind::End || conflict.second.write,
        },
        ordered,
        after_first: told.map(|moment| graph.event(moment)),
        before_second: heard.map(|moment| graph.event(moment)),
    };
    report.witness = Some(Box::new(Witness::new(Finding::Race(Box::new(race)), schedule)));
    report
}

/// Whether the moments that must run before the second one include the first one, and a schedule that reaches both, if
/// there is one. Where several agents write a packet, it uses those writes that tell nothing about the first moment, if
/// there are such.
fn meeting(graph: &EventGraph, first: Option<Moment>, second: Moment) -> (bool, Vec<Turn>) {
    let late = graph.late(first, second);
    let mut run = Run::by(graph, late.as_ref());
    let mut reached = run.reach_all_before(second);
    let ordered = first.is_some_and(|first| run.has(first));
    // Both are reached before either is run: otherwise one would have to wait for what the other's rank does next.
    reached &= first.filter(|_| !ordered).is_none_or(|first| run.reach_all_before(first));
    reached &= run.reach(second) && first.is_none_or(|first| run.reach(first));
    (ordered, if reached { graph.turns(run.moments()) } else { Vec::new() })
}

/// Adds a label where the rank of one access waits for what announces the other one, if that is after it or in another
/// block. A write comes before a read, where one of the two has to be first.
fn heard_late(
    graph: &EventGraph,
    conflict: &Conflict,
    report: Diagnostic,
    (first, second): (Moment, Moment),
) -> Diagnostic {
    let pairs = match conflict.first.write {
        true => [(first, second), (second, first)],
        false => [(second, first), (first, second)],
    };
    let late = |(one, other): (Moment, Moment)| {
        let told = nearest::teller(graph, one)?;
        let heard = nearest::hearer(graph, told, graph.rank(other.agent))?;
        let in_time = heard.agent == other.agent && heard.at < other.at;
        (!in_time).then_some((heard, heard.agent == other.agent, one))
    };
    let [read, write] = if conflict.first.write { [second, first] } else { [first, second] };
    let (buffer, cell) = conflict.said(graph.program, Grain::parts(graph.parts()));
    let owner = conflict.place.rank;
    let chunk = ChunkOfRank { owner, buffer, chunk: cell / u64::from(graph.parts().max(1)) };
    // Without that write, there is nothing to be read: it cannot come after the read.
    let is_needed = buffer == ir::Buffer::Scratch
        && !(conflict.first.write && conflict.second.write)
        && nearest::writes_alone(graph, write, chunk);
    let pairs_tried = pairs.into_iter().filter(|(one, _)| !is_needed || *one == write);
    let found = pairs_tried.filter_map(late).min_by_key(|(_, same, _)| !same);
    let Some((heard, same, one)) = found else {
        return if is_needed { written_first(graph, report, write, read) } else { report };
    };
    let block = nearest::block(graph, heard);
    if !same {
        return also(graph, report, heard, format!("only {block} waits for it"));
    }
    let told = nearest::heard(graph, heard);
    let mut report =
        also(graph, report, heard, format!("{block} {told} only after its own access"));
    // Of two writes to one chunk, one should usually write another chunk.
    if conflict.first.write && conflict.second.write {
        return report;
    }
    let before = match pairs {
        [(write, _), _] if one == write && nearest::has_written(graph, write, chunk) => format!(
            "; or, if it is to read what was there before, let {} wait until it has",
            nearest::block(graph, write)
        ),
        _ => String::new(),
    };
    let is_exchange = graph.program.collective.in_place
        && buffer != ir::Buffer::Scratch
        && graph.at(first) == graph.at(second)
        && graph.rank(read.agent) == conflict.place.rank
        && puts_to(graph, read, graph.rank(write.agent));
    report.helps = vec![if is_exchange {
        // Every rank does both: if each waited until its own chunk had been read, none would begin.
        let name = names::chunk(graph.program, owner, buffer, chunk.chunk);
        format!(
            "ranks exchange these chunks: `put` them into scratch, and copy what arrived to {name} once it has been sent"
        )
    } else {
        format!("let {block} wait for the other access before its own{before}")
    }];
    report
}

/// Help for a read of what only one operation writes: there, not either of the two may come first.
fn written_first(
    graph: &EventGraph,
    mut report: Diagnostic,
    write: Moment,
    read: Moment,
) -> Diagnostic {
    let (writer, reader) = (graph.rank(write.agent), graph.rank(read.agent));
    for help in report.helps.iter_mut().filter(|help| help.ends_with(OTHER_WAY)) {
        if writer != reader {
            *help = signal_first(writer, reader);
        }
    }
    report
}

/// Whether a moment's operation puts something to a rank.
fn puts_to(graph: &EventGraph, moment: Moment, rank: ir::RankId) -> bool {
    let line = graph.line(moment).and_then(|(agent, at)| graph.lines(agent).get(at as usize));
    let transfer = line.and_then(|line| line.op.transfer());
    transfer.is_some_and(|one| one.destinations.iter().any(|to| to.place.peer() == Some(rank)))
}

/// Adds the write that is nearest to a place that nobody has written.
fn written_elsewhere(graph: &EventGraph, conflict: &Conflict, report: Diagnostic) -> Diagnostic {
    let (rank, (buffer, cell)) =
        (conflict.place.rank, conflict.said(graph.program, Grain::parts(graph.parts())));
    let chunk = cell / u64::from(graph.parts().max(1));
    let Some((writer, written)) =
        nearest::writer(graph, ChunkOfRank { owner: rank, buffer, chunk })
    else {
        return report.note(format!(
            "nothing writes to `{}` of rank {}",
            names::buffer(buffer),
            rank.0
        ));
    };
    let event = graph.event(writer);
    let packets = written == chunk && nearest::writes_packets(graph, writer);
    let how = match written == chunk {
        true if packets => "here, but as packets",
        true => "only after the read",
        false => "here",
    };
    let name = names::chunk(graph.program, rank, buffer, written);
    let mut report =
        also(graph, report, writer, format!("rank {} writes {name} {how}", event.rank));
    if packets {
        report.helps = vec![
            "read it with an operation on packets, such as `unpack_packets`, or write it without packets".to_owned(),
        ];
    }
    report
}

/// Adds a label at an operation, unless there is one at its place already.
fn also(graph: &EventGraph, report: Diagnostic, moment: Moment, text: String) -> Diagnostic {
    let Some(place) = graph.at(moment) else { return report };
    match report.tells_of(&place) {
        true => report.note(text),
        false => report.and(place, text),
    }
}

/// The two accesses: the one that should come first, if there is one, and the one it conflicts with.
fn moments(graph: &EventGraph, conflict: &Conflict) -> Option<(Option<Moment>, Moment)> {
    let owner = conflict.place.rank;
    let first = |launch| moment(graph, &conflict.first, launch);
    let second = |launch| moment(graph, &conflict.second, launch);
    Some(match conflict.kind {
        Kind::Race | Kind::Threads | Kind::Twice => (Some(first(0)?), second(0)?),
        Kind::Start => (Some(graph.start(owner, 0)), second(0)?),
        Kind::End => (Some(first(0)?), graph.start(owner, 1)),
        Kind::Unwritten => (None, first(0)?),
        Kind::Launches => (Some(first(0)?), second(apart(graph))?),
    })
}

/// How many launches later the same scratch is used again.
fn apart(graph: &EventGraph) -> u32 {
    if graph.program.options.double_scratch { 2 } else { 1 }
}

fn moment(graph: &EventGraph, touch: &Touch, launch: u32) -> Option<Moment> {
    let agent = touch.agent;
    if !graph.is_proxy(agent) {
        return Some(Moment { launch, agent, at: touch.step });
    }
    Some(Moment { launch, agent, at: graph.moving(agent, touch.step)? })
}

fn after_matters(kind: Kind) -> bool {
    match kind {
        Kind::Race | Kind::End | Kind::Launches => true,
        Kind::Threads | Kind::Start | Kind::Unwritten | Kind::Twice => false,
    }
}

fn before_matters(kind: Kind) -> bool {
    match kind {
        Kind::Race | Kind::Start | Kind::Launches => true,
        Kind::Threads | Kind::End | Kind::Unwritten | Kind::Twice => false,
    }
}
