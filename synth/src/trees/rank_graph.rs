//! What is left when all switches are replaced: ranks, and edges between them.

use super::paths::BundledPath;
use crate::dense::DenseMap;
use crate::graph::Vertex;

/// An edge that enters a rank.
#[derive(Clone, Debug)]
pub(super) struct RankEdge {
    pub(super) from: Vertex,
    /// How many pieces it carries; above zero.
    pub(super) capacity: u64,
    /// Through which switches; the amounts add up to the capacity.
    pub(super) paths: Vec<BundledPath>,
}

/// A graph of ranks.
#[derive(Clone, Debug)]
pub(super) struct RankGraph {
    /// The edges that enter each rank, in the order of their begins.
    pub(super) entering: DenseMap<Vertex, Vec<RankEdge>>,
}

/// So many equal trees of ranks.
#[derive(Clone, Debug)]
pub(super) struct RankTree {
    pub(super) root: Vertex,
    pub(super) weight: u64,
    /// From which rank each gets the pieces; the root is its own.
    pub(super) parents: DenseMap<Vertex, Vertex>,
}

impl RankGraph {
    pub(super) fn count_ranks(&self) -> usize {
        self.entering.len()
    }

    pub(super) fn list_ranks(&self) -> impl Iterator<Item = Vertex> + use<> {
        (0..self.entering.len() as u32).map(Vertex)
    }

    pub(super) fn find_capacity(&self, from: Vertex, to: Vertex) -> u64 {
        let entering = &self.entering[to];
        let place = entering.binary_search_by_key(&from, |edge| edge.from);
        place.ok().and_then(|place| entering.get(place)).map_or(0, |edge| edge.capacity)
    }
}
