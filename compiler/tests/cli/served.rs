//! `cclc verify`: what a plan does not say about the messages that it serves, and about the machine.

use super::{Folder, GOOD, ends, manifest, says};
use serde_json::Value;
use std::fs;

/// MSCCL++'s own AllReduce in a pipeline states no end, and its slots of scratch overlap beyond 64 MiB.
#[test]
fn a_plan_that_states_no_end_is_told_where_it_is() {
    let folder = Folder::with("a.ccl", GOOD);
    let golden = manifest("tests/goldens/single_node_allreduce_pipeline__default.json");
    let verify = |path: &str, flags: &str, status| {
        ends(folder.cclc(&format!("verify {path} {flags}")), status).stderr
    };
    let said = verify(&golden.display().to_string(), "", 0);
    says(&said, &["warning[W0802]", "messages of any size", "only up to 64MiB"]);
    says(&said, &["set `max_message_size` to 67108864"]);
    verify(&golden.display().to_string(), "--deny W0802", 1);
    // With the end that the report names, nothing is left to say.
    let mut plan: Value = serde_json::from_str(&fs::read_to_string(&golden).unwrap()).unwrap();
    plan["max_message_size"] = (64_u64 << 20).into();
    folder.write("b.json", &plan.to_string());
    assert!(!verify("b.json", "", 0).contains("W0802"));
    plan["max_message_size"] = (65_u64 << 20).into();
    folder.write("b.json", &plan.to_string());
    says(&verify("b.json", "", 1), &["error[E0805]", "messages of 65MiB"]);
    // Offsets have 32 bits in every plan.
    ends(folder.cclc("build a.ccl -o a.json"), 0);
    let mut plan: Value = serde_json::from_str(&folder.read("a.json")).unwrap();
    plan.as_object_mut().unwrap().remove("max_message_size");
    folder.write("b.json", &plan.to_string());
    says(&verify("b.json", "", 0), &["warning[W0802]", "offsets in 32 bits"]);
}

/// A plan says nothing of nodes.
#[test]
fn whoever_verifies_a_plan_says_how_ranks_are_grouped() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -D ranks=4 -o a.json"), 0);
    assert_eq!(ends(folder.cclc("verify a.json"), 0).stderr, "");
    let said = ends(folder.cclc("verify a.json --ranks-per-node 2"), 0).stderr;
    says(&said, &["warning[W0801]", "from rank 0 of node 0 to rank 2 of node 1"]);
    says(&said, &["the same in 7 other places on 4 ranks", "cclc: 1 warning"]);
    for flags in ["--ranks-per-node 2 --ranks-per-domain 4", "--ranks-per-domain 72"] {
        assert_eq!(ends(folder.cclc(&format!("verify a.json {flags}")), 0).stderr, "", "{flags}");
    }
    let said = ends(folder.cclc("verify a.json --ranks-per-domain 2"), 0).stderr;
    says(&said, &["warning[W0801]", "from rank 0 of domain 0 to rank 2 of domain 1"]);
    ends(folder.cclc("verify a.json --ranks-per-domain 0"), 2);
}

/// The executor halves what it rounds to the alignment: 24 chunks make that even for an alignment of three packets.
#[test]
fn the_second_half_of_scratch_begins_with_a_packet() {
    let case =
        manifest("tests/cases/limits/halves_of_scratch_with_an_alignment_of_three_packets.ccl");
    let folder = Folder::with("a.ccl", &fs::read_to_string(case).unwrap());
    ends(folder.cclc("build a.ccl -o a.json"), 0);
    assert!(!ends(folder.cclc("verify a.json"), 0).stderr.contains("E0810"));
    for size in ["", "--chunk-bytes 48", "--chunk-bytes 144", "--chunk-bytes 49104"] {
        let listed = ends(folder.cclc(&format!("list a.json --rank 0 {size}")), 0).stdout;
        says(&listed, &["scratch 24 "]);
        let mut words = listed.split_whitespace().skip_while(|word| *word != "scratch_alloc");
        let bytes: u64 = words.nth(1).unwrap().parse().unwrap();
        assert!(bytes > 0 && (bytes / 2).is_multiple_of(16), "{size}: {bytes}");
    }
    // As its own author might have written it, and as other tools do.
    let plan = folder.read("a.json").replace("\"scratch_chunks\":24", "\"scratch_chunks\":1");
    folder.write("b.json", &plan);
    let said = ends(folder.cclc("verify b.json"), 0).stderr;
    says(&said, &["warning[E0810]", "with 1 chunk,", "a multiple of 24"]);
}
