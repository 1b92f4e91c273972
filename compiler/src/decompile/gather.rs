//! The operations of each rank as trees, and the names of channels in them.

use super::Style;
use super::formula::Formulas;
use super::tree::{Domain, Form, Kind, Node, Number};
use super::world::{Peers, World};
use crate::ir::weave::{Piece, weave};
use crate::ir::{
    Action, Buffer, ChannelId, ChannelKind, Link, Op, Operand, Program, Rank, ReduceOp, Signal,
    SwitchGroup, Transfer, Where, print,
};
use crate::table::Id;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many channels of a kind may have names of their own.
const MOST_NAMED: usize = 8;

/// How the channels of one kind are indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    /// By peer, with so many channels to each: all channels to one peer
    /// together, or one to each peer and then the next ones.
    Peer { peers: Peers, copies: usize, together: bool },
    /// By number.
    Number,
    /// Not at all: each channel has a name of its own.
    Named,
}

/// The n-th switch channels of all ranks, as far as they bind one buffer: for each rank its group, if it has one.
pub(super) type SwitchFamily = Vec<Option<Arc<SwitchGroup>>>;

/// The names of channels.
pub(super) struct Names {
    pub(super) memory: Index,
    pub(super) port: Index,
    /// In the order of their declarations.
    pub(super) switches: BTreeMap<(usize, Buffer), SwitchFamily>,
    /// The buffer that they bind and how many there are, if they are one family by number.
    pub(super) nvls: Option<(Buffer, usize)>,
}

impl Names {
    /// Looks for families by peer if the program is to be `regular`.
    pub(super) fn new(program: &Program, world: &World, regular: bool) -> Names {
        let index = |kind| match regular {
            true => by_peer(program, world, kind).or_else(|| named(program, world, kind)),
            false => None,
        };
        let mut switches: BTreeMap<(usize, Buffer), SwitchFamily> = BTreeMap::new();
        for (at, rank) in program.ranks.entries() {
            for (number, group) in groups(rank).enumerate() {
                let none = || vec![None; program.ranks.len()];
                let family = switches.entry((number, group.buffer)).or_insert_with(none);
                if let Some(slot) = family.get_mut(at.index()) {
                    *slot = Some(Arc::clone(group));
                }
            }
        }
        let nvls = if regular { one_family(&switches) } else { None };
        Names {
            nvls,
            memory: index(ChannelKind::Memory).unwrap_or(Index::Number),
            port: index(ChannelKind::Port).unwrap_or(Index::Number),
            switches,
        }
    }

    /// How channels of a kind are indexed.
    pub(super) fn index(&self, kind: ChannelKind) -> Index {
        if kind == ChannelKind::Port { self.port } else { self.memory }
    }

    /// The name of a family of switch channels.
    pub(super) fn switch(&self, key: (usize, Buffer)) -> String {
        match self.switches.len() {
            1 => "nvls".to_owned(),
            _ => format!("nvls{}", self.switches.keys().take_while(|other| **other < key).count()),
        }
    }
}

/// The name of the family of memory or port channels.
pub(super) fn family(kind: ChannelKind) -> &'static str {
    if kind == ChannelKind::Port { "far" } else { "mem" }
}

/// Several switch channels that are the same on all ranks, over consecutive ranks.
fn one_family(switches: &BTreeMap<(usize, Buffer), SwitchFamily>) -> Option<(Buffer, usize)> {
    let ((_, buffer), first) = switches.first_key_value()?;
    let group = first.first()?.as_ref()?;
    let same = |(key, family): (&(usize, Buffer), &SwitchFamily)| {
        key.1 == *buffer && family.iter().all(|other| other.as_ref() == Some(group))
    };
    let start = group.ranks.first()?.0;
    let side_by_side = (start..).zip(&group.ranks).all(|(expected, rank)| rank.0 == expected);
    (switches.len() > 1 && side_by_side && switches.iter().all(same))
        .then_some((*buffer, switches.len()))
}

fn groups(rank: &Rank) -> impl Iterator<Item = &Arc<SwitchGroup>> {
    rank.channels.iter().filter_map(|channel| match &channel.link {
        Link::Switch(group) => Some(group),
        Link::Memory(_) | Link::Port(_) => None,
    })
}

