//! Certificates of bounds: `ccl-proof 2`, a text that one part writes and another one checks.
//!
//! A proof file has everything that is needed to check it: the topology as [`crate::graph::text`] writes it, then
//! collectives, each with its demands and bounds, and a last line that counts the bounds, so that a file of which a part
//! is missing is refused.
//!
//! ```text
//! ccl-proof 2
//! rates relative
//! ranks 2
//! ...
//! collective
//! demand 1 : 0 : all           how many values, their origins, their receivers
//! demand 1 : 1 : all
//! bound 1 time                 the value, what is bounded
//! flow 0 : 0 1                 the demands, by their places from 0; the potential of each vertex
//! bound 1 steps
//! flow 1 : 1 0
//! end 2
//! ```
//!
//! Each value is the sum of one contribution of each origin, or a copy, if there is one origin, and each receiver gets
//! it. A line `demand` may have several sums, `demand 1 : 0 1 : 1 : 0 1 2 : 2`, which have their contributions in
//! common. Of a line `apart` each receiver gets values of its own. `all` stands for all ranks, and for all demands. Names of
//! collectives are not part of the format: who reads that three lines demand an AllGather of three ranks has checked
//! it. (For those that this crate writes, [`ProvedClaim::collective`] has the name.)
//!
//! # Why it holds
//!
//! What is sent of a value over an edge is its *load* there. From each origin to each receiver one unit flows, within
//! the loads: what is sent of a copy, or of a sum of several contributions, can serve several flows at once.
//!
//! *Potentials* are integers of any sign, one for each vertex. Along a path from an origin to a receiver they rise by
//! their difference in all. So the loads times the *rises*, by how much potentials rise along edges where they do, sum
//! up to at least this difference, which is *needed*; for each flow the origin with the lowest potential and the receiver
//! with the highest one are taken. If for each demand the rises of its flows, summed up and divided by the number of its
//! values, are at most the *use* of an edge, then all loads times uses sum up to at least what all flows need. In
//! a round an edge carries its rate: *needed* divided by the sum of rates times uses is a bound, whatever the potentials
//! are. It is the dual of the linear program of the flows.
//!
//! * The flows of a line come one after another. If there are several, they are of all values of each of its demands
//!   together. If there is one, it is one of each value: it counts as often as there are values, its rises are not divided, and
//!   each receiver of what is apart counts. Lines have different demands, in ascending order.
//! * A cut is a flow that is 0 on a side and 1 outside. Then each value that must leave the side is needed once: of sums
//!   with common contributions those whose parts from the side are not sums of others, modulo 2. This holds for other
//!   potentials, too: between 0 and 1 such a number of values must pass, and elsewhere on the way of the farthest flow
//!   one.
//!
//! What is bounded:
//!
//! * `time`: rounds per chunk, or seconds per byte.
//! * `time steps 2`: the same in that many steps. A flow has potentials for each time, from before the first step to
//!   after the last one. An edge leads from a rank before a step to its end after it, but from a switch in the step
//!   itself. Waiting at a rank takes no load: potentials may not rise there. Each step has uses of its own; that which offers
//!   most counts.
//! * `time hops 3`: the same in any number of steps, in which each value takes so many hops. What is sent of a value has one
//!   number of hops, if it is copied, or summed up for one receiver: an edge offers its largest use. Of
//!   other values it would have several ones, and they are refused.
//! * `time roots`: the same of algorithms that sum each part of a value up at one rank, its *root*, and send copies
//!   from there. A flow has potentials for the sums, and then for the copies, whose loads are apart. The shares of the
//!   roots sum up to 1 for each demand, so if flows have, at each rank, no more in sum for the copies than for the sums, then
//!   passing from the one to the other takes nothing away. Through a switch that cannot `reduce`, as much of a load of sums goes
//!   in as out; of copies if it cannot `multicast`. So a flow whose potentials are zero everywhere else needs nothing, and
//!   where it falls it makes uses smaller.
//! * `steps`: the number of steps. Edges have lengths, 1 into a rank and 0 into a switch, and a path to a receiver takes
//!   as many steps as it is long. Potentials rise along it by at most its length, and by the uses, which count from the length
//!   on: the difference is at most steps * (1 + all uses), so that divided by this it is a bound. Usually there are no uses.

mod check;
mod known;
mod limits;
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

/// How many numbers are kept at once, one for each edge and step. More are [`ProofFlaw::TooLong`].
pub const MAX_LAYERED_EDGES: u64 = 1 << 24;

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

/// A bound that was checked, on the demands that the file has for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvedClaim {
    /// The name of what is demanded, such as `broadcast(0)`, if the demands are written as this crate writes them for it;
    /// `demands` if not.
    pub collective: String,
    /// What is bounded.
    pub quantity: ProvedQuantity,
    /// No algorithm needs less.
    pub value: Rational,
}

/// What the checker found.
struct ProvedBound {
    quantity: ProvedQuantity,
    value: Rational,
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
    /// The line, from 1; of a flow that of its bound; the one after the last if something is missing.
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
    /// The numbers show nothing: potentials rise where nothing passes.
    WrongValue,
    /// The numbers show another value.
    OtherValue(Rational),
}

impl fmt::Display for ProofError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.flaw)
    }
}

impl fmt::Display for ProofFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProofFlaw::Malformed => write!(f, "not as the format `ccl-proof 2` says"),
            ProofFlaw::TooLong => write!(f, "more lines or certificates than are read"),
            ProofFlaw::Incomplete => write!(f, "the file is not complete"),
            ProofFlaw::Topology(error) => error.fmt(f),
            ProofFlaw::Arithmetic(error) => error.fmt(f),
            ProofFlaw::WrongVertex => write!(f, "a vertex is not what the collective needs"),
            ProofFlaw::WrongValue => write!(f, "the numbers show nothing"),
            ProofFlaw::OtherValue(value) => write!(f, "the numbers show {value}"),
        }
    }
}

impl std::error::Error for ProofError {}

impl From<ArithmeticError> for ProofFlaw {
    fn from(error: ArithmeticError) -> Self {
        ProofFlaw::Arithmetic(error)
    }
}
