//! The parts of a program: blocks that have to do with each other.
//!
//! In: a program. Out: its blocks in parts, where no block waits for anything that a block of another part gives. So a
//! program has a schedule that stops where one of its parts has, and each is searched for itself: the copies of
//! `instances`, for one, and the ranks where only blocks of one rank share.

use super::packets::{Packet, packets};
use crate::events::{Events, SizeClass};
use crate::ir::counter::{Owned, given, takes};
use crate::ir::{Action, BarrierId, BlockId, Op, Program, RankId};
use crate::table::Sets;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A thread block.
pub(super) struct Block<'p> {
    pub(super) rank: RankId,
    pub(super) id: BlockId,
    pub(super) steps: Vec<PartStep<'p>>,
}

/// An operation of a block as it runs once, pipelines unrolled.
#[derive(Clone, Copy)]
pub(super) struct PartStep<'p> {
    pub(super) op: &'p Op,
    /// Whether the threads meet before it or in it.
    pub(super) meets: bool,
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
    let events = Events::new(program, SizeClass::whole_chunks(program));
    let mut blocks = Vec::new();
    for (rank, row) in program.ranks.entries() {
        for id in row.blocks.ids() {
            let all = events.block_steps(rank, id);
            // An operation in parts takes all that it takes, and gives all that it gives, at once here.
            let firsts = (0..all.len())
                .filter(|at| events.site(&all, *at).is_some_and(|site| site.part == 0));
            let step = |at| {
                let op = events.operation(&all, at)?;
                Some(PartStep { op, meets: events.meets_at(&all, at) })
            };
            blocks.push(Block { rank, id, steps: firsts.filter_map(step).collect() });
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
