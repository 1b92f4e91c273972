//! Deadlock: blocks that can never go on.
//!
//! In: the blocks that a run left waiting. In a program whose channel ends and semaphores have one user each, every
//! schedule stops at the same points, so one run decides.
//! * E0601: blocks that wait for each other in a cycle;
//! * E0602: a wait or acquire that nothing answers;
//! * E0604: packets that nobody writes. A proxy that sends them does not wait: the block that reads what it sent does.
//!
//! A block that only waits for a block in a cycle is no mistake of its own, and is not reported.

use super::names;
use super::nearest;
use super::past::{Moment, Past, Run};
use crate::diagnostic::witness::{Event, Finding, Step, Wait, Witness};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::run::{self, Awaits, Outcome, Stuck};
use crate::ir::{self, Action, BarrierId, Buffer, RankId};

/// How many blocks of a cycle are named.
const NAMED: usize = 4;

/// A block that cannot go on.
struct Standing<'a> {
    stuck: &'a Stuck,
    moment: Moment,
}

/// What a block waits for: another block, which would provide it at a moment that it never reaches.
#[derive(Clone, Copy)]
struct Arc {
    to: usize,
    given: Moment,
}

/// Reports why the blocks that are stuck cannot go on.
pub(super) fn explain(program: &ir::Program, parts: u32, stuck: &[Stuck]) -> Vec<Diagnostic> {
    let Some(past) = Past::new(program, parts) else {
        return stuck.first().map(|one| in_short(program, one)).into_iter().collect();
    };
    let standing: Vec<Standing> = stuck.iter().filter_map(|one| standing(&past, one)).collect();
    let arcs: Vec<Option<Arc>> = standing.iter().map(|one| arc(&past, &standing, one)).collect();
    if let Some(unanswered) = arcs.iter().position(Option::is_none) {
        let one = standing.get(unanswered);
        return one.map(|one| unanswered_report(&past, &standing, one)).into_iter().collect();
    }
    // Every block waits for another one: following the arcs leads into a cycle.
    let next = |at: usize| arcs.get(at).copied().flatten();
    let mut at = 0;
    for _ in &standing {
        at = next(at).map_or(at, |arc| arc.to);
    }
    let mut cycle: Vec<(&Standing, Option<Arc>)> = Vec::new();
    let start = at;
    while let Some((one, arc)) = standing.get(at).zip(next(at)) {
        cycle.push((one, Some(arc)));
        at = arc.to;
        if at == start {
            break;
        }
    }
    // A proxy only passes on what it sends: the block that requested it does not stand still.
    if cycle.iter().any(|(one, _)| !past.sends_raw(one.moment)) {
        cycle.retain(|(one, _)| !past.sends_raw(one.moment));
    }
    let report = cycle_report(&past, &cycle);
    report.map(|report| show(&past, &cycle, report)).into_iter().collect()
}

fn standing<'a>(past: &Past, stuck: &'a Stuck) -> Option<Standing<'a>> {
    let step = Step { operation: stuck.operation, inner: stuck.inner };
    Some(Standing { stuck, moment: past.at_step(stuck.rank, stuck.block, step)? })
}

/// The block that would have to go on first; none where nothing would provide what is waited for.
fn arc(past: &Past, standing: &[Standing], one: &Standing) -> Option<Arc> {
    let needs = match past.sends_raw(one.moment) {
        true => past.sent(one.moment),
        false => past.needs(one.moment, None),
    };
    needs?.into_iter().find_map(|given| {
        let (agent, at) = past.line(given)?;
        let behind = |other: &Standing| other.moment.agent == agent && other.moment.at <= at;
        Some(Arc { to: standing.iter().position(behind)?, given })
    })
}

/// The report of a block that waits for something that nothing provides, or has packets sent that nobody writes, so
/// that another block waits.
fn unanswered_report(past: &Past, standing: &[Standing], one: &Standing) -> Diagnostic {
    if !past.sends_raw(one.moment) {
        return show(past, &[(one, None)], never_answered(past, one));
    }
    let report = never_written(past, one);
    let made = Some((one.moment.agent, one.moment.at));
    let waits = standing.iter().enumerate().find_map(|(to, other)| {
        let mut needs = past.needs(other.moment, None)?.into_iter();
        let given = needs.find(|given| past.is_proxy(given.agent) && past.line(*given) == made)?;
        Some((other, Arc { to, given }))
    });
    let Some((other, arc)) = waits else { return show(past, &[(one, None)], report) };
    let place = past.program.origins.at(other.stuck.origin);
    let text = format!("{} waits for them here, forever", who(past.program, other.stuck));
    show(past, &[(other, Some(arc))], report.and(place, text))
}

/// Adds to a report a witness for some block that stands still in the end, where the run does not reach the block that
/// the report is about. If there is none, adds `finding` without a schedule.
pub(super) fn show_any(past: &Past, mut report: Diagnostic, finding: Finding) -> Diagnostic {
    if let Outcome::Stuck(stuck) = run::run(past.program, super::STEPS) {
        for one in &stuck {
            let Some(one) = standing(past, one) else { continue };
            report = show(past, &[(&one, None)], report);
            if report.witness.as_ref().is_some_and(|witness| !witness.schedule.is_empty()) {
                return report;
            }
        }
    }
    report.witness = Some(Box::new(Witness::new(finding, Vec::new())));
    report
}

