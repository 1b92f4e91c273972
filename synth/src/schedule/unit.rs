//! The units of a collective: what each of its chunks is, where it comes from and where it goes.

use crate::collective::{Collective, CollectiveKind, Demand, SummandGroup};
use crate::graph::Vertex;
use std::collections::{BTreeMap, BTreeSet};

/// One chunk of a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The ranks that have it, or a summand of it if there are several. In order.
    pub origins: Vec<Vertex>,
    /// The ranks that get it, or the sum. In order, without the origin of what is copied.
    pub receivers: Vec<Vertex>,
    /// For each receiver the origins whose summands it gets, in order, where not all get all of them, as in a scan;
    /// empty where they do. A receiver that has a summand gets it.
    pub summands: Vec<Vec<Vertex>>,
}

impl Unit {
    /// A unit that all receivers get as a whole.
    #[must_use]
    pub fn new(origins: Vec<Vertex>, receivers: Vec<Vertex>) -> Unit {
        Unit { origins, receivers, summands: Vec::new() }
    }

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

    /// Whether receivers get different parts of it.
    #[must_use]
    pub fn has_parts(&self) -> bool {
        !self.summands.is_empty()
    }

    /// The origins whose summands a receiver gets, by its index among the receivers.
    #[must_use]
    pub fn find_summands(&self, receiver: usize) -> &[Vertex] {
        self.summands.get(receiver).unwrap_or(&self.origins)
    }
}

/// The units of a collective on so many ranks. Those of known ones have the numbers that msccl-tools gives to their
/// chunks: unit `k` of an AllGather and of a Gather is what rank `k` has, unit `k` of a ReduceScatter and of a Scatter
/// what it gets, and unit `s + d * ranks` of an AllToAll what `s` has for `d`. An AllReduce has one unit for each rank,
/// each a part of the buffer, so that the time per chunk of its schedules is `ranks` times that of its bound. Others have
/// the values of their demands, in order; sums that have their contributions in common are one unit, at the place of
/// the first, if each rank gets one of them at most and, of what it contributes itself, a sum that has it.
#[must_use]
pub fn list_units(collective: &Collective, ranks: u32) -> Vec<Unit> {
    let all: Vec<Vertex> = (0..ranks).map(Vertex).collect();
    let others = |rank: Vertex| all.iter().copied().filter(|other| *other != rank).collect();
    let each = all.iter().copied();
    let send = |from: Vertex, to: Vertex| {
        Unit::new(vec![from], if from == to { Vec::new() } else { vec![to] })
    };
    match collective {
        Collective::Known(CollectiveKind::AllGather) => {
            each.map(|rank| Unit::new(vec![rank], others(rank))).collect()
        }
        Collective::Known(CollectiveKind::ReduceScatter) => {
            each.map(|rank| Unit::new(all.clone(), vec![rank])).collect()
        }
        Collective::Known(CollectiveKind::AllToAll) => {
            each.flat_map(|to| all.iter().map(move |from| send(*from, to))).collect()
        }
        Collective::Known(CollectiveKind::AllReduce) => {
            each.map(|_| Unit::new(all.clone(), all.clone())).collect()
        }
        Collective::Known(CollectiveKind::Broadcast(root)) => {
            vec![Unit::new(vec![*root], others(*root))]
        }
        Collective::Known(CollectiveKind::Reduce(root)) => {
            vec![Unit::new(all.clone(), vec![*root])]
        }
        Collective::Known(CollectiveKind::Scatter(root)) => {
            each.map(|rank| send(*root, rank)).collect()
        }
        Collective::Known(CollectiveKind::Gather(root)) => {
            each.map(|rank| send(rank, *root)).collect()
        }
        Collective::Demands(demands) => list_joint_units(demands.as_slice()),
    }
}

/// The units of demands, in which sums that have their contributions in common are units of their own, one for each.
#[must_use]
pub fn list_separate_units(demands: &[Demand]) -> Vec<Unit> {
    demands.iter().flat_map(repeat_unit).collect()
}

/// The values of a demand.
fn repeat_unit(demand: &Demand) -> impl Iterator<Item = Unit> {
    let unit = Unit::new(demand.origins.clone(), demand.receivers.clone());
    std::iter::repeat_n(unit, demand.count as usize)
}

fn list_joint_units(demands: &[Demand]) -> Vec<Unit> {
    let mut groups: BTreeMap<SummandGroup, Vec<&Demand>> = BTreeMap::new();
    for demand in demands {
        if let Some(group) = demand.summands {
            groups.entry(group).or_default().push(demand);
        }
    }
    let joint: BTreeMap<SummandGroup, Option<Unit>> =
        groups.iter().map(|(group, members)| (*group, join_sums(members))).collect();
    let mut units = Vec::new();
    let mut begun: BTreeSet<SummandGroup> = BTreeSet::new();
    for demand in demands {
        let own = demand.summands.and_then(|group| Some((group, joint.get(&group)?.as_ref()?)));
        match own {
            Some((group, unit)) => {
                let count = if begun.insert(group) { demand.count } else { 0 };
                units.extend(std::iter::repeat_n(unit.clone(), count as usize));
            }
            None => units.extend(repeat_unit(demand)),
        }
    }
    units
}

/// One unit for sums that have their contributions in common. Each rank keeps one value of it: `None` if that is not
/// enough.
fn join_sums(members: &[&Demand]) -> Option<Unit> {
    let mut needs: BTreeMap<Vertex, &[Vertex]> = BTreeMap::new();
    for member in members {
        for &receiver in &member.receivers {
            if needs.insert(receiver, &member.origins).is_some() {
                return None;
            }
        }
    }
    let origins: BTreeSet<Vertex> =
        members.iter().flat_map(|member| member.origins.iter().copied()).collect();
    let keeps_own = |(receiver, summands): (&Vertex, &&[Vertex])| {
        !origins.contains(receiver) || summands.binary_search(receiver).is_ok()
    };
    if !needs.iter().all(keeps_own) {
        return None;
    }
    Some(Unit {
        origins: origins.into_iter().collect(),
        receivers: needs.keys().copied().collect(),
        summands: needs.values().map(|summands| summands.to_vec()).collect(),
    })
}
