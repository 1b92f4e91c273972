//! Which ranks are in a box, and which switches.

use super::BoxError;
use crate::dense::{DenseKey, DenseMap};
use crate::graph::{Topology, Vertex};
use std::collections::BTreeSet;

/// A box, by its index among [`BoxGrouping::boxes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BoxIndex(pub u32);

impl DenseKey for BoxIndex {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// The ranks of a machine in at least two boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxGrouping {
    boxes: Vec<Vec<Vertex>>,
    /// The box of each rank, and of each switch that joins ranks of one box only. Other switches are the network.
    homes: DenseMap<Vertex, Option<BoxIndex>>,
}

impl BoxGrouping {
    /// Boxes that are given as lists of their ranks.
    ///
    /// # Errors
    /// [`BoxError::BadGrouping`].
    pub fn from_lists(
        topology: &Topology,
        boxes: Vec<Vec<Vertex>>,
    ) -> Result<BoxGrouping, BoxError> {
        let mut homes = DenseMap::filled(topology.count_vertices(), None);
        let mut members: usize = 0;
        for (index, ranks) in (0..).map(BoxIndex).zip(&boxes) {
            for &rank in ranks {
                if !topology.is_rank(rank) || homes[rank].is_some() {
                    return Err(BoxError::BadGrouping);
                }
                homes[rank] = Some(index);
                members += 1;
            }
        }
        let is_whole = members == topology.count_ranks() as usize;
        if !is_whole || boxes.len() < 2 || boxes.iter().any(Vec::is_empty) {
            return Err(BoxError::BadGrouping);
        }
        let mut grouping = BoxGrouping { boxes, homes };
        grouping.place_switches(topology);
        Ok(grouping)
    }

    /// Boxes of so many consecutive ranks.
    ///
    /// # Errors
    /// [`BoxError::BadGrouping`], also if the size does not divide the number of ranks.
    pub fn of_size(topology: &Topology, ranks_per_box: u32) -> Result<BoxGrouping, BoxError> {
        let ranks = topology.count_ranks();
        if ranks_per_box == 0 || !ranks.is_multiple_of(ranks_per_box) {
            return Err(BoxError::BadGrouping);
        }
        let firsts = (0..ranks).step_by(ranks_per_box as usize);
        let list = |first| (first..first + ranks_per_box).map(Vertex).collect();
        BoxGrouping::from_lists(topology, firsts.map(list).collect())
    }

    /// The boxes that fall apart where the slowest links are taken away, then the next slowest ones, and so on: the first
    /// that are several, if each of them has several ranks.
    #[must_use]
    pub fn find(topology: &Topology) -> Option<BoxGrouping> {
        let weights: BTreeSet<u64> = topology.weighted_edges().map(|(_, weight)| weight).collect();
        for weight in weights {
            let boxes = list_components(topology, weight);
            if boxes.len() > 1 {
                let is_grouping = boxes.iter().all(|ranks| ranks.len() > 1);
                let grouping = is_grouping.then(|| BoxGrouping::from_lists(topology, boxes));
                return grouping.and_then(Result::ok);
            }
        }
        None
    }

    /// The ranks of each box.
    #[must_use]
    pub fn boxes(&self) -> &[Vec<Vertex>] {
        &self.boxes
    }

    /// The boxes, in order.
    pub(super) fn indices(&self) -> impl DoubleEndedIterator<Item = BoxIndex> + use<> {
        (0..self.boxes.len() as u32).map(BoxIndex)
    }

    /// The ranks of a box.
    pub(super) fn ranks(&self, index: BoxIndex) -> &[Vertex] {
        self.boxes.get(index.index()).map_or(&[], Vec::as_slice)
    }

    /// The box of a rank, or of a switch that joins ranks of one box only.
    pub(super) fn home(&self, vertex: Vertex) -> Option<BoxIndex> {
        self.homes[vertex]
    }

    /// Whether two vertices belong to the same box.
    pub(super) fn is_inside(&self, one: Vertex, other: Vertex) -> bool {
        self.homes[one].is_some() && self.homes[one] == self.homes[other]
    }

    /// Switches that edges join are at home where all ranks are that edges join them with.
    fn place_switches(&mut self, topology: &Topology) {
        let mut joined = DenseMap::filled(topology.count_vertices(), Vec::new());
        for edge in topology.edges() {
            joined[edge.from].push(edge.to);
            joined[edge.to].push(edge.from);
        }
        let vertices = topology.count_vertices() as u32;
        let mut is_seen = DenseMap::filled(topology.count_vertices(), false);
        for first in (topology.count_ranks()..vertices).map(Vertex) {
            if std::mem::replace(&mut is_seen[first], true) {
                continue;
            }
            let mut component = vec![first];
            let mut homes = BTreeSet::new();
            let mut next = 0;
            while let Some(&switch) = component.get(next) {
                next += 1;
                for &other in &joined[switch] {
                    if topology.is_rank(other) {
                        homes.extend(self.homes[other]);
                    } else if !std::mem::replace(&mut is_seen[other], true) {
                        component.push(other);
                    }
                }
            }
            let home = if homes.len() == 1 { homes.first().copied() } else { None };
            component.into_iter().for_each(|switch| self.homes[switch] = home);
        }
    }
}

