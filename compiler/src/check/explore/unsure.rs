//! Why the schedules of a part of a program are not tried.

use super::parts::Block;
use super::{SharedCounters, Unsearched};
use crate::check::budget::SCHEDULED;

/// Why the schedules of these blocks are not tried; none if they are.
pub(super) fn why(shared: &SharedCounters, blocks: &[Block]) -> Option<Unsearched> {
    let steps = blocks.iter().map(|block| block.steps.len() as u64).sum();
    if let Err(exceeded) = SCHEDULED.allow(steps) {
        return Some(Unsearched::TooMany(exceeded));
    }
    let is_unsure = |block| is_mixed(shared, block) || is_hasty(shared, block) || is_loose(block);
    blocks.iter().any(is_unsure).then_some(Unsearched::Threads)
}

/// Whether a block names a shared counter in a list with others: its threads would have to be modeled separately.
fn is_mixed(shared: &SharedCounters, block: &Block) -> bool {
    block.steps.iter().any(|step| {
        let all = || step.takes().chain(step.gives());
        all().count() > 1 && all().any(|counter| shared.is_shared(counter))
    })
}

/// Whether a thread of a block takes from a shared counter, gives to any counter, or writes packets before it has
/// met other threads that waited earlier: it may do so before these have finished waiting, and threads are not
/// modeled separately here.
fn is_hasty(shared: &SharedCounters, block: &Block) -> bool {
    // Whether, since the threads last met, the first one has waited, and whether others have.
    let (mut first, mut others) = (false, false);
    block.steps.iter().any(|step| {
        if step.meets {
            (first, others) = (false, false);
        }
        let (reads, writes) = (step.count_packets(false) > 0, step.count_packets(true) > 0);
        let (taken, given) = (step.takes().count(), step.gives().count());
        let by_first = given > 0 || step.takes().any(|counter| shared.is_shared(counter));
        let by_others = given > 1 || writes;
        let hasty = others && (by_first || by_others) || first && by_others;
        first |= reads || taken > 0;
        others |= reads || taken > 1;
        hasty
    })
}

/// Whether an operation of a block forwards some packets before others have arrived, or handles packets that several
/// blocks share out among themselves: here, an operation reads and writes all its packets at once.
fn is_loose(block: &Block) -> bool {
    block.steps.iter().any(|block_step| {
        let Some(step) = block_step.step() else { return false };
        let (read, written) = (block_step.count_packets(false), block_step.count_packets(true));
        let in_pieces = !step.is_pushed() && read > 1 && written > 1;
        in_pieces || step.moves.iter().any(|one| one.slice.is_some()) && read + written > 0
    })
}
