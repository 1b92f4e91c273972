//! Machines, bounds and their proofs on the command line.

use super::{Folder, GOOD, ends, says};
use serde_json::Value;
use std::time::{Duration, Instant};

/// The bounds as JSON.
fn bound(folder: &Folder, line: &str) -> Value {
    let run = ends(folder.cclc(&format!("bound {line} --json")), 0);
    serde_json::from_str(&run.stdout).unwrap()
}

fn empty() -> Folder {
    Folder::with("a.ccl", GOOD)
}

/// Rounds per chunk and steps of an AllGather: facts of the literature and closed forms, in units of the largest rate
/// that divides all others.
#[test]
fn machines_of_the_library_have_their_bounds() {
    let rows = [
        ("dgx1", 2, "7/6"),
        ("ring(ranks=4)", 2, "3/2"),
        ("ring(ranks=8)", 4, "7/2"),
        ("ring(ranks=2)", 1, "1/2"),
        ("line(ranks=8)", 7, "7"),
        ("star(ranks=8)", 2, "7"),
        ("full(ranks=8)", 1, "1"),
        ("hub(ranks=16)", 1, "15"),
        ("hypercube(dimensions=3)", 3, "7/3"),
        ("torus(rows=4,columns=4)", 4, "15/4"),
        ("mi250", 5, "7/3"),
        ("mi300x", 1, "1"),
        // 15 chunks over 7 links of 64 GB/s and a card of 50 GB/s, in units of 2 GB/s.
        ("mi300x(boxes=2)", 2, "5/83"),
        ("dgx2", 1, "15"),
        ("dgx_a100", 1, "7"),
        ("dgx_a100(boxes=2)", 2, "15/13"),
        ("dgx_h100", 1, "7"),
        ("dgx_h100(boxes=2)", 2, "3/2"),
        ("dgx_h100(boxes=4)", 2, "31/10"),
        // Eight chunks pass eight cards; NVLink and a card would carry 15 in 15/19.
        ("dgx_b200(boxes=2)", 2, "1"),
        ("nvl72", 1, "71"),
        // 143 chunks over NVLink of 900 GB/s and a card of 50 GB/s.
        ("nvl72(racks=2)", 2, "143/19"),
        // Eight chunks leave a box through its only card.
        ("ndv2(boxes=2)", 1, "8"),
        // The links to the spines carry 25 GB/s.
        ("rail_optimized(boxes=2)", 1, "3/4"),
        ("fat_tree(boxes=8)", 1, "7"),
    ];
    let folder = empty();
    for (machine, steps, rounds) in rows {
        // As few bounds for numbers of steps as possible: those take long where there are many ranks.
        let found = bound(&folder, &format!("allgather --topology {machine} --max-steps 1"));
        assert_eq!(
            (&found["steps"], &found["rounds_per_chunk"]),
            (&steps.into(), &rounds.into()),
            "{machine}"
        );
    }
}

#[test]
fn the_json_of_a_dgx1_is_as_documented() {
    let found = bound(&empty(), "allgather --topology dgx1");
    assert_eq!(found["collective"], "allgather");
    assert_eq!((&found["topology"], &found["ranks"]), (&"dgx1".into(), &8.into()));
    assert_eq!(found["by_steps"], serde_json::json!({ "2": "3/2", "3": "7/6" }));
    assert_eq!(found["completeness"], "optimal");
    assert_eq!(
        (&found["round"], &found["seconds_per_byte"]),
        (&"25GBps".into(), &"7/150000000000".into())
    );
    assert!(found["witness"]["cut"].is_array());
}

#[test]
fn all_collectives_of_the_library_have_bounds() {
    let rows = [
        ("reducescatter", "7/6"),
        ("alltoall", "8/3"),
        ("broadcast", "1/6"),
        ("broadcast(root=5)", "1/6"),
        ("reduce(root=2)", "1/6"),
        ("scatter", "7/6"),
        ("gather", "7/6"),
        ("allreduce", "7/24"),
        // Twice as many chunks take twice the time.
        ("allgather(chunks=2)", "7/3"),
        ("allgatherv(counts=[1,1,1,1,1,1,1,1])", "7/6"),
    ];
    let folder = empty();
    for (collective, rounds) in rows {
        let found = bound(&folder, &format!("{collective} --topology dgx1 --max-steps 2"));
        assert_eq!(found["rounds_per_chunk"], rounds, "{collective}");
    }
    // In two steps, two links of each rank carry its chunk at most.
    let found = bound(&folder, "alltoall --topology dgx1 --max-steps 2");
    assert_eq!(found["by_steps"]["2"], "8/3");
}

