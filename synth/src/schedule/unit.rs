//! The units of a collective: what each of its chunks is, where it comes from and where it goes.

use crate::collective::{Collective, CollectiveKind};
use crate::graph::Vertex;

/// One chunk of a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The ranks that have it, or a summand of it if there are several. In order.
    pub origins: Vec<Vertex>,
    /// The ranks that get it, or the sum. In order, without the origin of what is copied.
    pub receivers: Vec<Vertex>,
}

impl Unit {
    /// Whether it is a sum.
    #[must_use]
    pub fn is_sum(&self) -> bool {
        self.origins.len() > 1
    }

    /// Whether a rank has it, or a summand of it.
    #[must_use]
    pub fn has_origin(&self, rank: Vertex) -> bool {
        self.origins.binary_search(&rank).is_ok()
    }

    /// Whether a rank gets it.
    #[must_use]
    pub fn has_receiver(&self, rank: Vertex) -> bool {
        self.receivers.binary_search(&rank).is_ok()
    }
}

/// The units of a collective on so many ranks. Those of known ones have the numbers that msccl-tools gives to their
/// chunks: unit `k` of an AllGather and of a Gather is what rank `k` has, unit `k` of a ReduceScatter and of a Scatter
/// what it gets, and unit `s + d * ranks` of an AllToAll what `s` has for `d`. An AllReduce has one unit for each rank,
/// each a part of the buffer, so that the time per chunk of its schedules is `ranks` times that of its bound. Others have
/// the values of their demands, in order.
#[must_use]
pub fn list_units(collective: &Collective, ranks: u32) -> Vec<Unit> {
    let all: Vec<Vertex> = (0..ranks).map(Vertex).collect();
    let others = |rank: Vertex| all.iter().copied().filter(|other| *other != rank).collect();
    let each = all.iter().copied();
    let send = |from: Vertex, to: Vertex| Unit {
        origins: vec![from],
        receivers: if from == to { Vec::new() } else { vec![to] },
    };
    match collective {
        Collective::Known(CollectiveKind::AllGather) => {
            each.map(|rank| Unit { origins: vec![rank], receivers: others(rank) }).collect()
        }
        Collective::Known(CollectiveKind::ReduceScatter) => {
            each.map(|rank| Unit { origins: all.clone(), receivers: vec![rank] }).collect()
        }
        Collective::Known(CollectiveKind::AllToAll) => {
            each.flat_map(|to| all.iter().map(move |from| send(*from, to))).collect()
        }
        Collective::Known(CollectiveKind::AllReduce) => {
            each.map(|_| Unit { origins: all.clone(), receivers: all.clone() }).collect()
        }
        Collective::Known(CollectiveKind::Broadcast(root)) => {
            vec![Unit { origins: vec![*root], receivers: others(*root) }]
        }
        Collective::Known(CollectiveKind::Reduce(root)) => {
            vec![Unit { origins: all.clone(), receivers: vec![*root] }]
        }
        Collective::Known(CollectiveKind::Scatter(root)) => {
            each.map(|rank| send(*root, rank)).collect()
        }
        Collective::Known(CollectiveKind::Gather(root)) => {
            each.map(|rank| send(rank, *root)).collect()
        }
        Collective::Demands(demands) => {
            let repeat = |demand: &crate::collective::Demand| {
                let unit =
                    Unit { origins: demand.origins.clone(), receivers: demand.receivers.clone() };
                std::iter::repeat_n(unit, demand.count as usize)
            };
            demands.as_slice().iter().flat_map(repeat).collect()
        }
    }
}
