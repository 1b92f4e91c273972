//! Hops: what a piece does in one step. It goes from a rank to another one, over an edge or through switches.
//!
//! Ranks on a switch have a hop for each pair of them, and each may have many paths through several switches. So
//! nothing is listed here before it is asked for: what is kept is linear in the edges.

use crate::bound::steps::{UNREACHED, measure_distances};
use crate::dense::DenseMap;
use crate::graph::{DirectedEdge, EdgeIndex, Topology, Vertex};
use std::collections::VecDeque;

/// Finds the hops of a topology.
#[derive(Clone, Debug)]
pub struct HopFinder<'a> {
    topology: &'a Topology,
    /// The edges that leave a vertex, in their order.
    leaving: DenseMap<Vertex, Vec<EdgeIndex>>,
    /// The edges that enter a vertex, in the order of where they begin.
    entering: DenseMap<Vertex, Vec<EdgeIndex>>,
    /// The rate of an edge, as a multiple of the quantum.
    weights: DenseMap<EdgeIndex, u64>,
}

/// All hops into a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HopFabric {
    /// The ranks where the hops begin, in order.
    pub senders: Vec<Vertex>,
    /// The edges by which hops can go. Those nearer to the receiver come first.
    pub edges: Vec<EdgeIndex>,
}

impl<'a> HopFinder<'a> {
    /// Prepares the search for hops.
    #[must_use]
    pub fn new(topology: &'a Topology) -> HopFinder<'a> {
        let mut leaving = DenseMap::filled(topology.count_vertices(), Vec::new());
        let mut entering = DenseMap::filled(topology.count_vertices(), Vec::new());
        let mut weights: DenseMap<EdgeIndex, u64> = Vec::new().into();
        for (index, (edge, weight)) in (0..).map(EdgeIndex).zip(topology.weighted_edges()) {
            leaving[edge.from].push(index);
            entering[edge.to].push(index);
            weights.push(weight);
        }
        HopFinder { topology, leaving, entering, weights }
    }

    /// The topology whose hops are found.
    pub(crate) fn topology(&self) -> &'a Topology {
        self.topology
    }

    /// The edges that leave a vertex, in their order.
    pub(crate) fn leaving(&self, vertex: Vertex) -> &[EdgeIndex] {
        &self.leaving[vertex]
    }

    /// The edges that enter a vertex, in the order of where they begin.
    pub(crate) fn entering(&self, vertex: Vertex) -> &[EdgeIndex] {
        &self.entering[vertex]
    }

    /// How many pieces an edge carries in a round.
    pub(crate) fn weight(&self, edge: EdgeIndex) -> u64 {
        self.weights[edge]
    }

    /// An edge of the topology.
    #[expect(clippy::indexing_slicing, reason = "the edges are those of the topology")]
    pub(crate) fn edge(&self, edge: EdgeIndex) -> &'a DirectedEdge {
        &self.topology.edges()[edge.0 as usize]
    }

    /// All hops into a rank, by a search backwards through switches. Into what is no rank, there are none.
    #[must_use]
    pub fn collect_fabric(&self, to: Vertex) -> HopFabric {
        let mut fabric = HopFabric { senders: Vec::new(), edges: Vec::new() };
        if !self.topology.is_rank(to) {
            return fabric;
        }
        let mut is_found = DenseMap::filled(self.topology.count_vertices(), false);
        let mut open = VecDeque::from([to]);
        while let Some(vertex) = open.pop_front() {
            for &edge in self.entering(vertex) {
                let from = self.edge(edge).from;
                if from == to {
                    continue;
                }
                fabric.edges.push(edge);
                if is_found[from] {
                    continue;
                }
                is_found[from] = true;
                if self.topology.is_rank(from) {
                    fabric.senders.push(from);
                } else {
                    open.push_back(from);
                }
            }
        }
        fabric.senders.sort_unstable();
        fabric
    }
}

/// How many hops ranks are from one another. It takes four bytes for each pair.
#[derive(Clone, Debug)]
pub(crate) struct RankDistances {
    /// For each origin the distances of all ranks.
    rows: DenseMap<Vertex, DenseMap<Vertex, u32>>,
}

impl RankDistances {
    /// Searches breadth first from each rank.
    pub(crate) fn measure(topology: &Topology) -> RankDistances {
        let neighbors = topology.collect_neighbors();
        let measure = |from| {
            let mut row = measure_distances(topology, &neighbors, from).into_values();
            row.truncate(topology.count_ranks() as usize);
            row.into()
        };
        RankDistances { rows: topology.ranks().map(measure).collect::<Vec<_>>().into() }
    }

    /// The number of hops from a rank to another one; `None` if no path leads there.
    pub(crate) fn find(&self, from: Vertex, to: Vertex) -> Option<u32> {
        let distance = self.rows[from][to];
        (distance != UNREACHED).then_some(distance)
    }
}

#[cfg(test)]
mod tests {
    use super::{HopFinder, RankDistances};
    use crate::families::{RelativeGraph, build_hub, build_line};
    use crate::graph::{SwitchAbilities, Vertex};

    #[test]
    fn circles_of_switches_end() {
        let mut graph = RelativeGraph::new(2);
        let switches = [(); 3].map(|()| graph.add_switch(SwitchAbilities::default()));
        let [one, other, far] = switches;
        graph.add_link(one, other, 1);
        graph.add_link(other, far, 1);
        graph.add_link(far, one, 1);
        graph.add_link(Vertex(0), one, 1);
        graph.add_link(Vertex(1), far, 1);
        let topology = graph.build().unwrap();
        let finder = HopFinder::new(&topology);
        let fabric = finder.collect_fabric(Vertex(1));
        assert_eq!(fabric.senders, [Vertex(0)]);
        // All but the edges into rank 0 and those out of rank 1.
        assert_eq!(fabric.edges.len(), 8);
    }

    #[test]
    fn fabrics_and_distances_are_those_of_hops() {
        let topology = build_hub(5, SwitchAbilities::default()).unwrap();
        let finder = HopFinder::new(&topology);
        let fabric = finder.collect_fabric(Vertex(2));
        assert_eq!(fabric.senders, [0, 1, 3, 4].map(Vertex));
        assert_eq!(finder.edge(fabric.edges[0]).to, Vertex(2));
        assert_eq!(fabric.edges.len(), 5);
        let distances = RankDistances::measure(&topology);
        assert_eq!(distances.find(Vertex(0), Vertex(4)), Some(1));
        let line = RankDistances::measure(&build_line(4).unwrap());
        assert_eq!(line.find(Vertex(0), Vertex(3)), Some(3));
        let mut graph = RelativeGraph::new(2);
        graph.add_edge(Vertex(0), Vertex(1), 1);
        let one_way = RankDistances::measure(&graph.build().unwrap());
        assert_eq!(one_way.find(Vertex(1), Vertex(0)), None);
    }
}
