//! How findings are shown and fixed: conversations with a server in this process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;

use client::{Client, accepting_edits};
use compiler::diagnostic::Edit;
use compiler::source::SourceMap;
use compiler::{driver, repair};
use lsp_types::Range;
use serde_json::{Value, json};
use server::text::{Encoding, Lines};

const URI: &str = "untitled:Untitled-1";

/// A program with `blocks` blocks that race with each other.
fn races(blocks: usize) -> String {
    let many: String = (0..blocks)
        .map(|at| format!("    block b{at} {{ copy input[0] -> output[0]; }}\n"))
        .collect();
    format!(
        "use std::collectives::unchecked;\n\nprogram p(ranks: int = 1) {{\n    \
         collective unchecked(ranks, outputs = ranks);\n{many}}}\n"
    )
}

/// The edits of a report's fix, as `line:column-line:column text`.
fn mended(client: &mut Client, report: &Value) -> Vec<String> {
    let asked = json!({"textDocument": {"uri": URI}, "range": report["range"],
        "context": {"diagnostics": [report]}});
    let actions = client.request("textDocument/codeAction", asked);
    let edits = actions[0]["edit"]["changes"][URI].as_array().unwrap().iter();
    let edits = edits.map(|edit| {
        let place = |side: &str| {
            let at = &edit["range"][side];
            format!("{}:{}", at["line"], at["character"])
        };
        format!("{}-{} {}", place("start"), place("end"), edit["newText"].as_str().unwrap())
    });
    edits.collect()
}

#[test]
fn what_is_unused_is_taken_out_with_its_line_and_nothing_else() {
    let mut client = Client::new(None, accepting_edits());
    let text = races(1).replacen(
        "    block b0 { ",
        "    // Stays.\n    let n = 1;\n\n    let k = 2; // Why.\n    scratch spare[2];\n    block b0 { let m = 3; ",
        1,
    );
    client.open(URI, &text);
    let found = client.settled(URI, 1);
    let mut all = Vec::new();
    for report in &found {
        all.push((report["code"].as_str().unwrap(), mended(&mut client, report).join(", ")));
    }
    let expected = [
        ("W0205", "5:0-6:0 "),
        ("W0205", "7:4-7:15 "),
        ("W0203", "8:0-9:0 "),
        ("W0205", "9:15-9:26 "),
    ];
    let short: Vec<(&str, &str)> =
        all.iter().map(|(code, edits)| (*code, edits.as_str())).collect();
    assert_eq!(short, expected);
    client.finish();
}

/// Imports of which `handshake` is used and the others are not.
const IMPORTS: &[&str] = &[
    "use std::patterns::{handshake, meet};",
    "use std::patterns::{meet, handshake};",
    "use std::patterns::{meet, handshake, share,};",
    "use std::patterns::{ring_next, ring_previous, handshake};",
    "use std::patterns::{handshake, ring_next as next, share as part};",
    "use std::patterns::{ring_next as next, handshake};",
    "use std::patterns::{meet as handshake, handshake as meet};",
    "use std::patterns::{ // All.\n    meet, // One.\n    // Two.\n    handshake, // Three.\n};",
    "use std::patterns::{\n    handshake,\n    // Two.\n    meet,\n};",
    "use std::patterns::{\n    handshake\n    , meet // Two.\n};",
    "use std::patterns::handshake;\nuse std::math::{\n    gcd,\n    // Why.\n    power,\n}; // Last.",
    "use std::patterns::handshake;\nuse std::patterns::meet;",
    "use std::patterns::handshake;\nuse std::patterns::meet as handshakes;",
    "use std::patterns::handshake;\nuse  std :: math :: gcd ;  // Why.",
    "use std::patterns::meet; use std::patterns::handshake;",
    "use std::patterns::handshake; use std::patterns::meet;",
    "// First.\nuse std::math::{gcd, power};\n\nuse std::patterns::handshake;",
];

/// What the compiler finds in a text: the edit and the message of each unused import.
fn unused_imports(text: &str) -> Vec<(Vec<Edit>, String)> {
    let mut sources = SourceMap::default();
    let main = sources.add("main.ccl", text);
    let (_, reports) = driver::load(main, &mut sources, &mut |_| Err("no file".to_owned()));
    assert!(!driver::has_errors(&reports), "{text}: {reports:#?}");
    let unused = reports.into_iter().filter(|report| report.code.id() == "W0201");
    unused.map(|report| (report.fix.unwrap().edits, report.message)).collect()
}

