//! Devices of PCI Express: GPUs, bridges and network cards, as a tree below the CPUs.

use super::super::nccl_rates::{
    DEFAULT_CARD_MEGABITS, DEFAULT_PCIE_SPEED, LOCAL_BANDWIDTH, find_pcie_bandwidth,
    parse_pcie_speed,
};
use super::super::xml::XmlElement;
use super::super::{
    ChannelAbilities, ImportError, ImportedPort, ImportedSwitch, ImportedVertex, clamp_count,
    format_count, print_name,
};
use super::{MachineReader, NcclFile};
use std::collections::BTreeMap;

/// The time through a bridge, in nanoseconds: what is typical.
const BRIDGE_LATENCY_NS: u64 = 150;

/// The number of lanes that a device is taken to have if the file does not say.
const DEFAULT_LANES: u64 = 16;

/// PCI classes, of which the file has the first digits (`kvDictPciClass` in `src/graph/topo.cc`).
const CLASS_GPU: &str = "0x03";
const CLASS_CARD: &str = "0x02";
/// The class of an NVSwitch: its links matter, not where it is on the bus.
const CLASS_NVSWITCH: &str = "0x068000";
/// The class of IBM's bridge between NVLink and a CPU.
const CLASS_NVLINK_BRIDGE: &str = "0x068001";

/// The GPUs that are ranks.
pub(super) struct GpuList {
    /// In the order of their ranks.
    pub(super) list: Vec<RankedGpu>,
    /// For each element of a device its rank.
    rank_of_device: BTreeMap<usize, u32>,
    /// What was assumed about ranks.
    pub(super) notes: Vec<String>,
}

/// A GPU that is a rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankedGpu {
    /// The rank that the file gives it.
    rank: i64,
    /// The element of its device on the bus.
    pub(super) device: usize,
    /// Its own element, if it has one.
    pub(super) element: Option<usize>,
    host: u32,
}

impl GpuList {
    /// The rank of a device.
    pub(super) fn find_rank(&self, device: usize) -> Option<u32> {
        self.rank_of_device.get(&device).copied()
    }

    /// How many ranks each host has, if it is the same number for all, in order.
    pub(super) fn find_ranks_per_node(&self) -> Option<u32> {
        let runs: Vec<&[RankedGpu]> =
            self.list.chunk_by(|before, after| before.host == after.host).collect();
        let width = runs.first()?.len();
        let mut hosts: Vec<Option<u32>> =
            runs.iter().map(|run| run.first().map(|gpu| gpu.host)).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let is_even = hosts.len() == runs.len() && runs.iter().all(|run| run.len() == width);
        is_even.then(|| clamp_count(width))
    }
}

/// Finds the GPUs with ranks; if the file has no ranks at all, as one that is written by hand, all GPUs in order.
pub(super) fn collect_gpus(file: &NcclFile) -> Result<GpuList, ImportError> {
    let mut list = Vec::new();
    let mut notes = Vec::new();
    let mut without_rank = 0;
    for (index, element) in file.elements.iter().enumerate().filter(|(_, e)| e.name == "gpu") {
        let (Some(device), Some(rank)) = (element.parent, file.read_integer(element, "rank")?)
        else {
            without_rank += 1;
            continue;
        };
        let host = file.hosts.get(index).copied().unwrap_or(0);
        list.push(RankedGpu { rank, device, element: Some(index), host });
    }
    if list.is_empty() {
        list = collect_unranked(file);
        notes.push("The file gives no ranks: they are the GPUs in order.".to_owned());
    } else if without_rank > 0 {
        let gpus = format_count(without_rank, "GPU", "GPUs");
        notes.push(format!("Left out: {gpus} without a rank."));
    }
    if list.is_empty() {
        let offset = file.elements.first().map_or(0, |root| root.offset);
        let help = "give the file that NCCL writes on a machine with GPUs";
        return Err(file.fail(offset, "the file has no GPU", help));
    }
    // Elements are visited in order, so that GPUs without different ranks keep it.
    list.sort_by_key(|gpu| gpu.rank);
    check_ranks(file, &list)?;
    if !(0..).zip(&list).all(|(rank, gpu)| gpu.rank == rank) {
        let (first, last) = (list.first().map_or(0, |g| g.rank), list.last().map_or(0, |g| g.rank));
        notes.push(format!("The ranks of the file, {first} to {last}, are numbered from 0."));
    }
    let rank_of_device = list.iter().zip(0..).map(|(gpu, rank)| (gpu.device, rank)).collect();
    Ok(GpuList { list, rank_of_device, notes })
}

