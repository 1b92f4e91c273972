//! `check --needless`: what it says beside its reports, and what `--fix` makes of them.

use super::folder::{Folder, ends, says};

/// One of its first two exchanges is good for nothing, and the other one could be relaxed.
const CAREFUL: &str = "use std::collectives::allgather;

program careful(ranks: int = 3) {
    collective allgather(ranks);
    channel mem[p in peers] = memory(p);
    block main {
        for p in peers { signal mem[p]; }   // once more
        for p in peers { wait mem[p]; }
        signal mem[*];
        wait mem[*];
        copy input[0] -> output[rank];
        put input[0] -> (p in peers: p.output[rank]) via mem[*];
        signal mem[*];
        wait mem[*];
    }
}
";

#[test]
fn only_on_request() {
    let folder = Folder::with("a.ccl", CAREFUL);
    assert_eq!(ends(folder.cclc("check a.ccl -q"), 0).stderr, "");
    let run = ends(folder.cclc("check --needless a.ccl"), 0);
    says(
        &run.stderr,
        &["note[N0501]", "note[N0502]", "2 of 3 synchronizations", "2, 3, 4, 5 and 6 ranks"],
    );
}

#[test]
fn a_program_that_needs_all_says_so() {
    let folder = Folder::with("a.ccl", CAREFUL);
    ends(folder.cclc("check --needless --fix a.ccl"), 0);
    let run =
        ends(folder.cclc("check --needless -D ranks=2..=4 --deny N0501 --deny N0502 a.ccl"), 0);
    says(&run.stderr, &["0 of 2 synchronizations"]);
    assert!(!run.stderr.contains("N05"), "{}", run.stderr);
}

#[test]
fn fixes_take_what_is_left_of_the_line() {
    let folder = Folder::with("a.ccl", CAREFUL);
    ends(folder.cclc("check --needless --fix a.ccl"), 0);
    let fixed = CAREFUL
        .replace("        for p in peers { signal mem[p]; }   // once more\n", "")
        .replace("        for p in peers { wait mem[p]; }\n", "")
        .replacen(
            "signal mem[*];\n        wait mem[*];",
            "signal mem[*] relaxed;\n        wait mem[*] relaxed;",
            1,
        );
    assert_eq!(folder.read("a.ccl"), fixed);
}

#[test]
fn a_wrong_program_is_not_searched() {
    let wrong = CAREFUL
        .replacen("        signal mem[*];\n        wait mem[*];\n", "", 2)
        .replace("        for p", "        //");
    let run = ends(Folder::with("a.ccl", &wrong).cclc("check --needless a.ccl"), 1);
    assert!(!run.stderr.contains("synchronizations"), "{}", run.stderr);
}

#[test]
fn nothing_is_needed_where_nothing_is_promised() {
    let promised = CAREFUL
        .replace("allgather;", "unchecked;")
        .replace("allgather(ranks)", "unchecked(ranks, outputs = ranks)");
    let run = ends(Folder::with("a.ccl", &promised).cclc("check --needless a.ccl"), 0);
    says(&run.stderr, &["`careful`: nothing is promised of its result"]);
}
