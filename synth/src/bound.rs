//! Exact lower bounds for collectives, each with a witness that shows it.

pub mod allreduce;
pub mod alltoall;
mod budget;
pub mod collective;
pub mod cut;
pub mod cut_search;
pub(crate) mod cutting;
pub mod flows;
pub mod layered;
mod paths;
mod quotient;
pub mod rooted;
pub(crate) mod rounding;
pub mod steps;
pub mod tree_count;

pub use allreduce::AllReduceBound;
pub use budget::{BoundBudget, Completeness, ProgramBudget, ProgramLimits};

use crate::graph::{Topology, TopologyError, Vertex};
use crate::rational::{ArithmeticError, Rational};
use crate::sketch::SketchError;
use std::fmt;

/// Why there is no bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoundError {
    /// There is one rank only: nothing needs to move, and no time passes.
    SingleRank,
    /// The root is not a rank of the topology.
    RootOutOfRange {
        /// The root.
        root: Vertex,
    },
    /// What a rank needs cannot reach it: the collective is impossible.
    Unreachable {
        /// The rank that has it.
        from: Vertex,
        /// The rank that needs it.
        to: Vertex,
    },
    /// The collective takes more steps than are allowed.
    TooFewSteps {
        /// How many it takes at least.
        least: u32,
    },
    /// Some value takes more hops than the sketch allows.
    TooFewHops {
        /// How many it takes at least.
        least: u32,
    },
    /// No rank can sum up what several ranks get, and send it to all of them.
    NoRoot,
    /// The sketch names what the topology does not have.
    Sketch(SketchError),
    /// The topology has too many ranks and edges for the linear program.
    TooLarge,
    /// A fraction does not fit into 128 bits.
    Arithmetic(ArithmeticError),
}

impl fmt::Display for BoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BoundError::SingleRank => write!(f, "there is one rank only, and nothing to send"),
            BoundError::RootOutOfRange { root } => write!(f, "there is no rank {root}"),
            BoundError::Unreachable { from, to } => {
                let (from, to) = (*from, *to);
                write!(f, "{}", TopologyError::Unreachable { from, to, pairs: 1 })
            }
            BoundError::TooFewSteps { least } => write!(f, "at least {least} steps are needed"),
            BoundError::TooFewHops { least } => {
                write!(f, "some value takes at least {least} hops from rank to rank")
            }
            BoundError::NoRoot => {
                write!(
                    f,
                    "no rank can get all parts of a sum and send it to all ranks that need it"
                )
            }
            BoundError::Sketch(error) => error.fmt(f),
            BoundError::TooLarge => write!(f, "the topology is too large for this bound"),
            BoundError::Arithmetic(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BoundError {}

impl From<SketchError> for BoundError {
    fn from(error: SketchError) -> Self {
        BoundError::Sketch(error)
    }
}

impl From<ArithmeticError> for BoundError {
    fn from(error: ArithmeticError) -> Self {
        BoundError::Arithmetic(error)
    }
}

/// A bound on the time per chunk, and the cut that shows it.
///
/// A cut is a set of vertices, `side`, that contains a rank and lacks another one. What the collective moves from the
/// ranks on one side to those on the other must pass the edges between them: the bound is its amount, divided by the
/// sum of their rates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutBound {
    /// The bound, in rounds per chunk, or in seconds per byte.
    pub value: Rational,
    /// The vertices on one side, in order. What the collective moves away from them must leave it.
    pub side: Vec<Vertex>,
    /// A rank that is not on this side.
    pub outside: Vertex,
}

/// An amount that must pass a cut, and the sum of the weights of the edges that it can pass.
#[derive(Clone, Copy, Debug)]
struct CutRatio {
    amount: u64,
    weight: u64,
}

impl CutRatio {
    /// The ratio in the unit of the topology.
    fn compute_value(self, topology: &Topology) -> Result<Rational, ArithmeticError> {
        let ratio = Rational::new(i128::from(self.amount), i128::from(self.weight))?;
        ratio.checked_div(topology.quantum())
    }

    /// The same ratio in lowest terms.
    fn reduce(self) -> CutRatio {
        let (mut a, mut b) = (self.amount, self.weight);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let divisor = a.max(1);
        CutRatio { amount: self.amount / divisor, weight: self.weight / divisor }
    }
}

/// The sum of the weights of the edges that leave a set of vertices.
fn sum_leaving(topology: &Topology, is_inside: impl Fn(Vertex) -> bool) -> u64 {
    let edges = topology.weighted_edges();
    let leaving = edges.filter(|(edge, _)| is_inside(edge.from) && !is_inside(edge.to));
    leaving.map(|(_, weight)| weight).sum()
}

/// All vertices, in order.
fn all_vertices(topology: &Topology) -> impl Iterator<Item = Vertex> + use<> {
    (0..topology.count_vertices() as u32).map(Vertex)
}

fn check_root(topology: &Topology, root: Vertex) -> Result<(), BoundError> {
    if !topology.is_rank(root) {
        return Err(BoundError::RootOutOfRange { root });
    }
    check_rank_count(topology)
}

fn check_rank_count(topology: &Topology) -> Result<(), BoundError> {
    if topology.count_ranks() == 1 { Err(BoundError::SingleRank) } else { Ok(()) }
}

/// A cut of the reversed topology, as a cut of the topology itself: what leaves a side leaves the other one there.
fn reverse_cut(topology: &Topology, bound: CutBound) -> CutBound {
    let is_inside = |vertex: &Vertex| bound.side.binary_search(vertex).is_ok();
    let outside = topology.ranks().find(is_inside).unwrap_or(bound.outside);
    let side = all_vertices(topology).filter(|vertex| !is_inside(vertex)).collect();
    CutBound { value: bound.value, side, outside }
}

/// An error on the reversed topology, in terms of the topology itself.
fn reverse_error(error: BoundError) -> BoundError {
    match error {
        BoundError::Unreachable { from, to } => BoundError::Unreachable { from: to, to: from },
        BoundError::SingleRank
        | BoundError::RootOutOfRange { .. }
        | BoundError::TooFewSteps { .. }
        | BoundError::TooFewHops { .. }
        | BoundError::NoRoot
        | BoundError::Sketch(_)
        | BoundError::TooLarge
        | BoundError::Arithmetic(_) => error,
    }
}
