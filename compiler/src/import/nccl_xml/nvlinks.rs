//! Links between devices that are not the tree of PCI Express: NVLink, C2C, and what joins bridges.

use super::super::nccl_rates::{LOCAL_BANDWIDTH, find_nvlink_bandwidth};
use super::super::xml::XmlElement;
use super::super::{
    ChannelAbilities, ImportError, ImportedLink, ImportedPort, ImportedSwitch, ImportedVertex,
    format_count, print_name,
};
use super::{MachineReader, NcclFile};
use std::collections::BTreeMap;

/// The time over an NVLink, in nanoseconds: what is typical.
const NVLINK_LATENCY_NS: u64 = 700;

/// The time through an NVSwitch, in nanoseconds: what is typical.
const NVSWITCH_LATENCY_NS: u64 = 400;

/// The compute capability that NCCL's default rate stands for.
const DEFAULT_CAPABILITY: i64 = 80;

/// How many links of a kind a GPU may have: far more than any has.
const MAX_LINKS: u64 = 1_000;

/// What one C2C link may carry, in MB/s: far more than any does.
const MAX_C2C_MEGABYTES: u64 = 10_000_000;

/// Where a device is: bus ids are unique in a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BusPlace {
    host: u32,
    bus: u64,
}

/// `0000:17:00.0` as a number, as NCCL's `busIdToInt64` has it; none if there are other characters.
fn parse_bus_id(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(|c| !matches!(c, '.' | ':' | '-')).collect();
    u64::from_str_radix(&digits, 16).ok()
}

impl MachineReader<'_, '_> {
    /// Adds what leads from devices to others, when all of them are known.
    pub(super) fn add_nvlinks(&mut self) -> Result<(), ImportError> {
        let file = self.file;
        let devices = self.collect_devices();
        let mut to_switch: BTreeMap<u32, u64> = BTreeMap::new();
        let mut missing = 0;
        for (index, element) in file.elements.iter().enumerate() {
            let host = file.hosts.get(index).copied().unwrap_or(0);
            let find_target = || {
                let target = NcclFile::read_word(element, "target");
                let bus = parse_bus_id(target)?;
                devices.get(&BusPlace { host, bus }).copied()
            };
            let parent = element.parent.and_then(|parent| file.elements.get(parent));
            match element.name {
                "nvlink" => {
                    let Some(rank) = self.find_rank_of_gpu(element) else { continue };
                    let count = file.read_count(element, "count", MAX_LINKS)?;
                    let capability = parent.map_or(Ok(None), |gpu| file.read_integer(gpu, "sm"))?;
                    let capability = capability.unwrap_or(DEFAULT_CAPABILITY);
                    self.capabilities.insert(capability);
                    let bandwidth = count * find_nvlink_bandwidth(capability);
                    match NvLinkTarget::read(file, element)? {
                        NvLinkTarget::Gpu => match find_target() {
                            Some(to) => self.add_direct(element, rank, to, bandwidth)?,
                            None => missing += 1,
                        },
                        NvLinkTarget::Cpu => {
                            let vertex = ImportedVertex::Rank(rank);
                            self.add_to_cpu(element, ImportedPort { vertex, bandwidth });
                        }
                        NvLinkTarget::Switch => {
                            let sum = to_switch.entry(rank).or_default();
                            *sum = sum.saturating_add(bandwidth);
                        }
                    }
                }
                "c2c" => {
                    let Some(rank) = self.find_rank_of_gpu(element) else { continue };
                    // `bw` is in MB/s for one link.
                    let megabytes = file.read_count(element, "bw", MAX_C2C_MEGABYTES)?;
                    let count = file.read_count(element, "count", MAX_LINKS)?;
                    let vertex = ImportedVertex::Rank(rank);
                    let bandwidth = megabytes * count * 1_000_000;
                    self.add_to_cpu(element, ImportedPort { vertex, bandwidth });
                }
                "pcilink" => {
                    let from = self.find_parent_vertex(element);
                    match (from, find_target()) {
                        (Some(from), Some(to)) => self.add_between_bridges(element, from, to)?,
                        _ => missing += 1,
                    }
                }
                _ => {}
            }
        }
        self.add_nvswitch(&to_switch);
        if missing > 0 {
            let links = format_count(missing, "link", "links");
            self.topology
                .add_note(format!("Left out: {links} to devices that are not in the file."));
        }
        Ok(())
    }

