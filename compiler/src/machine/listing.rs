//! A machine as text: what `cclc topology show` prints.

use super::{EdgeEnds, Machine};
use crate::bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use synth::graph::{DirectedEdge, EdgeAbilities, RateUnit, Vertex};
use synth::rational::Rational;

/// Up to how many ranks there is a table of the links between them.
const MOST_COLUMNS: u32 = 32;

/// A rate as a text: with its unit, or a number of chunks per round.
#[must_use]
pub fn write_rate(rate: Rational, unit: RateUnit) -> String {
    let whole = rate.to_integer().and_then(|whole| i64::try_from(whole).ok());
    match (unit, whole) {
        (RateUnit::BytesPerSecond, Some(whole)) => bytes::rate_text(whole),
        (RateUnit::BytesPerSecond, None) => format!("{rate} bytes per second"),
        (RateUnit::ChunksPerRound, _) => rate.to_string(),
    }
}

/// Its size, its nodes, the links between ranks as a table, and its switches with their ports.
#[must_use]
pub fn write_listing(machine: &Machine) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = fill(machine, &mut text);
    text
}

fn fill(machine: &Machine, text: &mut String) -> std::fmt::Result {
    writeln!(text, "{}: {}", machine.name, machine.describe_size())?;
    if let Some(nodes) = &machine.nodes {
        for (node, ranks) in group(nodes) {
            writeln!(text, "  node {node}: ranks {}", shorten_ranks(&ranks))?;
        }
    }
    let domains = group(&machine.find_domains());
    for ranks in domains.values().filter(|ranks| ranks.len() > 1) {
        writeln!(text, "  memory joins the ranks {}", shorten_ranks(ranks))?;
    }
    fill_table(machine, text)?;
    fill_switches(machine, text)?;
    if let Some(ends) = machine.find_unreachable() {
        writeln!(text, "  no path leads from rank {} to rank {}", ends.from, ends.to)?;
    }
    Ok(())
}

/// The members of each group, by its number.
fn group(numbers: &[u32]) -> BTreeMap<u32, Vec<u32>> {
    let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (rank, number) in (0..).zip(numbers) {
        groups.entry(*number).or_default().push(rank);
    }
    groups
}

/// `0..8`, or `0, 2, 4`
fn shorten_ranks(ranks: &[u32]) -> String {
    match ranks {
        [first, .., last] if *last - *first + 1 == ranks.len() as u32 => {
            format!("{first}..={last}")
        }
        _ => ranks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// The rates of the links between two ranks, by their latencies.
type RatesByLatency = BTreeMap<u64, Rational>;

/// What joins ranks directly: a row for each rank, a column for each that it leads to. A latency that all links share
/// is said before it, others in its cells.
fn fill_table(machine: &Machine, text: &mut String) -> std::fmt::Result {
    let graph = &machine.graph;
    let mut links: BTreeMap<EdgeEnds, RatesByLatency> = BTreeMap::new();
    let direct =
        graph.edges().iter().filter(|edge| graph.is_rank(edge.from) && graph.is_rank(edge.to));
    for edge in direct {
        let rates = links.entry(EdgeEnds { from: edge.from, to: edge.to }).or_default();
        let rate = rates.entry(edge.latency_ns).or_insert(Rational::ZERO);
        *rate = rate.checked_add(edge.rate.amount).unwrap_or(*rate);
    }
    let latencies: BTreeSet<u64> = links.values().flat_map(BTreeMap::keys).copied().collect();
    let (Some(least), Some(most)) = (latencies.first(), latencies.last()) else { return Ok(()) };
    let ranks = graph.count_ranks();
    if least == most && *most > 0 {
        writeln!(text, "  each link between ranks takes {}", write_latency(*most))?;
    } else if ranks > MOST_COLUMNS && *most > 0 {
        let [least, most] = [*least, *most].map(write_latency);
        writeln!(text, "  links between ranks take {least} to {most}")?;
    }
    if ranks > MOST_COLUMNS {
        return writeln!(
            text,
            "  {} pairs of ranks are linked (a table has at most {MOST_COLUMNS} ranks)",
            links.len()
        );
    }
    let cell = |from: u32, to: u32| {
        let rates = links.get(&EdgeEnds { from: Vertex(from), to: Vertex(to) });
        rates.map_or_else(|| ".".to_owned(), |rates| write_cell(rates, graph.unit(), least != most))
    };
    let cells = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to)));
    let width = cells.map(|(from, to)| cell(from, to).len()).max().unwrap_or(1).max(3) + 1;
    write!(text, "  from\\to")?;
    (0..ranks).try_for_each(|to| write!(text, "{to:>width$}"))?;
    writeln!(text)?;
    for from in 0..ranks {
        write!(text, "  {from:>7}")?;
        (0..ranks).try_for_each(|to| write!(text, "{:>width$}", cell(from, to)))?;
        writeln!(text)?;
    }
    Ok(())
}

