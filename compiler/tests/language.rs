//! The programs of the language's own pages and of the library compile for many numbers of ranks, on one node and on
//! two. If a program exceeds what the executor can do, the report says so.
//!
//! `tests/language/*.ccl` are the programs that introduce the language, and complete programs around its fragments.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

#[path = "support/files.rs"]
mod files;

use files::{ccl_files, manifest};
use std::path::Path;
use std::process::{Command, Output};

/// The numbers of ranks that every program is compiled for.
const RANKS: [u32; 9] = [2, 3, 4, 7, 8, 12, 13, 14, 16];

/// The folders of the examples that are checked with their defaults.
const EXAMPLES: [&str; 4] = [
    "../examples",
    "../examples/algorithms",
    "../examples/mscclpp",
    "../examples/mscclpp/unit_tests",
];

#[test]
fn every_program_of_the_language_compiles() {
    let scratch = tempfile::tempdir().unwrap();
    for file in ccl_files(&manifest("tests/language")) {
        let text = std::fs::read_to_string(&file).unwrap();
        for program in programs(&text) {
            for ranks in RANKS {
                for per_node in shapes(&program, ranks) {
                    compiles(&file, &program.name, ranks, per_node, scratch.path());
                }
            }
        }
    }
}

#[test]
fn a_slip_in_the_last_tile_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(manifest("tests/language/allgather_tiled.ccl")).unwrap();
    let good = "let n = min(tile, elements - start);";
    assert!(text.contains(good));
    let file = scratch.path().join("slip.ccl");
    std::fs::write(&file, text.replace(good, "let n = tile;")).unwrap();
    let output = cclc(&["check", file.to_str().unwrap(), "--message-format", "short"]);
    let report = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{report}");
    assert!(report.contains("E0401") && report.contains("input"), "{report}");
}

#[test]
fn every_algorithm_of_the_library_is_right_at_every_number_of_ranks() {
    for file in ccl_files(&manifest("../stdlib/ccl/algorithms")) {
        let text = std::fs::read_to_string(&file).unwrap();
        for program in programs(&text) {
            for arguments in library_shapes(&program) {
                // Up to how many ranks the executor has room for them is what `reach.rs` shows.
                accepts(&file, &program.name, &arguments, "proof");
            }
        }
    }
}

#[test]
fn every_example_is_accepted() {
    for folder in EXAMPLES {
        for file in ccl_files(&manifest(folder)) {
            let text = std::fs::read_to_string(&file).unwrap();
            for program in programs(&text) {
                accepts(&file, &program.name, &[], "all");
            }
        }
    }
}

#[test]
fn every_algorithm_among_the_examples_is_right_at_many_numbers_of_ranks() {
    let own_sizes = ["custom_collectives"];
    // Each of its three dimensions has at least two ranks.
    let no_odd_nodes = ["halo_exchange"];
    let folders = ["../examples", "../examples/algorithms", "../examples/systems"];
    for file in folders.iter().flat_map(|folder| ccl_files(&manifest(folder))) {
        if own_sizes.iter().any(|name| file.ends_with(format!("{name}.ccl"))) {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for program in programs(&text) {
            let sizes = match program.nodes {
                true => vec![("2", "4,6,8,10"), ("3", "6,9"), ("4", "8,16"), ("8", "16,24")],
                false => vec![("", "2,3,4,5,6,7,8,9,12,16")],
            };
            let is_odd = |width| width == "3" && no_odd_nodes.contains(&program.name.as_str());
            for (width, ranks) in sizes.into_iter().filter(|(width, _)| !is_odd(*width)) {
                let mut arguments = vec![format!("ranks={ranks}")];
                arguments.extend(program.nodes.then(|| format!("ranks_per_node={width}")));
                arguments.extend(program.domains.then(|| "domains=1,2,3".to_owned()));
                accepts(&file, &program.name, &arguments, "all");
            }
        }
    }
}

#[test]
fn packets_of_two_calls_need_two_halves_of_scratch() {
    let file = manifest("../examples/systems/allgather_low_latency.ccl");
    for program in ["push_1d_packets", "push_2d_packets", "push_3d_packets"] {
        let file = file.to_str().unwrap();
        let arguments = [
            "check",
            file,
            "--program",
            program,
            "-D",
            "double=false",
            "--message-format",
            "short",
        ];
        let output = cclc(&arguments);
        let report = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{program}");
        assert!(report.contains("E0515"), "{program}: {report}");
    }
}

/// A program, according to its head.
struct Program {
    name: String,
    nodes: bool,
    domains: bool,
    in_place: bool,
}

/// The programs of a file, found by their heads: what is before their bodies.
fn programs(text: &str) -> Vec<Program> {
    text.split("\nprogram ")
        .skip(1)
        .filter_map(|program| program.split_once(") {"))
        .map(|(head, _)| Program {
            name: head.split('(').next().unwrap().trim().to_owned(),
            nodes: head.contains("ranks_per_node"),
            domains: head.contains("domains: int"),
            in_place: head.contains("in_place: bool"),
        })
        .collect()
}

/// The values of `ranks_per_node`: one node, and two equal ones.
fn shapes(program: &Program, ranks: u32) -> Vec<Option<u32>> {
    match (program.nodes, ranks % 2) {
        (false, _) => vec![None],
        (true, 0) => vec![Some(ranks), Some(ranks / 2)],
        (true, _) => vec![Some(ranks)],
    }
}

/// The `-D` arguments for a program of the library: ranges of ranks, every node width, in place and out of place.
fn library_shapes(program: &Program) -> Vec<Vec<String>> {
    let sizes: Vec<Vec<String>> = if program.nodes {
        [(1, "2..=12"), (2, "2,4,6,8,16"), (4, "4,8,16"), (8, "8,16"), (16, "16")]
            .map(|(width, ranks)| vec![format!("ranks_per_node={width}"), format!("ranks={ranks}")])
            .to_vec()
    } else {
        vec![vec!["ranks=2..=16".to_owned()]]
    };
    let placed = program.in_place.then(|| "in_place=true,false".to_owned());
    sizes.into_iter().map(|size| size.into_iter().chain(placed.clone()).collect()).collect()
}

/// Builds a program for one shape, and expects a plan, or the limit in the table.
fn compiles(file: &Path, program: &str, ranks: u32, per_node: Option<u32>, scratch: &Path) {
    let mut arguments = vec!["build".to_owned(), file.display().to_string()];
    arguments.extend([
        "--program".to_owned(),
        program.to_owned(),
        "-D".to_owned(),
        format!("ranks={ranks}"),
    ]);
    if let Some(width) = per_node {
        arguments.extend(["-D".to_owned(), format!("ranks_per_node={width}")]);
    }
    arguments.extend(["-o".to_owned(), scratch.join("plan.json").display().to_string()]);
    arguments.extend(["--message-format".to_owned(), "short".to_owned()]);
    let output = cclc(&arguments);
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}\n{report}");
}

/// Makes these checks of one program, and expects no error.
fn accepts(file: &Path, program: &str, values: &[String], checks: &str) {
    let mut arguments = vec!["check".to_owned(), file.display().to_string()];
    arguments.extend(["--program".to_owned(), program.to_owned()]);
    for value in values {
        arguments.extend(["-D".to_owned(), value.clone()]);
    }
    arguments.extend(["--checks", checks, "--message-format", "short"].map(str::to_owned));
    let output = cclc(&arguments);
    assert!(output.status.success(), "{arguments:?}\n{}", String::from_utf8_lossy(&output.stderr));
}

fn cclc<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cclc")).args(arguments).output().unwrap()
}
