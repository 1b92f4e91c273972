//! The reports about unbalanced counters, with their witnesses.

use super::lanes::Unordered;
use super::{Counters, Flow, Use, Way};
use crate::check::budget::USERS;
use crate::check::event_graph::{EventGraph, Moment, Run};
use crate::check::{calls, deadlock};
use crate::diagnostic::witness::{Finding, Wait, Witness};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{self, OriginId, RankId, SemaphoreId};

/// Signals and waits of a channel that differ in number.
pub(super) fn unequal(program: &ir::Program, flow: &Flow) -> Diagnostic {
    let rank = |rank: Option<RankId>| {
        rank.map_or_else(|| "nobody".to_string(), |rank| format!("rank {}", rank.0))
    };
    let (from, to) = (rank(flow.from), rank(flow.to));
    let name = flow.name;
    let signals = match flow.signals.times() {
        Some(times) => format!("{from} signals over `{name}` {times}"),
        None => format!("{from} never signals over `{name}`"),
    };
    let apart = awaited(program, flow).filter(|end| family(end) != family(name));
    let on = apart.map_or_else(String::new, |end| format!(" on `{end}`"));
    let waits = match flow.waits.times() {
        Some(times) => format!("{to} waits {times}{on}"),
        None => format!("{to} never waits{on}"),
    };
    // A report does not begin with a name that the author has written in the declaration only.
    let only_waits = apart.is_some() && flow.signals.total() == 0;
    let message = match (flow.from, flow.to) {
        (Some(_), Some(_)) if only_waits => format!("{waits}, and {signals}, its other end"),
        (Some(_), Some(_)) => format!("{signals}, and {waits}"),
        (Some(_), None) => format!("{signals}, whose other end no rank has"),
        (None, _) => format!("{waits} on `{name}`, whose other end no rank has"),
    };
    let place = |user: &Use| user.last.map(|origin| program.origins.at(origin));
    let last = |user: &Use| if user.total() > 1 { ", for the last time" } else { "" };
    let signals = (place(flow.signals), format!("{from} signals here{}", last(flow.signals)));
    let waits = (place(flow.waits), format!("{to} waits here{}", last(flow.waits)));
    let channel = program.origins.at(flow.origin);
    let (code, here, there) = match flow.is_short() {
        true => (Code::E0602, waits, signals),
        false => (Code::E0603, signals, waits),
    };
    let report = Diagnostic::new(code, here.0.unwrap_or(channel.clone()), message).label(here.1);
    let report = match there.0 {
        Some(place) => report.and(place, there.1),
        None => report.and(channel, if only_waits { "its other end" } else { "the channel" }),
    };
    let origins = &program.origins;
    let wait = calls::left_out(origins, place(flow.waits).as_ref(), "wait");
    let signal = calls::left_out(origins, place(flow.signals).as_ref(), "signal");
    match flow.is_short() {
        true => report
            .note("every wait takes one signal over the same channel, in the same launch: the last one waits forever")
            .help(match flow.waits.total().saturating_sub(flow.signals.total()) {
                _ if flow.signals.total() == 0 => format!("let {from} signal over `{name}` once the awaited work is done, or {wait}"),
                1 => format!("signal over `{name}` once more, or {wait}"),
                _ => format!("let {from} signal over `{name}` as often as {to} waits, or {wait}"),
            }),
        false => report
            .note("counters persist across launches: the first wait of the next launch would pass too early")
            .help(match awaited(program, flow) {
                Some(end) if flow.waits.total() == 0 => {
                    format!("let {to} wait on `{end}` before it uses what is signaled, or {signal}")
                }
                Some(end) => format!("let {to} wait on `{end}` as often as {from} signals, or {signal}"),
                None => signal,
            }),
    }
}

/// The advice where the awaited signals go elsewhere: over another channel, or to another rank.
pub(super) fn other_way(short: Option<&Way>, stray: Option<&Way>) -> String {
    match stray {
        Some((Some(from), Some(to))) if short != stray => format!(
            "let each rank wait for the rank that signals it: rank {} signals rank {}, which does not wait for that signal",
            from.0, to.0
        ),
        _ => "signal and wait over the same channel".to_owned(),
    }
}

/// The name of the end that is waited on.
fn awaited<'p>(program: &'p ir::Program, flow: &Flow) -> Option<&'p str> {
    let (rank, end) = flow.end?;
    Some(&program.ranks.lookup(rank)?.channels.lookup(end)?.name)
}

/// The family of a name, without indices.
fn family(name: &str) -> &str {
    name.split('[').next().unwrap_or(name)
}

