//! From demands to flows.

use crate::collective::{Demand, DemandList, SummandGroup};
use crate::graph::Vertex;
use std::collections::{BTreeMap, BTreeSet};

/// A vertex from which, or to which, so much flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FlowEnd {
    pub(super) vertex: Vertex,
    pub(super) amount: f64,
}

/// A flow of one unit, of which the origins or the receivers are one vertex.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Commodity {
    pub(super) origins: Vec<FlowEnd>,
    pub(super) receivers: Vec<FlowEnd>,
}

/// Flows that pass within what is sent of the same values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FlowGroup {
    /// How many chunks there are of it.
    pub(super) count: u64,
    pub(super) commodities: Vec<Commodity>,
    pub(super) meaning: GroupMeaning,
}

/// What a group of flows stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GroupMeaning {
    /// The values of a demand, by its index, and those that have contributions in common with it.
    Demand(u32),
    /// Values of one origin and one receiver each, which have one of both in common.
    SingleValues,
}

impl FlowGroup {
    /// The ranks that have something of it.
    pub(super) fn list_origins(&self) -> Vec<Vertex> {
        list_vertices(self.commodities.iter().flat_map(|commodity| &commodity.origins))
    }

    /// The ranks that get something of it.
    pub(super) fn list_receivers(&self) -> Vec<Vertex> {
        list_vertices(self.commodities.iter().flat_map(|commodity| &commodity.receivers))
    }
}

/// The vertices of ends, each once.
fn list_vertices<'a>(ends: impl Iterator<Item = &'a FlowEnd>) -> Vec<Vertex> {
    let vertices: BTreeSet<Vertex> = ends.map(|end| end.vertex).collect();
    vertices.into_iter().collect()
}

/// A value that one rank has and another one gets.
#[derive(Clone, Copy)]
pub(super) struct SingleValue {
    pub(super) origin: Vertex,
    pub(super) receiver: Vertex,
    pub(super) count: u64,
}

/// The flows that demands ask for.
pub(super) fn collect_groups(demands: &DemandList) -> Vec<FlowGroup> {
    let mut singles: Vec<SingleValue> = Vec::new();
    let mut groups: Vec<FlowGroup> = Vec::new();
    let mut summands: BTreeMap<SummandGroup, SummandFlows> = BTreeMap::new();
    for (index, demand) in (0..).zip(demands.as_slice()) {
        if let Some(group) = demand.summands {
            let flows = summands.entry(group).or_insert_with(|| SummandFlows::new(index, demand));
            flows.pairs.extend(list_pairs(demand));
        } else if let Some(single) = find_single(demand) {
            singles.push(single);
        } else {
            let mut flows = SummandFlows::new(index, demand);
            flows.pairs.extend(list_pairs(demand));
            groups.push(flows.into_group());
        }
    }
    groups.extend(summands.into_values().map(SummandFlows::into_group));
    groups.extend(group_singles(&singles));
    groups
}

/// The pairs of ranks between which the contributions of a sum, or copies, flow.
struct SummandFlows {
    first_demand: u32,
    count: u64,
    pairs: BTreeSet<[Vertex; 2]>,
}

impl SummandFlows {
    fn new(first_demand: u32, demand: &Demand) -> SummandFlows {
        SummandFlows { first_demand, count: demand.count, pairs: BTreeSet::new() }
    }

    fn into_group(self) -> FlowGroup {
        let commodities = self.pairs.into_iter().map(|[origin, receiver]| Commodity {
            origins: vec![FlowEnd { vertex: origin, amount: 1.0 }],
            receivers: vec![FlowEnd { vertex: receiver, amount: 1.0 }],
        });
        FlowGroup {
            count: self.count,
            commodities: commodities.collect(),
            meaning: GroupMeaning::Demand(self.first_demand),
        }
    }
}

/// The pairs of different ranks of which one has a contribution that the other one gets.
pub(super) fn list_pairs(demand: &Demand) -> impl Iterator<Item = [Vertex; 2]> {
    let receivers = |origin: &Vertex| {
        let origin = *origin;
        demand.receivers.iter().map(move |receiver| [origin, *receiver])
    };
    demand.origins.iter().flat_map(receivers).filter(|[origin, receiver]| origin != receiver)
}

/// The demand, if it is for values of one origin and one receiver.
pub(super) fn find_single(demand: &Demand) -> Option<SingleValue> {
    match (demand.origins.as_slice(), demand.receivers.as_slice()) {
        ([origin], [receiver]) if demand.summands.is_none() => {
            Some(SingleValue { origin: *origin, receiver: *receiver, count: demand.count })
        }
        _ => None,
    }
}

/// Single values in groups of one origin each, or of one receiver each, whichever are fewer: each group is one flow.
fn group_singles(singles: &[SingleValue]) -> Vec<FlowGroup> {
    let mut by_origin: BTreeMap<Vertex, Vec<&SingleValue>> = BTreeMap::new();
    let mut by_receiver: BTreeMap<Vertex, Vec<&SingleValue>> = BTreeMap::new();
    for single in singles {
        by_origin.entry(single.origin).or_default().push(single);
        by_receiver.entry(single.receiver).or_default().push(single);
    }
    let has_fewer_origins = by_origin.len() <= by_receiver.len();
    let by_end = if has_fewer_origins { by_origin } else { by_receiver };
    let to_group = |(end, values): (Vertex, Vec<&SingleValue>)| {
        let count: u64 = values.iter().map(|value| value.count).sum();
        let others = values.iter().map(|value| FlowEnd {
            vertex: if has_fewer_origins { value.receiver } else { value.origin },
            amount: value.count as f64 / count as f64,
        });
        let others = others.collect();
        let end = vec![FlowEnd { vertex: end, amount: 1.0 }];
        let commodity = if has_fewer_origins {
            Commodity { origins: end, receivers: others }
        } else {
            Commodity { origins: others, receivers: end }
        };
        FlowGroup { count, commodities: vec![commodity], meaning: GroupMeaning::SingleValues }
    };
    by_end.into_iter().map(to_group).collect()
}
