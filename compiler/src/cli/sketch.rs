//! `--forbid`, `--via`, `--max-hops` and `--relay`: constraints on the schedules that are looked for, or bounded.

use super::Failure;
use super::args::{Relay, SketchArgs};
use compiler::machine::Machine;
use std::collections::BTreeMap;
use synth::graph::{DirectedEdge, EdgeIndex, Vertex};
use synth::sketch;

/// How many pairs of nodes `--via` may be about.
const MOST_PASSAGES: usize = 1 << 12;

/// The constraints that the flags give.
pub(crate) fn read_sketch(args: &SketchArgs, machine: &Machine) -> Result<sketch::Sketch, Failure> {
    let mut forbidden = Vec::new();
    for link in &args.forbid {
        forbidden.extend(find_edges(machine, "--forbid", link)?);
    }
    let mut via = Vec::new();
    for link in &args.via {
        via.extend(find_edges(machine, "--via", link)?);
    }
    let passages = if via.is_empty() { Vec::new() } else { pair_nodes(machine, &via)? };
    for link in &args.via {
        require_between_nodes(machine, link)?;
    }
    let relay = match args.relay {
        Relay::None => sketch::Relay::Nothing,
        Relay::Ranks => sketch::Relay::Ranks,
    };
    Ok(sketch::Sketch { forbidden, passages, max_hops: args.max_hops, relay })
}

/// The flags as they were given; empty if there are none.
pub(crate) fn write_flags(args: &SketchArgs) -> String {
    let mut flags: Vec<String> = Vec::new();
    flags.extend(args.forbid.iter().map(|link| format!("--forbid '{link}'")));
    flags.extend(args.via.iter().map(|link| format!("--via '{link}'")));
    flags.extend(args.max_hops.map(|hops| format!("--max-hops {hops}")));
    if args.relay == Relay::None {
        flags.push("--relay none".to_owned());
    }
    flags.join(" ")
}

/// Links of `--via` lead out of nodes: a link of two ranks of one node would say nothing.
fn require_between_nodes(machine: &Machine, link: &str) -> Result<(), Failure> {
    let nodes = machine.nodes.as_deref().unwrap_or_default();
    let find_node = |edge: &EdgeIndex, ends: fn(&DirectedEdge) -> Vertex| {
        let edge = machine.graph.edges().get(edge.0 as usize)?;
        nodes.get(ends(edge).0 as usize)
    };
    let edges = find_edges(machine, "--via", link)?;
    let is_inside = edges.iter().any(|edge| {
        let [from, to] = [find_node(edge, |edge| edge.from), find_node(edge, |edge| edge.to)];
        from.is_some() && from == to
    });
    if is_inside {
        return Err(Failure::Usage(format!(
            "`--via {link}`: the link joins two ranks of one node, and `--via` names links between nodes"
        )));
    }
    Ok(())
}

/// A passage for each pair of nodes.
fn pair_nodes(machine: &Machine, via: &[EdgeIndex]) -> Result<Vec<sketch::Passage>, Failure> {
    let nodes = machine.nodes.as_ref().ok_or_else(|| {
        let name = &machine.name;
        Failure::Usage(format!("`--via`: `{name}` has no nodes between which links could lead"))
    })?;
    let mut ranks_of: BTreeMap<u32, Vec<Vertex>> = BTreeMap::new();
    for (rank, node) in (0..).zip(nodes) {
        ranks_of.entry(*node).or_default().push(Vertex(rank));
    }
    let count = ranks_of.len();
    if count * count.saturating_sub(1) > MOST_PASSAGES {
        return Err(Failure::Usage(format!(
            "`--via` is for at most {MOST_PASSAGES} pairs of nodes"
        )));
    }
    let mut passages = Vec::new();
    for (one, from) in &ranks_of {
        for (_, to) in ranks_of.iter().filter(|(other, _)| *other != one) {
            let (from, to) = (from.clone(), to.clone());
            passages.push(sketch::Passage { from, to, via: via.to_vec() });
        }
    }
    Ok(passages)
}

/// The edges of a link that is written as `0->1`, `0<->1` or `0->nvswitch[0]`.
fn find_edges(machine: &Machine, flag: &str, text: &str) -> Result<Vec<EdgeIndex>, Failure> {
    let (halves, both) = match text.split_once("<->") {
        Some(halves) => (Some(halves), true),
        None => (text.split_once("->"), false),
    };
    let malformed = || {
        Failure::Usage(format!(
            "`{flag} {text}`: expected a link, such as `0->1` or `0<->nvswitch[0]`"
        ))
    };
    let (from, to) = halves.ok_or_else(malformed)?;
    let unknown = |name: &str| {
        let (ranks, machine) = (machine.graph.count_ranks(), &machine.name);
        Failure::Usage(format!(
            "`{flag} {text}`: `{machine}` has the ranks 0 to {}, and no `{name}`",
            ranks - 1
        ))
    };
    let find = |name: &str| machine.find_vertex(name).ok_or_else(|| unknown(name.trim()));
    let (from, to) = (find(from)?, find(to)?);
    let edges = machine.graph.edges().iter().enumerate();
    let found: Vec<EdgeIndex> = edges
        .filter(|(_, edge)| {
            (edge.from == from && edge.to == to) || (both && edge.from == to && edge.to == from)
        })
        .map(|(index, _)| EdgeIndex(index as u32))
        .collect();
    if found.is_empty() {
        Err(Failure::Usage(format!("`{flag} {text}`: `{}` has no such link", machine.name)))
    } else {
        Ok(found)
    }
}
