//! The CPU time of the checks, compared with the time that making the plan takes.
//!
//!     cargo bench -p ccl-compiler --bench checks [-- [PROGRAM..] [RANKS..]]
//!
//! A Markdown table goes to standard output. "Made" is the time for elaborating, running the passes and writing (to a
//! sink); "checked" is the time for both checks, before and after the passes. Each is the mean of several runs, in CPU
//! time where the system reports it (Linux), so that other work on the machine matters less. "Followed" is the number
//! of ranks that represent all others, before and after the passes.

#![expect(clippy::print_stdout, reason = "printing the table is this program's purpose")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot be made fails")]

mod subject;

use compiler::check;
use compiler::diagnostic::Severity;
use compiler::driver::{self, Proof, Request};
use compiler::interrupt::Interrupt;
use compiler::target::{Capacity, PLAN};
use std::fs;
use std::time::{Duration, Instant};
use subject::{Subject, subjects};

/// The most runs of a program that takes little time.
const TURNS: u32 = 200;

fn main() {
    println!(
        "| program | ranks | followed | operations | made | checked | ratio | checked, an operation |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for subject in subjects() {
        row(&subject);
    }
}

fn row(subject: &Subject) {
    let made = mean(|| make(subject)).as_secs_f64();
    let both = subject.both();
    let checked = mean(|| both.check()).as_secs_f64();
    let mut known = check::Known::default();
    let followed = [&both.written, &both.passed].map(|program| {
        let _ = check::check_again(program, &mut known, &Interrupt::default());
        known.followed(program).to_string()
    });
    let operations = both.operations();
    println!(
        "| {} | {} | {} | {operations} | {made:.3} s | {checked:.3} s | {:.2} | {:.0} ns |",
        subject.title,
        subject.ranks,
        followed.join(", "),
        checked / made,
        checked * 1e9 / operations as f64,
    );
}

/// Elaborates a program, runs the passes and writes the plan.
fn make(subject: &Subject) {
    let (lowered, _) = driver::lower_program(&Request {
        unit: &subject.unit,
        program: subject.program,
        settings: &subject.settings,
        target: &PLAN,
        proof: Proof::Skipped,
        interrupt: &Interrupt::default(),
    });
    let capacity = Capacity { sms: u32::MAX, worst: Severity::Warning };
    driver::write_plan(lowered.unwrap(), capacity, &mut std::io::sink()).unwrap();
}

/// The mean time of several runs: of as many as take a quarter of a second together, since the clock may count in
/// milliseconds.
fn mean(mut work: impl FnMut()) -> Duration {
    let (start, began) = (spent(), Instant::now());
    let took =
        || spent().zip(start).map_or(began.elapsed(), |(now, start)| now.saturating_sub(start));
    for turns in 1.. {
        work();
        if turns == TURNS || took() > Duration::from_millis(250) {
            return took() / turns;
        }
    }
    took()
}

/// The CPU time of this thread so far, if the system reports it.
fn spent() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
