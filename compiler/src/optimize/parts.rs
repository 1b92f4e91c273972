//! Blocks with more operations than the executor takes, continued in further blocks.
//!
//! In: a program whose joins are explicit, with `split_blocks`. Out: the same program, in which each such block is
//! several, one for each part of its operations. The threads of a part meet, release a semaphore, and end; those of the
//! next part acquire it, and meet. So the parts run in turn, and what holds between the operations of a block holds
//! between those of its parts.
//!
//! Blocks that cannot be cut are left as they are, for the check of the limits to report (see [`ir::parts`]).

use crate::ir::{
    self, Action, BarrierId, Block, BlockId, List, MOST_OPS, Op, OriginId, Program, Rank,
    Semaphore, SemaphoreId, count_ops,
};
use smallvec::smallvec;

/// Continues long blocks in further ones.
#[must_use]
pub(super) fn parts(mut program: Program) -> Program {
    if program.options.split_blocks {
        program.ranks.iter_mut().for_each(divide_blocks);
    }
    program
}

fn divide_blocks(rank: &mut Rank) {
    let blocks: Vec<BlockId> = rank.blocks.ids().collect();
    for id in blocks {
        let Some(block) = rank.blocks.lookup(id) else { continue };
        if count_ops(&block.ops) <= MOST_OPS {
            continue;
        }
        if let Ok(parts) = ir::parts::parts(&block.ops) {
            divide(rank, id, &parts);
        }
    }
}

/// Makes a block several, the first of which keeps its number; the others come after all blocks.
fn divide(rank: &mut Rank, id: BlockId, lengths: &[usize]) {
    let Some(block) = rank.blocks.iter_mut().nth(id.0 as usize) else { return };
    let (name, origin) = (block.name.clone(), block.origin);
    let mut ops = std::mem::take(&mut block.ops).into_iter();
    let mut before = None;
    for (part, length) in lengths.iter().enumerate() {
        let own: Vec<Op> = ops.by_ref().take(*length).collect();
        let after = (part + 1 < lengths.len()).then(|| {
            let name = format!("the end of part {} of {name}", part + 1).into();
            rank.semaphores.push(Semaphore { name, initial: 0, origin, shared: false })
        });
        let here = match part {
            0 => id,
            _ => {
                let name = format!("{name}, part {}", part + 1).into();
                rank.blocks.push(Block { name, ops: Vec::new(), origin })
            }
        };
        own.iter()
            .filter_map(barrier_of)
            .for_each(|barrier| move_member(rank, barrier, (id, here)));
        if let Some(block) = rank.blocks.iter_mut().nth(here.0 as usize) {
            block.ops = joined(own, before, after);
        }
        before = after;
    }
}

fn barrier_of(op: &Op) -> Option<BarrierId> {
    if let Action::Barrier { id, .. } = op.action { Some(id) } else { None }
}

/// Lets a part take its block's place at a barrier.
fn move_member(rank: &mut Rank, barrier: BarrierId, (from, to): (BlockId, BlockId)) {
    if let Some(members) = rank.barriers.iter_mut().nth(barrier.0 as usize) {
        members.iter_mut().filter(|member| **member == from).for_each(|member| *member = to);
        members.sort_unstable();
    }
}

/// A part between the semaphores that order it.
fn joined(own: Vec<Op>, before: Option<SemaphoreId>, after: Option<SemaphoreId>) -> Vec<Op> {
    let origin = |op: Option<&Op>| op.map_or(OriginId::default(), |op| op.origin);
    let make = |action, origin| Op { action, origin, sync: None };
    let (first, last) = (origin(own.first()), origin(own.last()));
    let list = |id| -> List<SemaphoreId> { smallvec![id] };
    let mut ops = Vec::with_capacity(own.len() + 4);
    if let Some(before) = before {
        ops.push(make(Action::Acquire(list(before)), first));
        ops.push(make(Action::Sync, first));
    }
    ops.extend(own);
    if let Some(after) = after {
        ops.push(make(Action::Sync, last));
        ops.push(make(Action::Release(list(after)), last));
    }
    ops
}
