//! Symmetries that machines are built with: rotations of boxes and in boxes, translations of tori, bit flips of
//! hypercubes. Each is proposed as a permutation of the ranks; the switches follow from it.
//!
//! The ranks are blocks of equal size one after another, and each block is parts of equal size: rank
//! `block * i + part * k + l`. A family changes the number `k` of the part, in each block or in the first one only.

use super::labels::{LabelGraph, Labels, mix, name_rank, sort_labels};
use super::{Automorphism, EdgeFinder, SymmetryBuilder};
use crate::dense::DenseMap;
use crate::graph::{Topology, Vertex};

/// How many edges the verification of proposals may visit in all, which takes some tenths of a second. What is not
/// tried then is missing in the group, which is a smaller one.
const MAX_FAMILY_WORK: usize = 1 << 22;

/// How the parts of a block change their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartChange {
    /// Each goes to the next one's place: rotations, translations; bit flips, if there are two parts.
    Rotate,
    /// The first two change places.
    SwapFirst,
    /// The first one becomes the last one, and so on.
    Reflect,
    /// What is a part and what is a place in a part changes: rows become columns, bits rotate.
    Transpose,
}

/// A permutation of ranks.
#[derive(Clone, Copy, Debug)]
struct FamilyMember {
    block: u32,
    part: u32,
    change: PartChange,
    /// Whether the other blocks stay as they are.
    is_first_only: bool,
}

impl FamilyMember {
    fn map_rank(self, rank: Vertex) -> Vertex {
        let FamilyMember { block, part, change, is_first_only } = self;
        if is_first_only && rank.0 >= block {
            return rank;
        }
        let place = rank.0 % block;
        let parts = block / part;
        let [number, inner] = [place / part, place % part];
        let changed = match (change, number) {
            (PartChange::Rotate, _) => (number + 1) % parts * part + inner,
            (PartChange::SwapFirst, 0 | 1) => (1 - number) * part + inner,
            (PartChange::SwapFirst, _) => place,
            (PartChange::Reflect, _) => (parts - 1 - number) * part + inner,
            (PartChange::Transpose, _) => inner * parts + number,
        };
        Vertex(rank.0 - place + changed)
    }
}

/// All members of the families for so many ranks, without those that are the same.
fn list_members(ranks: u32) -> Vec<FamilyMember> {
    let divisors =
        |number: u32| (1..=number).filter(move |divisor| number.is_multiple_of(*divisor));
    let mut members = Vec::new();
    for block in divisors(ranks).collect::<Vec<u32>>().into_iter().rev() {
        for part in divisors(block).filter(|part| *part < block) {
            let mut changes = vec![PartChange::Rotate];
            if block / part > 2 {
                changes.extend([PartChange::SwapFirst, PartChange::Reflect]);
            }
            changes.extend((part > 1).then_some(PartChange::Transpose));
            for change in changes {
                members.push(FamilyMember { block, part, change, is_first_only: false });
                if block < ranks {
                    members.push(FamilyMember { block, part, change, is_first_only: true });
                }
            }
        }
    }
    members
}

/// Adds the members of the families that are automorphisms, until the orbits cannot become larger.
pub(super) fn add_families(builder: &mut SymmetryBuilder<'_>) {
    if builder.is_complete() {
        return;
    }
    let topology = builder.finder.topology;
    let completion = SwitchCompletion::new(topology, &builder.graph);
    let rank_edges: Vec<usize> = (0..topology.edges().len())
        .filter(|index| {
            let edge = topology.edges().get(*index);
            edge.is_some_and(|edge| topology.is_rank(edge.from) && topology.is_rank(edge.to))
        })
        .collect();
    let mut work = 0;
    for member in list_members(topology.count_ranks()) {
        if work > MAX_FAMILY_WORK {
            return;
        }
        let keeps_labels = |rank| builder.labels[member.map_rank(rank)] == builder.labels[rank];
        if !topology.ranks().all(keeps_labels) {
            continue;
        }
        // Most proposals fail at the first edges between ranks.
        let is_edge = |index: &&usize| is_mapped(&builder.finder, member, **index);
        let kept = rank_edges.iter().take_while(is_edge).count();
        work += kept + 1;
        if kept < rank_edges.len() {
            continue;
        }
        work += 2 * topology.edges().len();
        let images = completion.complete(&builder.graph, &|rank| member.map_rank(rank));
        let found = images.and_then(|images| Automorphism::verify(&builder.finder, images));
        if found.is_some_and(|found| builder.add(found)) && builder.is_complete() {
            return;
        }
    }
}

