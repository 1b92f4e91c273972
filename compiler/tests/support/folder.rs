//! A temporary folder for a test, and `cclc` run in it.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test crate that includes this file uses a part of it"
)]

use crate::cclc::{self, Run, run};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// A correct program.
pub const GOOD: &str = "\
use std::collectives::allgather;

program gather(ranks: int = 2, twice: bool = false) {
    collective allgather(ranks);
    options { double_scratch = twice; }
    channel mem[p in peers] = memory(p);
    block main {
        signal mem[*] relaxed;
        wait mem[*] relaxed;
        copy input[0] -> output[rank];
        put input[0] -> (p in peers: p.output[rank]) via mem[*];
        signal mem[*];
        wait mem[*];
    }
}
";

/// A temporary folder in which `cclc` runs.
pub struct Folder(TempDir);

impl Folder {
    /// A folder with one file.
    pub fn with(name: &str, text: &str) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.write(name, text);
        folder
    }

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, and creates the folders that lead to it.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The text of a file.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names of the folder's entries, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// `cclc` in this folder, without arguments.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cclc"));
        command.current_dir(self.0.path()).env_remove("NO_COLOR");
        command
    }

    /// Runs `cclc`, with arguments split roughly as a shell would.
    pub fn cclc(&self, arguments: &str) -> Run {
        self.cclc_with(arguments, "")
    }

    /// Like `cclc`, with `input` on standard input.
    pub fn cclc_with(&self, arguments: &str, input: &str) -> Run {
        run(self.command().args(cclc::words(arguments)), input)
    }
}

/// Asserts the exit status, and returns the run.
pub fn ends(run: Run, status: i32) -> Run {
    assert_eq!(run.status, Some(status), "stdout:\n{}\nstderr:\n{}", run.stdout, run.stderr);
    run
}

/// Asserts that a text contains all of these parts.
pub fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing from\n{text}");
    }
}
