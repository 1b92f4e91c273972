//! Files that an editor knows by other URLs than the server would give them: conversations with a server in this
//! process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;

use client::Client;
use serde_json::{Value, json};
use std::path::Path;

const LIB: &str = "fn helper(r: rank) -> rank = r;\n";
const MAIN: &str = "use \"lib.ccl\"::helper;\nfn g(r: rank) -> rank = helper(r);\n";

fn uri(path: &Path) -> String {
    lsp_types::Url::from_file_path(path).unwrap().to_string()
}

fn document(uri: &str) -> Value {
    json!({"textDocument": {"uri": uri}})
}

/// The codes of a file's diagnostics.
fn codes(client: &mut Client, uri: &str) -> Vec<String> {
    let report = client.request("textDocument/diagnostic", document(uri));
    Client::codes(report["items"].as_array().unwrap()).into_iter().map(str::to_owned).collect()
}

/// The URIs of the symbols of all files, in order.
fn symbols(client: &mut Client) -> Vec<String> {
    let found = client.request("workspace/symbol", json!({"query": ""}));
    let uri = |one: &Value| one["location"]["uri"].as_str().unwrap().to_owned();
    found.as_array().unwrap().iter().map(uri).collect()
}

/// A client of a folder that it knows by a symbolic link; returns also the URIs of a file as the client knows it, and
/// as it is on the disk.
#[cfg(unix)]
fn linked(folder: &Path) -> (Client, String, [String; 2]) {
    let (data, link) = (folder.join("data"), folder.join("link"));
    std::fs::create_dir(&data).unwrap();
    std::os::unix::fs::symlink(&data, &link).unwrap();
    std::fs::write(data.join("lib.ccl"), LIB).unwrap();
    std::fs::write(data.join("main.ccl"), MAIN).unwrap();
    let mut client = Client::new(Some(&link), json!({"textDocument": {"diagnostic": {}}}));
    let main = uri(&link.join("main.ccl"));
    client.open(&main, MAIN);
    (client, main, [link, data].map(|at| uri(&at.join("lib.ccl"))))
}

#[cfg(unix)]
#[test]
fn files_in_a_linked_folder_keep_the_path_that_the_editor_knows() {
    let folder = tempfile::tempdir().unwrap();
    let (mut client, main, [lib, _]) = linked(&folder.path().canonicalize().unwrap());
    let place = json!({"textDocument": {"uri": main}, "position": {"line": 1, "character": 25}});
    assert_eq!(client.request("textDocument/definition", place.clone())["uri"], lib.as_str());
    let links = client.request("textDocument/documentLink", document(&main));
    assert_eq!(links[0]["target"], lib.as_str());
    let mut asked = place;
    asked["newName"] = json!("other");
    let edit = client.request("textDocument/rename", asked);
    let mut changed: Vec<&String> = edit["changes"].as_object().unwrap().keys().collect();
    changed.sort();
    assert_eq!(changed, [&lib, &main]);
    assert_eq!(symbols(&mut client), [lib.as_str(), main.as_str()]);
    let reports = client.request("workspace/diagnostic", json!({"previousResultIds": []}));
    assert_eq!(reports["items"][0]["uri"], lib.as_str());
    client.finish();
}

#[cfg(unix)]
#[test]
fn a_file_that_is_open_under_two_urls_keeps_its_unsaved_text() {
    let folder = tempfile::tempdir().unwrap();
    let (mut client, main, [lib, real]) = linked(&folder.path().canonicalize().unwrap());
    client.open(&lib, &LIB.replacen("helper", "other", 1));
    assert_eq!(codes(&mut client, &main), ["E0206"], "the unsaved text counts");
    let changes = json!({"changes": [{"uri": real, "type": 2}]});
    client.notify("workspace/didChangeWatchedFiles", changes);
    assert_eq!(codes(&mut client, &main), ["E0206"], "it is open under its other URL");
    client.open(&real, LIB);
    assert_eq!(codes(&mut client, &main), [] as [&str; 0], "what was opened last counts");
    client.notify("textDocument/didClose", document(&real));
    assert_eq!(codes(&mut client, &main), ["E0206"], "it is still open");
    client.notify("textDocument/didClose", document(&lib));
    assert_eq!(codes(&mut client, &main), [] as [&str; 0], "the text on the disk counts");
    client.finish();
}

/// VS Code encodes more characters than the server would.
#[test]
fn an_open_file_is_found_once_however_its_url_is_encoded() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("c++");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("lib.ccl"), LIB).unwrap();
    let mut client = Client::new(Some(&root), json!({"textDocument": {"diagnostic": {}}}));
    let encoded = uri(&root.join("lib.ccl")).replace("c++", "c%2B%2B");
    client.open(&encoded, LIB);
    assert_eq!(symbols(&mut client), [encoded]);
    client.finish();
}
