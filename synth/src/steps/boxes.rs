//! AllToAll on machines of boxes: groups of ranks with fast links inside, and slower ones between them.
//!
//! What ranks of one box have for those of another one is spread over the lanes between the two, which are the rails
//! where there are such; before it crosses the network a piece may have to go to where its lane begins, and afterwards from
//! where the lane ends to its receiver. When boxes send to which boxes is decomposed into permutations, cut into steps, and
//! moves inside boxes go on at the same time as those between them.
//!
//! - `grouping` says which ranks and switches are in a box, and `traffic` how much ranks have for each other.
//! - `paths` finds the hops between ranks, and `lanes` those that boxes use.
//! - `birkhoff` decomposes matrices, and `timeline` cuts the result into parts.
//! - `spread` gives pieces lanes and parts, and `placement` gives them steps.
//! - `bound` says how fast it can be at all.
//!
//! On rails, two steps are enough for the least time if all amounts are equal: half of what crosses the network is on its
//! lane from the begin and is passed on in the second step, and the other half the other way round.

mod birkhoff;
mod bound;
mod error;
mod grouping;
mod lanes;
mod paths;
mod placement;
mod spread;
mod timeline;
mod traffic;

pub use birkhoff::{MAX_ENTRIES, PermutationTerm, UnfitMatrix, decompose_matrix};
pub use bound::{BoxBound, BoxWitness, bound_box_alltoall};
pub use error::BoxError;
pub use grouping::{BoxGrouping, BoxIndex};
pub use traffic::TrafficMatrix;

use super::MAX_MOVES;
use crate::dense::DenseMap;
use crate::graph::Topology;
use crate::rational::Rational;
use crate::schedule::{Piece, StepSchedule};
use lanes::LaneMap;
use paths::HopPaths;
use placement::place_pieces;
use spread::{Crossing, PlannedPiece, SpreadRequest, spread_pieces};
use std::collections::BTreeMap;
use timeline::{BoxPair, Timeline};
use traffic::PairPieces;

/// Which steps pieces are moved in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxOrder {
    /// One step, in which each piece goes to its receiver.
    Direct,
    /// Two steps. Each piece goes to the lane that ends at its receiver, and then over it; what is there from the begin goes
    /// at once.
    RelayFirst,
    /// As many parts of about the same length, each of them a step. There is one more before them if something must be moved
    /// inside boxes before, and one more after them.
    Parts(u32),
    /// A part for each permutation of the boxes, so that no box sends to several ones at a time.
    Permutations,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxRequest {
    /// Up to how many pieces each unit has.
    pub max_chunks: u32,
    /// The steps.
    pub order: BoxOrder,
}

/// A schedule of an AllToAll on boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxSchedule {
    /// The schedule, of the units that [`TrafficMatrix::list_units`] lists.
    pub schedule: StepSchedule,
    /// Its time, in rounds per unit, or in seconds per byte of a unit.
    pub time: Rational,
    /// What no schedule is faster than.
    pub bound: BoxBound,
    /// When boxes send to which boxes, one after another: each weight is what each box sends over a lane meanwhile. Nothing
    /// is known of it for [`BoxOrder::Direct`] and [`BoxOrder::RelayFirst`].
    pub terms: Vec<PermutationTerm>,
}

impl BoxSchedule {
    /// Whether no schedule is faster.
    #[must_use]
    pub fn is_least(&self) -> bool {
        self.time == self.bound.value
    }
}

/// What is asked for by a search over orders of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxSearchRequest {
    /// Up to how many pieces each unit has.
    pub max_chunks: u32,
    /// How many moves the schedules that are tried have, all together: none is begun after that. The default takes some
    /// seconds.
    pub max_moves: u64,
}

impl Default for BoxSearchRequest {
    fn default() -> BoxSearchRequest {
        BoxSearchRequest { max_chunks: 12, max_moves: 1 << 20 }
    }
}

/// What a search over orders of steps found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxSearch {
    /// Schedules, each of which takes more steps and less time than those before.
    pub schedules: Vec<BoxSchedule>,
    /// Whether it ended at [`BoxSearchRequest::max_moves`].
    pub is_stopped: bool,
}

/// A schedule of an AllToAll with any amounts, for that number of pieces of each unit, up to a largest one, for which the
/// time is the least; of several such ones the smallest.
///
/// # Errors
/// [`BoxError`].
pub fn construct_box_alltoall(
    topology: &Topology,
    boxes: &BoxGrouping,
    traffic: &TrafficMatrix,
    request: &BoxRequest,
) -> Result<BoxSchedule, BoxError> {
    let bound = bound_box_alltoall(topology, boxes, traffic)?;
    let mut planner = BoxPlanner::new(topology, boxes, traffic)?;
    let mut moves_left = u64::MAX;
    planner.construct(bound, *request, &mut moves_left)
}

