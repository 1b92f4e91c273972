//! Folders of strangers: what the server reads for their files, and what it shows of them. Conversations with a server in
//! this process.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "support/client.rs"]
mod client;

use client::Client;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const LIB: &str = "let half = 2;\n";

fn uri(path: &Path) -> String {
    lsp_types::Url::from_file_path(path).unwrap().to_string()
}

/// The codes of an open file's diagnostics.
fn codes(client: &mut Client, uri: &str) -> Vec<String> {
    let report = client.request("textDocument/diagnostic", json!({"textDocument": {"uri": uri}}));
    Client::codes(report["items"].as_array().unwrap()).into_iter().map(str::to_owned).collect()
}

/// The codes of a file that imports from `path`.
fn importing(client: &mut Client, file: &Path, path: &str) -> Vec<String> {
    let uri = uri(file);
    client.open(&uri, &format!("use \"{path}\"::half;\nlet whole = half * 2;\n"));
    let found = codes(client, &uri);
    client.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    found
}

fn change_folders(client: &mut Client, added: &[&Path], removed: &[&Path]) {
    let folders = |paths: &[&Path]| -> Vec<Value> {
        paths.iter().map(|path| json!({"uri": uri(path), "name": "folder"})).collect()
    };
    let event = json!({"event": {"added": folders(added), "removed": folders(removed)}});
    client.notify("workspace/didChangeWorkspaceFolders", event);
}

