//! Symmetries of a machine: its automorphisms, and the orbits under them.
//!
//! An automorphism is a permutation of the vertices that keeps what the machine is: ranks go to ranks, switches to
//! switches with the same abilities, and each edge to one with the same rate, latency and abilities. If an algorithm
//! is mapped by it, the result takes as long. So is the average over a group of automorphisms, of whatever a linear
//! program asks for: it has a best solution that is the same along every orbit, and one variable for each orbit is
//! enough (Bödi, Herr and Joswig, "Algorithms for highly symmetric linear and integer programs", 2013).
//!
//! ```text
//! families (rotations, translations, bit flips) ──┐
//! search (individualization and refinement) ──────┴──> Automorphism::verify ──> Symmetry: generators, orbits
//! ```

mod families;
mod labels;
mod orbits;
mod search;
mod shifts;

pub(crate) use families::list_rotations;
pub(crate) use orbits::OrbitMerger;
pub use orbits::{OrbitNumber, Orbits};
pub use search::{FoundGroup, search_automorphisms};
pub(crate) use shifts::{ShiftSymmetry, find_shifts};

use crate::dense::{DenseKey, DenseMap};
use crate::graph::{DirectedEdge, EdgeIndex, Topology, Vertex};
use labels::{LabelGraph, Labels};
use std::collections::BTreeSet;

/// How many vertices a topology may have for the search for all automorphisms; larger ones are asked for the declared
/// families only. The search visits each edge some times for each vertex on its path, and the path of a group of
/// twins has most of the vertices.
const MAX_SEARCH_VERTICES: usize = 1 << 7;

/// How often all edges are visited to find labels of vertices that no automorphism changes, times their number. A long
/// path of vertices needs as many rounds as it has vertices; labels of fewer rounds tell fewer vertices apart, and
/// families are proposed in vain.
const MAX_LABEL_WORK: usize = 1 << 21;

/// For how many pairs of ranks orbits are compared: those of the machines for which bounds for so many steps are
/// computed. Larger ones need orbits of vertices and edges only.
const MAX_PAIRS: usize = 1 << 13;

/// A permutation of the vertices that keeps ranks, abilities and edges. Only verified ones exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Automorphism {
    vertices: DenseMap<Vertex, Vertex>,
    edges: DenseMap<EdgeIndex, EdgeIndex>,
}

impl Automorphism {
    /// The automorphism that maps each vertex to its image, in the order of the vertices, if it is one.
    #[must_use]
    pub fn new(topology: &Topology, images: Vec<Vertex>) -> Option<Automorphism> {
        Automorphism::verify(&EdgeFinder::new(topology), images.into())
    }

    fn verify(finder: &EdgeFinder<'_>, images: DenseMap<Vertex, Vertex>) -> Option<Automorphism> {
        let topology = finder.topology;
        if images.len() != topology.count_vertices() {
            return None;
        }
        let mut is_image = DenseMap::filled(images.len(), false);
        for (vertex, &image) in (0..).map(Vertex).zip(images.as_slice()) {
            let is_new = image.index() < images.len() && !is_image[image];
            if !is_new || find_abilities(topology, vertex) != find_abilities(topology, image) {
                return None;
            }
            is_image[image] = true;
        }
        let mut edges: DenseMap<EdgeIndex, EdgeIndex> = Vec::new().into();
        for (index, edge) in topology.edges().iter().enumerate() {
            edges.push(finder.find(images[edge.from], images[edge.to], index)?);
        }
        Some(Automorphism { vertices: images, edges })
    }

    /// Where a vertex goes.
    #[must_use]
    pub fn map_vertex(&self, vertex: Vertex) -> Vertex {
        self.vertices[vertex]
    }

    /// Where an edge goes.
    #[must_use]
    pub fn map_edge(&self, edge: EdgeIndex) -> EdgeIndex {
        self.edges[edge]
    }
}

/// What a switch can do; `None` for ranks.
fn find_abilities(topology: &Topology, vertex: Vertex) -> Option<crate::graph::SwitchAbilities> {
    let switch = vertex.0.checked_sub(topology.count_ranks())?;
    topology.switches().get(switch as usize).copied()
}

/// Finds edges by their ends.
struct EdgeFinder<'a> {
    topology: &'a Topology,
    weights: Vec<u64>,
    /// The index of the first edge of each vertex, and the number of edges.
    starts: Vec<usize>,
}

