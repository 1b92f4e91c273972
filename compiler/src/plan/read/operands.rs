//! What operands an operation of a plan takes.
//!
//! In: an operation's name and its operands, with where they are. Out: whether the executor uses them as
//! they say. It takes operands by position, whatever they are, with this rank's first. It takes the size
//! of what it moves from one side, and some operations take it from one operand for all. It reads
//! packets from scratch and writes them to scratch.

use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::plan::names::Shape;
use crate::source::Place;

/// Where an operation's operands must be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sides {
    /// From this rank to this rank, one by one.
    Local,
    /// From this rank to peers, one by one.
    Out,
    /// From this rank, read once, to all peers.
    Spread,
    /// From peers to this rank, one by one.
    In,
    /// From this rank to a group.
    Group,
    /// This rank's before all others, on both sides; the operation's name follows from where they are.
    Any,
}

impl Sides {
    pub(super) fn fit(self, sources: &[ir::Operand], destinations: &[ir::Operand]) -> bool {
        let (local, remote, switch) =
            (ir::Operand::is_local, ir::Operand::is_remote, ir::Operand::is_switch);
        let away = |operand: &ir::Operand| !operand.is_local();
        match self {
            Sides::Local => sources.iter().all(local) && destinations.iter().all(local),
            Sides::Out | Sides::Spread => {
                sources.iter().all(local) && destinations.iter().all(remote)
            }
            Sides::In => sources.iter().all(remote) && destinations.iter().all(local),
            Sides::Group => sources.iter().all(local) && destinations.iter().all(switch),
            Sides::Any => sources.is_sorted_by_key(away) && destinations.is_sorted_by_key(away),
        }
    }

    pub(super) fn paired(self) -> bool {
        self != Sides::Any
    }

    pub(super) fn one_to_all(self) -> bool {
        self == Sides::Spread
    }
}

/// The verb of an operation that moves data, and where its operands must be.
pub(super) fn verb(name: &str) -> Option<(ir::Verb, Sides)> {
    Some(match name {
        "copy" => (ir::Verb::Copy, Sides::Local),
        "cpkt" => (ir::Verb::CopyPackets, Sides::Local),
        "upkt" => (ir::Verb::UnpackPackets, Sides::Local),
        "put" => (ir::Verb::Put, Sides::Out),
        "ppkt" => (ir::Verb::PutPackets, Sides::Out),
        "rppkt" => (ir::Verb::ReadPutPackets, Sides::Spread),
        "pws" => (ir::Verb::PutWithSignal, Sides::Out),
        "pwsf" => (ir::Verb::PutWithSignalAndFlush, Sides::Out),
        "get" => (ir::Verb::Get, Sides::In),
        "re" | "res" | "rre" | "rres" | "glres" => (ir::Verb::Reduce, Sides::Any),
        "repkt" | "respkt" | "recpkt" | "recspkt" => (ir::Verb::ReducePackets, Sides::Any),
        "gstore" => (ir::Verb::Broadcast, Sides::Group),
        "gstorepkt" => (ir::Verb::BroadcastPackets, Sides::Group),
        _ => return None,
    })
}

/// Reports operands of a transfer that do not go together: different sizes, or packets that are not in scratch.
pub(super) fn mistake(name: &str, transfer: &ir::Transfer, place: Place) -> Option<Diagnostic> {
    if let Some(sizes) = different_sizes(transfer) {
        return Some(sizes_differ(name, sizes, place));
    }
    let (read, written) =
        ir::memory::packets(transfer.verb, &transfer.sources, &transfer.destinations);
    let mut packets = read.into_iter().chain(written);
    let plain = packets.find(|operand| operand.buffer != ir::Buffer::Scratch)?;
    Some(plain_packets(name, plain, place))
}

/// The first two sizes that differ but should not. In pairs, only source and destination must have the same size.
fn different_sizes(transfer: &ir::Transfer) -> Option<(u32, u32)> {
    let (sources, destinations) = (&*transfer.sources, &*transfer.destinations);
    let sizes = |operands: &[ir::Operand]| -> Vec<u32> {
        operands.iter().map(|operand| operand.size).collect()
    };
    let (from, to) = (sizes(sources), sizes(destinations));
    if Shape::of(transfer.verb) == Shape::Pairs {
        return from.into_iter().zip(to).find(|(one, other)| one != other);
    }
    let first = *from.first()?;
    let other = from.into_iter().chain(to).find(|size| *size != first)?;
    Some((first, other))
}

fn sizes_differ(name: &str, (one, other): (u32, u32), place: Place) -> Diagnostic {
    let chunks = |size: u32| if size == 1 { "1 chunk".into() } else { format!("{size} chunks") };
    let (one, other) = (chunks(one), chunks(other));
    let message = format!("the operands of a `{name}` differ in size: {one} and {other}");
    Diagnostic::new(Code::E0309, place, message)
        .help("give what is read and what is written the same `size`")
}

fn plain_packets(name: &str, plain: &ir::Operand, place: Place) -> Diagnostic {
    let buffer = plain.buffer.word();
    let whose = match plain.place {
        ir::Where::Local => String::new(),
        ir::Where::Remote(rank) => format!(" of rank {}", rank.0),
        ir::Where::Switch(_) => " of a group".to_owned(),
    };
    let message =
        format!("a `{name}` has packets in `{buffer}`{whose}, and packets can only be in scratch");
    Diagnostic::new(Code::E0210, place, message)
        .help("a packet takes twice its payload, which only scratch has room for")
}
