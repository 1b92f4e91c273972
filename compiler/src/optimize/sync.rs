//! Synchronization inside blocks: implied joins become explicit ones. A join is
//! a point at which all threads of a block meet.
//!
//! In: a program in which the threads of a block meet between every two operations, except where an author's
//! `sync = ..` says otherwise. Out: the same program with a `sync` wherever one is needed, and nowhere else.
//!
//! Rules:
//! - `lanes` says which threads do what, `pending` between which two operations a join is needed.
//! - Within a block, a join is placed as late as possible, which needs the fewest. `barrier` and an author's `sync` are
//!   joins; nothing is needed before the first and after the last operation.
//! - `sync = before` and `after` put a join on that side and none on the other, `both` on both sides, `none` on none.
//!   Where one side forbids a join and neither asks for one, a join that is needed goes before both operations.
//! - Without `auto_sync`, only the author's joins are placed.
//! - A pipeline's body is a cycle (`circle`): the first operation of a turn may depend on what the last one of the
//!   previous turn left undone. The join between two turns is at the beginning of the body where that also serves what
//!   comes before the pipeline, otherwise at its end. Where an author wants no join before or after the pipeline, those
//!   in its body are the only ones between it and what is there: all implied ones are placed.

mod circle;
mod lanes;
mod others;
mod pending;

use super::blocks;
use crate::ir::sharing::Sharing;
use crate::ir::{Action, Joins, Op, Program, SyncOverride};
use lanes::{Context, Mark};
use others::Others;
use pending::Pending;

/// Makes the joins that a program needs explicit.
#[must_use]
pub fn sync(mut program: Program) -> Program {
    if program.joins == Joins::Explicit {
        return program;
    }
    let (others, sharing) = (Others::of(&program), Sharing::of(&program));
    blocks::rewrite(&mut program, |program, block, ops| {
        let Program { ranks, options, .. } = program;
        line(Context { ranks, block, options, others: &others, sharing: &sharing }, ops)
    });
    program.joins = Joins::Explicit;
    program
}

/// What an author says about the gap between two operations.
#[derive(Clone, Copy, PartialEq)]
enum Gap {
    /// Nothing.
    Free,
    /// The threads meet.
    Join,
    /// They do not.
    Closed,
}

fn gap(before: Option<&Op>, after: Option<&Op>) -> Gap {
    let (left, right) = (before.and_then(|op| op.sync), after.and_then(|op| op.sync));
    let asked = asks_after(before) || asks_before(after);
    let closed = matches!(left, Some(SyncOverride::Before | SyncOverride::None))
        || matches!(right, Some(SyncOverride::After | SyncOverride::None));
    match (asked, closed) {
        (true, _) => Gap::Join,
        (false, true) => Gap::Closed,
        (false, false) => Gap::Free,
    }
}

fn asks_before(op: Option<&Op>) -> bool {
    matches!(op.and_then(|op| op.sync), Some(SyncOverride::Before | SyncOverride::Both))
}

fn asks_after(op: Option<&Op>) -> bool {
    matches!(op.and_then(|op| op.sync), Some(SyncOverride::After | SyncOverride::Both))
}

fn is_join(op: Option<&Op>) -> bool {
    matches!(op, Some(Op { action: Action::Sync | Action::Barrier { .. }, .. }))
}

/// A run of operations between which the author wants no join.
struct Run<'a> {
    ops: &'a [Op],
    /// What the author says about the gap before it.
    gap: Gap,
    /// The index of its first operation.
    start: usize,
}

/// The runs of a list; `before` is the operation before its first one.
fn runs<'a>(before: Option<&Op>, ops: &'a [Op]) -> Vec<Run<'a>> {
    let mut runs: Vec<Run> = Vec::with_capacity(ops.len());
    let (mut start, mut gap_before) = (0, gap(before, ops.first()));
    for end in 1..=ops.len() {
        let gap_after = gap(end.checked_sub(1).and_then(|i| ops.get(i)), ops.get(end));
        if end == ops.len() || gap_after != Gap::Closed {
            runs.push(Run { ops: ops.get(start..end).unwrap_or_default(), gap: gap_before, start });
            (start, gap_before) = (end, gap_after);
        }
    }
    runs
}

/// Where the join between two turns of a pipeline goes.
#[derive(Clone, Copy, PartialEq)]
enum Turn {
    /// Not a pipeline, or no join is needed.
    None,
    /// One is needed, at the beginning or at the end of the body.
    Either,
    /// At the beginning of the body.
    Start,
}