/// `50GBps`, or with latencies `50GBps,700ns+25GBps,2us`: a cell has no blanks.
fn write_cell(rates: &RatesByLatency, unit: RateUnit, with_latencies: bool) -> String {
    let link = |(latency, rate): (&u64, &Rational)| {
        let rate = write_rate(*rate, unit);
        if with_latencies && *latency > 0 {
            format!("{rate},{}", write_latency(*latency))
        } else {
            rate
        }
    };
    rates.iter().map(link).collect::<Vec<_>>().join("+")
}

/// A latency in nanoseconds as a text: `350ns`.
fn write_latency(latency_ns: u64) -> String {
    bytes::time_text(i64::try_from(latency_ns).unwrap_or(i64::MAX))
}

/// `nvswitch[0] (multicasts, reduces)`
pub(super) fn describe_switch(machine: &Machine, switch: Vertex) -> String {
    let index = switch.0.saturating_sub(machine.graph.count_ranks());
    let abilities = machine.graph.switches().get(index as usize).copied().unwrap_or_default();
    let mut words = Vec::new();
    words.extend(abilities.multicast.then_some("multicasts"));
    words.extend(abilities.reduce.then_some("reduces"));
    let words = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
    format!("{}{words}", machine.name_vertex(switch))
}

/// The switches with what leads from each, and with what ranks have to it if that is not said by it.
fn fill_switches(machine: &Machine, text: &mut String) -> std::fmt::Result {
    let graph = &machine.graph;
    let mut untold: BTreeMap<Vertex, Vec<&DirectedEdge>> = BTreeMap::new();
    for edge in graph.edges().iter().filter(|edge| graph.is_rank(edge.from)) {
        if !graph.is_rank(edge.to) && !is_told_by_reverse(machine, edge) {
            untold.entry(edge.to).or_default().push(edge);
        }
    }
    for switch in (graph.count_ranks()..graph.count_vertices() as u32).map(Vertex) {
        writeln!(text, "  {}", describe_switch(machine, switch))?;
        // Ports that are alike are one line.
        let mut ports: BTreeMap<String, Vec<Vertex>> = BTreeMap::new();
        for edge in machine.edges_from(switch) {
            ports.entry(describe_edge(edge)).or_default().push(edge.to);
        }
        for (what, vertices) in ports {
            writeln!(text, "    {what} to {}", list_vertices(machine, &vertices))?;
        }
        let mut ports: BTreeMap<String, Vec<Vertex>> = BTreeMap::new();
        for edge in untold.remove(&switch).unwrap_or_default() {
            ports.entry(describe_edge(edge)).or_default().push(edge.from);
        }
        for (what, vertices) in ports {
            writeln!(text, "    {what} from {}", list_vertices(machine, &vertices))?;
        }
    }
    Ok(())
}

/// Whether an edge takes no time and is otherwise like one in the other direction: then the line of that one is enough.
fn is_told_by_reverse(machine: &Machine, edge: &DirectedEdge) -> bool {
    edge.latency_ns == 0
        && machine.edges_from(edge.to).iter().any(|other| {
            other.to == edge.from && other.rate == edge.rate && other.abilities == edge.abilities
        })
}

