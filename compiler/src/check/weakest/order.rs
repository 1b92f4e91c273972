//! Candidate changes where two blocks of one rank are not ordered: a new semaphore, a barrier, or another initial
//! value.

use super::super::event_graph::{self, EventGraph, Moment};
use super::super::{names, nearest};
use super::candidates::{action, join, moment};
use crate::check::budget::INITIAL_VALUES;
use crate::diagnostic::change::{Change, Handover, Times};
use crate::diagnostic::witness::{Agent, Event, Race};
use crate::ir::{Action, Joins, RankId};
use crate::source::Place;
use std::collections::BTreeSet;

/// Changes that order two conflicting accesses, by blocks of one rank or of two.
pub(super) fn of_blocks(graph: &EventGraph, first: Moment, second: Moment) -> Vec<Change> {
    let lines = [first, second].map(|moment| {
        let (agent, at) = graph.line(moment)?;
        Some(Moment { agent, at, ..moment })
    });
    let [Some(first), Some(second)] = lines else { return Vec::new() };
    let mut changes = attend(graph, first, second);
    let known = known(graph, first, second);
    let place = |moment: Moment| graph.event(moment).place;
    let mut pairs = known.clone();
    pairs.retain(|(one, other)| one.agent != other.agent && place(*one) != place(*other));
    if is_shared_out(graph, first) || is_shared_out(graph, second) {
        let pairs = pairs.into_iter();
        changes.extend(pairs.filter_map(|(one, other)| barrier(graph, one, other)));
        return changes;
    }
    // With explicit joins, the change would also need a `sync` to make the threads of the block meet.
    if graph.program.joins == Joins::Explicit {
        return changes;
    }
    for times in [Times::Each, Times::Once] {
        changes.extend(pairs.iter().filter_map(|pair| handover(graph, *pair, times, 0)));
    }
    // A resource that is used repeatedly is free at the beginning.
    changes.extend(pairs.iter().filter_map(|pair| handover(graph, *pair, Times::Each, 1)));
    // The second access may have to come after the last operation of the block, too.
    let ends = pairs.iter().filter_map(|(from, to)| Some((last(graph, from.agent)?, *to)));
    changes.extend(ends.filter_map(|pair| once(graph, pair)));
    changes.extend(known.iter().find_map(|pair| relay(graph, *pair)));
    changes
}

/// Each block of a family begins when the previous one has ended, where two of its blocks have to be ordered.
fn relay(graph: &EventGraph, (from, to): (Moment, Moment)) -> Option<Change> {
    let family =
        |moment: Moment| names::member(graph.block_name(moment.agent)).map(|(name, _)| name);
    let name = family(from).filter(|name| from.agent != to.agent && family(to) == Some(*name))?;
    Some(Change::Relay { family: name.to_owned(), within: graph.event(to).place? })
}

/// A new semaphore that is released and acquired once, however often its statements are repeated.
fn once(graph: &EventGraph, pair: (Moment, Moment)) -> Option<Change> {
    handover(graph, pair, Times::Once, 0).or_else(|| handover(graph, pair, Times::Each, 0))
}

/// Changes by which the block of one access waits until another block of its rank has ended. A race names only one of
/// the accesses that a block has to know of.
pub(super) fn of_ends(graph: &EventGraph, race: &Race) -> Vec<Change> {
    let events = [Some(race.second.event), race.first.map(|access| access.event)];
    let mut tried: BTreeSet<[Option<Place>; 2]> = BTreeSet::new();
    let mut changes = Vec::new();
    for to in events.into_iter().flatten().filter_map(|event| moment(graph, &event)) {
        let Some((agent, at)) = graph.line(to) else { continue };
        let to = Moment { agent, at, ..to };
        let others = graph.all_blocks().filter(|other| graph.rank(*other) == graph.rank(agent));
        for end in others.filter(|other| *other != agent).filter_map(|other| last(graph, other)) {
            // The blocks of a family end with the same statement.
            if tried.insert([end, to].map(|moment| graph.event(moment).place)) {
                changes.extend(once(graph, (end, to)));
            }
        }
    }
    changes
}

