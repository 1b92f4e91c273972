//! Whether it matters where the slices of groups end.
//!
//! In: a program. Out: whether slices that do not end between chunks meet anything that they are not shared out like:
//!
//! * an access that begins or ends within the chunks that are shared, be it whole or a slice;
//! * slices of the same memory over another number of blocks, or with packets where the others are plain;
//! * or a missing slice: what is left out of a message depends on where the others end.
//!
//! Also whether they meet windows of pipelines. Otherwise blocks that divide some chunks always have the same parts of them,
//! and all others use all of them or none. What is only read is met by nobody.

use crate::ir::memory::{Access, Extent, accesses, cells};
use crate::ir::{Buffer, Operand, Program, RankId, Transfer, Verb};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Whether slices that end within chunks meet something that is not shared out like them.
pub(super) fn are_met(program: &Program) -> bool {
    let mut memory: FxHashMap<(RankId, Buffer), Borders> = FxHashMap::default();
    let mut parts: FxHashMap<Statement, Vec<u32>> = FxHashMap::default();
    for (here, rank) in program.ranks.entries() {
        for transfer in rank.all_ops().filter_map(|op| op.transfer()) {
            for access in accesses(transfer) {
                let shared = shared(&access);
                let operand = whole_chunks(&access);
                for extent in cells(&program.ranks, here, operand, access.packets) {
                    let borders = memory.entry((extent.rank, extent.buffer)).or_default();
                    borders.add(&extent, access.write, shared);
                }
            }
            if let Some((statement, index)) = Statement::of(program, here, transfer) {
                let counts = parts.entry(statement).or_insert_with_key(|one| vec![0; one.blocks()]);
                counts.iter_mut().skip(index as usize).take(1).for_each(|count| *count += 1);
            }
        }
    }
    let is_whole = |counts: &Vec<u32>| counts.iter().all(|count| counts.first() == Some(count));
    memory.into_values().any(Borders::are_met) || !parts.values().all(is_whole)
}

/// Whether slices that end within chunks lie in memory that windows of pipelines lie in, too, and something is written there.
pub(super) fn meet_windows(program: &Program) -> bool {
    let (mut slices, mut windows) = (Vec::new(), Vec::new());
    for (here, rank) in program.ranks.entries() {
        for op in rank.blocks.iter().flat_map(|block| &block.ops) {
            let (body, into) = match op.pipeline() {
                Some(pipeline) => (pipeline.body.as_slice(), &mut windows),
                None => (std::slice::from_ref(op), &mut slices),
            };
            let is_slice = op.pipeline().is_none();
            let transfers = body.iter().filter_map(|op| op.transfer());
            for access in transfers.flat_map(accesses) {
                if is_slice && shared(&access).is_none() {
                    continue;
                }
                let all = cells(&program.ranks, here, access.operand, access.packets);
                into.extend(all.map(|extent| (extent, access.write)));
            }
        }
    }
    slices.sort_unstable();
    slices.dedup();
    windows.sort_unstable();
    windows.dedup();
    // Both are in the order in which they begin; of each rank and buffer, slices are compared with what begins before
    // their end.
    slices.iter().any(|(slice, writes)| {
        let before = windows.partition_point(|(window, _)| {
            (window.rank, window.buffer, window.start) < (slice.rank, slice.buffer, slice.end)
        });
        windows.get(..before).is_some_and(|windows| {
            let mut near = windows.iter().rev().take_while(|(window, _)| {
                (window.rank, window.buffer) == (slice.rank, slice.buffer)
            });
            near.any(|(window, write)| (*write || *writes) && window.overlaps(slice))
        })
    })
}

/// How memory is shared out: over how many blocks, and whether as packets.
type Sharing = (u32, bool);

/// How an operand is shared out, where its slices end within chunks.
fn shared(access: &Access) -> Option<Sharing> {
    let slice = access.slice?;
    let ends_within = !access.operand.size.is_multiple_of(slice.count.max(1));
    ends_within.then_some((slice.count, access.packets))
}

/// The chunks of an access: those of its slice, if that is a number of whole chunks, and otherwise of all that is shared out.
pub(super) fn whole_chunks(access: &Access) -> Operand {
    let operand = access.operand;
    let Some(slice) = access.slice else { return operand };
    if shared(access).is_some() {
        return operand;
    }
    let size = operand.size / slice.count.max(1);
    Operand {
        index: operand.index.saturating_add(size.saturating_mul(slice.index)),
        size,
        ..operand
    }
}

/// A statement whose slices end within chunks: where it is, what it does, over how many blocks, and its operands.
#[derive(PartialEq, Eq, Hash)]
struct Statement(RankId, Verb, u32, SmallVec<[Extent; 2]>);

impl Statement {
    /// The statement that an operation is a part of, and which part.
    fn of(program: &Program, here: RankId, transfer: &Transfer) -> Option<(Statement, u32)> {
        let slice = transfer.slice?;
        accesses(transfer).any(|access| shared(&access).is_some()).then_some(())?;
        let extents = accesses(transfer)
            .flat_map(|one| cells(&program.ranks, here, one.operand, one.packets))
            .collect();
        Some((Statement(here, transfer.verb, slice.count, extents), slice.index))
    }

    fn blocks(&self) -> usize {
        self.2 as usize
    }
}

/// Where accesses to a buffer begin and end.
#[derive(Default)]
struct Borders {
    all: Vec<u64>,
    written: Vec<u64>,
    /// The accesses that are shared out, by where they begin and end: how, and whether one of them writes.
    shared: BTreeMap<(u64, u64), (Sharing, bool)>,
    /// Whether the same memory is shared out in several ways, and written.
    several: bool,
    writes: bool,
}

impl Borders {
    fn add(&mut self, extent: &Extent, write: bool, shared: Option<Sharing>) {
        self.writes |= write;
        let borders = [extent.start, extent.end];
        // The blocks of a group have the same accesses, one after the other.
        if !self.all.ends_with(&borders) {
            self.all.extend(borders);
        }
        if write && !self.written.ends_with(&borders) {
            self.written.extend(borders);
        }
        if let Some(sharing) = shared {
            let known = self.shared.entry((extent.start, extent.end)).or_insert((sharing, false));
            self.several |= known.0 != sharing;
            known.1 |= write;
        }
    }

    fn are_met(mut self) -> bool {
        self.all.sort_unstable();
        self.written.sort_unstable();
        let within = |borders: &[u64], (start, end): (u64, u64)| {
            let after = borders.partition_point(|border| *border <= start);
            borders.get(after).is_some_and(|border| *border < end)
        };
        let mut shared = self.shared.iter();
        self.several && self.writes
            || shared.any(|(range, (_, write))| {
                within(if *write { &self.all } else { &self.written }, *range)
            })
    }
}
