//! The least time in which there is a given number of trees per root.
//!
//! Within a time an edge carries a whole number of pieces, so that the least time is one at which some edge carries one
//! more (Zhao et al., "ForestColl", on a fixed number of trees). What fits into a time fits into a longer one: a binary
//! search finds it.

use super::TreeRoots;
use super::budget::FlowMeter;
use super::connectivity::RootedNetwork;
use super::demand::{TimedTrees, TreeDemand};
use super::error::TreeError;
use crate::automorphism::Symmetry;
use crate::flow::FlowArc;
use crate::graph::{Topology, Vertex};
use crate::rational::Rational;
use std::collections::BTreeSet;

/// A number of trees per root.
#[derive(Clone, Copy)]
pub(super) struct CountedTrees {
    pub(super) roots: TreeRoots,
    pub(super) k: u64,
    /// The least time per chunk of any number of trees.
    pub(super) rho: Rational,
}

/// The demand of so many trees in the least time. Every symmetry maps roots to roots.
pub(super) fn find_least_time(
    topology: &Topology,
    symmetry: &Symmetry,
    counted: CountedTrees,
    meter: &mut FlowMeter<'_>,
) -> Result<TreeDemand, TreeError> {
    let CountedTrees { roots, k, rho } = counted;
    if k == 0 {
        return Err(TreeError::NoTrees);
    }
    let pieces = Rational::from_integer(k);
    let least = rho.checked_mul(topology.quantum())?.checked_mul(pieces)?;
    let timed = |rounds| TreeDemand::new(topology, &TimedTrees { roots, k, rounds });
    let mut test = FeasibilityTest::new(topology, symmetry, &timed(least)?);
    let rounds =
        search_rounds(topology, least, &mut |rounds| test.is_feasible(&timed(rounds)?, meter))?;
    timed(rounds)
}

/// The least number of rounds in which edges that carry whole numbers of pieces do something, if they do it in `least`
/// rounds as long as fractions count. What they do in some rounds they do in more.
pub(super) fn search_rounds(
    topology: &Topology,
    least: Rational,
    is_feasible: &mut dyn FnMut(Rational) -> Result<bool, TreeError>,
) -> Result<Rational, TreeError> {
    let weights: BTreeSet<u64> = topology.weighted_edges().map(|(_, weight)| weight).collect();
    // After so much more every edge carries, rounded down, at least what it carries in the least time without rounding.
    let slowest = weights.first().copied().unwrap_or(1);
    let extra = Rational::new(1, i128::from(slowest))?;
    let mut best = least.checked_add(extra)?;
    for &weight in weights.iter().rev() {
        let rate = Rational::from_integer(weight);
        let point = |pieces: i128| Rational::new(pieces, i128::from(weight));
        // The pieces that such an edge carries within the least time, and before the best time so far.
        let mut low = ceil(least.checked_mul(rate)?);
        let mut high = ceil(best.checked_mul(rate)?) - 1;
        // Most weights give nothing better: one test shows it.
        let mut next = high;
        while low <= high {
            let rounds = point(next)?;
            if is_feasible(rounds)? {
                best = rounds;
                high = next - 1;
            } else {
                low = next + 1;
            }
            next = low + (high - low) / 2;
        }
    }
    Ok(best)
}

/// The smallest integer that is not below a fraction.
fn ceil(fraction: Rational) -> i128 {
    -(-fraction.numerator()).div_euclid(fraction.denominator())
}

/// A network in which only the capacities change.
struct FeasibilityTest<'a> {
    network: RootedNetwork,
    arcs: Vec<FlowArc>,
    symmetry: &'a Symmetry,
}

impl<'a> FeasibilityTest<'a> {
    fn new(
        topology: &Topology,
        symmetry: &'a Symmetry,
        demand: &TreeDemand,
    ) -> FeasibilityTest<'a> {
        let mut network = RootedNetwork::new(topology.count_vertices(), demand);
        let edges = topology.edges().iter();
        let arcs = edges.map(|edge| network.add_edge(edge.from, edge.to, 0)).collect();
        FeasibilityTest { network, arcs, symmetry }
    }

    fn is_feasible(
        &mut self,
        demand: &TreeDemand,
        meter: &mut FlowMeter<'_>,
    ) -> Result<bool, TreeError> {
        for (arc, capacity) in self.arcs.iter().zip(demand.capacities.as_slice()) {
            self.network.set_capacity(*arc, *capacity);
        }
        let is_first = |rank: &Vertex| self.symmetry.vertices.is_first(*rank);
        let ranks = demand.list_ranks().filter(is_first);
        Ok(self.network.find_worst_lack(ranks, 1, meter)? == 0)
    }
}
