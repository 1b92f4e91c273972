//! What trees are searched for, in integers: how many pieces each rank sends to all, and how many an edge carries.

use super::TreeRoots;
use super::error::TreeError;
use crate::bound::tree_count::compute_tree_count;
use crate::bound::{BoundError, CutBound};
use crate::dense::DenseMap;
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::rational::{ArithmeticError, Rational};

/// The pieces of all roots, and of all edges, are below this: sums of some of them fit into 64 bits.
const MAX_TOTAL: u128 = 1 << 61;

/// How many pieces go from where, within which time.
#[derive(Clone, Debug)]
pub(super) struct TreeDemand {
    /// How many pieces a chunk has.
    pub(super) k: u64,
    /// The time per chunk.
    pub(super) rho: Rational,
    /// How many pieces each rank is the root of.
    pub(super) supplies: DenseMap<Vertex, u64>,
    /// The sum of all supplies: how many pieces each rank has in the end.
    pub(super) total: u64,
    /// How many pieces each edge carries within the time.
    pub(super) capacities: DenseMap<EdgeIndex, u64>,
}

/// The same, for a time in rounds.
pub(super) struct TimedTrees {
    pub(super) roots: TreeRoots,
    pub(super) k: u64,
    /// For all `k` pieces of a chunk.
    pub(super) rounds: Rational,
}

impl TreeDemand {
    /// As many pieces as reach a bound.
    pub(super) fn from_bound(
        topology: &Topology,
        roots: TreeRoots,
        cut: &CutBound,
    ) -> Result<TreeDemand, TreeError> {
        let k = compute_tree_count(topology, cut)?;
        let rounds = cut.value.checked_mul(topology.quantum())?;
        let rounds = rounds.checked_mul(Rational::from_integer(k))?;
        TreeDemand::new(topology, &TimedTrees { roots, k, rounds })
    }

    /// What edges carry, rounded down to whole pieces.
    pub(super) fn new(topology: &Topology, timed: &TimedTrees) -> Result<TreeDemand, TreeError> {
        let TimedTrees { roots, k, rounds } = *timed;
        if topology.count_ranks() == 1 {
            return Err(BoundError::SingleRank.into());
        }
        if k == 0 {
            return Err(TreeError::NoTrees);
        }
        let mut supplies = DenseMap::filled(topology.count_ranks() as usize, 0);
        match roots {
            TreeRoots::EveryRank => supplies.fill(k),
            TreeRoots::One(root) if !topology.is_rank(root) => {
                return Err(BoundError::RootOutOfRange { root }.into());
            }
            TreeRoots::One(root) => supplies[root] = k,
        }
        let mut total: u128 = 0;
        for supply in supplies.as_slice() {
            total += u128::from(*supply);
        }
        let mut capacities: DenseMap<EdgeIndex, u64> = Vec::new().into();
        let mut sum: u128 = 0;
        for (_, weight) in topology.weighted_edges() {
            let capacity = floor_product(weight, rounds)?;
            sum += u128::from(capacity);
            capacities.push(capacity);
        }
        if total > MAX_TOTAL || sum > MAX_TOTAL {
            return Err(ArithmeticError::Overflow.into());
        }
        let pieces = Rational::from_integer(k).checked_mul(topology.quantum())?;
        let rho = rounds.checked_div(pieces)?;
        Ok(TreeDemand { k, rho, supplies, total: total as u64, capacities })
    }
}

/// The largest integer that is at most a product, which is not negative.
fn floor_product(weight: u64, rounds: Rational) -> Result<u64, ArithmeticError> {
    let product = Rational::from_integer(weight).checked_mul(rounds)?;
    let floor = product.numerator() / product.denominator();
    u64::try_from(floor).map_err(|_| ArithmeticError::Overflow)
}

impl TreeDemand {
    /// The ranks that are roots.
    pub(super) fn list_roots(&self) -> impl Iterator<Item = Vertex> + '_ {
        let supplies = (0..).map(Vertex).zip(self.supplies.as_slice());
        supplies.filter(|(_, supply)| **supply > 0).map(|(root, _)| root)
    }

    /// All ranks.
    pub(super) fn list_ranks(&self) -> impl Iterator<Item = Vertex> + use<> {
        (0..self.supplies.len() as u32).map(Vertex)
    }
}

#[cfg(test)]
mod tests {
    use super::{TimedTrees, TreeDemand};
    use crate::bound::cut::bound_allgather;
    use crate::families::build_dgx1;
    use crate::graph::Vertex;
    use crate::trees::{TreeError, TreeRoots};

    #[test]
    fn edges_carry_whole_pieces() {
        let dgx1 = build_dgx1().unwrap();
        let cut = bound_allgather(&dgx1).unwrap();
        let demand = TreeDemand::from_bound(&dgx1, TreeRoots::EveryRank, &cut).unwrap();
        assert_eq!((demand.k, demand.total), (6, 48));
        for ((_, weight), capacity) in dgx1.weighted_edges().zip(demand.capacities.as_slice()) {
            assert_eq!(*capacity, weight * 7);
        }
        let timed = |k, rounds: &str, roots| {
            TreeDemand::new(&dgx1, &TimedTrees { roots, k, rounds: rounds.parse().unwrap() })
        };
        let demand = timed(2, "5/4", TreeRoots::One(Vertex(3))).unwrap();
        assert_eq!(demand.supplies.as_slice(), [0, 0, 0, 2, 0, 0, 0, 0]);
        assert_eq!(demand.rho, "5/8".parse().unwrap());
        for ((_, weight), capacity) in dgx1.weighted_edges().zip(demand.capacities.as_slice()) {
            assert_eq!(*capacity, weight * 5 / 4);
        }
        assert!(matches!(timed(0, "1", TreeRoots::EveryRank), Err(TreeError::NoTrees)));
        assert!(matches!(timed(1, "1", TreeRoots::One(Vertex(8))), Err(TreeError::Bound(_))));
        let much = timed(u64::MAX, "1", TreeRoots::EveryRank);
        assert!(matches!(much, Err(TreeError::Arithmetic(_))));
    }
}
