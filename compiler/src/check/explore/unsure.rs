//! Why the schedules of a part of a program are not tried.

use super::Unsearched;
use super::packets::count;
use super::parts::Block;
use crate::check::budget::SCHEDULED;
use crate::ir::counter::{gives, takes};
use crate::ir::sharing::Sharing;
use crate::ir::{ChannelKind, Program};

/// Why the schedules of these blocks are not tried; none if they are.
pub(super) fn why(program: &Program, sharing: &Sharing, blocks: &[Block]) -> Option<Unsearched> {
    let steps = blocks.iter().map(|block| block.steps.len() as u64).sum();
    if let Err(exceeded) = SCHEDULED.allow(steps) {
        return Some(Unsearched::TooMany(exceeded));
    }
    let is_unsure = |block| {
        is_mixed(sharing, block) || is_hasty(program, sharing, block) || is_loose(program, block)
    };
    blocks.iter().any(is_unsure).then_some(Unsearched::Threads)
}

/// Whether a block names a shared counter in a list with others: its threads would have to be modeled separately.
fn is_mixed(sharing: &Sharing, block: &Block) -> bool {
    block.steps.iter().any(|step| {
        let action = &step.op.action;
        let all = || takes(action).chain(gives(action));
        all().count() > 1 && all().any(|counter| sharing.is_shared(block.rank, counter))
    })
}

/// Whether a thread of a block takes from a shared counter, gives to any counter, or writes packets before it has
/// met other threads that waited earlier: it may do so before these have finished waiting, and threads are not
/// modeled separately here.
fn is_hasty(program: &Program, sharing: &Sharing, block: &Block) -> bool {
    // Whether, since the threads last met, the first one has waited, and whether others have.
    let (mut first, mut others) = (false, false);
    block.steps.iter().any(|step| {
        let action = &step.op.action;
        if step.meets {
            (first, others) = (false, false);
        }
        let reads = count(program, block.rank, step.op, false) > 0;
        let writes = count(program, block.rank, step.op, true) > 0;
        let (taken, given) = (takes(action).count(), gives(action).count());
        let by_first = given > 0 || sharing.is_drawn(block.rank, action);
        let by_others = given > 1 || writes;
        let hasty = others && (by_first || by_others) || first && by_others;
        first |= reads || taken > 0;
        others |= reads || taken > 1;
        hasty
    })
}

/// Whether an operation of a block forwards some packets before others have arrived, or handles packets that several
/// blocks share out among themselves: here, an operation reads and writes all its packets at once.
fn is_loose(program: &Program, block: &Block) -> bool {
    block.steps.iter().any(|step| {
        let Some(transfer) = step.op.transfer() else { return false };
        let read = count(program, block.rank, step.op, false);
        let written = count(program, block.rank, step.op, true);
        let in_pieces = transfer.via != Some(ChannelKind::Port) && read > 1 && written > 1;
        in_pieces || transfer.slice.is_some() && read + written > 0
    })
}
