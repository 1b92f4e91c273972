//! Sizes of scratch with which the executor finds the same place on all ranks.
//!
//! In: a program. Out: the same program, where needed with more scratch:
//! - with two halves, or slots of fixed size, each rank computes where these begin on its peers from the size of its own
//!   scratch; and all members of a switch's group bind as much as the first one. So all ranks get as much as the
//!   largest;
//! - the second half must begin at a multiple of 16 bytes, since packets have that size. It begins after as many chunks,
//!   twice their size, as there are; and a chunk is the allocation of the input, divided by its chunks and rounded up
//!   to a byte. Allocations are multiples of some power of two, so the number of chunks of scratch becomes a multiple
//!   of eight where that of the input is no power of two.

use super::replicate;
use crate::ir::{Program, Protocol, Rank, memory};

/// Twice this many bytes is the size of a packet.
const ALIGNED: u32 = 8;

/// Adds scratch where that is needed.
#[must_use]
pub(super) fn scratch(mut program: Program) -> Program {
    let options = &program.options;
    let (double, reuse) = (options.double_scratch, options.reuse_resources);
    let most = program.ranks.iter().map(|rank| rank.scratch_chunks).max().unwrap_or_default();
    if most == 0 || !memory::needs_equal_scratch(&program) {
        return program;
    }
    let copies = replicate::copies(&program);
    let even = |rank: &Rank| rank.input_chunks.saturating_mul(copies).is_power_of_two();
    let packets = double && !reuse && options.protocol == Protocol::Ll;
    let aligned = !packets || program.ranks.iter().all(even);
    let chunks = if aligned { most } else { most.next_multiple_of(ALIGNED) };
    program.ranks.iter_mut().for_each(|rank| rank.scratch_chunks = chunks);
    program
}
