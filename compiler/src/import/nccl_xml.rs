//! Reads the file that NCCL writes where `NCCL_TOPO_DUMP_FILE` says.
//!
//! What the elements mean is what NCCL makes of them in `src/graph/topo.cc` and `src/graph/xml.cc`
//! (<https://github.com/NVIDIA/nccl>): a `system` has `cpu`s, these have `pci` devices, which have others behind them, or a
//! `gpu` or a `nic`; a `gpu` has `nvlink`s to other devices and `c2c` links to its CPU, a `nic` has `net`s.
//!
//! The rules: each GPU with a rank is a rank, each CPU and each bridge a switch, joined as a tree; the CPUs of a host
//! are joined to each other; a card and each of its ports are switches, too. All NVLinks to NVSwitches lead to one
//! switch. Rates are NCCL's ([`super::nccl_rates`]).

mod devices;
mod nvlinks;

use super::nccl_rates::{CpuModel, find_cpu_bandwidth};
use super::xml::{XmlElement, parse_xml};
use super::{
    ChannelAbilities, ImportError, ImportedLink, ImportedSwitch, ImportedTopology, ImportedVertex,
    TextPlace, TopologyFormat, clamp_count, format_count, list_names, print_name,
};
use std::collections::{BTreeMap, BTreeSet};

/// The time through a CPU, in nanoseconds: what is typical.
const CPU_LATENCY_NS: u64 = 500;

/// The time from one CPU to another one of its host, in nanoseconds: what is typical.
const BETWEEN_CPUS_LATENCY_NS: u64 = 500;

/// The elements of a file.
struct NcclFile<'t> {
    text: &'t str,
    elements: Vec<XmlElement<'t>>,
    /// For each element the host that it is in, by the order in which hosts begin.
    hosts: Vec<u32>,
    /// For each element whether a `nic` is in it.
    has_card: Vec<bool>,
}

/// The machine of a file.
///
/// # Errors
/// The text is no such file, lacks what NCCL requires, or has two ranks on one GPU; or the machine is too large.
pub(super) fn read_nccl_xml(text: &str, name: &str) -> Result<ImportedTopology, ImportError> {
    let file = NcclFile::parse(text)?;
    let gpus = devices::collect_gpus(&file)?;
    let mut topology =
        ImportedTopology::new(name, TopologyFormat::NcclXml, clamp_count(gpus.list.len()));
    topology.ranks_per_node = gpus.find_ranks_per_node();
    let mut reader = MachineReader {
        file: &file,
        topology,
        gpus: &gpus,
        vertices: vec![None; file.elements.len()],
        cpus: Vec::new(),
        names: BTreeMap::new(),
        skipped: BTreeSet::new(),
        capabilities: BTreeSet::new(),
        networks: Vec::new(),
        unknown_speeds: 0,
        unused_devices: 0,
        split_switches: 0,
    };
    for index in 0..file.elements.len() {
        reader.read_element(index)?;
    }
    reader.add_nvlinks()?;
    reader.join_cpus()?;
    reader.add_notes();
    reader.topology.check_size(TextPlace::START)?;
    Ok(reader.topology)
}

