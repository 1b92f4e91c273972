//! `cclc manifest --check`: a manifest of a stranger is taken only if its plans are what it says.

use super::{Folder, GOOD, ends, manifest, says};
use serde_json::{Value, json};
use std::fs;
#[cfg(unix)]
use std::os::unix::fs::{PermissionsExt as _, symlink};

/// A folder with the plan `p.json` and its manifest.
fn built() -> Folder {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -o p.json --emit plan,manifest -O name=p"), 0);
    folder
}

/// Replaces a field of the only plan in `p.manifest.json`.
fn set(folder: &Folder, key: &str, value: Value) {
    let mut manifest: Value = serde_json::from_str(&folder.read("p.manifest.json")).unwrap();
    let plan = manifest.pointer_mut("/plans/0").and_then(Value::as_object_mut).unwrap();
    plan.insert(key.to_owned(), value);
    folder.write("p.manifest.json", &serde_json::to_string_pretty(&manifest).unwrap());
}

const CHECK: &str = "manifest --check p.manifest.json";

#[test]
fn a_manifest_that_is_right_says_how_many_plans_it_has() {
    let folder = built();
    let run = ends(folder.cclc(CHECK), 0);
    assert_eq!(
        (run.stdout.as_str(), run.stderr.as_str()),
        ("", "1 plan is what the manifest says\n")
    );
    ends(folder.cclc("build a.ccl -o q.json --emit plan,manifest -O name=q -D ranks=3"), 0);
    let run = ends(folder.cclc(&format!("{CHECK} q.manifest.json -o all.json")), 0);
    says(&run.stderr, &["2 plans are what the manifests say"]);
    ends(folder.cclc("manifest --check all.json"), 0);
    // From elsewhere, and from standard input.
    let far = Folder::with("a.ccl", GOOD);
    let all = folder.path("all.json");
    ends(far.cclc(&format!("manifest --check {}", all.display())), 0);
    ends(folder.cclc_with("manifest --check -", &folder.read("all.json")), 0);
}

/// Everything that the library's programs say of their plans can be read from the plans.
#[test]
fn what_is_written_for_the_library_is_right() {
    let folder = Folder::with("a.ccl", GOOD);
    let library = fs::read_dir(manifest("../stdlib/ccl/algorithms")).unwrap();
    let mut manifests = Vec::new();
    for (at, program) in library.enumerate() {
        let program = program.unwrap().path();
        let line =
            format!("build {} -O name=p{at} -o p{at}.json --emit plan,manifest", program.display());
        if folder.cclc(&line).status == Some(0) {
            let run = ends(folder.cclc(&format!("manifest --check p{at}.manifest.json")), 0);
            says(&run.stderr, &["1 plan is what"]);
            manifests.push(at);
        }
    }
    assert!(manifests.len() > 10, "only {} programs of the library have plans", manifests.len());
}

/// The plan without its waits, as somebody would leave it for the job that registers it.
#[test]
fn a_plan_that_was_edited_is_another_plan() {
    let folder = built();
    let mut plan: Value = serde_json::from_str(&folder.read("p.json")).unwrap();
    for gpu in plan["gpus"].as_array_mut().unwrap() {
        let operations = gpu["threadblocks"][0]["ops"].as_array_mut().unwrap();
        operations.retain(|operation| operation["name"] != "wait");
    }
    folder.write("p.json", &plan.to_string());
    let run = ends(folder.cclc(&format!("{CHECK} -o all.json --copy copies")), 1);
    says(
        &run.stderr,
        &[
            "error[E0909]: `p.json` is not the plan that `p.manifest.json` describes",
            "p.manifest.json:",
            "the hash of the plan that was described",
            "that it is proved included, holds for another plan",
            "`--emit plan,manifest`; `cclc verify` checks this plan as it is",
        ],
    );
    assert!(!folder.path("all.json").exists() && !folder.path("copies").exists());
}

