//! The bandwidth bounds of the collectives that have a root.
//!
//! * Broadcast: a cut around the root that lacks a rank lets the buffer out once, `1 / b`. The greatest such ratio
//!   comes from the least of the maximum flows to each rank, and can be attained in the limit of many steps (Edmonds,
//!   "Edge-disjoint branchings").
//! * Scatter: a cut around the root that lacks `a` ranks lets `a` chunks out, `a / b`. The greatest ratio is exact, as
//!   one flow from the root brings a chunk to each rank (Ford and Fulkerson).
//! * Reduce and Gather: the same on the reversed topology.

use super::{
    BoundError, CutBound, CutRatio, all_vertices, check_root, reverse_cut, reverse_error,
    sum_leaving,
};
use crate::flow::{FlowNetwork, FlowNode};
use crate::graph::{Topology, Vertex};

/// The bound of a broadcast, in rounds per buffer. The root is on the side of its cut.
///
/// # Errors
/// [`BoundError::Unreachable`] if the collective is impossible, and those about roots and single ranks.
pub fn bound_broadcast(topology: &Topology, root: Vertex) -> Result<CutBound, BoundError> {
    check_root(topology, root)?;
    let mut network = build_network(topology, 1, 0);
    let source = FlowNode(root.0);
    let mut least = u64::MAX;
    let mut best = None;
    let mut previous = source;
    for rank in topology.ranks().filter(|rank| *rank != root) {
        let sink = FlowNode(rank.0);
        // What arrived at one rank is led on to the next one, as for an AllGather. A flow that reaches the limit shows
        // nothing new. One that does not is the maximum flow from the root, too: the cut that it fills has the root on
        // the side of the previous rank, since another one would let the flow to that rank pass.
        let flow = network.maximize_flow(previous, sink, least);
        if flow < least {
            let reached = network.collect_reachable(previous);
            let side = all_vertices(topology).filter(|vertex| reached[FlowNode(vertex.0)]);
            best = Some((side.collect(), rank));
            least = flow;
            network.clear_flow();
            network.maximize_flow(source, sink, least);
        }
        previous = sink;
    }
    let (side, outside) = best.ok_or(BoundError::SingleRank)?;
    if least == 0 {
        return Err(BoundError::Unreachable { from: root, to: outside });
    }
    let value = CutRatio { amount: 1, weight: least }.compute_value(topology)?;
    Ok(CutBound { value, side, outside })
}

/// The bound of a Reduce, in rounds per buffer. The root is not on the side of its cut.
///
/// # Errors
/// [`BoundError::Unreachable`] if the collective is impossible, and those about roots and single ranks.
pub fn bound_reduce(topology: &Topology, root: Vertex) -> Result<CutBound, BoundError> {
    let reversed = bound_broadcast(&topology.reverse(), root).map_err(reverse_error)?;
    Ok(reverse_cut(topology, reversed))
}

/// The bound of a Scatter, in rounds per chunk of one rank. The root is on the side of its cut.
///
/// # Errors
/// [`BoundError::Unreachable`] if the collective is impossible, and those about roots and single ranks.
pub fn bound_scatter(topology: &Topology, root: Vertex) -> Result<CutBound, BoundError> {
    check_root(topology, root)?;
    let source = FlowNode(root.0);
    let sink = FlowNode(topology.count_vertices() as u32);
    let mut side: Vec<Vertex> = vec![root];
    // Dinkelbach's method: from the cut around the root to ever worse ones, until a flow passes them all.
    loop {
        let cut = measure_scatter(topology, root, &side)?;
        let ratio = cut.reduce();
        let mut network = build_network(topology, ratio.amount, 1);
        for rank in topology.ranks().filter(|rank| *rank != root) {
            network.add_arc(FlowNode(rank.0), sink, ratio.weight);
        }
        let demand = ratio.weight * u64::from(topology.count_ranks() - 1);
        if network.maximize_flow(source, sink, demand) == demand {
            let value = ratio.compute_value(topology)?;
            let outside = find_outside(topology, &side).ok_or(BoundError::SingleRank)?;
            return Ok(CutBound { value, side, outside });
        }
        let reached = network.collect_reachable(source);
        side = all_vertices(topology).filter(|vertex| reached[FlowNode(vertex.0)]).collect();
    }
}

/// The bound of a Gather, in rounds per chunk of one rank. The root is not on the side of its cut.
///
/// # Errors
/// [`BoundError::Unreachable`] if the collective is impossible, and those about roots and single ranks.
pub fn bound_gather(topology: &Topology, root: Vertex) -> Result<CutBound, BoundError> {
    let reversed = bound_scatter(&topology.reverse(), root).map_err(reverse_error)?;
    Ok(reverse_cut(topology, reversed))
}

/// The vertices, further nodes, and the edges with their weights times a factor.
fn build_network(topology: &Topology, factor: u64, further: usize) -> FlowNetwork {
    let mut network = FlowNetwork::new(topology.count_vertices() + further);
    for (edge, weight) in topology.weighted_edges() {
        network.add_arc(FlowNode(edge.from.0), FlowNode(edge.to.0), weight * factor);
    }
    network
}

/// What a Scatter must let out of a side, which is sorted.
fn measure_scatter(
    topology: &Topology,
    root: Vertex,
    side: &[Vertex],
) -> Result<CutRatio, BoundError> {
    let is_inside = |vertex: Vertex| side.binary_search(&vertex).is_ok();
    let amount = topology.ranks().filter(|rank| !is_inside(*rank)).count() as u64;
    let weight = sum_leaving(topology, is_inside);
    match find_outside(topology, side) {
        Some(outside) if weight == 0 => Err(BoundError::Unreachable { from: root, to: outside }),
        _ => Ok(CutRatio { amount, weight }),
    }
}

/// The first rank that is not on a side, which is sorted.
fn find_outside(topology: &Topology, side: &[Vertex]) -> Option<Vertex> {
    topology.ranks().find(|rank| side.binary_search(rank).is_err())
}
