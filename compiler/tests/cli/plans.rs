//! `cclc list`, `verify`, `diff`, `decompile`, and maps of plans.

use super::{Folder, GOOD, ends, manifest, says};
use serde_json::Value;
use std::fs;

#[test]
fn plans_are_listed_and_verified() {
    let folder = Folder::with("a.ccl", GOOD);
    let golden = manifest("tests/goldens/single_node_allgather__default.json");
    let listing = fs::read_to_string(golden.with_extension("listing")).unwrap();
    let arguments = |command: &str| format!("{command} {}", golden.display());
    assert_eq!(ends(folder.cclc(&arguments("list")), 0).stdout, listing);
    let plan = fs::read_to_string(&golden).unwrap();
    assert_eq!(ends(folder.cclc_with("list -", &plan), 0).stdout, listing);
    let one = ends(folder.cclc(&arguments("list --rank 1")), 0).stdout;
    assert!(listing.ends_with(&one) && one.matches("plan ").count() == 1, "{one}");
    ends(folder.cclc(&arguments("list --rank 2")), 2);
    ends(folder.cclc(&arguments("list --canon --normal")), 2);
    ends(folder.cclc(&arguments("verify")), 0);
    says(&ends(folder.cclc_with("verify -", "{}"), 1).stderr, &["E0902", "<stdin>"]);
    says(&ends(folder.cclc_with("list -", "[1,"), 1).stderr, &["E0902"]);
}

#[test]
fn a_command_says_which_one_is_for_the_other_kind_of_file() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o a.json"), 0);
    for command in ["verify a.ccl", "list a.ccl", "decompile a.ccl"] {
        let run = ends(folder.cclc(command), 3);
        says(&run.stderr, &["E0901", "a.ccl", "`cclc check` checks"]);
    }
    for command in ["check a.json", "build a.json", "dump a.json", "fmt a.json"] {
        let run = ends(folder.cclc(command), 3);
        says(&run.stderr, &["E0901", "a.json", "`cclc verify` checks"]);
    }
}

#[test]
fn limits_of_a_plan_are_reported_once_and_in_its_own_words() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -D ranks=4 -o a.json"), 0);
    let mut plan: Value = serde_json::from_str(&folder.read("a.json")).unwrap();
    plan["buffer_alignment"] = 10.into();
    for gpu in plan["gpus"].as_array_mut().unwrap() {
        let operations = gpu["threadblocks"][0]["ops"].as_array_mut().unwrap();
        let nop = serde_json::json!({ "name": "nop" });
        operations.extend(std::iter::repeat_n(nop, 64));
    }
    folder.write("b.json", &plan.to_string());
    let said = ends(folder.cclc("verify b.json"), 1).stderr;
    says(&said, &["E0801", "the same on 3 other ranks", "E0810", "`buffer_alignment` is 10"]);
    assert_eq!((said.matches("E0801").count(), said.contains("`alignment`")), (1, false), "{said}");
}

/// A plan does not say which operator its collective has: it is that of its reductions. MSCCL++'s executor computes sums,
/// whatever a plan says.
#[test]
fn the_reductions_of_a_plan_have_one_operator() {
    let folder = Folder::with("a.ccl", GOOD);
    let golden = manifest("tests/goldens/single_node_allreduce__num_gpus_4.json");
    let golden = fs::read_to_string(golden).unwrap();
    let (sum, max) = ("\"reduce_op\": \"sum\"", "\"reduce_op\": \"max\"");
    folder.write("sum.json", &golden);
    folder.write("one.json", &golden.replacen(sum, max, 1));
    folder.write("all.json", &golden.replace(sum, max));
    ends(folder.cclc("verify sum.json"), 0);
    let said = ends(folder.cclc("verify one.json"), 1).stderr;
    says(&said, &["E0701", "combined by `max`, and `sum` is promised", "the same `reduce_op`"]);
    let said = ends(folder.cclc("verify all.json"), 1).stderr;
    says(&said, &["E0807", "no reduction `max`"]);
    assert!(!said.contains("E0701"), "{said}");
    let said = ends(folder.cclc("diff sum.json all.json"), 1).stderr;
    says(&said, &["by `sum` in the first plan", "by `max` in the second"]);
}

