//! Trees from a solution of the bound's program, for machines whose switches only forward: in integers, what edges
//! carry of the copies is a graph in which each rank can get all pieces from their roots, so that there are trees, and
//! the same holds for the sums on the reversed graph.

use super::super::budget::FlowMeter;
use super::super::demand::TreeDemand;
use super::super::error::TreeError;
use super::super::{TreeDirection, TreeRoots, TreeSet, WeightedTree, pack_demand};
use super::AllReduceTrees;
use crate::automorphism::{Symmetry, find_symmetry};
use crate::bound::allreduce::{RootShares, find_root_shares};
use crate::bound::{ProgramBudget, ProgramLimits};
use crate::dense::{DenseKey, DenseMap};
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::rational::{ArithmeticError, Rational};
use crate::schedule::match_reversed_edges;

/// Into how many pieces the buffer is divided at most.
const MAX_DENOMINATOR: u32 = 1 << 14;

/// How far from an integer what is carried may be. Whether what it is rounded to suffices is tested.
const TOLERANCE: f64 = 5e-3;

/// How many numbers of pieces are tried.
const MAX_TRIALS: usize = 3;

/// Trees in the time of the bound's program; none if its solution is not one of few pieces, or if switches cannot be
/// replaced without loss.
pub(super) fn divide_shares(
    topology: &Topology,
    meter: &mut FlowMeter,
) -> Result<Option<AllReduceTrees>, TreeError> {
    let symmetry = find_symmetry(topology);
    let budget = ProgramBudget::default();
    let limits = ProgramLimits { budget: &budget, observer: meter.observer() };
    let Ok(shares) = find_root_shares(topology, &symmetry, limits) else {
        return Ok(None);
    };
    let candidates = (1..=MAX_DENOMINATOR).filter_map(|k| WholeShares::round(&shares, k));
    for whole in candidates.take(MAX_TRIALS) {
        for reach in [SlackReach::AllEdges, SlackReach::BetweenRanks] {
            let packer = SharePacker { topology, symmetry: &symmetry, whole: &whole, reach };
            match packer.pack(meter) {
                Ok(trees) => return Ok(Some(trees)),
                // Rounded wrongly, or not to be replaced: other pieces may do.
                Err(TreeError::TooLittleTime | TreeError::UnevenSwitch { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(None)
}

/// A solution in integers.
struct WholeShares {
    k: u64,
    roots: DenseMap<Vertex, u64>,
    copies: DenseMap<EdgeIndex, u64>,
    sums: DenseMap<EdgeIndex, u64>,
}

impl WholeShares {
    /// A solution in so many pieces, if it is one.
    fn round(shares: &RootShares, k: u32) -> Option<WholeShares> {
        let round = |values: &[f64]| {
            let numbers = values.iter().map(|value| {
                let exact = value * f64::from(k);
                let is_near = (exact - exact.round()).abs() < TOLERANCE;
                is_near.then_some(exact.round() as u64)
            });
            numbers.collect::<Option<Vec<u64>>>()
        };
        let whole = WholeShares {
            k: u64::from(k),
            roots: round(shares.roots.as_slice())?.into(),
            copies: round(shares.copies.as_slice())?.into(),
            sums: round(shares.sums.as_slice())?.into(),
        };
        (whole.roots.as_slice().iter().sum::<u64>() == whole.k).then_some(whole)
    }
}

/// On which edges trees may use what the solution leaves over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SlackReach {
    AllEdges,
    /// As much enters a switch as leaves it.
    BetweenRanks,
}

struct SharePacker<'a> {
    topology: &'a Topology,
    symmetry: &'a Symmetry,
    whole: &'a WholeShares,
    reach: SlackReach,
}

impl SharePacker<'_> {
    fn pack(&self, meter: &mut FlowMeter) -> Result<AllReduceTrees, TreeError> {
        let WholeShares { k, copies, sums, .. } = self.whole;
        let edges = || (0..self.topology.edges().len() as u32).map(EdgeIndex);
        let weights: Vec<u64> = self.topology.weighted_edges().map(|(_, weight)| weight).collect();
        let mut rounds = Rational::ZERO;
        for (edge, weight) in edges().zip(&weights) {
            let load = i128::from(copies[edge]) + i128::from(sums[edge]);
            rounds = rounds.max(Rational::new(load, i128::from(*weight))?);
        }
        let mut room: DenseMap<EdgeIndex, u64> = Vec::new().into();
        for weight in &weights {
            let product = rounds.checked_mul(Rational::from_integer(*weight))?;
            let floor = product.numerator().div_euclid(product.denominator());
            room.push(u64::try_from(floor).map_err(|_| ArithmeticError::Overflow)?);
        }
        let pieces = Rational::from_integer(*k).checked_mul(self.topology.quantum())?;
        let rho = rounds.checked_div(pieces)?;

        let copy_capacities = self.find_capacities(copies, sums, &room);
        let copy_trees = self.pack_half(self.topology, rho, copy_capacities, meter)?;
        let used = self.measure_loads(&copy_trees);
        let sum_capacities = self.find_capacities(sums, &used, &room);
        let reversed = self.topology.reverse();
        let mut turned = DenseMap::filled(weights.len(), 0);
        for (own, other) in match_reversed_edges(self.topology, &reversed) {
            turned[other] = sum_capacities[own];
        }
        let trees = self.pack_half(&reversed, rho, turned, meter)?;
        let direction = TreeDirection::FromRoot;
        let set = TreeSet { k: *k, rho, direction, roots: TreeRoots::EveryRank, trees };
        let sum_trees = set.reverse(&reversed, self.topology).trees;
        Ok(AllReduceTrees { k: *k, rho, sums: sum_trees, copies: copy_trees })
    }

    /// What trees of one half may use of each edge.
    fn find_capacities(
        &self,
        own: &DenseMap<EdgeIndex, u64>,
        other: &DenseMap<EdgeIndex, u64>,
        room: &DenseMap<EdgeIndex, u64>,
    ) -> DenseMap<EdgeIndex, u64> {
        let mut capacities = own.clone();
        for (index, edge) in (0..).map(EdgeIndex).zip(self.topology.edges()) {
            let joins_ranks = [edge.from, edge.to].iter().all(|end| self.topology.is_rank(*end));
            if joins_ranks || self.reach == SlackReach::AllEdges {
                capacities[index] = room[index].saturating_sub(other[index]);
            }
        }
        capacities
    }

    fn pack_half(
        &self,
        topology: &Topology,
        rho: Rational,
        capacities: DenseMap<EdgeIndex, u64>,
        meter: &mut FlowMeter,
    ) -> Result<Vec<WeightedTree>, TreeError> {
        let WholeShares { k, roots, .. } = self.whole;
        let demand = TreeDemand { k: *k, rho, supplies: roots.clone(), total: *k, capacities };
        Ok(pack_demand(topology, self.symmetry, &demand, meter)?.trees)
    }

    fn measure_loads(&self, trees: &[WeightedTree]) -> DenseMap<EdgeIndex, u64> {
        let mut loads = DenseMap::filled(self.topology.edges().len(), 0);
        for tree in trees {
            for edge in tree.edges.iter().flat_map(|edge| &edge.path) {
                debug_assert!(edge.index() < loads.len());
                loads[*edge] += tree.weight;
            }
        }
        loads
    }
}
