//! One step of all receivers, on machines with a group of shifts: a flow for rank 0, and the same for all others, shifted.

use super::arrivals::ArrivalNetwork;
use super::assign::{AssignedStep, StepAssignment};
use crate::automorphism::ShiftSymmetry;
use crate::dense::DenseMap;
use crate::graph::{EdgeIndex, Vertex};
use crate::schedule::{Move, Piece};

/// Assigns ways to what all receivers get in a step, such that every shift maps the moves to themselves. They take more
/// rounds than rank 0 alone if its hops have edges in common with those of others; nothing says that they are the
/// least then. `None` if rank 0 alone needs more than so many rounds.
pub(super) fn assign_shifted(
    step: &StepAssignment<'_>,
    symmetry: &ShiftSymmetry,
    rounds: u64,
) -> Option<AssignedStep> {
    let finder = &step.broadcasts.finder;
    let arrivals = step.broadcasts.collect(Vertex(0), step.step);
    let mut network = ArrivalNetwork::new(finder, &arrivals);
    let supply = u64::from(step.chunks);
    let total = supply * arrivals.deliveries.len() as u64;
    let capacity = |edge: EdgeIndex| rounds.saturating_mul(finder.weight(edge)).min(total);
    if network.maximize_wholes(supply, capacity) < total {
        return None;
    }
    let mut first = Vec::new();
    step.list_moves(&arrivals, &network.decompose(finder), &mut first);
    let moves = shift_moves(step, symmetry, first);
    let edges = finder.topology().edges().len();
    let mut loads: DenseMap<EdgeIndex, u64> = DenseMap::filled(edges, 0);
    for own in &moves {
        for &edge in &own.path {
            loads[edge] += 1;
        }
    }
    let needed = (0..edges as u32).map(EdgeIndex).map(|edge| {
        let weight = finder.weight(edge).max(1);
        loads[edge].div_ceil(weight)
    });
    Some(AssignedStep { rounds: needed.max().unwrap_or(0).max(rounds), moves })
}

/// The moves into rank 0, and their images.
fn shift_moves(step: &StepAssignment<'_>, symmetry: &ShiftSymmetry, first: Vec<Move>) -> Vec<Move> {
    let group = &symmetry.group;
    let mut into_ranks: DenseMap<Vertex, Vec<Move>> = vec![first].into();
    for link in group.list_links() {
        let Some(automorphism) = symmetry.automorphisms.get(link.digit) else { continue };
        let shift_move = |own: &Move| {
            let (owner, place) = (own.piece.0 / step.chunks, own.piece.0 % step.chunks);
            let owner = automorphism.map_vertex(Vertex(owner));
            Move {
                from: automorphism.map_vertex(own.from),
                to: automorphism.map_vertex(own.to),
                piece: Piece(owner.0 * step.chunks + place),
                path: own.path.iter().map(|edge| automorphism.map_edge(*edge)).collect(),
                ..*own
            }
        };
        let moves = into_ranks[link.before].iter().map(shift_move).collect();
        into_ranks.push(moves);
    }
    into_ranks.into_values().into_iter().flatten().collect()
}
