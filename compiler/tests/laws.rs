//! Laws that hold for every program text of this project: cases, library, examples.
//!
//! Formatting changes no meaning and is stable; compiling is deterministic; passes preserve what a program computes;
//! a dump is equivalent to the program; and no text, however broken, makes the compiler panic. `LAWS=full` sends
//! every prefix of every text through all phases, and tries many more mutations (`.ci/run` does so, optimized);
//! without it, a share of both is tried.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

#[path = "support/cclc.rs"]
mod cclc;
#[path = "support/files.rs"]
mod files;
#[path = "support/tree.rs"]
mod tree;

use compiler::diagnostic::render::{self, Colors};
use compiler::diagnostic::{Code, Diagnostic, Severity};
use compiler::driver::{self, Lowered, Proof, Request};
use compiler::elaborate::{self, Settings};
use compiler::interpreter::{self, Outcome, Value};
use compiler::interrupt::Interrupt;
use compiler::ir::grain::count_parts;
use compiler::ir::traffic::traffic;
use compiler::optimize::{self, Stage};
use compiler::resolve::program::{ProgramId, Unit};
use compiler::source::{FileId, SourceMap};
use compiler::target::{Capacity, PLAN};
use compiler::{ir, syntax};
use fastrand::Rng;
use files::{all_ccl_files, manifest};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use tree::declarations;

/// The most operations to which a broken text is elaborated.
const MAX_OPERATIONS: u64 = 20_000;

/// The most operations of a program whose passes are compared.
const MAX_COMPARED: u64 = 20_000;

/// The most steps of a run of such a program.
const STEPS: u64 = 5_000_000;

/// How many prefixes of a text are parsed, unless all of them are.
const PARSED: usize = 100;

/// How many prefixes of a text go through all phases, unless all of them do.
const PREFIXES: usize = 8;

/// How many mutations of a text are tried, unless `LAWS=full`.
const MUTATIONS: usize = 6;

/// A text, and the name that its imports are relative to.
struct Text {
    name: String,
    text: String,
}

#[test]
fn formatting_keeps_the_tree_and_the_comments() {
    let mut formatted = 0;
    for text in texts() {
        let (before, reports) = syntax::parse(FileId(0), &text.text);
        if driver::has_errors(&reports) {
            assert!(
                syntax::format(&text.text).is_err(),
                "{}: was formatted in spite of its errors",
                text.name
            );
            continue;
        }
        let new = syntax::format(&text.text)
            .unwrap_or_else(|reports| panic!("{}: {reports:?}", text.name));
        let (after, reports) = syntax::parse(FileId(0), &new);
        assert!(!driver::has_errors(&reports), "{}: {reports:?}\n{new}", text.name);
        assert_eq!(declarations(&before), declarations(&after), "{}", text.name);
        assert_eq!(comments(&text.text), comments(&new), "{}", text.name);
        assert_eq!(syntax::format(&new).as_ref(), Ok(&new), "{}: formatted twice", text.name);
        formatted += 1;
    }
    assert!(formatted > 20, "only {formatted} texts could be formatted");
}

#[test]
fn compiling_twice_gives_the_same_bytes() {
    let mut compiled = 0;
    for text in texts() {
        let (first, second) = (plans(&text), plans(&text));
        assert!(first == second, "{}", text.name);
        compiled += first.len();
    }
    assert!(compiled > 20, "only {compiled} programs could be compiled");
}

#[test]
fn no_proved_program_moves_less_than_its_promise_forces() {
    let mut compared = 0;
    for text in texts() {
        let (_, unit, sound) = load(&text.name, &text.text);
        for program in unit.programs.ids().filter(|_| sound) {
            let (lowered, reports) = lower(&unit, program, MAX_COMPARED, Proof::Needed);
            let proved = lowered.filter(|_| driver::is_proved(&reports));
            let Some(traffic) = proved.and_then(|proved| traffic(proved.program())) else {
                continue;
            };
            assert!(traffic.moved >= traffic.least, "{}: {traffic:?}", text.name);
            compared += 1;
        }
    }
    assert!(compared > 100, "only {compared} programs could be compared");
}

#[test]
fn a_clean_program_stays_clean_without_its_comments() {
    for text in texts().iter().filter(|text| !plans(text).is_empty()) {
        let bare: String = text
            .text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n")
            .collect();
        let bare = Text { name: text.name.clone(), text: bare };
        assert!(plans(text) == plans(&bare), "{}", text.name);
    }
}

