//! Color refinement (Weisfeiler and Leman, "The reduction of a graph to canonical form", 1968): labels of vertices that
//! no automorphism changes.
//!
//! A label is a hash of the vertex and, round by round, of the labels around it. Vertices with different labels are
//! not in one orbit. Two that have the same label may be, and whoever concludes something from that verifies it.

use crate::dense::DenseMap;
use crate::graph::{Topology, Vertex};

/// A label for each vertex.
pub(super) type Labels = DenseMap<Vertex, u64>;

/// An edge, as labels see it.
struct LabelEdge {
    from: Vertex,
    to: Vertex,
    /// A hash of its rate, latency and abilities.
    kind: u64,
}

/// A topology, as labels see it.
pub(super) struct LabelGraph {
    edges: Vec<LabelEdge>,
    /// What is known of each vertex before its neighbors are looked at.
    kinds: Labels,
}

/// What a label is mixed with, so that equal numbers of different meaning differ.
#[derive(Clone, Copy)]
enum Salt {
    Rank = 1,
    Switch,
    Leaving,
    Entering,
    Individual,
}

impl LabelGraph {
    pub(super) fn new(topology: &Topology) -> LabelGraph {
        let edges = topology.weighted_edges().map(|(edge, weight)| {
            let abilities = u64::from(edge.abilities.memory) << 1 | u64::from(edge.abilities.port);
            let kind = mix(mix(weight, edge.latency_ns), abilities);
            LabelEdge { from: edge.from, to: edge.to, kind }
        });
        let ranks = topology.ranks().map(|_| mix(Salt::Rank as u64, 0));
        let switches = topology.switches().iter().map(|switch| {
            let abilities = u64::from(switch.multicast) << 1 | u64::from(switch.reduce);
            mix(Salt::Switch as u64, abilities)
        });
        let kinds = ranks.chain(switches).collect::<Vec<u64>>().into();
        LabelGraph { edges: edges.collect(), kinds }
    }

    pub(super) fn count_edges(&self) -> usize {
        self.edges.len()
    }

    pub(super) fn count_vertices(&self) -> usize {
        self.kinds.len()
    }

    /// What is known of each vertex before its neighbors are looked at.
    pub(super) fn kinds(&self) -> &Labels {
        &self.kinds
    }

    /// How many edges differ in their rates, latencies and abilities, or in the labels of their ends.
    pub(super) fn count_edge_labels(&self, labels: &Labels) -> usize {
        let label = |edge: &LabelEdge| mix(mix(edge.kind, labels[edge.from]), labels[edge.to]);
        let mut sorted: Vec<u64> = self.edges.iter().map(label).collect();
        sorted.sort_unstable();
        sorted.dedup();
        sorted.len()
    }

    /// The labels after each vertex looked at its neighbors once.
    pub(super) fn refine_once(&self, labels: &Labels) -> Labels {
        let mut sums = DenseMap::filled(labels.len(), 0_u64);
        for LabelEdge { from, to, kind } in &self.edges {
            let leaving = mix(mix(Salt::Leaving as u64, *kind), labels[*to]);
            let entering = mix(mix(Salt::Entering as u64, *kind), labels[*from]);
            sums[*from] = sums[*from].wrapping_add(leaving);
            sums[*to] = sums[*to].wrapping_add(entering);
        }
        let pairs = labels.as_slice().iter().zip(sums.as_slice());
        pairs.map(|(label, sum)| mix(*label, *sum)).collect::<Vec<u64>>().into()
    }

    /// Refines until no more labels become different, in so many rounds at most. Each round visits every edge.
    pub(super) fn refine(&self, labels: &Labels, max_rounds: usize) -> RefinedLabels {
        let mut refined = RefinedLabels { labels: labels.clone(), rounds: 0, distinct: 0 };
        refined.distinct = count_distinct(labels);
        while refined.rounds < max_rounds {
            let labels = self.refine_once(&refined.labels);
            let distinct = count_distinct(&labels);
            let is_stable = distinct == refined.distinct;
            refined = RefinedLabels { labels, rounds: refined.rounds + 1, distinct };
            if is_stable {
                break;
            }
        }
        refined
    }
}

/// Labels, and how they were found.
#[derive(Clone, Debug)]
pub(super) struct RefinedLabels {
    pub(super) labels: Labels,
    pub(super) rounds: usize,
    /// How many labels there are.
    pub(super) distinct: usize,
}

/// The labels with that of one vertex changed, so that only automorphisms that leave it in its place keep them.
pub(super) fn individualize(labels: &Labels, vertex: Vertex) -> Labels {
    let mut labels = labels.clone();
    labels[vertex] = mix(Salt::Individual as u64, labels[vertex]);
    labels
}

/// The label of a rank that is told from all others.
pub(super) fn name_rank(rank: Vertex) -> u64 {
    mix(Salt::Individual as u64, u64::from(rank.0))
}

/// The labels in order.
pub(super) fn sort_labels(labels: &Labels) -> Vec<u64> {
    let mut sorted = labels.as_slice().to_vec();
    sorted.sort_unstable();
    sorted
}

fn count_distinct(labels: &Labels) -> usize {
    let mut sorted = sort_labels(labels);
    sorted.dedup();
    sorted.len()
}

/// A hash of two numbers, in this order (the finalizer of SplitMix64; Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", 2014).
pub(super) fn mix(first: u64, second: u64) -> u64 {
    let mut hash =
        first.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(second) ^ 0xd6e8_feb8_6659_fd93;
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}
