//! Candidate changes for an unbalanced counter: remove a surplus use, or add a missing one.

use super::super::event_graph::{EventGraph, Line, Moment};
use super::candidates::action;
use crate::check::budget::{MISCOUNTED, RELEASES, REPEATS};
use crate::diagnostic::change::{Change, Side};
use crate::ir::{Action, ChannelId, RankId, SemaphoreId};
use crate::source::Place;

/// Changes for the operation at which a counter is found to be unbalanced; `left` is the number of signals or releases
/// minus that of waits or acquires.
pub(super) fn of(graph: &EventGraph, at: Moment, left: i64) -> Vec<Change> {
    let Some((agent, line)) = graph.line(at) else { return Vec::new() };
    let at = Moment { agent, at: line, ..at };
    match action(graph, at) {
        Some(Action::Wait(list)) => waits(graph, at, &list.channels),
        Some(Action::Signal(list)) => signals(graph, at, &list.channels, left),
        Some(Action::Transfer(transfer)) => signals(graph, at, &transfer.channels, left),
        Some(Action::Acquire(list)) => acquires(graph, at, list.as_slice()),
        Some(Action::Release(list)) => releases(graph, at, list.as_slice(), left),
        Some(Action::Sync | Action::Barrier { .. } | Action::Flush(_) | Action::Pipeline(_))
        | None => Vec::new(),
    }
}

/// A wait too many, or a signal too few.
fn waits(graph: &EventGraph, at: Moment, channels: &[ChannelId]) -> Vec<Change> {
    let rank = graph.rank(at.agent);
    let (mut given, mut taken) = (Vec::new(), vec![at]);
    for channel in channels {
        let (signals, waits) = graph.signals_and_waits(rank, *channel);
        given.extend(signals.into_iter().rev());
        taken.extend(waits.into_iter().rev());
    }
    let mut changes = removals(graph, "wait", &taken);
    let answer = |side| move |at| Change::Answer { verb: "signal", at, side };
    changes.extend(place(graph, at).map(answer(Side::Before)));
    let moved = moves(graph, rank, channels);
    changes.extend(moved.iter().copied().map(answer(Side::After)));
    changes.extend(moved.into_iter().map(|at| Change::Flush { at, signal: None }));
    changes.extend(repetitions(graph, "signal", &given, 1));
    changes
}

/// A signal too many, or a wait too few.
fn signals(graph: &EventGraph, at: Moment, channels: &[ChannelId], left: i64) -> Vec<Change> {
    let row = graph.program.ranks.lookup(graph.rank(at.agent));
    let (mut given, mut taken) = (vec![at], Vec::new());
    for end in channels.iter().filter_map(|channel| row?.channels.lookup(*channel)) {
        let Some((peer, there)) = end.peer().zip(end.partner) else { continue };
        let (signals, waits) = graph.signals_and_waits(peer, there);
        given.extend(signals.into_iter().rev());
        taken.extend(waits.into_iter().rev());
    }
    let mut changes = removals(graph, "signal", &given);
    let answer = |side| move |at| Change::Answer { verb: "wait", at, side };
    changes.extend(place(graph, at).map(answer(Side::After)));
    let moved = moves(graph, graph.rank(at.agent), channels);
    changes.extend(moved.into_iter().map(answer(Side::Before)));
    changes.extend(repetitions(graph, "wait", &taken, left));
    changes
}

/// An acquire too many, or a release too few.
fn acquires(graph: &EventGraph, at: Moment, list: &[SemaphoreId]) -> Vec<Change> {
    let rank = graph.rank(at.agent);
    let mut taken = vec![at];
    for id in list {
        taken.extend(graph.releases_and_acquires(rank, *id).1.into_iter().rev());
    }
    let mut changes = removals(graph, "acquire", &taken);
    for id in list {
        let row = graph.program.ranks.lookup(rank).and_then(|row| row.semaphores.lookup(*id));
        let Some(name) = row.map(|row| row.name.to_string()) else { continue };
        // A member of a family has no name of its own in the text.
        if graph.program.joins == crate::ir::Joins::Explicit || name.contains('[') {
            continue;
        }
        let after = others(graph, at).into_iter().take(RELEASES.count());
        changes.extend(after.map(|after| Change::Release { semaphore: name.clone(), after }));
    }
    changes
}

