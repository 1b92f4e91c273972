//! From pairs of trees to trees with weights.

use super::super::budget::FlowMeter;
use super::super::count::search_rounds;
use super::super::error::TreeError;
use super::super::{TreeEdge, WeightedTree};
use super::AllReduceTrees;
use super::group::TreeGroup;
use super::program::{TreePair, WeightedPair};
use crate::automorphism::Automorphism;
use crate::dense::DenseMap;
use crate::flow::{FlowNetwork, FlowNode};
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::rational::{ArithmeticError, Rational};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Divides the weights by what divides all of them.
pub(super) fn reduce_weights(pairs: &mut [WeightedPair]) {
    let common = pairs.iter().fold(0, |common, own| divide_commonly(own.weight, common)).max(1);
    pairs.iter_mut().for_each(|own| own.weight /= common);
}

/// All images of pairs under a group.
pub(super) fn expand_pairs(group: &TreeGroup, pairs: &[WeightedPair]) -> Vec<WeightedPair> {
    let mut expanded = Vec::with_capacity(pairs.len() * group.elements.len());
    for element in &group.elements {
        let map = |own: &WeightedPair| WeightedPair {
            pair: map_pair(element, &own.pair),
            weight: own.weight,
        };
        expanded.extend(pairs.iter().map(map));
    }
    expanded
}