fn collect_unranked(file: &NcclFile) -> Vec<RankedGpu> {
    let mut elements = vec![None; file.elements.len()];
    for (index, element) in file.elements.iter().enumerate() {
        if let Some(slot) = element.parent.and_then(|parent| elements.get_mut(parent))
            && element.name == "gpu"
        {
            *slot = Some(index);
        }
    }
    let mut list = Vec::new();
    for (index, element) in file.elements.iter().enumerate() {
        if element.name == "pci" && NcclFile::read_word(element, "class").starts_with(CLASS_GPU) {
            let host = file.hosts.get(index).copied().unwrap_or(0);
            let element = elements.get(index).copied().flatten();
            let rank = i64::from(clamp_count(list.len()));
            list.push(RankedGpu { rank, device: index, element, host });
        }
    }
    list
}

/// Each rank has a GPU of its own.
fn check_ranks(file: &NcclFile, list: &[RankedGpu]) -> Result<(), ImportError> {
    let find_offset = |gpu: &RankedGpu| {
        let element = file.elements.get(gpu.element.unwrap_or(gpu.device));
        element.map_or(0, |element| element.offset)
    };
    for pair in list.windows(2) {
        if let [first, second] = pair
            && first.rank == second.rank
        {
            let message = format!("two GPUs have rank {}", first.rank);
            return Err(file.fail(find_offset(second), message, "number the ranks differently"));
        }
    }
    let mut devices = BTreeMap::new();
    for gpu in list {
        if let Some(first) = devices.insert(gpu.device, gpu.rank) {
            let message = format!("the ranks {first} and {} are on one GPU", gpu.rank);
            let help = "a topology cannot express that: write the file with a rank for each GPU";
            return Err(file.fail(find_offset(gpu), message, help));
        }
    }
    Ok(())
}

impl MachineReader<'_, '_> {
    pub(super) fn read_pci(
        &mut self,
        index: usize,
        element: &XmlElement,
    ) -> Result<(), ImportError> {
        let Some(parent) = self.find_parent_vertex(element) else { return Ok(()) };
        let class = NcclFile::read_word(element, "class");
        if let Some(rank) = self.gpus.find_rank(index) {
            let vertex = ImportedVertex::Rank(rank);
            let bandwidth = self.read_pcie_bandwidth(element)?;
            self.topology.add_port(parent, ImportedPort { vertex, bandwidth });
            return Ok(());
        }
        let is_card = self.file.has_card.get(index).copied().unwrap_or(false);
        if class.starts_with(CLASS_GPU) || class.starts_with(CLASS_CARD) && !is_card {
            self.unused_devices += 1;
            return Ok(());
        }
        if class.starts_with(CLASS_NVSWITCH) || class.starts_with(CLASS_NVLINK_BRIDGE) {
            return Ok(());
        }
        let bandwidth = self.read_pcie_bandwidth(element)?;
        let bus = print_name(NcclFile::read_word(element, "busid"));
        if is_card {
            // The card itself is the `nic` in it.
            let name = self.next_name("nic");
            let vertex = self.topology.add_switch(ImportedSwitch {
                name,
                label: Some(format!("The network card {bus}.")),
                ports: vec![ImportedPort { vertex: parent, bandwidth }],
                latency_ns: 0,
                abilities: ChannelAbilities::PORT,
            });
            self.set_vertex(index, vertex);
            return Ok(());
        }
        self.split_switches += usize::from(self.is_behind_same_switch(element));
        let name = self.next_name("pci");
        let vertex = self.topology.add_switch(ImportedSwitch {
            name,
            label: Some(format!("The bridge {bus}.")),
            ports: Vec::new(),
            latency_ns: BRIDGE_LATENCY_NS,
            abilities: ChannelAbilities::ALL,
        });
        self.topology.add_port(parent, ImportedPort { vertex, bandwidth });
        self.set_vertex(index, vertex);
        Ok(())
    }

