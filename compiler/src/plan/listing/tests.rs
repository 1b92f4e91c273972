//! Listings of MSCCL++'s own plans, changed a bit.

use super::*;
use crate::source::FileId;

fn list(text: &str, settings: Settings) -> String {
    let plan = super::super::parse(FileId(0), text).expect("a plan");
    let mut out = String::new();
    listing(&plan, &settings, &mut out).expect("a string takes all");
    out
}

fn golden(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens");
    std::fs::read_to_string(format!("{folder}/{name}")).expect("a golden")
}

#[test]
fn one_rank_only() {
    let text = golden("single_node_allgather__default.json");
    let both = golden("single_node_allgather__default.listing");
    let second = both.find("plan").and_then(|_| both.rfind("plan ")).unwrap();
    assert_eq!(list(&text, Settings { rank: Some(1), ..Settings::default() }), both[second..]);
}

#[test]
fn a_rank_that_is_not_there_is_refused() {
    let text = golden("single_node_allgather__default.json");
    assert_eq!(
        list(&text, Settings { rank: Some(7), ..Settings::default() }),
        "REJECT rank 7: GPU rank does not match (mscclpp failure: ExecutorError)\n"
    );
}

#[test]
fn bytes_a_chunk_scale_offsets() {
    let text = golden("single_node_allgather__default.json");
    let settings = Settings { rank: Some(1), chunk_bytes: 1 << 31, form: Form::Plain };
    let listed = list(&text, settings);
    assert!(listed.contains("bytes in 2147483648 out 4294967296"), "{listed}");
    assert!(listed.contains("in[r1.o+2147483648:2147483648]"), "{listed}");
}

#[test]
fn bytes_that_are_no_multiple_of_the_alignment_are_refused() {
    let text = golden("single_node_allgather__default.json");
    let listed = list(&text, Settings { chunk_bytes: 24, ..Settings::default() });
    assert_eq!(listed.lines().filter(|line| line.starts_with("REJECT rank")).count(), 2);
    assert!(listed.contains("is not aligned"), "{listed}");
}

#[test]
fn the_normal_form_drops_what_may_differ() {
    let text = golden("unit_tests_tbg_tbg_reduce_fuse_test__default.json");
    let listed = list(&text, Settings { form: Form::Normal, ..Settings::default() });
    assert!(!listed.contains("nop(0)") && !listed.contains(" ops "), "{listed}");
    assert!(!listed.contains(" min ") && !listed.contains("scratch_alloc"), "{listed}");
    let signals = golden("single_node_allgather__default.json");
    let listed =
        list(&signals, Settings { form: Form::Normal, rank: Some(0), ..Settings::default() });
    assert!(listed.contains("\n  rlxsignal(23) via mem ch[mem:r1#0]\n"), "{listed}");
    assert!(listed.contains("\nremote r1.o via mem\n"), "{listed}");
}

#[test]
fn faulty_plans_are_shown() {
    let text = golden("single_node_allgather__default.json")
        .replacen("\"buffer_id\": 0", "\"buffer_id\": 9", 1)
        .replacen(
            "\"connected_to\": [\n            1\n",
            "\"connected_to\": [\n            1, 1\n",
            1,
        );
    let listed = list(&text, Settings::default());
    assert!(listed.contains("out[LOCAL_OUT_OF_RANGE(9)+0:4096]"), "{listed}");
    assert!(listed.contains("channels mem 2 0:r1 1:r1\n"), "{listed}");
    assert!(listed.contains("unpaired mem 1 r0\n"), "{listed}");
}

#[test]
fn a_bad_channel_type_anywhere_refuses_every_rank() {
    let text = golden("single_node_allgather__default.json").replacen(
        "\"channel_type\": \"memory\",\n          \"connected_to\"",
        "\"channel_type\": \"mem\",\n          \"connected_to\"",
        1,
    );
    let listed = list(&text, Settings::default());
    assert_eq!(listed.matches("Invalid channel type (mscclpp failure").count(), 2, "{listed}");
}
