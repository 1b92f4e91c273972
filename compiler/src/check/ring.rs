//! Whether pipelines may wrap around in their scratch.
//!
//! In: a program with `reuse_resources`. There every chunk of scratch has a slot of fixed size, and a pipeline that
//! moves more than that starts again at the slot's first byte: the slot is a ring of windows. Out: the properties that
//! a ring must have so that no window is overwritten before it is read, if that can be shown for any ring.
//!
//! Windows are unrolled into operations of their own, once with scratch as a ring of few windows and once without a
//! ring, for every number of windows from one more than the ring has to one more than twice that. This covers every way
//! in which pipelines can follow each other in the ring. The ring may wrap if the first program has no race and both
//! programs leave the same outputs. A larger ring may wrap too: whatever is known when a window is written is known
//! when a later one is.
//!
//! The proof is not attempted where scratch is used outside pipelines, by groups or as packets; where chunks of two
//! operands overlap without being the same; where ranks differ in the size of scratch; and for reductions of scratch of
//! this rank, because MSCCL++'s executor reads the wrong sources after the first round of the ring.

mod credit;

use super::budget::{Exceeded, WRAPPED};
use super::race;
use crate::interpreter::{self, Outcome};
use crate::interrupt::Interrupt;
use crate::ir::grain::gcd;
use crate::ir::{
    self, Action, Alias, Block, Buffer, Op, Operand, Pipeline, Program, Rank, Transfer, Verb,
};
use std::collections::BTreeSet;

/// The ring sizes that are tried, in windows.
const RINGS: [u64; 5] = [1, 2, 4, 8, 16];

/// The properties that a ring must have for pipelines to wrap around in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ring {
    /// The fewest bytes that it has.
    bytes: u64,
    /// Sizes that must divide it.
    units: BTreeSet<u64>,
}

impl Ring {
    /// Whether a slot is large enough.
    pub(super) fn has_room(&self, slot: u64) -> bool {
        self.bytes <= slot
    }

    /// Whether a slot of scratch of `slot` bytes is such a ring.
    pub(super) fn is(&self, slot: u64) -> bool {
        self.has_room(slot) && self.units.iter().all(|unit| slot.is_multiple_of(*unit))
    }
}

/// Why no ring is known in which pipelines may wrap around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsafe {
    /// No proof was found.
    Unproved,
    /// The counters allow so many windows at once, and a ring of that size was too large to try.
    Untried(u64),
    /// Not even the smallest ring could be tried.
    TooLarge(Exceeded),
    /// After the first round of a ring, MSCCL++'s executor takes operands of this verb from the wrong places.
    Misread(Verb),
}

/// The properties that a ring must have, or why none is known.
pub(super) fn ring(program: &Program) -> Result<Ring, Unsafe> {
    if !program.options.reuse_resources || !is_plain(program) {
        return Err(misread(program).map_or(Unsafe::Unproved, Unsafe::Misread));
    }
    let units = units(program);
    let common = units
        .iter()
        .try_fold(1_u64, |common, unit| (common / gcd(common, *unit)).checked_mul(*unit));
    let Some(common) = common.filter(|_| !units.is_empty()) else {
        return Err(Unsafe::Unproved);
    };
    let cell = units.iter().fold(0, |least, unit| gcd(least, *unit));
    let safe = |ring: &u64| {
        (ring + 1..=2 * ring + 1)
            .all(|turns| Unrolled { common, cell, turns, ring: *ring }.is_safe(program))
    };
    let most = RINGS.last().copied().unwrap_or(0);
    let credits = credit::credits(program).into_iter().filter(|credit| *credit > most);
    let is_tried = |ring: &u64| Unrolled { common, cell, turns: 1, ring: *ring }.is_tried(program);
    let (larger, untried): (Vec<u64>, Vec<u64>) = credits.partition(is_tried);
    let windows = RINGS.iter().chain(&larger).find(|ring| safe(ring));
    let bytes = windows.and_then(|windows| windows.checked_mul(common));
    let smallest = Unrolled { common, cell, turns: 2, ring: 1 }.allow(program);
    let why = match (smallest, untried.first()) {
        (Err(exceeded), _) => Unsafe::TooLarge(exceeded),
        (Ok(_), Some(windows)) => Unsafe::Untried(*windows),
        (Ok(_), None) => Unsafe::Unproved,
    };
    bytes.map(|bytes| Ring { bytes, units }).ok_or(why)
}

