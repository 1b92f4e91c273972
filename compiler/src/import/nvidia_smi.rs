//! Reads the matrix that `nvidia-smi topo -m` prints.
//!
//! Each line has a device, its relation to every device, and its CPUs; a legend follows. The relations are, in the words
//! of the legend: `NV#`, a bonded set of # NVLinks; `PIX`, at most one PCIe bridge; `PXB`, several of them; `PHB`, a PCIe
//! host bridge; `NODE`, the interconnect between host bridges of a NUMA node; `SYS` (once `SOC`), the one between NUMA
//! nodes.
//!
//! The rules: each GPU is a rank, in the order of the columns. GPUs with NVLinks are joined by links of their own, unless
//! all of a group have the same number of them to all others and no GPU has so many: then they are at an NVSwitch.
//! GPUs of which some are not joined by NVLink are at hosts, too ([`super::host`]). Network cards are left out.

mod build;

use super::smi_table::{AsymmetricCell, TableCell, parse_gpu_name, report_asymmetry, split_cells};
use super::{
    ImportError, ImportedTopology, TextPlace, format_count, list_names, print_name,
    too_many_vertices,
};
use std::collections::BTreeMap;
use synth::graph::MAX_VERTICES;

/// How many words of a line are looked at: a column for each device, and what is said of CPUs behind them.
const MAX_CELLS: usize = MAX_VERTICES + 16;

/// The most NVLinks that a GPU has, for generations 1 to 5 of NVLink (4, 6, 12, 18 and 18):
/// <https://www.nvidia.com/en-us/data-center/nvlink/>.
const MAX_NVLINKS: u32 = 18;

/// The largest number that is taken for one of NVLinks; machines to come may have more than today's.
const MAX_NVLINK_COUNT: u32 = 999;

/// How a GPU reaches another device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeviceRelation {
    /// They are the same.
    Itself,
    /// Over so many NVLinks.
    NvLinks(u32),
    /// Over PCI Express, without leaving the NUMA node.
    SameNode(Nearness),
    /// Over PCI Express and between NUMA nodes.
    OtherNode,
}

/// How near two devices of a NUMA node are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nearness {
    /// Bridges of PCI Express only.
    Bridges,
    /// Host bridges as well.
    HostBridges,
}

impl DeviceRelation {
    fn parse(word: &str) -> Option<DeviceRelation> {
        match word {
            "X" => Some(DeviceRelation::Itself),
            "PIX" | "PXB" => Some(DeviceRelation::SameNode(Nearness::Bridges)),
            "PHB" | "NODE" => Some(DeviceRelation::SameNode(Nearness::HostBridges)),
            "SYS" | "SOC" => Some(DeviceRelation::OtherNode),
            _ => {
                let count = word.strip_prefix("NV").and_then(|count| count.parse().ok())?;
                (1..=MAX_NVLINK_COUNT).contains(&count).then_some(DeviceRelation::NvLinks(count))
            }
        }
    }
}

/// What a matrix says.
struct DeviceMatrix {
    /// Where it begins.
    place: TextPlace,
    /// For each GPU its relation to each GPU.
    relations: Vec<Vec<DeviceRelation>>,
    /// For each GPU the CPUs that are said to be near, if there are any.
    affinities: Vec<Option<String>>,
    /// Sentences about what was left out.
    notes: Vec<String>,
}

/// Whether a line of a text names GPUs as columns.
pub(super) fn has_matrix(text: &str) -> bool {
    text.lines().enumerate().any(|(line, words)| is_header(&split_cells(words, line, 2)))
}

/// The machine of a matrix.
///
/// # Errors
/// There is no matrix, or more than one; it lacks rows or cells, or has an unknown or a contradicting one; or the machine
/// is too large.
pub(super) fn read_nvidia_smi(text: &str, name: &str) -> Result<ImportedTopology, ImportError> {
    let mut lines = text.lines().enumerate();
    let header = lines
        .by_ref()
        .map(|(line, words)| split_cells(words, line, MAX_CELLS))
        .find(|cells| is_header(cells))
        .ok_or_else(without_header)?;
    let mut reader = MatrixReader::new(&header)?;
    for (line, words) in lines {
        reader.read_line(&split_cells(words, line, MAX_CELLS))?;
    }
    build::build_topology(reader.finish()?, name)
}

