//! Deadlock: blocks that can never go on.
//!
//! In: the blocks that a run left waiting. In a program whose channel ends and semaphores have one user each, every
//! schedule stops at the same points, so one run decides.
//! * E0601: blocks that wait for each other in a cycle;
//! * E0602: a wait or acquire that nothing answers;
//! * E0604: packets that nobody writes. A proxy that sends them does not wait: the block that reads what it sent does.
//!
//! A block that only waits for a block in a cycle is no mistake of its own, and is not reported.

use super::event_graph::{EventGraph, Moment, Run};
use super::names;
use super::nearest;
use crate::diagnostic::witness::{Event, Finding, Step, Wait, Witness};
use crate::diagnostic::{Code, Diagnostic};
use crate::interpreter::{self, Awaits, Outcome, Stuck};
use crate::ir::{self, Action, BarrierId, Buffer, RankId};

/// How many blocks of a cycle are named.
const NAMED: usize = 4;

/// A block that cannot go on.
struct Waiter<'a> {
    stuck: &'a Stuck,
    moment: Moment,
}

/// What a block waits for: another block, which would provide it at a moment that it never reaches.
#[derive(Clone, Copy)]
struct Edge {
    to: usize,
    given: Moment,
}

/// Reports why the blocks that are stuck cannot go on.
pub(super) fn explain(program: &ir::Program, parts: u32, stuck: &[Stuck]) -> Vec<Diagnostic> {
    let Some(graph) = EventGraph::new(program, parts) else {
        return stuck.first().map(|one| in_short(program, one)).into_iter().collect();
    };
    let waiters: Vec<Waiter> = stuck.iter().filter_map(|one| waiter(&graph, one)).collect();
    let edges: Vec<Option<Edge>> = waiters.iter().map(|one| edge(&graph, &waiters, one)).collect();
    if let Some(unanswered) = edges.iter().position(Option::is_none) {
        let one = waiters.get(unanswered);
        return one.map(|one| unanswered_report(&graph, &waiters, one)).into_iter().collect();
    }
    // Every block waits for another one: following the edges leads into a cycle.
    let next = |at: usize| edges.get(at).copied().flatten();
    let mut at = 0;
    for _ in &waiters {
        at = next(at).map_or(at, |edge| edge.to);
    }
    let mut cycle: Vec<(&Waiter, Option<Edge>)> = Vec::new();
    let start = at;
    while let Some((one, edge)) = waiters.get(at).zip(next(at)) {
        cycle.push((one, Some(edge)));
        at = edge.to;
        if at == start {
            break;
        }
    }
    // A proxy only passes on what it sends: the block that requested it does not stand still.
    if cycle.iter().any(|(one, _)| !graph.sends_raw(one.moment)) {
        cycle.retain(|(one, _)| !graph.sends_raw(one.moment));
    }
    let report = cycle_report(&graph, &cycle);
    report.map(|report| show(&graph, &cycle, report)).into_iter().collect()
}

fn waiter<'a>(graph: &EventGraph, stuck: &'a Stuck) -> Option<Waiter<'a>> {
    let inner = stuck.site.inner.map(|inner| (inner.operation, inner.turn));
    let step = Step { operation: stuck.site.operation, inner };
    Some(Waiter { stuck, moment: graph.at_step(stuck.rank, stuck.block, step)? })
}

/// The block that would have to go on first; none where nothing would provide what is waited for.
fn edge(graph: &EventGraph, waiters: &[Waiter], one: &Waiter) -> Option<Edge> {
    let needs = match graph.sends_raw(one.moment) {
        true => graph.sent(one.moment),
        false => graph.needs(one.moment, None),
    };
    needs?.into_iter().find_map(|given| {
        let (agent, at) = graph.line(given)?;
        let behind = |other: &Waiter| other.moment.agent == agent && other.moment.at <= at;
        Some(Edge { to: waiters.iter().position(behind)?, given })
    })
}

