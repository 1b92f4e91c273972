//! The trees of a ReduceScatter, and then of an AllGather of the sums.

use super::super::budget::FlowMeter;
use super::super::count::{CountedTrees, find_least_time};
use super::super::demand::TreeDemand;
use super::super::error::TreeError;
use super::super::{TreeRoots, TreeSet, WeightedTree, pack_trees};
use super::AllReduceTrees;
use super::pieces::divide_commonly;
use crate::automorphism::find_symmetry;
use crate::bound::cut::bound_allgather_under;
use crate::graph::Topology;
use crate::rational::{ArithmeticError, Rational};

/// Trees that take as long as both halves, one after the other.
pub(super) fn compose_trees(
    topology: &Topology,
    meter: &mut FlowMeter,
) -> Result<AllReduceTrees, TreeError> {
    let copies = pack_gather(topology, PieceCount::Least, meter)?;
    let reversed = topology.reverse();
    // What is possible one way is so the other way round, too.
    let sums = pack_gather(&reversed, PieceCount::Least, meter)?.reverse(&reversed, topology);
    join_halves(topology, &sums, &copies)
}

/// The same, for so many pieces of each rank's part of the buffer, in the least time of each half.
pub(super) fn compose_counted(
    topology: &Topology,
    k: u64,
    meter: &mut FlowMeter,
) -> Result<AllReduceTrees, TreeError> {
    let copies = pack_gather(topology, PieceCount::Given(k), meter)?;
    let reversed = topology.reverse();
    let sums = pack_gather(&reversed, PieceCount::Given(k), meter)?.reverse(&reversed, topology);
    join_halves(topology, &sums, &copies)
}

/// Into how many pieces each rank's part is divided.
#[derive(Clone, Copy)]
enum PieceCount {
    /// So few that the time is the least one.
    Least,
    Given(u64),
}

fn join_halves(
    topology: &Topology,
    sums: &TreeSet,
    copies: &TreeSet,
) -> Result<AllReduceTrees, TreeError> {
    let divisor = divide_commonly(sums.k, copies.k);
    let shards = u64::from(topology.count_ranks());
    let multiply = |one: u64, other: u64| one.checked_mul(other).ok_or(ArithmeticError::Overflow);
    let k = multiply(multiply(sums.k, copies.k / divisor)?, shards)?;
    let both = sums.rho.checked_add(copies.rho)?;
    Ok(AllReduceTrees {
        k,
        rho: both.checked_div(Rational::from_integer(shards))?,
        sums: multiply_weights(sums, copies.k / divisor)?,
        copies: multiply_weights(copies, sums.k / divisor)?,
    })
}

fn pack_gather(
    topology: &Topology,
    count: PieceCount,
    meter: &mut FlowMeter,
) -> Result<TreeSet, TreeError> {
    let symmetry = find_symmetry(topology);
    let cut = bound_allgather_under(topology, &symmetry)?;
    let roots = TreeRoots::EveryRank;
    let demand = match count {
        PieceCount::Least => TreeDemand::from_bound(topology, roots, &cut)?,
        PieceCount::Given(k) => {
            let counted = CountedTrees { roots, k, rho: cut.value };
            find_least_time(topology, &symmetry, counted, meter)?
        }
    };
    Ok(pack_trees(topology, &symmetry, roots, &demand, meter)?.trees)
}

fn multiply_weights(set: &TreeSet, factor: u64) -> Result<Vec<WeightedTree>, ArithmeticError> {
    let multiply = |tree: &WeightedTree| {
        let weight = tree.weight.checked_mul(factor).ok_or(ArithmeticError::Overflow)?;
        Ok(WeightedTree { weight, ..tree.clone() })
    };
    set.trees.iter().map(multiply).collect()
}
