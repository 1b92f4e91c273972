//! What the compiler is doing, for those who watch it: timings, signs of progress.
//!
//! In: the beginnings and ends of phases. Out: a word to the process's [`Watcher`], if there is one; without, nothing is
//! done. The compiler knows no clock: who watches has one.

use std::sync::OnceLock;

/// Who is told of phases. Phases of one thread lie in each other.
pub trait Watcher: Send + Sync {
    /// A phase begins on this thread; `subject` is what it works on, and may be empty.
    fn begins(&self, phase: &'static str, subject: &str);

    /// The phase ends that began last on this thread; `numbers` say how much there was to do.
    fn ends(&self, phase: &'static str, numbers: &[(&'static str, u64)]);
}

static WATCHER: OnceLock<Box<dyn Watcher>> = OnceLock::new();

/// Makes somebody the watcher of this process; false where there is one already, who stays.
pub fn watch(watcher: Box<dyn Watcher>) -> bool {
    WATCHER.set(watcher).is_ok()
}

/// A phase, until it is dropped.
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
    /// Says how much of something there was; counted only where somebody watches.
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