/// Lower initial values for each semaphore of some ranks: one that begins with 1 can be acquired once before it is
/// released.
pub(super) fn of_semaphores(
    graph: &EventGraph,
    ranks: impl Iterator<Item = RankId>,
) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for row in ranks.filter_map(|rank| graph.program.ranks.lookup(rank)) {
        for semaphore in row.semaphores.iter().filter(|semaphore| semaphore.initial > 0) {
            let (at, before) = (graph.program.origins.place(semaphore.origin), semaphore.initial);
            let name = semaphore.name.split('[').next().unwrap_or_default().to_owned();
            for value in [before - 1, 0] {
                let change = Change::Initial { semaphore: name.clone(), at, before, value };
                let is_new = matches!(at, Place::Source(_)) && !changes.contains(&change);
                changes.extend(is_new.then_some(change));
            }
        }
    }
    changes.truncate(INITIAL_VALUES.count());
    changes
}

/// Changes by which a block learns that a rank has started, from another one of its rank that waits for it.
pub(super) fn of_start(graph: &EventGraph, owner: RankId, touch: Moment) -> Vec<Change> {
    let Some((agent, at)) = graph.line(touch) else { return Vec::new() };
    let touch = Moment { agent, at, ..touch };
    let rank = graph.rank(agent);
    let mut others =
        graph.all_blocks().filter(|other| *other != agent && graph.rank(*other) == rank);
    let heard = others.find_map(|agent| nearest::first_wait_for(graph, agent, owner));
    let Some(heard) = heard else { return Vec::new() };
    if is_shared_out(graph, touch) {
        return barrier(graph, heard, touch).into_iter().collect();
    }
    if graph.program.joins == Joins::Explicit {
        return Vec::new();
    }
    let handovers = [Times::Each, Times::Once].into_iter();
    handovers.filter_map(|times| handover(graph, (heard, touch), times, 0)).collect()
}

/// Changes by which the block that sends a rank its last signal first waits for what another block of its own rank has
/// done there.
pub(super) fn of_end(graph: &EventGraph, owner: RankId, touch: Moment) -> Vec<Change> {
    let Some((agent, at)) = graph.line(touch) else { return Vec::new() };
    let touch = Moment { agent, at, ..touch };
    let rank = graph.rank(agent);
    let mut others =
        graph.all_blocks().filter(|other| *other != agent && graph.rank(*other) == rank);
    let told = others.find_map(|agent| nearest::last_signal_to(graph, agent, owner));
    let Some(told) = told else { return Vec::new() };
    if is_shared_out(graph, touch) {
        return barrier(graph, touch, told).into_iter().collect();
    }
    if graph.program.joins == Joins::Explicit {
        return Vec::new();
    }
    let handovers = [Times::Each, Times::Once].into_iter();
    handovers.filter_map(|times| handover(graph, (touch, told), times, 0)).collect()
}

/// Changes by which the other block joins a barrier of this one: the next one after its access, or the last one before,
/// if it does not come to it yet.
fn attend(graph: &EventGraph, first: Moment, second: Moment) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    if graph.rank(first.agent) != graph.rank(second.agent) {
        return changes;
    }
    for (one, other) in [(first, second), (second, first)] {
        let is_there = |at: &usize| {
            let action = graph.lines(one.agent).get(*at).map(|line| &line.op.action);
            matches!(action, Some(Action::Barrier { .. }))
        };
        let at = one.at as usize;
        let next = (at..graph.lines(one.agent).len()).find(is_there);
        let last = (0..at).rev().find(is_there);
        for at in [next, last].into_iter().flatten() {
            let Some(barrier) = graph.event(Moment { at: at as u32, ..one }).place else {
                continue;
            };
            let mut lines = graph.lines(other.agent).iter();
            if !lines.any(|line| graph.program.origins.place(line.op.origin) == barrier) {
                let block = graph.block_name(other.agent).to_owned();
                changes.push(Change::Attend { barrier, block });
            }
        }
    }
    changes
}

