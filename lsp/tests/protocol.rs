//! What the protocol promises, and what editors rely on: conversations with a server in this process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

#[path = "support/client.rs"]
mod client;

use client::{Client, RUNNING};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

const URI: &str = "untitled:Untitled-1";

/// A program without mistakes; its race is made by taking the first `wait` out.
const GATHER: &str = "use std::collectives::allgather;

program gather(ranks: int = 4) {
    collective allgather(ranks, in_place = true);
    channel mem[p in peers] = memory(p);
    block main {
        signal mem[*] relaxed;
        wait mem[*] relaxed;
        for p in peers { put output[rank] -> p.output[rank] via mem[p]; }
        signal mem[*];
        wait mem[*];
    }
}
";

fn raced() -> String {
    GATHER.replacen("        wait mem[*] relaxed;\n", "", 1)
}

fn position(line: u32, character: u32) -> Value {
    json!({"line": line, "character": character})
}

fn at(uri: &str, line: u32, character: u32) -> Value {
    json!({"textDocument": {"uri": uri}, "position": position(line, character)})
}

#[test]
fn diagnostics_follow_the_text() {
    let mut client = Client::new(None, json!({}));
    client.open(URI, GATHER);
    assert_eq!(client.settled(URI, 1), [] as [Value; 0]);
    client.replace(URI, 2, &raced());
    let raced = client.settled(URI, 2);
    assert!(!raced.is_empty());
    let first = &raced[0];
    assert_eq!((&first["source"], &first["severity"]), (&json!("ccl"), &json!(1)));
    let page = first["codeDescription"]["href"].as_str().unwrap();
    assert!(page.ends_with(&format!("{}.md", first["code"].as_str().unwrap())), "{page}");
    let range = json!({"start": position(6, 0), "end": position(6, 0)});
    client.change(URI, 3, json!([{"range": range, "text": "        wait mem[*] relaxed;\n"}]));
    // In another order than in the text above, and yet without a race.
    let found = client.settled(URI, 3);
    assert_ne!(found, raced);
    client.replace(URI, 4, &GATHER.replacen("put output", "put (output", 1));
    assert_eq!(Client::codes(&client.settled(URI, 4)), ["E0105"]);
    client.replace(URI, 5, GATHER);
    assert_eq!(client.settled(URI, 5), [] as [Value; 0]);
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": URI}}));
    let gone = client.wait(|message| message["method"] == "textDocument/publishDiagnostics");
    assert_eq!(gone["params"], json!({"uri": URI, "diagnostics": []}));
    client.finish();
}

#[test]
fn columns_are_counted_as_agreed() {
    let text = "use std::collectives::allgather;\nlet s = \"é𝔘\" + x;\n";
    for (offered, column) in [(json!(["utf-8", "utf-16"]), 19), (json!(["utf-16"]), 16)] {
        let capabilities = json!({"general": {"positionEncodings": offered}});
        let mut client = Client::bare();
        let answer = client.initialize(None, capabilities);
        let expected = if column == 19 { "utf-8" } else { "utf-16" };
        assert_eq!(answer["capabilities"]["positionEncoding"], expected);
        client.open(URI, text);
        let found = client.settled(URI, 1);
        let unknown = found.iter().find(|one| one["code"] == "E0201").unwrap();
        assert_eq!(unknown["range"]["start"], position(1, column));
        client.finish();
    }
}

#[test]
fn files_are_read_from_the_editor_before_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let uri = |name: &str| lsp_types::Url::from_file_path(root.join(name)).unwrap().to_string();
    let (main, lib) = (uri("main.ccl"), uri("lib.ccl"));
    std::fs::write(root.join("lib.ccl"), "let other = 1;\n").unwrap();
    let mut client = Client::new(Some(&root), json!({}));
    let text =
        format!("use \"lib.ccl\"::half;\n{}", GATHER.replacen("int = 4", "int = half * 2", 1));
    client.open(&main, &text);
    assert_eq!(Client::codes(&client.settled(&main, 1)), ["E0206"]);
    client.open(&lib, "let half = 2;\n");
    assert_eq!(client.settled(&lib, 1), [] as [Value; 0]);
    assert_eq!(client.settled(&main, 1), [] as [Value; 0], "the unsaved text counts");
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": lib}}));
    assert_eq!(Client::codes(&client.settled(&main, 1)), ["E0206"], "the text on the disk counts");
    client.wait(|message| message["params"]["uri"] == lib);
    std::fs::write(root.join("lib.ccl"), "let half = 1;\n").unwrap();
    let changes = json!({"changes": [{"uri": lib, "type": 2}]});
    client.notify("workspace/didChangeWatchedFiles", changes);
    assert_eq!(client.settled(&main, 1), [] as [Value; 0], "it has changed on the disk");
    client.finish();
}

#[test]
fn diagnostics_on_demand_are_those_of_the_text_at_the_time() {
    let capabilities = json!({"textDocument": {"diagnostic": {}},
        "workspace": {"diagnostics": {"refreshSupport": true}, "diagnostic": {"refreshSupport": true}}});
    let mut client = Client::new(None, capabilities);
    client.open(URI, GATHER);
    let pull =
        |known: Option<&Value>| json!({"textDocument": {"uri": URI}, "previousResultId": known});
    let clean = client.request("textDocument/diagnostic", pull(None));
    assert_eq!((&clean["kind"], &clean["items"]), (&json!("full"), &json!([])));
    let id = clean["resultId"].clone();
    let same = client.request("textDocument/diagnostic", pull(Some(&id)));
    assert_eq!(same, json!({"kind": "unchanged", "resultId": id}));
    client.replace(URI, 2, &raced());
    let broken = client.request("textDocument/diagnostic", pull(Some(&id)));
    assert_eq!(broken["kind"], "full");
    assert_ne!(broken["items"], json!([]));
    client.finish();
}