/// A release too many, or an acquire too few.
fn releases(graph: &EventGraph, at: Moment, list: &[SemaphoreId], left: i64) -> Vec<Change> {
    let rank = graph.rank(at.agent);
    let (mut given, mut taken) = (vec![at], Vec::new());
    for id in list {
        let (releases, acquires) = graph.releases_and_acquires(rank, *id);
        given.extend(releases.into_iter().rev());
        taken.extend(acquires.into_iter().rev());
    }
    let mut changes = removals(graph, "release", &given);
    changes.extend(repetitions(graph, "acquire", &taken, left));
    changes
}

/// Removing each of the statements that do nothing else.
fn removals(graph: &EventGraph, verb: &'static str, moments: &[Moment]) -> Vec<Change> {
    let places = places(graph, moments);
    places.into_iter().map(|at| Change::Remove { verb, at }).collect()
}

fn repetitions(
    graph: &EventGraph,
    verb: &'static str,
    moments: &[Moment],
    left: i64,
) -> Vec<Change> {
    let more = left.clamp(1, REPEATS.amount().max(1) as i64) as u32;
    let places = places(graph, moments);
    places.into_iter().map(|at| Change::Repeat { verb, at, more }).collect()
}

/// The first few places of moments, except of transfers.
fn places(graph: &EventGraph, moments: &[Moment]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for moment in moments {
        let transfer = graph.line(*moment).is_some_and(|(agent, at)| {
            matches!(action(graph, Moment { agent, at, ..*moment }), Some(Action::Transfer(_)))
        });
        let Some(place) = place(graph, *moment).filter(|_| !transfer) else { continue };
        if !places.contains(&place) && places.len() < MISCOUNTED.count() {
            places.push(place);
        }
    }
    places
}

fn place(graph: &EventGraph, moment: Moment) -> Option<Place> {
    graph.event(moment).place
}

/// The places of transfers over the other ends of a rank's channels, the last one first.
fn moves(graph: &EventGraph, rank: RankId, channels: &[ChannelId]) -> Vec<Place> {
    let row = graph.program.ranks.lookup(rank);
    let ends = channels.iter().filter_map(|channel| row?.channels.lookup(*channel));
    let ends: Vec<(RankId, ChannelId)> =
        ends.filter_map(|end| end.peer().zip(end.partner)).collect();
    let over = |line: &Line, from: RankId| {
        let Action::Transfer(transfer) = &line.op.action else { return false };
        transfer.channels.iter().any(|channel| ends.contains(&(from, *channel)))
    };
    let mut places = Vec::new();
    for agent in graph.all_blocks() {
        for line in graph.lines(agent).iter().rev() {
            let place = graph.program.origins.place(line.op.origin);
            let new = !places.contains(&place) && places.len() < MISCOUNTED.count();
            if new && over(line, graph.rank(agent)) {
                places.push(place);
            }
        }
    }
    places
}

/// The transfers and waits of the other blocks of a rank, after which a release may be missing, in order.
fn others(graph: &EventGraph, at: Moment) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let others = graph.all_blocks().filter(|agent| *agent != at.agent);
    for agent in others.filter(|agent| graph.rank(*agent) == graph.rank(at.agent)) {
        for line in graph.lines(agent) {
            let place = graph.program.origins.place(line.op.origin);
            let done = matches!(line.op.action, Action::Transfer(_) | Action::Wait(_));
            if done && !places.contains(&place) {
                places.push(place);
            }
        }
    }
    places
}
