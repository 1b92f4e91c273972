//! Random edits: the findings of the parts equal the compiler's findings for the whole file; no request makes the
//! server crash, hang or answer about another text; memory does not grow with the number of edits.
//!
//! `EDITS=10000` and `MEMORY_EDITS=100000` make more edits.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;
#[path = "support/lot.rs"]
mod lot;

use client::{Client, accepting_edits};
use compiler::diagnostic::Code;
use compiler::interrupt::Interrupt;
use lot::{Lot, texts, times};
use lsp_types::Url;
use serde_json::{Value, json};
use server::database::{Database, Db as _, Text};
use server::diagnostics::{self, Finding};
use server::features::problems::{self, Context};
use server::settings::Settings;
use server::text::{Encoding, Lines};
use std::collections::BTreeMap;
use std::sync::Arc;

const NAME: &str = "lot.ccl";
const OTHER: &str = "let a = 1;\nfn b(n: int) = n;\n";

fn disk(name: &str) -> Text {
    if name == "other.ccl" { Ok(OTHER.into()) } else { Err("there is no such file".to_owned()) }
}

/// Programs with more operations than this are not the subject of these tests.
fn settings() -> Settings {
    Settings { max_operations: 20_000, ..Settings::default() }
}

fn whole(text: &str) -> Vec<Finding> {
    let texts: BTreeMap<String, Text> = [(NAME.to_owned(), Ok(text.into()))].into();
    let found = diagnostics::whole(NAME, &texts, &disk, &settings(), &Interrupt::default());
    found.findings.into_iter().filter(shown).collect()
}

/// Whether a finding is shown in the file.
fn shown(finding: &Finding) -> bool {
    finding.spot.name == NAME || finding.home.is_some()
}

#[test]
fn parts_say_what_the_whole_says() {
    let texts = texts();
    let mut lot = Lot::new(1);
    let mut database = Database::new(Arc::new(disk));
    database.set_settings(settings());
    let (mut sound, mut unsound) = (0, 0);
    for _ in 0..times("EDITS", 400) / 4 {
        let mut text = lot.one(&texts).clone();
        for _ in 0..4 {
            let (range, new) = if lot.below(4) > 0 { lot.gentle(&text) } else { lot.edit(&text) };
            text.replace_range(range, &new);
            database.set_text(NAME, Ok(text.as_str().into()));
            let found = diagnostics::parts(&database, database.document(NAME));
            if found.doubtful {
                unsound += 1;
                break;
            }
            sound += 1;
            let (mut expected, mut findings) = (whole(&text), found.findings);
            for finding in expected.iter_mut().chain(&mut findings) {
                // Whitespace may belong to either neighbor; imports are edited in the text itself.
                if finding.code != Some(Code::W0201) {
                    finding.fixes.iter_mut().for_each(|fix| fix.edits.clear());
                }
            }
            let key = |finding: &Finding| format!("{finding:?}");
            expected.sort_by_key(key);
            findings.sort_by_key(key);
            assert_eq!(findings, expected, "{text}");
        }
    }
    assert!(sound > unsound / 2, "few texts are sound: {sound}, and {unsound} are not");
}

#[test]
fn what_is_doubted_is_wrong() {
    // Doubt costs time: a text that the compiler accepts must not be doubted.
    for text in texts() {
        let mut database = Database::new(Arc::new(disk));
        database.set_settings(settings());
        database.set_text(NAME, Ok(text.as_str().into()));
        let doubtful = diagnostics::types(&database, database.document(NAME)).doubtful;
        let wrong = |finding: &Finding| finding.severity == compiler::diagnostic::Severity::Error;
        assert!(!doubtful || whole(&text).iter().any(wrong), "{text}");
    }
}

const REQUESTS: &[&str] = &[
    "textDocument/definition",
    "textDocument/references",
    "textDocument/documentHighlight",
    "textDocument/prepareRename",
    "textDocument/rename",
    "textDocument/documentSymbol",
    "textDocument/formatting",
    "textDocument/rangeFormatting",
    "textDocument/onTypeFormatting",
    "textDocument/codeAction",
    "textDocument/diagnostic",
    "textDocument/hover",
    "textDocument/completion",
    "textDocument/signatureHelp",
    "textDocument/semanticTokens/full",
    "textDocument/inlayHint",
    "textDocument/foldingRange",
    "textDocument/selectionRange",
    "textDocument/codeLens",
    "workspace/symbol",
];

