//! PCI Express between GPUs, as far as tables of relations tell: hosts that GPUs are at, with assumed rates.

use super::{
    ChannelAbilities, ImportError, ImportedLink, ImportedPort, ImportedSwitch, ImportedTopology,
    ImportedVertex, TextPlace,
};
use crate::table::Sets;
use std::collections::BTreeMap;

/// What a GPU's connection to its host is assumed to carry, in bytes per second and direction: PCI Express 4.0 with 16
/// lanes of 16 GT/s, less than 2 % of it for the encoding, rounded to the value that is usually given.
const PCIE_BANDWIDTH: u64 = 32_000_000_000;

/// The time through a host, in nanoseconds: what is typical.
const HOST_LATENCY_NS: u64 = 1_000;

/// The time from one host to another one, in nanoseconds: what is typical.
const BETWEEN_HOSTS_LATENCY_NS: u64 = 500;

/// The ranks of each set, ascending, by their first ranks.
pub(super) fn collect_groups(sets: &mut Sets, ranks: u32) -> Vec<Vec<u32>> {
    let mut members: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for rank in 0..ranks {
        members.entry(sets.find(rank as usize)).or_default().push(rank);
    }
    members.into_values().collect()
}

/// Adds a switch for each host, which is a set of ranks, and links between hosts.
///
/// # Errors
/// There are too many links.
pub(super) fn add_hosts(
    topology: &mut ImportedTopology,
    sets: &mut Sets,
    place: TextPlace,
) -> Result<(), ImportError> {
    let mut groups = collect_groups(sets, topology.ranks);
    let is_apart = groups.len() > 1 && groups.iter().all(|group| group.len() == 1);
    if is_apart {
        // Which GPUs share a host is unknown, so that a switch for each would only add vertices.
        groups = vec![groups.into_iter().flatten().collect()];
    }
    let is_single = groups.len() == 1;
    let mut hosts = Vec::new();
    for (index, ranks) in groups.into_iter().enumerate() {
        let vertices = ranks.into_iter().map(ImportedVertex::Rank);
        let ports = vertices.map(|vertex| ImportedPort { vertex, bandwidth: PCIE_BANDWIDTH });
        hosts.push(topology.add_switch(ImportedSwitch {
            name: if is_single { "host".to_owned() } else { format!("host_{index}") },
            label: None,
            ports: ports.collect(),
            latency_ns: HOST_LATENCY_NS,
            abilities: if is_apart { ChannelAbilities::PORT } else { ChannelAbilities::ALL },
        }));
    }
    for from in &hosts {
        for to in hosts.iter().filter(|to| *to != from) {
            let link = ImportedLink {
                from: *from,
                to: *to,
                bandwidth: PCIE_BANDWIDTH,
                latency_ns: BETWEEN_HOSTS_LATENCY_NS,
                abilities: ChannelAbilities::PORT,
            };
            topology.add_link(link, place)?;
        }
    }
    topology.add_note(
        "PCI Express is taken to carry 32 GB/s in each direction, as generation 4 with 16 lanes does: \
         generation 3 carries 16 GB/s, generation 5 carries 64 GB/s, and a bridge that several GPUs share \
         less for each. Where it is not to be used, remove the hosts.",
    );
    topology.add_note(if is_apart {
        "No two GPUs are said to be at one host: `host` stands for all hosts and what joins them, and only \
         ports lead through it. GPUs that are at one host could reach each other's memory; if all are, \
         remove its `abilities`."
    } else if is_single {
        "GPUs at one host are taken to reach each other's memory; where they cannot, give `host` the \
         abilities `[port]`."
    } else {
        "GPUs at one host are taken to reach each other's memory, those at different hosts only \
         through ports. Between two hosts there are 32 GB/s in each direction."
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{ChannelAbilities, ImportedTopology, TextPlace, TopologyFormat};
    use super::{add_hosts, collect_groups};
    use crate::table::Sets;

    fn import(sets: &mut Sets) -> ImportedTopology {
        let mut topology = ImportedTopology::new("m", TopologyFormat::NvidiaSmi, 4);
        add_hosts(&mut topology, sets, TextPlace::START).unwrap();
        topology
    }

    #[test]
    fn ranks_are_grouped() {
        let mut sets = Sets::new(5);
        sets.unite(3, 1);
        sets.unite(4, 3);
        assert_eq!(collect_groups(&mut sets, 5), [vec![0], vec![1, 3, 4], vec![2]]);
    }

    #[test]
    fn ranks_of_unknown_hosts_share_one_without_memory() {
        let mut sets = Sets::new(4);
        let topology = import(&mut sets);
        assert_eq!(topology.switches.len(), 1);
        assert_eq!(topology.switches[0].abilities, ChannelAbilities::PORT);
        let notes = topology.notes.join(" ");
        assert!(notes.contains("only ports lead through it"), "{notes}");
        assert!(!notes.contains("Between two hosts"), "{notes}");
        sets.unite(0, 1);
        let topology = import(&mut sets);
        assert_eq!((topology.switches.len(), topology.links.len()), (3, 6));
        assert_eq!(topology.switches[0].abilities, ChannelAbilities::ALL);
        assert!(topology.notes.join(" ").contains("Between two hosts"));
    }
}
