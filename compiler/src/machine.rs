//! Machines: what a topology declares for concrete arguments.
//!
//! In: ranks, switches and links, each with its place in a text. Out: a graph (`synth::graph`), and answers about paths
//! in it. Ranks come before switches among its vertices, as in the graph.

pub mod dot;
pub mod drawing;
pub mod listing;

use crate::bytes;
use crate::source::Span;
use std::collections::BTreeMap;
use std::sync::OnceLock;
pub use synth::graph::Vertex;
use synth::graph::{DirectedEdge, RateUnit, SwitchAbilities, Topology};

/// A machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name with its arguments, as a report shows it: `dgx_h100(boxes = 2)`.
    pub name: String,
    /// Where it is declared.
    pub declared: Span,
    /// Where links are taken away from it, by `without`; none if none are.
    pub removed_links: Option<Span>,
    /// Its ranks, switches and edges.
    pub graph: Topology,
    /// The node of each rank; none if the topology has no `ranks_per_node`.
    pub nodes: Option<Vec<u32>>,
    /// The names of its switches, in order: `nvlink[0]`.
    pub switches: Vec<String>,
    /// Where its edges are declared: the first link or port for each pair of vertices.
    pub places: BTreeMap<EdgeEnds, Span>,
    /// What is asked of it for many channels.
    pub reach: MachineReach,
}

/// What a machine's edges allow, found when it is first asked for; empty in a new machine.
#[derive(Clone, Debug, Default)]
pub struct MachineReach {
    /// For each rank the switches that it reaches without passing a rank, over edges that memory channels can use.
    in_memory: OnceLock<Vec<Vec<Vertex>>>,
    /// Whether every rank reaches every other one.
    is_connected: OnceLock<bool>,
}

/// The vertices that an edge joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EdgeEnds {
    /// Where it begins.
    pub from: Vertex,
    /// Where it ends.
    pub to: Vertex,
}

/// The way from a rank to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The vertices, both ends included.
    pub vertices: Vec<Vertex>,
    /// The rate of its slowest edge, in the unit of the topology.
    pub rate: synth::rational::Rational,
    /// The sum of the latencies of its edges, in nanoseconds.
    pub latency_ns: u64,
}

/// A [`Path`] in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathText {
    /// What it leads over, both ends included.
    pub vertices: String,
    /// How long it is, what it carries, and how long it takes, if that is known.
    pub properties: String,
}

impl Machine {
    /// How many ranks, nodes, switches and links it has: `16 ranks on 2 nodes, 10 switches, 64 links`.
    #[must_use]
    pub fn describe_size(&self) -> String {
        let count = |number: usize, one: &str, more: &str| {
            if number == 1 { format!("1 {one}") } else { format!("{number} {more}") }
        };
        let ranks = count(self.graph.count_ranks() as usize, "rank", "ranks");
        let nodes = self.nodes.as_ref().map(|nodes| {
            let different: std::collections::BTreeSet<&u32> = nodes.iter().collect();
            format!(" on {}", count(different.len(), "node", "nodes"))
        });
        let switches = match self.switches.len() {
            0 => String::new(),
            switches => format!(", {}", count(switches, "switch", "switches")),
        };
        let links = count(self.graph.edges().len(), "link", "links");
        format!("{ranks}{}{switches}, {links}", nodes.unwrap_or_default())
    }

    /// What a vertex is called in reports: `rank 3`, `nvlink[0]`.
    #[must_use]
    pub fn name_vertex(&self, vertex: Vertex) -> String {
        if self.graph.is_rank(vertex) {
            format!("rank {vertex}")
        } else {
            let index = vertex.0 as usize - self.graph.count_ranks() as usize;
            self.switches.get(index).cloned().unwrap_or_default()
        }
    }

    /// The vertex with a name: a number for a rank, `nvlink[0]` for a switch.
    #[must_use]
    pub fn find_vertex(&self, name: &str) -> Option<Vertex> {
        let name = name.trim();
        if let Ok(rank) = name.parse() {
            return Some(Vertex(rank)).filter(|rank| self.graph.is_rank(*rank));
        }
        let index = self.switches.iter().position(|switch| switch == name)?;
        Some(Vertex(self.graph.count_ranks() + index as u32))
    }

    /// A path with its properties: `rank 0 -> nvlink[0] -> rank 1` and `2 hops, 450GBps, 700ns`.
    #[must_use]
    pub fn describe_path(&self, path: &Path) -> PathText {
        let names: Vec<String> = path.vertices.iter().map(|at| self.name_vertex(*at)).collect();
        let hops = match path.vertices.len().saturating_sub(1) {
            1 => "1 hop".to_owned(),
            hops => format!("{hops} hops"),
        };
        let unit = self.graph.unit();
        let rate = listing::write_rate(path.rate, unit);
        let rate = match unit {
            RateUnit::ChunksPerRound => format!("bandwidth {rate}"),
            RateUnit::BytesPerSecond => rate,
        };
        let latency = i64::try_from(path.latency_ns).ok().filter(|latency| *latency > 0);
        let latency = latency.map_or_else(String::new, |ns| format!(", {}", bytes::time_text(ns)));
        PathText { vertices: names.join(" -> "), properties: format!("{hops}, {rate}{latency}") }
    }

