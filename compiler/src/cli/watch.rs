//! The observers of a run's phases: `--timings`, and the progress line.
//!
//! This is the only place that knows when a run began. If neither is requested, phases are not observed.

use super::timings::{Reading, Timings};
use super::{Failure, output, progress};
use compiler::phase::{self, Watcher};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// What is known about a run; shared with the compiler, which reports its phases.
#[derive(Clone)]
pub(super) struct Watch {
    started: Instant,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    timings: Option<Timings>,
    /// The threads, by their number in a trace.
    threads: Vec<ThreadId>,
    /// The phases that the first thread is in, outermost first.
    now: Vec<String>,
}

/// Starts to observe phases, if anybody will see the result.
pub(super) fn start(timings: bool, progress: bool) -> Watch {
    let state = State { timings: timings.then(Timings::default), ..State::default() };
    let watch = Watch { started: Instant::now(), state: Arc::new(Mutex::new(state)) };
    if timings || progress {
        // A process runs one command, so nothing observes phases yet.
        phase::watch(Box::new(watch.clone()));
    }
    if progress {
        let seen = watch.clone();
        progress::start(move || seen.now());
    }
    watch
}

impl Watch {
    /// Stops observing, and writes the timings if they are requested.
    pub(super) fn finish(&self, path: Option<&Path>) -> Result<(), Failure> {
        progress::finish();
        let trace = self.state().timings.as_ref().map(|timings| timings.text(&command()));
        match (path, trace) {
            (Some(path), Some(trace)) => output::write_text(path, &trace),
            _ => Ok(()),
        }
    }

    /// "12 s: ranks = 17, check the program, races"; none outside of phases.
    fn now(&self) -> Option<String> {
        let state = self.state();
        let seconds = self.started.elapsed().as_secs();
        (!state.now.is_empty()).then(|| format!("{seconds} s: {}", state.now.join(", ")))
    }

    /// The time.
    fn read(&self) -> Reading {
        Reading { at: self.started.elapsed(), cpu: spent() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher for Watch {
    fn begins(&self, phase: &'static str, subject: &str) {
        let at = self.read();
        let mut state = self.state();
        let thread = state.thread();
        if thread == 0 {
            let subject = if subject.is_empty() { phase } else { subject };
            state.now.push(subject.to_owned());
        }
        if let Some(timings) = &mut state.timings {
            timings.begins(at, thread, phase, subject);
        }
    }

    fn ends(&self, _: &'static str, numbers: &[(&'static str, u64)]) {
        let at = self.read();
        let mut state = self.state();
        let thread = state.thread();
        if thread == 0 {
            state.now.pop();
        }
        if let Some(timings) = &mut state.timings {
            timings.ends(at, thread, numbers);
        }
    }
}

impl State {
    /// This thread's number.
    fn thread(&mut self) -> usize {
        let id = thread::current().id();
        self.threads.iter().position(|known| *known == id).unwrap_or_else(|| {
            self.threads.push(id);
            self.threads.len() - 1
        })
    }
}

/// How long this thread has run, if the system says (Linux).
fn spent() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

fn command() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}