#[test]
fn passes_keep_what_a_program_leaves_in_memory() {
    let (mut compared, mut finished) = (0, 0);
    for text in texts() {
        let (_, unit, good) = load(&text.name, &text.text);
        for id in unit.programs.ids().filter(|_| good) {
            let Some(program) = elaborated(&unit, id) else { continue };
            let name = format!("{}: {}", text.name, program.options.name);
            let Some(parts) = comparable(&program) else { continue };
            let before = outputs(&program, parts, &name);
            for stage in [Stage::Fuse, Stage::Split, Stage::Sync] {
                let after = outputs(&optimize::optimize(program.clone(), stage), parts, &name);
                assert!(before == after, "{name}: {stage:?} changes the outputs");
            }
            // The outputs of the copies are the parts of the single program's outputs, in order.
            let copies = optimize::replicate::copies(&program);
            let one = outputs(&program, parts * copies, &name);
            let all = outputs(&optimize::optimize(program.clone(), Stage::Replicate), parts, &name);
            assert!(one == all, "{name}: instances change the outputs");
            compared += 1;
            finished += usize::from(before.is_some());
        }
    }
    assert!(
        compared > 30 && finished > 30,
        "only {compared} programs were compared, {finished} came to their end"
    );
}

#[test]
fn a_dump_is_the_program() {
    let mut failures = Vec::new();
    let mut dumped = 0;
    for text in texts() {
        let (_, unit, good) = load(&text.name, &text.text);
        for id in unit.programs.ids().filter(|_| good) {
            let Some(program) = elaborated(&unit, id) else { continue };
            let lowered = lower(&unit, id, MAX_COMPARED, Proof::Skipped).0;
            let Some((Some(expected), of_limits)) = lowered.map(plan) else { continue };
            // The dump has the same findings as the program; if the program has no errors, neither has the dump.
            let said = lower(&unit, id, MAX_COMPARED, Proof::Needed).1;
            let accepted = unit.accepted.iter().map(|one| one.code);
            let told = said.iter().chain(&of_limits).map(|one| one.code);
            let codes: Vec<Code> = told.chain(accepted).collect();
            let proof = if driver::has_errors(&said) { Proof::Skipped } else { Proof::Needed };
            for last in [
                None,
                Some(Stage::Fuse),
                Some(Stage::Split),
                Some(Stage::Sync),
                Some(Stage::Replicate),
            ] {
                let passed =
                    last.map_or(program.clone(), |last| optimize::optimize(program.clone(), last));
                if let Err(report) =
                    same_plan(&ir::print::print(&passed).text, &expected, (proof, &codes))
                {
                    failures.push(format!(
                        "{}: {} after {last:?}: {report}",
                        text.name, program.options.name
                    ));
                }
                dumped += 1;
            }
        }
    }
    assert!(failures.is_empty(), "{} of {dumped} dumps:\n{}", failures.len(), failures.join("\n"));
    assert!(dumped > 100, "only {dumped} dumps were compiled");
}

#[test]
fn every_prefix_is_survived() {
    let full = is_full();
    for text in texts() {
        let ends = if full { every_end(&text.text) } else { telling_ends(&text.text) };
        for end in share(&ends, if full { ends.len() } else { PARSED }) {
            let _ = syntax::parse(FileId(0), text.text.get(..end).unwrap());
        }
        for end in share(&ends, if full { ends.len() } else { PREFIXES }) {
            survive(&text.name, text.text.get(..end).unwrap());
        }
    }
}

/// At most `count` of some ends, evenly spread. The first one depends on the text, so that together the texts are
/// cut everywhere.
fn share(ends: &[usize], count: usize) -> impl Iterator<Item = usize> {
    let stride = ends.len().div_ceil(count.max(1)).max(1);
    ends.iter().copied().skip(ends.len() % stride).step_by(stride)
}

fn every_end(text: &str) -> Vec<usize> {
    (0..=text.len()).filter(|end| text.is_char_boundary(*end)).collect()
}

/// Places to end a prefix so that it differs from its neighbors in more than a letter: in the middle of and after
/// each word, and after each sign.
fn telling_ends(text: &str) -> Vec<usize> {
    let mut ends = vec![0];
    let mut start = 0;
    for part in parts(text) {
        let end = start + part.len();
        let middle = start + part.len() / 2;
        let inside = middle > start && text.is_char_boundary(middle) && !part.trim().is_empty();
        ends.extend(Some(middle).filter(|_| inside));
        ends.extend(Some(end).filter(|_| !part.trim().is_empty()));
        start = end;
    }
    ends
}