#[test]
fn an_import_is_removed_as_the_compiler_removes_it() {
    let mut client = Client::new(None, accepting_edits());
    for import in IMPORTS {
        let text = format!(
            "use std::collectives::unchecked;\n{import}\n\nprogram p(ranks: int = 2) {{\n    \
             collective unchecked(ranks, outputs = ranks);\n    channel c[p in peers] = memory(p);\n    \
             block main {{ handshake(c); }}\n}}\n"
        );
        client.open(URI, &text);
        let found = client.settled(URI, 1);
        let found: Vec<&Value> = found.iter().filter(|one| one["code"] == "W0201").collect();
        let expected = unused_imports(&text);
        assert_eq!(found.len(), expected.len(), "{import}: {found:#?}");
        assert!(!expected.is_empty(), "{import}");
        let lines = Lines::new(text.as_str().into(), Encoding::Utf16);
        for (report, (edits, message)) in found.into_iter().zip(&expected) {
            let place = |edit: &Edit| {
                let Range { start, end } = lines.range(edit.span.start..edit.span.end);
                let (start, end) = ((start.line, start.character), (end.line, end.character));
                format!("{}:{}-{}:{} {}", start.0, start.1, end.0, end.1, edit.text)
            };
            let places: Vec<String> = edits.iter().map(place).collect();
            assert_eq!(mended(&mut client, report), places, "{import}: {message}");
            let left = repair::apply(&text, edits).unwrap();
            let rest = unused_imports(&left);
            assert!(rest.iter().all(|(_, other)| other != message), "{import}: {left}");
        }
        client.notify("textDocument/didClose", json!({"textDocument": {"uri": URI}}));
        client.settled_silently();
    }
    client.finish();
}

/// Statements of a program that are unused, with what stands around them.
const UNUSED: &[&str] = &[
    "let n = 1;",
    "let n = 1; // Why.",
    "// Why.\n    let n = 1;\n    // Other.",
    "scratch spare[2];\n\n",
    "scratch  spare [ 2 ] ;  let n = 1;",
    "/// What is kept.\n    scratch spare[2];",
    "#[allow(W0205, \"why\")]\n    let n = 1;\n    scratch spare[2];",
    "/// How ranks meet.\n    channel idle[p in peers] = memory(p);\n    channel other[p in peers] = memory(p);",
    "semaphore s;\n    let a = 1; let b = 2;",
];

#[test]
fn what_is_unused_is_removed_as_the_compiler_removes_it() {
    let mut client = Client::new(None, accepting_edits());
    for unused in UNUSED {
        let text = format!(
            "use std::collectives::unchecked;\n\nprogram p(ranks: int = 2) {{\n    \
             collective unchecked(ranks, outputs = ranks);\n    {unused}\n    \
             block main {{ copy input[0] -> output[0]; }}\n}}\n"
        );
        client.open(URI, &text);
        let found = client.settled(URI, 1);
        let mut sources = SourceMap::default();
        let main = sources.add("main.ccl", &*text);
        let (_, reports) = driver::load(main, &mut sources, &mut |_| Err("no file".to_owned()));
        let lines = Lines::new(text.as_str().into(), Encoding::Utf16);
        let mut expected: Vec<(u64, Vec<String>, Vec<String>)> = (reports.iter())
            .map(|report| {
                let edits = report.fix.iter().flat_map(|fix| &fix.edits).map(|edit| {
                    let Range { start, end } = lines.range(edit.span.start..edit.span.end);
                    let (start, end) = ((start.line, start.character), (end.line, end.character));
                    format!("{}:{}-{}:{} {}", start.0, start.1, end.0, end.1, edit.text)
                });
                let edits = edits.collect();
                let place = report.primary.as_ref().unwrap().place;
                let compiler::source::Place::Source(span) = place else { panic!("a source") };
                (u64::from(span.start), edits, report.helps.clone())
            })
            .collect();
        expected.sort();
        assert_eq!(found.len(), expected.len(), "{unused}: {found:#?}");
        for (report, (_, edits, helps)) in found.iter().zip(&expected) {
            let actions = client.request(
                "textDocument/codeAction",
                json!({"textDocument": {"uri": URI}, "range": report["range"], "context": {"diagnostics": [report]}}),
            );
            let fix = actions.as_array().unwrap().iter().any(|action| {
                action["isPreferred"] == false
                    && action["title"].as_str().unwrap().starts_with("Remove")
            });
            assert_eq!(fix, !edits.is_empty(), "{unused}: {actions:#?}");
            if fix {
                assert_eq!(mended(&mut client, report), *edits, "{unused}");
            }
            for help in helps {
                let message = report["message"].as_str().unwrap();
                assert!(message.contains(help.as_str()), "{unused}: {message}");
            }
        }
        client.notify("textDocument/didClose", json!({"textDocument": {"uri": URI}}));
        client.settled_silently();
    }
    client.finish();
}

