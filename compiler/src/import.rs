//! Descriptions of machines by other tools, as topologies.
//!
//! In: the text that a tool printed or wrote. Out: plain data, and from it a `topology` declaration as text. A reader
//! says in a note what it had to assume and what it left out; what it cannot express without changing what the machine
//! can carry, it refuses. It takes at most [`MAX_TEXT_BYTES`], and makes at most `synth::graph::MAX_VERTICES` ranks and
//! switches and `synth::graph::MAX_EDGES` links, as any topology.

mod host;
mod msccl_json;
mod nccl_rates;
mod nccl_xml;
mod nvidia_smi;
mod rocm_smi;
mod shared_limits;
mod smi_table;
mod write;
mod xml;

pub use write::write_topology;

use crate::syntax::token;
use synth::graph::{MAX_EDGES, MAX_VERTICES};

/// The largest text that is read, in bytes. The readers take below a second for it, and memory of some times its size;
/// a machine of the most links that a topology may have takes a tenth of it.
pub const MAX_TEXT_BYTES: usize = 64 << 20;

/// How much of a name in the text is repeated in notes and reports, in characters.
const MAX_NAME_CHARACTERS: usize = 60;

/// How many names a note lists before it only counts the others.
const MAX_LISTED_NAMES: usize = 12;

/// A tool's way to describe a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyFormat {
    /// The matrix that `nvidia-smi topo -m` prints.
    NvidiaSmi,
    /// The file that NCCL writes if `NCCL_TOPO_DUMP_FILE` names one.
    NcclXml,
    /// A topology as msccl-tools serializes it, alone or in an algorithm.
    MscclJson,
    /// The tables that `rocm-smi --showtopo` prints.
    RocmSmi,
}

impl TopologyFormat {
    /// What has this format, for a sentence: "the output of `nvidia-smi topo -m`".
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            TopologyFormat::NvidiaSmi => "the output of `nvidia-smi topo -m`",
            TopologyFormat::NcclXml => "a topology file of NCCL",
            TopologyFormat::MscclJson => "a topology of msccl-tools",
            TopologyFormat::RocmSmi => "the output of `rocm-smi --showtopo`",
        }
    }
}

/// A machine as another tool describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedTopology {
    /// What the declaration is called.
    pub name: String,
    /// What it was read from.
    pub format: TopologyFormat,
    /// The number of ranks; at least 1.
    pub ranks: u32,
    /// How many ranks each node has; none if the text does not say, or if nodes differ.
    pub ranks_per_node: Option<u32>,
    /// What all bandwidths count.
    pub unit: BandwidthUnit,
    /// The switches, which links and ports name by their index.
    pub switches: Vec<ImportedSwitch>,
    /// The links that are no ports, each in one direction.
    pub links: Vec<ImportedLink>,
    /// What was assumed or left out: sentences, each for a reader of the declaration.
    pub notes: Vec<String>,
}

/// What the bandwidths of an [`ImportedTopology`] count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BandwidthUnit {
    /// Only ratios mean something.
    Relative,
    /// Bytes per second.
    BytesPerSecond,
}

/// A switch of an [`ImportedTopology`]. It only forwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedSwitch {
    /// Its name in the declaration.
    pub name: String,
    /// What it stands for, such as a bus id, as the text calls it.
    pub label: Option<String>,
    /// Links that lead both ways.
    pub ports: Vec<ImportedPort>,
    /// The time through it, in nanoseconds.
    pub latency_ns: u64,
    /// Which channels can use its ports.
    pub abilities: ChannelAbilities,
}

/// A port of an [`ImportedSwitch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportedPort {
    /// What is connected to it.
    pub vertex: ImportedVertex,
    /// How much it carries in each direction; above zero.
    pub bandwidth: u64,
}