/// The ranks at the other ends of a rank's channels of a kind, in order.
pub(super) fn peers(rank: &Rank, kind: ChannelKind) -> Vec<i64> {
    let of_kind = rank.channels.iter().filter(|channel| channel.kind() == kind);
    of_kind.filter_map(|channel| Some(i64::from(channel.peer()?.0))).collect()
}

fn by_peer(program: &Program, world: &World, kind: ChannelKind) -> Option<Index> {
    let rows: Vec<Vec<i64>> = program.ranks.iter().map(|rank| peers(rank, kind)).collect();
    let first = rows.first().filter(|row| !row.is_empty())?;
    for &list in world.lists() {
        let count = world.list(list, 0).len();
        if count == 0 || first.len() % count != 0 {
            continue;
        }
        let copies = first.len() / count;
        for together in [true, false] {
            let expected = |rank: i64| -> Vec<i64> {
                let members = world.list(list, rank).members();
                if together {
                    members.flat_map(|peer| vec![peer; copies]).collect()
                } else {
                    members.collect::<Vec<i64>>().repeat(copies)
                }
            };
            if (0..).zip(&rows).all(|(rank, row)| *row == expected(rank)) {
                return Some(Index::Peer { peers: list, copies, together });
            }
        }
    }
    None
}

/// A few channels that all ranks have, each with a formula of its own for its
/// peer, if there is no formula for all of them.
fn named(program: &Program, world: &World, kind: ChannelKind) -> Option<Index> {
    let rows: Vec<Vec<i64>> = program.ranks.iter().map(|rank| peers(rank, kind)).collect();
    let count = rows.first()?.len();
    let even = rows.iter().all(|row| row.len() == count);
    if !even || !(1..=MOST_NAMED).contains(&count) {
        return None;
    }
    let formulas = Formulas::new(world, (0..world.ranks).collect());
    let number = |values| Number { kind: Kind::Rank, values };
    let together = number(rows.concat());
    let alone = |at: usize| {
        let values = rows.iter().filter_map(|row| row.get(at).copied()).collect();
        let ends = program.ranks.iter().map(|rank| ends(program, rank, kind).get(at).copied());
        let ends: BTreeSet<Option<i64>> = ends.collect();
        formulas.find(&number(values), &[]).is_some() && ends.len() == 1
    };
    let none = formulas.find(&together, &[(Domain::Count, count)]).is_none();
    (none && (0..count).all(alone)).then_some(Index::Named)
}

/// For each channel, the number of its other end among those of its kind.
pub(super) fn ends(program: &Program, rank: &Rank, kind: ChannelKind) -> Vec<i64> {
    let of_kind = rank.channels.iter().filter(|channel| channel.kind() == kind);
    let end = |channel: &crate::ir::Channel| {
        let (peer, partner) = (channel.peer()?, channel.partner?);
        let before = program.ranks.lookup(peer)?.channels.iter().take(partner.index());
        Some(before.filter(|other| other.kind() == kind).count() as i64)
    };
    of_kind.map(|channel| end(channel).unwrap_or(0)).collect()
}

/// Each rank's statements, in order.
pub(super) fn ranks(program: &Program, names: &Names, style: Style) -> Vec<Vec<Node>> {
    let rank = |rank| {
        let gatherer = Gatherer { program, names, rank, style };
        let empty = rank.blocks.entries().filter(|(_, block)| block.ops.is_empty());
        let empty = empty.map(|(id, _)| block(id.0, Vec::new()));
        empty.chain(weave(rank).iter().map(|piece| gatherer.piece(piece))).collect()
    };
    program.ranks.iter().map(rank).collect()
}

fn block(id: u32, ops: Vec<Node>) -> Node {
    Node::Parts(vec![
        Node::text("block "),
        member("tb", id),
        Node::text(" "),
        Node::Sequence(Form::Statements, ops),
    ])
}

/// A member of a family, by number.
fn member(family: &'static str, index: u32) -> Node {
    Node::Parts(vec![Node::text(format!("{family}[")), Node::number(index), Node::text("]")])
}

