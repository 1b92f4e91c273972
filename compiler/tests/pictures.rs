//! The pictures that `cclc dump --format svg` draws: an arrow leads to every wait from what it waits for, time runs
//! down, and the findings of the checks are marked.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

#[path = "support/cclc.rs"]
mod cclc;
#[path = "support/files.rs"]
mod files;

use cclc::Run;
use files::{ccl_files, manifest};
use std::path::{Path, PathBuf};

/// Verbs that wait for something from elsewhere.
const WAITS: [&str; 5] =
    ["wait", "acquire", "unpack_packets", "read_put_packets", "reduce_packets"];

fn picture(file: &Path, more: &[&str]) -> Run {
    let mut arguments =
        vec!["dump".to_owned(), file.display().to_string(), "--format=svg".to_owned()];
    arguments.extend(more.iter().map(|word| (*word).to_owned()));
    cclc::cclc(&arguments, "")
}

fn library() -> Vec<PathBuf> {
    let files = ccl_files(&manifest("../stdlib/ccl/algorithms"));
    assert!(files.len() > 10);
    files
}

/// The picture of a library program for four ranks, on two nodes if it has a parameter for nodes.
fn drawn(file: &Path) -> String {
    let nodes = std::fs::read_to_string(file).unwrap().contains("ranks_per_node: int");
    let more =
        if nodes { &["-D", "ranks=4", "-D", "ranks_per_node=2"][..] } else { &["-D", "ranks=4"] };
    let run = picture(file, more);
    assert_eq!(run.status, Some(0), "{}: {}", file.display(), run.stderr);
    run.stdout
}

/// The part of a text between two others.
fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    text.split_once(from).unwrap().1.split_once(to).unwrap().0
}

#[test]
fn every_wait_is_given_what_it_waits_for() {
    for file in library() {
        let svg = drawn(&file);
        let told = between(&svg, "<desc>", "</desc>");
        let mut waits = 0;
        for line in told.lines().filter(|line| !line.starts_with("From ")) {
            let (column, steps) = line.split_once(": ").unwrap();
            for step in steps.trim_end_matches('.').split("; ") {
                let (number, what) = step.split_once(". ").unwrap();
                if WAITS.iter().any(|verb| what.starts_with(verb)) {
                    waits += 1;
                    let given = format!(" to {column}, {number}: ");
                    assert!(
                        told.contains(&given),
                        "{}: nothing gives {column}: {step}",
                        file.display()
                    );
                }
            }
        }
        assert!(waits > 0, "{}: nothing waits", file.display());
    }
}

#[test]
fn time_runs_down() {
    for file in library() {
        let svg = drawn(&file);
        assert!(!svg.contains("stuck\""), "{}", file.display());
        let arrows = svg.lines().filter(|line| line.contains("marker-end"));
        let mut count = 0;
        for arrow in arrows {
            let numbers: Vec<i64> = between(arrow, "d=\"M", "\"")
                .split([' ', 'C'])
                .map(|number| number.parse().unwrap())
                .collect();
            let [_, from, .., to] = numbers.as_slice() else { panic!("{arrow}") };
            assert!(from < to, "{}: {arrow}", file.display());
            count += 1;
        }
        assert!(count > 0, "{}", file.display());
    }
}

/// Writes the first program on a code's page to a file.
fn mistake(code: &str, folder: &Path) -> PathBuf {
    let page = std::fs::read_to_string(manifest(&format!("explain/{code}.md"))).unwrap();
    let file = folder.join("mistake.ccl");
    std::fs::write(&file, between(&page, "```ccl\n", "```")).unwrap();
    file
}

#[test]
fn both_sides_of_a_race_are_marked() {
    let folder = tempfile::tempdir().unwrap();
    for code in ["E0501", "E0503", "E0510", "E0512", "E0515"] {
        let svg = picture(&mistake(code, folder.path()), &[]).stdout;
        assert_eq!(svg.matches(" mark\"").count(), 2, "{code}");
        assert_eq!(
            svg.matches("<path class=\"race\"").count(),
            2,
            "{code}: a line, and what it means"
        );
    }
}

#[test]
fn what_is_never_run_is_drawn_so() {
    let folder = tempfile::tempdir().unwrap();
    let svg = picture(&mistake("E0601", folder.path()), &[]).stdout;
    assert!(svg.contains("stuck\""), "{svg}");
}