#[test]
fn switches_that_multicast_and_reduce_halve_an_allreduce() {
    let found = bound(&empty(), "allreduce --topology dgx_h100");
    assert_eq!(found["rounds_per_chunk"], "1");
    assert_eq!(found["allreduce"]["reduce_scatter_and_allgather"], "7/4");
    assert_eq!(found["allreduce"]["per_shard"], "14");
    assert_eq!(found["allreduce"]["without_multicast_and_reduce"], "7/4");
    let found = bound(&empty(), "allreduce --topology dgx_a100");
    assert_eq!(found["rounds_per_chunk"], "7/4");
}

const OWN: &str = "use std::collectives::unchecked;

/// Each rank sends a chunk to the next one.
collective shift(ranks: int, chunks: int = 1) {
    input[chunks];
    output[chunks];
    ensures for c in 0..chunks { output[c] == ((rank - 1) % ranks).input[c] }
}

/// Each rank gets the sum of all ranks up to itself.
collective scan(ranks: int) {
    input[1];
    output[1];
    ensures { output[0] == reduce(r in 0..=rank: r.input[0]) }
}

/// The third value is the sum of the other two, in which rank 1 counts twice.
collective repeated(ranks: int) {
    input[1];
    output[3];
    ensures for c in 0..1 if rank == 3 { output[c] == reduce(r in [0, 1]: r.input[0]) }
    ensures for c in 1..2 if rank == 3 { output[c] == reduce(r in [1, 2]: r.input[0]) }
    ensures for c in 2..3 if rank == 3 { output[c] == reduce(r in [0, 1, 1, 2]: r.input[0]) }
}

/// Sums with a common part.
collective overlapping(ranks: int) {
    input[1];
    output[2];
    ensures for c in 0..2 if rank == 3 { output[c] == reduce(r in c ..+ 2: r.input[0]) }
}

/// What each rank has already.
collective own(ranks: int) {
    input[1];
    output[1];
    ensures { output[0] == rank.input[0] }
}

collective nothing(ranks: int) {
    input[1];
    output[1];
}

topology one_way {
    ranks 3;
    link r in 0..2: r -> r + 1, bandwidth = 1;
}

topology alone {
    ranks 1;
}
";

#[test]
fn collectives_and_machines_of_a_file_have_bounds() {
    let folder = Folder::with("own.ccl", OWN);
    let found = bound(&folder, "own.ccl::shift --topology ring(ranks=4)");
    // A quarter goes the long way round, over three links in the other direction.
    assert_eq!((&found["steps"], &found["rounds_per_chunk"]), (&1.into(), &"3/4".into()));
    let found = bound(&folder, "own.ccl::shift(chunks=3) --topology full(ranks=4)");
    assert_eq!(found["steps"], 1);
    let found = bound(&folder, "own.ccl::scan --topology line(ranks=4)");
    assert_eq!((&found["steps"], &found["rounds_per_chunk"]), (&3.into(), &"1".into()));
    let found = bound(&folder, "broadcast --topology own.ccl::one_way");
    assert_eq!((&found["steps"], &found["rounds_per_chunk"]), (&2.into(), &"1".into()));
    let run = ends(folder.cclc("bound own.ccl::repeated --topology line(ranks=4)"), 2);
    says(&run.stderr, &["more than once"]);
    let run = ends(folder.cclc("bound own.ccl::overlapping --topology line(ranks=4)"), 0);
    says(&run.stdout, &["with `min` and `max`, one may follow from others"]);
    let run = ends(folder.cclc("bound own.ccl::own --topology line(ranks=4)"), 1);
    says(&run.stderr, &["nothing has to move between ranks"]);
    let run = ends(folder.cclc("bound own.ccl::nothing --topology dgx1"), 2);
    says(&run.stderr, &["`nothing` has no bounds: it promises nothing of any output"]);
}

