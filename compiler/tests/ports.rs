//! Ports of MSCCL++'s own programs give the plans that MSCCL++'s Python DSL gives, or plans with fewer operations.
//!
//! `examples/mscclpp/ports.tsv` has a line for each plan in `tests/goldens`: the plan's name, the port's file, the
//! program, and the arguments. Both plans are listed in the form `--normal` and compared. If ours must differ, because
//! the original goes wrong, `tests/ports/PLAN.diff` records how. No thread block of ours may have more operations or
//! `nop`s than the original's, except those that such a file names, and no `nop` of ours may be superfluous.
//!
//! `examples/mscclpp/defective/ports.tsv` has a line for each original that goes wrong, with a port that goes wrong in
//! the same way, and the code that is reported for it. Its plan is written in spite of the report, and compared in the
//! same way.
//!
//! Plans without input or output cannot be listed, because MSCCL++'s loader divides by the number of chunks. Their
//! ports have one chunk there, and are compared with the original with one chunk added.
//!
//! The goldens were made by MSCCL++'s tools and are never rewritten. `BLESS=1` writes the differences, and the table in
//! `docs/ports.md`.

#![expect(clippy::indexing_slicing, reason = "a test may panic")]
#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

#[path = "ports/difference.rs"]
mod difference;
#[path = "ports/joins.rs"]
mod joins;
#[path = "ports/listing.rs"]
mod listing;
#[path = "ports/page.rs"]
mod page;
#[path = "ports/table.rs"]
mod table;

use listing::Listing;
use std::collections::BTreeSet;
use std::path::Path;
use table::{Port, manifest};

/// Codes that may be reported for a plan that is ported unchanged: a buffer without chunks, and an input that is
/// written although it is not the output, which a port can allow explicitly.
const ACCEPTED: [&str; 2] = ["E0811", "E0504"];

#[test]
fn every_golden_has_one_port() {
    let goldens = table::goldens();
    let ports: Vec<String> = table::ports().into_iter().map(|port| port.golden).collect();
    assert_eq!(ports, goldens, "a line for each plan, in their order");
}

#[test]
fn every_port_equals_its_original_but_for_what_is_recorded() {
    compare_all(&table::ports(), &[], "tests/ports");
}

#[test]
fn what_goes_wrong_is_ported_as_it_is_and_reported() {
    let defective = table::defective();
    compare_all(&defective, &["--unproved", "--checks", "none"], "tests/ports/defective");
    for port in &defective {
        let wanted = port.code.split('+').map(str::to_owned).collect::<BTreeSet<_>>();
        assert_eq!(port.reported(), wanted, "{}", port.golden);
    }
    let named: BTreeSet<&str> = defective.iter().map(|port| port.golden.as_str()).collect();
    for golden in table::goldens() {
        let mut codes = table::codes(&["verify", &table::golden(&golden).display().to_string()]);
        codes.retain(|code| !ACCEPTED.contains(&code.as_str()));
        assert_eq!(!codes.is_empty(), named.contains(golden.as_str()), "{golden}: {codes:?}");
    }
}

#[test]
fn no_nop_can_be_left_out() {
    let scratch = tempfile::tempdir().unwrap();
    let needless: Vec<String> = table::ports()
        .iter()
        .flat_map(|port| {
            let plan = scratch.path().join("plan.json");
            // The copies that instances make are all alike.
            port.build(&plan, &["-O", "instances=1"]).unwrap();
            joins::needless(&std::fs::read_to_string(plan).unwrap())
                .into_iter()
                .map(|which| format!("{}: nop {which}", port.golden))
        })
        .collect();
    assert!(needless.is_empty(), "the checker is content without\n{}", needless.join("\n"));
}

#[test]
fn the_page_has_the_numbers() {
    let scratch = tempfile::tempdir().unwrap();
    let mut rows = Vec::new();
    for port in &table::ports() {
        let plan = scratch.path().join("plan.json");
        port.build(&plan, &[]).unwrap();
        let original = Listing::of(&listable(&port.golden, scratch.path()), &[]).unwrap();
        rows.push((
            port.golden.clone(),
            original.counts(),
            Listing::of(&plan, &[]).unwrap().counts(),
        ));
    }
    page::compare(&rows);
}

/// Builds each port and compares its plan with that of the original.
fn compare_all(ports: &[Port], flags: &[&str], recorded: &str) {
    let scratch = tempfile::tempdir().unwrap();
    let mut failures = Vec::new();
    let mut known = BTreeSet::new();
    for port in ports {
        let ours = scratch.path().join("ours.json");
        let original = listable(&port.golden, scratch.path());
        let file = manifest(recorded).join(format!("{}.diff", port.golden));
        let found = match port.build(&ours, flags) {
            Ok(()) => difference::plans(&original, &ours),
            Err(_) if port.cannot_be_built() => continue,
            Err(report) => Err(report),
        };
        if let Err(report) = found.and_then(|found| difference::settle(&file, &found)) {
            failures.push(format!("{}: {report}", port.golden));
        }
        known.insert(file);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    for entry in std::fs::read_dir(manifest(recorded)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "diff") {
            assert!(known.contains(&path), "{} belongs to no port", path.display());
        }
    }
}

/// The plan with this name, with one chunk in place of none.
fn listable(golden: &str, scratch: &Path) -> std::path::PathBuf {
    let text = std::fs::read_to_string(table::golden(golden)).unwrap();
    let path = scratch.join("golden.json");
    let text = ["input", "output"].iter().fold(text, |text, buffer| {
        text.replace(&format!("\"{buffer}_chunks\": 0,"), &format!("\"{buffer}_chunks\": 1,"))
    });
    std::fs::write(&path, text).unwrap();
    path
}
