//! Ways through files: conversations with a server in this process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;
#[path = "support/gather.rs"]
mod gather;

use client::Client;
use gather::GATHER;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn uri(path: &Path) -> String {
    lsp_types::Url::from_file_path(path).unwrap().to_string()
}

/// A folder with these files, and a client in it.
fn workspace(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf, Client) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let client = Client::new(Some(&root), json!({}));
    (folder, root, client)
}

/// The edits before a rename, by file: `line:column-column text`.
fn renamed(
    client: &mut Client,
    root: &Path,
    old: &str,
    new: &str,
) -> BTreeMap<String, Vec<String>> {
    let files = json!([{"oldUri": uri(&root.join(old)), "newUri": uri(&root.join(new))}]);
    let edit = client.request("workspace/willRenameFiles", json!({"files": files}));
    let Some(changes) = edit["changes"].as_object() else { return BTreeMap::new() };
    let shown = changes.iter().map(|(file, edits)| {
        let file = file.rsplit_once(root.file_name().unwrap().to_str().unwrap()).unwrap().1;
        let edits = edits.as_array().unwrap().iter().map(|edit| {
            let (start, end) = (&edit["range"]["start"], &edit["range"]["end"]);
            let text = edit["newText"].as_str().unwrap();
            format!("{}:{}-{} {text}", start["line"], start["character"], end["character"])
        });
        (file.to_owned(), edits.collect())
    });
    shown.collect()
}

fn edits(expected: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
    let edits = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    expected.iter().map(|(file, texts)| ((*file).to_owned(), edits(texts))).collect()
}

#[test]
fn imports_follow_files_that_are_renamed() {
    let (_folder, root, mut client) = workspace(&[
        ("main.ccl", "use \"parts/lib.ccl\"::half;\nuse std::math::gcd;\n"),
        ("parts/lib.ccl", "use \"other.ccl\"::third;\nlet half = 2;\n"),
        ("parts/other.ccl", "let third = 3;\n"),
        ("lib.ccl", "let half = 4;\n"),
    ]);
    // The text in the editor counts.
    client.open(&uri(&root.join("main.ccl")), "\nuse \"parts/lib.ccl\"::half;\n");
    client.settled_silently();
    let mut found = |old: &str, new: &str| renamed(&mut client, &root, old, new);
    assert_eq!(
        found("parts/lib.ccl", "parts/halves.ccl"),
        edits(&[("/main.ccl", &["1:5-18 parts/halves.ccl"])])
    );
    assert_eq!(
        found("parts/lib.ccl", "halves.ccl"),
        edits(&[
            ("/main.ccl", &["1:5-18 halves.ccl"]),
            ("/parts/lib.ccl", &["0:5-14 parts/other.ccl"])
        ])
    );
    // Of a folder, what leads into it is changed, and what stays in it is not.
    assert_eq!(found("parts", "pieces"), edits(&[("/main.ccl", &["1:5-18 pieces/lib.ccl"])]));
    assert_eq!(
        found("main.ccl", "programs/main.ccl"),
        edits(&[("/main.ccl", &["1:5-18 ../parts/lib.ccl"])])
    );
    assert_eq!(found("lib.ccl", "rest.ccl"), edits(&[]));
    client.settled_silently();
    client.finish();
}

#[test]
fn a_definition_is_shown_whole_to_those_who_follow_links() {
    let links = json!({"textDocument": {"definition": {"linkSupport": true}}});
    let (mut with, mut without) = (Client::new(None, links), Client::new(None, json!({})));
    let file = "untitled:Untitled-1";
    let text = format!("/// Of `p`.\nfn half(n: int)\n    -> int = n / 2;\n{GATHER}");
    let text = text.replacen("int = 4", "int = half(8)", 1);
    let at = |line: u32, character: u32| json!({"line": line, "character": character});
    let asked = json!({"textDocument": {"uri": file}, "position": at(5, 31)});
    for client in [&mut with, &mut without] {
        client.open(file, &text);
        client.settled(file, 1);
    }
    let name = json!({"start": at(1, 3), "end": at(1, 7)});
    let found = with.request("textDocument/definition", asked.clone());
    let link = json!([{
        "originSelectionRange": {"start": at(5, 28), "end": at(5, 32)},
        "targetUri": file,
        "targetRange": {"start": at(1, 0), "end": at(2, 19)},
        "targetSelectionRange": name,
    }]);
    assert_eq!(found, link);
    let found = without.request("textDocument/definition", asked);
    assert_eq!(found, json!({"uri": file, "range": name}));
    with.finish();
    without.finish();
}

#[test]
fn programs_of_a_collective_are_found_in_other_files() {
    let (_folder, root, mut client) = workspace(&[
        ("lib.ccl", "collective own(ranks: int) {\n    input[1];\n    output[1];\n}\n"),
        (
            "main.ccl",
            "use \"lib.ccl\"::own;\nprogram p(ranks: int = 1) {\n    collective own(ranks);\n}\n",
        ),
    ]);
    let asked = json!({"textDocument": {"uri": uri(&root.join("lib.ccl"))},
        "position": {"line": 0, "character": 12}});
    let found = client.request("textDocument/implementation", asked);
    assert_eq!(found[0]["uri"], uri(&root.join("main.ccl")));
    assert_eq!(found[0]["range"]["start"], json!({"line": 1, "character": 8}));
    assert_eq!(found.as_array().unwrap().len(), 1);
    client.finish();
}

#[test]
fn names_of_the_library_are_among_the_symbols_of_all_files() {
    let (_folder, _, mut client) = workspace(&[("main.ccl", GATHER)]);
    let mut found = |query: &str| -> Vec<(String, Value)> {
        let found = client.request("workspace/symbol", json!({"query": query}));
        let found = found.as_array().unwrap().iter();
        found
            .map(|one| (one["name"].as_str().unwrap().to_owned(), one["containerName"].clone()))
            .collect()
    };
    assert_eq!(found(""), [("gather".to_owned(), Value::Null)]);
    let gather = found("gather");
    assert_eq!(gather[0], ("gather".to_owned(), Value::Null));
    assert!(gather.contains(&("allgather".to_owned(), json!("std::collectives"))), "{gather:?}");
    assert!(found("ringnext").contains(&("ring_next".to_owned(), json!("std::patterns"))));
    client.finish();
}
