//! Channels that the machine of a program does not have.
//!
//! In: a program that names its machine. Out: an error for each declaration of channels of which a member leads where
//! the machine has no way: a memory channel needs a path of links for memory that passes no rank (E1107), a port channel
//! any path (E1108), and a switch channel one switch that all its members have ports of and that multicasts or reduces,
//! as it is used (E1109).

use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{Channel, ChannelId, Link, Program, Rank, RankId};
use crate::machine::Machine;
use crate::source::{Place, Span};
use std::collections::{BTreeMap, BTreeSet};
use synth::graph::{SwitchAbilities, Vertex};

/// The errors about a program's channels; none if it names no machine.
pub(crate) fn check(program: &Program) -> Vec<Diagnostic> {
    let Some(machine) = &program.machine else { return Vec::new() };
    let mut found: BTreeMap<Finding, Missing> = BTreeMap::new();
    for (from, rank) in program.ranks.entries() {
        let uses = SwitchUses::collect(rank);
        for (id, channel) in rank.channels.entries() {
            let Some(lacks) = find_lack(machine, from, channel, uses.of(id)) else { continue };
            let finding =
                Finding { place: program.origins.place(channel.origin), code: lacks.code() };
            found.entry(finding).or_insert_with(|| Missing { first: lacks, count: 0 }).count += 1;
        }
    }
    let reports =
        found.into_iter().map(|(finding, missing)| missing.report(machine, finding.place));
    reports.collect()
}

/// What is reported once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    place: Place,
    code: Code,
}

/// The channels of one declaration that the machine does not have.
struct Missing {
    first: Lack,
    count: usize,
}

/// What a channel lacks.
enum Lack {
    Memory { from: RankId, to: RankId },
    Port { from: RankId, to: RankId },
    Switch { ranks: Vec<Vertex>, uses: SwitchAbilities },
}

impl Lack {
    fn code(&self) -> Code {
        match self {
            Lack::Memory { .. } => Code::E1107,
            Lack::Port { .. } => Code::E1108,
            Lack::Switch { .. } => Code::E1109,
        }
    }
}

/// What the operations of a rank ask of the switches behind its channels.
struct SwitchUses {
    multicast: BTreeSet<ChannelId>,
    reduce: BTreeSet<ChannelId>,
}

impl SwitchUses {
    fn collect(rank: &Rank) -> SwitchUses {
        let mut uses = SwitchUses { multicast: BTreeSet::new(), reduce: BTreeSet::new() };
        for transfer in rank.all_ops().filter_map(|op| op.transfer()) {
            let switches = |operand: &crate::ir::Operand| operand.place.switch();
            uses.multicast.extend(transfer.destinations.iter().filter_map(switches));
            uses.reduce.extend(transfer.sources.iter().filter_map(switches));
        }
        uses
    }

    fn of(&self, channel: ChannelId) -> SwitchAbilities {
        SwitchAbilities {
            multicast: self.multicast.contains(&channel),
            reduce: self.reduce.contains(&channel),
        }
    }
}

fn find_lack(
    machine: &Machine,
    from: RankId,
    channel: &Channel,
    uses: SwitchAbilities,
) -> Option<Lack> {
    let here = Vertex(from.0);
    match &channel.link {
        Link::Memory(to) => {
            let is_joined = machine.joins_in_memory(here, Vertex(to.0));
            (!is_joined).then_some(Lack::Memory { from, to: *to })
        }
        Link::Port(to) => {
            let is_joined = machine.joins_by_port(here, Vertex(to.0));
            (!is_joined).then_some(Lack::Port { from, to: *to })
        }
        Link::Switch(group) => {
            let ranks: Vec<Vertex> = group.ranks.iter().map(|rank| Vertex(rank.0)).collect();
            let switch = machine.find_common_switch(&ranks, uses);
            switch.is_none().then_some(Lack::Switch { ranks, uses })
        }
    }
}

