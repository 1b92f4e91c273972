//! What accepting an item of a completion makes of a text: conversations with a server in this process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;

use client::Client;
use lsp_types::{Range, Url};
use serde_json::{Value, json};
use server::text::{Encoding, Lines};

const URI: &str = "untitled:Untitled-1";

/// The place of the cursor in a text.
const CURSOR: &str = "¦";

/// A client that supports everything of completion but requesting documentation.
fn able() -> Value {
    json!({"textDocument": {"completion": {"completionItem": {"snippetSupport": true,
        "insertReplaceSupport": true, "documentationFormat": ["markdown"]}}}})
}

/// A program in whose block a line stands, below a library of its own.
fn in_block(line: &str) -> String {
    format!(
        "use std::collectives::unchecked;\n\n/// The rank *after* `r`.\nfn after(r: rank, n: int) -> rank = (r + 1) % n;\n\n\
         /// Tells them.\nproc tell(c: channel[], n: int = 1) {{\n    signal c[*];\n}}\n\n\
         program p(ranks: int = 4) {{\n    collective unchecked(ranks, outputs = ranks);\n    \
         /// To all.\n    channel mem[p in peers] = memory(p);\n    block main {{\n        {line}\n    }}\n}}\n"
    )
}

/// A program in which a line stands.
fn in_program(line: &str) -> String {
    format!("program p(ranks: int = 4) {{\n    {line}\n}}\n")
}

/// The items at the cursor of a text, and the text without the cursor.
fn items(client: &mut Client, uri: &str, text: &str) -> (Vec<Value>, String) {
    let (before, after) = text.split_once(CURSOR).unwrap();
    let text = format!("{before}{after}");
    client.open(uri, &text);
    let position = Lines::new(text.as_str().into(), Encoding::Utf16).position(before.len() as u32);
    let asked = json!({"textDocument": {"uri": uri}, "position": position});
    let items = client.request("textDocument/completion", asked);
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    (items.as_array().unwrap().clone(), text)
}

/// The text after an item is accepted; `range` is which of its ranges is replaced.
fn accepted(client: &mut Client, uri: &str, text: &str, label: &str, range: &str) -> String {
    let (items, mut text) = items(client, uri, text);
    let item = items.iter().find(|item| item["label"] == label);
    let item = item.unwrap_or_else(|| panic!("{text}: no `{label}` in {items:#?}"));
    let place: Range = serde_json::from_value(item["textEdit"][range].clone()).unwrap();
    let place = Lines::new(text.as_str().into(), Encoding::Utf16).offsets(place);
    let new = item["textEdit"]["newText"].as_str().unwrap();
    text.replace_range(place.start as usize..place.end as usize, new);
    text
}

/// Lines of a block before and after an item is accepted, with the item's label between.
const IN_BLOCKS: &[[&str; 3]] = &[
    // Brackets.
    ["copy outp¦[rank] -> output[0];", "output", "copy output[rank] -> output[0];"],
    ["copy outp¦ -> output[0];", "output", "copy output[$1] -> output[0];"],
    ["let x = aft¦(rank, 4);", "after", "let x = after(rank, 4);"],
    ["let x = aft¦ (rank, 4);", "after", "let x = after (rank, 4);"],
    ["let x = aft¦;", "after", "let x = after($1);"],
    ["put input[0] -> p.outp¦[0] via mem[p];", "output", "put input[0] -> p.output[0] via mem[p];"],
    ["tel¦(mem);", "tell", "tell(mem);"],
    ["tel¦;", "tell", "tell($1);"],
    ["tel¦", "tell", "tell($1);"],
    ["tell(mem, n¦ = 2);", "n =", "tell(mem, n = 2);"],
    ["tell(mem, n¦);", "n =", "tell(mem, n = );"],
    ["tell(mem, 2); wait me¦[*];", "mem", "tell(mem, 2); wait mem[*];"],
    ["tell(me¦);", "mem", "tell(mem);"],
    // Operands.
    ["si¦ mem[*];", "signal", "signal mem[*];"],
    ["si¦;", "signal", "signal $1;"],
    ["si¦", "signal", "signal $1;"],
    ["si¦ // Why.", "signal", "signal $1; // Why."],
    ["si¦ wait mem[*];", "signal", "signal $1; wait mem[*];"],
    ["{ si¦ }", "signal", "{ signal $1; }"],
    ["fo¦ q in peers { }", "for", "for q in peers { }"],
    ["le¦ x = 1;", "let", "let x = 1;"],
    ["syn¦;", "sync", "sync;"],
];

