//! The case runner: every `tests/cases/<feature>/<behavior>.ccl` is a test of the feature that its folder is named
//! after.
//!
//! The text up to the first `//=` line is open in the editor. A line that has only a comment with one `^` puts the
//! cursor at that column of the line above; the `//=` block is the expected answer, in the format of `answers.rs`. The
//! first line of a case of `rename` is `//@ to NAME`.
//!
//! `BLESS=1 cargo test -p ccl-lsp --test features NAME` rewrites the blocks: read the result. Folders inside a
//! feature's folder contain files to import.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

#[path = "support/answers.rs"]
mod answers;

use libtest_mimic::{Arguments, Failed, Trial};
use lsp_types::Url;
use server::actor::{Open, Snapshot};
use server::database::Database;
use server::text::Encoding;
use server::workspace::Workspace;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for feature in entries(&cases()).into_iter().filter(|path| path.is_dir()) {
        let files = entries(&feature).into_iter();
        for file in files.filter(|path| path.extension().is_some_and(|end| end == "ccl")) {
            let name = format!("{}/{}", stem(&feature), stem(&file));
            trials.push(Trial::test(name, move || case(&file).map_err(Failed::from)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

fn case(file: &Path) -> Result<(), String> {
    let whole = fs::read_to_string(file).unwrap();
    let (text, expected) = match whole.find("//=") {
        Some(at) => whole.split_at(at),
        None => (whole.as_str(), ""),
    };
    let answer = answer(file, text)?;
    let found: String =
        answer.lines().map(|line| format!("//= {line}").trim_end().to_owned() + "\n").collect();
    if found == expected {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(file, format!("{text}{found}")).unwrap();
        return Ok(());
    }
    Err(format!("expected:\n{expected}\nfound:\n{found}"))
}

/// The server's answer for a text.
fn answer(file: &Path, text: &str) -> Result<String, String> {
    let folder = file.parent().unwrap();
    let workspace = Workspace::new(Some(folder.to_owned()));
    let mut database = Database::new(Arc::new(workspace.clone()));
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    database.set_text(&name, Ok(text.into()));
    let url = Url::from_file_path(file).unwrap();
    let open = Open { version: 1, text: text.into(), name };
    let snapshot = Snapshot {
        open: Arc::new(BTreeMap::from([(url.clone(), open)])),
        workspace: Arc::new(workspace),
        encoding: Encoding::Utf16,
        database,
    };
    answers::answer(&stem(folder), &snapshot, &url, cursor(text))
}

/// The offset that a `^` line points to: the same column in the line above it.
fn cursor(text: &str) -> Option<u32> {
    let (mut above, mut start) = (0, 0);
    for line in text.split_inclusive('\n') {
        let mark = line.trim().strip_prefix("//").map(str::trim);
        if mark == Some("^") {
            return Some((above + line.find('^').unwrap()) as u32);
        }
        above = start;
        start += line.len();
    }
    None
}
