//! For each cell, which operation wrote it and from what: found after the fact, by following the moments of a run.
//!
//! Every element that an operation writes is a row; its sources are earlier rows, or the contents of a cell when the
//! launch began.

use crate::check::budget::TRACED;
use crate::check::event_graph::{EventGraph, Moment};
use crate::events::{MemoryExtent, Step};
use crate::ir::memory::home;
use crate::ir::{Buffer, Program, RankId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// A cell of memory; where two buffers share it, in terms of the outer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Cell {
    /// Of which rank.
    pub(super) rank: RankId,
    /// Of which buffer.
    pub(super) buffer: Buffer,
    /// Its index in the buffer.
    pub(super) cell: u64,
    /// Whether it is a packet.
    packet: bool,
}

impl Cell {
    /// The cell of an element.
    fn of(extent: &MemoryExtent, element: u64) -> Cell {
        let MemoryExtent { rank, buffer, start, form, .. } = *extent;
        Cell { rank, buffer, cell: start + element, packet: form.is_packets() }
    }
}

/// An element that was written, or the initial contents of a cell.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The moment that wrote it; none for initial contents.
    pub(super) moment: Option<Moment>,
    /// The cell.
    pub(super) cell: Cell,
    /// The rows that it was made from.
    pub(super) sources: SmallVec<[u32; 2]>,
}

/// All elements that were written, in order.
pub(super) struct Trace<'p> {
    program: &'p Program,
    parts: u32,
    rows: Vec<Row>,
    /// The row that each cell holds.
    held: FxHashMap<Cell, u32>,
}

/// Follows a run; none where there is too much to follow.
pub(super) fn trace<'p>(graph: &EventGraph<'p>, moments: &[Moment]) -> Option<Trace<'p>> {
    let parts = graph.parts();
    let mut trace =
        Trace { program: graph.program, parts, rows: Vec::new(), held: FxHashMap::default() };
    for moment in moments.iter().filter(|moment| moment.launch == 0) {
        let Some((agent, at)) = graph.line(*moment) else { continue };
        let only = if graph.is_proxy(moment.agent) { graph.entry(*moment) } else { None };
        graph.with_step(agent, at, |step| {
            // What proxies carry out, the block does not do.
            if step.is_pushed() == graph.is_proxy(moment.agent) {
                trace.add_step(*moment, step, only);
            }
        });
        if trace.rows.len() > TRACED.count() {
            return None;
        }
    }
    Some(trace)
}

impl Trace<'_> {
    /// Adds what a moment writes: all moves of a step, or one of them.
    fn add_step(&mut self, moment: Moment, step: &Step, only: Option<usize>) {
        let moves = step.moves.iter().enumerate();
        for (_, one) in moves.filter(|(number, _)| only.is_none_or(|only| only == *number)) {
            for element in 0..one.elements {
                self.add_element(moment, step.reads(one), step.writes(one), element);
            }
            if self.rows.len() > TRACED.count() {
                return;
            }
        }
    }

    fn add_element(
        &mut self,
        moment: Moment,
        reads: &[MemoryExtent],
        writes: &[MemoryExtent],
        element: u64,
    ) {
        let sources: SmallVec<[u32; 2]> =
            reads.iter().map(|extent| self.holds(Cell::of(extent, element))).collect();
        for extent in writes {
            let cell = Cell::of(extent, element);
            self.holds(cell);
            let row = Row { moment: Some(moment), cell, sources: sources.clone() };
            self.held.insert(cell, self.rows.len() as u32);
            self.rows.push(row);
        }
    }

    /// The row that a cell holds; initial contents get a row when they are first used.
    pub(super) fn holds(&mut self, cell: Cell) -> u32 {
        let next = self.rows.len() as u32;
        let row = *self.held.entry(cell).or_insert(next);
        if row == next {
            self.rows.push(Row { moment: None, cell, sources: SmallVec::new() });
        }
        row
    }

    /// A cell, given the buffer by which the author names it.
    pub(super) fn cell(&self, rank: RankId, buffer: Buffer, cell: u64) -> Cell {
        let alias = self.program.ranks.lookup(rank).and_then(|rank| rank.alias);
        let (buffer, first) = home(alias, buffer, 0);
        Cell { rank, buffer, cell: first * u64::from(self.parts) + cell, packet: false }
    }

    /// A row.
    pub(super) fn row(&self, row: u32) -> Option<&Row> {
        self.rows.get(row as usize)
    }

    /// The row that a cell holds at the end, if there is one.
    pub(super) fn last(&self, cell: Cell) -> Option<u32> {
        self.held.get(&cell).copied()
    }

    /// The rows that a cell's initial contents went into, including its own, in order.
    pub(super) fn reached_from(&self, cell: Cell) -> BTreeSet<u32> {
        let mut reached = BTreeSet::new();
        for (at, row) in (0..).zip(&self.rows) {
            let first = row.moment.is_none() && row.cell == cell;
            if first || row.sources.iter().any(|source| reached.contains(source)) {
                reached.insert(at);
            }
        }
        reached
    }

    /// The next row that overwrites a row in memory.
    pub(super) fn overwritten(&self, row: u32) -> Option<&Row> {
        let cell = self.row(row)?.cell;
        self.rows.iter().skip(row as usize + 1).find(|other| other.cell == cell)
    }
}
