//! Which rank has which pieces, and where they are useful.

use super::super::ConstructionError;
use super::super::hops::RankDistances;
use super::bits::PieceSet;
use super::{GreedyOrder, GreedyRequest};
use crate::dense::DenseMap;
use crate::graph::{Topology, Vertex};
use crate::schedule::{Piece, Unit};
use std::cmp::Reverse;

/// For how many pairs of a piece and a rank there is a table at most: 256 MiB. [`ConstructionError::TooLarge`] reports
/// it; an AllToAll of 400 ranks has as many.
const MAX_PAIRS: u64 = 1 << 26;

/// Where a piece is, and where it has to go.
#[derive(Clone, Debug)]
struct PieceState {
    /// How many ranks have it, or get it in this round.
    copies: u32,
    /// The receivers that do not have it and do not get it in this round; empty for a piece that all ranks get.
    remaining: Vec<OpenReceiver>,
    /// Whether all ranks get it: it is useful wherever it is not.
    is_for_all: bool,
}

#[derive(Clone, Copy, Debug)]
struct OpenReceiver {
    rank: Vertex,
    /// Its distance from the nearest rank that has the piece, or gets it in this round.
    distance: u32,
}

/// Which rank has which pieces.
#[derive(Debug)]
pub(super) struct PieceTable {
    distances: RankDistances,
    pieces: DenseMap<Piece, PieceState>,
    /// The pieces that a rank has before the round.
    held: DenseMap<Vertex, PieceSet>,
    /// The pieces that it is useful to move to a rank.
    useful: DenseMap<Vertex, PieceSet>,
    /// For each rank, for each piece, before which round it came; only what is held counts.
    since: DenseMap<Vertex, Vec<u32>>,
    /// How many pieces are missing at receivers.
    missing: u64,
}

impl PieceTable {
    pub(super) fn new(
        topology: &Topology,
        units: &[Unit],
        chunks: u32,
    ) -> Result<PieceTable, ConstructionError> {
        if chunks == 0 {
            return Err(ConstructionError::NoChunks);
        }
        let ranks = topology.count_ranks();
        let pieces = (units.len() as u64).saturating_mul(u64::from(chunks));
        if pieces.saturating_mul(u64::from(ranks)) > MAX_PAIRS {
            return Err(ConstructionError::TooLarge);
        }
        let count = ranks as usize;
        let mut table = PieceTable {
            distances: RankDistances::measure(topology),
            pieces: Vec::new().into(),
            held: DenseMap::filled(count, PieceSet::new(pieces as u32)),
            useful: DenseMap::filled(count, PieceSet::new(pieces as u32)),
            since: DenseMap::filled(count, vec![0; pieces as usize]),
            missing: 0,
        };
        for (index, unit) in units.iter().enumerate() {
            let mut ends = unit.origins.iter().chain(&unit.receivers);
            let is_sorted = unit.receivers.is_sorted_by(|one, other| one < other);
            let is_empty = unit.origins.is_empty();
            if is_empty || !is_sorted || ends.any(|rank| !topology.is_rank(*rank)) {
                return Err(ConstructionError::BadUnit { unit: index });
            }
            let [origin] = unit.origins.as_slice() else {
                return Err(ConstructionError::UnfitUnit { unit: index });
            };
            for _ in 0..chunks {
                table.add_piece(*origin, unit)?;
            }
        }
        Ok(table)
    }

    fn add_piece(&mut self, origin: Vertex, unit: &Unit) -> Result<(), ConstructionError> {
        let piece = Piece(self.pieces.len() as u32);
        let mut remaining = Vec::with_capacity(unit.receivers.len());
        for &rank in unit.receivers.iter().filter(|rank| **rank != origin) {
            let distance = self.distances.find(origin, rank);
            let distance =
                distance.ok_or(ConstructionError::Unreachable { from: origin, to: rank })?;
            remaining.push(OpenReceiver { rank, distance });
        }
        self.missing += remaining.len() as u64;
        self.held[origin].set(piece, true);
        let is_for_all = remaining.len() + 1 == self.held.len();
        if is_for_all {
            remaining.iter().for_each(|open| self.useful[open.rank].set(piece, true));
            remaining = Vec::new();
        }
        self.pieces.push(PieceState { copies: 1, remaining, is_for_all });
        self.find_useful_ranks(piece);
        Ok(())
    }

