//! Reads a topology of msccl-tools: `{"name": .., "links": [[..]], "switches": [[sources, destinations, bandwidth, name]]}`,
//! alone or as the `topology` of an algorithm, with or without the `msccl_type` that `msccl/serialization.py` adds.
//!
//! What it means is what `msccl/topologies/topology.py` (<https://github.com/microsoft/msccl-tools>) makes of it:
//! `links[to][from]` is how many chunks go from a rank to another one in a round, 0 for no link. A switch has no links
//! of its own: all links from its sources to its destinations carry together at most its bandwidth
//! ([`super::shared_limits`]).

use super::shared_limits::{LimitedLink, SharedLimit, build_limited};
use super::{
    BandwidthUnit, ChannelAbilities, ImportError, ImportedLink, ImportedTopology, ImportedVertex,
    TextPlace, TopologyFormat, clamp_count, format_count, print_name, too_many_vertices,
};
use serde::Deserialize;
use synth::graph::{MAX_EDGES, MAX_VERTICES};

/// The largest bandwidth, in chunks per round: sums of all links stay far from what exact arithmetic can hold.
const MAX_BANDWIDTH: f64 = 4_294_967_296.0;

#[derive(Deserialize)]
struct MscclDocument {
    name: Option<String>,
    links: Option<Vec<Vec<f64>>>,
    #[serde(default)]
    switches: Vec<MscclSwitch>,
    /// An algorithm has its topology here.
    topology: Option<Box<MscclDocument>>,
}

/// A switch, which is a list of these in this order.
#[derive(Deserialize)]
struct MscclSwitch {
    sources: Vec<u32>,
    destinations: Vec<u32>,
    bandwidth: f64,
    name: String,
}

/// The machine of a document.
///
/// # Errors
/// The text is no JSON or no such document; links are no square; a bandwidth is negative, no whole number or, for a switch,
/// zero; a switch names a rank that there is not, or limits links in a way that switches of ours cannot express; or the
/// machine is too large.
pub(super) fn read_msccl_json(text: &str, name: &str) -> Result<ImportedTopology, ImportError> {
    let document: MscclDocument =
        serde_json::from_str(text).map_err(|error| no_document(&error))?;
    let (document, inner) = match document.topology {
        Some(topology) if document.links.is_none() => (*topology, Some("topology")),
        Some(_) | None => (document, None),
    };
    let reader = MscclReader { text, inner };
    let rows = document.links.as_deref().ok_or_else(|| {
        let help =
            "give what `save_msccl_object` of msccl-tools writes for a topology or an algorithm";
        ImportError::new(TextPlace::START, "there are no `links`", help)
    })?;
    let links = reader.collect_links(rows)?;
    let limits = reader.collect_limits(&document.switches, rows.len())?;
    let ranks = clamp_count(rows.len());
    let mut topology = ImportedTopology::new(name, TopologyFormat::MscclJson, ranks);
    topology.unit = BandwidthUnit::Relative;
    if let Some(given) = &document.name {
        topology.add_note(format!("It is called `{}` there.", print_name(given)));
    }
    topology.add_note(
        "Bandwidths are chunks per round: only their ratios mean something. All channels can use all \
         links, and there are no latencies and nodes, of which msccl-tools knows nothing.",
    );
    if limits.is_empty() {
        for link in &links {
            topology.add_link(
                ImportedLink {
                    from: ImportedVertex::Rank(link.from),
                    to: ImportedVertex::Rank(link.to),
                    bandwidth: link.bandwidth,
                    latency_ns: 0,
                    abilities: ChannelAbilities::ALL,
                },
                TextPlace::START,
            )?;
        }
    } else {
        let find_place =
            |switch| reader.find_place(&[PathStep::Key("switches"), PathStep::Index(switch)]);
        build_limited(&mut topology, &links, &limits, find_place)?;
    }
    topology.check_size(TextPlace::START)?;
    Ok(topology)
}

fn no_document(error: &serde_json::Error) -> ImportError {
    let place = TextPlace {
        line: clamp_count(error.line().max(1)),
        column: clamp_count(error.column().max(1)),
    };
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or_default();
    let help = if error.is_data() {
        "`links` is a list of rows of numbers; a switch is `[sources, destinations, bandwidth, name]`"
    } else {
        "give a whole file of JSON"
    };
    ImportError::new(place, print_message(message), help)
}

/// What `serde_json` says repeats what is in the text.
fn print_message(message: &str) -> String {
    message
        .chars()
        .map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' })
        .take(200)
        .collect()
}

/// A step on the way to a value.
#[derive(Clone, Copy)]
enum PathStep<'p> {
    Key(&'p str),
    Index(usize),
}

struct MscclReader<'t> {
    text: &'t str,
    /// The key below which the topology is.
    inner: Option<&'static str>,
}

