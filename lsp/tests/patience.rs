//! What the client is shown while a check takes seconds: conversations with a server in this
//! process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;

use client::Client;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const SLOW: &str = "untitled:Slow";
const OTHER: &str = "untitled:Other";

/// A program with a race, and one that takes a second or more to evaluate: its function mentions the rank, so that its
/// result is not remembered for the other ranks.
const TEXT: &str = "use std::collectives::allgather;

fn work(n: int) = sum(i in 0..n: i % 7 + rank);

program raced(ranks: int = 4) {
    collective allgather(ranks, in_place = true);
    channel mem[p in peers] = memory(p);
    block main {
        for p in peers { put output[rank] -> p.output[rank] via mem[p]; }
        signal mem[*];
        wait mem[*];
    }
}

program slow(ranks: int = 4) {
    require work(500000) > 0, \"work\";
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

fn published(uri: &str) -> impl Fn(&Value) -> bool {
    move |message| {
        message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == uri
    }
}

fn errors(message: &Value) -> Vec<(u64, Value)> {
    let found = message["params"]["diagnostics"].as_array().unwrap().iter();
    let errors = found.filter(|one| one["severity"] == 1);
    errors
        .map(|one| (one["range"]["start"]["line"].as_u64().unwrap(), one["code"].clone()))
        .collect()
}

#[test]
fn what_was_found_stays_until_it_is_known_anew() {
    let mut client = Client::new(None, json!({}));
    client.open(SLOW, TEXT);
    let first = client.wait(published(SLOW));
    let before = errors(&first);
    assert!(!before.is_empty(), "what is known is not kept back by what takes long: {first}");
    client.settled_silently();
    // Both programs must be checked again, and everything has moved.
    let text = TEXT.replacen("i % 7", "i % 5", 1);
    let text = text.replacen("\nfn work", "\n\n\nfn work", 1);
    client.replace(SLOW, 2, &text.replacen("main {\n", "main {\n        let _x = 0;\n", 1));
    let next = client.wait(published(SLOW));
    assert_eq!(next["params"]["version"], 2);
    assert_eq!(errors(&next).len(), before.len(), "{next}");
    assert!(errors(&next)[0].0 > before[0].0, "{next}");
    client.settled_silently();
    client.finish();
}

#[test]
fn one_slow_file_keeps_nobody_waiting() {
    let mut client = Client::new(None, json!({}));
    client.open(OTHER, "let x = ;\n");
    assert_eq!(Client::codes(&client.settled(OTHER, 1)), ["E0101"]);
    let begun = Instant::now();
    client.open(SLOW, &TEXT.replacen("500000", "1000000", 1));
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 30, "character": 0}});
    let place = json!({"line": 15, "character": 13});
    let file = json!({"uri": SLOW});
    client.request("textDocument/hover", json!({"textDocument": file, "position": place}));
    client.request("textDocument/codeLens", json!({"textDocument": file}));
    client.request("textDocument/inlayHint", json!({"textDocument": file, "range": range}));
    let answered = begun.elapsed();
    client.settled(SLOW, 1);
    client.replace(OTHER, 2, "let x = 1 1;\n");
    client.settled(OTHER, 2);
    // The limit on evaluation for answers is reached in a fraction of this time.
    assert!(answered < Duration::from_secs(5), "{answered:?}");
    client.finish();
}

#[test]
fn diagnostics_on_demand_keep_nobody_waiting() {
    let mut client = Client::new(None, json!({"textDocument": {"diagnostic": {}}}));
    client.open(OTHER, "fn f(n: int) -> int = n;\n");
    let uris: Vec<String> = (0..6).map(|at| format!("untitled:Slow-{at}")).collect();
    let mut asked = Vec::new();
    for (at, uri) in uris.iter().enumerate() {
        client.open(uri, &TEXT.replacen("500000", &format!("{}", 1_000_000 + at), 1));
    }
    for uri in &uris {
        let file = json!({"textDocument": {"uri": uri}});
        asked.push(client.ask("textDocument/diagnostic", file));
    }
    let place = json!({"line": 0, "character": 3});
    let hover = json!({"textDocument": {"uri": OTHER}, "position": place});
    assert!(client.request("textDocument/hover", hover).is_object());
    let answered = asked.iter().filter(|id| client.has_heard(**id)).count();
    assert_eq!(answered, 0, "what is asked later is answered first");
    for id in asked {
        let response = client.response(id);
        assert!(response["result"]["items"].is_array(), "{response}");
    }
    client.settled_silently();
    client.finish();
}

#[test]
fn a_client_that_can_is_shown_that_a_check_goes_on() {
    let mut client = Client::new(None, json!({"window": {"workDoneProgress": true}}));
    client.open(SLOW, &TEXT.replacen("500000", "1000000", 1));
    let created = client.wait(|message| message["method"] == "window/workDoneProgress/create");
    let token = created["params"]["token"].clone();
    client.send(&json!({"jsonrpc": "2.0", "id": created["id"], "result": null}));
    let begin = client.wait(|message| message["method"] == "$/progress");
    assert_eq!(
        (&begin["params"]["token"], &begin["params"]["value"]["kind"]),
        (&token, &json!("begin"))
    );
    assert_eq!(begin["params"]["value"]["message"], "program slow");
    let end = client.wait(|message| message["method"] == "$/progress");
    assert_eq!((&end["params"]["token"], &end["params"]["value"]["kind"]), (&token, &json!("end")));
    client.settled(SLOW, 1);
    client.finish();
}
