//! Shortest paths under lengths of edges that are integers (Dijkstra, "A note on two problems in connexion with
//! graphs", 1959).

use crate::dense::DenseMap;
pub(super) use crate::graph::EdgeIndex;
use crate::graph::{Topology, Vertex};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The distance of vertices that no path reaches.
pub(super) const UNREACHED: u64 = u64::MAX;

/// The edges of a topology, by where they begin and end.
pub(super) struct EdgeLists {
    pub(super) heads: DenseMap<EdgeIndex, Vertex>,
    pub(super) tails: DenseMap<EdgeIndex, Vertex>,
    pub(super) leaving: DenseMap<Vertex, Vec<EdgeIndex>>,
    pub(super) entering: DenseMap<Vertex, Vec<EdgeIndex>>,
}

impl EdgeLists {
    pub(super) fn new(topology: &Topology) -> EdgeLists {
        let vertices = topology.count_vertices();
        let mut lists = EdgeLists {
            heads: Vec::new().into(),
            tails: Vec::new().into(),
            leaving: DenseMap::filled(vertices, Vec::new()),
            entering: DenseMap::filled(vertices, Vec::new()),
        };
        for (index, edge) in (0..).map(EdgeIndex).zip(topology.edges()) {
            lists.heads.push(edge.to);
            lists.tails.push(edge.from);
            lists.leaving[edge.from].push(index);
            lists.entering[edge.to].push(index);
        }
        lists
    }

    /// The edges, each turned round.
    pub(super) fn reverse(self) -> EdgeLists {
        EdgeLists {
            heads: self.tails,
            tails: self.heads,
            leaving: self.entering,
            entering: self.leaving,
        }
    }

    /// The distance of each vertex from one. The sum of all lengths is below [`UNREACHED`].
    pub(super) fn measure_distances(
        &self,
        from: Vertex,
        lengths: &DenseMap<EdgeIndex, u64>,
    ) -> DenseMap<Vertex, u64> {
        let mut distances = DenseMap::filled(self.leaving.len(), UNREACHED);
        distances[from] = 0;
        let mut open = BinaryHeap::from([Reverse((0, from))]);
        while let Some(Reverse((distance, vertex))) = open.pop() {
            if distance > distances[vertex] {
                continue;
            }
            for &edge in &self.leaving[vertex] {
                let through = distance + lengths[edge];
                let head = self.heads[edge];
                if through < distances[head] {
                    distances[head] = through;
                    open.push(Reverse((through, head)));
                }
            }
        }
        distances
    }

    /// The distances, with the largest one for vertices that no path reaches: no edge leads there from the others. The
    /// sum of all lengths is below 2^63.
    pub(super) fn measure_potentials(
        &self,
        from: Vertex,
        lengths: &DenseMap<EdgeIndex, u64>,
    ) -> DenseMap<Vertex, i64> {
        let distances = self.measure_distances(from, lengths);
        let reached = distances.as_slice().iter().copied().filter(|own| *own != UNREACHED);
        let largest = reached.max().unwrap_or(0);
        let closed = distances.as_slice().iter().map(|own| largest.min(*own) as i64);
        closed.collect::<Vec<i64>>().into()
    }

    /// By how much potentials rise along an edge, if they do. If they are distances, this is as short as the edge can
    /// be while the distances stay the same.
    pub(super) fn measure_rise(&self, edge: EdgeIndex, potentials: &DenseMap<Vertex, i64>) -> u64 {
        let rise = potentials[self.heads[edge]] - potentials[self.tails[edge]];
        u64::try_from(rise).unwrap_or(0)
    }
}
