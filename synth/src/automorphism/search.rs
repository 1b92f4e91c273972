//! The search for all automorphisms of a small machine: individualization and refinement (McKay, "Practical graph
//! isomorphism", 1981).
//!
//! On a first path, vertices are told from the others one after another until every vertex is. At each level of it, from
//! the deepest one up, another vertex is tried in the place of the one that was chosen: whoever refines in the same
//! way down to the end gives a permutation, which is verified. What is found at a level and below generates the
//! automorphisms that leave the vertices chosen before in their places.

use super::labels::{LabelGraph, Labels, RefinedLabels, individualize, sort_labels};
use super::orbits::OrbitMerger;
use super::{Automorphism, EdgeFinder};
use crate::dense::{DenseKey, DenseMap};
use crate::graph::{Topology, Vertex};

/// How many edges the refinements may visit in all, which takes some hundredths of a second. A search that ends at it
/// has found a smaller group.
const MAX_SEARCH_WORK: usize = 1 << 22;

/// The automorphisms that a search found.
#[derive(Clone, Debug)]
pub struct FoundGroup {
    /// They generate the group: a strong generating set (Sims, 1970).
    pub generators: Vec<Automorphism>,
    /// The size of the orbit of each chosen vertex, under the automorphisms that leave those chosen before in their
    /// places. Their product is how many automorphisms there are.
    pub orbit_sizes: Vec<u64>,
    /// Whether the group has all automorphisms. It has not if the budget ended.
    pub is_whole: bool,
}

/// Searches for all automorphisms of a topology.
#[must_use]
pub fn search_automorphisms(topology: &Topology) -> FoundGroup {
    let graph = LabelGraph::new(topology);
    let mut search = AutomorphismSearch::new(EdgeFinder::new(topology), &graph);
    search.choose_vertices();
    search.run()
}

/// A vertex that is told from the others, on the first path.
struct ChosenVertex {
    vertex: Vertex,
    /// The labels before.
    labels: Labels,
    /// The labels after, in order.
    sorted_after: Vec<u64>,
}

struct AutomorphismSearch<'a> {
    finder: EdgeFinder<'a>,
    graph: &'a LabelGraph,
    path: Vec<ChosenVertex>,
    /// The vertices in the order of their labels at the end of the first path.
    leaf: Vec<Vertex>,
    /// How many edges the refinements visited.
    work: usize,
}

impl<'a> AutomorphismSearch<'a> {
    fn new(finder: EdgeFinder<'a>, graph: &'a LabelGraph) -> AutomorphismSearch<'a> {
        AutomorphismSearch { finder, graph, path: Vec::new(), leaf: Vec::new(), work: 0 }
    }

    fn refine(&mut self, labels: &Labels) -> RefinedLabels {
        let refined = self.graph.refine(labels, usize::MAX);
        self.work += refined.rounds * self.graph.count_edges().max(1);
        refined
    }

    fn is_out_of_work(&self) -> bool {
        self.work > MAX_SEARCH_WORK
    }

    /// Goes the first path: always the first vertex that has its label in common with another one.
    fn choose_vertices(&mut self) {
        let mut refined = self.refine(self.graph.kinds());
        while refined.distinct < self.graph.count_vertices() && !self.is_out_of_work() {
            let labels = refined.labels;
            let sorted = sort_labels(&labels);
            let is_shared = |vertex: &Vertex| {
                let first = sorted.partition_point(|label| *label < labels[*vertex]);
                sorted.get(first + 1) == Some(&labels[*vertex])
            };
            let Some(vertex) = list_vertices(labels.len()).find(is_shared) else { return };
            refined = self.refine(&individualize(&labels, vertex));
            let sorted_after = sort_labels(&refined.labels);
            self.path.push(ChosenVertex { vertex, labels, sorted_after });
        }
        self.leaf = order_by_label(&refined.labels);
    }

    fn run(&mut self) -> FoundGroup {
        let mut group =
            FoundGroup { generators: Vec::new(), orbit_sizes: Vec::new(), is_whole: false };
        let mut orbits = OrbitMerger::new(self.graph.count_vertices());
        for level in (0..self.path.len()).rev() {
            let Some(chosen) = self.path.get(level) else { continue };
            let (first, labels) = (chosen.vertex, chosen.labels.clone());
            let cell: Vec<Vertex> = list_vertices(labels.len())
                .filter(|other| labels[*other] == labels[first])
                .collect();
            let mut failed: Vec<usize> = Vec::new();
            for &other in &cell {
                let orbit = orbits.find_first(other.index());
                // What is in an orbit with a failure fails, too.
                let is_known = orbit == orbits.find_first(first.index())
                    || failed.iter().any(|failed| orbits.find_first(*failed) == orbit);
                if is_known {
                    continue;
                }
                if self.is_out_of_work() {
                    return group;
                }
                match self.try_vertex(level, &labels, other) {
                    Some(automorphism) => {
                        for vertex in list_vertices(labels.len()) {
                            orbits.merge(vertex.index(), automorphism.map_vertex(vertex).index());
                        }
                        group.generators.push(automorphism);
                    }
                    None => failed.push(orbit),
                }
            }
            let own = orbits.find_first(first.index());
            let members = cell.iter().filter(|other| orbits.find_first(other.index()) == own);
            group.orbit_sizes.push(members.count() as u64);
        }
        group.is_whole = !self.is_out_of_work();
        group
    }

    /// Tells a vertex from the others in the place of the one of the first path. Returns an automorphism that maps the
    /// path to what follows, if there is any.
    fn try_vertex(
        &mut self,
        level: usize,
        labels: &Labels,
        vertex: Vertex,
    ) -> Option<Automorphism> {
        let refined = self.refine(&individualize(labels, vertex));
        let chosen = self.path.get(level)?;
        if sort_labels(&refined.labels) != chosen.sorted_after {
            return None;
        }
        let Some(next) = self.path.get(level + 1) else {
            return self.match_leaf(&refined.labels);
        };
        let target = next.labels[next.vertex];
        let candidates: Vec<Vertex> = list_vertices(labels.len())
            .filter(|candidate| refined.labels[*candidate] == target)
            .collect();
        for candidate in candidates {
            if self.is_out_of_work() {
                return None;
            }
            let found = self.try_vertex(level + 1, &refined.labels, candidate);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The automorphism that maps each vertex to the one with the same label.
    fn match_leaf(&self, labels: &Labels) -> Option<Automorphism> {
        let mut images = DenseMap::filled(labels.len(), Vertex(0));
        for (vertex, image) in self.leaf.iter().zip(order_by_label(labels)) {
            images[*vertex] = image;
        }
        Automorphism::verify(&self.finder, images)
    }
}

fn list_vertices(count: usize) -> impl Iterator<Item = Vertex> {
    (0..count as u32).map(Vertex)
}

fn order_by_label(labels: &Labels) -> Vec<Vertex> {
    let mut vertices: Vec<Vertex> = list_vertices(labels.len()).collect();
    vertices.sort_by_key(|vertex| labels[*vertex]);
    vertices
}
