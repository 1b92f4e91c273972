//! Whether what is promised is there, where few ranks are followed.
//!
//! In: what these have left in memory. Out: whether every rank's output holds what its collective promises. What the others hold is
//! what those hold that stand for them, turned; so it is compared without being made. A sum over one chunk of every rank, as
//! long as there are ranks, is turned to another one as long as turns compose: then that is all there is to see to.

use super::cells::{Cells, Place};
use super::turn::By;
use super::value::{Inputs, Value, sum};
use crate::ir::{Buffer, Promise, Rank, RankId};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// A promise as it is compared: of one cell.
struct Kept<'a> {
    inputs: Inputs<'a>,
    /// Whether turns compose, once it is asked.
    composed: OnceCell<bool>,
}

/// Whether all promises are kept.
pub(super) fn are_kept(inputs: Inputs<'_>, cells: &[Cells<'_>]) -> bool {
    let kept = Kept { inputs, composed: OnceCell::new() };
    let unit = inputs.grain.chunks_of_unit();
    let mut alike: BTreeMap<*const Promise, Vec<(RankId, &Rank)>> = BTreeMap::new();
    for (id, rank) in inputs.program.ranks.entries() {
        alike.entry(rank.promises.as_ptr()).or_default().push((id, rank));
    }
    alike.values().all(|ranks| {
        let promises = ranks.first().into_iter().flat_map(|(_, rank)| rank.promises.iter());
        // The chunks of a unit are promised alike.
        let mut promises = promises.filter(|promise| promise.chunk.is_multiple_of(unit));
        let standing: Vec<Option<Standing<'_>>> =
            ranks.iter().map(|one| kept.standing(*one)).collect();
        promises.all(|promise| {
            // What several ranks are promised is worked out once, and of a unit's first cell.
            let first = OnceCell::new();
            let parts = 0..inputs.grain.cells_of_unit();
            let promised: Vec<OnceCell<Value>> = parts.map(|_| OnceCell::new()).collect();
            let summed = sum_over_all(promise, inputs.program.ranks.len());
            let stands = |one: &Standing<'_>| {
                summed.is_some_and(|chunk| kept.stands_for(one, (promise.chunk, chunk)))
            };
            let ranks = ranks.iter().zip(&standing);
            let mut ranks = ranks.filter(|(_, one)| !one.as_ref().is_some_and(stands));
            ranks.all(|((id, _), _)| {
                (0..).zip(&promised).all(|(part, promised)| {
                    let promised = promised
                        .get_or_init(|| first.get_or_init(|| kept.promised(promise)).further(part));
                    kept.held(cells, *id, (promise.chunk, part)).is(inputs.fold.turn(), promised)
                })
            })
        })
    })
}

