//! Turns of the ranks: ways to put every rank in another's place at once.
//!
//! All turns of one kind make a group that moves rank 0 to each rank in exactly one way, so that a turn has the number
//! of the rank that it puts in rank 0's place. Turn 0 leaves all where they are.

/// The number of a turn.
pub(super) type By = u32;

/// A kind of turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// None but turn 0.
    Still,
    /// All ranks stand in one ring.
    Ring {
        /// How many there are.
        ranks: u32,
    },
    /// The nodes stand in a ring, and so do the ranks of each.
    Grid {
        /// How many nodes there are.
        nodes: u32,
        /// How many ranks each has.
        width: u32,
    },
    /// Bits of the rank's number are flipped; the ranks are a power of two.
    Cube,
}

impl Turn {
    /// One turn and then another. The order does not matter.
    pub(super) fn then(self, a: By, b: By) -> By {
        match self {
            Turn::Still => 0,
            Turn::Ring { ranks } => (a + b) % ranks,
            Turn::Grid { nodes, width } => {
                (a / width + b / width) % nodes * width + (a % width + b % width) % width
            }
            Turn::Cube => a ^ b,
        }
    }

    /// The turn that undoes one.
    pub(super) fn back(self, by: By) -> By {
        match self {
            Turn::Still => 0,
            Turn::Ring { ranks } => (ranks - by) % ranks,
            Turn::Grid { nodes, width } => {
                (nodes - by / width) % nodes * width + (width - by % width) % width
            }
            Turn::Cube => by,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Turn;

    #[test]
    fn turns_make_a_group_that_moves_rank_0_everywhere() {
        let kinds = [Turn::Ring { ranks: 8 }, Turn::Grid { nodes: 2, width: 4 }, Turn::Cube];
        for turn in kinds {
            for a in 0..8 {
                assert_eq!(turn.then(0, a), a, "{turn:?}");
                assert_eq!(turn.then(a, turn.back(a)), 0, "{turn:?}");
                for b in 0..8 {
                    assert_eq!(turn.then(a, b), turn.then(b, a), "{turn:?}");
                    let one = turn.then(turn.then(a, b), 5);
                    assert_eq!(one, turn.then(a, turn.then(b, 5)), "{turn:?}");
                }
            }
        }
    }
}
