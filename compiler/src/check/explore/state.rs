//! How far every block has come in one schedule.

use super::counter::Counter;
use crate::ir::{ChannelId, RankId, SemaphoreId};
use crate::table::Id;

/// How far every block has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) at: Vec<u32>,
    /// What each block has drawn and is waiting with: its ticket, or the semaphore's value before
    /// it took one.
    pub(super) drawn: Vec<Option<i64>>,
    /// Signals that arrived, and waits that began, by rank and channel.
    pub(super) signals: Vec<Vec<(u32, u32)>>,
    pub(super) semaphores: Vec<Vec<i64>>,
}

impl State {
    pub(super) fn pass(&mut self, block: usize) {
        if let Some(at) = self.at.get_mut(block) {
            *at += 1;
        }
        if let Some(drawn) = self.drawn.get_mut(block) {
            *drawn = None;
        }
    }

    pub(super) fn channel(&mut self, rank: RankId, id: ChannelId) -> Option<&mut (u32, u32)> {
        self.signals.get_mut(rank.index())?.get_mut(id.index())
    }

    pub(super) fn semaphore(&mut self, rank: RankId, id: SemaphoreId) -> Option<&mut i64> {
        self.semaphores.get_mut(rank.index())?.get_mut(id.index())
    }

    /// Takes one from a counter that is not shared, if there is one; with `look`, only says whether
    /// there is.
    pub(super) fn take(&mut self, rank: RankId, counter: Counter, look: bool) -> bool {
        match counter {
            Counter::Channel(id) => self.channel(rank, id).is_some_and(|(came, begun)| {
                let there = *came > *begun;
                *begun += u32::from(there && !look);
                there
            }),
            Counter::Semaphore(id) => self.semaphore(rank, id).is_some_and(|value| {
                let there = *value > 0;
                *value -= i64::from(there && !look);
                there
            }),
        }
    }
}
