//! Code actions: conversations with a server in this process, and what is left of the findings once an action is made.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;

use client::{Client, accepting_edits};
use serde_json::{Value, json};
use server::text::{Encoding, Lines};

const URI: &str = "untitled:Untitled-1";

/// A file that is open in a client and has been checked.
struct Opened {
    client: Client,
    text: String,
    version: i32,
    found: Vec<Value>,
}

impl Opened {
    fn new(text: &str) -> Opened {
        Opened::with(text, accepting_edits())
    }

    fn with(text: &str, capabilities: Value) -> Opened {
        let mut client = Client::new(None, capabilities);
        client.open(URI, text);
        let found = client.settled(URI, 1);
        Opened { client, text: text.to_owned(), version: 1, found }
    }

    /// Replaces the text; waits until it has been checked.
    fn replace(&mut self, text: String) {
        self.version += 1;
        self.client.replace(URI, self.version, &text);
        self.found = self.client.settled(URI, self.version);
        self.text = text;
    }

    fn codes(&self) -> Vec<&str> {
        Client::codes(&self.found)
    }

    /// The actions of some kinds, at a range.
    fn actions(&mut self, range: &Value, only: Option<&[&str]>) -> Vec<Value> {
        let mut context = json!({"diagnostics": []});
        if let Some(only) = only {
            context["only"] = json!(only);
        }
        let asked = json!({"textDocument": {"uri": URI}, "range": range, "context": context});
        let actions = self.client.request("textDocument/codeAction", asked);
        actions.as_array().unwrap().clone()
    }

    /// The actions at the first finding with a code.
    fn actions_at(&mut self, code: &str) -> Vec<Value> {
        let range = self.found.iter().find(|one| one["code"] == code).unwrap()["range"].clone();
        self.actions(&range, None)
    }

    /// The text once an action has been made.
    fn made(&self, action: &Value) -> String {
        let lines = Lines::new(self.text.as_str().into(), Encoding::Utf16);
        let edits = action["edit"]["changes"][URI].as_array().unwrap().iter();
        let mut edits: Vec<(std::ops::Range<u32>, &str)> = edits
            .map(|edit| {
                let range = serde_json::from_value(edit["range"].clone()).unwrap();
                (lines.offsets(range), edit["newText"].as_str().unwrap())
            })
            .collect();
        edits.sort_by_key(|(range, _)| (range.start, range.end));
        let mut text = self.text.clone();
        for (range, new) in edits.into_iter().rev() {
            text.replace_range(range.start as usize..range.end as usize, new);
        }
        text
    }
}

fn titles(actions: &[Value]) -> Vec<&str> {
    actions.iter().map(|action| action["title"].as_str().unwrap()).collect()
}

/// A program that puts without a channel, with some channels.
fn without_channel(channels: &str) -> String {
    format!(
        "use std::collectives::allgather;\n\nprogram p(ranks: int = 2) {{\n    \
         collective allgather(ranks, in_place = true);\n{channels}    block main {{\n        \
         for p in peers {{ put output[rank] -> /* to */ p.output[rank]; }}\n    }}\n}}\n"
    )
    .replace("/* to */", "// Aside.\n            ")
}

#[test]
fn a_missing_channel_is_named() {
    let one = "    channel mem[q in peers] = memory(q);\n";
    let mut opened = Opened::new(&without_channel(one));
    let actions = opened.actions_at("E0214");
    assert_eq!(titles(&actions), ["Name it after the operands: `via mem[p]`"]);
    assert_eq!(actions[0]["isPreferred"], true);
    let wanted = opened.text.replace("p.output[rank];", "p.output[rank] via mem[p];");
    assert_eq!(opened.made(&actions[0]), wanted);
    opened.client.finish();
}

#[test]
fn where_several_channels_fit_there_is_an_action_for_each() {
    let several = "    channel mem[q in peers] = memory(q);\n    channel near = memory(1 - rank);\n    \
                   channel nvls = switch(0..ranks, output);\n    channel far[q in peers] = port(q);\n";
    let mut opened = Opened::new(&without_channel(several));
    let actions = opened.actions_at("E0214");
    let via = ["via mem[p]", "via near", "via far[p]"];
    let wanted = via.map(|via| format!("Name it after the operands: `{via}`"));
    assert_eq!(titles(&actions), wanted);
    for (action, via) in actions.iter().zip(via) {
        assert_eq!(action["isPreferred"], false);
        let wanted = opened.text.replace("p.output[rank];", &format!("p.output[rank] {via};"));
        assert_eq!(opened.made(action), wanted);
    }
    opened.client.finish();
}

