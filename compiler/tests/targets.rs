//! The targets, listed inside files that people write: the settings of the extension for VS Code, the manual. Each list is
//! made of the rows of [`TARGETS`]; `BLESS=1` rewrites it.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

use compiler::target::{TARGETS, Target};
use std::path::Path;

/// A list inside a file.
struct List {
    /// The file, from the root of the repository.
    file: &'static str,
    /// What is before it.
    begin: &'static str,
    /// What is behind it.
    end: &'static str,
    /// What it is.
    text: String,
}

#[test]
fn vs_code_offers_the_targets() {
    let list = |text: fn(&Target) -> String| {
        let items: Vec<String> =
            TARGETS.iter().map(|target| format!("            \"{}\"", text(target))).collect();
        items.join(",\n")
    };
    let words = list(|target| target.word.to_owned());
    let descriptions = list(|target| format!("{}.", target.description));
    check_list(&List {
        file: "editors/vscode/package.json",
        begin: "\"ccl.target\": {\n          \"type\": \"string\",\n          \"default\": \"executor\",\n",
        end: "\n          ],\n          \"description\": \"What programs are checked for",
        text: format!(
            "          \"enum\": [\n{words}\n          ],\n          \"enumDescriptions\": [\n{descriptions}"
        ),
    });
}

#[test]
fn the_manual_lists_the_targets() {
    let words: Vec<String> =
        TARGETS.iter().map(|target| format!("`\"{}\"`", target.word)).collect();
    let (last, others) = words.split_last().unwrap();
    check_list(&List {
        file: "docs/language-server.md",
        begin: "\n| `target` | what programs are checked for: ",
        end: "; as `--target` of `cclc check` | `\"executor\"` |",
        text: format!("{} or {last}", others.join(", ")),
    });
}

/// The default that the lists name.
#[test]
fn the_first_target_is_the_default() {
    assert_eq!(TARGETS.first().map(|target| target.word), Some("executor"));
}

fn check_list(list: &List) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(list.file);
    let committed = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = committed.split_once(list.begin).unwrap();
    let (_, behind) = rest.split_once(list.end).unwrap();
    let fresh = [before, list.begin, &list.text, list.end, behind].concat();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
        return;
    }
    assert!(
        committed == fresh,
        "{}: run BLESS=1 cargo test -p ccl-compiler --test targets, and commit the result:\n{}",
        list.file,
        list.text
    );
}
