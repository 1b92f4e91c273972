//! Writes an imported machine. In: plain data. Out: a `topology` declaration, laid out as the formatter would.
//!
//! Links between ranks are one matrix if they differ in their bandwidths only and it is shorter than a line for each;
//! all others have a line of their own.

use super::{
    BandwidthUnit, ChannelAbilities, ImportedLink, ImportedPort, ImportedSwitch, ImportedTopology,
    ImportedVertex,
};
use crate::bytes::{rate_text, time_text};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How many columns a line has, as for the formatter.
const LINE_COLUMNS: usize = 100;

/// How many ranks one `ports` clause lists, so that it fits in a line.
const LISTED_RANKS: usize = 10;

/// The declaration of an imported machine: where it comes from and its notes as a comment, and the machine.
#[must_use]
pub fn write_topology(topology: &ImportedTopology) -> String {
    let mut text = String::new();
    write_comment(&mut text, topology);
    let _ = writeln!(text, "topology {} {{", topology.name);
    let _ = writeln!(text, "    ranks {};", topology.ranks);
    if let Some(width) = topology.ranks_per_node {
        let _ = writeln!(text, "    ranks_per_node {width};");
    }
    let is_between_ranks = |link: &&ImportedLink| {
        matches!((link.from, link.to), (ImportedVertex::Rank(_), ImportedVertex::Rank(_)))
    };
    let between_ranks: Vec<ImportedLink> =
        topology.links.iter().filter(is_between_ranks).copied().collect();
    let folded = LinkMatrix::build(topology, &between_ranks)
        .is_some_and(|matrix| matrix.write(&mut text, topology));
    for switch in &topology.switches {
        write_switch(&mut text, topology, switch);
    }
    let rest = topology.links.iter().filter(|link| !folded || !is_between_ranks(link));
    write_links(&mut text, topology, &rest.copied().collect::<Vec<_>>());
    text.push_str("}\n");
    text
}

fn write_comment(text: &mut String, topology: &ImportedTopology) {
    let ranks = if topology.ranks == 1 {
        "One rank".to_owned()
    } else {
        format!("{} ranks", topology.ranks)
    };
    let origin = format!("{ranks}, imported from {}.", topology.format.describe());
    write_paragraph(text, "/// ", "/// ", &origin);
    if !topology.notes.is_empty() {
        text.push_str("///\n");
    }
    for note in &topology.notes {
        write_paragraph(text, "/// * ", "///   ", note);
    }
}

