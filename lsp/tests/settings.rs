//! Messages about settings and about comments that set parameters: conversations with a server in this process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;
#[path = "support/gather.rs"]
mod gather;

use client::{Client, accepting_edits};
use compiler::target::TARGETS;
use gather::GATHER;
use serde_json::{Value, json};

const URI: &str = "untitled:Untitled-1";

/// The next message to the user.
fn message(client: &mut Client) -> String {
    let said = client.wait(|message| message["method"] == "window/showMessage");
    assert_eq!(said["params"]["type"], 2);
    said["params"]["message"].as_str().unwrap().to_owned()
}

fn configure(client: &mut Client, settings: Value) {
    client.notify("workspace/didChangeConfiguration", json!({"settings": settings}));
}

/// The size that the lens shows.
fn size(client: &mut Client) -> String {
    let asked = json!({"textDocument": {"uri": URI}});
    let lenses = client.request("textDocument/codeLens", asked);
    lenses[0]["command"]["title"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_wrong_with_settings_is_said_once_and_the_rest_counts() {
    let mut client = Client::bare();
    let sent = json!({"paramters": {}, "sms": "abc", "parameters": {"ranks": 8}});
    client.initialize_with(None, json!({}), sent.clone());
    let wrong = [message(&mut client), message(&mut client)];
    assert_eq!(
        wrong,
        [
            "ccl settings: there is no setting `paramters`: did you mean `parameters`?",
            "ccl settings: `sms` is `\"abc\"`; expected a whole number from 1 to 4294967295; 132 is used"
        ]
    );
    client.open(URI, GATHER);
    assert_eq!(client.settled(URI, 1), [] as [Value; 0]);
    assert!(size(&mut client).starts_with("8 ranks"));
    configure(&mut client, json!({"ccl": sent}));
    configure(&mut client, json!({"ccl": {"Parameters": {}, "parameters": {"ranks": 6}}}));
    let new = message(&mut client);
    assert!(new.contains("no setting `Parameters`: did you mean `parameters`?"), "{new}");
    assert!(size(&mut client).starts_with("6 ranks"));
    client.settled_silently();
    client.finish();
}

/// Many clients send their settings right after `initialized`, whether there are any or not.
#[test]
fn what_is_set_first_counts_where_later_settings_say_nothing() {
    let mut client = Client::bare();
    client.initialize_with(None, json!({}), json!({"parameters": {"ranks": 8}}));
    client.open(URI, GATHER);
    assert_eq!(client.settled(URI, 1), [] as [Value; 0]);
    for nothing in [json!(null), json!({}), json!({"ccl": {}}), json!({"ccl": {"sms": 64}})] {
        configure(&mut client, nothing.clone());
        assert!(size(&mut client).starts_with("8 ranks"), "{nothing}");
    }
    for (parameters, ranks) in [(json!({"ranks": 6}), 6), (json!({}), 4), (json!([]), 4)] {
        configure(&mut client, json!({"ccl": {"parameters": parameters}}));
        assert!(size(&mut client).starts_with(&format!("{ranks} ranks")), "{parameters}");
    }
    client.settled_silently();
    client.finish();
}

/// The executor has no room for the channels of a block to 23 peers, kernels have.
#[test]
fn programs_are_checked_for_the_target_of_the_settings() {
    let mut client = Client::bare();
    client.initialize_with(None, json!({}), json!({"parameters": {"ranks": 24}}));
    client.open(URI, GATHER);
    assert_eq!(Client::codes(&client.settled(URI, 1)), ["E0802", "E0803"]);
    for (target, codes) in [
        ("cuda", vec![]),
        ("executor", vec!["E0802", "E0803"]),
        ("nvshmem", vec![]),
        ("executor", vec!["E0802", "E0803"]),
        ("mscclpp", vec![]),
    ] {
        configure(&mut client, json!({"ccl": {"target": target}}));
        assert_eq!(Client::codes(&client.settled(URI, 1)), codes, "{target}");
    }
    configure(&mut client, json!({"ccl": {"target": "gpu"}}));
    let words: Vec<String> =
        TARGETS.iter().map(|target| format!("`\"{}\"`", target.word)).collect();
    let expected = format!("`target` is `\"gpu\"`; expected one of {}", words.join(", "));
    assert_eq!(message(&mut client), format!("ccl settings: {expected}"));
    client.finish();
}

#[test]
fn a_parameter_that_no_program_has_is_led_to_the_one_that_is_meant() {
    let mut client = Client::bare();
    let sent = json!({"parameters": {"rnaks": 8, "chunks_of_others": 2}});
    client.initialize_with(None, json!({}), sent);
    client.open(URI, GATHER);
    let said = message(&mut client);
    assert!(said.contains("`rnaks`") && said.ends_with("did you mean `ranks`?"), "{said}");
    client.replace(URI, 2, &format!("{GATHER}\n"));
    assert_eq!(client.settled(URI, 2), [] as [Value; 0]);
    assert_eq!(client.settled_silently(), 0, "it was said before");
    client.finish();
}

#[test]
fn values_of_settings_are_named_where_they_are_wrong() {
    let mut client = Client::new(None, json!({}));
    client.open(URI, GATHER);
    assert_eq!(client.settled(URI, 1), [] as [Value; 0]);
    configure(&mut client, json!({"ccl": {"parameters": {"ranks": "abc"}}}));
    let found = client.settled(URI, 1);
    let text = found[0]["message"].as_str().unwrap();
    assert!(
        text.starts_with("the editor's setting `ccl.parameters` sets `ranks` to `abc`"),
        "{text}"
    );
    assert_eq!((found.len(), &found[0]["severity"]), (1, &json!(2)));
    configure(&mut client, json!({"ccl": {"parameters": {"ranks": -5}}}));
    let found = client.settled(URI, 1);
    let text = found[0]["message"].as_str().unwrap();
    assert!(text.contains("1 to 65536 ranks, not -5"), "{text}");
    assert!(
        text.ends_with("note: the editor's setting `ccl.parameters` sets `ranks=-5`"),
        "{text}"
    );
    client.finish();
}

#[test]
fn a_limit_is_raised_by_the_setting_that_an_editor_has() {
    let mut client = Client::bare();
    client.initialize_with(None, json!({}), json!({"maxOperations": 3}));
    client.open(URI, GATHER);
    let found = client.settled(URI, 1);
    assert_eq!(Client::codes(&found), ["E0305"]);
    let text = found[0]["message"].as_str().unwrap();
    assert!(
        text.ends_with("help: the editor's setting `ccl.maxOperations` raises the limit"),
        "{text}"
    );
    client.replace(URI, 2, &GATHER.replacen(" = 4", "", 1));
    let found = client.settled(URI, 2);
    let text = found[0]["message"].as_str().unwrap();
    assert!(text.ends_with("help: set it with `// ccl: ranks=value` above the program"), "{text}");
    client.finish();
}

/// The findings in a comment above a program: columns, message, and the fix.
fn of_comment(comment: &str) -> Vec<(u64, u64, String, Option<String>)> {
    let mut client = Client::new(None, accepting_edits());
    let text = GATHER.replacen("program", &format!("{comment}\nprogram"), 1);
    client.open(URI, &text);
    let found = client.settled(URI, 1);
    let mut shown = Vec::new();
    for report in &found {
        let (start, end) = (&report["range"]["start"], &report["range"]["end"]);
        assert_eq!((&start["line"], &end["line"]), (&json!(2), &json!(2)), "{report}");
        let asked = json!({"textDocument": {"uri": URI}, "range": report["range"], "context": {"diagnostics": [report]}});
        let actions = client.request("textDocument/codeAction", asked);
        let new = &actions[0]["edit"]["changes"][URI][0]["newText"];
        shown.push((
            start["character"].as_u64().unwrap(),
            end["character"].as_u64().unwrap(),
            report["message"].as_str().unwrap().to_owned(),
            new.as_str().map(str::to_owned),
        ));
    }
    client.finish();
    shown
}

#[test]
fn a_comment_that_sets_nothing_is_marked_itself() {
    assert_eq!(of_comment("// ccl: ranks=8"), []);
    assert_eq!(of_comment("// ranks=8 are enough"), []);
    let misspelt = "this comment sets nothing: it must begin with `// ccl:`\nhelp: write `// ccl:`";
    for comment in ["//ccl: ranks=8", "// CCL: ranks=8", "// ccl ranks=8", "// cll: ranks=8"] {
        let expected = (0, comment.len() as u64, misspelt.to_owned(), Some("// ccl: ".to_owned()));
        assert_eq!(of_comment(comment), [expected], "{comment}");
    }
    let [(start, end, text, new)] = &of_comment("// ccl: rnaks=8")[..] else { panic!() };
    assert_eq!((start, end, new.as_deref()), (&8, &13, Some("ranks")));
    assert_eq!(text, "the program `gather` has no parameter `rnaks`\nhelp: did you mean `ranks`?");
    let [(start, end, text, None)] = &of_comment("// ccl: ranks=8, ranks=abc")[..] else {
        panic!()
    };
    assert_eq!((start, end), (&17, &26));
    assert!(text.starts_with("`abc` is not a value of type `int` for `ranks`"), "{text}");
    let [(_, _, text, _)] = &of_comment("// ccl: ranks=8\n\n// Other.")[..] else { panic!() };
    assert!(text.starts_with("this comment sets nothing: there is no program below it"), "{text}");
}

#[test]
fn several_comments_above_a_program_count_together() {
    let mut client = Client::new(None, json!({}));
    let text = GATHER.replacen("ranks: int = 4", "ranks: int, more: int", 1).replacen(
        "program",
        "// ccl: ranks=8\n/// A program.\n// ccl: more=1\nprogram",
        1,
    );
    client.open(URI, &text);
    assert_eq!(Client::codes(&client.settled(URI, 1)), ["W0205"], "`more` is not used");
    assert!(size(&mut client).starts_with("8 ranks"));
    client.finish();
}