impl<'a> EdgeFinder<'a> {
    fn new(topology: &'a Topology) -> EdgeFinder<'a> {
        let edges = topology.edges();
        let mut starts = Vec::with_capacity(topology.count_vertices() + 1);
        let mut next = 0;
        for vertex in 0..=topology.count_vertices() as u32 {
            while edges.get(next).is_some_and(|edge| edge.from.0 < vertex) {
                next += 1;
            }
            starts.push(next);
        }
        let weights = topology.weighted_edges().map(|(_, weight)| weight).collect();
        EdgeFinder { topology, weights, starts }
    }

    /// The edge between two vertices that is like a given one.
    fn find(&self, from: Vertex, to: Vertex, like: usize) -> Option<EdgeIndex> {
        let edges = self.topology.edges();
        let start = *self.starts.get(from.index())?;
        let end = *self.starts.get(from.index() + 1)?;
        let leaving = edges.get(start..end)?;
        let first = start + leaving.partition_point(|edge| edge.to < to);
        let DirectedEdge { latency_ns, abilities, .. } = *edges.get(like)?;
        let is_alike =
            |edge: &DirectedEdge| edge.latency_ns == latency_ns && edge.abilities == abilities;
        // Few edges have the same ends.
        let same_ends = edges.get(first..end)?.iter().take_while(|edge| edge.to == to);
        let index = first + same_ends.take_while(|edge| !is_alike(edge)).count();
        let edge = edges.get(index).filter(|edge| edge.to == to && is_alike(edge));
        let is_same =
            index < end && edge.is_some() && self.weights.get(index) == self.weights.get(like);
        is_same.then_some(EdgeIndex(index as u32))
    }
}

/// A group of automorphisms, and its orbits.
#[derive(Clone, Debug)]
pub struct Symmetry {
    /// They generate the group.
    pub generators: Vec<Automorphism>,
    /// The orbits of the vertices.
    pub vertices: Orbits<Vertex>,
    /// The orbits of the edges.
    pub edges: Orbits<EdgeIndex>,
}

impl Symmetry {
    /// The group of the identity: every orbit has one member.
    #[must_use]
    pub fn trivial(topology: &Topology) -> Symmetry {
        Symmetry::generate(topology, Vec::new())
    }

    /// The group that automorphisms of a topology generate.
    #[must_use]
    pub fn generate(topology: &Topology, generators: Vec<Automorphism>) -> Symmetry {
        let mut orbits = OrbitMergers::new(topology);
        for automorphism in &generators {
            orbits.merge(automorphism);
        }
        orbits.finish(generators)
    }

    /// The same group on the topology with every edge turned round.
    #[must_use]
    pub fn reverse(&self, reversed: &Topology) -> Symmetry {
        let finder = EdgeFinder::new(reversed);
        let generators = self.generators.iter();
        let generators =
            generators.filter_map(|one| Automorphism::verify(&finder, one.vertices.clone()));
        Symmetry::generate(reversed, generators.collect())
    }
}

/// A group of automorphisms of a topology: of the declared families first; then, on machines of some dozens of ranks
/// where these may have missed some, by a search for all. The same topology gives the same group everywhere.
#[must_use]
pub fn find_symmetry(topology: &Topology) -> Symmetry {
    let mut builder = SymmetryBuilder::new(topology);
    families::add_families(&mut builder);
    if !builder.is_complete() && topology.count_vertices() <= MAX_SEARCH_VERTICES {
        for automorphism in search_automorphisms(topology).generators {
            builder.add(automorphism);
        }
    }
    builder.orbits.finish(builder.generators)
}

/// The orbits of a group whose generators become known one after another.
struct OrbitMergers {
    ranks: usize,
    vertices: OrbitMerger,
    edges: OrbitMerger,
    /// Ordered pairs of ranks; none if there are too many.
    pairs: OrbitMerger,
}

impl OrbitMergers {
    fn new(topology: &Topology) -> OrbitMergers {
        let ranks = topology.ranks().len();
        let pairs = if ranks * ranks <= MAX_PAIRS { ranks * ranks } else { 0 };
        OrbitMergers {
            ranks,
            vertices: OrbitMerger::new(topology.count_vertices()),
            edges: OrbitMerger::new(topology.edges().len()),
            pairs: OrbitMerger::new(pairs),
        }
    }