    /// Finds out to which ranks it is useful to move a piece: receivers, and what is nearer to one than all ranks that
    /// have the piece.
    fn find_useful_ranks(&mut self, piece: Piece) {
        let state = &self.pieces[piece];
        if state.is_for_all {
            return;
        }
        for rank in (0..self.useful.len() as u32).map(Vertex) {
            let is_nearer = |open: &OpenReceiver| {
                self.distances.find(rank, open.rank).is_some_and(|found| found < open.distance)
            };
            self.useful[rank].set(piece, state.remaining.iter().any(is_nearer));
        }
    }

    /// How many pieces are missing at receivers.
    pub(super) fn count_missing(&self) -> u64 {
        self.missing
    }

    /// Whether any piece is useful at a rank.
    pub(super) fn is_open(&self, receiver: Vertex) -> bool {
        !self.useful[receiver].is_empty()
    }

    /// How many pieces it is useful to move from a rank to another one.
    pub(super) fn count_useful(&self, sender: Vertex, receiver: Vertex) -> u32 {
        self.held[sender].count_common(&self.useful[receiver])
    }

    /// The first of the pieces that it is useful to move from a rank to another one.
    pub(super) fn choose(
        &self,
        sender: Vertex,
        receiver: Vertex,
        request: &GreedyRequest,
    ) -> Option<Piece> {
        let pieces = self.pieces.len() as u32;
        // Regular numbers: each rank prefers what has the numbers behind its own.
        let shift = (u64::from(pieces) * u64::from(receiver.0) / self.held.len() as u64) as u32;
        let rank_piece = |piece: &Piece| {
            let state = &self.pieces[*piece];
            let since = self.since[sender].get(piece.0 as usize).copied().unwrap_or(0);
            let (first, second) = match request.order {
                GreedyOrder::Rarest => (state.copies, since),
                GreedyOrder::Earliest => (since, state.copies),
            };
            let longest = state.remaining.iter().map(|open| open.distance).max();
            let tie = match request.seed {
                0 => u64::from((piece.0 + pieces - shift) % pieces),
                seed => mix(seed, receiver, *piece),
            };
            (Reverse(longest), first, second, tie)
        };
        self.held[sender].list_common(&self.useful[receiver]).min_by_key(rank_piece)
    }

    /// A rank gets a piece in this round, and has it after [`PieceTable::end_move`].
    pub(super) fn begin_move(&mut self, receiver: Vertex, piece: Piece) {
        self.useful[receiver].set(piece, false);
        let state = &mut self.pieces[piece];
        state.copies += 1;
        if state.is_for_all {
            self.missing -= 1;
            return;
        }
        let before = state.remaining.len();
        state.remaining.retain(|open| open.rank != receiver);
        self.missing -= (before - state.remaining.len()) as u64;
        for open in &mut state.remaining {
            let distance = self.distances.find(receiver, open.rank);
            open.distance = distance.map_or(open.distance, |found| found.min(open.distance));
        }
        self.find_useful_ranks(piece);
    }

    /// A rank has a piece that it got, from this round on.
    pub(super) fn end_move(&mut self, receiver: Vertex, piece: Piece, round: u32) {
        self.held[receiver].set(piece, true);
        if let Some(since) = self.since[receiver].get_mut(piece.0 as usize) {
            *since = round;
        }
    }
}

/// A number that depends on all bits of a seed, a rank and a piece (the finalizer of SplitMix64; Steele, Lea and Flood,
/// "Fast splittable pseudorandom number generators", 2014).
fn mix(seed: u64, rank: Vertex, piece: Piece) -> u64 {
    let counter = u64::from(rank.0) << 32 | u64::from(piece.0);
    let mut bits = seed.wrapping_add(counter.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