/// Whether words are the names of columns: that of a GPU is followed by another device, or by what is said of CPUs.
fn is_header(cells: &[TableCell]) -> bool {
    let is_gpu = cells.first().is_some_and(|cell| parse_gpu_name(cell.text).is_some());
    let follows = |cell: &TableCell| {
        cell.text == "CPU" || is_device_name(cell.text) && !cell.text.starts_with("NV")
    };
    is_gpu && cells.get(1).is_none_or(follows)
}

/// `GPU0`, `NIC0`, `mlx5_0`, `hfi1_0`: a word and a number. `NV2` is none.
fn is_device_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.ends_with(|c: char| c.is_ascii_digit())
        && !name.contains(':')
}

/// A matrix, as far as it is read.
struct MatrixReader<'t> {
    place: TextPlace,
    /// The columns: devices.
    columns: Vec<TableCell<'t>>,
    /// Those of the columns that are GPUs.
    gpus: Vec<TableCell<'t>>,
    rows: Vec<Option<MatrixRow<'t>>>,
    /// What the legend says that other devices are called.
    aliases: BTreeMap<&'t str, &'t str>,
    instances: usize,
}

/// The row of a GPU.
struct MatrixRow<'t> {
    place: TextPlace,
    /// Its relation to each GPU.
    relations: Vec<RelationCell>,
    /// The columns of the devices that are no GPUs and that only bridges are between.
    near: Vec<usize>,
    affinity: Option<&'t str>,
}

/// A relation and where it stands.
#[derive(Clone, Copy)]
struct RelationCell {
    relation: DeviceRelation,
    place: TextPlace,
}