#[test]
fn every_mutation_is_survived() {
    let count = if is_full() { 500 } else { MUTATIONS };
    let words = words();
    for text in texts() {
        let mut random = Rng::with_seed(text.text.len() as u64 + 1);
        for _ in 0..count {
            survive(&text.name, &mutated(&text.text, &words, &mut random));
        }
    }
}

fn is_full() -> bool {
    std::env::var_os("LAWS").is_some_and(|value| value == "full")
}

/// Every `.ccl` file of the project.
fn texts() -> Vec<Text> {
    let folders = ["tests/cases", "tests/language", "../stdlib/ccl", "../examples"];
    let mut paths: Vec<PathBuf> =
        folders.iter().flat_map(|folder| all_ccl_files(&manifest(folder))).collect();
    paths.sort();
    let text = |path: PathBuf| Text {
        name: path.display().to_string(),
        text: fs::read_to_string(path).unwrap(),
    };
    paths.into_iter().map(text).collect()
}

fn load(name: &str, text: &str) -> (SourceMap, Unit, bool) {
    let mut sources = SourceMap::default();
    let main = sources.add(name, text);
    let mut read =
        |path: &str| fs::read_to_string(path).map(Arc::from).map_err(|error| error.to_string());
    let (unit, reports) = driver::load(main, &mut sources, &mut read);
    let _ = render::human(&sources, &reports, Colors::Off);
    (sources, unit, !driver::has_errors(&reports))
}

fn lower(
    unit: &Unit,
    program: ProgramId,
    max_operations: u64,
    proof: Proof,
) -> (Option<Lowered>, Vec<Diagnostic>) {
    let settings = Settings { max_operations, ..Settings::default() };
    driver::lower_program(&Request {
        unit,
        program,
        settings: &settings,
        target: &PLAN,
        proof,
        interrupt: &Interrupt::default(),
    })
}

/// The plan of a lowered program, if the target can run it, and the reports.
fn plan(program: Lowered) -> (Option<Vec<u8>>, Vec<Diagnostic>) {
    let mut plan = Vec::new();
    let capacity = Capacity { sms: 132, worst: Severity::Error };
    let reports = driver::write_plan(program, capacity, &mut plan).unwrap().diagnostics;
    (Some(plan).filter(|_| !driver::has_errors(&reports)), reports)
}

/// A program before all passes, with the defaults of its parameters.
fn elaborated(unit: &Unit, program: ProgramId) -> Option<ir::Program> {
    let settings = Settings { max_operations: MAX_COMPARED, ..Settings::default() };
    elaborate::elaborate(unit, program, &settings, &Interrupt::default()).0
}

/// Whether a dump compiles to the expected plan, without reports.
fn same_plan(dump: &str, expected: &[u8], (proof, said): (Proof, &[Code])) -> Result<(), String> {
    let mut sources = SourceMap::default();
    let main = sources.add("dump.ccl", dump);
    let mut read = |_: &str| Err("a dump stands alone".to_owned());
    let (unit, mut reports) = driver::load(main, &mut sources, &mut read);
    let program = unit.programs.ids().next().filter(|_| !driver::has_errors(&reports));
    let lowered = program.and_then(|program| {
        let (lowered, more) = lower(&unit, program, MAX_COMPARED * 64, proof);
        reports.extend(more);
        lowered
    });
    let found = lowered.and_then(|program| {
        let (plan, more) = plan(program);
        reports.extend(more);
        plan
    });
    // Reports about the program may also be made about its dump, and so may those that its source accepts.
    let known = |report: &Diagnostic| said.contains(&report.code);
    reports.retain(|report| report.severity > Severity::Note && !known(report));
    match (found, reports.as_slice()) {
        (Some(found), []) if found == expected => Ok(()),
        (Some(_), []) => Err("another plan".to_owned()),
        (_, reports) => {
            Err(render::short(&sources, reports).lines().next().unwrap_or("no plan").to_owned())
        }
    }
}

/// The number of parts that chunks are divided into when a program is compared with the result of the passes.
fn comparable(program: &ir::Program) -> Option<u32> {
    optimize::replicate::replicable(program).is_ok().then(|| count_parts(program))
}

