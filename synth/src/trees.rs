//! Trees along which an AllGather, a ReduceScatter or a Broadcast takes the least time that a machine allows.
//!
//! Each root's chunk is divided into `k` equal pieces, and each piece goes along a tree of its own to all ranks. If the
//! trees load no edge with more than its rate, and the pieces are pipelined, the collective takes as long as its bound
//! as chunks become large (Edmonds, "Edge-disjoint branchings", 1973; Zhao et al., "ForestColl: Efficient Collective
//! Communications on Heterogeneous Network Fabrics").
//!
//! ```text
//! count ─> demand ─> spread | split ─> rank_graph ─> layered | exact ─> route ─> TreeSet ─> check
//! least    integer   switches become               trees of ranks      paths through
//! time     capacities edges between ranks                              switches
//! ```
//!
//! 1. Within the time of `k` pieces an edge carries a whole number of them.
//! 2. Every switch is replaced by edges between its neighbors: by spreading what passes it evenly, which mostly loses
//!    nothing and gives flat trees, or pair by pair such that no cut becomes too small.
//! 3. If each rank can get each piece from a rank nearer to its root, the trees have shortest paths, and ranks are
//!    independent of each other. Otherwise trees grow edge by edge such that the others still can.
//!
//! An AllReduce can be faster than a ReduceScatter and an AllGather: `allreduce` has trees for both of its halves.
//!
//! Nothing is random, and budgets are counters: the same input gives the same trees everywhere.

mod allreduce;
mod budget;
mod check;
mod collective;
mod connectivity;
mod count;
mod demand;
mod error;
mod exact;
mod layered;
mod offsets;
mod paths;
mod rank_graph;
mod route;
mod split;
mod split_graph;
mod spread;
mod translation;

pub use allreduce::{
    AllReduceFlaw, AllReduceMethod, AllReducePacking, AllReduceTrees, HalfTree, PackingEnd,
    check_allreduce_trees, compose_allreduce_trees, find_allreduce_trees, pack_allreduce_trees,
    pack_allreduce_with_count,
};
pub use budget::{PackBudget, PackLimit, PackRequest};
pub use check::{TreeFlaw, check_trees};
pub use collective::{has_trees, pack_collective_trees};
pub use error::TreeError;

use crate::automorphism::{Symmetry, find_symmetry};
use crate::bound::CutBound;
use crate::bound::cut::bound_allgather_until;
use crate::bound::rooted::bound_broadcast;
use crate::dense::{DenseKey, DenseMap};
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::rational::Rational;
use crate::schedule::match_reversed_edges;
use budget::FlowMeter;
use demand::TreeDemand;
use rank_graph::{RankGraph, RankTree};
use split_graph::SplitGraph;
use spread::SpreadPlan;
use translation::Translations;

/// An edge of a tree: a rank sends to another one, through switches at most.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreeEdge {
    /// The rank that sends.
    pub from: Vertex,
    /// The rank that receives.
    pub to: Vertex,
    /// The edges of the topology from one to the other, in order. All vertices between are switches.
    pub path: Vec<EdgeIndex>,
}

/// So many equal trees that span all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightedTree {
    /// Whose pieces go along them, or where their sums arrive.
    pub root: Vertex,
    /// How many pieces; at least 1.
    pub weight: u64,
    /// Away from the root: the nearest edges first. Towards the root: the farthest edges first.
    pub edges: Vec<TreeEdge>,
}

/// Which way pieces go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeDirection {
    /// From the root to all ranks: AllGather, Broadcast.
    FromRoot,
    /// From all ranks to the root, and they are added up: ReduceScatter, Reduce.
    ToRoot,
}

/// Which ranks are roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeRoots {
    /// Each rank: AllGather, ReduceScatter.
    EveryRank,
    /// One rank: Broadcast, Reduce.
    One(Vertex),
}