/// The units of all pipelines.
fn units(program: &Program) -> BTreeSet<u64> {
    program.all_ops().filter_map(Op::pipeline).map(|pipeline| pipeline.unit.max(1)).collect()
}

/// Whether scratch is used only in ways for which the proof holds.
fn is_plain(program: &Program) -> bool {
    let mut scratch = program.ranks.iter().map(|rank| rank.scratch_chunks);
    let first = scratch.next();
    if !scratch.all(|chunks| Some(chunks) == first) {
        return false;
    }
    let (mut plain, mut used) = (true, BTreeSet::new());
    for op in program.blocks().flat_map(|block| &block.ops) {
        let Some(pipeline) = op.pipeline() else {
            plain &= scratch_of(op).next().is_none();
            continue;
        };
        plain &= pipeline.body.iter().all(is_plain_inside);
        used.extend(pipeline.body.iter().flat_map(scratch_of).map(|o| (o.index, o.size)));
    }
    let apart = used.iter().zip(used.iter().skip(1)).all(|(a, b)| a.0 + a.1 <= b.0);
    plain && apart && !used.is_empty()
}

fn is_plain_inside(op: &Op) -> bool {
    let Action::Transfer(transfer) = &op.action else { return op.pipeline().is_none() };
    let accesses = || ir::memory::accesses(transfer);
    transfer.slice.is_none() && !is_misread(op) && accesses().all(|access| !access.packets)
}

/// The verb of an operation in a pipeline that the executor carries out wrongly in a ring.
fn misread(program: &Program) -> Option<Verb> {
    let inside = program.all_ops().filter_map(Op::pipeline).flat_map(|inner| &inner.body);
    inside.filter(|op| is_misread(op)).find_map(|op| Some(op.transfer()?.verb))
}

fn is_misread(op: &Op) -> bool {
    let Some(transfer) = op.transfer() else { return false };
    // The executor reads the first of them and the destination correctly, but takes the others from what comes after
    // the destination.
    let several = transfer.verb == Verb::Reduce
        && transfer.sources.iter().filter(|operand| operand.is_local()).count() > 1;
    // It swaps the place in the ring with that in the other buffer.
    let swapped = transfer.verb == Verb::Get;
    (several || swapped) && scratch_of(op).next().is_some()
}

fn scratch_of(op: &Op) -> impl Iterator<Item = Operand> + '_ {
    let operands = op.transfer().into_iter().flat_map(Transfer::operands);
    operands.copied().filter(|operand| operand.buffer == Buffer::Scratch)
}

/// Parameters for unrolling a program: a number of windows per chunk, and a ring.
struct Unrolled {
    /// A number of bytes that is a multiple of every unit.
    common: u64,
    /// The bytes of a cell; every unit is a multiple of it.
    cell: u64,
    /// The size of a chunk, in multiples of `common`.
    turns: u64,
    /// The size of a slot, in multiples of `common`.
    ring: u64,
}

impl Unrolled {
    /// Whether the programs for a ring of so many windows are small enough together.
    fn is_tried(&self, program: &Program) -> bool {
        let turns = (self.ring + 1).saturating_mul(self.ring.saturating_mul(3)) / 2;
        WRAPPED.allow(turns.saturating_mul(self.steps(program))).is_ok()
    }

    fn is_safe(&self, program: &Program) -> bool {
        let Some(round) = self.program(program, self.ring) else { return false };
        let Some(straight) = self.program(program, u64::MAX) else {
            return false;
        };
        let run = |program: &Program| match interpreter::run(program, WRAPPED.amount()) {
            Outcome::Finished(memory) => Some(memory),
            Outcome::Stuck(_) | Outcome::TooLong => None,
        };
        let (Some(after), Some(wanted)) = (run(&round), run(&straight)) else { return false };
        let races = race::met(&round, &after.rewritten(), &Interrupt::default());
        let same = |rank| after.output(&round, rank) == wanted.output(&straight, rank);
        races.is_some_and(|found| found.is_empty()) && round.ranks.ids().all(same)
    }

    /// How many cells a chunk has, if there are not too many.
    fn allow(&self, program: &Program) -> Result<u64, Exceeded> {
        let cells = self.turns.saturating_mul(self.common) / self.cell.max(1);
        let all = program.chunks().saturating_mul(cells);
        WRAPPED.allow(self.steps(program).saturating_add(all)).map(|()| cells)
    }

