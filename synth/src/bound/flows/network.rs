//! The network that flows pass: the machine once, or once for each layer.

use super::Layering;
use super::groups::{Commodity, FlowEnd, FlowGroup};
use crate::bound::budget::WHOLE_FLOW;
use crate::bound::steps::measure_distances;
use crate::dense::DenseMap;
use crate::flow::{FlowArc, FlowNetwork, FlowNode};
use crate::graph::{EdgeIndex, Topology, Vertex};

/// An edge in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LayerEdge {
    /// From 1.
    pub(super) layer: u32,
    pub(super) edge: EdgeIndex,
}

/// The arc of an edge in a layer.
#[derive(Clone, Copy)]
pub(super) struct LayerArc {
    pub(super) place: LayerEdge,
    pub(super) arc: FlowArc,
}

/// The network, with a source and a sink for the flows.
pub(super) struct LayeredNetwork {
    pub(super) flow: FlowNetwork,
    pub(super) arcs: Vec<LayerArc>,
    pub(super) source: FlowNode,
    pub(super) sink: FlowNode,
    /// From the source to each rank at the begin.
    entries: DenseMap<Vertex, FlowArc>,
    /// From each rank at the end to the sink.
    exits: DenseMap<Vertex, FlowArc>,
    layers: u32,
    is_layered: bool,
}

impl LayeredNetwork {
    pub(super) fn new(topology: &Topology, layering: Layering) -> LayeredNetwork {
        let vertices = topology.count_vertices() as u32;
        let layers = layering.count_layers();
        let is_layered = layering != Layering::Unlimited;
        let times = if is_layered { layers + 1 } else { 1 };
        let source = FlowNode(vertices * times);
        let sink = FlowNode(source.0 + 1);
        let mut network = LayeredNetwork {
            flow: FlowNetwork::new(sink.0 as usize + 1),
            arcs: Vec::new(),
            source,
            sink,
            entries: Vec::new().into(),
            exits: Vec::new().into(),
            layers,
            is_layered,
        };
        let find_node = |vertex: Vertex, time: u32| {
            FlowNode(if is_layered { time * vertices + vertex.0 } else { vertex.0 })
        };
        for layer in 1..=layers {
            // Ranks wait; nothing stays in a switch.
            if is_layered {
                for rank in topology.ranks() {
                    let ends = [layer - 1, layer].map(|time| find_node(rank, time));
                    network.flow.add_arc(ends[0], ends[1], WHOLE_FLOW);
                }
            }
            for (edge, ends) in (0..).map(EdgeIndex).zip(topology.edges()) {
                let before = if topology.is_rank(ends.from) { layer - 1 } else { layer };
                let tail = find_node(ends.from, before);
                let arc = network.flow.add_arc(tail, find_node(ends.to, layer), 0);
                network.arcs.push(LayerArc { place: LayerEdge { layer, edge }, arc });
            }
        }
        for rank in topology.ranks() {
            network.entries.push(network.flow.add_arc(source, find_node(rank, 0), 0));
            network.exits.push(network.flow.add_arc(find_node(rank, layers), sink, 0));
        }
        network
    }

    /// The arcs on which something of a group can be on its way: those that it can have reached, and from which it
    /// can reach a receiver. What a single origin has it does not get, and what a single receiver gets it does not send.
    pub(super) fn collect_usable(&self, ways: &Ways<'_>, group: &FlowGroup) -> Vec<LayerArc> {
        let [origins, receivers] = [group.list_origins(), group.list_receivers()];
        let before = ways.forward.measure_from_any(&origins);
        let after = ways.backward.measure_from_any(&receivers);
        let mut usable = Vec::new();
        for arc in &self.arcs {
            let Some(edge) = ways.forward.topology.edges().get(arc.place.edge.0 as usize) else {
                continue;
            };
            let LayerLimits { passed, left } = self.find_limits(arc.place.layer);
            let is_on_way = before[edge.from] <= passed && after[edge.to] <= left;
            if is_on_way && origins != [edge.to] && receivers != [edge.from] {
                usable.push(*arc);
            }
        }
        usable
    }

    fn find_limits(&self, layer: u32) -> LayerLimits {
        if self.is_layered {
            LayerLimits { passed: layer - 1, left: self.layers - layer }
        } else {
            // More than any distance, and less than that of what is not reached.
            LayerLimits { passed: u32::MAX - 1, left: u32::MAX - 1 }
        }
    }

    /// Lets a commodity begin and end where it does, and no other.
    pub(super) fn open_ends(&mut self, commodity: &Commodity) {
        for arc in self.entries.as_slice().iter().chain(self.exits.as_slice()) {
            self.flow.set_capacity(*arc, 0);
        }
        for FlowEnd { vertex, amount } in &commodity.origins {
            self.flow.set_capacity(self.entries[*vertex], (amount * WHOLE_FLOW as f64) as u64);
        }
        for FlowEnd { vertex, amount } in &commodity.receivers {
            self.flow.set_capacity(self.exits[*vertex], (amount * WHOLE_FLOW as f64) as u64);
        }
    }

    /// How much of a commodity must leave a side, on which the source is.
    pub(super) fn measure_demand(
        &self,
        commodity: &Commodity,
        side: &DenseMap<FlowNode, bool>,
    ) -> f64 {
        let sum = |ends: &[FlowEnd], find_node: &dyn Fn(Vertex) -> FlowNode| {
            let inside = ends.iter().filter(|end| side[find_node(end.vertex)]);
            inside.map(|end| end.amount).sum::<f64>()
        };
        sum(&commodity.origins, &|vertex| self.flow.head(self.entries[vertex]))
            - sum(&commodity.receivers, &|vertex| self.flow.tail(self.exits[vertex]))
    }
}

/// How many steps or hops can be over before a layer, and how many are left after it.
struct LayerLimits {
    passed: u32,
    left: u32,
}

/// The ways forward and backward from vertices.
pub(super) struct Ways<'a> {
    pub(super) forward: DirectedWays<'a>,
    pub(super) backward: DirectedWays<'a>,
}

/// The ways in one direction.
pub(super) struct DirectedWays<'a> {
    topology: &'a Topology,
    neighbors: DenseMap<Vertex, Vec<Vertex>>,
}

impl<'a> DirectedWays<'a> {
    pub(super) fn new(topology: &'a Topology) -> DirectedWays<'a> {
        DirectedWays { topology, neighbors: topology.collect_neighbors() }
    }

    /// The number of hops to each vertex from the nearest of some.
    fn measure_from_any(&self, origins: &[Vertex]) -> DenseMap<Vertex, u32> {
        let mut least = DenseMap::filled(self.topology.count_vertices(), u32::MAX);
        for origin in origins {
            let distances = measure_distances(self.topology, &self.neighbors, *origin);
            for (least, distance) in least.as_mut_slice().iter_mut().zip(distances.as_slice()) {
                *least = (*least).min(*distance);
            }
        }
        least
    }
}