#[test]
fn what_a_manifest_says_is_compared_with_the_plan() {
    for (key, value, said) in [
        (
            "collective",
            json!("allreduce"),
            "`collective` is \"allreduce\" in the manifest, and \"allgather\" by the plan",
        ),
        ("world_size", json!(4), "`world_size` is 4 in the manifest, and 2 by the plan"),
        ("in_place", json!(true), "`in_place` is true in the manifest, and false by the plan"),
        ("min_message_size", json!(7), "`min_message_size` is 7 in the manifest"),
        ("max_message_size", json!(7), "`max_message_size` is 7 in the manifest"),
        ("grid", json!(1), "`grid` is 1 in the manifest, and 32 by the plan"),
        ("grid", json!(null), "`grid` is null in the manifest, and 32 by the plan"),
        ("operator", json!("sum"), "`operator` is \"sum\" in the manifest, and null by the plan"),
        ("name", json!("q"), "`name` is \"q\" in the manifest, and \"p\" by the plan"),
        (
            "constraints",
            json!([]),
            "`constraints` is [] in the manifest, and [\"one-stream\"] by the plan",
        ),
        (
            "ranks_per_node",
            json!(0),
            "`ranks_per_node` is 0, and 2 ranks cannot be so many in each node",
        ),
        ("root", json!(2), "`root` is 2, and there are 2 ranks"),
        ("types", json!(["f16", "f8"]), "`types` has \"f8\", and the executor has f16, bf16, f32"),
    ] {
        let folder = built();
        set(&folder, key, value);
        let run = ends(folder.cclc(CHECK), 1);
        says(
            &run.stderr,
            &["error[E0909]: `p.manifest.json` says of `p.json` what is not so: ", said],
        );
        assert!(run.stderr.ends_with("cclc: 1 error\n"), "{}", run.stderr);
    }
}

/// A text that counts as true, lists where texts belong, fields that are missing, unknown or given twice: each at its place.
#[test]
fn a_manifest_has_its_types_and_no_others() {
    for (key, value, said) in [
        ("proved", json!("false"), "found string \"false\", expected a boolean"),
        ("proved", json!(1), "found integer `1`, expected a boolean"),
        ("any_size", json!([]), "found an array, expected a boolean"),
        ("name", json!({}), "found an object, expected a string"),
        ("path", json!(["p.json"]), "found an array, expected a string"),
        ("hash", json!(null), "found null, expected a string"),
        ("collective", json!([]), "found an array, expected a string"),
        ("world_size", json!(-2), "found integer `-2`"),
        ("world_size", json!(2.0), "found floating point `2.0`"),
        ("max_message_size", json!(1e300), "found floating point"),
        ("grid", json!("16"), "found string \"16\""),
        ("types", json!("f32"), "found string \"f32\", expected an array"),
        ("types", json!([["f32"]]), "found an array, expected a string"),
        ("tags", json!([]), "found an array"),
        ("tags", json!({ "a": "1" }), "found string \"1\""),
        ("constraints", json!([1]), "found integer `1`, expected a string"),
        ("trusted", json!(true), "does not know the field `trusted`"),
    ] {
        let folder = built();
        set(&folder, key, value);
        for command in [CHECK, "manifest p.manifest.json"] {
            let run = ends(folder.cclc(command), 1);
            says(
                &run.stderr,
                &[
                    "error[E0901]: `p.manifest.json`: this is not a manifest: ",
                    said,
                    "p.manifest.json:",
                    "`cclc build --emit plan,manifest` writes one",
                ],
            );
        }
    }
    let folder = built();
    let text = folder.read("p.manifest.json");
    for (text, said) in [
        (text.replace("\"proved\": true,", ""), "missing field `proved`"),
        (
            text.replace("\"proved\": true,", "\"proved\": false, \"proved\": true,"),
            "duplicate field `proved`",
        ),
        (
            text.replace("\"version\": 1,", "\"version\": 1, \"signed\": true,"),
            "does not know the field `signed`",
        ),
        (
            text.replace("\"version\": 1,", "\"version\": 2, \"signed\": true,"),
            "its version is 2, and this version of cclc reads 1",
        ),
        ("[1, []]".to_owned(), "found an array, expected an object"),
        ("{\"version\": 1, \"plans\": [[]]}".to_owned(), "found an array, expected an object"),
        ("{".to_owned(), "it ends too early"),
        ("no".to_owned(), "it is not JSON"),
    ] {
        folder.write("p.manifest.json", &text);
        says(&ends(folder.cclc(CHECK), 1).stderr, &["error[E0901]", said]);
    }
}