    /// The program with its windows unrolled, and rings of `ring` times `common` bytes; none where it is too large.
    fn program(&self, program: &Program, ring: u64) -> Option<Program> {
        let cells = u32::try_from(self.allow(program).ok()?).ok()?;
        let window = Window { cells, ring: ring.saturating_mul(self.common / self.cell) };
        let ranks: Vec<Rank> =
            program.ranks.iter().map(|rank| self.rank(rank, &window)).collect::<Option<_>>()?;
        Some(Program {
            collective: program.collective.clone(),
            options: program.options.clone(),
            ranks: ranks.into(),
            ranks_per_node: program.ranks_per_node,
            ranks_per_domain: program.ranks_per_domain,
            machine: None,
            origins: program.origins.clone(),
            joins: program.joins,
            flush_waits: program.flush_waits,
            instances_done: program.instances_done,
            chunk_size: program.chunk_size,
        })
    }

    fn steps(&self, program: &Program) -> u64 {
        let of = |op: &Op| {
            op.pipeline()
                .map_or(1, |inner| self.rounds(inner).saturating_mul(inner.body.len() as u64))
        };
        program.blocks().flat_map(|block| &block.ops).map(of).fold(0, u64::saturating_add)
    }

    fn rounds(&self, pipeline: &Pipeline) -> u64 {
        let bytes = u64::from(pipeline.chunks).saturating_mul(self.turns * self.common);
        bytes.div_ceil(pipeline.unit.max(1))
    }

    fn rank(&self, rank: &Rank, window: &Window) -> Option<Rank> {
        let times = |chunks: u32| chunks.checked_mul(window.cells);
        let alias = match rank.alias {
            Some(alias) => Some(Alias { offset: times(alias.offset)?, ..alias }),
            None => None,
        };
        let blocks = rank.blocks.iter().map(|block| {
            let ops = self.ops(&block.ops, window)?;
            Some(Block { name: block.name.clone(), ops, origin: block.origin })
        });
        Some(Rank {
            input_chunks: times(rank.input_chunks)?,
            output_chunks: times(rank.output_chunks)?,
            scratch_chunks: times(rank.scratch_chunks)?,
            alias,
            regions: Vec::new(),
            channels: rank.channels.clone(),
            semaphores: rank.semaphores.clone(),
            barriers: rank.barriers.clone(),
            blocks: blocks.collect::<Option<Vec<Block>>>()?.into(),
            promises: [].into(),
            begun: [].into(),
            same: [].into(),
        })
    }

    fn ops(&self, ops: &[Op], window: &Window) -> Option<Vec<Op>> {
        let mut written = Vec::new();
        for op in ops {
            let Some(pipeline) = op.pipeline() else {
                written.push(whole(op, window)?);
                continue;
            };
            let unit = pipeline.unit / self.cell;
            for round in 0..self.rounds(pipeline) {
                let first = round.checked_mul(unit)?;
                let inner = pipeline.body.iter().map(|op| part(op, window, first, unit));
                written.extend(inner.collect::<Option<Vec<Op>>>()?);
            }
        }
        Some(written)
    }
}

/// How memory is cut into cells.
struct Window {
    /// Cells per chunk.
    cells: u32,
    /// Cells per ring.
    ring: u64,
}

/// An operation outside pipelines.
fn whole(op: &Op, window: &Window) -> Option<Op> {
    with_operands(op, &mut |operand| {
        let (index, size) =
            (operand.index.checked_mul(window.cells)?, operand.size.checked_mul(window.cells)?);
        Some(Operand { index, size, ..operand })
    })
}

/// The part of an operation in a pipeline that one round covers: `unit` cells from `first` on.
fn part(op: &Op, window: &Window, first: u64, unit: u64) -> Option<Op> {
    with_operands(op, &mut |operand| {
        let end = u64::from(operand.size).checked_mul(u64::from(window.cells))?;
        let size = unit.min(end.checked_sub(first)?);
        let at = if operand.buffer == Buffer::Scratch { first % window.ring } else { first };
        let index =
            u64::from(operand.index).checked_mul(u64::from(window.cells))?.checked_add(at)?;
        let (index, size) = (u32::try_from(index).ok()?, u32::try_from(size).ok()?);
        Some(Operand { index, size, ..operand })
    })
}

fn with_operands(op: &Op, change: &mut dyn FnMut(Operand) -> Option<Operand>) -> Option<Op> {
    let mut op = op.clone();
    if let Action::Transfer(transfer) = &mut op.action {
        let all = transfer.sources.iter_mut().chain(&mut transfer.destinations);
        for operand in all {
            *operand = change(*operand)?;
        }
    }
    Some(op)
}
