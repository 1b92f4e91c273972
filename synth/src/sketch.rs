//! Sketches: constraints on the schedules that are looked for (Shah et al., "TACCL: Guiding collective algorithm
//! synthesis using communication sketches", NSDI 2023). They are plain data; bounds and searches apply them.

use crate::dense::{DenseKey, DenseMap};
use crate::graph::{EdgeIndex, Topology, Vertex};
use std::fmt;

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

/// What a sketch names and the topology does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SketchError {
    /// There is no such edge.
    UnknownEdge {
        /// Its index.
        edge: EdgeIndex,
    },
    /// There is no such rank.
    UnknownRank {
        /// Its number.
        rank: Vertex,
    },
}

impl fmt::Display for SketchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SketchError::UnknownEdge { edge } => {
                write!(f, "the sketch names link {}, which does not exist", edge.0)
            }
            SketchError::UnknownRank { rank } => {
                write!(f, "the sketch names rank {rank}, which does not exist")
            }
        }
    }
}

impl std::error::Error for SketchError {}

/// A topology without the edges that a sketch lets carry nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SketchedTopology {
    /// The vertices are the same; the edges are those that are left, in the same order.
    pub topology: Topology,
    /// The passages that it does not have wholly.
    pub gaps: Vec<SketchGap>,
}

impl Sketch {
    /// Removes the edges that carry nothing: those that are forbidden, and those that lie on excluded hops only.
    ///
    /// # Errors
    /// [`SketchError`].
    pub fn apply(&self, topology: &Topology) -> Result<SketchedTopology, SketchError> {
        self.check_names(topology)?;
        let mut keeps = vec![true; topology.edges().len()];
        for edge in &self.forbidden {
            keeps.iter_mut().skip(edge.index()).take(1).for_each(|keep| *keep = false);
        }
        // With an edge its hops go, and with them the reason for other edges.
        loop {
            let hops = HopEnds::new(topology, &keeps);
            let is_removed = |index: usize| {
                let edge = EdgeIndex(index as u32);
                hops.find_all(index).all(|hop| self.find_excluding(hop, edge).is_some())
            };
            let removed: Vec<usize> = (0..keeps.len())
                .filter(|index| keeps.get(*index) == Some(&true) && is_removed(*index))
                .collect();
            // Edges of no hop at all matter to nobody, and stay if there is no passage.
            if removed.is_empty() || self.passages.is_empty() {
                let gaps = self.list_gaps(&hops, &keeps);
                return Ok(SketchedTopology { topology: topology.keep_edges(&keeps), gaps });
            }
            for index in removed {
                keeps.iter_mut().skip(index).take(1).for_each(|keep| *keep = false);
            }
        }
    }

    fn check_names(&self, topology: &Topology) -> Result<(), SketchError> {
        let via = self.passages.iter().flat_map(|passage| &passage.via);
        let count = topology.edges().len();
        if let Some(&edge) = self.forbidden.iter().chain(via).find(|edge| edge.index() >= count) {
            return Err(SketchError::UnknownEdge { edge });
        }
        let mut ranks =
            self.passages.iter().flat_map(|passage| passage.from.iter().chain(&passage.to));
        match ranks.find(|rank| !topology.is_rank(**rank)) {
            Some(&rank) => Err(SketchError::UnknownRank { rank }),
            None => Ok(()),
        }
    }

    /// The first passage that does not let a hop use an edge.
    fn find_excluding(&self, hop: Hop, edge: EdgeIndex) -> Option<usize> {
        self.passages.iter().position(|passage| {
            passage.from.contains(&hop.from)
                && passage.to.contains(&hop.to)
                && !passage.via.contains(&edge)
        })
    }

    /// The edges that are left, and that some hop must not use.
    fn list_gaps(&self, hops: &HopEnds, keeps: &[bool]) -> Vec<SketchGap> {
        let mut gaps = Vec::new();
        for (index, _) in keeps.iter().enumerate().filter(|(_, keep)| **keep) {
            let edge = EdgeIndex(index as u32);
            let excluding = hops.find_all(index).filter_map(|hop| self.find_excluding(hop, edge));
            let mut passages: Vec<usize> = excluding.collect();
            passages.sort_unstable();
            passages.dedup();
            gaps.extend(passages.into_iter().map(|passage| SketchGap::Passage { passage, edge }));
        }
        gaps
    }
}

/// A way from a rank to another one, through switches only.
#[derive(Clone, Copy)]
struct Hop {
    from: Vertex,
    to: Vertex,
}

/// For each edge, where the hops begin and end that it can be on.
struct HopEnds {
    begins: Vec<Vec<Vertex>>,
    ends: Vec<Vec<Vertex>>,
}

impl HopEnds {
    fn new(topology: &Topology, keeps: &[bool]) -> HopEnds {
        let kept = topology.edges().iter().zip(keeps);
        let arcs: Vec<[Vertex; 2]> =
            kept.filter(|(_, keep)| **keep).map(|(edge, _)| [edge.from, edge.to]).collect();
        let reversed: Vec<[Vertex; 2]> = arcs.iter().map(|[from, to]| [*to, *from]).collect();
        let before = collect_ranks(topology, &reversed);
        let after = collect_ranks(topology, &arcs);
        let edges = topology.edges().iter();
        HopEnds {
            begins: edges.clone().map(|edge| before[edge.from].clone()).collect(),
            ends: edges.map(|edge| after[edge.to].clone()).collect(),
        }
    }

    fn find_all(&self, edge: usize) -> impl Iterator<Item = Hop> {
        let begins = self.begins.get(edge).into_iter().flatten();
        let ends = self.ends.get(edge).into_iter().flatten();
        let hops = begins.flat_map(move |from| ends.clone().map(|to| Hop { from: *from, to: *to }));
        hops.filter(|hop| hop.from != hop.to)
    }
}

/// For each vertex the ranks that it reaches through switches only; for a rank, itself.
fn collect_ranks(topology: &Topology, arcs: &[[Vertex; 2]]) -> DenseMap<Vertex, Vec<Vertex>> {
    let vertices = topology.count_vertices();
    let mut entering: DenseMap<Vertex, Vec<Vertex>> = DenseMap::filled(vertices, Vec::new());
    for [from, to] in arcs {
        entering[*to].push(*from);
    }
    let mut reached: DenseMap<Vertex, Vec<Vertex>> = DenseMap::filled(vertices, Vec::new());
    for rank in topology.ranks() {
        reached[rank].push(rank);
        let mut open = vec![rank];
        while let Some(vertex) = open.pop() {
            for &before in entering[vertex].iter().filter(|before| !topology.is_rank(**before)) {
                if reached[before].last() != Some(&rank) {
                    reached[before].push(rank);
                    open.push(before);
                }
            }
        }
    }
    reached
}
