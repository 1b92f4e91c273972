//! Why there are no trees.

use super::allreduce::AllReduceFlaw;
use super::budget::PackLimit;
use super::check::TreeFlaw;
use crate::bound::BoundError;
use crate::graph::Vertex;
use crate::rational::ArithmeticError;
use std::fmt;

/// Why there are no trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeError {
    /// There is no bound: the collective is impossible, or needs nothing.
    Bound(BoundError),
    /// No trees are asked for.
    NoTrees,
    /// There are no trees that take so little time: the bound is not one of this topology.
    TooLittleTime,
    /// The switch cannot be replaced by edges between its neighbors without loss. This happens only if more enters some
    /// vertex than leaves it, or less (Jackson, "Some remarks on arc-connectivity, vertex splitting, and orientation in
    /// graphs and digraphs", 1988).
    UnevenSwitch {
        /// The switch.
        switch: Vertex,
    },
    /// A budget did not suffice.
    OutOfBudget(PackLimit),
    /// A number does not fit.
    Arithmetic(ArithmeticError),
    /// The trees that were found are wrong, which is a bug.
    Flawed(TreeFlaw),
    /// The trees of an AllReduce that were found are wrong, which is a bug.
    FlawedAllReduce(AllReduceFlaw),
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TreeError::Bound(error) => error.fmt(f),
            TreeError::NoTrees => write!(f, "a chunk has at least one piece"),
            TreeError::TooLittleTime => write!(f, "there are no trees within this time"),
            TreeError::UnevenSwitch { switch } => {
                write!(f, "what passes switch {switch} cannot be divided among trees without loss")
            }
            TreeError::OutOfBudget(PackLimit::Observer) => write!(f, "the search was stopped"),
            TreeError::OutOfBudget(limit) => write!(f, "the budget of {limit} did not suffice"),
            TreeError::Arithmetic(error) => error.fmt(f),
            TreeError::Flawed(flaw) => write!(f, "the trees that were found are wrong: {flaw}"),
            TreeError::FlawedAllReduce(flaw) => {
                write!(f, "the trees that were found are wrong: {flaw}")
            }
        }
    }
}

impl std::error::Error for TreeError {}

impl From<BoundError> for TreeError {
    fn from(error: BoundError) -> Self {
        TreeError::Bound(error)
    }
}

impl From<ArithmeticError> for TreeError {
    fn from(error: ArithmeticError) -> Self {
        TreeError::Arithmetic(error)
    }
}

impl From<TreeFlaw> for TreeError {
    fn from(flaw: TreeFlaw) -> Self {
        TreeError::Flawed(flaw)
    }
}

impl From<AllReduceFlaw> for TreeError {
    fn from(flaw: AllReduceFlaw) -> Self {
        TreeError::FlawedAllReduce(flaw)
    }
}
