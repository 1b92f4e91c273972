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
use synth::graph::Vertex;

/// What maps the memory of other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Why it has no way to some ranks, for reports.
    pub why: &'static str,
    /// Whether there are ports beside it, which reach every rank.
    pub has_ports: bool,
}

impl Mapping {
    /// MSCCL++'s executor.
    pub const EXECUTOR: Mapping = Mapping {
        why: "MSCCL++'s executor maps the memory behind it when it sets up channels, and fails there unless NVLink connects the two ranks",
        has_ports: true,
    };
}

/// A channel that leads from one domain to another.
#[derive(Clone, Copy)]
struct Leaving<'p> {
    program: &'p ir::Program,
    channel: &'p ir::Channel,
    from: ir::RankId,
    to: ir::RankId,
}

/// The warnings about a program's channels.
pub(super) fn program(findings: &mut Findings<'_>, mapping: Mapping) {
    let (program, terms) = (findings.program, findings.terms);
    // Channels of one declaration are one finding; a plan has no declarations, and all of its channels are.
    let group = match terms {
        Terms::Source => Group::Place,
        Terms::Plan => Group::Program,
    };
    for (from, rank) in program.ranks.entries() {
        for channel in &rank.channels {
            let Some(to) = beyond(program, from, channel) else { continue };
            let site = Site { rank: from, block: None, origin: channel.origin };
            let leaving = Leaving { program, channel, from, to };
            findings.add((Code::W0801, "channel", group), site, 0, || {
                let report = leaving.report(mapping);
                if program.machine.is_some() { report } else { report.help(leaving.way_out(terms)) }
            });
        }
    }
}

/// A rank of another domain to which a channel leads over mapped memory.
fn beyond(program: &ir::Program, from: ir::RankId, channel: &ir::Channel) -> Option<ir::RankId> {
    // A machine says itself how far memory reaches. What its author's channels need is an error of its own; ports that
    // kernels replace by mapped memory are left.
    if let Some(machine) = &program.machine {
        let is_apart = |peer: &ir::RankId| !machine.joins_in_memory(Vertex(from.0), Vertex(peer.0));
        return if let ir::Link::Memory(peer) = &channel.link {
            Some(*peer).filter(is_apart)
        } else {
            None
        };
    }
    let domain = |rank: ir::RankId| rank.0 / program.ranks_per_domain.max(1);
    let is_other = |rank: &ir::RankId| domain(*rank) != domain(from);
    match &channel.link {
        ir::Link::Memory(peer) => Some(*peer).filter(is_other),
        ir::Link::Switch(group) => group.ranks.iter().copied().find(is_other),
        ir::Link::Port(_) => None,
    }
}

impl Leaving<'_> {
    /// What ranks that reach each other's memory are called.
    fn domain(self) -> &'static str {
        let is_node = self.program.ranks_per_domain == self.program.ranks_per_node;
        if is_node { "node" } else { "domain" }
    }

    fn report(self, mapping: Mapping) -> Diagnostic {
        if let Some(machine) = &self.program.machine {
            let message = format!(
                "this channel leads from rank {} to rank {}, whose memory it cannot reach on `{}`",
                self.from.0, self.to.0, machine.name
            );
            return Diagnostic::without_place(Code::W0801, message).note(mapping.why);
        }
        let word = self.domain();
        let located = |rank: ir::RankId| {
            let number = rank.0 / self.program.ranks_per_domain.max(1);
            format!("rank {} of {word} {number}", rank.0)
        };
        let (from, to) = (located(self.from), located(self.to));
        let is_switch = self.channel.kind() == ir::ChannelKind::Switch;
        let message = if is_switch {
            format!("this switch channel joins ranks of several {word}s: {from} and {to}")
        } else if !mapping.has_ports {
            format!("this channel leaves its {word}: it leads from {from} to {to}")
        } else {
            format!("this memory channel leaves its {word}: it leads from {from} to {to}")
        };
        let report = Diagnostic::without_place(Code::W0801, message).note(mapping.why);
        report.help(if !mapping.has_ports {
            "build a plan, or kernels for NVSHMEM, whose ports reach other nodes".to_owned()
        } else if is_switch {
            format!("use a switch within each {word}, and ports between the {word}s")
        } else {
            format!("lead to other {word}s over ports: `port(..)`")
        })
    }

    /// How to say that there is more mapped memory.
    fn way_out(self, terms: Terms) -> &'static str {
        match terms {
            Terms::Source => {
                "or, if NVLink connects ranks of several nodes, say how many: with a parameter such as `ranks_per_domain: int = ranks`"
            }
            Terms::Plan => {
                "or, if NVLink connects ranks of several nodes, say how many: `--ranks-per-domain`"
            }
        }
    }
}
