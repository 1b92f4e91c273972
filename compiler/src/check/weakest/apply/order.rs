//! Changes that order blocks of one rank: a new semaphore, or a barrier.

use super::super::super::names;
use crate::diagnostic::change::{Handover, Side, Times};
use crate::ir::{
    Action, BarrierId, BlockId, List, Op, Origins, Program, Rank, Semaphore, SemaphoreId, all_ops,
};
use crate::source::Place;
use crate::table::Id;

/// The program with a new semaphore on every rank that runs the two statements. Where several blocks are on one side,
/// each gets its own; where several are on both sides, the k-th of one side is paired with the k-th of the other.
pub(super) fn hand_over(mut program: Program, change: &Handover) -> Option<Program> {
    let Program { ranks, origins, .. } = &mut program;
    for rank in ranks.iter_mut() {
        let from = blocks(rank, origins, change.after);
        let to = blocks(rank, origins, change.before);
        if from.is_empty() && to.is_empty() {
            continue;
        }
        if from.is_empty() || to.is_empty() || from.iter().any(|block| to.contains(block)) {
            return None;
        }
        let count = match (from.len(), to.len()) {
            (1, count) | (count, 1) => count,
            (one, other) if one == other => one,
            (_, _) => return None,
        };
        let new: Vec<SemaphoreId> =
            (0..count).map(|_| add(rank, change.initial)).collect::<Option<_>>()?;
        for (side, place, list) in
            [(Side::After, change.after, from), (Side::Before, change.before, to)]
        {
            let single = list.len() == 1;
            for (k, block) in list.iter().enumerate() {
                let own = new.iter().copied().enumerate().filter(|(of, _)| single || *of == k);
                let own: List<SemaphoreId> = own.map(|(_, id)| id).collect();
                let action = match side {
                    Side::After => Action::Release(own),
                    Side::Before => Action::Acquire(own),
                };
                let row = rank.blocks.iter_mut().nth(block.index())?;
                let ops = std::mem::take(&mut row.ops);
                row.ops = inserted(origins, ops, (place, side, change.times), &action);
            }
        }
    }
    Some(program)
}

/// The program in which each block of a family begins when the block with the preceding number has ended. None where no
/// rank has two of them.
pub(super) fn relay(mut program: Program, family: &str) -> Option<Program> {
    let mut done = false;
    for rank in program.ranks.iter_mut() {
        let members = rank.blocks.entries().filter_map(|(id, block)| {
            let (name, number) = names::member(&block.name)?;
            (name == family).then_some((number, id))
        });
        let mut members: Vec<(i64, BlockId)> = members.collect();
        members.sort_unstable();
        for (one, next) in members.iter().zip(members.iter().skip(1)) {
            let list: List<SemaphoreId> = std::iter::once(add(rank, 0)?).collect();
            let ops = &mut rank.blocks.iter_mut().nth(one.1.index())?.ops;
            let origin = ops.last()?.origin;
            ops.push(Op { action: Action::Release(list.clone()), origin, sync: None });
            let ops = &mut rank.blocks.iter_mut().nth(next.1.index())?.ops;
            let origin = ops.first()?.origin;
            ops.insert(0, Op { action: Action::Acquire(list), origin, sync: None });
            done = true;
        }
    }
    done.then_some(program)
}

/// The blocks of a rank that run a statement.
fn blocks(rank: &Rank, origins: &Origins, place: Place) -> Vec<BlockId> {
    let runs = |ops: &[Op]| runs(origins, ops, place) > 0;
    rank.blocks.entries().filter(|(_, block)| runs(&block.ops)).map(|(id, _)| id).collect()
}

/// How many operations come from a statement, counting pipelines once.
fn runs(origins: &Origins, ops: &[Op], place: Place) -> usize {
    let of = |op: &&Op| op.pipeline().is_none() && origins.place(op.origin) == place;
    all_ops(ops).filter(of).count()
}

fn add(rank: &mut Rank, initial: u32) -> Option<SemaphoreId> {
    let origin = rank.blocks.iter().next()?.origin;
    let initial = i64::from(initial);
    let row = Semaphore { name: "new".into(), initial, origin, shared: false };
    Some(rank.semaphores.push(row))
}

