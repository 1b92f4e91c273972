//! From rounds to steps.

use super::super::ConstructionError;
use super::super::hops::HopFinder;
use super::RoundMove;
use crate::graph::{EdgeIndex, Vertex};
use crate::schedule::{Move, MoveAction, Piece, StepSchedule, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// A piece at a rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    rank: Vertex,
    piece: Piece,
}

/// The schedule of moves in rounds, without those that turn out useless. Each rank gets each piece once.
pub(super) fn merge_rounds(
    finder: &HopFinder<'_>,
    units: &[Unit],
    chunks: u32,
    moves: Vec<RoundMove>,
) -> Result<StepSchedule, ConstructionError> {
    let moves = remove_useless_moves(units, chunks, moves);
    let mut schedule = StepSchedule { chunks, rounds: Vec::new(), moves: Vec::new() };
    let mut arrived: BTreeMap<Place, u32> = BTreeMap::new();
    let mut loads: BTreeMap<EdgeIndex, u64> = BTreeMap::new();
    // The first round of the step.
    let mut first = 0;
    for moves_of_round in moves.chunk_by(|one, other| one.round == other.round) {
        let came_in_step = |own: &RoundMove| {
            let place = Place { rank: own.from, piece: own.piece };
            arrived.get(&place).is_some_and(|round| *round >= first)
        };
        if moves_of_round.iter().any(came_in_step) {
            schedule.rounds.push(count_rounds(finder, &loads));
            loads.clear();
            first = moves_of_round.first().map_or(first, |own| own.round);
        }
        let step = u32::try_from(schedule.rounds.len()).map_err(|_| ConstructionError::TooLarge)?;
        for own in moves_of_round {
            let RoundMove { round, from, to, piece, ref path } = *own;
            arrived.insert(Place { rank: to, piece }, round);
            for edge in path {
                *loads.entry(*edge).or_default() += 1;
            }
            let path = path.clone();
            schedule.moves.push(Move { step, from, to, piece, action: MoveAction::Copy, path });
        }
    }
    if !loads.is_empty() {
        schedule.rounds.push(count_rounds(finder, &loads));
    }
    schedule.moves.sort_unstable();
    Ok(schedule)
}

/// How many rounds loads of edges take.
fn count_rounds(finder: &HopFinder<'_>, loads: &BTreeMap<EdgeIndex, u64>) -> u64 {
    loads.iter().map(|(edge, load)| load.div_ceil(finder.weight(*edge))).max().unwrap_or(0)
}

/// The moves without those to ranks that neither need the piece nor send it on.
fn remove_useless_moves(units: &[Unit], chunks: u32, moves: Vec<RoundMove>) -> Vec<RoundMove> {
    let mut senders: BTreeSet<Place> = BTreeSet::new();
    let mut kept = Vec::with_capacity(moves.len());
    for own in moves.into_iter().rev() {
        let unit = units.get((own.piece.0 / chunks) as usize);
        let is_needed = unit.is_some_and(|unit| unit.has_receiver(own.to));
        if is_needed || senders.contains(&Place { rank: own.to, piece: own.piece }) {
            senders.insert(Place { rank: own.from, piece: own.piece });
            kept.push(own);
        }
    }
    kept.reverse();
    kept
}
