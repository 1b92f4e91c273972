//! `--timings FILE`: how long each phase took, as a trace that Perfetto and Chrome's `about:tracing` open.
//!
//! In: beginnings and ends of phases. Out: the "Trace Event Format" as JSON: an event `B` and an event `E` for each
//! phase, times in microseconds since the start, amounts of work as arguments of the end. Where the system says how long
//! the thread has run, each event has that, too: other work on the machine matters less to it.

use serde_json::{Value, json};
use std::time::Duration;

/// More events than this are not recorded, and their phases are counted: a sweep may have millions.
const MOST_EVENTS: usize = 1_000_000;

/// When something happened.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    /// Since the start of the run.
    pub(super) at: Duration,
    /// How long the thread has run, if the system says.
    pub(super) cpu: Option<Duration>,
}

impl Reading {
    /// An event of this time.
    fn event(self, mut event: Value) -> Value {
        if let Some(fields) = event.as_object_mut() {
            fields.insert("ts".to_owned(), json!(micros(self.at)));
            fields.extend(self.cpu.map(|cpu| ("tts".to_owned(), json!(micros(cpu)))));
        }
        event
    }
}

/// The events of a run so far.
#[derive(Default)]
pub(super) struct Timings {
    events: Vec<Value>,
    /// For each thread, by its number, whether its open phases were recorded.
    open: Vec<Vec<bool>>,
    left_out: u64,
}

impl Timings {
    /// Records that a phase begins.
    pub(super) fn begins(&mut self, at: Reading, thread: usize, phase: &str, subject: &str) {
        if self.open.len() <= thread {
            self.open.resize(thread + 1, Vec::new());
        }
        let fits = self.events.len() < MOST_EVENTS;
        if let Some(open) = self.open.get_mut(thread) {
            open.push(fits);
        }
        if !fits {
            self.left_out += 1;
            return;
        }
        let name = if subject.is_empty() { phase.to_owned() } else { format!("{phase} {subject}") };
        self.events.push(at.event(json!({
            "ph": "B", "name": name, "cat": phase, "pid": 1, "tid": thread + 1,
        })));
    }

    /// Records the end of the phase that began last on the thread.
    pub(super) fn ends(&mut self, at: Reading, thread: usize, numbers: &[(&'static str, u64)]) {
        if self.open.get_mut(thread).and_then(Vec::pop) != Some(true) {
            return;
        }
        let numbers: serde_json::Map<String, Value> =
            numbers.iter().map(|(what, number)| ((*what).to_owned(), json!(number))).collect();
        self.events.push(at.event(json!({
            "ph": "E", "pid": 1, "tid": thread + 1, "args": numbers,
        })));
    }

    /// The trace.
    pub(super) fn text(&self, command: &[String]) -> String {
        let name = |what: &str, thread: usize, name: &str| json!({"ph": "M", "name": what, "pid": 1, "tid": thread, "args": {"name": name}});
        let mut events = vec![name("process_name", 0, "cclc")];
        let threads = 1..=self.open.len();
        events.extend(threads.map(|n| name("thread_name", n, &format!("thread {n}"))));
        events.extend(self.events.iter().cloned());
        let about = json!({
            "version": env!("CARGO_PKG_VERSION"), "command": command, "phases_left_out": self.left_out,
        });
        let trace = json!({"displayTimeUnit": "ms", "otherData": about, "traceEvents": events});
        format!("{trace}\n")
    }
}

fn micros(at: Duration) -> f64 {
    at.as_nanos() as f64 / 1000.0
}