#[test]
fn what_is_impossible_is_said_with_its_place() {
    let folder = Folder::with("own.ccl", OWN);
    let run = ends(folder.cclc("bound allgather --topology own.ccl::one_way"), 1);
    says(&run.stderr, &["E1106", "no path leads from rank 1 to rank 0", "own.ccl:45:10"]);
    let run = ends(folder.cclc("bound allgather --topology own.ccl::alone"), 1);
    says(&run.stderr, &["E1106", "one rank only"]);
    let lines = [
        ("bound allgather", "needs a machine"),
        ("bound allgather --topology own.ccl", "declares several"),
        ("bound allgather --topology own.ccl::onw_way", "did you mean `one_way`?"),
        ("bound allgather --topology dgx3", "there is no topology `dgx3`"),
        ("bound allgther --topology dgx1", "did you mean `allgather`?"),
        ("bound allgather --topology ring", "the parameter `ranks` has no value"),
        ("bound allgather --topology ring(ranks=true)", "of type `int`, the value of type `bool`"),
        ("bound allgather --topology ring(cards=2)", "it has no parameter `cards`"),
        ("bound allgather --topology ring(8,1,2)", "does not have so many parameters"),
        ("bound allgather --topology ring(8,ranks=8)", "`ranks` is given twice"),
        ("bound allgather --topology ring(ranks=1)", "a ring has at least two ranks"),
        ("bound allgather --topology full(ranks=100000)", "1 to 16384 ranks"),
        ("bound allgather --topology 7", "expected a name"),
        ("bound allgather(ranks=4) --topology dgx1", "the machine has 8 ranks"),
        ("bound broadcast(root=9) --topology dgx1", "there is no rank 9"),
        ("bound allgather --topology dgx1 --on 0,9", "9 is not a rank"),
        ("bound allgather --topology dgx1 --on x", "expected ranks"),
        ("bound allgather --topology dgx1 --on 0,1,0", "named twice"),
        ("bound allgather --topology dgx1 --forbid 0->6", "no such link"),
        ("bound allgather --topology dgx1 --forbid 0->9", "no `9`"),
        ("bound allgather --topology dgx1 --forbid 0", "expected a link"),
        ("bound allgather --topology ring(ranks=4) --via 0->1", "has no nodes"),
        ("bound allgather --topology missing.ccl", "missing.ccl"),
        ("topology show dgx3", "there is no topology"),
        ("check own.ccl --on 0,1", "it needs `--topology`"),
    ];
    for (line, text) in lines {
        let run = folder.cclc(line);
        assert!(run.status != Some(0) && run.status != Some(101), "{line}: {:?}", run.status);
        says(&run.stderr, &[text]);
    }
}

#[test]
fn bad_machines_are_refused_within_a_second() {
    let links = "    link 0 <-> 1, bandwidth = 1;\n".repeat(140_000);
    let texts = [
        format!("topology t {{\n    ranks 2;\n{links}}}\n"),
        "topology t { ranks 16384; link a in 0..16384, b in 0..16384 if a != b: a -> b, bandwidth = 1; }".to_owned(),
        "topology t { ranks 2; switch s[a in 0..100000, b in 0..100000] { ports (r in 0..2: r), bandwidth = 1; } }".to_owned(),
    ];
    for text in texts {
        let folder = Folder::with("t.ccl", &text);
        let start = Instant::now();
        let run = folder
            .cclc("bound allgather --topology t.ccl --max-input 64MiB --message-format short");
        assert!(run.status == Some(1) || run.status == Some(2), "{:?}", run.status);
        let codes = ["E1105", "E0305"];
        assert!(codes.iter().any(|code| run.stderr.contains(code)), "{}", run.stderr);
        // The debug build is some times slower than the one that is measured.
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }
}