/// All parameters that any of the requests takes, in one object.
fn parameters(lot: &mut Lot, uri: &str, lines: &Lines) -> Value {
    let length = lines.text().len() + 8;
    let place = lines.position(lot.below(length) as u32);
    let end = lines.position(lot.below(length) as u32);
    let options = json!({"tabSize": 4, "insertSpaces": true});
    json!({"textDocument": {"uri": uri}, "position": place, "positions": [place],
        "range": {"start": place.min(end), "end": place.max(end)}, "options": options,
        "context": {"includeDeclaration": true, "diagnostics": [], "triggerKind": 1, "isRetrigger": false}, "newName": "fresh",
        "ch": lot.one(&[";", "}", "\n"]), "query": "gather"})
}

#[test]
fn a_long_conversation_stays_sound() {
    let texts = texts();
    let mut lot = Lot::new(2);
    let mut client = Client::bare();
    let options = json!({"maxOperations": 20_000});
    client.initialize_with(None, accepting_edits(), options);
    let uri = "untitled:lot.ccl";
    let mut text = lot.one(&texts).clone();
    client.open(uri, &text);
    let mut version = 1;
    let mut asked = Vec::new();
    for i in 0..times("EDITS", 400) {
        if i % 16 == 15 {
            text = lot.one(&texts).clone();
            version += 1;
            client.replace(uri, version, &text);
        }
        let lines = Lines::new(text.as_str().into(), Encoding::Utf16);
        let (range, new) = lot.edit(&text);
        let place = lines.range(range.start as u32..range.end as u32);
        // The same range as a client can express it: offsets at a byte order mark or inside a line break move.
        text.replace_range(
            lines.offset(place.start) as usize..lines.offset(place.end) as usize,
            &new,
        );
        version += 1;
        client.change(uri, version, json!([{"range": place, "text": new}]));
        for _ in 0..lot.below(3) {
            let lines = Lines::new(text.as_str().into(), Encoding::Utf16);
            let parameters = parameters(&mut lot, uri, &lines);
            let request: &str = REQUESTS[lot.below(REQUESTS.len())];
            asked.push(client.ask(request, parameters));
        }
    }
    for id in asked {
        let response = client.response(id);
        let code = response["error"]["code"].as_i64();
        // Content modified; request failed (cannot be renamed); method not found.
        assert!(matches!(code, None | Some(-32801 | -32803 | -32601)), "{response}");
    }
    let newest = client.newest(uri, version);
    let found: Vec<Value> = newest.iter().map(|one| one["code"].clone()).collect();
    let name = "untitled:lot.ccl".to_owned();
    let texts: BTreeMap<String, Text> = [(name.clone(), Ok(text.as_str().into()))].into();
    let disk = |_: &str| -> Text { Err("entity not found".to_owned()) };
    let expected = diagnostics::whole(&name, &texts, &disk, &settings(), &Interrupt::default());
    let lines = |_: &str| Some(Arc::new(Lines::new(text.as_str().into(), Encoding::Utf16)));
    let url_of = |_: &str| Url::parse(uri).ok();
    let context = Context::new(&lines, &url_of);
    let expected = problems::problems(&context, &name, &expected.findings);
    let expected: Vec<Value> = expected
        .iter()
        .map(|problem| serde_json::to_value(&problem.diagnostic).unwrap()["code"].clone())
        .collect();
    assert_eq!(found, expected, "{text}");
    client.settled_silently();
    client.finish();
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_edits() {
    // In a process of its own: the memory of tests that run beside this one would count, too.
    if std::env::var_os("ALONE").is_none() {
        let mut own = std::process::Command::new(std::env::current_exe().unwrap());
        own.args(["--exact", "memory_does_not_grow_with_edits", "--nocapture"]).env("ALONE", "1");
        assert!(own.status().unwrap().success());
        return;
    }
    let edits = times("MEMORY_EDITS", 2000);
    let texts: Vec<String> = texts().into_iter().take(50).collect();
    let mut lot = Lot::new(3);
    let mut database = Database::new(Arc::new(disk));
    database.set_settings(settings());
    let mut now = texts.clone();
    let mut early = 0;
    for i in 0..edits {
        let file = i % now.len();
        let (range, new) = lot.edit(&now[file]);
        now[file].replace_range(range, &new);
        if now[file].len() > 5000 || lot.below(8) == 0 {
            now[file] = texts[file].clone();
        }
        let name = format!("{file}.ccl");
        database.set_text(&name, Ok(now[file].as_str().into()));
        let _ = diagnostics::parts(&database, database.document(&name));
        if i + 1 == edits / 2 || i + 1 == 1000 {
            early = if early == 0 { resident() } else { early };
        }
    }
    let late = resident();
    assert!(late <= early + early / 2, "{early} KiB, and later {late} KiB");
}

/// Resident memory in KiB.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
