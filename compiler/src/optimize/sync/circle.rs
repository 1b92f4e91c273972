//! Joins in the body of a pipeline, whose operations form a cycle.

use super::lanes::{self, Context, Mark};
use super::pending::Pending;
use super::{Gap, Run, absorb, is_join, runs, set};
use crate::ir::Op;

/// From how many gaps of a body placement is tried; the executor runs no longer bodies.
const STARTS: usize = 64;

/// Before which operations a join is needed; the join between two turns is the one before the first. The result has the
/// fewest: around a cycle, placing each join as late as possible is best from one gap or another, so each gap is tried.
pub(super) fn circle(context: Context, ops: &[Op]) -> Vec<bool> {
    let runs = runs(ops.last(), ops);
    if let Some(first) =
        runs.iter().position(|run| is_join(run.ops.first()) || run.gap == Gap::Join)
    {
        return round(context, ops, &runs, Some(first));
    }
    let mut best = round(context, ops, &runs, None);
    if !best.contains(&true) {
        return best;
    }
    let closed = runs.first().is_some_and(|run| run.gap == Gap::Closed);
    for first in usize::from(closed)..runs.len().min(STARTS) {
        let joins = round(context, ops, &runs, Some(first));
        if count(&joins) < count(&best) {
            best = joins;
        }
    }
    best
}

/// Every join that is implied or that the author asks for, as in [`circle`].
pub(super) fn all(context: Context, ops: &[Op]) -> Vec<bool> {
    let mut joins = vec![false; ops.len() + 1];
    for run in runs(ops.last(), ops) {
        let before = run.start.checked_sub(1).map_or(ops.last(), |i| ops.get(i));
        let authored = is_join(run.ops.first()) || is_join(before);
        let wanted = run.gap == Gap::Join || run.gap == Gap::Free && context.options.auto_sync;
        if wanted && !authored {
            set(&mut joins, run.start);
        }
    }
    joins
}

fn count(joins: &[bool]) -> usize {
    joins.iter().filter(|join| **join).count()
}

/// The joins for one turn that begins with a join before run `first`; without `first`, for two turns from the
/// beginning, which shows every need that there is.
fn round(context: Context, ops: &[Op], runs: &[Run], first: Option<usize>) -> Vec<bool> {
    let mut joins = vec![false; ops.len() + 1];
    let mut pending = Pending::default();
    let start = first.unwrap_or(0);
    let turns = if first.is_some() { 1 } else { 2 };
    let laps = runs.iter().enumerate().cycle().skip(start).take(runs.len() * turns);
    for (step, (i, run)) in laps.enumerate() {
        let mark = Mark { pipeline: 1, turn: u8::from(start + step >= runs.len()) };
        let before = run.start.checked_sub(1).map_or(ops.last(), |i| ops.get(i));
        let (given, authored) =
            (step == 0 && first.is_some(), is_join(run.ops.first()) || is_join(before));
        let closed = i == 0 && run.gap == Gap::Closed;
        let effects = || run.ops.iter().map(|op| lanes::effects(context, &op.action, mark));
        let wanted = context.options.auto_sync
            && !closed
            && (given || effects().any(|e| pending.blocks(context, &e)));
        if wanted || run.gap == Gap::Join {
            pending.clear();
            if !authored {
                set(&mut joins, run.start);
            }
        }
        run.ops.iter().for_each(|op| absorb(context, &mut pending, op, None, mark));
    }
    joins
}
