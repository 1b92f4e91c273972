//! Where operands lie: from an operand to the cells of memory behind it.
//!
//! In place, one of input and output is a part of the other; both names lead to the same cells here. A switch operand
//! lies on every rank of its group. Packets take up twice the space of their payload, from twice the offset on.

use super::{
    Alias, Buffer, Channel, ChannelKind, Link, Operand, OperandForm, Program, Rank, RankId, Slice,
    Transfer, Verb, Where,
};
use crate::table::Table;

use std::ops::Range;

/// Cells of one rank's memory: half open, in chunks of the buffer that really holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Extent {
    /// Whose memory.
    pub rank: RankId,
    /// The buffer; where two share memory, the outer one.
    pub buffer: Buffer,
    /// The first cell.
    pub start: u64,
    /// The cell after the last.
    pub end: u64,
}

impl Extent {
    /// Whether the two have a cell in common.
    #[must_use]
    pub fn overlaps(&self, other: &Extent) -> bool {
        self.rank == other.rank
            && self.buffer == other.buffer
            && self.start < other.end
            && other.start < self.end
    }
}

/// The buffer and cell that really hold chunk `index` of `buffer`, on a rank whose buffers share memory like this.
#[must_use]
pub fn home(alias: Option<Alias>, buffer: Buffer, index: u32) -> (Buffer, u64) {
    match alias {
        Some(alias) if alias.inner == buffer => {
            (alias.outer, u64::from(alias.offset) + u64::from(index))
        }
        Some(_) | None => (buffer, u64::from(index)),
    }
}

/// Whether MSCCL++'s executor finds scratch on other ranks only where all have the same amount: with halves or slots, it
/// computes places there from its own rank's amount; and a switch's group binds as much on every member.
#[must_use]
pub fn needs_equal_scratch(program: &Program) -> bool {
    let switched = |channel: &Channel| match &channel.link {
        Link::Switch(group) => group.buffer == Buffer::Scratch,
        Link::Memory(_) | Link::Port(_) => false,
    };
    let options = &program.options;
    let mut channels = program.ranks.iter().flat_map(|rank| &rank.channels);
    options.double_scratch || options.reuse_resources || channels.any(switched)
}

/// The ranks on which an operand of rank `here` lies: several for the group of a switch.
pub fn ranks_of(
    ranks: &Table<RankId, Rank>,
    here: RankId,
    place: Where,
) -> impl Iterator<Item = RankId> + Clone {
    let group = |channel| match &ranks.lookup(here)?.channels.lookup(channel)?.link {
        Link::Switch(group) => Some(group.ranks.as_slice()),
        Link::Memory(_) | Link::Port(_) => None,
    };
    let (single, group) = match place {
        Where::Local => (Some(here), None),
        Where::Remote(peer) => (Some(peer), None),
        Where::Switch(channel) => (None, group(channel)),
    };
    single.into_iter().chain(group.unwrap_or_default().iter().copied())
}

/// The chunks behind an operand of rank `here`, one extent for each rank on which it lies.
pub fn extents(
    ranks: &Table<RankId, Rank>,
    here: RankId,
    operand: Operand,
) -> impl Iterator<Item = Extent> {
    ranks_of(ranks, here, operand.place).filter_map(move |id| {
        let (buffer, start) = home(ranks.lookup(id)?.alias, operand.buffer, operand.index);
        Some(Extent { rank: id, buffer, start, end: start + u64::from(operand.size) })
    })
}

/// The cells behind an operand of rank `here`, one extent for each rank on which it lies. As packets, it takes up twice
/// the space, from twice the offset on.
pub fn cells(
    ranks: &Table<RankId, Rank>,
    here: RankId,
    operand: Operand,
    packets: bool,
) -> impl Iterator<Item = Extent> {
    let factor = if packets { 2 } else { 1 };
    extents(ranks, here, operand).map(move |extent| Extent {
        start: extent.start * factor,
        end: extent.end * factor,
        ..extent
    })
}

/// Whether two operands are both local and have a chunk in common.
#[must_use]
pub fn overlap_locally(alias: Option<Alias>, a: &Operand, b: &Operand) -> bool {
    let home = |operand: &Operand| home(alias, operand.buffer, operand.index);
    let ((a_buffer, a_start), (b_buffer, b_start)) = (home(a), home(b));
    let (a_end, b_end) = (a_start + u64::from(a.size), b_start + u64::from(b.size));
    a.is_local() && b.is_local() && a_buffer == b_buffer && a_start < b_end && b_start < a_end
}

/// Whether source `index` of a transfer is read as packets. `put_packets` over a port, which only occurs in plans that
/// were read, sends what it finds as it is: it works where packets lie there.
#[must_use]
pub fn source_is_packets(transfer: &Transfer, index: usize) -> bool {
    let raw = transfer.verb == Verb::PutPackets && transfer.via == Some(ChannelKind::Port);
    raw || reads_packets(transfer.verb, index)
}

/// Whether a verb reads source `index` as packets.
#[must_use]
pub fn reads_packets(verb: Verb, index: usize) -> bool {
    verb.source_form(index) == OperandForm::Packets
}

/// Whether destination `index` of a transfer is written as packets.
#[must_use]
pub fn writes_packets(verb: Verb, index: usize) -> bool {
    verb.destination_form(index) == OperandForm::Packets
}

/// The operands of an operation that are packets, which lie in scratch: those that it reads, and those that it writes.
#[must_use]
pub fn packets<'o, T>(
    verb: Verb,
    sources: &'o [T],
    destinations: &'o [T],
) -> (Vec<&'o T>, Vec<&'o T>) {
    let among = |operands: &'o [T], is: fn(Verb, usize) -> bool| {
        let packets = operands.iter().enumerate().filter(|(index, _)| is(verb, *index));
        packets.map(|(_, operand)| operand).collect()
    };
    (among(sources, reads_packets), among(destinations, writes_packets))
}

/// One operand that a transfer reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The operand.
    pub operand: Operand,
    /// Whether it is written.
    pub write: bool,
    /// Whether it is in the form of packets.
    pub packets: bool,
    /// The block's part of it.
    pub slice: Option<Slice>,
}

/// Everything that a transfer reads, then everything that it writes.
pub fn accesses(transfer: &Transfer) -> impl Iterator<Item = Access> + '_ {
    let reads = transfer.sources.iter().enumerate().map(|(i, operand)| Access {
        operand: *operand,
        write: false,
        packets: source_is_packets(transfer, i),
        slice: transfer.slice,
    });
    let writes = transfer.destinations.iter().enumerate().map(|(i, operand)| Access {
        operand: *operand,
        write: true,
        packets: writes_packets(transfer.verb, i),
        slice: transfer.slice,
    });
    reads.chain(writes)
}

/// The cells of an operand of `length` cells that a block processes: its slice, and in a pipeline the window of that,
/// counted from the slice's beginning. If cells do not divide evenly, the first slices get one more each, as in the
/// executor.
#[must_use]
pub fn covered(slice: Option<Slice>, window: Option<&Range<u64>>, length: u64) -> Range<u64> {
    let slice = slice.unwrap_or(Slice { index: 0, count: 1 });
    let count = u64::from(slice.count.max(1));
    let bound = |i: u64| (length / count).saturating_mul(i).saturating_add(i.min(length % count));
    let part = bound(u64::from(slice.index))..bound(u64::from(slice.index) + 1);
    match window {
        Some(window) => {
            part.start.saturating_add(window.start)
                ..part.start.saturating_add(window.end).min(part.end)
        }
        None => part,
    }
}
