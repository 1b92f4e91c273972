//! What is wrong with topologies and machines, in words.

use super::{Draft, DraftEdge};
use crate::diagnostic::{Code, Diagnostic};
use crate::machine::Machine;
use crate::resolve::program::CountWord;
use crate::source::Span;
use std::collections::BTreeMap;
use synth::graph::{self, MAX_EDGES, MAX_VERTICES, RateUnit, TopologyError};

pub(super) fn wrong_rank_count(machine: &Machine, ranks: i64, place: Span) -> Option<Diagnostic> {
    let has = i64::from(machine.graph.count_ranks());
    (has != ranks).then(|| {
        let message = format!("the program has {}, and `{}` has {has}", count_ranks(ranks), machine.name);
        Diagnostic::new(Code::E1110, place, message)
            .and(machine.declared, "the topology is declared here")
            .help(format!("set `-D ranks={has}`, give the topology other arguments, or name the ranks that are used: `on [..]`"))
    })
}

fn count_ranks(ranks: i64) -> String {
    if ranks == 1 { "1 rank".to_owned() } else { format!("{ranks} ranks") }
}

/// Whether two ranks are on one node has the same answer in the program and on the machine.
pub(super) fn wrong_nodes(machine: &Machine, width: i64, place: Span) -> Option<Diagnostic> {
    let nodes = machine.nodes.as_ref()?;
    let width = u32::try_from(width).ok()?.max(1);
    let groups: Vec<u32> = (0..nodes.len() as u32).map(|rank| rank / width).collect();
    let differing = find_differing(&groups, nodes)?;
    let message = format!(
        "nodes of {width} ranks are not those of `{}`: it has the ranks {} and {} on {}",
        machine.name,
        differing.first,
        differing.second,
        if differing.joined { "one node" } else { "different nodes" },
    );
    Some(
        Diagnostic::new(Code::E1110, place, message)
            .help("set `-D ranks_per_node=..` to the topology's"),
    )
}

/// Domains are what memory joins, through other ranks, too.
pub(super) fn wrong_domains(machine: &Machine, width: u32, place: Span) -> Option<Diagnostic> {
    let domains = machine.find_domains();
    let groups: Vec<u32> = (0..domains.len() as u32).map(|rank| rank / width.max(1)).collect();
    let differing = find_differing(&groups, &domains)?;
    let message = format!(
        "domains of {width} ranks are not those of `{}`: {} joins the memory of the ranks {} and {} there",
        machine.name,
        if differing.joined { "a link" } else { "no link" },
        differing.first,
        differing.second,
    );
    Some(
        Diagnostic::new(Code::E1110, place, message)
            .help("leave out `ranks_per_domain`: the topology says how far memory reaches"),
    )
}

/// Two ranks about which two groupings differ.
struct Differing {
    first: usize,
    second: usize,
    /// Whether the second grouping has them in one group.
    joined: bool,
}

/// Each rank is compared with the first one of its group in either grouping.
fn find_differing(groups: &[u32], others: &[u32]) -> Option<Differing> {
    let mut first_of: BTreeMap<u32, usize> = BTreeMap::new();
    let mut other_first_of: BTreeMap<u32, usize> = BTreeMap::new();
    for (rank, (group, other)) in groups.iter().zip(others).enumerate() {
        let first = *first_of.entry(*group).or_insert(rank);
        let second = *other_first_of.entry(*other).or_insert(rank);
        if first != second {
            // The earlier one of the two is in one group with this rank in one grouping only.
            let joined = second < first;
            return Some(Differing { first: first.min(second), second: rank, joined });
        }
    }
    None
}

pub(super) fn bad_count(span: Span, count: i64, word: CountWord) -> Diagnostic {
    let what = if word == CountWord::Ranks { "a topology" } else { "a node" };
    let message = format!("{what} has 1 to {MAX_VERTICES} ranks, not {count}");
    Diagnostic::new(Code::E1104, span, message)
}

pub(super) fn too_many_vertices(span: Span) -> Diagnostic {
    let message = format!("a topology has at most {MAX_VERTICES} ranks and switches");
    Diagnostic::new(Code::E1105, span, message)
}

pub(super) fn too_many_links(span: Span) -> Diagnostic {
    let message = format!("a topology has at most {MAX_EDGES} links, each direction counted");
    Diagnostic::new(Code::E1105, span, message)
        .help("join many ranks by a switch: it has two for each of its ports")
}

pub(super) fn no_such_rank(span: Span, rank: i64, draft: &Draft) -> Diagnostic {
    let message = match draft.ranks() {
        1 => format!("{rank} is not a rank of the topology, which has rank 0 only"),
        ranks => {
            format!("{rank} is not a rank of the topology: it has the ranks 0 to {}", ranks - 1)
        }
    };
    Diagnostic::new(Code::E1102, span, message)
}

pub(super) fn no_such_switch(span: Span, name: &str, declared: Span) -> Diagnostic {
    Diagnostic::new(Code::E1102, span, format!("there is no switch `{name}`"))
        .and(declared, "declared here")
}

pub(super) fn self_loop(span: Span, vertex: graph::Vertex, draft: &Draft) -> Diagnostic {
    let name = match vertex.0.checked_sub(draft.ranks() as u32) {
        None => format!("rank {vertex}"),
        Some(switch) => draft.names.get(switch as usize).cloned().unwrap_or_default(),
    };
    Diagnostic::new(Code::E1102, span, format!("this leads from {name} to itself"))
        .help("leave it out with a condition: `link a in 0..n, b in 0..n if a != b: a -> b, ..`")
}

pub(super) fn no_rate(span: Span, amount: i64, unit: RateUnit) -> Diagnostic {
    let text = match unit {
        RateUnit::BytesPerSecond => crate::bytes::rate_text(amount),
        RateUnit::ChunksPerRound => amount.to_string(),
    };
    Diagnostic::new(Code::E1103, span, format!("a bandwidth is above zero, and this is {text}"))
        .help("leave out links that carry nothing with a condition: `link a in 0..n if ..: ..`")
}

/// Abilities without `memory` and `port`.
pub(super) fn unusable_link(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E1101, span, "no channel can use what has neither `memory` nor `port`")
        .help("say which can: `abilities = [memory]`; without `abilities` both can")
}

pub(super) fn no_such_link(span: Span, draft: &Draft) -> Diagnostic {
    let message = format!("`{}` has no such link", draft.topology.name);
    Diagnostic::new(Code::E1111, span, message).note(
        "a link is named by the two vertices that it joins, a port by its vertex and its switch",
    )
}

/// What makes no graph of edges that are each in order.
pub(super) fn wrong_graph(
    error: &TopologyError,
    edges: &[DraftEdge],
    topology: Span,
) -> Diagnostic {
    let TopologyError::RatesOverflow { edge } = error else {
        return Diagnostic::new(Code::E1105, topology, error.to_string());
    };
    let place = edges.get(*edge).map_or(topology, |row| row.bandwidth);
    let message = "this bandwidth and the others are too far apart to calculate with them exactly";
    Diagnostic::new(Code::E1103, place, message).note(
        "all bandwidths together, in units of their greatest common divisor, times the number of ranks, must be below 2^62",
    )
}