    /// Whether a bridge and the one before it are of Broadcom, which sells switches that look like two levels.
    fn is_behind_same_switch(&self, element: &XmlElement) -> bool {
        let is_broadcom = |element: &XmlElement| NcclFile::read_word(element, "vendor") == "0x1000";
        let parent = self.file.find_parent(element).filter(|parent| parent.name == "pci");
        is_broadcom(element) && parent.is_some_and(is_broadcom)
    }

    fn read_pcie_bandwidth(&mut self, element: &XmlElement) -> Result<u64, ImportError> {
        let lanes = self.file.read_integer(element, "link_width")?;
        let lanes = lanes.and_then(|lanes| u64::try_from(lanes).ok());
        let speed = parse_pcie_speed(NcclFile::read_word(element, "link_speed"));
        if lanes.is_none_or(|lanes| lanes == 0) || speed.is_none() {
            self.unknown_speeds += 1;
        }
        let lanes = lanes.filter(|lanes| *lanes > 0).unwrap_or(DEFAULT_LANES);
        Ok(find_pcie_bandwidth(lanes.min(32), speed.unwrap_or(DEFAULT_PCIE_SPEED)))
    }

    /// A card is the device that it is in; one right at a CPU is a switch of its own.
    pub(super) fn read_nic(
        &mut self,
        index: usize,
        element: &XmlElement,
    ) -> Result<(), ImportError> {
        let Some(parent) = self.find_parent_vertex(element) else { return Ok(()) };
        let is_at_cpu = self.file.find_parent(element).is_some_and(|parent| parent.name == "cpu");
        if !is_at_cpu {
            self.set_vertex(index, parent);
            return Ok(());
        }
        let name = self.next_name("nic");
        let vertex = self.topology.add_switch(ImportedSwitch {
            name,
            label: Some("A network card whose place on the bus is unknown.".to_owned()),
            ports: vec![ImportedPort { vertex: parent, bandwidth: LOCAL_BANDWIDTH }],
            latency_ns: 0,
            abilities: ChannelAbilities::PORT,
        });
        self.set_vertex(index, vertex);
        Ok(())
    }

    /// A port of a card. NCCL skips those without a device, and those that are not for data.
    pub(super) fn read_net(
        &mut self,
        index: usize,
        element: &XmlElement,
    ) -> Result<(), ImportError> {
        let has_device = self.file.read_integer(element, "dev")?.is_some();
        let is_for_data = self.file.read_integer(element, "net")?.unwrap_or(1) != 0;
        let (Some(card), true) = (self.find_parent_vertex(element), has_device && is_for_data)
        else {
            self.unused_devices += 1;
            return Ok(());
        };
        let speed = self.file.read_integer(element, "speed")?.filter(|speed| *speed > 0);
        // Mbit/s; no card has so many that the product does not fit.
        let megabits = speed.unwrap_or(DEFAULT_CARD_MEGABITS).min(i64::from(u32::MAX));
        let bandwidth = megabits.unsigned_abs() * 125_000;
        let name = self.next_name("net");
        self.networks.push(name.clone());
        let mut label = print_name(NcclFile::read_word(element, "name"));
        if speed.is_none() {
            label.push_str(", whose speed is unknown: 10 Gbit/s are assumed, as NCCL does");
        }
        let vertex = self.topology.add_switch(ImportedSwitch {
            name,
            label: Some(format!("The network port {label}.")),
            ports: vec![ImportedPort { vertex: card, bandwidth }],
            latency_ns: 0,
            abilities: ChannelAbilities::PORT,
        });
        self.set_vertex(index, vertex);
        Ok(())
    }
}
