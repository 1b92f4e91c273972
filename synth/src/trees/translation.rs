//! Symmetries of a graph of ranks: how each rank is the image of the first one of its orbit.

use super::rank_graph::RankGraph;
use crate::automorphism::{OrbitMerger, Symmetry};
use crate::dense::{DenseKey, DenseMap};
use crate::graph::Vertex;
use std::collections::VecDeque;

/// A permutation of ranks, and its inverse.
#[derive(Clone, Debug)]
struct RankPermutation {
    images: DenseMap<Vertex, Vertex>,
    origins: DenseMap<Vertex, Vertex>,
}

/// A transversal: for each rank, an automorphism that maps the first rank of its orbit to it.
#[derive(Clone, Debug)]
pub(super) struct Translations {
    /// The first one is the identity.
    elements: Vec<RankPermutation>,
    /// For each rank, which element maps the first one of its orbit to it.
    numbers: DenseMap<Vertex, usize>,
    firsts: DenseMap<Vertex, Vertex>,
}

impl Translations {
    /// Rotations, and generators of a symmetry of the topology, as far as they keep the graph of ranks, and how many
    /// pieces each rank is the root of.
    pub(super) fn find(
        graph: &RankGraph,
        symmetry: &Symmetry,
        supplies: &DenseMap<Vertex, u64>,
    ) -> Translations {
        let ranks = graph.count_ranks();
        let mut generators: Vec<DenseMap<Vertex, Vertex>> = Vec::new();
        let mut orbits = OrbitMerger::new(ranks);
        let mut propose = |map_rank: &dyn Fn(Vertex) -> Vertex| {
            let is_new = graph.list_ranks().any(|rank| {
                orbits.find_first(rank.index()) != orbits.find_first(map_rank(rank).index())
            });
            let keeps_supply = |rank: Vertex| supplies[map_rank(rank)] == supplies[rank];
            if is_new && graph.list_ranks().all(keeps_supply) && is_kept(graph, map_rank) {
                graph.list_ranks().for_each(|rank| {
                    orbits.merge(rank.index(), map_rank(rank).index());
                });
                let images: Vec<Vertex> = graph.list_ranks().map(map_rank).collect();
                generators.push(images.into());
            }
        };
        for rotation in list_rotations(ranks as u32) {
            propose(&|rank| rotation.map_rank(rank));
        }
        for generator in &symmetry.generators {
            propose(&|rank| generator.map_vertex(rank));
        }
        Translations::generate(ranks, &generators)
    }

    fn generate(ranks: usize, generators: &[DenseMap<Vertex, Vertex>]) -> Translations {
        let all: DenseMap<Vertex, Vertex> =
            (0..ranks as u32).map(Vertex).collect::<Vec<Vertex>>().into();
        let identity = RankPermutation { images: all.clone(), origins: all.clone() };
        let mut numbers: DenseMap<Vertex, Option<usize>> = DenseMap::filled(ranks, None);
        let mut elements = vec![identity];
        let mut firsts = all.clone();
        for &first in all.as_slice() {
            if numbers[first].is_some() {
                continue;
            }
            numbers[first] = Some(0);
            let mut open = VecDeque::from([first]);
            while let Some(rank) = open.pop_front() {
                for generator in generators {
                    let image = generator[rank];
                    if numbers[image].is_some() {
                        continue;
                    }
                    let element = numbers[rank].and_then(|number| elements.get(number));
                    let Some(element) = element else { continue };
                    let next = element.follow(generator);
                    numbers[image] = Some(elements.len());
                    elements.push(next);
                    firsts[image] = first;
                    open.push_back(image);
                }
            }
        }
        let numbers = numbers.into_values().into_iter().map(|number| number.unwrap_or(0));
        Translations { elements, numbers: numbers.collect::<Vec<usize>>().into(), firsts }
    }

    /// The first rank of an orbit.
    pub(super) fn find_first(&self, rank: Vertex) -> Vertex {
        self.firsts[rank]
    }

    /// The first rank of each orbit, in order.
    pub(super) fn list_firsts(&self) -> impl Iterator<Item = Vertex> + '_ {
        let ranks = (0..).map(Vertex).zip(self.firsts.as_slice());
        ranks.filter(|(rank, first)| rank == *first).map(|(rank, _)| rank)
    }

    #[expect(clippy::indexing_slicing, reason = "the numbers are those of elements")]
    fn find_element(&self, rank: Vertex) -> &RankPermutation {
        &self.elements[self.numbers[rank]]
    }

    /// Where another rank goes when the first one of the orbit goes to `rank`.
    pub(super) fn map_forth(&self, rank: Vertex, other: Vertex) -> Vertex {
        self.find_element(rank).images[other]
    }

    /// Where another rank comes from when the first one of the orbit goes to `rank`.
    pub(super) fn map_back(&self, rank: Vertex, other: Vertex) -> Vertex {
        self.find_element(rank).origins[other]
    }
}