/// Schedules of an AllToAll with any amounts: with as few steps as possible first, up to one step more than there are boxes,
/// and until one takes the least time.
///
/// # Errors
/// [`BoxError`], if no order of steps has a schedule: that of [`BoxOrder::Parts`].
pub fn find_box_alltoalls(
    topology: &Topology,
    boxes: &BoxGrouping,
    traffic: &TrafficMatrix,
    request: &BoxSearchRequest,
) -> Result<BoxSearch, BoxError> {
    let bound = bound_box_alltoall(topology, boxes, traffic)?;
    let mut planner = BoxPlanner::new(topology, boxes, traffic)?;
    let mut orders = vec![BoxOrder::Direct, BoxOrder::RelayFirst];
    orders.extend((1..=boxes.boxes().len() as u32 + 1).map(BoxOrder::Parts));
    let mut found: Vec<BoxSchedule> = Vec::new();
    let mut moves_left = request.max_moves;
    let mut failure = None;
    for order in orders {
        if found.iter().any(BoxSchedule::is_least) || (moves_left == 0 && !found.is_empty()) {
            break;
        }
        let own = BoxRequest { max_chunks: request.max_chunks, order };
        match planner.construct(bound, own, &mut moves_left) {
            Ok(own) => found.push(own),
            Err(error) => failure = Some(error),
        }
    }
    let is_stopped = moves_left == 0 && !found.iter().any(BoxSchedule::is_least);
    match failure {
        Some(failure) if found.is_empty() => Err(failure),
        Some(_) | None => Ok(BoxSearch { schedules: keep_fastest(found), is_stopped }),
    }
}

/// Those that are faster than all with fewer steps.
fn keep_fastest(mut found: Vec<BoxSchedule>) -> Vec<BoxSchedule> {
    found.sort_by_key(|own| (own.schedule.measure().steps, own.time));
    let mut fastest: Option<Rational> = None;
    found.retain(|own| {
        let is_faster = fastest.is_none_or(|time| own.time < time);
        if is_faster {
            fastest = Some(own.time);
        }
        is_faster
    });
    found
}

/// The time per unit of the fewest rounds in which so many pieces of each can be moved.
fn round_up(bound: Rational, chunks: u32, topology: &Topology) -> Result<Rational, BoxError> {
    let rounds = bound.checked_mul(topology.quantum())?;
    let rounds = rounds.checked_mul(Rational::from_integer(u64::from(chunks)))?;
    let whole = rounds.numerator().div_euclid(rounds.denominator());
    let whole = if rounds.to_integer().is_some() { whole } else { whole + 1 };
    Ok(Rational::new(whole, i128::from(chunks))?.checked_div(topology.quantum())?)
}

/// What is planned for a number of pieces.
struct PlannedSteps {
    schedule: StepSchedule,
    terms: Vec<PermutationTerm>,
}

struct BoxPlanner<'a> {
    topology: &'a Topology,
    boxes: &'a BoxGrouping,
    traffic: &'a TrafficMatrix,
    sums: DenseMap<BoxIndex, DenseMap<BoxIndex, u64>>,
    paths: HopPaths<'a>,
    lanes: LaneMap,
}

