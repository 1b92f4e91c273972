//! `cclc build --emit cuda`, for every target, and together with a plan.

use super::{Folder, GOOD, ends, manifest, says};

/// A plan and kernels can be built at once; reports about the program are shown only once.
#[test]
fn several_kinds_are_built_at_once() {
    let doubtful = GOOD.replace("    channel mem", "    scratch unused[1];\n    channel mem");
    let folder = Folder::with("a.ccl", &doubtful);
    let run = ends(folder.cclc("build a.ccl --emit plan=p.json,map,cuda=k.cu,deps"), 0);
    assert_eq!(run.stderr.matches("W0203").count(), 1, "{}", run.stderr);
    let made = ["a.ccl", "ccl_device.cuh", "k.cu", "k.h", "p.d", "p.json", "p.map.json"];
    assert_eq!(folder.names(), made);
    assert_eq!(folder.read("p.d"), "p.json k.cu: a.ccl\n");
    ends(folder.cclc("verify p.json"), 0);
    // If one of the outputs is refused, none is written.
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl --emit plan=p.json,cuda=k.cu --sms 0"), 1);
    assert_eq!(folder.names(), ["a.ccl"]);
}

/// With NVSHMEM as the target, ports use NVSHMEM; without it, they use memory.
#[test]
fn kernels_are_written_for_a_network_or_without() {
    let folder = Folder::with("a.ccl", GOOD);
    let file = manifest("../examples/allgather_push_1d.ccl");
    let build = |target: &str| {
        ends(folder.cclc(&format!("build {} --emit cuda=k.cu {target}", file.display())), 0);
        (folder.read("k.cu"), folder.read("k.h"))
    };
    let (source, header) = build("--target nvshmem");
    says(&source, &["#define CCL_NVSHMEM 1", "b.port_put_with_signal(", "b.port_wait(peer);"]);
    says(&header, &["int k_nvshmem_exchange("]);
    let (source, header) = build("");
    says(&source, &["b.put(", "b.wait(peer);"]);
    assert!(!(source + &header).to_lowercase().contains("nvshmem"));
}

/// NVSHMEM launches a kernel on all ranks, so a rank without blocks is refused there.
#[test]
fn over_a_network_every_rank_has_a_block() {
    let text = "\
collective pass(ranks: int) { input[1]; output[1]; }
program first_two(ranks: int = 3) {
    collective pass(ranks);
    channel to[p in 0..2 if rank < 2 && p != rank] = port(p);
    if rank < 2 { block main { signal to[*]; wait to[*]; } }
}
";
    let folder = Folder::with("a.ccl", text);
    ends(folder.cclc("build a.ccl --emit cuda=k.cu"), 0);
    let run = ends(folder.cclc("build a.ccl --emit cuda=n.cu --target nvshmem"), 1);
    says(&run.stderr, &["E0811", "rank 2 has no thread block", "on all ranks together"]);
    assert!(!folder.path("n.cu").exists());
    ends(folder.cclc("check a.ccl --target cuda"), 0);
    assert_eq!(ends(folder.cclc("check a.ccl --target nvshmem"), 1).stderr, run.stderr);
}

/// On a single rank, nothing is to be gathered: the kernels have no roles, and no table of them, which CUDA refuses.
#[test]
fn kernels_without_blocks_have_no_table() {
    let folder = Folder::with("a.ccl", GOOD);
    let file = manifest("../examples/allgather_push_1d.ccl");
    ends(folder.cclc(&format!("build {} -D ranks=1 --emit cuda=k.cu", file.display())), 0);
    let source = folder.read("k.cu");
    says(&source, &["blocks = 0;", "b.end();"]);
    assert!(!source.contains("roles["), "{source}");
}

/// A native algorithm of MSCCL++ is written to a file of its own, in which no placeholder is left.
#[test]
fn kernels_can_be_a_native_algorithm() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl --emit cuda=k.cu --target mscclpp"), 0);
    assert_eq!(folder.names(), ["a.ccl", "ccl_device.cuh", "k.cu", "k.h", "k_mscclpp.cu"]);
    let native = folder.read("k_mscclpp.cu");
    says(&native, &["#include \"k.cu\"", "PYBIND11_MODULE(k_mscclpp, ", "\"k\", \"allgather\","]);
    // Two chunks of a byte, of which one is a rank's input.
    says(&native, &["1u, 9223372036854775807u, mscclpp::CollectiveBufferMode::OutOfPlace"]);
    assert!(!native.contains('@'), "{native}");
    let file = manifest("../stdlib/ccl/algorithms/allreduce_nvls.ccl");
    let words = format!("build {} --emit cuda=n.cu --target mscclpp@0.9", file.display());
    let run = ends(folder.cclc(&words), 1);
    says(&run.stderr, &["E0807", "allreduce_nvls.ccl:", "cannot use switch channels"]);
    assert!(!folder.path("n.cu").exists());
    let words = format!("check {} --target mscclpp", file.display());
    assert_eq!(ends(folder.cclc(&words), 1).stderr, run.stderr);
    ends(folder.cclc(&words.replace("mscclpp", "cuda")), 0);
}

