//! Which channels the moves of a schedule use.

use super::UnwrittenProgram;
use crate::machine::Machine;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use synth::graph::{EdgeAbilities, EdgeIndex, Vertex};

/// A way from a rank to another one that something takes.
pub(super) struct UsedWay<'p> {
    pub(super) from: Vertex,
    pub(super) to: Vertex,
    /// The edges between them.
    pub(super) path: &'p [EdgeIndex],
}

/// The channels of a program.
pub(super) enum Channels {
    /// Memory channels.
    Memory,
    /// Port channels.
    Ports,
    /// Memory channels within nodes of so many ranks, and port channels between them.
    Nodes { ranks_per_node: u32 },
}

impl Channels {
    /// Memory where it leads all the way and back, ports elsewhere. Signals may go back over the links of `whole`, of which
    /// the machine may be a part.
    pub(super) fn find<'p>(
        machine: &Machine,
        whole: &Machine,
        ways: impl Iterator<Item = UsedWay<'p>>,
    ) -> Result<Channels, UnwrittenProgram> {
        let mut pairs = BTreeSet::new();
        for UsedWay { from, to, path } in ways {
            let edges = path.iter().filter_map(|edge| {
                machine.graph.edges().get(edge.0 as usize).map(|edge| edge.abilities)
            });
            let abilities: Vec<EdgeAbilities> = edges.collect();
            // Signals go both ways.
            let is_memory = abilities.iter().all(|abilities| abilities.memory);
            let in_memory = is_memory && whole.joins_in_memory(to, from);
            if !in_memory && !abilities.iter().all(|abilities| abilities.port) {
                return Err(UnwrittenProgram::NoChannel { from: from.0, to: to.0 });
            }
            if !in_memory && !whole.joins_by_port(to, from) {
                return Err(UnwrittenProgram::NoWayBack { from: to.0, to: from.0 });
            }
            pairs.insert((from.0, to.0, in_memory));
        }
        if pairs.iter().all(|(_, _, in_memory)| *in_memory) {
            return Ok(Channels::Memory);
        }
        if pairs.iter().all(|(_, _, in_memory)| !in_memory) {
            return Ok(Channels::Ports);
        }
        let ranks = machine.graph.count_ranks();
        let sizes = (1..=ranks).filter(|size| ranks.is_multiple_of(*size));
        let mut fitting = sizes.filter(|size| {
            pairs.iter().all(|(from, to, in_memory)| (from / size == to / size) == *in_memory)
        });
        let ranks_per_node = fitting.next().ok_or(UnwrittenProgram::IrregularChannels)?;
        Ok(Channels::Nodes { ranks_per_node })
    }

    /// Whether a channel between two ranks is one for memory.
    pub(super) fn is_memory(&self, from: Vertex, to: Vertex) -> bool {
        match self {
            Channels::Memory => true,
            Channels::Ports => false,
            Channels::Nodes { ranks_per_node } => from.0 / ranks_per_node == to.0 / ranks_per_node,
        }
    }

    /// What the family of channels to neighbors is called.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Channels::Memory => "mem",
            Channels::Ports => "net",
            Channels::Nodes { .. } => "line",
        }
    }

    /// Whether all channels can read.
    pub(super) fn can_read(&self) -> bool {
        matches!(self, Channels::Memory)
    }

    /// The expression of the channel to rank `p`.
    pub(super) fn write_constructor(&self) -> &'static str {
        match self {
            Channels::Memory => "memory(p)",
            Channels::Ports => "port(p)",
            Channels::Nodes { .. } => "if is_near(rank, p) { memory(p) } else { port(p) }",
        }
    }

    /// What follows the way in the index of a channel: the rank there, if its kind depends on that.
    pub(super) fn write_way_index(&self, peer: &str) -> String {
        match self {
            Channels::Memory | Channels::Ports => String::new(),
            Channels::Nodes { .. } => format!(", {peer}"),
        }
    }

    /// The function that the constructor uses.
    pub(super) fn write_functions(&self, text: &mut String) -> fmt::Result {
        let Channels::Nodes { ranks_per_node: size } = self else { return Ok(()) };
        writeln!(text, "/// Whether two ranks are on the same node.")?;
        writeln!(text, "fn is_near(a: rank, b: rank) -> bool = a / {size} == b / {size};\n")
    }

    /// The declaration of the channels to all neighbors.
    pub(super) fn write_declaration(&self, text: &mut String) -> fmt::Result {
        let (name, constructor) = (self.name(), self.write_constructor());
        writeln!(text, "channel {name}[p in neighbors(rank)] = {constructor};")
    }

    /// The exchange by which ranks tell their neighbors that they have begun.
    pub(super) fn write_greeting(&self, text: &mut String) -> fmt::Result {
        let name = self.name();
        writeln!(text, "signal {name}[*] relaxed;\nwait {name}[*] relaxed;")
    }

    /// The exchange before the end where ranks read from each other, or proxies read for them: nobody ends before that is
    /// over.
    pub(super) fn write_farewell(&self, text: &mut String) -> fmt::Result {
        let name = self.name();
        writeln!(text, "signal {name}[*];    // what I got has arrived\nwait {name}[*];")
    }

    /// A signal to each rank that is sent to in a step, and a wait for each that sends. `from` and `to` are expressions of
    /// the row `s`.
    pub(super) fn write_exchange(&self, ends: RowEnds, text: &mut String) -> fmt::Result {
        let (name, RowEnds { from, to }) = (self.name(), ends);
        writeln!(text, "for p in {{s in step if {from} == rank: {to}}} {{ signal {name}[p]; }}")?;
        writeln!(text, "for p in {{s in step if {to} == rank: {from}}} {{ wait {name}[p]; }}")
    }
}

/// Where the row `s` of a table has the ranks of a move, as expressions.
#[derive(Clone, Copy)]
pub(super) struct RowEnds {
    pub(super) from: &'static str,
    pub(super) to: &'static str,
}

impl RowEnds {
    /// The order in which tables have them.
    pub(super) const FORWARD: RowEnds = RowEnds { from: "s[1]", to: "s[2]" };

    /// The order of a table that is read backwards.
    pub(super) const BACKWARD: RowEnds = RowEnds { from: "s[2]", to: "s[1]" };
}
