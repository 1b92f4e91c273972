//! Which peers' memory a rank addresses: at the other ends of its memory channels, and of its ports where no network
//! serves them.
//!
//! In: the program. Out: constants of the kernels' file, with which `create` refuses an exchange that left out an address, and
//! with which ranks that write packets for each other agree when the numbers of launches restart.

use super::Ports;
use super::names::WITH_TABLE;
use crate::ir::{self, Buffer, Channel, Link, Program, Rank, RankId, memory};
use std::collections::BTreeSet;

/// The most terms of a formula; a list is used for more.
const MOST_TERMS: usize = 8;

/// The constants: `linked` says whether a rank addresses a peer's memory, `peer_input` and the others which buffers. With
/// `packets`, `reached` says whether one of two ranks may write to the other's scratch.
pub(super) fn text(program: &Program, ports: Ports, packets: bool) -> String {
    let mut text = format!("{}\n", relation(program, "linked", &peers(program, ports)));
    if packets {
        text.push_str(&format!("{}\n", relation(program, "reached", &reached(program))));
    }
    let touched = touched(program, ports);
    for (name, buffer) in [
        ("peer_input", Buffer::Input),
        ("peer_output", Buffer::Output),
        ("peer_scratch", Buffer::Scratch),
    ] {
        let value = touched.contains(&buffer);
        text.push_str(&format!("    static constexpr bool {name} = {value};\n"));
    }
    text
}

/// Each rank's peers, in ascending order.
fn peers(program: &Program, ports: Ports) -> Vec<BTreeSet<u32>> {
    let peer = |channel: &Channel| match channel.link {
        Link::Memory(peer) => Some(peer.0),
        Link::Port(peer) if ports == Ports::Mapped => Some(peer.0),
        Link::Port(_) | Link::Switch(_) => None,
    };
    let of = |(here, rank): (RankId, &Rank)| {
        rank.channels.iter().filter_map(peer).filter(|peer| *peer != here.0).collect()
    };
    program.ranks.entries().map(of).collect()
}

/// The ranks at the other ends of each rank's channels, switches included, in ascending order. Both ends of a channel exist,
/// so this is the same from either rank. A rank without blocks is never launched.
fn reached(program: &Program) -> Vec<BTreeSet<u32>> {
    let runs =
        |rank: u32| program.ranks.lookup(RankId(rank)).is_some_and(|rank| !rank.blocks.is_empty());
    let of = |(here, rank): (RankId, &Rank)| {
        let ends = rank.channels.iter().flat_map(|channel| match &channel.link {
            Link::Memory(peer) | Link::Port(peer) => vec![peer.0],
            Link::Switch(group) => group.ranks.iter().map(|peer| peer.0).collect(),
        });
        ends.filter(|peer| *peer != here.0 && runs(here.0) && runs(*peer)).collect()
    };
    program.ranks.entries().map(of).collect()
}

/// The buffers that some rank accesses in a peer's memory.
fn touched(program: &Program, ports: Ports) -> BTreeSet<Buffer> {
    let by_itself = |transfer: &&ir::Transfer| {
        ports == Ports::Mapped || transfer.via != Some(ir::ChannelKind::Port)
    };
    let transfers = program.all_ops().filter_map(ir::Op::transfer).filter(by_itself);
    let remote = transfers.flat_map(ir::Transfer::operands).filter_map(|operand| {
        let there = program.ranks.lookup(operand.place.peer()?)?;
        Some(memory::home(there.alias, operand.buffer, operand.index).0)
    });
    remote.collect()
}

/// The definition of a function that says whether one rank is among the peers of another.
fn relation(program: &Program, name: &str, peers: &[BTreeSet<u32>]) -> String {
    let count = peers.len() as u32;
    let fits = |relation: &Relation| {
        (0_u32..).zip(peers).all(|(rank, peers)| {
            let mut others = (0..count).filter(|peer| *peer != rank);
            others.all(|peer| (relation.holds)(rank, peer) == peers.contains(&peer))
        })
    };
    let first = peers.first().cloned().unwrap_or_default();
    let mut relations = relations(count, program.ranks_per_node.max(1), &first);
    let Some(relation) = relations.find(fits) else { return listed(name, peers) };
    let uses_them = relation.body.contains("rank");
    let parameters = if uses_them { "uint32_t rank, uint32_t peer" } else { "uint32_t, uint32_t" };
    format!("    static constexpr bool {name}({parameters}) {{{}}}", relation.body)
}

/// A relation between ranks, and the body of a function that says whether it holds.
struct Relation {
    body: String,
    holds: Box<dyn Fn(u32, u32) -> bool>,
}

/// The relations that have a formula: those of circles, and those that the peers of the first rank have to it by their
/// distance, or by the bits in which they differ.
fn relations(count: u32, width: u32, first: &BTreeSet<u32>) -> impl Iterator<Item = Relation> {
    fn when(body: String, holds: impl Fn(u32, u32) -> bool + 'static) -> Relation {
        Relation { body, holds: Box::new(holds) }
    }
    let node = move |rank: u32, peer: u32| rank / width == peer / width;
    let rail = move |rank: u32, peer: u32| rank % width == peer % width;
    let same_node = "rank / ranks_per_node == peer / ranks_per_node";
    let same_rail = "rank % ranks_per_node == peer % ranks_per_node";
    let either = format!("\n        return {same_node} ||\n               {same_rail};\n    ");
    let ahead = move |rank: u32, peer: u32| (peer + count - rank) % count;
    let among = |name: &str, value: &str, values: &BTreeSet<u32>| {
        let terms: Vec<_> = values.iter().map(|value| format!("{name} == {value}")).collect();
        let terms = terms.join(" || ");
        format!("\n        const uint32_t {name} = {value};\n        return {terms};\n    ")
    };
    let circles = [
        when(" return false; ".to_owned(), |_, _| false),
        when(" return true; ".to_owned(), |_, _| true),
        when(format!(" return {same_node}; "), node),
        when(format!(" return {same_rail}; "), rail),
        when(either, move |rank, peer| node(rank, peer) || rail(rank, peer)),
    ];
    let few = (1..=MOST_TERMS).contains(&first.len()).then(|| {
        let values = first.clone();
        let body = among("ahead", "(peer + ranks - rank) % ranks", &values);
        let by_distance = when(body, move |rank, peer| values.contains(&ahead(rank, peer)));
        let values = first.clone();
        let body = among("flipped", "rank ^ peer", &values);
        [by_distance, when(body, move |rank, peer| values.contains(&(rank ^ peer)))]
    });
    circles.into_iter().chain(few.into_iter().flatten())
}

/// The same, with a list of the peers of each rank.
fn listed(name: &str, peers: &[BTreeSet<u32>]) -> String {
    let ends = peers.iter().scan(0, |end, peers| {
        *end += peers.len();
        Some(*end)
    });
    let row = |numbers: &mut dyn Iterator<Item = String>| numbers.collect::<Vec<_>>().join(", ");
    let ends = row(&mut std::iter::once(0).chain(ends).map(|end| end.to_string()));
    let all = row(&mut peers.iter().flatten().map(u32::to_string));
    format!(
        "{WITH_TABLE} bool {name}(uint32_t rank, uint32_t peer) {{\n        \
         static const uint32_t ends[] = {{{ends}}};\n        \
         static const uint32_t peers[] = {{{all}}};\n        \
         for (uint32_t k = ends[rank]; k < ends[rank + 1]; ++k)\n            \
         if (peers[k] == peer) return true;\n        \
         return false;\n    }}"
    )
}
