//! Which packets an operation writes and reads, chunk by chunk.

use crate::ir::memory::{accesses, cells};
use crate::ir::{Op, Program, RankId};

/// A chunk of scratch that holds packets, and the rank that it is on.
pub(super) type Packet = (RankId, u64);

/// Visits the packets that an operation writes, or reads.
pub(super) fn packets(
    program: &Program,
    rank: RankId,
    op: &Op,
    write: bool,
    visit: &mut dyn FnMut(Packet),
) {
    let Some(transfer) = op.transfer() else { return };
    for access in accesses(transfer).filter(|one| one.packets && one.write == write) {
        for extent in cells(&program.ranks, rank, access.operand, false) {
            (extent.start..extent.end).for_each(|cell| visit((extent.rank, cell)));
        }
    }
}

/// How many packets an operation writes, or reads.
pub(super) fn count(program: &Program, rank: RankId, op: &Op, write: bool) -> usize {
    let mut count = 0;
    packets(program, rank, op, write, &mut |_| count += 1);
    count
}
