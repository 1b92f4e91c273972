//! The command line as a user sees it: the built `cclc` in a folder of its own.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its files fails")]

#[path = "support/cclc.rs"]
mod cclc;
#[path = "support/folder.rs"]
mod folder;
#[path = "cli/hostile.rs"]
mod hostile;
#[path = "cli/kernels.rs"]
mod kernels;
#[path = "cli/run.rs"]
mod running;
#[path = "cli/watch.rs"]
mod watch;

use cclc::{manifest, run};
use folder::{Folder, GOOD, ends, says};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

fn broken() -> String {
    GOOD.replace("copy input[0]", "copy inptu[0]")
}

#[test]
fn a_clean_check_says_nothing() {
    let run = ends(Folder::with("a.ccl", GOOD).cclc("check a.ccl"), 0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
}

#[test]
fn errors_end_with_1_and_go_to_standard_error() {
    let run = ends(Folder::with("a.ccl", &broken()).cclc("check a.ccl"), 1);
    assert_eq!(run.stdout, "");
    says(&run.stderr, &["error[E0201]", "a.ccl:10:14", "inptu", "cclc: 1 error"]);
}

#[test]
fn a_dash_is_standard_input() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc_with("check -", GOOD), 0);
    let run = ends(folder.cclc_with("check - --message-format short", &broken()), 1);
    assert!(run.stderr.starts_with("<stdin>:10:14: error[E0201]: "), "{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1);
}

#[test]
fn several_files_are_all_checked() {
    let folder = Folder::with("a.ccl", &broken());
    folder.write("b.ccl", GOOD);
    folder.write("c.ccl", &broken());
    let run = ends(folder.cclc("check a.ccl b.ccl c.ccl --message-format short"), 1);
    let files: Vec<&str> = run.stderr.lines().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(files, ["a.ccl", "c.ccl"]);
}

#[test]
fn files_that_cannot_be_read_end_with_3_and_the_others_are_checked() {
    let folder = Folder::with("a.ccl", &broken());
    fs::write(folder.path("latin.ccl"), b"// \xe9\n").unwrap();
    let run = ends(folder.cclc("check gone.ccl . latin.ccl a.ccl --message-format short"), 3);
    says(
        &run.stderr,
        &["error[E0901]: cannot read `gone.ccl`", "`.`: it is a folder", "UTF-8", "a.ccl:10:14"],
    );
    ends(folder.cclc("list gone.json"), 3);
    ends(folder.cclc("verify gone.json"), 3);
    ends(folder.cclc("fmt gone.ccl"), 3);
    ends(folder.cclc("build gone.ccl"), 3);
    ends(folder.cclc("dump gone.ccl"), 3);
}

#[test]
fn usage_errors_end_with_2_and_list_what_there_is() {
    let folder = Folder::with("a.ccl", GOOD);
    for (arguments, parts) in [
        ("", &["Usage"][..]),
        ("chekc a.ccl", &["chekc"]),
        ("check", &["FILES"]),
        (
            "check a.ccl -D rank=4",
            &["rank", "did you mean `ranks`?", "ranks: int = 2", "twice: bool = false"],
        ),
        ("build a.ccl -D rank=4", &["did you mean `ranks`?", "ranks: int = 2"]),
        ("check a.ccl -D ranks=2 -D ranks=3", &["is given twice", "ranks: int = 2"]),
        ("check a.ccl -D ranks", &["name=value"]),
        ("check a.ccl -D ranks=", &["name=value"]),
        ("check a.ccl -D ranks=true", &["`ranks`", "`int`", "`bool`", "twice: bool = false"]),
        ("check a.ccl -D twice=2", &["`twice`", "`bool`", "`int`"]),
        ("check a.ccl -D ranks=(", &["-D ranks"]),
        ("check a.ccl -D ranks=4..4", &["empty"]),
        ("check a.ccl -D ranks=0..1000000000", &["at most"]),
        ("build a.ccl -D ranks=2..=3", &["only `check`"]),
        ("check a.ccl -O instances=2 -O instances=3", &["twice"]),
        ("check a.ccl -O instence=2", &["instances"]),
        ("check a.ccl --program gathre", &["did you mean `gather`?", "programs: gather"]),
        ("build a.ccl -o - --emit plan,manifest", &["--emit manifest", "needs a path"]),
        ("build a.ccl --emit plan,cuda -o both", &["`-o` is for one output"]),
        ("build a.ccl --target nvshmem", &["add `--emit cuda`"]),
        ("build a.ccl --emit cuda -o -", &["must be a path that ends with `.cu`"]),
        ("build a.ccl --emit paln", &["no such output"]),
        ("build a.ccl --emit plan=a.json -o b.json", &["two destinations"]),
        ("build a.ccl --emit plan,deps -o -", &["needs a path"]),
        ("check a.ccl --allow E0201", &["always an error"]),
        ("check a.ccl --deny W9999", &["no such code"]),
        ("check a.ccl --allow W0201 --deny W0201", &["two different levels"]),
        ("check a.ccl --time-limit soon", &["soon"]),
        ("explain E9999", &["no code `E9999`"]),
    ] {
        let run = ends(folder.cclc(arguments), 2);
        assert_eq!(run.stdout, "", "{arguments}");
        says(&run.stderr, parts);
    }
    assert_eq!(folder.names(), ["a.ccl"]);
}