    /// Whether a memory channel can lead from one rank to another: a path joins them whose edges are all for memory,
    /// and which passes switches only.
    #[must_use]
    pub fn joins_in_memory(&self, from: Vertex, to: Vertex) -> bool {
        let switches = self.reach.in_memory.get_or_init(|| self.collect_in_memory());
        let mut switches = switches.get(from.0 as usize).into_iter().flatten();
        from != to
            && (self.has_memory_edge(from, to)
                || switches.any(|switch| self.has_memory_edge(*switch, to)))
    }

    /// Whether a port channel can lead from one rank to another: any path does.
    #[must_use]
    pub fn joins_by_port(&self, from: Vertex, to: Vertex) -> bool {
        let is_connected =
            *self.reach.is_connected.get_or_init(|| self.find_unreachable().is_none());
        is_connected || self.find_port_path(from, to).is_some()
    }

    /// The path with the fewest edges, and among these the first one, that a memory channel uses.
    #[must_use]
    pub fn find_memory_path(&self, from: Vertex, to: Vertex) -> Option<Path> {
        let usable = |edge: &DirectedEdge| {
            edge.abilities.memory && (!self.graph.is_rank(edge.from) || edge.from == from)
        };
        self.find_path(from, to, usable)
    }

    /// The path with the fewest edges that a port channel uses: one that passes no other rank, if there is one.
    #[must_use]
    pub fn find_port_path(&self, from: Vertex, to: Vertex) -> Option<Path> {
        let direct = |edge: &DirectedEdge| !self.graph.is_rank(edge.from) || edge.from == from;
        self.find_path(from, to, direct).or_else(|| self.find_path(from, to, |_| true))
    }

    /// The first switch that all these ranks have a port of, both ways, for memory, and that has these abilities.
    #[must_use]
    pub fn find_common_switch(&self, ranks: &[Vertex], needed: SwitchAbilities) -> Option<Vertex> {
        let first = self.graph.count_ranks();
        let can = |abilities: &SwitchAbilities| {
            (abilities.multicast || !needed.multicast) && (abilities.reduce || !needed.reduce)
        };
        let able = self.graph.switches().iter().enumerate().filter(|(_, abilities)| can(abilities));
        able.map(|(index, _)| Vertex(first + index as u32)).find(|switch| {
            ranks.iter().all(|rank| {
                self.has_memory_edge(*rank, *switch) && self.has_memory_edge(*switch, *rank)
            })
        })
    }

    /// The place of an edge between two vertices, in either direction.
    #[must_use]
    pub fn find_place(&self, one: Vertex, other: Vertex) -> Option<Span> {
        let ends = [EdgeEnds { from: one, to: other }, EdgeEnds { from: other, to: one }];
        ends.iter().find_map(|ends| self.places.get(ends)).copied()
    }

    /// Two ranks, the second of which cannot be reached from the first one.
    #[must_use]
    pub fn find_unreachable(&self) -> Option<EdgeEnds> {
        let start = Vertex(0);
        let forward = self.collect_reached(start, |edge| EdgeEnds { from: edge.from, to: edge.to });
        let backward =
            self.collect_reached(start, |edge| EdgeEnds { from: edge.to, to: edge.from });
        let lacks = |reached: &[bool]| {
            self.graph.ranks().find(|rank| !reached.get(rank.0 as usize).copied().unwrap_or(false))
        };
        lacks(&forward)
            .map(|to| EdgeEnds { from: start, to })
            .or_else(|| lacks(&backward).map(|from| EdgeEnds { from, to: start }))
    }

    /// The group of ranks that memory joins, directly or through other ranks, that each rank is in: the number of its
    /// first rank.
    #[must_use]
    pub fn find_domains(&self) -> Vec<u32> {
        let vertices = self.graph.count_vertices();
        let mut domains: Vec<u32> = (0..vertices as u32).collect();
        // The first vertex of a group is a rank if it has one: ranks come before switches.
        fn find_root(domains: &[u32], mut vertex: u32) -> u32 {
            while let Some(next) =
                domains.get(vertex as usize).copied().filter(|next| *next != vertex)
            {
                vertex = next;
            }
            vertex
        }
        for edge in self.graph.edges().iter().filter(|edge| edge.abilities.memory) {
            let [one, other] = [edge.from.0, edge.to.0].map(|end| find_root(&domains, end));
            let (low, high) = (one.min(other), one.max(other));
            if let Some(slot) = domains.get_mut(high as usize) {
                *slot = low;
            }
        }
        (0..self.graph.count_ranks()).map(|rank| find_root(&domains, rank)).collect()
    }

