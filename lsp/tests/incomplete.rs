//! What is shown while a statement is incomplete: conversations with a server in this process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;
#[path = "support/gather.rs"]
mod gather;

use client::Client;
use gather::GATHER;
use serde_json::{Value, json};

const URI: &str = "untitled:Untitled-1";

/// The hints of the file: line, column and label.
fn hints(client: &mut Client) -> Vec<(u64, u64, String)> {
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
    let params = json!({"textDocument": {"uri": URI}, "range": range});
    let hints = client.request("textDocument/inlayHint", params);
    let hints = hints.as_array().unwrap().iter();
    let shown = hints.map(|hint| {
        let at = &hint["position"];
        let (line, column) = (at["line"].as_u64().unwrap(), at["character"].as_u64().unwrap());
        (line, column, hint["label"].as_str().unwrap().to_owned())
    });
    shown.collect()
}

fn lens(client: &mut Client) -> Value {
    let params = json!({"textDocument": {"uri": URI}});
    client.request("textDocument/codeLens", params)[0].clone()
}

fn elaborated(client: &mut Client) -> Value {
    client.request("ccl/elaborated", json!({"textDocument": {"uri": URI}, "program": "gather"}))
}

/// `GATHER` with a line before `line`.
fn with_line(line: usize, new: &str) -> String {
    let mut lines: Vec<&str> = GATHER.lines().collect();
    lines.insert(line, new);
    lines.join("\n") + "\n"
}

#[test]
fn hints_stay_and_move_along_with_the_text() {
    let mut client = Client::new(None, json!({}));
    client.open(URI, GATHER);
    client.settled(URI, 1);
    let before = hints(&mut client);
    assert!(before.iter().any(|(_, _, label)| label.starts_with("= ")), "{before:?}");
    assert!(before.iter().any(|(_, _, label)| label == "thread block 0"), "{before:?}");
    for (version, text) in
        [(2, "        put output[ra"), (3, "        copy nothing[0] -> output[0];")]
    {
        // In the block, above the loop.
        client.replace(URI, version, &with_line(8, text));
        let now = hints(&mut client);
        let moved: Vec<_> = before
            .iter()
            .map(|(line, column, label)| (line + u64::from(*line >= 8), *column, label.clone()))
            .collect();
        assert_eq!(now, moved, "{text}");
    }
    client.replace(URI, 4, GATHER);
    assert_eq!(hints(&mut client), before);
    client.settled_silently();
    client.finish();
}

#[test]
fn hints_of_an_edited_place_go() {
    let mut client = Client::new(None, json!({}));
    client.open(URI, GATHER);
    client.settled(URI, 1);
    let before = hints(&mut client);
    client.replace(URI, 2, &GATHER.replacen("for p in peers {", "for p in {", 1));
    let now = hints(&mut client);
    let gone: Vec<_> = before.iter().filter(|(line, ..)| *line == 8).collect();
    assert!(now.len() < before.len() && !gone.is_empty(), "{now:?}");
    assert!(
        !now.iter().any(|(line, _, label)| *line == 8 && label.starts_with("= 1..4")),
        "{now:?}"
    );
    client.settled_silently();
    client.finish();
}

#[test]
fn lenses_keep_the_size_and_claim_nothing_old() {
    let mut client = Client::new(None, json!({}));
    client.open(URI, GATHER);
    client.settled(URI, 1);
    let size = "4 ranks · 1 block · 28 operations";
    assert_eq!(lens(&mut client)["command"]["title"], format!("{size} · proved"));
    client.replace(URI, 2, &with_line(1, "let x = ;"));
    client.settled(URI, 2);
    client.replace(URI, 3, &with_line(8, "        put output[ra"));
    client.settled(URI, 3);
    let title = lens(&mut client)["command"]["title"].as_str().unwrap().to_owned();
    assert!(title.starts_with(size) && title.ends_with("error"), "{title}");
    // The program has no name for a while, and nothing can be done with it.
    client.replace(URI, 4, &GATHER.replacen("program gather(", "program (", 1));
    client.settled(URI, 4);
    assert_eq!(lens(&mut client), Value::Null);
    client.settled_silently();
    client.finish();
}

#[test]
fn an_elaborated_program_stays_and_its_links_move() {
    let mut client = Client::new(None, json!({}));
    client.open(URI, GATHER);
    client.settled(URI, 1);
    let before = elaborated(&mut client);
    assert_eq!(before["isCurrent"], true);
    client.replace(URI, 2, &with_line(8, "        put output[ra"));
    let now = elaborated(&mut client);
    assert_eq!((&now["text"], &now["isCurrent"]), (&before["text"], &json!(false)));
    let lines = |answer: &Value| -> Vec<u64> {
        let places = answer["places"].as_array().unwrap().iter();
        places.map(|place| place["range"]["start"]["line"].as_u64().unwrap()).collect()
    };
    let moved: Vec<u64> =
        lines(&before).into_iter().map(|line| line + u64::from(line >= 8)).collect();
    assert_eq!(lines(&now), moved);
    client.replace(URI, 3, GATHER);
    assert_eq!(elaborated(&mut client), before);
    client.settled_silently();
    client.finish();
}

#[test]
fn kinds_of_hints_are_left_out_as_the_settings_say() {
    let mut client = Client::new(None, json!({}));
    client.open(URI, GATHER);
    client.settled(URI, 1);
    let all = hints(&mut client).len();
    for kind in ["values", "threadBlocks", "synchronization"] {
        let settings = json!({"ccl": {"inlayHints": {kind: false}}});
        client.notify("workspace/didChangeConfiguration", json!({"settings": settings}));
        assert!(hints(&mut client).len() < all, "{kind}");
    }
    client.notify("workspace/didChangeConfiguration", json!({"settings": {"ccl": {}}}));
    assert_eq!(hints(&mut client).len(), all);
    client.settled_silently();
    client.finish();
}
