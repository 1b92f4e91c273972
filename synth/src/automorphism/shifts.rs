//! Groups of shifts that a machine has: each rank is the image of the first one in exactly one way.

use super::families::SwitchCompletion;
use super::labels::LabelGraph;
use super::{Automorphism, EdgeFinder};
use crate::graph::Topology;
use crate::shifts::{Shift, ShiftGroup};
use std::collections::BTreeMap;

/// How many edges the verification of shifts may visit in all, which takes some tenths of a second. Then no group is
/// known: whatever is constructed for it is constructed without.
const MAX_SHIFT_WORK: usize = 1 << 22;

/// A group of shifts, all of which are automorphisms of a topology.
#[derive(Clone, Debug)]
pub(crate) struct ShiftSymmetry {
    /// The group.
    pub(crate) group: ShiftGroup,
    /// What each digit's shift does with vertices and edges, in the order of the digits.
    pub(crate) automorphisms: Vec<Automorphism>,
}

/// A group of shifts of a topology, if it has one. The same topology gives the same group everywhere.
pub(crate) fn find_shifts(topology: &Topology) -> Option<ShiftSymmetry> {
    let finder = EdgeFinder::new(topology);
    let graph = LabelGraph::new(topology);
    let completion = SwitchCompletion::new(topology, &graph);
    let edges = topology.edges();
    let mut found: BTreeMap<Shift, Automorphism> = BTreeMap::new();
    let mut work = 0;
    let group = ShiftGroup::find(topology.count_ranks(), |shift| {
        if work > MAX_SHIFT_WORK {
            return false;
        }
        // Most fail at the first edges between ranks.
        let is_kept = |index: &usize| {
            edges.get(*index).is_none_or(|edge| {
                let joins_ranks = topology.is_rank(edge.from) && topology.is_rank(edge.to);
                let [from, to] = [edge.from, edge.to].map(|rank| shift.map(rank));
                !joins_ranks || finder.find(from, to, *index).is_some()
            })
        };
        let kept = (0..edges.len()).take_while(is_kept).count();
        work += kept + 1;
        if kept < edges.len() {
            return false;
        }
        work += 2 * edges.len();
        let images = completion.complete(&graph, &|rank| shift.map(rank));
        let automorphism = images.and_then(|images| Automorphism::verify(&finder, images));
        automorphism.map(|automorphism| found.insert(shift, automorphism)).is_some()
    })?;
    let automorphisms = group.digits().iter().filter_map(|shift| found.remove(shift)).collect();
    Some(ShiftSymmetry { group, automorphisms })
}

#[cfg(test)]
mod tests {
    use super::find_shifts;
    use crate::families::{
        BoxShape, build_boxes, build_hypercube, build_line, build_ring, build_torus,
    };
    use crate::graph::{SwitchAbilities, Topology};

    fn list_radices(topology: &Topology) -> Option<Vec<u32>> {
        let found = find_shifts(topology)?;
        assert_eq!(found.automorphisms.len(), found.group.digits().len());
        for (shift, automorphism) in found.group.digits().iter().zip(&found.automorphisms) {
            assert!(topology.ranks().all(|rank| automorphism.map_vertex(rank) == shift.map(rank)));
        }
        Some(found.group.digits().iter().map(|shift| shift.radix).collect())
    }

    #[test]
    fn machines_have_their_shifts() {
        let abilities = SwitchAbilities::default();
        let shape =
            BoxShape { boxes: 3, ranks: 4, port_rate: 9, card_rate: 1, rails: 4, abilities };
        assert_eq!(list_radices(&build_boxes(shape).unwrap()), Some(vec![3, 4]));
        assert_eq!(list_radices(&build_ring(6).unwrap()), Some(vec![6]));
        assert_eq!(list_radices(&build_torus(4, 6).unwrap()), Some(vec![4, 6]));
        assert_eq!(list_radices(&build_hypercube(3).unwrap()), Some(vec![2, 2, 2]));
        assert_eq!(list_radices(&build_line(4).unwrap()), None);
    }
}
