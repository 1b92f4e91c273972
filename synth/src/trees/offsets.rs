//! The neighbors of a switch in a grid of groups and places, and the offsets by which they send to each other.
//!
//! A group is a set of ranks that faster edges join than those of the switch: a box, for a network. Each offset is a
//! perfect matching, a circulant in groups and in places: rotations of boxes and in boxes keep it.

use super::split_graph::{PortPair, SplitGraph};
use crate::automorphism::OrbitMerger;
use crate::dense::DenseKey;
use crate::graph::{Topology, Vertex};
use std::collections::BTreeMap;

/// Which neighbors of a switch send to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpreadReach {
    /// Those with the same place in different groups: along a rail.
    SamePlace,
    /// Those in different groups; the same place first.
    OtherGroups,
    /// All; those in one group last.
    All,
}

/// How far the receiver is from the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PortOffset {
    group: usize,
    place: usize,
}

/// The neighbors of a switch, group by group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PortGrid {
    groups: usize,
    /// How many neighbors are in each group.
    places: usize,
    ports: Vec<Vertex>,
}

impl PortGrid {
    /// The neighbors of a switch. If the groups differ in their sizes, or there is one only, each neighbor is a group.
    pub(super) fn new(topology: &Topology, graph: &SplitGraph, switch: Vertex) -> PortGrid {
        let ports = graph.list_ports(switch);
        let mut merger = merge_faster_edges(topology, switch);
        let mut groups: BTreeMap<usize, Vec<Vertex>> = BTreeMap::new();
        for port in &ports {
            groups.entry(merger.find_first(port.index())).or_default().push(*port);
        }
        let places = groups.first_key_value().map_or(1, |(_, group)| group.len());
        let is_even = groups.len() > 1 && groups.values().all(|group| group.len() == places);
        if is_even {
            PortGrid {
                groups: groups.len(),
                places,
                ports: groups.into_values().flatten().collect(),
            }
        } else {
            PortGrid { groups: ports.len(), places: 1, ports }
        }
    }

    /// Whether groups have several places, so that reaches differ.
    pub(super) fn has_places(&self) -> bool {
        self.places > 1
    }

    pub(super) fn ports(&self) -> &[Vertex] {
        &self.ports
    }

    /// The offsets of a reach, without that from each neighbor to itself.
    pub(super) fn list_offsets(&self, reach: SpreadReach) -> Vec<PortOffset> {
        let list = |places: std::ops::Range<usize>, groups: std::ops::Range<usize>| {
            places
                .flat_map(move |place| groups.clone().map(move |group| PortOffset { group, place }))
        };
        match reach {
            SpreadReach::SamePlace => list(0..1, 1..self.groups).collect(),
            SpreadReach::OtherGroups => list(0..self.places, 1..self.groups).collect(),
            SpreadReach::All => {
                list(0..self.places, 1..self.groups).chain(list(1..self.places, 0..1)).collect()
            }
        }
    }

    /// The pairs of an offset: each neighbor sends to one, and receives from one.
    pub(super) fn list_pairs(&self, offset: PortOffset) -> impl Iterator<Item = PortPair> + '_ {
        let places = self.places.max(1);
        self.ports.iter().enumerate().filter_map(move |(index, from)| {
            let group = (index / places + offset.group) % self.groups;
            let place = (index % places + offset.place) % places;
            let to = self.ports.get(group * places + place)?;
            Some(PortPair { from: *from, to: *to })
        })
    }
}

/// Sets of vertices that edges join which are faster than all edges of a switch.
fn merge_faster_edges(topology: &Topology, switch: Vertex) -> OrbitMerger {
    let is_own = |edge: &crate::graph::DirectedEdge| edge.from == switch || edge.to == switch;
    let own = topology.weighted_edges().filter(|(edge, _)| is_own(edge));
    let fastest = own.map(|(_, weight)| weight).max().unwrap_or(0);
    let mut merger = OrbitMerger::new(topology.count_vertices());
    for (edge, weight) in topology.weighted_edges() {
        if weight > fastest {
            merger.merge(edge.from.index(), edge.to.index());
        }
    }
    merger
}

#[cfg(test)]
mod tests {
    use super::{PortGrid, SpreadReach};
    use crate::dense::DenseMap;
    use crate::families::{BoxShape, build_boxes};
    use crate::graph::{SwitchAbilities, Vertex};
    use crate::trees::split_graph::SplitGraph;

    #[test]
    fn neighbors_of_a_network_are_grouped_by_boxes() {
        let abilities = SwitchAbilities::default();
        let shape =
            BoxShape { boxes: 3, ranks: 4, port_rate: 9, card_rate: 1, rails: 1, abilities };
        let topology = build_boxes(shape).unwrap();
        let edges = topology.edges().len();
        let graph = SplitGraph::new(&topology, &DenseMap::filled(edges, 1));
        let inside = PortGrid::new(&topology, &graph, Vertex(13));
        assert_eq!(inside.ports(), [4, 5, 6, 7].map(Vertex));
        assert!(!inside.has_places());
        let network = PortGrid::new(&topology, &graph, Vertex(15));
        assert!(network.has_places());
        let count = |reach| network.list_offsets(reach).len();
        let reaches = [SpreadReach::SamePlace, SpreadReach::OtherGroups, SpreadReach::All];
        assert_eq!(reaches.map(count), [2, 8, 11]);
        // All offsets together join each pair once.
        let mut pairs: Vec<[u32; 2]> = Vec::new();
        for offset in network.list_offsets(SpreadReach::All) {
            pairs.extend(network.list_pairs(offset).map(|pair| [pair.from.0, pair.to.0]));
        }
        pairs.sort_unstable();
        let all = (0..12).flat_map(|from| (0..12).map(move |to| [from, to]));
        assert_eq!(pairs, all.filter(|[from, to]| from != to).collect::<Vec<[u32; 2]>>());
        for offset in network.list_offsets(SpreadReach::SamePlace) {
            assert!(network.list_pairs(offset).all(|pair| pair.from.0 % 4 == pair.to.0 % 4));
        }
    }
}
