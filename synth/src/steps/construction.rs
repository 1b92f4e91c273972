//! Why there is no schedule.

use crate::graph::{TopologyError, Vertex};
use crate::rational::ArithmeticError;
use std::fmt;

/// How many moves a constructed schedule may have. Each takes some 100 bytes, so that more than these need more than
/// two gigabytes; [`ConstructionError::TooLarge`] reports it before anything is searched. An AllGather of 1,000 ranks
/// has a million moves for each piece of a unit.
pub const MAX_MOVES: u64 = 1 << 24;

/// Why no schedule was constructed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstructionError {
    /// A unit is to have no pieces, or the largest number of pieces to try is 0.
    NoChunks,
    /// The root is not a rank of the topology.
    RootOutOfRange {
        /// The root.
        root: Vertex,
    },
    /// A unit has no origin, names a rank that the topology does not have, or its receivers are not in order.
    BadUnit {
        /// Its index.
        unit: usize,
    },
    /// The unit is a sum, or has several receivers, which the construction cannot do: sums are schedules of copies that
    /// run backwards.
    UnfitUnit {
        /// Its index.
        unit: usize,
    },
    /// What a rank needs cannot reach it: the collective is impossible.
    Unreachable {
        /// The rank that has it.
        from: Vertex,
        /// The rank that needs it.
        to: Vertex,
    },
    /// The schedule would have more than [`MAX_MOVES`] moves, or pieces or rounds do not fit into their numbers.
    TooLarge,
    /// The observer stopped the search before there was a schedule.
    Stopped,
    /// A fraction does not fit into 128 bits.
    Arithmetic(ArithmeticError),
}

impl fmt::Display for ConstructionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConstructionError::NoChunks => write!(f, "a unit needs at least one piece"),
            ConstructionError::RootOutOfRange { root } => write!(f, "there is no rank {root}"),
            ConstructionError::BadUnit { unit } => {
                write!(f, "unit {unit} has no origin, or wrong receivers")
            }
            ConstructionError::UnfitUnit { unit } => {
                write!(f, "unit {unit} is a sum, or has several receivers")
            }
            ConstructionError::Unreachable { from, to } => {
                let (from, to) = (*from, *to);
                write!(f, "{}", TopologyError::Unreachable { from, to, pairs: 1 })
            }
            ConstructionError::TooLarge => write!(f, "the schedule would be too large"),
            ConstructionError::Stopped => write!(f, "the search was stopped"),
            ConstructionError::Arithmetic(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ConstructionError {}

impl From<ArithmeticError> for ConstructionError {
    fn from(error: ArithmeticError) -> Self {
        ConstructionError::Arithmetic(error)
    }
}
