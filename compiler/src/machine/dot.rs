//! A machine as a graph for Graphviz (<https://graphviz.org/doc/info/lang.html>).

use super::Machine;
use super::listing::describe_edge;
use std::collections::BTreeMap;
use synth::graph::{DirectedEdge, Vertex};

/// The graph: nodes of the machine are clusters, and links that lead both ways alike are one edge.
#[must_use]
pub fn write_dot(machine: &Machine) -> String {
    let mut lines =
        vec![format!("digraph {} {{", quote(&machine.name)), "  node [shape=circle];".to_owned()];
    let ranks = machine.graph.ranks().map(|rank| (node_of(machine, rank), rank));
    let mut groups: BTreeMap<Option<u32>, Vec<Vertex>> = BTreeMap::new();
    for (node, rank) in ranks {
        groups.entry(node).or_default().push(rank);
    }
    for (node, ranks) in groups {
        let names: Vec<String> = ranks.iter().map(|rank| format!("{};", rank.0)).collect();
        let names = names.join(" ");
        lines.push(match node {
            Some(node) => {
                format!("  subgraph cluster_{node} {{ label=\"node {node}\"; {names} }}")
            }
            None => format!("  {names}"),
        });
    }
    for (index, name) in machine.switches.iter().enumerate() {
        let switch = machine.graph.count_ranks() as usize + index;
        lines.push(format!("  {switch} [shape=box, label={}];", quote(name)));
    }
    let edges = machine.graph.edges();
    for edge in edges {
        let back = edges.iter().any(|other| is_same_backwards(edge, other));
        if back && edge.from > edge.to {
            continue;
        }
        let both = if back { ", dir=both" } else { "" };
        let label = quote(&describe_edge(edge));
        lines.push(format!("  {} -> {} [label={label}{both}];", edge.from, edge.to));
    }
    lines.push("}\n".to_owned());
    lines.join("\n")
}

fn node_of(machine: &Machine, rank: Vertex) -> Option<u32> {
    machine.nodes.as_ref()?.get(rank.0 as usize).copied()
}

/// Whether the other edge is this one backwards, but for its latency: what leaves a switch has passed it.
fn is_same_backwards(edge: &DirectedEdge, other: &DirectedEdge) -> bool {
    edge.from == other.to
        && edge.to == other.from
        && edge.rate == other.rate
        && edge.abilities == other.abilities
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
