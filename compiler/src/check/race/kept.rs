//! Whether the promise is kept, where only representatives are followed.
//!
//! In: the memory that these have left. Out: whether every rank's output holds what its collective promises. The other
//! ranks hold what their representatives hold, turned; this is compared without being built. Where turns compose, a
//! reduction over one chunk of every rank turns into another such reduction: then it is enough to compare it on the
//! representative. What was combined by another operator than the collective's keeps no promise.

use super::cells::{Cell, Cells, Place};
use super::fold::{Homes, Span};
use super::turn::TurnId;
use super::value::{Inputs, Part, Value, reduction};
use crate::ir::memory::home;
use crate::ir::{Buffer, Promise, Rank, RankId, Term};
use crate::table::Id;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// How many promises are compared on one rank before going on to the next rank, so that the lookups of counterparts are
/// close to each other.
const AT_ONCE: usize = 64;

/// The data that promises are compared with.
struct Kept<'a> {
    inputs: Inputs<'a>,
    cells: &'a [Cells],
    /// Whether turns compose, once it is needed.
    composed: OnceCell<bool>,
    /// The sums that were found to be over a chunk of every rank, with the chunk and its cell.
    sums: RefCell<BTreeSet<Sum>>,
}

/// The parts of a sum, the chunk of all inputs, and the cell of that chunk.
type Sum = (*const Part, u32, u32);

/// A promise, evaluated once for all ranks that have the same.
struct Promised<'a> {
    promise: &'a Promise,
    /// The chunk that it sums over all ranks, if it is such a sum.
    summed: Option<u32>,
    /// What the first cell of its unit must hold, and what each cell must hold, once it is needed.
    first: OnceCell<Value>,
    cells: Vec<OnceCell<Value>>,
}

/// Whether all promises are kept.
pub(super) fn are_kept(inputs: Inputs<'_>, cells: &[Cells]) -> bool {
    let kept = Kept { inputs, cells, composed: OnceCell::new(), sums: RefCell::default() };
    let mut alike: BTreeMap<*const Promise, Vec<(RankId, &Rank)>> = BTreeMap::new();
    for (id, rank) in inputs.program.ranks.entries() {
        alike.entry(rank.promises.as_ptr()).or_default().push((id, rank));
    }
    alike.values().all(|ranks| kept.all(ranks))
}

impl<'a> Kept<'a> {
    /// Whether the promises are kept on ranks that have the same.
    fn all(&self, ranks: &[(RankId, &Rank)]) -> bool {
        let list = ranks.first().map_or(&[] as &[Promise], |(_, rank)| &rank.promises);
        debug_assert!(list.is_sorted_by_key(|one| one.chunk), "promises are in order");
        // The chunks of a unit have the same promise.
        let unit = self.inputs.grain.chunks_of_unit();
        let units: Vec<&Promise> =
            list.iter().filter(|one| one.chunk.is_multiple_of(unit)).collect();
        let columns: Vec<_> =
            ranks.iter().map(|one| (self.output(one.0), self.counterparts(*one))).collect();
        units.chunks(AT_ONCE).all(|some| {
            let some: Vec<Promised<'_>> =
                some.iter().map(|promise| self.promised(promise)).collect();
            columns.iter().all(|(output, counterparts)| {
                some.iter().all(|promised| {
                    let stands = |one| self.stands_for(one, promised);
                    counterparts.as_ref().is_some_and(stands) || self.is_kept(output, promised)
                })
            })
        })
    }