/// One direction of a link of an [`ImportedTopology`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportedLink {
    /// Where it begins.
    pub from: ImportedVertex,
    /// Where it ends; another vertex.
    pub to: ImportedVertex,
    /// How much it carries; above zero.
    pub bandwidth: u64,
    /// The time from its begin to its end, in nanoseconds.
    pub latency_ns: u64,
    /// Which channels can use it.
    pub abilities: ChannelAbilities,
}

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImportedVertex {
    /// A rank.
    Rank(u32),
    /// A switch, by its index among [`ImportedTopology::switches`].
    Switch(u32),
}

/// Which channels can use a link; at least one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelAbilities {
    /// Threads load and store through it.
    pub memory: bool,
    /// A proxy sends through it.
    pub port: bool,
}

impl ChannelAbilities {
    /// For all channels.
    pub const ALL: ChannelAbilities = ChannelAbilities { memory: true, port: true };
    /// For memory channels only.
    pub const MEMORY: ChannelAbilities = ChannelAbilities { memory: true, port: false };
    /// For port channels only.
    pub const PORT: ChannelAbilities = ChannelAbilities { memory: false, port: true };
}

/// Why a text is no topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// What can be done about it.
    pub help: String,
}

impl ImportError {
    fn new(place: TextPlace, message: impl Into<String>, help: impl Into<String>) -> ImportError {
        let TextPlace { line, column } = place;
        ImportError { line, column, message: message.into(), help: help.into() }
    }
}

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TextPlace {
    /// From 1.
    line: u32,
    /// In characters, from 1.
    column: u32,
}

impl TextPlace {
    const START: TextPlace = TextPlace { line: 1, column: 1 };

    /// The place that is this many bytes behind the start of a text.
    fn find(text: &str, offset: usize) -> TextPlace {
        let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
        let line = before.iter().filter(|byte| **byte == b'\n').count();
        let begin = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        // Bytes that continue a character do not count.
        let column = before.iter().skip(begin).filter(|byte| **byte & 0xc0 != 0x80).count();
        TextPlace { line: clamp_count(line + 1), column: clamp_count(column + 1) }
    }
}

fn clamp_count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The format that a text seems to have, from its first character and from phrases that only one tool writes; none if it
/// looks like none.
#[must_use]
pub fn detect_format(text: &str) -> Option<TopologyFormat> {
    let text = strip_byte_order_mark(text);
    let is_of_rocm = text.contains("between two GPUs") || text.contains("\"(Topology)");
    match text.trim_start().chars().next() {
        Some('<') => Some(TopologyFormat::NcclXml),
        Some('{') if !is_of_rocm => Some(TopologyFormat::MscclJson),
        _ if is_of_rocm => Some(TopologyFormat::RocmSmi),
        _ => nvidia_smi::has_matrix(text).then_some(TopologyFormat::NvidiaSmi),
    }
}

/// Reads a machine from a text of a format. `name` is what the topology will be called.
///
/// # Errors
/// The text is not of this format, contradicts itself, is larger than [`MAX_TEXT_BYTES`], describes a machine that is
/// larger than a topology can be or that a topology cannot express; or the name is none.
pub fn import_topology(
    text: &str,
    format: TopologyFormat,
    name: &str,
) -> Result<ImportedTopology, ImportError> {
    check_name(name)?;
    if text.len() > MAX_TEXT_BYTES {
        let message = format!("the text has more than {} MiB", MAX_TEXT_BYTES >> 20);
        let help = "give the description of one machine only";
        return Err(ImportError::new(TextPlace::START, message, help));
    }
    let text = strip_byte_order_mark(text);
    match format {
        TopologyFormat::NvidiaSmi => nvidia_smi::read_nvidia_smi(text, name),
        TopologyFormat::NcclXml => nccl_xml::read_nccl_xml(text, name),
        TopologyFormat::MscclJson => msccl_json::read_msccl_json(text, name),
        TopologyFormat::RocmSmi => rocm_smi::read_rocm_smi(text, name),
    }
}

