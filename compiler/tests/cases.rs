//! The case runner: every `tests/cases/<phase>/<behavior>.ccl` is a test, named after its folder and file.
//!
//! The first line says what to run, with parameters and flags: `//@ check ranks=2 -O instances=4`.
//!
//! * `check`: the reports are exactly those that the annotations describe (`support/annotations.rs`), including
//!   warnings; without annotations, there must be none.
//! * `ir [after=fuse]`: the same, and the dump after that step is the block of `//=` lines at the end of the file.
//! * `fmt`: the text between the first line and the `//=` block is formatted to the text of that block.
//! * `plan`: like `check`, and the plan must equal the file `<behavior>.plan.json` next to it.
//!
//! What every plan with packets or groups is told (N0802 to N0804) counts only in cases whose first line names it: `--warn
//! N0802`.
//!
//! `BLESS=1 cargo test` rewrites annotations, blocks and plans. Folders inside a phase's folder contain files to
//! import. The library and the examples are cases too: they must have no reports.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

#[path = "support/annotations.rs"]
mod annotations;
#[path = "support/cclc.rs"]
mod cclc;
#[path = "support/files.rs"]
mod files;

use cclc::Run;
use files::{ccl_files, entries, manifest, stem};
use libtest_mimic::{Arguments, Failed, Trial};
use std::fs;
use std::path::{Path, PathBuf};

/// Notes on how plans are launched, which most plans of a kind have, whatever a case is about.
const LAUNCHES: [&str; 3] = ["N0802", "N0803", "N0804"];

/// How long one case may take, in seconds.
const TIME_LIMIT: &str = "60";

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = cases();
    trials.extend(clean_files());
    for page in ["docs/reference.md", "docs/migration.md"] {
        trials.push(Trial::test(format!("clean/{page}"), || shown_programs(page)));
    }
    trials.extend(runner::trials());
    libtest_mimic::run(&arguments, trials).exit();
}

fn cases() -> Vec<Trial> {
    let mut trials = Vec::new();
    for phase in entries(&manifest("tests/cases")).into_iter().filter(|path| path.is_dir()) {
        for file in ccl_files(&phase) {
            let name = format!("{}/{}", stem(&phase), stem(&file));
            trials.push(Trial::test(name, move || case(&file).map_err(Failed::from)));
        }
    }
    trials
}

/// Programs of which something is not proved: the warning, and why it is there.
const LEFT_OPEN: [(&str, &str, &str); 1] = [(
    "default_algos_allreduce_multi_nodes",
    "W0501",
    "groups of 4 and of 28 blocks share packets, whose slices end in more orders than are checked",
)];

/// The library's algorithms and the examples, which must have no reports.
fn clean_files() -> Vec<Trial> {
    let folders = [
        "../stdlib/ccl",
        "../stdlib/ccl/algorithms",
        "../examples",
        "../examples/algorithms",
        "../examples/mscclpp",
        "../examples/mscclpp/unit_tests",
        "../examples/systems",
    ];
    let sources = folders.iter().flat_map(|folder| ccl_files(&manifest(folder)));
    let trial = |file: PathBuf| Trial::test(format!("clean/{}", stem(&file)), move || clean(&file));
    sources.map(trial).collect()
}

fn clean(file: &Path) -> Result<(), Failed> {
    let arguments =
        ["check".to_owned(), file.display().to_string(), "--message-format=json".to_owned()];
    let run = cclc::cclc(&arguments, "");
    let mut reports = cclc::reports(&run)?;
    // Notes are allowed.
    reports.retain(|report| report.severity != "note");
    if let Some((_, code, _)) = LEFT_OPEN.iter().find(|(name, ..)| *name == stem(file)) {
        let known = reports.iter().position(|report| report.code == *code);
        reports.remove(known.ok_or_else(|| Failed::from(format!("{code} is not reported")))?);
    }
    let found = annotations::found(&reports, &file.display().to_string());
    annotations::compare(&[], &found).map_err(Failed::from)
}

/// Checks the complete programs on a page.
fn shown_programs(page: &str) -> Result<(), Failed> {
    let text = fs::read_to_string(manifest("..").join(page))?;
    let blocks = text.split("```ccl\n").skip(1);
    let programs: Vec<&str> = blocks.filter_map(|block| block.split("```").next()).collect();
    if programs.is_empty() {
        return Err(Failed::from("it shows none"));
    }
    for program in programs {
        let quiet = LAUNCHES.iter().flat_map(|code| ["--allow", code]);
        let arguments = ["check", "-", "--message-format=json"].into_iter().chain(quiet);
        let run = cclc::cclc(&arguments.collect::<Vec<_>>(), program);
        let found = annotations::found(&cclc::reports(&run)?, "<stdin>");
        annotations::compare(&[], &found).map_err(|report| format!("{report}in\n{program}"))?;
    }
    Ok(())
}