/// Lines of a program, likewise.
const IN_PROGRAMS: &[[&str; 3]] = &[
    ["channel m[p in peers] = me¦(p);", "memory", "channel m[p in peers] = memory(p);"],
    ["channel m[p in peers] = me¦;", "memory", "channel m[p in peers] = memory(${1:p});"],
    ["options { fu¦ = true; }", "fuse", "options { fuse = true; }"],
    ["options { fu¦; }", "fuse", "options { fuse = $1; }"],
    ["scratch more[p¦ in peers];", "p in peers", "scratch more[p in peers];"],
    ["blo¦ main { }", "block", "block main { }"],
    ["optio¦ { }", "options", "options { }"],
];

/// Whole files, likewise.
const WHOLE: &[[&str; 3]] = &[
    ["use st¦::math::gcd;", "std", "use std::math::gcd;"],
    [
        "// ccl: ra¦=4\nprogram p(ranks: int) { }",
        "ranks",
        "// ccl: ranks=4\nprogram p(ranks: int) { }",
    ],
    [
        "// ccl: ra¦\nprogram p(ranks: int) { }",
        "ranks",
        "// ccl: ranks=\nprogram p(ranks: int) { }",
    ],
];

/// Accepts items, inserting and replacing.
fn accept(cases: &[[&str; 3]], around: impl Fn(&str) -> String) {
    let mut client = Client::new(None, able());
    for [before, label, after] in cases {
        for range in ["insert", "replace"] {
            let found = accepted(&mut client, URI, &around(before), label, range);
            assert_eq!(found, around(after), "{before}");
        }
    }
    client.settled_silently();
    client.finish();
}

#[test]
fn an_item_brings_nothing_that_is_there_already() {
    accept(IN_BLOCKS, in_block);
    accept(IN_PROGRAMS, in_program);
    accept(WHOLE, str::to_owned);
}

#[test]
fn the_rest_of_a_word_stays_or_goes() {
    let text = in_block("copy out¦xx[rank] -> output[0];");
    let inserted = in_block("copy outputxx[rank] -> output[0];");
    let replaced = in_block("copy output[rank] -> output[0];");
    let mut client = Client::new(None, able());
    assert_eq!(accepted(&mut client, URI, &text, "output", "insert"), inserted);
    assert_eq!(accepted(&mut client, URI, &text, "output", "replace"), replaced);
    client.settled_silently();
    client.finish();
    // A client with one range and without placeholders.
    let mut client = Client::new(None, json!({}));
    assert_eq!(accepted(&mut client, URI, &text, "output", "range"), replaced);
    let before = in_block("copy ¦xx[rank] -> output[0];");
    let inserted = in_block("copy outputxx[rank] -> output[0];");
    assert_eq!(accepted(&mut client, URI, &before, "output", "range"), inserted);
    let statement = accepted(&mut client, URI, &in_block("si¦"), "signal", "range");
    assert_eq!(statement, in_block("signal"));
    client.settled_silently();
    client.finish();
}

#[test]
fn a_step_of_a_path_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("nodes")).unwrap();
    std::fs::write(root.join("nodes/ring.ccl"), "let one = 1;\n").unwrap();
    let uri = Url::from_file_path(root.join("main.ccl")).unwrap().to_string();
    let mut client = Client::new(Some(&root), able());
    let text = "use \"nodes/ri¦.ccl\"::one;\n";
    let expected = "use \"nodes/ring.ccl\"::one;\n";
    assert_eq!(accepted(&mut client, &uri, text, "ring.ccl", "replace"), expected);
    client.settled_silently();
    client.finish();
}

