//! A block that touches other ranks' memory too early, and already has channels of its own to them.

use super::super::event_graph::{EventGraph, Moment};
use super::super::{names, nearest};
use crate::diagnostic::change::Change;
use crate::ir::{Joins, RankId};
use crate::source::Place;

/// The change by which a block begins with a signal and a wait over the channels on which it waits for a rank later. It
/// helps where the statement that touches that rank's memory runs for some ranks only, so that its own channels would
/// not be used at both ends.
pub(super) fn of_start(graph: &EventGraph, owner: RankId, touch: Moment) -> Option<Change> {
    let (agent, _) = graph.line(touch)?;
    let wait = nearest::first_wait_for(graph, agent, owner)?;
    let like = graph.event(wait).place?;
    let in_source = matches!(like, Place::Source(_)) && !graph.program.origins.is_library(like);
    // With explicit joins, the threads of the block would also have to meet after the wait.
    let is_possible = in_source && graph.program.joins != Joins::Explicit;
    let block = graph.block_name(agent);
    let block = names::member(block).map_or(block, |(family, _)| family).to_owned();
    is_possible.then_some(Change::Exchange { block, like })
}