#[test]
fn proofs_are_checked_again() {
    let folder = empty();
    for collective in
        ["allgather", "alltoall", "allreduce", "broadcast", "reducescatter", "gather(root=3)"]
    {
        ends(
            folder
                .cclc(&format!("bound {collective} --topology dgx1 --max-steps 2 --prove p.proof")),
            0,
        );
        let run = ends(folder.cclc("proof p.proof"), 0);
        says(&run.stdout, &["with 8 ranks and 32 links", "steps"]);
        let proof = folder.read("p.proof");
        let changed = proof.replace(" 50000000000 ", " 75000000000 ");
        assert_ne!(changed, proof);
        folder.write("q.proof", &changed);
        let run = ends(folder.cclc("proof q.proof"), 1);
        says(&run.stderr, &["E1112"]);
    }
    folder.write("q.proof", "ccl-proof 1\n");
    says(&ends(folder.cclc("proof q.proof"), 1).stderr, &["E1112"]);
}

#[test]
fn sketches_are_part_of_the_bounds() {
    let folder = empty();
    let rounds =
        |flags: &str| bound(&folder, &format!("allgather --topology full(ranks=4) {flags}"));
    assert_eq!(rounds("")["rounds_per_chunk"], "1");
    // Two of three links into rank 0 are left.
    assert_eq!(rounds("--forbid 1->0")["rounds_per_chunk"], "3/2");
    assert_eq!(rounds("--forbid 1<->0")["steps"], 2);
    let run = folder.cclc("bound allgather --topology ring(ranks=4) --relay none");
    assert_eq!(run.status, Some(1));
    says(&run.stderr, &["E1106"]);
    let found = bound(
        &folder,
        "allgather --topology ndv2(boxes=2) --via 0->card[0] --via card[0]->0 --via 8->card[1] --via card[1]->8 --via card[0]->network[0] --via network[0]->card[0] --via card[1]->network[0] --via network[0]->card[1] --max-steps 1",
    );
    assert_eq!(found["rounds_per_chunk"], "8");
}

#[test]
fn a_machine_of_the_command_line_sets_the_ranks() {
    let folder = Folder::with("a.ccl", GOOD);
    let run = ends(folder.cclc("check a.ccl --topology full(ranks=3)"), 0);
    says(&run.stderr, &["proved for 3 ranks"]);
    let run = folder.cclc("check a.ccl -D ranks=4 --topology full(ranks=3) --message-format short");
    assert_eq!(run.status, Some(1));
    says(&run.stderr, &["E1110"]);
}

#[test]
fn machines_are_shown_drawn_and_exported() {
    let folder = empty();
    let run = ends(folder.cclc("topology show dgx1"), 0);
    says(
        &run.stdout,
        &[
            "dgx1: 8 ranks on 1 node, 32 links",
            "50GBps",
            "each link between ranks takes 700ns",
            "memory joins the ranks 0..=7",
        ],
    );
    let run = ends(folder.cclc("topology show dgx_h100(boxes=2) --picture m.svg"), 0);
    says(
        &run.stdout,
        &[
            "nvswitch[0] (multicasts, reduces)",
            "450GBps, 350ns, memory to the ranks 0..=7",
            "node 1: ranks 8..=15",
        ],
    );
    let picture = folder.read("m.svg");
    assert!(picture.starts_with("<svg ") && picture.matches("class=\"rank\"").count() == 16);
    assert_eq!(picture.matches("class=\"switch\"").count(), 10);
    let run = ends(folder.cclc("topology export ring(ranks=3) -o r.dot"), 0);
    assert_eq!(run.stdout, "");
    says(
        &folder.read("r.dot"),
        &["digraph \"ring(ranks = 3, bandwidth = 1)\" {", "0 -> 1 [label=\"1\", dir=both];"],
    );
    let run = folder.cclc("topology show full(ranks=200) --picture m.svg");
    assert_eq!(run.status, Some(2));
    says(&run.stderr, &["at most 4096 links"]);
}