/// Every rank's output; none if the program does not finish, which only cases may do, or takes too long.
fn outputs(program: &ir::Program, parts: u32, name: &str) -> Option<Vec<Vec<Value>>> {
    // The ports of MSCCL++'s unit tests show single operations, and compute nothing useful.
    let sound = !name.contains("tests/cases") && !name.contains("unit_tests.ccl");
    match interpreter::run_in(program, parts, STEPS) {
        Outcome::Finished(memory) => {
            let broken = interpreter::broken_promises(program, &memory);
            assert!(!sound || program.instances_done > 1 || broken.is_none(), "{name}: {broken:?}");
            Some(program.ranks.ids().map(|rank| memory.output(program, rank)).collect())
        }
        Outcome::Stuck(stuck) => {
            assert!(!sound, "{name} waits forever: {stuck:?}");
            None
        }
        Outcome::TooLong => None,
    }
}

/// The plans of all programs of a text that have no errors with their parameters' defaults.
fn plans(text: &Text) -> Vec<Vec<u8>> {
    let (_, unit, good) = load(&text.name, &text.text);
    let programs = unit.programs.ids().filter(|_| good);
    let lowered = programs.filter_map(|program| lower(&unit, program, 1_000_000, Proof::Needed).0);
    lowered.filter_map(|program| plan(program).0).collect()
}

/// Sends a text through all phases; the only requirement is that the compiler survives it.
fn survive(name: &str, text: &str) {
    let result = std::panic::catch_unwind(|| {
        let (sources, unit, good) = load(name, text);
        for program in unit.programs.ids().filter(|_| good) {
            let (lowered, reports) = lower(&unit, program, MAX_OPERATIONS, Proof::Needed);
            let _ = render::human(&sources, &reports, Colors::Off);
            assert!(lowered.is_some() || driver::has_errors(&reports), "no program and no error");
            let reports = lowered.map(|program| plan(program).1).unwrap_or_default();
            let _ = render::human(&sources, &reports, Colors::Off);
        }
    });
    assert!(result.is_ok(), "{name}: a panic with the text\n{text}");
}

/// The comments of a text, in order, without the blanks around them.
fn comments(text: &str) -> Vec<String> {
    let comment = |line: &str| {
        let mut quoted = false;
        let start = line.char_indices().find(|(at, c)| {
            quoted ^= *c == '"' && !line.get(..*at).is_some_and(|before| before.ends_with('\\'));
            !quoted && line.get(*at..).is_some_and(|rest| rest.starts_with("//"))
        });
        start.and_then(|(at, _)| line.get(at..)).map(|comment| comment.trim_end().to_owned())
    };
    text.lines().filter_map(comment).collect()
}

/// What mutations insert: every word and sign of the language, and some that do not belong to it.
fn words() -> Vec<String> {
    let signs = "{ } ( ) [ ] ; , . .. ..= ..+ -> :: : = == != < <= << + - * / % & && | || ^ ! # @ \" \\ ~ $ é \u{0} 0 1 -1";
    let numbers = "9223372036854775807 9223372036854775808 1_0 1KiB 8GiB 0x1 1.5 //";
    let words = grammar::WORDS.iter().map(|word| word.text.to_owned());
    words.chain(signs.split(' ').chain(numbers.split(' ')).map(str::to_owned)).collect()
}

/// A text with a few of its parts removed, doubled, swapped or replaced.
fn mutated(text: &str, words: &[String], random: &mut Rng) -> String {
    let mut parts = parts(text);
    for _ in 0..=random.usize(..4) {
        if parts.is_empty() {
            break;
        }
        let (at, other) = (random.usize(..parts.len()), random.usize(..parts.len()));
        match random.usize(..5) {
            0 => drop(parts.remove(at)),
            1 => parts.insert(at, parts.get(other).cloned().unwrap_or_default()),
            2 => parts.swap(at, other),
            3 => parts.insert(at, random.choice(words).cloned().unwrap_or_default()),
            _ => parts.truncate(at.max(1)),
        }
    }
    parts.concat()
}

/// Words, runs of blanks and single signs, which together make up the text.
fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let kind = |c: char| {
        if c.is_alphanumeric() || c == '_' {
            1
        } else if c.is_whitespace() {
            2
        } else {
            0
        }
    };
    for c in text.chars() {
        match parts.last_mut() {
            Some(part) if kind(c) > 0 && part.chars().next_back().map(kind) == Some(kind(c)) => {
                part.push(c)
            }
            _ => parts.push(c.to_string()),
        }
    }
    parts
}
