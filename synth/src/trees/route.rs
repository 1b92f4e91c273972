//! Leads the edges of trees through switches: each edge between ranks stands for some paths, and each tree takes one.

use super::budget::FlowMeter;
use super::error::TreeError;
use super::paths::BundledPath;
use super::rank_graph::{RankGraph, RankTree};
use super::{TreeEdge, WeightedTree};
use crate::dense::DenseMap;
use crate::graph::Vertex;

/// The paths between ranks, of which trees take their shares.
struct PathPools {
    /// From which ranks edges enter each rank, in order.
    begins: DenseMap<Vertex, Vec<Vertex>>,
    /// The paths of these edges.
    pools: DenseMap<Vertex, Vec<Vec<BundledPath>>>,
}

impl PathPools {
    fn new(graph: RankGraph) -> PathPools {
        let mut begins = DenseMap::filled(graph.count_ranks(), Vec::new());
        let mut pools = DenseMap::filled(graph.count_ranks(), Vec::new());
        let ranks = graph.list_ranks();
        for (rank, entering) in ranks.zip(graph.entering.into_values()) {
            for edge in entering {
                begins[rank].push(edge.from);
                pools[rank].push(edge.paths);
            }
        }
        PathPools { begins, pools }
    }

    /// The paths between two ranks.
    fn find_pool(&mut self, from: Vertex, to: Vertex) -> &mut [BundledPath] {
        let place = self.begins[to].binary_search(&from);
        let pool = place.ok().and_then(|place| self.pools[to].get_mut(place));
        pool.map_or(&mut [], Vec::as_mut_slice)
    }

    /// How much the widest path between two ranks still carries.
    fn measure_room(&mut self, from: Vertex, to: Vertex) -> u64 {
        let paths = self.find_pool(from, to).iter();
        paths.map(|path| path.amount).max().unwrap_or(0)
    }

    /// Takes so much of the narrowest path that has room.
    fn take_path(&mut self, from: Vertex, to: Vertex, amount: u64) -> TreeEdge {
        let paths = self.find_pool(from, to).iter_mut();
        let wide = paths.filter(|path| path.amount >= amount);
        let path = wide.min_by_key(|path| path.amount).map_or_else(Vec::new, |path| {
            path.amount -= amount;
            path.path.clone()
        });
        TreeEdge { from, to, path }
    }
}

/// The trees with their paths. Those for which no path has enough room are divided.
pub(super) fn route_trees(
    graph: RankGraph,
    trees: Vec<RankTree>,
    meter: &mut FlowMeter<'_>,
) -> Result<Vec<WeightedTree>, TreeError> {
    let mut pools = PathPools::new(graph);
    let mut routed = Vec::with_capacity(trees.len());
    for RankTree { root, weight, parents } in trees {
        let order = order_ranks(root, &parents);
        let mut missing = weight;
        while missing > 0 {
            let rooms = order.iter().map(|rank| pools.measure_room(parents[*rank], *rank));
            // There is room, as the trees load no edge with more than it carries. If there were not, what is routed
            // would not pass the check.
            let part = rooms.min().unwrap_or(missing).clamp(1, missing);
            missing -= part;
            if missing > 0 {
                meter.count_tree(order.len())?;
            }
            let edges = order.iter().map(|rank| pools.take_path(parents[*rank], *rank, part));
            routed.push(WeightedTree { root, weight: part, edges: edges.collect() });
        }
    }
    Ok(routed)
}

/// The number of edges between ranks on the longest path from the root.
pub(super) fn measure_depth(tree: &RankTree) -> u32 {
    measure_depths(tree.root, &tree.parents).into_values().into_iter().max().unwrap_or(0)
}

/// The ranks without the root, in the order of their depths.
fn order_ranks(root: Vertex, parents: &DenseMap<Vertex, Vertex>) -> Vec<Vertex> {
    let depths = measure_depths(root, parents);
    let ranks = (0..parents.len() as u32).map(Vertex);
    let mut order: Vec<Vertex> = ranks.filter(|rank| *rank != root).collect();
    order.sort_by_key(|rank| depths[*rank]);
    order
}

fn measure_depths(root: Vertex, parents: &DenseMap<Vertex, Vertex>) -> DenseMap<Vertex, u32> {
    let ranks = parents.len();
    let mut depths = DenseMap::filled(ranks, u32::MAX);
    depths[root] = 0;
    let mut path = Vec::new();
    for rank in (0..ranks as u32).map(Vertex) {
        let mut at = rank;
        // A circle would be longer than all ranks.
        while depths[at] == u32::MAX && path.len() < ranks {
            path.push(at);
            at = parents[at];
        }
        let mut depth = depths[at];
        while let Some(below) = path.pop() {
            depth = depth.saturating_add(1);
            depths[below] = depth;
        }
    }
    depths
}
