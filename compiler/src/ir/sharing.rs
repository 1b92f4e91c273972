//! Counters that several blocks take from.
//!
//! In: a program. Out: the ends of channels on which several blocks wait, and the semaphores that several blocks
//! acquire. Which block takes from such a counter first depends on the schedule, so the order of the operations on it
//! and of other waits is part of the program: if two blocks hold the lock `x` before they ask for `y`, asking for both
//! at once instead may make both wait forever.

use super::run::Awaits;
use super::{Action, Block, BlockId, ChannelId, Program, RankId, SemaphoreId, all_ops};
use crate::table::Table;
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;

/// The counters that several blocks take from, on every rank; empty in most programs.
#[derive(Clone, Debug, Default)]
pub struct Sharing {
    waited: FxHashSet<(RankId, ChannelId)>,
    acquired: FxHashSet<(RankId, SemaphoreId)>,
    /// The other ends of those channels.
    signalled: FxHashSet<(RankId, ChannelId)>,
}

impl Sharing {
    /// The shared counters of a program.
    #[must_use]
    pub fn of(program: &Program) -> Sharing {
        let mut sharing = Sharing::default();
        for (id, rank) in program.ranks.entries().filter(|(_, rank)| rank.may_share()) {
            let (channels, semaphores) = takers(&rank.blocks);
            sharing.waited.extend(several(channels).map(|channel| (id, channel)));
            sharing.acquired.extend(several(semaphores).map(|semaphore| (id, semaphore)));
        }
        let other = |(rank, id): &(RankId, ChannelId)| {
            let channel = program.ranks.lookup(*rank)?.channels.lookup(*id)?;
            channel.peer().zip(channel.partner)
        };
        sharing.signalled = sharing.waited.iter().filter_map(other).collect();
        sharing
    }

    /// Whether an operation of a rank takes from a counter that other blocks take from, too.
    #[must_use]
    pub fn is_drawn(&self, rank: RankId, action: &Action) -> bool {
        match action {
            Action::Wait(signal) => {
                signal.channels.iter().any(|id| self.waited.contains(&(rank, *id)))
            }
            Action::Acquire(list) => list.iter().any(|id| self.acquired.contains(&(rank, *id))),
            Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Flush(_)
            | Action::Release(_)
            | Action::Transfer(_)
            | Action::Pipeline(_) => false,
        }
    }

    /// Whether what a block of a rank waits for is what other blocks take, too.
    #[must_use]
    pub fn is_awaited(&self, rank: RankId, awaits: Awaits) -> bool {
        match awaits {
            Awaits::Signal(id) => self.waited.contains(&(rank, id)),
            Awaits::Semaphore(id) => self.acquired.contains(&(rank, id)),
            Awaits::Barrier(_) | Awaits::Packets => false,
        }
    }

    /// Whether an operation of a rank takes from a shared counter, or gives to it.
    #[must_use]
    pub fn is_named(&self, rank: RankId, action: &Action) -> bool {
        match action {
            Action::Wait(_) | Action::Acquire(_) => self.is_drawn(rank, action),
            Action::Signal(signal) => {
                signal.channels.iter().any(|id| self.signalled.contains(&(rank, *id)))
            }
            Action::Release(list) => list.iter().any(|id| self.acquired.contains(&(rank, *id))),
            Action::Sync
            | Action::Barrier { .. }
            | Action::Flush(_)
            | Action::Transfer(_)
            | Action::Pipeline(_) => false,
        }
    }
}

/// For each counter, how many blocks take from it, and the last of them.
type Takers<T> = FxHashMap<T, (usize, usize)>;

fn takers(blocks: &Table<BlockId, Block>) -> (Takers<ChannelId>, Takers<SemaphoreId>) {
    let (mut channels, mut semaphores) = (Takers::default(), Takers::default());
    for (at, block) in blocks.iter().enumerate() {
        for op in all_ops(&block.ops) {
            match &op.action {
                Action::Wait(signal) => {
                    signal.channels.iter().for_each(|id| take(&mut channels, *id, at));
                }
                Action::Acquire(list) => list.iter().for_each(|id| take(&mut semaphores, *id, at)),
                Action::Sync
                | Action::Barrier { .. }
                | Action::Signal(_)
                | Action::Flush(_)
                | Action::Release(_)
                | Action::Transfer(_)
                | Action::Pipeline(_) => {}
            }
        }
    }
    (channels, semaphores)
}

fn take<T: Eq + Hash>(takers: &mut Takers<T>, id: T, block: usize) {
    let row = takers.entry(id).or_insert((1, block));
    if row.1 != block {
        *row = (row.0 + 1, block);
    }
}

fn several<T>(takers: Takers<T>) -> impl Iterator<Item = T> {
    takers.into_iter().filter(|(_, (count, _))| *count > 1).map(|(id, _)| id)
}