#[test]
fn a_file_with_several_programs_needs_a_name_to_build() {
    let second = GOOD.split_once("program gather").unwrap().1;
    let folder = Folder::with("a.ccl", &format!("{GOOD}\nprogram other{second}"));
    let run = ends(folder.cclc("build a.ccl"), 2);
    says(&run.stderr, &["programs: gather, other"]);
    ends(folder.cclc("build a.ccl --program other"), 0);
    assert_eq!(folder.names(), ["a.ccl", "other.json"]);
    ends(folder.cclc("check a.ccl"), 0);
}

#[test]
fn the_plan_goes_where_it_is_sent() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl"), 0);
    assert_eq!(folder.names(), ["a.ccl", "gather.json"]);
    let plan = folder.read("gather.json");
    let json: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(
        (&json["name"], json["gpus"].as_array().unwrap().len()),
        (&Value::from("gather"), 2)
    );
    assert_eq!(ends(folder.cclc("build a.ccl -o -"), 0).stdout, plan);
    assert_eq!(ends(folder.cclc_with("build - -o -", GOOD), 0).stdout, plan);
    ends(folder.cclc("build a.ccl -o b.json"), 0);
    assert_eq!(folder.read("b.json"), plan);
    ends(folder.cclc("build a.ccl --emit plan=c.json"), 0);
    assert_eq!(folder.read("c.json"), plan);
    ends(folder.cclc("build a.ccl -o gone/x.json"), 3);
    assert_eq!(folder.names(), ["a.ccl", "b.json", "c.json", "gather.json"]);
}

#[test]
fn an_unchanged_output_is_not_touched() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl"), 0);
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let plan = fs::File::options().write(true).open(folder.path("gather.json")).unwrap();
    plan.set_modified(long_ago).unwrap();
    let time =
        |folder: &Folder| fs::metadata(folder.path("gather.json")).unwrap().modified().unwrap();
    ends(folder.cclc("build a.ccl"), 0);
    assert_eq!(time(&folder), long_ago);
    ends(folder.cclc("build a.ccl -D ranks=3 -o gather.json"), 0);
    assert_ne!(time(&folder), long_ago);
    assert_eq!(folder.names(), ["a.ccl", "gather.json"]);
}

#[test]
fn an_error_leaves_the_old_output_alone() {
    let folder = Folder::with("a.ccl", &broken());
    folder.write("gather.json", "old");
    ends(folder.cclc("build a.ccl"), 1);
    assert_eq!(folder.read("gather.json"), "old");
    assert_eq!(folder.names(), ["a.ccl", "gather.json"]);
}

#[test]
fn a_name_that_is_a_path_needs_an_output() {
    let folder = Folder::with("a.ccl", GOOD);
    let run = ends(run(folder.command().args(["build", "a.ccl", "-O", "name=\"../x\""]), ""), 2);
    says(&run.stderr, &["../x", "-o PATH"]);
}

