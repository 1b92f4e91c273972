//! Reads the tables that `rocm-smi --showtopo` prints, and that of `rocm-smi --shownodesbw` if it is there, too.
//!
//! The tables are those of `python_smi_tools/rocm_smi.py` (<https://github.com/ROCm/rocm_smi_lib>): a line of `=` around
//! a title, and for each GPU a line with a value for each GPU. What they mean:
//!
//! * Link type: `XGMI` or `PCIE`.
//! * Weight: each link of XGMI on the way counts as much (15), so that the smallest weight is that of direct links. Hops do
//!   not tell: they are 1 for all GPUs that XGMI joins (<https://github.com/ROCm/rocm-systems/issues/5763>). Those over PCI
//!   Express are 2 at one CPU, and 3 between CPUs.
//! * Bandwidth: the least and the most in MB/s and direction; the driver computes it from the number of links
//!   (`amdgpu_xgmi_get_bandwidth` of Linux). `0-0` is for GPUs that are not joined directly.
//!
//! The rules: each GPU is a rank. Direct links of XGMI are links; GPUs of which some are joined by PCI Express are at hosts,
//! too ([`super::host`]).

use super::host::add_hosts;
use super::smi_table::{AsymmetricCell, TableCell, parse_gpu_name, report_asymmetry, split_cells};
use super::{
    ChannelAbilities, ImportError, ImportedLink, ImportedTopology, ImportedVertex, TextPlace,
    TopologyFormat, clamp_count, format_count, list_names, print_name, too_many_vertices,
};
use crate::table::Sets;
use std::collections::BTreeMap;
use synth::graph::MAX_VERTICES;

/// What a link of XGMI carries in one direction where each GPU is joined to seven others, as on MI300X: the data sheet
/// gives 128 GB/s for both directions (<https://www.amd.com/en/products/accelerators/instinct/mi300/mi300x.html>).
const FULL_XGMI_BANDWIDTH: u64 = 64_000_000_000;

/// What a link of XGMI carries in one direction on machines before that: 16 lanes of 25 Gbit/s.
const XGMI_BANDWIDTH: u64 = 50_000_000_000;

/// The number of GPUs from which on a full mesh is one of MI300X.
const FULL_MESH_GPUS: usize = 8;

/// The time over a link of XGMI, in nanoseconds: what is typical.
const XGMI_LATENCY_NS: u64 = 700;

/// The largest bandwidth that is believed, in MB/s.
const MAX_MEGABYTES: u64 = 1_000_000_000;

const HELP_WHOLE: &str =
    "give the whole output of `rocm-smi --showtopo`, with no line cut or wrapped";

/// What a table says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TableKind {
    Weight,
    Hops,
    LinkType,
    Bandwidth,
}

impl TableKind {
    /// The kind of a line of `=` with a title; none if it has another title.
    fn parse(title: &str) -> Option<TableKind> {
        match title {
            "Weight between two GPUs" => Some(TableKind::Weight),
            "Hops between two GPUs" => Some(TableKind::Hops),
            "Link Type between two GPUs" => Some(TableKind::LinkType),
            "Bandwidth" | "Bandwidth between two GPUs" => Some(TableKind::Bandwidth),
            _ => None,
        }
    }

    fn title(self) -> &'static str {
        match self {
            TableKind::Weight => "Weight between two GPUs",
            TableKind::Hops => "Hops between two GPUs",
            TableKind::LinkType => "Link Type between two GPUs",
            TableKind::Bandwidth => "Bandwidth",
        }
    }
}

/// A table: for each GPU a value for each GPU.
struct GpuTable<'t> {
    /// Where its names of GPUs are.
    place: TextPlace,
    gpus: Vec<TableCell<'t>>,
    rows: Vec<Vec<TableCell<'t>>>,
}

impl<'t> GpuTable<'t> {
    fn find_cell(&self, from: usize, to: usize) -> Option<TableCell<'t>> {
        self.rows.get(from)?.get(to).copied()
    }

    /// The number that a cell is; none for `N/A`.
    fn find_number(&self, from: usize, to: usize) -> Result<Option<u64>, ImportError> {
        let Some(cell) = self.find_cell(from, to) else { return Ok(None) };
        match cell.text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) if cell.text == "N/A" => Ok(None),
            Err(_) => {
                let message = format!("`{}` is no number", print_name(cell.text));
                Err(ImportError::new(cell.place, message, HELP_WHOLE))
            }
        }
    }
}

