//! Blocks with more operations than the executor takes, continued in further blocks.
//!
//! In: a program whose joins are explicit, with `split_blocks`. Out: the same program, in which each such block is
//! several, one for each part of its operations. The threads of a part meet, release a semaphore, and end; those of the
//! next part acquire it, and meet. So the parts run in turn, and what holds between the operations of a block holds
//! between those of its parts.
//!
//! Left as they are, for the check of the limits to report: blocks that cannot be cut, because a pipeline is as long as
//! a part; those that use a channel or semaphore in a pipeline and in another part, too, since uses in pipelines are in
//! no order; and those that meet others at one barrier in several parts, since one barrier has one set of blocks.

use crate::ir::counter::{Counter, gives, takes};
use crate::ir::{
    Action, BarrierId, Block, BlockId, List, MOST_OPS, Op, OriginId, Program, Rank, Semaphore,
    SemaphoreId, all_ops, count_ops,
};
use smallvec::smallvec;
use std::collections::{BTreeMap, BTreeSet};

/// The most operations of a part: the rest of what a block may have is for the semaphores before and after it, and for
/// two meetings.
const MOST: usize = MOST_OPS - 4;

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
        let lengths = lengths(&block.ops);
        if let Some(parts) = lengths.filter(|lengths| are_apart(&block.ops, lengths)) {
            divide(rank, id, &parts);
        }
    }
}

/// How many operations of its list each part takes; none where a single one has too many.
fn lengths(ops: &[Op]) -> Option<Vec<usize>> {
    let (mut lengths, mut length, mut count) = (Vec::new(), 0, 0);
    for op in ops {
        let more = count_ops(std::slice::from_ref(op));
        if more > MOST {
            return None;
        }
        if count + more > MOST {
            lengths.push(length);
            (length, count) = (0, 0);
        }
        length += 1;
        count += more;
    }
    lengths.push(length);
    Some(lengths)
}

/// Whether no barrier is in several parts, and no counter is used in a pipeline of one part and in another part.
fn are_apart(ops: &[Op], lengths: &[usize]) -> bool {
    let mut barriers: BTreeMap<BarrierId, usize> = BTreeMap::new();
    let (mut uses, mut piped) = (BTreeMap::<_, BTreeSet<usize>>::new(), BTreeSet::new());
    for (part, op) in numbered(ops, lengths) {
        if let Action::Barrier { id, .. } = &op.action
            && *barriers.entry(*id).or_insert(part) != part
        {
            return false;
        }
        for inner in all_ops(std::slice::from_ref(op)) {
            for counter in counters(&inner.action) {
                uses.entry(counter).or_default().insert(part);
                if op.pipeline().is_some() {
                    piped.insert(counter);
                }
            }
        }
    }
    piped.iter().all(|counter| uses.get(counter).is_none_or(|parts| parts.len() == 1))
}

/// What an operation takes from and gives to; the order of operations on these matters.
fn counters(action: &Action) -> impl Iterator<Item = Counter> + '_ {
    let pushes: &[_] = match action {
        Action::Transfer(transfer) => &transfer.channels,
        Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Pipeline(_) => &[],
    };
    let pushes = pushes.iter().map(|id| Counter::Channel(*id));
    takes(action).chain(gives(action)).chain(pushes)
}

/// The operations, each with the number of its part.
fn numbered<'a>(ops: &'a [Op], lengths: &'a [usize]) -> impl Iterator<Item = (usize, &'a Op)> {
    let parts = lengths.iter().enumerate();
    parts.flat_map(|(part, length)| std::iter::repeat_n(part, *length)).zip(ops)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::build::program;

    fn op(action: Action) -> Op {
        Op { action, origin: OriginId::default(), sync: None }
    }

    fn divided(ops: Vec<Op>) -> Vec<usize> {
        let mut program = program(1, 1, 1, 0);
        program.options.split_blocks = true;
        let rank = program.ranks.iter_mut().next().unwrap();
        rank.blocks.push(Block { name: "main".into(), ops, origin: OriginId::default() });
        let program = parts(program);
        let rank = program.ranks.iter().next().unwrap();
        rank.blocks.iter().map(|block| count_ops(&block.ops)).collect()
    }

    #[test]
    fn parts_are_as_long_as_they_may_be() {
        let of = |count| divided(vec![op(Action::Sync); count]);
        assert_eq!(of(MOST_OPS), [64]);
        assert_eq!(of(MOST_OPS + 1), [62, 7]);
        assert_eq!(of(2 * MOST + 1), [62, 64, 3]);
    }

    #[test]
    fn a_barrier_belongs_to_one_part() {
        let barrier = || op(Action::Barrier { id: BarrierId(0), arrivals: 1 });
        let mut ops = vec![op(Action::Sync); MOST_OPS];
        ops.push(barrier());
        assert_eq!(divided(ops.clone()).len(), 2);
        ops.insert(0, barrier());
        assert_eq!(divided(ops), [MOST_OPS + 2]);
    }
}