/// Folders `one` and `two`, each with a file, and files outside.
struct Two {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Two {
    fn new() -> Two {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["one/sub", "two/sub", "three/sub"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in ["out.ccl", "one/lib.ccl", "two/lib.ccl", "three/lib.ccl", "three/sub/lib.ccl"]
        {
            fs::write(root.join(name), LIB).unwrap();
        }
        Two { _folder: folder, root }
    }

    fn client(&self) -> Client {
        let mut client =
            Client::new(Some(&self.root.join("one")), json!({"textDocument": {"diagnostic": {}}}));
        change_folders(&mut client, &[&self.root.join("two")], &[]);
        client
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

const NOTHING: [&str; 0] = [];

#[test]
fn a_file_imports_from_its_own_folder_of_the_workspace() {
    let two = Two::new();
    let mut client = two.client();
    for folder in ["one", "two"] {
        let other = if folder == "one" { "two" } else { "one" };
        let (file, deep) = (two.path(folder).join("a.ccl"), two.path(folder).join("sub/a.ccl"));
        assert_eq!(importing(&mut client, &file, "lib.ccl"), NOTHING, "{folder}");
        assert_eq!(importing(&mut client, &deep, "../lib.ccl"), NOTHING, "{folder}");
        assert_eq!(importing(&mut client, &file, "../out.ccl"), ["E0207"], "{folder}");
        let path = format!("../{other}/lib.ccl");
        assert_eq!(importing(&mut client, &file, &path), ["E0207"], "{folder}");
        // Whether it is open or not.
        client.open(&uri(&two.path(other).join("lib.ccl")), LIB);
        assert_eq!(importing(&mut client, &file, &path), ["E0207"], "{folder}");
    }
    client.finish();
}

#[test]
fn a_file_outside_imports_from_its_own_folder_until_a_folder_has_both() {
    let two = Two::new();
    let mut client = two.client();
    let file = two.path("three/sub/a.ccl");
    assert_eq!(importing(&mut client, &file, "lib.ccl"), NOTHING);
    assert_eq!(importing(&mut client, &file, "../lib.ccl"), ["E0207"]);
    assert_eq!(importing(&mut client, &file, "../../one/lib.ccl"), ["E0207"]);
    let open = uri(&file);
    client.open(&open, "use \"../lib.ccl\"::half;\nlet whole = half * 2;\n");
    assert_eq!(codes(&mut client, &open), ["E0207"]);
    change_folders(&mut client, &[&two.path("three")], &[]);
    assert_eq!(codes(&mut client, &open), NOTHING, "it is in the folder");
    let symbols =
        client.request("textDocument/documentSymbol", json!({"textDocument": {"uri": open}}));
    assert!(symbols.to_string().contains("whole"), "the open text counts: {symbols}");
    change_folders(&mut client, &[], &[&two.path("three")]);
    assert_eq!(codes(&mut client, &open), ["E0207"], "the folder is gone");
    client.finish();
}

#[cfg(unix)]
#[test]
fn only_ordinary_files_of_a_known_kind_are_read() {
    use std::os::unix::fs::symlink;
    let two = Two::new();
    let mut client = two.client();
    let file = two.path("two/a.ccl");
    let make = std::process::Command::new("mkfifo").arg(two.path("two/pipe.ccl")).status().unwrap();
    assert!(make.success());
    fs::write(two.path("two/.env"), LIB).unwrap();
    fs::write(two.path("two/notes.txt"), LIB).unwrap();
    fs::create_dir(two.path("two/.git")).unwrap();
    fs::write(two.path("two/.git/a.ccl"), LIB).unwrap();
    let huge = fs::File::create(two.path("two/huge.ccl")).unwrap();
    huge.set_len(1 << 40).unwrap();
    for (name, target) in [
        ("zero", "/dev/zero"),
        ("out", "../out.ccl"),
        ("env", ".env"),
        ("notes", "notes.txt"),
        ("other", "../one/lib.ccl"),
        ("same", "lib.ccl"),
    ] {
        symlink(target, two.path("two").join(format!("{name}.ccl"))).unwrap();
    }
    for (path, expected) in [
        ("pipe.ccl", "E0206"),
        ("huge.ccl", "E0206"),
        ("zero.ccl", "E0207"),
        ("out.ccl", "E0207"),
        ("other.ccl", "E0207"),
        ("env.ccl", "E0206"),
        ("notes.ccl", "E0206"),
        (".env", "E0207"),
        ("notes.txt", "E0207"),
        (".git/a.ccl", "E0207"),
    ] {
        assert_eq!(importing(&mut client, &file, path), [expected], "{path}");
    }
    assert_eq!(importing(&mut client, &file, "same.ccl"), NOTHING);
    // The document itself may be any of these, once the editor has closed it.
    for name in ["pipe.ccl", "zero.ccl", "huge.ccl"] {
        let uri = uri(&two.path("two").join(name));
        client.open(&uri, LIB);
        client.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
        client.request("workspace/symbol", json!({"query": ""}));
    }
    client.finish();
}

#[test]
fn documentation_shows_no_html_and_loads_no_images() {
    let two = Two::new();
    let text = "/// Half <img src=\"https://example.com/a\"> ![b](https://example.com/b)\n\
                /// <script>c</script> of 1 < 2.\nlet half = 2;\nlet whole = half * 2;\n";
    let mut client = Client::new(
        Some(&two.path("one")),
        json!({"textDocument": {"diagnostic": {}, "hover": {"contentFormat": ["markdown"]}}}),
    );
    let file = uri(&two.path("one/a.ccl"));
    client.open(&file, text);
    let place = json!({"textDocument": {"uri": file}, "position": {"line": 3, "character": 13}});
    let hover = client.request("textDocument/hover", place);
    let shown = hover["contents"]["value"].as_str().unwrap();
    assert!(shown.contains("Half") && shown.contains("of 1 < 2."), "{shown}");
    for part in ["<img", "![", "<script", "</script"] {
        assert!(!shown.contains(part), "{part}: {shown}");
    }
    client.finish();
}

/// Editors show older versions of a file under its path, with another scheme.
#[test]
fn a_document_of_another_scheme_is_not_the_file() {
    let two = Two::new();
    let mut client = two.client();
    let file = uri(&two.path("one/lib.ccl"));
    let older = file.replacen("file:", "git:", 1);
    client.open(&older, "let half = missing;\n");
    client.open(&file, LIB);
    assert_eq!(codes(&mut client, &older), ["E0201"]);
    assert_eq!(codes(&mut client, &file), NOTHING);
    assert_eq!(importing(&mut client, &two.path("one/a.ccl"), "lib.ccl"), NOTHING);
}
