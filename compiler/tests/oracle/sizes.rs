//! Launches of different sizes: programs that the checker accepts without W0503 must be right when launches of two sizes
//! take turns.
//!
//! `ORACLE=full` tries more programs and more schedules; `ORACLE_SEED`, `ORACLE_PROGRAMS`, `ORACLE_STRIDE` and `ORACLE_PART`
//! are as in [`crate::agreement`].

use crate::agreement::{number, part};
use crate::code::{Size, has_pipelines};
use crate::corpus::{Form, corpus};
use crate::is_full;
use crate::machine::Verdict;
use crate::mutants::{Count, mutants};
use crate::random;
use crate::schedule::{Effort, explore_sizes};
use compiler::check;
use compiler::diagnostic::{Code, Severity};
use compiler::interrupt::Interrupt;
use compiler::ir::Program;
use std::sync::Arc;

/// The sizes that take turns: chunks of 3 and of 5 elements.
const PLAIN: [Size; 2] = [
    Size { threads: 2, unit: 2, odd: 1, windows: 2 },
    Size { threads: 2, unit: 4, odd: 1, windows: 2 },
];
/// For programs with pipelines, whose windows are the same in all messages: 1, 2 and 6 windows.
const WINDOWS: [Size; 3] = [
    Size { threads: 2, unit: 2, odd: 0, windows: 1 },
    Size { threads: 2, unit: 2, odd: 0, windows: 2 },
    Size { threads: 2, unit: 2, odd: 0, windows: 6 },
];

/// How often the checker and the interpreter gave each combination of verdicts.
#[derive(Default)]
struct Tally {
    /// Accepted, and right.
    right: u32,
    /// W0503, and it goes wrong.
    shown: u32,
    /// W0503, and no schedule shows why; so it is where plain data may look like a packet, which it never does here.
    open: u32,
}

/// What the checker says of a program with scratch, whatever its author accepts: none if it refuses it for launches of one
/// size already.
fn says(program: &Program) -> Option<bool> {
    let scratch = program.ranks.iter().any(|rank| rank.scratch_chunks > 0);
    let mut program = program.clone();
    program.origins.accepted = Arc::default();
    let reports = check::check(&program, &Interrupt::default());
    let refused = |severity| severity == Severity::Error;
    let unproved = [Code::W0501, Code::W0502];
    let lost = reports.iter().any(|one| refused(one.severity) || unproved.contains(&one.code));
    (scratch && !lost).then(|| reports.iter().any(|report| report.code == Code::W0503))
}

/// Whether launches of two sizes go wrong when they take turns.
fn goes_wrong(program: &Program, seed: u64) -> Option<Verdict> {
    let (checked, weak) = if is_full() { (8, 8) } else { (2, 2) };
    let effort = Effort { checked, weak, show: false };
    let [one, two, many] = WINDOWS;
    let pairs = match has_pipelines(program) {
        true => vec![[one, two], [two, one], [two, many], [many, one]],
        false => vec![PLAIN, [PLAIN[1], PLAIN[0]]],
    };
    let mut verdicts = pairs.into_iter().map(|pair| explore_sizes(program, pair, effort, seed));
    verdicts.find(|verdict| *verdict != Verdict::Ok)
}

/// Counts the verdicts on a program; returns a message if it goes wrong without having been reported.
fn compare(what: &str, program: &Program, seed: u64, tally: &mut Tally) -> Option<String> {
    let reported = says(program)?;
    let wrong = goes_wrong(program, seed);
    let is_shown = std::env::var("ORACLE_SHOW").is_ok_and(|shown| what.contains(&shown));
    if is_shown && reported != wrong.is_some() {
        eprintln!("{what}: {wrong:?}\n{}", compiler::ir::print::print(program).text);
    }
    match (reported, wrong) {
        (false, None) => tally.right += 1,
        (true, Some(_)) => tally.shown += 1,
        (true, None) => tally.open += 1,
        (false, Some(verdict)) => return Some(format!("{what}: not reported, but {verdict:?}")),
    }
    None
}

#[test]
fn launches_of_two_sizes_go_wrong_only_where_that_is_reported() {
    let seed = number("ORACLE_SEED", 1, 1);
    let count = number("ORACLE_PROGRAMS", 4000, 20_000);
    let stride = number("ORACLE_STRIDE", 12, 2) as usize;
    let (part, parts) = part();
    let (mut tally, mut surprises) = (Tally::default(), Vec::new());
    for i in (0..count).filter(|i| i % parts == part) {
        let program = random::program(seed.wrapping_mul(1 << 32) + i, i % 16 == 0);
        let what = format!("program {i} of seed {seed}");
        surprises.extend(compare(&what, &program, seed, &mut tally));
    }
    let random = tally.right + tally.shown + tally.open;
    for (j, entry) in corpus(&[2, 3, 4], Form::Passed(1)).into_iter().enumerate() {
        if j as u64 % parts != part || says(&entry.program).is_none() {
            continue;
        }
        surprises.extend(compare(&entry.name, &entry.program, seed, &mut tally));
        if !entry.is_sampled(stride, j) {
            continue;
        }
        for mutant in mutants(&entry.program, Count { most: 1, rare: 1 }, seed + j as u64) {
            let what = format!("{}, {} at {}", entry.name, mutant.kind, mutant.place);
            surprises.extend(compare(&what, &mutant.program, seed, &mut tally));
        }
    }
    let Tally { right, shown, open } = tally;
    eprintln!(
        "{random} programs by lot and {} others: {right} right, {shown} reported and wrong, {open} reported only",
        right + shown + open - random
    );
    assert!(surprises.is_empty(), "{}:\n{}", surprises.len(), surprises.join("\n"));
    assert!(parts > 1 || right > 500 && shown >= 10, "{right} right, {shown} wrong");
}
