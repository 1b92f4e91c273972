//! Small files with large numbers: each is judged or refused in little time and memory.

use crate::cclc::{self, Run};
use crate::folder::{Folder, says};
use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};

/// Soon, even on a busy machine.
const SOON: Duration = Duration::from_secs(30);

/// Runs `cclc` with half a gigabyte next to what it takes anyway, most of which is the stack that it reserves.
fn in_little_memory(folder: &Folder, arguments: &str) -> Run {
    let line = format!("ulimit -v 1000000; exec \"$CCLC\" --color never {arguments}");
    let mut command = Command::new("sh");
    command.current_dir(folder.path("")).env("CCLC", env!("CARGO_BIN_EXE_cclc"));
    cclc::run(command.args(["-c", &line]), "")
}

/// Each command ends soon, with a verdict, or with a report that says what it needs.
fn end_soon(folder: &Folder, commands: &[&str]) -> Vec<Run> {
    let mut runs = Vec::new();
    for command in commands {
        let started = Instant::now();
        let run = in_little_memory(folder, command);
        assert!(started.elapsed() < SOON, "{command}: {:?}", started.elapsed());
        assert!(matches!(run.status, Some(0..=2)), "{command}: {:?}\n{}", run.status, run.stderr);
        runs.push(run);
    }
    runs
}

const OF_SOURCE: &[&str] = &["check a.ccl", "build a.ccl -o a.json", "run a.ccl", "fmt a.ccl"];

const OF_PLANS: &[&str] = &[
    "verify a.json",
    "decompile a.json",
    "run a.json --max-memory 256MiB",
    "list a.json",
    "diff a.json a.json",
];

/// A program of one block with a pipeline.
fn program(pipeline: &str) -> String {
    format!(
        "use std::collectives::unchecked;
         program p(ranks: int = 1) {{
             collective unchecked(ranks, inputs = 1, outputs = 1);
             semaphore s;
             block main {{ {pipeline} {{ release s; acquire s; }} }}
         }}"
    )
}

/// A plan for one rank that copies its input, with these chunks and operations.
fn plan(chunks: u64, ops: &str) -> String {
    format!(
        r#"{{"name": "g", "collective": "allgather", "protocol": "Simple", "inplace": true,
             "reuse_resources": false, "num_threads_per_block": 1024, "use_double_scratch_buffer": false,
             "buffer_alignment": 16, "min_message_size": 0, "max_message_size": 18446744073709551615,
             "gpus": [{{"id": 0, "input_chunks": {chunks}, "output_chunks": {chunks}, "scratch_chunks": 0,
                        "threadblocks": [{{"id": 0, "ops": [{ops}], "channels": [], "remote_buffer_refs": []}}],
                        "channels": [], "remote_buffers": [], "semaphores": []}}]}}"#
    )
}

/// A copy of so many chunks, with another field.
fn copy(chunks: u64, more: &str) -> String {
    format!(
        r#"{{"name": "copy", "src_buff": [{{"type": "i", "index": 0, "size": {chunks}}}],
             "dst_buff": [{{"type": "o", "index": 0, "size": {chunks}}}]{more}}}"#
    )
}

#[test]
fn pipelines_have_at_most_as_many_chunks_as_the_executor_counts() {
    for chunks in ["2000000000", "65536"] {
        let text = program(&format!("pipeline unit = 16, chunks = {chunks}"));
        let folder = Folder::with("a.ccl", &text);
        let said = format!("the number of chunks in a pipeline must be 1 to 65535, not {chunks}");
        for run in end_soon(&folder, &OF_SOURCE[..3]) {
            says(&run.stderr, &["error[E0312]", &said]);
        }
    }
    let most = program("pipeline unit = 16, chunks = 65535");
    end_soon(&Folder::with("a.ccl", &most), OF_SOURCE);

    for chunks in [4_294_967_295_u64, 65_536] {
        let body = copy(1, "");
        let pipeline = format!(
            r#"{{"name": "pipeline", "iter_context": {{"unit_size": 16, "num_chunks": {chunks}}}, "ops": [{body}]}}"#
        );
        let folder = Folder::with("a.json", &plan(1, &pipeline));
        let runs = end_soon(&folder, OF_PLANS);
        let said = format!("{chunks} is not a `num_chunks`: a pipeline has 1 to 65535 chunks");
        says(&runs[0].stderr, &["error[E0902]", &said]);
    }
}

