//! What `check` says of programs that are right.

use crate::files::manifest;
use crate::folder::{Folder, GOOD, ends, says};
use std::fs;

/// A program of the library.
fn library(name: &str) -> Folder {
    let path = manifest(&format!("../stdlib/ccl/algorithms/{name}.ccl"));
    Folder::with("a.ccl", &fs::read_to_string(path).unwrap())
}

fn said(folder: &Folder, arguments: &str) -> String {
    ends(folder.cclc(&format!("check a.ccl {arguments}")), 0).stderr
}

#[test]
fn a_program_that_is_right_is_told_in_one_line() {
    let line = said(&Folder::with("a.ccl", GOOD), "-D ranks=4");
    assert_eq!(
        line,
        "`gather`: proved for 4 ranks: 1 block, at most 8 of 64 operations in a block, sends 3 times its input, the least that the promise forces\n"
    );
}

#[test]
fn what_moves_is_compared_with_what_must() {
    says(
        &said(&library("allreduce_ring"), "-D ranks=8"),
        &["sends 1.75 times its input, the least that the promise forces"],
    );
    // Each rank sends its input to all others.
    says(
        &said(&library("allreduce_packets_one_phase"), "-D ranks=8"),
        &["sends 7 times its input, 4 times the least that the promise forces"],
    );
}

#[test]
fn chunks_that_move_twice_are_more_than_the_least() {
    let twice = GOOD.replace(
        "        put input",
        "        put input[0] -> (p in peers: p.output[rank]) via mem[*];\n        put input",
    );
    says(
        &said(&Folder::with("a.ccl", &twice), ""),
        &["sends 2 times its input, 2 times the least that the promise forces"],
    );
}

#[test]
fn ranks_that_send_differently_are_compared_in_all() {
    let line = said(&library("broadcast_chain"), "-D ranks=4");
    says(&line, &["sends the least that the promise forces"]);
}

#[test]
fn nothing_is_compared_where_a_switch_moves_data_or_nothing_is_promised() {
    for name in ["allreduce_nvls", "barrier_dissemination"] {
        let line = said(&library(name), "");
        says(&line, &["proved for "]);
        assert!(!line.contains("sends"), "{line}");
    }
}

#[test]
fn a_range_is_told_in_one_line() {
    let line = said(&Folder::with("a.ccl", GOOD), "-D ranks=2..=5");
    assert_eq!(
        line,
        "`gather`: proved for ranks=2..=5: 4 combinations checked, 0 refused by a `require`; at most 1 block, at most 8 of 64 operations in a block, sends the least that the promise forces\n"
    );
}

#[test]
fn kernels_have_no_limit_of_operations() {
    let line = said(&Folder::with("a.ccl", GOOD), "--target cuda");
    says(&line, &["proved for 2 ranks"]);
    assert!(!line.contains("of 64"), "{line}");
}

#[test]
fn quiet_and_formats_for_machines_say_nothing() {
    let folder = Folder::with("a.ccl", GOOD);
    for flags in ["-q", "--quiet", "--message-format short", "--message-format json"] {
        assert_eq!(said(&folder, flags), "", "{flags}");
    }
    assert_eq!(said(&folder, "-D ranks=2,3 -q"), "");
    assert_eq!(
        said(&folder, "-D ranks=2,3 --message-format short"),
        "`gather`: 2 combinations checked, 0 refused by a `require`\n"
    );
}

#[test]
fn what_is_wrong_is_not_told_as_proved() {
    let folder = Folder::with("a.ccl", &GOOD.replace("        wait mem[*];\n", ""));
    for arguments in ["check a.ccl", "check a.ccl -D ranks=2,3"] {
        let run = ends(folder.cclc(arguments), 1);
        assert!(!run.stderr.contains("proved for"), "{}", run.stderr);
    }
}

#[test]
fn fixes_are_followed_by_one_line() {
    let folder = Folder::with("a.ccl", &GOOD.replace("allgather;", "{allgather, alltoall};"));
    let run = ends(folder.cclc("check a.ccl --fix"), 0);
    assert_eq!(run.stderr.matches("proved for").count(), 1, "{}", run.stderr);
}
