//! Budgets of the checks: each one is reached, and reaching it is never silent.
//!
//! Every budget is lowered, and the programs of the test cases are checked with it. Some program must show the difference,
//! and none that is wrong may be accepted without a word: if it was refused before, it is refused, or a warning says what
//! was left out. The page about proofs lists the budgets as they are.

#![allow(dead_code, reason = "a part of the corpus is used")]

#[path = "oracle/corpus.rs"]
mod corpus;

use compiler::check::budget::{Budget, Effect};
use compiler::check::{self, Ranks, limits};
use compiler::diagnostic::{Code, Diagnostic, Severity};
use compiler::interrupt::Interrupt;
use compiler::ir::Program;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The folders of test cases whose programs are checked.
const FOLDERS: [&str; 8] = [
    "tests/cases/deadlock",
    "tests/cases/limits",
    "tests/cases/promise",
    "tests/cases/race",
    "tests/cases/sizes",
    "tests/cases/sync",
    "tests/cases/turns",
    "tests/fixes",
];

/// Programs with more operations are left out, so that all budgets can be lowered for each.
const MOST_OPERATIONS: usize = 120;

/// A program, and what is found in it without lowered budgets.
struct Subject {
    name: String,
    program: Program,
    usual: Vec<Diagnostic>,
    followed: usize,
}

fn found(program: &Program) -> Vec<Diagnostic> {
    let mut found = check::check_following(program, Ranks::Few, &Interrupt::default());
    let mut rank = |id| Cow::Borrowed(&program.ranks[id]);
    found.extend(limits::check(program, &mut rank, &limits::Limits::default()));
    found
}

fn subjects() -> Vec<Subject> {
    let files = FOLDERS.iter().flat_map(|folder| corpus::files(folder, "ccl"));
    let entries = files.flat_map(|path| corpus::case(&path));
    let small = entries.filter(|one| one.program.all_ops().count() <= MOST_OPERATIONS);
    small
        .map(|entry| Subject {
            usual: found(&entry.program),
            followed: check::followed(&entry.program),
            name: entry.name,
            program: entry.program,
        })
        .collect()
}

fn codes(found: &[Diagnostic]) -> BTreeSet<Code> {
    found.iter().map(|report| report.code).collect()
}

fn is_refused(found: &[Diagnostic]) -> bool {
    found.iter().any(|report| report.severity == Severity::Error)
}

/// What is wrong with the findings of a program for which a budget was lowered.
fn complaint(budget: &Budget, usual: &[Diagnostic], lowered: &[Diagnostic]) -> Option<String> {
    let is_open = |found: &[Diagnostic]| {
        codes(found).iter().any(|code| matches!(code, Code::W0501 | Code::W0502))
    };
    let new = || codes(lowered).difference(&codes(usual)).copied().collect::<Vec<Code>>();
    match budget.effect() {
        _ if is_refused(usual) && !is_refused(lowered) && !is_open(lowered) => {
            Some(format!("{:?} is accepted without a word", codes(usual)))
        }
        Effect::Unproved(_)
            if !is_refused(usual) && is_refused(lowered) && new() != [Code::E0805, Code::W0501] =>
        {
            // Rings of windows are proved by a search for races, too: without it, the plan serves smaller messages.
            Some(format!("is refused: {:?}", new()))
        }
        Effect::Slower if usual != lowered => Some(format!("{:?}", new())),
        Effect::Unexplained if is_refused(usual) != is_refused(lowered) => {
            Some(format!("{:?}", new()))
        }
        Effect::Refused if !is_refused(usual) && is_refused(lowered) => {
            let mut notes =
                lowered.iter().flat_map(|report| report.notes.iter().chain(&report.helps));
            let is_told = notes.any(|note| note.contains(budget.name()));
            (!is_told).then(|| format!("is refused without the reason: {:?}", new()))
        }
        Effect::Unproved(_) | Effect::Refused | Effect::Slower | Effect::Unexplained => None,
    }
}

#[test]
fn every_budget_is_reached_and_none_is_silent() {
    let subjects = subjects();
    assert!(subjects.len() > 200, "{}", subjects.len());
    let mut wrong = Vec::new();
    for budget in Budget::ALL {
        let mut reached = 0;
        for one in &subjects {
            // The least with which the step can begin at all.
            for amount in [0, 1] {
                let (lowered, followed) =
                    budget.lowered(amount, || (found(&one.program), check::followed(&one.program)));
                let shows = lowered != one.usual || followed != one.followed;
                reached += u32::from(shows);
                let complaint = complaint(budget, &one.usual, &lowered);
                wrong.extend(
                    complaint
                        .map(|why| format!("{} = {amount}, {}: {why}", budget.name(), one.name)),
                );
                if let Effect::Unproved(code) = budget.effect()
                    && shows
                    && !is_refused(&one.usual)
                    && !codes(&lowered).contains(&code)
                {
                    wrong.push(format!(
                        "{} = {amount}, {}: no {}",
                        budget.name(),
                        one.name,
                        code.id()
                    ));
                }
            }
        }
        if reached == 0 && !ELSEWHERE.contains(&budget.name()) {
            wrong.push(format!("{} is never reached", budget.name()));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// A budget that is the size of a number elsewhere, and cannot be lowered.
const ELSEWHERE: [&str; 1] = ["windows of pipelines"];

#[test]
fn the_parts_of_windows_have_a_budget() {
    let text = "use std::collectives::unchecked;
        program p(ranks: int = 1) {
            collective unchecked(ranks, inputs = 2, outputs = 2);
            block a { pipeline unit = 65521 * 16, chunks = 1 { copy input[0] -> output[0]; } }
            block b { pipeline unit = 65519 * 16, chunks = 1 { copy input[1] -> output[1]; } }
        }";
    for program in corpus::text(text, corpus::Form::Written) {
        let found = found(&program);
        let report = found.iter().find(|report| report.code == Code::W0501).unwrap();
        assert!(report.notes.iter().any(|note| note.contains(ELSEWHERE[0])), "{report:?}");
    }
}

#[test]
fn the_page_about_proofs_lists_every_budget() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/proof.md");
    let page = fs::read_to_string(page).unwrap();
    let listed: Vec<&str> = page
        .lines()
        .skip_while(|line| !line.starts_with("| step |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .collect();
    let rows: Vec<String> = Budget::ALL.iter().map(|budget| budget.to_string()).collect();
    assert_eq!(listed, rows, "docs/proof.md should have:\n{}", rows.join("\n"));
}
