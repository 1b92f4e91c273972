//! The steps of a block: its operations in order, pipelines unrolled, and where its threads meet between them.

use crate::ir::windows::Windows;
use crate::ir::{Action, Joins, Op, Program, SyncOverride};
use std::ops::Range;

/// An operation as it runs once: in a pipeline, one step for each window.
#[derive(Clone, Debug)]
pub(in crate::check) struct Step<'p> {
    /// The operation.
    pub(in crate::check) op: &'p Op,
    /// In a pipeline, which cells of its operands it covers; most operations are in none.
    pub(super) window: Option<Box<Range<u64>>>,
    /// Whether all threads of the block meet before it.
    pub(in crate::check) joined: bool,
}

/// The steps of a block.
pub(in crate::check) enum Steps<'p> {
    /// Its operations, one after the other.
    Plain(&'p [Op]),
    /// Its operations, pipelines unrolled.
    Unrolled(Vec<Step<'p>>),
}

impl<'p> Steps<'p> {
    /// The steps of these operations.
    pub(in crate::check) fn new(
        program: &'p Program,
        windows: &Windows,
        ops: &'p [Op],
        parts: u32,
    ) -> Steps<'p> {
        match ops.iter().any(|op| matches!(op.action, Action::Pipeline(_))) {
            true => Steps::Unrolled(unrolled(program, windows, ops, parts)),
            false => Steps::Plain(ops),
        }
    }

    /// A step.
    pub(in crate::check) fn get(&self, program: &Program, at: usize) -> Option<Step<'p>> {
        match self {
            Steps::Unrolled(steps) => steps.get(at).cloned(),
            Steps::Plain(ops) => {
                let op = ops.get(at)?;
                let before = at.checked_sub(1).and_then(|before| ops.get(before));
                Some(Step { op, window: None, joined: joined(program, before, op) })
            }
        }
    }

    /// How many there are.
    pub(in crate::check) fn len(&self) -> usize {
        match self {
            Steps::Plain(ops) => ops.len(),
            Steps::Unrolled(steps) => steps.len(),
        }
    }

    /// All of them.
    pub(in crate::check) fn iter(&self, program: &Program) -> impl Iterator<Item = Step<'p>> {
        (0..self.len()).filter_map(|at| self.get(program, at))
    }
}

fn unrolled<'p>(program: &Program, windows: &Windows, ops: &'p [Op], parts: u32) -> Vec<Step<'p>> {
    let mut steps: Vec<Step<'p>> = Vec::with_capacity(ops.len());
    let mut push = |op: &'p Op, window| {
        let joined = joined(program, steps.last().map(|last| last.op), op);
        steps.push(Step { op, window, joined });
    };
    for op in ops {
        match &op.action {
            Action::Pipeline(pipeline) => {
                for turn in 0..windows.turns(pipeline) {
                    for inner in &pipeline.body {
                        let window = windows.window(pipeline, turn, parts);
                        push(inner, Some(Box::new(window)));
                    }
                }
            }
            Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_)
            | Action::Transfer(_) => push(op, None),
        }
    }
    steps
}

/// Whether the threads meet before an operation that follows another one, or is the first.
fn joined(program: &Program, before: Option<&Op>, op: &Op) -> bool {
    before.is_none_or(|before| meet(program, before, op))
}

/// Whether the threads meet between two operations. `sync` and `barrier` are meetings themselves.
pub(in crate::check) fn meet(program: &Program, before: &Op, after: &Op) -> bool {
    use SyncOverride::{After, Before, Both, None};
    let wanted =
        matches!(before.sync, Some(After | Both)) || matches!(after.sync, Some(Before | Both));
    let unwanted =
        matches!(before.sync, Some(Before | None)) || matches!(after.sync, Some(After | None));
    match program.joins {
        Joins::Explicit => false,
        Joins::Implied => wanted || program.options.auto_sync && !unwanted,
    }
}