impl<'t> MatrixReader<'t> {
    fn new(header: &[TableCell<'t>]) -> Result<MatrixReader<'t>, ImportError> {
        let place = header.first().map_or(TextPlace::START, |cell| cell.place);
        let devices = header.iter().take_while(|cell| is_device_name(cell.text));
        let columns: Vec<TableCell> = devices.copied().collect();
        if columns.len() > MAX_VERTICES {
            return Err(too_many_vertices(place));
        }
        let is_gpu = |cell: &&TableCell| parse_gpu_name(cell.text).is_some();
        let gpus: Vec<TableCell> = columns.iter().filter(is_gpu).copied().collect();
        let mut seen = BTreeMap::new();
        if let Some(twice) = columns.iter().find(|cell| seen.insert(cell.text, ()).is_some()) {
            let message = format!("{} has two columns", print_name(twice.text));
            return Err(ImportError::new(twice.place, message, HELP_WHOLE));
        }
        let rows = gpus.iter().map(|_| None).collect();
        Ok(MatrixReader { place, columns, gpus, rows, aliases: BTreeMap::new(), instances: 0 })
    }

    fn read_line(&mut self, cells: &[TableCell<'t>]) -> Result<(), ImportError> {
        let [first, rest @ ..] = cells else { return Ok(()) };
        if is_header(cells) {
            let message = "a second matrix begins here";
            return Err(ImportError::new(first.place, message, "give one machine at a time"));
        }
        if let (Some(device), [alias, ..]) = (first.text.strip_suffix(':'), rest) {
            self.aliases.insert(device, alias.text);
        }
        if first.text.starts_with("MIG") {
            self.instances += 1;
        }
        let is_gpu = parse_gpu_name(first.text).is_some();
        let is_row = is_gpu && rest.first().is_some_and(|cell| is_relation_like(cell.text));
        if !is_row {
            return Ok(());
        }
        let Some(rank) = self.gpus.iter().position(|gpu| gpu.text == first.text) else {
            let message = format!("{} has a row but no column", first.text);
            return Err(ImportError::new(first.place, message, HELP_WHOLE));
        };
        let row = self.read_row(*first, rest)?;
        match self.rows.get_mut(rank) {
            Some(slot @ None) => *slot = Some(row),
            Some(Some(_)) | None => {
                let message = format!("{} has two rows", first.text);
                return Err(ImportError::new(first.place, message, HELP_WHOLE));
            }
        }
        Ok(())
    }

    fn read_row(
        &self,
        gpu: TableCell<'t>,
        cells: &[TableCell<'t>],
    ) -> Result<MatrixRow<'t>, ImportError> {
        let mut row = MatrixRow {
            place: gpu.place,
            relations: Vec::with_capacity(self.gpus.len()),
            near: Vec::new(),
            affinity: cells.get(self.columns.len()).map(|cell| cell.text),
        };
        for (index, column) in self.columns.iter().enumerate() {
            let Some(cell) = cells.get(index) else {
                let message =
                    format!("{} has no relation to {}", gpu.text, print_name(column.text));
                return Err(ImportError::new(gpu.place, message, HELP_WHOLE));
            };
            let relation = DeviceRelation::parse(cell.text).ok_or_else(|| no_relation(*cell))?;
            if (relation == DeviceRelation::Itself) != (gpu.text == column.text) {
                let message = format!("`X` does not stand where {} meets itself", gpu.text);
                return Err(ImportError::new(cell.place, message, HELP_WHOLE));
            }
            if parse_gpu_name(column.text).is_some() {
                row.relations.push(RelationCell { relation, place: cell.place });
            } else if relation == DeviceRelation::SameNode(Nearness::Bridges) {
                row.near.push(index);
            }
        }
        Ok(row)
    }

    fn finish(self) -> Result<DeviceMatrix, ImportError> {
        let mut rows = Vec::with_capacity(self.gpus.len());
        let notes = self.collect_notes();
        for (gpu, row) in self.gpus.iter().zip(self.rows) {
            let Some(row) = row else {
                let message = format!("{} has a column but no row", gpu.text);
                return Err(ImportError::new(gpu.place, message, HELP_WHOLE));
            };
            rows.push(row);
        }
        check_symmetry(&rows, &self.gpus)?;
        Ok(DeviceMatrix {
            place: self.place,
            affinities: rows.iter().map(|row| row.affinity.map(str::to_owned)).collect(),
            relations: rows
                .iter()
                .map(|row| row.relations.iter().map(|cell| cell.relation).collect())
                .collect(),
            notes,
        })
    }

    fn collect_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let is_in_order =
            (0..).zip(&self.gpus).all(|(rank, gpu)| parse_gpu_name(gpu.text) == Some(rank));
        if !is_in_order {
            let names: Vec<String> = self.gpus.iter().map(|gpu| gpu.text.to_owned()).collect();
            notes.push(format!("The ranks are, in order, {}.", list_names(&names)));
        }
        let cards: Vec<String> = self
            .columns
            .iter()
            .enumerate()
            .filter(|(_, cell)| parse_gpu_name(cell.text).is_none())
            .map(|(index, cell)| self.describe_card(index, cell.text))
            .collect();
        if !cards.is_empty() {
            notes.push(format!(
                "Left out, because nothing says how fast they are and where they lead: the network cards {}.",
                list_names(&cards)
            ));
        }
        if self.instances > 0 {
            let lines = format_count(self.instances, "line", "lines");
            notes.push(format!("Left out: {lines} about MIG instances. A rank is a whole GPU."));
        }
        notes
    }

    /// `NIC0 (mlx5_0) near ranks 0 and 1`
    fn describe_card(&self, index: usize, name: &str) -> String {
        let mut text = print_name(name);
        if let Some(alias) = self.aliases.get(name) {
            text = format!("{text} ({})", print_name(alias));
        }
        let is_near = |row: &&Option<MatrixRow>| {
            row.as_ref().is_some_and(|row| row.near.binary_search(&index).is_ok())
        };
        let rows = (0..).zip(&self.rows).filter(|(_, row)| is_near(row));
        let ranks: Vec<String> = rows.map(|(rank, _): (u32, _)| rank.to_string()).collect();
        match ranks.as_slice() {
            [] => text,
            [rank] => format!("{text} near rank {rank}"),
            ranks => format!("{text} near ranks {}", ranks.join(" and ")),
        }
    }
}

/// What to do about a matrix that is not whole.
const HELP_WHOLE: &str =
    "give the whole output of `nvidia-smi topo -m`, with no line cut or wrapped";

/// Whether a word could be meant as a relation: GPUs have rows with other words in other tables.
fn is_relation_like(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'/')
}

/// NVLinks lead both ways.
fn check_symmetry(rows: &[MatrixRow], gpus: &[TableCell]) -> Result<(), ImportError> {
    let find_name = |rank: usize| gpus.get(rank).map_or("", |gpu| gpu.text);
    let find_cell = |from: usize, to: usize| rows.get(from).and_then(|row| row.relations.get(to));
    for (from, row) in rows.iter().enumerate() {
        for (to, cell) in row.relations.iter().enumerate().take(from) {
            let Some(other) = find_cell(to, from) else { continue };
            if cell.relation != other.relation {
                return Err(report_asymmetry(&AsymmetricCell {
                    from: find_name(from),
                    to: find_name(to),
                    place: cell.place,
                    reverse: other.place,
                    command: "nvidia-smi topo -m",
                }));
            }
        }
        debug_assert_eq!(row.relations.len(), rows.len(), "a cell for each GPU at {:?}", row.place);
    }
    Ok(())
}

fn no_relation(cell: TableCell) -> ImportError {
    let message = format!("`{}` is no relation between devices", print_name(cell.text));
    let help = "there are `X`, `NV` with a number, `PIX`, `PXB`, `PHB`, `NODE` and `SYS`";
    ImportError::new(cell.place, message, help)
}

fn without_header() -> ImportError {
    let message = "there is no matrix of GPUs";
    let help = "its first line names the GPUs: give the whole output of `nvidia-smi topo -m`";
    ImportError::new(TextPlace::START, message, help)
}

#[cfg(test)]
mod tests {
    use super::super::ImportedTopology;
    use super::{DeviceRelation, read_nvidia_smi};

