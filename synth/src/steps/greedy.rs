//! Greedy matching of pieces to links, round by round (Won et al., "TACOS: Topology-Aware Collective Algorithm
//! Synthesizer for Distributed Machine Learning", MICRO 2024).
//!
//! In each round every rank takes, over the edges that are still free, pieces that it or a rank behind it needs. A
//! piece goes to a rank that does not need it only if this is nearer to a receiver than all ranks that have the piece.
//! Rounds then become steps: consecutive ones are one step as long as none of them sends what came in it. Nothing is
//! proved about the result, but that it does what is demanded.

mod bits;
mod merge;
mod pieces;

use super::ConstructionError;
use super::construction::MAX_MOVES;
use super::hops::HopFinder;
use crate::dense::DenseMap;
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::observer::{NoObserver, SearchObserver};
use crate::schedule::{Piece, StepSchedule, Unit};
use merge::merge_rounds;
use pieces::PieceTable;

/// From how many senders with something to send a receiver chooses. The one with the least to send is asked first, as
/// others can take over for the rest; with more choice a round takes longer, and is no better.
const MAX_OFFERS: usize = 8;

/// What a greedy schedule is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GreedyRequest {
    /// How many pieces each unit has.
    pub chunks: u32,
    /// Which pieces come first.
    pub order: GreedyOrder,
    /// 0 breaks ties by numbers, which suits machines of regular shape; others by a hash with this seed.
    pub seed: u64,
    /// How many moves there may be at most, before those that turn out useless are removed.
    pub max_moves: u64,
}

impl Default for GreedyRequest {
    fn default() -> GreedyRequest {
        GreedyRequest { chunks: 1, order: GreedyOrder::Rarest, seed: 0, max_moves: MAX_MOVES }
    }
}

/// Which of several pieces a rank takes first. Those with the longest way to go are before all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GreedyOrder {
    /// The piece that the fewest ranks have, which keeps many links busy.
    Rarest,
    /// The piece that the sender has had for the longest time, which makes fewer steps.
    Earliest,
}

/// The end of a greedy search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GreedyOutcome {
    /// A schedule.
    Found(StepSchedule),
    /// [`GreedyRequest::max_moves`] was reached before the schedule was complete, or the observer stopped the search.
    Stopped {
        /// How many pieces were missing at receivers, each counted for each of them.
        missing: u64,
    },
}

/// A schedule of units that are copied, to any number of receivers. Sums are schedules of copies that run backwards:
/// see [`StepSchedule::reverse`]. No move of it is useless, so that it can be reversed.
///
/// # Errors
/// [`ConstructionError::NoChunks`], [`ConstructionError::BadUnit`], [`ConstructionError::UnfitUnit`] for a sum,
/// [`ConstructionError::Unreachable`] and [`ConstructionError::TooLarge`].
pub fn schedule_greedily(
    topology: &Topology,
    units: &[Unit],
    request: &GreedyRequest,
) -> Result<GreedyOutcome, ConstructionError> {
    schedule_greedily_until(topology, units, request, &NoObserver)
}

/// The same, until the observer stops the search.
pub(crate) fn schedule_greedily_until(
    topology: &Topology,
    units: &[Unit],
    request: &GreedyRequest,
    observer: &dyn SearchObserver,
) -> Result<GreedyOutcome, ConstructionError> {
    let finder = HopFinder::new(topology);
    let pieces = PieceTable::new(topology, units, request.chunks)?;
    let mut matching = Matching {
        free: DenseMap::filled(topology.edges().len(), 0),
        finder,
        request,
        observer,
        pieces,
        round: 0,
        moves: Vec::new(),
    };
    while matching.pieces.count_missing() > 0 {
        let before = matching.moves.len();
        matching.fill_round();
        let is_over = matching.moves.len() as u64 >= request.max_moves || observer.is_stopped();
        if is_over && matching.pieces.count_missing() > 0 {
            return Ok(GreedyOutcome::Stopped { missing: matching.pieces.count_missing() });
        }
        if matching.moves.len() == before {
            // Every receiver is reachable, and the first hop towards it from the nearest holder was free.
            return Err(ConstructionError::TooLarge);
        }
        matching.round = matching.round.checked_add(1).ok_or(ConstructionError::TooLarge)?;
    }
    let schedule = merge_rounds(&matching.finder, units, request.chunks, matching.moves)?;
    Ok(GreedyOutcome::Found(schedule))
}

