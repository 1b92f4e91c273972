//! Trees that grow edge by edge, such that those that are not complete still can.
//!
//! Trees that began, and those that did not, can be completed if and only if each set of ranks that contains none of
//! some trees is entered by edges of at least their weight (Edmonds, "Edge-disjoint branchings", 1973, in the form of
//! Schrijver, "Combinatorial Optimization", theorem 53.2). One flow tells how much of an edge can be added to a tree
//! without breaking this (Bérczi and Frank, "Packing arborescences", 2010; Zhao et al., "ForestColl").

use super::budget::FlowMeter;
use super::demand::TreeDemand;
use super::error::TreeError;
use super::rank_graph::{RankGraph, RankTree};
use crate::dense::DenseMap;
use crate::flow::{FlowArc, FlowNetwork, FlowNode};
use crate::graph::Vertex;
use std::collections::{BTreeMap, VecDeque};

/// Trees for a graph in which each rank can get all pieces.
///
/// All trees grow by one level after another, so that none takes the short paths of the others. An edge that cannot be
/// added to a tree never can be later: what was tried once is not tried again.
pub(super) fn pack_exactly(
    graph: &RankGraph,
    demand: &TreeDemand,
    meter: &mut FlowMeter<'_>,
) -> Result<Vec<RankTree>, TreeError> {
    let mut packing = ExactPacking::new(graph, demand);
    let mut trees = Vec::new();
    while let Some(tree) = packing.growing.pop_front() {
        let tree = packing.grow_level(tree, meter)?;
        if tree.joined.len() == packing.ranks {
            meter.count_tree(packing.ranks)?;
            trees.push(tree.finish()?);
        } else if tree.has_new_level() {
            packing.growing.push_back(tree.begin_level());
        } else {
            // The graph does not have what is required of it.
            return Err(TreeError::TooLittleTime);
        }
    }
    trees.sort_by_key(|tree| tree.root);
    Ok(trees)
}

/// So many equal trees that are not complete.
#[derive(Clone)]
struct PartialTree {
    root: Vertex,
    weight: u64,
    /// The ranks in the order in which they were joined.
    joined: Vec<Vertex>,
    /// The place among them of the first one from which edges were not tried.
    next: usize,
    /// Where the level ends from which edges are tried.
    end: usize,
    /// The parent of each rank that is joined; the root is its own.
    parents: DenseMap<Vertex, Option<Vertex>>,
}

impl PartialTree {
    fn new(root: Vertex, ranks: usize, weight: u64) -> PartialTree {
        let mut parents = DenseMap::filled(ranks, None);
        parents[root] = Some(root);
        PartialTree { root, weight, joined: vec![root], next: 0, end: 1, parents }
    }

    fn has_new_level(&self) -> bool {
        self.joined.len() > self.end
    }

    fn begin_level(self) -> PartialTree {
        PartialTree { end: self.joined.len(), ..self }
    }

    fn finish(self) -> Result<RankTree, TreeError> {
        let PartialTree { root, weight, parents, .. } = self;
        let parents: Option<Vec<Vertex>> = parents.into_values().into_iter().collect();
        let parents = parents.ok_or(TreeError::TooLittleTime)?.into();
        Ok(RankTree { root, weight, parents })
    }
}

struct ExactPacking {
    ranks: usize,
    /// What is left of each edge, from each rank.
    leaving: DenseMap<Vertex, BTreeMap<Vertex, u64>>,
    /// The trees that are not complete.
    growing: VecDeque<PartialTree>,
}

impl ExactPacking {
    fn new(graph: &RankGraph, demand: &TreeDemand) -> ExactPacking {
        let ranks = graph.count_ranks();
        let mut leaving = DenseMap::filled(ranks, BTreeMap::new());
        for to in graph.list_ranks() {
            for edge in &graph.entering[to] {
                leaving[edge.from].insert(to, edge.capacity);
            }
        }
        let roots = demand.list_roots();
        let growing =
            roots.map(|root| PartialTree::new(root, ranks, demand.supplies[root])).collect();
        ExactPacking { ranks, leaving, growing }
    }

    /// Adds edges from the ranks of one level. What has no room for an edge becomes a tree of its own, which grows next.
    fn grow_level(
        &mut self,
        tree: PartialTree,
        meter: &mut FlowMeter<'_>,
    ) -> Result<PartialTree, TreeError> {
        let mut tree = tree;
        let mut network = GrowthNetwork::new(self);
        while tree.next < tree.end && tree.joined.len() < self.ranks {
            let Some(&from) = tree.joined.get(tree.next) else { break };
            for to in self.list_heads(from) {
                let room = self.leaving[from].get(&to).copied().unwrap_or(0).min(tree.weight);
                if tree.parents[to].is_some() || room == 0 {
                    continue;
                }
                let edge = GrowthEdge { from, to, room };
                let amount = network.measure_room(edge, meter)?;
                if amount == 0 {
                    continue;
                }
                if amount < tree.weight {
                    let weight = tree.weight - amount;
                    self.growing.push_front(PartialTree { weight, ..tree.clone() });
                    tree.weight = amount;
                    network = GrowthNetwork::new(self);
                }
                tree.parents[to] = Some(from);
                tree.joined.push(to);
                self.use_edge(&mut network, GrowthEdge { room: amount, ..edge });
            }
            tree.next += 1;
        }
        Ok(tree)
    }

