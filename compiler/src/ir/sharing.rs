//! Counters that several blocks take from.
//!
//! In: a program. Out: the ends of channels on which several blocks wait, and the semaphores that several blocks
//! acquire. Which block takes from such a counter first depends on the schedule, so the order of the operations on it
//! and of other waits is part of the program: if two blocks hold the lock `x` before they ask for `y`, asking for both
//! at once instead may make both wait forever.

use super::counter::{Counter, takes};
use super::run::Awaits;
use super::{Action, Block, BlockId, ChannelId, Program, RankId, all_ops};
use crate::table::Table;
use rustc_hash::{FxHashMap, FxHashSet};

/// The counters that several blocks take from, on every rank; empty in most programs.
#[derive(Clone, Debug, Default)]
pub struct Sharing {
    taken: FxHashSet<(RankId, Counter)>,
    /// The other ends of the channels among them.
    signalled: FxHashSet<(RankId, ChannelId)>,
}

impl Sharing {
    /// The shared counters of a program.
    #[must_use]
    pub fn of(program: &Program) -> Sharing {
        let mut sharing = Sharing::default();
        for (id, rank) in program.ranks.entries().filter(|(_, rank)| rank.may_share()) {
            let takers = takers(&rank.blocks).into_iter();
            let several = takers.filter(|(_, (count, _))| *count > 1);
            sharing.taken.extend(several.map(|(counter, _)| (id, counter)));
        }
        let other = |(rank, counter): &(RankId, Counter)| {
            let Counter::Channel(id) = counter else { return None };
            let channel = program.ranks.lookup(*rank)?.channels.lookup(*id)?;
            channel.peer().zip(channel.partner)
        };
        sharing.signalled = sharing.taken.iter().filter_map(other).collect();
        sharing
    }

    /// Whether no counter is shared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    /// Whether several blocks of a rank take from a counter.
    #[must_use]
    pub fn is_shared(&self, rank: RankId, counter: Counter) -> bool {
        self.taken.contains(&(rank, counter))
    }

    /// Whether an operation of a rank takes from a counter that other blocks take from, too.
    #[must_use]
    pub fn is_drawn(&self, rank: RankId, action: &Action) -> bool {
        takes(action).any(|counter| self.is_shared(rank, counter))
    }

    /// Whether what a block of a rank waits for is what other blocks take, too.
    #[must_use]
    pub fn is_awaited(&self, rank: RankId, awaits: Awaits) -> bool {
        match awaits {
            Awaits::Signal(id) => self.is_shared(rank, Counter::Channel(id)),
            Awaits::Semaphore(id) => self.is_shared(rank, Counter::Semaphore(id)),
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
            Action::Release(list) => {
                list.iter().any(|id| self.is_shared(rank, Counter::Semaphore(*id)))
            }
            Action::Sync
            | Action::Barrier { .. }
            | Action::Flush(_)
            | Action::Transfer(_)
            | Action::Pipeline(_) => false,
        }
    }
}

/// For each counter of a rank, how many blocks take from it, and the last of them.
fn takers(blocks: &Table<BlockId, Block>) -> FxHashMap<Counter, (usize, usize)> {
    let mut takers = FxHashMap::default();
    for (at, block) in blocks.iter().enumerate() {
        for counter in all_ops(&block.ops).flat_map(|op| takes(&op.action)) {
            let row = takers.entry(counter).or_insert((1, at));
            if row.1 != at {
                *row = (row.0 + 1, at);
            }
        }
    }
    takers
}