    /// How many ranks are in each of the groups of [`Machine::find_domains`], if these are alike and ranks that follow each
    /// other are together.
    #[must_use]
    pub fn find_domain_width(&self) -> Option<u32> {
        let domains = self.find_domains();
        let width = domains.iter().take_while(|domain| **domain == 0).count() as u32;
        let is_regular = (0..)
            .zip(&domains)
            .all(|(rank, domain): (u32, &u32)| width > 0 && *domain == rank / width * width);
        is_regular.then_some(width)
    }

    fn has_memory_edge(&self, from: Vertex, to: Vertex) -> bool {
        let edges = self.edges_from(from);
        let begin = edges.partition_point(|edge| edge.to < to);
        let mut between = edges.iter().skip(begin).take_while(|edge| edge.to == to);
        between.any(|edge| edge.abilities.memory)
    }

    /// The edges that begin at a vertex.
    fn edges_from(&self, from: Vertex) -> &[DirectedEdge] {
        let edges = self.graph.edges();
        let begin = edges.partition_point(|edge| edge.from < from);
        let end = edges.partition_point(|edge| edge.from <= from);
        edges.get(begin..end).unwrap_or_default()
    }

    fn collect_in_memory(&self) -> Vec<Vec<Vertex>> {
        let reach = |rank: Vertex| {
            let mut reached: Vec<Vertex> = Vec::new();
            let mut open = vec![rank];
            while let Some(vertex) = open.pop() {
                let edges = self.edges_from(vertex).iter().filter(|edge| edge.abilities.memory);
                for edge in edges.filter(|edge| !self.graph.is_rank(edge.to)) {
                    if !reached.contains(&edge.to) {
                        reached.push(edge.to);
                        open.push(edge.to);
                    }
                }
            }
            reached
        };
        self.graph.ranks().map(reach).collect()
    }

    fn collect_reached(
        &self,
        start: Vertex,
        turn: impl Fn(&DirectedEdge) -> EdgeEnds,
    ) -> Vec<bool> {
        let mut next: BTreeMap<Vertex, Vec<Vertex>> = BTreeMap::new();
        for ends in self.graph.edges().iter().map(turn) {
            next.entry(ends.from).or_default().push(ends.to);
        }
        let mut reached = vec![false; self.graph.count_vertices()];
        let mut open = vec![start];
        while let Some(vertex) = open.pop() {
            let Some(seen) = reached.get_mut(vertex.0 as usize) else { continue };
            if !std::mem::replace(seen, true) {
                open.extend(next.get(&vertex).into_iter().flatten());
            }
        }
        reached
    }

    /// Breadth first, over the edges that can be used.
    fn find_path(
        &self,
        from: Vertex,
        to: Vertex,
        usable: impl Fn(&DirectedEdge) -> bool,
    ) -> Option<Path> {
        let mut before: Vec<Option<DirectedEdge>> = vec![None; self.graph.count_vertices()];
        let mut open = std::collections::VecDeque::from([from]);
        while let Some(vertex) = open.pop_front() {
            if vertex == to {
                break;
            }
            for edge in self.edges_from(vertex).iter().filter(|edge| usable(edge)) {
                if let Some(slot) = before.get_mut(edge.to.0 as usize)
                    && slot.is_none()
                    && edge.to != from
                {
                    *slot = Some(*edge);
                    open.push_back(edge.to);
                }
            }
        }
        let mut edges = Vec::new();
        let mut at = to;
        while at != from {
            let edge = before.get(at.0 as usize).copied().flatten()?;
            at = edge.from;
            edges.push(edge);
        }
        let mut vertices = vec![from];
        vertices.extend(edges.iter().rev().map(|edge| edge.to));
        let rate = edges.iter().map(|edge| edge.rate.amount).min()?;
        let latency_ns = edges.iter().map(|edge| edge.latency_ns).sum();
        Some(Path { vertices, rate, latency_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::{Machine, MachineReach};
    use crate::source::{FileId, Span};
    use std::collections::BTreeMap;
    use synth::graph::{
        DirectedEdge, EdgeAbilities, EdgeRate, RateUnit, SwitchAbilities, Topology, Vertex,
    };
    use synth::rational::Rational;

    /// An edge for memory channels with a rate in GB/s.
    pub(super) fn edge(from: u32, to: u32, rate: u64, latency_ns: u64) -> DirectedEdge {
        DirectedEdge {
            from: Vertex(from),
            to: Vertex(to),
            rate: EdgeRate {
                amount: Rational::from_integer(rate * 1_000_000_000),
                unit: RateUnit::BytesPerSecond,
            },
            latency_ns,
            abilities: EdgeAbilities { memory: true, port: false },
        }
    }

    /// A machine `m` of these ranks and edges, and a switch `s` with these abilities behind the ranks.
    pub(super) fn machine(ranks: u32, switch: SwitchAbilities, edges: &[DirectedEdge]) -> Machine {
        Machine {
            name: "m".to_owned(),
            declared: Span { file: FileId(0), start: 0, end: 0 },
            removed_links: None,
            graph: Topology::new(ranks, vec![switch], edges).unwrap(),
            nodes: None,
            switches: vec!["s".to_owned()],
            places: BTreeMap::new(),
            reach: MachineReach::default(),
        }
    }
}
