//! Trees through one switch that adds and copies: each rank becomes the root of as much as any other.
//!
//! Whoever the roots are, each rank sends and receives every piece once, since a root adds its own part itself and keeps the
//! sum. So the roots are free; with all ranks among them each one has as much to do.

use super::AllReduceTrees;
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::trees::{TreeEdge, WeightedTree};
use std::collections::BTreeMap;

/// The ways between ranks and a switch.
#[derive(Default)]
struct StarWays {
    /// From each rank to the switch.
    up: BTreeMap<Vertex, Vec<EdgeIndex>>,
    /// From the switch to each rank.
    down: BTreeMap<Vertex, Vec<EdgeIndex>>,
}

/// The same trees with all ranks as roots, if all of them are stars around the same switch; otherwise none.
pub(super) fn spread_stars(topology: &Topology, trees: &AllReduceTrees) -> Option<AllReduceTrees> {
    let mut ways = StarWays::default();
    let mut center = None;
    for edge in trees.sums.iter().chain(&trees.copies).flat_map(|tree| &tree.edges) {
        let (middle, known, rank) = if topology.is_rank(edge.from) {
            (edge.to, &mut ways.up, edge.from)
        } else {
            (edge.from, &mut ways.down, edge.to)
        };
        if topology.is_rank(middle) || *center.get_or_insert(middle) != middle {
            return None;
        }
        known.entry(rank).or_insert_with(|| edge.path.clone());
    }
    let center = center?;
    let mut spread = AllReduceTrees {
        k: u64::from(topology.count_ranks()),
        rho: trees.rho,
        sums: Vec::new(),
        copies: Vec::new(),
    };
    for root in topology.ranks() {
        let others = || topology.ranks().filter(move |rank| *rank != root);
        let rise = |rank: Vertex| {
            let path = ways.up.get(&rank)?.clone();
            Some(TreeEdge { from: rank, to: center, path })
        };
        let fall = |rank: Vertex| {
            let path = ways.down.get(&rank)?.clone();
            Some(TreeEdge { from: center, to: rank, path })
        };
        let mut sums: Vec<TreeEdge> = others().map(rise).collect::<Option<_>>()?;
        sums.push(fall(root)?);
        let mut copies = vec![rise(root)?];
        copies.extend(others().map(fall).collect::<Option<Vec<TreeEdge>>>()?);
        spread.sums.push(WeightedTree { root, weight: 1, edges: sums });
        spread.copies.push(WeightedTree { root, weight: 1, edges: copies });
    }
    Some(spread)
}
