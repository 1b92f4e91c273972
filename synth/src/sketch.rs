//! Sketches: constraints on the schedules that are looked for (Shah et al., "TACCL: Guiding collective algorithm
//! synthesis using communication sketches", NSDI 2023). They are plain data; bounds and searches apply them.

use crate::graph::{EdgeIndex, Vertex};

/// Constraints on a schedule. The default one constrains nothing.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Sketch {
    /// Edges of the topology that carry nothing.
    pub forbidden: Vec<EdgeIndex>,
    /// Where what passes from some ranks to others has to go.
    pub passages: Vec<Passage>,
    /// At most so many hops take what an origin contributes to a receiver. A hop is a path from rank to rank, through
    /// any number of switches. `None` if there is no limit.
    pub max_hops: Option<u32>,
    /// What forwards values.
    pub relay: Relay,
}

/// What forwards values on their way from an origin to a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Relay {
    /// Ranks and switches.
    #[default]
    Ranks,
    /// Switches only: each value takes one hop.
    Nothing,
}

/// A hop from one of some ranks to one of others uses certain edges only, such as those of a network card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Where the hop begins: the ranks of a node.
    pub from: Vec<Vertex>,
    /// Where it ends: the ranks of another node.
    pub to: Vec<Vertex>,
    /// The edges that it can use.
    pub via: Vec<EdgeIndex>,
}

impl Sketch {
    /// The largest number of hops that a value can take. `None` if there is no limit.
    #[must_use]
    pub fn limit_hops(&self) -> Option<u32> {
        match self.relay {
            Relay::Ranks => self.max_hops,
            Relay::Nothing => Some(self.max_hops.map_or(1, |hops| hops.min(1))),
        }
    }
}

/// A constraint of a sketch that a bound does not include, or not wholly: it holds, but a schedule that keeps the
/// constraint may need more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SketchGap {
    /// An edge that a passage excludes also carries what the passage is not about, so that it was not removed.
    Passage {
        /// The index of the passage.
        passage: usize,
        /// The edge of the topology.
        edge: EdgeIndex,
    },
    /// The limit on hops is in the bound on steps only, as the values are sums that several ranks get.
    HopsOfSums,
    /// The limit on hops is in the bound on steps only, as the program for it is too large.
    TooManyHops,
    /// Bounds for more steps than hops have the limit on hops and that on steps each, but not both at once.
    HopsWithinSteps,
}