#[test]
fn deps_are_a_makefile() {
    let folder = Folder::with("dir/a.ccl", &GOOD.replace("use std", "use \"b.ccl\"::n;\nuse std"));
    folder
        .write("dir/a.ccl", &folder.read("dir/a.ccl").replace("ranks: int = 2", "ranks: int = n"));
    folder.write("dir/b.ccl", "let n = 2;\n");
    ends(folder.cclc("build dir/a.ccl -o p.json --emit plan,deps"), 0);
    assert_eq!(folder.read("p.d"), "p.json: dir/a.ccl dir/b.ccl\n");
    ends(folder.cclc("build dir/a.ccl -o p.json --emit deps=x.mk"), 0);
    assert_eq!(folder.read("x.mk"), folder.read("p.d"));
}

#[test]
fn imports_stay_inside_the_root() {
    let folder = Folder::with("b.ccl", "let n = 2;\n");
    let text = GOOD
        .replace("use std", "use \"../b.ccl\"::n;\nuse std")
        .replace("ranks: int = 2", "ranks: int = n");
    folder.write("dir/a.ccl", &text);
    ends(folder.cclc("check dir/a.ccl"), 0);
    let run = ends(folder.cclc("check dir/a.ccl --root dir"), 1);
    says(&run.stderr, &["dir/a.ccl:1:"]);
    let absolute = format!(
        "check {} --root {}",
        folder.path("dir/a.ccl").display(),
        folder.path("dir").display()
    );
    ends(folder.cclc(&absolute), 1);
}

#[test]
fn colors_are_written_only_where_they_are_wanted() {
    let folder = Folder::with("a.ccl", &broken());
    assert!(!folder.cclc("check a.ccl").stderr.contains('\x1b'));
    assert!(!folder.cclc("check a.ccl --color never").stderr.contains('\x1b'));
    assert!(folder.cclc("check a.ccl --color always").stderr.contains("\x1b["));
}

#[test]
fn json_is_one_report_a_line() {
    let run = ends(Folder::with("a.ccl", &broken()).cclc("check a.ccl --message-format json"), 1);
    let reports = cclc::reports(&run).unwrap();
    let [report] = reports.as_slice() else { panic!("{}", run.stderr) };
    assert_eq!((report.code.as_str(), report.primary.as_ref().unwrap().start), ("E0201", (10, 14)));
}

#[test]
fn sarif_is_one_log() {
    let folder = Folder::with("a.ccl", &broken());
    folder.write("b.ccl", &broken());
    let run = ends(folder.cclc("check a.ccl b.ccl --message-format sarif"), 1);
    let log: Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(log["runs"][0]["results"].as_array().unwrap().len(), 2);
    let run = ends(Folder::with("a.ccl", GOOD).cclc("check a.ccl --message-format sarif"), 0);
    let log: Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(log["runs"][0]["results"], Value::Array(Vec::new()));
}

#[test]
fn lints_have_levels() {
    let folder = Folder::with("a.ccl", &GOOD.replace("allgather;", "{allgather, alltoall};"));
    says(&ends(folder.cclc("check a.ccl"), 0).stderr, &["warning[W0201]", "cclc: 1 warning"]);
    says(&ends(folder.cclc("check a.ccl --deny W0201"), 1).stderr, &["error[W0201]"]);
    says(&ends(folder.cclc("check a.ccl --deny warnings"), 1).stderr, &["error[W0201]"]);
    says(
        &ends(folder.cclc("check a.ccl --deny warnings --warn w0201"), 0).stderr,
        &["warning[W0201]"],
    );
    assert_eq!(ends(folder.cclc("check a.ccl --allow W0201"), 0).stderr, "");
    assert_eq!(ends(folder.cclc("check a.ccl --deny warnings --allow W0201"), 0).stderr, "");
}

#[test]
fn ranges_are_checked_value_by_value() {
    let folder = Folder::with("a.ccl", GOOD);
    says(
        &ends(folder.cclc("check a.ccl -D ranks=2..=5"), 0).stderr,
        &["4 combinations checked, 0 refused"],
    );
    says(&ends(folder.cclc("check a.ccl -D ranks=2..5"), 0).stderr, &["3 combinations"]);
    says(&ends(folder.cclc("check a.ccl -D ranks=2,4,8"), 0).stderr, &["3 combinations"]);
    says(
        &ends(folder.cclc("check a.ccl -D ranks=2,3 -D twice=[true, false]"), 0).stderr,
        &["4 combinations"],
    );
}