/// The text without the mark that some editors and shells write before it.
#[must_use]
pub fn strip_byte_order_mark(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

/// Refuses what is no name of a topology.
///
/// # Errors
/// The name is none: it is empty, has other characters than ASCII letters, digits and `_`, begins with a digit, or is
/// reserved. The place of the error means nothing.
pub fn check_name(name: &str) -> Result<(), ImportError> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = name.chars().all(is_word)
        && name.chars().next().is_some_and(|first| !first.is_ascii_digit())
        && !token::is_reserved(name);
    if is_name {
        return Ok(());
    }
    let message = format!("`{}` cannot be the name of a topology", print_name(name));
    let help = "give a name of letters, digits and `_` that is no word of the language";
    Err(ImportError::new(TextPlace::START, message, help))
}

/// A valid name of a topology that is as much like a word as can be: `node_1` for `node-1`, `machine_0` for `0`,
/// `topology_machine` for `topology`, and `machine` for what has no letter or digit that a name can have.
#[must_use]
pub fn derive_name(word: &str) -> String {
    let plain: String =
        word.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    match plain.chars().find(|c| *c != '_') {
        None => "machine".to_owned(),
        Some(_) if token::is_reserved(&plain) => format!("{plain}_machine"),
        Some(_) if plain.starts_with(|first: char| first.is_ascii_alphabetic()) => plain,
        Some(_) => format!("machine_{plain}"),
    }
}

