//! Certificates of bounds: `ccl-proof 1`, a text that one part writes and another one checks.
//!
//! A proof file has everything that is needed to check it: the topology as [`crate::graph::text`] writes it, then a
//! certificate in each line, and a last line that counts them, so that a file of which a part is missing is refused.
//!
//! ```text
//! ccl-proof 1
//! rates relative
//! ranks 2
//! ...
//! cut allgather 1 2 : 0 2             collective, rank outside, value, the vertices on the side
//! steps broadcast(0) 0 1 1 : 0 1 0    collective, from, to, steps, the distance of each vertex
//! lp alltoall 2 : 1 1 1 1             collective, value, the length of each edge
//! layered allgather 1 1 : 0 1 1 0 1   collective, steps, value, then origin, destination, step, edge, length, ..
//! end 4
//! ```
//!
//! Certificates of `reduce_scatter`, `reduce` and `gather` are those of `allgather`, `broadcast` and `scatter` on the
//! topology with every edge turned round, whose edges are sorted by their ends again.
//!
//! * `cut`: what the collective moves from the ranks on the side to those outside must pass the edges that leave it.
//! * `steps`: the distances start at 0 and grow along each edge by at most its length, which is 1 if it ends at a
//!   rank and 0 if it ends at a switch. So no path is shorter.
//! * `lp`: a chunk that goes from one rank to another one uses at least the shortest path under the lengths; an edge
//!   can carry its rate in each round. So the sum of all shortest paths, divided by the sum of length times rate, is
//!   a bound, whatever the lengths are.
//! * `layered`: the same in a network that has each step, with lengths for each pair of ranks; those that are not named
//!   are 0. What goes from one origin to several ranks can share an edge, so that the lengths of an origin count
//!   together, and only those of the origin for which they are most. See [`crate::bound::layered`].

mod check;
pub mod read;
pub mod write;

use crate::graph::{Topology, TopologyError};
use crate::rational::{ArithmeticError, Rational};
use std::fmt;

/// How many lines of a proof file are read: more than a topology can have, so that longer files are refused before they
/// take time, as [`ProofFlaw::TooLong`].
pub const MAX_PROOF_LINES: usize = 1 << 19;

/// How many certificates a proof file may have, as each takes a time that grows with the topology. More are
/// [`ProofFlaw::TooLong`].
pub const MAX_CERTIFICATES: usize = 1 << 10;

/// How many edges the search for paths of a `layered` certificate may pass in all, which takes some seconds: pairs of
/// ranks, times steps, times edges. More is [`ProofFlaw::TooLong`].
pub const MAX_PATH_WORK: u64 = 1 << 28;

/// What a proof file proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedProof {
    /// The machine that it is about.
    pub topology: Topology,
    /// What holds on it.
    pub claims: Vec<ProvedClaim>,
}

/// A bound that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvedClaim {
    /// The collective as it is written, such as `broadcast(0)`.
    pub collective: String,
    /// What is bounded.
    pub quantity: ProvedQuantity,
    /// No algorithm needs less.
    pub value: Rational,
}

/// What a claim bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProvedQuantity {
    /// The number of steps.
    Steps,
    /// Rounds per chunk, or seconds per byte.
    TimePerChunk,
    /// The same, of algorithms that take at most so many steps.
    TimePerChunkInSteps(u64),
}

/// Why a proof file is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofError {
    /// The line, from 1; the one after the last if something is missing.
    pub line: usize,
    /// What is wrong there.
    pub flaw: ProofFlaw,
}

/// What is wrong with a line of a proof file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProofFlaw {
    /// It is not as the format says, or a number does not fit.
    Malformed,
    /// The file has more lines or certificates than are read.
    TooLong,
    /// The file ends before its last line, or goes on after it, or the last line counts other certificates.
    Incomplete,
    /// The lines before describe no topology.
    Topology(TopologyError),
    /// A fraction does not fit into 128 bits.
    Arithmetic(ArithmeticError),
    /// A vertex is unknown, or not what the collective needs.
    WrongVertex,
    /// The numbers do not show the value.
    WrongValue,
}

impl fmt::Display for ProofError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match &self.flaw {
            ProofFlaw::Malformed => write!(f, "not as the format `ccl-proof 1` says"),
            ProofFlaw::TooLong => write!(f, "more lines or certificates than are read"),
            ProofFlaw::Incomplete => write!(f, "the file is not complete"),
            ProofFlaw::Topology(error) => error.fmt(f),
            ProofFlaw::Arithmetic(error) => error.fmt(f),
            ProofFlaw::WrongVertex => write!(f, "a vertex is not what the collective needs"),
            ProofFlaw::WrongValue => write!(f, "the numbers do not show the value"),
        }
    }
}

impl std::error::Error for ProofError {}

impl From<ArithmeticError> for ProofFlaw {
    fn from(error: ArithmeticError) -> Self {
        ProofFlaw::Arithmetic(error)
    }
}
