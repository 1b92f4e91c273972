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
//! demand 3 - : 0 : 1 2               count, group of summands, origins, receivers
//! cut allgather 2 : 0 2               collective, value, the vertices on the side
//! steps broadcast(0) 0 1 1 : 0 1 0    collective, from, to, steps, the distance of each vertex
//! flow alltoall 2 : 0 1 1 0           collective, value, potentials
//! flow demands hops 2 3 : 0 0 0 0 ... collective, hops, value, potentials
//! flow allgather steps 1 1 : 0 0 ...  collective, steps, value, potentials
//! roots allreduce 1/2 : 0 0 0 0 0 ... collective, value, potentials
//! end 6
//! ```
//!
//! What a collective demands is that receivers get values, of which each is the sum of one of each origin; or a copy,
//! if there is one origin. `count` is how many, and demands of a group (a number, or `-` for none) have their summands
//! in common. The collective `demands` is that of the file; the others are the known ones.
//!
//! * `cut`: what the collective moves from the ranks on the side to those outside must pass the edges that leave it: each
//!   value once of which an origin is on the side and a receiver outside. Of sums with common summands those parts count
//!   that come from the side and are not sums of others, modulo 2.
//! * `steps`: the distances grow along each edge by at most its length, which is 1 if it ends at a rank and 0 if it
//!   ends at a switch. So no path is shorter.
//!
//! The others are solutions of dual linear programs: *potentials*, integers of any sign, one for each vertex in order.
//! A flow of one unit from a vertex to another one uses each edge by some amount; the sum of all amounts times by how
//! much the potential rises along the edge is at least the difference of the potentials at the flow's ends. So
//! the sum of these differences is *needed*, and an edge *offers* its rate times how much it can be used at most in
//! a round. Needed divided by offered is a bound, whatever the potentials are.
//!
//! * `flow`: potentials for each demand, each origin and each other receiver, in order. What is sent of a value can
//!   serve several receivers, or be the sum of what several origins contribute: so the rises of a demand, or of a group
//!   of demands, count together, divided by how many values they are, and only those of the demand for which they are
//!   most. Of an AllToAll, a Scatter and a Gather the potentials are for each origin, from which a flow leads to each
//!   receiver. So are those of demands with one origin and one receiver. See [`crate::bound::flows`].
//! * `flow` with `steps`: the same, with potentials for each time from 0 to the number of steps. An edge leads from its
//!   tail before a step to its head after it, but from a switch in the step itself; waiting at a rank uses nothing, and
//!   the potential may not rise there. The step that offers most counts.
//! * `flow` with `hops`: the same, where an edge offers what it can be used for at most in any hop.
//! * `roots`: for each demand, potentials of the switches that cannot `multicast`, through which as much of the copies goes in as
//!   out, and of those that cannot `reduce`, for the sums; zero for all other vertices. Then potentials for the
//!   copies to each rank, and for the sums from each rank; those of receivers and of origins count. What is needed is
//!   that of the best root. An edge is used by the copies or by the sums of a demand: by those for which the sum of all
//!   rises, divided by how many values they are, is most. See [`crate::bound::allreduce`].

mod check;
mod demand;
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

/// How many edges the certificates of a file may look at in all, which takes up to a second: every edge for each potential
/// of all vertices, of which there are at most as many as the length of the text allows. It is enough for an AllToAll
/// on the largest topologies: 500 ranks that are joined pairwise. More is [`ProofFlaw::TooLong`].
pub const MAX_EDGE_WORK: u64 = 1 << 27;

/// How many numbers are kept at once for demands that have their summands in common: one for each group, edge and step.
/// More are [`ProofFlaw::TooLong`].
pub const MAX_GROUP_SUMS: usize = 1 << 24;

/// How many bytes of a proof file are read, which takes about a second. More are [`ProofFlaw::TooLong`].
pub const MAX_PROOF_BYTES: usize = 1 << 24;

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
    /// The same, of algorithms in which each value takes at most so many hops from rank to rank.
    TimePerChunkInHops(u64),
    /// The same, of algorithms that sum each part of the buffer up at one rank, and send the sum from there.
    TimePerChunkByRoots,
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
        write!(f, "line {}: {}", self.line, self.flaw)
    }
}

impl fmt::Display for ProofFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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