impl ImportedTopology {
    /// A machine without any link.
    fn new(name: &str, format: TopologyFormat, ranks: u32) -> ImportedTopology {
        ImportedTopology {
            name: name.to_owned(),
            format,
            ranks,
            ranks_per_node: None,
            unit: BandwidthUnit::BytesPerSecond,
            switches: Vec::new(),
            links: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a switch, and returns it. That there are not too many, [`ImportedTopology::check_size`] tells.
    fn add_switch(&mut self, switch: ImportedSwitch) -> ImportedVertex {
        self.switches.push(switch);
        ImportedVertex::Switch(clamp_count(self.switches.len() - 1))
    }

    /// Adds a port to a switch.
    fn add_port(&mut self, switch: ImportedVertex, port: ImportedPort) {
        if let ImportedVertex::Switch(index) = switch
            && let Some(switch) = self.switches.get_mut(index as usize)
        {
            switch.ports.push(port);
        }
    }

    /// Adds a link in one direction, if there are not too many yet.
    fn add_link(&mut self, link: ImportedLink, place: TextPlace) -> Result<(), ImportError> {
        self.add_link_at(link, || place)
    }

    /// The same where it takes long to find the place.
    fn add_link_at(
        &mut self,
        link: ImportedLink,
        find_place: impl FnOnce() -> TextPlace,
    ) -> Result<(), ImportError> {
        if self.links.len() >= MAX_EDGES {
            return Err(too_many_links(find_place()));
        }
        self.links.push(link);
        Ok(())
    }

    fn add_note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Whether it is as small as a topology has to be.
    fn check_size(&self, place: TextPlace) -> Result<(), ImportError> {
        if self.ranks as usize + self.switches.len() > MAX_VERTICES {
            return Err(too_many_vertices(place));
        }
        let ports: usize = self.switches.iter().map(|switch| switch.ports.len()).sum();
        if self.links.len() + 2 * ports > MAX_EDGES {
            return Err(too_many_links(place));
        }
        Ok(())
    }
}

fn too_many_vertices(place: TextPlace) -> ImportError {
    let message = format!("the machine has more than {MAX_VERTICES} ranks and switches");
    ImportError::new(place, message, "describe a part of the machine")
}

fn too_many_links(place: TextPlace) -> ImportError {
    let message = format!("the machine has more than {MAX_EDGES} links, each direction counted");
    ImportError::new(place, message, "describe a part of the machine")
}

/// A name from the text as notes and reports show it: what is not printable ASCII is `?`.
fn print_name(name: &str) -> String {
    let mut shown: String = name
        .chars()
        .take(MAX_NAME_CHARACTERS)
        .map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' })
        .collect();
    if name.chars().nth(MAX_NAME_CHARACTERS).is_some() {
        shown.push_str("..");
    }
    shown
}

/// `a, b and c`; the first ones and the number of the others if there are many.
fn list_names(names: &[String]) -> String {
    let shown = names.get(..MAX_LISTED_NAMES).unwrap_or(names);
    match (names.len() - shown.len(), shown) {
        (0, []) => String::new(),
        (0, [one]) => one.clone(),
        (0, [first @ .., last]) => format!("{} and {last}", first.join(", ")),
        (others, _) => format!("{} and {others} others", shown.join(", ")),
    }
}

/// `1 GPU` or `2 GPUs`.
fn format_count(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::{
        ImportError, TextPlace, TopologyFormat, check_name, derive_name, detect_format,
        import_topology, list_names, print_name,
    };

    #[test]
    fn formats_are_told_apart() {
        let formats = [
            ("\u{feff}<system version=\"1\">", Some(TopologyFormat::NcclXml)),
            ("  {\"links\": ", Some(TopologyFormat::MscclJson)),
            ("{\"system\": {\"(Topology) Weight\": 1}}", Some(TopologyFormat::RocmSmi)),
            ("==\n== Hops between two GPUs ==\n", Some(TopologyFormat::RocmSmi)),
            (
                "$ nvidia-smi topo -m\n\tGPU0\tGPU1\nGPU0\t X \tNV1\n",
                Some(TopologyFormat::NvidiaSmi),
            ),
            ("\u{feff}\tGPU0\tGPU1\nGPU0\t X \tNV1\n", Some(TopologyFormat::NvidiaSmi)),
            ("topology ring;", None),
            ("", None),
        ];
        for (text, format) in formats {
            assert_eq!(detect_format(text), format, "{text}");
        }
    }

    #[test]
    fn places_count_characters() {
        let place = |offset| TextPlace::find("ab\nçd\n", offset);
        assert_eq!(place(0), TextPlace { line: 1, column: 1 });
        assert_eq!(place(3), TextPlace { line: 2, column: 1 });
        assert_eq!(place(5), TextPlace { line: 2, column: 2 });
        assert_eq!(place(99), TextPlace { line: 3, column: 1 });
    }

    #[test]
    fn names_are_checked() {
        for name in ["", "8x", "a b", "link", "ä"] {
            let error = import_topology("{}", TopologyFormat::MscclJson, name).unwrap_err();
            let ImportError { line, column, message, .. } = error;
            assert!(message.contains("cannot be the name"), "{message}");
            assert_eq!((line, column), (1, 1));
        }
    }

    #[test]
    fn derived_names_are_valid() {
        let names = [
            ("node-1", "node_1"),
            ("0", "machine_0"),
            ("topology", "topology_machine"),
            ("if", "if_machine"),
            ("switch", "switch"),
            ("\u{e9}", "machine"),
            ("\u{e9}8", "machine__8"),
            ("_", "machine"),
            ("-", "machine"),
            ("", "machine"),
        ];
        for (word, name) in names {
            assert_eq!(derive_name(word), name, "{word}");
            assert_eq!(check_name(name), Ok(()), "{word}");
        }
    }

    #[test]
    fn what_is_repeated_from_a_text_is_short_and_printable() {
        assert_eq!(print_name("mlx5\u{202e}_0\n"), "mlx5?_0?");
        assert_eq!(print_name(&"x".repeat(99)).len(), 62);
        let names: Vec<String> = (0..14).map(|index| index.to_string()).collect();
        assert_eq!(list_names(&names[..3]), "0, 1 and 2");
        assert!(list_names(&names).ends_with("11 and 2 others"));
    }
}