/// Trees for a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeSet {
    /// Into how many pieces each chunk is divided: the weight of all trees of a root.
    pub k: u64,
    /// The time per chunk within which no edge carries more than its rate: in rounds per chunk, or in seconds per byte.
    pub rho: Rational,
    /// Which way pieces go.
    pub direction: TreeDirection,
    /// Which ranks are roots.
    pub roots: TreeRoots,
    /// The trees, in the order of their roots.
    pub trees: Vec<WeightedTree>,
}

/// How the trees were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackingMethod {
    /// Every path is a shortest one, where an edge through switches counts as one.
    Layered,
    /// Edge by edge.
    Exact,
}

/// Trees that were found, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreePacking {
    /// The trees, which [`check_trees`] accepts.
    pub trees: TreeSet,
    /// How they were found.
    pub method: PackingMethod,
    /// How many flow tests it took, in the unit of [`PackBudget::flow_tests`].
    pub flow_tests: u64,
}

impl WeightedTree {
    /// The number of edges on the longest path from or to the root, if the tree is one.
    #[must_use]
    pub fn measure_depth(&self, direction: TreeDirection) -> u32 {
        let ends = self.edges.iter().flat_map(|edge| [edge.from, edge.to]).chain([self.root]);
        let vertices = ends.map(DenseKey::index).max().unwrap_or(0) + 1;
        let mut depths: DenseMap<Vertex, u32> = DenseMap::filled(vertices, 0);
        let mut extend = |near: Vertex, far: Vertex| depths[far] = depths[near].saturating_add(1);
        match direction {
            TreeDirection::FromRoot => {
                self.edges.iter().for_each(|edge| extend(edge.from, edge.to));
            }
            TreeDirection::ToRoot => {
                self.edges.iter().rev().for_each(|edge| extend(edge.to, edge.from));
            }
        }
        depths.into_values().into_iter().max().unwrap_or(0)
    }
}

impl TreeSet {
    /// The number of edges on the longest path from or to a root.
    #[must_use]
    pub fn measure_depth(&self) -> u32 {
        let depths = self.trees.iter().map(|tree| tree.measure_depth(self.direction));
        depths.max().unwrap_or(0)
    }

    /// The trees that run backwards on the reversed topology: those of an AllGather there give those of a ReduceScatter
    /// here, and those of a Broadcast give those of a Reduce. `topology` is the one of these trees, and `reversed` is
    /// that of the result.
    #[must_use]
    pub fn reverse(&self, topology: &Topology, reversed: &Topology) -> TreeSet {
        let edges = match_reversed_edges(topology, reversed);
        let turn_edge = |edge: &TreeEdge| TreeEdge {
            from: edge.to,
            to: edge.from,
            path: edge.path.iter().rev().filter_map(|index| edges.get(index).copied()).collect(),
        };
        let turn_tree = |tree: &WeightedTree| WeightedTree {
            root: tree.root,
            weight: tree.weight,
            edges: tree.edges.iter().rev().map(turn_edge).collect(),
        };
        let direction = match self.direction {
            TreeDirection::FromRoot => TreeDirection::ToRoot,
            TreeDirection::ToRoot => TreeDirection::FromRoot,
        };
        let trees = self.trees.iter().map(turn_tree).collect();
        TreeSet { trees, direction, ..*self }
    }
}

/// Trees for an AllGather that take no longer than its bound, which [`crate::bound::cut::bound_allgather`] gives. Those
/// of a ReduceScatter are [`TreeSet::reverse`] of the ones on the reversed topology.
///
/// # Errors
/// [`TreeError::TooLittleTime`] if the bound is not one of this topology, and each other [`TreeError`].
pub fn pack_allgather_trees(
    topology: &Topology,
    cut: &CutBound,
    request: PackRequest<'_>,
) -> Result<TreePacking, TreeError> {
    let roots = TreeRoots::EveryRank;
    let demand = TreeDemand::from_bound(topology, roots, cut)?;
    pack_trees(topology, &find_symmetry(topology), roots, &demand, &mut FlowMeter::new(request))
}