impl<'t> NcclFile<'t> {
    fn parse(text: &'t str) -> Result<NcclFile<'t>, ImportError> {
        let elements = parse_xml(text)?;
        let mut has_card = vec![false; elements.len()];
        for element in elements.iter().filter(|element| element.name == "nic") {
            if let Some(slot) = element.parent.and_then(|parent| has_card.get_mut(parent)) {
                *slot = true;
            }
        }
        let mut file = NcclFile { text, elements, hosts: Vec::new(), has_card };
        file.check_root()?;
        file.hosts = file.find_hosts();
        Ok(file)
    }

    fn check_root(&self) -> Result<(), ImportError> {
        let Some(root) = self.elements.first() else { return Ok(()) };
        if root.name != "system" {
            let message =
                format!("this is `{}`, not the `system` of a topology", print_name(root.name));
            let help = "give the file that NCCL writes where `NCCL_TOPO_DUMP_FILE` says";
            return Err(self.fail(root.offset, message, help));
        }
        let version = self.read_integer(root, "version")?.unwrap_or(1);
        if version != 1 {
            let message = format!("version {version} of the format is unknown: NCCL's is 1");
            let help = "RCCL writes version 2: use `rocm-smi --showtopo` for a machine of AMD";
            return Err(self.fail(root.offset, message, help));
        }
        Ok(())
    }

    /// A CPU names its host; what is in it is in that host.
    fn find_hosts(&self) -> Vec<u32> {
        let mut known: BTreeMap<&str, u32> = BTreeMap::new();
        let mut hosts: Vec<u32> = Vec::with_capacity(self.elements.len());
        for element in &self.elements {
            let around = element.parent.and_then(|parent| hosts.get(parent).copied());
            let host = if element.name == "cpu" {
                let hash = element.find_attribute("host_hash");
                let next = clamp_count(known.len());
                *known.entry(hash.map_or("", |hash| &*hash.value)).or_insert(next)
            } else {
                around.unwrap_or(0)
            };
            hosts.push(host);
        }
        hosts
    }

    fn fail(
        &self,
        offset: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ImportError {
        ImportError::new(TextPlace::find(self.text, offset), message, help)
    }

    fn find_place(&self, element: &XmlElement) -> TextPlace {
        TextPlace::find(self.text, element.offset)
    }

    /// The number that an attribute is, decimal or with `0x`; none if there is no such attribute.
    fn read_integer(&self, element: &XmlElement, name: &str) -> Result<Option<i64>, ImportError> {
        let Some(attribute) = element.find_attribute(name) else { return Ok(None) };
        let value = attribute.value.trim();
        let number = match value.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => value.parse().ok(),
        };
        match number {
            Some(number) => Ok(Some(number)),
            None => {
                let message = format!("`{}` is no number", print_name(value));
                let help = format!("`{name}` is a whole number, decimal or with `0x` before it");
                Err(self.fail(attribute.offset, message, help))
            }
        }
    }

    /// A number that has to be there, from 1 to `most`: what no machine has would overflow rates.
    fn read_count(&self, element: &XmlElement, name: &str, most: u64) -> Result<u64, ImportError> {
        let number = self.read_integer(element, name)?;
        let count = number.and_then(|number| u64::try_from(number).ok());
        count.filter(|count| (1..=most).contains(count)).ok_or_else(|| {
            let offset = element.find_attribute(name).map_or(element.offset, |given| given.offset);
            let message = format!("`{}` needs a number in `{name}`", element.name);
            self.fail(offset, message, format!("give a number from 1 to {most}"))
        })
    }

    /// The value of an attribute; empty if there is none.
    fn read_word<'e>(element: &'e XmlElement, name: &str) -> &'e str {
        element.find_attribute(name).map_or("", |attribute| &*attribute.value)
    }

    fn find_parent(&self, element: &XmlElement) -> Option<&XmlElement<'t>> {
        element.parent.and_then(|parent| self.elements.get(parent))
    }
}

/// A CPU that has been read.
#[derive(Clone, Copy)]
struct CpuVertex {
    vertex: ImportedVertex,
    host: u32,
    /// What leads from it to another CPU.
    bandwidth: u64,
}

/// A machine, as far as it is read.
struct MachineReader<'a, 't> {
    file: &'a NcclFile<'t>,
    topology: ImportedTopology,
    gpus: &'a devices::GpuList,
    /// For each element the vertex that it has become.
    vertices: Vec<Option<ImportedVertex>>,
    cpus: Vec<CpuVertex>,
    /// How many switches have each kind of name.
    names: BTreeMap<&'static str, u32>,
    /// The names of elements that mean nothing here.
    skipped: BTreeSet<String>,
    /// The compute capabilities of GPUs with NVLinks.
    capabilities: BTreeSet<i64>,
    /// The names of the switches that stand for ports of cards.
    networks: Vec<String>,
    /// How many devices have a speed that is not known.
    unknown_speeds: usize,
    /// How many GPUs and cards nothing uses.
    unused_devices: usize,
    /// How many switches of Broadcom are behind such a switch.
    split_switches: usize,
}

impl MachineReader<'_, '_> {
    fn read_element(&mut self, index: usize) -> Result<(), ImportError> {
        let file = self.file;
        let Some(element) = file.elements.get(index) else { return Ok(()) };
        let parent = file.find_parent(element).map_or("", |parent| parent.name);
        match (element.name, parent) {
            ("system", "") => Ok(()),
            ("cpu", "system") => self.read_cpu(index, element),
            ("pci", "cpu" | "pci") => self.read_pci(index, element),
            ("nic", "pci" | "cpu") => self.read_nic(index, element),
            ("net", "nic") => self.read_net(index, element),
            // These are read when all devices are known.
            ("gpu" | "pcilink", "pci") | ("nvlink" | "c2c", "gpu") => Ok(()),
            (name, _) => {
                self.skipped.insert(format!("`{}`", print_name(name)));
                Ok(())
            }
        }
    }