/// MSCCL++ recompiles a native algorithm only if its own file changes, so the file must change whenever the
/// kernels do.
#[test]
fn a_native_algorithm_changes_with_its_kernels() {
    let folder = Folder::with("a.ccl", GOOD);
    let native = |threads: u32| {
        let words = format!("build a.ccl --emit cuda=k.cu --target mscclpp -O threads={threads}");
        ends(folder.cclc(&words), 0);
        folder.read("k_mscclpp.cu")
    };
    assert_eq!(native(512), native(512));
    assert_ne!(native(512), native(256));
}

/// The comment above a role's function names its blocks and ranks, one or several.
#[test]
fn kernels_say_which_blocks_have_a_role() {
    let program = "\
use std::collectives::unchecked;

program p(ranks: int = 4) {
    collective unchecked(ranks, inputs = 3, outputs = 3);
    if rank != 1 {
        block send[k in 0..3] { copy input[k] -> output[k]; }
    }
    if rank == 1 {
        block solo { copy input[0] -> output[1]; }
    }
}
";
    let folder = Folder::with("a.ccl", program);
    ends(folder.cclc("build a.ccl --emit cuda=k.cu"), 0);
    let source = folder.read("k.cu");
    says(
        &source,
        &["// `send`: blocks 0 to 2 of ranks 0, 2 to 3\n", "// `solo`: block 0 of rank 1\n"],
    );
    folder.write("b.ccl", GOOD);
    ends(folder.cclc("build b.ccl --emit cuda=b.cu"), 0);
    says(&folder.read("b.cu"), &["// `main`: block 0 of all ranks\n"]);
}

/// Numbers of a block that follow no formula.
const IRREGULAR: &str = "\
use std::collectives::unchecked;

program irregular(ranks: int = 64) {
    collective unchecked(ranks, inputs = 4096, outputs = 1);
    block main[l in 0..2] {
        for i in 1..ranks {
            copy input[(rank * rank * 7 + i * i * i * (rank * 3 + l * 5 + 1) + l) % 4096] -> output[0];
        }
    }
}
";

#[test]
fn writing_kernels_stops_when_the_time_is_up() {
    let folder = Folder::with("a.ccl", IRREGULAR);
    let run = ends(folder.cclc("build a.ccl --checks none --emit cuda=k.cu --time-limit 0.3"), 1);
    says(&run.stderr, &["E0903", "stopped after 0.3 s"]);
    assert!(!folder.path("k.cu").exists(), "a part of the kernels was written");
}

/// A chunk for each rank and block, on its way to the ranks ahead.
const LANES: &str = "\
use std::collectives::alltoall;

program lanes(ranks: int = 48, lanes: int = 2) {
    collective alltoall(ranks, chunks = lanes);
    channel lane[p in peers, l in 0..lanes] = memory(p);

    block nic[l in 0..lanes] {
        for i in 1..ranks {
            let p = (rank + i) % ranks;
            put input[p * lanes + l] -> p.output[rank * lanes + l] via lane[p, l];
        }
    }
}
";

#[test]
fn chunks_for_each_rank_and_block_have_a_formula() {
    let folder = Folder::with("a.ccl", LANES);
    ends(folder.cclc("build a.ccl --checks none --emit cuda=k.cu"), 0);
    let text = folder.read("k.cu");
    says(&text, &["step < 47", "b.input(b.after(step + 1) * 2 + index)"]);
    assert!(!text.contains("CCL_TABLE"), "{text}");
}

/// The name of the kernels is in `#include` and `#line`, where it must not go on with something else.
#[test]
fn names_that_would_be_more_than_a_name_are_refused() {
    let folder = Folder::with("a.ccl", GOOD);
    for name in ["a\"b.cu", "a\\b.cu", "a\n#error b.cu", "a\u{1b}[2J.cu"] {
        let mut command = folder.command();
        command.args(["build", "a.ccl", "--emit", "cuda", "-o", name]);
        let run = ends(super::run(&mut command, ""), 2);
        says(&run.stderr, &["the name of kernels is part of their text"]);
    }
    assert_eq!(folder.names(), ["a.ccl"]);
    ends(folder.cclc("build a.ccl --emit cuda -o a-b.c+d.cu"), 0);
}
