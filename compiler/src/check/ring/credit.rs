//! How far what writes scratch in a pipeline may be ahead of what reads it: what is given before the first round.
//!
//! In: a program. Out: how often each counter can be taken before anything in a pipeline is given. A ring of as many
//! windows is enough for a pipeline that waits for such a counter in each round, and gives it back in each.

use crate::ir::{Action, ChannelId, Op, Program, Rank, SemaphoreId};
use std::collections::{BTreeMap, BTreeSet};

/// The credits of all counters.
pub(super) fn credits(program: &Program) -> BTreeSet<u64> {
    program.ranks.iter().flat_map(of_rank).collect()
}

/// What a rank's semaphores begin with and are released outside pipelines, and what it signals outside of them.
fn of_rank(rank: &Rank) -> Vec<u64> {
    let mut signals: BTreeMap<ChannelId, u64> = BTreeMap::new();
    let initial = |value: i64| u64::try_from(value).unwrap_or(0);
    let entries = rank.semaphores.entries();
    let mut semaphores: BTreeMap<SemaphoreId, u64> =
        entries.map(|(id, row)| (id, initial(row.initial))).collect();
    for op in rank.blocks.iter().flat_map(|block| &block.ops) {
        if let Action::Release(list) = &op.action {
            list.iter().for_each(|id| *semaphores.entry(*id).or_default() += 1);
        }
        channels(op).iter().for_each(|id| *signals.entry(*id).or_default() += 1);
    }
    signals.into_values().chain(semaphores.into_values()).collect()
}

/// The channels that an operation signals over.
fn channels(op: &Op) -> &[ChannelId] {
    match &op.action {
        Action::Signal(signal) => &signal.channels,
        Action::Transfer(transfer) if transfer.verb.signals() => &transfer.channels,
        Action::Sync
        | Action::Barrier { .. }
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Transfer(_)
        | Action::Pipeline(_) => &[],
    }
}