/// Writes words line by line, with one prefix on the first line and another one on those behind it.
fn write_paragraph(text: &mut String, first: &str, rest: &str, words: &str) {
    let mut line = first.to_owned();
    for word in words.split_whitespace() {
        let is_begun = !line.ends_with(' ');
        if is_begun && line.len() + 1 + word.len() > LINE_COLUMNS {
            let _ = writeln!(text, "{line}");
            rest.clone_into(&mut line);
        } else if is_begun {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

/// A bandwidth in the unit of the topology.
fn format_bandwidth(topology: &ImportedTopology, bandwidth: u64) -> String {
    match topology.unit {
        BandwidthUnit::Relative => bandwidth.to_string(),
        BandwidthUnit::BytesPerSecond => rate_text(i64::try_from(bandwidth).unwrap_or(i64::MAX)),
    }
}

/// What follows the bandwidth of a link: nothing where the default holds.
fn format_traits(latency_ns: u64, abilities: ChannelAbilities) -> String {
    let mut traits = String::new();
    if latency_ns > 0 {
        let _ = write!(traits, ", latency = {}", format_time(latency_ns));
    }
    if abilities != ChannelAbilities::ALL {
        let _ = write!(traits, ", abilities = {}", format_abilities(abilities));
    }
    traits
}

fn format_time(nanoseconds: u64) -> String {
    time_text(i64::try_from(nanoseconds).unwrap_or(i64::MAX))
}

fn format_abilities(abilities: ChannelAbilities) -> &'static str {
    let ChannelAbilities { memory, port } = abilities;
    match (memory, port) {
        (true, true) => "[memory, port]",
        (true, false) => "[memory]",
        (false, true) => "[port]",
        (false, false) => "[]",
    }
}

fn format_vertex(topology: &ImportedTopology, vertex: ImportedVertex) -> String {
    match vertex {
        ImportedVertex::Rank(rank) => rank.to_string(),
        ImportedVertex::Switch(index) => {
            let switch = topology.switches.get(index as usize);
            switch.map(|switch| switch.name.clone()).unwrap_or_default()
        }
    }
}

fn write_switch(text: &mut String, topology: &ImportedTopology, switch: &ImportedSwitch) {
    if let Some(label) = &switch.label {
        write_paragraph(text, "    /// ", "    /// ", label);
    }
    if switch.ports.is_empty()
        && switch.abilities == ChannelAbilities::ALL
        && switch.latency_ns == 0
    {
        let _ = writeln!(text, "    switch {} {{}}", switch.name);
        return;
    }
    let _ = writeln!(text, "    switch {} {{", switch.name);
    for ports in group_ports(topology, &switch.ports) {
        let _ = writeln!(text, "        {ports}");
    }
    if switch.abilities != ChannelAbilities::ALL {
        let _ = writeln!(text, "        abilities = {};", format_abilities(switch.abilities));
    }
    if switch.latency_ns > 0 {
        let _ = writeln!(text, "        latency = {};", format_time(switch.latency_ns));
    }
    text.push_str("    }\n");
}

/// The `ports` clauses of a switch: ranks behind each other whose ports are equally fast share one.
fn group_ports(topology: &ImportedTopology, ports: &[ImportedPort]) -> Vec<String> {
    // Several ports of one vertex carry together what one of the sum does.
    let mut sums: BTreeMap<ImportedVertex, u64> = BTreeMap::new();
    for port in ports {
        let sum = sums.entry(port.vertex).or_default();
        *sum = sum.saturating_add(port.bandwidth);
    }
    let mut ranks_by_bandwidth: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    let mut of_switches = Vec::new();
    for (vertex, bandwidth) in sums {
        if let ImportedVertex::Rank(rank) = vertex {
            ranks_by_bandwidth.entry(bandwidth).or_default().push(rank);
        } else {
            let vertex = format_vertex(topology, vertex);
            let bandwidth = format_bandwidth(topology, bandwidth);
            of_switches.push(format!("ports ({vertex}), bandwidth = {bandwidth};"));
        }
    }
    let mut clauses = Vec::new();
    for (bandwidth, ranks) in ranks_by_bandwidth.iter().rev() {
        let bandwidth = format_bandwidth(topology, *bandwidth);
        for vertices in list_ranks(ranks) {
            clauses.push(format!("ports ({vertices}), bandwidth = {bandwidth};"));
        }
    }
    clauses.extend(of_switches);
    clauses
}

/// Ascending ranks as what stands between the parentheses of `ports`.
fn list_ranks(ranks: &[u32]) -> Vec<String> {
    match ranks {
        [] => Vec::new(),
        [one] => vec![one.to_string()],
        [first, .., last] if (last - first) as usize == ranks.len() - 1 => {
            vec![format!("r in {first}..{}: r", last + 1)]
        }
        _ => ranks
            .chunks(LISTED_RANKS)
            .map(|chunk| {
                let listed: Vec<String> = chunk.iter().map(u32::to_string).collect();
                match listed.as_slice() {
                    [one] => one.clone(),
                    _ => format!("r in [{}]: r", listed.join(", ")),
                }
            })
            .collect(),
    }
}

/// A link as it is counted when both directions are looked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LinkKey {
    from: ImportedVertex,
    to: ImportedVertex,
    bandwidth: u64,
    latency_ns: u64,
    memory: bool,
    port: bool,
}

impl LinkKey {
    fn new(link: &ImportedLink) -> LinkKey {
        let ImportedLink { from, to, bandwidth, latency_ns, abilities } = *link;
        let ChannelAbilities { memory, port } = abilities;
        LinkKey { from, to, bandwidth, latency_ns, memory, port }
    }

    fn reverse(self) -> LinkKey {
        LinkKey { from: self.to, to: self.from, ..self }
    }
}

/// Writes a line for each link, and one for two that are each other's reverse.
fn write_links(text: &mut String, topology: &ImportedTopology, links: &[ImportedLink]) {
    for (link, arrow) in pair_links(links) {
        let from = format_vertex(topology, link.from);
        let to = format_vertex(topology, link.to);
        let bandwidth = format_bandwidth(topology, link.bandwidth);
        let traits = format_traits(link.latency_ns, link.abilities);
        let _ = writeln!(text, "    link {from} {arrow} {to}, bandwidth = {bandwidth}{traits};");
    }
}

/// The links that get a line, each with its arrow.
fn pair_links(links: &[ImportedLink]) -> Vec<(ImportedLink, &'static str)> {
    let mut unwritten: BTreeMap<LinkKey, u32> = BTreeMap::new();
    for link in links {
        *unwritten.entry(LinkKey::new(link)).or_default() += 1;
    }
    fn take_one(unwritten: &mut BTreeMap<LinkKey, u32>, key: LinkKey) -> bool {
        let Some(count) = unwritten.get_mut(&key).filter(|count| **count > 0) else { return false };
        *count -= 1;
        true
    }
    let mut lines = Vec::new();
    for link in links {
        let key = LinkKey::new(link);
        if take_one(&mut unwritten, key) {
            let is_both = take_one(&mut unwritten, key.reverse());
            lines.push((*link, if is_both { "<->" } else { "->" }));
        }
    }
    lines
}

/// Links between ranks that differ in their bandwidths only.
struct LinkMatrix {
    /// For each rank its row: the bandwidth of the link to each rank in units of `quantum`, 0 for none.
    rows: Vec<Vec<u64>>,
    /// What one unit is; 1 for relative bandwidths.
    quantum: u64,
    traits: String,
}

impl LinkMatrix {
    /// None if the links have no matrix, or if it would be longer than their lines.
    fn build(topology: &ImportedTopology, links: &[ImportedLink]) -> Option<LinkMatrix> {
        let first = links.first()?;
        let ranks = topology.ranks as usize;
        let is_alike = |link: &ImportedLink| {
            link.latency_ns == first.latency_ns && link.abilities == first.abilities
        };
        if !links.iter().all(is_alike) || pair_links(links).len() <= ranks.max(3) {
            return None;
        }
        let quantum = match topology.unit {
            BandwidthUnit::Relative => 1,
            BandwidthUnit::BytesPerSecond => {
                links.iter().fold(0, |divisor, link| divide_commonly(divisor, link.bandwidth))
            }
        };
        let mut rows = vec![vec![0; ranks]; ranks];
        for link in links {
            let (ImportedVertex::Rank(from), ImportedVertex::Rank(to)) = (link.from, link.to)
            else {
                return None;
            };
            let cell = rows.get_mut(from as usize)?.get_mut(to as usize)?;
            if *cell > 0 {
                return None;
            }
            *cell = link.bandwidth.checked_div(quantum)?;
        }
        let traits = format_traits(first.latency_ns, first.abilities);
        Some(LinkMatrix { rows, quantum, traits })
    }

    /// Writes the matrix and its links, and says whether it did: lines that would be too long are not written.
    fn write(&self, text: &mut String, topology: &ImportedTopology) -> bool {
        let quantum = format_bandwidth(topology, self.quantum);
        if let Some(weight) = self.find_uniform_weight() {
            let bandwidth = format_bandwidth(topology, weight.saturating_mul(self.quantum));
            self.write_family(text, "a != b", &bandwidth);
            return true;
        }
        let mut rows = String::new();
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(u64::to_string).collect();
            let line = format!("        [{}],", cells.join(", "));
            if line.len() > LINE_COLUMNS {
                return false;
            }
            let _ = writeln!(rows, "{line}");
        }
        let _ = writeln!(text, "    let links = [\n{rows}    ];");
        let bandwidth = match topology.unit {
            BandwidthUnit::Relative => "links[a][b]".to_owned(),
            BandwidthUnit::BytesPerSecond => format!("links[a][b] * {quantum}"),
        };
        self.write_family(text, "links[a][b] > 0", &bandwidth);
        true
    }

    /// The weight of all links, if all ranks are joined to one another equally.
    fn find_uniform_weight(&self) -> Option<u64> {
        let weight = *self.rows.first()?.get(1)?;
        let is_uniform = self.rows.iter().enumerate().all(|(from, row)| {
            row.iter().enumerate().all(|(to, cell)| from == to || *cell == weight)
        });
        (is_uniform && weight > 0).then_some(weight)
    }

    fn write_family(&self, text: &mut String, condition: &str, bandwidth: &str) {
        let ranks = self.rows.len();
        let binders = format!("    link a in 0..{ranks}, b in 0..{ranks} if {condition}:");
        let ends = format!("a -> b, bandwidth = {bandwidth}{};", self.traits);
        let is_short = binders.len() + 1 + ends.len() <= LINE_COLUMNS;
        let between = if is_short { " " } else { "\n        " };
        let _ = writeln!(text, "{binders}{between}{ends}");
    }
}

