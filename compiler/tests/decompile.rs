//! The text that `cclc decompile` makes from a plan builds to the same plan.
//!
//! Every plan in `tests/goldens`, and the plans of the library's and the examples' programs for four and eight ranks,
//! are decompiled; the text is compiled, and the listings of both plans are compared. A few texts are kept in
//! `tests/decompiled` for people to read; `BLESS=1` writes them.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

#[path = "support/files.rs"]
mod files;

use compiler::diagnostic::{Diagnostic, Severity};
use compiler::driver::{self, Proof, Request, Source};
use compiler::elaborate::Settings;
use compiler::interrupt::Interrupt;
use compiler::plan::listing::{self, Form, listing};
use compiler::resolve;
use compiler::resolve::program::ProgramId;
use compiler::source::{FileId, SourceMap};
use compiler::syntax;
use compiler::table::Id as _;
use compiler::target::{Capacity, PLAN};
use files::manifest;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// The goldens that no program can express, with the code and a part of the report.
const UNSAYABLE: &[(&str, &str, &str)] = &[
    ("default_algos_allreduce_multi_nodes__world4_per2_inplace1_tbg1", "E0907", "over a port"),
    ("default_algos_allreduce_multi_nodes__world4_per2_inplace1_tbg4", "E0907", "over a port"),
    ("unit_tests_flush_flush_fuse_test__default", "E0907", "which has none to pair with it"),
    ("unit_tests_flush_flush_test__default", "E0907", "which has none to pair with it"),
    ("unit_tests_reduce_copy_send_packet_test__default", "E0907", "which has none to pair with it"),
    ("unit_tests_switch_reduce_test__default", "E0902", "`glre`"),
];

/// At least this many goldens give a single body for all ranks.
const ONE_ROLE: usize = 72;

