//! Sizes of scratch with which the executor finds the same place on all ranks.
//!
//! In: a program. Out: the same program, where needed with more scratch:
//! - with two halves, or slots of fixed size, each rank computes where these begin on its peers from the size of its own
//!   scratch; and all members of a switch's group bind as much as the first one. So all ranks get as much as the
//!   largest;
//! - packets in the second half must begin at a multiple of their size, see [`scratch_multiple`].

use super::replicate;
use crate::ir::scratch::scratch_multiple;
use crate::ir::{Program, memory};

/// Adds scratch where that is needed.
#[must_use]
pub(super) fn scratch(mut program: Program) -> Program {
    let most = program.ranks.iter().map(|rank| rank.scratch_chunks).max().unwrap_or_default();
    if most == 0 || !memory::needs_equal_scratch(&program) {
        return program;
    }
    let multiple = scratch_multiple(&program, replicate::copies(&program));
    // More chunks than can be counted are no better than chunks that are not aligned, which is reported later.
    let chunks = most.checked_next_multiple_of(multiple).unwrap_or(most);
    program.ranks.iter_mut().for_each(|rank| rank.scratch_chunks = chunks);
    program
}