    fn promised<'b>(&self, promise: &'b Promise) -> Promised<'b> {
        Promised {
            promise,
            summed: sum_over_all(promise, self.inputs.program.ranks.len()),
            first: OnceCell::new(),
            cells: (0..self.inputs.grain.cells_of_unit()).map(|_| OnceCell::new()).collect(),
        }
    }

    fn is_kept(&self, output: &Output<'a>, promised: &Promised<'_>) -> bool {
        let turn = self.inputs.fold.turn();
        (0..).zip(&promised.cells).all(|(part, cell)| {
            let first = || promised.first.get_or_init(|| self.first(promised.promise));
            let wanted = || cell.get_or_init(|| first().further(part));
            let at = (promised.promise.chunk, part);
            let Some(held) = self.written(output, at) else {
                let place = self.place(output.rank, Buffer::Output, at);
                return self.inputs.given(place).has_parts_of((turn, 0), wanted());
            };
            if !held.combined().is_only(self.inputs.program.collective.op) {
                return false;
            }
            let sum = promised.summed.and_then(|chunk| self.sum((held, output.by), (chunk, part)));
            if sum.is_some_and(|sum| self.sums.borrow().contains(&sum)) {
                return true;
            }
            let is_kept = held.has_parts_of((turn, output.by), wanted());
            self.sums.borrow_mut().extend(sum.filter(|_| is_kept));
            is_kept
        })
    }

    /// The output of a rank.
    fn output(&self, id: RankId) -> Output<'a> {
        let Inputs { program, fold, .. } = self.inputs;
        let alias = program.ranks.lookup(id).and_then(|rank| rank.alias);
        let (buffer, first) = home(alias, Buffer::Output, 0);
        let (there, by) = fold.turn().home(id);
        let cells = self.cells.get(there.index());
        Output {
            rank: id,
            homes: fold.homes(id, buffer),
            first: first as u32,
            cells: cells.map_or(&[], |cells| cells.buffer(buffer)),
            by,
        }
    }

    /// The value of the counterpart of a cell of a rank's output, if it was ever written.
    fn written(&self, output: &Output<'a>, (chunk, part): (u32, u32)) -> Option<&'a Value> {
        let home = output.homes.and_then(|homes| homes.get(output.first + chunk));
        let home = home.unwrap_or_else(|| {
            self.inputs.fold.lose();
            0
        });
        let cell = self.inputs.grain.cells(u64::from(home)) + u64::from(part);
        let value = output.cells.get(cell as usize).map(|cell| &cell.value);
        value.filter(|value| !matches!(value, Value::Nothing))
    }

    /// The key of a sum: its parts, and the chunk over all inputs that they must sum so that the turned sum is the one
    /// over `chunk`; none where turns do not compose.
    fn sum(&self, (held, by): (&Value, TurnId), (chunk, part): (u32, u32)) -> Option<Sum> {
        let Value::Many(parts, more, _) = held else { return None };
        let turned = RankId(self.inputs.fold.turn().then(*more, by));
        let composed = || *self.composed.get_or_init(|| self.compose());
        let there = self.column(turned, Buffer::Input).filter(|_| composed())?;
        Some((parts.as_ptr(), there.home(chunk)?, part))
    }

    fn place(&self, rank: RankId, buffer: Buffer, (chunk, part): (u32, u32)) -> Place {
        let cell = self.inputs.grain.cells(u64::from(chunk)) + u64::from(part);
        self.inputs.place(rank, buffer, cell)
    }

    /// What the first cell of a promise must hold.
    fn first(&self, promise: &Promise) -> Value {
        let parts = promise.terms.iter().flat_map(Term::sources).map(|(rank, chunk)| {
            self.inputs.part(self.place(RankId(rank), Buffer::Input, (chunk, 0)))
        });
        reduction(self.inputs.program.collective.op, parts)
    }

    /// Whether an output chunk that must be the sum of one chunk of all inputs is so if the representative's promise is
    /// kept.
    fn stands_for(&self, one: &Counterparts<'_>, promised: &Promised<'_>) -> bool {
        let Some(input) = promised.summed else { return false };
        let home = one.output.home(promised.promise.chunk);
        let there = home.and_then(|output| of_chunk(&one.there.promises, output));
        let ranks = self.inputs.program.ranks.len();
        let summed = there.and_then(|promise| sum_over_all(promise, ranks));
        summed.is_some()
            && summed == one.input.home(input)
            && *self.composed.get_or_init(|| self.compose())
    }

    /// The counterparts of a rank's buffers; none if it represents itself.
    fn counterparts(&self, (id, rank): (RankId, &Rank)) -> Option<Counterparts<'_>> {
        let (first, by) = self.inputs.fold.turn().home(id);
        let there = self.inputs.program.ranks.lookup(first)?;
        let alike = by != 0 && rank.input_chunks == there.input_chunks;
        let column = |buffer| self.column(id, buffer);
        let (input, output) = (column(Buffer::Input)?, column(Buffer::Output)?);
        alike.then_some(Counterparts { there, input, output })
    }

    /// The counterparts of the chunks of a rank's buffer.
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
        let homes = self.inputs.fold.homes(id, outer)?;
        let homes = homes.span(offset..offset.checked_add(chunks)?)?;
        (outer == there).then_some(Column { homes, begin })
    }

    /// Whether turns compose on input chunks: one turn after another takes every chunk to where their composition takes
    /// it. It is enough that this holds for generators.
    fn compose(&self) -> bool {
        let (program, turn) = (self.inputs.program, self.inputs.fold.turn());
        let column = |rank: RankId| self.column(rank, Buffer::Input);
        let ranks = program.ranks.len() as u32;
        turn.generators(ranks).into_iter().all(|one: TurnId| {
            let Some(first) = column(RankId(one)) else { return false };
            let firsts = first.homes.chunks();
            program.ranks.ids().all(|rank| {
                let before = RankId(turn.then(rank.0, turn.back(one)));
                let both = column(rank).zip(column(before));
                both.is_some_and(|(own, other)| {
                    let [owns, others] = [own.homes, other.homes].map(Span::chunks);
                    let then = |via: u32| other.inside(*others.get(via as usize)?);
                    owns.len() == firsts.len()
                        && owns.iter().zip(firsts.iter()).all(|(both, via)| {
                            let both = own.inside(*both);
                            both.is_some() && first.inside(*via).and_then(then) == both
                        })
                })
            })
        })
    }
}

/// A rank's output, which holds what the representative's output holds, turned.
struct Output<'a> {
    rank: RankId,
    /// The counterparts of the chunks of the buffer that really holds it, and the first of these chunks that belongs to
    /// it.
    homes: Option<&'a Homes>,
    first: u32,
    cells: &'a [Cell],
    by: TurnId,
}

/// The counterparts of a rank's buffers on its representative.
struct Counterparts<'a> {
    there: &'a Rank,
    input: Column<'a>,
    output: Column<'a>,
}

/// For each chunk of a rank's buffer, its counterpart, in the buffer that really holds it.
struct Column<'a> {
    homes: Span<'a>,
    /// Where the buffer begins in that one, on the representative.
    begin: u32,
}

impl Column<'_> {
    /// The counterpart of a chunk, as a chunk of the same buffer.
    fn home(&self, chunk: u32) -> Option<u32> {
        self.inside(self.homes.get(chunk)?)
    }

    /// Converts a chunk of the buffer that really holds it to one of its own.
    fn inside(&self, home: u32) -> Option<u32> {
        home.checked_sub(self.begin).filter(|home| *home < self.homes.len())
    }
}

/// The chunk that a promise sums over all ranks, if that is what it promises.
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
