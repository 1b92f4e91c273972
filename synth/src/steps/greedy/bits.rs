//! Sets of pieces.

use crate::schedule::Piece;

/// A set of pieces, one bit for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PieceSet {
    words: Vec<u64>,
    count: u32,
}

impl PieceSet {
    /// The empty set, of so many pieces that there are.
    pub(super) fn new(pieces: u32) -> PieceSet {
        PieceSet { words: vec![0; pieces.div_ceil(64) as usize], count: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn contains(&self, piece: Piece) -> bool {
        self.words.get(piece.0 as usize / 64).is_some_and(|word| word >> (piece.0 % 64) & 1 == 1)
    }

    /// Adds or removes a piece.
    pub(super) fn set(&mut self, piece: Piece, is_in: bool) {
        if self.contains(piece) == is_in {
            return;
        }
        let Some(word) = self.words.get_mut(piece.0 as usize / 64) else { return };
        *word ^= 1 << (piece.0 % 64);
        self.count = if is_in { self.count + 1 } else { self.count - 1 };
    }

    /// How many pieces are in both sets.
    pub(super) fn count_common(&self, other: &PieceSet) -> u32 {
        self.words.iter().zip(&other.words).map(|(own, other)| (own & other).count_ones()).sum()
    }

    /// The pieces that are in both sets, in order.
    pub(super) fn list_common<'a>(
        &'a self,
        other: &'a PieceSet,
    ) -> impl Iterator<Item = Piece> + 'a {
        (0_u32..).zip(self.words.iter().zip(&other.words)).flat_map(|(index, (own, other))| {
            let mut rest = own & other;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(Piece(index * 64 + bit))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Piece, PieceSet};
    use std::collections::BTreeSet;

    #[test]
    fn sets_are_sets() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut sets = [PieceSet::new(200), PieceSet::new(200)];
        let mut expected = [BTreeSet::new(), BTreeSet::new()];
        for _ in 0..2000 {
            let (which, piece, is_in) = (random.usize(0..2), random.u32(0..200), random.bool());
            sets[which].set(Piece(piece), is_in);
            if is_in {
                expected[which].insert(Piece(piece));
            } else {
                expected[which].remove(&Piece(piece));
            }
            assert_eq!(sets[which].contains(Piece(piece)), is_in);
            assert_eq!(sets[which].is_empty(), expected[which].is_empty());
        }
        let common: Vec<Piece> = sets[0].list_common(&sets[1]).collect();
        assert!(common.iter().eq(expected[0].intersection(&expected[1])));
        assert_eq!(sets[0].count_common(&sets[1]) as usize, common.len());
    }
}