impl MscclReader<'_> {
    fn find_place(&self, path: &[PathStep]) -> TextPlace {
        let outer = self.inner.map(PathStep::Key);
        let steps: Vec<PathStep> = outer.into_iter().chain(path.iter().copied()).collect();
        TextPlace::find(self.text, find_json_value(self.text, &steps))
    }

    fn fail_at_link(
        &self,
        to: usize,
        from: usize,
        message: impl Into<String>,
        help: &str,
    ) -> ImportError {
        let path = [PathStep::Key("links"), PathStep::Index(to), PathStep::Index(from)];
        ImportError::new(self.find_place(&path), message, help)
    }

    /// The links with a bandwidth, by their sources.
    fn collect_links(&self, rows: &[Vec<f64>]) -> Result<Vec<LimitedLink>, ImportError> {
        if rows.is_empty() {
            let place = self.find_place(&[PathStep::Key("links")]);
            return Err(ImportError::new(place, "there are no ranks", "give a row for each rank"));
        }
        if rows.len() > MAX_VERTICES {
            return Err(too_many_vertices(self.find_place(&[PathStep::Key("links")])));
        }
        let mut links = Vec::new();
        for (to, row) in rows.iter().enumerate() {
            if row.len() != rows.len() {
                let entries = format_count(row.len(), "entry", "entries");
                let message = format!("row {to} has {entries} instead of {}", rows.len());
                let place = self.find_place(&[PathStep::Key("links"), PathStep::Index(to)]);
                let help = "`links[to][from]` has a row and a column for each rank";
                return Err(ImportError::new(place, message, help));
            }
            for (from, given) in row.iter().enumerate().filter(|(_, given)| **given != 0.0) {
                let bandwidth = read_bandwidth(*given).ok_or_else(|| {
                    let message = format!("{given} is no bandwidth");
                    self.fail_at_link(to, from, message, HELP_BANDWIDTH)
                })?;
                if from == to {
                    let message = format!("rank {to} has a link to itself");
                    return Err(self.fail_at_link(to, from, message, "set it to 0"));
                }
                let (from, to) = (clamp_count(from), clamp_count(to));
                links.push(LimitedLink { from, to, bandwidth });
            }
            if links.len() > MAX_EDGES {
                return Err(super::too_many_links(self.find_place(&[PathStep::Key("links")])));
            }
        }
        links.sort_by_key(|link| (link.from, link.to));
        Ok(links)
    }

    fn collect_limits(
        &self,
        switches: &[MscclSwitch],
        ranks: usize,
    ) -> Result<Vec<SharedLimit>, ImportError> {
        let mut limits = Vec::new();
        for (index, switch) in switches.iter().enumerate() {
            let MscclSwitch { sources, destinations, bandwidth: given, name } = switch;
            let fail = |step: usize, message: String, help: &str| {
                let path =
                    [PathStep::Key("switches"), PathStep::Index(index), PathStep::Index(step)];
                ImportError::new(self.find_place(&path), message, help)
            };
            for (step, ends) in [sources, destinations].into_iter().enumerate() {
                if let Some(rank) = ends.iter().find(|rank| **rank as usize >= ranks) {
                    let message =
                        format!("the switch `{}` names rank {rank} of {ranks}", print_name(name));
                    return Err(fail(step, message, "ranks are numbered from 0"));
                }
            }
            let bandwidth = read_bandwidth(*given).ok_or_else(|| {
                let message =
                    format!("the switch `{}` has the bandwidth {given}", print_name(name));
                fail(2, message, HELP_BANDWIDTH)
            })?;
            let (sources, destinations) = (sort_ranks(sources), sort_ranks(destinations));
            let name = print_name(name);
            limits.push(SharedLimit { index, name, sources, destinations, bandwidth });
        }
        Ok(limits)
    }
}

/// Ranks in order, each once.
fn sort_ranks(ranks: &[u32]) -> Vec<u32> {
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

const HELP_BANDWIDTH: &str =
    "give whole numbers above zero: multiply all bandwidths by the same number if some are not";

/// A whole number above zero.
fn read_bandwidth(given: f64) -> Option<u64> {
    let is_whole = given.fract() == 0.0 && given > 0.0 && given <= MAX_BANDWIDTH;
    is_whole.then_some(given as u64)
}

/// Where the value begins to which steps lead, in bytes, in a text that is JSON; the value before it if there is no such
/// step.
fn find_json_value(text: &str, path: &[PathStep]) -> usize {
    let mut at = skip_json_blanks(text, 0);
    for step in path {
        let next = match step {
            PathStep::Key(key) => find_json_member(text, at, key),
            PathStep::Index(index) => find_json_item(text, at, *index),
        };
        let Some(next) = next else { break };
        at = next;
    }
    at
}

fn find_json_byte(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at).copied()
}

fn skip_json_blanks(text: &str, mut at: usize) -> usize {
    while find_json_byte(text, at).is_some_and(|byte| byte.is_ascii_whitespace()) {
        at += 1;
    }
    at
}

