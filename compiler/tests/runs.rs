//! `cclc run`: the library's programs are right in every schedule that is tried, and programs with a mistake, run in
//! spite of it, show it in some schedule.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its files fails")]

#[path = "support/cclc.rs"]
mod cclc;
#[path = "support/files.rs"]
mod files;
#[path = "kernels/mutants.rs"]
mod mutants;

use cclc::Run;
use files::manifest;
use mutants::{MUTANTS, Mutant};
use std::fs;
use std::path::{Path, PathBuf};

/// Parameters that a program does not support.
const REFUSED: &[(&str, &str)] = &[("allgather_recursive_doubling", "ranks=6")];

/// The ways in which the library's programs are run: the number of ranks, of ranks in a node, and other options.
const WAYS: [&str; 4] = [
    "ranks=2 ranks_per_node=1 --type f16",
    "ranks=4 ranks_per_node=2 --type i32 --target cuda",
    "ranks=4 ranks_per_node=2 --type bf16",
    "ranks=6 ranks_per_node=3 --type u8 -O instances=2",
];

#[test]
fn the_library_is_right_in_every_schedule() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in files::ccl_files(&library()) {
        let text = fs::read_to_string(&file).unwrap();
        for way in WAYS {
            let fits = |word: &&str| {
                !word.starts_with("ranks_per_node") || text.contains("ranks_per_node")
            };
            let words: Vec<&str> = way.split(' ').filter(fits).collect();
            let name = file.file_stem().unwrap().to_str().unwrap();
            if REFUSED.iter().any(|(refused, why)| *refused == name && way.starts_with(why)) {
                continue;
            }
            let run = run(&file, &words.join(" "), "--schedules 8");
            if run.status == Some(0) {
                count += 1;
                assert!(
                    run.stdout.contains("\nright: 8 schedules of 3 launches"),
                    "{}",
                    run.stdout
                );
            } else {
                wrong.push(format!("{} {way}: {}", file.display(), run.stderr));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 60, "{count}");
}

#[test]
fn mistakes_are_refused_and_by_force_show_in_some_schedule() {
    let mut silent = Vec::new();
    for mutant in MUTANTS {
        let refused = mistaken(mutant, "--schedules 1");
        let found = mutant.codes.iter().any(|code| refused.stderr.contains(code));
        assert!(found && refused.stdout.is_empty(), "{}: {}", mutant.name, refused.stderr);
        let forced = mistaken(mutant, "--unproved --schedules 64");
        assert_eq!(forced.status, Some(1), "{}: {}", mutant.name, forced.stderr);
        if !forced.stderr.contains("[E0904]") && !forced.stderr.contains("[E0905]") {
            silent.push(format!("{}: {}{}", mutant.name, forced.stdout, forced.stderr));
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

/// What a rank stores to its own memory, a peer reads in these ways.
const PULLS: [(&str, &str); 3] = [
    (
        "use std::collectives::sendrecv; program pull(ranks: int = 2) { collective sendrecv(ranks); scratch part[1];
         channel mem = memory(1 - rank);",
        "get (1 - rank).part[0] -> output[0] via mem;",
    ),
    (
        "use std::collectives::allreduce; program pull(ranks: int = 2) { collective allreduce(ranks, in_place = false); scratch part[2];
         channel mem = memory(1 - rank);",
        "reduce input[..], (1 - rank).part[..] -> output[..] via mem;",
    ),
    (
        "use std::collectives::allreduce; program pull(ranks: int = 2) { collective allreduce(ranks, in_place = false); scratch part[2];
         channel mem = memory(1 - rank); channel nvls = switch(0..2, part);",
        "reduce nvls.part[..] -> output[..];",
    ),
];

/// A relaxed signal does not publish a rank's stores to its own memory, and packets do not; a signal does.
#[test]
fn what_a_rank_stores_to_its_own_memory_comes_late_to_a_peer_that_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pull.ccl");
    let packets =
        "put_packets input[0] -> (1 - rank).told[0] via mem; unpack_packets told[0] -> heard[0];";
    for (declarations, read) in PULLS {
        for (announced, wrong) in [
            ("signal mem; wait mem;", false),
            ("signal mem relaxed; wait mem;", true),
            ("signal mem relaxed; wait mem relaxed;", true),
            (packets, true),
        ] {
            let options = if announced == packets { "double_scratch = true;" } else { "" };
            let text = format!(
                "{declarations} scratch told[1]; scratch heard[1]; options {{ protocol = LL; {options} }}
                 block main {{ copy input[..] -> part[..]; {announced} {read} signal mem; wait mem; }} }}"
            );
            fs::write(&file, text).unwrap();
            // The default number of schedules is enough where something is wrong.
            let more = if wrong { "--unproved" } else { "--schedules 200" };
            // The executor has no reduction through a switch into one rank's buffer.
            let target = if read.contains("nvls") { "cuda" } else { "executor" };
            let run = run(&file, &format!("--target {target}"), more);
            let said = format!("{read} after {announced}: {}{}", run.stdout, run.stderr);
            assert_eq!(run.status, Some(i32::from(wrong)), "{said}");
            assert_eq!(run.stderr.contains("[E0904]"), wrong, "{said}");
        }
    }
}

/// Programs with scratch whose launches have different sizes: those that the checks accept are right, and of the others,
/// each goes wrong in some schedule.
#[test]
fn launches_of_several_sizes_go_wrong_only_where_that_is_reported() {
    let (mut wrong, mut right) = (0, 0);
    let is_about_sizes = |file: &&PathBuf| {
        file.file_name().and_then(|name| name.to_str()).unwrap().starts_with("sizes_")
    };
    for file in files::ccl_files(&manifest("tests/cases/race")).iter().filter(is_about_sizes) {
        let text = fs::read_to_string(file).unwrap();
        // Where nothing is promised, nothing can go wrong; and some have one size only.
        if text.contains("collective unchecked") || text.contains("message_size") {
            continue;
        }
        let run = run(file, "--launches 6", "--size 16,48,112 --schedules 300");
        let accepted = !text.contains("W0503");
        assert_eq!(
            run.status,
            Some(if accepted { 0 } else { 1 }),
            "{}: {}",
            file.display(),
            run.stderr
        );
        *(if accepted { &mut right } else { &mut wrong }) += 1;
    }
    assert!(wrong > 4 && right > 1, "{wrong} {right}");
    for name in ["allreduce_packets", "reducescatter_ring", "alltoall_packets", "allreduce_nvls"] {
        let file = library().join(format!("{name}.ccl"));
        let run = run(&file, "ranks=4", "--size 512,1200,9000 --launches 6 --schedules 100");
        assert_eq!(run.status, Some(0), "{name}: {}", run.stderr);
    }
}

/// A thread writes a packet before it waits for the next one, wherever chunks end in what it moves at a time.
#[test]
fn packets_that_come_back_within_an_operation_arrive() {
    let file = manifest("tests/kernels/replies.ccl");
    for size in [48, 80, 112, 5000] {
        let run = run(&file, "ranks=4", &format!("--size {size} --schedules 40"));
        assert_eq!(run.status, Some(0), "{size}: {}", run.stderr);
    }
}

/// The library's AllReduces, with the promise that all ranks get the same bits: where the checks say that it is kept, it is
/// in every schedule, and where they say that it may not be, rounding shows it.
#[test]
fn the_same_bits_are_where_the_checks_say_so() {
    let (mut kept, mut broken) = (0, 0);
    for name in [
        "allreduce_allpairs",
        "allreduce_nodes",
        "allreduce_nvls",
        "allreduce_packets",
        "allreduce_packets_one_phase",
        "allreduce_ring",
    ] {
        let file = library().join(format!("{name}.ccl"));
        let text = fs::read_to_string(file).unwrap();
        let from = "collective allreduce(ranks, ";
        assert!(text.contains(from), "{name}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(format!("{name}.ccl"));
        fs::write(&file, text.replace(from, &format!("{from}same_bits = true, "))).unwrap();
        for ranks in [2, 4] {
            let nodes = format!(" ranks_per_node={}", ranks / 2);
            let nodes = if text.contains("ranks_per_node") { nodes.as_str() } else { "" };
            let words = format!("ranks={ranks}{nodes}");
            let checked = run(&file, &words, "--inexact --size 2KiB --schedules 4 --type f32");
            let refused = checked.stderr.contains("[E0704]");
            let forced = run(&file, &words, "--inexact --size 2KiB --schedules 4 --unproved");
            let differs = forced.stderr.contains("[E0904]") && forced.stderr.contains("other bits");
            assert_eq!(refused, differs, "{name} {words}: {}{}", checked.stderr, forced.stderr);
            assert_eq!(checked.status, Some(i32::from(refused)), "{name}: {}", checked.stderr);
            // Of two numbers, either may come first.
            assert_eq!(refused, name == "allreduce_packets_one_phase" && ranks > 2, "{name}");
            *(if refused { &mut broken } else { &mut kept }) += 1;
            // Sums that are exact hide it.
            let exact = run(&file, &words, "--size 2KiB --schedules 2 --unproved");
            assert!(exact.stdout.contains("\nright: 2 schedules"), "{name}: {}", exact.stderr);
        }
    }
    assert_eq!((kept, broken), (11, 1));
}

/// A sum that is off by more than rounding is wrong, even if numbers are inexact.
#[test]
fn inexact_sums_are_not_just_anything() {
    for mutant in MUTANTS.iter().filter(|mutant| mutant.name.ends_with("_for_a_sum")) {
        for kind in ["f32", "f16", "bf16"] {
            let more = format!("--inexact --unproved --size 1KiB --schedules 2 --type {kind}");
            let run = mistaken(mutant, &more);
            assert!(run.stderr.contains("[E0904]"), "{} {kind}: {}", mutant.name, run.stderr);
        }
    }
    for kind in ["f32", "f16", "bf16", "i32", "u8"] {
        let file = library().join("allreduce_ring.ccl");
        let run = run(&file, "ranks=6", &format!("--inexact --schedules 4 --type {kind}"));
        assert_eq!(run.status, Some(0), "{kind}: {}", run.stderr);
    }
}

/// A run of a program with a mistake.
fn mistaken(mutant: &Mutant, more: &str) -> Run {
    let name = format!("{}.ccl", mutant.file);
    let own = manifest("tests/kernels").join(&name);
    let file = if own.exists() { own } else { library().join(&name) };
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(mutant.from), "{}", mutant.name);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(&name);
    fs::write(&file, text.replace(mutant.from, mutant.to)).unwrap();
    let has = |name: &str| text.contains(&format!("{name}: int"));
    let given = mutant.parameters.iter().filter(|(name, _)| has(name));
    let words: Vec<String> = given.map(|(name, value)| format!("{name}={value}")).collect();
    run(&file, &words.join(" "), more)
}

/// Runs a program; the words with `=` are parameters.
fn run(file: &Path, words: &str, more: &str) -> Run {
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let mut arguments = vec!["run".to_owned(), file.display().to_string()];
    arguments.extend(cclc::header_arguments(&words));
    arguments.extend(more.split(' ').map(str::to_owned));
    arguments.push("--message-format=short".to_owned());
    cclc::cclc(&arguments, "")
}

fn library() -> PathBuf {
    manifest("../stdlib/ccl/algorithms")
}