fn map_pair(element: &Automorphism, pair: &TreePair) -> TreePair {
    let map = |edges: &[TreeEdge]| {
        let map_edge = |edge: &TreeEdge| TreeEdge {
            from: element.map_vertex(edge.from),
            to: element.map_vertex(edge.to),
            path: edge.path.iter().map(|index| element.map_edge(*index)).collect(),
        };
        edges.iter().map(map_edge).collect::<Vec<TreeEdge>>()
    };
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

/// How many pieces pairs have; none if there are no pairs. Larger numbers stand for the largest one.
pub(super) fn count_pieces(pairs: &[WeightedPair]) -> Option<u64> {
    let total = pairs.iter().fold(0_u64, |sum, own| sum.saturating_add(own.weight));
    (total > 0).then_some(total)
}

/// Pairs of so many pieces in all, in nearly the ratios of their weights; none if there are no pairs.
pub(super) fn round_pairs(pairs: &[WeightedPair], k: u64) -> Option<Vec<WeightedPair>> {
    let total: u128 = pairs.iter().map(|own| u128::from(own.weight)).sum();
    if total == 0 {
        return None;
    }
    let exact = |own: &WeightedPair| u128::from(own.weight) * u128::from(k);
    let round = |own: &WeightedPair| WeightedPair {
        pair: own.pair.clone(),
        weight: (exact(own) / total) as u64,
    };
    let mut rounded: Vec<WeightedPair> = pairs.iter().map(round).collect();
    // What is missing goes to those that lost most by rounding down (the method of largest remainders).
    let missing = k - rounded.iter().map(|own| own.weight).sum::<u64>();
    let mut order: Vec<(&WeightedPair, &mut WeightedPair)> =
        pairs.iter().zip(rounded.iter_mut()).collect();
    order.sort_by_key(|(own, _)| Reverse(exact(own) % total));
    order.into_iter().take(missing as usize).for_each(|(_, own)| own.weight += 1);
    rounded.retain(|own| own.weight > 0);
    Some(rounded)
}

/// How many pieces each edge carries.
pub(super) fn measure_loads(
    topology: &Topology,
    pairs: &[WeightedPair],
) -> Result<DenseMap<EdgeIndex, u64>, ArithmeticError> {
    let mut loads: DenseMap<EdgeIndex, u64> = DenseMap::filled(topology.edges().len(), 0);
    for WeightedPair { pair, weight } in pairs {
        for edge in pair.list_uses() {
            loads[edge] = loads[edge].checked_add(*weight).ok_or(ArithmeticError::Overflow)?;
        }
    }
    Ok(loads)
}

/// In how many rounds the edges carry all pieces.
pub(super) fn measure_rounds(
    topology: &Topology,
    pairs: &[WeightedPair],
) -> Result<Rational, ArithmeticError> {
    let loads = measure_loads(topology, pairs)?;
    let mut rounds = Rational::ZERO;
    for ((_, weight), load) in topology.weighted_edges().zip(loads.as_slice()) {
        rounds = rounds.max(Rational::new(i128::from(*load), i128::from(weight))?);
    }
    Ok(rounds)
}

/// The time per buffer.
pub(super) fn measure_time(
    topology: &Topology,
    pairs: &[WeightedPair],
) -> Result<Rational, ArithmeticError> {
    let total = Rational::from_integer(count_pieces(pairs).unwrap_or(1));
    measure_rounds(topology, pairs)?.checked_div(topology.quantum())?.checked_div(total)
}

/// How many pieces each edge carries at most in some rounds.
pub(super) fn find_rooms(
    topology: &Topology,
    rounds: Rational,
) -> Result<DenseMap<EdgeIndex, u64>, ArithmeticError> {
    let mut rooms: DenseMap<EdgeIndex, u64> = Vec::new().into();
    for (_, weight) in topology.weighted_edges() {
        let product = Rational::from_integer(weight).checked_mul(rounds)?;
        let floor = product.numerator().div_euclid(product.denominator());
        rooms.push(u64::try_from(floor).map_err(|_| ArithmeticError::Overflow)?);
    }
    Ok(rooms)
}

/// A time per buffer of so many pieces that no trees fall below. It is at least `bound`.
pub(super) fn find_least_time(
    topology: &Topology,
    bound: Rational,
    k: u64,
    meter: &mut FlowMeter,
) -> Result<Rational, TreeError> {
    let scale = topology.quantum().checked_mul(Rational::from_integer(k))?;
    let least = bound.checked_mul(scale)?;
    let rounds = search_rounds(topology, least, &mut |rounds| {
        can_carry(topology, rounds.checked_div(scale)?, k, meter)
    })?;
    Ok(rounds.checked_div(scale)?)
}

/// Whether each cut between ranks carries so many pieces within a time per buffer, a whole number on each edge: a piece
/// is copied into a part without its root, and its sum leaves a part with something to add. Not all that passes this
/// can be packed.
pub(super) fn can_carry(
    topology: &Topology,
    rho: Rational,
    k: u64,
    meter: &mut FlowMeter,
) -> Result<bool, TreeError> {
    let count = Rational::from_integer(k);
    let rounds = rho.checked_mul(topology.quantum())?.checked_mul(count)?;
    let rooms = find_rooms(topology, rounds)?;
    let mut network = FlowNetwork::new(topology.count_vertices());
    for (edge, room) in topology.edges().iter().zip(rooms.as_slice()) {
        network.add_arc(FlowNode(edge.from.0), FlowNode(edge.to.0), *room);
    }
    for rank in topology.ranks().skip(1) {
        for [from, to] in [[0, rank.0], [rank.0, 0]] {
            meter.count_flow(topology.edges().len())?;
            network.clear_flow();
            if network.maximize_flow(FlowNode(from), FlowNode(to), k) < k {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The trees of pairs, in the time that they take.
pub(super) fn assemble_trees(
    topology: &Topology,
    pairs: &[WeightedPair],
    meter: &mut FlowMeter,
) -> Result<AllReduceTrees, TreeError> {
    let common = pairs.iter().fold(0, |common, own| divide_commonly(own.weight, common)).max(1);
    let mut sums: BTreeMap<(Vertex, &[TreeEdge]), u64> = BTreeMap::new();
    let mut copies = sums.clone();
    for WeightedPair { pair, weight } in pairs {
        *sums.entry((pair.root, &pair.sums)).or_default() += weight / common;
        *copies.entry((pair.root, &pair.copies)).or_default() += weight / common;
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
    let k = count_pieces(pairs).ok_or(TreeError::NoTrees)? / common;
    Ok(AllReduceTrees { k, rho: measure_time(topology, pairs)?, sums, copies })
}
