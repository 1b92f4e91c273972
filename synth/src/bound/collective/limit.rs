//! Bounds that no number of steps reaches.
//!
//! If a rank gets the buffer at the bound, every edge of a minimum cut between the root and this rank is full in every
//! step with something new. In the first step only the root sends something; in the last one only what ends at the rank
//! is of use to it. So if another edge is in a minimum cut, the time is above the bound, with any number of steps.

use crate::bound::all_vertices;
use crate::bound::steps::measure_distances;
use crate::dense::DenseMap;
use crate::flow::{FlowNetwork, FlowNode};
use crate::graph::{Topology, Vertex};
use crate::observer::SearchObserver;

/// Whether a broadcast takes more than its bound in any number of steps. That it does not is not said, and nothing is if
/// the observer stops the search.
pub(super) fn is_broadcast_limit(
    topology: &Topology,
    root: Vertex,
    observer: &dyn SearchObserver,
) -> bool {
    let mut network = FlowNetwork::new(topology.count_vertices());
    for (edge, weight) in topology.weighted_edges() {
        network.add_arc(FlowNode(edge.from.0), FlowNode(edge.to.0), weight);
    }
    let source = FlowNode(root.0);
    let mut least = u64::MAX;
    let mut is_limit = false;
    let first = find_near(topology, root);
    let reversed = topology.reverse();
    for rank in topology.ranks().filter(|rank| *rank != root) {
        if observer.is_stopped() {
            return false;
        }
        network.clear_flow();
        let limit = least.saturating_add(1);
        let flow = network.maximize_flow(source, FlowNode(rank.0), limit);
        if flow > least {
            continue;
        }
        let last = find_near(&reversed, rank);
        let near = network.collect_reachable(source);
        let beyond = network.collect_reaching(FlowNode(rank.0));
        let is_useless = topology.edges().iter().any(|edge| {
            let [from, to] = [edge.from, edge.to].map(|vertex| FlowNode(vertex.0));
            let is_cut = (near[from] && !near[to]) || (!beyond[from] && beyond[to]);
            is_cut && !(first[edge.from] && last[edge.to])
        });
        is_limit = is_useless || (is_limit && flow == least);
        least = flow;
    }
    is_limit
}

/// Whether a Reduce takes more than its bound in any number of steps.
pub(super) fn is_reduce_limit(
    topology: &Topology,
    root: Vertex,
    observer: &dyn SearchObserver,
) -> bool {
    is_broadcast_limit(&topology.reverse(), root, observer)
}

/// The rank, and the switches that it reaches through switches only.
fn find_near(topology: &Topology, rank: Vertex) -> DenseMap<Vertex, bool> {
    let distances = measure_distances(topology, &topology.collect_neighbors(), rank);
    all_vertices(topology).map(|vertex| distances[vertex] == 0).collect::<Vec<bool>>().into()
}
