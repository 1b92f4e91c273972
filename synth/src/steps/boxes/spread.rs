//! Which piece takes which lane in which part, so that all lanes between two boxes carry their share, and as few pieces
//! as possible have to be moved inside boxes twice, or before the first part, or after the last one.
//!
//! A piece whose origin is where the lane begins can go at once, and one whose receiver is where it ends has arrived
//! then: such pieces are matched to lanes by a maximum flow. What is left takes any lane.

use super::lanes::Lane;
use super::timeline::PartSpan;
use super::traffic::PairPieces;
use crate::flow::{FlowArc, FlowNetwork, FlowNode};
use crate::graph::Vertex;
use crate::schedule::Piece;

/// A piece, and how it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlannedPiece {
    pub(super) piece: Piece,
    pub(super) from: Vertex,
    pub(super) to: Vertex,
    /// None for a piece that stays in its box.
    pub(super) crossing: Option<Crossing>,
}

/// How a piece gets from a box to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Crossing {
    /// The rank that sends it, in the box of its origin.
    pub(super) from: Vertex,
    /// The rank that gets it, in the box of its receiver.
    pub(super) to: Vertex,
    pub(super) part: u32,
}

/// What is known of two boxes.
pub(super) struct SpreadRequest<'a> {
    /// What ranks of the one have for ranks of the other.
    pub(super) pairs: &'a [PairPieces],
    pub(super) lanes: &'a [Lane],
    /// When lanes send, in order.
    pub(super) spans: &'a [PartSpan],
    /// How many parts there are for all boxes.
    pub(super) parts: u32,
    /// Which of the lanes are the first to get a piece more than others; any number.
    pub(super) turn: usize,
}

/// Which parts: those that nothing can be moved inside the box before, or after, and the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartClass {
    First,
    Between,
    Last,
}

const CLASSES: [PartClass; 3] = [PartClass::Between, PartClass::First, PartClass::Last];

/// How many pieces a lane takes in a part.
struct LaneSlot {
    lane: usize,
    part: u32,
    class: PartClass,
    room: u64,
}

/// What of a pair goes over a lane in the parts of a class.
struct SlotArc {
    pair: usize,
    slot: usize,
    arc: FlowArc,
}

/// Plans all pieces.
pub(super) fn spread_pieces(request: &SpreadRequest<'_>) -> Vec<PlannedPiece> {
    let mut slots = list_slots(request);
    let mut rest: Vec<u64> = request.pairs.iter().map(|pair| u64::from(pair.count)).collect();
    let mut planned = Vec::new();
    let mut take = |pair: usize, slot: &mut LaneSlot, amount: u64, rest: &mut Vec<u64>| {
        let (Some(own), Some(left), Some(lane)) =
            (request.pairs.get(pair), rest.get_mut(pair), request.lanes.get(slot.lane))
        else {
            return;
        };
        let amount = amount.min(*left).min(slot.room);
        let first = u64::from(own.first.0) + (u64::from(own.count) - *left);
        *left -= amount;
        slot.room -= amount;
        let crossing = Crossing { from: lane.from, to: lane.to, part: slot.part };
        planned.extend((first..first + amount).map(|piece| PlannedPiece {
            piece: Piece(piece as u32),
            from: own.from,
            to: own.to,
            crossing: Some(crossing),
        }));
    };
    let (network, arcs) = match_slots(request, &slots);
    for own in arcs {
        if let Some(slot) = slots.get_mut(own.slot) {
            take(own.pair, slot, network.flow(own.arc), &mut rest);
        }
    }
    for class in CLASSES {
        for slot in slots.iter_mut().filter(|slot| slot.class == class) {
            for pair in 0..request.pairs.len() {
                take(pair, slot, u64::MAX, &mut rest);
            }
        }
    }
    planned
}

/// The share of each lane in each part. Together they have room for all pieces.
fn list_slots(request: &SpreadRequest<'_>) -> Vec<LaneSlot> {
    let pieces: u128 = request.pairs.iter().map(|pair| u128::from(pair.count)).sum();
    let shares: u128 = request.lanes.iter().map(|lane| u128::from(lane.share)).sum();
    let length: u128 = request.spans.iter().map(|span| u128::from(span.length)).sum();
    let mut slots = Vec::new();
    let mut share_before: u128 = 0;
    for index in 0..request.lanes.len() {
        let lane = (index + request.turn) % request.lanes.len();
        let share = request.lanes.get(lane).map_or(0, |lane| u128::from(lane.share));
        let count = (share_before + share) * pieces / shares - share_before * pieces / shares;
        share_before += share;
        let mut time = 0;
        let mut before = 0;
        for span in request.spans {
            time += u128::from(span.length);
            // Rounded to the nearest, so that no lane has more than fits if it has fewer than others.
            let until = (2 * count * time + length) / (2 * length);
            let class = match span.part {
                0 if request.parts > 1 => PartClass::First,
                part if part + 1 == request.parts && request.parts > 1 => PartClass::Last,
                _ => PartClass::Between,
            };
            slots.push(LaneSlot { lane, part: span.part, class, room: (until - before) as u64 });
            before = until;
        }
    }
    slots
}

