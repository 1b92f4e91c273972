//! The granularity at which memory is modeled.

use super::memory::covered;
use super::windows::choose_windows;
use super::{Action, Op, Program, Promise, Rank, Transfer, all_ops};

/// A granularity: `parts` cells for every `unit` chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grain {
    /// Cells per unit.
    parts: u32,
    /// Chunks per unit: 1, or the number of chunks that are always used together.
    unit: u32,
}

impl Grain {
    /// This many cells per chunk.
    #[must_use]
    pub fn parts(parts: u32) -> Grain {
        Grain { parts, unit: 1 }
    }

    /// This many cells for every so many chunks.
    #[must_use]
    pub fn cells_of_chunks(parts: u32, chunks: u32) -> Grain {
        Grain { parts, unit: chunks.max(1) }
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

    /// Converts a number of chunks, or the first chunk of a unit, to cells.
    #[must_use]
    pub fn cells(self, chunks: u64) -> u64 {
        chunks.saturating_mul(u64::from(self.parts)) / u64::from(self.unit.max(1))
    }

    /// The chunk that a cell lies in; where several chunks are treated as one, about where it lies among them.
    #[must_use]
    pub fn chunk(self, cell: u64) -> u64 {
        let (first, part) = self.unit(cell);
        first + part * u64::from(self.unit) / u64::from(self.parts.max(1))
    }

    /// The first chunk of a cell's unit, and the cell's number in the unit.
    #[must_use]
    pub fn unit(self, cell: u64) -> (u64, u64) {
        let parts = u64::from(self.parts.max(1));
        (cell / parts * u64::from(self.unit), cell % parts)
    }
}

/// The coarsest grain at which every operand, slice and buffer is a whole number of cells, with chunks cut into `parts`
/// parts, and every promise is one about units: then whatever happens to a cell happens alike to everything in it. None
/// if that is no coarser than those parts.
///
/// Where there are pipelines, only whole chunks are combined, all of them by the same number. The program is then the
/// one with so many times fewer chunks: these have the parts that its own windows and slices need.
#[must_use]
pub fn find_coarsest_grain(program: &Program, parts: u32) -> Option<Grain> {
    // The common divisors of all chunk numbers, and of all ends of slices, in parts of chunks.
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
    let grain = match program.all_ops().any(|op| op.pipeline().is_some()) {
        true => {
            let unit = u32::try_from(chunks).ok()?.max(1);
            Grain { parts: count_parts_of_units(program, unit), unit }
        }
        false => merged(gcd(chunks.saturating_mul(u64::from(parts)), ends), parts)?,
    };
    (are_alike(program, grain.unit) && grain != Grain::parts(parts)).then_some(grain)
}

/// Whether the promises of all ranks are about units of so many chunks.
fn are_alike(program: &Program, unit: u32) -> bool {
    let mut last: *const Promise = std::ptr::null();
    program.ranks.iter().all(|rank| {
        // Usually all ranks share one list.
        let before = std::mem::replace(&mut last, rank.promises.as_ptr());
        before == last || is_alike(rank, unit)
    })
}

/// How many chunks are always used together: every operand and buffer has a whole number of units of so many chunks, and
/// every promise is one about units. Slices may end anywhere.
#[must_use]
pub fn count_chunks_used_together(program: &Program) -> u32 {
    let mut unit = 0;
    for rank in &program.ranks {
        let offset = rank.alias.map_or(0, |alias| alias.offset);
        for count in [rank.input_chunks, rank.output_chunks, rank.scratch_chunks, offset] {
            unit = gcd(unit, u64::from(count));
        }
        for op in rank.all_ops() {
            for operand in op.transfer().into_iter().flat_map(Transfer::operands) {
                unit = gcd(u64::from(operand.size), gcd(u64::from(operand.index), unit));
            }
            if let Some(pipeline) = op.pipeline() {
                unit = gcd(u64::from(pipeline.chunks), unit);
            }
            if unit == 1 {
                return 1;
            }
        }
    }
    let unit = u32::try_from(unit).unwrap_or(1).max(1);
    if are_alike(program, unit) { unit } else { 1 }
}

/// The grain whose cells are `cell` parts of chunks each.
fn merged(cell: u64, parts: u32) -> Option<Grain> {
    let shared = gcd(cell, u64::from(parts)).max(1);
    let unit = u32::try_from(cell / shared).ok()?;
    Some(Grain { parts: parts / shared as u32, unit })
}

/// The common divisors of all chunk numbers, and of all ends of slices in parts of chunks, with those of one more
/// operation.
fn common((chunks, ends): (u64, u64), op: &Op, parts: u64) -> (u64, u64) {
    let transfer = match &op.action {
        Action::Transfer(transfer) => transfer,
        // A window's extent is counted in bytes, so it is a part of all chunks together.
        Action::Pipeline(pipeline) => return (gcd(u64::from(pipeline.chunks), chunks), 0),
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
    // What divides all numbers so far usually divides the next one, too, so that is tried first. Usually the operands
    // of an operation have one size.
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

/// Whether the chunks of each unit have the same promise, each in terms of the chunks at its own position in other
/// units.
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

/// Whether a promise is the one for the first chunk of its unit, shifted by `by` chunks.
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

/// The number of parts into which chunks must be cut for every slice and every window to be whole; at most
/// [`MOST_PARTS`].
#[must_use]
pub fn count_parts(program: &Program) -> u32 {
    count_parts_of_units(program, 1)
}

/// The same where `unit` chunks are treated as one.
fn count_parts_of_units(program: &Program, unit: u32) -> u32 {
    let mut parts = u64::from(choose_windows(program).parts);
    for transfer in program.all_ops().filter_map(Op::transfer) {
        let count = transfer.slice.map_or(1, |slice| u64::from(slice.count.max(1)));
        if count == 1 {
            continue;
        }
        for operand in &transfer.destinations {
            let share = count / gcd(count, u64::from(operand.size / unit).max(1));
            let common = parts / gcd(parts, share) * share;
            parts = if common <= u64::from(MOST_PARTS) { common } else { parts };
        }
    }
    parts as u32
}

/// The most parts that a chunk is cut into. If more would be needed, some slices are uneven.
pub const MOST_PARTS: u32 = 5040;

/// The greatest number that divides both.
#[must_use]
pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
