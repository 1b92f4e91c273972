//! Where the pieces of a schedule are on each rank: in its input, in its output, or in scratch memory.
//!
//! A place is written in one step only. So nobody has to wait until what was there has been read, by other ranks or by
//! proxies of ports: whatever arrives, or is added up, later goes to another place, and in the last step to the output.

use super::values::AssignedValues;
use std::collections::BTreeMap;
use synth::graph::Vertex;
use synth::schedule::{Move, MoveAction, Piece, StepSchedule};

/// Where a value is on a rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PlaceOnRank {
    Input(u32),
    Output(u32),
    Scratch(u32),
}

/// A piece on a rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PieceOnRank {
    pub(super) rank: Vertex,
    piece: Piece,
}

/// A move with its places.
pub(super) struct PlacedMove {
    pub(super) from: Vertex,
    pub(super) to: Vertex,
    pub(super) source: PlaceOnRank,
    /// Where it arrives.
    pub(super) landing: PlaceOnRank,
    /// What it is added to, and where the sum goes; none if it is copied.
    pub(super) sum: Option<PlacedSum>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PlacedSum {
    pub(super) own: PlaceOnRank,
    pub(super) target: PlaceOnRank,
}

/// A copy on one rank.
pub(super) struct LocalCopy {
    pub(super) rank: Vertex,
    pub(super) source: PlaceOnRank,
    pub(super) output: u32,
}

pub(super) struct PlacedMoves {
    pub(super) steps: Vec<Vec<PlacedMove>>,
    /// What is copied on ranks in the end.
    pub(super) copies: Vec<LocalCopy>,
    pub(super) inputs: u32,
    pub(super) outputs: u32,
    pub(super) scratch: u32,
}

/// Gives out chunks of scratch memory, rank by rank.
struct ScratchSlots {
    next: BTreeMap<Vertex, u32>,
}

impl ScratchSlots {
    fn take(&mut self, rank: Vertex) -> PlaceOnRank {
        let slot = self.next.entry(rank).or_default();
        *slot += 1;
        PlaceOnRank::Scratch(*slot - 1)
    }
}

impl PlacedMoves {
    /// Where each move takes its piece from, and where that arrives.
    pub(super) fn plan(values: &AssignedValues, schedule: &StepSchedule) -> PlacedMoves {
        let mut slots = ScratchSlots { next: BTreeMap::new() };
        let mut held: BTreeMap<PieceOnRank, PlaceOnRank> = BTreeMap::new();
        for (piece, value) in &values.of_pieces {
            for (rank, chunk) in &value.inputs {
                held.insert(PieceOnRank { rank: *rank, piece: *piece }, PlaceOnRank::Input(*chunk));
            }
        }
        let mut moves: Vec<&Move> = schedule.moves.iter().collect();
        moves.sort();
        let last_steps: BTreeMap<PieceOnRank, u32> = moves
            .iter()
            .map(|own| (PieceOnRank { rank: own.to, piece: own.piece }, own.step))
            .collect();
        let mut steps = Vec::new();
        for of_step in moves.chunk_by(|one, other| one.step == other.step) {
            // What is sent is what was there before the step.
            let sources: Vec<Option<PlaceOnRank>> = of_step
                .iter()
                .map(|own| held.get(&PieceOnRank { rank: own.from, piece: own.piece }).copied())
                .collect();
            let mut targets: BTreeMap<PieceOnRank, PlaceOnRank> = BTreeMap::new();
            let mut placed = Vec::new();
            for (own, source) in of_step.iter().zip(sources) {
                let Some(source) = source else { continue };
                let here = PieceOnRank { rank: own.to, piece: own.piece };
                let value = values.of_pieces.get(&own.piece);
                let is_last = last_steps.get(&here) == Some(&own.step);
                let output = value.and_then(|value| value.find_output(own.to));
                let output = if is_last { output } else { None };
                let target = *targets.entry(here).or_insert_with(|| match output {
                    Some(output) => PlaceOnRank::Output(output),
                    None => slots.take(own.to),
                });
                let (landing, sum) = match (own.action, held.get(&here)) {
                    (MoveAction::Reduce, Some(known)) => {
                        (slots.take(own.to), Some(PlacedSum { own: *known, target }))
                    }
                    (MoveAction::Reduce, None) | (MoveAction::Copy, _) => (target, None),
                };
                held.insert(here, target);
                placed.push(PlacedMove { from: own.from, to: own.to, source, landing, sum });
            }
            steps.push(placed);
        }
        let pieces = values.of_pieces.iter().map(|(piece, value)| (Some(*piece), value));
        let mut copies = Vec::new();
        for (piece, value) in pieces.chain(values.kept.iter().map(|value| (None, value))) {
            for (rank, outputs) in &value.outputs {
                let rank = *rank;
                // What passes through a rank that gets its own contribution only is not what it gets.
                let source = match piece {
                    Some(piece) if value.signature.receivers.contains_key(&rank) => {
                        held.get(&PieceOnRank { rank, piece }).copied()
                    }
                    Some(_) | None => {
                        value.inputs.get(&rank).map(|chunk| PlaceOnRank::Input(*chunk))
                    }
                };
                let Some(source) = source else { continue };
                let missing =
                    outputs.iter().filter(|output| source != PlaceOnRank::Output(**output));
                copies.extend(missing.map(|output| LocalCopy { rank, source, output: *output }));
            }
        }
        let all = || values.of_pieces.values().chain(&values.kept);
        let inputs = all().flat_map(|value| value.inputs.values()).max();
        let outputs = all().flat_map(|value| value.outputs.values().flatten()).max();
        PlacedMoves {
            steps,
            copies,
            inputs: inputs.map_or(0, |last| last + 1),
            outputs: outputs.map_or(0, |last| last + 1),
            scratch: slots.next.into_values().max().unwrap_or(0),
        }
    }
}
