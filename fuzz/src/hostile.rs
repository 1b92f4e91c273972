//! Files of strangers besides programs and plans: maps, manifests, names, machines, proofs; and plans with numbers that no tool writes.
//!
//! In: a text, or bytes. Out: nothing; a violated property panics, and the fuzzer keeps the input.

use crate::{CAPACITY, read_plan, show};
use compiler::driver::{self, Known};
use compiler::elaborate::{TopologyQuestion, evaluate_topology};
use compiler::import::{detect_format, import_topology, write_topology};
use compiler::interrupt::Interrupt;
use compiler::plan::manifest::{Entry, Manifest, ManifestFile, check_plan};
use compiler::plan::map::{self, Map};
use compiler::source::{FileId, SourceMap};
use synth::proof::read::check_proof;

/// A plan with a race, so that reports have places in it.
const PLAN: &str =
    include_str!("../../compiler/tests/goldens/unit_tests_pipeline_test__default.json");

/// A plan of one rank, with a pipeline of one copy. Each `@` is a number.
const PIPELINE: &str = r#"{"name": "p", "collective": "c", "protocol": "Simple", "inplace": false,
    "buffer_alignment": @, "min_message_size": @, "max_message_size": @, "num_threads_per_block": @, "gpus": [{"id": 0,
    "input_chunks": @, "output_chunks": @, "scratch_chunks": @, "channels": [], "remote_buffers": [], "semaphores": [],
    "threadblocks": [{"id": 0, "channels": [], "remote_buffer_refs": [], "ops": [{"name": "pipeline",
    "iter_context": {"unit_size": @, "num_chunks": @}, "ops": [{"name": "copy",
    "src_buff": [{"type": "i", "index": @, "size": @}], "dst_buff": [{"type": "s", "index": @, "size": @}]},
    {"name": "sync"}, {"name": "copy",
    "src_buff": [{"type": "s", "index": @, "size": @}], "dst_buff": [{"type": "o", "index": @, "size": @}]}]}]}]}]}"#;

/// Numbers at which something overflows.
const NUMBERS: [i128; 16] = [
    0,
    1,
    2,
    3,
    16,
    255,
    65_536,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    1 << 53,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
    -1,
];

/// Reads a text as the map of a plan. It can be written again, and what it adds to reports about the plan can be shown.
pub fn read_map(text: &str) {
    let Ok(read) = Map::read(text) else { return };
    let mut written = Vec::new();
    assert!(read.write(&mut written).is_ok());
    let read = read.bound_to(map::digest(PLAN.as_bytes()));
    assert!(read.fits(PLAN));
    let mut sources = SourceMap::default();
    let file = sources.add("fuzz.json", PLAN);
    let texts: Vec<Option<FileId>> =
        read.sources().map(|source| Some(sources.add(source.name, "text"))).collect();
    let known = Known::default().with_map(&read);
    let mut reports = driver::verify(file, PLAN, &known, CAPACITY, &Interrupt::default());
    read.explain(file, &sources, &texts, &mut reports);
    show(&sources, &reports);
}

/// Reads a text as a manifest, up to a line `---`, and as the plan of its entries what follows. What can be read can be
/// written, read again, and compared with the plan, with its hash and without.
pub fn read_manifest(text: &str) {
    let (text, plan) = text.split_once("\n---\n").unwrap_or((text, PLAN));
    let mut sources = SourceMap::default();
    let (file, beside) = (sources.add("fuzz.manifest.json", text), sources.add("fuzz.json", plan));
    let manifest = match Manifest::read(file, text) {
        Ok(manifest) => manifest,
        Err(report) => return show(&sources, &[*report]),
    };
    let mut written = Vec::new();
    assert!(manifest.write(&mut written).is_ok());
    let written = String::from_utf8(written).expect("a manifest is text");
    assert_eq!(Manifest::read(file, &written).as_ref(), Ok(&manifest));
    let said = ManifestFile { name: "fuzz.manifest.json", file, text };
    for entry in &manifest.plans {
        let hashed = Entry { hash: map::digest(plan.as_bytes()), ..entry.clone() };
        for entry in [entry, &hashed] {
            show(&sources, &check_plan(&said, entry, "fuzz.json", beside, plan));
        }
    }
    show(&sources, &Manifest::of(manifest.plans).1);
}

/// Reads a text as the machine of another tool. What can be read is a declaration without errors in names and types.
pub fn read_machine(text: &str) {
    let Some(format) = detect_format(text) else { return };
    let Ok(machine) = import_topology(text, format, "machine") else { return };
    let mut sources = SourceMap::default();
    let file = sources.add("fuzz.ccl", write_topology(&machine).as_str());
    let (unit, reports) = driver::load(file, &mut sources, &mut |_| Err(String::new()));
    assert!(!driver::has_errors(&reports), "{reports:?}");
    for topology in unit.topologies.ids() {
        let span = unit.topologies[topology].span;
        let question = TopologyQuestion { topology, arguments: Vec::new(), on: None, span };
        // Rates may be too far apart.
        show(&sources, &evaluate_topology(&unit, &question, &Interrupt::default()).1);
    }
}

/// Checks a text as a proof file: it is refused, or proves something.
pub fn read_proof(text: &str) {
    if let Ok(proof) = check_proof(text) {
        assert!(proof.topology.count_ranks() > 0);
    }
}

/// Reads a plan with a pipeline whose numbers are chosen by bytes: one of `NUMBERS` each, or the byte itself.
pub fn read_pipeline(numbers: &[u8]) {
    let mut numbers = numbers.iter();
    let mut parts = PIPELINE.split('@');
    let mut plan = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let byte = numbers.next().copied().unwrap_or(1);
        let number = match byte.checked_sub(240) {
            Some(at) => NUMBERS[usize::from(at)],
            None => byte.into(),
        };
        plan.push_str(&number.to_string());
        plan.push_str(part);
    }
    read_plan(&plan);
}

/// Gives a file any name. Reports can be shown in every form, and each is one line where a form has lines.
pub fn name_files(name: &str) {
    let mut sources = SourceMap::default();
    let main = sources
        .add(name, "use \"other.ccl\"::x;\nprogram p() { collective x(1); }\nlet y = 1 + ;\n");
    let mut read = |_: &str| Err(name.to_owned());
    let (_, reports) = driver::load(main, &mut sources, &mut read);
    show(&sources, &reports);
    let lines = compiler::diagnostic::render::short(&sources, &reports);
    assert_eq!(lines.lines().count(), reports.len(), "{lines:?}");
}
