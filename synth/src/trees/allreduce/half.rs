//! The graph in which the trees of one half of an AllReduce grow from their roots: for copies along the edges of the
//! topology, for sums against them.
//!
//! A *member* is what a tree can have as a vertex: a rank, or a *joint*, which is a switch that can do what the half
//! needs. Copies branch at switches with `multicast`, sums meet at switches with `reduce`. All other switches only
//! forward, and an arc between members stands for a shortest path through them.

use super::super::{TreeDirection, TreeEdge};
use super::arborescence::{ArcCosts, NO_ARC};
use crate::dense::{DenseKey, DenseMap};
use crate::graph::{EdgeIndex, Topology, Vertex};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A vertex that trees can have, by its number: the ranks first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TreeMember(pub(super) u32);

impl DenseKey for TreeMember {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// An edge of the topology, away from the root.
#[derive(Clone, Copy, Debug)]
struct GrowthArc {
    edge: EdgeIndex,
    head: Vertex,
}

/// The graph of one half.
#[derive(Clone, Debug)]
pub(super) struct HalfGraph {
    direction: TreeDirection,
    ranks: u32,
    members: DenseMap<TreeMember, Vertex>,
    numbers: DenseMap<Vertex, Option<TreeMember>>,
    leaving: DenseMap<Vertex, Vec<GrowthArc>>,
    /// Where each edge begins, away from the root.
    tails: DenseMap<EdgeIndex, Vertex>,
    /// For each member how many ranks a path to each other member passes at least.
    hops: DenseMap<TreeMember, DenseMap<TreeMember, u32>>,
}

impl HalfGraph {
    pub(super) fn new(topology: &Topology, direction: TreeDirection) -> HalfGraph {
        let vertices = topology.count_vertices();
        let mut members: DenseMap<TreeMember, Vertex> = topology.ranks().collect::<Vec<_>>().into();
        let mut numbers = DenseMap::filled(vertices, None);
        for (switch, abilities) in (topology.count_ranks()..).map(Vertex).zip(topology.switches()) {
            let is_joint = match direction {
                TreeDirection::FromRoot => abilities.multicast,
                TreeDirection::ToRoot => abilities.reduce,
            };
            if is_joint {
                members.push(switch);
            }
        }
        for (member, vertex) in (0..).map(TreeMember).zip(members.as_slice()) {
            numbers[*vertex] = Some(member);
        }
        let mut leaving = DenseMap::filled(vertices, Vec::new());
        let mut tails = DenseMap::filled(topology.edges().len(), Vertex(0));
        for (index, edge) in (0..).map(EdgeIndex).zip(topology.edges()) {
            let [tail, head] = match direction {
                TreeDirection::FromRoot => [edge.from, edge.to],
                TreeDirection::ToRoot => [edge.to, edge.from],
            };
            leaving[tail].push(GrowthArc { edge: index, head });
            tails[index] = tail;
        }
        let ranks = topology.count_ranks();
        let hops = Vec::new().into();
        let mut half = HalfGraph { direction, ranks, members, numbers, leaving, tails, hops };
        let hops = half.list_members().map(|member| half.measure_hops(member));
        half.hops = hops.collect::<Vec<_>>().into();
        half
    }

    pub(super) fn count_members(&self) -> usize {
        self.members.len()
    }

    /// The ranks, and then the joints.
    pub(super) fn list_members(&self) -> impl Iterator<Item = TreeMember> + use<> {
        (0..self.members.len() as u32).map(TreeMember)
    }

    pub(super) fn list_joints(&self) -> impl Iterator<Item = TreeMember> + use<> {
        (self.ranks..self.members.len() as u32).map(TreeMember)
    }

    pub(super) fn is_rank(&self, member: TreeMember) -> bool {
        member.0 < self.ranks
    }

    /// How many ranks a path from one member to another passes at least.
    pub(super) fn count_hops(&self, from: TreeMember, to: TreeMember) -> u32 {
        self.hops[from][to]
    }

    /// How many ranks a path from a member to each other one passes at least: a search with lengths of 0 and 1.
    fn measure_hops(&self, from: TreeMember) -> DenseMap<TreeMember, u32> {
        let mut of_vertices = DenseMap::filled(self.leaving.len(), u32::MAX);
        of_vertices[self.members[from]] = 0;
        let mut open = VecDeque::from([self.members[from]]);
        while let Some(vertex) = open.pop_front() {
            for arc in &self.leaving[vertex] {
                let passes_rank = arc.head.0 < self.ranks;
                let hops = of_vertices[vertex].saturating_add(u32::from(passes_rank));
                if hops < of_vertices[arc.head] {
                    of_vertices[arc.head] = hops;
                    if passes_rank {
                        open.push_back(arc.head);
                    } else {
                        open.push_front(arc.head);
                    }
                }
            }
        }
        let hops = self.members.as_slice().iter().map(|vertex| of_vertices[*vertex]);
        hops.collect::<Vec<u32>>().into()
    }

