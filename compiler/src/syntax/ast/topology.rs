//! The nodes of topologies, and of the machine that a program is for.

use super::{Argument, Attribute, Binder, Dimension, Doc, Expr, Let, Name, Parameter, Require};
use crate::source::Span;

/// A machine: its ranks, and what joins them.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Its clauses, in order.
    pub items: Vec<TopologyItem>,
}

/// A clause of a topology.
#[derive(Clone, Debug, PartialEq)]
pub struct TopologyItem {
    /// The `///` lines above it.
    pub docs: Vec<Doc>,
    /// The attributes above it.
    pub attributes: Vec<Attribute>,
    /// Its kind, with its content.
    pub kind: TopologyItemKind,
    /// From its first word to its end.
    pub span: Span,
}

/// The kinds of [`TopologyItem`].
#[derive(Clone, Debug, PartialEq)]
pub enum TopologyItemKind {
    /// A constant.
    Let(Let),
    /// A condition on the parameters.
    Require(Require),
    /// `ranks 8;` or `ranks_per_node 8;`
    Count(RankCount),
    /// `link a in 0..8: a -> hub, bandwidth = 25GBps;`
    Link(Link),
    /// `switch nvlink[b in 0..boxes] { .. }`
    Switch(Switch),
}

/// How many ranks there are, in all or in a node.
#[derive(Clone, Debug, PartialEq)]
pub struct RankCount {
    /// `ranks` or `ranks_per_node`.
    pub word: Name,
    /// How many.
    pub count: Expr,
}

/// Links from vertices to others. A vertex is a rank, or a switch: which of the two, its value says.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The values for which there is one.
    pub binders: Vec<Binder>,
    /// The vertices at its ends.
    pub ends: LinkEnds,
    /// Its properties, in order.
    pub properties: Vec<Property>,
}

/// `a -> b` or `a <-> b`
#[derive(Clone, Debug, PartialEq)]
pub struct LinkEnds {
    /// Where it begins.
    pub from: Expr,
    /// Where it ends.
    pub to: Expr,
    /// Whether there is one for each direction.
    pub direction: Direction,
    /// All of it.
    pub span: Span,
}

/// Whether what joins two vertices leads to one of them or to both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `->`
    Forward,
    /// `<->`
    Both,
}

/// A switch or a family of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Its name.
    pub name: Name,
    /// The dimensions of the family; empty for a single switch.
    pub dimensions: Vec<Dimension>,
    /// Its ports, in order.
    pub ports: Vec<Ports>,
    /// The properties of the switch and of all its ports.
    pub properties: Vec<Property>,
}

/// `ports (r in 0..8: r), bandwidth = 450GBps;`
#[derive(Clone, Debug, PartialEq)]
pub struct Ports {
    /// The values for which there is one.
    pub binders: Vec<Binder>,
    /// The vertex at the other end.
    pub vertex: Expr,
    /// Their properties, in order.
    pub properties: Vec<Property>,
    /// All of it.
    pub span: Span,
}

/// `bandwidth = 25GBps`
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// `bandwidth`, `latency` or `abilities`.
    pub name: Name,
    /// Its value.
    pub value: PropertyValue,
    /// All of it.
    pub span: Span,
}

/// The value of a [`Property`].
#[derive(Clone, Debug, PartialEq)]
pub enum PropertyValue {
    /// A rate, a time or a number.
    Value(Expr),
    /// `[memory, port]`
    Abilities(Vec<Name>),
}

/// The machine that a program is for: `topology dgx_h100(boxes = 2) on [0, 1] without [0 -> 1];`
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The topology's name.
    pub name: Name,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// The topology's ranks that the program uses, in the order of the program's.
    pub on: Option<Expr>,
    /// The links that the machine lacks.
    pub without: Vec<LinkEnds>,
}
