//! Orbits of what linear programs are about: a rank and an edge, or two ranks and an edge; and how a solution of the
//! program of the orbits becomes one of the whole program.
//!
//! A row of the program of the orbits stands for its images under the group, which share its price equally. So if a
//! cut around a rank has a price, each of its edges has a part of it in its length for that rank: the price, divided
//! by the number of members of the orbit of the rank and the edge, and as much at each member.

use crate::automorphism::{Automorphism, OrbitMerger, Orbits, Symmetry};
use crate::dense::{DenseKey, DenseMap};
use crate::graph::{EdgeIndex, Topology, Vertex};

/// Some ranks, or some ranks and an edge, by their number among all of their kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TupleIndex(u32);

impl DenseKey for TupleIndex {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Numbers tuples of ranks and edges.
#[derive(Clone, Copy, Debug)]
pub(super) struct TupleNumbers {
    ranks: u32,
    edges: u32,
}

impl TupleNumbers {
    pub(super) fn new(topology: &Topology) -> TupleNumbers {
        TupleNumbers { ranks: topology.count_ranks(), edges: topology.edges().len() as u32 }
    }

    pub(super) fn number_pair(self, origin: Vertex, destination: Vertex) -> TupleIndex {
        TupleIndex(origin.0 * self.ranks + destination.0)
    }

    pub(super) fn number_edge(self, rank: Vertex, edge: EdgeIndex) -> TupleIndex {
        TupleIndex(rank.0 * self.edges + edge.0)
    }

    pub(super) fn number_pair_edge(self, pair: TupleIndex, edge: EdgeIndex) -> TupleIndex {
        TupleIndex(pair.0 * self.edges + edge.0)
    }
}

/// Where each number of a kind goes under an automorphism.
struct ImageTable(Vec<u32>);

impl ImageTable {
    fn of_ranks(topology: &Topology, automorphism: &Automorphism) -> ImageTable {
        ImageTable(topology.ranks().map(|rank| automorphism.map_vertex(rank).0).collect())
    }

    fn of_edges(topology: &Topology, automorphism: &Automorphism) -> ImageTable {
        let edges = (0..topology.edges().len() as u32).map(EdgeIndex);
        ImageTable(edges.map(|edge| automorphism.map_edge(edge).0).collect())
    }

    /// Of pairs, which are numbered by their first members, then by their second ones.
    fn of_pairs(first: &ImageTable, second: &ImageTable) -> ImageTable {
        let count = second.0.len() as u32;
        let pairs =
            first.0.iter().flat_map(|one| second.0.iter().map(move |other| one * count + other));
        ImageTable(pairs.collect())
    }
}

/// The orbits of numbers, of which each automorphism has a table.
fn merge_tables(count: usize, tables: impl Iterator<Item = ImageTable>) -> Orbits<TupleIndex> {
    let mut merger = OrbitMerger::new(count);
    for ImageTable(images) in tables {
        for (member, image) in images.into_iter().enumerate() {
            merger.merge(member, image as usize);
        }
    }
    merger.collect_orbits((0..count as u32).map(TupleIndex))
}

/// The orbits of ordered pairs of ranks.
pub(super) fn merge_pairs(topology: &Topology, symmetry: &Symmetry) -> Orbits<TupleIndex> {
    let ranks = topology.ranks().len();
    let tables = symmetry.generators.iter().map(|generator| {
        let ranks = ImageTable::of_ranks(topology, generator);
        ImageTable::of_pairs(&ranks, &ranks)
    });
    merge_tables(ranks * ranks, tables)
}

/// The orbits of a rank and an edge.
pub(super) fn merge_edges(topology: &Topology, symmetry: &Symmetry) -> Orbits<TupleIndex> {
    let tables = symmetry.generators.iter().map(|generator| {
        let ranks = ImageTable::of_ranks(topology, generator);
        ImageTable::of_pairs(&ranks, &ImageTable::of_edges(topology, generator))
    });
    merge_tables(topology.ranks().len() * topology.edges().len(), tables)
}

/// The orbits of two ranks and an edge.
pub(super) fn merge_pair_edges(topology: &Topology, symmetry: &Symmetry) -> Orbits<TupleIndex> {
    let ranks = topology.ranks().len();
    let tables = symmetry.generators.iter().map(|generator| {
        let ranks = ImageTable::of_ranks(topology, generator);
        let pairs = ImageTable::of_pairs(&ranks, &ranks);
        ImageTable::of_pairs(&pairs, &ImageTable::of_edges(topology, generator))
    });
    merge_tables(ranks * ranks * topology.edges().len(), tables)
}

/// For each rank potentials of all vertices, which are measured for one rank of each orbit. What is measured must be the
/// same under the automorphisms.
pub(super) fn spread_potentials<M>(
    topology: &Topology,
    generators: &[Automorphism],
    measure: M,
) -> Vec<Vec<i64>>
where
    M: Fn(Vertex) -> DenseMap<Vertex, i64>,
{
    let none: Option<DenseMap<Vertex, i64>> = None;
    let mut potentials: DenseMap<Vertex, _> = DenseMap::filled(topology.ranks().len(), none);
    for first in topology.ranks() {
        if potentials[first].is_some() {
            continue;
        }
        potentials[first] = Some(measure(first));
        let mut open = vec![first];
        while let Some(rank) = open.pop() {
            for generator in generators {
                let image = generator.map_vertex(rank);
                if potentials[image].is_some() {
                    continue;
                }
                let Some(own) = &potentials[rank] else { continue };
                let mut mapped = own.clone();
                for (vertex, potential) in (0..).map(Vertex).zip(own.as_slice()) {
                    mapped[generator.map_vertex(vertex)] = *potential;
                }
                potentials[image] = Some(mapped);
                open.push(image);
            }
        }
    }
    potentials.into_values().into_iter().flatten().map(DenseMap::into_values).collect()
}

/// The largest number that a price may become when it is multiplied so that it can be shared. Sums of as many as there
/// are edges and cuts fit into 64 bits.
const MAX_MULTIPLIED_PRICE: u64 = 1 << 40;

/// What prices are multiplied with, so that each can be shared by so many members without a remainder.
#[derive(Clone, Copy, Debug)]
pub(super) struct PriceScale {
    factor: u64,
    limit: u64,
}

impl PriceScale {
    /// The scale of prices up to the largest one of them, before it is known how many members share them.
    pub(super) fn new(prices: &[u64]) -> PriceScale {
        let largest = prices.iter().copied().max().unwrap_or(1).max(1);
        PriceScale { factor: 1, limit: (MAX_MULTIPLIED_PRICE / largest).max(1) }
    }

    /// Lets so many members share a price exactly. If the numbers become too large, the shares are rounded down.
    pub(super) fn admit(&mut self, members: u64) {
        let divisor = divide_commonly(self.factor, members);
        let factor = self.factor.saturating_mul(members / divisor.max(1));
        self.factor = factor.min(self.limit);
    }

    /// What each of so many members gets.
    pub(super) fn share(self, price: u64, members: u64) -> u64 {
        (u128::from(price) * u128::from(self.factor) / u128::from(members.max(1))) as u64
    }
}

/// The greatest common divisor of two numbers.
fn divide_commonly(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}
