//! What operands an operation of a plan takes.
//!
//! In: an operation's name and its operands, with where they are. Out: whether the executor uses them as
//! they say. It takes operands by position, whatever they are, with this rank's first. It takes the size
//! of what it moves from one side, and some operations take it from one operand for all. It reads
//! packets from scratch and writes them to scratch.

use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::ir::{OperandSide, Pairing};
use crate::source::Place;
use grammar::verb::{OperandRule, PlanForm, PlanSupport};

/// The verb of an operation that moves data.
pub(super) fn find_verb(name: &str) -> Option<ir::Verb> {
    let is_it = |form: &PlanForm| form.name == name && form.support == PlanSupport::Executed;
    ir::Verb::ALL.iter().copied().find(|verb| verb.row().plan.iter().any(is_it))
}

/// Whether operands are where the executor expects them. A reduction takes this rank's before all others, on both sides,
/// and its name follows from where they are.
pub(super) fn are_in_place(
    verb: ir::Verb,
    sources: &[ir::Operand],
    destinations: &[ir::Operand],
) -> bool {
    let row = verb.row();
    let away = |operand: &ir::Operand| !operand.is_local();
    let fit = |operands: &[ir::Operand], rule: &OperandRule| match row.pairing {
        Pairing::Combine => operands.is_sorted_by_key(away),
        Pairing::Pairs | Pairing::OneToAll => {
            operands.iter().all(|operand| rule.first.sides.contains(&operand.place.side()))
        }
    };
    fit(sources, &row.sources) && fit(destinations, &row.destinations)
}

/// Whether there is a source for each destination, or one for all where the executor reads one for all peers.
pub(super) fn have_partners(
    verb: ir::Verb,
    sources: &[ir::Operand],
    destinations: &[ir::Operand],
) -> bool {
    let row = verb.row();
    let (from, to) = (sources.len(), destinations.len());
    match row.pairing {
        Pairing::Combine => true,
        Pairing::OneToAll if row.destinations.first.sides == [OperandSide::Remote] => {
            from == 1 || from == to
        }
        Pairing::Pairs | Pairing::OneToAll => from == to,
    }
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
    if transfer.verb.row().pairing == Pairing::Pairs {
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
