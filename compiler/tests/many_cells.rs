//! Programs whose slices come out uneven have one verdict at every size: of few ranks and chunks and of so many that not
//! every cell can be followed at every size of a message.
//!
//! A program that is wrong shows so when it is run at the size that the report names. `many_cells/NAME.ccl` are the
//! programs; what `two_` and the like say is how many blocks share a chunk, and in how many parts it is used later.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

#[path = "support/cclc.rs"]
mod cclc;
#[path = "support/files.rs"]
mod files;
#[path = "support/folder.rs"]
mod folder;

use cclc::Report;
use folder::Folder;
use std::collections::BTreeSet;
use std::fs;

/// A program, parameters, and the only codes that are reported.
type Row = (&'static str, &'static str, &'static [&'static str]);

const VERDICTS: &[Row] = &[
    ("two_of_four", "-D ranks=2", &["E0501"]),
    ("two_of_four", "-D ranks=8", &["E0501"]),
    ("two_of_four", "-D ranks=62", &["E0501"]),
    ("two_of_four", "-D ranks=4 -D chunks=9", &["E0501"]),
    ("two_of_four", "-D ranks=4 -D chunks=101", &["E0501"]),
    ("two_of_four", "-D ranks=4 -D chunks=1001", &["E0501"]),
    ("two_of_two", "-D ranks=8", &[]),
    ("two_of_two", "-D ranks=64", &[]),
    ("two_of_two", "-D ranks=4 -D chunks=10001", &[]),
    ("two_meet", "-D ranks=8", &[]),
    ("two_meet", "-D ranks=32", &[]),
    ("two_meet", "-D ranks=4 -D chunks=10001", &[]),
    ("three_of_six", "-D ranks=4", &["E0501"]),
    ("three_of_six", "-D ranks=4 -D chunks=1001", &["E0501"]),
    ("five_of_three", "-D chunks=3", &["E0501"]),
    // No message of so many chunks is so small that the blocks have other parts.
    ("five_of_three", "-D chunks=3003", &[]),
    // Fifteen chunks are split evenly, whatever their size.
    ("five_of_three", "-D chunks=15", &[]),
    ("packets", "-D ranks=4", &["E0501"]),
    ("packets", "-D ranks=16", &["E0501"]),
    ("in_place", "-D ranks=4", &["E0501"]),
    ("in_place", "-D ranks=16", &["E0501"]),
];

/// The same for so many ranks that it takes minutes: with `MANY_CELLS=full`.
const LARGE: &[Row] = &[
    ("two_of_four", "-D ranks=128", &["E0501"]),
    ("two_of_four", "-D ranks=512", &["E0501"]),
    ("two_of_four", "-D ranks=4 -D chunks=100001", &["E0501"]),
    ("two_of_two", "-D ranks=512", &[]),
    ("two_meet", "-D ranks=512", &[]),
    ("in_place", "-D ranks=128", &["E0501"]),
];

fn program(name: &str) -> String {
    fs::read_to_string(files::manifest(&format!("tests/many_cells/{name}.ccl"))).unwrap()
}

fn codes(reports: &[Report]) -> Vec<&str> {
    reports.iter().map(|report| report.code.as_str()).collect()
}

#[test]
fn a_program_has_one_verdict_at_every_size() {
    let mut wrong = Vec::new();
    let is_full = std::env::var_os("MANY_CELLS").is_some_and(|value| value == "full");
    let large = if is_full { LARGE } else { &[] };
    for (name, parameters, expected) in VERDICTS.iter().chain(large) {
        let folder = Folder::with("p.ccl", &program(name));
        let run =
            folder.cclc(&format!("check p.ccl {parameters} --target cuda --message-format json"));
        let reports = cclc::reports(&run).unwrap();
        if codes(&reports) != *expected {
            wrong.push(format!("{name} {parameters}: {:?}", codes(&reports)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_plan_has_the_verdict_of_its_program() {
    for chunks in [9, 101, 1001] {
        let folder = Folder::with("p.ccl", &program("two_of_four"));
        let parameters = format!("-D ranks=4 -D chunks={chunks}");
        let built = folder.cclc(&format!("build p.ccl {parameters} -o p.json"));
        assert_eq!(built.status, Some(1), "{}", built.stderr);
        folder.cclc(&format!("build p.ccl {parameters} --unproved -o p.json"));
        let verified = folder.cclc("verify p.json --message-format json");
        let codes: BTreeSet<String> =
            cclc::reports(&verified).unwrap().into_iter().map(|report| report.code).collect();
        assert!(codes.iter().eq(["E0501"]), "{}", verified.stderr);
    }
}

#[test]
fn what_is_refused_goes_wrong_in_a_run_and_its_twin_does_not() {
    for (name, status) in [("two_of_four", 1), ("two_of_two", 0), ("two_meet", 0)] {
        let folder = Folder::with("p.ccl", &program(name));
        // Chunks of two units: the halves have nine each, of the quarters the first ones have one more.
        let parameters =
            "-D ranks=2 -D chunks=9 --target cuda --unproved --size 576 --schedules 100";
        let run = folder.cclc(&format!("run p.ccl {parameters}"));
        assert_eq!(run.status, Some(status), "{name}: {}{}", run.stdout, run.stderr);
    }
}
