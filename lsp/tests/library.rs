//! The copy of the library in an editor: conversations with a server in this process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;

use client::Client;
use serde_json::{Value, json};

const URI: &str = "untitled:Untitled-1";

/// A program that calls a procedure of the library twice.
const PROGRAM: &str = "use std::collectives::allgather;
use std::patterns::handshake;

program gather(ranks: int = 4) {
    collective allgather(ranks, in_place = true);
    channel mem[p in peers] = memory(p);
    block main {
        handshake(mem);
        for p in peers { put output[rank] -> p.output[rank] via mem[p]; }
        handshake(mem);
    }
}
";

fn at(uri: &Value, place: &Value) -> Value {
    json!({"textDocument": {"uri": uri}, "position": place, "context": {"includeDeclaration": true}})
}

#[test]
fn calls_of_the_library_are_found_from_both_sides() {
    let mut client = Client::new(None, json!({"textDocument": {"diagnostic": {}}}));
    client.open(URI, PROGRAM);
    let call = at(&json!(URI), &json!({"line": 7, "character": 8}));
    let definition = client.request("textDocument/definition", call.clone());
    let items = client.request("textDocument/prepareCallHierarchy", call.clone());
    assert_eq!(items[0]["uri"], definition["uri"]);
    let callers = client.request("callHierarchy/incomingCalls", json!({"item": items[0]}));
    assert!(callers.to_string().contains("\"gather\""), "{callers}");
    let references = client.request("textDocument/references", call);
    // In the copy, whether it is open or not.
    let declared = at(&definition["uri"], &definition["range"]["start"]);
    assert_eq!(client.request("textDocument/references", declared.clone()), references);
    let copy = definition["uri"].as_str().unwrap();
    let path = lsp_types::Url::parse(copy).unwrap().to_file_path().unwrap();
    client.open(copy, &std::fs::read_to_string(path).unwrap());
    assert_eq!(client.request("textDocument/references", declared.clone()), references);
    let report = client.request("textDocument/diagnostic", json!({"textDocument": {"uri": copy}}));
    assert_eq!(report["items"], json!([]));
    let refused = client.ask("textDocument/prepareRename", declared);
    let refused = client.response(refused);
    assert_eq!(refused["error"]["message"], "names declared in the library cannot be renamed");
    client.settled_silently();
    client.finish();
}
