//! How finely memory is looked at.

use super::gcd;
use crate::ir::memory::covered;
use crate::ir::{Action, Op, Program, Promise, Rank, all_ops};

/// So many cells to so many chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grain {
    /// Cells to a unit.
    parts: u32,
    /// Chunks to a unit: 1, or as many as always go together.
    unit: u32,
}

impl Grain {
    /// So many cells to a chunk.
    #[must_use]
    pub fn parts(parts: u32) -> Grain {
        Grain { parts, unit: 1 }
    }

    /// How many cells a unit has.
    #[must_use]
    pub fn cells_of_unit(self) -> u32 {
        self.parts
    }

    /// How many chunks a unit has.
    #[must_use]
    pub fn chunks_of_unit(self) -> u32 {
        self.unit
    }

    /// So many chunks, or the first one of a unit, in cells.
    #[must_use]
    pub fn cells(self, chunks: u64) -> u64 {
        chunks.saturating_mul(u64::from(self.parts)) / u64::from(self.unit.max(1))
    }

    /// The first chunk of a cell's unit, and which cell of that it is.
    #[must_use]
    pub fn unit(self, cell: u64) -> (u64, u64) {
        let parts = u64::from(self.parts.max(1));
        (cell / parts * u64::from(self.unit), cell % parts)
    }
}

/// The coarsest grain for which every operand, slice and buffer is a number of whole cells, with chunks cut into so many
/// parts, and every promise one of units: what happens to a cell then happens alike to all that is in it. None where that
/// is no coarser than those parts.
#[must_use]
pub fn coarsest(program: &Program, parts: u32) -> Option<Grain> {
    // Of all chunk numbers, and in parts of chunks of all ends.
    let (mut chunks, mut ends) = (0, 0);
    for rank in &program.ranks {
        let offset = rank.alias.map_or(0, |alias| alias.offset);
        for count in [rank.input_chunks, rank.output_chunks, rank.scratch_chunks, offset] {
            chunks = gcd(chunks, u64::from(count));
        }
        for block in &rank.blocks {
            for op in all_ops(&block.ops) {
                (chunks, ends) = common((chunks, ends), op, u64::from(parts));
            }
            if gcd(chunks.saturating_mul(u64::from(parts)), ends) == 1 {
                return None;
            }
        }
    }
    let cell = gcd(chunks.saturating_mul(u64::from(parts)), ends);
    let shared = gcd(cell, u64::from(parts));
    let unit = u32::try_from(cell / shared.max(1)).ok()?;
    let grain = Grain { parts: parts / shared.max(1) as u32, unit };
    let mut last: *const Promise = std::ptr::null();
    let alike = program.ranks.iter().all(|rank| {
        // Mostly all ranks share one list.
        let before = std::mem::replace(&mut last, rank.promises.as_ptr());
        before == last || is_alike(rank, unit)
    });
    (alike && cell > 1).then_some(grain)
}

/// What divides all chunk numbers, and all ends of slices in parts of chunks, with those of an operation.
fn common((chunks, ends): (u64, u64), op: &Op, parts: u64) -> (u64, u64) {
    let transfer = match &op.action {
        Action::Transfer(transfer) => transfer,
        // What a window covers is counted in bytes.
        Action::Pipeline(_) => return (1, 1),
        Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_) => return (chunks, ends),
    };
    let operands = transfer.operands();
    let (mut chunks, mut ends) = (chunks, ends);
    // What divides all so far mostly divides the next one, and is asked first. Mostly the operands of an operation have one
    // size.
    let mut last = None;
    for operand in operands {
        chunks = gcd(u64::from(operand.index), chunks);
        if last == Some(operand.size) {
            continue;
        }
        last = Some(operand.size);
        let part = covered(transfer.slice, None, u64::from(operand.size) * parts);
        chunks = gcd(u64::from(operand.size), chunks);
        ends = gcd(part.end, gcd(part.start, ends));
    }
    (chunks, ends)
}

/// Whether the chunks of a unit are promised the same, each what is in its place of other units.
fn is_alike(rank: &Rank, unit: u32) -> bool {
    let mut first: Option<&Promise> = None;
    let mut next = 0;
    let alike = rank.promises.iter().all(|promise| {
        let at = promise.chunk % unit;
        if at == 0 {
            first = Some(promise);
        }
        let in_row = at == next;
        next = (at + 1) % unit;
        in_row && first.is_some_and(|first| is_shifted(first, promise, (at, unit)))
    });
    alike && next == 0
}

/// Whether a promise is that for the first chunk of its unit, so many chunks on.
fn is_shifted(first: &Promise, promise: &Promise, (by, unit): (u32, u32)) -> bool {
    promise.chunk == first.chunk + by
        && promise.terms.len() == first.terms.len()
        && promise.terms.iter().zip(&first.terms).all(|(term, one)| {
            let step = term.chunk_step.unsigned_abs();
            one.chunk.is_multiple_of(unit)
                && term.chunk == one.chunk + by
                && (term.count < 2 || step.is_multiple_of(unit))
                && (term.rank, term.count, term.rank_step, term.chunk_step)
                    == (one.rank, one.count, one.rank_step, one.chunk_step)
        })
}