#[test]
fn what_a_require_refuses_is_skipped_and_counted() {
    let picky = GOOD.replace("    channel", "    require ranks % 2 == 0, \"even\";\n    channel");
    let folder = Folder::with("a.ccl", &picky);
    says(
        &ends(folder.cclc("check a.ccl -D ranks=2..=6"), 0).stderr,
        &["3 combinations checked, 2 refused"],
    );
    says(&ends(folder.cclc("check a.ccl -D ranks=3"), 1).stderr, &["E0302", "even"]);
}

#[test]
fn one_mistake_in_a_range_is_one_report() {
    let folder = Folder::with("a.ccl", &GOOD.replace("output[rank];", "output[3];"));
    let run = ends(folder.cclc("check a.ccl -D ranks=2..=3"), 1);
    assert_eq!(run.stderr.matches("error[E0401]").count(), 1, "{}", run.stderr);
    says(&run.stderr, &["with ranks = 2; also with ranks = 3"]);
}

#[test]
fn the_time_limit_stops_a_long_elaboration() {
    let slow = GOOD.replace(
        "    block main {",
        "    for i in 0..1000000 { for j in 0..1000000 { let k = i + j; require k >= 0; } }\n    block main {",
    );
    let folder = Folder::with("a.ccl", &slow);
    for command in ["check", "build", "dump"] {
        let run = ends(folder.cclc(&format!("{command} a.ccl --time-limit 0.1")), 1);
        says(&run.stderr, &["error[E0903]", "0.1 s"]);
    }
    assert_eq!(folder.names(), ["a.ccl"]);
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let folder = Folder::with("a.ccl", GOOD);
    for arguments in ["explain", "completions bash", "build a.ccl -o -", "dump a.ccl", "--help"] {
        let mut command = folder.command();
        command.args(cclc::words(arguments)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {said}");
        assert!(!said.contains("bug") && !said.contains("panicked"), "{arguments}: {said}");
    }
}

#[test]
fn fmt_rewrites_in_place_and_only_what_changes() {
    let folder = Folder::with("a.ccl", "let   a=1;\n");
    folder.write("b.ccl", "let a = 1;\n");
    let run = ends(folder.cclc("fmt --check a.ccl b.ccl"), 1);
    assert_eq!((run.stdout.as_str(), folder.read("a.ccl").as_str()), ("a.ccl\n", "let   a=1;\n"));
    assert_eq!(ends(folder.cclc("fmt a.ccl b.ccl"), 0).stdout, "");
    assert_eq!(folder.read("a.ccl"), "let a = 1;\n");
    ends(folder.cclc("fmt --check a.ccl b.ccl"), 0);
    assert_eq!(ends(folder.cclc_with("fmt -", "let   a=1;\n"), 0).stdout, "let a = 1;\n");
    folder.write("c.ccl", "let = ;\n");
    ends(folder.cclc("fmt c.ccl"), 1);
    assert_eq!(folder.read("c.ccl"), "let = ;\n");
}

#[test]
fn explain_knows_every_code() {
    let folder = Folder::with("a.ccl", GOOD);
    let list = ends(folder.cclc("explain"), 0).stdout;
    for code in compiler::diagnostic::Code::ALL {
        assert!(list.contains(&format!("{}  {}\n", code.id(), code.title())));
        assert_eq!(ends(folder.cclc(&format!("explain {}", code.id())), 0).stdout, code.explain());
    }
    ends(folder.cclc("explain e0201"), 0);
}

#[test]
fn completions_exist_for_every_shell() {
    let folder = Folder::with("a.ccl", GOOD);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        says(
            &ends(folder.cclc(&format!("completions {shell}")), 0).stdout,
            &["cclc", "message-format"],
        );
    }
}

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
fn a_run_that_goes_wrong_says_where_and_can_be_had_again() {
    let folder = Folder::with("a.ccl", &GOOD.replace("put input[0]", "put output[1 - rank]"));
    assert_eq!(ends(folder.cclc("run a.ccl"), 1).stdout, "");
    let run = ends(folder.cclc("run a.ccl --unproved --type i32 --seed 7"), 1);
    says(
        &run.stderr,
        &[
            "error[E0904]: `output[",
            // What nobody wrote was sent.
            " of `output` is -286331154, not ",
            "a.ccl:11:9",
            " wrote it last",
            "in the first launch",
            "--seed 7 --schedules 1",
        ],
    );
    says(&run.stdout, &["not right: after 0 of 16 schedules of 3 launches"]);
    let again = folder.cclc("run a.ccl --unproved --type i32 --seed 7 --schedules 1");
    assert_eq!(run.stderr, again.stderr);
    let stuck = GOOD.replace("        signal mem[*];\n", "");
    let folder = Folder::with("a.ccl", &stuck);
    let run = ends(folder.cclc("run a.ccl --unproved"), 1);
    says(&run.stderr, &["error[E0905]: block `main` of rank ", "'s signal on `mem["]);
}

