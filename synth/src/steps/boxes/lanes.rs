//! The lanes from a box to another one: pairs of ranks that are joined by a hop, chosen so that what they carry together
//! is spread evenly over the network cards. On rails, each rank has a lane to the one in its rail.

use super::BoxError;
use super::grouping::{BoxGrouping, BoxIndex};
use super::paths::HopPaths;
use crate::dense::DenseMap;
use crate::graph::Vertex;
use std::collections::BTreeMap;

/// What rates are multiplied by, so that they can be shared by up to ten lanes each without remainders.
const SHARE_SCALE: u64 = 2520;

/// A hop that carries a share of what a box has for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    pub(super) from: Vertex,
    pub(super) to: Vertex,
    /// Its share, relative to the other lanes of all boxes.
    pub(super) share: u64,
}

/// The lanes between all boxes.
pub(super) struct LaneMap {
    lanes: DenseMap<BoxIndex, DenseMap<BoxIndex, Vec<Lane>>>,
    /// The rate of a lane with a share of 1, in pieces per round; at least 1.
    pub(super) rate: u64,
}

impl LaneMap {
    /// The lanes between boxes that have something for one another.
    pub(super) fn find(
        boxes: &BoxGrouping,
        amounts: &DenseMap<BoxIndex, DenseMap<BoxIndex, u64>>,
        paths: &mut HopPaths<'_>,
    ) -> Result<LaneMap, BoxError> {
        let count = boxes.boxes().len();
        let mut lanes = DenseMap::filled(count, DenseMap::filled(count, Vec::new()));
        let mut common = 0;
        for from in boxes.indices() {
            for to in boxes.indices().filter(|to| amounts[from][*to] > 0) {
                let found = choose_lanes(boxes.ranks(from), boxes.ranks(to), paths);
                if found.is_empty() {
                    return Err(BoxError::NoLane { from, to });
                }
                common = found.iter().fold(common, |common, lane| divide(common, lane.share));
                lanes[from][to] = found;
            }
        }
        let common = common.max(1);
        let all = lanes.as_mut_slice().iter_mut().flat_map(|row| row.as_mut_slice());
        all.flatten().for_each(|lane| lane.share /= common);
        Ok(LaneMap { lanes, rate: (common / SHARE_SCALE).max(1) })
    }

    /// The lanes from a box to another one.
    pub(super) fn list(&self, from: BoxIndex, to: BoxIndex) -> &[Lane] {
        &self.lanes[from][to]
    }

    /// The least share of a lane; at least 1.
    pub(super) fn least_share(&self) -> u64 {
        let all = self.lanes.as_slice().iter().flat_map(|row| row.as_slice()).flatten();
        all.map(|lane| lane.share).min().unwrap_or(1)
    }
}

/// How often a rank is the end of a lane.
type LaneUses = BTreeMap<Vertex, u64>;

/// Gives each rank that can a lane to one that has the fewest so far, of these the one on the shortest way, and of these
/// the widest; then the ranks that have none, from others.
fn choose_lanes(senders: &[Vertex], receivers: &[Vertex], paths: &mut HopPaths<'_>) -> Vec<Lane> {
    let mut uses = [LaneUses::new(), LaneUses::new()];
    let mut chosen: Vec<Lane> = Vec::new();
    let candidates = senders.len().max(receivers.len());
    for (index, &from) in senders.iter().enumerate() {
        let rotated = rotate(receivers, index, candidates);
        choose_lane(rotated.map(|to| Ends { from, to }), &mut uses, &mut chosen, paths);
    }
    for (index, &to) in receivers.iter().enumerate() {
        if !uses.iter().any(|uses| uses.contains_key(&to)) {
            let rotated = rotate(senders, index, candidates);
            choose_lane(rotated.map(|from| Ends { from, to }), &mut uses, &mut chosen, paths);
        }
    }
    for lane in &mut chosen {
        let count = |end: Vertex| uses.iter().filter_map(|uses| uses.get(&end)).sum::<u64>();
        let sharing = count(lane.from).max(count(lane.to)).max(1);
        lane.share = (lane.share.saturating_mul(SHARE_SCALE) / sharing).max(1);
    }
    chosen
}