/// The report of a block that waits for something that nothing provides, or has packets sent that nobody writes, so
/// that another block waits.
fn unanswered_report(graph: &EventGraph, waiters: &[Waiter], one: &Waiter) -> Diagnostic {
    if !graph.sends_raw(one.moment) {
        return show(graph, &[(one, None)], never_answered(graph, one));
    }
    let report = never_written(graph, one);
    let made = Some((one.moment.agent, one.moment.at));
    let waits = waiters.iter().enumerate().find_map(|(to, other)| {
        let mut needs = graph.needs(other.moment, None)?.into_iter();
        let given =
            needs.find(|given| graph.is_proxy(given.agent) && graph.line(*given) == made)?;
        Some((other, Edge { to, given }))
    });
    let Some((other, edge)) = waits else { return show(graph, &[(one, None)], report) };
    let place = graph.program.origins.at(other.stuck.origin);
    let text = format!("{} waits for them here, forever", who(graph.program, other.stuck));
    show(graph, &[(other, Some(edge))], report.and(place, text))
}

/// Adds to a report a witness for some block that stands still in the end, where the run does not reach the block that
/// the report is about. If there is none, adds `finding` without a schedule.
pub(super) fn show_any(graph: &EventGraph, mut report: Diagnostic, finding: Finding) -> Diagnostic {
    if let Outcome::Stuck(stuck) = interpreter::run(graph.program, super::budget::RUN.amount()) {
        for one in &stuck {
            let Some(one) = waiter(graph, one) else { continue };
            report = show(graph, &[(&one, None)], report);
            if report.witness.as_ref().is_some_and(|witness| !witness.schedule.is_empty()) {
                return report;
            }
        }
    }
    report.witness = Some(Box::new(Witness::new(finding, Vec::new())));
    report
}

/// Adds a witness to a report: who waits for whom, and a schedule that leads there.
fn show(
    graph: &EventGraph,
    cycle: &[(&Waiter, Option<Edge>)],
    mut report: Diagnostic,
) -> Diagnostic {
    let mut run = Run::new(graph);
    let reached = cycle.iter().all(|(one, _)| run.stand_at(one.moment));
    let schedule = if reached { graph.turns(run.moments()) } else { Vec::new() };
    let waits = cycle.iter().map(|(one, edge)| Wait {
        event: graph.event(one.moment),
        awaits: what(graph, one, *edge),
        given_by: edge.map(|edge| graph.event(edge.given)),
    });
    let finding = Finding::Deadlock { cycle: waits.collect() };
    report.witness = Some(Box::new(Witness::new(finding, schedule)));
    report
}

/// "block `main` of rank 0"
fn who(program: &ir::Program, stuck: &Stuck) -> String {
    let block = program.ranks.lookup(stuck.rank).and_then(|rank| rank.blocks.lookup(stuck.block));
    format!("block `{}` of rank {}", block.map_or("", |block| &block.name), stuck.rank.0)
}

/// "rank 1's signal on `ring[1]`"
fn what(graph: &EventGraph, one: &Waiter, edge: Option<Edge>) -> String {
    if one.stuck.awaits != Awaits::Packets {
        return counted(graph.program, one.stuck);
    }
    match (graph.unwritten_packet(one.moment), edge) {
        (Some((rank, cell)), _) => format!("packets in {}", slot(graph, rank, cell)),
        (None, Some(edge)) => format!("packets of rank {}", graph.rank(edge.given.agent).0),
        (None, None) => "packets in its scratch".to_string(),
    }
}

/// "`inbox[1]`"
fn slot(graph: &EventGraph, rank: RankId, cell: u64) -> String {
    let chunk = cell / u64::from(graph.parts().max(1));
    names::chunk(graph.program, rank, Buffer::Scratch, chunk)
}