/// The operations with another one before or after those of a statement, in pipelines too.
fn inserted(
    origins: &Origins,
    ops: Vec<Op>,
    (place, side, times): (Place, Side, Times),
    action: &Action,
) -> Vec<Op> {
    let here: Vec<usize> = (0..)
        .zip(&ops)
        .filter(|(_, op)| {
            origins.place(op.origin) == place && !matches!(op.action, Action::Pipeline(_))
        })
        .map(|(at, _)| at)
        .collect();
    let wanted = |at: usize| match (times, side) {
        (Times::Each, _) => here.contains(&at),
        (Times::Once, Side::Before) => here.first() == Some(&at),
        (Times::Once, Side::After) => here.last() == Some(&at),
    };
    let mut list = Vec::with_capacity(ops.len() + here.len());
    for (at, mut op) in ops.into_iter().enumerate() {
        if let Action::Pipeline(pipeline) = &mut op.action {
            let body = std::mem::take(&mut pipeline.body);
            pipeline.body = inserted(origins, body, (place, side, times), action);
        }
        let new = Op { action: action.clone(), origin: op.origin, sync: None };
        match (wanted(at), side) {
            (false, _) => list.push(op),
            (true, Side::Before) => list.extend([new, op]),
            (true, Side::After) => list.extend([op, new]),
        }
    }
    list
}

/// The program with a barrier of all blocks that run one of two statements, before the second one. A block that does
/// not run the second one reaches it before its first operation that is behind the second one in the text.
pub(super) fn meet(mut program: Program, first: Place, second: Place) -> Option<Program> {
    let Program { ranks, origins, .. } = &mut program;
    let mut done = false;
    for rank in ranks.iter_mut() {
        let mut members = blocks(rank, origins, first);
        let to = blocks(rank, origins, second);
        if members.is_empty() && to.is_empty() {
            continue;
        }
        let alone = members.iter().all(|block| to.contains(block));
        members.extend(&to);
        members.sort_unstable();
        members.dedup();
        let id = BarrierId::from_index(rank.barriers.len());
        let barrier = Action::Barrier { id, arrivals: members.len() as u32 };
        for block in &members {
            let row = rank.blocks.iter_mut().nth(block.index())?;
            let ops = std::mem::take(&mut row.ops);
            row.ops = match to.contains(block) {
                true => with_barrier(origins, ops, second, (&barrier, alone))?,
                false => behind_all(origins, ops, second, &barrier)?,
            };
        }
        done |= !to.is_empty();
        rank.barriers.push(members);
    }
    done.then_some(program)
}

/// The program in which one more block joins a barrier, on every rank that has the barrier, at the barrier's position
/// in the text. None where a block comes to it several times, or a rank lacks the new block.
pub(super) fn attend(mut program: Program, barrier: Place, name: &str) -> Option<Program> {
    let Program { ranks, origins, .. } = &mut program;
    let mut done = false;
    for rank in ranks.iter_mut() {
        let mut members = blocks(rank, origins, barrier);
        if members.is_empty() {
            continue;
        }
        let (new, _) = rank.blocks.entries().find(|(_, block)| *block.name == *name)?;
        let id = BarrierId::from_index(rank.barriers.len());
        let action = Action::Barrier { id, arrivals: members.len() as u32 + 1 };
        for block in &members {
            let ops = &mut rank.blocks.iter_mut().nth(block.index())?.ops;
            let mut here = ops.iter_mut().filter(|op| origins.place(op.origin) == barrier);
            here.next()?.action = action.clone();
            if *block == new || here.next().is_some() {
                return None;
            }
        }
        let row = rank.blocks.iter_mut().nth(new.index())?;
        row.ops = behind_all(origins, std::mem::take(&mut row.ops), barrier, &action)?;
        members.push(new);
        members.sort_unstable();
        rank.barriers.push(members);
        done = true;
    }
    done.then_some(program)
}

/// The operations with a barrier before those of a statement. None if one of them is in a pipeline, where there are no
/// barriers, or if this block would come to the barrier several times, while blocks that do not run the statement come
/// once.
fn with_barrier(
    origins: &Origins,
    ops: Vec<Op>,
    second: Place,
    (barrier, alone): (&Action, bool),
) -> Option<Vec<Op>> {
    let times = runs(origins, &ops, second);
    let list = inserted(origins, ops, (second, Side::Before, Times::Each), barrier);
    let placed = list.iter().filter(|op| op.action == *barrier).count();
    (placed == times && (alone || times == 1)).then_some(list)
}

/// The operations with a barrier before the first one that comes from the second statement or from behind it in the
/// text.
fn behind_all(
    origins: &Origins,
    mut ops: Vec<Op>,
    second: Place,
    barrier: &Action,
) -> Option<Vec<Op>> {
    let Place::Source(second) = second else { return None };
    let behind = |op: &Op| match origins.place(op.origin) {
        Place::Source(at) => at.file == second.file && at.start >= second.start,
        Place::Plan(_) => false,
    };
    let at = ops.iter().position(behind).unwrap_or(ops.len());
    let origin = ops.first()?.origin;
    ops.insert(at, Op { action: barrier.clone(), origin, sync: None });
    Some(ops)
}