/// The parts of a case's text.
struct Case<'a> {
    verb: &'a str,
    /// The arguments for `cclc`.
    arguments: Vec<String>,
    /// The step named by `ir after=..`.
    after: Option<String>,
    /// Everything before the `//=` block.
    body: &'a str,
    /// The `//=` block, without its slashes.
    expected: Option<String>,
}

fn case(file: &Path) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let bless = std::env::var_os("BLESS").is_some();
    let case = read(&text)?;
    match case.verb {
        "check" => check(&case, file, &text, &["check"], bless).map(drop),
        "ir" => {
            let after = case.after.as_deref().unwrap_or("elaborate");
            let run = check(&case, file, &text, &["dump", "--after", after], bless)?;
            block(&case, file, &run.stdout, bless)
        }
        "fmt" => format(&case, file, bless),
        "plan" => {
            let run = check(&case, file, &text, &["build", "-o", "-"], bless)?;
            sibling(&file.with_extension("plan.json"), &run.stdout, bless)
        }
        verb => Err(format!("`{verb}` is no verb: `check`, `ir`, `fmt` or `plan` begin a case")),
    }
}

fn read(text: &str) -> Result<Case<'_>, String> {
    let first = text.lines().next().unwrap_or_default();
    let header = first.strip_prefix("//@").ok_or("a case begins with `//@` and a verb")?.trim();
    let (verb, rest) = header.split_once(' ').unwrap_or((header, ""));
    let (after, words): (Vec<String>, Vec<String>) =
        cclc::words(rest).into_iter().partition(|word| verb == "ir" && word.starts_with("after="));
    let arguments = cclc::header_arguments(&words);
    let after = after.first().and_then(|word| word.strip_prefix("after=")).map(str::to_owned);
    let (body, expected) = split_block(text)?;
    Ok(Case { verb, arguments, after, body, expected })
}

/// Splits a text at its first `//=` line; nothing may follow the block.
fn split_block(text: &str) -> Result<(&str, Option<String>), String> {
    let Some(at) = text.lines().position(|line| line.starts_with("//=")) else {
        return Ok((text, None));
    };
    let length: usize = text.split_inclusive('\n').take(at).map(str::len).sum();
    let (body, block) = text.split_at(length);
    let line = |line: &str| {
        line.strip_prefix("//=").map(|rest| format!("{}\n", rest.strip_prefix(' ').unwrap_or(rest)))
    };
    let block: Option<String> = block.lines().map(line).collect();
    Ok((body, Some(block.ok_or("the `//=` block is not the end of the file")?)))
}

/// Runs a command over the case and compares its reports with the annotations.
fn check(
    case: &Case<'_>,
    file: &Path,
    text: &str,
    command: &[&str],
    bless: bool,
) -> Result<Run, String> {
    let name = file.strip_prefix(manifest("")).unwrap_or(file).display().to_string();
    let mut arguments: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
    arguments.extend([name.clone(), "--message-format=json".to_owned()]);
    arguments.extend(["--time-limit".to_owned(), TIME_LIMIT.to_owned()]);
    arguments.extend(case.arguments.iter().cloned());
    let is_asked = |code: &str| case.arguments.iter().any(|word| word == code);
    let quiet = LAUNCHES.into_iter().filter(|code| !is_asked(code));
    arguments.extend(quiet.flat_map(|code| ["--allow".to_owned(), code.to_owned()]));
    let run = cclc::cclc(&arguments, "");
    let found = annotations::found(&cclc::reports(&run)?, &name);
    let wanted = annotations::parse(text).annotations;
    match annotations::compare(&wanted, &found) {
        Err(_) if bless => {
            let end = text.get(case.body.len()..).unwrap_or_default();
            fs::write(file, annotations::bless(case.body, &found) + end)
                .map_err(|error| error.to_string())?;
        }
        compared => compared?,
    }
    Ok(run)
}

fn format(case: &Case<'_>, file: &Path, bless: bool) -> Result<(), String> {
    let input = case.body.split_once('\n').map_or("", |(_, rest)| rest);
    let run = cclc::cclc(&["fmt", "-"], input);
    if run.status != Some(0) {
        return Err(format!("cclc fmt ended with {:?} and said\n{}", run.status, run.stderr));
    }
    block(case, file, &run.stdout, bless)
}

