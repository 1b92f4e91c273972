//! Folders on the command line.

use crate::folder::{Folder, GOOD, ends, says};

/// A folder with programs and plans at several depths, and what is none of them.
fn tree() -> Folder {
    let folder = Folder::with("src/b.ccl", &GOOD.replace("copy input[0]", "copy inptu[0]"));
    folder.write("src/a.ccl", "let   a=1;\n");
    folder.write("src/deep/er/c.ccl", &GOOD.replace("copy input[0]", "copy inptu[0]"));
    folder.write("src/.hidden/d.ccl", "let = ;\n");
    folder.write("src/notes.txt", "");
    folder.write("empty/notes.txt", "");
    folder
}

#[test]
fn check_takes_all_programs_of_a_folder_in_order() {
    let run = ends(tree().cclc("check src --message-format short"), 1);
    let files: Vec<&str> = run.stderr.lines().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(files, ["src/b.ccl", "src/deep/er/c.ccl"]);
    let run = ends(tree().cclc("check . --message-format short"), 1);
    assert!(run.stderr.starts_with("src/b.ccl:10:14: "), "{}", run.stderr);
}

#[test]
fn fmt_takes_all_programs_of_a_folder() {
    let folder = tree();
    assert_eq!(ends(folder.cclc("fmt --check src"), 1).stdout, "src/a.ccl\n");
    ends(folder.cclc("fmt src"), 0);
    assert_eq!(folder.read("src/a.ccl"), "let a = 1;\n");
    assert_eq!(folder.read("src/.hidden/d.ccl"), "let = ;\n");
}

#[test]
fn verify_takes_all_plans_of_a_folder_and_no_maps_or_manifests() {
    let folder = Folder::with("a.ccl", GOOD);
    folder.write("plans/deep/notes.txt", "");
    ends(folder.cclc("build a.ccl -o plans/a.json --emit plan,map,manifest"), 0);
    ends(folder.cclc("manifest plans/a.manifest.json -o plans/manifest.json"), 0);
    ends(folder.cclc("build a.ccl -O name=other -o plans/b.json"), 0);
    let said = ends(folder.cclc("verify plans"), 0).stderr;
    assert!(said.contains("2 plans checked, 0 refused"), "{said}");
    folder.write("plans/deep/roadmap.json", "{}");
    let run = ends(folder.cclc("verify plans --message-format short"), 1);
    assert!(run.stderr.starts_with("plans/deep/roadmap.json:"), "{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
}

#[test]
fn a_folder_without_what_a_command_is_for_is_an_error() {
    let folder = tree();
    for (command, says_what) in [
        ("check empty", "there is no `.ccl` file in this folder"),
        ("fmt empty", "there is no `.ccl` file in this folder"),
        ("verify src", "there is no plan in this folder"),
    ] {
        let run = ends(folder.cclc(command), 3);
        says(&run.stderr, &["cannot read `", says_what]);
    }
}

#[cfg(unix)]
#[test]
fn links_to_folders_are_not_followed() {
    let folder = Folder::with("src/a.ccl", GOOD);
    std::os::unix::fs::symlink(".", folder.path("src/again")).unwrap();
    let run = ends(folder.cclc("check src -D ranks=2,3 --message-format short"), 0);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    std::os::unix::fs::symlink("src", folder.path("link")).unwrap();
    ends(folder.cclc("check link"), 0);
}
