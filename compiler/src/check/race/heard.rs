//! What the threads of a block wait for and have heard from packets, each on its own.

use super::access::Lane;
use super::block::Block;
use super::history::Source;
use super::writers::Slot;
use crate::ir::threads::Share;
use rustc_hash::FxHashMap;

/// What threads wait for and have heard since they last met.
#[derive(Default)]
pub(super) struct Heard {
    /// How many elements of this step are done, while the others wait for packets.
    pub(super) done: usize,
    /// The packet that the next of them waits for.
    pub(super) missing: Option<Slot>,
    /// What the elements of the last operations have learned; all threads know it once they meet.
    pub(super) learnt: Vec<Source>,
    /// The same, by the threads that have learned it, as long as the following operations distinguish threads.
    pub(super) lanes: FxHashMap<Lane, Vec<Source>>,
    /// Whether some threads were distinguished within a slice or a window, which may be smaller than its cells.
    pub(super) partly: bool,
    /// What the first threads have learned.
    pub(super) first: Vec<Source>,
}

impl Heard {
    /// What the threads of a lane have heard.
    pub(super) fn by(&self, lane: Lane) -> &[Source] {
        self.lanes.get(&lane).map_or(&[], Vec::as_slice)
    }

    /// Everything that was learned, each source once: the threads meet.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Source> {
        self.lanes.clear();
        self.partly = false;
        self.first.clear();
        self.learnt.sort_unstable();
        self.learnt.dedup();
        self.learnt.drain(..)
    }
}

/// What the threads of wide elements have learned from packets. A packet carries at most half as much as such an
/// element, so each thread that processes one of the first cells of an operation has read a packet of the first half of
/// these cells.
#[derive(Default)]
pub(super) struct Halves {
    /// The cells of packets that have been taken into account.
    seen: u64,
    /// What all of these tell about steps. It is unknown which of them a thread has read, and so what that packet was
    /// made from.
    common: Vec<Source>,
}

impl Halves {
    /// What the threads know that process the wide element at this distance from the first.
    pub(super) fn told(&mut self, block: &Block<'_>, at: u64) -> &[Source] {
        let heard = block.heard().filter(|heard| !heard.partly && !heard.lanes.is_empty());
        let Some(heard) = heard else { return &[] };
        if at == 0 {
            *self = Halves::default();
        }
        while self.seen <= at / 2 {
            let lane = Lane { share: Share::Payload, at: self.seen };
            let told = heard.by(lane).iter().filter_map(|source| source.steps());
            match self.seen {
                0 => self.common.extend(told),
                _ => {
                    let told: Vec<Source> = told.collect();
                    self.common.retain(|source| told.contains(source));
                }
            }
            self.seen += 1;
        }
        &self.common
    }
}
