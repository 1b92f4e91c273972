//! Candidate changes where memory does not hold what it should: read it later, or remove one of two writes.
//!
//! Writing or reading another chunk is for the author to decide: the program does not say which one was meant.

use super::super::event_graph::EventGraph;
use super::super::nearest;
use super::candidates::{action, line, moment, past_it, read_later};
use crate::check::budget::REMOVED;
use crate::diagnostic::change::{Change, Side};
use crate::diagnostic::witness::{Event, Race, WrongValue};
use crate::ir::{Action, Buffer, RankId};
use crate::source::Place;

/// Changes for a read of memory that nobody has written before.
pub(super) fn of_unwritten(graph: &EventGraph, race: &Race) -> Vec<Change> {
    let Some(read) = moment(graph, &race.second.event) else { return Vec::new() };
    let memory = &race.memory;
    let named = |buffer: &Buffer| buffer.word() == memory.buffer;
    let buffer = [Buffer::Input, Buffer::Output, Buffer::Scratch].into_iter().find(named);
    let chunk = memory.start / u64::from(memory.parts.max(1));
    let owner = RankId(memory.rank);
    let written = buffer
        .and_then(|buffer| nearest::writer(graph, nearest::ChunkOfRank { owner, buffer, chunk }));
    let Some((writer, _)) = written.filter(|(_, written)| *written == chunk) else {
        return Vec::new();
    };
    let later = writer.agent == read.agent && writer.at > read.at;
    let change = match line(graph, read).zip(line(graph, writer)).filter(|_| later) {
        Some((here, there)) => past_it(graph, here, there, Side::After),
        None => read_later(graph, writer, read),
    };
    change.into_iter().collect()
}

/// Changes for two packets in one place.
pub(super) fn of_twice(graph: &EventGraph, race: &Race) -> Vec<Change> {
    let first = race.first.map(|first| first.event);
    removals(graph, [Some(race.second.event), first].into_iter().flatten())
}

/// Changes for a wrong value that a contribution reaches in two ways.
pub(super) fn of_value(graph: &EventGraph, value: &WrongValue) -> Vec<Change> {
    if value.doubled.is_empty() {
        return Vec::new();
    }
    let hops = value.paths.iter().rev().flat_map(|path| path.iter().rev());
    removals(graph, hops.map(|hop| hop.event))
}

/// Removing each of these operations that moves data, if there is a promise that shows whether it is needed.
fn removals(graph: &EventGraph, events: impl Iterator<Item = Event>) -> Vec<Change> {
    if graph.program.ranks.iter().all(|rank| rank.promises.is_empty()) {
        return Vec::new();
    }
    let mut places: Vec<(&'static str, Place)> = Vec::new();
    for event in events {
        let transfer = moment(graph, &event).and_then(|at| match action(graph, at)? {
            Action::Transfer(transfer) => Some(transfer.verb.word()),
            Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_)
            | Action::Pipeline(_) => None,
        });
        let Some(one) = transfer.zip(event.place) else { continue };
        if !places.contains(&one) && places.len() < REMOVED.count() {
            places.push(one);
        }
    }
    places.into_iter().map(|(verb, at)| Change::Remove { verb, at }).collect()
}