impl Kept<'_> {
    fn place(&self, rank: RankId, buffer: Buffer, (chunk, part): (u32, u32)) -> Place {
        let cell = self.inputs.grain.cells(u64::from(chunk)) + u64::from(part);
        self.inputs.place(rank, buffer, cell)
    }

    fn held(&self, cells: &[Cells<'_>], rank: RankId, at: (u32, u32)) -> Value {
        self.inputs.held(cells, self.place(rank, Buffer::Output, at))
    }

    /// What the first cell of a promise is to hold.
    fn promised(&self, promise: &Promise) -> Value {
        let terms = promise.terms.iter().flat_map(|term| {
            (0..i64::from(term.count)).map(move |i| {
                let rank = i64::from(term.rank) + i * i64::from(term.rank_step);
                let chunk = i64::from(term.chunk) + i * i64::from(term.chunk_step);
                (RankId(rank as u32), chunk as u32)
            })
        });
        sum(terms
            .map(|(rank, chunk)| self.inputs.part(self.place(rank, Buffer::Input, (chunk, 0)))))
    }

    /// Whether an output chunk that is to be the sum of this chunk of all inputs is so if what is promised is kept on the rank
    /// that stands for this one.
    fn stands_for(&self, one: &Standing<'_>, (output, input): (u32, u32)) -> bool {
        let there =
            one.output.home(output).and_then(|output| of_chunk(&one.there.promises, output));
        let ranks = self.inputs.program.ranks.len();
        let summed = there.and_then(|promise| sum_over_all(promise, ranks));
        summed.is_some()
            && summed == one.input.home(input)
            && *self.composed.get_or_init(|| self.compose())
    }

    /// What stands for what a rank has; none if it stands for itself.
    fn standing(&self, (id, rank): (RankId, &Rank)) -> Option<Standing<'_>> {
        let (first, by) = self.inputs.fold.turn().home(id);
        let there = self.inputs.program.ranks.lookup(first)?;
        let alike = by != 0 && rank.input_chunks == there.input_chunks;
        let column = |buffer| self.column(id, buffer);
        let (input, output) = (column(Buffer::Input)?, column(Buffer::Output)?);
        alike.then_some(Standing { there, input, output })
    }

    /// The chunks of a rank's buffer.
    fn column(&self, id: RankId, buffer: Buffer) -> Option<Column<'_>> {
        let rank = self.inputs.program.ranks.lookup(id)?;
        let first = |id| {
            let place = self.inputs.place(id, buffer, 0);
            (place.buffer, self.inputs.grain.unit(place.cell).0 as u32)
        };
        let ((outer, offset), (there, begin)) =
            (first(id), first(self.inputs.fold.turn().home(id).0));
        let chunks = match buffer {
            Buffer::Input => rank.input_chunks,
            Buffer::Output => rank.output_chunks,
            Buffer::Scratch => rank.scratch_chunks,
        };
        let cells = self.inputs.fold.cells(id, outer);
        let cells = cells.get(offset as usize..(offset + chunks) as usize)?;
        (outer == there).then_some(Column { cells, begin })
    }

    /// Whether one turn after another leads every chunk of input where both at once lead it. That is so if it is for those
    /// of which all turns are made.
    fn compose(&self) -> bool {
        let (program, turn) = (self.inputs.program, self.inputs.fold.turn());
        let column = |rank: RankId| self.column(rank, Buffer::Input);
        let ranks = program.ranks.len() as u32;
        turn.generators(ranks).into_iter().all(|one: By| {
            let Some(first) = column(RankId(one)) else { return false };
            program.ranks.ids().all(|rank| {
                let before = RankId(turn.then(rank.0, turn.back(one)));
                let both = column(rank).zip(column(before));
                both.is_some_and(|(own, other)| {
                    let chunks = 0..own.cells.len() as u32;
                    let mut via = chunks.map(|chunk| (own.home(chunk), first.home(chunk)));
                    own.cells.len() == first.cells.len()
                        && via.all(|(both, via)| {
                            both.is_some() && via.and_then(|via| other.home(via)) == both
                        })
                })
            })
        })
    }
}

/// What stands for what a rank has.
struct Standing<'a> {
    there: &'a Rank,
    input: Column<'a>,
    output: Column<'a>,
}

/// For each chunk of a rank's buffer the one that stands for it, in the buffer that really holds it.
struct Column<'a> {
    cells: &'a [u32],
    /// Where in that the buffer begins on the rank that stands for this one.
    begin: u32,
}

impl Column<'_> {
    /// The chunk of the same buffer that stands for one.
    fn home(&self, chunk: u32) -> Option<u32> {
        let home = self.cells.get(chunk as usize)?.checked_sub(self.begin)?;
        ((home as usize) < self.cells.len()).then_some(home)
    }
}

/// The chunk that a promise sums up over all ranks, if that is what it promises.
fn sum_over_all(promise: &Promise, ranks: usize) -> Option<u32> {
    let [term] = promise.terms.as_slice() else { return None };
    let all = (term.rank, term.count as usize) == (0, ranks);
    (all && (term.rank_step, term.chunk_step) == (1, 0)).then_some(term.chunk)
}

/// The promise of an output chunk.
fn of_chunk(promises: &[Promise], chunk: u32) -> Option<&Promise> {
    let mostly = promises.get(chunk as usize).filter(|promise| promise.chunk == chunk);
    mostly.or_else(|| {
        let at = promises.binary_search_by_key(&chunk, |promise| promise.chunk).ok()?;
        promises.get(at)
    })
}
