//! The sizes of messages that a program is checked for beside the one that makes all of its parts whole.
//!
//! In: a program, and into how many parts a chunk is cut so that slices of groups and windows of pipelines are whole.
//! Out: what else has to be looked at. A chunk has a whole number of units of `alignment`, the same everywhere.
//!
//! * Slices. The executor deals the units of an operation out to a group's blocks and gives one more to the first of
//!   them where they do not come out even: with less than one for each, the last blocks have nothing to do. Operations
//!   of one size on the same chunks are dealt out alike, so that it matters for those of several sizes, and where blocks
//!   without work hear of nothing. Numbers of units from the least that the plan serves to that and twice the number of
//!   parts are looked at: the ends of slices repeat themselves, shifted alike. In a program that is large, the least only.
//! * Windows. A message that is no larger than a window goes through a pipeline once, and what the second round would
//!   have waited for is not waited for. The last of several windows may be shorter; it is so in all operations alike.

use super::names;
use crate::ir::run;
use crate::ir::{Action, Op, Operand, Program};
use std::collections::BTreeSet;

/// A program with sizes of which something is to be known.
pub(super) struct Class {
    /// The program; none where it is the one that was asked for.
    pub(super) program: Option<Program>,
    /// Into how many parts a chunk is cut.
    pub(super) parts: u32,
    /// The smallest message that this is for, in bytes.
    pub(super) size: u64,
    /// For which messages this is.
    pub(super) said: String,
}

/// Cells that all classes of slices may have together; of larger programs one class is looked at.
const MOST_CELLS: u64 = 400_000;

/// What else to look at.
pub(super) fn others(program: &Program, parts: u32) -> Vec<Class> {
    let mut classes = Vec::new();
    for units in uneven(program, parts) {
        let size = unit(program).saturating_mul(units.into());
        let said = format!(
            "this happens for messages of {}: a chunk has {units} unit{} of `alignment`, which the blocks of a group cannot split evenly",
            names::size(size),
            if units == 1 { "" } else { "s" }
        );
        classes.push(Class { program: None, parts: units, size, said });
    }
    if has_pipelines(program) {
        let straight = once(program);
        let said =
            "this happens when a message is no larger than a window of a pipeline".to_owned();
        let parts = run::parts(&straight);
        let size = unit(program).saturating_mul(least_units(program).into());
        classes.push(Class { program: Some(straight), parts, size, said });
    }
    classes
}

/// Numbers of units to a chunk for which slices are uneven and may matter.
fn uneven(program: &Program, parts: u32) -> Vec<u32> {
    let shapes = shapes(program);
    if shapes.is_empty() || has_pipelines(program) {
        return Vec::new();
    }
    let least = least_units(program);
    let end = least.saturating_add(parts.saturating_mul(2));
    let cells = program.chunks().saturating_mul(u64::from(end)).saturating_mul(u64::from(parts));
    // Where all are dealt out alike, only blocks that have nothing to do differ.
    let one = shapes.len() == 1 || cells > MOST_CELLS;
    let units: BTreeSet<u32> = if one { [least].into() } else { (least..=end).collect() };
    let is_even = |units: u32| {
        shapes.iter().all(|shape| {
            (u64::from(shape.size) * u64::from(units)).is_multiple_of(u64::from(shape.count))
        })
    };
    let has_work = |units: u32| {
        shapes.iter().all(|shape| u64::from(shape.size) * u64::from(units) >= shape.count.into())
    };
    let matters = |units: &u32| !is_even(*units) && (shapes.len() > 1 || !has_work(*units));
    units.into_iter().filter(matters).collect()
}

/// How an operation is dealt out to a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    /// Its chunks.
    size: u32,
    /// Among how many blocks.
    count: u32,
    /// Where it begins, in times its size.
    offset: u32,
}

/// The shapes of operations whose slices end within chunks.
fn shapes(program: &Program) -> BTreeSet<Shape> {
    let mut shapes = BTreeSet::new();
    let mut last = None;
    for transfer in program.all_ops().filter_map(Op::transfer) {
        let Some(slice) = transfer.slice.filter(|slice| slice.count > 1) else { continue };
        let shape = |operand: &Operand| Shape {
            size: operand.size,
            count: slice.count,
            offset: operand.index % operand.size.max(1),
        };
        let operands = transfer.operands();
        for operand in operands.filter(|one| !one.size.is_multiple_of(slice.count)) {
            // Mostly the operands of an operation are alike.
            let shape = shape(operand);
            if last != Some(shape) {
                last = Some(shape);
                shapes.insert(shape);
            }
        }
    }
    shapes
}

/// The fewest units that a chunk has.
fn least_units(program: &Program) -> u32 {
    let least = program.options.min_message_size.unwrap_or(0).div_ceil(unit(program));
    u32::try_from(least.max(1)).unwrap_or(run::MOST_PARTS).min(run::MOST_PARTS)
}

/// The size of the message whose chunks have one unit each, in bytes.
fn unit(program: &Program) -> u64 {
    let options = &program.options;
    let chunks = program.message_chunks();
    let copies = if program.instances_done == 1 { options.instances.max(1) } else { 1 };
    (u64::from(options.alignment) * u64::from(chunks) * u64::from(copies)).max(1)
}

fn has_pipelines(program: &Program) -> bool {
    let is_pipeline = |op: &Op| matches!(op.action, Action::Pipeline(_));
    program.all_ops().any(is_pipeline)
}

/// The program with every pipeline gone through once, all at once.
fn once(program: &Program) -> Program {
    let mut program = program.clone();
    for block in program.blocks_mut() {
        let mut ops = Vec::with_capacity(block.ops.len());
        for op in block.ops.drain(..) {
            match op.action {
                Action::Pipeline(pipeline) => ops.extend(pipeline.body),
                Action::Sync
                | Action::Barrier { .. }
                | Action::Signal(_)
                | Action::Wait(_)
                | Action::Flush(_)
                | Action::Acquire(_)
                | Action::Release(_)
                | Action::Transfer(_) => ops.push(op),
            }
        }
        block.ops = ops;
    }
    program
}
