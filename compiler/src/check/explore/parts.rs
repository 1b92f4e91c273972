//! The parts of a program: blocks that have to do with each other.
//!
//! In: a program. Out: its blocks in parts, where no block waits for anything that a block of another part gives. So a
//! program has a schedule that stops where one of its parts has, and each is searched for itself: the copies of
//! `instances`, for one, and the ranks where only blocks of one rank share.

use super::packets::{Packet, packets};
use crate::check::race::step::{Step, Steps};
use crate::ir::counter::{Owned, given, takes};
use crate::ir::windows::choose_windows;
use crate::ir::{Action, BarrierId, BlockId, Op, Program, RankId};
use crate::table::Sets;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A thread block.
pub(super) struct Block<'p> {
    pub(super) rank: RankId,
    pub(super) id: BlockId,
    pub(super) steps: Vec<Step<'p>>,
}

/// What blocks have to do with each other through.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Tie {
    /// A semaphore, or the end of a channel that is waited on.
    Counter(Owned),
    Barrier(RankId, BarrierId),
    Packet(Packet),
}

/// The parts of a program, in the order of their first blocks.
pub(super) fn parts(program: &Program) -> Vec<Vec<Block<'_>>> {
    let blocks = blocks(program);
    let mut sets = Sets::new(blocks.len());
    let mut first: FxHashMap<Tie, usize> = FxHashMap::default();
    for (at, block) in blocks.iter().enumerate() {
        for step in &block.steps {
            ties(program, block.rank, step.op, &mut |tie| {
                sets.unite(at, *first.entry(tie).or_insert(at));
            });
        }
    }
    let mut parts: BTreeMap<usize, Vec<Block>> = BTreeMap::new();
    for (at, block) in blocks.into_iter().enumerate() {
        parts.entry(sets.find(at)).or_default().push(block);
    }
    parts.into_values().collect()
}

/// All blocks of a program.
pub(super) fn blocks(program: &Program) -> Vec<Block<'_>> {
    let windows = choose_windows(program);
    let mut blocks = Vec::new();
    for (rank, row) in program.ranks.entries() {
        for (id, block) in row.blocks.entries() {
            let steps = Steps::new(program, &windows, &block.ops, 1).iter(program).collect();
            blocks.push(Block { rank, id, steps });
        }
    }
    blocks
}

fn ties(program: &Program, rank: RankId, op: &Op, visit: &mut dyn FnMut(Tie)) {
    takes(&op.action).for_each(|counter| visit(Tie::Counter((rank, counter))));
    given(program, rank, op).for_each(|counter| visit(Tie::Counter(counter)));
    if let Action::Barrier { id, .. } = &op.action {
        visit(Tie::Barrier(rank, *id));
    }
    for write in [false, true] {
        packets(program, rank, op, write, &mut |packet| visit(Tie::Packet(packet)));
    }
}
