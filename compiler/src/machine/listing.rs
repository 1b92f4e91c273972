//! A machine as text: what `cclc topology show` prints.

use super::{EdgeEnds, Machine};
use crate::bytes;
use std::collections::BTreeMap;
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

/// What joins ranks directly: a row for each rank, a column for each that it leads to.
fn fill_table(machine: &Machine, text: &mut String) -> std::fmt::Result {
    let graph = &machine.graph;
    let mut rates: BTreeMap<EdgeEnds, Rational> = BTreeMap::new();
    let direct =
        graph.edges().iter().filter(|edge| graph.is_rank(edge.from) && graph.is_rank(edge.to));
    for edge in direct {
        let rate = rates.entry(EdgeEnds { from: edge.from, to: edge.to }).or_insert(Rational::ZERO);
        *rate = rate.checked_add(edge.rate.amount).unwrap_or(*rate);
    }
    if rates.is_empty() {
        return Ok(());
    }
    let ranks = graph.count_ranks();
    if ranks > MOST_COLUMNS {
        return writeln!(
            text,
            "  {} pairs of ranks are linked (a table has at most {MOST_COLUMNS} ranks)",
            rates.len()
        );
    }
    let cell = |from: u32, to: u32| {
        let rate = rates.get(&EdgeEnds { from: Vertex(from), to: Vertex(to) });
        rate.map_or_else(|| ".".to_owned(), |rate| write_rate(*rate, graph.unit()))
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

fn fill_switches(machine: &Machine, text: &mut String) -> std::fmt::Result {
    let graph = &machine.graph;
    for (index, abilities) in graph.switches().iter().enumerate() {
        let switch = Vertex(graph.count_ranks() + index as u32);
        let mut words = Vec::new();
        words.extend(abilities.multicast.then_some("multicasts"));
        words.extend(abilities.reduce.then_some("reduces"));
        let words =
            if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
        writeln!(text, "  {}{words}", machine.name_vertex(switch))?;
        // Ports that are alike are one line.
        let mut ports: BTreeMap<String, Vec<Vertex>> = BTreeMap::new();
        for edge in machine.edges_from(switch) {
            ports.entry(describe_edge(edge)).or_default().push(edge.to);
        }
        for (what, vertices) in ports {
            writeln!(text, "    {what} to {}", list_vertices(machine, &vertices))?;
        }
    }
    Ok(())
}

/// `450GBps, 350ns, memory`
pub(super) fn describe_edge(edge: &DirectedEdge) -> String {
    let rate = write_rate(edge.rate.amount, edge.rate.unit);
    let latency = match i64::try_from(edge.latency_ns) {
        Ok(0) | Err(_) => String::new(),
        Ok(latency) => format!(", {}", bytes::time_text(latency)),
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