    /// A name for the next switch of a kind: `pci_0`, `pci_1`.
    fn next_name(&mut self, kind: &'static str) -> String {
        let count = self.names.entry(kind).or_insert(0);
        *count += 1;
        format!("{kind}_{}", *count - 1)
    }

    fn set_vertex(&mut self, index: usize, vertex: ImportedVertex) {
        if let Some(slot) = self.vertices.get_mut(index) {
            *slot = Some(vertex);
        }
    }

    /// The vertex of the element that an element is in.
    fn find_parent_vertex(&self, element: &XmlElement) -> Option<ImportedVertex> {
        self.vertices.get(element.parent?).copied().flatten()
    }

    fn read_cpu(&mut self, index: usize, element: &XmlElement) -> Result<(), ImportError> {
        let numa = self.file.read_integer(element, "numaid")?.unwrap_or(0);
        let model = CpuModel {
            arch: NcclFile::read_word(element, "arch"),
            vendor: NcclFile::read_word(element, "vendor"),
            family: self.file.read_integer(element, "familyid")?.unwrap_or(0),
            model: self.file.read_integer(element, "modelid")?.unwrap_or(0),
        };
        let host = self.file.hosts.get(index).copied().unwrap_or(0);
        let name = self.next_name("cpu");
        let vertex = self.topology.add_switch(ImportedSwitch {
            name,
            label: Some(format!("The CPU of NUMA node {numa}.")),
            ports: Vec::new(),
            latency_ns: CPU_LATENCY_NS,
            abilities: ChannelAbilities::ALL,
        });
        self.set_vertex(index, vertex);
        self.cpus.push(CpuVertex { vertex, host, bandwidth: find_cpu_bandwidth(model) });
        Ok(())
    }

    /// Joins the CPUs of each host. Memory of a GPU at another CPU is not taken to be in reach.
    fn join_cpus(&mut self) -> Result<(), ImportError> {
        let mut rates = BTreeSet::new();
        let mut by_host: BTreeMap<u32, Vec<CpuVertex>> = BTreeMap::new();
        for cpu in &self.cpus {
            by_host.entry(cpu.host).or_default().push(*cpu);
        }
        for cpus in by_host.values() {
            for from in cpus {
                for to in cpus.iter().filter(|to| to.vertex != from.vertex) {
                    rates.insert(from.bandwidth);
                    let link = ImportedLink {
                        from: from.vertex,
                        to: to.vertex,
                        bandwidth: from.bandwidth,
                        latency_ns: BETWEEN_CPUS_LATENCY_NS,
                        abilities: ChannelAbilities::PORT,
                    };
                    self.topology.add_link(link, TextPlace::START)?;
                }
            }
        }
        if !rates.is_empty() {
            let rates: Vec<String> =
                rates.iter().map(|rate| format!("{} GB/s", rate / 1_000_000_000)).collect();
            self.topology.add_note(format!(
                "GPUs at one CPU are taken to reach each other's memory, those at different CPUs only \
                 through ports. Between two CPUs there are {} in each direction.",
                list_names(&rates)
            ));
        }
        Ok(())
    }

    fn add_notes(&mut self) {
        let rates: Vec<String> =
            self.capabilities.iter().map(|capability| describe_nvlink(*capability)).collect();
        let of_nvlinks =
            if rates.is_empty() { String::new() } else { format!("{}, ", list_names(&rates)) };
        self.topology.add_note(format!(
            "Rates are those with which NCCL plans, what remains of the data sheets' for data: \
             {of_nvlinks}12 GB/s for PCI Express 3.0 with 16 lanes, and twice as much with each \
             generation; cards have their nominal speed. Latencies are typical ones."
        ));
        if !self.networks.is_empty() {
            let names: Vec<String> = self.networks.iter().map(|name| format!("`{name}`")).collect();
            self.topology.add_note(format!(
                "What is behind the network cards is not in the file, so that nothing leads on from {}: a \
                 switch can join them to other nodes.",
                list_names(&names)
            ));
        }
        if self.topology.ranks_per_node.is_none() {
            self.topology.add_note(
                "Hosts have different numbers of ranks, or not ranks in a row: there are no nodes.",
            );
        }
        self.topology.notes.extend(self.gpus.notes.iter().cloned());
        self.add_notes_on_gaps();
    }

