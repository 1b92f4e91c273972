//! The commands that the server carries out: conversations with a server in this process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;
#[path = "support/gather.rs"]
mod gather;

use client::Client;
use gather::{GATHER, raced};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A client of a server in a folder of its own, in which `main.ccl` is open.
struct CommandSession {
    client: Client,
    folder: TempDir,
    version: i32,
}

impl CommandSession {
    fn open(text: &str) -> CommandSession {
        let folder = tempfile::tempdir().unwrap();
        let mut client = Client::new(Some(folder.path()), json!({}));
        client.open(&uri(&folder), text);
        CommandSession { client, folder, version: 1 }
    }

    fn replace(&mut self, text: &str) {
        self.version += 1;
        self.client.replace(&uri(&self.folder), self.version, text);
    }

    /// The answer to a command about `main.ccl`, or the message of the error.
    fn carry_out(&mut self, command: &str, program: Option<&str>) -> Result<Value, String> {
        let arguments = json!([uri(&self.folder), program]);
        carry_out(&mut self.client, command, &arguments)
    }

    fn plan(&self) -> PathBuf {
        self.folder.path().join("main.plan.json")
    }

    fn finish(mut self) {
        self.client.settled_silently();
        self.client.finish();
    }
}

fn uri(folder: &TempDir) -> String {
    lsp_types::Url::from_file_path(folder.path().join("main.ccl")).unwrap().to_string()
}

fn carry_out(client: &mut Client, command: &str, arguments: &Value) -> Result<Value, String> {
    let params = json!({"command": command, "arguments": arguments});
    let id = client.ask("workspace/executeCommand", params);
    let response = client.response(id);
    match response.get("error") {
        Some(error) => Err(error["message"].as_str().unwrap().to_owned()),
        None => Ok(response["result"].clone()),
    }
}

#[test]
fn a_plan_is_built_from_the_text_in_the_editor() {
    let mut session = CommandSession::open(GATHER);
    let built = session.carry_out("ccl-lsp.build", Some("gather")).unwrap();
    assert_eq!(built, json!({"program": "gather", "path": session.plan()}));
    let plan: Value = serde_json::from_slice(&fs::read(session.plan()).unwrap()).unwrap();
    assert_eq!(plan["gpus"].as_array().unwrap().len(), 4);
    // The text that is open counts, which was never saved, with the comment above the program.
    session.replace(&GATHER.replacen("program", "// ccl: ranks=2\nprogram", 1));
    session.carry_out("ccl-lsp.build", None).unwrap();
    let plan: Value = serde_json::from_slice(&fs::read(session.plan()).unwrap()).unwrap();
    assert_eq!(plan["gpus"].as_array().unwrap().len(), 2);
    // What is wrong is not written, and only the plan is there.
    session.replace(&raced());
    let why = session.carry_out("ccl-lsp.build", None).unwrap_err();
    assert!(why.contains("main.ccl:") && why.contains("error[E0603]"), "{why}");
    let files: Vec<_> = fs::read_dir(session.folder.path()).unwrap().collect();
    assert_eq!(files.len(), 1, "{files:?}");
    session.finish();
}

#[test]
fn a_program_is_run_and_judged() {
    let mut session = CommandSession::open(GATHER);
    let verdict = session.carry_out("ccl-lsp.run", Some("gather")).unwrap();
    assert_eq!((&verdict["right"], &verdict["schedules"]), (&json!(16), &json!(16)));
    assert_eq!(
        verdict["text"],
        "`gather`: right in 16 schedules of 3 launches, with messages of 64KiB"
    );
    session.replace(&raced());
    let why = session.carry_out("ccl-lsp.run", None).unwrap_err();
    assert!(why.contains("error[E0603]"), "{why}");
    session.finish();
}

#[test]
fn a_program_is_named_where_there_are_several() {
    let other = GATHER.split_once("program").unwrap().1.replacen("gather", "other", 1);
    let mut session = CommandSession::open(&format!("{GATHER}program{other}"));
    let why = session.carry_out("ccl-lsp.run", None).unwrap_err();
    assert_eq!(why, "`main.ccl` has several programs; name one: `gather`, `other`");
    let why = session.carry_out("ccl-lsp.run", Some("othre")).unwrap_err();
    assert_eq!(why, "`main.ccl` has no program `othre`; did you mean `other`?");
    assert_eq!(session.carry_out("ccl-lsp.run", Some("other")).unwrap()["program"], "other");
    session.finish();
}

#[test]
fn a_code_is_explained() {
    let mut client = Client::new(None, json!({}));
    let page = carry_out(&mut client, "ccl-lsp.explain", &json!(["e0501"])).unwrap();
    assert_eq!(page, compiler::diagnostic::Code::E0501.explain());
    let why = carry_out(&mut client, "ccl-lsp.explain", &json!(["E0551"])).unwrap_err();
    assert!(why.starts_with("there is no code `E0551`; did you mean `E05"), "{why}");
    client.finish();
}

#[test]
fn what_cannot_be_carried_out_is_said() {
    let mut client = Client::new(None, json!({}));
    for (command, arguments, expected) in [
        ("ccl-lsp.build", json!([]), "`ccl-lsp.build` takes a file and a program, such as"),
        ("ccl-lsp.run", json!(["a.ccl"]), "`ccl-lsp.run` takes a file and a program, such as"),
        ("ccl-lsp.explain", json!([501]), "`ccl-lsp.explain` takes a code, such as `[\"E0501\"]`"),
        ("ccl-lsp.bulid", json!([]), "there is no command `ccl-lsp.bulid`; the commands are `ccl-"),
        ("ccl-lsp.build", json!(["untitled:a"]), "save the file first: its plan is written next"),
    ] {
        let why = carry_out(&mut client, command, &arguments).unwrap_err();
        assert!(why.starts_with(expected), "{why}");
    }
    client.finish();
}