/// What a block waits for, as text: a signal, a release, a barrier or packets.
fn counted(program: &ir::Program, stuck: &Stuck) -> String {
    let rank = program.ranks.lookup(stuck.rank);
    match stuck.awaits {
        Awaits::Signal(id) => {
            let channel = rank.and_then(|rank| rank.channels.lookup(id));
            let peer = channel.and_then(ir::Channel::peer).map_or(0, |peer| peer.0);
            let name = channel.map_or("", |channel| &channel.name);
            format!("rank {peer}'s signal on `{name}`")
        }
        Awaits::Semaphore(id) => {
            let name = rank
                .and_then(|rank| rank.semaphores.lookup(id))
                .map_or("", |semaphore| &semaphore.name);
            format!("a release of `{name}`")
        }
        Awaits::Barrier(_) => "the other blocks of a barrier".to_string(),
        Awaits::Packets => "packets in its scratch".to_string(),
    }
}

fn situation(program: &ir::Program, stuck: &Stuck) -> String {
    let values = program.origins.values(stuck.origin);
    if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) }
}

fn never_answered(graph: &EventGraph, one: &Waiter) -> Diagnostic {
    let program = graph.program;
    let (who, what) = (who(program, one.stuck), what(graph, one, None));
    let (code, never) = match one.stuck.awaits {
        Awaits::Packets => (Code::E0604, "which are never written"),
        Awaits::Signal(_) => (Code::E0602, "which is never sent"),
        Awaits::Semaphore(_) => (Code::E0602, "which never comes"),
        Awaits::Barrier(_) => (Code::E0602, "which do not all reach it"),
    };
    let report = Diagnostic::new(
        code,
        program.origins.at(one.stuck.origin),
        format!("{who} waits for {what}, {never}"),
    )
    .label(format!("waits here forever{}", situation(program, one.stuck)));
    match one.stuck.awaits {
        Awaits::Packets => with_nearest(graph, one, report),
        Awaits::Barrier(id) => with_members(graph, one, id, report),
        Awaits::Signal(_) | Awaits::Semaphore(_) => report,
    }
}

/// The report of a proxy that sends memory that holds no packets.
fn never_written(graph: &EventGraph, one: &Waiter) -> Diagnostic {
    let program = graph.program;
    let (rank, what) = (one.stuck.rank.0, what(graph, one, None));
    let report = Diagnostic::new(
        Code::E0604,
        program.origins.at(one.stuck.origin),
        format!("the proxy of rank {rank} sends {what}, which are never written"),
    )
    .label(format!("sends what was there before{}", situation(program, one.stuck)));
    with_nearest(graph, one, report)
}

/// Adds how many blocks a barrier is for, and which blocks come to it how often.
fn with_members(graph: &EventGraph, one: &Waiter, id: BarrierId, report: Diagnostic) -> Diagnostic {
    let is_it =
        |action: &Action| matches!(action, Action::Barrier { id: there, .. } if *there == id);
    let count =
        |agent: u32| graph.lines(agent).iter().filter(|line| is_it(&line.op.action)).count();
    let here = graph.lines(one.moment.agent).get(one.moment.at as usize);
    let Some(Action::Barrier { arrivals, .. }) = here.map(|line| &line.op.action) else {
        return report;
    };
    let blocks = graph.all_blocks().filter(|agent| graph.rank(*agent) == one.stuck.rank);
    let come = blocks.map(|agent| (graph.block_name(agent), count(agent)));
    let come: Vec<String> = come
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| match count {
            1 => format!("`{name}` once"),
            more => format!("`{name}` {more} times"),
        })
        .collect();
    report
        .note(format!("the barrier is for {arrivals} blocks; it is reached by {}", come.join(", ")))
        .help("let exactly that many blocks reach it, each the same number of times")
}