#[test]
fn names_are_introduced_and_documented() {
    let markdown = |value: &str| json!({"kind": "markdown", "value": value});
    let find = |items: &[Value], label: &str| {
        items.iter().find(|item| item["label"] == label).unwrap().clone()
    };
    let mut client = Client::new(None, able());
    let (list, _) = items(&mut client, URI, &in_block("let x = ¦;"));
    let after = find(&list, "after");
    assert_eq!(after["detail"], "fn after(r: rank, n: int) -> rank");
    assert_eq!(after["labelDetails"]["detail"], "(r: rank, n: int) -> rank");
    assert_eq!(after["documentation"], markdown("The rank *after* `r`."));
    let library = find(&list, "log2");
    assert_eq!(library["detail"], "use std::math: fn log2(n: int) -> int");
    assert_eq!(library["labelDetails"]["description"], "std::math");
    assert!(library["documentation"]["value"].as_str().is_some_and(|text| !text.is_empty()));
    let (list, _) = items(&mut client, URI, &in_block("¦"));
    let tell = find(&list, "tell");
    assert_eq!(tell["detail"], "proc tell(c: channel[], n: int = 1)");
    assert_eq!(tell["documentation"], markdown("Tells them."));
    let (list, _) = items(&mut client, URI, &in_block("signal ¦;"));
    let channel = find(&list, "mem");
    assert_eq!(channel["detail"], "channel mem[p in peers] = memory(p)");
    assert_eq!(channel["documentation"], markdown("To all."));
    client.settled_silently();
    client.finish();
}

#[test]
fn documentation_is_sent_when_it_is_asked_for() {
    let mut able = able();
    let item = &mut able["textDocument"]["completion"]["completionItem"];
    item["resolveSupport"] = json!({"properties": ["documentation"]});
    item["documentationFormat"] = json!(["plaintext"]);
    let mut client = Client::bare();
    let answer = client.initialize(None, able);
    assert_eq!(answer["capabilities"]["completionProvider"]["resolveProvider"], true);
    let (list, text) = items(&mut client, URI, &in_block("let x = ¦;"));
    client.open(URI, &text);
    for (label, text) in [("after", "The rank *after* `r`."), ("log2", "")] {
        let item = list.iter().find(|item| item["label"] == label).unwrap().clone();
        assert_eq!(item["documentation"], Value::Null, "{label}");
        let resolved = client.request("completionItem/resolve", item.clone());
        assert_eq!(resolved["textEdit"], item["textEdit"]);
        let documentation = resolved["documentation"].as_str().unwrap();
        assert!(!documentation.is_empty() && documentation.contains(text), "{documentation}");
    }
    // An item that is of no list, or of another server.
    for data in [json!({"file": "/etc/passwd", "name": "root"}), json!([1]), Value::Null] {
        let resolved =
            client.request("completionItem/resolve", json!({"label": "x", "data": data}));
        assert_eq!(resolved["documentation"], Value::Null);
    }
    client.settled_silently();
    client.finish();
}

#[test]
fn what_is_likely_comes_first() {
    let cases: [(&str, &[&str]); 4] = [
        ("for q in peers { signal mem[¦]; }", &["q", "ranks", "*", "rank", "peers", "after"]),
        (
            "for q in peers { let n = 2; let b = n > 1; copy input[¦] -> output[0]; }",
            &["n", "ranks", "q", "b", "rank", "peers", "after", "log2"],
        ),
        (
            "let n = 2; let b = n > 1; let r = after(¦);",
            &["n", "ranks", "rank", "r =", "after", "gcd"],
        ),
        ("let n = 2; for q in ¦ { }", &["peers", "node_peers", "rank", "after", "node_ranks"]),
    ];
    let mut client = Client::new(None, able());
    for (text, expected) in cases {
        let (mut list, _) = items(&mut client, URI, &in_block(text));
        list.sort_by_key(|item| item["sortText"].as_str().unwrap().to_owned());
        let labels = list.iter().map(|item| item["label"].as_str().unwrap());
        let shown: Vec<&str> = labels.filter(|label| expected.contains(label)).collect();
        assert_eq!(shown, expected, "{text}");
    }
    client.settled_silently();
    client.finish();
}
