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
        promises.all(|promise| {
            // What several ranks are promised is worked out once, and of a unit's first cell.
            let first = OnceCell::new();
            let parts = 0..inputs.grain.cells_of_unit();
            let promised: Vec<OnceCell<Value>> = parts.map(|_| OnceCell::new()).collect();
            let mut ranks = ranks.iter().filter(|rank| !kept.stands_for(**rank, promise));
            ranks.all(|(id, _)| {
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

    /// Whether a promise is one that is kept if it is kept on the rank that stands for this one.
    fn stands_for(&self, (id, rank): (RankId, &Rank), promise: &Promise) -> bool {
        let program = self.inputs.program;
        let (first, by) = self.inputs.fold.turn().home(id);
        let Some(there) = program.ranks.lookup(first) else { return false };
        let Some(chunk) = sum_over_all(promise, program.ranks.len()).filter(|_| by != 0) else {
            return false;
        };
        let output = self.home(id, Buffer::Output, promise.chunk, there);
        let stands = output.and_then(|output| of_chunk(&there.promises, output));
        let expected = stands.and_then(|promise| sum_over_all(promise, program.ranks.len()));
        rank.input_chunks == there.input_chunks
            && expected.is_some()
            && expected == self.home(id, Buffer::Input, chunk, there)
            && *self.composed.get_or_init(|| self.compose())
    }

    /// The chunk of a buffer that stands for one, by the same name of the buffer.
    fn home(&self, id: RankId, buffer: Buffer, chunk: u32, there: &Rank) -> Option<u32> {
        let place = self.inputs.place(id, buffer, self.inputs.grain.cells(u64::from(chunk)));
        let (home, _) = self.inputs.fold.home(place);
        let first = self.inputs.place(home.rank, buffer, 0);
        let cells = home.cell.checked_sub(first.cell)?;
        let (chunk, part) = self.inputs.grain.unit(cells);
        let chunks = match buffer {
            Buffer::Input => there.input_chunks,
            Buffer::Output => there.output_chunks,
            Buffer::Scratch => there.scratch_chunks,
        };
        let inside = first.buffer == home.buffer && part == 0 && chunk < u64::from(chunks);
        inside.then_some(chunk as u32)
    }

    /// Whether one turn after another leads every chunk of input where both at once lead it. That is so if it is for those
    /// of which all turns are made.
    fn compose(&self) -> bool {
        let (program, turn) = (self.inputs.program, self.inputs.fold.turn());
        let column = |rank: RankId| {
            let row = program.ranks.lookup(rank)?;
            let Place { buffer, cell, .. } = self.inputs.place(rank, Buffer::Input, 0);
            let (offset, _) = self.inputs.grain.unit(cell);
            let cells = self.inputs.fold.cells(rank, buffer);
            let first = self.inputs.place(turn.home(rank).0, Buffer::Input, 0);
            let (begin, _) = self.inputs.grain.unit(first.cell);
            let end = offset as usize + row.input_chunks as usize;
            Some((cells.get(offset as usize..end)?, begin as u32))
        };
        let ranks = program.ranks.len() as u32;
        turn.generators(ranks).into_iter().all(|one: By| {
            let Some((first, begin)) = column(RankId(one)) else { return false };
            program.ranks.ids().all(|rank| {
                let before = RankId(turn.then(rank.0, turn.back(one)));
                let both = column(rank).zip(column(before));
                both.is_some_and(|((cells, start), (others, other))| {
                    cells.len() == first.len()
                        && cells.iter().zip(first).all(|(cell, via)| {
                            let via = via.checked_sub(begin).map(|via| via as usize);
                            let there = via.and_then(|via| others.get(via));
                            there.and_then(|there| there.checked_sub(other))
                                == cell.checked_sub(start)
                                && there.is_some()
                        })
                })
            })
        })
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
