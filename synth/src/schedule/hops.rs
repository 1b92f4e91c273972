//! How many hops what an origin contributes takes to a receiver.

use super::{MoveAction, StepSchedule, Unit};
use crate::graph::Vertex;
use std::collections::BTreeMap;

/// For each origin whose contribution a rank has of a piece, over how many hops it came.
type HopCounts = BTreeMap<Vertex, u32>;

/// The largest number of hops, from rank to rank, that something takes on its way from an origin to a receiver, in a
/// schedule that passes [`super::check_schedule`].
#[must_use]
pub fn measure_hops(units: &[Unit], schedule: &StepSchedule) -> u32 {
    let mut moves_of_pieces: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, own) in schedule.moves.iter().enumerate() {
        moves_of_pieces.entry(own.piece.0).or_default().push(index);
    }
    let mut most = 0;
    for (piece, moves) in moves_of_pieces {
        let unit = units.get((piece / schedule.chunks.max(1)) as usize);
        let Some(unit) = unit else { continue };
        let mut held: BTreeMap<Vertex, HopCounts> = BTreeMap::new();
        for &origin in &unit.origins {
            held.insert(origin, HopCounts::from([(origin, 0)]));
        }
        for of_step in moves.chunk_by(|one, other| {
            let step = |index: &usize| schedule.moves.get(*index).map(|own| own.step);
            step(one) == step(other)
        }) {
            let before = held.clone();
            for own in of_step.iter().filter_map(|index| schedule.moves.get(*index)) {
                let sent = before.get(&own.from).cloned().unwrap_or_default();
                let kept = held.entry(own.to).or_default();
                if own.action == MoveAction::Copy {
                    kept.clear();
                }
                kept.extend(sent.into_iter().map(|(origin, hops)| (origin, hops + 1)));
            }
        }
        let gets = unit.receivers.iter().filter_map(|receiver| held.get(receiver));
        most = gets.flat_map(BTreeMap::values).copied().max().unwrap_or(0).max(most);
    }
    most
}
