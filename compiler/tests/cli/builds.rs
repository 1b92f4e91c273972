//! What build systems and scripts meet: names, paths and modules as projects have them.

use crate::cclc::{Run, run};
use crate::folder::{Folder, GOOD, ends, says};
use serde_json::Value;

/// A folder in which `gather.ccl` imports `parts.ccl`.
fn project() -> Folder {
    let folder = Folder::with("parts.ccl", "/// Two ranks.\nlet two = 2;\n");
    let text = GOOD.replace("use std", "use \"parts.ccl\"::two;\nuse std");
    folder.write("gather.ccl", &text.replace("ranks: int = 2", "ranks: int = two"));
    folder
}

/// Runs `cclc` with these arguments, whatever is in them.
fn cclc(folder: &Folder, arguments: &[&str]) -> Run {
    run(folder.command().args(arguments), "")
}

fn json(folder: &Folder, name: &str) -> Value {
    serde_json::from_str(&folder.read(name)).unwrap()
}

#[test]
fn any_text_names_a_plan() {
    let folder = project();
    for name in ["ring-4", "ring.v1", "2x", "for", "true", "a b", "a//b", "a\"b", "a\\b", "für"] {
        let option = format!("name={name}");
        ends(cclc(&folder, &["build", "gather.ccl", "-o", "p.json", "-O", &option]), 0);
        assert_eq!(json(&folder, "p.json")["name"], name);
    }
    ends(cclc(&folder, &["build", "gather.ccl", "-O", "name=ring-4"]), 0);
    assert!(folder.path("ring-4.json").exists());
    ends(cclc(&folder, &["build", "gather.ccl", "-o", "p.json", "-O", "name=\"in quotes\""]), 0);
    assert_eq!(json(&folder, "p.json")["name"], "in quotes");
}

#[test]
fn paths_may_contain_commas() {
    let folder = project();
    folder.write("a,b/c", "");
    let outputs = "plan=a,b/p,q.json,map=a,b/p.map.json,manifest,deps=a,b/p.d";
    ends(cclc(&folder, &["build", "gather.ccl", "--emit", outputs]), 0);
    assert_eq!(folder.read("a,b/p.d"), "a,b/p,q.json: gather.ccl parts.ccl\n");
    assert_eq!(json(&folder, "a,b/p,q.manifest.json")["plans"][0]["path"], "p,q.json");
    assert!(folder.path("a,b/p.map.json").exists());
}

#[test]
fn nothing_that_is_read_is_replaced() {
    let folder = project();
    ends(folder.cclc("build gather.ccl -o p.json"), 0);
    let texts = || ["gather.ccl", "parts.ccl", "p.json"].map(|name| folder.read(name));
    let before = texts();
    for arguments in [
        "build gather.ccl -o gather.ccl",
        "build gather.ccl -o ./parts.ccl",
        "build gather.ccl -o q.json --emit plan,deps=gather.ccl",
        "dump gather.ccl -o gather.ccl",
        "list p.json -o p.json",
        "decompile p.json -o p.json",
    ] {
        let run = ends(folder.cclc(arguments), 2);
        says(&run.stderr, &["is read, and would be replaced"]);
    }
    assert_eq!(
        (texts(), folder.names()),
        (before, ["gather.ccl", "p.json", "parts.ccl"].map(String::from).to_vec())
    );
}

#[test]
fn outputs_do_not_replace_each_other() {
    let folder = project();
    for arguments in ["-o p.d --emit plan,deps", "--emit plan=p.json,map=./p.json"] {
        let run = ends(folder.cclc(&format!("build gather.ccl {arguments}")), 2);
        says(&run.stderr, &["two outputs would be written to"]);
    }
    assert_eq!(folder.names(), ["gather.ccl", "parts.ccl"]);
    #[cfg(unix)]
    ends(folder.cclc("build gather.ccl --emit plan=/dev/null,map=/dev/null"), 0);
}

#[test]
fn deps_name_a_file() {
    let run = ends(project().cclc("build gather.ccl -o - --emit plan,deps=p.d"), 2);
    says(&run.stderr, &["`--emit deps` names the plan's file"]);
    assert_eq!(run.stdout, "");
}