/// A program with a warning of each kind that an attribute accepts: on lines of their own, between other code, inside a
/// block, about an import, and about the whole program.
const WARNED: &str = "use std::collectives::unchecked;
use std::patterns::meet;

/// Has a parameter too many.
fn f(a: int, b: int) = a;

program p(ranks: int = 2) {
    collective unchecked(ranks, outputs = ranks);
    scratch spare[2]; semaphore never;
    #[allow(shared, \"another one\")]
    channel idle[p in peers] = memory(p);
    let n = f(1, 2);
    block main {
        for i in 0..2 { let m = i; copy input[0] -> output[rank]; }
    }
}
";

#[test]
fn warnings_are_allowed_where_they_are() {
    let mut opened = Opened::new(WARNED);
    let all = ["W0201", "W0205", "W0203", "W0204", "W0202", "W0205", "W0205"];
    assert_eq!(opened.codes(), all);
    for code in all {
        let title = format!("Allow {code} here");
        let actions = opened.actions_at(code);
        let action = actions.iter().find(|action| action["title"] == title.as_str()).unwrap();
        assert_eq!((&action["kind"], &action["isPreferred"]), (&json!("quickfix"), &json!(false)));
        let before = opened.found.len();
        opened.replace(opened.made(action));
        assert_eq!(opened.found.len(), before - 1, "{code}: {:?}\n{}", opened.codes(), opened.text);
    }
    let why = |code: &str| format!("#[allow({code}, \"why\")]");
    let (import, local) = (why("W0201"), why("W0205"));
    let expected = WARNED
        .replace("use std::patterns", &format!("{import}\nuse std::patterns"))
        .replace("fn f", &format!("{local}\nfn f"))
        .replace("    scratch", &format!("    {}\n    scratch", why("W0203")))
        .replace("; semaphore", &format!("; {} semaphore", why("W0204")))
        .replace("    channel", &format!("    {}\n    channel", why("W0202")))
        .replace("    let n", &format!("    {local}\n    let n"))
        .replace("let m", &format!("{local} let m"));
    assert_eq!(opened.text, expected);
    opened.client.finish();
}

#[test]
fn errors_are_not_allowed() {
    let text = WARNED.replace("copy input[0]", "copy inptu[0]");
    let mut opened = Opened::new(&text);
    let actions = opened.actions_at("E0201");
    assert_eq!(titles(&actions), ["Write `input`"]);
    opened.client.finish();
}

#[test]
fn only_kinds_that_are_asked_for_are_sent() {
    let mut opened = Opened::new(WARNED);
    let range = opened.found[0]["range"].clone();
    let quick = ["Remove the import `meet`", "Allow W0201 here"];
    assert_eq!(titles(&opened.actions(&range, None)), quick);
    assert_eq!(titles(&opened.actions(&range, Some(&["refactor", "quickfix"]))), quick);
    for other in ["refactor", "quick", "quickfix.other"] {
        assert!(opened.actions(&range, Some(&[other])).is_empty(), "{other}");
    }
    // Some clients send an empty list if they want nothing in particular.
    assert_eq!(titles(&opened.actions(&range, Some(&[]))), quick);
    opened.client.finish();
}

/// A file that uses names that it does not import: some from a module of which it imports another name, some not. A
/// word is too many, and a channel is missing.
const UNIMPORTED: &str = "use std::collectives::allgather;
use std::patterns::share;

program p(ranks: int = 4) {
    collective allgather(ranks, in_place = true);
    require is_power_of_two(ranks), \"ranks must be a power of two\";
    let steps = log2(ranks);
    channel mem[p in peers] = memory(p);
    block main {
        meet(mem[*]);
        for p in peers { put output[rank] -> p.output[rank] relaxed; }
        handshake(mem[*]);
    }
}
";

