//! From a matrix of relations to links, NVSwitches and hosts.

use super::super::host::{add_hosts, collect_groups};
use super::super::{
    ChannelAbilities, ImportError, ImportedLink, ImportedPort, ImportedSwitch, ImportedTopology,
    ImportedVertex, TopologyFormat, clamp_count, format_count, print_name,
};
use super::{DeviceMatrix, DeviceRelation, MAX_NVLINKS};
use crate::table::Sets;
use std::collections::BTreeMap;

/// What one NVLink carries in one direction, in bytes per second, on V100, A100, H100 and H200: the data sheets give the
/// sum over both directions and all links, 300, 600 and 900 GB/s over 6, 12 and 18 of them
/// (<https://www.nvidia.com/en-us/data-center/nvlink/>).
const NVLINK_BANDWIDTH: u64 = 25_000_000_000;

/// The time over an NVLink, in nanoseconds: what is typical.
const NVLINK_LATENCY_NS: u64 = 700;

/// The time through an NVSwitch, in nanoseconds: what is typical.
const NVSWITCH_LATENCY_NS: u64 = 400;

/// The machine that a matrix describes.
pub(super) fn build_topology(
    matrix: DeviceMatrix,
    name: &str,
) -> Result<ImportedTopology, ImportError> {
    let ranks = clamp_count(matrix.relations.len());
    let mut topology = ImportedTopology::new(name, TopologyFormat::NvidiaSmi, ranks);
    topology.ranks_per_node = Some(ranks);
    add_nvlinks(&mut topology, &matrix)?;
    add_pcie(&mut topology, &matrix)?;
    if !topology.switches.is_empty() || !topology.links.is_empty() {
        topology.add_note("Latencies are typical ones.");
    }
    topology.notes.extend(matrix.notes);
    topology.check_size(matrix.place)?;
    Ok(topology)
}

/// GPUs that NVLinks join, directly or through others.
struct NvLinkGroup {
    ranks: Vec<u32>,
    /// The number of NVLinks between any two of them; none if it differs, or if some two have none.
    uniform: Option<u32>,
}

impl NvLinkGroup {
    /// How many NVLinks each GPU has to an NVSwitch. There is one if no GPU has enough NVLinks for a link of its own to
    /// each other GPU. Whether there is one between two GPUs makes no difference.
    fn find_switch_links(&self) -> Option<u32> {
        let others = clamp_count(self.ranks.len() - 1);
        let is_too_many = |links: &u32| others > 1 && others.saturating_mul(*links) > MAX_NVLINKS;
        self.uniform.filter(is_too_many)
    }
}

fn find_nvlink_groups(matrix: &DeviceMatrix) -> Vec<NvLinkGroup> {
    let mut sets = Sets::new(matrix.relations.len());
    for (from, row) in matrix.relations.iter().enumerate() {
        for (to, relation) in row.iter().enumerate().take(from) {
            if matches!(relation, DeviceRelation::NvLinks(_)) {
                sets.unite(from, to);
            }
        }
    }
    let mut found = collect_groups(&mut sets, clamp_count(matrix.relations.len()));
    found.retain(|ranks| ranks.len() > 1);
    found
        .into_iter()
        .map(|ranks| NvLinkGroup { uniform: find_uniform_links(matrix, &ranks), ranks })
        .collect()
}

fn find_uniform_links(matrix: &DeviceMatrix, ranks: &[u32]) -> Option<u32> {
    let mut uniform = None;
    for from in ranks {
        let row = matrix.relations.get(*from as usize)?;
        for to in ranks.iter().filter(|to| *to != from) {
            let DeviceRelation::NvLinks(count) = row.get(*to as usize)? else { return None };
            if *uniform.get_or_insert(*count) != *count {
                return None;
            }
        }
    }
    uniform
}

fn add_nvlinks(topology: &mut ImportedTopology, matrix: &DeviceMatrix) -> Result<(), ImportError> {
    let groups = find_nvlink_groups(matrix);
    let switched = groups.iter().filter(|group| group.find_switch_links().is_some()).count();
    for group in &groups {
        match group.find_switch_links() {
            Some(links) => {
                let index = topology.switches.len();
                let name =
                    if switched == 1 { "nvswitch".to_owned() } else { format!("nvswitch_{index}") };
                add_nvswitch(topology, &group.ranks, links, name);
            }
            None => add_direct_links(topology, matrix, &group.ranks)?,
        }
    }
    if !groups.is_empty() {
        topology.add_note(
            "Each NVLink is taken to carry 25 GB/s in each direction, as those of V100, A100, H100 and \
             H200 do: those of P100 carry 20 GB/s, those of B200 50 GB/s.",
        );
    }
    Ok(())
}

fn add_nvswitch(topology: &mut ImportedTopology, ranks: &[u32], links: u32, name: String) {
    let bandwidth = u64::from(links) * NVLINK_BANDWIDTH;
    let vertices = ranks.iter().map(|rank| ImportedVertex::Rank(*rank));
    topology.add_note(format!(
        "`{name}` is an NVSwitch, because {} GPUs have NV{links} to all others, and none has more than \
         {MAX_NVLINKS} NVLinks: each has {links} to the switch. Whether it multicasts and reduces is not \
         said; those of H100 do: `abilities = [memory, multicast, reduce];`. Where only ratios matter, its \
         ports are all alike: `bandwidth = 1`.",
        ranks.len()
    ));
    topology.add_switch(ImportedSwitch {
        name,
        label: None,
        ports: vertices.map(|vertex| ImportedPort { vertex, bandwidth }).collect(),
        latency_ns: NVSWITCH_LATENCY_NS,
        abilities: ChannelAbilities::MEMORY,
    });
}