/// The last operation of a block.
fn last(graph: &EventGraph, agent: event_graph::Agent) -> Option<Moment> {
    let at = graph.lines(agent).len().checked_sub(1)?;
    Some(Moment { launch: 0, agent, at: at as u32 })
}

/// The pairs of moments of which the first could be made known to the second. On one rank: both directions, the one in
/// text order first. On two ranks: the wait that hears of one access, where it is on the rank of the other access.
fn known(graph: &EventGraph, first: Moment, second: Moment) -> Vec<(Moment, Moment)> {
    let mut pairs = Vec::new();
    let place = |moment: Moment| graph.event(moment).place;
    let both = match place(first) <= place(second) {
        true => [(first, second), (second, first)],
        false => [(second, first), (first, second)],
    };
    if graph.rank(first.agent) == graph.rank(second.agent) {
        pairs.extend(both);
    } else {
        for (one, other) in both {
            let told = nearest::teller(graph, one);
            let on = graph.rank(other.agent);
            let heard = told.and_then(|told| {
                nearest::hearer(graph, told, on).or_else(|| behind_barrier(graph, told, on))
            });
            pairs.extend(heard.map(|heard| (heard, other)));
        }
    }
    pairs
}

/// Where an access is announced to a barrier: the wait for the last signal that a block of that rank sends to rank `on`.
fn behind_barrier(graph: &EventGraph, told: Moment, on: RankId) -> Option<Moment> {
    let Some(Action::Barrier { .. }) = action(graph, told) else { return None };
    let rank = graph.rank(told.agent);
    let mut blocks = graph.all_blocks().filter(|agent| graph.rank(*agent) == rank);
    let signal = blocks.find_map(|agent| nearest::last_signal_to(graph, agent, on))?;
    nearest::hearer(graph, signal, on)
}

fn handover(
    graph: &EventGraph,
    (from, to): (Moment, Moment),
    times: Times,
    initial: u32,
) -> Option<Change> {
    let place = |moment: Moment| graph.event(moment).place;
    let (after, before) = (place(from)?, place(to)?);
    // For a statement that runs once, once and each time are the same.
    if times == Times::Once && !is_repeated(graph, from, after) && !is_repeated(graph, to, before) {
        return None;
    }
    let name = |moment: Moment| graph.block_name(moment.agent).to_owned();
    let (from, to) = (name(from), name(to));
    Some(Change::Handover(Handover { from, to, after, before, times, initial }))
}

fn is_repeated(graph: &EventGraph, moment: Moment, place: Place) -> bool {
    let lines = graph.lines(moment.agent).iter();
    lines.filter(|line| graph.program.origins.place(line.op.origin) == place).count() > 1
}

/// Whether a group of blocks shares the bytes of an operation.
fn is_shared_out(graph: &EventGraph, moment: Moment) -> bool {
    let Some(Action::Transfer(transfer)) = action(graph, moment) else { return false };
    transfer.slice.is_some_and(|slice| slice.count > 1)
}

/// A barrier between two statements, in text order unless one of them is in the library.
fn barrier(graph: &EventGraph, first: Moment, second: Moment) -> Option<Change> {
    let (one, other) = (graph.event(first).place?, graph.event(second).place?);
    let same = graph.rank(first.agent) == graph.rank(second.agent) && one != other;
    let theirs = [one, other].iter().any(|at| graph.program.origins.is_library(*at));
    let (first, second) = if theirs { (one, other) } else { (one.min(other), one.max(other)) };
    same.then_some(Change::Barrier { first, second })
}

/// For threads of one block that use one counter: they meet in between.
pub(super) fn of_users(graph: &EventGraph, users: &[Event]) -> Vec<Change> {
    let [first, .., last] = users else { return Vec::new() };
    let is_block = matches!(last.agent, Agent::Block(_));
    let one = is_block && first.agent == last.agent && first.rank == last.rank;
    Some(last).filter(|_| one).and_then(|last| join(graph, last)).into_iter().collect()
}
