//! How many trees per root reach the bound of an AllGather.
//!
//! If a chunk is divided into `k` pieces, and an edge of rate `b` carries `b * rho * k` of them, this must be a whole
//! number for every edge. The least such `k` is enough: then there are `k` trees for each root which together load no
//! edge with more (Zhao et al., "ForestColl", section 5; Edmonds, "Edge-disjoint branchings"). With fewer trees the least
//! time is larger.

use super::CutBound;
use crate::graph::Topology;
use crate::rational::ArithmeticError;

/// How many trees each root needs, and pieces each chunk, so that an AllGather or a ReduceScatter takes no more time than
/// its bound: the denominator of the bound in rounds of the largest rate that divides all others.
///
/// # Errors
/// [`ArithmeticError`] if it does not fit.
pub fn compute_tree_count(topology: &Topology, bound: &CutBound) -> Result<u64, ArithmeticError> {
    let rounds = bound.value.checked_mul(topology.quantum())?;
    u64::try_from(rounds.denominator()).map_err(|_| ArithmeticError::Overflow)
}
