//! `--forbid`, `--via`, `--max-hops` and `--relay`: constraints on the schedules that bounds are about.

use crate::cli::Failure;
use crate::cli::args::{Bound, Relay};
use compiler::machine::Machine;
use std::collections::BTreeMap;
use synth::graph::{EdgeIndex, Vertex};
use synth::sketch;

/// How many pairs of nodes `--via` may be about.
const MOST_PASSAGES: usize = 1 << 12;

/// The constraints that the flags give.
pub(super) fn read_sketch(bound: &Bound, machine: &Machine) -> Result<sketch::Sketch, Failure> {
    let mut forbidden = Vec::new();
    for link in &bound.forbid {
        forbidden.extend(find_edges(machine, "--forbid", link)?);
    }
    let mut via = Vec::new();
    for link in &bound.via {
        via.extend(find_edges(machine, "--via", link)?);
    }
    let passages = if via.is_empty() { Vec::new() } else { pair_nodes(machine, &via)? };
    let relay = match bound.relay {
        Relay::None => sketch::Relay::Nothing,
        Relay::Ranks => sketch::Relay::Ranks,
    };
    Ok(sketch::Sketch { forbidden, passages, max_hops: bound.max_hops, relay })
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
