//! A machine as a graph for Graphviz (<https://graphviz.org/doc/info/lang.html>).

use super::Machine;
use super::listing::{describe_edge, describe_switch};
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
    for index in 0..machine.graph.switches().len() as u32 {
        let switch = Vertex(machine.graph.count_ranks() + index);
        let label = quote(&describe_switch(machine, switch));
        lines.push(format!("  {switch} [shape=box, label={label}];"));
    }
    for edge in machine.graph.edges() {
        let mut others = machine.edges_from(edge.to).iter();
        let back = others.any(|other| is_same_backwards(edge, other));
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

/// Whether the other edge is this one backwards, so that one label says everything of both. What leaves a switch has
/// passed it, so that ports of a switch that takes time are two edges.
fn is_same_backwards(edge: &DirectedEdge, other: &DirectedEdge) -> bool {
    edge.from == other.to
        && edge.to == other.from
        && edge.rate == other.rate
        && edge.latency_ns == other.latency_ns
        && edge.abilities == other.abilities
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{edge, machine};
    use super::write_dot;
    use synth::graph::SwitchAbilities;

    #[test]
    fn each_direction_has_its_own_label_where_they_differ() {
        let abilities = SwitchAbilities { multicast: true, reduce: true };
        let edges = [
            edge(0, 1, 50, 700),
            edge(1, 0, 50, 700),
            edge(0, 2, 50, 0),
            edge(2, 0, 50, 350),
            edge(1, 2, 25, 0),
        ];
        let lines = [
            "  2 [shape=box, label=\"s (multicasts, reduces)\"];",
            "  0 -> 1 [label=\"50GBps, 700ns, memory\", dir=both];",
            "  0 -> 2 [label=\"50GBps, memory\"];",
            "  1 -> 2 [label=\"25GBps, memory\"];",
            "  2 -> 0 [label=\"50GBps, 350ns, memory\"];",
            "}",
        ];
        let text = write_dot(&machine(2, abilities, &edges));
        assert!(text.ends_with(&format!("{}\n", lines.join("\n"))), "{text}");
    }

    #[test]
    fn a_link_that_is_slower_back_is_two_edges() {
        let edges = [edge(0, 1, 50, 700), edge(1, 0, 50, 900)];
        let text = write_dot(&machine(2, SwitchAbilities::default(), &edges));
        assert!(text.contains("  2 [shape=box, label=\"s\"];\n"), "{text}");
        assert!(text.contains("0 -> 1 [label=\"50GBps, 700ns, memory\"];\n"), "{text}");
        assert!(text.contains("1 -> 0 [label=\"50GBps, 900ns, memory\"];\n"), "{text}");
    }
}
