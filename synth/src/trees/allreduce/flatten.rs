//! Flatter trees in the same time: a pair of trees is replaced by one on edges that have room for it, if that is not as
//! deep.

use super::super::TreeDirection;
use super::super::budget::FlowMeter;
use super::super::error::TreeError;
use super::group::TreeGroup;
use super::half::measure_depth;
use super::pieces::{expand_pairs, find_rooms, measure_loads, measure_rounds};
use super::program::{TreeHalves, TreePair, WeightedPair};
use crate::dense::DenseMap;
use crate::graph::{EdgeIndex, Topology, Vertex};
use std::collections::BTreeMap;

/// Up to so many ranks, other roots are tried, too.
const MAX_MOVED_RANKS: u32 = 1 << 4;

/// Replaces pairs, each with all of its images under a group, as far as the budget goes, such that no edge carries more
/// than one does in the time that they take before.
pub(super) fn flatten_pairs(
    topology: &Topology,
    group: &TreeGroup,
    halves: &TreeHalves,
    pairs: &mut [WeightedPair],
    meter: &mut FlowMeter,
) -> Result<(), TreeError> {
    let expanded = expand_pairs(group, pairs);
    let loads = measure_loads(topology, &expanded)?;
    let rooms = find_rooms(topology, measure_rounds(topology, &expanded)?)?;
    let mut search = FlatSearch { topology, group, halves, loads, rooms };
    for WeightedPair { pair, weight } in pairs.iter_mut() {
        let depth = measure_pair(topology, pair);
        // A rank sends directly to all others, and back.
        if depth <= 2 {
            continue;
        }
        for (edge, uses) in search.count_uses(pair) {
            search.loads[edge] -= *weight * uses;
        }
        match search.find_flatter(pair, *weight, meter) {
            Ok(found) => *pair = found.unwrap_or_else(|| pair.clone()),
            // What was found before is kept.
            Err(TreeError::OutOfBudget(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
        for (edge, uses) in search.count_uses(pair) {
            search.loads[edge] += *weight * uses;
        }
    }
    Ok(())
}

/// The depths of both trees.
pub(super) fn measure_pair(topology: &Topology, pair: &TreePair) -> u32 {
    measure_depth(topology, &pair.sums, TreeDirection::ToRoot)
        + measure_depth(topology, &pair.copies, TreeDirection::FromRoot)
}

/// The search for a pair in what others leave over. Edges of an orbit carry as much: what the first one carries counts.
struct FlatSearch<'a> {
    topology: &'a Topology,
    group: &'a TreeGroup,
    halves: &'a TreeHalves,
    loads: DenseMap<EdgeIndex, u64>,
    rooms: DenseMap<EdgeIndex, u64>,
}

impl FlatSearch<'_> {
    /// How often a pair and its images use the first edge of each orbit.
    fn count_uses(&self, pair: &TreePair) -> BTreeMap<EdgeIndex, u64> {
        let mut uses = BTreeMap::new();
        for edge in pair.list_uses() {
            *uses.entry(self.group.edges.find_first(edge)).or_default() +=
                self.group.count_uses(edge);
        }
        uses
    }

    fn find_flatter(
        &self,
        pair: &TreePair,
        weight: u64,
        meter: &mut FlowMeter,
    ) -> Result<Option<TreePair>, TreeError> {
        let edges = (0..self.topology.edges().len() as u32).map(EdgeIndex);
        // Edges without room cost so much that they are used only where nothing else leads on.
        let length = |edge: EdgeIndex| {
            let first = self.group.edges.find_first(edge);
            let added = weight * self.group.count_uses(edge);
            f64::from(u8::from(self.loads[first] + added > self.rooms[first]))
        };
        let paths = self.halves.find_paths(&edges.map(length).collect::<Vec<f64>>().into());
        let can_move = self.topology.count_ranks() <= MAX_MOVED_RANKS;
        let is_tried = |root: &&Vertex| can_move || **root == pair.root;
        let mut best = None;
        let mut least = measure_pair(self.topology, pair);
        for root in self.group.roots.iter().chain([&pair.root]).filter(is_tried) {
            let Some(found) = paths.find_pair(*root, meter)? else { continue };
            let depth = measure_pair(self.topology, &found.pair);
            if depth < least && self.has_room(&found.pair, weight) {
                least = depth;
                best = Some(found.pair);
            }
        }
        Ok(best)
    }

    fn has_room(&self, pair: &TreePair, weight: u64) -> bool {
        let uses = self.count_uses(pair).into_iter();
        let mut loads = uses.map(|(edge, uses)| (edge, self.loads[edge] + weight * uses));
        loads.all(|(edge, load)| load <= self.rooms[edge])
    }
}