/// Compares output with the `//=` block.
fn block(case: &Case<'_>, file: &Path, output: &str, bless: bool) -> Result<(), String> {
    if case.expected.as_deref() == Some(output) {
        return Ok(());
    }
    if !bless {
        return Err(difference(case.expected.as_deref().unwrap_or_default(), output));
    }
    // The annotations above the block may just have been rewritten.
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let body = split_block(&text)?.0;
    let lines = output.lines().map(|line| format!("//= {line}").trim_end().to_owned() + "\n");
    fs::write(file, format!("{body}{}", lines.collect::<String>()))
        .map_err(|error| error.to_string())
}

fn sibling(path: &Path, output: &str, bless: bool) -> Result<(), String> {
    let expected = fs::read_to_string(path).unwrap_or_default();
    match () {
        () if expected == output && !output.is_empty() => Ok(()),
        () if bless => fs::write(path, output).map_err(|error| error.to_string()),
        () => Err(difference(&expected, output)),
    }
}

/// Shows the first line that differs.
fn difference(expected: &str, found: &str) -> String {
    let mut expected_lines = expected.lines();
    let mut found_lines = found.lines();
    for number in 1.. {
        match (expected_lines.next(), found_lines.next()) {
            (None, None) => break,
            (expected, found) if expected == found => {}
            (expected, found) => {
                let line = |line: Option<&str>| {
                    line.map_or("nothing more".to_owned(), |line| format!("`{line}`"))
                };
                return format!(
                    "line {number}: expected {}\n  found {}",
                    line(expected),
                    line(found)
                );
            }
        }
    }
    "the texts differ in their ends of lines".to_owned()
}

/// Tests of the runner itself.
mod runner {
    #![expect(clippy::indexing_slicing, reason = "a test that finds nothing there fails")]

    use super::annotations::{Annotation, Range, bless, compare, found, parse};
    use super::cclc::{Place, Report};
    use super::{Trial, read};
    use libtest_mimic::Failed;

    const TEXT: &str = "\
//@ check ranks=2 -O name=x
    copy inptu[0] -> b;
      // ^^^^^ error[E0201]: no `inp..
      // = help: say `input`
                  // - declared
use x; //~ warning[W0201]: unused
";

    pub(super) fn trials() -> Vec<Trial> {
        vec![
            trial("reads_annotations", reads_annotations),
            trial("accepts_what_is_annotated", accepts_what_is_annotated),
            trial("refuses_what_differs", refuses_what_differs),
            trial("blessed_text_is_accepted", blessed_text_is_accepted),
            trial("reads_headers_and_blocks", reads_headers_and_blocks),
        ]
    }

    fn trial(name: &str, test: fn()) -> Trial {
        Trial::test(format!("runner/{name}"), move || {
            std::panic::catch_unwind(test).map_err(|_| Failed::from("see above"))
        })
    }

    fn place(line: usize, from: usize, to: usize, label: &str) -> Place {
        Place {
            file: "x.ccl".to_owned(),
            label: label.to_owned(),
            start: (line, from),
            end: (line, to),
        }
    }

    fn report(head: &str, message: &str, primary: Place, secondary: Vec<Place>) -> Report {
        let (severity, code) = head.trim_end_matches(']').split_once('[').unwrap();
        Report {
            severity: severity.to_owned(),
            code: code.to_owned(),
            message: message.to_owned(),
            primary: Some(primary),
            secondary,
            footers: vec!["help: say `input`".to_owned(), "note: a note".to_owned()],
        }
    }

    fn reports() -> Vec<Report> {
        vec![
            report(
                "error[E0201]",
                "no `inptu`",
                place(2, 10, 15, "label"),
                vec![place(2, 22, 23, "declared")],
            ),
            report("warning[W0201]", "unused", place(6, 1, 7, ""), vec![]),
        ]
    }

    fn reads_annotations() {
        let annotations = parse(TEXT).annotations;
        let ranges: Vec<Range> = annotations.iter().map(|annotation| annotation.range).collect();
        assert_eq!(ranges, [Range::Columns(2, 10, 15), Range::Columns(2, 22, 23), Range::Line(6)]);
        assert!(!annotations[1].primary);
        assert_eq!(annotations[0].footers, ["help: say `input`"]);
        assert_eq!(parse("x\n  //^... error[E0103]: m\n").annotations[0].range, Range::Open(1, 5));
        assert_eq!(
            parse("x\n    // | error[E0105]: m\n").annotations[0].range,
            Range::Columns(1, 8, 8)
        );
        assert!(parse("// a comment\n/// - a list\n//! - another\n").annotations.is_empty());
    }

