//! The topology in integer capacities, of which switches are taken away one after another.

use super::paths::{BundledPath, PathBundle, join_paths};
use super::rank_graph::{RankEdge, RankGraph};
use crate::dense::DenseMap;
use crate::graph::{EdgeIndex, Topology, Vertex};
use std::collections::BTreeMap;

/// A graph of all vertices, whose edges are bundles of paths through the switches that were taken away.
#[derive(Clone, Debug)]
pub(super) struct SplitGraph {
    ranks: u32,
    /// Only those that carry something.
    leaving: DenseMap<Vertex, BTreeMap<Vertex, PathBundle>>,
}

/// Two neighbors of a switch: what the first one sends to the switch goes on to the second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PortPair {
    pub(super) from: Vertex,
    pub(super) to: Vertex,
}

impl SplitGraph {
    pub(super) fn new(topology: &Topology, capacities: &DenseMap<EdgeIndex, u64>) -> SplitGraph {
        let mut leaving: DenseMap<Vertex, BTreeMap<Vertex, PathBundle>> =
            DenseMap::filled(topology.count_vertices(), BTreeMap::new());
        for (index, edge) in (0..).map(EdgeIndex).zip(topology.edges()) {
            let amount = capacities[index];
            if amount > 0 {
                let bundle = leaving[edge.from].entry(edge.to).or_default();
                bundle.add(BundledPath { amount, path: vec![index] });
            }
        }
        SplitGraph { ranks: topology.count_ranks(), leaving }
    }

    pub(super) fn count_vertices(&self) -> usize {
        self.leaving.len()
    }

    /// The switches, in order.
    pub(super) fn list_switches(&self) -> impl Iterator<Item = Vertex> + use<> {
        (self.ranks..self.leaving.len() as u32).map(Vertex)
    }

    pub(super) fn is_rank(&self, vertex: Vertex) -> bool {
        vertex.0 < self.ranks
    }

    pub(super) fn find_capacity(&self, from: Vertex, to: Vertex) -> u64 {
        self.leaving[from].get(&to).map_or(0, PathBundle::capacity)
    }

    /// All edges with their capacities, in order.
    pub(super) fn list_edges(&self) -> impl Iterator<Item = CapacityEdge> + '_ {
        let vertices = (0..).map(Vertex).zip(self.leaving.as_slice());
        vertices.flat_map(|(from, leaving)| {
            leaving.iter().map(move |(to, bundle)| CapacityEdge {
                from,
                to: *to,
                capacity: bundle.capacity(),
            })
        })
    }

    /// The vertices with edges to or from a switch, in order.
    pub(super) fn list_ports(&self, switch: Vertex) -> Vec<Vertex> {
        let vertices = (0..).map(Vertex).zip(self.leaving.as_slice());
        let is_port = |(vertex, leaving): &(Vertex, &BTreeMap<Vertex, PathBundle>)| {
            leaving.contains_key(&switch) || self.leaving[switch].contains_key(vertex)
        };
        vertices.filter(is_port).map(|(vertex, _)| vertex).collect()
    }

    /// Leads an amount past a switch: as an edge between two of its neighbors, or to nowhere if they are the same.
    /// Both have at least as much.
    pub(super) fn bypass(
        &mut self,
        topology: &Topology,
        switch: Vertex,
        pair: PortPair,
        amount: u64,
    ) {
        if amount == 0 {
            return;
        }
        let entering = self.take(pair.from, switch, amount);
        let leaving = self.take(switch, pair.to, amount);
        if pair.from == pair.to {
            return;
        }
        let bundle = self.leaving[pair.from].entry(pair.to).or_default();
        for path in join_paths(topology, entering, leaving) {
            bundle.add(path);
        }
    }

    fn take(&mut self, from: Vertex, to: Vertex, amount: u64) -> Vec<BundledPath> {
        let Some(bundle) = self.leaving[from].get_mut(&to) else { return Vec::new() };
        let taken = bundle.take(amount);
        if bundle.capacity() == 0 {
            self.leaving[from].remove(&to);
        }
        taken
    }

    /// Takes a switch away, with what its edges still carry.
    pub(super) fn remove_switch(&mut self, switch: Vertex) {
        for leaving in self.leaving.as_mut_slice() {
            leaving.remove(&switch);
        }
        self.leaving[switch].clear();
    }

    /// The edges between ranks. No edges of switches are left.
    pub(super) fn into_rank_graph(self) -> RankGraph {
        let mut entering: DenseMap<Vertex, Vec<RankEdge>> =
            DenseMap::filled(self.ranks as usize, Vec::new());
        let ranks = (0..self.ranks).map(Vertex);
        for (from, leaving) in ranks.zip(self.leaving.into_values()) {
            for (to, bundle) in leaving {
                let capacity = bundle.capacity();
                entering[to].push(RankEdge { from, capacity, paths: bundle.into_paths() });
            }
        }
        RankGraph { entering }
    }
}

/// An edge with an integer capacity.
#[derive(Clone, Copy, Debug)]
pub(super) struct CapacityEdge {
    pub(super) from: Vertex,
    pub(super) to: Vertex,
    pub(super) capacity: u64,
}