    fn add_notes_on_gaps(&mut self) {
        if self.unknown_speeds > 0 {
            let devices = format_count(self.unknown_speeds, "device", "devices");
            self.topology.add_note(format!(
                "Taken to have 16 lanes of generation 3, as by NCCL: {devices} whose link speed or width is \
                 not known."
            ));
        }
        if self.unused_devices > 0 {
            let devices = format_count(self.unused_devices, "GPU or card", "GPUs or cards");
            self.topology
                .add_note(format!("Left out: {devices} that no rank and no network uses."));
        }
        if self.split_switches > 0 {
            let bridges = format_count(self.split_switches, "bridge", "bridges");
            self.topology.add_note(format!(
                "As in the file: {bridges} of Broadcom behind another one of the same kind, which NCCL may \
                 take for one switch."
            ));
        }
        if !self.skipped.is_empty() {
            let names: Vec<String> = self.skipped.iter().cloned().collect();
            self.topology.add_note(format!("Left out: the elements {}.", list_names(&names)));
        }
    }
}

/// `20.6 GB/s in each direction for an NVLink of compute capability 9.0 (nominal: 25 GB/s)`
fn describe_nvlink(capability: i64) -> String {
    let megabytes = super::nccl_rates::find_nvlink_bandwidth(capability) / 1_000_000;
    let nominal = match capability {
        100.. => " (nominal: 50 GB/s)",
        70..=80 | 90..=99 => " (nominal: 25 GB/s)",
        60..=69 => " (nominal: 20 GB/s)",
        _ => "",
    };
    let (whole, tenths) = (megabytes / 1_000, megabytes % 1_000 / 100);
    let rate = if tenths == 0 { whole.to_string() } else { format!("{whole}.{tenths}") };
    let (major, minor) = (capability / 10, capability % 10);
    format!(
        "{rate} GB/s in each direction for an NVLink of compute capability {major}.{minor}{nominal}"
    )
}

#[cfg(test)]
mod tests {
    use super::super::ImportedTopology;
    use super::{describe_nvlink, read_nccl_xml};

    fn gpu(bus: u32, rank: u32, links: &str) -> String {
        format!(
            "<pci busid=\"{bus}\" class=\"0x030200\" link_speed=\"8.0 GT/s PCIe\" link_width=\"16\">\
             <gpu sm=\"70\" rank=\"{rank}\">{links}</gpu></pci>"
        )
    }

    fn read(hosts: &[String]) -> ImportedTopology {
        let mut text = "<system version=\"1\">".to_owned();
        for (host, devices) in hosts.iter().enumerate() {
            text += &format!("<cpu host_hash=\"{host}\" arch=\"arm64\">{devices}</cpu>");
        }
        read_nccl_xml(&(text + "</system>"), "m").unwrap()
    }

    #[test]
    fn hosts_with_equally_many_ranks_in_a_row_are_nodes() {
        let two = |first, second| gpu(1, first, "") + &gpu(2, second, "");
        assert_eq!(read(&[two(0, 1), two(2, 3)]).ranks_per_node, Some(2));
        assert_eq!(read(&[two(2, 3), two(0, 1)]).ranks_per_node, Some(2));
        assert_eq!(read(&[two(0, 2), two(1, 3)]).ranks_per_node, None);
        assert_eq!(read(&[two(0, 1), gpu(1, 2, "")]).ranks_per_node, None);
    }

    #[test]
    fn nvlinks_lead_to_the_device_with_their_target_in_the_same_host() {
        let link = "<nvlink target=\"2\" count=\"3\" tclass=\"0x030200\"/>";
        let hosts =
            [gpu(1, 0, link) + &gpu(2, 1, ""), gpu(1, 2, &link.replace('2', "9")) + &gpu(2, 3, "")];
        let topology = read(&hosts);
        // One link, and none between CPUs of different hosts.
        let [link] = topology.links.as_slice() else { panic!("{:?}", topology.links) };
        assert_eq!((link.bandwidth, link.latency_ns), (60_000_000_000, 700));
        assert!(topology.notes.iter().any(|note| note.starts_with("Left out: 1 link to")));
    }

    #[test]
    fn rates_are_described() {
        let found = describe_nvlink(90);
        assert!(found.starts_with("20.6 GB/s") && found.ends_with("9.0 (nominal: 25 GB/s)"));
        assert!(describe_nvlink(86).ends_with("8.6"));
    }
}
