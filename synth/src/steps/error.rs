//! Why a search for a schedule of steps could not be made.

use crate::bound::BoundError;
use crate::graph::Vertex;
use crate::rational::ArithmeticError;
use crate::schedule::ScheduleFlaw;
use std::fmt;

/// Why there was no search. That there is no schedule is no error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchError {
    /// A unit is a sum of what several ranks have, or nobody has it. What is summed up is searched for backwards, as a
    /// copy on the reversed topology.
    NotACopy {
        /// The index of the unit.
        unit: usize,
    },
    /// The collective has no schedule of its own: it is composed of others.
    Composed,
    /// The engine that was asked for constructs no schedules of this collective.
    UnfitEngine,
    /// A unit names a rank that the topology does not have.
    RankOutOfRange {
        /// The rank.
        rank: Vertex,
    },
    /// Units would have no pieces, or steps no rounds.
    MalformedPoint,
    /// The schedule has more rounds, pieces or variables than can be counted.
    TooLarge,
    /// There is no bound to start from.
    Bound(BoundError),
    /// What was found does not pass the check: a mistake of the search.
    Flawed(ScheduleFlaw),
    /// A fraction does not fit into 128 bits.
    Arithmetic(ArithmeticError),
}

impl fmt::Display for SearchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SearchError::NotACopy { unit } => {
                write!(f, "unit {unit} is not the copy of what one rank has")
            }
            SearchError::Composed => {
                write!(f, "an AllReduce is composed of a ReduceScatter and an AllGather")
            }
            SearchError::UnfitEngine => {
                write!(f, "the engine that was asked for has no schedules of this collective")
            }
            SearchError::RankOutOfRange { rank } => write!(f, "there is no rank {rank}"),
            SearchError::MalformedPoint => {
                write!(f, "each unit has at least one piece, and each step at least one round")
            }
            SearchError::TooLarge => write!(f, "the schedule is too large for this search"),
            SearchError::Bound(error) => error.fmt(f),
            SearchError::Flawed(flaw) => write!(f, "the schedule that was found is wrong: {flaw}"),
            SearchError::Arithmetic(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SearchError {}

impl From<BoundError> for SearchError {
    fn from(error: BoundError) -> Self {
        SearchError::Bound(error)
    }
}

impl From<ScheduleFlaw> for SearchError {
    fn from(flaw: ScheduleFlaw) -> Self {
        SearchError::Flawed(flaw)
    }
}

impl From<ArithmeticError> for SearchError {
    fn from(error: ArithmeticError) -> Self {
        SearchError::Arithmetic(error)
    }
}