/// The promise of the same bits is an argument of the collective, which a plan's map records, and `-D` sets.
#[test]
fn a_plan_is_verified_with_the_promise_of_the_same_bits() {
    let text = |scratch: &str, body: &str| {
        format!(
            "use std::collectives::allreduce;\nprogram p(ranks: int = 3, same: bool = false) {{\n    collective allreduce(ranks, same_bits = same);\n    options {{ protocol = LL; double_scratch = true; }}\n    scratch inbox[{scratch}, ranks];\n    channel mem[p in peers] = memory(p);\n    block main {{\n        put_packets input[..] -> (p in peers: p.inbox[rank, ..]) via mem[*];\n{body}    }}\n}}\n"
        )
    };
    let own = text("p in peers", "reduce_packets input[..], inbox[*, ..] -> output[..];\n");
    let folder = Folder::with("own.ccl", &own);
    ends(folder.cclc("build own.ccl -o own.json"), 0);
    ends(folder.cclc("verify own.json"), 0);
    says(&ends(folder.cclc("verify own.json -D same_bits=true"), 1).stderr, &["E0704"]);
    says(&ends(folder.cclc("build own.ccl -D same=true -o b.json"), 1).stderr, &["E0704"]);
    let fixed = text(
        "ranks",
        "copy_packets input[..] -> inbox[rank, ..];\nunpack_packets inbox[0, ..] -> output[..];\nreduce_packets output[..], (p in 1..ranks: inbox[p, ..]) -> output[..];\n",
    );
    folder.write("fixed.ccl", &fixed);
    ends(folder.cclc("build fixed.ccl -D same=true -o fixed.json --emit plan,map"), 0);
    ends(folder.cclc("verify fixed.json -D same_bits=true"), 0);
}

/// Moves data through scratch, and in a pipeline.
const THROUGH_SCRATCH: &str = "\
use std::collectives::unchecked;

program p(ranks: int = 2) {
    collective unchecked(ranks, inputs = 2, outputs = 2);
    scratch s[2];
    channel mem[p in peers] = memory(p);
    block main {
        signal mem[*] relaxed;
        wait mem[*] relaxed;
        put input[0] -> (p in peers: p.s[0]) via mem[*];
        signal mem[*];
        wait mem[*];
        copy s[0] -> output[0];
        pipeline unit = 1KiB, chunks = 1 { copy input[1] -> output[1]; }
    }
}
";