/// Where the text goes on behind a string that begins here.
fn skip_json_string(text: &str, mut at: usize) -> usize {
    at += 1;
    while let Some(byte) = find_json_byte(text, at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

/// Where the text goes on behind a value that begins here: at a comma or a bracket that is not in it.
fn skip_json_value(text: &str, mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(byte) = find_json_byte(text, at) {
        match byte {
            b'"' => {
                at = skip_json_string(text, at);
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' | b',' if depth == 0 => return at,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    at
}

/// Where the value of a key begins, in the object that begins here. The last one counts, as for `serde_json`.
fn find_json_member(text: &str, at: usize, key: &str) -> Option<usize> {
    let mut at = skip_json_blanks(text, at);
    if find_json_byte(text, at) != Some(b'{') {
        return None;
    }
    let mut found = None;
    loop {
        at = skip_json_blanks(text, at + 1);
        if find_json_byte(text, at) != Some(b'"') {
            return found;
        }
        let end = skip_json_string(text, at);
        let name = text.get(at + 1..end - 1);
        at = skip_json_blanks(text, end);
        let value = skip_json_blanks(text, at + 1);
        if name == Some(key) {
            found = Some(value);
        }
        at = skip_json_value(text, value);
        if find_json_byte(text, at) != Some(b',') {
            return found;
        }
    }
}

/// Where an item begins, in the list that begins here.
fn find_json_item(text: &str, at: usize, index: usize) -> Option<usize> {
    if find_json_byte(text, at) != Some(b'[') {
        return None;
    }
    let mut at = skip_json_blanks(text, at + 1);
    for _ in 0..index {
        at = skip_json_value(text, at);
        if find_json_byte(text, at) != Some(b',') {
            return None;
        }
        at = skip_json_blanks(text, at + 1);
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::super::{BandwidthUnit, ImportError};
    use super::{PathStep, find_json_value, read_msccl_json};

    fn fail(text: &str) -> ImportError {
        read_msccl_json(text, "m").unwrap_err()
    }

    #[test]
    fn links_are_indexed_by_destination_and_source() {
        let topology = read_msccl_json(r#"{"links": [[0, 3], [0, 0]]}"#, "m").unwrap();
        let [link] = topology.links.as_slice() else { panic!("{:?}", topology.links) };
        assert_eq!(topology.unit, BandwidthUnit::Relative);
        assert_eq!(
            format!("{:?} {:?} {}", link.from, link.to, link.bandwidth),
            "Rank(1) Rank(0) 3"
        );
    }

    #[test]
    fn the_topology_of_an_algorithm_is_read() {
        let text = r#"{"msccl_type": "algorithm", "name": "a", "steps": [], "topology":
            {"msccl_type": "topology", "name": "t", "switches": [], "links": [[0, 1], [1, 0]]}}"#;
        assert_eq!(read_msccl_json(text, "m").unwrap().links.len(), 2);
        let error = fail(&text.replace("[1, 0]", "[1, -1]"));
        assert_eq!((error.line, error.message.as_str()), (2, "-1 is no bandwidth"));
    }

    #[test]
    fn mistakes_have_places() {
        let cases = [
            ("{\"links\": [[0, 1],\n [1]]}", 2, 2, "row 1 has 1 entry instead of 2"),
            ("{\"links\": [[0, 0.5],\n [1, 0]]}", 1, 16, "0.5 is no bandwidth"),
            ("{\"links\": [[1]]}", 1, 13, "rank 0 has a link to itself"),
            ("{\"links\": []}", 1, 11, "there are no ranks"),
            ("{\"name\": \"x\"}", 1, 1, "there are no `links`"),
            (
                "{\"links\": [[0]], \"switches\": [[[0], [1], 1, \"s\"]]}",
                1,
                37,
                "the switch `s` names rank 1 of 1",
            ),
            (
                "{\"links\": [[0]], \"switches\": [[[0], [0], 0, \"s\"]]}",
                1,
                42,
                "the switch `s` has the bandwidth 0",
            ),
        ];
        for (text, line, column, message) in cases {
            let error = fail(text);
            assert_eq!((error.line, error.column, error.message.as_str()), (line, column, message));
        }
        assert_eq!(fail("{\"links\": [[0,").message, "EOF while parsing a value");
        assert_eq!(fail(&"[".repeat(100_000)).line, 1);
        assert_eq!(
            fail(&format!("{{\"x\": {}", "[".repeat(100_000))).message,
            "EOF while parsing a list"
        );
    }

    #[test]
    fn values_are_found_by_their_paths() {
        let text = r#"{"a\"": [1], "b": [{"c": "],"}, [2, 3]]}"#;
        let path = [PathStep::Key("b"), PathStep::Index(1), PathStep::Index(1)];
        assert_eq!(&text[find_json_value(text, &path)..][..1], "3");
        assert_eq!(find_json_value("", &path), 0);
    }
}
