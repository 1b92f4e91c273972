//! `cclc run`.

use super::{Folder, GOOD, ends, manifest, says};
use serde_json::Value;

/// What a program's kernels refuse when they are launched is not run either.
#[test]
fn kernels_refuse_some_types_and_operations() {
    let folder = Folder::with("a.ccl", GOOD);
    let switch = manifest("../stdlib/ccl/algorithms/allreduce_nvls.ccl");
    let mixed = manifest("tests/kernels/native/largest.ccl");
    let run = |file: &std::path::Path, more: &str, status| {
        let words = format!("run {} -D ranks=2 --schedules 2 {more}", file.display());
        ends(folder.cclc(&words), status).stderr
    };
    says(&run(&switch, "--target cuda --type u8", 2), &["`--type u8`", "single bytes"]);
    says(&run(&switch, "--target cuda --op max", 2), &["`--op max`", "no minimum or maximum"]);
    run(&switch, "--target cuda --op max --type f16", 0);
    says(&run(&mixed, "--target cuda --op sum", 2), &["`--op sum`", "operation only"]);
    run(&mixed, "--target cuda", 0);
}

/// The command that editors run, and the output that they show.
#[test]
fn a_program_is_run_as_editors_do() {
    let folder = Folder::with("a.ccl", GOOD);
    let words = "run --message-format short --program gather -D ranks=3 a.ccl";
    let run = ends(folder.cclc(words), 0);
    assert_eq!(run.stderr, "");
    // 64 KiB, rounded up to three chunks that are multiples of 16 bytes.
    says(
        &run.stdout,
        &[
            "gather_ranks_3: allgather on 3 ranks, 65568 bytes in 3 chunks of 21856 bytes, f32, sum\n",
        ],
    );
    says(&run.stdout, &["\nright: 16 schedules of 3 launches, in "]);
}

/// Halves of three units of 32 bytes are two units and one: the first block makes both thirds that it copies. With units of 16
/// bytes, the halves would end in the middle of a third.
#[test]
fn slices_end_at_multiples_of_the_alignment() {
    let text = "collective same_as(ranks: int) { input[1]; output[1]; ensures { output[0] == 0.input[0] } }
program p(ranks: int = 1) {
    collective same_as(ranks);
    options { alignment = 32; message_size = 96..=96; }
    scratch s[1];
    block w[i in 0..2];
    group w[*] { copy input[0] -> s[0]; }
    block w[0] { copy s[0] -> output[0] slice = 0 of 3; copy s[0] -> output[0] slice = 1 of 3; }
    block w[1] { copy s[0] -> output[0] slice = 2 of 3; }
}
";
    let folder = Folder::with("a.ccl", text);
    // Sizes are rounded up to units.
    let run = ends(folder.cclc("run a.ccl --size 70 --schedules 20"), 0);
    says(&run.stdout, &["96 bytes in 1 chunk", "\nright: 20 schedules"]);
}

#[test]
fn a_run_can_be_read_by_machines() {
    let folder = Folder::with("a.ccl", GOOD);
    let words = "run a.ccl --message-format json --size 1KiB --type bf16 --op max --schedules 2";
    let line: Value = serde_json::from_str(&ends(folder.cclc(words), 0).stdout).unwrap();
    for (name, value) in [
        ("collective", Value::from("allgather")),
        ("ranks", 2.into()),
        ("message_bytes", 1024.into()),
        ("chunk_bytes", 512.into()),
        ("type", "bf16".into()),
        ("op", "max".into()),
        ("schedules", 2.into()),
        ("right", 2.into()),
        ("promised", true.into()),
    ] {
        assert_eq!(line[name], value, "{name}");
    }
}

#[test]
fn launches_may_have_several_sizes() {
    let folder = Folder::with("a.ccl", GOOD);
    let run = ends(folder.cclc("run a.ccl --size 1KiB,17 --size 96"), 0);
    let sizes = "1KiB or 32 bytes or 96 bytes in 2 chunks of 512 bytes or 16 bytes or 48 bytes";
    says(&run.stdout, &[sizes]);
    let run = ends(folder.cclc("run a.ccl --size 1KiB,96 --message-format json"), 0);
    let line: Value = serde_json::from_str(&run.stdout).unwrap();
    let sizes = serde_json::json!([
        { "message_bytes": 1024, "chunk_bytes": 512 },
        { "message_bytes": 96, "chunk_bytes": 48 },
    ]);
    assert_eq!(line["sizes"], sizes);
    // Nobody waits for what the other rank puts.
    folder.write("a.ccl", &GOOD.replace("        wait mem[*];\n", ""));
    let words = "run a.ccl --unproved --size 1KiB,96 --launches 5 --schedules 100";
    let run = ends(folder.cclc(words), 1);
    says(&run.stderr, &[" launch; the messages up to then: "]);
    let words = "run a.ccl --unproved --size 96,96 --launches 5 --schedules 100";
    let run = ends(folder.cclc(words), 1);
    assert!(!run.stderr.contains("up to then"), "{}", run.stderr);
}

#[test]
fn a_run_keeps_to_its_bounds() {
    let bounded = GOOD.replace("options {", "options { message_size = 1KiB..=1MiB;");
    let folder = Folder::with("a.ccl", &bounded);
    for (words, part) in [
        ("--size 2MiB", "serves messages from 1KiB to 1MiB"),
        ("--size 2KiB,2MiB", "serves messages from 1KiB to 1MiB"),
        ("--size 0", "expected a size"),
        ("--size large", "expected a size"),
        ("--max-memory 100KiB", "takes 1MiB of memory"),
        ("--schedules 0", "--schedules"),
        ("--launches 0", "--launches"),
        ("--type f64", "bf16"),
    ] {
        says(&ends(folder.cclc(&format!("run a.ccl {words}")), 2).stderr, &[part]);
    }
    ends(folder.cclc("run gone.ccl"), 3);
    ends(folder.cclc("run gone.json"), 3);
    let words = "run a.ccl --size 1MiB --launches 1000 --schedules 100000 --time-limit 0.2";
    let run = ends(folder.cclc(words), 1);
    says(&run.stderr, &["error[E0903]: stopped after 0.2 s: ", "of 100000 schedules were run"]);
}

