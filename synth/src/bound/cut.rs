//! The bandwidth bound of AllGather and ReduceScatter: the worst of all cuts.
//!
//! If a set of vertices has `a` ranks and lacks one, the chunks of all `a` must leave it, over edges whose rates sum up
//! to `b`: an AllGather takes at least `a / b` rounds per chunk. The greatest such ratio, rho, can be attained (Zhao et
//! al., "ForestColl", theorem 1; Edmonds, "Edge-disjoint branchings").
//!
//! A value `p / q` is at least rho if and only if, for each rank `v`, a flow exists that brings `q` units from each
//! rank to `v` where an edge of rate `b` carries `p * b`. Dinkelbach's method ("On nonlinear fractional programming",
//! 1967) starts at a cut, and goes on with each cut that a flow violates: its ratio is larger. It ends after few
//! rounds, as both the amount and the weight of the cuts decrease.

use super::{
    BoundError, CutBound, CutRatio, all_vertices, check_rank_count, reverse_cut, reverse_error,
    sum_leaving,
};
use crate::automorphism::{Symmetry, find_symmetry};
use crate::dense::DenseMap;
use crate::flow::{FlowNetwork, FlowNode};
use crate::graph::{Topology, Vertex};
use crate::observer::{NoObserver, SearchObserver};

/// The bound of an AllGather. The side of its cut has the ranks whose chunks must leave it.
///
/// # Errors
/// [`BoundError::Unreachable`] if the collective is impossible, and [`BoundError::SingleRank`].
pub fn bound_allgather(topology: &Topology) -> Result<CutBound, BoundError> {
    bound_allgather_under(topology, &find_symmetry(topology))
}

/// The same, with symmetries of the topology that are known: one rank of each orbit is a receiver.
///
/// # Errors
/// Those of [`bound_allgather`].
pub fn bound_allgather_under(
    topology: &Topology,
    symmetry: &Symmetry,
) -> Result<CutBound, BoundError> {
    bound_allgather_until(topology, symmetry, &NoObserver)
}

/// The same, or the worst cut that is found before the observer stops the search: a bound, but not the largest one.
pub(crate) fn bound_allgather_until(
    topology: &Topology,
    symmetry: &Symmetry,
    observer: &dyn SearchObserver,
) -> Result<CutBound, BoundError> {
    check_rank_count(topology)?;
    let mut best = find_worst_receiver(topology)?;
    loop {
        let ratio = best.ratio.reduce();
        let found = find_violated_cut(topology, symmetry, ratio, observer)?;
        let Some(worse) = found else { break };
        best = worse;
    }
    let value = best.ratio.compute_value(topology)?;
    let side = all_vertices(topology).filter(|vertex| best.side[*vertex]).collect();
    Ok(CutBound { value, side, outside: best.outside })
}

/// The bound of a ReduceScatter: that of the AllGather on the reversed topology. The sums of the ranks that are not on
/// the side of its cut must get there.
///
/// # Errors
/// [`BoundError::Unreachable`] if the collective is impossible, and [`BoundError::SingleRank`].
pub fn bound_reduce_scatter(topology: &Topology) -> Result<CutBound, BoundError> {
    let reversed = bound_allgather(&topology.reverse()).map_err(reverse_error)?;
    Ok(reverse_cut(topology, reversed))
}

/// A cut that an AllGather must pass.
struct GatherCut {
    side: DenseMap<Vertex, bool>,
    outside: Vertex,
    ratio: CutRatio,
}

impl GatherCut {
    /// The cut of a side, with the ratio of its ranks to the weight of what leaves it.
    fn new(
        topology: &Topology,
        side: DenseMap<Vertex, bool>,
        outside: Vertex,
    ) -> Result<GatherCut, BoundError> {
        let amount = topology.ranks().filter(|rank| side[*rank]).count() as u64;
        let weight = sum_leaving(topology, |vertex| side[vertex]);
        if weight == 0 {
            let inside = topology.ranks().find(|rank| side[*rank]).unwrap_or(outside);
            return Err(BoundError::Unreachable { from: inside, to: outside });
        }
        Ok(GatherCut { side, outside, ratio: CutRatio { amount, weight } })
    }
}

/// The cut around the rank with the least rate into it: the best guess that needs no flow, and often rho itself.
fn find_worst_receiver(topology: &Topology) -> Result<GatherCut, BoundError> {
    let mut entering = DenseMap::filled(topology.count_vertices(), 0);
    for (edge, weight) in topology.weighted_edges() {
        entering[edge.to] += weight;
    }
    let worst = topology.ranks().min_by_key(|rank| entering[*rank]).unwrap_or(Vertex(0));
    let mut side = DenseMap::filled(topology.count_vertices(), true);
    side[worst] = false;
    GatherCut::new(topology, side, worst)
}

/// A cut whose ratio is above a given one, if there is any and the observer does not stop the search: a rank does not get `weight` units from each rank where
/// edges carry `amount` times their weight.
fn find_violated_cut(
    topology: &Topology,
    symmetry: &Symmetry,
    ratio: CutRatio,
    observer: &dyn SearchObserver,
) -> Result<Option<GatherCut>, BoundError> {
    let vertices = topology.count_vertices();
    let mut network = FlowNetwork::new(vertices + 1);
    let source = FlowNode(vertices as u32);
    for (edge, weight) in topology.weighted_edges() {
        network.add_arc(FlowNode(edge.from.0), FlowNode(edge.to.0), weight * ratio.amount);
    }
    for rank in topology.ranks() {
        network.add_arc(source, FlowNode(rank.0), ratio.weight);
    }
    let demand = ratio.weight * u64::from(topology.count_ranks());
    // The flow to the first rank comes from the source. As long as all ranks got everything, what arrived at one rank
    // is led on to the next: a flow to a sink `v` and one to a sink `w` differ by a flow from `v` to `w` in the
    // residual network. Neighbors in the order of numbers are mostly near each other, which makes this a short
    // search.
    let mut previous = source;
    for rank in topology.ranks().filter(|rank| symmetry.vertices.is_first(*rank)) {
        if observer.is_stopped() {
            break;
        }
        let sink = FlowNode(rank.0);
        if network.maximize_flow(previous, sink, demand) < demand {
            // Whether the source is among them does not matter: all of its arcs are full, or it is where we began.
            let reached = network.collect_reachable(previous);
            let side = all_vertices(topology).map(|vertex| reached[FlowNode(vertex.0)]);
            let side = side.collect::<Vec<bool>>().into();
            return GatherCut::new(topology, side, rank).map(Some);
        }
        previous = sink;
    }
    Ok(None)
}
