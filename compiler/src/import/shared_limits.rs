//! Limits that links share, as switches.
//!
//! A switch of msccl-tools adds no link: what all links from its sources to its destinations carry together is at most
//! its bandwidth. Here each link of a rank to another one becomes a path through the switches that stand for its limits,
//! each of which is two vertices, joined by an edge of the limit's bandwidth. Where all links of a path's edge are one,
//! the edge carries what that link does; otherwise each of them has to be as wide as one of its limits, which then
//! implies its own.
//!
//! The rule: the paths between ranks through switches are exactly the links, each with its limits and no others. Then a
//! flow over links that keeps the limits is one over paths that keeps the edges, and the other way round, so that the same
//! can be sent. [`check_paths`] tests that for what has been built, and what does not pass is refused.

mod hub;
mod paths;

use super::{
    ChannelAbilities, ImportError, ImportedLink, ImportedSwitch, ImportedTopology, ImportedVertex,
    TextPlace,
};
use paths::check_paths;
use std::collections::BTreeMap;
use synth::graph::MAX_VERTICES;

/// How many links are looked at for all limits together; a hub of 512 ranks takes 2^20. It bounds time, to a fraction of a
/// second, and exceeding it is reported.
const MAX_EXAMINED_LINKS: usize = 1 << 23;

/// A link from a rank to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LimitedLink {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) bandwidth: u64,
}

/// What all links from sources to destinations carry together at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SharedLimit {
    /// Its position in the text.
    pub(super) index: usize,
    pub(super) name: String,
    /// Ranks, ascending.
    pub(super) sources: Vec<u32>,
    /// Ranks, ascending.
    pub(super) destinations: Vec<u32>,
    pub(super) bandwidth: u64,
}

/// Adds links, sorted by their ends, and switches for their limits.
///
/// # Errors
/// A limit cannot be expressed, or there is too much. `find_place` tells where a limit is.
pub(super) fn build_limited(
    topology: &mut ImportedTopology,
    links: &[LimitedLink],
    limits: &[SharedLimit],
    find_place: impl Fn(usize) -> TextPlace,
) -> Result<(), ImportError> {
    if limits.len() > MAX_VERTICES {
        return Err(super::too_many_vertices(find_place(MAX_VERTICES)));
    }
    let mut plan = LimitPlan::new(links);
    let mut kept = plan.assign_limits(topology, limits, &find_place)?;
    kept.sort_by_key(|limit| {
        (limit.sources.len(), std::cmp::Reverse(limit.destinations.len()), limit.index)
    });
    for (order, limit) in kept.iter().enumerate() {
        for link in plan.find_links(limit) {
            if let Some(limits) = plan.limits_of.get_mut(link) {
                limits.push(order);
            }
        }
    }
    let hubs = hub::find_hubs(&plan, &kept);
    hub::add_hubs(topology, &hubs, &find_place)?;
    let graph = LimitGraph::build(&plan, &kept, &hubs);
    graph.check_bandwidths(&plan, &kept, &find_place)?;
    check_paths(&graph, &plan, &kept, &find_place)?;
    graph.write(topology, &kept, &find_place)?;
    topology.add_note(
        "A switch of msccl-tools only limits what its links carry together. Here links with such limits are \
         paths through switches; there is a path for each link and no other, so that the same can be sent.",
    );
    Ok(())
}

/// Links and the limits that they have.
struct LimitPlan {
    /// Sorted by their ends.
    links: Vec<LimitedLink>,
    /// The indices of links, sorted by where they lead.
    by_destination: Vec<usize>,
    /// For each link its limits, in the order in which its path passes them.
    limits_of: Vec<Vec<usize>>,
}

impl LimitPlan {
    fn new(links: &[LimitedLink]) -> LimitPlan {
        let mut by_destination: Vec<usize> = (0..links.len()).collect();
        by_destination.sort_by_key(|index| links.get(*index).map(|link| link.to));
        let limits_of = vec![Vec::new(); links.len()];
        LimitPlan { links: links.to_vec(), by_destination, limits_of }
    }

    fn links_from(&self, rank: u32) -> std::ops::Range<usize> {
        let begin = self.links.partition_point(|link| link.from < rank);
        begin..self.links.partition_point(|link| link.from <= rank)
    }

    fn links_to(&self, rank: u32) -> &[usize] {
        let find_end = |index: &usize| self.links.get(*index).map_or(0, |link| link.to);
        let begin = self.by_destination.partition_point(|index| find_end(index) < rank);
        let end = self.by_destination.partition_point(|index| find_end(index) <= rank);
        self.by_destination.get(begin..end).unwrap_or_default()
    }