#[test]
fn groups_have_at_most_as_many_blocks_as_there_can_be() {
    for blocks in [4_000_000_000_u64, 65_536] {
        let group = format!(r#", "tbg_info": {{"tb_id": 0, "tbg_size": {blocks}}}"#);
        let folder = Folder::with("a.json", &plan(1, &copy(1, &group)));
        let runs = end_soon(&folder, OF_PLANS);
        let said = format!("{blocks} blocks share an operation: at most 65535 can");
        says(&runs[0].stderr, &["error[E0902]", &said]);
    }
    let group = r#", "tbg_info": {"tb_id": 0, "tbg_size": 65535}"#;
    end_soon(&Folder::with("a.json", &plan(1, &copy(1, group))), OF_PLANS);
}

#[test]
fn plans_of_many_chunks_are_judged_and_decompiled_soon() {
    for chunks in [100_000_000, 2_147_483_647, 4_294_967_295] {
        end_soon(&Folder::with("a.json", &plan(chunks, &copy(chunks, ""))), OF_PLANS);
    }
}

/// Numbers at the bounds of what is counted.
const NUMBERS: [&str; 4] = ["65536", "100000000", "4294967295", "9223372036854775807"];

/// Where a plan has its first number of each key.
fn numbers(plan: &str) -> Vec<std::ops::Range<usize>> {
    let mut known = BTreeSet::new();
    let ends = plan.match_indices("\": ").filter_map(|(at, found)| {
        let (start, rest) = (at + found.len(), &plan[at + found.len()..]);
        let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let key = plan[..at].rsplit('"').next()?;
        (digits > 0 && known.insert(key.to_owned())).then(|| start..start + digits)
    });
    ends.collect()
}

#[test]
fn a_plan_with_any_number_is_judged_soon() {
    for plan in [
        include_str!("../goldens/unit_tests_pipeline_test__default.json"),
        include_str!("../goldens/unit_tests_tbg_tbg_copy_test__default.json"),
        include_str!("../goldens/unit_tests_semaphore__default.json"),
    ] {
        let places = numbers(plan);
        assert!(places.len() > 8, "{places:?}");
        for (place, number) in
            places.iter().flat_map(|place| NUMBERS.map(|number| (place.clone(), number)))
        {
            let text = format!("{}{number}{}", &plan[..place.start], &plan[place.end..]);
            end_soon(&Folder::with("a.json", &text), &["verify a.json", "decompile a.json"]);
        }
    }
}

/// Blocks that split hand their counters on: which uses are in turn follows from what each of them knows of all others.
#[test]
fn what_blocks_know_of_each_other_is_bounded() {
    let text = "use std::collectives::barrier;
        program p(ranks: int = 1, n: int = 120) {
            collective barrier(ranks);
            semaphore s[i in 0..n, j in 0..n];
            for k in 0..40 { block w[b in 0..n] { release s[b, *]; acquire s[*, b]; } }
        }";
    let folder = Folder::with("a.ccl", text);
    let run = &end_soon(&folder, &["check a.ccl"])[0];
    says(&run.stderr, &["error[E0605]", "what uses in turn tell each other may take"]);
    let barrier = text.replace("release s[b, *]; acquire s[*, b];", "barrier w[*];");
    end_soon(&Folder::with("a.ccl", &barrier), &["check a.ccl -D n=1000"]);
}

#[test]
fn few_unknown_names_are_compared_with_known_ones() {
    let known = (0..4_000).map(|at| format!("let known{at} = {at};\n"));
    let unknown = (0..4_000).map(|at| format!("let other{at} = unknown{at};\n"));
    let text: String = known.chain(unknown).collect();
    let run = &end_soon(&Folder::with("a.ccl", &text), &["check a.ccl"])[0];
    says(&run.stderr, &["error[E0201]", "did you mean `known", "4000 errors"]);
    let names = |name: &str| (0..4_000).map(|at| format!("{name}{at} = 1")).collect::<Vec<_>>();
    let (parameters, arguments) = (names("longer").join(", "), names("another").join(", "));
    let parameters = parameters.replace(" = 1", ": int = 1");
    let text = format!("fn f({parameters}) -> int = 1;\nlet a = f({arguments});\n");
    let run = &end_soon(&Folder::with("a.ccl", &text), &["check a.ccl"])[0];
    says(&run.stderr, &["error[E0205]", "longer19, and 3980 more", "4000 errors"]);
}

/// A plan whose ranks each do something else.
#[test]
fn ranks_that_differ_are_decompiled_soon() {
    let ranks = 3_000;
    let rank = |id: u32| {
        let other = copy(1, "").replace("\"index\": 0", &format!("\"index\": {}", id * id % 991));
        format!(
            r#"{{"id": {id}, "input_chunks": 991, "output_chunks": 991, "scratch_chunks": 0,
                 "threadblocks": [{{"id": 0, "ops": [{other}], "channels": [], "remote_buffer_refs": []}}],
                 "channels": [], "remote_buffers": [], "semaphores": []}}"#
        )
    };
    let gpus: Vec<String> = (0..ranks).map(rank).collect();
    let text = plan(1, &copy(1, ""));
    let (head, _) = text.split_once("\"gpus\"").expect("a plan has ranks");
    let text = format!("{head}\"gpus\": [{}]}}", gpus.join(", "));
    end_soon(&Folder::with("a.json", &text), &["decompile a.json -o a.ccl"]);
}

/// A run that does not look at the time is ended all the same.
#[test]
fn a_time_limit_ends_a_run_that_goes_on() {
    let chunks = 100_000_000;
    let folder = Folder::with("a.json", &plan(chunks, &copy(1, "")));
    let started = Instant::now();
    let run = folder.cclc("run a.json --time-limit 0.5");
    assert!(started.elapsed() < 2 * SOON, "{:?}", started.elapsed());
    assert_eq!(run.status, Some(1), "{}", run.stderr);
    says(&run.stderr, &["0.5 s"]);
}