/// The rotations of parts in all blocks that are automorphisms, those of large blocks and small parts first.
pub(crate) fn list_rotations(topology: &Topology) -> Vec<Automorphism> {
    let finder = EdgeFinder::new(topology);
    let graph = LabelGraph::new(topology);
    let completion = SwitchCompletion::new(topology, &graph);
    let is_rotation =
        |member: &FamilyMember| member.change == PartChange::Rotate && !member.is_first_only;
    let members = list_members(topology.count_ranks()).into_iter().filter(is_rotation);
    let most = MAX_FAMILY_WORK / topology.edges().len().max(1);
    let complete = |member: FamilyMember| {
        let images = completion.complete(&graph, &|rank| member.map_rank(rank))?;
        Automorphism::verify(&finder, images)
    };
    members.take(most).filter_map(complete).collect()
}

/// Whether an edge between ranks becomes an edge.
fn is_mapped(finder: &EdgeFinder<'_>, member: FamilyMember, index: usize) -> bool {
    let edge = finder.topology.edges().get(index);
    edge.is_some_and(|edge| {
        let [from, to] = [edge.from, edge.to].map(|rank| member.map_rank(rank));
        finder.find(from, to, index).is_some()
    })
}

/// Finds out where switches go when it is known where ranks go: where the same neighbors are.
pub(super) struct SwitchCompletion {
    ranks: u32,
    /// How many rounds of labels tell the switches from each other, as far as possible.
    rounds: usize,
    /// The switches, sorted by the labels that they have in their own places.
    places: Vec<LabeledSwitch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LabeledSwitch {
    label: u64,
    switch: Vertex,
}

impl SwitchCompletion {
    pub(super) fn new(topology: &Topology, graph: &LabelGraph) -> SwitchCompletion {
        let ranks = topology.count_ranks();
        let mut labels = name_ranks(graph, ranks, &|rank| rank);
        let mut rounds = 0;
        let mut distinct = 0;
        loop {
            let next = refine_switches(graph, ranks, &labels);
            let mut sorted = sort_labels(&next);
            sorted.dedup();
            if sorted.len() <= distinct {
                break;
            }
            distinct = sorted.len();
            labels = next;
            rounds += 1;
        }
        SwitchCompletion { ranks, rounds, places: sort_switches(ranks, &labels) }
    }

    /// The images of all vertices, which need not be an automorphism.
    pub(super) fn complete(
        &self,
        graph: &LabelGraph,
        map_rank: &dyn Fn(Vertex) -> Vertex,
    ) -> Option<DenseMap<Vertex, Vertex>> {
        let mut labels = name_ranks(graph, self.ranks, map_rank);
        for _ in 0..self.rounds {
            labels = refine_switches(graph, self.ranks, &labels);
        }
        let mut images: DenseMap<Vertex, Vertex> =
            (0..labels.len() as u32).map(Vertex).collect::<Vec<Vertex>>().into();
        for rank in (0..self.ranks).map(Vertex) {
            images[rank] = map_rank(rank);
        }
        for (moved, place) in sort_switches(self.ranks, &labels).iter().zip(&self.places) {
            if moved.label != place.label {
                return None;
            }
            images[moved.switch] = place.switch;
        }
        Some(images)
    }
}

/// Labels by which each rank is told from the others; where a rank goes counts.
fn name_ranks(graph: &LabelGraph, ranks: u32, map_rank: &dyn Fn(Vertex) -> Vertex) -> Labels {
    let mut labels = graph.kinds().clone();
    for rank in (0..ranks).map(Vertex) {
        labels[rank] = mix(labels[rank], name_rank(map_rank(rank)));
    }
    labels
}

/// The labels after each switch looked at its neighbors once.
fn refine_switches(graph: &LabelGraph, ranks: u32, labels: &Labels) -> Labels {
    let mut refined = graph.refine_once(labels);
    for rank in (0..ranks).map(Vertex) {
        refined[rank] = labels[rank];
    }
    refined
}

fn sort_switches(ranks: u32, labels: &Labels) -> Vec<LabeledSwitch> {
    let switches = (ranks..labels.len() as u32).map(Vertex);
    let mut switches: Vec<LabeledSwitch> =
        switches.map(|switch| LabeledSwitch { label: labels[switch], switch }).collect();
    switches.sort_unstable();
    switches
}

#[cfg(test)]
mod tests {
    use super::list_members;
    use crate::graph::Vertex;

    #[test]
    fn members_are_permutations() {
        for ranks in 1..=24 {
            let members = list_members(ranks);
            assert_eq!(members.is_empty(), ranks == 1);
            for member in members {
                let mut images: Vec<u32> =
                    (0..ranks).map(|rank| member.map_rank(Vertex(rank)).0).collect();
                assert!(images.iter().zip(0..).any(|(image, rank)| *image != rank), "{member:?}");
                images.sort_unstable();
                assert_eq!(images, (0..ranks).collect::<Vec<u32>>(), "{member:?}");
            }
        }
    }
}
