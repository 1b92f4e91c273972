//! The targets: each program is written as what it was lowered for; and lists of them inside files that people write, the
//! settings of the extension for VS Code and the manual. Each list is made of the rows of [`TARGETS`]; `BLESS=1` rewrites it.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

use compiler::diagnostic::Severity;
use compiler::driver::{self, Proof, Request};
use compiler::elaborate::Settings;
use compiler::interrupt::Interrupt;
use compiler::resolve::program::ProgramId;
use compiler::source::SourceMap;
use compiler::table::Id as _;
use compiler::target::{Capacity, TARGETS, Target, Writer};
use std::io;
use std::path::Path;

const PROGRAM: &str = "use std::collectives::allgather;
program pair(ranks: int = 2) {
    collective allgather(ranks);
    let peer = 1 - rank;
    channel c = memory(peer);
    block main {
        copy input[0] -> output[rank];
        put input[0] -> peer.output[rank] via c;
        signal c;
        wait c;
    }
}
";

/// A list inside a file.
struct List {
    /// The file, from the root of the repository.
    file: &'static str,
    /// What is before it.
    begin: &'static str,
    /// What is behind it.
    end: &'static str,
    /// What it is.
    text: String,
}

/// A plan is written of a program that was lowered for plans, and kernels of one that was lowered for kernels.
#[test]
fn a_program_is_written_as_what_it_was_lowered_for() {
    let mut sources = SourceMap::default();
    let file = sources.add("pair.ccl", PROGRAM);
    let (unit, found) = driver::load(file, &mut sources, &mut |_| Err("no imports".to_owned()));
    assert!(!driver::has_errors(&found), "{found:?}");
    let capacity = Capacity { sms: 132, worst: Severity::Error };
    let interrupt = &Interrupt::default();
    for target in TARGETS {
        let (lowered, found) = driver::lower_program(&Request {
            unit: &unit,
            program: ProgramId::from_index(0),
            settings: &Settings::default(),
            target,
            proof: Proof::Skipped,
            interrupt,
        });
        let lowered = lowered.unwrap_or_else(|| panic!("{}: {found:?}", target.word));
        let (kernels, _) = driver::write_kernels(&lowered, capacity, "pair", &sources, interrupt);
        let plan = driver::write_plan(lowered, capacity, &mut Vec::new());
        match target.writer {
            Writer::Plan => assert!(kernels.is_none() && plan.is_ok()),
            Writer::Kernels(_) => {
                assert!(kernels.is_some(), "{}", target.word);
                assert_eq!(plan.unwrap_err().kind(), io::ErrorKind::InvalidInput);
            }
        }
    }
}

#[test]
fn vs_code_offers_the_targets() {
    let list = |text: fn(&Target) -> String| {
        let items: Vec<String> =
            TARGETS.iter().map(|target| format!("            \"{}\"", text(target))).collect();
        items.join(",\n")
    };
    let words = list(|target| target.word.to_owned());
    let descriptions = list(|target| format!("{}.", target.description));
    check_list(&List {
        file: "editors/vscode/package.json",
        begin: "\"ccl.target\": {\n          \"type\": \"string\",\n          \"default\": \"executor\",\n",
        end: "\n          ],\n          \"description\": \"What programs are checked for",
        text: format!(
            "          \"enum\": [\n{words}\n          ],\n          \"enumDescriptions\": [\n{descriptions}"
        ),
    });
}

#[test]
fn the_manual_lists_the_targets() {
    let words: Vec<String> =
        TARGETS.iter().map(|target| format!("`\"{}\"`", target.word)).collect();
    let (last, others) = words.split_last().unwrap();
    check_list(&List {
        file: "docs/language-server.md",
        begin: "\n| `target` | what programs are checked for: ",
        end: "; as `--target` of `cclc check` | `\"executor\"` |",
        text: format!("{} or {last}", others.join(", ")),
    });
}

/// The default that the lists name.
#[test]
fn the_first_target_is_the_default() {
    assert_eq!(TARGETS.first().map(|target| target.word), Some("executor"));
}

fn check_list(list: &List) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(list.file);
    let committed = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = committed.split_once(list.begin).unwrap();
    let (_, behind) = rest.split_once(list.end).unwrap();
    let fresh = [before, list.begin, &list.text, list.end, behind].concat();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
        return;
    }
    assert!(
        committed == fresh,
        "{}: run BLESS=1 cargo test -p ccl-compiler --test targets, and commit the result:\n{}",
        list.file,
        list.text
    );
}
