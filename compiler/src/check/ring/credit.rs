//! How far the writer of scratch in a pipeline may be ahead of its reader: the credit of the counters that it waits for.
//!
//! In: a program. Out: for each counter that a pipeline waits for, its initial value and how often it is given outside
//! pipelines. A ring of as many windows is enough for a pipeline that takes such a counter in each round, and gives it
//! back in each.

use crate::ir::{Action, ChannelId, Op, Program, Rank, RankId, SemaphoreId};
use crate::table::Table;
use std::collections::{BTreeMap, BTreeSet};

/// The credits of all counters that pipelines wait for.
pub(super) fn credits(program: &Program) -> BTreeSet<u64> {
    let awaited: Table<RankId, Awaited> = program.ranks.iter().map(Awaited::of).collect();
    program.ranks.entries().flat_map(|(id, rank)| of_rank(&awaited, id, rank)).collect()
}

/// The counters of a rank that its pipelines wait for.
#[derive(Default)]
struct Awaited {
    channels: BTreeSet<ChannelId>,
    semaphores: BTreeSet<SemaphoreId>,
}

impl Awaited {
    fn of(rank: &Rank) -> Awaited {
        let mut found = Awaited::default();
        let ops = rank.blocks.iter().flat_map(|block| &block.ops);
        for op in ops.filter_map(Op::pipeline).flat_map(|pipeline| &pipeline.body) {
            match &op.action {
                Action::Wait(signal) => found.channels.extend(&signal.channels),
                Action::Acquire(list) => found.semaphores.extend(list),
                Action::Sync
                | Action::Barrier { .. }
                | Action::Signal(_)
                | Action::Flush(_)
                | Action::Release(_)
                | Action::Transfer(_)
                | Action::Pipeline(_) => {}
            }
        }
        found
    }
}

/// The credits of a rank's own semaphores, and of its peers' channel ends over which it signals.
fn of_rank(awaited: &Table<RankId, Awaited>, id: RankId, rank: &Rank) -> Vec<u64> {
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
    let is_heard = |id: &ChannelId| {
        let other = rank.channels.lookup(*id).and_then(|end| end.peer().zip(end.partner));
        let heard = |(peer, there): (RankId, ChannelId)| {
            awaited.lookup(peer).is_some_and(|peer| peer.channels.contains(&there))
        };
        other.is_some_and(heard)
    };
    signals.retain(|id, _| is_heard(id));
    let own = awaited.lookup(id);
    semaphores.retain(|id, _| own.is_some_and(|own| own.semaphores.contains(id)));
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