    /// The links that a limit may be for, by their indices: those of its fewer ends.
    fn list_candidates(&self, limit: &SharedLimit) -> Vec<usize> {
        if limit.sources.len() <= limit.destinations.len() {
            limit.sources.iter().flat_map(|rank| self.links_from(*rank)).collect()
        } else {
            limit.destinations.iter().flat_map(|rank| self.links_to(*rank)).copied().collect()
        }
    }

    /// The links that a limit is for, by their indices.
    fn find_links(&self, limit: &SharedLimit) -> Vec<usize> {
        let mut found = self.list_candidates(limit);
        found.retain(|index| {
            self.links.get(*index).is_some_and(|link| {
                limit.sources.binary_search(&link.from).is_ok()
                    && limit.destinations.binary_search(&link.to).is_ok()
            })
        });
        found
    }

    /// The limits that matter. One of a single link becomes that link's own.
    fn assign_limits(
        &mut self,
        topology: &mut ImportedTopology,
        limits: &[SharedLimit],
        find_place: impl Fn(usize) -> TextPlace,
    ) -> Result<Vec<SharedLimit>, ImportError> {
        let mut kept = Vec::new();
        let mut idle = Vec::new();
        let mut examined = 0;
        for limit in limits {
            examined += self.list_candidates(limit).len() + limit.sources.len();
            if examined > MAX_EXAMINED_LINKS {
                let message = "the switches have too many links in all";
                let help = "describe a part of the machine";
                return Err(ImportError::new(find_place(limit.index), message, help));
            }
            let found = self.find_links(limit);
            let bandwidths =
                found.iter().filter_map(|link| self.links.get(*link).map(|link| link.bandwidth));
            let sum: u64 = bandwidths.fold(0, u64::saturating_add);
            if sum <= limit.bandwidth {
                idle.push(format!("`{}`", limit.name));
            } else if let [only] = found.as_slice() {
                if let Some(link) = self.links.get_mut(*only) {
                    link.bandwidth = limit.bandwidth;
                }
            } else {
                kept.push(limit.clone());
            }
        }
        if !idle.is_empty() {
            topology.add_note(format!(
                "Left out, because their links carry no more than they allow: the switches {}.",
                super::list_names(&idle)
            ));
        }
        Ok(kept)
    }
}

/// A vertex of the graph that stands for links and limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LimitVertex {
    Rank(u32),
    /// Where what a limit is for comes in; the edge to its exit has its bandwidth.
    Entry(usize),
    Exit(usize),
}

/// An edge of the graph between limits, or between a limit and a rank, or for a link without limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LimitEdge {
    from: LimitVertex,
    to: LimitVertex,
}

/// The links whose paths use an edge.
#[derive(Clone, Copy, Debug)]
struct EdgeUse {
    count: u32,
    /// What they carry together at most, by their own bandwidths.
    bandwidth: u64,
}

struct LimitGraph {
    edges: BTreeMap<LimitEdge, EdgeUse>,
}

/// The edges of a link's path but those within limits.
fn list_edges(link: LimitedLink, limits: &[usize]) -> Vec<LimitEdge> {
    let mut edges = Vec::with_capacity(limits.len() + 1);
    let mut from = LimitVertex::Rank(link.from);
    for limit in limits {
        edges.push(LimitEdge { from, to: LimitVertex::Entry(*limit) });
        from = LimitVertex::Exit(*limit);
    }
    edges.push(LimitEdge { from, to: LimitVertex::Rank(link.to) });
    edges
}

impl LimitGraph {
    /// The graph of all links that are not those of hubs.
    fn build(plan: &LimitPlan, limits: &[SharedLimit], hubs: &[hub::LimitHub]) -> LimitGraph {
        let mut is_of_hub = vec![false; limits.len()];
        for limit in hubs.iter().flat_map(|hub| &hub.limits) {
            if let Some(slot) = is_of_hub.get_mut(*limit) {
                *slot = true;
            }
        }
        let mut edges: BTreeMap<LimitEdge, EdgeUse> = BTreeMap::new();
        for (link, limits) in plan.links.iter().zip(&plan.limits_of) {
            let first = limits.first().and_then(|limit| is_of_hub.get(*limit));
            if first.is_some_and(|is_of_hub| *is_of_hub) {
                continue;
            }
            for edge in list_edges(*link, limits) {
                let used = edges.entry(edge).or_insert(EdgeUse { count: 0, bandwidth: 0 });
                used.count += 1;
                used.bandwidth = used.bandwidth.saturating_add(link.bandwidth);
            }
        }
        LimitGraph { edges }
    }

    fn is_own_edge(&self, edge: LimitEdge) -> bool {
        self.edges.get(&edge).is_some_and(|used| used.count == 1)
    }

