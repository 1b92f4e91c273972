//! Files whose declarations need so much of each other that they are processed as a whole.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;

use client::Client;
use serde_json::{Value, json};
use server::database::{Database, Db as _};
use server::diagnostics;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const URI: &str = "untitled:Untitled-1";

/// Functions, each of which calls the one before; and a program, which the comment above it changes.
fn chain(length: usize) -> String {
    let links = (1..length).map(|at| format!("fn f{at}(n: int) -> int = n + f{}(n);\n", at - 1));
    let links: String = links.collect();
    format!(
        "use std::collectives::allgather;\nfn f0(n: int) -> int = n;\n{links}
// ccl: ranks=2, extra=3
program gather(ranks: int = 4, extra: int = 1) {{
    require extra > 0, \"extra\";
    collective allgather(ranks, in_place = true);
    channel mem[p in peers] = memory(p);
    block main {{
        signal mem[*] relaxed;
        wait mem[*] relaxed;
        for p in peers {{ put output[rank] -> p.output[rank] via mem[p]; }}
        signal mem[*];
        wait mem[*];
    }}
}}
"
    )
}

/// How many declarations of a text are resolved.
fn resolved(text: &str) -> usize {
    let mut database = Database::new(Arc::new(|name: &str| Err(format!("there is no `{name}`"))));
    database.set_text("chain.ccl", Ok(text.into()));
    let _ = diagnostics::parts(&database, database.document("chain.ccl"));
    database.counts().resolved.load(Ordering::Relaxed)
}

#[test]
fn a_long_chain_is_resolved_once() {
    assert_eq!(resolved(&chain(100)), 102);
    assert_eq!(resolved(&chain(2000)), 1);
    // Many declarations that need little of each other are processed separately.
    let apart: String = (0..2000).map(|at| format!("fn f{at}(n: int) -> int = n;\n")).collect();
    assert_eq!(resolved(&apart), 2000);
}

#[test]
fn a_long_chain_has_all_that_a_short_one_has() {
    let mut client = Client::new(None, json!({}));
    let text = chain(2000);
    client.open(URI, &text);
    assert_eq!(client.settled(URI, 1), [] as [Value; 0]);
    let lenses = client.request("textDocument/codeLens", json!({"textDocument": {"uri": URI}}));
    let title = lenses[0]["command"]["title"].as_str().unwrap();
    assert_eq!(title, "2 ranks · 1 block · 14 operations · proved");
    let asked = |line: u32, character: u32, new: &str| {
        json!({"textDocument": {"uri": URI}, "position": {"line": line, "character": character},
            "context": {"includeDeclaration": true}, "newName": new})
    };
    let at = |line, character| asked(line, character, "new");
    let hover = client.request("textDocument/hover", at(1000, 5));
    assert!(hover.to_string().contains("fn f999(n: int) -> int"), "{hover}");
    let references = client.request("textDocument/references", at(1000, 5));
    assert_eq!(references.as_array().unwrap().len(), 2);
    let edit = client.request("textDocument/rename", at(1000, 5));
    assert_eq!(edit["changes"][URI].as_array().unwrap().len(), 2);
    let edit = client.request("textDocument/rename", at(2003, 33));
    let lines = edit["changes"][URI].as_array().unwrap().iter();
    let mut lines: Vec<u64> =
        lines.map(|edit| edit["range"]["start"]["line"].as_u64().unwrap()).collect();
    lines.sort_unstable();
    assert_eq!(lines, [2002, 2003, 2004], "the comment, the parameter and its use");
    let refused = client.ask("textDocument/rename", asked(1000, 5, "f3"));
    let refused = client.response(refused);
    assert!(refused["error"]["message"].to_string().contains("already used"), "{refused}");
    client.replace(URI, 2, &text.replacen("n + f1000(n)", "n + f1000(true)", 1));
    assert_eq!(Client::codes(&client.settled(URI, 2)), ["E0204"]);
    client.replace(URI, 3, &text.replacen("        wait mem[*] relaxed;\n", "", 1));
    assert_eq!(Client::codes(&client.settled(URI, 3))[0], "E0603");
    client.finish();
}
