//! Warnings about plans, in the terms of those who make plans.

use crate::folder::{Folder, GOOD, ends, says};

/// An AllReduce through packets, whose launches of different sizes overlap.
const PACKETS: &str = "\
use std::collectives::allreduce;

program reduce(ranks: int = 4, double: bool = false) {
    collective allreduce(ranks);
    options { protocol = LL; double_scratch = double; }
    scratch parts[ranks];
    scratch sums[ranks];
    channel mem[p in peers] = memory(p);
    block main {
        for p in peers { put_packets input[p] -> p.parts[rank] via mem[p]; }
        reduce_packets input[rank], (p in peers: parts[p]) -> output[rank];
        put_packets output[rank] -> (p in peers: p.sums[rank]) via mem[*];
        for p in peers { unpack_packets sums[p] -> output[p]; }
    }
}
";

#[test]
fn a_plan_is_mended_by_the_option_of_its_own_tool() {
    let folder = Folder::with("a.ccl", PACKETS);
    says(&ends(folder.cclc("build a.ccl -o p.json"), 0).stderr, &["set `double_scratch = true`"]);
    let said = ends(folder.cclc("verify p.json"), 0).stderr;
    says(&said, &["warning[W0503]", "`use_double_scratch_buffer=True`", "`min_message_size`"]);
    assert!(!said.contains("double_scratch = true"), "{said}");
    // The option does mend it.
    ends(folder.cclc("build a.ccl -D double=true -o q.json"), 0);
    assert!(!ends(folder.cclc("verify q.json"), 0).stderr.contains("W0503"));
}

#[test]
fn a_comparison_names_the_warnings_of_each_plan() {
    let folder = Folder::with("a.ccl", PACKETS);
    folder.write("b.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o p.json"), 0);
    ends(folder.cclc("build a.ccl -D double=true -O name=reduce -o q.json"), 0);
    let said = ends(folder.cclc("diff p.json q.json"), 1).stderr;
    says(
        &said,
        &[
            "the checks find W0503 in the first plan",
            "the checks find nothing wrong with the second plan",
        ],
    );
}