/// `k` trees per root for an AllGather, in the least time in which there are so many.
///
/// # Errors
/// Each [`TreeError`].
pub fn pack_with_count(
    topology: &Topology,
    k: u64,
    request: PackRequest<'_>,
) -> Result<TreePacking, TreeError> {
    let symmetry = find_symmetry(topology);
    let cut = bound_allgather_until(topology, &symmetry, request.observer)?;
    let trees = count::CountedTrees { roots: TreeRoots::EveryRank, k, rho: cut.value };
    pack_counted(topology, &symmetry, trees, request)
}

/// Trees for a Broadcast that take no longer than its bound, which [`bound_broadcast`] gives. Those of a Reduce are
/// [`TreeSet::reverse`] of the ones on the reversed topology.
///
/// # Errors
/// [`TreeError::TooLittleTime`] if the bound is not one of this topology and root, and each other [`TreeError`].
pub fn pack_broadcast_trees(
    topology: &Topology,
    root: Vertex,
    cut: &CutBound,
    request: PackRequest<'_>,
) -> Result<TreePacking, TreeError> {
    let roots = TreeRoots::One(root);
    let demand = TreeDemand::from_bound(topology, roots, cut)?;
    let symmetry = Symmetry::trivial(topology);
    pack_trees(topology, &symmetry, roots, &demand, &mut FlowMeter::new(request))
}

/// `k` trees for a Broadcast, in the least time in which there are so many.
///
/// # Errors
/// Each [`TreeError`].
pub fn pack_broadcast_with_count(
    topology: &Topology,
    root: Vertex,
    k: u64,
    request: PackRequest<'_>,
) -> Result<TreePacking, TreeError> {
    let symmetry = Symmetry::trivial(topology);
    let cut = bound_broadcast(topology, root)?;
    let trees = count::CountedTrees { roots: TreeRoots::One(root), k, rho: cut.value };
    pack_counted(topology, &symmetry, trees, request)
}

/// So many trees for each root, in the least time in which there are so many.
fn pack_counted(
    topology: &Topology,
    symmetry: &Symmetry,
    trees: count::CountedTrees,
    request: PackRequest<'_>,
) -> Result<TreePacking, TreeError> {
    let meter = &mut FlowMeter::new(request);
    let roots = trees.roots;
    let demand = count::find_least_time(topology, symmetry, trees, meter)?;
    pack_trees(topology, symmetry, roots, &demand, meter)
}

/// How deep layered trees may be so that exact ones are not tried. On machines with switches that are not spread widely
/// the latter are rarely flatter than this.
const FLAT_DEPTH: u32 = 2;

/// How many flow tests may be spent on exact trees where there are layered ones: some tenths of a second. Layered ones are
/// kept if it does not suffice.
const IMPROVEMENT_TESTS: u64 = 1 << 14;

/// Trees of ranks, in a graph of ranks.
struct RankPacking {
    graph: RankGraph,
    trees: Vec<RankTree>,
    method: PackingMethod,
}

impl RankPacking {
    fn measure_depth(&self) -> u32 {
        self.trees.iter().map(route::measure_depth).max().unwrap_or(0)
    }
}

/// Trees for a demand with these roots.
fn pack_trees(
    topology: &Topology,
    symmetry: &Symmetry,
    roots: TreeRoots,
    demand: &TreeDemand,
    meter: &mut FlowMeter,
) -> Result<TreePacking, TreeError> {
    let RoutedTrees { trees, method } = pack_demand(topology, symmetry, demand, meter)?;
    let TreeDemand { k, rho, .. } = *demand;
    let trees = TreeSet { k, rho, direction: TreeDirection::FromRoot, roots, trees };
    check_trees(topology, &trees)?;
    Ok(TreePacking { trees, method, flow_tests: meter.count_tests() })
}

/// Trees that are not checked.
struct RoutedTrees {
    trees: Vec<WeightedTree>,
    method: PackingMethod,
}