    /// Each link has an edge of its own, or is as wide as one of its limits.
    fn check_bandwidths(
        &self,
        plan: &LimitPlan,
        limits: &[SharedLimit],
        find_place: impl Fn(usize) -> TextPlace,
    ) -> Result<(), ImportError> {
        for (link, own) in plan.links.iter().zip(&plan.limits_of) {
            let narrowest = own.iter().filter_map(|limit| limits.get(*limit));
            let Some(narrowest) = narrowest.min_by_key(|limit| limit.bandwidth) else { continue };
            let edges = list_edges(*link, own);
            let is_of_hub = edges.iter().any(|edge| !self.edges.contains_key(edge));
            let is_kept = edges.iter().any(|edge| self.is_own_edge(*edge));
            if is_of_hub || is_kept || link.bandwidth >= narrowest.bandwidth {
                continue;
            }
            let message = format!(
                "the link from rank {} to rank {} carries {}, less than its switch `{}`, and shares its whole path",
                link.from, link.to, link.bandwidth, narrowest.name
            );
            let help = format!(
                "switches cannot express both limits: remove the switch, or give the link {}",
                narrowest.bandwidth
            );
            return Err(ImportError::new(find_place(narrowest.index), message, help));
        }
        Ok(())
    }

    /// What an edge carries: what its links carry together, but no more than the limits at its ends.
    fn find_bandwidth(&self, edge: LimitEdge, used: EdgeUse, limits: &[SharedLimit]) -> u64 {
        let find_limit = |vertex| match vertex {
            LimitVertex::Rank(_) => None,
            LimitVertex::Entry(limit) | LimitVertex::Exit(limit) => {
                limits.get(limit).map(|limit| limit.bandwidth)
            }
        };
        let ends = [edge.from, edge.to].into_iter().filter_map(find_limit);
        ends.fold(used.bandwidth, u64::min)
    }

    /// Adds switches and links. A limit with one edge before or behind it needs one vertex only, because edges behind each
    /// other carry what the narrower one does.
    fn write(
        &self,
        topology: &mut ImportedTopology,
        limits: &[SharedLimit],
        find_place: impl Fn(usize) -> TextPlace,
    ) -> Result<(), ImportError> {
        let mut entered = vec![0_u32; limits.len()];
        let mut left = vec![0_u32; limits.len()];
        for edge in self.edges.keys() {
            if let LimitVertex::Entry(limit) = edge.to
                && let Some(count) = entered.get_mut(limit)
            {
                *count += 1;
            }
            if let LimitVertex::Exit(limit) = edge.from
                && let Some(count) = left.get_mut(limit)
            {
                *count += 1;
            }
        }
        let mut vertices: BTreeMap<LimitVertex, ImportedVertex> = BTreeMap::new();
        for (order, limit) in limits.iter().enumerate() {
            let (entered, left) = (entered.get(order).copied(), left.get(order).copied());
            if entered.is_none_or(|count| count == 0) {
                continue;
            }
            let mut add = |name: String| {
                topology.add_switch(ImportedSwitch {
                    name,
                    label: Some(format!("The limit `{}`.", limit.name)),
                    ports: Vec::new(),
                    latency_ns: 0,
                    abilities: ChannelAbilities::ALL,
                })
            };
            let name = format!("limit_{}", limit.index);
            if entered == Some(1) || left == Some(1) {
                let vertex = add(name);
                vertices.insert(LimitVertex::Entry(order), vertex);
                vertices.insert(LimitVertex::Exit(order), vertex);
                continue;
            }
            let (entry, exit) = (add(format!("{name}_in")), add(format!("{name}_out")));
            vertices.insert(LimitVertex::Entry(order), entry);
            vertices.insert(LimitVertex::Exit(order), exit);
            topology
                .add_link(link_for_all(entry, exit, limit.bandwidth), find_place(limit.index))?;
        }
        for (edge, used) in &self.edges {
            let find_vertex = |vertex| match vertex {
                LimitVertex::Rank(rank) => Some(ImportedVertex::Rank(rank)),
                LimitVertex::Entry(_) | LimitVertex::Exit(_) => vertices.get(&vertex).copied(),
            };
            let (Some(from), Some(to)) = (find_vertex(edge.from), find_vertex(edge.to)) else {
                continue;
            };
            let bandwidth = self.find_bandwidth(*edge, *used, limits);
            topology.add_link(link_for_all(from, to, bandwidth), TextPlace::START)?;
        }
        Ok(())
    }
}

/// A link for all channels, without a latency.
fn link_for_all(from: ImportedVertex, to: ImportedVertex, bandwidth: u64) -> ImportedLink {
    ImportedLink { from, to, bandwidth, latency_ns: 0, abilities: ChannelAbilities::ALL }
}

#[cfg(test)]
mod tests;
