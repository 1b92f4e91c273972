//! Guesses at folds: things with equal marks correspond.

use super::super::merged::Merged;
use super::super::turn::Turn;
use super::marks::{Marks, Numbers, marks, mix};
use super::stretches::Stretches;
use super::uses::Cells;
use super::{Folded, Homes, back};
use crate::ir::{Buffer, Program, RankId};
use crate::table::Id;

/// A guess at the ranks' counterparts, from their marks; none where these differ.
pub(super) fn by_marks(
    (merged, cells): (&Merged<'_>, &[Cells]),
    turn: Turn,
    marks: &[Marks],
) -> Option<Vec<Folded>> {
    let of = |rank: RankId| cells.get(rank.index()).zip(marks.get(rank.index()));
    let cells = |rank, buffer| chunks(of(turn.home(rank).0)?, of(rank)?, buffer);
    folded((merged.program(), turn, marks), cells)
}

/// Another guess, for buffers with the same number of chunks for each rank, which move with that rank to its place:
/// such a buffer may be cut elsewhere on every rank, and then its marks say little. Chunks of other buffers are in the
/// same places on all ranks.
pub(super) fn by_number(
    (merged, cells): (&Merged<'_>, &[Cells]),
    turn: Turn,
) -> Option<Vec<Folded>> {
    let program = merged.program();
    let marks = marks((merged, cells), turn, (Numbers::OfOperations, 1))?;
    let ranks = program.ranks.len() as u32;
    folded((program, turn, &marks), |rank, buffer| {
        let chunks = super::chunks(program.ranks.lookup(rank)?, buffer);
        let each = if chunks.is_multiple_of(ranks) { chunks / ranks } else { 0 };
        let back = back(turn, rank);
        let of_rank = |of: u32| {
            let first = turn.then(of, back) * each;
            first..first + each
        };
        Some(match each {
            0 => Homes::same(chunks),
            _ => Homes::new((0..ranks).flat_map(of_rank).collect()),
        })
    })
}

/// Blocks, channels and semaphores matched by marks, and cells in the given way.
fn folded(
    (program, turn, marks): (&Program, Turn, &[Marks]),
    cells: impl Fn(RankId, Buffer) -> Option<Homes>,
) -> Option<Vec<Folded>> {
    let folded = |rank: RankId| {
        let first = marks.get(turn.home(rank).0.index())?;
        let own = marks.get(rank.index())?;
        Some(Folded {
            blocks: paired(&own.blocks, &first.blocks)?,
            channels: paired(&first.channels, &own.channels)?,
            semaphores: paired(&first.semaphores, &own.semaphores)?,
            input: cells(rank, Buffer::Input)?,
            output: cells(rank, Buffer::Output)?,
            scratch: cells(rank, Buffer::Scratch)?,
        })
    };
    program.ranks.ids().map(folded).collect()
}

/// For each chunk of a rank's buffer, the one with the same mark on its representative.
fn chunks(
    (first_cells, first): (&Cells, &Marks),
    (cells, own): (&Cells, &Marks),
    buffer: Buffer,
) -> Option<Homes> {
    let at = buffer as usize;
    let from = (first_cells.get(at)?, first.cells.get(at)?.as_slice());
    let to = (cells.get(at)?, own.cells.get(at)?.as_slice());
    if from == to {
        return Some(Homes::same(to.0.ends().last()?));
    }
    paired(&of_chunks(from), &of_chunks(to)).map(Homes::new)
}

/// The mark of each chunk: its stretch's mark mixed with its position there; the position does not matter in unused
/// stretches.
fn of_chunks((stretches, marks): (&Stretches, &[u64])) -> Vec<u64> {
    let ends = stretches.ends().zip(stretches.ends().skip(1));
    ends.zip(marks)
        .flat_map(|((start, end), mark)| {
            (0..end - start).map(move |at| if *mark == 0 { 0 } else { mix(*mark, u64::from(at)) })
        })
        .collect()
}

/// For each of the second list's marks, its position in the first list; equal marks are matched in order.
fn paired(from: &[u64], to: &[u64]) -> Option<Vec<u32>> {
    if from == to {
        return Some((0..to.len() as u32).collect());
    }
    let sorted = |marks: &[u64]| {
        let mut list: Vec<(u64, u32)> = marks.iter().copied().zip(0..).collect();
        list.sort_unstable();
        list
    };
    let (from, to) = (sorted(from), sorted(to));
    let mut pairs = vec![0; to.len()];
    for ((mark, at), (wanted, into)) in from.iter().zip(&to) {
        if mark != wanted {
            return None;
        }
        *pairs.get_mut(*into as usize)? = *at;
    }
    (from.len() == to.len()).then_some(pairs)
}