#[test]
fn limits_of_a_plan_name_its_fields() {
    let folder = Folder::with("a.ccl", THROUGH_SCRATCH);
    ends(folder.cclc("build a.ccl -o a.json"), 0);
    let plan = folder.read("a.json");
    // The windows of the pipeline, 65,535 of 1 KiB for each of two chunks, are the bound on messages.
    let largest = r#""max_message_size":134215680"#;
    let changes: [(&str, &str, &[&str]); 8] = [
        (
            r#""use_double_scratch_buffer":false"#,
            r#""use_double_scratch_buffer":true"#,
            &["E0810", "under `use_double_scratch_buffer`", "remove `use_double_scratch_buffer`,"],
        ),
        (
            r#""unit_size":1024"#,
            r#""unit_size":1000"#,
            &["E0809", "windows of 1000 bytes", "set `unit_size` to a multiple of 16"],
        ),
        (
            r#""num_chunks":1"#,
            r#""num_chunks":2"#,
            &["E0809", "covers 1 chunk in a pipeline over 2", "set `num_chunks` to what"],
        ),
        (
            r#""min_message_size":32"#,
            r#""min_message_size":1000"#,
            &["N0301", "rounded up to 1KiB", "multiples of 32 bytes: `buffer_alignment` x chunks"],
        ),
        (
            largest,
            r#""max_message_size":1073741824"#,
            &["E0805", "messages of 1GiB", "set `max_message_size` to 134215680"],
        ),
        (
            r#""buffer_alignment":16"#,
            r#""buffer_alignment":4294967280"#,
            &[
                "E0805",
                "of any size",
                "chunks of `buffer_alignment` bytes",
                "help: use fewer chunks\n",
            ],
        ),
        // Two chunks of scratch share 64 MiB, and a message has as many.
        (
            r#""reuse_resources":false"#,
            r#""reuse_resources":true"#,
            &[
                "E0805",
                "only up to 64MiB",
                "32 MiB with `use_double_scratch_buffer`",
                "set `max_message_size` to 67108864",
            ],
        ),
        ("", "", &["E0806", "help: give each block more of the work\n"]),
    ];
    for (from, to, words) in changes {
        assert!(plan.contains(from), "{from} in {plan}");
        folder.write("b.json", &plan.replace(from, to));
        let sms = if from.is_empty() { "--sms 0" } else { "" };
        let said = folder.cclc(&format!("verify b.json {sms}")).stderr;
        says(&said, words);
        for name in ["alignment", "double_scratch", "unit", "chunks", "message_size", "instances"] {
            assert!(!said.contains(&format!("`{name}`")), "{name}: {said}");
        }
    }
    // Offsets are the only bound on messages without a pipeline.
    folder.write("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o a.json"), 0);
    let plan = folder.read("a.json");
    let least = r#""min_message_size":32"#;
    assert!(plan.contains(least), "{plan}");
    folder.write("b.json", &plan.replace(least, r#""min_message_size":2147483648"#));
    let said = ends(folder.cclc("verify b.json"), 1).stderr;
    says(
        &said,
        &["E0805", "the smallest message size is 2GiB", "set `min_message_size` below 2GiB"],
    );
}

/// What the author calls `unit` or `chunks` is not a field of the plan.
#[test]
fn names_of_the_source_are_not_fields_of_a_plan() {
    let program = "\
use std::collectives::unchecked;
program p(ranks: int = 2) {
    collective unchecked(ranks, inputs = 2, outputs = 2);
    block unit[chunks in 0..2] {
        pipeline unit = 1000, chunks = 1 { copy input[chunks] -> output[chunks]; }
    }
}
";
    let folder = Folder::with("a.ccl", program);
    let run = ends(folder.cclc("build a.ccl -o p.json --emit plan,map --checks proof"), 0);
    says(&run.stderr, &["block `unit[0]` (chunks = 0)", "set `unit` to a multiple of 16"]);
    let said = ends(folder.cclc("verify p.json"), 1).stderr;
    says(&said, &["(chunks = 0)", "(chunks = 1)", "set `unit_size` to a multiple of 16"]);
    assert!(!said.contains("num_chunks"), "{said}");
}

#[test]
fn plans_are_compared() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -D ranks=4 -o a.json"), 0);
    // The same program, with other joins and channel numbers.
    ends(folder.cclc("decompile a.json -o b.ccl"), 0);
    ends(folder.cclc("build b.ccl -o b.json"), 0);
    says(&ends(folder.cclc("diff a.json b.json"), 0).stderr, &["the plans are the same"]);
    // A missing signal.
    let signals = "        signal mem[*];\n";
    folder.write("c.ccl", &GOOD.replace(signals, "        if rank != 2 { signal mem[*]; }\n"));
    folder.cclc("build c.ccl -D ranks=4 -o c.json --unproved");
    let run = ends(folder.cclc("diff a.json c.json"), 1);
    says(
        &run.stderr,
        &[
            "E0908",
            "differ in one way",
            "the second plan does not finish",
            "nothing wrong with the first plan",
            "rank 2: block 0, only in the first plan: `signal ",
            "a.json: rank 2, block 0",
        ],
    );
    // Something that all ranks have is reported once; the results are the same.
    folder.write(
        "d.ccl",
        &GOOD.replace(
            signals,
            "        signal mem[*];\n        signal mem[*];\n        wait mem[*];\n",
        ),
    );
    ends(folder.cclc("build d.ccl -D ranks=4 -o d.json"), 0);
    let run = ends(folder.cclc("diff a.json d.json"), 1);
    says(&run.stderr, &["they compute the same", "only in the second plan", "on ranks 1 to 3"]);
    let run = ends(folder.cclc("diff a.json d.json --message-format json"), 1);
    assert!(run.stderr.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    // Two of MSCCL++'s own plans for one collective: other operations in other blocks, but the same outputs.
    let golden = |name: &str| manifest(&format!("tests/goldens/{name}__num_gpus_4.json"));
    let pair = ["single_node_allgather_pkt", "single_node_allgather_pkt_rppkt"].map(golden);
    let run = ends(folder.cclc(&format!("diff {} {}", pair[0].display(), pair[1].display())), 1);
    says(
        &run.stderr,
        &[
            "they compute the same",
            "the number of thread blocks is 6 in the first plan and 1 in the second",
            "in block 3 of the first plan, in block 0 of the second: `unpack_packets",
            "on ranks 1 to 3",
        ],
    );
    ends(folder.cclc("build a.ccl -D ranks=3 -o e.json"), 0);
    says(
        &ends(folder.cclc("diff a.json e.json"), 1).stderr,
        &["`ranks` is 4 in the first plan and 3"],
    );
    // Programs can be given in place of plans; reports then name their lines.
    says(&ends(folder.cclc("diff a.ccl a.json -D ranks=4"), 0).stderr, &["the plans are the same"]);
    let run = ends(folder.cclc("diff a.ccl d.ccl -D ranks=4"), 1);
    says(&run.stderr, &["they compute the same", "only in the second plan", "from d.ccl:"]);
    // For large messages only: they do not serve the sizes at which plans are compared.
    let run = ends(folder.cclc("diff a.ccl d.ccl -D ranks=4 -O message_size=1MiB.."), 1);
    says(&run.stderr, &["they compute the same", "only in the second plan"]);
    folder.write("g.ccl", &GOOD.replace("        copy input[0] -> output[rank];\n", ""));
    let run = ends(folder.cclc("diff a.ccl g.ccl -D ranks=2"), 1);
    says(
        &run.stderr,
        &[
            "different outputs on ranks 0 and 1: `output[0]` of rank 0 has `input[0]` of rank 0 in the first plan only, \
             memory that was never written in the second plan only",
        ],
    );
    says(&ends(folder.cclc("diff a.ccl d.ccl -D rank=4"), 2).stderr, &["neither program has"]);
    folder.write("f.json", "{}");
    says(&ends(folder.cclc("diff a.json f.json"), 1).stderr, &["E0902"]);
    ends(folder.cclc("diff a.json gone.json"), 3);
    ends(folder.cclc("diff a.json"), 2);
    ends(folder.cclc("diff - -"), 2);
}

#[test]
fn plans_are_decompiled() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -D ranks=4 -o p.json"), 0);
    ends(folder.cclc("decompile p.json -o b.ccl"), 0);
    ends(folder.cclc("fmt --check b.ccl"), 0);
    ends(folder.cclc("build b.ccl -o q.json"), 0);
    let listing = |plan| ends(folder.cclc(&format!("list --normal {plan}")), 0).stdout;
    assert_eq!(listing("p.json"), listing("q.json"));
    says(&folder.read("b.ccl"), &["for p in peers", "p.output[rank]"]);
    let straight = ends(folder.cclc("decompile --straight p.json"), 0).stdout;
    says(&straight, &["if rank == 0 {", "(1).output[0]"]);
    // A plan that cannot be decompiled gives no output file, and the report says where.
    let lonely = manifest("tests/goldens/unit_tests_flush_flush_test__default.json");
    let run = ends(folder.cclc(&format!("decompile {} -o c.ccl", lonely.display())), 1);
    says(&run.stderr, &["E0907", "rank 0's port channel 0 leads to rank 1"]);
    says(&ends(folder.cclc_with("decompile -", "{}"), 1).stderr, &["E0902", "<stdin>"]);
    ends(folder.cclc("decompile nothing.json -o c.ccl"), 3);
    ends(folder.cclc("decompile"), 2);
    assert!(!folder.names().contains(&"c.ccl".to_owned()));
}

