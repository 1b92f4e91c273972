//! How an operation that moves data is carried out: which bytes are read, combined and written.

use super::memory::Spot;
use crate::ir::memory::{covered, groups, ranks_of, source_is_packets, writes_packets};
use crate::ir::{Buffer, Operand, Program, RankId, ReduceOp, Transfer};
use smallvec::SmallVec;
use std::ops::Range;

/// Bytes that are read, combined and written, in that order.
#[derive(Debug)]
pub(super) struct Move {
    /// How many bytes.
    pub(super) bytes: u64,
    pub(super) reads: Vec<Side>,
    pub(super) writes: Vec<Side>,
    pub(super) op: ReduceOp,
}

/// What is read or written for one operand: on one rank, or on every rank of a switch's group.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) spots: SmallVec<[Spot; 1]>,
    pub(super) packets: bool,
}

/// The moves of an operation of rank `here`; in a pipeline, those of one window of its bytes.
pub(super) fn moves(
    program: &Program,
    here: RankId,
    transfer: &Transfer,
    window: Option<&Range<u64>>,
    chunk_bytes: u64,
) -> Vec<Move> {
    let mut moves = Vec::new();
    for group in groups(transfer) {
        let size = group.destinations.first().map_or(0, |(_, operand)| operand.size);
        let part = part(transfer, window, u64::from(size) * chunk_bytes, slice_unit(program));
        let side = |operand: &Operand, packets| {
            let mut spots = spots(program, here, operand, chunk_bytes);
            spots.iter_mut().for_each(|spot| *spot = spot.ahead(part.start));
            Side { spots, packets }
        };
        let reads = group.sources.iter().map(|(i, o)| side(o, source_is_packets(transfer, *i)));
        let writes =
            group.destinations.iter().map(|(i, o)| side(o, writes_packets(transfer.verb, *i)));
        moves.push(Move {
            bytes: part.end.saturating_sub(part.start),
            reads: reads.collect(),
            writes: writes.collect(),
            op: transfer.reduce,
        });
    }
    moves
}

/// The unit of slices, and of the sizes of chunks that are run, in bytes: `alignment`, or 16 where the emulator cannot move that.
#[must_use]
pub(super) fn slice_unit(program: &Program) -> u64 {
    let alignment = program.options.alignment;
    if alignment > 0 && alignment.is_multiple_of(16) { alignment.into() } else { 16 }
}

/// The range of an operand's bytes that is a block's: its slice or, in a pipeline, the window of
/// its slice. Slices end at multiples of the unit.
fn part(transfer: &Transfer, window: Option<&Range<u64>>, bytes: u64, unit: u64) -> Range<u64> {
    let slice = covered(transfer.slice, None, bytes / unit);
    let slice = slice.start * unit..slice.end * unit;
    match window {
        Some(window) => {
            let start = slice.start.saturating_add(window.start).min(slice.end);
            start..slice.start.saturating_add(window.end).min(slice.end)
        }
        None => slice,
    }
}

/// Where an operand begins, on each rank that has it. `Memory` resolves which of
/// two buffers that share memory holds it.
fn spots(program: &Program, here: RankId, operand: &Operand, chunk: u64) -> SmallVec<[Spot; 1]> {
    let (buffer, offset) = (operand.buffer, u64::from(operand.index) * chunk);
    let ranks = ranks_of(&program.ranks, here, operand.place);
    ranks.map(|rank| Spot { rank, buffer, offset }).collect()
}

/// Whether packets are written that someone may wait for.
pub(super) fn wakes(side: &Side) -> bool {
    side.packets && side.spots.iter().any(|spot| spot.buffer == Buffer::Scratch)
}
