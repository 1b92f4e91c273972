//! What a client says about itself in `initialize`, and what it is therefore sent: conversations with a server in this
//! process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;

use client::{Client, accepting_edits};
use serde_json::{Value, json};

const URI: &str = "untitled:Untitled-1";

const TEXT: &str = "use std::collectives::allgather;

/// Adds *one*.
fn more(n: int) -> int = n + 1;

program gather(ranks: int = 4) {
    collective allgather(ranks, in_place = true);
    channel mem[p in peers] = memory(p);
    block main {
        signal mem[*] relaxed;
        wait mme[*] relaxed;
        for p in peers { put output[more(rank) - 1] -> p.output[rank] via mem[p]; }
        signal mem[*];
        wait mem[*];
    }
}
";

fn at(line: u32, character: u32) -> Value {
    let position = json!({"line": line, "character": character});
    json!({"textDocument": {"uri": URI}, "position": position})
}

/// A client of which `TEXT` is open and has been checked.
fn opened(capabilities: Value) -> Client {
    let mut client = Client::new(None, capabilities);
    client.open(URI, TEXT);
    client.settled(URI, 1);
    client
}

#[test]
fn words_that_are_newer_than_the_server_are_accepted() {
    let newer = [
        json!({"trace": "compact"}),
        json!({"rootUri": ""}),
        json!({"processId": -1.0}),
        json!({"workspaceFolders": [{"uri": "", "name": ""}]}),
        json!({"capabilities": {"textDocument": {"foldingRange": {"foldingRangeKind": {"valueSet": ["functions"]}}}}}),
        json!({"capabilities": {"textDocument": {"hover": {"contentFormat": ["html", "markdown"]}}}}),
        json!({"capabilities": {"textDocument": {"publishDiagnostics": {"tagSupport": true}}}}),
        json!({"capabilities": {"workspace": {"workspaceEdit": {"failureHandling": "retry"}}}}),
        json!({"capabilities": null}),
    ];
    for sent in newer {
        let mut params = json!({"processId": null, "rootUri": null, "capabilities": {}});
        for (name, value) in sent.as_object().unwrap() {
            params[name.as_str()] = value.clone();
        }
        let mut client = Client::bare();
        let answer = client.request("initialize", params);
        assert_eq!(answer["serverInfo"]["name"], "ccl-lsp", "{sent}");
        client.finish();
    }
}

#[test]
fn markdown_is_sent_to_those_who_render_it() {
    let mut client = opened(json!({"textDocument": {"hover": {"contentFormat": ["plaintext"]}}}));
    let hover = client.request("textDocument/hover", at(11, 25));
    let text = hover["contents"]["value"].as_str().unwrap();
    assert_eq!(hover["contents"]["kind"], "plaintext");
    assert!(
        text.contains("\nverb  sources  destinations  channel       plan\nput   here "),
        "{text}"
    );
    let help = client.request("textDocument/signatureHelp", at(11, 41));
    assert_eq!(help["signatures"][0]["documentation"], "Adds *one*.");
    client.finish();

    let formats = json!(["markdown", "plaintext"]);
    let mut client = opened(json!({"textDocument": {"hover": {"contentFormat": formats},
        "signatureHelp": {"signatureInformation": {"documentationFormat": formats}}}}));
    let hover = client.request("textDocument/hover", at(11, 25));
    let text = hover["contents"]["value"].as_str().unwrap();
    assert_eq!(hover["contents"]["kind"], "markdown");
    assert!(text.contains("\n| `put` | here |"), "{text}");
    let help = client.request("textDocument/signatureHelp", at(11, 41));
    let markup = json!({"kind": "markdown", "value": "Adds *one*."});
    assert_eq!(help["signatures"][0]["documentation"], markup);
    client.finish();
}

#[test]
fn symbols_are_a_tree_for_those_who_show_one() {
    let asked = json!({"textDocument": {"uri": URI}});
    let mut client = opened(json!({}));
    let flat = client.request("textDocument/documentSymbol", asked.clone());
    let row = |one: &Value| (one["name"].clone(), one["containerName"].clone());
    let rows: Vec<_> = flat.as_array().unwrap().iter().map(row).collect();
    let outer = json!("gather");
    let expected =
        [("more", Value::Null), ("gather", Value::Null), ("mem", outer.clone()), ("main", outer)];
    assert_eq!(rows, expected.map(|(name, outer)| (json!(name), outer)));
    assert_eq!(flat[2]["location"]["uri"], URI);
    client.finish();

    let tree = json!({"documentSymbol": {"hierarchicalDocumentSymbolSupport": true}});
    let mut client = opened(json!({"textDocument": tree}));
    let nested = client.request("textDocument/documentSymbol", asked);
    assert_eq!(nested[1]["children"][1]["name"], "main");
    client.finish();
}

#[test]
fn edits_are_offered_to_those_who_accept_them() {
    let place = json!({"line": 10, "character": 14});
    let asked = json!({"textDocument": {"uri": URI}, "range": {"start": place, "end": place},
        "context": {"diagnostics": []}});
    for (capabilities, offers) in [(json!({}), false), (accepting_edits(), true)] {
        let mut client = opened(capabilities);
        let actions = client.request("textDocument/codeAction", asked.clone());
        assert_eq!(actions.as_array().is_some_and(|all| !all.is_empty()), offers, "{actions}");
        client.finish();
    }
}

#[test]
fn lenses_are_sent_to_those_who_run_their_commands() {
    let asked = json!({"textDocument": {"uri": URI}});
    for commands in [&[][..], &["ccl.run"], &["ccl.showElaborated", "ccl.run", "other.run"]] {
        let capabilities = json!({"experimental": {"commands": {"commands": commands}}});
        let mut client = Client::bare();
        let answer = client.initialize(None, capabilities);
        let offered = answer["capabilities"]["codeLensProvider"].is_object();
        assert_eq!(offered, !commands.is_empty(), "{answer}");
        client.open(URI, TEXT);
        client.settled(URI, 1);
        let lenses = client.request("textDocument/codeLens", asked.clone());
        let found = lenses.as_array().unwrap().iter();
        let found: Vec<&str> =
            found.map(|lens| lens["command"]["command"].as_str().unwrap()).collect();
        let known: Vec<&str> =
            commands.iter().copied().filter(|name| name.starts_with("ccl.")).collect();
        assert_eq!(found, known);
        client.settled_silently();
        client.finish();
    }
}

#[test]
fn verdicts_are_sent_to_those_who_show_them() {
    let told = |client: &mut Client, version: i32| {
        let about = |message: &Value| {
            message["method"] == "ccl/verdicts" && message["params"]["version"] == version
        };
        client.wait(about)["params"].clone()
    };
    let mut client = Client::new(None, json!({"experimental": {"verdicts": true}}));
    client.open(URI, TEXT);
    let verdicts = told(&mut client, 1);
    assert_eq!((&verdicts["uri"], &verdicts["errors"]), (&json!(URI), &json!(1)));
    client.replace(URI, 2, &TEXT.replace("mme", "mem"));
    let verdicts = told(&mut client, 2);
    assert_eq!(verdicts["errors"], 0);
    assert_eq!(verdicts["programs"], json!([{"name": "gather", "verdict": "proved", "ranks": 4}]));
    client.settled_silently();
    client.finish();
}