/// Trees for a demand, whose roots may have any numbers of pieces.
fn pack_demand(
    topology: &Topology,
    symmetry: &Symmetry,
    demand: &TreeDemand,
    meter: &mut FlowMeter<'_>,
) -> Result<RoutedTrees, TreeError> {
    meter.check_size(demand)?;
    let scaled = SplitGraph::new(topology, &demand.capacities);
    let packing = match pack_spread(topology, symmetry, &scaled, demand, meter)? {
        Some(packing) => packing,
        None => pack_split(topology, symmetry, scaled, demand, meter)?,
    };
    let RankPacking { graph, trees, method } = packing;
    Ok(RoutedTrees { trees: route::route_trees(graph, trees, meter)?, method })
}

/// Trees after switches were replaced by spreading evenly what passes them.
fn pack_spread(
    topology: &Topology,
    symmetry: &Symmetry,
    scaled: &SplitGraph,
    demand: &TreeDemand,
    meter: &mut FlowMeter<'_>,
) -> Result<Option<RankPacking>, TreeError> {
    let plans = spread::list_plans(topology, scaled);
    let mut wider = Vec::new();
    for plan in plans {
        let graph = spread::spread_switches(topology, scaled, plan).into_rank_graph();
        if let Some(trees) = pack_layered(&graph, symmetry, demand, meter)? {
            let layered = RankPacking { graph, trees, method: PackingMethod::Layered };
            return improve_layered(topology, scaled, demand, layered, &wider, meter).map(Some);
        }
        wider.push(plan);
    }
    pack_wide(topology, scaled, demand, &wider, meter)
}

/// Exact trees with the first way to spread that keeps all cuts large enough.
fn pack_wide(
    topology: &Topology,
    scaled: &SplitGraph,
    demand: &TreeDemand,
    plans: &[SpreadPlan],
    meter: &mut FlowMeter<'_>,
) -> Result<Option<RankPacking>, TreeError> {
    for plan in plans {
        let spread = spread::spread_switches(topology, scaled, *plan);
        if connectivity::is_rooted_connected(&spread, demand, meter)? {
            let graph = spread.into_rank_graph();
            let trees = exact::pack_exactly(&graph, demand, meter)?;
            return Ok(Some(RankPacking { graph, trees, method: PackingMethod::Exact }));
        }
    }
    Ok(None)
}

/// Layered trees, or exact ones that are not as deep: what is spread less has longer shortest paths.
fn improve_layered(
    topology: &Topology,
    scaled: &SplitGraph,
    demand: &TreeDemand,
    layered: RankPacking,
    wider: &[SpreadPlan],
    meter: &mut FlowMeter<'_>,
) -> Result<RankPacking, TreeError> {
    let depth = layered.measure_depth();
    if wider.is_empty() || depth <= FLAT_DEPTH {
        return Ok(layered);
    }
    let attempt = meter
        .try_within(IMPROVEMENT_TESTS, |meter| pack_wide(topology, scaled, demand, wider, meter))?;
    let exact = attempt.flatten().filter(|exact| exact.measure_depth() < depth);
    Ok(exact.unwrap_or(layered))
}

/// Trees after switches were replaced pair by pair.
fn pack_split(
    topology: &Topology,
    symmetry: &Symmetry,
    scaled: SplitGraph,
    demand: &TreeDemand,
    meter: &mut FlowMeter<'_>,
) -> Result<RankPacking, TreeError> {
    if !connectivity::is_rooted_connected(&scaled, demand, meter)? {
        return Err(TreeError::TooLittleTime);
    }
    let graph = split::split_switches(topology, scaled, demand, meter)?.into_rank_graph();
    if let Some(trees) = pack_layered(&graph, symmetry, demand, meter)? {
        return Ok(RankPacking { graph, trees, method: PackingMethod::Layered });
    }
    let trees = exact::pack_exactly(&graph, demand, meter)?;
    Ok(RankPacking { graph, trees, method: PackingMethod::Exact })
}

fn pack_layered(
    graph: &RankGraph,
    symmetry: &Symmetry,
    demand: &TreeDemand,
    meter: &mut FlowMeter<'_>,
) -> Result<Option<Vec<RankTree>>, TreeError> {
    let translations = Translations::find(graph, symmetry, &demand.supplies);
    layered::pack_layered(graph, &translations, demand, meter)
}
