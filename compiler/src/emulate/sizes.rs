//! The sizes of the messages of successive launches.

use super::schedule::mixed;
use std::sync::Arc;

/// Bytes in a chunk in each launch of one schedule. If there are several sizes, the schedule's number decides which one a
/// launch has; all ranks have the same.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    all: Arc<[u64]>,
    seed: u64,
}

impl Sizes {
    pub(super) fn new(all: &Arc<[u64]>, seed: u64) -> Sizes {
        Sizes { all: Arc::clone(all), seed }
    }

    /// Which of the sizes a launch has.
    pub(super) fn index(&self, launch: u32) -> usize {
        let drawn = mixed(mixed(self.seed ^ 0x512e) ^ u64::from(launch));
        (drawn % (self.all.len() as u64).max(1)) as usize
    }

    /// Bytes in a chunk in a launch.
    pub(super) fn chunk_bytes(&self, launch: u32) -> u64 {
        self.all.get(self.index(launch)).copied().unwrap_or_default()
    }

    /// Whether all launches have the same size.
    pub(super) fn are_equal(&self) -> bool {
        self.all.iter().all(|size| Some(size) == self.all.first())
    }

    /// Bytes in a chunk in the launch for which memory must suffice.
    pub(super) fn largest(&self) -> u64 {
        largest(&self.all)
    }
}

/// The largest of some sizes.
pub(super) fn largest(all: &[u64]) -> u64 {
    all.iter().copied().max().unwrap_or_default()
}