#[derive(Clone, Copy)]
struct Ends {
    from: Vertex,
    to: Vertex,
}

/// All members, the one at an index first.
fn rotate(ranks: &[Vertex], index: usize, count: usize) -> impl Iterator<Item = Vertex> + use<'_> {
    (0..count.min(ranks.len()))
        .filter_map(move |offset| ranks.get((index + offset) % ranks.len()).copied())
}

fn choose_lane(
    candidates: impl Iterator<Item = Ends>,
    uses: &mut [LaneUses; 2],
    chosen: &mut Vec<Lane>,
    paths: &mut HopPaths<'_>,
) {
    let [sender_uses, receiver_uses] = uses;
    let mut best = None;
    for ends in candidates {
        let Some(length) = paths.measure_length(ends.from, ends.to) else { continue };
        let width = paths.measure_width(ends.from, ends.to);
        let used = |uses: &LaneUses, end| uses.get(&end).copied().unwrap_or(0);
        let sharing = used(sender_uses, ends.from) + used(receiver_uses, ends.to);
        let key = (sharing, length, std::cmp::Reverse(width));
        if best.as_ref().is_none_or(|(least, _)| key < *least) {
            best = Some((key, Lane { from: ends.from, to: ends.to, share: width }));
        }
    }
    if let Some((_, lane)) = best {
        *sender_uses.entry(lane.from).or_default() += 1;
        *receiver_uses.entry(lane.to).or_default() += 1;
        chosen.push(lane);
    }
}

/// The greatest common divisor.
fn divide(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::{Lane, choose_lanes};
    use crate::families::{BoxShape, RelativeGraph, build_boxes, build_two_cliques};
    use crate::graph::{SwitchAbilities, Topology, Vertex};
    use crate::steps::boxes::grouping::BoxGrouping;
    use crate::steps::boxes::paths::HopPaths;

    /// The lanes from the first box to the second one, with twice what they carry in a round.
    fn choose(topology: &Topology) -> Vec<[u64; 3]> {
        let boxes = BoxGrouping::find(topology).unwrap();
        let mut paths = HopPaths::new(topology, &boxes);
        let lanes = choose_lanes(&boxes.boxes()[0], &boxes.boxes()[1], &mut paths);
        let list =
            |lane: &Lane| [u64::from(lane.from.0), u64::from(lane.to.0), lane.share * 2 / 2520];
        lanes.iter().map(list).collect()
    }

    #[test]
    fn lanes_are_rails() {
        let abilities = SwitchAbilities::default();
        for rails in [1, 2, 4] {
            let shape =
                BoxShape { boxes: 2, ranks: 4, port_rate: 3, card_rate: 1, rails, abilities };
            let lanes = choose(&build_boxes(shape).unwrap());
            assert_eq!(lanes, [[0, 4, 2], [1, 5, 2], [2, 6, 2], [3, 7, 2]]);
        }
        assert_eq!(choose(&build_two_cliques(3, 4).unwrap()), [[2, 3, 2]]);
    }

    #[test]
    fn cards_of_different_ranks_share_what_they_carry() {
        // Ranks 0 and 1 have cards; only rank 5 of the other box has one.
        let mut graph = RelativeGraph::new(6);
        let network = graph.add_switch(SwitchAbilities::default());
        for first in [0, 3] {
            for (one, other) in [(0, 1), (0, 2), (1, 2)] {
                graph.add_link(Vertex(first + one), Vertex(first + other), 8);
            }
        }
        for rank in [0, 1, 5] {
            graph.add_link(Vertex(rank), network, 4);
        }
        assert_eq!(choose(&graph.build().unwrap()), [[0, 5, 1], [1, 5, 1]]);
    }
}
