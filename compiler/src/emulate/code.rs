//! What each block does in a launch of each size.

use super::MOST_STEPS;
use crate::events::{BlockSteps, Events, SizeClass};
use crate::ir::Program;

/// The steps of all blocks for one size of messages.
pub(super) struct SizeCode<'p> {
    pub(super) events: Events<'p>,
    /// Those of all ranks' blocks, one after the other.
    pub(super) blocks: Vec<BlockSteps<'p>>,
}

/// The steps of a program for each size of a chunk in bytes; none if there are too many.
pub(super) fn prepare_sizes<'p>(program: &'p Program, sizes: &[u64]) -> Option<Vec<SizeCode<'p>>> {
    let mut left = MOST_STEPS;
    let mut codes = Vec::with_capacity(sizes.len());
    for chunk in sizes {
        let class = SizeClass::Bytes { chunk: *chunk, slice_unit: slice_unit(program) };
        let events = Events::new(program, class);
        let mut blocks = Vec::new();
        for (rank, row) in program.ranks.entries() {
            blocks.extend(row.blocks.ids().map(|block| events.block_steps(rank, block)));
        }
        for steps in &blocks {
            left = left.checked_sub(steps.len())?;
        }
        codes.push(SizeCode { events, blocks });
    }
    Some(codes)
}

/// The unit of slices, and of the sizes of chunks that are run, in bytes: `alignment`, or 16 where the emulator cannot move that.
#[must_use]
pub(super) fn slice_unit(program: &Program) -> u64 {
    let alignment = program.options.alignment;
    if alignment > 0 && alignment.is_multiple_of(16) { alignment.into() } else { 16 }
}