    /// The shortest paths between members under lengths of the edges.
    pub(super) fn find_paths(&self, lengths: &DenseMap<EdgeIndex, u64>) -> MemberPaths {
        let count = self.members.len();
        let mut costs = ArcCosts::new(count);
        let mut last_edges = DenseMap::filled(count, Vec::new().into());
        for from in self.list_members() {
            let found = self.search_paths(from, lengths);
            for to in self.list_members().filter(|to| *to != from) {
                costs.set(from, to, found.distances[self.members[to]]);
            }
            last_edges[from] = found.last_edges;
        }
        MemberPaths { costs, last_edges }
    }

    /// The distances from a member through switches that only forward, and the last edge of the path to each vertex
    /// (Dijkstra, "A note on two problems in connexion with graphs", 1959).
    fn search_paths(&self, from: TreeMember, lengths: &DenseMap<EdgeIndex, u64>) -> VertexPaths {
        let start = self.members[from];
        let mut distances = DenseMap::filled(self.leaving.len(), NO_ARC);
        let mut last_edges: LastEdges = DenseMap::filled(self.leaving.len(), None);
        distances[start] = 0;
        let mut open = BinaryHeap::from([Reverse((0, start))]);
        while let Some(Reverse((distance, vertex))) = open.pop() {
            let forwards = vertex == start || self.numbers[vertex].is_none();
            if distance > distances[vertex] || !forwards {
                continue;
            }
            for arc in &self.leaving[vertex] {
                let next = distance.saturating_add(lengths[arc.edge]);
                if next < distances[arc.head] {
                    distances[arc.head] = next;
                    last_edges[arc.head] = Some(arc.edge);
                    open.push(Reverse((next, arc.head)));
                }
            }
        }
        VertexPaths { distances, last_edges }
    }

    /// The edges of a tree, in the order in which they are used.
    pub(super) fn collect_edges(
        &self,
        root: TreeMember,
        parents: &DenseMap<TreeMember, Option<TreeMember>>,
        paths: &MemberPaths,
    ) -> Vec<TreeEdge> {
        let mut children = DenseMap::filled(self.members.len(), Vec::new());
        for member in self.list_members() {
            if let Some(parent) = parents[member] {
                children[parent].push(member);
            }
        }
        // By the number of ranks on the path from the root: joints come with their parents.
        let mut edges = Vec::new();
        let mut open = VecDeque::from([root]);
        while let Some(parent) = open.pop_front() {
            let order = std::mem::take(&mut children[parent]);
            for child in order {
                edges.push(self.build_edge(parent, child, paths));
                if self.is_rank(child) {
                    open.push_back(child);
                } else {
                    open.push_front(child);
                }
            }
        }
        match self.direction {
            TreeDirection::FromRoot => {}
            TreeDirection::ToRoot => edges.reverse(),
        }
        edges
    }

    fn build_edge(&self, parent: TreeMember, child: TreeMember, paths: &MemberPaths) -> TreeEdge {
        let [near, far] = [parent, child].map(|member| self.members[member]);
        let mut path = Vec::new();
        let mut at = far;
        while at != near
            && let Some(edge) = paths.last_edges[parent][at]
        {
            path.push(edge);
            at = self.tails[edge];
        }
        match self.direction {
            TreeDirection::FromRoot => {
                path.reverse();
                TreeEdge { from: near, to: far, path }
            }
            TreeDirection::ToRoot => TreeEdge { from: far, to: near, path },
        }
    }
}

/// The most ranks on a path from or to the root of a tree, without the root. Its edges are in the order in which they
/// are used.
pub(super) fn measure_depth(
    topology: &Topology,
    edges: &[TreeEdge],
    direction: TreeDirection,
) -> u32 {
    let mut depths: DenseMap<Vertex, u32> = DenseMap::filled(topology.count_vertices(), 0);
    let mut extend = |near: Vertex, far: Vertex| {
        depths[far] = depths[near] + u32::from(topology.is_rank(far));
    };
    match direction {
        TreeDirection::FromRoot => edges.iter().for_each(|edge| extend(edge.from, edge.to)),
        TreeDirection::ToRoot => edges.iter().rev().for_each(|edge| extend(edge.to, edge.from)),
    }
    depths.into_values().into_iter().max().unwrap_or(0)
}

/// The paths from one member to all vertices.
struct VertexPaths {
    distances: DenseMap<Vertex, u64>,
    last_edges: LastEdges,
}

/// For each vertex the last edge of a path to it.
type LastEdges = DenseMap<Vertex, Option<EdgeIndex>>;

/// Shortest paths between members.
pub(super) struct MemberPaths {
    /// What the path between two members costs.
    pub(super) costs: ArcCosts,
    last_edges: DenseMap<TreeMember, LastEdges>,
}