struct Gatherer<'a> {
    program: &'a Program,
    names: &'a Names,
    rank: &'a Rank,
    style: Style,
}

impl Gatherer<'_> {
    fn piece(&self, piece: &Piece<'_>) -> Node {
        match piece {
            Piece::Block { block: id, ops } => block(id.0, self.ops(ops)),
            Piece::Barrier { blocks, .. } => {
                let blocks = blocks.iter().map(|block| member("tb", block.0)).collect();
                statement("barrier", blocks, "")
            }
            Piece::Pipeline { pipeline, body, .. } => {
                let body = body.iter().map(|piece| self.piece(piece)).collect();
                pipelined(pipeline.unit, pipeline.chunks, body)
            }
        }
    }

    fn ops(&self, ops: &[Op]) -> Vec<Node> {
        ops.iter().flat_map(|op| self.split(op)).filter_map(|op| self.op(&op)).collect()
    }

    /// The operations that the compiler fuses into this one.
    fn split(&self, op: &Op) -> Vec<Op> {
        let Action::Transfer(transfer) = &op.action else { return vec![op.clone()] };
        let pairs = transfer.sources.len();
        let paired = !transfer.verb.reduces();
        let channels = transfer.routes(self.rank);
        let routed = channels.is_empty() || channels.len() == pairs;
        if !self.style.split || !paired || !routed || transfer.destinations.len() != pairs {
            return vec![op.clone()];
        }
        let part = |at: usize| {
            let part = Transfer {
                sources: transfer.sources.iter().skip(at).take(1).copied().collect(),
                destinations: transfer.destinations.iter().skip(at).take(1).copied().collect(),
                channels: channels.iter().skip(at).take(1).copied().collect(),
                ..transfer.clone()
            };
            Op { action: Action::Transfer(part), ..op.clone() }
        };
        (0..pairs).map(part).collect()
    }

    fn op(&self, op: &Op) -> Option<Node> {
        Some(match &op.action {
            Action::Sync if self.style.inferred => return None,
            Action::Sync => Node::Parts(vec![Node::text("sync;")]),
            Action::Signal(signal) => self.signal("signal", signal),
            Action::Wait(signal) => self.signal("wait", signal),
            // The executor ignores it, and a program for plans must not contain it.
            Action::Flush(_) => return None,
            Action::Acquire(list) => {
                statement("acquire", list.iter().map(|id| member("sem", id.0)).collect(), "")
            }
            Action::Release(list) => {
                statement("release", list.iter().map(|id| member("sem", id.0)).collect(), "")
            }
            Action::Transfer(transfer) => self.transfer(transfer),
            Action::Pipeline(pipeline) => {
                pipelined(pipeline.unit, pipeline.chunks, self.ops(&pipeline.body))
            }
            Action::Barrier { .. } => return None,
        })
    }

    fn signal(&self, word: &'static str, signal: &Signal) -> Node {
        statement(
            word,
            self.channels(&signal.channels),
            if signal.relaxed { " relaxed" } else { "" },
        )
    }

    fn channels(&self, list: &[ChannelId]) -> Vec<Node> {
        list.iter().map(|id| self.channel(*id)).collect()
    }

    fn channel(&self, id: ChannelId) -> Node {
        let Some(channel) = self.rank.channels.lookup(id) else { return Node::text("mem[0]") };
        let kind = channel.kind();
        let before = |same_peer: bool| {
            let earlier = self.rank.channels.iter().take(id.index());
            earlier
                .filter(|other| other.kind() == kind)
                .filter(|other| !same_peer || other.peer() == channel.peer())
                .count()
        };
        let name = match &channel.link {
            Link::Switch(_) if self.names.nvls.is_some() => {
                return member("nvls", before(false) as u32);
            }
            Link::Switch(group) => {
                let key = (before(false), group.buffer);
                let everywhere = self.names.switches.get(&key);
                let index =
                    match everywhere.is_some_and(|family| family.iter().all(Option::is_some)) {
                        true => "",
                        false => "[0]",
                    };
                return Node::text(format!("{}{index}", self.names.switch(key)));
            }
            Link::Memory(_) | Link::Port(_) => family(kind),
        };
        let peer = Node::rank(channel.peer().map_or(0, |peer| i64::from(peer.0)));
        let nth = Node::number(before(true) as i64);
        let index = match self.names.index(kind) {
            Index::Peer { copies: 1, .. } => vec![peer],
            Index::Peer { together: true, .. } => vec![peer, Node::text(", "), nth],
            Index::Peer { together: false, .. } => vec![nth, Node::text(", "), peer],
            Index::Number => vec![Node::number(before(false) as i64)],
            Index::Named => return Node::text(format!("{name}{}", before(false))),
        };
        let (open, close) = (Node::text(format!("{name}[")), Node::text("]"));
        Node::Parts(std::iter::once(open).chain(index).chain([close]).collect())
    }

    fn transfer(&self, transfer: &Transfer) -> Node {
        let list = |operands: &[Operand]| {
            let operands = operands.iter().map(|operand| self.operand(operand)).collect();
            Node::Sequence(Form::Members, operands)
        };
        let mut parts = Vec::new();
        let writes_input = || transfer.destinations.iter().any(|d| d.buffer == Buffer::Input);
        if self.rank.alias.is_none() && writes_input() {
            parts.push(Node::text("#[allow(clobber)]\n"));
        }
        parts.push(Node::text(format!("{} ", transfer.verb.word())));
        parts.extend([list(&transfer.sources), Node::text(" -> "), list(&transfer.destinations)]);
        let via = self.routes(transfer);
        if !via.is_empty() {
            parts.push(Node::text(" via "));
            parts.push(Node::Sequence(Form::Members, self.channels(&via)));
        }
        if transfer.verb.reduces() && transfer.reduce != self.program.collective.op {
            parts.push(Node::text(match transfer.reduce {
                ReduceOp::Sum => " op = sum",
                ReduceOp::Min => " op = min",
                ReduceOp::Max => " op = max",
            }));
        }
        if let Some(slice) = transfer.slice {
            parts.extend([Node::text(" slice = "), Node::number(slice.index)]);
            parts.push(Node::text(format!(" of {}", slice.count)));
        }
        parts.push(Node::text(";"));
        Node::Parts(parts)
    }

    /// The channels that a transfer names: each only once, if the ranks of the operands tell which one is meant.
    fn routes(&self, transfer: &Transfer) -> crate::ir::List<ChannelId> {
        let all = transfer.routes(self.rank);
        let ids: BTreeSet<ChannelId> = all.iter().copied().collect();
        let peer =
            |id: &ChannelId| self.rank.channels.lookup(*id).and_then(|channel| channel.peer());
        let peers: BTreeSet<_> = ids.iter().filter_map(peer).collect();
        if !self.style.regular || peers.len() < ids.len() || ids.len() == all.len() {
            return all;
        }
        let mut seen = BTreeSet::new();
        all.into_iter().filter(|id| seen.insert(*id)).collect()
    }

    fn operand(&self, operand: &Operand) -> Node {
        let mut parts = Vec::new();
        match operand.place {
            Where::Local => {}
            Where::Remote(peer) => parts.push(Node::owner(peer.0)),
            Where::Switch(channel) => {
                parts.extend([self.channel(channel), Node::text(".")]);
            }
        }
        parts.push(Node::text(format!("{}[", print::buffer_name(operand.buffer))));
        parts.push(Node::number(operand.index));
        if operand.size > 1 {
            parts.extend([Node::text("..+"), Node::number(operand.size)]);
        }
        parts.push(Node::text("]"));
        Node::Parts(parts)
    }
}

fn statement(word: &'static str, members: Vec<Node>, modifier: &'static str) -> Node {
    Node::Parts(vec![
        Node::text(format!("{word} ")),
        Node::Sequence(Form::Members, members),
        Node::text(modifier),
        Node::text(";"),
    ])
}

fn pipelined(unit: u64, chunks: u32, body: Vec<Node>) -> Node {
    Node::Parts(vec![
        Node::text(format!("pipeline unit = {unit}, chunks = {chunks} ")),
        Node::Sequence(Form::Statements, body),
    ])
}
