//! Collectives: the known ones, and those that users describe by what they demand.

mod demand;

pub use demand::{Demand, DemandError, DemandList, RecognizedCollective, SummandGroup};

use crate::graph::Vertex;
use std::fmt;

/// A collective, known or described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Collective {
    /// One of the known ones.
    Known(CollectiveKind),
    /// One that is described by its demands. It may still be a known one: [`DemandList::recognize`] tells.
    Demands(DemandList),
}

impl From<CollectiveKind> for Collective {
    fn from(kind: CollectiveKind) -> Self {
        Collective::Known(kind)
    }
}

/// A collective operation that is known. A root is a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveKind {
    /// Each rank has a chunk, and all get all of them.
    AllGather,
    /// Each rank has a summand of each chunk, and each gets the sum of one of them.
    ReduceScatter,
    /// Each rank has a chunk for each other one.
    AllToAll,
    /// Each rank has a summand of the buffer, and all get the sum.
    AllReduce,
    /// The root has a buffer, and all get it.
    Broadcast(Vertex),
    /// Each rank has a summand of the buffer, and the root gets the sum.
    Reduce(Vertex),
    /// The root has a chunk for each other rank.
    Scatter(Vertex),
    /// Each rank has a chunk for the root.
    Gather(Vertex),
}

impl CollectiveKind {
    /// The name without the root, as certificates write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CollectiveKind::AllGather => "allgather",
            CollectiveKind::ReduceScatter => "reduce_scatter",
            CollectiveKind::AllToAll => "alltoall",
            CollectiveKind::AllReduce => "allreduce",
            CollectiveKind::Broadcast(_) => "broadcast",
            CollectiveKind::Reduce(_) => "reduce",
            CollectiveKind::Scatter(_) => "scatter",
            CollectiveKind::Gather(_) => "gather",
        }
    }

    /// The root, if there is one.
    #[must_use]
    pub fn root(self) -> Option<Vertex> {
        match self {
            CollectiveKind::AllGather
            | CollectiveKind::ReduceScatter
            | CollectiveKind::AllToAll
            | CollectiveKind::AllReduce => None,
            CollectiveKind::Broadcast(root)
            | CollectiveKind::Reduce(root)
            | CollectiveKind::Scatter(root)
            | CollectiveKind::Gather(root) => Some(root),
        }
    }

    /// The collective that this one is when it runs backwards, on the reversed topology: what adds up or gathers is
    /// what copies or scatters. `None` for those that need no reversal.
    #[must_use]
    pub fn reverse(self) -> Option<CollectiveKind> {
        match self {
            CollectiveKind::ReduceScatter => Some(CollectiveKind::AllGather),
            CollectiveKind::Reduce(root) => Some(CollectiveKind::Broadcast(root)),
            CollectiveKind::Gather(root) => Some(CollectiveKind::Scatter(root)),
            CollectiveKind::AllGather
            | CollectiveKind::AllToAll
            | CollectiveKind::AllReduce
            | CollectiveKind::Broadcast(_)
            | CollectiveKind::Scatter(_) => None,
        }
    }

    /// Whether what a rank gets depends on what another one has.
    #[must_use]
    pub fn has_demand(self, from: Vertex, to: Vertex) -> bool {
        from != to
            && match self {
                CollectiveKind::AllGather
                | CollectiveKind::ReduceScatter
                | CollectiveKind::AllToAll
                | CollectiveKind::AllReduce => true,
                CollectiveKind::Broadcast(root) | CollectiveKind::Scatter(root) => from == root,
                CollectiveKind::Reduce(root) | CollectiveKind::Gather(root) => to == root,
            }
    }
}

impl fmt::Display for CollectiveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self.root() {
            Some(root) => write!(f, "({root})"),
            None => Ok(()),
        }
    }
}
