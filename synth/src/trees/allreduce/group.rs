//! A group of symmetries of which none but the identity leaves a rank in its place: then a tree has as many images as
//! the group has elements, and these load all edges of an orbit evenly.

use crate::automorphism::{Automorphism, OrbitMerger, Orbits, Symmetry, list_rotations};
use crate::dense::{DenseKey, DenseMap};
use crate::graph::{EdgeIndex, Topology, Vertex};
use std::collections::VecDeque;

/// A permutation of the vertices.
type VertexImages = DenseMap<Vertex, Vertex>;

/// A semiregular group, and its orbits.
#[derive(Clone, Debug)]
pub(super) struct TreeGroup {
    /// The identity first.
    pub(super) elements: Vec<Automorphism>,
    /// The first rank of each orbit.
    pub(super) roots: Vec<Vertex>,
    pub(super) edges: Orbits<EdgeIndex>,
}

/// How many permutations are looked at: rotations, and products of the generators of a symmetry.
const MAX_POOL: usize = 1 << 7;

/// From how many of them groups are grown.
const MAX_SEEDS: usize = 1 << 4;

impl TreeGroup {
    /// A large semiregular group: one that maps each rank to each other one, if such a group is found.
    pub(super) fn find(topology: &Topology, symmetry: &Symmetry) -> TreeGroup {
        let identity: VertexImages =
            (0..topology.count_vertices() as u32).map(Vertex).collect::<Vec<Vertex>>().into();
        let pool = list_pool(topology, symmetry, &identity);
        let mut elements = vec![identity.clone()];
        for seed in 0..pool.len().min(MAX_SEEDS) {
            let mut generators: Vec<VertexImages> = Vec::new();
            for images in pool.iter().skip(seed) {
                generators.push(images.clone());
                match close_group(topology, &identity, &generators) {
                    Some(larger) if larger.len() > elements.len() => elements = larger,
                    Some(_) => {}
                    None => drop(generators.pop()),
                }
            }
            if elements.len() == topology.ranks().len() {
                break;
            }
        }
        let verify = |images: VertexImages| Automorphism::new(topology, images.into_values());
        TreeGroup::new(topology, elements.into_iter().filter_map(verify).collect())
    }

    /// The group of the identity.
    pub(super) fn trivial(topology: &Topology) -> TreeGroup {
        let all = (0..topology.count_vertices() as u32).map(Vertex).collect();
        TreeGroup::new(topology, Automorphism::new(topology, all).into_iter().collect())
    }

    /// How often all images of an edge together use each edge of its orbit.
    pub(super) fn count_uses(&self, edge: EdgeIndex) -> u64 {
        self.elements.len() as u64 / self.edges.count_members(edge).max(1)
    }

    fn new(topology: &Topology, elements: Vec<Automorphism>) -> TreeGroup {
        let mut ranks = OrbitMerger::new(topology.ranks().len());
        let mut edges = OrbitMerger::new(topology.edges().len());
        for element in &elements {
            for rank in topology.ranks() {
                ranks.merge(rank.index(), element.map_vertex(rank).index());
            }
            for edge in (0..topology.edges().len() as u32).map(EdgeIndex) {
                edges.merge(edge.index(), element.map_edge(edge).index());
            }
        }
        let roots = topology.ranks().filter(|rank| ranks.find_first(rank.index()) == rank.index());
        let roots = roots.collect();
        let edges = edges.collect_orbits((0..topology.edges().len() as u32).map(EdgeIndex));
        TreeGroup { elements, roots, edges }
    }
}

/// Permutations that may generate a group.
fn list_pool(
    topology: &Topology,
    symmetry: &Symmetry,
    identity: &VertexImages,
) -> Vec<VertexImages> {
    let map = |one: &Automorphism| {
        let images = identity.as_slice().iter().map(|vertex| one.map_vertex(*vertex));
        images.collect::<Vec<Vertex>>().into()
    };
    let mut pool: Vec<VertexImages> = list_rotations(topology).iter().map(map).collect();
    let generators: Vec<VertexImages> = symmetry.generators.iter().map(map).collect();
    pool.extend_from_slice(&generators);
    for one in &generators {
        pool.extend(generators.iter().map(|other| follow(one, other)));
    }
    pool.truncate(MAX_POOL);
    pool
}

/// One permutation, and then another one.
fn follow(one: &VertexImages, next: &VertexImages) -> VertexImages {
    let images = one.as_slice().iter().map(|vertex| next[*vertex]);
    images.collect::<Vec<Vertex>>().into()
}

/// The group that permutations generate, if it is semiregular: then the image of the first rank tells its elements
/// apart.
fn close_group(
    topology: &Topology,
    identity: &VertexImages,
    generators: &[VertexImages],
) -> Option<Vec<VertexImages>> {
    let mut by_image: DenseMap<Vertex, Option<usize>> =
        DenseMap::filled(topology.ranks().len(), None);
    by_image[Vertex(0)] = Some(0);
    let mut elements = vec![identity.clone()];
    let mut open = VecDeque::from([identity.clone()]);
    while let Some(element) = open.pop_front() {
        for generator in generators {
            let next = follow(&element, generator);
            match by_image[next[Vertex(0)]].and_then(|place| elements.get(place)) {
                Some(known) if *known == next => continue,
                Some(_) => return None,
                None => {}
            }
            if topology.ranks().any(|rank| next[rank] == rank) {
                return None;
            }
            by_image[next[Vertex(0)]] = Some(elements.len());
            elements.push(next.clone());
            open.push_back(next);
        }
    }
    Some(elements)
}

#[cfg(test)]
mod tests {
    use super::TreeGroup;
    use crate::automorphism::find_symmetry;
    use crate::families::{BoxShape, build_boxes, build_line, build_ring, build_star};
    use crate::graph::{SwitchAbilities, Topology};

    fn find_sizes(topology: &Topology) -> [usize; 2] {
        let group = TreeGroup::find(topology, &find_symmetry(topology));
        [group.elements.len(), group.roots.len()]
    }

    #[test]
    fn groups_leave_no_rank_in_its_place() {
        assert_eq!(find_sizes(&build_ring(6).unwrap()), [6, 1]);
        assert_eq!(find_sizes(&build_line(4).unwrap()), [2, 2]);
        assert_eq!(find_sizes(&build_line(5).unwrap()), [1, 5]);
        assert_eq!(find_sizes(&build_star(5).unwrap()), [1, 5]);
        let abilities = SwitchAbilities { multicast: true, reduce: true };
        for boxes in [1, 2, 4, 16] {
            let shape =
                BoxShape { boxes, ranks: 8, port_rate: 9, card_rate: 1, rails: 1, abilities };
            assert_eq!(find_sizes(&build_boxes(shape).unwrap()), [8 * boxes as usize, 1]);
        }
    }
}