#[test]
fn every_golden_comes_back() {
    let (mut wrong, mut one_role) = (Vec::new(), 0);
    for path in goldens() {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let (source, found) = decompiled(&text, true);
        match (source, UNSAYABLE.iter().find(|(plan, ..)| *plan == name)) {
            (Some(source), None) => {
                one_role += usize::from(source.roles <= 1);
                wrong.extend(difference(&text, &source.text).map(|why| format!("{name}: {why}")));
            }
            (None, Some((_, code, part))) => {
                let said = found.iter().any(|report| {
                    report.code.id() == *code
                        && report.message.contains(part)
                        && report.primary.is_some()
                });
                assert!(said, "{name}: {found:?}");
            }
            (source, _) => wrong.push(format!("{name}: {} {found:?}", source.is_some())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(one_role >= ONE_ROLE, "only {one_role} are one body for all ranks");
}

#[test]
fn straight_lines_come_back_too() {
    for path in goldens() {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        // Small plans are enough: nothing here depends on size.
        if text.len() > 20_000 || UNSAYABLE.iter().any(|(plan, ..)| *plan == name) {
            continue;
        }
        let (source, found) = decompiled(&text, false);
        let source = source.unwrap_or_else(|| panic!("{name}: {found:?}"));
        assert_eq!(difference(&text, &source.text), None, "{name}");
        let looped = source.text.lines().any(|line| line.trim_start().starts_with("for "));
        assert!(!looped, "{name}:\n{}", source.text);
    }
}

#[test]
fn plans_of_our_own_come_back() {
    let (mut plans, mut several_roles) = (0, 0);
    for (name, text) in programs() {
        for ranks in [4, 8] {
            let Some(plan) = built(&text, ranks) else { continue };
            let (source, found) = decompiled(&plan, true);
            let source = source.unwrap_or_else(|| panic!("{name}, {ranks} ranks: {found:?}"));
            assert_eq!(difference(&plan, &source.text), None, "{name}, {ranks} ranks");
            let formatted = syntax::format(&source.text);
            assert_eq!(formatted.as_ref(), Ok(&source.text), "{name}, {ranks} ranks");
            plans += 1;
            // Trees and chains have several roles, and so have many of the examples' algorithms; all others have one.
            let irregular = name.contains("/examples/algorithms/");
            several_roles += usize::from(source.roles > 1 && !irregular);
        }
    }
    assert!(plans > 60, "only {plans} plans were made");
    assert!(several_roles <= 8, "{several_roles} of {plans} are not one body for all ranks");
}

/// With 15 peers, lists are cut, and the first part of the list has different peers on different ranks.
#[test]
fn what_was_cut_is_whole_again() {
    let programs = programs();
    let names = ["allreduce_allpairs", "allreduce_packets", "reducescatter_allpairs"];
    for name in names {
        let (_, text) = programs.iter().find(|(path, _)| path.contains(name)).unwrap();
        let plan = built(text, 16).unwrap();
        let (source, found) = decompiled(&plan, true);
        let source = source.unwrap_or_else(|| panic!("{name}: {found:?}"));
        assert_eq!(source.roles, 1, "{name}: {}", source.text);
        assert_eq!(difference(&plan, &source.text), None, "{name}");
    }
}

/// A plan for large messages only: it does not serve the sizes at which plans are compared.
#[test]
fn plans_for_large_messages_come_back() {
    let golden = manifest("tests/goldens/single_node_allgather__default.json");
    let text = fs::read_to_string(golden).unwrap();
    let large = text.replace("\"min_message_size\": 0", "\"min_message_size\": 1048576");
    assert_ne!(large, text);
    let (source, found) = decompiled(&large, true);
    let source = source.unwrap_or_else(|| panic!("{found:?}"));
    assert!(source.text.contains("message_size = 1048576.."), "{}", source.text);
}

/// A block lists its channels by first use: that of `b` is the put, which does not name it, and not the signal.
#[test]
fn a_channel_that_is_named_only_after_a_put_over_it_comes_back() {
    let text = "\
use std::collectives::unchecked;
program crossed(ranks: int = 2) {
    collective unchecked(ranks);
    let peer = 1 - rank;
    channel a = memory(peer);
    channel b = memory(peer);
    channel c = memory(peer);
    block main {
        signal a relaxed;
        wait a relaxed;
        put input[0] -> peer.output[0] via b;
        signal c;
        signal b;
        wait c;
        wait b;
    }
}
";
    let plan = plan(text).unwrap();
    for regular in [true, false] {
        let (source, found) = decompiled(&plan, regular);
        let source = source.unwrap_or_else(|| panic!("{found:?}"));
        assert_eq!(difference(&plan, &source.text), None, "{}", source.text);
    }
}

/// In which order a block lists its channels only matters for the numbers by which its operations choose them.
#[test]
fn channels_in_any_order_come_back() {
    let text = "\
use std::collectives::unchecked;
program pairs(ranks: int = 2) {
    collective unchecked(ranks);
    channel mem[p in peers, i in 0..2] = memory(p);
    block main {
        signal mem[1 - rank, 0], mem[1 - rank, 1];
        wait mem[1 - rank, 0], mem[1 - rank, 1];
    }
}
";
    let plan = plan(text).unwrap();
    let mut turned: serde_json::Value = serde_json::from_str(&plan).unwrap();
    for gpu in turned["gpus"].as_array_mut().unwrap() {
        for block in gpu["threadblocks"].as_array_mut().unwrap() {
            block["channels"][0]["channel_ids"].as_array_mut().unwrap().reverse();
            for op in block["ops"].as_array_mut().unwrap() {
                op["channel_ids"].as_array_mut().unwrap().reverse();
            }
        }
    }
    let turned = turned.to_string();
    assert_ne!(turned, serde_json::from_str::<serde_json::Value>(&plan).unwrap().to_string());
    let (source, found) = decompiled(&turned, true);
    let source = source.unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!(difference(&turned, &source.text), None, "{}", source.text);
}

/// The executor does nothing at a `flush`, and a program for plans must not contain one.
#[test]
fn a_flush_is_left_out() {
    let text = "\
use std::collectives::unchecked;
program flushed(ranks: int = 2) {
    collective unchecked(ranks);
    channel far[p in peers] = port(p);
    block main {
        signal far[*];
        wait far[*];
        put input[0] -> (1 - rank).output[0] via far[1 - rank];
        flush far[*];
        signal far[*];
        wait far[*];
    }
}
";
    let plan = plan(text).unwrap();
    assert!(plan.contains("\"flush\""), "{plan}");
    let (source, found) = decompiled(&plan, true);
    let source = source.unwrap_or_else(|| panic!("{found:?}"));
    assert!(!source.text.contains("flush far"), "{}", source.text);
    assert_eq!(difference(&plan, &source.text), None, "{}", source.text);
}

/// Some texts are kept so that they can be read.
#[test]
fn some_texts_are_kept() {
    let folder = manifest("tests/decompiled");
    let mut kept = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let golden =
            manifest("tests/goldens").join(path.file_stem().unwrap()).with_extension("json");
        let (source, found) = decompiled(&fs::read_to_string(golden).unwrap(), true);
        let text = source.unwrap_or_else(|| panic!("{}: {found:?}", path.display())).text;
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        assert_eq!(text, fs::read_to_string(&path).unwrap(), "{}", path.display());
        kept += 1;
    }
    assert!(kept >= 5, "only {kept} texts are kept");
}

/// Decompiling does not fix a defect: the checks report the same of a plan and of its text.
#[test]
fn a_defect_comes_back() {
    for name in [
        "multi_node_send_recv__nnodes_2_gpus_per_node_1_instances_1",
        "executor-tests_reduce_tbg__default",
    ] {
        let text = fs::read_to_string(manifest("tests/goldens").join(name).with_extension("json"))
            .unwrap();
        let source = decompiled(&text, true).0.unwrap();
        let (_, found) = lowered(&source.text, Proof::Needed);
        let errors = found.iter().filter(|report| report.severity == Severity::Error).count();
        assert!(errors > 0, "{name}: {found:?}");
    }
}

/// A plan cannot say that blocks share a channel on purpose, and neither does its text.
#[test]
fn a_shared_channel_is_a_defect_of_the_text_too() {
    let text = "\
use std::collectives::unchecked;
program two(ranks: int = 2) {
    collective unchecked(ranks);
    channel mem[p in peers] = memory(p);
    block a { signal mem[*]; wait mem[*]; }
    block b { signal mem[*]; wait mem[*]; }
}
";
    let source = decompiled(&plan(text).unwrap(), true).0.unwrap();
    let (_, found) = lowered(&source.text, Proof::Needed);
    let codes: Vec<&str> = found.iter().map(|report| report.code.id()).collect();
    assert!(codes.contains(&"E0605"), "{codes:?} in\n{}", source.text);
}

fn goldens() -> Vec<PathBuf> {
    let entries = fs::read_dir(manifest("tests/goldens")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let mut plans: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    plans.sort();
    plans
}

/// The programs of the library's algorithms and of the examples, in single files without imports of their own.
fn programs() -> BTreeMap<String, String> {
    let folders = ["../stdlib/ccl/algorithms", "../examples", "../examples/algorithms"];
    let files = folders.iter().flat_map(|folder| files::ccl_files(&manifest(folder)));
    files.map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap())).collect()
}

fn decompiled(text: &str, regular: bool) -> (Option<Source>, Vec<Diagnostic>) {
    driver::decompile(FileId(0), text, regular, &Interrupt::default())
}

fn lowered(text: &str, proof: Proof) -> (Option<driver::Lowered>, Vec<Diagnostic>) {
    lowered_for(text, &[], proof)
}

/// The first program of a text, lowered, with those of these parameters that it has.
fn lowered_for(
    text: &str,
    parameters: &[(&str, &str)],
    proof: Proof,
) -> (Option<driver::Lowered>, Vec<Diagnostic>) {
    let mut sources = SourceMap::default();
    let main = sources.add("text.ccl", text);
    let (unit, found) = driver::load(main, &mut sources, &mut |_| Err("no imports".to_owned()));
    if driver::has_errors(&found) {
        return (None, found);
    }
    let id = ProgramId::from_index(0);
    let takes = |name: &str| unit.programs[id].parameters.iter().any(|known| known.name == name);
    let value = |text: &str| {
        let parsed = syntax::parse_expression(FileId(0), text).0.unwrap();
        resolve::argument(&parsed).0.unwrap()
    };
    let given = parameters.iter().filter(|(name, _)| takes(name));
    let settings = Settings {
        parameters: given.map(|(name, text)| ((*name).to_owned(), value(text))).collect(),
        ..Settings::default()
    };
    driver::lower_program(&Request {
        unit: &unit,
        program: id,
        settings: &settings,
        target: &PLAN,
        proof,
        interrupt: &Interrupt::default(),
    })
}

/// The plan of a text, even if it has errors.
fn plan(text: &str) -> Result<String, String> {
    let (program, found) = lowered(text, Proof::Skipped);
    let program = program.ok_or_else(|| format!("{found:?}\n{text}"))?;
    written(program)
}

fn written(program: driver::Lowered) -> Result<String, String> {
    let mut bytes = Vec::new();
    let capacity = Capacity { sms: 132, worst: Severity::Warning };
    driver::write_plan(program, capacity, &mut bytes).map_err(|why| why.to_string())?;
    String::from_utf8(bytes).map_err(|why| why.to_string())
}

/// The plan of a program for this number of ranks, on two nodes if it has a parameter for nodes; none if it does not
/// support the number.
fn built(text: &str, ranks: u32) -> Option<String> {
    let (ranks, per_node) = (ranks.to_string(), (ranks / 2).to_string());
    let parameters = [("ranks", ranks.as_str()), ("ranks_per_node", per_node.as_str())];
    written(lowered_for(text, &parameters, Proof::Skipped).0?).ok()
}

/// Where the plan of a text and a plan differ.
fn difference(expected: &str, text: &str) -> Option<String> {
    let ours = match plan(text) {
        Ok(plan) => plan,
        Err(why) => return Some(why),
    };
    let (expected, ours) = (listed(expected), listed(&ours));
    let (mut left, mut right) = (expected.lines(), ours.lines());
    loop {
        match (left.next(), right.next()) {
            (None, None) => return None,
            (a, b) if a == b => {}
            (a, b) => return Some(format!("{a:?} became {b:?}")),
        }
    }
}

/// The listing in normal form. The loader divides by the number of chunks, so a rank without chunks is given one. A
/// rank without a block is given one as well, because every rank of a program has one.
fn listed(text: &str) -> String {
    let mut plan = compiler::plan::parse(FileId(0), text).unwrap();
    for gpu in &mut plan.gpus {
        gpu.input_chunks = gpu.input_chunks.max(1);
        gpu.output_chunks = gpu.output_chunks.max(1);
        if gpu.threadblocks.is_empty() {
            gpu.threadblocks.push(compiler::plan::Block::default());
        }
    }
    let settings = listing::Settings { form: Form::Normal, ..listing::Settings::default() };
    let mut text = String::new();
    listing(&plan, &settings, &mut text).unwrap();
    assert!(!text.contains("REJECT"), "{text}");
    text
}
