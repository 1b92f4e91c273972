//! Steps for planned pieces: those across the network are fixed by their parts, and those inside boxes go where steps
//! have room.

use super::BoxError;
use super::grouping::BoxGrouping;
use super::paths::{HopPath, HopPaths};
use super::spread::PlannedPiece;
use crate::dense::DenseMap;
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::schedule::{Move, MoveAction, Piece, StepSchedule};
use std::ops::Range;

/// How many loads of edges in steps are kept at most, at 8 bytes each.
const MAX_LOADS: u64 = 1 << 24;

/// The unit of loads relative to what an edge carries.
const LOAD_SCALE: u64 = 1 << 12;

/// A piece goes from a rank to another one.
#[derive(Clone, Copy)]
struct PieceHop {
    piece: Piece,
    from: Vertex,
    to: Vertex,
}

/// A move inside a box, and the steps in which it can be.
struct InsideMove {
    hop: PieceHop,
    steps: Range<u32>,
    /// Whether it is to be as late as possible.
    is_late: bool,
}

/// What a move costs in a step: rounds more first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MovePrice {
    more_rounds: u64,
    load: u64,
}

struct StepPlacer<'a, 'p> {
    paths: &'p mut HopPaths<'a>,
    boxes: &'p BoxGrouping,
    loads: Vec<DenseMap<EdgeIndex, u64>>,
    rounds: Vec<u64>,
    moves: Vec<Move>,
}

/// The schedule of planned pieces.
pub(super) fn place_pieces(
    topology: &Topology,
    boxes: &BoxGrouping,
    planned: &[PlannedPiece],
    chunks: u32,
    paths: &mut HopPaths<'_>,
) -> Result<StepSchedule, BoxError> {
    let crossings = || planned.iter().filter_map(|own| Some((own, own.crossing?)));
    let parts = crossings().map(|(_, crossing)| crossing.part + 1).max().unwrap_or(0);
    let is_led = crossings().any(|(own, crossing)| crossing.part == 0 && own.from != crossing.from);
    let is_trailed =
        crossings().any(|(own, crossing)| crossing.part + 1 == parts && own.to != crossing.to);
    let lead = u32::from(is_led);
    let steps = (lead + parts + u32::from(is_trailed)).max(1);
    if u64::from(steps).saturating_mul(topology.edges().len() as u64) > MAX_LOADS {
        return Err(BoxError::TooLarge);
    }
    let mut placer = StepPlacer {
        paths,
        boxes,
        loads: vec![DenseMap::filled(topology.edges().len(), 0); steps as usize],
        rounds: vec![0; steps as usize],
        moves: Vec::new(),
    };
    let mut inside = Vec::new();
    for own in planned {
        let hop = |from, to| PieceHop { piece: own.piece, from, to };
        let Some(crossing) = own.crossing else {
            inside.push(InsideMove { hop: hop(own.from, own.to), steps: 0..steps, is_late: false });
            continue;
        };
        let step = crossing.part + lead;
        placer.place(hop(crossing.from, crossing.to), step..step + 1, false)?;
        if own.from != crossing.from {
            let hop = hop(own.from, crossing.from);
            inside.push(InsideMove { hop, steps: 0..step, is_late: true });
        }
        if own.to != crossing.to {
            let hop = hop(crossing.to, own.to);
            inside.push(InsideMove { hop, steps: step + 1..steps, is_late: false });
        }
    }
    // What has the least choice comes first.
    inside.sort_by_key(|own| own.steps.len());
    for own in inside {
        placer.place(own.hop, own.steps, own.is_late)?;
    }
    let mut moves = placer.moves;
    moves.sort_unstable();
    let rounds = placer.rounds.iter().map(|rounds| (*rounds).max(1)).collect();
    Ok(StepSchedule { chunks, rounds, moves }.tighten(topology))
}

impl StepPlacer<'_, '_> {
    /// Moves a piece in the step, and on the path, that costs the least. Of the same cost, the first step counts, or the last
    /// one.
    fn place(&mut self, hop: PieceHop, steps: Range<u32>, is_late: bool) -> Result<(), BoxError> {
        let PieceHop { piece, from, to } = hop;
        let paths = self.paths.find(from, to).to_vec();
        let mut best: Option<(MovePrice, u32, &HopPath)> = None;
        let mut consider = |step: u32| {
            for path in &paths {
                let price = self.price(step, path);
                if best.is_none_or(|(least, _, _)| price < least) {
                    best = Some((price, step, path));
                }
            }
        };
        if is_late {
            steps.rev().for_each(&mut consider);
        } else {
            steps.for_each(&mut consider);
        }
        let Some((price, step, path)) = best else {
            let is_inside = self.boxes.is_inside(from, to);
            return Err(if is_inside {
                BoxError::SplitBox { from, to }
            } else {
                BoxError::NoHop { from, to }
            });
        };
        if let Some(rounds) = self.rounds.get_mut(step as usize) {
            *rounds += price.more_rounds;
        }
        if let Some(loads) = self.loads.get_mut(step as usize) {
            path.iter().for_each(|edge| loads[*edge] += 1);
        }
        let action = MoveAction::Copy;
        self.moves.push(Move { step, from, to, piece, action, path: path.clone() });
        Ok(())
    }

    fn price(&self, step: u32, path: &HopPath) -> MovePrice {
        let Some(loads) = self.loads.get(step as usize) else {
            return MovePrice { more_rounds: u64::MAX, load: u64::MAX };
        };
        let rounds = self.rounds.get(step as usize).copied().unwrap_or(0);
        let mut price = MovePrice { more_rounds: 0, load: 0 };
        for edge in path {
            let (load, weight) = (loads[*edge] + 1, self.paths.weight(*edge));
            price.more_rounds = load.div_ceil(weight).saturating_sub(rounds).max(price.more_rounds);
            price.load = price.load.max(load.saturating_mul(LOAD_SCALE) / weight);
        }
        price
    }
}
