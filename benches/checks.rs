//! What the checks cost in time, against what it costs to make the plan.
//!
//!     cargo bench -p ccl-compiler --bench checks [-- [PROGRAM..] [RANKS..]]
//!
//! A Markdown table goes to standard output. "Made" is elaborating, passing and writing (to nowhere), "checked" both
//! checks, as written and after the passes; the mean of several turns of each, in CPU time where the system tells it (Linux),
//! so that other work on the machine counts for less. "Followed" is how many ranks stand for all, as written and after the
//! passes.

#![expect(clippy::print_stdout, reason = "the table is what this is for")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot be made fails")]

mod subject;

use compiler::check;
use compiler::diagnostic::Severity;
use compiler::driver::{self, Proof, Target};
use compiler::interrupt::Interrupt;
use std::fs;
use std::time::{Duration, Instant};
use subject::{Subject, subjects};

/// The most turns of programs that take little.
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

/// Elaborates, passes and writes a program.
fn make(subject: &Subject) {
    let Subject { unit, program, settings, .. } = subject;
    let never = Interrupt::default();
    let (lowered, _) = driver::lower(unit, *program, settings, Proof::Skipped, &never);
    let target = Target { sms: u32::MAX, worst: Severity::Warning };
    driver::write_plan(lowered.unwrap(), target, &mut std::io::sink()).unwrap();
}

/// What one of several turns takes: of as many as take a quarter of a second together, since the system counts in
/// thousandths.
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

/// The CPU time of this thread so far, if the system tells.
fn spent() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
