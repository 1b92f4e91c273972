//! The steps of a block: its operations in a row, pipelines unrolled, and where its threads meet between them.

use crate::ir::run::Windows;
use crate::ir::{Action, Joins, Op, Program, SyncOverride};
use std::ops::Range;

/// An operation as it is run once.
#[derive(Clone, Debug)]
pub(in crate::check) struct Step<'p> {
    /// The operation.
    pub(in crate::check) op: &'p Op,
    /// In a pipeline, which cells of its operands; most operations are in none.
    pub(super) window: Option<Box<Range<u64>>>,
    /// Whether all threads of the block meet before it.
    pub(in crate::check) joined: bool,
}

/// The steps of a block.
pub(in crate::check) fn steps<'p>(
    program: &'p Program,
    windows: &Windows,
    ops: &'p [Op],
    parts: u32,
) -> Vec<Step<'p>> {
    let mut steps: Vec<Step<'p>> = Vec::with_capacity(ops.len());
    for op in ops {
        match &op.action {
            Action::Pipeline(pipeline) => {
                for turn in 0..windows.turns(pipeline) {
                    for inner in &pipeline.body {
                        let window = windows.window(pipeline, turn, parts);
                        push(program, &mut steps, inner, Some(Box::new(window)));
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
            | Action::Transfer(_) => push(program, &mut steps, op, None),
        }
    }
    steps
}

fn push<'p>(
    program: &Program,
    steps: &mut Vec<Step<'p>>,
    op: &'p Op,
    window: Option<Box<Range<u64>>>,
) {
    let joined = steps.last().is_none_or(|last| meet(program, last.op, op));
    steps.push(Step { op, window, joined });
}

/// Whether the threads meet between two operations. `sync` and `barrier` are meetings themselves.
pub(super) fn meet(program: &Program, before: &Op, after: &Op) -> bool {
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