#[test]
fn machines_of_other_tools_are_read() {
    let sample = |name: &str| super::manifest(&format!("tests/imports/{name}"));
    let folder = empty();
    let file = sample("msccl_dgx1.json");
    let run =
        ends(folder.cclc(&format!("topology import {} --name mine -o m.ccl", file.display())), 0);
    assert_eq!(run.stdout, "");
    for machine in ["m.ccl", "m.ccl::mine", &file.display().to_string()] {
        let found = bound(&folder, &format!("allgather --topology {machine} --max-steps 1"));
        assert_eq!(found["rounds_per_chunk"], "7/6", "{machine}");
    }
    let run = ends(
        folder
            .cclc(&format!("topology import {}", sample("nvidia_hgx_h100_terminal.txt").display())),
        0,
    );
    says(&run.stdout, &["topology nvidia_hgx_h100_terminal {", "450GBps"]);
    let broken = sample("broken_nccl_count.xml");
    let run = ends(folder.cclc(&format!("topology import {}", broken.display())), 1);
    says(&run.stderr, &["E1113"]);
    let run = ends(folder.cclc(&format!("bound allgather --topology {}", broken.display())), 2);
    says(&run.stderr, &["E1113", "cannot be used"]);
    folder.write("none.txt", "hello\n");
    let run = ends(folder.cclc("topology import none.txt"), 2);
    says(&run.stderr, &["is not the output of `nvidia-smi topo -m`"]);
    ends(folder.cclc("topology import missing.txt"), 3);
    // The name of a file becomes a valid name, and a wrong one that is given is no matter of the file.
    let text = "\u{feff}\tGPU0\tGPU1\nGPU0\t X \tNV2\nGPU1\tNV2\t X \n";
    for (file, name) in [
        ("topology.txt", "topology_machine"),
        ("0.txt", "machine_0"),
        ("\u{e9}.txt", "machine"),
        ("switch.txt", "switch"),
        ("rank.txt", "rank"),
    ] {
        folder.write(file, text);
        let run = ends(folder.cclc(&format!("topology import {file}")), 0);
        says(&run.stdout, &[&format!("topology {name} {{")]);
        let run = ends(folder.cclc(&format!("topology show {file}")), 0);
        says(&run.stdout, &[&format!("{name}: 2 ranks")]);
    }
    let run = ends(super::cclc::cclc(&["topology", "import", "-"], text), 0);
    says(&run.stdout, &["topology machine {"]);
    let run = ends(folder.cclc("topology import 0.txt --name for"), 2);
    says(&run.stderr, &["`--name`: `for` cannot be the name of a topology"]);
    assert!(!run.stderr.contains("0.txt"), "{}", run.stderr);
    folder.write("broken.txt", &text.replace("GPU0\tGPU1", "GPU0\tGPU0"));
    let run = ends(folder.cclc("topology import broken.txt --message-format short"), 1);
    says(&run.stderr, &["broken.txt:1:7", "E1113"]);
}

#[test]
fn an_analysis_names_the_busiest_link() {
    let folder = Folder::with("a.ccl", GOOD);
    let ring = super::manifest("../stdlib/ccl/algorithms/allgather_ring.ccl");
    let line = format!(
        "check {} --topology ring(ranks=4) --analyze --message-format short",
        ring.display()
    );
    let run = ends(folder.cclc(&line), 0);
    // Three chunks go round in one direction, where both directions could carry them.
    says(&run.stderr, &["N0503", "takes 3 rounds, 2.00 times the least (3/2)"]);
}

#[test]
fn what_has_no_machine_has_no_analysis() {
    let folder = Folder::with("a.ccl", GOOD);
    let run = ends(folder.cclc("check a.ccl --analyze"), 0);
    says(&run.stderr, &["names no machine", "--topology NAME"]);
}

/// Kernels for CUDA reach ports as memory: two ranks that only a network joins cannot be reached so.
#[test]
fn ports_of_kernels_need_memory() {
    let folder = Folder::with(
        "m.ccl",
        "topology far { ranks 2; link 0 <-> 1, bandwidth = 1GBps, abilities = [port]; }",
    );
    let program = super::manifest("../stdlib/ccl/algorithms/sendrecv_port.ccl");
    let line = format!("check {} -D ranks=2 --topology m.ccl", program.display());
    ends(folder.cclc(&format!("{line} --target nvshmem")), 0);
    let run = ends(folder.cclc(&format!("{line} --target cuda")), 1);
    says(&run.stderr, &["E1107", "in kernels of this target ports are memory channels"]);
}