/// Reports about plans name the source line; the source is shown as long as the plan was built from its current
/// text.
#[test]
fn a_map_tells_where_operations_come_from() {
    let relaxed = GOOD.replace("wait mem[*];", "wait mem[*] relaxed;");
    let folder = Folder::with("a.ccl", &relaxed);
    folder.cclc("build a.ccl -o p.json --emit plan,map --unproved");
    assert_eq!(folder.names(), ["a.ccl", "p.json", "p.map.json"]);
    let run = ends(folder.cclc("verify p.json"), 1);
    says(
        &run.stderr,
        &["p.json: rank 1, block 0, operation", "from a.ccl:11", "a.ccl:11:9", "put input[0]"],
    );
    folder.write("a.ccl", &format!("// moved\n{relaxed}"));
    let run = ends(folder.cclc("verify p.json"), 1);
    says(&run.stderr, &["from a.ccl:11"]);
    assert!(!run.stderr.contains("put input[0]"), "{}", run.stderr);
}

#[test]
fn a_map_of_another_plan_is_passed_over() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o p.json --emit plan,map"), 0);
    assert_eq!(ends(folder.cclc("verify p.json"), 0).stderr, "");
    let map = folder.read("p.map.json");
    ends(folder.cclc("build a.ccl -o p.json -D ranks=3"), 0);
    let run = ends(folder.cclc("verify p.json"), 0);
    says(&run.stderr, &["warning[W0901]", "p.map.json", "a different plan", "--emit plan,map"]);
    for (text, why) in
        [("{", "EOF"), ("{\"version\":9}", "version 9"), ("{\"version\":1}", "missing field")]
    {
        folder.write("p.map.json", text);
        says(&ends(folder.cclc("verify p.json"), 0).stderr, &["W0901", why]);
    }
    ends(folder.cclc("build a.ccl -o p.json --emit map=q.map.json"), 0);
    assert_eq!(folder.read("q.map.json"), map);
    says(
        &ends(folder.cclc("build a.ccl -o - --emit plan,map"), 2).stderr,
        &["`--emit map` needs a path"],
    );
}

/// Every operation of a plan has its row in the map, including those in pipelines and in copies.
#[test]
fn a_map_has_every_operation() {
    let program = "\
use std::collectives::unchecked;
program p(ranks: int = 2) {
    collective unchecked(ranks, inputs = 2, outputs = 2);
    options { instances = 2; }
    scratch s[1];
    block main {
        for c in 0..2 {
            pipeline unit = 1KiB, chunks = 1 {
                copy input[c] -> s[0];
                copy s[0] -> output[c];
            }
        }
    }
}
";
    let folder = Folder::with("a.ccl", program);
    ends(folder.cclc("build a.ccl -o p.json --emit plan,map"), 0);
    let plan: Value = serde_json::from_str(&folder.read("p.json")).unwrap();
    let map: Value = serde_json::from_str(&folder.read("p.map.json")).unwrap();
    assert_eq!(map["instances"], 2);
    for (rank, gpu) in plan["gpus"].as_array().unwrap().iter().enumerate() {
        for (block, row) in gpu["threadblocks"].as_array().unwrap().iter().enumerate() {
            let ops = row["ops"].as_array().unwrap();
            let count: usize =
                ops.iter().map(|op| 1 + op["ops"].as_array().map_or(0, Vec::len)).sum();
            let of_rank = map["ranks"][rank][block / 2].as_u64().unwrap() as usize;
            assert_eq!(map["blocks"][of_rank].as_array().unwrap().len(), 1 + count);
        }
    }
}