/// Adds a witness: the wait that no signal answers, or the surplus signal.
pub(super) fn show_unequal(graph: &EventGraph, flow: &Flow, report: Diagnostic) -> Diagnostic {
    let Some((rank, end)) = flow.end else { return report };
    let (signals, waits) = graph.signals_and_waits(rank, end);
    match waits.get(signals.len()) {
        Some(wait) => {
            let answered = waits.get(..signals.len()).unwrap_or_default();
            let name = awaited(graph.program, flow).unwrap_or(flow.name);
            stands(graph, (answered, *wait), format!("a signal on `{name}`"), report)
        }
        None => match signals.last() {
            Some(last) => {
                let left = signals.len() as i64 - waits.len() as i64;
                runs_up(graph, *last, format!("`{}`", flow.name), left, report)
            }
            None => report,
        },
    }
}

/// Adds a witness: the acquire that no release answers, or the last use of the semaphore.
pub(super) fn show_balance(
    graph: &EventGraph,
    (rank, id): (RankId, SemaphoreId),
    semaphore: &ir::Semaphore,
    report: Diagnostic,
) -> Diagnostic {
    let (releases, acquires) = graph.releases_and_acquires(rank, id);
    let given = releases.len() + semaphore.initial.max(0) as usize;
    let name = format!("`{}`", semaphore.name);
    match (acquires.get(given), releases.last().or(acquires.last())) {
        (Some(acquire), _) => {
            let answered = acquires.get(..given).unwrap_or_default();
            stands(graph, (answered, *acquire), format!("a release of {name}"), report)
        }
        (None, Some(last)) => {
            let left = releases.len() as i64 - acquires.len() as i64;
            runs_up(graph, *last, name, left, report)
        }
        (None, None) => report,
    }
}

/// Adds a witness for a wait that is never answered; the waits that are answered come before it.
fn stands(
    graph: &EventGraph,
    (answered, wait): (&[Moment], Moment),
    awaits: String,
    mut report: Diagnostic,
) -> Diagnostic {
    let mut run = Run::new(graph);
    let before = answered.iter().all(|other| run.reach(*other));
    let reached = before && run.stand_at(wait);
    let schedule = if reached { graph.turns(run.moments()) } else { Vec::new() };
    let finding = Finding::Deadlock {
        cycle: vec![Wait { event: graph.event(wait), awaits, given_by: None }],
    };
    if !reached {
        return deadlock::show_any(graph, report, finding);
    }
    report.witness = Some(Box::new(Witness::new(finding, schedule)));
    report
}

fn runs_up(
    graph: &EventGraph,
    last: Moment,
    counter: String,
    left: i64,
    mut report: Diagnostic,
) -> Diagnostic {
    let mut run = Run::new(graph);
    let schedule = if run.reach(last) { graph.turns(run.moments()) } else { Vec::new() };
    let finding = Finding::Counter { event: graph.event(last), counter, left };
    report.witness = Some(Box::new(Witness::new(finding, schedule)));
    report
}

/// One end of a channel, or the acquires of a semaphore, in several blocks.
pub(super) fn several_users(
    program: &ir::Program,
    rank: RankId,
    name: &str,
    does: &str,
    user: &Use,
) -> Diagnostic {
    let blocks: Vec<String> = user
        .blocks
        .iter()
        .filter_map(|id| program.ranks.lookup(rank)?.blocks.lookup(*id))
        .map(|block| format!("`{}`", block.name))
        .collect();
    let shown = blocks.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
    let mut places = user.places.iter().map(|origin| program.origins.at(*origin));
    let first = places.next().unwrap_or_else(|| program.origins.at(OriginId::default()));
    let report = Diagnostic::new(
        Code::E0605,
        first.clone(),
        format!("{} blocks of rank {} {does} `{name}`: {shown}", blocks.len(), rank.0),
    )
    .note(match does {
        "acquire" => "which of them a release unblocks would depend on the schedule",
        _ => "which wait takes which signal would depend on the schedule",
    });
    let report = match places.find(|place| *place != first) {
        Some(second) => report.label("some of them here").and(second, "and here"),
        None => report.label("each of them here"),
    };
    let own = match does {
        "acquire" => "a semaphore",
        _ => "a channel",
    };
    report.help(format!(
        "give each block {own} of its own: add an index to the family `{}`",
        family(name)
    ))
    .help("or let them use it in turn: `release` a semaphore after the last use in one block, and `acquire` it before the first in the other")
}