/// Adds the write to the place of the missing packets that writes no packets; or else the packet write that is nearest
/// to them.
fn with_nearest(graph: &EventGraph, one: &Waiter, report: Diagnostic) -> Diagnostic {
    let missing = graph.unwritten_packet(one.moment);
    if let Some((rank, cell)) = missing {
        let chunk = cell / u64::from(graph.parts().max(1));
        let wanted = nearest::ChunkOfRank { owner: rank, buffer: Buffer::Scratch, chunk };
        let plain = nearest::writer(graph, wanted).filter(|(writer, written)| {
            *written == chunk && !nearest::writes_packets(graph, *writer)
        });
        if let Some((writer, place)) = plain.and_then(|(at, _)| Some((at, graph.at(at)?))) {
            let (name, event) = (slot(graph, rank, cell), graph.event(writer));
            let verb = nearest::packet_verb(graph, writer).word();
            return report
                .and(place, format!("rank {} writes {name} here, but not as packets", event.rank))
                .help(format!("write packets there, with `{verb}`; or read the slot without packets, after a signal"));
        }
    }
    let report = report
        .help("write packets to the slot that is read, or read the slot to which they are written");
    let nearest = missing.and_then(|at| graph.nearest_packet(at));
    let Some(((rank, cell), writer)) = nearest else { return report };
    let (name, event) = (slot(graph, rank, cell), graph.event(writer));
    match graph.at(writer) {
        Some(place) => report.and(place, format!("rank {} writes {name} here", event.rank)),
        None => report,
    }
}

/// A report without the cycle, for a program that is too large to search for it.
fn in_short(program: &ir::Program, stuck: &Stuck) -> Diagnostic {
    let (who, what) = (who(program, stuck), counted(program, stuck));
    Diagnostic::new(
        Code::E0601,
        program.origins.at(stuck.origin),
        format!("deadlock: {who} waits for {what}, which never comes"),
    )
    .label(format!("waits here forever{}", situation(program, stuck)))
    .help("check it with fewer chunks or ranks: then the report says who waits for whom")
}

fn cycle_report(graph: &EventGraph, cycle: &[(&Waiter, Option<Edge>)]) -> Option<Diagnostic> {
    let program = graph.program;
    let (first, edge) = cycle.first()?;
    let mut report = Diagnostic::new(
        Code::E0601,
        program.origins.at(first.stuck.origin),
        format!("deadlock: {} waits for {}", who(program, first.stuck), chain(program, cycle)),
    )
    .label(format!(
        "waits for {}{}",
        what(graph, first, *edge),
        situation(program, first.stuck)
    ));
    for (one, edge) in cycle.iter().take(NAMED).skip(1) {
        let text = format!(
            "{} waits for {}{}",
            who(program, one.stuck),
            what(graph, one, *edge),
            situation(program, one.stuck)
        );
        report = report.and(program.origins.at(one.stuck.origin), text);
    }
    for (_, edge) in cycle.iter().take(NAMED) {
        report = match edge {
            Some(edge) => with_giver(graph, *edge, report),
            None => report,
        };
    }
    Some(report.help("let one of them provide what the next one waits for before it waits itself"))
}

/// "block `b` of rank 1, and that one for the first": the blocks after the first, and back to it.
fn chain(program: &ir::Program, cycle: &[(&Waiter, Option<Edge>)]) -> String {
    let others: Vec<String> =
        cycle.iter().skip(1).map(|(one, _)| who(program, one.stuck)).collect();
    match others.as_slice() {
        [] => "itself".to_string(),
        [next, ..] if others.len() >= NAMED => {
            format!("{next}, and so on through {} blocks back to the first", cycle.len())
        }
        others => format!("{}, which waits for the first", others.join(", which waits for ")),
    }
}

/// Points to where what is waited for would be provided, unless the report already has a label at that place.
fn with_giver(graph: &EventGraph, edge: Edge, report: Diagnostic) -> Diagnostic {
    let event: Event = graph.event(edge.given);
    let line = graph.line(edge.given).and_then(|(agent, at)| graph.lines(agent).get(at as usize));
    let Some((place, line)) = graph.at(edge.given).zip(line) else { return report };
    let gives = match &line.op.action {
        Action::Signal(_) => "signal",
        Action::Release(_) => "release it",
        Action::Transfer(_) => "send it",
        Action::Sync
        | Action::Barrier { .. }
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Pipeline(_) => "arrive",
    };
    match report.tells_of(&place) {
        true => report,
        false => {
            report.and(place, format!("rank {} would {gives} here, after its wait", event.rank))
        }
    }
}