#[test]
fn a_plan_is_held_to_the_collective_that_it_names() {
    let folder = Folder::with("a.ccl", GOOD);
    let verify = |edit: &dyn Fn(&mut Value), arguments: &str| {
        let mut plan: Value = serde_json::from_str(&folder.read("p.json")).unwrap();
        // Which buffer the message size refers to depends on the collective.
        plan["max_message_size"] = (1 << 20).into();
        edit(&mut plan);
        folder.write("q.json", &plan.to_string());
        folder.cclc(&format!("verify q.json {arguments}"))
    };
    ends(folder.cclc("build a.ccl -o p.json"), 0);
    for (name, parts) in [
        ("allgahter", &["N0901", "no collective `allgahter`", "did you mean `allgather`?"][..]),
        (
            "reducescatter",
            &["N0901", "no `reducescatter` of 2 ranks", "1 chunk of input and 2 chunks"],
        ),
        ("sendrecv", &["N0901", "no `sendrecv`"]),
    ] {
        says(&ends(verify(&|plan| plan["collective"] = name.into(), ""), 0).stderr, parts);
    }
    assert_eq!(ends(verify(&|plan| plan["collective"] = "allgatherv".into(), ""), 0).stderr, "");
    let run = ends(verify(&|_| (), "-D root=1"), 1);
    says(&run.stderr, &["E0314", "`allgather` has no parameter `root`", "ranks, chunks"]);
    ends(verify(&|_| (), "-D chunks=1 -D chunks=1"), 2);
    let run = ends(verify(&|_| (), "-D chunks=2"), 1);
    says(&run.stderr, &["E0314", "no `allgather` of 2 ranks", "has `chunks` = 2"]);
    says(&ends(verify(&|_| (), "-D ranks=3"), 1).stderr, &["E0314", "has `ranks` = 3"]);
}

/// A plan of a collective that the library does not have, in place.
const OWN: &str = "
collective sums(ranks: int) {
    input[2];
    output[2];
    in_place { input = output; }
    ensures for c in 0..2 { output[c] == reduce(r in 0..ranks: r.input[c]) }
}

program p(ranks: int = 4) {
    collective sums(ranks, in_place = true);
    channel mem[q in peers] = memory(q);
    block main {
        signal mem[*] relaxed;
        wait mem[*] relaxed;
        if rank < 2 {
            reduce output[rank], (q in peers: q.output[rank]) -> output[rank] via mem[*];
            put output[rank] -> (q in peers: q.output[rank]) via mem[*];
        }
        signal mem[*];
        wait mem[*];
    }
}
";

/// The same for buffers of different sizes.
const OWN_PART: &str = "
collective own(ranks: int) {
    input[2];
    output[2 * ranks];
    in_place { input = output[2 * rank..+2]; }
    ensures for r in 0..ranks, c in 0..2 { output[2 * r + c] == r.input[c] }
}

program p(ranks: int = 2) {
    collective own(ranks, in_place = true);
    channel mem[q in peers] = memory(q);
    block main {
        signal mem[*] relaxed;
        wait mem[*] relaxed;
        put output[2 * rank..+2] -> (q in peers: q.output[2 * rank..+2]) via mem[*];
        signal mem[*];
        wait mem[*];
    }
}
";

#[test]
fn a_collective_of_ones_own_is_in_place_in_its_plan_too() {
    let folder = Folder::with("a.ccl", OWN);
    ends(folder.cclc("build a.ccl -o a.json"), 0);
    let run = ends(folder.cclc("verify a.json"), 0);
    says(&run.stderr, &["note[N0901]", "they are the same memory", "cclc: 1 note"]);
    // What one block reads from the input, another one writes to the output, which is the same memory.
    let other = "    block other { copy input[1] -> output[0]; }\n}\n";
    let racing = OWN.trim_end().strip_suffix('}').unwrap().to_owned() + other;
    folder.write("b.ccl", &racing);
    says(&ends(folder.cclc("build b.ccl -o b.json --unproved"), 1).stderr, &["error[E0501]"]);
    says(&ends(folder.cclc("verify b.json"), 1).stderr, &["note[N0901]", "error[E0501]"]);
    // Nobody says where the input is in a larger output.
    folder.write("a.ccl", OWN_PART);
    ends(folder.cclc("build a.ccl -o a.json"), 0);
    let run = ends(folder.cclc("verify a.json"), 0);
    says(&run.stderr, &["note[N0901]", "nothing says where", "warning[E0520]"]);
    says(&run.stderr, &["if the input lies there, this is no mistake"]);
}

const COUNTED: &str = "
use std::collectives::alltoallv;

fn first(counts: int[][], from: int, to: int) -> int = sum(q in 0..from: counts[q][to]);

program counted(ranks: int = 2, counts: int[][] = [[1, 2], [3, 1]]) {
    collective alltoallv(ranks, counts);
    channel mem[p in peers] = memory(p);
    let mine = [p in 0..ranks: sum(q in 0..p: counts[rank][q])];
    block main {
        signal mem[*] relaxed;
        wait mem[*] relaxed;
        copy input[mine[rank]..+counts[rank][rank]] -> output[first(counts, rank, rank)..+counts[rank][rank]];
        for p in peers {
            put input[mine[p]..+counts[rank][p]] -> p.output[first(counts, rank, p)..+counts[rank][p]] via mem[p];
        }
        signal mem[*];
        wait mem[*];
    }
}
";