impl<'a> BoxPlanner<'a> {
    fn new(
        topology: &'a Topology,
        boxes: &'a BoxGrouping,
        traffic: &'a TrafficMatrix,
    ) -> Result<BoxPlanner<'a>, BoxError> {
        let sums = traffic.sum_boxes(boxes);
        let mut paths = HopPaths::new(topology, boxes);
        let lanes = LaneMap::find(boxes, &sums, &mut paths)?;
        Ok(BoxPlanner { topology, boxes, traffic, sums, paths, lanes })
    }

    /// Tries numbers of pieces, until there are no moves left.
    fn construct(
        &mut self,
        bound: BoxBound,
        request: BoxRequest,
        moves_left: &mut u64,
    ) -> Result<BoxSchedule, BoxError> {
        let mut best: Option<BoxSchedule> = None;
        for chunks in 1..=request.max_chunks {
            if let Some(best) = &best
                && (*moves_left == 0 || round_up(bound.value, chunks, self.topology)? >= best.time)
            {
                continue;
            }
            let PlannedSteps { schedule, terms } = self.plan(request.order, chunks)?;
            *moves_left = moves_left.saturating_sub(schedule.moves.len() as u64);
            let time = schedule.measure().compute_time(self.topology)?;
            if best.as_ref().is_none_or(|best| time < best.time) {
                best = Some(BoxSchedule { schedule, time, bound, terms });
            }
            if time <= bound.value {
                break;
            }
        }
        best.ok_or(BoxError::NoChunks)
    }

    fn plan(&mut self, order: BoxOrder, chunks: u32) -> Result<PlannedSteps, BoxError> {
        // Each piece has three moves at most.
        let pieces = self.traffic.count_units().saturating_mul(u64::from(chunks));
        if pieces.saturating_mul(3) > MAX_MOVES {
            return Err(BoxError::TooLarge);
        }
        let mut pairs = self.traffic.list_pairs(chunks);
        pairs.retain(|pair| pair.from != pair.to);
        let mut terms = Vec::new();
        let mut planned = match order {
            BoxOrder::Direct => self.plan_directly(&pairs),
            BoxOrder::RelayFirst => self.plan_relays(&pairs)?,
            BoxOrder::Parts(_) | BoxOrder::Permutations => {
                let timeline = self.plan_timeline(order, chunks)?;
                let planned = self.plan_parts(&pairs, &timeline);
                terms = timeline.terms;
                planned
            }
        };
        // Neighbors have different ends, so that what comes first is spread.
        let ranks = self.topology.count_ranks();
        planned.sort_by_key(|own| ((own.to.0 + ranks - own.from.0) % ranks, own.from, own.piece));
        let schedule = place_pieces(self.topology, self.boxes, &planned, chunks, &mut self.paths)?;
        Ok(PlannedSteps { schedule, terms })
    }

    fn plan_directly(&self, pairs: &[PairPieces]) -> Vec<PlannedPiece> {
        let plan = |pair: &PairPieces| {
            let crossing = Crossing { from: pair.from, to: pair.to, part: 0 };
            (!self.boxes.is_inside(pair.from, pair.to)).then_some(crossing)
        };
        pairs.iter().flat_map(|pair| list_pieces(*pair, plan(pair))).collect()
    }

    fn plan_relays(&self, pairs: &[PairPieces]) -> Result<Vec<PlannedPiece>, BoxError> {
        let mut planned = Vec::new();
        for pair in pairs {
            let mut crossing = None;
            if let Some(BoxPair { from, to }) = self.find_boxes(pair) {
                let lane = self.lanes.list(from, to).iter().find(|lane| lane.to == pair.to);
                let lane = lane.ok_or(BoxError::NoLane { from, to })?;
                let part = u32::from(lane.from != pair.from);
                crossing = Some(Crossing { from: lane.from, to: lane.to, part });
            }
            planned.extend(list_pieces(*pair, crossing));
        }
        Ok(planned)
    }

    /// The time that boxes need for each other: in the unit in which the lane with the least share carries a piece for each
    /// unit of that share.
    fn plan_timeline(&self, order: BoxOrder, chunks: u32) -> Result<Timeline, BoxError> {
        let count = self.boxes.boxes().len();
        let mut lengths = DenseMap::filled(count, DenseMap::filled(count, 0));
        let least = self.lanes.least_share();
        for from in self.boxes.indices() {
            for to in self.boxes.indices() {
                let shares: u64 = self.lanes.list(from, to).iter().map(|lane| lane.share).sum();
                let pieces = u128::from(self.sums[from][to]) * u128::from(chunks);
                let length = (pieces * u128::from(least)).div_ceil(u128::from(shares.max(1)));
                lengths[from][to] = u64::try_from(length).map_err(|_| BoxError::TooLarge)?;
            }
        }
        Timeline::plan(&lengths, order, self.lanes.rate)
    }

    fn plan_parts(&self, pairs: &[PairPieces], timeline: &Timeline) -> Vec<PlannedPiece> {
        let mut planned = Vec::new();
        let mut crossing: BTreeMap<BoxPair, Vec<PairPieces>> = BTreeMap::new();
        for pair in pairs {
            match self.find_boxes(pair) {
                Some(boxes) => crossing.entry(boxes).or_default().push(*pair),
                None => planned.extend(list_pieces(*pair, None)),
            }
        }
        for (boxes, pairs) in crossing {
            let request = SpreadRequest {
                pairs: &pairs,
                lanes: self.lanes.list(boxes.from, boxes.to),
                spans: timeline.spans.get(&boxes).map_or(&[], Vec::as_slice),
                parts: timeline.parts,
                turn: (boxes.from.0 + boxes.to.0) as usize,
            };
            planned.extend(spread_pieces(&request));
        }
        planned
    }

    /// The boxes of two ranks, if they differ.
    fn find_boxes(&self, pair: &PairPieces) -> Option<BoxPair> {
        let (from, to) = (self.boxes.home(pair.from)?, self.boxes.home(pair.to)?);
        (from != to).then_some(BoxPair { from, to })
    }
}

fn list_pieces(pair: PairPieces, crossing: Option<Crossing>) -> impl Iterator<Item = PlannedPiece> {
    let PairPieces { from, to, first: Piece(first), count } = pair;
    (first..first + count).map(move |piece| PlannedPiece {
        piece: Piece(piece),
        from,
        to,
        crossing,
    })
}
