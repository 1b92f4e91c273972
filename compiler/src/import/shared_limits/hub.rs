//! Limits that are those of the ports of one switch.
//!
//! If each rank of a group has a limit for all that it sends to the others, and one for all that it receives from them,
//! and each link is as wide as one of its two limits, a switch with a port for each rank has exactly these limits: what
//! the ranks send to each other is any amount for each pair whose sums the ports carry.

use super::super::{
    ChannelAbilities, ImportError, ImportedPort, ImportedSwitch, ImportedTopology, ImportedVertex,
    TextPlace,
};
use super::{LimitPlan, SharedLimit, link_for_all};
use std::collections::BTreeMap;

/// A switch with ports.
#[derive(Debug)]
pub(super) struct LimitHub {
    pub(super) ports: Vec<HubPort>,
    /// The limits that it stands for, by their indices.
    pub(super) limits: Vec<usize>,
    /// The position of its first limit in the text.
    index: usize,
}

/// What a rank sends to a hub and receives from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct HubPort {
    rank: u32,
    sends: u64,
    receives: u64,
}

/// The limits of a group of ranks, by rank.
#[derive(Default)]
struct GroupLimits {
    of_senders: BTreeMap<u32, usize>,
    of_receivers: BTreeMap<u32, usize>,
    is_ambiguous: bool,
}

/// Finds the groups of limits that are hubs.
pub(super) fn find_hubs(plan: &LimitPlan, limits: &[SharedLimit]) -> Vec<LimitHub> {
    let mut groups: BTreeMap<Vec<u32>, GroupLimits> = BTreeMap::new();
    for (order, limit) in limits.iter().enumerate() {
        let (one, others, is_sender) =
            match (limit.sources.as_slice(), limit.destinations.as_slice()) {
                ([one], others) => (*one, others, true),
                (others, [one]) => (*one, others, false),
                _ => continue,
            };
        let mut ranks: Vec<u32> = others.iter().copied().filter(|rank| *rank != one).collect();
        ranks.push(one);
        ranks.sort_unstable();
        let group = groups.entry(ranks).or_default();
        let of_ranks = if is_sender { &mut group.of_senders } else { &mut group.of_receivers };
        group.is_ambiguous |= of_ranks.insert(one, order).is_some();
    }
    groups.iter().filter_map(|(ranks, group)| read_hub(plan, limits, ranks, group)).collect()
}

fn read_hub(
    plan: &LimitPlan,
    limits: &[SharedLimit],
    ranks: &[u32],
    group: &GroupLimits,
) -> Option<LimitHub> {
    if ranks.len() < 3 || group.is_ambiguous {
        return None;
    }
    let mut ports = Vec::with_capacity(ranks.len());
    for rank in ranks {
        let sends = limits.get(*group.of_senders.get(rank)?)?.bandwidth;
        let receives = limits.get(*group.of_receivers.get(rank)?)?.bandwidth;
        ports.push(HubPort { rank: *rank, sends, receives });
    }
    let find_port = |rank: u32| ranks.binary_search(&rank).ok().and_then(|at| ports.get(at));
    let mut joined = 0;
    for sender in group.of_senders.values() {
        for link in plan.find_links(limits.get(*sender)?) {
            let (link, own) = (plan.links.get(link)?, plan.limits_of.get(link)?);
            let (from, to) = (find_port(link.from)?, find_port(link.to)?);
            let receiver = group.of_receivers.get(&link.to)?;
            let has_both = own.len() == 2 && own.contains(sender) && own.contains(receiver);
            if !has_both || link.bandwidth < from.sends.min(to.receives) {
                return None;
            }
            joined += 1;
        }
    }
    let limits_of_hub: Vec<usize> =
        group.of_senders.values().chain(group.of_receivers.values()).copied().collect();
    let positions = limits_of_hub.iter().filter_map(|limit| limits.get(*limit));
    let index = positions.map(|limit| limit.index).min()?;
    let is_complete = joined == ranks.len() * (ranks.len() - 1);
    is_complete.then_some(LimitHub { ports, limits: limits_of_hub, index })
}

/// Adds a switch for each hub.
pub(super) fn add_hubs(
    topology: &mut ImportedTopology,
    hubs: &[LimitHub],
    find_place: impl Fn(usize) -> TextPlace,
) -> Result<(), ImportError> {
    for (number, hub) in hubs.iter().enumerate() {
        let is_even = hub.ports.iter().all(|port| port.sends == port.receives);
        let even = if is_even { hub.ports.as_slice() } else { &[] };
        let ports = even.iter().map(|port| ImportedPort {
            vertex: ImportedVertex::Rank(port.rank),
            bandwidth: port.sends,
        });
        let switch = topology.add_switch(ImportedSwitch {
            name: if hubs.len() == 1 { "hub".to_owned() } else { format!("hub_{number}") },
            label: None,
            ports: ports.collect(),
            latency_ns: 0,
            abilities: ChannelAbilities::ALL,
        });
        if is_even {
            continue;
        }
        for port in &hub.ports {
            let (rank, place) = (ImportedVertex::Rank(port.rank), find_place(hub.index));
            topology.add_link(link_for_all(rank, switch, port.sends), place)?;
            topology.add_link(link_for_all(switch, rank, port.receives), place)?;
        }
    }
    Ok(())
}
