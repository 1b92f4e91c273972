//! What a run reports about itself: its timings and, on a terminal, the phase that takes long.

#![expect(clippy::indexing_slicing, reason = "a missing key of JSON reads as null")]

use crate::cclc::{Run, run};
use crate::folder::{Folder, GOOD, ends, says};
use serde_json::Value;
use std::process::Command;

/// A program whose elaboration reaches the limit on steps.
fn slow() -> String {
    GOOD.replace(
        "    block main {",
        "    for i in 0..1000000 { for j in 0..1000000 { let k = i + j; require k >= 0; } }\n    block main {",
    )
}

/// The events of a trace, which must be nested, in chronological order, and all closed.
fn phases(trace: &str) -> Vec<(String, Value)> {
    let trace: Value = serde_json::from_str(trace).unwrap();
    let (mut open, mut phases, mut last) = (Vec::new(), Vec::new(), 0.0);
    for event in trace["traceEvents"].as_array().unwrap() {
        let kind = event["ph"].as_str().unwrap();
        if kind == "M" {
            assert!(event["args"]["name"].is_string(), "{event}");
            continue;
        }
        assert!(event["pid"].is_u64() && event["tid"].is_u64(), "{event}");
        let time = event["ts"].as_f64().unwrap();
        assert!(time >= last, "{event} comes before {last}");
        last = time;
        match kind {
            "B" => {
                open.push(phases.len());
                phases.push((event["name"].as_str().unwrap().to_owned(), Value::Null));
            }
            "E" => {
                let began: usize = open.pop().expect("what ends has begun");
                phases[began].1 = event["args"].clone();
            }
            _ => panic!("{event} is neither a beginning nor an end"),
        }
    }
    assert!(open.is_empty(), "what has begun does not end");
    phases
}

#[test]
fn timings_are_a_trace() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -D ranks=4 --timings trace.json"), 0);
    let phases = phases(&folder.read("trace.json"));
    let named = |name: &str| -> Vec<&Value> {
        phases.iter().filter(|(phase, _)| phase == name).map(|(_, numbers)| numbers).collect()
    };
    assert_eq!(named("file a.ccl").len(), 1);
    assert!(!cfg!(target_os = "linux") || folder.read("trace.json").contains("\"tts\":"));
    assert_eq!(named("lex")[0]["bytes"], GOOD.len());
    assert!(named("parse")[0]["tokens"].as_u64().unwrap() > 50);
    assert_eq!(named("resolve").len(), 1);
    // A rank has one `signal` and one `wait` for each peer, twice, a copy, and a `put` for each peer: five
    // operations, because they take lists.
    let elaborated = named("elaborate gather");
    assert_eq!((elaborated.len(), &elaborated[0]["ranks"]), (1, &Value::from(4)));
    assert!(elaborated[0]["operations"].as_u64().unwrap() >= 4 * 5);
    for name in ["limits gather", "check the program", "check what is written"] {
        assert_eq!(named(name).len(), 1, "{name}");
    }
    // The first rank alone goes through the passes before all of them do.
    for name in ["passes", "fuse", "sync"] {
        assert_eq!(named(name).len(), 2, "{name}");
    }
    assert!(named("balance").len() == 2 && !named("races").is_empty());
    let written = phases.iter().find(|(name, _)| name.starts_with("write the plan")).unwrap();
    let operations = |text: &str| text.matches("\"name\":\"").count() as u64 - 1;
    assert_eq!(written.1["operations"], operations(&folder.read("gather_ranks_4.json")));
}

#[test]
fn a_run_that_fails_has_timings_too() {
    let folder = Folder::with("a.ccl", "let a = ;\n");
    ends(folder.cclc("check a.ccl --timings trace.json"), 1);
    assert!(phases(&folder.read("trace.json")).iter().any(|(name, _)| name == "parse"));
    let run = ends(folder.cclc("check a.ccl --timings none/trace.json"), 3);
    says(&run.stderr, &["error[E0101]", "cannot write `none/trace.json`"]);
}

#[test]
fn a_program_is_no_trace() {
    let folder = Folder::with("a.ccl", GOOD);
    folder.write("b.ccl", GOOD);
    let run = ends(folder.cclc("check --timings a.ccl b.ccl"), 2);
    says(&run.stderr, &["a file for the trace is expected here"]);
    assert_eq!(folder.read("a.ccl"), GOOD);
}

#[test]
fn a_sweep_has_a_phase_for_each_combination() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("check a.ccl -D ranks=2..=4 --timings trace.json"), 0);
    let phases = phases(&folder.read("trace.json"));
    let with: Vec<&str> =
        phases.iter().filter_map(|(name, _)| name.strip_prefix("with ")).collect();
    assert_eq!(with, ["ranks = 2", "ranks = 3", "ranks = 4"]);
}

/// Runs `cclc` on a terminal made by `script`; none if that program is missing.
fn on_a_terminal(folder: &Folder, arguments: &str) -> Option<Run> {
    let there =
        Command::new("script").arg("--version").output().is_ok_and(|it| it.status.success());
    let line = format!("{} {arguments}", env!("CARGO_BIN_EXE_cclc"));
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").current_dir(folder.path(""));
    there.then(|| run(&mut command, ""))
}

#[test]
fn long_work_shows_on_a_terminal_and_goes_without_a_trace() {
    let folder = Folder::with("a.ccl", &slow());
    let Some(run) = on_a_terminal(&folder, "check a.ccl --color never --time-limit 2.5") else {
        println!("there is no `script`");
        return;
    };
    let erase = "\r\x1b[2K";
    says(&run.stdout, &[&format!("{erase}1 s: gather"), &format!("{erase}2 s: gather")]);
    let last = run.stdout.rsplit(erase).next().unwrap();
    assert!(last.starts_with("error[E0903]"), "{last:?}");
}

#[test]
fn nothing_shows_of_what_is_quick_or_read_by_machines() {
    let folder = Folder::with("a.ccl", GOOD);
    folder.write("slow.ccl", &slow());
    for arguments in
        ["check a.ccl", "check slow.ccl --time-limit 2.5 --message-format json", "dump a.ccl"]
    {
        if let Some(run) = on_a_terminal(&folder, arguments) {
            assert!(!run.stdout.contains('\x1b'), "{arguments}: {:?}", run.stdout);
        }
    }
    let run = ends(folder.cclc("check slow.ccl --time-limit 2.5"), 1);
    assert!(run.stderr.starts_with("error[E0903]"), "{}", run.stderr);
}