impl RankPermutation {
    /// This permutation, and then another one.
    fn follow(&self, next: &DenseMap<Vertex, Vertex>) -> RankPermutation {
        let mut origins = self.images.clone();
        let mut images = self.images.clone();
        for (rank, image) in (0..).map(Vertex).zip(self.images.as_slice()) {
            let image = next[*image];
            images[rank] = image;
            origins[image] = rank;
        }
        RankPermutation { images, origins }
    }
}

/// A rotation of parts of equal size in each of several blocks of equal size: of boxes, in boxes, of a torus. A bit flip
/// of a hypercube is one, too.
#[derive(Clone, Copy, Debug)]
struct PartRotation {
    block: u32,
    part: u32,
}

impl PartRotation {
    fn map_rank(self, rank: Vertex) -> Vertex {
        let place = rank.0 % self.block;
        Vertex(rank.0 - place + (place + self.part) % self.block)
    }
}

/// All rotations of so many ranks; those of large blocks by small parts first.
fn list_rotations(ranks: u32) -> Vec<PartRotation> {
    let is_divisor = |number: u32, divisor: &u32| number.is_multiple_of(*divisor);
    let blocks = (2..=ranks).rev().filter(|block| is_divisor(ranks, block));
    let list_parts = |block: u32| (1..block).filter(move |part| is_divisor(block, part));
    let rotations =
        blocks.flat_map(|block| list_parts(block).map(move |part| PartRotation { block, part }));
    rotations.collect()
}

/// Whether a permutation keeps the capacities between ranks.
fn is_kept(graph: &RankGraph, map_rank: &dyn Fn(Vertex) -> Vertex) -> bool {
    graph.list_ranks().all(|to| {
        let image = map_rank(to);
        let entering = &graph.entering[to];
        entering.len() == graph.entering[image].len()
            && entering
                .iter()
                .all(|edge| graph.find_capacity(map_rank(edge.from), image) == edge.capacity)
    })
}

#[cfg(test)]
mod tests {
    use super::Translations;
    use crate::automorphism::Symmetry;
    use crate::dense::DenseMap;
    use crate::families::{build_line, build_torus};
    use crate::graph::{Topology, Vertex};
    use crate::trees::rank_graph::RankGraph;
    use crate::trees::split_graph::SplitGraph;

    fn rank_graph(topology: &Topology) -> RankGraph {
        let capacities = DenseMap::filled(topology.edges().len(), 1);
        SplitGraph::new(topology, &capacities).into_rank_graph()
    }

    #[test]
    fn each_rank_of_a_torus_is_the_image_of_the_first_one() {
        let torus = build_torus(4, 6).unwrap();
        let graph = rank_graph(&torus);
        let trivial = Symmetry::trivial(&torus);
        let found = Translations::find(&graph, &trivial, &DenseMap::filled(24, 1));
        assert_eq!(found.list_firsts().collect::<Vec<Vertex>>(), [Vertex(0)]);
        for rank in torus.ranks() {
            assert_eq!(found.map_forth(rank, Vertex(0)), rank);
            for other in torus.ranks() {
                assert_eq!(found.map_back(rank, found.map_forth(rank, other)), other);
                let [from, to] = [rank, other].map(|own| found.map_forth(rank, own));
                assert_eq!(graph.find_capacity(from, to), graph.find_capacity(rank, other));
            }
        }
        let mut supplies = DenseMap::filled(24, 0);
        supplies[Vertex(3)] = 1;
        let one = Translations::find(&graph, &trivial, &supplies);
        assert_eq!(one.list_firsts().count(), 24);
    }

    #[test]
    fn what_changes_a_graph_is_no_translation() {
        let line = build_line(6).unwrap();
        let mirrored = crate::automorphism::find_symmetry(&line);
        let count = |symmetry: &Symmetry| {
            let graph = rank_graph(&line);
            Translations::find(&graph, symmetry, &DenseMap::filled(6, 2)).list_firsts().count()
        };
        assert_eq!([count(&Symmetry::trivial(&line)), count(&mirrored)], [6, 3]);
    }
}