#[test]
fn a_table_does_not_follow_from_sizes() {
    let folder = Folder::with("a.ccl", COUNTED);
    ends(folder.cclc("build a.ccl -o a.json"), 0);
    let run = ends(folder.cclc("verify a.json"), 0);
    says(&run.stderr, &["N0901", "`counts` of `alltoallv`", "`-D counts=..`"]);
    assert_eq!(ends(folder.cclc("verify a.json -D counts=[[1,2],[3,1]]"), 0).stderr, "");
    says(&ends(folder.cclc("verify a.json -D counts=[[1,3],[2,1]]"), 1).stderr, &["E0314"]);
    ends(folder.cclc("build a.ccl -o a.json --emit plan,map"), 0);
    says(&ends(folder.cclc("verify a.json"), 0).stderr, &["N0902", "`counts` = [[1, 2], [3, 1]]"]);
}

/// The chunk counts of a broadcast's plan do not say which rank is the root.
#[test]
fn a_root_is_found_by_what_the_outputs_hold() {
    let source = manifest("../stdlib/ccl/algorithms/broadcast_chain.ccl");
    let folder = Folder::with("a.ccl", &fs::read_to_string(source).unwrap());
    ends(folder.cclc("build a.ccl -D ranks=4 -D root=2 -o p.json --emit plan,map"), 0);
    says(&ends(folder.cclc("verify p.json"), 0).stderr, &["N0902", "`root` = 2", "its map says"]);
    fs::remove_file(folder.path("p.map.json")).unwrap();
    let run = ends(folder.cclc("verify p.json"), 0);
    says(&run.stderr, &["note[N0902]", "`broadcast` with `root` = 2"]);
    assert_eq!(ends(folder.cclc("verify p.json -D root=2"), 0).stderr, "");
    says(&ends(folder.cclc("verify p.json -D root=1"), 1).stderr, &["E0701"]);
}

#[test]
fn a_built_plan_verifies_and_a_dump_checks() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o p.json"), 0);
    ends(folder.cclc("verify p.json"), 0);
    for step in ["elaborate", "fuse", "sync", "split", "replicate"] {
        ends(folder.cclc(&format!("dump a.ccl --after {step} -o d.ccl")), 0);
        let run = ends(folder.cclc("check d.ccl"), 0);
        says(&run.stderr, &["proved for 2 ranks"]);
        assert_eq!(run.stderr.lines().count(), 1, "{step}:\n{}", folder.read("d.ccl"));
    }
}

/// This is how the cost of checking is measured: races are errors, and what the executor cannot run is a warning.
#[test]
fn proof_can_be_had_without_limits() {
    let copy = "copy input[0] -> output[rank];";
    let whole = GOOD.replace(copy, &format!("for i in 0..70 {{ {copy} }}"));
    let folder = Folder::with("a.ccl", &whole.replace("twice;", "twice; split_blocks = false;"));
    says(&ends(folder.cclc("build a.ccl -o p.json"), 1).stderr, &["error[E0801]"]);
    says(&ends(folder.cclc("build a.ccl -o p.json --checks proof"), 0).stderr, &["warning[E0801]"]);
    folder.write("a.ccl", &folder.read("a.ccl").replace("wait mem[*];", "wait mem[*] relaxed;"));
    says(&ends(folder.cclc("build a.ccl -o p.json --checks proof"), 1).stderr, &["error[E0512]"]);
    says(&ends(folder.cclc("build a.ccl -o p.json --checks none"), 0).stderr, &["warning[E0801]"]);
}