    /// The vertices of GPUs and bridges by where they are.
    fn collect_devices(&self) -> BTreeMap<BusPlace, ImportedVertex> {
        let mut devices = BTreeMap::new();
        for (index, element) in self.file.elements.iter().enumerate() {
            let rank = self.gpus.find_rank(index).map(ImportedVertex::Rank);
            let vertex = rank.or_else(|| self.vertices.get(index).copied().flatten());
            let bus = parse_bus_id(NcclFile::read_word(element, "busid"));
            if let (Some(vertex), Some(bus)) = (vertex, bus) {
                let host = self.file.hosts.get(index).copied().unwrap_or(0);
                devices.entry(BusPlace { host, bus }).or_insert(vertex);
            }
        }
        devices
    }

    /// The rank of the GPU that an element is in.
    fn find_rank_of_gpu(&self, element: &XmlElement) -> Option<u32> {
        let gpu = self.file.elements.get(element.parent?)?;
        self.gpus.find_rank(gpu.parent?)
    }

    fn add_direct(
        &mut self,
        element: &XmlElement,
        rank: u32,
        to: ImportedVertex,
        bandwidth: u64,
    ) -> Result<(), ImportError> {
        let from = ImportedVertex::Rank(rank);
        if from == to {
            let help = "remove the `nvlink`, or correct its `target`";
            return Err(self.file.fail(element.offset, "an NVLink leads to its own GPU", help));
        }
        let (latency_ns, abilities) = (NVLINK_LATENCY_NS, ChannelAbilities::MEMORY);
        let link = ImportedLink { from, to, bandwidth, latency_ns, abilities };
        let file = self.file;
        self.topology.add_link_at(link, || file.find_place(element))
    }

    fn add_between_bridges(
        &mut self,
        element: &XmlElement,
        from: ImportedVertex,
        to: ImportedVertex,
    ) -> Result<(), ImportError> {
        if from == to {
            let help = "remove the `pcilink`, or correct its `target`";
            return Err(self.file.fail(element.offset, "a bridge is joined to itself", help));
        }
        let (bandwidth, abilities) = (LOCAL_BANDWIDTH, ChannelAbilities::ALL);
        let link = ImportedLink { from, to, bandwidth, latency_ns: 0, abilities };
        let file = self.file;
        self.topology.add_link_at(link, || file.find_place(element))
    }

    /// Adds a port to the CPU that an element is below.
    fn add_to_cpu(&mut self, element: &XmlElement, port: ImportedPort) {
        let mut around = element.parent;
        while let Some(index) = around {
            let Some(element) = self.file.elements.get(index) else { return };
            if element.name == "cpu" {
                if let Some(cpu) = self.vertices.get(index).copied().flatten() {
                    self.topology.add_port(cpu, port);
                }
                return;
            }
            around = element.parent;
        }
    }

    fn add_nvswitch(&mut self, bandwidths: &BTreeMap<u32, u64>) {
        if bandwidths.is_empty() {
            return;
        }
        let ports = bandwidths.iter().map(|(rank, bandwidth)| ImportedPort {
            vertex: ImportedVertex::Rank(*rank),
            bandwidth: *bandwidth,
        });
        self.topology.add_switch(ImportedSwitch {
            name: "nvswitch".to_owned(),
            label: None,
            ports: ports.collect(),
            latency_ns: NVSWITCH_LATENCY_NS,
            abilities: ChannelAbilities::MEMORY,
        });
        self.topology.add_note(
            "All NVSwitches are one, as for NCCL. Whether it multicasts and reduces is not said; those of \
             H100 do: `abilities = [memory, multicast, reduce];`.",
        );
    }
}

/// What an NVLink leads to.
#[derive(Clone, Copy)]
enum NvLinkTarget {
    Gpu,
    Cpu,
    Switch,
}

impl NvLinkTarget {
    /// `tclass` is the PCI class of what the link leads to; all that is no GPU and no CPU is an NVSwitch, as for NCCL.
    fn read(file: &NcclFile, element: &XmlElement) -> Result<NvLinkTarget, ImportError> {
        let class = NcclFile::read_word(element, "tclass");
        if class.is_empty() {
            let message = format!("`{}` does not say what it leads to", print_name(element.name));
            let help = "add its `tclass`: `0x030200` for a GPU, `0x068000` for an NVSwitch";
            return Err(file.fail(element.offset, message, help));
        }
        Ok(if class.starts_with("0x03") {
            NvLinkTarget::Gpu
        } else if class.starts_with("0x068001") {
            NvLinkTarget::Cpu
        } else {
            NvLinkTarget::Switch
        })
    }
}