impl Missing {
    fn report(self, machine: &Machine, place: Place) -> Diagnostic {
        let report = match &self.first {
            Lack::Memory { from, to } => report_memory(machine, *from, *to, place),
            Lack::Port { from, to } => {
                let message = format!(
                    "nothing joins rank {} and rank {} on `{}`",
                    from.0, to.0, machine.name
                );
                let report = Diagnostic::new(Code::E1108, place, message)
                    .and(machine.declared, "no path of its links leads there");
                name_removed_links(machine, report)
            }
            Lack::Switch { ranks, uses } => report_switch(machine, ranks, *uses, place),
        };
        match self.count - 1 {
            0 => report,
            1 => report.note("the same holds for another channel of this declaration"),
            more => {
                report.note(format!("the same holds for {more} other channels of this declaration"))
            }
        }
    }
}

fn report_memory(machine: &Machine, from: RankId, to: RankId, place: Place) -> Diagnostic {
    let (here, there) = (Vertex(from.0), Vertex(to.0));
    let message =
        format!("rank {} cannot reach the memory of rank {} on `{}`", from.0, to.0, machine.name);
    let report = Diagnostic::new(Code::E1107, place, message);
    let port = machine.find_port_path(here, there);
    let passes_rank = port.as_ref().is_some_and(|path| {
        let inner = path.vertices.len().saturating_sub(2);
        path.vertices.iter().skip(1).take(inner).any(|vertex| machine.graph.is_rank(*vertex))
    });
    // Where the two are joined, but not for memory, it is a link on the way that is not.
    let other = match port {
        Some(path) if !passes_rank => find_other_link(machine, &path.vertices),
        _ => None,
    };
    let report = match other {
        Some(span) => report
            .and(span, "this joins them, but not for memory")
            .help("lead there over a port: `port(..)`"),
        None => name_removed_links(
            machine,
            report.and(machine.declared, "no links join the two without passing another rank"),
        ),
    };
    let between = machine.graph.ranks().find(|middle| {
        machine.joins_in_memory(here, *middle) && machine.joins_in_memory(*middle, there)
    });
    match between {
        Some(middle) => report.help(format!(
            "rank {} reaches rank {middle}, which reaches rank {} and can forward",
            from.0, to.0
        )),
        None => report,
    }
}

/// Links that are missing may have been taken away.
fn name_removed_links(machine: &Machine, report: Diagnostic) -> Diagnostic {
    match machine.removed_links {
        Some(span) => report.and(span, "links are taken away here"),
        None => report,
    }
}

/// The first edge on a path that is not for memory.
fn find_other_link(machine: &Machine, vertices: &[Vertex]) -> Option<Span> {
    vertices.windows(2).find_map(|pair| {
        let &[from, to] = pair else { return None };
        let mut edges = machine.graph.edges().iter();
        let is_other =
            edges.any(|edge| edge.from == from && edge.to == to && !edge.abilities.memory);
        is_other.then(|| machine.find_place(from, to)).flatten()
    })
}

fn report_switch(
    machine: &Machine,
    ranks: &[Vertex],
    uses: SwitchAbilities,
    place: Place,
) -> Diagnostic {
    let what = match (uses.multicast, uses.reduce) {
        (true, true) => "multicasts to and reduces from",
        (true, false) => "multicasts to",
        (false, true) => "reduces from",
        (false, false) => "joins",
    };
    let few: Vec<String> = ranks.iter().take(8).map(ToString::to_string).collect();
    let dots = if ranks.len() > few.len() { ", .." } else { "" };
    let message =
        format!("no switch of `{}` {what} the ranks {}{dots}", machine.name, few.join(", "));
    let report = Diagnostic::new(Code::E1109, place, message);
    let joining = machine.find_common_switch(ranks, SwitchAbilities::default());
    let port = joining.and_then(|switch| {
        let first = ranks.first()?;
        Some((machine.name_vertex(switch), machine.find_place(*first, switch)?))
    });
    match port {
        Some((name, span)) => {
            report.and(span, format!("`{name}` joins them, and has no such ability"))
        }
        None => report.and(machine.declared, "no switch has a port for memory to each of them"),
    }
}
