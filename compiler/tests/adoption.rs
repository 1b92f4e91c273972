//! What programs need in other people's builds: manifests, new projects, manual pages, annotations.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its files fails")]

#[path = "support/cclc.rs"]
mod cclc;
#[path = "support/files.rs"]
mod files;
#[path = "support/folder.rs"]
mod folder;

use files::manifest;
use folder::{Folder, GOOD, ends, says};
use serde_json::{Value, json};
use std::fs;

#[test]
fn a_manifest_says_what_a_runtime_chooses_a_plan_by() {
    let folder = Folder::with("a.ccl", GOOD);
    let line = "build a.ccl -o out/p.json --emit plan,manifest=m.json -O message_size=1KiB..=64KiB -O tags={low=1}";
    fs::create_dir(folder.path("out")).unwrap();
    ends(folder.cclc(line), 0);
    let manifest: Value = serde_json::from_str(&folder.read("m.json")).unwrap();
    let plan: Value = serde_json::from_str(&folder.read("out/p.json")).unwrap();
    let entry = &manifest["plans"][0];
    for (key, of_plan) in [("name", "name"), ("collective", "collective"), ("in_place", "inplace")]
        .into_iter()
        .chain(["min_message_size", "max_message_size"].map(|size| (size, size)))
    {
        assert_eq!(entry[key], plan[of_plan], "{key}");
    }
    assert_eq!((&entry["world_size"], &entry["ranks_per_node"]), (&2.into(), &2.into()));
    assert_eq!((&entry["path"], &entry["proved"]), (&"out/p.json".into(), &true.into()));
    assert_eq!((&entry["tags"]["low"], &entry["any_size"]), (&1.into(), &true.into()));
    assert_eq!(entry["constraints"], serde_json::json!(["one-stream"]));
}

/// A note says the same once; whoever launches the plan reads it in the manifest.
#[test]
fn a_manifest_says_what_launches_must_not_do() {
    let case = manifest("tests/cases/limits/a_packet_plan_in_a_graph.ccl");
    let folder = Folder::with("a.ccl", &fs::read_to_string(case).unwrap());
    let said = ends(folder.cclc("build a.ccl -o p.json --emit plan,manifest"), 0).stderr;
    says(&said, &["note[N0802]", "CUDA graph"]);
    assert_eq!(said.matches("N0802").count(), 1, "{said}");
    let manifest: Value = serde_json::from_str(&folder.read("p.manifest.json")).unwrap();
    let constraints = &manifest["plans"][0]["constraints"];
    let words = ["no-graph-replay", "shares-launch-parity", "one-stream"];
    assert_eq!(*constraints, serde_json::json!(words));
    says(&ends(folder.cclc("verify p.json"), 0).stderr, &["note[N0802]", "CUDA graph"]);
    assert!(!ends(folder.cclc("build a.ccl --emit cuda -o p.cu"), 0).stderr.contains("N0802"));
}

/// What MSCCL++'s own choice of a plan does not look at. The grid counts the chunks of the whole message, copies included,
/// at the program's alignment.
#[test]
fn a_manifest_says_what_a_request_must_agree_with() {
    let entry = |arguments: &str, program: &str| -> Value {
        let file = manifest(&format!("../stdlib/ccl/algorithms/{program}.ccl"));
        let folder = Folder::with("a.ccl", &fs::read_to_string(file).unwrap());
        let line = format!("build a.ccl -o p.json --emit plan,manifest -D ranks=4 {arguments}");
        ends(folder.cclc(&line), 0);
        let written: Value = serde_json::from_str(&folder.read("p.manifest.json")).unwrap();
        let entry = &written["plans"][0];
        json!([entry["root"], entry["operator"], entry["grid"]])
    };
    assert_eq!(entry("", "allgather_allpairs"), json!([null, null, 4 * 16]));
    assert_eq!(entry("-D instances=3", "allreduce_ring"), json!([null, "sum", 4 * 3 * 16]));
    assert_eq!(entry("-O alignment=64", "reducescatter_packets"), json!([null, "sum", 4 * 64]));
    assert_eq!(entry("-D root=2 -D pieces=5", "broadcast_chain"), json!([2, null, 5 * 16]));
    assert_eq!(entry("", "broadcast_tree"), json!([0, null, 16]));
}

/// A manifest must name files that can be found again, so a plan on standard output is refused.
#[test]
fn a_manifest_of_a_plan_that_goes_nowhere_is_refused() {
    let folder = Folder::with("a.ccl", GOOD);
    let run = ends(folder.cclc("build a.ccl -o - --emit plan,manifest=m.json"), 2);
    says(&run.stderr, &["--emit manifest", "standard output"]);
    assert_eq!((run.stdout.as_str(), folder.names()), ("", vec!["a.ccl".to_owned()]));
}

#[test]
fn a_manifest_says_that_a_plan_is_not_proved() {
    let folder = Folder::with("a.ccl", &GOOD.replace("wait mem[*];", "wait mem[*] relaxed;"));
    ends(folder.cclc("build a.ccl -o p.json --emit plan,manifest"), 1);
    assert_eq!(folder.names(), ["a.ccl"]);
    ends(folder.cclc("build a.ccl -o p.json --emit plan,manifest --unproved"), 1);
    let manifest: Value = serde_json::from_str(&folder.read("p.manifest.json")).unwrap();
    assert_eq!(manifest["plans"][0]["proved"], false);
}