    /// Makes one orbit of those that an automorphism maps to each other. Returns whether there were any.
    fn merge(&mut self, automorphism: &Automorphism) -> bool {
        let before = self.count_orbits();
        for (vertex, image) in automorphism.vertices.as_slice().iter().enumerate() {
            self.vertices.merge(vertex, image.index());
        }
        for (edge, image) in automorphism.edges.as_slice().iter().enumerate() {
            self.edges.merge(edge, image.index());
        }
        if self.pairs.count_orbits() > 0 {
            let images = automorphism.vertices.as_slice().iter().take(self.ranks);
            for (one, image) in images.clone().enumerate() {
                for (other, other_image) in images.clone().enumerate() {
                    let place = image.index() * self.ranks + other_image.index();
                    self.pairs.merge(one * self.ranks + other, place);
                }
            }
        }
        self.count_orbits() < before
    }

    fn count_orbits(&self) -> usize {
        [&self.vertices, &self.edges, &self.pairs].map(OrbitMerger::count_orbits).iter().sum()
    }

    fn finish(mut self, generators: Vec<Automorphism>) -> Symmetry {
        let vertices = (0..self.vertices.count_members() as u32).map(Vertex);
        let edges = (0..self.edges.count_members() as u32).map(EdgeIndex);
        Symmetry {
            generators,
            vertices: self.vertices.collect_orbits(vertices),
            edges: self.edges.collect_orbits(edges),
        }
    }
}

/// A group to which automorphisms are added.
struct SymmetryBuilder<'a> {
    finder: EdgeFinder<'a>,
    graph: LabelGraph,
    /// In how many rounds labels are refined at most.
    max_rounds: usize,
    /// Vertices with different labels are in different orbits.
    labels: Labels,
    /// No group has fewer orbits of vertices and edges.
    least_orbits: usize,
    generators: Vec<Automorphism>,
    orbits: OrbitMergers,
}

impl<'a> SymmetryBuilder<'a> {
    fn new(topology: &'a Topology) -> SymmetryBuilder<'a> {
        let graph = LabelGraph::new(topology);
        let max_rounds = MAX_LABEL_WORK / topology.edges().len().max(1);
        let refined = graph.refine(graph.kinds(), max_rounds);
        SymmetryBuilder {
            least_orbits: refined.distinct + graph.count_edge_labels(&refined.labels),
            labels: refined.labels,
            graph,
            max_rounds,
            finder: EdgeFinder::new(topology),
            generators: Vec::new(),
            orbits: OrbitMergers::new(topology),
        }
    }

    /// Takes an automorphism into the group, if it makes orbits larger. Returns whether it does.
    fn add(&mut self, automorphism: Automorphism) -> bool {
        let is_new = self.orbits.merge(&automorphism);
        if is_new {
            self.generators.push(automorphism);
        }
        is_new
    }

    /// Whether it is known that no automorphism makes orbits of vertices or edges larger.
    fn has_least_orbits(&self) -> bool {
        let OrbitMergers { vertices, edges, .. } = &self.orbits;
        vertices.count_orbits() + edges.count_orbits() == self.least_orbits
    }

    /// Whether it is known that no automorphism makes any orbits larger.
    fn is_complete(&mut self) -> bool {
        let is_identity = self.least_orbits == self.count_members();
        is_identity || self.has_least_orbits() && self.has_least_pairs()
    }

    /// Whether there are as many orbits of pairs as labels at least tell apart, when a rank of each orbit is told
    /// from the others.
    fn has_least_pairs(&mut self) -> bool {
        let OrbitMergers { vertices, pairs, .. } = &mut self.orbits;
        if pairs.count_members() == 0 {
            return true;
        }
        let topology = self.finder.topology;
        let mut least = 0;
        for rank in
            topology.ranks().filter(|rank| vertices.find_first(rank.index()) == rank.index())
        {
            let labels = labels::individualize(&self.labels, rank);
            let labels = self.graph.refine(&labels, self.max_rounds).labels;
            let of_ranks: BTreeSet<u64> = topology.ranks().map(|other| labels[other]).collect();
            least += of_ranks.len();
        }
        least == pairs.count_orbits()
    }

    fn count_members(&self) -> usize {
        self.orbits.vertices.count_members() + self.orbits.edges.count_members()
    }
}
