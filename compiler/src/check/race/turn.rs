//! Turns: symmetries of the ranks, each of which moves every rank to the place of another one at once.
//!
//! All turns of one kind form a group, and the first ranks represent all others. Turn `by` takes rank 0 to rank `by`,
//! and every rank is reached from exactly one of the first ranks by exactly one turn. Turn 0 leaves all ranks where
//! they are.

use crate::ir::RankId;

/// The number of a turn.
pub(super) type TurnId = u32;

/// A kind of symmetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Only turn 0: every rank represents itself.
    Still,
    /// All ranks form one ring, which is rotated by multiples of `step`.
    Ring {
        /// How many there are.
        ranks: u32,
        /// A divisor of that.
        step: u32,
    },
    /// The nodes form a ring, and so do the ranks of each node.
    Grid {
        /// How many nodes there are.
        nodes: u32,
        /// How many ranks each has.
        width: u32,
    },
    /// Bits of the rank's number are flipped; the number of ranks is a power of two.
    Cube,
}

impl Turn {
    /// The composition of two turns, or the rank to which a turn takes a rank. The order does not matter.
    pub(super) fn then(self, a: TurnId, b: TurnId) -> TurnId {
        match self {
            Turn::Still => a,
            Turn::Ring { ranks, .. } => {
                let sum = a + b;
                if sum < ranks { sum } else { sum - ranks }
            }
            Turn::Grid { nodes, width } => {
                (a / width + b / width) % nodes * width + (a % width + b % width) % width
            }
            Turn::Cube => a ^ b,
        }
    }

    /// The turn that undoes one.
    pub(super) fn back(self, by: TurnId) -> TurnId {
        match self {
            Turn::Still => 0,
            Turn::Ring { ranks, .. } => (ranks - by) % ranks,
            Turn::Grid { nodes, width } => {
                (nodes - by / width) % nodes * width + (width - by % width) % width
            }
            Turn::Cube => by,
        }
    }

    /// How many of `ranks` ranks represent all.
    pub(super) fn first(self, ranks: u32) -> u32 {
        match self {
            Turn::Still => ranks,
            Turn::Ring { step, .. } => step,
            Turn::Grid { .. } | Turn::Cube => ranks.min(1),
        }
    }

    /// Turns that generate all others.
    pub(super) fn generators(self, ranks: u32) -> Vec<TurnId> {
        match self {
            Turn::Still => Vec::new(),
            Turn::Ring { step, .. } => vec![step],
            Turn::Grid { width, .. } => vec![1, width],
            Turn::Cube => (0..ranks.ilog2()).map(|bit| 1 << bit).collect(),
        }
    }

    /// The representative of a rank, and the turn that leads from there to it.
    pub(super) fn home(self, rank: RankId) -> (RankId, TurnId) {
        match self {
            Turn::Still => (rank, 0),
            Turn::Ring { step, .. } => (RankId(rank.0 % step), rank.0 - rank.0 % step),
            Turn::Grid { .. } | Turn::Cube => (RankId(0), rank.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Turn, TurnId};
    use crate::ir::RankId;

    #[test]
    fn turns_make_a_group_that_moves_the_first_ranks_everywhere() {
        let kinds = [
            Turn::Ring { ranks: 8, step: 1 },
            Turn::Ring { ranks: 8, step: 4 },
            Turn::Grid { nodes: 2, width: 4 },
            Turn::Cube,
        ];
        for turn in kinds {
            let numbers = || (0..8).step_by(turn.first(8) as usize);
            let generators = turn.generators(8);
            let mut made = vec![0];
            let further = |made: &[TurnId]| {
                let mut all =
                    made.iter().flat_map(|by| generators.iter().map(|one| turn.then(*by, *one)));
                all.find(|by| !made.contains(by))
            };
            while let Some(next) = further(&made) {
                made.push(next);
            }
            made.sort_unstable();
            assert_eq!(made, numbers().collect::<Vec<_>>(), "{turn:?}");
            for a in numbers() {
                assert_eq!(turn.then(0, a), a, "{turn:?}");
                assert_eq!(turn.then(a, turn.back(a)), 0, "{turn:?}");
                for b in numbers() {
                    assert_eq!(turn.then(a, b), turn.then(b, a), "{turn:?}");
                    let (once, twice) = (turn.then(a, turn.then(b, 5)), turn.then(a, b));
                    assert_eq!(turn.then(twice, 5), once, "{turn:?}");
                }
            }
            for rank in 0..8 {
                let (first, by) = turn.home(RankId(rank));
                assert!(first.0 < turn.first(8), "{turn:?}");
                assert_eq!(turn.then(first.0, by), rank, "{turn:?}");
            }
        }
    }
}