#[test]
fn a_thousand_edits_are_applied_in_order() {
    let mut client = Client::new(None, json!({}));
    client.open(URI, "");
    for i in 0..1000 {
        let new = format!("// {i}\n");
        let place = position(i, 0);
        let change = json!([{"range": {"start": place, "end": place}, "text": new}]);
        client.change(URI, i as i32 + 2, change);
    }
    let place = position(1000, 0);
    let change = json!([{"range": {"start": place, "end": place}, "text": "let x = ;\n"}]);
    client.change(URI, 1002, change);
    let symbols =
        client.request("textDocument/documentSymbol", json!({"textDocument": {"uri": URI}}));
    assert_eq!(symbols[0]["selectionRange"]["start"], position(1000, 4));
    client.wait(|message| message["params"]["version"] == 1002);
    client.settled_silently();
    client.finish();
}

#[test]
fn names_lead_to_each_other() {
    let mut client = Client::new(None, json!({}));
    client.open(URI, GATHER);
    assert_eq!(client.settled(URI, 1), [] as [Value; 0]);
    let found = client.request("textDocument/definition", at(URI, 8, 66));
    assert_eq!((&found["uri"], &found["range"]["start"]), (&json!(URI), &position(4, 12)));
    let library = client.request("textDocument/definition", at(URI, 3, 17));
    assert!(library["uri"].as_str().unwrap().ends_with("collectives.ccl"), "{library}");
    let mut asked = at(URI, 4, 13);
    asked["context"] = json!({"includeDeclaration": true});
    let places = client.request("textDocument/references", asked);
    assert_eq!(places.as_array().unwrap().len(), 6);
    let mut asked = at(URI, 8, 66);
    asked["newName"] = json!("memory_of");
    let edit = client.request("textDocument/rename", asked.clone());
    assert_eq!(edit["changes"][URI].as_array().unwrap().len(), 6);
    for (taken, why) in [("gather now", "no name"), ("put", "taken"), ("ranks", "taken")] {
        asked["newName"] = json!(taken);
        let id = client.ask("textDocument/rename", asked.clone());
        let message = client.response(id)["error"]["message"].clone();
        assert!(
            message.as_str().is_some_and(|message| message.contains(why)),
            "{taken}: {message}"
        );
    }
    client.finish();
}

#[test]
fn a_signal_leads_to_its_waits_and_a_channel_to_its_other_end() {
    let mut client = Client::new(None, json!({}));
    let text = GATHER
        .replacen(
            "channel mem[p in peers] = memory(p);",
            "channel mem[p in peers] = memory(p) to back[rank];\n    \
            channel back[p in peers] = memory(p) to mem[rank];",
            1,
        )
        .replacen("wait mem[*] relaxed", "wait back[*] relaxed", 1)
        .replacen(
            "signal mem[*];\n        wait mem[*];",
            "signal mem[*];\n        wait back[*];",
            1,
        );
    client.open(URI, &text);
    assert_eq!(client.settled(URI, 1), [] as [Value; 0]);
    let mut lines = |line, character| {
        let mut asked = at(URI, line, character);
        asked["context"] = json!({"includeDeclaration": false});
        let places = client.request("textDocument/references", asked);
        let places = places.as_array().unwrap().iter();
        places.map(|place| place["range"]["start"]["line"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(lines(7, 10), [8], "the first signal lets the first wait pass");
    assert_eq!(lines(11, 10), [10], "the last wait takes the last signal");
    assert_eq!(lines(4, 13), [5, 7, 9, 10, 5], "uses, then the other end");
    client.finish();
}

#[test]
fn a_text_is_formatted_without_moving_what_stays() {
    let mut client = Client::new(None, json!({}));
    let loose = GATHER.replacen("ranks: int = 4", "ranks:int=4", 1);
    client.open(URI, &loose);
    assert_eq!(client.settled(URI, 1), [] as [Value; 0]);
    let options =
        json!({"textDocument": {"uri": URI}, "options": {"tabSize": 4, "insertSpaces": true}});
    let edits = client.request("textDocument/formatting", options);
    assert_eq!(edits.as_array().unwrap().len(), 3);
    assert!(edits.as_array().unwrap().iter().all(|edit| edit["newText"] == " "));
    client.finish();
}

#[test]
fn unknown_words_are_mended() {
    let mut client = Client::new(None, json!({}));
    client.open(URI, &GATHER.replacen("via mem[p]", "via mme[p]", 1));
    let found = client.settled(URI, 1);
    assert_eq!(Client::codes(&found), ["E0201"]);
    let asked = json!({"textDocument": {"uri": URI}, "range": found[0]["range"],
        "context": {"diagnostics": found}});
    let actions = client.request("textDocument/codeAction", asked);
    assert_eq!(actions[0]["title"], "Write `mem`");
    assert_eq!(actions[0]["edit"]["changes"][URI][0]["newText"], "mem");
    client.finish();
}

#[test]
fn null_is_no_parameter_and_exit_is_heard() {
    let mut client = Client::new(None, json!({}));
    client.request("shutdown", Value::Null);
    assert_eq!(client.exited.load(Ordering::SeqCst), RUNNING);
    client.notify("exit", json!(null));
    let mut client = Client::new(None, json!({}));
    client.notify("exit", Value::Null);
    while client.exited.load(Ordering::SeqCst) == RUNNING {
        std::thread::yield_now();
    }
    assert_eq!(client.exited.load(Ordering::SeqCst), 1, "without `shutdown` it is an abrupt end");
}