/// Adds a witness: the first use in each block.
pub(super) fn show_users(
    graph: &EventGraph,
    (rank, user): (RankId, &Use),
    (counter, does): (&str, &'static str),
    report: Diagnostic,
) -> Diagnostic {
    let uses = user.blocks.iter().zip(&user.places).take(USERS.count());
    let moments = uses.filter_map(|(block, origin)| graph.first_from(rank, *block, *origin));
    meeting(graph, &moments.collect::<Vec<Moment>>(), (counter, does), report)
}

/// Adds a witness: the two uses by threads that do not meet.
pub(super) fn show_threads(
    graph: &EventGraph,
    rank: RankId,
    one: &Unordered,
    report: Diagnostic,
) -> Diagnostic {
    let at = |origin| graph.first_from(rank, one.block, origin);
    match at(one.first).zip(at(one.second)) {
        Some((first, second)) => meeting(graph, &[first, second], (&one.name, one.does), report),
        None => report,
    }
}

/// Adds a witness: uses of one counter that may happen at once, and a schedule that reaches as many of them as it can.
fn meeting(
    graph: &EventGraph,
    users: &[Moment],
    (counter, does): (&str, &'static str),
    mut report: Diagnostic,
) -> Diagnostic {
    let mut run = Run::new(graph);
    let reached = users.iter().all(|user| run.stand_at(*user));
    let schedule = if reached { graph.turns(run.moments()) } else { Vec::new() };
    let finding = Finding::Users {
        counter: format!("`{counter}`"),
        does,
        users: users.iter().map(|user| graph.event(*user)).collect(),
    };
    report.witness = Some(Box::new(Witness::new(finding, schedule)));
    report
}

/// Acquires and releases of a semaphore that differ in number.
pub(super) fn out_of_balance(
    program: &ir::Program,
    rank: RankId,
    semaphore: &ir::Semaphore,
    counters: &Counters,
) -> Diagnostic {
    let (acquires, releases) = (&counters.acquires, &counters.releases);
    let done = |user: &Use, how: &str| match user.times() {
        Some(times) => format!("{how} {times}"),
        None => format!("never {how}"),
    };
    let name = &semaphore.name;
    let message = format!(
        "in each launch, `{name}` of rank {} is {}, and {}",
        rank.0,
        done(acquires, "acquired"),
        done(releases, "released"),
    );
    let runs_up = releases.total() > acquires.total();
    let last = |user: &Use, how: &str| {
        let last = if user.total() > 1 { ", for the last time" } else { "" };
        (user.last.map(|origin| program.origins.at(origin)), format!("{how} here{last}"))
    };
    let (acquired, released) = (last(acquires, "acquired"), last(releases, "released"));
    let (here, there) = if runs_up { (released, acquired) } else { (acquired, released) };
    let declared = program.origins.at(semaphore.origin);
    let report = Diagnostic::new(Code::E0606, here.0.clone().unwrap_or(declared.clone()), message)
        .label(here.1);
    let report = match there.0.filter(|place| Some(place) != here.0.as_ref()) {
        Some(place) => report.and(place, there.1),
        None => report.and(declared, "the semaphore"),
    };
    let report = report.note("its value persists across launches, and must be the same after each");
    let windows = acquires.counts.keys().ne(releases.counts.keys());
    match (runs_up, acquires.total(), releases.total()) {
        (_, 1.., 1..) if windows => {
            report.help("do both in the same pipeline, once in each window, or both outside")
        }
        (true, 0, _) => report.help(format!(
            "acquire `{name}` where a block must wait for this, or remove the release"
        )),
        (true, ..) => report.help("acquire it as often as it is released, or remove a release"),
        (false, _, 0) => report
            .help(format!("release `{name}` once the work that the acquire waits for is done")),
        (false, ..) => report.help("release it as often as it is acquired, or remove an acquire"),
    }
}

/// Two threads of a block that use a counter without synchronizing in between.
pub(super) fn several_threads(program: &ir::Program, rank: RankId, one: &Unordered) -> Diagnostic {
    let block = program.ranks.lookup(rank).and_then(|rank| rank.blocks.lookup(one.block));
    let block = block.map_or("", |block| &*block.name);
    let (name, does) = (&one.name, one.does);
    let message = format!(
        "two threads of block `{block}` of rank {} {does} `{name}` without synchronizing in between",
        rank.0
    );
    let (first, second) = (program.origins.at(one.first), program.origins.at(one.second));
    let report = Diagnostic::new(Code::E0605, second.clone(), message).note(
        "thread k handles entry k of a list: which of the two comes first depends on the schedule",
    );
    let report = if first == second { report } else { report.and(first, "the first") };
    report.help("put `sync;` between the two, or name the channels in the same order in both")
}
