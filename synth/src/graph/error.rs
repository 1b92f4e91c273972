//! What can be wrong with a topology.

use super::{MAX_EDGES, MAX_VERTICES, Vertex};
use std::fmt;

/// Why a graph is no topology. `edge` is an index into the edges that [`super::Topology::new`] was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyError {
    /// There is no rank.
    NoRanks,
    /// There are more than [`MAX_VERTICES`] ranks and switches.
    TooManyVertices,
    /// There are more than [`MAX_EDGES`] edges.
    TooManyEdges,
    /// An end of an edge is neither a rank nor a switch.
    VertexOutOfRange {
        /// The edge.
        edge: usize,
        /// Its end.
        vertex: Vertex,
    },
    /// An edge ends where it begins.
    SelfLoop {
        /// The edge.
        edge: usize,
    },
    /// The rate of an edge is zero or negative.
    RateNotPositive {
        /// The edge.
        edge: usize,
    },
    /// One edge has a rate in chunks per round, another one in bytes per second.
    MixedUnits {
        /// The first edge.
        first: usize,
        /// The first edge whose unit is another one.
        other: usize,
    },
    /// The rates have no common divisor that is large enough for exact arithmetic: their sum, as a multiple of the
    /// divisor and times the number of ranks, is 2^62 or more.
    RatesOverflow {
        /// The edge at which it was found.
        edge: usize,
    },
    /// No path leads from a rank to another one.
    Unreachable {
        /// The first such pair: where the path would begin.
        from: Vertex,
        /// Where it would end.
        to: Vertex,
        /// How many such pairs there are.
        pairs: u64,
    },
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TopologyError::NoRanks => write!(f, "the topology has no ranks"),
            TopologyError::TooManyVertices => {
                write!(f, "more than {MAX_VERTICES} ranks and switches")
            }
            TopologyError::TooManyEdges => write!(f, "more than {MAX_EDGES} links"),
            TopologyError::VertexOutOfRange { edge, vertex } => {
                write!(f, "edge {edge} names vertex {vertex}, which does not exist")
            }
            TopologyError::SelfLoop { edge } => write!(f, "edge {edge} ends where it begins"),
            TopologyError::RateNotPositive { edge } => {
                write!(f, "the rate of edge {edge} is not above zero")
            }
            TopologyError::MixedUnits { first, other } => {
                write!(f, "the rates of the edges {first} and {other} have different units")
            }
            TopologyError::RatesOverflow { edge } => {
                write!(
                    f,
                    "the rate of edge {edge} and the others have no common divisor that is large enough"
                )
            }
            TopologyError::Unreachable { from, to, pairs } => {
                write!(f, "no path leads from rank {from} to rank {to}")?;
                match pairs {
                    0 | 1 => Ok(()),
                    more => write!(f, ", nor for {} other pairs", more - 1),
                }
            }
        }
    }
}

impl std::error::Error for TopologyError {}
