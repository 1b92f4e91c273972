//! The conventions of this project that a machine can check.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

use compiler::diagnostic::Code;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The maximum length of a file.
const MAX_LINES: usize = 800;

/// What each module of the library may use of the others. `ARCHITECTURE.md` explains why.
const LAYERS: &[(&str, &[&str])] = &[
    ("table", &[]),
    ("source", &["table"]),
    ("bytes", &[]),
    ("interrupt", &[]),
    ("phase", &[]),
    ("diagnostic", &["table", "source"]),
    ("syntax", &["table", "phase", "source", "diagnostic"]),
    ("repair", &["table", "source", "diagnostic", "syntax"]),
    ("resolve", &["table", "phase", "source", "diagnostic", "syntax"]),
    ("demand", &["ir"]),
    ("machine", &["bytes", "source"]),
    ("ir", &["table", "source", "machine"]),
    ("events", &["table", "ir"]),
    ("interpreter", &["table", "ir", "events"]),
    (
        "elaborate",
        &[
            "table",
            "bytes",
            "source",
            "interrupt",
            "diagnostic",
            "syntax::ast",
            "resolve",
            "machine",
            "ir",
        ],
    ),
    (
        "check",
        &[
            "table",
            "bytes",
            "phase",
            "source",
            "interrupt",
            "diagnostic",
            "machine",
            "ir",
            "events",
            "interpreter",
        ],
    ),
    ("optimize", &["table", "phase", "diagnostic", "ir", "interpreter", "check"]),
    ("plan", &["table", "source", "diagnostic", "ir", "check", "optimize"]),
    ("cuda", &["source", "interrupt", "diagnostic", "ir"]),
    ("target", &["source", "interrupt", "diagnostic", "ir", "check::limits", "optimize", "cuda"]),
    ("emulate", &["bytes", "source", "interrupt", "diagnostic", "ir", "events"]),
    ("decompile", &["table", "ir", "interrupt", "syntax::token"]),
    ("import", &["table", "bytes", "syntax::token"]),
    ("synthesize", &["ir", "machine", "syntax"]),
    ("picture", &["table", "bytes", "ir", "events", "check::names"]),
];

/// Crates that only certain files may name.
const CONFINED: &[(&str, &[&str])] = &[
    ("logos", &["syntax/token.rs"]),
    ("chumsky", &["syntax/parse.rs", "syntax/parse/"]),
    ("ariadne", &["diagnostic/render.rs"]),
    ("serde", &["diagnostic/json.rs", "plan.rs", "plan/", "import/msccl_json.rs"]),
    (
        "serde_json",
        &[
            "diagnostic/json.rs",
            "diagnostic/json/",
            "diagnostic/sarif.rs",
            "diagnostic/sarif/",
            "plan.rs",
            "plan/",
            "cli/bound/",
            "cli/synthesis/",
            "import/msccl_json.rs",
            "cli/run.rs",
            "cli/timings.rs",
        ],
    ),
    ("stdlib", &["resolve.rs", "resolve/"]),
    ("blake3", &["plan/map.rs", "cuda/identity.rs", "cuda/mscclpp.rs"]),
    ("clap", &["cli.rs", "cli/"]),
    ("clap_complete", &["cli/args.rs"]),
    ("clap_mangen", &["cli/args.rs"]),
];

/// Crates that only certain files of the language server may name.
const CONFINED_IN_SERVER: &[(&str, &[&str])] =
    &[("tower_lsp", &["server.rs", "server/", "sequencer.rs"]), ("tower", &["sequencer.rs"])];

/// File names that say nothing about the contents.
const JUNK: &[&str] =
    &["util", "utils", "common", "helper", "helpers", "misc", "manager", "prelude", "mod"];

/// A Rust file of the project.
struct File {
    /// From the root of the project, such as `compiler/src/ir.rs`.
    path: String,
    text: String,
}

