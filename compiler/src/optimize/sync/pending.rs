//! What the threads of a block have done since they last met, and whether an operation can follow without a meeting.
//!
//! It cannot, and needs a join, where one of these holds:
//! - a data operation comes after a `wait`, `acquire` or `flush` (only some threads know of it), but for packets that
//!   are only read: they wait for themselves;
//! - a data operation touches what an earlier one touched, one of them writes, and the threads may not be the same
//!   ([`super::lanes::conflict`]); packets may be read after they were written, since the reader waits for them;
//! - after packets were read, another rank's memory is touched, but for packets that wait for themselves, or something is
//!   written that others are at work on ([`super::others`]): what tells that the rank has started, or that they are
//!   done, may have been one of these packets, and another thread's;
//! - a `signal`, `release`, `put_with_signal` comes after a data operation (only some threads' work would be told of),
//!   relaxed signals included;
//! - a `put` over a port channel reads or overwrites what a data operation wrote, or overwrites what one read;
//! - thread k tells others, or puts, after another thread waited or acquired;
//! - thread k takes from what other blocks take from, too, after another thread waited, acquired or read packets: it would
//!   hold what it takes while the other one waits;
//! - thread k signals, waits, puts, flushes or acquires over what another thread used so before.
//!
//! Nothing else does: telling orders nothing after it, and waiting nothing before it.

use super::lanes::{self, Effects, Heard, Scene, Touch, Use};
use crate::ir::{Buffer, RankId};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// What was done since the last join.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    touches: BTreeMap<(RankId, Buffer, u64), SmallVec<[Touch; 1]>>,
    longest: u64,
    acquired: usize,
    heard: Heard,
    uses: BTreeMap<Use, usize>,
}

impl Pending {
    /// The threads meet.
    pub(super) fn clear(&mut self) {
        self.touches.clear();
        self.longest = 0;
        self.acquired = 0;
        self.heard = Heard::Nobody;
        self.uses.clear();
    }

    /// Adds what an operation does.
    pub(super) fn add(&mut self, scene: Scene, effects: Effects) {
        if effects.meets {
            self.clear();
        } else {
            effects.heard().for_each(|packets| self.heard.add(scene, packets));
            effects.touches.into_iter().for_each(|touch| self.touch(touch));
        }
        self.acquired = self.acquired.max(effects.acquires);
        self.uses.extend(effects.uses);
    }

    fn touch(&mut self, touch: Touch) {
        let extent = touch.extent;
        self.longest = self.longest.max(extent.end - extent.start);
        let list = self.touches.entry((extent.rank, extent.buffer, extent.start)).or_default();
        if !list.contains(&touch) {
            list.push(touch);
        }
    }

    /// Whether the operation needs a join before it.
    pub(super) fn blocks(&self, scene: Scene, effects: &Effects) -> bool {
        let heeds = effects.heeds && self.acquired > 0;
        if heeds
            || lanes::visits(scene, effects, &self.heard)
            || effects.touches.iter().any(|touch| self.conflicts(scene, touch))
        {
            return true;
        }
        !effects.meets && self.blocks_threads(scene, effects)
    }

    fn blocks_threads(&self, scene: Scene, effects: &Effects) -> bool {
        let untold = effects.publishes && !self.touches.is_empty();
        let others =
            self.acquired.max(effects.releases) > 1 && self.acquired > 0 && effects.releases > 0;
        let before = self.acquired > 0 && self.acquired.max(effects.acquires) > 1;
        let early = effects.draws && (before || self.heard != Heard::Nobody);
        let shared = || {
            effects
                .uses
                .iter()
                .any(|(used, thread)| self.uses.get(used).is_some_and(|t| t != thread))
        };
        untold
            || others
            || early
            || shared()
            || effects.proxied.iter().any(|touch| self.conflicts(scene, touch))
    }

    fn conflicts(&self, scene: Scene, touch: &Touch) -> bool {
        let extent = touch.extent;
        let from = (extent.rank, extent.buffer, extent.start.saturating_sub(self.longest));
        let to = (extent.rank, extent.buffer, extent.end);
        self.touches
            .range(from..to)
            .flat_map(|(_, list)| list)
            .any(|earlier| lanes::conflict(scene, earlier, touch))
    }
}