#[test]
fn what_plans_differ_in_is_named() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -D ranks=4 -o a.json"), 0);
    let plan = fs::read_to_string(folder.path("a.json")).unwrap();
    let changes = [
        (
            r#""min_message_size":64"#,
            r#""min_message_size":128"#,
            "`min_message_size` is 64 in the first plan",
        ),
        (
            r#""protocol":"Simple""#,
            r#""protocol":"LL""#,
            "`protocol` is Simple in the first plan and LL in",
        ),
        (r#"["memory"]"#, r#"["memory","port"]"#, "the second plan has:  remote r1.o via mem port"),
        (r#"{"name":"nop"},"#, "", "in where the threads of a block synchronize"),
    ];
    for (from, to, message) in changes {
        assert!(plan.contains(from), "{from} in {plan}");
        folder.write("b.json", &plan.replacen(from, to, 1));
        says(&ends(folder.cclc("diff a.json b.json"), 1).stderr, &[message]);
    }
}

#[test]
fn every_list_in_which_plans_differ_is_named() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -D ranks=4 -o a.json"), 0);
    let plan = fs::read_to_string(folder.path("a.json")).unwrap();
    let lists = plan.replacen(r#"["memory"]"#, r#"["memory","port"]"#, 2);
    let [one, other] =
        ["r1", "r2"].map(|rank| format!("the second plan has:  remote {rank}.o via mem port"));
    folder.write("b.json", &lists);
    let run = ends(folder.cclc("diff a.json b.json"), 1);
    says(&run.stderr, &["the plans differ in 2 lists that no operation uses", &one, &other]);
    let option = lists.replacen(r#""min_message_size":64"#, r#""min_message_size":128"#, 1);
    folder.write("b.json", &option);
    let run = ends(folder.cclc("diff a.json b.json"), 1);
    let head = "the plans differ in one way, and in 2 lists that no operation uses";
    says(&run.stderr, &[head, "`min_message_size` is 64", &one, &other]);
}

#[test]
fn a_plan_without_an_end_of_messages_is_written_back() {
    let barrier = "use std::collectives::barrier;
program meet(ranks: int = 2) {
    collective barrier(ranks);
    channel mem[p in peers] = memory(p);
    block main { signal mem[*] relaxed; wait mem[*] relaxed; }
}
";
    let folder = Folder::with("a.ccl", barrier);
    ends(folder.cclc("build a.ccl -o a.json"), 0);
    assert!(!ends(folder.cclc("decompile a.json"), 0).stdout.is_empty());
}

/// In place, and with halves of scratch, the plans that `cclc` writes are right, and near ones are not.
#[test]
fn what_the_executor_would_look_for_elsewhere_is_refused() {
    let case = |name: &str| {
        fs::read_to_string(manifest(&format!("tests/cases/limits/{name}.plan.json"))).unwrap()
    };
    let folder = Folder::with("a.ccl", GOOD);
    let in_place = case("in_place_a_port_sends_from_the_outer_buffer");
    let inner = in_place
        .replace(r#""src_buff":[{"type":"o","index":1,"#, r#""src_buff":[{"type":"i","index":0,"#);
    let halves = case("halves_of_scratch_are_in_one_place_on_all_ranks");
    let uneven = halves.replacen(r#""scratch_chunks":8"#, r#""scratch_chunks":4"#, 1);
    let said = |plan: &str, status| ends(folder.cclc_with("verify -", plan), status).stderr;
    said(&in_place, 0);
    said(&halves, 0);
    says(&said(&inner, 1), &["E0807", "reaches the beginning of `output`, and not `input`"]);
    says(&said(&uneven, 1), &["E0810", "different amounts of scratch: 4 chunks and 8"]);
}

/// An operation on a rank's own memory may name a kind of channel; the executor ignores it.
#[test]
fn a_local_operation_that_names_a_port_is_local() {
    let folder = Folder::with("a.ccl", GOOD);
    let plan = fs::read_to_string(manifest(
        "tests/cases/limits/halves_of_scratch_are_in_one_place_on_all_ranks.plan.json",
    ));
    let local = r#""dst_buff":[{"type":"o","index":0,"size":3}]"#;
    let named = plan.unwrap().replace(local, &format!(r#"{local},"channel_type":"port""#));
    assert!(named.contains("port"));
    folder.write("b.json", &named);
    // The numbers of schedules begin again after the last one.
    let last = u64::MAX;
    let run = ends(folder.cclc(&format!("run b.json --seed {last} --schedules 8")), 0);
    assert!(run.stdout.contains(": 8 schedules"), "{}", run.stdout);
}

/// The plan of [`GOOD`] with another value of a field.
fn with_field(folder: &Folder, field: &str, value: u64) -> String {
    let mut plan: Value = serde_json::from_str(&folder.read("a.json")).unwrap();
    plan.as_object_mut().unwrap().insert(field.to_owned(), value.into());
    plan.to_string()
}

#[test]
fn a_message_size_that_only_one_plan_can_serve_is_a_difference() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o a.json"), 0);
    folder.write("b.json", &with_field(&folder, "max_message_size", 48 << 30));
    says(&ends(folder.cclc("verify b.json"), 1).stderr, &["E0805"]);
    let said = ends(folder.cclc("diff a.json b.json"), 1).stderr;
    says(&said, &["differ in one way", "`max_message_size` is", "51539607552 in the second"]);
    says(&said, &["nothing wrong with the first plan", "E0805 in the second plan"]);
}

#[test]
fn a_listing_takes_a_size_that_the_plan_serves() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o a.json"), 0);
    for (field, size) in [("min_message_size", 1 << 20), ("max_message_size", 512)] {
        folder.write("b.json", &with_field(&folder, field, size));
        let listed = ends(folder.cclc("list b.json"), 0).stdout;
        assert!(!listed.contains("REJECT"), "{field}: {listed}");
        let other = ends(folder.cclc("list b.json --chunk-bytes 4096"), 0).stdout;
        says(&other, &["REJECT rank 0: Input or output size is not within the valid range"]);
    }
}

#[test]
fn the_upper_end_in_a_plan_is_that_of_the_largest_input() {
    let folder = Folder::with("a.ccl", UNEVEN);
    ends(folder.cclc("build a.ccl -o a.json --emit plan,manifest"), 0);
    let range = "\"min_message_size\":1024,\"max_message_size\":131072";
    says(&folder.read("a.json"), &[range]);
    says(&folder.read("a.manifest.json").replace(": ", ":"), &["\"max_message_size\":131072"]);
    // In the program, sizes are those of the smallest input again.
    says(&ends(folder.cclc("decompile a.json"), 0).stdout, &["message_size = 1024..=65536;"]);
    ends(folder.cclc("run a.json --size 64KiB"), 0);
    says(&ends(folder.cclc("run a.json --size 65KiB"), 2).stderr, &["from 1KiB to 64KiB"]);
}

/// Where sizes fit no collective of that name, those of the first rank and of one that differs from it are shown.
#[test]
fn ranks_of_different_sizes_are_both_shown() {
    let folder = Folder::with("a.ccl", UNEVEN);
    ends(folder.cclc("build a.ccl -o a.json"), 0);
    folder.write("b.json", &folder.read("a.json").replace("\"alltoallv\"", "\"alltoall\""));
    let said = ends(folder.cclc("verify b.json"), 0).stderr;
    for sizes in
        ["rank 0 has 4 chunks of input and 2 chunks", "rank 1 has 2 chunks of input and 4 chunks"]
    {
        says(&said, &["warning[W0802]", "the ranks of this `alltoall` disagree", sizes]);
    }
    ends(folder.cclc("verify b.json --deny warnings"), 1);
}

/// Several plans can be verified at once, so a report about the whole of a plan says of which.
#[test]
fn what_is_wrong_with_a_whole_plan_names_it() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o a.json"), 0);
    folder.write("b.json", &with_field(&folder, "num_threads_per_block", 0));
    folder.write("c.json", &with_field(&folder, "min_message_size", 1 << 40));
    let own = folder.read("a.json").replace("\"allgather\"", "\"mine\"");
    folder.write("d.json", &own);
    let said = ends(folder.cclc("verify a.json b.json c.json d.json --message-format short"), 1);
    says(&said.stderr, &["b.json: error[E0902]", "c.json: error[E0805]", "d.json: note[N0901]"]);
    let said = ends(folder.cclc("verify b.json"), 1).stderr;
    says(&said, &["\n  --> b.json\n"]);
}

/// Plans of [`GOOD`] that differ in what the loader does not look at, or from one that it refuses.
#[test]
fn what_means_nothing_is_no_difference_and_an_empty_buffer_is_one() {
    let folder = Folder::with("a.ccl", GOOD);
    let golden =
        |name: &str| fs::read_to_string(manifest(&format!("tests/goldens/{name}.json"))).unwrap();
    let switch = golden("single_node_allgather_nvls_zero_copy_pkt__num_gpus_2_instances_1");
    let compact = serde_json::from_str::<Value>(&switch).unwrap().to_string();
    let reduce = golden("executor-tests_reduce__default");
    let empty = golden("unit_tests_semaphore__default");
    let same = [
        (&compact, "\"ranks\":[0,1]", "\"ranks\":[1,0]"),
        (&reduce, "\"reduce_op\": \"sum\"", "\"mine\": \"sum\""),
    ];
    for (plan, from, to) in same {
        assert!(plan.contains(from), "{from} in {plan}");
        folder.write("a.json", plan);
        folder.write("b.json", &plan.replace(from, to));
        says(&ends(folder.cclc("diff a.json b.json"), 0).stderr, &["the plans are the same"]);
        ends(folder.cclc("decompile b.json"), 0);
    }
    folder.write("a.json", &empty);
    ends(folder.cclc("diff a.json a.json"), 0);
    folder.write("b.json", &empty.replace("\"input_chunks\": 0", "\"input_chunks\": 1"));
    let said = ends(folder.cclc("diff a.json b.json"), 1).stderr;
    says(&said, &["the number of chunks of input is 0 in the first plan and 1 in the second"]);
}

#[test]
fn what_no_plan_takes_is_refused() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o a.json"), 0);
    for command in ["run a.json", "diff a.json a.json"] {
        let said = |flag: &str| ends(folder.cclc(&format!("{command} {flag}")), 2).stderr;
        says(&said("-O instances=2"), &["`-O instances=2` is for source files"]);
        says(&said("--program gather"), &["`--program gather` is for source files"]);
    }
    says(&ends(folder.cclc("diff a.json a.json -D root=1"), 1).stderr, &["E0314", "`root`"]);
    ends(folder.cclc("diff a.json a.json -D ranks=2"), 0);
    ends(folder.cclc("diff a.json a.ccl -O instances=1"), 0);
}

/// Rank 0 has twice as much as rank 1.
const UNEVEN: &str = "
use std::collectives::alltoallv;

program p(ranks: int = 2) {
    collective alltoallv(ranks, [[1, 3], [1, 1]]);
    options { message_size = 1KiB..=64KiB; }
    channel mem[p in peers] = memory(p);
    block main {
        signal mem[*]; wait mem[*];
        if rank == 0 {
            copy input[0] -> output[0];
            put input[1..4] -> 1.output[0..3] via mem[1];
        } else {
            copy input[1] -> output[3];
            put input[0] -> 0.output[1] via mem[0];
        }
        signal mem[*]; wait mem[*];
    }
}
";