#[test]
fn plans_are_compared() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -D ranks=4 -o a.json"), 0);
    // The same program with blocks' joins and channels' numbers of its own.
    ends(folder.cclc("decompile a.json -o b.ccl"), 0);
    ends(folder.cclc("build b.ccl -o b.json"), 0);
    says(&ends(folder.cclc("diff a.json b.json"), 0).stderr, &["the plans are the same"]);
    // A signal that is lost.
    let signals = "        signal mem[*];\n";
    folder.write("c.ccl", &GOOD.replace(signals, "        if rank != 2 { signal mem[*]; }\n"));
    folder.cclc("build c.ccl -D ranks=4 -o c.json --unproved");
    let run = ends(folder.cclc("diff a.json c.json"), 1);
    says(
        &run.stderr,
        &[
            "E0908",
            "differ in one thing",
            "the second plan does not come to its end",
            "nothing wrong with the first plan",
            "rank 2: block 0, only in the first plan: `signal ",
            "a.json: rank 2, block 0",
        ],
    );
    // What all ranks have is told once; the results are the same.
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
    // Two plans of MSCCL++'s own for one collective: other operations in other blocks, the same outputs.
    let golden = |name: &str| manifest(&format!("tests/goldens/{name}__num_gpus_4.json"));
    let pair = ["single_node_allgather_pkt", "single_node_allgather_pkt_rppkt"].map(golden);
    let run = ends(folder.cclc(&format!("diff {} {}", pair[0].display(), pair[1].display())), 1);
    says(
        &run.stderr,
        &[
            "they compute the same",
            "6 thread blocks in the first plan, 1 in the second",
            "in block 3 of the first plan, in block 0 of the second: `unpack_packets",
            "on ranks 1 to 3",
        ],
    );
    ends(folder.cclc("build a.ccl -D ranks=3 -o e.json"), 0);
    says(
        &ends(folder.cclc("diff a.json e.json"), 1).stderr,
        &["`ranks` is 4 in the first plan and 3"],
    );
    // Programs stand for their plans, and reports name their lines.
    says(&ends(folder.cclc("diff a.ccl a.json -D ranks=4"), 0).stderr, &["the plans are the same"]);
    let run = ends(folder.cclc("diff a.ccl d.ccl -D ranks=4"), 1);
    says(&run.stderr, &["they compute the same", "only in the second plan", "from d.ccl:"]);
    // For large messages only: the sizes at which plans are compared are none that these serve.
    let run = ends(folder.cclc("diff a.ccl d.ccl -D ranks=4 -O message_size=1MiB.."), 1);
    says(&run.stderr, &["they compute the same", "only in the second plan"]);
    folder.write("g.ccl", &GOOD.replace("        copy input[0] -> output[rank];\n", ""));
    let run = ends(folder.cclc("diff a.ccl g.ccl -D ranks=2"), 1);
    says(
        &run.stderr,
        &[
            "different outputs on ranks 0 to 1: `output[0]` of rank 0 has `input[0]` of rank 0 in the first plan only, \
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
    // What cannot be done leaves nothing behind, and says where.
    let lonely = manifest("tests/goldens/unit_tests_flush_flush_test__default.json");
    let run = ends(folder.cclc(&format!("decompile {} -o c.ccl", lonely.display())), 1);
    says(&run.stderr, &["E0907", "rank 0's port channel 0 leads to rank 1"]);
    says(&ends(folder.cclc_with("decompile -", "{}"), 1).stderr, &["E0902", "<stdin>"]);
    ends(folder.cclc("decompile nothing.json -o c.ccl"), 3);
    ends(folder.cclc("decompile"), 2);
    assert!(!folder.names().contains(&"c.ccl".to_owned()));
}

/// Reports of places in plans name the line of source; the source is shown while it is what the plan was built from.
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
    says(&run.stderr, &["warning[W0901]", "p.map.json", "another plan", "--emit plan,map"]);
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

/// Every operation of a plan has its row, pipelines and copies included.
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
        // What the sizes of messages are counted by depends on the collective.
        plan["max_message_size"] = u64::MAX.into();
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
    says(&ends(verify(&|_| (), "-D chunks=2"), 0).stderr, &["N0901"]);
}