/// The picture of a program for three ranks over ports, whose blocks do this after an exchange of signals.
fn over_ports(body: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ports.ccl");
    let text = format!(
        "use std::collectives::unchecked;\nprogram ports(ranks: int = 3) {{\n\
         collective unchecked(ranks, inputs = ranks, outputs = ranks);\n\
         channel wire[p in peers] = port(p);\n\
         block main {{ signal wire[*]; wait wire[*]; {body} }}\n}}\n"
    );
    std::fs::write(&file, text).unwrap();
    let run = picture(&file, &[]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    run.stdout
}

#[test]
fn a_proxy_does_what_goes_over_its_channel() {
    for put in [
        "put_with_signal input[rank] -> (p in peers: p.output[rank]) via wire[*];",
        "put_with_signal input[1], input[0] -> (p in peers.rev(): p.output[rank]) via wire[*];",
        "pipeline unit = 1KiB, chunks = 1 { copy input[0] -> output[rank]; \
         for p in peers { put_with_signal input[rank] -> p.output[rank] via wire[p]; } }",
    ] {
        let svg = over_ports(&format!("{put} wait wire[*];"));
        let told = between(&svg, "<desc>", "</desc>");
        let read =
            if put.contains("input[1]") { ["input[0]", "input[1]"] } else { ["input[0]"; 2] };
        for (to, read) in [(1, read[0]), (2, read[1])] {
            let line = told
                .lines()
                .find(|line| line.starts_with(&format!("rank 0, proxy of wire[{to}]: ")));
            let does = line.unwrap().replace("every 1KiB: ", "");
            let expected = format!("1. signals; 2. reads {read} writes output[0] of {to} signals.");
            assert!(does.ends_with(&expected), "{put}: {does}");
        }
    }
}

#[test]
fn pipelines_that_wait_for_each_other_are_run() {
    let example = picture(&manifest("../examples/mscclpp/single_node_allreduce_pipeline.ccl"), &[]);
    let windows = over_ports(
        "pipeline unit = 1KiB, chunks = 1 { \
         for p in peers { put_with_signal input[rank] -> p.output[rank] via wire[p]; } wait wire[*]; \
         signal wire[*]; wait wire[*]; } signal wire[*]; wait wire[*];",
    );
    for svg in [&example.stdout, &windows] {
        assert!(svg.contains("\"window\""), "{svg}");
        assert!(!svg.contains("stuck\""), "{svg}");
    }
    let told = between(&windows, "<desc>", "</desc>");
    for (proxy, block) in [(1, 2), (2, 5), (3, 7), (4, 9)] {
        let arrow = format!(
            "From rank 1, proxy of wire[0], {proxy} to rank 0, main, {block}: orders memory."
        );
        assert!(told.contains(&arrow), "{arrow}\n{told}");
    }
}

#[test]
fn releases_of_several_blocks_are_taken_as_they_come() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rounds.ccl");
    let text = "use std::collectives::unchecked;\nprogram rounds(ranks: int = 1) {\n\
        collective unchecked(ranks, inputs = 2, outputs = 2);\nsemaphore done;\nsemaphore go[w in 0..2];\n\
        block work[w in 0..2] { release done; acquire go[w]; release done; }\n\
        block main { acquire done; acquire done; release go[*]; acquire done; acquire done; }\n}\n";
    std::fs::write(&file, text).unwrap();
    let run = picture(&file, &[]);
    assert!(run.stdout.contains("\"memory\"") && !run.stdout.contains("stuck\""), "{}", run.stdout);
    for (work, release, acquire) in [(0, 1, 1), (1, 1, 2), (0, 3, 4), (1, 3, 5)] {
        let arrow = format!("From rank 0, work[{work}], {release} to rank 0, main, {acquire}: ");
        assert!(run.stdout.contains(&arrow), "{arrow}\n{}", run.stdout);
    }
}

#[test]
fn an_arrow_in_a_column_stays_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("alone.ccl");
    let text = "use std::collectives::unchecked;\nprogram alone(ranks: int = 2) {\n\
        collective unchecked(ranks, inputs = 1, outputs = 1);\n\
        semaphore s;\nblock main { release s; acquire s; }\n}\n";
    std::fs::write(&file, text).unwrap();
    let svg = picture(&file, &[]).stdout;
    let arrow = between(&svg, "<path class=\"memory\" d=\"M", "\"");
    let numbers: Vec<i64> = arrow.split([' ', 'C']).map(|number| number.parse().unwrap()).collect();
    let [from, _, out, _, back, _, to, _] = numbers.as_slice() else { panic!("{arrow}") };
    assert!(from == to && out == back && out > from, "{arrow}");
}

#[test]
fn what_nobody_could_read_is_not_drawn() {
    let run =
        picture(&manifest("../stdlib/ccl/algorithms/allgather_allpairs.ccl"), &["-D", "ranks=64"]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("use fewer ranks"), "{}", run.stderr);
}
