//! The parts of a program: blocks that have to do with each other.
//!
//! In: all blocks. Out: the same in parts, where no block waits for anything that a block of another part gives. So a
//! program has a schedule that stops where one of its parts has, and each is searched for itself: the copies of
//! `instances`, for one, and the ranks where only blocks of one rank share.

use super::counter::{Counter, gives, packets, takes};
use super::scene::Block;
use crate::ir::{Action, BarrierId, Op, Program, RankId};
use crate::table::Sets;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What blocks have to do with each other through.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Tie {
    /// A semaphore, or the end of a channel that is waited on.
    Counter(RankId, Counter),
    Barrier(RankId, BarrierId),
    Packet(RankId, u64),
}

/// The parts of a program, in the order of their first blocks.
pub(super) fn parts<'p>(program: &'p Program, blocks: Vec<Block<'p>>) -> Vec<Vec<Block<'p>>> {
    let mut sets = Sets::new(blocks.len());
    let mut first: FxHashMap<Tie, usize> = FxHashMap::default();
    for (at, block) in blocks.iter().enumerate() {
        for step in &block.steps {
            ties(program, block.rank, step.op, &mut |tie| {
                sets.unite(at, *first.entry(tie).or_insert(at));
            });
        }
    }
    let mut parts: BTreeMap<usize, Vec<Block<'p>>> = BTreeMap::new();
    for (at, block) in blocks.into_iter().enumerate() {
        parts.entry(sets.find(at)).or_default().push(block);
    }
    parts.into_values().collect()
}

fn ties(program: &Program, rank: RankId, op: &Op, visit: &mut dyn FnMut(Tie)) {
    takes(op).for_each(|counter| visit(Tie::Counter(rank, counter)));
    for counter in gives(op) {
        match counter {
            Counter::Semaphore(_) => visit(Tie::Counter(rank, counter)),
            Counter::Channel(id) => {
                let end = program.ranks.lookup(rank).and_then(|rank| rank.channels.lookup(id));
                if let Some((peer, there)) = end.and_then(|end| end.peer().zip(end.partner)) {
                    visit(Tie::Counter(peer, Counter::Channel(there)));
                }
            }
        }
    }
    if let Action::Barrier { id, .. } = &op.action {
        visit(Tie::Barrier(rank, *id));
    }
    for write in [false, true] {
        packets(program, rank, op, write, &mut |(rank, cell)| visit(Tie::Packet(rank, cell)));
    }
}
