//! Why there is no schedule by boxes.

use super::grouping::BoxIndex;
use crate::graph::Vertex;
use crate::rational::ArithmeticError;
use std::fmt;

/// Why no schedule was constructed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxError {
    /// The boxes are fewer than two, or a rank is in none, or in several.
    BadGrouping,
    /// The matrix has not one row, or one column, for each rank.
    BadMatrix,
    /// The largest number of pieces of a unit is 0.
    NoChunks,
    /// There are to be no parts.
    NoParts,
    /// No hop inside the box joins two of its ranks.
    SplitBox {
        /// Where the hop would begin.
        from: Vertex,
        /// Where it would end.
        to: Vertex,
    },
    /// No hop joins two ranks of different boxes.
    NoHop {
        /// Where it would begin.
        from: Vertex,
        /// Where it would end.
        to: Vertex,
    },
    /// No hop leads from a box that has something for another one to that one.
    NoLane {
        /// The box that has it.
        from: BoxIndex,
        /// The box that gets it.
        to: BoxIndex,
    },
    /// What is sent between ranks cannot get there.
    Unreachable {
        /// The rank that has it.
        from: Vertex,
        /// The rank that gets it.
        to: Vertex,
    },
    /// There would be more moves than [`MAX_MOVES`](crate::steps::MAX_MOVES), numbers do not fit, or permutations of the
    /// boxes are not found in time.
    TooLarge,
    /// A fraction does not fit into 128 bits.
    Arithmetic(ArithmeticError),
}

impl fmt::Display for BoxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BoxError::BadGrouping => {
                write!(f, "each rank is in one box, and there are at least two boxes")
            }
            BoxError::BadMatrix => {
                write!(f, "the matrix needs one row and one column for each rank")
            }
            BoxError::NoChunks => write!(f, "a unit needs at least one piece"),
            BoxError::NoParts => write!(f, "there must be at least one part"),
            BoxError::SplitBox { from, to } => {
                write!(f, "nothing in their box leads from rank {from} to rank {to} in one step")
            }
            BoxError::NoHop { from, to } => {
                write!(f, "nothing leads from rank {from} to rank {to} in one step")
            }
            BoxError::NoLane { from, to } => {
                write!(f, "nothing leads from box {} to box {} in one step", from.0, to.0)
            }
            BoxError::Unreachable { from, to } => {
                write!(f, "no path leads from rank {from} to rank {to}")
            }
            BoxError::TooLarge => write!(f, "the schedule would be too large"),
            BoxError::Arithmetic(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BoxError {}

impl From<ArithmeticError> for BoxError {
    fn from(error: ArithmeticError) -> Self {
        BoxError::Arithmetic(error)
    }
}