fn add_direct_links(
    topology: &mut ImportedTopology,
    matrix: &DeviceMatrix,
    ranks: &[u32],
) -> Result<(), ImportError> {
    for from in ranks {
        let row = matrix.relations.get(*from as usize).map_or([].as_slice(), Vec::as_slice);
        for (to, relation) in (0..).zip(row) {
            if let DeviceRelation::NvLinks(count) = relation {
                let link = ImportedLink {
                    from: ImportedVertex::Rank(*from),
                    to: ImportedVertex::Rank(to),
                    bandwidth: u64::from(*count) * NVLINK_BANDWIDTH,
                    latency_ns: NVLINK_LATENCY_NS,
                    abilities: ChannelAbilities::MEMORY,
                };
                topology.add_link(link, matrix.place)?;
            }
        }
    }
    Ok(())
}

/// Adds hosts if there are GPUs that NVLink does not join. GPUs with the same CPUs are at the same host.
fn add_pcie(topology: &mut ImportedTopology, matrix: &DeviceMatrix) -> Result<(), ImportError> {
    let mut sets = Sets::new(matrix.relations.len());
    let mut is_needed = false;
    for (from, row) in matrix.relations.iter().enumerate() {
        for (to, relation) in row.iter().enumerate().take(from) {
            match relation {
                DeviceRelation::SameNode(_) => {
                    sets.unite(from, to);
                    is_needed = true;
                }
                DeviceRelation::OtherNode => is_needed = true,
                DeviceRelation::Itself | DeviceRelation::NvLinks(_) => {}
            }
        }
    }
    if !is_needed {
        if topology.ranks > 1 {
            topology.add_note("PCI Express between the GPUs is left out: NVLink joins them all.");
        }
        return Ok(());
    }
    let mut first_at: BTreeMap<&str, usize> = BTreeMap::new();
    for rank in 0..matrix.relations.len() {
        let Some(cpus) = matrix.find_cpus(rank) else { continue };
        let first = *first_at.entry(cpus).or_insert(rank);
        // Two host bridges of a machine may be near the same CPUs.
        if matrix.find_relation(rank, first) != Some(DeviceRelation::OtherNode) {
            sets.unite(first, rank);
        }
    }
    note_contradictions(topology, matrix, &mut sets);
    add_hosts(topology, &mut sets, matrix.place)
}

/// Says which ranks are taken to be at one host although the matrix says that they are not, or that their CPUs are others.
fn note_contradictions(topology: &mut ImportedTopology, matrix: &DeviceMatrix, sets: &mut Sets) {
    let (mut first, mut others) = (None, 0);
    for to in 0..matrix.relations.len() {
        for from in 0..to {
            if sets.find(from) == sets.find(to) && matrix.contradicts_one_host(from, to) {
                others += usize::from(first.is_some());
                first = first.or(Some((from, to)));
            }
        }
    }
    let Some((from, to)) = first else { return };
    let words = matrix.describe_contradiction(from, to);
    let others = match others {
        0 => String::new(),
        others => {
            format!(" The same holds for {}.", format_count(others, "other pair", "other pairs"))
        }
    };
    topology.add_note(format!(
        "The matrix contradicts itself about ranks {from} and {to}: {words}. They are taken to be at one \
         host.{others}"
    ));
}

impl DeviceMatrix {
    fn find_relation(&self, from: usize, to: usize) -> Option<DeviceRelation> {
        self.relations.get(from)?.get(to).copied()
    }

    fn find_cpus(&self, rank: usize) -> Option<&str> {
        self.affinities.get(rank)?.as_deref().filter(|cpus| is_cpu_list(cpus))
    }

    fn is_same_node(&self, from: usize, to: usize) -> bool {
        matches!(self.find_relation(from, to), Some(DeviceRelation::SameNode(_)))
    }

    /// Whether what it says of two ranks contradicts that they are at one host, as other relations have it.
    fn contradicts_one_host(&self, from: usize, to: usize) -> bool {
        match self.find_relation(from, to) {
            Some(DeviceRelation::OtherNode) => true,
            Some(DeviceRelation::SameNode(_)) => {
                let (one, other) = (self.find_cpus(from), self.find_cpus(to));
                one.is_some() && other.is_some() && one != other
            }
            Some(DeviceRelation::Itself | DeviceRelation::NvLinks(_)) | None => false,
        }
    }

    /// What contradicts that two ranks are at one host, and what says that they are.
    fn describe_contradiction(&self, from: usize, to: usize) -> String {
        if let (Some(one), Some(other), true) =
            (self.find_cpus(from), self.find_cpus(to), self.is_same_node(from, to))
        {
            let [one, other] = [one, other].map(print_name);
            return format!(
                "they are at one NUMA node, but near different CPUs ({one} and {other})"
            );
        }
        let between = (0..self.relations.len())
            .find(|rank| self.is_same_node(from, *rank) && self.is_same_node(*rank, to));
        let near = match between {
            Some(rank) => format!("each is at the NUMA node of rank {rank}"),
            None => "others join them within one".to_owned(),
        };
        format!("they are at different NUMA nodes (`SYS`), but {near}")
    }
}

/// `0-19,40-59`; `N/A` is none.
fn is_cpu_list(words: &str) -> bool {
    words.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-' || byte == b',')
}
