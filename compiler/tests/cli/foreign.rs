//! Files of older or other tools in place of plans.

use crate::folder::{Folder, GOOD, ends, says};

/// A plan of two ranks as MSCCL++ wrote them before 0.8.
const OLD: &str = r#"{"name":"old","collective":"sendrecv","protocol":"Simple","inplace":false,"gpus":[
{"id":0,"inputChunks":1,"outputChunks":1,"scratchChunks":1,"threadblocks":[{"id":0,"ops":[
{"name":"signal","o_buff":{"src":"i","dst":"s"},"o_cids":[{"id":0,"off":0}],"ctype":"sm","cnt":1}],
"channels":[{"src":"i","dst":"s","ctype":"sm","cids":[0]}]}],
"channels":[{"srcbuff":"i","dstbuff":"s","type":"sm","connectedTo":[1]}]},
{"id":1,"inputChunks":1,"outputChunks":1,"scratchChunks":1,"threadblocks":[],"channels":[]}]}
"#;

/// An algorithm of MSCCL.
const XML: &str =
    "<algo name=\"ring\" proto=\"Simple\" nchannels=\"1\" ngpus=\"2\" coll=\"allgather\">
  <gpu id=\"0\" i_chunks=\"1\" o_chunks=\"2\" s_chunks=\"0\"></gpu>
</algo>
";

#[test]
fn plans_of_mscclpp_before_0_8_are_named_by_every_command() {
    let folder = Folder::with("old.json", OLD);
    folder.write("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o p.json"), 0);
    for command in [
        "verify old.json",
        "list old.json",
        "decompile old.json",
        "run old.json",
        "diff old.json p.json",
    ] {
        let run = ends(folder.cclc(command), 1);
        says(
            &run.stderr,
            &[
                "error[E0902]: this is an execution plan of MSCCL++ before 0.8",
                "old.json:2:9",
                "MSCCL++ 0.8 or later",
            ],
        );
        assert_eq!(run.stderr.matches("error[").count(), 1, "{command}: {}", run.stderr);
    }
}

#[test]
fn a_plan_that_lacks_a_key_is_no_old_plan() {
    let folder = Folder::with("a.ccl", GOOD);
    let plan = ends(folder.cclc("build a.ccl -o -"), 0).stdout;
    folder.write("p.json", &plan.replace("\"input_chunks\"", "\"input\""));
    says(&ends(folder.cclc("verify p.json"), 1).stderr, &["missing field `input_chunks`"]);
}

#[test]
fn algorithms_of_msccl_are_named_by_every_command() {
    let folder = Folder::with("ring.xml", XML);
    folder.write("ring.json", XML);
    for command in [
        "verify ring.xml",
        "list ring.xml",
        "decompile ring.xml",
        "run ring.json",
        "verify ring.json",
    ] {
        let run = ends(folder.cclc(command), 1);
        says(&run.stderr, &["error[E0902]: this is an algorithm of MSCCL, in XML", ".ccl program"]);
    }
    for command in ["check ring.xml", "build ring.xml", "run ring.xml"] {
        says(&ends(folder.cclc(command), 3).stderr, &["this is XML, as MSCCL's algorithms are"]);
    }
}
