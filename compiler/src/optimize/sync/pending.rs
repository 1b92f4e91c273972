//! What the threads of a block have done since they last met, and whether an operation can follow without a join.
//!
//! It needs a join where one of these holds:
//! - it is a data operation after a `wait`, `acquire` or `flush`, of which only some threads know. The packets that a
//!   `read_put_packets` over a port reads are an exception: their readers wait for them;
//! - it is a data operation that touches what an earlier one touched, one of the two writes, and
//!   the threads may not be the same ([`super::lanes::conflict`]); packets may be read after they
//!   were written, since the reader waits for them;
//! - packets were read before, and it touches another rank's memory, except for packets that it waits for itself, or it
//!   writes something that others may be using ([`super::others`]): one of the earlier packets, read by another thread,
//!   may have been what says that the rank has started, or that the others are done;
//! - it is a `signal`, relaxed or not, a `release` or a `put_with_signal` after a data operation:
//!   it would speak for some threads' work only;
//! - it is a `put` over a port channel that reads or overwrites what a data
//!   operation wrote, or overwrites what one read;
//! - in it, thread k signals, releases or puts, after another thread waited or acquired;
//! - in it, thread k takes from a counter from which other blocks take, too, after another thread waited, acquired or
//!   read packets: thread k would hold what it takes while the other thread waits;
//! - in it, thread k signals, waits, puts, flushes or acquires on a counter that
//!   another thread used in the same way before;
//! - it is a `release` by thread k after another thread used a counter that other blocks use, too: it would hand that
//!   counter over before the other thread is done with it.
//!
//! Nothing else needs a join: a signal or release orders nothing after it, and a wait nothing before it.

use super::lanes::{self, Context, Effects, Heard, Touch, Use};
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
    /// The threads meet: nothing is pending.
    pub(super) fn clear(&mut self) {
        self.touches.clear();
        self.longest = 0;
        self.acquired = 0;
        self.heard = Heard::Nobody;
        self.uses.clear();
    }

    /// Adds what an operation does.
    pub(super) fn add(&mut self, context: Context, effects: Effects) {
        if effects.meets {
            self.clear();
        } else {
            effects.heard().for_each(|packets| self.heard.add(context, packets));
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
    pub(super) fn blocks(&self, context: Context, effects: &Effects) -> bool {
        let heeds = effects.heeds && self.acquired > 0;
        if heeds
            || lanes::visits(context, effects, &self.heard)
            || effects.touches.iter().any(|touch| self.conflicts(context, touch))
        {
            return true;
        }
        !effects.meets && self.blocks_threads(context, effects)
    }

    fn blocks_threads(&self, context: Context, effects: &Effects) -> bool {
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
        let hasty = effects.hands_over
            && self.uses.iter().any(|(used, thread)| {
                (effects.releases > 1 || *thread > 0) && used.is_shared(context)
            });
        untold
            || others
            || early
            || hasty
            || shared()
            || effects.proxied.iter().any(|touch| self.conflicts(context, touch))
    }

    fn conflicts(&self, context: Context, touch: &Touch) -> bool {
        let extent = touch.extent;
        let from = (extent.rank, extent.buffer, extent.start.saturating_sub(self.longest));
        let to = (extent.rank, extent.buffer, extent.end);
        self.touches
            .range(from..to)
            .flat_map(|(_, list)| list)
            .any(|earlier| lanes::conflict(context, earlier, touch))
    }
}
