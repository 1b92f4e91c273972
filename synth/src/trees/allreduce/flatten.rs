//! Flatter trees in the same time: a pair of trees is replaced by one on edges that have room for it, if that is not as
//! deep.

use super::super::TreeDirection;
use super::super::budget::FlowMeter;
use super::super::error::TreeError;
use super::half::measure_depth;
use super::pieces::{find_rooms, measure_loads};
use super::program::{Halves, TreePair, WeightedPair};
use crate::dense::DenseMap;
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::rational::Rational;

/// Up to so many ranks, other roots are tried, too.
const MAX_MOVED_RANKS: u32 = 1 << 4;

/// Replaces pairs, as far as the budget goes. `rounds` is the time in which all edges carry all pieces.
pub(super) fn flatten_pairs(
    topology: &Topology,
    halves: &Halves,
    pairs: &mut [WeightedPair],
    rounds: Rational,
    meter: &mut FlowMeter,
) -> Result<(), TreeError> {
    let mut loads = measure_loads(topology, pairs)?;
    let rooms = find_rooms(topology, rounds)?;
    for own in pairs.iter_mut() {
        let WeightedPair { pair, weight } = own;
        let depth = measure_pair(topology, pair);
        // A rank sends directly to all others, and back.
        if depth <= 2 {
            continue;
        }
        pair.list_uses().for_each(|edge| loads[edge] -= *weight);
        let search = FlatSearch { topology, halves, loads: &loads, rooms: &rooms, weight: *weight };
        match search.find_flatter(pair, depth, meter) {
            Ok(found) => *pair = found.unwrap_or_else(|| pair.clone()),
            // What was found before is kept.
            Err(TreeError::OutOfBudget(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
        pair.list_uses().for_each(|edge| loads[edge] += *weight);
    }
    Ok(())
}

/// The depths of both trees.
pub(super) fn measure_pair(topology: &Topology, pair: &TreePair) -> u32 {
    measure_depth(topology, &pair.sums, TreeDirection::ToRoot)
        + measure_depth(topology, &pair.copies, TreeDirection::FromRoot)
}

/// The search for a pair in what others leave over.
struct FlatSearch<'a> {
    topology: &'a Topology,
    halves: &'a Halves,
    loads: &'a DenseMap<EdgeIndex, u64>,
    rooms: &'a DenseMap<EdgeIndex, u64>,
    weight: u64,
}

impl FlatSearch<'_> {
    fn find_flatter(
        &self,
        pair: &TreePair,
        depth: u32,
        meter: &mut FlowMeter,
    ) -> Result<Option<TreePair>, TreeError> {
        let edges = (0..self.topology.edges().len() as u32).map(EdgeIndex);
        // Edges without room cost so much that they are used only where nothing else leads on.
        let length = |edge: EdgeIndex| {
            let is_full = self.loads[edge] + self.weight > self.rooms[edge];
            f64::from(u8::from(is_full))
        };
        let paths = self.halves.find_paths(&edges.map(length).collect::<Vec<f64>>().into());
        let can_move = self.topology.count_ranks() <= MAX_MOVED_RANKS;
        let is_tried = |root: &Vertex| can_move || *root == pair.root;
        let mut best = None;
        let mut least = depth;
        for root in self.topology.ranks().filter(is_tried) {
            let Some(found) = paths.find_pair(root, meter)? else { continue };
            let depth = measure_pair(self.topology, &found.pair);
            if depth < least && self.has_room(&found.pair) {
                least = depth;
                best = Some(found.pair);
            }
        }
        Ok(best)
    }

    fn has_room(&self, pair: &TreePair) -> bool {
        let mut uses: DenseMap<EdgeIndex, u64> = DenseMap::filled(self.loads.len(), 0);
        pair.list_uses().for_each(|edge| uses[edge] += self.weight);
        pair.list_uses().all(|edge| self.loads[edge] + uses[edge] <= self.rooms[edge])
    }
}