    /// Where the edges of a rank lead; those after it first, so that ranks do not all prefer the same ones.
    fn list_heads(&self, from: Vertex) -> Vec<Vertex> {
        let after = self.leaving[from].range(from..).map(|(to, _)| *to);
        let before = self.leaving[from].range(..from).map(|(to, _)| *to);
        after.chain(before).collect()
    }

    fn use_edge(&mut self, network: &mut GrowthNetwork, edge: GrowthEdge) {
        if let Some(left) = self.leaving[edge.from].get_mut(&edge.to) {
            *left -= edge.room;
            network.set_edge(edge, *left);
            if *left == 0 {
                self.leaving[edge.from].remove(&edge.to);
            }
        }
    }
}

/// An edge for a tree, and how much of it.
#[derive(Clone, Copy)]
struct GrowthEdge {
    from: Vertex,
    to: Vertex,
    room: u64,
}

/// The network in which flows tell how much of an edge can be added: what is left of all edges, and a hub from which
/// what is missing of all other trees flows to the ranks that they have joined.
struct GrowthNetwork {
    network: FlowNetwork,
    edges: BTreeMap<[Vertex; 2], FlowArc>,
    /// From each rank to the hub; only the one at the begin of the edge has a capacity.
    to_hub: DenseMap<Vertex, FlowArc>,
    others: Vec<OtherTree>,
    arcs: usize,
}

/// Another tree in a network.
struct OtherTree {
    weight: u64,
    from_hub: FlowArc,
    has_joined: DenseMap<Vertex, bool>,
}

impl GrowthNetwork {
    fn new(packing: &ExactPacking) -> GrowthNetwork {
        let ranks = packing.ranks as u32;
        let mut network = FlowNetwork::new(packing.ranks + 1 + packing.growing.len());
        let mut edges = BTreeMap::new();
        let mut arcs = packing.ranks;
        for (from, leaving) in (0..).map(Vertex).zip(packing.leaving.as_slice()) {
            for (to, capacity) in leaving {
                let arc = network.add_arc(FlowNode(from.0), FlowNode(to.0), *capacity);
                edges.insert([from, *to], arc);
            }
        }
        let hub = FlowNode(ranks);
        let mut others = Vec::new();
        for (tree, node) in packing.growing.iter().zip((ranks + 1..).map(FlowNode)) {
            let from_hub = network.add_arc(hub, node, tree.weight);
            for rank in &tree.joined {
                network.add_arc(node, FlowNode(rank.0), tree.weight);
            }
            arcs += 1 + tree.joined.len();
            let joined = tree.parents.as_slice().iter().map(Option::is_some);
            let has_joined = joined.collect::<Vec<bool>>().into();
            others.push(OtherTree { weight: tree.weight, from_hub, has_joined });
        }
        let all = (0..ranks).map(|rank| network.add_arc(FlowNode(rank), hub, 0));
        let to_hub: DenseMap<Vertex, FlowArc> = all.collect::<Vec<FlowArc>>().into();
        arcs += edges.len();
        GrowthNetwork { network, edges, to_hub, others, arcs }
    }

    /// How much of an edge can be added, up to its room.
    fn measure_room(
        &mut self,
        edge: GrowthEdge,
        meter: &mut FlowMeter<'_>,
    ) -> Result<u64, TreeError> {
        meter.count_flow(self.arcs)?;
        // What is missing of a tree that has joined the end of the edge flows there anyway.
        let mut missing = 0;
        for other in &self.others {
            let weight = if other.has_joined[edge.to] { 0 } else { other.weight };
            self.network.set_capacity(other.from_hub, weight);
            missing += weight;
        }
        let hub = self.to_hub[edge.from];
        self.network.set_capacity(hub, missing);
        self.network.clear_flow();
        let limit = missing + edge.room;
        let flow = self.network.maximize_flow(FlowNode(edge.from.0), FlowNode(edge.to.0), limit);
        self.network.set_capacity(hub, 0);
        Ok(flow.saturating_sub(missing))
    }

    fn set_edge(&mut self, edge: GrowthEdge, capacity: u64) {
        if let Some(arc) = self.edges.get(&[edge.from, edge.to]) {
            self.network.set_capacity(*arc, capacity);
        }
    }
}
