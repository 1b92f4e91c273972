//! Whether each rank can get all pieces: as many maximum flows as there are ranks.
//!
//! If a flow brings all pieces from their roots to each rank, the trees exist, as far as there are no switches (Edmonds,
//! "Edge-disjoint branchings", 1973).

use super::budget::FlowMeter;
use super::demand::TreeDemand;
use super::error::TreeError;
use super::split_graph::SplitGraph;
use crate::flow::{FlowArc, FlowNetwork, FlowNode};
use crate::graph::Vertex;

/// A network with a source of all pieces.
pub(super) struct RootedNetwork {
    network: FlowNetwork,
    source: FlowNode,
    total: u64,
    arcs: usize,
}

impl RootedNetwork {
    /// A network of so many vertices without edges.
    pub(super) fn new(vertices: usize, demand: &TreeDemand) -> RootedNetwork {
        let mut network = FlowNetwork::new(vertices + 1);
        let source = FlowNode(vertices as u32);
        let mut arcs = 0;
        for root in demand.list_roots() {
            network.add_arc(source, FlowNode(root.0), demand.supplies[root]);
            arcs += 1;
        }
        RootedNetwork { network, source, total: demand.total, arcs }
    }

    pub(super) fn add_edge(&mut self, from: Vertex, to: Vertex, capacity: u64) -> FlowArc {
        self.arcs += 1;
        self.network.add_arc(FlowNode(from.0), FlowNode(to.0), capacity)
    }

    pub(super) fn set_capacity(&mut self, arc: FlowArc, capacity: u64) {
        self.network.set_capacity(arc, capacity);
    }

    /// How many pieces the worst of some ranks lacks at most. The search ends when one lacks `enough`.
    pub(super) fn find_worst_lack(
        &mut self,
        ranks: impl Iterator<Item = Vertex>,
        enough: u64,
        meter: &mut FlowMeter<'_>,
    ) -> Result<u64, TreeError> {
        self.network.clear_flow();
        // What arrived at one rank is led on to the next: a flow to one and a flow to the other differ by a flow
        // between the two in the residual network.
        let mut full = self.source;
        let mut worst = 0;
        for rank in ranks {
            meter.count_flow(self.arcs)?;
            let sink = FlowNode(rank.0);
            let arrived = self.network.maximize_flow(full, sink, self.total);
            if arrived == self.total {
                full = sink;
                continue;
            }
            worst = worst.max(self.total - arrived);
            if worst >= enough {
                break;
            }
            if full == self.source {
                self.network.clear_flow();
            } else {
                self.network.maximize_flow(sink, full, arrived);
            }
        }
        Ok(worst)
    }
}

/// Whether each rank can get all pieces.
pub(super) fn is_rooted_connected(
    graph: &SplitGraph,
    demand: &TreeDemand,
    meter: &mut FlowMeter<'_>,
) -> Result<bool, TreeError> {
    let mut network = RootedNetwork::new(graph.count_vertices(), demand);
    for edge in graph.list_edges() {
        network.add_edge(edge.from, edge.to, edge.capacity);
    }
    Ok(network.find_worst_lack(demand.list_ranks(), 1, meter)? == 0)
}
