//! What arrives where there is nothing is copied.

use super::{MoveAction, StepSchedule, Unit};
use crate::graph::Vertex;
use std::collections::{BTreeMap, BTreeSet};

/// A piece arrives at a rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    piece: u32,
    rank: Vertex,
    step: u32,
}

impl StepSchedule {
    /// The same schedule, in which what arrives alone at a rank that has nothing of the piece is a copy: there is
    /// nothing to add it to.
    #[must_use]
    pub fn prefer_copies(mut self, units: &[Unit]) -> StepSchedule {
        let find_arrival =
            |own: &super::Move| Arrival { piece: own.piece.0, rank: own.to, step: own.step };
        let mut counts: BTreeMap<Arrival, u32> = BTreeMap::new();
        for own in &self.moves {
            *counts.entry(find_arrival(own)).or_default() += 1;
        }
        let mut copies: BTreeSet<Arrival> = BTreeSet::new();
        let mut last: Option<Arrival> = None;
        for (arrival, count) in counts {
            let is_first =
                last.is_none_or(|last| (last.piece, last.rank) != (arrival.piece, arrival.rank));
            last = Some(arrival);
            let unit = units.get((arrival.piece / self.chunks.max(1)) as usize);
            let has_some = unit.is_some_and(|unit| unit.has_origin(arrival.rank));
            if is_first && !has_some && count == 1 {
                copies.insert(arrival);
            }
        }
        for own in &mut self.moves {
            if copies.contains(&find_arrival(own)) {
                own.action = MoveAction::Copy;
            }
        }
        self.moves.sort_unstable();
        self
    }
}