#[test]
fn a_sketch_is_part_of_the_answer() {
    let folder = empty();
    let run = ends(folder.cclc("bound allgather --topology dgx1 --forbid 0->1"), 0);
    says(&run.stdout, &["allgather on dgx1 (8 ranks)", "with --forbid '0->1'"]);
    let found = bound(&folder, "allgather --topology dgx1 --forbid 0->1");
    assert_eq!(found["sketch"], "--forbid '0->1'");
    let run = ends(
        folder.cclc("bound allgather --topology ring(ranks=3) --forbid 0->1 --forbid 0->2"),
        1,
    );
    says(&run.stderr, &["E1106", "with `--forbid '0->1' --forbid '0->2'`"]);
    let run = ends(folder.cclc("bound allgather --topology mi250(boxes=2) --via 0->1"), 2);
    says(&run.stderr, &["joins two ranks of one node"]);
}

#[test]
fn machines_are_named_with_all_their_arguments() {
    let found =
        bound(&empty(), "allgather --topology rail_optimized(boxes=2,card=100GBps) --max-steps 1");
    let name = found["topology"].as_str().unwrap();
    assert!(name.contains("card = 100GBps"), "{name}");
}

/// What a search did not finish is said of each bound, also as JSON; a larger budget finishes it.
#[test]
fn bounds_that_ended_early_say_so() {
    let folder = empty();
    let found = bound(&folder, "broadcast --topology full(ranks=16) --budget 1000");
    let stopped = found["completeness_by_steps"].as_object().unwrap();
    assert!(stopped.values().any(|one| one.as_str().unwrap().starts_with("stopped")), "{found}");
    let run = ends(folder.cclc("bound broadcast --topology full(ranks=16) --budget 1000"), 0);
    says(&run.stdout, &["no less than with any number of steps (stopped at the budget"]);
}

#[test]
fn switches_without_abilities_make_bounds_for_steps_weak() {
    let folder = empty();
    let note = "let every switch copy and add up";
    let run = ends(folder.cclc("bound broadcast --topology hub(ranks=8)"), 0);
    says(&run.stdout, &[note]);
    let run = ends(folder.cclc("bound broadcast --topology ring(ranks=8)"), 0);
    assert!(!run.stdout.contains(note), "{}", run.stdout);
}

/// Many chunks are not listed one by one.
#[test]
fn chunks_of_the_library_are_a_factor() {
    let folder = empty();
    let started = Instant::now();
    let rows = [
        ("allgather(chunks=1000000)", "1500000"),
        ("allreduce(chunks=1)", "3"),
        ("allreduce", "3/4"),
        ("reducescatter(chunks=2)", "3"),
        ("broadcast(chunks=4)", "2"),
    ];
    for (collective, rounds) in rows {
        let found = bound(&folder, &format!("{collective} --topology ring(ranks=4) --max-steps 1"));
        assert_eq!(found["rounds_per_chunk"], rounds, "{collective}");
    }
    assert!(started.elapsed() < Duration::from_secs(20));
}

/// Demands without flows, and groups of them, take neither time nor memory for every edge.
#[test]
fn large_proofs_of_nothing_are_refused_soon() {
    let mut text = "ccl-proof 2\nrates relative\nranks 2\n".to_owned();
    for latency in 0..20_000 {
        text += &format!("edge 0 1 1 {latency}\n");
    }
    text += "edge 1 0 1 0\ncollective\n";
    text += &"demand 1 : 0 : 0 : 0 : 0\n".repeat(5000);
    text += "demand 1 : 0 : 1\nbound 1/20000 time\n";
    for demand in 0..5000 {
        text += &format!("flow {demand} : 0 1\n");
    }
    text += "flow 5000 : 0 1\nend 1\n";
    let folder = Folder::with("a.proof", &text);
    let started = Instant::now();
    let run = folder.cclc("proof a.proof");
    assert!(matches!(run.status, Some(0 | 1)), "{:?} {}", run.status, run.stderr);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn a_place_in_a_proof_is_right_with_any_ends_of_lines() {
    let lines = ["ccl-proof 2", "rates relative", "ranks 2", "edge 0 1 1 0", "edge 1 0 1 0"];
    let text = lines.join("\r\n")
        + "\r\ncollective\r\ndemand 1 : 0 : 1\r\nbound 2 time\r\nflow 0 : 0 1\r\nend 1\r\n";
    let folder = Folder::with("a.proof", &text);
    let run = ends(folder.cclc("proof a.proof --message-format short"), 1);
    says(&run.stderr, &["a.proof:8:1"]);
}