fn with_imports(text: &str) -> String {
    let all = "::{share, handshake, meet};\nuse std::math::{is_power_of_two, log2};";
    text.replace("::share;", all)
}

/// The title and the new text of the only action of a kind. Actions about the file are the same everywhere in it.
fn only_action(opened: &mut Opened, kind: &str) -> (String, String) {
    let start = json!({"line": 0, "character": 0});
    let actions = opened.actions(&json!({"start": start, "end": start}), Some(&[kind]));
    assert_eq!(actions.len(), 1, "{kind}: {actions:?}");
    assert!(actions[0]["kind"].as_str().unwrap().starts_with(kind));
    (actions[0]["title"].as_str().unwrap().to_owned(), opened.made(&actions[0]))
}

#[test]
fn all_missing_imports_are_added_at_once() {
    let mut opened = Opened::new(UNIMPORTED);
    let (title, text) = only_action(&mut opened, "source.addMissingImports");
    assert_eq!(title, "Add all missing imports");
    assert_eq!(text, with_imports(UNIMPORTED));
    opened.client.finish();
}

#[test]
fn all_fixes_that_are_certain_are_made_at_once() {
    let mut opened = Opened::new(UNIMPORTED);
    let expected =
        with_imports(UNIMPORTED).replace("p.output[rank] relaxed;", "p.output[rank] via mem[p] ;");
    for kind in ["source.fixAll", "source.fixAll.ccl"] {
        let (title, text) = only_action(&mut opened, kind);
        assert_eq!((title.as_str(), &text), ("Make all fixes that are certain", &expected));
    }
    opened.client.finish();
}

#[test]
fn imports_are_organized() {
    let text = WARNED
        .replace("::meet;\n", "::meet;\nuse std::math::log2;\nuse std::math::gcd;\n")
        .replace("let n = f(1, 2);", "let _n = gcd(4, 2) + log2(4);");
    let mut opened = Opened::new(&text);
    let (title, organized) = only_action(&mut opened, "source.organizeImports");
    assert_eq!(title, "Organize imports");
    let imports = "use std::collectives::unchecked;\nuse std::math::{gcd, log2};\n\n";
    assert!(organized.starts_with(imports), "{organized}");
    opened.replace(organized);
    assert!(!opened.codes().contains(&"W0201"));
    let start = json!({"line": 0, "character": 0});
    let range = json!({"start": start, "end": start});
    assert!(opened.actions(&range, Some(&["source.organizeImports"])).is_empty());
    opened.client.finish();
}

#[test]
fn actions_about_the_file_are_sent_only_if_asked_for() {
    let mut opened = Opened::new(UNIMPORTED);
    let range = opened.found[0]["range"].clone();
    let kinds = |actions: Vec<Value>| -> Vec<String> {
        actions.iter().map(|action| action["kind"].as_str().unwrap().to_owned()).collect()
    };
    let source = ["source.fixAll.ccl", "source.addMissingImports", "source.organizeImports"];
    let actions = opened.actions(&range, None);
    assert!(kinds(actions).iter().all(|kind| kind == "quickfix"));
    let actions = opened.actions(&range, Some(&["source"]));
    assert_eq!(kinds(actions), source);
    let actions = opened.actions(&range, Some(&["quickfix", "source.addMissingImports"]));
    assert!(kinds(actions).iter().all(|kind| kind == "quickfix" || kind == source[1]));
    assert!(opened.actions(&range, Some(&["source.fixAll.other"])).is_empty());
    let answer = Client::bare().initialize(None, accepting_edits());
    let offered = &answer["capabilities"]["codeActionProvider"]["codeActionKinds"];
    assert_eq!(*offered, json!(["quickfix", "refactor.rewrite", source[0], source[1], source[2]]));
    opened.client.finish();
}

/// A program that has a collective and a machine, and no block.
const UNFINISHED: &str = "use std::collectives::allgather;
use std::topologies::ring;

/// Mine.
program mine(ranks: int = 4) {
    topology ring(ranks);
    collective allgather(ranks);
}
";

fn applying_edits() -> Value {
    let mut capabilities = accepting_edits();
    capabilities["workspace"] = json!({"applyEdit": true});
    capabilities
}

