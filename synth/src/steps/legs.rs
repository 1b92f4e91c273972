//! Routes of single pieces through steps.

use super::hops::HopFinder;
use crate::graph::{EdgeIndex, Vertex};
use crate::schedule::{Move, MoveAction, Piece};

/// A piece goes over an edge in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RouteLeg {
    pub(super) step: u32,
    pub(super) edge: EdgeIndex,
}

/// The moves of a piece along legs that follow one another. What leads back to a vertex where the piece has been is
/// left out: a rank has it from then on.
pub(super) fn list_moves(finder: &HopFinder<'_>, piece: Piece, legs: &[RouteLeg]) -> Vec<Move> {
    let mut simple: Vec<RouteLeg> = Vec::with_capacity(legs.len());
    for leg in legs {
        simple.push(*leg);
        let at = finder.edge(leg.edge).to;
        if let Some(first) = simple.iter().position(|leg| finder.edge(leg.edge).from == at) {
            simple.truncate(first);
        }
    }
    let mut moves = Vec::new();
    let mut path: Vec<EdgeIndex> = Vec::new();
    let mut from: Option<Vertex> = None;
    for leg in simple {
        let edge = finder.edge(leg.edge);
        let begin = *from.get_or_insert(edge.from);
        path.push(leg.edge);
        if finder.topology().is_rank(edge.to) {
            moves.push(Move {
                step: leg.step,
                from: begin,
                to: edge.to,
                piece,
                action: MoveAction::Copy,
                path: std::mem::take(&mut path),
            });
            from = None;
        }
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::{RouteLeg, list_moves};
    use crate::families::{RelativeGraph, build_ring};
    use crate::graph::{EdgeIndex, SwitchAbilities, Topology, Vertex};
    use crate::schedule::Piece;
    use crate::steps::hops::HopFinder;

    fn walk(topology: &Topology, vertices: &[u32]) -> Vec<[u32; 3]> {
        let finder = HopFinder::new(topology);
        let find = |ends: &[u32]| {
            let mut edges = topology.edges().iter();
            let index = edges.position(|edge| [edge.from.0, edge.to.0] == ends);
            EdgeIndex(index.unwrap() as u32)
        };
        let edges = vertices.windows(2).map(find);
        let legs: Vec<RouteLeg> =
            (0..).zip(edges).map(|(step, edge)| RouteLeg { step, edge }).collect();
        let moves = list_moves(&finder, Piece(0), &legs);
        moves.iter().map(|own| [own.step, own.from.0, own.to.0]).collect()
    }

    #[test]
    fn routes_do_not_return() {
        let ring = build_ring(5).unwrap();
        assert_eq!(walk(&ring, &[0, 1, 2]), [[0, 0, 1], [1, 1, 2]]);
        assert_eq!(walk(&ring, &[0, 1, 2, 1, 0, 4]), [[4, 0, 4]]);
        assert_eq!(walk(&ring, &[0, 1, 2, 1, 2, 3]), [[0, 0, 1], [3, 1, 2], [4, 2, 3]]);
        let mut graph = RelativeGraph::new(2);
        let switches = [(); 2].map(|()| graph.add_switch(SwitchAbilities::default()));
        graph.add_link(switches[0], switches[1], 1);
        switches.iter().for_each(|switch| graph.add_link(Vertex(0), *switch, 1));
        graph.add_link(Vertex(1), switches[0], 1);
        let topology = graph.build().unwrap();
        assert_eq!(walk(&topology, &[0, 2, 3, 2, 1]), [[3, 0, 1]]);
        assert_eq!(walk(&topology, &[0, 3, 2, 1]), [[2, 0, 1]]);
    }
}