/// The operations of a block with their joins.
fn line(context: Context, ops: Vec<Op>) -> Vec<Op> {
    let lengths: Vec<usize> =
        runs(None, &ops).iter().flat_map(|run| run.ops.iter().map(|_| run.ops.len())).collect();
    let alone = lengths.into_iter().map(|length| length == 1);
    let (ops, mut turns): (Vec<Op>, Vec<Turn>) =
        ops.into_iter().zip(alone).map(|(op, alone)| body(context, op, alone)).unzip();
    let mut joins = vec![false; ops.len() + 1];
    let mut pending = Pending::default();
    for run in runs(None, &ops) {
        let before = run.start.checked_sub(1).and_then(|i| ops.get(i));
        let mut join = run.gap == Gap::Join && !is_join(before) && !is_join(run.ops.first());
        if !join && context.options.auto_sync {
            join = needs_join(context, &pending, &run, &mut turns);
        }
        if join {
            pending.clear();
            set(&mut joins, run.start);
        }
        for (i, op) in run.ops.iter().enumerate() {
            absorb(context, &mut pending, op, turns.get(run.start + i), mark(op, run.start + i));
        }
    }
    if asks_after(ops.last()) && !is_join(ops.last()) {
        set(&mut joins, ops.len());
    }
    write(ops, &joins, &turns)
}

/// Marks a pipeline's operations, since different pipelines have different
/// windows; operations outside pipelines have none.
fn mark(op: &Op, index: usize) -> Mark {
    match &op.action {
        Action::Pipeline(_) => Mark { pipeline: index as u32 + 1, turn: 0 },
        Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Transfer(_) => Mark::default(),
    }
}

/// Whether the run needs a join before it. A pipeline that has one between its turns
/// anyway moves that one to its beginning instead.
fn needs_join(context: Context, pending: &Pending, run: &Run, turns: &mut [Turn]) -> bool {
    for (i, op) in run.ops.iter().enumerate() {
        let at = mark(op, run.start + i);
        if let Action::Pipeline(pipeline) = &op.action {
            let mut prefix = pipeline.body.iter().take_while(|op| !is_join(Some(op)));
            if prefix.any(|op| pending.blocks(context, &lanes::effects(context, &op.action, at))) {
                match turns.get_mut(run.start + i) {
                    Some(turn) if *turn == Turn::Either && run.ops.len() == 1 => {
                        *turn = Turn::Start
                    }
                    Some(_) | None => return true,
                }
            }
            continue;
        }
        let effects = lanes::effects(context, &op.action, at);
        if pending.blocks(context, &effects) {
            return true;
        }
        if effects.meets {
            return false;
        }
    }
    false
}

/// Adds what an operation does to what was done since the last join.
fn absorb(context: Context, pending: &mut Pending, op: &Op, between: Option<&Turn>, mark: Mark) {
    match &op.action {
        Action::Sync | Action::Barrier { .. } => pending.clear(),
        Action::Pipeline(pipeline) => {
            if between == Some(&Turn::Start) {
                pending.clear();
            }
            pipeline.body.iter().for_each(|op| absorb(context, pending, op, None, mark));
            if between == Some(&Turn::Either) {
                pending.clear();
            }
        }
        Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Transfer(_) => pending.add(context, lanes::effects(context, &op.action, mark)),
    }
}

/// A pipeline with the joins that its body needs, and whether one is needed between two turns. If it is not `alone`,
/// but in a run with others, it gets all implied joins, since the others may need any of them.
fn body(context: Context, mut op: Op, alone: bool) -> (Op, Turn) {
    let Action::Pipeline(pipeline) = &mut op.action else { return (op, Turn::None) };
    let ops = std::mem::take(&mut pipeline.body);
    let mut joins = if alone { circle::circle(context, &ops) } else { circle::all(context, &ops) };
    let mut between = false;
    if let Some(first) = joins.first_mut().filter(|_| !asks_before(ops.first())) {
        between = std::mem::replace(first, false);
    }
    if between && asks_after(ops.last()) {
        between = false;
        set(&mut joins, ops.len());
    }
    pipeline.body = write(ops, &joins, &[]);
    (op, if between { Turn::Either } else { Turn::None })
}

fn set(joins: &mut [bool], at: usize) {
    if let Some(join) = joins.get_mut(at) {
        *join = true;
    }
}

/// The operations with a `sync` wherever one was decided on, and without their author's `sync = ..`.
fn write(ops: Vec<Op>, joins: &[bool], turns: &[Turn]) -> Vec<Op> {
    let count = joins.iter().filter(|join| **join).count();
    let mut out: Vec<Op> = Vec::with_capacity(ops.len() + count);
    for (i, mut op) in ops.into_iter().enumerate() {
        let joint = Op { action: Action::Sync, origin: op.origin, sync: None };
        if joins.get(i) == Some(&true) {
            out.push(joint.clone());
        }
        op.sync = None;
        if let Action::Pipeline(pipeline) = &mut op.action {
            match turns.get(i) {
                Some(Turn::Start) => pipeline.body.insert(0, joint),
                Some(Turn::Either) => pipeline.body.push(joint),
                Some(Turn::None) | None => {}
            }
        }
        out.push(op);
        if i + 2 == joins.len() && joins.last() == Some(&true) {
            let origin = out.last().map(|op| op.origin).unwrap_or_default();
            out.push(Op { action: Action::Sync, origin, sync: None });
        }
    }
    out
}

#[cfg(test)]
mod fewest;
#[cfg(test)]
mod tests;