    fn accepts_what_is_annotated() {
        compare(&parse(TEXT).annotations, &found(&reports(), "x.ccl")).unwrap();
        compare(&[], &[]).unwrap();
    }

    fn refuses_what_differs() {
        let wanted = parse(TEXT).annotations;
        let differs = |change: fn(&mut Vec<Report>)| {
            let mut reports = reports();
            change(&mut reports);
            compare(&wanted, &found(&reports, "x.ccl")).unwrap_err()
        };
        differs(|reports| reports.clear());
        differs(|reports| drop(reports.pop()));
        differs(|reports| reports.push(reports[1].clone()));
        differs(|reports| reports[0].code = "E0202".to_owned());
        differs(|reports| reports[0].severity = "warning".to_owned());
        differs(|reports| reports[0].message = "an `inptu`".to_owned());
        differs(|reports| reports[1].message = "unused too".to_owned());
        differs(|reports| reports[0].primary = Some(place(2, 10, 14, "label")));
        differs(|reports| reports[0].primary = Some(place(2, 11, 15, "label")));
        differs(|reports| reports[0].primary = None);
        differs(|reports| reports[0].footers.clear());
        differs(|reports| reports[0].secondary.clear());
        differs(|reports| reports[0].secondary[0].label = "used".to_owned());
        differs(|reports| reports[1].primary = Some(place(5, 1, 7, "")));
        assert!(compare(&[], &found(&reports(), "x.ccl")).unwrap_err().contains("unexpected"));
    }

    fn blessed_text_is_accepted() {
        let mut reports = reports();
        reports.push(report(
            "error[E0105]",
            "missing `;`",
            place(2, 24, 24, ""),
            vec![place(6, 1, 4, "before this")],
        ));
        reports.push(report("error[E0108]", "misplaced", place(2, 5, 9, ""), vec![]));
        reports[3].primary.as_mut().unwrap().end = (6, 2);
        reports.push(Report {
            primary: None,
            ..report("error[E0901]", "gone", place(1, 1, 1, ""), vec![])
        });
        let found = found(&reports, "x.ccl");
        let blessed = bless(TEXT, &found);
        let own = |text: &str| {
            parse(text).lines.iter().map(|(_, line)| line.trim_end().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(own(&blessed), own(TEXT), "{blessed}");
        // The places moved with the lines above them.
        let moved = parse(&blessed);
        let line = |annotation: &Annotation| match annotation.range {
            Range::Elsewhere => 0,
            Range::Line(line) | Range::Columns(line, ..) | Range::Open(line, _) => line,
        };
        let text_of = |wanted: usize| {
            moved.lines.iter().find(|(number, _)| *number == wanted).map(|(_, line)| *line)
        };
        assert_eq!(moved.annotations.len(), found.len(), "{blessed}");
        for annotation in &moved.annotations {
            let original = found.iter().find(|found| found.text == annotation.text).unwrap();
            let lines = parse(TEXT).lines;
            let before =
                lines.iter().find(|(number, _)| *number == line(original)).map(|(_, line)| *line);
            assert_eq!(
                text_of(line(annotation)).map(str::trim_end),
                before.map(str::trim_end),
                "{blessed}"
            );
        }
        assert!(blessed.contains("//~* error[E0901]: gone"), "{blessed}");
        assert!(
            blessed.contains("//~^ --- before this") || blessed.contains("//~ --- before this"),
            "{blessed}"
        );
        assert!(blessed.contains("= note: a note"), "{blessed}");
    }

    fn reads_headers_and_blocks() {
        let case =
            read("//@ ir after=fuse ranks=2 -O name=x t=[[1, 2]]\nbody\n//= a\n//=\n//=  b\n")
                .unwrap();
        assert_eq!((case.verb, case.after.as_deref()), ("ir", Some("fuse")));
        assert_eq!(case.arguments, ["-D", "ranks=2", "-O", "name=x", "-D", "t=[[1, 2]]"]);
        assert_eq!(case.expected.as_deref(), Some("a\n\n b\n"));
        assert!(case.body.ends_with("body\n"));
        assert!(read("check\n").is_err());
        assert!(read("//@ ir\n//= a\nmore\n").is_err());
    }
}
