//! An independent judge of programs: an interpreter that executes them, and searches for schedules that go wrong.

#![expect(clippy::indexing_slicing, reason = "a test may panic")]

#[path = "oracle/code.rs"]
mod code;
#[path = "oracle/corpus.rs"]
mod corpus;
#[path = "oracle/element.rs"]
mod element;
#[path = "oracle/machine.rs"]
mod machine;
#[path = "oracle/memory.rs"]
mod memory;
#[path = "oracle/mutants.rs"]
mod mutants;
#[path = "oracle/proxy.rs"]
mod proxy;
#[path = "oracle/schedule.rs"]
mod schedule;
#[path = "oracle/user.rs"]
mod user;
#[path = "oracle/view.rs"]
mod view;

use compiler::check;
use compiler::diagnostic::Severity;
use compiler::interrupt::Interrupt;
use compiler::ir::Program;
use corpus::{Form, corpus};
use machine::Verdict;
use schedule::{Effort, explore};
use std::collections::BTreeMap;

#[test]
fn the_corpus_is_right_as_written_and_after_all_passes() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for form in [Form::Written, Form::Passed(1), Form::Passed(2)] {
        for entry in corpus(&[2, 3, 4], form) {
            let start = std::time::Instant::now();
            let found = explore(&entry.program, Effort { checked: 2, weak: 2, show: false }, 1);
            count += 1;
            if std::env::var_os("ORACLE_TRACE").is_some() {
                eprintln!("{} {form:?}: {:?} {:?}", entry.name, found.verdict, start.elapsed());
            }
            if found.verdict != Verdict::Ok {
                wrong.push(format!("{} {form:?}: {found:?}", entry.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 100, "only {count} programs");
}

/// What the checker says against a program.
fn refusals(program: &Program) -> Vec<String> {
    let reports = check::check(program, &Interrupt::default());
    let errors = reports.into_iter().filter(|report| report.severity == Severity::Error);
    let counted = ["E05", "E06", "E07"];
    errors
        .map(|report| (report.code.id().to_owned(), report.message))
        .filter(|(code, _)| counted.iter().any(|group| code.starts_with(group)))
        .map(|(code, message)| format!("{code} {message}"))
        .collect()
}

/// How often oracle and checker said what of a kind of mutant.
#[derive(Default)]
struct Tally {
    wrong_refused: u32,
    wrong_accepted: u32,
    right_accepted: u32,
    right_refused: u32,
}

#[test]
fn agreement() {
    let show = std::env::var_os("ORACLE_SHOW").is_some();
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let seed = number("ORACLE_SEED", 1);
    let stride = number("ORACLE_STRIDE", 12) as usize;
    let count = number("ORACLE_MUTANTS", 1) as usize;
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let (mut misses, mut alarms) = (Vec::new(), Vec::new());
    let (mut oracle_time, mut checker_time) = (std::time::Duration::ZERO, std::time::Duration::ZERO);
    for (i, form) in [Form::Written, Form::Passed(1), Form::Passed(2), Form::Plan].into_iter().enumerate() {
        for (j, entry) in corpus(&[2, 3, 4], form).into_iter().enumerate() {
            if !(i + j + seed as usize).is_multiple_of(stride) {
                continue;
            }
            if form == Form::Plan && explore(&entry.program, Effort { checked: 2, weak: 0, show }, seed).verdict != Verdict::Ok {
                continue;
            }
            for mutant in mutants::mutants(&entry.program, count, seed + j as u64) {
                let start = std::time::Instant::now();
                let found = explore(&mutant.program, Effort { checked: 2, weak: 2, show }, seed);
                oracle_time += start.elapsed();
                if start.elapsed().as_millis() > 1000 {
                    eprintln!("SLOW {:?} {} {form:?}, {} at {}: {found:?}", start.elapsed(), entry.name, mutant.kind, mutant.place);
                }
                let start = std::time::Instant::now();
                let refused = refusals(&mutant.program);
                checker_time += start.elapsed();
                let tally = tallies.entry(mutant.kind).or_default();
                if found.shown && found.schedule.is_some_and(|s| s.kind == machine::Kind::Weak) {
                    eprintln!("UNEXPLAINED {} {form:?}, {} at {}: {found:?}", entry.name, mutant.kind, mutant.place);
                }
                let what = format!("{} {form:?}, {} at {}", entry.name, mutant.kind, mutant.place);
                match (found.verdict == Verdict::Ok, refused.first()) {
                    (true, None) => tally.right_accepted += 1,
                    (false, Some(_)) => tally.wrong_refused += 1,
                    (false, None) => {
                        tally.wrong_accepted += 1;
                        let all = check::check(&mutant.program, &Interrupt::default());
                        let all: Vec<String> = all.iter().map(|r| format!("{:?} {} {}", r.severity, r.code.id(), r.message)).collect();
                        misses.push(format!("{what}: said {all:?} {:?} {:?} {}", found.verdict, found.schedule, found.shown));
                    }
                    (true, Some(said)) => {
                        tally.right_refused += 1;
                        alarms.push(format!("{what}: {said} (stale {})", found.stale));
                    }
                }
            }
        }
    }
    eprintln!("oracle {oracle_time:?}, checker {checker_time:?}");
    eprintln!("{:26} wrong: refused accepted  right: accepted refused", "");
    for (kind, t) in &tallies {
        eprintln!("{kind:26} {:14} {:8} {:16} {:7}", t.wrong_refused, t.wrong_accepted, t.right_accepted, t.right_refused);
    }
    eprintln!("MISSES {}\n{}", misses.len(), misses.join("\n"));
    eprintln!("ALARMS {}\n{}", alarms.len(), alarms.join("\n"));
    assert!(misses.is_empty());
}

#[test]
fn goldens_are_judged_alike() {
    for entry in corpus(&[], Form::Plan) {
        let start = std::time::Instant::now();
        let found = explore(&entry.program, Effort { checked: 2, weak: 4, show: true }, 1);
        let refused = refusals(&entry.program);
        let ok = found.verdict == Verdict::Ok;
        let mark = match (ok, refused.is_empty()) { (true, true) => "ok", (false, false) => "both", (false, true) => "MISS", (true, false) => "ALARM" };
        let promises: usize = entry.program.ranks.iter().map(|rank| rank.promises.len()).sum();
        eprintln!("{mark} {} [{}; {promises}] {:?} {} stale {} | {:?} {:?}", entry.name, entry.program.collective.name, found.verdict, found.shown, found.stale, refused.first(), start.elapsed());
    }
}