/// Whatever a manifest names, nothing is awaited, and nothing but an ordinary file is read.
#[cfg(unix)]
#[test]
fn a_manifest_may_name_anything() {
    let folder = built();
    let status = std::process::Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap();
    assert!(status.success());
    symlink("loop", folder.path("loop")).unwrap();
    for (path, said) in [
        ("nowhere.json", "cannot read `nowhere.json`: "),
        ("pipe", "cannot read `pipe`: it is not an ordinary file"),
        ("/dev/zero", "cannot read `/dev/zero`: it is not an ordinary file"),
        (".", "it is not a file"),
        ("..", "it is not a file"),
        ("", "names it"),
        ("loop", "cannot read `loop`: "),
        ("-", "cannot read `-`: "),
        ("p\u{0}.json", "names it"),
    ] {
        set(&folder, "path", json!(path));
        let run = ends(folder.cclc(CHECK), 3);
        says(&run.stderr, &["error[E0901]", said, "`p.manifest.json` names it"]);
    }
    // Not a plan, but a file: its text is not shown.
    folder.write("secret.txt", "the secret");
    set(&folder, "path", json!("secret.txt"));
    let run = ends(folder.cclc(CHECK), 1);
    says(&run.stderr, &["E0909", "`secret.txt` is not the plan"]);
    assert!(!run.stderr.contains("the secret"), "{}", run.stderr);
}

#[test]
fn a_plan_of_two_entries_is_read_once() {
    let folder = built();
    let mut manifest: Value = serde_json::from_str(&folder.read("p.manifest.json")).unwrap();
    let mut other = manifest["plans"][0].clone();
    other["name"] = "q".into();
    other["world_size"] = 3.into();
    manifest["plans"].as_array_mut().unwrap().push(other);
    folder.write("p.manifest.json", &manifest.to_string());
    let run = ends(folder.cclc(CHECK), 1);
    says(&run.stderr, &["`p.manifest.json` describes `p.json` in another way than before"]);
}

/// What is copied is what was hashed, under names that no stranger has chosen, for nobody else to read.
#[test]
fn copies_are_what_was_checked() {
    let folder = built();
    ends(folder.cclc(&format!("{CHECK} --copy copies")), 0);
    assert_eq!(folder.read("copies/0.json"), folder.read("p.json"));
    let mut copied: Value = serde_json::from_str(&folder.read("copies/manifest.json")).unwrap();
    assert_eq!(copied["plans"][0]["path"], "0.json");
    copied["plans"][0]["path"] = "p.json".into();
    assert_eq!(copied, serde_json::from_str::<Value>(&folder.read("p.manifest.json")).unwrap());
    #[cfg(unix)]
    assert_eq!(fs::metadata(folder.path("copies")).unwrap().permissions().mode() & 0o777, 0o700);
    ends(folder.cclc("manifest --check copies/manifest.json"), 0);
    let run = ends(folder.cclc(&format!("{CHECK} --copy copies")), 2);
    says(&run.stderr, &["`--copy copies`: it exists already; name a folder that does not"]);
    ends(folder.cclc("manifest p.manifest.json --copy more"), 2);
    ends(folder.cclc(&format!("{CHECK} --copy no/where")), 3);
}
