//! Watches a search: ends it when the time is up or at Ctrl-C, and says on a terminal what it is at.

use super::progress;
use compiler::interrupt::Interrupt;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use synth::observer::{SearchObserver, SearchProgress};
use synth::schedule::SchedulePoint;

/// Watches the searches of a command.
#[derive(Debug)]
pub(crate) struct SearchWatch {
    /// Set when the time is up.
    interrupt: Interrupt,
    /// Set at Ctrl-C.
    cancelled: Arc<AtomicBool>,
    /// What the search is at.
    stage: Arc<Mutex<Option<String>>>,
}

/// What ended a search before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchStop {
    /// The time limit.
    TimeLimit,
    /// The user.
    Cancelled,
}

impl fmt::Display for SearchStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SearchStop::TimeLimit => "the search was ended by `--time-limit`",
            SearchStop::Cancelled => "the search was ended by Ctrl-C",
        })
    }
}

impl SearchWatch {
    /// Begins to watch, until the returned value is dropped. Until then, the first Ctrl-C ends the search, and a second one
    /// the process.
    pub(crate) fn begin(interrupt: &Interrupt, shows_progress: bool) -> SearchWatch {
        let cancelled = Arc::new(AtomicBool::new(false));
        // If no handler can be set, Ctrl-C ends the process as usual. The one that is registered first sees the flag as it
        // was before the other one sets it.
        let signal = signal_hook::consts::SIGINT;
        let _ = signal_hook::flag::register_conditional_default(signal, cancelled.clone())
            .and_then(|_| signal_hook::flag::register(signal, cancelled.clone()));
        let stage = Arc::new(Mutex::new(None));
        if shows_progress {
            let stage = stage.clone();
            progress::start(move || read_stage(&stage));
        }
        SearchWatch { interrupt: interrupt.clone(), cancelled, stage }
    }

    /// What ended the search, if something did.
    pub(crate) fn find_stop(&self) -> Option<SearchStop> {
        if self.cancelled.load(Ordering::Relaxed) {
            Some(SearchStop::Cancelled)
        } else if self.interrupt.is_set() {
            Some(SearchStop::TimeLimit)
        } else {
            None
        }
    }
}

impl Drop for SearchWatch {
    fn drop(&mut self) {
        // From now on the first Ctrl-C ends the process.
        self.cancelled.store(true, Ordering::Relaxed);
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = None;
        progress::clear();
    }
}

fn read_stage(stage: &Mutex<Option<String>>) -> Option<String> {
    stage.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl SearchObserver for SearchWatch {
    fn is_stopped(&self) -> bool {
        self.find_stop().is_some()
    }

    fn report(&self, progress: SearchProgress<'_>) {
        let size =
            |point: SchedulePoint| format!("({}, {}, {})", point.steps, point.rounds, point.chunks);
        let text = match progress {
            SearchProgress::BoundsFound(_) => "constructing schedules".to_owned(),
            SearchProgress::StepsBegun { steps, .. } => format!("looking at {steps} steps"),
            SearchProgress::PointBegun { point, conflicts_left } => {
                format!("solving {}, with {conflicts_left} conflicts left", size(point))
            }
            SearchProgress::Solving { point, conflicts } => {
                format!("solving {}: {conflicts} conflicts", size(point))
            }
            SearchProgress::PointFound { point } => format!("found {}", size(point)),
            SearchProgress::TestingFlows { tests } => format!("packing trees: {tests} flow tests"),
        };
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }
}
