//! A flag that the caller sets when an answer is no longer wanted (a newer edit, a time limit).
//!
//! The compiler reads no clock: long loops check [`Interrupt::is_set`] and stop early. The result of a phase that
//! was interrupted is incomplete and must not be used.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A shared flag; the default one is never set.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    flag: Arc<AtomicBool>,
}

impl Interrupt {
    /// Asks everyone who holds a clone of this flag to stop.
    pub fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether to stop.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}