#[test]
fn modules_use_only_what_lies_below_them() {
    let mut wrong = Vec::new();
    for file in library_files() {
        let module = module_of(&file.path);
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == module) else {
            assert!(
                matches!(module, "lib" | "driver" | "onset" | "trial" | "main" | "cli"),
                "{} is in no layer",
                file.path
            );
            continue;
        };
        for used in crate_paths(&code(&file.text)) {
            let fine = used.split("::").next() == Some(module)
                || allowed
                    .iter()
                    .any(|allowed| used == *allowed || used.starts_with(&format!("{allowed}::")));
            if !fine {
                wrong.push(format!("{}: `crate::{used}`", file.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_checks_have_no_bounds_of_their_own() {
    let is_bound = |line: &str| {
        let name = line.split_once("const ").and_then(|(_, rest)| rest.split_once(':'));
        name.is_some_and(|(name, _)| {
            let mut words = name.trim().split('_');
            words.any(|word| ["MOST", "MAX", "BUDGET", "STEPS", "ROUNDS", "LIMIT"].contains(&word))
        })
    };
    let checks = |file: &File| {
        // What the executor can do is no budget.
        file.path.starts_with("compiler/src/check")
            && !file.path.starts_with("compiler/src/check/limits")
            && file.path != "compiler/src/check/budget.rs"
    };
    let mut wrong = Vec::new();
    for file in library_files().into_iter().filter(checks) {
        let bounds = file.text.lines().filter(|line| is_bound(line));
        wrong.extend(bounds.map(|line| format!("{}: {}", file.path, line.trim())));
    }
    assert!(wrong.is_empty(), "not in `check/budget.rs`:\n{}", wrong.join("\n"));
    assert!(is_bound("const MOST_CELLS: u64 = 1;") && !is_bound("const MEMBERS: usize = 1;"));
}

#[test]
fn the_layers_are_the_modules() {
    let lib = fs::read_to_string(root().join("compiler/src/lib.rs")).unwrap();
    let declared: BTreeSet<&str> =
        lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    let known: BTreeSet<&str> =
        LAYERS.iter().map(|(name, _)| *name).chain(["driver", "onset", "trial"]).collect();
    assert_eq!(declared, known);
}

#[test]
fn crates_are_named_where_they_belong() {
    let mut wrong = misplaced("compiler/src/", CONFINED);
    wrong.extend(misplaced("lsp/src/", CONFINED_IN_SERVER));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The files of a folder that name a crate which only other files may name.
fn misplaced(folder: &str, confined: &[(&str, &[&str])]) -> Vec<String> {
    let mut wrong = Vec::new();
    for file in rust_files() {
        let Some(short) = file.path.strip_prefix(folder) else { continue };
        let code = code(&file.text);
        for (name, files) in confined {
            let allowed = files
                .iter()
                .any(|file| short == *file || (file.ends_with('/') && short.starts_with(file)));
            if !allowed && names_crate(&code, name) {
                wrong.push(format!("{}: {name}", file.path));
            }
        }
    }
    wrong
}

#[test]
fn every_file_opens_with_what_it_is_for() {
    let silent: Vec<String> = rust_files()
        .into_iter()
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| file.path)
        .collect();
    assert!(silent.is_empty(), "without `//!`: {silent:?}");
}

#[test]
fn no_file_is_long() {
    let long: Vec<String> = rust_files()
        .into_iter()
        .map(|file| (file.text.lines().count(), file.path))
        .filter(|(lines, _)| *lines > MAX_LINES)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "longer than {MAX_LINES} lines: {long:?}");
}

#[test]
fn no_file_is_a_junk_drawer() {
    let junk: Vec<String> = rust_files()
        .into_iter()
        .map(|file| file.path)
        .filter(|path| JUNK.contains(&Path::new(path).file_stem().unwrap().to_str().unwrap()))
        .collect();
    assert!(junk.is_empty(), "{junk:?}");
}

#[test]
fn nothing_is_imported_wholesale() {
    let glob = |line: &str| {
        line.trim_start().starts_with("use ")
            && line.contains("::*")
            && line.trim() != "use super::*;"
    };
    let found: Vec<String> = rust_files()
        .iter()
        .flat_map(|file| {
            file.text.lines().filter(|line| glob(line)).map(|line| format!("{}: {line}", file.path))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn only_the_command_line_prints() {
    let words = [
        "println!",
        "print!",
        "eprintln!",
        "eprint!",
        "std::env::var",
        "std::fs",
        "Instant::now",
        "SystemTime",
    ];
    let mut found = Vec::new();
    for file in
        library_files().iter().filter(|file| !matches!(module_of(&file.path), "main" | "cli"))
    {
        let code = without_tests(&code(&file.text));
        found.extend(
            words
                .iter()
                .filter(|word| code.contains(**word))
                .map(|word| format!("{}: {word}", file.path)),
        );
    }
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn the_catalogue_is_in_order_and_each_code_once() {
    let ids: Vec<&str> = Code::ALL.iter().map(|code| code.id()).collect();
    for group in ["E", "W", "N"] {
        let group: Vec<&&str> = ids.iter().filter(|id| id.starts_with(group)).collect();
        assert!(group.is_sorted_by(|a, b| a < b), "{group:?}");
    }
    let pages: BTreeSet<String> = names_in(&root().join("compiler/explain"), "md");
    assert_eq!(pages, ids.iter().map(|id| (*id).to_owned()).collect::<BTreeSet<String>>());
}

#[test]
fn every_code_is_in_the_source_and_in_a_case() {
    let source: String = library_files()
        .into_iter()
        .filter(|file| !file.path.ends_with("diagnostic/code.rs"))
        .map(|file| without_tests(&code(&file.text)))
        .collect();
    let mut cases: String = cases().iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    // Codes that no program text can cause are tested with the command line.
    for test in ["cli", "cli/bounds", "cli/manifests", "cli/plans", "cli/run", "adoption"] {
        cases += &fs::read_to_string(root().join(format!("compiler/tests/{test}.rs"))).unwrap();
    }
    let mut missing = Vec::new();
    for code in Code::ALL {
        if !source.contains(&format!("Code::{}", code.id())) {
            missing.push(format!("{} is never reported", code.id()));
        }
        if !cases.contains(code.id()) {
            missing.push(format!("{} has no case", code.id()));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn no_two_cases_have_one_name() {
    let mut named: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in cases() {
        named.entry(path.file_stem().unwrap().to_str().unwrap().to_owned()).or_default().push(path);
    }
    let twice: Vec<&Vec<PathBuf>> = named.values().filter(|paths| paths.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn no_crate_has_features() {
    for manifest in ["compiler", "grammar", "lsp", "stdlib", "synth"] {
        let text = fs::read_to_string(root().join(manifest).join("Cargo.toml")).unwrap();
        assert!(
            !text.contains("[features]"),
            "{manifest} has features; one way to build it is enough"
        );
        assert!(
            text.contains("[lints]\nworkspace = true"),
            "{manifest} does not take the shared lints"
        );
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn library_files() -> Vec<File> {
    rust_files().into_iter().filter(|file| file.path.starts_with("compiler/src/")).collect()
}

fn rust_files() -> Vec<File> {
    let mut files = Vec::new();
    for folder in ["compiler", "grammar", "lsp", "stdlib", "synth", "fuzz", "benches"] {
        collect(&root().join(folder), &mut files);
    }
    files
}

fn collect(folder: &Path, files: &mut Vec<File>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("node_modules") {
            collect(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let short = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
            files.push(File { path: short, text: fs::read_to_string(&path).unwrap() });
        }
    }
}

/// The module of the library that a file belongs to: `plan` for `compiler/src/plan/read.rs`.
fn module_of(path: &str) -> &str {
    let short = path.strip_prefix("compiler/src/").unwrap();
    short.split(['/', '.']).next().unwrap()
}

/// A file's text without comments.
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect()
}

/// A file's text up to its tests, which are at its end.
fn without_tests(code: &str) -> String {
    code.split("#[cfg(test)]").next().unwrap_or_default().to_owned()
}

/// The paths after `crate::` in a text, with braces expanded one level: `crate::{a::b, c}` gives `a::b` and
/// `c`.
fn crate_paths(code: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for after in code.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            Some(list) => paths.extend(members(list)),
            None => paths.push(path(after)),
        }
    }
    paths
}

/// The paths of the members of a brace, up to its closing brace.
fn members(list: &str) -> Vec<String> {
    let mut members = vec![String::new()];
    let mut depth = 0;
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            _ => {}
        }
        match members.last_mut() {
            Some(member) if depth > 0 || c != ',' => member.push(c),
            _ => members.push(String::new()),
        }
    }
    members.iter().map(|member| path(member.trim())).filter(|path| !path.is_empty()).collect()
}

fn path(text: &str) -> String {
    let path: String =
        text.chars().take_while(|c| c.is_alphanumeric() || "_:".contains(*c)).collect();
    path.trim_end_matches(':').to_owned()
}

/// Whether a text uses a crate: `name::` that does not follow another path or word.
fn names_crate(code: &str, name: &str) -> bool {
    code.match_indices(&format!("{name}::")).any(|(at, _)| {
        let before = code.get(..at).and_then(|text| text.chars().next_back());
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':')
    })
}

fn names_in(folder: &Path, extension: &str) -> BTreeSet<String> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let wanted = files.filter(|path| path.extension().is_some_and(|end| end == extension));
    wanted.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

fn cases() -> Vec<PathBuf> {
    let Ok(phases) = fs::read_dir(root().join("compiler/tests/cases")) else { return Vec::new() };
    let folders = phases.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files =
        folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    files.filter(|path| path.extension().is_some_and(|end| end == "ccl")).collect()
}

/// Tests of the checks themselves.
mod checks {
    use super::{code, crate_paths, members, module_of, names_crate};

    #[test]
    fn paths_are_found() {
        let text = "use crate::source::{FileId, Span};\nuse crate::{ir, syntax::ast::{File, Item}};\n// crate::no\n";
        assert_eq!(crate_paths(&code(text)), ["source", "ir", "syntax::ast"]);
        assert_eq!(members("a, b::{c, d}, e}, f"), ["a", "b", "e"]);
    }

    #[test]
    fn crates_are_told_from_modules() {
        assert!(names_crate("use serde::Serialize;", "serde"));
        assert!(names_crate("&serde::x", "serde"));
        assert!(!names_crate("use serde_json::Value;", "serde"));
        assert!(!names_crate("my::serde::x", "serde"));
    }

    #[test]
    fn modules_are_first_folders() {
        assert_eq!(module_of("compiler/src/plan/read/operations.rs"), "plan");
        assert_eq!(module_of("compiler/src/ir.rs"), "ir");
    }
}