/// A move in a round.
#[derive(Clone, Debug)]
struct RoundMove {
    round: u32,
    from: Vertex,
    to: Vertex,
    piece: Piece,
    path: Vec<EdgeIndex>,
}

/// What a sender has for a receiver.
struct Offer {
    sender: Vertex,
    path: Vec<EdgeIndex>,
    /// How many pieces it could send.
    count: u32,
}

struct Matching<'a> {
    finder: HopFinder<'a>,
    request: &'a GreedyRequest,
    observer: &'a dyn SearchObserver,
    pieces: PieceTable,
    round: u32,
    moves: Vec<RoundMove>,
    /// How many more pieces an edge carries in this round.
    free: DenseMap<EdgeIndex, u64>,
}

impl Matching<'_> {
    /// Ranks take one piece after another, in turn, so that none takes all of what they share.
    fn fill_round(&mut self) {
        for edge in (0..self.free.len() as u32).map(EdgeIndex) {
            self.free[edge] = self.finder.weight(edge);
        }
        let ranks = self.finder.topology().count_ranks();
        let mut open: Vec<Vertex> =
            (0..ranks).map(|rank| Vertex((rank + self.round % ranks) % ranks)).collect();
        let first = self.moves.len();
        while !open.is_empty() && (self.moves.len() as u64) < self.request.max_moves {
            open.retain(|receiver| self.take_piece(*receiver));
        }
        for own in self.moves.iter().skip(first) {
            self.pieces.end_move(own.to, own.piece, self.round + 1);
        }
    }

    /// Moves one piece to a rank, if there is one that is useful there and a free path to it.
    fn take_piece(&mut self, receiver: Vertex) -> bool {
        let is_over =
            self.moves.len() as u64 >= self.request.max_moves || self.observer.is_stopped();
        if is_over || !self.pieces.is_open(receiver) {
            return false;
        }
        let offers = self.collect_offers(receiver);
        let Some(offer) = offers.into_iter().min_by_key(|offer| offer.count) else { return false };
        let Offer { sender, path, .. } = offer;
        let Some(piece) = self.pieces.choose(sender, receiver, self.request) else { return false };
        for &edge in &path {
            self.free[edge] -= 1;
        }
        self.pieces.begin_move(receiver, piece);
        self.moves.push(RoundMove { round: self.round, from: sender, to: receiver, piece, path });
        true
    }

    /// Searches backwards over free edges for ranks that have something useful. It starts behind the receiver, and one
    /// further in each round, so that the ranks of a switch ask different ones.
    fn collect_offers(&self, receiver: Vertex) -> Vec<Offer> {
        let ranks = self.finder.topology().count_ranks();
        let first = Vertex((receiver.0 + 1 + self.round % ranks) % ranks);
        let mut offers = Vec::new();
        // The vertices that were reached, and the path from each to the receiver.
        let mut reached: Vec<(Vertex, Vec<EdgeIndex>)> = vec![(receiver, Vec::new())];
        let mut next = 0;
        while let Some((at, path)) = reached.get(next).cloned() {
            next += 1;
            let entering = self.finder.entering(at);
            let start = entering.partition_point(|edge| self.finder.edge(*edge).from < first);
            let (before, behind) = entering.split_at(start);
            for &edge in behind.iter().chain(before).filter(|edge| self.free[**edge] > 0) {
                let from = self.finder.edge(edge).from;
                if reached.iter().any(|(vertex, _)| *vertex == from) {
                    continue;
                }
                let extend = || [edge].into_iter().chain(path.iter().copied()).collect();
                if !self.finder.topology().is_rank(from) {
                    reached.push((from, extend()));
                    continue;
                }
                let count = self.pieces.count_useful(from, receiver);
                if count > 0 {
                    offers.push(Offer { sender: from, path: extend(), count });
                }
                if offers.len() == MAX_OFFERS {
                    return offers;
                }
            }
        }
        offers
    }
}
