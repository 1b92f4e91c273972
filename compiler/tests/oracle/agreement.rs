//! Whether the checker refuses exactly what goes wrong.
//!
//! Every mutant of the corpus that some schedule shows wrong must be refused, and every other one accepted, except for
//! what has several users of one counter, which the checker refuses as such. What it is known to get wrong is listed
//! ([`OPEN`]).
//!
//! `ORACLE=full` tries far more. `ORACLE_SEED`, `ORACLE_STRIDE` (every so-many-eth program) and `ORACLE_MUTANTS` (of
//! each kind, of each program) choose freely.

use crate::corpus::{Entry, Form, corpus};
use crate::is_full;
use crate::machine::{Kind, Verdict};
use crate::mutants::{Mutant, mutants};
use crate::schedule::{Effort, Found, explore};
use compiler::check;
use compiler::diagnostic::Severity;
use compiler::interrupt::Interrupt;
use compiler::ir::Program;
use std::collections::BTreeMap;

/// What the checker is known to get wrong: the kind of mutant, the beginning of what the oracle found or the checker
/// said, and why.
const OPEN: [(&str, &str, &str); 6] = [
    (
        "duplicate transfer",
        "Race",
        "what a proxy reads of packets is not followed into the launch that overwrites them",
    ),
    (
        "widen",
        "Race",
        "packets of two writers in one cell; windows of a pipeline that are not whole",
    ),
    ("", "WrongValue", "in a plan, a promised chunk that nothing writes"),
    ("widen", "WrongValue", "in a plan, a promised chunk that nothing writes"),
    (
        "move barrier up",
        "Race",
        "packets that a proxy is told to read before they are known to be there",
    ),
    (
        "",
        "E0510",
        "scratch of a rank that may not have started, where nothing of the launch before is in the way",
    ),
];

/// How often the oracle and the checker said what of a kind of mutant.
#[derive(Clone, Copy, Default)]
struct Tally {
    wrong_refused: u32,
    wrong_accepted: u32,
    right_accepted: u32,
    right_refused: u32,
    /// Right in the schedules that were tried, and refused for several users of one counter.
    outside: u32,
    /// Wrong values that no check of orders explains.
    unexplained: u32,
}

#[test]
fn mutants_are_refused_where_they_go_wrong() {
    let number = |name: &str, short: u64, full: u64| {
        let otherwise = if is_full() { full } else { short };
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let seed = number("ORACLE_SEED", 1, 1);
    let stride = number("ORACLE_STRIDE", 12, 1) as usize;
    let count = number("ORACLE_MUTANTS", 1, 3) as usize;
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut surprises = Vec::new();
    for (i, form) in
        [Form::Written, Form::Passed(1), Form::Passed(2), Form::Plan].into_iter().enumerate()
    {
        for (j, entry) in corpus(&[2, 3, 4], form).into_iter().enumerate() {
            let skipped = !(i + j + seed as usize).is_multiple_of(stride);
            if skipped || judge(&entry.program, seed).verdict != Verdict::Ok {
                continue;
            }
            for mutant in mutants(&entry.program, count, seed + j as u64) {
                let tally = tallies.entry(mutant.kind).or_default();
                surprises.extend(compare(&entry, form, &mutant, seed, tally));
            }
        }
    }
    report(&tallies);
    let made: u32 = tallies.values().map(|t| t.wrong_refused + t.right_accepted).sum();
    assert!(surprises.is_empty(), "{}:\n{}", surprises.len(), surprises.join("\n"));
    assert!(made > 500, "only {made} mutants");
}

fn judge(program: &Program, seed: u64) -> Found {
    let effort = if is_full() {
        Effort { checked: 4, weak: 8, show: false }
    } else {
        Effort { checked: 1, weak: 2, show: false }
    };
    explore(program, effort, seed)
}

/// What the checker says against a program.
fn refusals(program: &Program) -> Vec<String> {
    let reports = check::check(program, &Interrupt::default());
    let errors = reports.into_iter().filter(|report| report.severity == Severity::Error);
    let said = errors.map(|report| format!("{} {}", report.code.id(), report.message));
    said.filter(|said| ["E05", "E06", "E07"].iter().any(|group| said.starts_with(group))).collect()
}

/// Counts a mutant, and says what is surprising of it.
fn compare(
    entry: &Entry,
    form: Form,
    mutant: &Mutant,
    seed: u64,
    tally: &mut Tally,
) -> Option<String> {
    let found = judge(&mutant.program, seed);
    let refused = refusals(&mutant.program);
    let what = format!("{} {form:?}, {} at {}", entry.name, mutant.kind, mutant.place);
    let shown = format!("{:?}", found.verdict);
    let several = refused.iter().any(|said| said.starts_with("E0605"));
    let weak = found.schedule.is_some_and(|schedule| schedule.kind == Kind::Weak);
    if weak && !several {
        tally.unexplained += 1;
        return Some(format!("{what}: unexplained: {found:?}"));
    }
    match (found.verdict == Verdict::Ok, refused.first()) {
        (true, None) => tally.right_accepted += 1,
        (false, Some(_)) => tally.wrong_refused += 1,
        (true, Some(_)) if several => tally.outside += 1,
        (false, None) => {
            tally.wrong_accepted += 1;
            return surprise(mutant.kind, &shown, format!("{what}: accepted, but {found:?}"));
        }
        (true, Some(said)) => {
            tally.right_refused += 1;
            return surprise(mutant.kind, said, format!("{what}: refused: {said}"));
        }
    }
    None
}

/// Unless it is known.
fn surprise(kind: &str, said: &str, text: String) -> Option<String> {
    let known =
        |(kinds, start, _): &(&str, &str, &str)| kind.starts_with(kinds) && said.starts_with(start);
    let open = OPEN.iter().any(known);
    if open && std::env::var_os("ORACLE_OPEN").is_some() {
        eprintln!("open: {text}");
    }
    (!open).then_some(text)
}

fn report(tallies: &BTreeMap<&str, Tally>) {
    let mut sum = Tally::default();
    let line = |name: &str, t: &Tally| {
        eprintln!(
            "{name:24} {:8} {:9} {:9} {:9} {:9} {:9}",
            t.wrong_refused,
            t.wrong_accepted,
            t.right_accepted,
            t.right_refused,
            t.outside,
            t.unexplained
        );
    };
    eprintln!(
        "{:24} {:>18} {:>19} {:>9} {:>9}",
        "", "wrong: ref. acc.", "right: acc. ref.", "outside", "unexpl."
    );
    for (name, t) in tallies {
        line(name, t);
        sum.wrong_refused += t.wrong_refused;
        sum.wrong_accepted += t.wrong_accepted;
        sum.right_accepted += t.right_accepted;
        sum.right_refused += t.right_refused;
        sum.outside += t.outside;
        sum.unexplained += t.unexplained;
    }
    line("all", &sum);
}
