//! What operations take from counters and give to them, and which packets they write and read.

use crate::ir::memory::{accesses, cells};
use crate::ir::{Action, ChannelId, Op, Program, RankId, SemaphoreId};

/// An end of a channel, or a semaphore, of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Counter {
    Channel(ChannelId),
    Semaphore(SemaphoreId),
}

/// The counters that an operation takes from.
pub(super) fn takes(op: &Op) -> impl Iterator<Item = Counter> + Clone + '_ {
    let (channels, semaphores): (&[ChannelId], &[SemaphoreId]) = match &op.action {
        Action::Wait(signal) => (&signal.channels, &[]),
        Action::Acquire(list) => (&[], list),
        Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Flush(_)
        | Action::Release(_)
        | Action::Transfer(_)
        | Action::Pipeline(_) => (&[], &[]),
    };
    let channels = channels.iter().map(|id| Counter::Channel(*id));
    channels.chain(semaphores.iter().map(|id| Counter::Semaphore(*id)))
}

/// The counters that an operation gives to; of a channel, its own end.
pub(super) fn gives(op: &Op) -> impl Iterator<Item = Counter> + Clone + '_ {
    let (channels, semaphores): (&[ChannelId], &[SemaphoreId]) = match &op.action {
        Action::Signal(signal) => (&signal.channels, &[]),
        Action::Transfer(transfer) if transfer.verb.signals() => (&transfer.channels, &[]),
        Action::Release(list) => (&[], list),
        Action::Sync
        | Action::Barrier { .. }
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Transfer(_)
        | Action::Pipeline(_) => (&[], &[]),
    };
    let channels = channels.iter().map(|id| Counter::Channel(*id));
    channels.chain(semaphores.iter().map(|id| Counter::Semaphore(*id)))
}

/// Visits the packets that an operation writes, or reads.
pub(super) fn packets(
    program: &Program,
    rank: RankId,
    op: &Op,
    write: bool,
    visit: &mut dyn FnMut((RankId, u64)),
) {
    let Action::Transfer(transfer) = &op.action else { return };
    for access in accesses(transfer).filter(|one| one.packets && one.write == write) {
        for extent in cells(&program.ranks, rank, access.operand, false) {
            (extent.start..extent.end).for_each(|cell| visit((extent.rank, cell)));
        }
    }
}