/// Adds a witness to a report: who waits for whom, and a schedule that leads there.
fn show(past: &Past, cycle: &[(&Standing, Option<Arc>)], mut report: Diagnostic) -> Diagnostic {
    let mut run = Run::new(past);
    let reached = cycle.iter().all(|(one, _)| run.stand_at(one.moment));
    let schedule = if reached { past.turns(run.moments()) } else { Vec::new() };
    let waits = cycle.iter().map(|(one, arc)| Wait {
        event: past.event(one.moment),
        awaits: what(past, one, *arc),
        given_by: arc.map(|arc| past.event(arc.given)),
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
fn what(past: &Past, one: &Standing, arc: Option<Arc>) -> String {
    if one.stuck.awaits != Awaits::Packets {
        return counted(past.program, one.stuck);
    }
    match (past.unwritten_packet(one.moment), arc) {
        (Some((rank, cell)), _) => format!("packets in {}", slot(past, rank, cell)),
        (None, Some(arc)) => format!("packets of rank {}", past.rank(arc.given.agent).0),
        (None, None) => "packets in its scratch".to_string(),
    }
}

/// "`inbox[1]`"
fn slot(past: &Past, rank: RankId, cell: u64) -> String {
    let chunk = cell / u64::from(past.parts().max(1));
    names::chunk(past.program, rank, Buffer::Scratch, chunk)
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

fn never_answered(past: &Past, one: &Standing) -> Diagnostic {
    let program = past.program;
    let (who, what) = (who(program, one.stuck), what(past, one, None));
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
        Awaits::Packets => with_nearest(past, one, report),
        Awaits::Barrier(id) => with_members(past, one, id, report),
        Awaits::Signal(_) | Awaits::Semaphore(_) => report,
    }
}

/// The report of a proxy that sends memory that holds no packets.
fn never_written(past: &Past, one: &Standing) -> Diagnostic {
    let program = past.program;
    let (rank, what) = (one.stuck.rank.0, what(past, one, None));
    let report = Diagnostic::new(
        Code::E0604,
        program.origins.at(one.stuck.origin),
        format!("the proxy of rank {rank} sends {what}, which are never written"),
    )
    .label(format!("sends what was there before{}", situation(program, one.stuck)));
    with_nearest(past, one, report)
}

/// Adds how many blocks a barrier is for, and which blocks come to it how often.
fn with_members(past: &Past, one: &Standing, id: BarrierId, report: Diagnostic) -> Diagnostic {
    let is_it =
        |action: &Action| matches!(action, Action::Barrier { id: there, .. } if *there == id);
    let count = |agent: u32| past.lines(agent).iter().filter(|line| is_it(&line.op.action)).count();
    let here = past.lines(one.moment.agent).get(one.moment.at as usize);
    let Some(Action::Barrier { arrivals, .. }) = here.map(|line| &line.op.action) else {
        return report;
    };
    let blocks = past.all_blocks().filter(|agent| past.rank(*agent) == one.stuck.rank);
    let come = blocks.map(|agent| (past.block_name(agent), count(agent)));
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
fn with_nearest(past: &Past, one: &Standing, report: Diagnostic) -> Diagnostic {
    let missing = past.unwritten_packet(one.moment);
    if let Some((rank, cell)) = missing {
        let chunk = cell / u64::from(past.parts().max(1));
        let plain =
            nearest::writer(past, (rank, Buffer::Scratch, chunk)).filter(|(writer, written)| {
                *written == chunk && !nearest::writes_packets(past, *writer)
            });
        if let Some((writer, place)) = plain.and_then(|(at, _)| Some((at, past.at(at)?))) {
            let (name, event) = (slot(past, rank, cell), past.event(writer));
            return report
                .and(place, format!("rank {} writes {name} here, but not as packets", event.rank))
                .help("write packets there, with an operation such as `put_packets`; or read the slot without packets, after a signal");
        }
    }
    let report = report
        .help("write packets to the slot that is read, or read the slot to which they are written");
    let nearest = missing.and_then(|at| past.nearest_packet(at));
    let Some(((rank, cell), writer)) = nearest else { return report };
    let (name, event) = (slot(past, rank, cell), past.event(writer));
    match past.at(writer) {
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

fn cycle_report(past: &Past, cycle: &[(&Standing, Option<Arc>)]) -> Option<Diagnostic> {
    let program = past.program;
    let (first, arc) = cycle.first()?;
    let mut report = Diagnostic::new(
        Code::E0601,
        program.origins.at(first.stuck.origin),
        format!("deadlock: {} waits for {}", who(program, first.stuck), chain(program, cycle)),
    )
    .label(format!("waits for {}{}", what(past, first, *arc), situation(program, first.stuck)));
    for (one, arc) in cycle.iter().take(NAMED).skip(1) {
        let text = format!(
            "{} waits for {}{}",
            who(program, one.stuck),
            what(past, one, *arc),
            situation(program, one.stuck)
        );
        report = report.and(program.origins.at(one.stuck.origin), text);
    }
    for (_, arc) in cycle.iter().take(NAMED) {
        report = match arc {
            Some(arc) => with_giver(past, *arc, report),
            None => report,
        };
    }
    Some(report.help("let one of them provide what the next one waits for before it waits itself"))
}

/// "block `b` of rank 1, and that one for the first": the blocks after the first, and back to it.
fn chain(program: &ir::Program, cycle: &[(&Standing, Option<Arc>)]) -> String {
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
fn with_giver(past: &Past, arc: Arc, report: Diagnostic) -> Diagnostic {
    let event: Event = past.event(arc.given);
    let line = past.line(arc.given).and_then(|(agent, at)| past.lines(agent).get(at as usize));
    let Some((place, line)) = past.at(arc.given).zip(line) else { return report };
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
