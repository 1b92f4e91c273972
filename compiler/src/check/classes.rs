//! The message sizes that a program is checked for in addition to the one that makes all parts of its chunks whole.
//!
//! In: a program, and the number of parts that a chunk is cut into so that slices of groups and windows of pipelines
//! are whole. Out: classes of message sizes that have to be checked too. A chunk has a whole number of units of
//! `alignment`, the same number everywhere.
//!
//! * Slices. The executor distributes the units of an operation over a group's blocks. Where they do not divide evenly,
//!   the first blocks get one more; with fewer units than blocks, the last blocks have nothing to do. Operations of one
//!   size on the same chunks are distributed alike, so uneven slices matter only where operations have several sizes,
//!   where other accesses begin or end within the chunks that are shared ([`borders`]), or where blocks without work are
//!   not synchronized. The numbers of units that are checked go from the least that the plan serves to that plus twice
//!   the number of parts: beyond, the ends of slices repeat, all shifted alike. Of a large program only the least number
//!   is checked. So few units go through a pipeline in a single window, if the plan serves such messages. Pipelines over
//!   slices, which only plans have, are not checked for uneven slices.
//! * Windows. A message that is no larger than a window goes through a pipeline once, so nothing waits for what a
//!   second round would have waited for. This is left out where chunks of all messages that the plan serves have at
//!   least as many windows as those of the given program. The last of several windows may be shorter, but it is so in
//!   all operations alike.
//! * Long messages. Where pipelines may run ahead of each other, they do not wait until they have gone through as many
//!   windows as they may be ahead ([`run::Pace`]). Only whether all blocks come to their ends is checked there: with
//!   fewer windows, less is waited for, so a race shows with few windows already.

use super::borders;
use crate::bytes;
use crate::ir::run;
use crate::ir::{Action, Op, Operand, Program, Signal};
use std::collections::BTreeSet;

/// A class of message sizes that are checked together, and the program to check for them.
pub(super) struct Class {
    /// The program; none where it is the given one.
    pub(super) program: Option<Program>,
    /// The number of parts that a chunk is cut into.
    pub(super) parts: u32,
    /// The smallest message of the class, in bytes; none where the program is another one, so that reports have no
    /// witnesses.
    pub(super) size: Option<u64>,
    /// The class in words, for a note of a report.
    pub(super) said: String,
    /// What to look for.
    pub(super) sought: Sought,
}

/// What is looked for in a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sought {
    /// Everything.
    All,
    /// Whether all blocks come to their ends.
    Ends,
}

/// The most cells of all classes of slices together; of larger programs only one class is checked.
const MOST_CELLS: u64 = 400_000;

/// The other classes to check.
pub(super) fn others(program: &Program, parts: u32) -> Vec<Class> {
    let mut classes = Vec::new();
    let straight = (has_pipelines(program) && serves_few_windows(program)).then(|| once(program));
    for units in uneven(program, straight.as_ref(), parts) {
        let size = unit(program).saturating_mul(units.into());
        let said = format!(
            "this happens for messages of {}: a chunk has {units} unit{} of `alignment`, which the blocks of a group cannot split evenly",
            bytes::text(size),
            if units == 1 { "" } else { "s" }
        );
        let (sought, size) = (Sought::All, straight.is_none().then_some(size));
        classes.push(Class { program: straight.clone(), parts: units, size, said, sought });
    }
    if let Some(straight) = straight {
        let said =
            "this happens when a message is no larger than a window of a pipeline".to_owned();
        let (parts, sought) = (run::parts(&straight), Sought::All);
        classes.push(Class { program: Some(straight), parts, size: None, said, sought });
    }
    classes.extend(long(program));
    classes
}

/// Whether the plan serves messages whose chunks may have fewer windows than the program is checked with.
fn serves_few_windows(program: &Program) -> bool {
    let size = least_size(program).div_ceil(unit(program)).saturating_mul(alignment(program));
    run::windows(program).bytes(1).is_none_or(|checked| size < checked)
}

