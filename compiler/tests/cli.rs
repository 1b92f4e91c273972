//! The command line as a user sees it: the built `cclc` in a folder of its own.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its files fails")]

#[cfg(unix)]
#[path = "cli/bounded.rs"]
mod bounded;
#[path = "cli/bounds.rs"]
mod bounds;
#[path = "cli/builds.rs"]
mod builds;
#[path = "support/cclc.rs"]
mod cclc;
#[path = "support/files.rs"]
mod files;
#[path = "support/folder.rs"]
mod folder;
#[path = "cli/folders.rs"]
mod folders;
#[cfg(unix)]
#[path = "cli/endless.rs"]
mod endless;
#[path = "cli/foreign.rs"]
mod foreign;
#[path = "cli/hostile.rs"]
mod hostile;
#[path = "cli/kernels.rs"]
mod kernels;
#[path = "cli/manifests.rs"]
mod manifests;
#[path = "cli/meant.rs"]
mod meant;
#[path = "cli/needless.rs"]
mod needless;
#[path = "cli/plan_warnings.rs"]
mod plan_warnings;
#[path = "cli/plans.rs"]
mod plans;
#[path = "cli/run.rs"]
mod running;
#[path = "cli/served.rs"]
mod served;
#[path = "cli/strangers.rs"]
mod strangers;
#[path = "cli/summaries.rs"]
mod summaries;
#[path = "cli/synthesis.rs"]
mod synthesis;
#[path = "cli/watch.rs"]
mod watch;

use cclc::run;
use files::manifest;
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
fn a_quiet_check_of_what_is_right_says_nothing() {
    let run = ends(Folder::with("a.ccl", GOOD).cclc("check a.ccl -q"), 0);
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
    let run = ends(folder.cclc("check gone.ccl latin.ccl a.ccl --message-format short"), 3);
    says(&run.stderr, &["error[E0901]: cannot read `gone.ccl`", "UTF-8", "a.ccl:10:14"]);
    says(&ends(folder.cclc("build ."), 3).stderr, &["`.`: it is a folder"]);
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
        ("dump a.ccl -D ranks=2..=3", &["only `check` and `build` take several values"]),
        (
            "build a.ccl -D ranks=2..=4 -o p.json",
            &["`-D` asks for 3 plans, and `-o` names one file"],
        ),
        ("build a.ccl -D ranks=2,3 --emit plan,map=p.map", &["`--emit map=..` names one file"]),
        ("build a.ccl -D ranks=2,3 -O name=x", &["`-O name=..` gives all of them one name"]),
        ("check a.ccl -O instances=2 -O instances=3", &["twice"]),
        ("check a.ccl -O instence=2", &["instances"]),
        ("check a.ccl --program gathre", &["did you mean `gather`?", "programs: gather"]),
        ("build a.ccl -o - --emit plan,manifest", &["--emit manifest", "needs a path"]),
        ("build a.ccl --emit plan,cuda -o both", &["`-o` is for one output"]),
        ("build a.ccl --target nvshmem", &["add `--emit cuda`"]),
        ("build a.ccl --emit cuda -o -", &["must be a path that ends with `.cu`"]),
        ("build a.ccl --emit paln", &["no such output"]),
        ("build a.ccl --emit plan=b.json,mpa=b.map.json", &["`--emit mpa`", "no such output"]),
        ("build a.ccl --emit plan=b.json,", &["no such output"]),
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
    assert_eq!(ends(folder.cclc("check a.ccl -q --allow W0201"), 0).stderr, "");
    assert_eq!(ends(folder.cclc("check a.ccl -q --deny warnings --allow W0201"), 0).stderr, "");
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
    says(&ends(folder.cclc("check a.ccl -D ranks=2,4..=6"), 0).stderr, &["4 combinations"]);
    says(&ends(folder.cclc("check a.ccl -D ranks=2..4,6..=7"), 0).stderr, &["4 combinations"]);
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
    says(
        &ends(folder.cclc("check a.ccl -D ranks=3,5"), 1).stderr,
        &["E0302", "even", "with ranks = 3; also with ranks = 5", "0 combinations checked"],
    );
}

/// Values that exclude each other are no mistake where several were asked for.
#[test]
fn impossible_combinations_are_skipped_and_counted() {
    let of =
        |parameter: &str| GOOD.replace("ranks: int = 2", &format!("ranks: int = 2, {parameter}"));
    let nodes = Folder::with("a.ccl", &of("ranks_per_node: int = 1"));
    says(
        &ends(nodes.cclc("check a.ccl -D ranks=2,3,4 -D ranks_per_node=1,2"), 0).stderr,
        &["5 combinations checked, 0 refused by a `require`, 1 impossible"],
    );
    says(
        &ends(nodes.cclc("check a.ccl -D ranks=3,5 -D ranks_per_node=2,4"), 1).stderr,
        &["E0314", "0 combinations checked", "4 impossible"],
    );
    says(&ends(nodes.cclc("check a.ccl -D ranks=2,3 -D ranks_per_node=2"), 1).stderr, &["E0314"]);
    let rooted = Folder::with("a.ccl", &of("root: rank = 0"));
    says(
        &ends(rooted.cclc("check a.ccl -D ranks=2,3 -D root=0..3"), 0).stderr,
        &["5 combinations checked", "1 impossible"],
    );
    says(&ends(rooted.cclc("check a.ccl -D ranks=2,3 -D root=2"), 1).stderr, &["E0303"]);
}

#[test]
fn one_mistake_in_a_range_is_one_report() {
    let folder = Folder::with("a.ccl", &GOOD.replace("output[rank];", "output[3];"));
    let run = ends(folder.cclc("check a.ccl -D ranks=2..=3"), 1);
    assert_eq!(run.stderr.matches("error[E0401]").count(), 1, "{}", run.stderr);
    says(&run.stderr, &["with ranks = 2; also with ranks = 3"]);
}

/// With two ranks, a rank writes too late; with three, one also reads too early.
#[test]
fn one_mistake_is_one_report_whatever_comes_of_it() {
    let ring = fs::read_to_string(manifest("../stdlib/ccl/algorithms/allgather_ring.ccl")).unwrap();
    let relaxed = ring.replace("signal ring[b, next];", "signal ring[b, next] relaxed;");
    let folder = Folder::with("a.ccl", &relaxed);
    says(&ends(folder.cclc("check a.ccl -D ranks=4"), 1).stderr, &["error[E0501]"]);
    let run = ends(folder.cclc("check a.ccl -D ranks=2..=4"), 1);
    assert_eq!(run.stderr.matches("error[").count(), 1, "{}", run.stderr);
    says(
        &run.stderr,
        &["error[E0512]", "with ranks = 2; also with ranks = 3 (E0501); ranks = 4 (E0501)"],
    );
}

/// If a collective promises more than the author thought, the report says how many chunks nothing
/// writes.
#[test]
fn what_nothing_writes_is_counted() {
    let put = "        put input[0] -> (p in peers: p.output[rank]) via mem[*];\n";
    let folder = Folder::with("a.ccl", &GOOD.replace(put, ""));
    let run = ends(folder.cclc("check a.ccl -D ranks=4"), 1);
    says(
        &run.stderr,
        &["`output[1]` of rank 0", "nothing writes 3 of the 4 chunks of `output` of rank 0"],
    );
    assert!(!run.stderr.contains("not promised"), "{}", run.stderr);
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
