//! How much each rank has for each other one.

use super::BoxError;
use super::grouping::{BoxGrouping, BoxIndex};
use crate::dense::DenseMap;
use crate::graph::Vertex;
use crate::schedule::{Piece, Unit};
use crate::steps::MAX_MOVES;

/// What an AllToAll with amounts that differ moves: for each rank how many units it has for each rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficMatrix {
    /// Row by row, of the rank that has it.
    counts: DenseMap<Vertex, DenseMap<Vertex, u64>>,
}

/// What one rank has for another one, as pieces: consecutive ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PairPieces {
    pub(super) from: Vertex,
    pub(super) to: Vertex,
    pub(super) first: Piece,
    pub(super) count: u32,
}

impl TrafficMatrix {
    /// One unit from each rank to each rank, itself included: an AllToAll.
    ///
    /// # Errors
    /// [`BoxError::TooLarge`] if there are more units than moves of a schedule.
    pub fn uniform(ranks: u32) -> Result<TrafficMatrix, BoxError> {
        if u64::from(ranks) * u64::from(ranks) > MAX_MOVES {
            return Err(BoxError::TooLarge);
        }
        let row = DenseMap::filled(ranks as usize, 1);
        Ok(TrafficMatrix { counts: DenseMap::filled(ranks as usize, row) })
    }

    /// The matrix with these rows: `rows[r][p]` units go from rank `r` to rank `p`.
    ///
    /// # Errors
    /// [`BoxError::BadMatrix`] if it is not square, and [`BoxError::TooLarge`] if there are more units than moves of a
    /// schedule.
    pub fn from_rows(rows: Vec<Vec<u64>>) -> Result<TrafficMatrix, BoxError> {
        let ranks = rows.len();
        if rows.iter().any(|row| row.len() != ranks) {
            return Err(BoxError::BadMatrix);
        }
        let sum = rows.iter().flatten().try_fold(0_u64, |sum, count| sum.checked_add(*count));
        if sum.is_none_or(|sum| sum > MAX_MOVES) {
            return Err(BoxError::TooLarge);
        }
        let rows: Vec<DenseMap<Vertex, u64>> = rows.into_iter().map(DenseMap::from).collect();
        Ok(TrafficMatrix { counts: rows.into() })
    }

    /// The number of ranks.
    #[must_use]
    pub fn count_ranks(&self) -> u32 {
        self.counts.len() as u32
    }

    /// How many units go from a rank to another one; none from or to what is no rank.
    #[must_use]
    pub fn count(&self, from: Vertex, to: Vertex) -> u64 {
        let is_entry = from.0.max(to.0) < self.count_ranks();
        if is_entry { self.counts[from][to] } else { 0 }
    }

    /// The units, by their receivers, then by their origins: those of [`TrafficMatrix::uniform`] are those of
    /// [`list_units`](crate::schedule::list_units) for an AllToAll.
    #[must_use]
    pub fn list_units(&self) -> Vec<Unit> {
        let mut units = Vec::new();
        for pair in self.list_pairs(1) {
            let receivers = if pair.from == pair.to { Vec::new() } else { vec![pair.to] };
            let unit = Unit::new(vec![pair.from], receivers);
            units.extend(std::iter::repeat_n(unit, pair.count as usize));
        }
        units
    }

    /// The pieces of all pairs of ranks, where each unit has so many. Their number fits if it is below 2^32.
    pub(super) fn list_pairs(&self, chunks: u32) -> Vec<PairPieces> {
        let ranks = || (0..self.count_ranks()).map(Vertex);
        let mut pairs = Vec::new();
        let mut first: u64 = 0;
        for to in ranks() {
            for from in ranks() {
                let count = self.count(from, to) * u64::from(chunks);
                if count > 0 {
                    let (piece, count_here) = (Piece(first as u32), count as u32);
                    pairs.push(PairPieces { from, to, first: piece, count: count_here });
                }
                first += count;
            }
        }
        pairs
    }

    /// How many units there are.
    pub(super) fn count_units(&self) -> u64 {
        self.counts.as_slice().iter().flat_map(|row| row.as_slice()).sum()
    }

    /// How many units go from each box to each other one.
    pub(super) fn sum_boxes(
        &self,
        boxes: &BoxGrouping,
    ) -> DenseMap<BoxIndex, DenseMap<BoxIndex, u64>> {
        let count = boxes.boxes().len();
        let mut sums = DenseMap::filled(count, DenseMap::filled(count, 0));
        for from in boxes.indices() {
            for to in boxes.indices().filter(|to| *to != from) {
                let pairs = boxes.ranks(from).iter().flat_map(|one| {
                    boxes.ranks(to).iter().map(move |other| self.count(*one, *other))
                });
                sums[from][to] = pairs.sum();
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::TrafficMatrix;
    use crate::collective::{Collective, CollectiveKind};
    use crate::graph::Vertex;
    use crate::schedule::list_units;
    use crate::steps::boxes::BoxError;

    #[test]
    fn uniform_traffic_is_an_alltoall() {
        let kind = Collective::Known(CollectiveKind::AllToAll);
        assert_eq!(TrafficMatrix::uniform(5).unwrap().list_units(), list_units(&kind, 5));
    }

    #[test]
    fn units_are_counted() {
        let matrix = TrafficMatrix::from_rows(vec![vec![1, 2], vec![0, 0]]).unwrap();
        let ends: Vec<(Vertex, usize)> = matrix
            .list_units()
            .iter()
            .map(|unit| (unit.origins[0], unit.receivers.len()))
            .collect();
        assert_eq!(ends, [(Vertex(0), 0), (Vertex(0), 1), (Vertex(0), 1)]);
        assert_eq!(matrix.count_units(), 3);
        assert_eq!(TrafficMatrix::from_rows(vec![vec![1]; 2]), Err(BoxError::BadMatrix));
        let large = TrafficMatrix::from_rows(vec![vec![u64::MAX, 1], vec![0, 0]]);
        assert_eq!(large, Err(BoxError::TooLarge));
        assert_eq!(TrafficMatrix::uniform(1 << 13), Err(BoxError::TooLarge));
    }
}