/// The chunks of a broadcast's plan do not say who its root is.
#[test]
fn a_root_is_found_by_what_the_outputs_hold() {
    let source = manifest("../stdlib/ccl/algorithms/broadcast_chain.ccl");
    let folder = Folder::with("a.ccl", &fs::read_to_string(source).unwrap());
    ends(folder.cclc("build a.ccl -D ranks=4 -D root=2 -o p.json --emit plan,map"), 0);
    assert_eq!(ends(folder.cclc("verify p.json"), 0).stderr, "");
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
        assert_eq!(run.stderr, "", "{step}:\n{}", folder.read("d.ccl"));
    }
}

#[test]
fn a_dump_says_where_its_lines_come_from() {
    let text = GOOD.replace(
        "        signal mem[*];\n        wait mem[*];\n",
        "        leave(mem);\n    }\n    block side {}\n    barrier main, side;\n    block main {\n",
    ) + "proc leave(c: channel[]) {\n    signal c[*];\n    wait c[*];\n}\n";
    let folder = Folder::with("a.ccl", &text);
    let run = ends(folder.cclc("dump a.ccl --format json"), 0);
    let dump: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(dump["version"], 1);
    assert_eq!(dump["text"], ends(folder.cclc("dump a.ccl"), 0).stdout);
    let lines: Vec<&str> = dump["text"].as_str().unwrap().lines().collect();
    let found: Vec<(&str, Vec<&str>)> = dump["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| {
            let line = lines[link["line"].as_u64().unwrap() as usize - 1];
            let slice = |place: &Value| {
                assert_eq!(place["file"], "a.ccl");
                let at = |key: &str| place[key].as_u64().unwrap() as usize;
                &text[at("start")..at("end")]
            };
            (line.trim(), link["places"].as_array().unwrap().iter().map(slice).collect())
        })
        .collect();
    let (entry, leave) = ("signal mem[*] relaxed;", "leave(mem);");
    assert_eq!(found[0], ("signal mem[0] relaxed;", vec![entry]));
    assert!(found.contains(&("signal mem[0];", vec!["signal c[*];", leave])), "{found:?}");
    assert!(found.contains(&("barrier b[0], b[1];", vec!["barrier main, side;"])), "{found:?}");
    let deep = |line: &&&str| line.starts_with("            ");
    let barriers = found.iter().filter(|(line, _)| line.starts_with("barrier")).count();
    assert_eq!(lines.iter().filter(deep).count(), found.len() - barriers);
}

#[cfg(unix)]
#[test]
fn links_and_devices_are_written_through() {
    let folder = Folder::with("a.ccl", GOOD);
    folder.write("real.json", "old");
    std::os::unix::fs::symlink("real.json", folder.path("link.json")).unwrap();
    ends(folder.cclc("build a.ccl -o link.json"), 0);
    assert!(fs::symlink_metadata(folder.path("link.json")).unwrap().is_symlink());
    assert!(folder.read("real.json").contains("gather"));
    ends(folder.cclc("build a.ccl -o /dev/null"), 0);
    assert!(!Path::new("/dev/null").is_file());
}