/// What has been read.
#[derive(Default)]
struct RocmTables<'t> {
    tables: BTreeMap<TableKind, GpuTable<'t>>,
    /// The NUMA nodes of GPUs, by their numbers.
    nodes: BTreeMap<u32, &'t str>,
    /// The titles of tables that mean nothing here.
    skipped: Vec<String>,
}

/// The machine of the tables.
///
/// # Errors
/// There is no table of link types; a table is not whole, or is there twice; a value is none; a link is of an unknown type,
/// or of two types; or the machine is too large.
pub(super) fn read_rocm_smi(text: &str, name: &str) -> Result<ImportedTopology, ImportError> {
    if text.trim_start().starts_with('{') {
        let help = "run `rocm-smi --showtopo` without `--json`";
        return Err(ImportError::new(TextPlace::START, "the form in JSON is not read", help));
    }
    let tables = read_tables(text)?;
    let Some(types) = tables.tables.get(&TableKind::LinkType) else {
        let message = format!("there is no table `{}`", TableKind::LinkType.title());
        return Err(ImportError::new(TextPlace::START, message, HELP_WHOLE));
    };
    let mut topology =
        ImportedTopology::new(name, TopologyFormat::RocmSmi, clamp_count(types.gpus.len()));
    topology.ranks_per_node = Some(topology.ranks);
    check_types(types)?;
    let pairs = tables.classify_pairs(types)?;
    add_xgmi(&mut topology, &tables, types, &pairs)?;
    add_pcie(&mut topology, &tables, types, &pairs)?;
    topology.add_note("Latencies are typical ones.");
    let is_in_order =
        (0..).zip(&types.gpus).all(|(rank, gpu)| parse_gpu_name(gpu.text) == Some(rank));
    if !is_in_order {
        let names: Vec<String> = types.gpus.iter().map(|gpu| gpu.text.to_owned()).collect();
        topology.add_note(format!("The ranks are, in order, {}.", list_names(&names)));
    }
    if !tables.skipped.is_empty() {
        topology.add_note(format!("Left out: the tables {}.", list_names(&tables.skipped)));
    }
    topology.check_size(types.place)?;
    Ok(topology)
}

fn read_tables(text: &str) -> Result<RocmTables<'_>, ImportError> {
    let mut tables = RocmTables::default();
    let mut kind = None;
    for (line, words) in text.lines().enumerate() {
        if words.starts_with("==") {
            let title = words.trim_matches(|c: char| c == '=' || c.is_whitespace());
            kind = TableKind::parse(title);
            if kind.is_none() && title.contains("between two GPUs") {
                tables.skipped.push(format!("`{}`", print_name(title)));
            }
            continue;
        }
        let cells = split_cells(words, line, MAX_VERTICES + 2);
        match kind {
            Some(kind) => tables.read_row(kind, &cells)?,
            None => tables.read_node(words),
        }
    }
    for (kind, table) in &tables.tables {
        if table.rows.len() < table.gpus.len() {
            let missing = table.gpus.get(table.rows.len()).map_or("", |gpu| gpu.text);
            let message = format!("the table `{}` has no row for {missing}", kind.title());
            return Err(ImportError::new(table.place, message, HELP_WHOLE));
        }
    }
    Ok(tables)
}