/// `450GBps, 350ns, memory`
pub(super) fn describe_edge(edge: &DirectedEdge) -> String {
    let rate = write_rate(edge.rate.amount, edge.rate.unit);
    let latency = match edge.latency_ns {
        0 => String::new(),
        latency => format!(", {}", write_latency(latency)),
    };
    let EdgeAbilities { memory, port } = edge.abilities;
    let abilities = match (memory, port) {
        (true, true) => "",
        (true, false) => ", memory",
        (false, true) => ", port",
        (false, false) => ", nothing",
    };
    format!("{rate}{latency}{abilities}")
}

fn list_vertices(machine: &Machine, vertices: &[Vertex]) -> String {
    let is_rank = |vertex: &&Vertex| machine.graph.is_rank(**vertex);
    let ranks: Vec<u32> = vertices.iter().filter(is_rank).map(|vertex| vertex.0).collect();
    let mut parts = Vec::new();
    match ranks.as_slice() {
        [] => {}
        [only] => parts.push(format!("rank {only}")),
        _ => parts.push(format!("the ranks {}", shorten_ranks(&ranks))),
    }
    let switches = vertices.iter().filter(|vertex| !is_rank(vertex));
    parts.extend(switches.map(|switch| machine.name_vertex(*switch)));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{edge, machine};
    use super::write_listing;
    use synth::graph::{DirectedEdge, SwitchAbilities};

    fn list(ranks: u32, edges: &[DirectedEdge]) -> String {
        write_listing(&machine(ranks, SwitchAbilities::default(), edges))
    }

    #[test]
    fn a_latency_of_all_links_is_said_once() {
        let text = list(2, &[edge(0, 1, 50, 700), edge(1, 0, 25, 700)]);
        let lines = "  each link between ranks takes 700ns\n  from\\to      0      1\n        0      . 50GBps\n        1 25GBps      .\n";
        assert!(text.contains(lines), "{text}");
        let text = list(2, &[edge(0, 1, 50, 0), edge(1, 0, 25, 0)]);
        assert!(!text.contains("takes") && text.contains("        0      . 50GBps\n"), "{text}");
    }

    #[test]
    fn latencies_that_differ_are_in_the_cells() {
        let edges =
            [edge(0, 1, 50, 700), edge(0, 1, 25, 2_000), edge(1, 0, 25, 0), edge(1, 0, 5, 700)];
        let text = list(2, &edges);
        assert!(text.contains(" 50GBps,700ns+25GBps,2us\n"), "{text}");
        assert!(text.contains(" 25GBps+5GBps,700ns "), "{text}");
        assert!(!text.contains("takes"), "{text}");
    }

    #[test]
    fn links_of_many_ranks_have_a_range_of_latencies() {
        let mut edges: Vec<DirectedEdge> = (1..40).map(|rank| edge(0, rank, 50, 700)).collect();
        assert!(list(40, &edges).contains("  each link between ranks takes 700ns\n  39 pairs"));
        edges.push(edge(1, 0, 50, 1_500));
        assert!(list(40, &edges).contains("  links between ranks take 700ns to 1.5us\n  40 pairs"));
    }

    #[test]
    fn what_leads_to_a_switch_is_listed_if_it_differs_from_what_leads_back() {
        let alike = [edge(0, 2, 50, 0), edge(2, 0, 50, 350)];
        let text = list(2, &alike);
        assert!(text.contains("  s\n    50GBps, 350ns, memory to rank 0\n"), "{text}");
        assert!(!text.contains("memory from"), "{text}");
        let text = list(2, &[alike[0], alike[1], edge(1, 2, 50, 2_000), edge(2, 1, 50, 2_350)]);
        assert!(text.contains("    50GBps, 2us, memory from rank 1\n"), "{text}");
        assert!(!text.contains("memory from rank 0"), "{text}");
    }
}
