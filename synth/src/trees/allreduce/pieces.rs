//! From pairs of trees to trees with weights.

use super::super::budget::FlowMeter;
use super::super::error::TreeError;
use super::super::{TreeEdge, WeightedTree};
use super::AllReduceTrees;
use super::group::TreeGroup;
use super::program::{TreePair, WeightedPair};
use crate::automorphism::Automorphism;
use crate::dense::DenseMap;
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::rational::{ArithmeticError, Rational};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Into how many pieces a buffer is divided at most where trees are chosen piece by piece.
const MAX_SINGLE_PIECES: u64 = 1 << 10;

/// All images of pairs under a group.
pub(super) fn expand_pairs(
    topology: &Topology,
    group: &TreeGroup,
    pairs: &[WeightedPair],
) -> Vec<WeightedPair> {
    let common = pairs.iter().fold(0, |common, own| divide_commonly(own.weight, common)).max(1);
    let mut expanded = Vec::with_capacity(pairs.len() * group.elements.len());
    for element in &group.elements {
        for WeightedPair { pair, weight } in pairs {
            let pair = map_pair(topology, element, pair);
            expanded.push(WeightedPair { pair, weight: weight / common });
        }
    }
    expanded
}

fn map_pair(topology: &Topology, element: &Automorphism, pair: &TreePair) -> TreePair {
    let map = |edges: &[TreeEdge]| {
        let map_edge = |edge: &TreeEdge| TreeEdge {
            from: element.map_vertex(edge.from),
            to: element.map_vertex(edge.to),
            path: edge.path.iter().map(|index| element.map_edge(*index)).collect(),
        };
        edges.iter().map(map_edge).collect::<Vec<TreeEdge>>()
    };
    debug_assert!(topology.is_rank(pair.root));
    let root = element.map_vertex(pair.root);
    TreePair { root, sums: map(&pair.sums), copies: map(&pair.copies) }
}

/// The greatest common divisor of two numbers.
pub(super) fn divide_commonly(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// So many pieces, each with a pair, in nearly the ratios of weights; none if there are no pairs, or too many pieces.
pub(super) fn round_pairs(pairs: &[WeightedPair], k: u64) -> Option<Vec<TreePair>> {
    let total: u128 = pairs.iter().map(|own| u128::from(own.weight)).sum();
    if total == 0 || k > MAX_SINGLE_PIECES {
        return None;
    }
    let exact = |own: &WeightedPair| u128::from(own.weight) * u128::from(k);
    let mut pieces = Vec::new();
    for own in pairs {
        let count = (exact(own) / total) as usize;
        pieces.extend(std::iter::repeat_n(own.pair.clone(), count));
    }
    // What is missing goes to those that lost most by rounding down (the method of largest remainders).
    let mut order: Vec<&WeightedPair> = pairs.iter().collect();
    order.sort_by_key(|own| Reverse(exact(own) % total));
    let missing = (k as usize).saturating_sub(pieces.len());
    pieces.extend(order.into_iter().take(missing).map(|own| own.pair.clone()));
    Some(pieces)
}

/// The trees of pairs, in the time that they take; none if there are no pairs.
pub(super) fn assemble_trees(
    topology: &Topology,
    pairs: &[WeightedPair],
    meter: &mut FlowMeter,
) -> Result<Option<AllReduceTrees>, TreeError> {
    let common = pairs.iter().fold(0, |common, own| divide_commonly(own.weight, common)).max(1);
    let mut sums: BTreeMap<(Vertex, &[TreeEdge]), u64> = BTreeMap::new();
    let mut copies = sums.clone();
    let mut loads: DenseMap<EdgeIndex, u64> = DenseMap::filled(topology.edges().len(), 0);
    let mut k: u64 = 0;
    for WeightedPair { pair, weight } in pairs {
        let weight = weight / common;
        k = k.checked_add(weight).ok_or(ArithmeticError::Overflow)?;
        *sums.entry((pair.root, &pair.sums)).or_default() += weight;
        *copies.entry((pair.root, &pair.copies)).or_default() += weight;
        for edge in pair.list_uses() {
            loads[edge] = loads[edge].checked_add(weight).ok_or(ArithmeticError::Overflow)?;
        }
    }
    if k == 0 {
        return Ok(None);
    }
    let mut collect = |trees: BTreeMap<(Vertex, &[TreeEdge]), u64>| {
        let mut collected = Vec::with_capacity(trees.len());
        for ((root, edges), weight) in trees {
            meter.count_tree(edges.len())?;
            collected.push(WeightedTree { root, weight, edges: edges.to_vec() });
        }
        Ok::<Vec<WeightedTree>, TreeError>(collected)
    };
    let [sums, copies] = [collect(sums)?, collect(copies)?];
    Ok(Some(AllReduceTrees { k, rho: measure_time(topology, &loads, k)?, sums, copies }))
}

/// The time per buffer in which edges carry loads of pieces.
fn measure_time(
    topology: &Topology,
    loads: &DenseMap<EdgeIndex, u64>,
    k: u64,
) -> Result<Rational, ArithmeticError> {
    let mut rounds = Rational::ZERO;
    for ((_, weight), load) in topology.weighted_edges().zip(loads.as_slice()) {
        rounds = rounds.max(Rational::new(i128::from(*load), i128::from(weight))?);
    }
    rounds.checked_div(topology.quantum())?.checked_div(Rational::from_integer(k))
}