#[test]
fn an_unfinished_program_is_completed() {
    let mut opened = Opened::with(UNFINISHED, applying_edits());
    let at = json!({"start": {"line": 5, "character": 4}, "end": {"line": 5, "character": 4}});
    let actions = opened.actions(&at, Some(&["refactor"]));
    assert_eq!(
        titles(&actions),
        [
            "Synthesize the program that takes the least time",
            "Synthesize the program with the fewest steps",
            "Synthesize a program for long messages",
        ]
    );
    for action in &actions {
        let id = opened.client.ask(
            "workspace/executeCommand",
            json!({"command": action["command"]["command"], "arguments": action["command"]["arguments"]}),
        );
        let asked = opened.client.wait(|message| message["method"] == "workspace/applyEdit");
        let text = opened.made(&asked["params"]);
        opened
            .client
            .send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"applied": true}}));
        assert!(opened.client.response(id)["result"]["message"].is_string());
        assert!(text.contains("/// Mine.\nprogram mine("), "{text}");
        assert!(text.contains("    topology ring(ranks);\n"), "{text}");
        let mut completed = Opened::new(&text);
        assert_eq!(completed.codes(), Vec::<&str>::new(), "{text}");
        let actions = completed.actions(&at, Some(&["refactor"]));
        assert_eq!(actions.len(), 0);
    }
}

/// Programs that import more than their collective and their machine, and those with tables.
#[test]
fn completed_programs_import_what_they_use() {
    let named = "use std::collectives::{allreduce, reducescatter};\nuse std::topologies::{dgx1, dgx_h100};\n";
    let whole = &format!("{named}use std::patterns::{{handshake, meet}};\n");
    let rows = [
        (named, "allreduce(ranks)", "dgx1", 8),
        (named, "allreduce(ranks)", "dgx_h100(boxes = 1)", 8),
        (named, "reducescatter(ranks)", "dgx_h100(boxes = 2)", 16),
        (whole, "allreduce(ranks)", "dgx_h100(boxes = 1)", 8),
    ];
    for (imports, collective, machine, ranks) in rows {
        let text = format!(
            "{imports}\nprogram mine(ranks: int = {ranks}, ranks_per_node: int = 8) {{\n    topology {machine};\n    collective {collective};\n}}\n"
        );
        let mut opened = Opened::with(&text, applying_edits());
        let params = json!({"command": "ccl-lsp.synthesize", "arguments": [URI, "mine", "trees"]});
        let id = opened.client.ask("workspace/executeCommand", params);
        let asked = opened.client.wait(|message| message["method"] == "workspace/applyEdit");
        let made = opened.made(&asked["params"]);
        opened
            .client
            .send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"applied": true}}));
        assert!(opened.client.response(id)["result"]["message"].is_string());
        let completed = Opened::new(&made);
        let found: Vec<String> = completed.codes().iter().map(|code| (*code).to_owned()).collect();
        assert!(!found.iter().any(|code| code.starts_with('E')), "{found:?}: {made}");
    }
}

#[test]
fn what_is_no_unfinished_program_is_not_completed() {
    // A client that applies no edits is offered nothing.
    let mut opened = Opened::new(UNFINISHED);
    let at = json!({"start": {"line": 5, "character": 4}, "end": {"line": 5, "character": 4}});
    assert!(opened.actions(&at, Some(&["refactor"])).is_empty());
    let mut opened = Opened::with(UNFINISHED, applying_edits());
    let without = UNFINISHED.replacen("    topology ring(ranks);\n", "", 1);
    let clash = format!("{UNFINISHED}fn neighbors(r: rank) -> int[] = [r];\n");
    let full = UNFINISHED.replacen(
        "collective allgather(ranks);",
        "collective allgather(ranks);\n    block main {}",
        1,
    );
    for (text, why) in [(without, "names no machine"), (clash, "declares"), (full, "would be lost")]
    {
        opened.replace(text.clone());
        let params = json!({"command": "ccl-lsp.synthesize", "arguments": [URI, "mine", "time"]});
        let id = opened.client.ask("workspace/executeCommand", params);
        let response = opened.client.response(id);
        let message = response["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(why), "{response}");
    }
}
