//! Topologies of the resolved program.

use super::{Binder, Dimension, Expr, Frame, Parameter, Stmt, SwitchId, TopologyId};
use crate::source::Span;
use crate::syntax::ast::Direction;
use crate::table::Table;

/// A machine: its ranks, and what joins them.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Its name.
    pub name: String,
    /// Where its name is.
    pub span: Span,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Its switches, in order.
    pub switches: Table<SwitchId, SwitchFamily>,
    /// Its clauses, in order.
    pub items: Vec<TopologyItem>,
    /// Its locals, parameters first.
    pub frame: Frame,
}

/// A clause of a topology.
#[derive(Clone, Debug)]
pub enum TopologyItem {
    /// A `let` or a `require`.
    Statement(Box<Stmt>),
    /// `ranks 8;`
    Count(RankCount),
    /// `link a in 0..8: a -> (a + 1) % 8, bandwidth = 25GBps;`
    Link(Box<LinkFamily>),
    /// The switch is declared here.
    Switch(SwitchId),
}

/// How many ranks there are, in all or in a node.
#[derive(Clone, Debug)]
pub struct RankCount {
    /// Which of the two.
    pub word: CountWord,
    /// How many.
    pub count: Expr,
}

/// What a [`RankCount`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountWord {
    /// All ranks.
    Ranks,
    /// Those of a node.
    RanksPerNode,
}

/// Links, one for each combination of the binders' values.
#[derive(Clone, Debug)]
pub struct LinkFamily {
    /// The values for which there is one.
    pub binders: Vec<Binder>,
    /// What it joins.
    pub ends: EndPair,
    /// Its properties.
    pub properties: Properties,
}

/// Two vertices that are joined.
#[derive(Clone, Debug)]
pub struct EndPair {
    /// Where it begins.
    pub from: Vertex,
    /// Where it ends.
    pub to: Vertex,
    /// Whether it leads back, too.
    pub direction: Direction,
    /// Both ends.
    pub span: Span,
}

/// A rank or a switch.
#[derive(Clone, Debug)]
pub enum Vertex {
    /// A rank, by its number.
    Rank(Expr),
    /// A switch, with its indices.
    Switch(SwitchId, Vec<Expr>, Span),
    /// `if c { a } else { b }`
    If(Expr, Box<Vertex>, Box<Vertex>),
}

/// A switch, or a family of them.
#[derive(Clone, Debug)]
pub struct SwitchFamily {
    /// Its name.
    pub name: String,
    /// Where its name is.
    pub span: Span,
    /// The dimensions of the family; empty for a single switch.
    pub dimensions: Vec<Dimension>,
    /// Its ports, in order.
    pub ports: Vec<PortFamily>,
    /// What holds for the switch and all its ports.
    pub properties: Properties,
}

/// Ports of a switch, one for each combination of the binders' values.
#[derive(Clone, Debug)]
pub struct PortFamily {
    /// The values for which there is one.
    pub binders: Vec<Binder>,
    /// The vertex at the other end.
    pub vertex: Vertex,
    /// What holds for these ports.
    pub properties: Properties,
    /// All of it.
    pub span: Span,
}

/// The properties of links, ports or switches; none of them need be given.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    /// How much it carries in each direction: a rate, or a number of chunks per round.
    pub bandwidth: Option<Expr>,
    /// How long it takes.
    pub latency: Option<Expr>,
    /// What it can be used for.
    pub abilities: Option<AbilityList>,
}

/// `[memory, port]`
#[derive(Clone, Debug)]
pub struct AbilityList {
    /// The abilities.
    pub abilities: Vec<Ability>,
    /// Where they are written.
    pub span: Span,
}

/// What a link or a switch can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// Threads load and store through it.
    Memory,
    /// A proxy sends through it.
    Port,
    /// A switch sends what comes in once to several vertices.
    Multicast,
    /// A switch adds what comes in from several vertices.
    Reduce,
}

impl Ability {
    /// All abilities.
    pub const ALL: [Ability; 4] =
        [Ability::Memory, Ability::Port, Ability::Multicast, Ability::Reduce];

    /// Its name in source.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Ability::Memory => "memory",
            Ability::Port => "port",
            Ability::Multicast => "multicast",
            Ability::Reduce => "reduce",
        }
    }
}

/// The machine that a program is for: `topology dgx_h100(boxes = 2) on [0, 1] without [0 -> 1];`
#[derive(Clone, Debug)]
pub struct MachineUse {
    /// The topology.
    pub topology: TopologyId,
    /// The arguments: the parameter's position, and its value.
    pub arguments: Vec<(usize, Expr)>,
    /// The topology's ranks that are used, in the order of the program's.
    pub on: Option<Expr>,
    /// The links that the machine lacks.
    pub without: Vec<EndPair>,
    /// All of it.
    pub span: Span,
}
