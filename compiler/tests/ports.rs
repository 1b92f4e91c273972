//! Ports of MSCCL++'s own programs give the plans that its Python DSL gives.
//!
//! `examples/mscclpp/ports.tsv` has a line for each plan in `tests/goldens`: the plan's name, the port's file, the
//! program, and the arguments. Both plans are listed in the form `--normal` and compared; and no thread block of ours
//! may need more `nop`s than the original's. The goldens were made by MSCCL++'s tools and are never rewritten.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn every_port_equals_its_original() {
    let scratch = tempfile::tempdir().unwrap();
    let ports = ports();
    assert!(ports.len() >= 10, "the table is cut short");
    let mut failures = Vec::new();
    for port in &ports {
        let ours = scratch.path().join(format!("{}.json", port.golden));
        let golden = manifest(&format!("tests/goldens/{}.json", port.golden));
        if let Err(report) = port.build(&ours).and_then(|()| compare(&ours, &golden)) {
            failures.push(format!("{}: {report}", port.golden));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A line of the table.
struct Port {
    golden: String,
    file: String,
    program: String,
    arguments: Vec<String>,
}

impl Port {
    fn build(&self, plan: &Path) -> Result<(), String> {
        let mut arguments = vec!["build".to_owned()];
        arguments
            .push(manifest(&format!("../examples/mscclpp/{}", self.file)).display().to_string());
        arguments.extend(["--program".to_owned(), self.program.clone()]);
        arguments.extend(self.arguments.iter().cloned());
        arguments.extend(["-o".to_owned(), plan.display().to_string()]);
        cclc(&arguments).map(drop)
    }
}

/// The table's lines.
fn ports() -> Vec<Port> {
    let table = std::fs::read_to_string(manifest("../examples/mscclpp/ports.tsv")).unwrap();
    table
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [golden, file, program, arguments] = fields.as_slice() else {
                panic!("not four fields: {line}")
            };
            Port {
                golden: (*golden).to_owned(),
                file: (*file).to_owned(),
                program: (*program).to_owned(),
                arguments: arguments.split_whitespace().map(str::to_owned).collect(),
            }
        })
        .collect()
}

/// Whether two plans are the same but for `nop`s, of which the first may have fewer.
fn compare(ours: &Path, golden: &Path) -> Result<(), String> {
    let list = |plan: &Path, form: &[&str]| {
        let plan = plan.display().to_string();
        cclc(&[&["list", plan.as_str()], form].concat())
    };
    same(&list(ours, &["--normal"])?, &list(golden, &["--normal"])?)?;
    let allowed = nops(&list(golden, &[])?);
    for (block, count) in nops(&list(ours, &[])?) {
        let most = allowed.get(&block).copied().unwrap_or(0);
        if count > most {
            return Err(format!(
                "rank {}, block {}: {count} nops, the original has {most}",
                block.0, block.1
            ));
        }
    }
    Ok(())
}

/// The first difference of two listings.
fn same(ours: &str, golden: &str) -> Result<(), String> {
    let (mut left, mut right) = (ours.lines(), golden.lines());
    for number in 1.. {
        match (left.next(), right.next()) {
            (None, None) => return Ok(()),
            (a, b) if a == b => {}
            (a, b) => {
                let (a, b) = (a.unwrap_or("(ends)"), b.unwrap_or("(ends)"));
                return Err(format!("line {number}\n  ours:     {a}\n  original: {b}"));
            }
        }
    }
    Ok(())
}

/// The number of `nop`s in each thread block of a listing, by rank and block; blocks without any are left out.
fn nops(listing: &str) -> BTreeMap<(String, String), usize> {
    let (mut rank, mut block) = (String::new(), String::new());
    let mut counts = BTreeMap::new();
    for line in listing.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("rank"), Some(number)) => number.clone_into(&mut rank),
            (Some("tb"), Some(number)) => number.clone_into(&mut block),
            (Some(_), Some("nop(0)")) => {
                *counts.entry((rank.clone(), block.clone())).or_insert(0) += 1
            }
            _ => {}
        }
    }
    counts
}

fn cclc<S: AsRef<std::ffi::OsStr> + std::fmt::Debug>(arguments: &[S]) -> Result<String, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_cclc")).args(arguments).output().unwrap();
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{arguments:?} failed\n{}", String::from_utf8_lossy(&output.stderr)))
    }
}

fn manifest(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