#[test]
fn a_file_without_programs_takes_any_parameter() {
    let folder = project();
    let run = ends(folder.cclc("check parts.ccl -D ranks=2..=4"), 0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    ends(folder.cclc("check parts.ccl gather.ccl -D rnks=2..=4"), 2);
}

#[test]
fn an_empty_range_is_an_empty_list() {
    let text = GOOD.replace("ranks: int = 2", "ranks: int = 2, at: int[] = [1]");
    let folder = Folder::with(
        "a.ccl",
        &text.replace("    channel", "    require at == [], \"at\";\n    channel"),
    );
    ends(folder.cclc("build a.ccl -D at=3..3 -o p.json"), 0);
    says(&ends(folder.cclc("check a.ccl -D ranks=3..3"), 2).stderr, &["the range is empty"]);
    says(&ends(folder.cclc("check a.ccl -D rnks=3..3"), 2).stderr, &["no parameter is called"]);
}

#[test]
fn one_folder_has_one_path_in_manifests() {
    let folder = project();
    folder.write("plans/sub/c", "");
    folder.write("elsewhere/c", "");
    ends(folder.cclc("build gather.ccl -o plans/sub/p.json --emit plan,manifest"), 0);
    ends(folder.cclc("manifest elsewhere/../plans/sub/p.manifest.json -o plans/all.json"), 0);
    assert_eq!(json(&folder, "plans/all.json")["plans"][0]["path"], "sub/p.json");
    ends(
        folder.cclc(
            "build gather.ccl --emit plan=plans/q.json,manifest=plans/sub/../q.manifest.json",
        ),
        0,
    );
    assert_eq!(json(&folder, "plans/q.manifest.json")["plans"][0]["path"], "q.json");
}

#[test]
fn an_empty_list_is_one_of_any_type() {
    let lists = "ranks: int = 2, flags: bool[] = [true], table: bool[][] = [[true]]";
    let text = GOOD.replace("ranks: int = 2", lists);
    let used = "    require flags.len() + table.len() < 9, \"used\";\n    channel";
    let folder = Folder::with("a.ccl", &text.replace("    channel", used));
    for list in ["flags=[]", "flags={}", "table=[]", "table=[[]]", "table=[[], [true]]"] {
        ends(cclc(&folder, &["build", "a.ccl", "-o", "p.json", "-D", list]), 0);
    }
    for list in ["flags=[1]", "table=[1]", "table=[[], [1]]"] {
        let run = ends(cclc(&folder, &["build", "a.ccl", "-o", "p.json", "-D", list]), 2);
        says(&run.stderr, &["is of type `bool[]"]);
    }
}

#[test]
fn tables_of_other_shapes_have_other_names() {
    let text = GOOD.replace("ranks: int = 2", "ranks: int = 2, table: int[][] = [[1]]");
    let used = "    require table.len() < 3, \"used\";\n    channel";
    let folder = Folder::with("a.ccl", &text.replace("    channel", used));
    for table in ["[[1, 2, 3]]", "[[1], [2, 3]]", "[[1, 2], [3]]"] {
        ends(cclc(&folder, &["build", "a.ccl", "-D", &format!("table={table}")]), 0);
    }
    let plans = ["1-2-3", "1-2.3", "1.2-3"].map(|table| format!("gather_table_{table}.json"));
    assert_eq!(folder.names(), [&["a.ccl".to_owned()], plans.as_slice()].concat());
}

#[test]
fn a_root_is_a_folder() {
    for root in ["nowhere", "gather.ccl"] {
        let run = ends(project().cclc(&format!("check gather.ccl --root {root}")), 3);
        says(&run.stderr, &[&format!("cannot read `{root}`: it is not a folder")]);
    }
}

#[test]
fn each_combination_of_parameters_becomes_a_plan() {
    let folder = Folder::with("a.ccl", GOOD);
    let run = ends(folder.cclc("build a.ccl -D ranks=2..=4 --emit plan,manifest"), 0);
    says(&run.stderr, &["`gather`: 3 combinations built, 0 refused by a `require`"]);
    let names = ["gather", "gather_ranks_3", "gather_ranks_4"];
    let files =
        names.iter().flat_map(|name| [".json", ".manifest.json"].map(|end| format!("{name}{end}")));
    assert_eq!(folder.names(), ["a.ccl".to_owned()].into_iter().chain(files).collect::<Vec<_>>());
    let plan = folder.read("gather_ranks_3.json");
    assert_eq!(ends(folder.cclc("build a.ccl -D ranks=3 -o -"), 0).stdout, plan);
    ends(folder.cclc("build a.ccl -D ranks=5,6 -D twice=[false, true]"), 0);
    assert!(folder.path("gather_ranks_6_twice_true.json").exists(), "{:?}", folder.names());
}

#[test]
fn combinations_that_a_require_refuses_become_no_plans() {
    let picky = GOOD.replace("    channel", "    require ranks % 2 == 0, \"even\";\n    channel");
    let folder = Folder::with("a.ccl", &picky);
    let run = ends(folder.cclc("build a.ccl -D ranks=3..=5"), 0);
    says(&run.stderr, &["1 combination built, 2 refused"]);
    assert_eq!(folder.names(), ["a.ccl", "gather_ranks_4.json"]);
    says(&ends(folder.cclc("build a.ccl -D ranks=3,5"), 1).stderr, &["E0302", "0 combinations"]);
}

#[test]
fn the_first_combination_with_an_error_ends_a_build() {
    let folder = Folder::with("a.ccl", &GOOD.replace("copy input[0]", "copy input[ranks / 3]"));
    let run = ends(folder.cclc("build a.ccl -D ranks=2..=5"), 1);
    says(&run.stderr, &["error[E0401]", "with ranks = 3", "1 combination built"]);
    assert_eq!(run.stderr.matches("error[").count(), 1, "{}", run.stderr);
    assert_eq!(folder.names(), ["a.ccl", "gather.json"]);
}

#[test]
fn plans_of_one_name_do_not_replace_each_other() {
    let named = GOOD.replace("options { ", "options { name = \"one\"; ");
    let folder = Folder::with("a.ccl", &named);
    let run = ends(folder.cclc("build a.ccl -D ranks=2,3"), 2);
    says(&run.stderr, &["would all be written to `one.json`", "option `name`"]);
}
