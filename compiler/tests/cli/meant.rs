//! Command lines that mean something else than they say, and what `cclc` makes of them.

use crate::folder::{Folder, GOOD, ends, says};

#[test]
fn ranges_of_other_tools_are_corrected() {
    let folder = Folder::with("a.ccl", GOOD);
    for (given, meant) in [
        ("ranks=2-16", "`-D ranks=2..=16`"),
        ("ranks=2:4", "`-D ranks=2..=4`"),
        ("ranks=2...4", "`-D ranks=2..=4`"),
        ("ranks=2,4-8", "`-D ranks=2,4..=8`"),
    ] {
        for command in ["check", "build"] {
            let run = ends(folder.cclc(&format!("{command} a.ccl -D {given}")), 2);
            says(&run.stderr, &["is written with `..=`", meant]);
        }
    }
}

#[test]
fn a_difference_is_no_range() {
    let folder = Folder::with("a.ccl", GOOD);
    ends(folder.cclc("build a.ccl -D ranks=16-12 -o p.json"), 0);
    assert!(folder.read("p.json").contains("gather_ranks_4"));
}

#[test]
fn a_file_in_place_of_a_command_is_told_its_command() {
    let folder = Folder::with("a.ccl", GOOD);
    folder.write("plans/p.json", "{}");
    for (arguments, command) in [
        ("a.ccl", "`cclc check a.ccl`"),
        ("a.ccl -D ranks=4", "`cclc check a.ccl`"),
        ("plans/p.json", "`cclc verify plans/p.json`"),
        ("plans", "`cclc verify plans`"),
    ] {
        says(&ends(folder.cclc(arguments), 2).stderr, &["is no command", command]);
    }
}

#[test]
fn explain_finds_codes_by_words() {
    let folder = Folder::with("a.ccl", GOOD);
    let page = |code: &str| ends(folder.cclc(&format!("explain {code}")), 0).stdout;
    assert_eq!(page("deadlock"), page("E0601"));
    assert_eq!(page("Unused SCRATCH"), page("W0203"));
    let unused = page("unused");
    assert!(unused.starts_with("W0201  unused import\n"), "{unused}");
    assert_eq!(unused.lines().count(), 5, "{unused}");
    // No title has it.
    says(&page("handshake"), &["E0803  "]);
    says(&ends(folder.cclc("explain zebra"), 2).stderr, &["no page has `zebra`"]);
}

#[test]
fn a_project_with_a_hyphen_has_a_program_with_an_underscore() {
    let folder = Folder::with("a.ccl", GOOD);
    let run = ends(folder.cclc("new my-ring"), 0);
    says(&run.stderr, &["created `my-ring`; its program is `my_ring`"]);
    assert!(folder.read("my-ring/ccl/my_ring.ccl").contains("program my_ring("));
    ends(folder.cclc("check my-ring"), 0);
    says(&ends(folder.cclc("new my.ring"), 2).stderr, &["lowercase letters, digits and `_`"]);
}