/// The ranks that edges of at least a weight join, directly or not.
fn list_components(topology: &Topology, least_weight: u64) -> Vec<Vec<Vertex>> {
    let mut joined = DenseMap::filled(topology.count_vertices(), Vec::new());
    for (edge, _) in topology.weighted_edges().filter(|(_, weight)| *weight >= least_weight) {
        joined[edge.from].push(edge.to);
        joined[edge.to].push(edge.from);
    }
    let mut is_seen = DenseMap::filled(topology.count_vertices(), false);
    let mut components = Vec::new();
    for first in topology.ranks() {
        if std::mem::replace(&mut is_seen[first], true) {
            continue;
        }
        let mut component = vec![first];
        let mut next = 0;
        while let Some(&vertex) = component.get(next) {
            next += 1;
            for &other in &joined[vertex] {
                if !std::mem::replace(&mut is_seen[other], true) {
                    component.push(other);
                }
            }
        }
        component.retain(|vertex| topology.is_rank(*vertex));
        component.sort_unstable();
        components.push(component);
    }
    components
}

#[cfg(test)]
mod tests {
    use super::BoxGrouping;
    use crate::families::{
        BoxShape, RelativeGraph, build_boxes, build_dgx1, build_hub, build_torus, build_two_cliques,
    };
    use crate::graph::{SwitchAbilities, Topology, Vertex};
    use crate::steps::boxes::BoxError;

    fn build(boxes: u32, rails: u32) -> Topology {
        let abilities = SwitchAbilities::default();
        let shape = BoxShape { boxes, ranks: 4, port_rate: 3, card_rate: 1, rails, abilities };
        build_boxes(shape).unwrap()
    }

    #[test]
    fn boxes_are_found_where_slow_links_join_them() {
        for rails in [1, 2, 4] {
            let topology = build(3, rails);
            let found = BoxGrouping::find(&topology).unwrap();
            assert_eq!(found, BoxGrouping::of_size(&topology, 4).unwrap());
            // The first switches are in the boxes; the others are the network.
            let homes: Vec<Option<u32>> = (12..topology.count_vertices() as u32)
                .map(|switch| found.home(Vertex(switch)).map(|home| home.0))
                .collect();
            assert_eq!(homes[..3], [Some(0), Some(1), Some(2)]);
            assert!(homes[3..].iter().all(Option::is_none));
        }
        let cliques = BoxGrouping::find(&build_two_cliques(4, 4).unwrap()).unwrap();
        assert_eq!(cliques.boxes().len(), 2);
        assert!(
            cliques.is_inside(Vertex(0), Vertex(3)) && !cliques.is_inside(Vertex(3), Vertex(4))
        );
    }

    #[test]
    fn what_does_not_fall_apart_has_no_boxes() {
        let plain = SwitchAbilities::default();
        for topology in
            [build_dgx1(), build_hub(8, plain), build_torus(4, 4), build_two_cliques(1, 1)]
        {
            assert_eq!(BoxGrouping::find(&topology.unwrap()), None);
        }
        // A slow rank is no box.
        let mut graph = RelativeGraph::new(3);
        graph.add_link(Vertex(0), Vertex(1), 2);
        graph.add_link(Vertex(1), Vertex(2), 1);
        assert_eq!(BoxGrouping::find(&graph.build().unwrap()), None);
    }

    #[test]
    fn groupings_are_partitions() {
        let topology = build(2, 1);
        let group = |lists: &[&[u32]]| {
            let list = |list: &&[u32]| list.iter().copied().map(Vertex).collect();
            BoxGrouping::from_lists(&topology, lists.iter().map(list).collect()).map(|_| ())
        };
        assert_eq!(group(&[&[0, 1, 2, 3], &[4, 5, 6, 7]]), Ok(()));
        let bad: [&[&[u32]]; 5] = [
            &[&[0, 1, 2, 3], &[4, 5, 6]],
            &[&[0, 1, 2, 3], &[3, 4, 5, 6, 7]],
            &[&[0, 1, 2, 3], &[4, 5, 6, 7, 8]],
            &[&[0, 1, 2, 3, 4, 5, 6, 7]],
            &[&[0, 1, 2, 3, 4, 5, 6, 7], &[]],
        ];
        for lists in bad {
            assert_eq!(group(lists), Err(BoxError::BadGrouping));
        }
        assert_eq!(BoxGrouping::of_size(&topology, 3), Err(BoxError::BadGrouping));
    }
}
