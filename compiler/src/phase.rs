//! Notifications about the compiler's phases, for whoever watches them: timings, progress indicators.
//!
//! In: the beginnings and ends of phases. Out: calls of the process's [`Watcher`], if there is one; without one,
//! nothing is done. The compiler reads no clock: the watcher has its own.

use std::sync::OnceLock;

/// Receives notifications about phases. The phases of one thread nest.
pub trait Watcher: Send + Sync {
    /// A phase begins on this thread; `subject` is what it works on, and may be empty.
    fn begins(&self, phase: &'static str, subject: &str);

    /// The phase that began last on this thread ends; `numbers` say how much work there was.
    fn ends(&self, phase: &'static str, numbers: &[(&'static str, u64)]);
}

static WATCHER: OnceLock<Box<dyn Watcher>> = OnceLock::new();

/// Installs the watcher of this process. Returns false if there is one already; that one stays.
pub fn watch(watcher: Box<dyn Watcher>) -> bool {
    WATCHER.set(watcher).is_ok()
}

/// A running phase; it ends when this is dropped.
#[derive(Debug)]
#[must_use = "a phase ends where it is dropped"]
pub struct Phase {
    name: &'static str,
    numbers: Vec<(&'static str, u64)>,
}

/// Begins a phase.
pub fn phase(name: &'static str, subject: &str) -> Phase {
    if let Some(watcher) = WATCHER.get() {
        watcher.begins(name, subject);
    }
    Phase { name, numbers: Vec::new() }
}

impl Phase {
    /// Records how many of something there were; `number` is called only if there is a watcher.
    pub fn count(&mut self, what: &'static str, number: impl FnOnce() -> u64) {
        if WATCHER.get().is_some() {
            self.numbers.push((what, number()));
        }
    }
}

impl Drop for Phase {
    fn drop(&mut self) {
        if let Some(watcher) = WATCHER.get() {
            watcher.ends(self.name, &self.numbers);
        }
    }
}