/// The class of messages so long that pipelines that run ahead have to wait; none if no pipeline runs ahead, or no
/// message of the plan is that long. Its program has the synchronization of all pipelines, but not the data that they
/// move.
fn long(program: &Program) -> Option<Class> {
    let ahead = run::pace(program).ahead;
    let windows = run::windows(program);
    let turns = program.all_ops().filter_map(Op::pipeline).map(|one| windows.turns(one)).min()?;
    // One window more than what may be ahead shows the wait, and another one what comes after it.
    let factor = u32::try_from((ahead + 2).div_ceil(turns)).unwrap_or(u32::MAX);
    let size = windows.bytes(factor)?.saturating_mul(program.message_chunks().into());
    if ahead == 0 || factor == 1 || size > program.options.max_message_size.unwrap_or(u64::MAX) {
        return None;
    }
    let mut long = program.clone();
    for block in long.blocks_mut() {
        block.ops.retain_mut(|op| {
            let Action::Pipeline(pipeline) = &mut op.action else { return true };
            pipeline.chunks = pipeline.chunks.saturating_mul(factor);
            pipeline.body.retain_mut(only_synchronizes);
            !pipeline.body.is_empty()
        });
    }
    let said = format!(
        "this happens for long messages, here of {}, for which a pipeline goes through {} windows",
        bytes::text(size),
        turns.saturating_mul(factor.into())
    );
    let (parts, sought) = (run::parts(&long), Sought::Ends);
    Some(Class { program: Some(long), parts, size: None, said, sought })
}

/// Reduces an operation to its synchronization; false if there is none.
fn only_synchronizes(op: &mut Op) -> bool {
    let Action::Transfer(transfer) = &mut op.action else { return true };
    let channels = std::mem::take(&mut transfer.channels);
    let signals = transfer.verb.signals();
    op.action = Action::Signal(Signal { channels, relaxed: false });
    signals
}

/// The numbers of units per chunk for which slices are uneven in a way that may matter. Where a message may be no larger
/// than a window of a pipeline, `straight` is the program to check for them, which goes through each pipeline once.
fn uneven(program: &Program, straight: Option<&Program>, parts: u32) -> Vec<u32> {
    let shapes = shapes(program);
    if shapes.is_empty() || slices_in_pipelines(program) {
        return Vec::new();
    }
    let parts = straight.map_or(parts, run::parts);
    let least = least_units(program);
    let end = least.saturating_add(parts.saturating_mul(2));
    let cells = program.chunks().saturating_mul(u64::from(end)).saturating_mul(u64::from(parts));
    // Where all operations are distributed alike, only blocks that have nothing to do make a difference.
    let several = shapes.len() > 1 || borders::are_met(program);
    let one = !several || cells > MOST_CELLS;
    let units: BTreeSet<u32> = if one { [least].into() } else { (least..=end).collect() };
    let is_even = |units: u32| {
        shapes.iter().all(|shape| {
            (u64::from(shape.size) * u64::from(units)).is_multiple_of(u64::from(shape.count))
        })
    };
    let has_work = |units: u32| {
        shapes.iter().all(|shape| u64::from(shape.size) * u64::from(units) >= shape.count.into())
    };
    let matters = |units: &u32| !is_even(*units) && (several || !has_work(*units));
    units.into_iter().filter(matters).collect()
}

/// How an operation is distributed over a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    /// How many chunks it has.
    size: u32,
    /// Over how many blocks.
    count: u32,
    /// Where it begins, modulo its size.
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
            // Usually the operands of an operation are alike.
            let shape = shape(operand);
            if last != Some(shape) {
                last = Some(shape);
                shapes.insert(shape);
            }
        }
    }
    shapes
}

/// The fewest units that a chunk has in a message that the plan serves.
fn least_units(program: &Program) -> u32 {
    let least = least_size(program).div_ceil(unit(program));
    u32::try_from(least.max(1)).unwrap_or(run::MOST_PARTS).min(run::MOST_PARTS)
}

/// The least size of a message that the plan serves, in bytes.
fn least_size(program: &Program) -> u64 {
    program.options.min_message_size.unwrap_or(0)
}

/// The size of a unit, in bytes.
fn alignment(program: &Program) -> u64 {
    u64::from(program.options.alignment)
}

/// The size of the message whose chunks have one unit each, in bytes.
pub(super) fn unit(program: &Program) -> u64 {
    let options = &program.options;
    let chunks = program.message_chunks();
    let copies = if program.instances_done == 1 { options.instances.max(1) } else { 1 };
    (alignment(program) * u64::from(chunks) * u64::from(copies)).max(1)
}

/// Whether a pipeline goes over slices, which only plans have.
fn slices_in_pipelines(program: &Program) -> bool {
    let in_pipelines =
        program.all_ops().filter_map(Op::pipeline).flat_map(|pipeline| &pipeline.body);
    in_pipelines.filter_map(Op::transfer).any(|transfer| transfer.slice.is_some())
}

fn has_pipelines(program: &Program) -> bool {
    let is_pipeline = |op: &Op| matches!(op.action, Action::Pipeline(_));
    program.all_ops().any(is_pipeline)
}

/// The program with the body of every pipeline run once, for whole chunks.
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
