//! Imports: every file in `tests/imports` is read, and becomes the text beside it.
//!
//! A file is named after what wrote it: `nvidia_` (`nvidia-smi topo -m`), `nccl_`, `msccl_` or `rocm_`
//! (`rocm-smi --showtopo`); `broken_` before that says that it cannot be read. Beside `NAME.txt`, `.xml` or `.json` is the
//! declaration, `NAME.ccl`, or what is wrong, `NAME.error`. `BLESS=1 cargo test` writes both. The declarations are checked
//! with a program that uses them.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

#[path = "support/cclc.rs"]
mod cclc;
#[path = "support/files.rs"]
mod files;

use compiler::import::{
    ImportError, MAX_TEXT_BYTES, TopologyFormat, detect_format, import_topology, write_topology,
};
use files::{ccl_files, entries, manifest, stem};
use std::fs;
use std::path::{Path, PathBuf};

fn samples() -> Vec<PathBuf> {
    let is_sample = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "txt" || end == "xml" || end == "json")
    };
    let found: Vec<PathBuf> =
        entries(&manifest("tests/imports")).into_iter().filter(is_sample).collect();
    assert!(found.len() > 40, "{}", found.len());
    found
}

/// What a sample is, by its name.
fn format_of(path: &Path) -> TopologyFormat {
    let name = stem(path);
    match name.trim_start_matches("broken_").split('_').next().unwrap() {
        "nvidia" => TopologyFormat::NvidiaSmi,
        "nccl" => TopologyFormat::NcclXml,
        "msccl" => TopologyFormat::MscclJson,
        "rocm" => TopologyFormat::RocmSmi,
        other => panic!("{name}: `{other}` is no format"),
    }
}

fn show_error(error: &ImportError) -> String {
    let ImportError { line, column, message, help } = error;
    format!("{line}:{column}: {message}\nhelp: {help}\n")
}

#[test]
fn samples_become_what_is_beside_them() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for path in samples() {
        let (text, name) = (fs::read_to_string(&path).unwrap(), stem(&path));
        let is_broken = name.starts_with("broken_");
        let read = import_topology(&text, format_of(&path), &name);
        assert_eq!(read.is_err(), is_broken, "{name}: {read:?}");
        if !is_broken {
            assert_eq!(detect_format(&text), Some(format_of(&path)), "{name}");
        }
        let (end, found) = match &read {
            Ok(topology) => ("ccl", write_topology(topology)),
            Err(error) => ("error", show_error(error)),
        };
        let beside = path.with_extension(end);
        if bless {
            fs::write(&beside, &found).unwrap();
        }
        if fs::read_to_string(&beside).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", beside.display()));
        }
    }
    assert!(wrong.is_empty(), "`BLESS=1` accepts this:\n{}", wrong.join("\n"));
}

#[test]
fn declarations_are_beside_samples() {
    for path in entries(&manifest("tests/imports")) {
        let is_result = path.extension().is_some_and(|end| end == "ccl" || end == "error");
        let has_sample = ["txt", "xml", "json"].iter().any(|end| path.with_extension(end).exists());
        assert!(!is_result || has_sample, "{} belongs to no sample", path.display());
    }
}

#[test]
fn declarations_are_formatted() {
    for path in ccl_files(&manifest("tests/imports")) {
        let run = cclc::cclc(&["fmt", "--check", &path.display().to_string()], "");
        assert_eq!(run.status, Some(0), "{}: {}{}", path.display(), run.stdout, run.stderr);
    }
}

#[test]
fn declarations_are_machines() {
    for path in ccl_files(&manifest("tests/imports")) {
        let (text, name) = (fs::read_to_string(&path).unwrap(), stem(&path));
        let find_count = |word: &str| {
            let line = text.lines().find_map(|line| line.trim().strip_prefix(word));
            line.map(|count| count.trim_matches([' ', ';']).to_owned())
        };
        let ranks = find_count("ranks ").unwrap();
        let width = find_count("ranks_per_node ").unwrap_or_else(|| ranks.clone());
        let program = format!(
            "use std::collectives::allgather;\n{text}\n\
             program uses(ranks: int = {ranks}, ranks_per_node: int = {width}) {{\n    \
             topology {name};\n    collective allgather(ranks);\n    \
             block main {{ copy input[0] -> output[rank]; }}\n}}\n"
        );
        let run = cclc::cclc(&["check", "-", "--message-format=json"], &program);
        let reports = cclc::reports(&run).unwrap();
        // The program is not an AllGather, which is found when the machine has been evaluated.
        let codes: Vec<&str> = reports
            .iter()
            .filter(|report| report.severity == "error")
            .map(|report| report.code.as_str())
            .collect();
        let expected: &[&str] = if ranks == "1" { &[] } else { &["E0701"] };
        assert_eq!(codes, expected, "{name}: {}", run.stderr);
    }
}

/// The rows of a `let` matrix behind a line.
fn find_matrix(text: &str, behind: &str) -> Vec<String> {
    let after = text.split_once(behind).unwrap().1;
    let rows = after.split_once("= [\n").unwrap().1.split_once("];").unwrap().0;
    rows.lines().map(|row| row.trim().to_owned()).filter(|row| !row.is_empty()).collect()
}