/// The warning may be accepted; whoever launches the plan still has to know.
#[test]
fn a_manifest_says_whether_the_size_of_messages_may_change() {
    let case =
        |name: &str| fs::read_to_string(manifest(&format!("tests/cases/race/{name}.ccl"))).unwrap();
    let any_size = |text: &str| {
        let folder = Folder::with("a.ccl", text);
        ends(folder.cclc("build a.ccl -o p.json --emit plan,manifest"), 0);
        let manifest: Value = serde_json::from_str(&folder.read("p.manifest.json")).unwrap();
        manifest["plans"][0]["any_size"].clone()
    };
    assert_eq!(any_size(&case("sizes_that_overlap_as_accepted")), false);
    assert_eq!(any_size(&case("sizes_after_a_handshake")), true);
    assert_eq!(any_size(&case("sizes_of_which_there_is_one")), true);
}

/// Paths stay correct when manifests from several folders are joined.
#[test]
fn manifests_are_joined() {
    let folder = Folder::with("a.ccl", GOOD);
    for (name, sizes) in [("x/low", "1KiB..=64KiB"), ("x/high", "65KiB..")] {
        fs::create_dir_all(folder.path("x")).unwrap();
        let line = format!(
            "build a.ccl -o {name}.json --emit plan,manifest -O name={} -O message_size={sizes}",
            &name[2..]
        );
        ends(folder.cclc(&line), 0);
    }
    ends(folder.cclc("manifest x/high.manifest.json x/low.manifest.json -o all.json"), 0);
    ends(folder.cclc("manifest x/low.manifest.json x/high.manifest.json -o same.json"), 0);
    assert_eq!(folder.read("all.json"), folder.read("same.json"));
    let joined: Value = serde_json::from_str(&folder.read("all.json")).unwrap();
    let paths: Vec<&Value> =
        joined["plans"].as_array().unwrap().iter().map(|plan| &plan["path"]).collect();
    assert_eq!(paths, ["x/low.json", "x/high.json"]);
}

#[test]
fn plans_that_a_runtime_cannot_tell_apart_are_refused() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o p.json --emit plan,manifest"), 0);
    ends(folder.cclc("build a.ccl -o q.json --emit plan,manifest"), 0);
    let run = ends(folder.cclc("manifest p.manifest.json q.manifest.json -o all.json"), 1);
    says(&run.stderr, &["error[E0906]", "plans named `gather`", "-O name="]);
    ends(folder.cclc("build a.ccl -o q.json --emit plan,manifest -O name=other"), 0);
    let run = ends(folder.cclc("manifest p.manifest.json q.manifest.json -o all.json"), 1);
    says(
        &run.stderr,
        &[
            "error[E0906]",
            "`p.json` and `q.json` both serve allgather over 2 ranks",
            "-O message_size=",
        ],
    );
    ends(folder.cclc("manifest p.json -o all.json"), 1);
    ends(folder.cclc("manifest nowhere.json -o all.json"), 3);
    assert!(!folder.names().contains(&"all.json".to_owned()));
}

#[test]
fn reports_become_annotations_of_a_pull_request() {
    let folder = Folder::with(
        "a.ccl",
        &GOOD.replace("input[0] -> output[rank]", "inptu[0] -> output[rank]"),
    );
    let run = ends(folder.cclc("check a.ccl --message-format github"), 1);
    says(
        &run.stderr,
        &["::error title=E0201%3A unknown name,file=a.ccl,line=10,col=14,endColumn=19::"],
    );
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
}

/// The project that `new` makes passes all checks, and `new` replaces nothing.
#[test]
fn a_new_project_is_right_from_the_start() {
    let folder = Folder::with("there/a.txt", "");
    ends(folder.cclc("new sub/gather"), 0);
    ends(folder.cclc("check sub/gather/ccl/gather.ccl -D ranks=2..=16"), 0);
    ends(folder.cclc("fmt --check sub/gather/ccl/gather.ccl"), 0);
    for name in ["CMakeLists.txt", ".github/workflows/ccl.yml", "README.md"] {
        let text = folder.read(&format!("sub/gather/{name}"));
        assert!(
            text.contains("ccl") && !text.contains("PROJECT") && !text.contains("REPOSITORY"),
            "{name}: {text}"
        );
    }
    says(&ends(folder.cclc("new there"), 3).stderr, &["it already exists"]);
    says(&ends(folder.cclc("new Two-Words"), 2).stderr, &["lowercase letters"]);
    says(&ends(folder.cclc("new group"), 2).stderr, &["`group`", "not be a reserved word"]);
    assert_eq!(folder.names(), ["sub", "there"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("man pages"), 0);
    let help = ends(folder.cclc("--help"), 0).stdout;
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty())
        })
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.len() > 10, "{commands:?}");
    for command in commands {
        let page = folder.read(&format!("pages/cclc-{command}.1"));
        assert!(page.contains(".SH NAME"), "{page}");
    }
}
