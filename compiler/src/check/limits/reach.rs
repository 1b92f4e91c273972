//! Channels that lead out of the domain within which ranks reach each other's memory.
//!
//! In: a program, and what maps the memory of other ranks. Out: a warning (W0801) for each declaration of channels over
//! mapped memory of which a member leads from one domain to another: memory channels, and switch channels over ranks of
//! several domains. A domain is a node, unless the program says how far it reaches (`ranks_per_domain`). Ports reach
//! every rank.

use super::findings::{Findings, Group, Site};
use super::terms::Terms;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;

/// What maps the memory of other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// MSCCL++'s executor.
    Executor,
    /// NVSHMEM, for kernels.
    Nvshmem,
    /// MSCCL++'s communicator, for kernels: there, ports are mapped memory, too.
    Communicator,
}

/// The warnings about a program's channels.
pub(super) fn program(findings: &mut Findings<'_>, mapping: Mapping) {
    let program = findings.program;
    for (id, rank) in program.ranks.entries() {
        for channel in &rank.channels {
            let Some(other) = beyond(program, id, channel) else { continue };
            let site = Site { rank: id, block: None, origin: channel.origin };
            let rule = (Code::W0801, "channel", group(findings.terms));
            let terms = findings.terms;
            findings.add(rule, site, 0, || leaves(program, (id, other), channel, (mapping, terms)));
        }
    }
}

/// Channels of one declaration are one finding; a plan declares none, and all of its channels are.
fn group(terms: Terms) -> Group {
    match terms {
        Terms::Source => Group::Place,
        Terms::Plan => Group::Program,
    }
}

/// A rank of another domain to which a channel leads over mapped memory.
fn beyond(program: &ir::Program, id: ir::RankId, channel: &ir::Channel) -> Option<ir::RankId> {
    let domain = |rank: ir::RankId| rank.0 / program.ranks_per_domain.max(1);
    let is_other = |rank: &ir::RankId| domain(*rank) != domain(id);
    match &channel.link {
        ir::Link::Memory(peer) => Some(*peer).filter(is_other),
        ir::Link::Switch(group) => group.ranks.iter().copied().find(is_other),
        ir::Link::Port(_) => None,
    }
}

fn leaves(
    program: &ir::Program,
    (from, to): (ir::RankId, ir::RankId),
    channel: &ir::Channel,
    (mapping, terms): (Mapping, Terms),
) -> Diagnostic {
    let is_node = program.ranks_per_domain == program.ranks_per_node;
    let word = if is_node { "node" } else { "domain" };
    let located = |rank: ir::RankId| {
        format!("rank {} on {word} {}", rank.0, rank.0 / program.ranks_per_domain.max(1))
    };
    let (from, to) = (located(from), located(to));
    let message = match channel.kind() {
        ir::ChannelKind::Switch => {
            format!("this switch channel joins ranks of several {word}s: {from} and {to}")
        }
        ir::ChannelKind::Memory | ir::ChannelKind::Port => {
            format!("this memory channel leaves its {word}: it leads from {from} to {to}")
        }
    };
    let report = Diagnostic::without_place(Code::W0801, message).note(why(mapping));
    let report = match (mapping, channel.kind()) {
        (Mapping::Communicator, _) => {
            report.help("build a plan or kernels for NVSHMEM, whose ports reach other nodes")
        }
        (_, ir::ChannelKind::Switch) => {
            report.help(format!("use a switch within each {word}, and ports between the {word}s"))
        }
        (_, ir::ChannelKind::Memory | ir::ChannelKind::Port) => {
            report.help(format!("lead to other {word}s over ports: `port(..)`"))
        }
    };
    report.help(match terms {
        Terms::Source => "or, if NVLink connects ranks of several nodes, say how many: with a parameter such as `ranks_per_domain: int = ranks`",
        Terms::Plan => "or, if NVLink connects ranks of several nodes, say how many: `--ranks-per-domain`",
    })
}

fn why(mapping: Mapping) -> &'static str {
    match mapping {
        Mapping::Executor => {
            "MSCCL++'s executor maps the memory behind it when it sets up channels, and fails there unless NVLink connects the two ranks"
        }
        Mapping::Nvshmem => {
            "kernels store to the other rank's memory directly, and cannot be set up unless NVLink connects the two ranks"
        }
        Mapping::Communicator => {
            "a native algorithm maps the memory of other ranks whatever the kind of channel, and fails there unless NVLink connects the two ranks"
        }
    }
}