    /// The machine of GPUs that all have the same relation.
    fn read_uniform(gpus: usize, relation: &str) -> ImportedTopology {
        let names: Vec<String> = (0..gpus).map(|gpu| format!("GPU{gpu}")).collect();
        let mut text = format!("\t{}\tCPU Affinity\n", names.join("\t"));
        for (row, name) in names.iter().enumerate() {
            let cells: Vec<&str> =
                (0..gpus).map(|at| if at == row { " X " } else { relation }).collect();
            text += &format!("{name}\t{}\t0-7\n", cells.join("\t"));
        }
        read_nvidia_smi(&text, "m").unwrap()
    }

    #[test]
    fn relations_are_words() {
        assert_eq!(DeviceRelation::parse("NV12"), Some(DeviceRelation::NvLinks(12)));
        for word in ["NV0", "NV", "NV-1", "NV1000", "pix", ""] {
            assert_eq!(DeviceRelation::parse(word), None, "{word}");
        }
    }

    #[test]
    fn an_nvswitch_is_where_links_would_be_too_many() {
        // Six links to each of three others can be direct, as on boards of four H100; to each of four, they cannot.
        let direct = read_uniform(4, "NV6");
        assert_eq!((direct.switches.len(), direct.links.len()), (0, 12));
        let switched = read_uniform(5, "NV6");
        assert_eq!((switched.switches.len(), switched.links.len()), (1, 0));
        assert_eq!(switched.switches[0].ports[0].bandwidth, 150_000_000_000);
        // Two GPUs are always joined directly.
        assert_eq!(read_uniform(2, "NV36").links.len(), 2);
    }

    #[test]
    fn gpus_without_nvlink_are_at_a_host() {
        let topology = read_uniform(3, "NODE");
        assert_eq!((topology.switches.len(), topology.ranks_per_node), (1, Some(3)));
        assert_eq!(topology.switches[0].name, "host");
    }

    #[test]
    fn a_single_gpu_is_a_machine() {
        let topology = read_uniform(1, "");
        assert_eq!((topology.ranks, topology.switches.len(), topology.notes.len()), (1, 0, 0));
    }
}