#[test]
fn a_plan_can_be_run() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o plan.json -O instances=2"), 0);
    let run = ends(folder.cclc("run plan.json --size 64KiB"), 0);
    says(&run.stdout, &["allgather on 2 ranks, 64KiB in 4 chunks of 16KiB", "\nright: "]);
    folder.write("plan.json", "{}");
    says(&ends(folder.cclc("run plan.json"), 1).stderr, &["E0902"]);
    // A plan made for MSCCL++'s tests promises nothing about its outputs.
    let golden = manifest("tests/goldens/unit_tests_copy_test__default.json");
    let run = ends(folder.cclc(&format!("run {}", golden.display())), 0);
    says(&run.stdout, &["nothing is promised", "on 1 rank,"]);
}

#[test]
fn a_run_that_goes_wrong_says_where_and_can_be_had_again() {
    let folder = Folder::with("a.ccl", &GOOD.replace("put input[0]", "put output[1 - rank]"));
    assert_eq!(ends(folder.cclc("run a.ccl"), 1).stdout, "");
    let run = ends(folder.cclc("run a.ccl --unproved --type i32 --seed 7"), 1);
    says(
        &run.stderr,
        &[
            "error[E0904]: `output[",
            // A value that nobody had written was sent.
            " of `output` is -286331154, not ",
            "a.ccl:11:9",
            " wrote it last",
            "in the first launch",
            "--seed 7 --schedules 1",
        ],
    );
    says(&run.stdout, &["failed: after 0 of 16 schedules of 3 launches"]);
    let again = folder.cclc("run a.ccl --unproved --type i32 --seed 7 --schedules 1");
    assert_eq!(run.stderr, again.stderr);
    let stuck = GOOD.replace("        signal mem[*];\n", "");
    let folder = Folder::with("a.ccl", &stuck);
    let run = ends(folder.cclc("run a.ccl --unproved"), 1);
    says(&run.stderr, &["error[E0905]: block `main` of rank ", "'s signal on `mem["]);
}

/// A program that is right, and that no plan can say.
const KEPT: &str = "
use std::collectives::allreduce;
use std::patterns::{handshake, meet};

program p(ranks: int = 4) {
    collective allreduce(ranks, in_place = true);
    channel nvls = switch(0..ranks, input);
    channel mem[q in peers] = memory(q);

    block main {
        handshake(mem);
        reduce nvls.input[rank] -> input[rank];
        put input[rank] -> (q in peers: q.input[rank]) via mem[*];
        meet(mem);
    }
}
";

#[test]
fn what_its_target_cannot_do_is_not_run() {
    let folder = Folder::with("a.ccl", KEPT);
    for words in ["run a.ccl", "run a.ccl --target executor"] {
        let run = ends(folder.cclc(words), 1);
        says(&run.stderr, &["error[E0807]"]);
        assert_eq!(run.stdout, "");
    }
    let run = ends(folder.cclc("run a.ccl --unproved"), 1);
    says(&run.stderr, &["error[E0807]"]);
    says(&run.stdout, &["\nright: "]);
    says(&ends(folder.cclc("run a.ccl --checks proof"), 0).stderr, &["warning[E0807]"]);
    assert_eq!(ends(folder.cclc("run a.ccl --target cuda"), 0).stderr, "");
}

#[test]
fn the_number_of_ranks_that_is_too_large_is_told() {
    let folder = Folder::with("a.ccl", GOOD);
    let run = ends(folder.cclc("run a.ccl -D ranks=20"), 1);
    says(&run.stderr, &["error[E0802]", "note: the limit is exceeded with 18 or more ranks"]);
    let run = ends(folder.cclc("run a.ccl -D ranks=20 --unproved"), 1);
    says(&run.stderr, &["error[E0802]", "note: the limit is exceeded with 18 or more ranks"]);
    says(&run.stdout, &["\nright: "]);
}

#[test]
fn what_its_target_cannot_do_is_a_warning_beside_a_race() {
    let folder = Folder::with("a.ccl", &KEPT.replace("        handshake(mem);\n", ""));
    for words in ["check a.ccl", "build a.ccl -o p.json", "run a.ccl"] {
        says(&ends(folder.cclc(words), 1).stderr, &["error[E0510]", "error[E0807]"]);
        let run = ends(folder.cclc(&format!("{words} --checks proof")), 1);
        says(&run.stderr, &["error[E0510]", "warning[E0807]"]);
    }
}

#[test]
fn a_size_is_rounded_up_before_it_is_refused() {
    // The smallest size that it serves is two chunks of 16 bytes.
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -D ranks=2 -o a.json"), 0);
    let run = ends(folder.cclc("run a.json --size 17"), 0);
    says(&run.stdout, &["32 bytes in 2 chunks of 16 bytes"]);
}

#[test]
fn an_operation_leaves_out_what_is_beyond_a_blocks_threads() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -D ranks=4 -o a.json"), 0);
    let plan = folder.read("a.json");
    folder.write(
        "b.json",
        &plan.replace("\"num_threads_per_block\":1024", "\"num_threads_per_block\":1"),
    );
    says(&ends(folder.cclc("run b.json"), 1).stderr, &["E0802"]);
    says(&ends(folder.cclc("run b.json --unproved"), 1).stderr, &["E0904"]);
}
