//! What the protocol promises and editors rely on: conversations with a server in this process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;
#[path = "support/gather.rs"]
mod gather;

use client::{Client, RUNNING, accepting_edits};
use gather::{GATHER, raced};
use lsp_types::TextEdit;
use serde_json::{Value, json};
use server::text::{Encoding, Lines};
use std::sync::atomic::Ordering;

const URI: &str = "untitled:Untitled-1";

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
    let range = json!({"start": position(6, 0), "end": position(6, 0)});
    client.change(URI, 3, json!([{"range": range, "text": "        wait mem[*] relaxed;\n"}]));
    // The order differs from the original text, but there is no race.
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
fn a_race_is_shown_on_both_lines_with_the_page_of_its_code() {
    let mut client = Client::new(None, json!({}));
    let raced = GATHER.replacen(
        "    block main {",
        "    block other { copy input[0] -> output[rank]; }\n    block main {",
        1,
    );
    client.open(URI, &raced);
    let found = client.settled(URI, 1);
    assert_eq!(Client::codes(&found)[..2], ["E0501", "E0501"]);
    let (one, other) = (&found[0], &found[1]);
    assert_eq!((&one["severity"], &other["severity"]), (&json!(1), &json!(3)));
    assert_eq!(one["relatedInformation"][0]["location"]["range"], other["range"]);
    assert_eq!(other["relatedInformation"][0]["location"]["range"], one["range"]);
    assert_ne!(one["range"]["start"]["line"], other["range"]["start"]["line"]);
    let page = one["codeDescription"]["href"].as_str().unwrap();
    let page = lsp_types::Url::parse(page).unwrap().to_file_path().unwrap();
    let text = std::fs::read_to_string(page).unwrap();
    assert_eq!(text, compiler::diagnostic::Code::E0501.explain());
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
fn what_was_read_from_a_folder_goes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let uri = |name: &str| lsp_types::Url::from_file_path(root.join(name)).unwrap().to_string();
    let (main, lib) = (uri("main.ccl"), uri("parts/deep/lib.ccl"));
    std::fs::create_dir_all(root.join("parts/deep")).unwrap();
    std::fs::write(root.join("parts/deep/lib.ccl"), "let half = 2;\n").unwrap();
    let watches = json!({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": true}}});
    let mut client = Client::new(Some(&root), watches);
    let asked = client.wait(|message| message["method"] == "client/registerCapability");
    let watchers = &asked["params"]["registrations"][0]["registerOptions"]["watchers"];
    let deletions = json!({"globPattern": "**/*", "kind": 4});
    assert!(watchers.as_array().unwrap().contains(&deletions), "{watchers}");
    let text = GATHER.replacen("int = 4", "int = half * 2", 1);
    client.open(&main, &format!("use \"parts/deep/lib.ccl\"::half;\n{text}"));
    assert_eq!(client.settled(&main, 1), [] as [Value; 0]);
    std::fs::remove_dir_all(root.join("parts")).unwrap();
    let gone = json!({"changes": [{"uri": uri("parts"), "type": 3}]});
    client.notify("workspace/didChangeWatchedFiles", gone.clone());
    assert_eq!(Client::codes(&client.settled(&main, 1)), ["E0206"]);
    // The text of an open file is the editor's.
    client.open(&lib, "let half = 2;\n");
    assert_eq!(client.settled(&main, 1), [] as [Value; 0]);
    client.notify("workspace/didChangeWatchedFiles", gone);
    client.settled_silently();
    client.replace(&main, 2, &format!("use \"parts/deep/lib.ccl\"::half;\n\n{text}"));
    assert_eq!(client.settled(&main, 2), [] as [Value; 0]);
    client.settled_silently();
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
    assert_eq!(symbols[0]["location"]["range"]["start"], position(1000, 4));
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
    for (taken, why) in
        [("gather now", "not a valid name"), ("put", "already used"), ("ranks", "already gives")]
    {
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
fn a_new_name_is_for_the_version_that_was_looked_at() {
    let can = json!({"workspace": {"workspaceEdit": {"documentChanges": true}}});
    let mut client = Client::new(None, can);
    client.open(URI, GATHER);
    client.settled(URI, 1);
    let mut asked = at(URI, 8, 66);
    asked["newName"] = json!("memory_of");
    let edit = client.request("textDocument/rename", asked.clone());
    let changes = edit["documentChanges"][0].clone();
    assert_eq!(changes["textDocument"], json!({"uri": URI, "version": 1}));
    assert_eq!(changes["edits"].as_array().unwrap().len(), 6);
    asked["newName"] = json!("mem");
    assert_eq!(client.request("textDocument/rename", asked), json!({}), "it has this name");
    client.finish();
}

#[test]
fn a_program_may_have_the_name_of_a_function() {
    let mut client = Client::new(None, json!({}));
    let other = GATHER.split_once("program").unwrap().1.replacen("gather", "other", 1);
    client.open(URI, &format!("{GATHER}fn half(n: int) = n / 2;\nprogram{other}"));
    client.settled(URI, 1);
    for (new, free) in [("half", true), ("mem", true), ("other", false)] {
        let mut asked = at(URI, 2, 9);
        asked["newName"] = json!(new);
        let id = client.ask("textDocument/rename", asked);
        let response = client.response(id);
        assert_eq!(response.get("error").is_none(), free, "{response}");
    }
    client.finish();
}

#[test]
fn parameters_that_the_compiler_looks_for_keep_their_names() {
    let mut client = Client::new(None, json!({}));
    let text = GATHER.replacen("ranks: int = 4", "ranks: int = 4, ranks_per_node: int = 2", 1);
    client.open(URI, &format!("{text}fn half(ranks: int) = ranks / 2;\n"));
    client.settled(URI, 1);
    // The declaration and a use; then a parameter of a function, whose name is free.
    for (line, column, refused) in [(2, 16, true), (2, 32, true), (3, 25, true), (14, 8, false)] {
        for method in ["textDocument/prepareRename", "textDocument/rename"] {
            let mut asked = at(URI, line, column);
            asked["newName"] = json!("many");
            let id = client.ask(method, asked);
            let response = client.response(id);
            let why = response["error"]["message"].as_str().unwrap_or("");
            assert_eq!(why.contains("finds it by this name"), refused, "{method}: {response}");
        }
    }
    client.finish();
}

#[test]
fn fixes_are_those_of_the_whole_file_from_the_start() {
    let text = format!(
        "use std::patterns::handshake;\n{}",
        GATHER.replacen("signal mem[*] relaxed;", "handshak(mem);", 1)
    );
    let asked = json!({"textDocument": {"uri": URI}, "context": {"diagnostics": []},
        "range": {"start": position(7, 0), "end": position(7, 30)}});
    let mut client = Client::new(None, accepting_edits());
    client.open(URI, &text);
    // What is known of each declaration is published at once; the check of the whole file follows when nobody types.
    let first = client.wait(|message| message["method"] == "textDocument/publishDiagnostics");
    let early = client.request("textDocument/codeAction", asked.clone());
    assert_ne!(first["params"]["diagnostics"], json!([]));
    client.settled_silently();
    assert_eq!(early, client.request("textDocument/codeAction", asked));
    client.settled_silently();
    client.finish();
}

#[test]
fn places_in_the_library_are_related_to_mistakes_of_a_file_with_errors() {
    let mut client = Client::new(None, json!({}));
    let text = GATHER.replacen("in_place = true", "inplace = true", 1);
    client.open(URI, &format!("{text}fn f(a: int) -> int = ;\n"));
    let found = client.settled(URI, 1);
    let wrong = found.iter().find(|one| one["code"] == "E0205").unwrap();
    let place = wrong["relatedInformation"][0]["location"]["uri"].as_str();
    assert!(place.is_some_and(|uri| uri.ends_with("collectives.ccl")), "{found:?}");
    client.finish();
}

#[test]
fn a_file_of_mistakes_is_shown_in_part_and_soon() {
    let mut client = Client::new(None, json!({}));
    client.open(URI, &"; ".repeat(4000));
    let found = client.settled(URI, 1);
    assert_eq!(found.len(), 1001);
    let last = found[1000]["message"].as_str().unwrap();
    assert!(last.contains("1000 of "), "{last}");
    client.finish();
}

#[test]
fn lines_end_with_carriage_returns_too() {
    let mut client = Client::new(None, json!({}));
    client.open(URI, "let a = 1;\rlet b = (;\r");
    assert_eq!(client.settled(URI, 1)[0]["range"]["start"]["line"], 1);
    let range = json!({"start": position(1, 8), "end": position(1, 9)});
    client.change(URI, 2, json!([{"range": range, "text": "2"}]));
    assert!(Client::codes(&client.settled(URI, 2)).iter().all(|code| code.starts_with('W')));
    client.finish();
}

#[test]
fn an_unknown_request_is_answered_whatever_its_name() {
    let mut client = Client::new(None, json!({}));
    client.notify("$/unknown", json!({}));
    let id = client.ask("$/unknown", json!({}));
    assert_eq!(client.response(id)["error"]["code"], -32601);
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

/// Imports are moved only where the whole file is formatted.
#[test]
fn formatting_a_file_sorts_its_imports() {
    const UNSORTED: &str =
        "use std::patterns::{meet,handshake};\r\nuse std::math::log2;\r\n\r\nlet  x = 1;\r\n";
    const SORTED: &str =
        "use std::math::log2;\r\nuse std::patterns::{handshake, meet};\r\n\r\nlet x = 1;\r\n";
    let mut client = Client::new(None, json!({}));
    client.open(URI, UNSORTED);
    let options = json!({"tabSize": 4, "insertSpaces": true});
    let whole = json!({"textDocument": {"uri": URI}, "options": options});
    let edits = client.request("textDocument/formatting", whole);
    assert_eq!(edited(UNSORTED, &edits), SORTED);
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 4, "character": 0}});
    let part = json!({"textDocument": {"uri": URI}, "options": options, "range": range});
    let edits = client.request("textDocument/rangeFormatting", part);
    assert_eq!(edited(UNSORTED, &edits), UNSORTED.replace("let  x", "let x"));
    client.settled_silently();
    client.finish();
}

/// A text after edits that are sorted by their places.
fn edited(text: &str, edits: &Value) -> String {
    let lines = Lines::new(text.into(), Encoding::Utf16);
    let mut edited = text.to_owned();
    let mut edits: Vec<TextEdit> = serde_json::from_value(edits.clone()).unwrap();
    edits.sort_by_key(|edit| edit.range.start);
    for edit in edits.iter().rev() {
        let range = lines.offsets(edit.range);
        edited.replace_range(range.start as usize..range.end as usize, &edit.new_text);
    }
    edited
}

/// `cclc fmt` formats such a file, too.
#[test]
fn a_text_with_a_byte_order_mark_is_formatted() {
    let mut client = Client::new(None, json!({}));
    client.open(URI, "\u{feff}let  x = 1;\n");
    let options =
        json!({"textDocument": {"uri": URI}, "options": {"tabSize": 4, "insertSpaces": true}});
    let edits = client.request("textDocument/formatting", options);
    assert!(edits.as_array().unwrap().iter().any(|edit| edit["newText"] == " "), "{edits}");
    client.settled_silently();
    client.finish();
}

#[test]
fn unknown_words_are_mended() {
    let mut client = Client::new(None, accepting_edits());
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

/// The program does not depend on the imports that it does not use.
#[test]
fn a_name_of_the_library_is_imported_beside_the_others() {
    let mut client = Client::new(None, accepting_edits());
    let body = GATHER.split_once("\n\n").unwrap().1;
    let body = body.replacen(
        "signal mem[*] relaxed;\n        wait mem[*] relaxed;",
        "handshake(mem[*]);",
        1,
    );
    let head = "// All.\nuse std::patterns::ring_next;\nuse std::math::log2;\n\nlet two = log2(4);\nfn next(r: rank) -> rank = ring_next(r, two);\n\n/// All pairs.\n";
    let text = format!("{head}{body}");
    client.open(URI, &text);
    let found = client.settled(URI, 1);
    let mut missing = Vec::new();
    for report in found.iter().filter(|report| report["code"] == "E0201") {
        let asked = json!({"textDocument": {"uri": URI}, "range": report["range"],
            "context": {"diagnostics": [report]}});
        let action = client.request("textDocument/codeAction", asked)[0].clone();
        let edits = action["edit"]["changes"][URI].as_array().unwrap().clone();
        let edits = edits.iter().map(|edit| {
            let start = &edit["range"]["start"];
            format!(
                "{}:{} {}",
                start["line"],
                start["character"],
                edit["newText"].as_str().unwrap()
            )
        });
        missing.push((action["title"].clone(), edits.collect::<Vec<_>>()));
    }
    let allgather = vec!["2:20 \nuse std::collectives::allgather;".to_owned()];
    let handshake = vec!["1:19 {".to_owned(), "1:28 , handshake}".to_owned()];
    let titles =
        ["Insert `use std::collectives::allgather;`", "Insert `use std::patterns::handshake;`"];
    assert_eq!(missing, [(json!(titles[0]), allgather), (json!(titles[1]), handshake)]);
    client.finish();
}

#[test]
fn lenses_are_asked_for_again_when_the_proof_is_there() {
    let refreshed = json!({"workspace": {"codeLens": {"refreshSupport": true}}});
    let mut client = Client::new(None, refreshed);
    client.open(URI, &GATHER.replacen("int = 4", "int = 14", 1));
    let asked = json!({"textDocument": {"uri": URI}});
    let title = |lenses: &Value| lenses[0]["command"]["title"].as_str().unwrap().to_owned();
    let before = client.request("textDocument/codeLens", asked.clone());
    assert!(!title(&before).contains("proved"), "{before}");
    client.wait(|message| message["method"] == "workspace/codeLens/refresh");
    let after = client.request("textDocument/codeLens", asked.clone());
    assert!(title(&after).starts_with("14 ranks") && title(&after).ends_with("proved"), "{after}");
    assert_eq!(client.settled(URI, 1), [] as [Value; 0]);
    // The client is not asked to request again what it was shown in full.
    assert_eq!(client.settled_silently(), 0);
    client.finish();
}

#[test]
fn what_another_file_decides_is_asked_for_again() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let uri = |name: &str| lsp_types::Url::from_file_path(root.join(name)).unwrap().to_string();
    let (main, lib) = (uri("main.ccl"), uri("lib.ccl"));
    let can = json!({"refreshSupport": true});
    let mut client = Client::new(
        Some(&root),
        json!({"workspace": {"codeLens": can, "inlayHint": can, "semanticTokens": can}}),
    );
    let text = GATHER.replacen("block main {", "let n = half;\n    block main {", 1);
    client.open(&lib, "let half = 2;\n");
    client.open(&main, &format!("use \"lib.ccl\"::half;\n{text}"));
    client.settled(&lib, 1);
    assert_eq!(Client::codes(&client.settled(&main, 1)), ["W0205"]);
    let line = json!({"start": position(6, 0), "end": position(7, 0)});
    let asked = json!({"textDocument": {"uri": main}, "range": line});
    let hints = client.request("textDocument/inlayHint", asked.clone());
    assert!(hints.to_string().contains("= 2"), "{hints}");
    client.replace(&lib, 2, "let half = 3;\n");
    for view in ["codeLens", "inlayHint", "semanticTokens"] {
        let method = format!("workspace/{view}/refresh");
        client.wait(|message| message["method"] == method.as_str());
    }
    let hints = client.request("textDocument/inlayHint", asked);
    assert!(hints.to_string().contains("= 3"), "{hints}");
    client.settled(&lib, 2);
    // An edit of a file that nothing depends on changes nothing elsewhere.
    client.replace(&main, 2, &text.replacen("half", "2", 1));
    client.settled(&main, 2);
    client.finish();
}

#[test]
fn folders_come_and_go() {
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let uri = |at: usize, name: &str| {
        let path = folders[at].path().canonicalize().unwrap().join(name);
        lsp_types::Url::from_file_path(path).unwrap().to_string()
    };
    for (at, folder) in folders.iter().enumerate() {
        std::fs::write(folder.path().join("lib.ccl"), format!("let half_{at} = 1;\n")).unwrap();
    }
    let folder = |at: usize| json!({"uri": uri(at, ""), "name": format!("{at}")});
    let mut client = Client::bare();
    let answer = client.request(
        "initialize",
        json!({"processId": null, "rootUri": null, "capabilities": {}, "workspaceFolders": [folder(0), folder(1)]}),
    );
    assert_eq!(
        answer["capabilities"]["workspace"]["workspaceFolders"]["changeNotifications"],
        true
    );
    client.notify("initialized", json!({}));
    let mut symbols = || {
        let found = client.request("workspace/symbol", json!({"query": "half"}));
        let name = |one: &Value| one["name"].as_str().unwrap().to_owned();
        let mut names: Vec<String> = found.as_array().unwrap().iter().map(name).collect();
        names.sort();
        names
    };
    assert_eq!(symbols(), ["half_0", "half_1"]);
    let event = json!({"event": {"added": [folder(2)], "removed": [folder(0)]}});
    client.notify("workspace/didChangeWorkspaceFolders", event);
    let mut symbols = || {
        let found = client.request("workspace/symbol", json!({"query": "half"}));
        found.as_array().unwrap().iter().map(|one| one["name"].clone()).collect::<Vec<_>>()
    };
    let mut names = symbols();
    names.sort_by_key(Value::to_string);
    assert_eq!(names, ["half_1", "half_2"]);
    // Files with the same names; each imports the one next to it.
    for at in [1, 2] {
        let main = uri(at, "main.ccl");
        let text = GATHER.replacen("int = 4", &format!("int = half_{at} * 4"), 1);
        client.open(&main, &format!("use \"lib.ccl\"::half_{at};\n{text}"));
        assert_eq!(client.settled(&main, 1), [] as [Value; 0]);
    }
    client.finish();
}

#[test]
fn a_folder_becomes_the_root_when_the_root_goes() {
    let outer = tempfile::tempdir().unwrap();
    let outer = outer.path().canonicalize().unwrap();
    let inner = outer.join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(outer.join("lib.ccl"), "fn twice(n: int) = 2 * n;\n").unwrap();
    let uri = |path: &std::path::Path| lsp_types::Url::from_file_path(path).unwrap().to_string();
    let main = uri(&inner.join("main.ccl"));
    let text = "use \"../lib.ccl\"::twice;\nfn four(n: int) = twice(twice(n));\n";
    let folder = |path: &std::path::Path| json!({"uri": uri(path), "name": "folder"});
    let mut client = Client::new(Some(&inner), json!({}));
    client.open(&main, text);
    assert_eq!(Client::codes(&client.settled(&main, 1)), ["E0207"], "outside of the root");
    for (added, removed, codes) in [(&outer, &inner, &[] as &[&str]), (&inner, &outer, &["E0207"])]
    {
        let event = json!({"event": {"added": [folder(added)], "removed": [folder(removed)]}});
        client.notify("workspace/didChangeWorkspaceFolders", event);
        assert_eq!(Client::codes(&client.settled(&main, 1)), codes);
    }
    client.finish();
}

#[test]
fn a_program_is_elaborated_as_it_stands_in_the_editor() {
    let mut client = Client::new(None, json!({}));
    client.open(URI, GATHER);
    let asked = |program: &str| json!({"textDocument": {"uri": URI}, "program": program});
    let four = client.request("ccl/elaborated", asked("gather"));
    let text = four["text"].as_str().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let puts = lines.iter().filter(|line| line.trim_start().starts_with("put ")).count();
    assert_eq!(puts, 4 * 3, "{text}");
    let links = four["links"].as_array().unwrap();
    let of_line = |number: u64| {
        let from = |place: &Value| {
            let location = &four["places"][place.as_u64().unwrap() as usize];
            location["uri"] == URI && location["range"]["start"]["line"] == number
        };
        let linked = |link: &&Value| link["places"].as_array().unwrap().iter().any(from);
        let found = links.iter().filter(linked).map(|link| link["line"].as_u64().unwrap());
        found.map(|line| lines[line as usize].trim_start()).collect::<Vec<_>>()
    };
    assert_eq!(of_line(8).len(), 4 * 3);
    assert!(of_line(8).iter().all(|line| line.starts_with("put ")), "{:?}", of_line(8));
    client.replace(URI, 2, &GATHER.replacen("int = 4", "int = 2", 1));
    let two = client.request("ccl/elaborated", asked("gather"));
    let text = two["text"].as_str().unwrap();
    assert_eq!(text.lines().filter(|line| line.trim_start().starts_with("put ")).count(), 2);
    assert_eq!(client.request("ccl/elaborated", asked("none")), Value::Null);
    client.replace(URI, 3, &GATHER.replacen("put", "putt", 1));
    let broken = client.request("ccl/elaborated", asked("gather"));
    assert_eq!((&broken["text"], &broken["isCurrent"]), (&two["text"], &json!(false)));
    client.settled(URI, 3);
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