#[test]
fn a_dgx_1_has_the_links_of_the_library() {
    let library = fs::read_to_string(manifest("../stdlib/ccl/topologies.ccl")).unwrap();
    let expected = find_matrix(&library, "topology dgx1 {");
    for name in ["msccl_dgx1", "nvidia_dgx1_v100", "nccl_dgx1_v100"] {
        let text = fs::read_to_string(manifest(&format!("tests/imports/{name}.ccl"))).unwrap();
        assert_eq!(find_matrix(&text, &format!("topology {name} {{")), expected, "{name}");
    }
    // With the rate of an NVLink, where it is known.
    let text = fs::read_to_string(manifest("tests/imports/nvidia_dgx1_v100.ccl")).unwrap();
    assert!(library.contains("bandwidth = links[a][b] * 25GBps"));
    assert!(text.contains("bandwidth = links[a][b] * 25GBps"));
}

#[test]
fn no_text_makes_a_reader_panic() {
    let mut random = fastrand::Rng::with_seed(7);
    for path in samples() {
        let (text, format) = (fs::read_to_string(&path).unwrap(), format_of(&path));
        let read = |text: &str| {
            if let Ok(topology) = import_topology(text, format, "machine") {
                let written = write_topology(&topology);
                assert!(written.ends_with("}\n") && topology.ranks > 0);
            }
            let _ = detect_format(text);
        };
        for _ in 0..60 {
            let at = random.usize(..=text.len());
            read(&String::from_utf8_lossy(&text.as_bytes()[..at]));
            let mut bytes = text.clone().into_bytes();
            for _ in 0..random.usize(1..4) {
                let (at, other) = (random.usize(..bytes.len()), random.usize(..bytes.len()));
                // Bytes of the text itself get further than any others.
                bytes[at] = if random.bool() { bytes[other] } else { random.u8(..) };
            }
            read(&String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let fail = |text: &str, format| import_topology(text, format, "machine").unwrap_err().message;
    let gpus: Vec<String> = (0..520).map(|gpu| format!("GPU{gpu}")).collect();
    let mut matrix = gpus.join("\t") + "\n";
    let mut table = format!("== Link Type between two GPUs ==\n{}\n", gpus.join(" "));
    for (row, gpu) in gpus.iter().enumerate() {
        let cells = |own: &str, other: &str| {
            let cells: Vec<&str> =
                (0..gpus.len()).map(|at| if at == row { own } else { other }).collect();
            format!("{gpu}\t{}\n", cells.join("\t"))
        };
        // Numbers that differ, so that this is no NVSwitch.
        matrix += &cells("X", if row == 0 { "NV1" } else { "NV2" });
        table += &cells("0", "XGMI");
    }
    let matrix =
        matrix.replace("\tNV2", "\tNV1").replacen("GPU1\tNV1\tX\tNV1", "GPU1\tNV1\tX\tNV2", 1);
    let matrix = matrix.replacen("GPU2\tNV1\tNV1\tX", "GPU2\tNV1\tNV2\tX", 1);
    let many = "the machine has more than 262144 links, each direction counted";
    assert_eq!(fail(&matrix, TopologyFormat::NvidiaSmi), many);
    assert_eq!(fail(&table, TopologyFormat::RocmSmi), many);

    let row = format!("[{}0]", "1,".repeat(519));
    let rows: Vec<&str> = (0..520).map(|_| row.as_str()).collect();
    let links = format!("{{\"links\": [{}]}}", rows.join(","));
    let message = fail(&links, TopologyFormat::MscclJson);
    assert!(message == many || message.contains("has a link to itself"), "{message}");
    let empty = format!("{{\"links\": [{}[]]}}", "[],".repeat(20_000));
    assert_eq!(
        fail(&empty, TopologyFormat::MscclJson),
        "the machine has more than 16384 ranks and switches"
    );

    let device = "<pci class=\"0x030200\" busid=\"1\"><gpu rank=\"0\" sm=\"90\">";
    let nvlink = "<nvlink count=\"1\" tclass=\"0x068000\"/>";
    let begin = format!("<system version=\"1\"><cpu>{device}");
    let end = "</gpu></pci></cpu></system>";
    // A million links to a switch are one port.
    let links = begin.clone() + &nvlink.repeat(1_000_000) + end;
    let topology = import_topology(&links, TopologyFormat::NcclXml, "machine").unwrap();
    let port = topology.switches.last().unwrap().ports.first().unwrap();
    assert_eq!(port.bandwidth, 1_000_000 * 20_600_000_000);
    let message = fail(&(begin + &nvlink.repeat(1 << 20)), TopologyFormat::NcclXml);
    assert_eq!(message, "there are more than 1048576 elements");
    let bridges = "<pci class=\"0x060400\"/>".repeat(20_000);
    let many = format!("<system version=\"1\"><cpu>{device}</gpu></pci>{bridges}</cpu></system>");
    assert_eq!(
        fail(&many, TopologyFormat::NcclXml),
        "the machine has more than 16384 ranks and switches"
    );
    let deep = "<system version=\"1\">".to_owned() + &"<pci>".repeat(1 << 20);
    assert!(fail(&deep, TopologyFormat::NcclXml).contains("1024 deep"));

    let long = " ".repeat(MAX_TEXT_BYTES + 1);
    for format in [
        TopologyFormat::NvidiaSmi,
        TopologyFormat::NcclXml,
        TopologyFormat::MscclJson,
        TopologyFormat::RocmSmi,
    ] {
        assert_eq!(fail(&long, format), "the text has more than 64 MiB");
    }
}
