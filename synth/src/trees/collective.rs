//! Trees for a known collective.

use super::{
    PackRequest, TreeError, TreePacking, TreeSet, pack_allgather_trees, pack_broadcast_trees,
};
use crate::bound::BoundError;
use crate::bound::cut::bound_allgather;
use crate::bound::rooted::bound_broadcast;
use crate::collective::CollectiveKind;
use crate::graph::Topology;

/// Whether a collective has trees: what is sent to all ranks, or added up from all.
#[must_use]
pub fn has_trees(kind: CollectiveKind) -> bool {
    match kind {
        CollectiveKind::AllGather
        | CollectiveKind::ReduceScatter
        | CollectiveKind::Broadcast(_)
        | CollectiveKind::Reduce(_) => true,
        CollectiveKind::AllToAll
        | CollectiveKind::AllReduce
        | CollectiveKind::Scatter(_)
        | CollectiveKind::Gather(_) => false,
    }
}

/// The trees of a collective, or why there are none; `None` for collectives that have none.
///
/// # Errors
/// [`BoundError`] if the collective is impossible on the topology, or has no bound.
pub fn pack_collective_trees(
    topology: &Topology,
    kind: CollectiveKind,
    request: PackRequest<'_>,
) -> Result<Option<Result<TreeSet, TreeError>>, BoundError> {
    let take = |packing: Result<TreePacking, TreeError>| packing.map(|packing| packing.trees);
    Ok(match kind {
        CollectiveKind::AllGather => {
            Some(take(pack_allgather_trees(topology, &bound_allgather(topology)?, request)))
        }
        CollectiveKind::Broadcast(root) => {
            let cut = bound_broadcast(topology, root)?;
            Some(take(pack_broadcast_trees(topology, root, &cut, request)))
        }
        CollectiveKind::ReduceScatter | CollectiveKind::Reduce(_) => {
            let Some(forward) = kind.reverse() else { return Ok(None) };
            let reversed = topology.reverse();
            let trees = pack_collective_trees(&reversed, forward, request)?;
            trees.map(|trees| trees.map(|trees| trees.reverse(&reversed, topology)))
        }
        CollectiveKind::AllToAll
        | CollectiveKind::AllReduce
        | CollectiveKind::Scatter(_)
        | CollectiveKind::Gather(_) => None,
    })
}