impl<'t> RocmTables<'t> {
    fn read_row(&mut self, kind: TableKind, cells: &[TableCell<'t>]) -> Result<(), ImportError> {
        let Some(first) = cells.first().filter(|cell| parse_gpu_name(cell.text).is_some()) else {
            return Ok(());
        };
        let names = cells.iter().all(|cell| parse_gpu_name(cell.text).is_some());
        let known = self.tables.get(&kind).map(|table| table.gpus.len());
        // A single GPU has a row of a name and a value.
        if names {
            if known.is_some() {
                let message = format!("a second table `{}` begins here", kind.title());
                return Err(ImportError::new(first.place, message, "give one machine at a time"));
            }
            return self.begin_table(kind, *first, cells);
        }
        let Some(table) = self.tables.get_mut(&kind) else {
            let message = format!("the table `{}` does not name its GPUs first", kind.title());
            return Err(ImportError::new(first.place, message, HELP_WHOLE));
        };
        let expected = table.gpus.get(table.rows.len()).map(|gpu| gpu.text);
        if expected != Some(first.text) {
            let message = match expected {
                Some(expected) => format!("expected the row of {expected}, found {}", first.text),
                None => format!("{} has a row but no column", first.text),
            };
            return Err(ImportError::new(first.place, message, HELP_WHOLE));
        }
        if cells.len() != table.gpus.len() + 1 {
            let values = format_count(cells.len() - 1, "value", "values");
            let message = format!("{values} instead of {} for {}", table.gpus.len(), first.text);
            return Err(ImportError::new(first.place, message, HELP_WHOLE));
        }
        table.rows.push(cells.get(1..).unwrap_or_default().to_vec());
        Ok(())
    }

    fn begin_table(
        &mut self,
        kind: TableKind,
        first: TableCell<'t>,
        gpus: &[TableCell<'t>],
    ) -> Result<(), ImportError> {
        if gpus.len() > MAX_VERTICES {
            return Err(too_many_vertices(first.place));
        }
        let is_same = |table: &GpuTable| {
            table.gpus.len() == gpus.len()
                && table.gpus.iter().zip(gpus).all(|(one, other)| one.text == other.text)
        };
        if !self.tables.values().all(is_same) {
            let message =
                format!("the table `{}` is of other GPUs than those before it", kind.title());
            return Err(ImportError::new(first.place, message, "give one machine at a time"));
        }
        let gpus = gpus.to_vec();
        self.tables.insert(kind, GpuTable { place: first.place, gpus, rows: Vec::new() });
        Ok(())
    }

    /// `GPU[0]  : (Topology) Numa Node: 0`
    fn read_node(&mut self, words: &'t str) {
        let node = words.strip_prefix("GPU[").and_then(|rest| {
            let (number, rest) = rest.split_once(']')?;
            let (_, node) = rest.split_once("(Topology) Numa Node:")?;
            Some((number.parse().ok()?, node.trim()))
        });
        if let Some((number, node)) = node {
            self.nodes.insert(number, node);
        }
    }

    /// How each two GPUs are joined.
    fn classify_pairs(&self, types: &GpuTable) -> Result<Vec<Vec<PairLink>>, ImportError> {
        let gpus = types.gpus.len();
        let weights = self.tables.get(&TableKind::Weight);
        let bandwidths = self.tables.get(&TableKind::Bandwidth);
        let mut pairs = vec![vec![PairLink::None; gpus]; gpus];
        let mut least = u64::MAX;
        for (from, row) in pairs.iter_mut().enumerate() {
            for (to, pair) in row.iter_mut().enumerate().filter(|(to, _)| *to != from) {
                let Some(cell) = types.find_cell(from, to) else { continue };
                *pair = parse_type(cell)?;
                let weight = weights.map_or(Ok(None), |table| table.find_number(from, to))?;
                if let (PairLink::Xgmi(hops), Some(weight)) = (pair, weight) {
                    *hops = weight;
                    least = least.min(weight);
                }
            }
        }
        for (from, row) in pairs.iter_mut().enumerate() {
            for (to, pair) in row.iter_mut().enumerate() {
                let PairLink::Xgmi(weight) = *pair else { continue };
                let is_direct = match bandwidths.and_then(|table| table.find_cell(from, to)) {
                    Some(cell) => read_megabytes(cell)? > 0,
                    None => weights.is_none() || weight == least,
                };
                if !is_direct {
                    *pair = PairLink::None;
                }
            }
        }
        Ok(pairs)
    }
}

/// How two GPUs are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PairLink {
    /// Over other GPUs only.
    None,
    /// Over a direct link of XGMI; with its weight.
    Xgmi(u64),
    Pcie,
}

/// The larger number of `50000-200000`; 0 for `N/A`.
fn read_megabytes(cell: TableCell) -> Result<u64, ImportError> {
    if cell.text == "N/A" {
        return Ok(0);
    }
    let (least, most) = cell.text.split_once('-').unwrap_or(("", ""));
    match (least.parse::<u64>(), most.parse::<u64>()) {
        (Ok(least), Ok(most)) if least <= most && most <= MAX_MEGABYTES => Ok(most),
        _ => {
            let message = format!("`{}` is no bandwidth", print_name(cell.text));
            let help = "it is the least and the most in MB/s, such as `50000-200000`, or `N/A`";
            Err(ImportError::new(cell.place, message, help))
        }
    }
}

fn add_xgmi(
    topology: &mut ImportedTopology,
    tables: &RocmTables,
    types: &GpuTable,
    pairs: &[Vec<PairLink>],
) -> Result<(), ImportError> {
    let is_direct = |pair: &PairLink| matches!(pair, PairLink::Xgmi(_));
    let direct: usize = pairs.iter().map(|row| row.iter().filter(|p| is_direct(p)).count()).sum();
    if direct == 0 {
        return Ok(());
    }
    let gpus = pairs.len();
    let is_full = gpus >= FULL_MESH_GPUS && direct == gpus * (gpus - 1);
    let assumed = if is_full { FULL_XGMI_BANDWIDTH } else { XGMI_BANDWIDTH };
    let bandwidths = tables.tables.get(&TableKind::Bandwidth);
    for (from, row) in pairs.iter().enumerate() {
        for (to, _) in row.iter().enumerate().filter(|(_, pair)| is_direct(pair)) {
            let given = bandwidths.and_then(|table| table.find_cell(from, to));
            let megabytes = given.map_or(Ok(0), read_megabytes)?;
            let link = ImportedLink {
                from: ImportedVertex::Rank(clamp_count(from)),
                to: ImportedVertex::Rank(clamp_count(to)),
                bandwidth: if megabytes > 0 { megabytes * 1_000_000 } else { assumed },
                latency_ns: XGMI_LATENCY_NS,
                abilities: ChannelAbilities::MEMORY,
            };
            topology.add_link(link, types.place)?;
        }
    }
    if bandwidths.is_some() {
        topology
            .add_note("Links of XGMI carry what the table of bandwidths gives, in each direction.");
    } else {
        topology.add_note(format!(
            "Links of XGMI are taken to be equally wide and to carry {} GB/s in each direction, as those of \
             {} do. With the output of `rocm-smi --shownodesbw` in the same text they carry what is given there.",
            assumed / 1_000_000_000,
            if is_full { "MI300X" } else { "MI200" }
        ));
    }
    if tables.tables.contains_key(&TableKind::Weight) {
        topology.add_note(
            "GPUs with a larger weight than others over XGMI are taken to have no link of their own.",
        );
    }
    Ok(())
}

fn add_pcie(
    topology: &mut ImportedTopology,
    tables: &RocmTables,
    types: &GpuTable,
    pairs: &[Vec<PairLink>],
) -> Result<(), ImportError> {
    if !pairs.iter().flatten().any(|pair| *pair == PairLink::Pcie) {
        if topology.ranks > 1 {
            topology.add_note("PCI Express between the GPUs is left out: XGMI joins them all.");
        }
        return Ok(());
    }
    let mut sets = Sets::new(types.gpus.len());
    let mut first_at: BTreeMap<&str, usize> = BTreeMap::new();
    for (rank, gpu) in types.gpus.iter().enumerate() {
        let node = parse_gpu_name(gpu.text).and_then(|number| tables.nodes.get(&number));
        if let Some(node) = node {
            sets.unite(*first_at.entry(node).or_insert(rank), rank);
        }
    }
    let hops = tables.tables.get(&TableKind::Hops);
    for (from, row) in pairs.iter().enumerate() {
        for (to, _) in row.iter().enumerate().filter(|(_, pair)| **pair == PairLink::Pcie) {
            let hops = hops.map_or(Ok(None), |table| table.find_number(from, to))?;
            // Two hops: to the CPU, and from it.
            if hops == Some(2) {
                sets.unite(from, to);
            }
        }
    }
    add_hosts(topology, &mut sets, types.place)
}

/// Whether all links are of types that are known, and of the same one both ways.
fn check_types(types: &GpuTable) -> Result<(), ImportError> {
    for (from, gpu) in types.gpus.iter().enumerate() {
        for (to, other) in types.gpus.iter().enumerate().take(from) {
            let (Some(cell), Some(reverse)) =
                (types.find_cell(from, to), types.find_cell(to, from))
            else {
                continue;
            };
            if parse_type(reverse)? != parse_type(cell)? {
                return Err(report_asymmetry(&AsymmetricCell {
                    from: gpu.text,
                    to: other.text,
                    place: cell.place,
                    reverse: reverse.place,
                    command: "rocm-smi --showtopo",
                }));
            }
        }
    }
    Ok(())
}

fn parse_type(cell: TableCell) -> Result<PairLink, ImportError> {
    match cell.text {
        "PCIE" => Ok(PairLink::Pcie),
        "XGMI" => Ok(PairLink::Xgmi(1)),
        _ => Err(unknown_type(cell)),
    }
}

fn unknown_type(cell: TableCell) -> ImportError {
    let message = format!("`{}` is no type of link", print_name(cell.text));
    let help = "there are `XGMI` and `PCIE`; `XXXX` stands where `rocm-smi` could not find out: run it as root";
    ImportError::new(cell.place, message, help)
}

#[cfg(test)]
mod tests {
    use super::read_rocm_smi;