/// The greatest common divisor.
fn divide_commonly(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::super::{
        BandwidthUnit, ChannelAbilities, ImportedLink, ImportedPort, ImportedSwitch,
        ImportedTopology, ImportedVertex, TopologyFormat,
    };
    use super::write_topology;

    const RANK: fn(u32) -> ImportedVertex = ImportedVertex::Rank;

    fn link(from: ImportedVertex, to: ImportedVertex, bandwidth: u64) -> ImportedLink {
        let abilities = ChannelAbilities::ALL;
        ImportedLink { from, to, bandwidth, latency_ns: 0, abilities }
    }

    fn relative(ranks: u32) -> ImportedTopology {
        let unit = BandwidthUnit::Relative;
        ImportedTopology { unit, ..ImportedTopology::new("m", TopologyFormat::MscclJson, ranks) }
    }

    #[test]
    fn a_complete_machine_is_one_line() {
        let mut topology = relative(4);
        for a in 0..4 {
            topology.links.extend((0..4).filter(|b| a != *b).map(|b| link(RANK(a), RANK(b), 5)));
        }
        let text = write_topology(&topology);
        let line = "    link a in 0..4, b in 0..4 if a != b: a -> b, bandwidth = 5;\n";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn few_links_are_lines_and_both_directions_one() {
        let mut topology = relative(3);
        topology.links = vec![
            link(RANK(0), RANK(1), 2),
            link(RANK(1), RANK(2), 3),
            link(RANK(1), RANK(0), 2),
            link(RANK(2), RANK(1), 4),
        ];
        let text = write_topology(&topology);
        let lines = "    link 0 <-> 1, bandwidth = 2;\n    link 1 -> 2, bandwidth = 3;\n    link 2 -> 1, bandwidth = 4;\n";
        assert!(text.contains(lines), "{text}");
    }

    #[test]
    fn ports_that_are_alike_share_a_clause() {
        let mut topology = relative(20);
        let even = (0..20).step_by(2).chain([19]);
        let ports = even.map(|rank| ImportedPort { vertex: RANK(rank), bandwidth: 1 });
        topology.switches.push(ImportedSwitch {
            name: "hub".to_owned(),
            label: Some("label".to_owned()),
            ports: ports.collect(),
            latency_ns: 1500,
            abilities: ChannelAbilities::PORT,
        });
        let text = write_topology(&topology);
        let switch = "    /// label\n    switch hub {\n        ports (r in [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]: r), bandwidth = 1;\n        ports (19), bandwidth = 1;\n        abilities = [port];\n        latency = 1.5us;\n    }\n";
        assert!(text.contains(switch), "{text}");
    }

    #[test]
    fn notes_are_wrapped() {
        let mut topology = relative(1);
        topology.add_note("word ".repeat(40));
        let text = write_topology(&topology);
        assert!(text.starts_with("/// One rank, imported from a topology of msccl-tools.\n///\n"));
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
        assert!(text.contains("\n///   word"), "{text}");
    }
}