#[test]
fn the_other_sides_of_races_are_counted_among_those_that_are_shown() {
    let mut client = Client::new(None, accepting_edits());
    client.open(URI, &races(3));
    let few = client.settled(URI, 1);
    let sides = few.iter().filter(|one| one["severity"] == 3).count();
    assert!(sides > 0 && sides < few.len(), "{few:#?}");
    let many: String = (0..40)
        .map(|at| {
            let (_, program) =
                races(40).split_once("program").map(|(a, b)| (a.len(), b.to_owned())).unwrap();
            format!("program{}", program.replacen(" p(", &format!(" p{at}("), 1))
        })
        .collect();
    client.replace(URI, 2, &format!("use std::collectives::unchecked;\n{many}"));
    assert!(client.settled(URI, 2).len() <= 1001);
    client.finish();
}

#[test]
fn a_race_is_shown_wherever_the_name_of_its_program_stands() {
    let mut client = Client::new(None, json!({}));
    for head in ["program", "program\n", "  program", "// Comment.\r  program"] {
        let second = races(1).replacen("use std::collectives::unchecked;", "", 1);
        let text = races(2) + &second.replacen(" p(", " q(", 1);
        client.open(URI, &text.replace("program", head));
        let found = client.settled(URI, 1);
        assert!(found.iter().any(|one| one["severity"] == 1), "{head:?}: {found:#?}");
        client.notify("textDocument/didClose", json!({"textDocument": {"uri": URI}}));
        client.settled_silently();
    }
    client.finish();
}

#[test]
fn a_file_keeps_the_ends_of_its_lines_when_it_is_formatted() {
    let mut client = Client::new(None, accepting_edits());
    let text = races(1).replace("block b0 { copy", "block  b0 { copy").replace('\n', "\r\n");
    client.open(URI, &text);
    client.settled_silently();
    let options = json!({"tabSize": 4, "insertSpaces": true});
    let asked = json!({"textDocument": {"uri": URI}, "options": options});
    let edits = client.request("textDocument/formatting", asked);
    let place = |column: u64| json!({"line": 4, "character": column});
    let blank = json!({"range": {"start": place(9), "end": place(11)}, "newText": " "});
    assert_eq!(edits, json!([blank]));
    client.finish();
}

#[test]
fn what_is_broken_twice_in_an_import_is_shown_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let uri = |name: &str| lsp_types::Url::from_file_path(root.join(name)).unwrap().to_string();
    let broken = "proc tell(c: channel[]) {\n    signal d[*];\n    wait d[*];\n}\n";
    std::fs::write(root.join("lib.ccl"), broken).unwrap();
    let mut client = Client::new(Some(&root), json!({}));
    let main = uri("main.ccl");
    let text = "use \"lib.ccl\"::tell;\nuse std::collectives::unchecked;\nprogram p(ranks: int = 2) {\n    \
        collective unchecked(ranks, outputs = ranks);\n    channel c[p in peers] = memory(p);\n    \
        block main { tell(c); tell(c); }\n}\n";
    client.open(&main, text);
    let found = client.settled(&main, 1);
    assert_eq!(Client::codes(&found), ["E0201"]);
    let lines: Vec<u64> = found[0]["relatedInformation"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|place| place["location"]["uri"] == uri("lib.ccl"))
        .map(|place| place["location"]["range"]["start"]["line"].as_u64().unwrap())
        .collect();
    assert!(lines.contains(&1) && lines.contains(&2), "{lines:?}");
    client.finish();
}

#[test]
fn lines_that_end_with_a_carriage_return_are_folded_and_formatted() {
    let mut client = Client::new(None, accepting_edits());
    client.open(URI, &races(1).replace("block b0 {", "block b0 {\n").replace('\n', "\r"));
    client.settled_silently();
    let file = json!({"uri": URI});
    let folds = client.request("textDocument/foldingRange", json!({"textDocument": file}));
    let lines =
        |fold: &Value| (fold["startLine"].as_u64().unwrap(), fold["endLine"].as_u64().unwrap());
    assert_eq!(folds.as_array().unwrap().iter().map(lines).collect::<Vec<_>>(), [(2, 5)]);
    // After the `}` of the block: nothing above the block is touched.
    let position = json!({"line": 5, "character": 34});
    let asked = json!({"textDocument": file, "position": position, "ch": "}",
        "options": {"tabSize": 4, "insertSpaces": true}});
    let edits = client.request("textDocument/onTypeFormatting", asked);
    let edits = edits.as_array().unwrap().iter();
    let mut first = edits.map(|edit| edit["range"]["start"]["line"].as_u64().unwrap());
    assert!(first.all(|line| line >= 3), "the lines before the block stay");
    client.finish();
}