    const TWO: &str = "\
======================= Weight between two GPUs =======================
       GPU0         GPU1
GPU0   0            15
GPU1   15           0

====================== Link Type between two GPUs =====================
       GPU0         GPU1
GPU0   0            XGMI
GPU1   XGMI         0
";

    fn fail(text: &str) -> (u32, String) {
        let error = read_rocm_smi(text, "m").unwrap_err();
        (error.line, error.message)
    }

    #[test]
    fn links_have_assumed_or_given_bandwidths() {
        let bandwidths: fn(&str) -> Vec<u64> = |text| {
            let links = read_rocm_smi(text, "m").unwrap().links;
            links.iter().map(|link| link.bandwidth / 1_000_000_000).collect()
        };
        assert_eq!(bandwidths(TWO), [50, 50]);
        let given = "======= Bandwidth =======\n GPU0 GPU1\nGPU0 N/A 50000-200000\nGPU1 50000-100000 N/A\nFormat: min-max; Units: mps\n";
        assert_eq!(bandwidths(&format!("{TWO}{given}")), [200, 100]);
        assert_eq!(
            fail(&format!("{TWO}{}", given.replace("50000-1", "51-1-"))).1,
            "`51-1-00000` is no bandwidth"
        );
    }

    #[test]
    fn mistakes_are_found() {
        assert_eq!(fail(&TWO.replace("XGMI", "XXXX")), (8, "`XXXX` is no type of link".to_owned()));
        assert_eq!(
            fail(&TWO.replace("GPU1   XGMI", "GPU1   PCIE")),
            (9, "GPU1 is related to GPU0 otherwise than GPU0 to GPU1".to_owned())
        );
        assert_eq!(
            fail(&TWO.replace("GPU1   15  ", "GPU2   15  ")),
            (4, "expected the row of GPU1, found GPU2".to_owned())
        );
        assert_eq!(
            fail(&TWO.replace("15           0", "15")),
            (4, "1 value instead of 2 for GPU1".to_owned())
        );
        assert_eq!(
            fail(&TWO.replace("GPU1   XGMI         0\n", "")),
            (7, "the table `Link Type between two GPUs` has no row for GPU1".to_owned())
        );
        assert_eq!(
            fail(&format!("{TWO}{TWO}")).1,
            "a second table `Weight between two GPUs` begins here"
        );
        assert_eq!(fail("{\"a\": 1}").1, "the form in JSON is not read");
        assert_eq!(
            fail("=== Hops between two GPUs ===\n").1,
            "there is no table `Link Type between two GPUs`"
        );
    }
}
