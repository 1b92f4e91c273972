//! What the lenses above programs claim: conversations with a server in this process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;
#[path = "support/gather.rs"]
mod gather;

use client::Client;
use gather::{GATHER, raced};
use serde_json::{Value, json};

const URI: &str = "untitled:Untitled-1";

/// What follows the sizes in the first lens.
fn claimed(client: &mut Client, uri: &str) -> String {
    let file = json!({"textDocument": {"uri": uri}});
    let lenses = client.request("textDocument/codeLens", file);
    let title = lenses[0]["command"]["title"].as_str().unwrap();
    title.rsplit(" · ").next().unwrap().to_owned()
}

/// What the lens claims once the checks of a text have ended.
fn claim(text: &str) -> String {
    let mut client = Client::new(None, json!({}));
    client.open(URI, text);
    client.settled(URI, 1);
    let claimed = claimed(&mut client, URI);
    client.finish();
    claimed
}

#[test]
fn what_is_proved_or_wrong_is_called_so() {
    assert_eq!(claim(GATHER), "proved");
    assert_eq!(claim(&raced()), "1 error");
    // Two declarations on a line make the server check the whole file at once.
    let beside = |text: &str| text.replacen("\n}\n", "\n} let a = 1;\n", 1);
    assert_eq!(claim(&beside(GATHER)), "proved");
    assert_eq!(claim(&beside(&raced())), "1 error");
}

#[test]
fn nothing_is_claimed_where_a_mistake_elsewhere_kept_the_checks_from_running() {
    for elsewhere in [
        "fn f(n: int) -> int = ;\n",
        "fn f(n: int) -> int = n + true;\n",
        "let a = 1;\nlet a = 2;\n",
        "use \"no.ccl\"::x;\n",
        &GATHER.replacen("use std::collectives::allgather;\n", "", 1).replace("mem[*];", "nix[*];"),
    ] {
        let text = format!("{}{elsewhere}", raced()).replacen("program gather", "program raced", 1);
        let claimed = claim(&text);
        assert!(!["proved", "0 errors"].contains(&claimed.as_str()), "{claimed}: {elsewhere}");
    }
}

#[test]
fn nothing_is_claimed_of_a_program_whose_import_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let uri = |name: &str| lsp_types::Url::from_file_path(root.join(name)).unwrap().to_string();
    let (main, lib) = (uri("main.ccl"), uri("lib.ccl"));
    std::fs::write(root.join("lib.ccl"), "let half = 2;\n").unwrap();
    let mut client = Client::new(Some(&root), json!({}));
    let text = GATHER.replacen("int = 4", "int = 4 * half / half", 1);
    client.open(&main, &format!("use \"lib.ccl\"::half;\n{text}"));
    assert_eq!(client.settled(&main, 1), [] as [Value; 0]);
    assert_eq!(claimed(&mut client, &main), "proved");
    std::fs::remove_file(root.join("lib.ccl")).unwrap();
    let changes = json!({"changes": [{"uri": lib, "type": 3}]});
    client.notify("workspace/didChangeWatchedFiles", changes);
    assert_eq!(Client::codes(&client.settled(&main, 1)), ["E0206"]);
    assert_ne!(claimed(&mut client, &main), "proved");
    client.finish();
}