/// Matches as many pieces as possible to slots that they can take without a step more.
fn match_slots(request: &SpreadRequest<'_>, slots: &[LaneSlot]) -> (FlowNetwork, Vec<SlotArc>) {
    let pairs = request.pairs.len();
    let mut network = FlowNetwork::new(2 + pairs + slots.len());
    let [source, sink] = [FlowNode(0), FlowNode(1)];
    let pair_node = |pair: usize| FlowNode(2 + pair as u32);
    let slot_node = |slot: usize| FlowNode(2 + (pairs + slot) as u32);
    for (index, pair) in request.pairs.iter().enumerate() {
        network.add_arc(source, pair_node(index), u64::from(pair.count));
    }
    let mut arcs = Vec::new();
    for (index, slot) in slots.iter().enumerate() {
        network.add_arc(slot_node(index), sink, slot.room);
        let Some(lane) = request.lanes.get(slot.lane) else { continue };
        for (number, pair) in request.pairs.iter().enumerate() {
            let (is_ready, is_there) = (pair.from == lane.from, pair.to == lane.to);
            let is_fit = match slot.class {
                PartClass::First => is_ready,
                PartClass::Last => is_there,
                PartClass::Between => is_ready || is_there,
            };
            if is_fit && slot.room > 0 {
                let arc =
                    network.add_arc(pair_node(number), slot_node(index), u64::from(pair.count));
                arcs.push(SlotArc { pair: number, slot: index, arc });
            }
        }
    }
    network.maximize_flow(source, sink, u64::MAX);
    (network, arcs)
}

#[cfg(test)]
mod tests {
    use super::{PlannedPiece, SpreadRequest, spread_pieces};
    use crate::graph::Vertex;
    use crate::schedule::Piece;
    use crate::steps::boxes::lanes::Lane;
    use crate::steps::boxes::timeline::PartSpan;
    use crate::steps::boxes::traffic::PairPieces;
    use std::collections::BTreeMap;

    const RANKS: u32 = 4;

    fn rails() -> Vec<Lane> {
        let lane = |rank| Lane { from: Vertex(rank), to: Vertex(RANKS + rank), share: 1 };
        (0..RANKS).map(lane).collect()
    }

    fn list_pairs(count: impl Fn(u32, u32) -> u32) -> Vec<PairPieces> {
        let mut pairs = Vec::new();
        let mut first = 0;
        for (one, other) in (0..RANKS * RANKS).map(|index| (index / RANKS, index % RANKS)) {
            let (from, to, count) = (Vertex(one), Vertex(RANKS + other), count(one, other));
            pairs.push(PairPieces { from, to, first: Piece(first), count });
            first += count;
        }
        pairs
    }

    /// Plans, and checks that all pieces are planned, and how many are on each lane. Returns how many need a step before the
    /// first part, one after the last part, and two moves inside boxes.
    fn measure(pairs: &[PairPieces], lengths: &[u64]) -> [usize; 3] {
        let lanes = rails();
        let spans: Vec<PartSpan> =
            (0..).zip(lengths).map(|(part, length)| PartSpan { part, length: *length }).collect();
        let parts = lengths.len() as u32;
        let request = SpreadRequest { pairs, lanes: &lanes, spans: &spans, parts, turn: 1 };
        let planned = spread_pieces(&request);
        let total: u32 = pairs.iter().map(|pair| pair.count).sum();
        let mut pieces: Vec<u32> = planned.iter().map(|own| own.piece.0).collect();
        pieces.sort_unstable();
        assert_eq!(pieces, (0..total).collect::<Vec<_>>());
        let mut loads: BTreeMap<(u32, Vertex), u64> = BTreeMap::new();
        for own in &planned {
            let crossing = own.crossing.unwrap();
            assert_eq!(crossing.to.0, crossing.from.0 + RANKS);
            *loads.entry((crossing.part, crossing.from)).or_default() += 1;
        }
        for ((part, _), load) in loads {
            assert!(load <= lengths[part as usize]);
        }
        let count =
            |test: &dyn Fn(&PlannedPiece) -> bool| planned.iter().filter(|own| test(own)).count();
        let crossing = |own: &PlannedPiece| own.crossing.unwrap();
        let is_late = |own: &PlannedPiece| own.from != crossing(own).from;
        let is_early = |own: &PlannedPiece| own.to != crossing(own).to;
        [
            count(&|own| is_late(own) && crossing(own).part == 0),
            count(&|own| is_early(own) && crossing(own).part + 1 == parts),
            count(&|own| is_late(own) && is_early(own)),
        ]
    }

    #[test]
    fn equal_amounts_need_one_move_inside_a_box() {
        let pairs = list_pairs(|_, _| 1);
        assert_eq!(measure(&pairs, &[2, 2]), [0, 0, 0]);
        assert_eq!(measure(&pairs, &[1, 3]), [0, 0, 0]);
        assert_eq!(measure(&pairs, &[1, 2, 1]), [0, 0, 0]);
        assert_eq!(measure(&list_pairs(|_, _| 3), &[7, 5]), [0, 0, 0]);
    }

    #[test]
    fn what_one_rank_has_for_another_is_spread_over_all_lanes() {
        // 8 pieces over 4 lanes: two of them begin at the origin or end at the receiver, and carry two each.
        let pairs = list_pairs(|one, other| if (one, other) == (0, 1) { 8 } else { 0 });
        let [_, _, twice] = measure(&pairs, &[1, 1]);
        assert_eq!(twice, 4);
        assert_eq!(measure(&pairs, &[2])[2], 4);
    }

    #[test]
    fn random_amounts_are_spread_evenly() {
        let mut random = fastrand::Rng::with_seed(6);
        for _ in 0..300 {
            let counts: Vec<u32> = (0..RANKS * RANKS).map(|_| random.u32(0..5)).collect();
            let pairs = list_pairs(|one, other| counts[(one * RANKS + other) as usize]);
            let total: u64 = counts.iter().copied().map(u64::from).sum();
            let needed = total.div_ceil(u64::from(RANKS)).max(3);
            measure(&pairs, &[needed]);
            measure(&pairs, &[needed - 2, 1, 1]);
        }
    }
}
