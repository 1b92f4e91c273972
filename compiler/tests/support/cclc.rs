//! Runs the built `cclc` and reads its JSON reports.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test crate that includes this file uses a part of it"
)]
#![allow(clippy::indexing_slicing, reason = "a missing key of JSON reads as null")]

use crate::files::manifest;
use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// How a run of `cclc` ended.
pub struct Run {
    /// The exit status; none if a signal ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// A report, as in the JSON format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// "error", "warning" or "note".
    pub severity: String,
    /// For example `E0201`.
    pub code: String,
    /// The sentence.
    pub message: String,
    /// The primary place.
    pub primary: Option<Place>,
    /// The other places.
    pub secondary: Vec<Place>,
    /// "note: .." and "help: ..", including the title of a fix.
    pub footers: Vec<String>,
}

/// A labeled place in source text; lines and columns from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's name.
    pub file: String,
    /// Its label.
    pub label: String,
    /// Line and column of its beginning.
    pub start: (usize, usize),
    /// Line and column after its end.
    pub end: (usize, usize),
}

/// Runs `cclc` in this crate's folder, with `input` on standard input.
pub fn cclc<S: AsRef<std::ffi::OsStr>>(arguments: &[S], input: &str) -> Run {
    run(Command::new(env!("CARGO_BIN_EXE_cclc")).args(arguments).current_dir(manifest("")), input)
}

/// Runs a command with `input` on standard input.
pub fn run(command: &mut Command, input: &str) -> Run {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program can be started");
    let mut stdin = child.stdin.take().expect("it is piped");
    let text = input.to_owned();
    // A program that does not read its input must not block the test.
    let writer = std::thread::spawn(move || drop(stdin.write_all(text.as_bytes())));
    let output = child.wait_with_output().expect("it can be waited for");
    writer.join().expect("the writer does not panic");
    Run {
        status: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The arguments that a first line gives: `//@ check ranks=2 -O instances=4` gives
/// `["-D", "ranks=2", "-O", "instances=4"]`. Words in brackets stay together; the word after a flag is passed
/// on unchanged.
pub fn header_arguments(words: &[String]) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word.starts_with('-') {
            arguments.push(word.clone());
            arguments.extend(words.next().filter(|_| !word.contains('=')).cloned());
        } else {
            arguments.extend(["-D".to_owned(), word.clone()]);
        }
    }
    arguments
}

/// Splits a text at blanks outside brackets.
pub fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth -= 1,
            _ => {}
        }
        match words.last_mut() {
            Some(word) if depth > 0 || !c.is_whitespace() => word.push(c),
            _ => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The reports of a run with `--message-format json`.
pub fn reports(run: &Run) -> Result<Vec<Report>, String> {
    if !matches!(run.status, Some(0 | 1)) {
        return Err(format!("cclc ended with {:?} and said\n{}", run.status, run.stderr));
    }
    run.stderr
        .lines()
        .map(|line| report(line).ok_or_else(|| format!("not a report: {line}")))
        .collect()
}

fn report(line: &str) -> Option<Report> {
    let json: Value = serde_json::from_str(line).ok()?;
    let text = |name: &str| json[name].as_str().map(|text| text.replace('\n', " "));
    let footers = |name: &str, word: &str| -> Vec<String> {
        let lines = json[name].as_array().into_iter().flatten().filter_map(Value::as_str);
        lines.map(|line| format!("{word}: {line}").replace('\n', " ")).collect()
    };
    let fix = json["fix"]["title"].as_str().map(|title| {
        let sure = if json["fix"]["certainty"] == "sure" { " (fix available)" } else { "" };
        format!("help: {title}{sure}").replace('\n', " ")
    });
    let fix = fix.into_iter().collect();
    Some(Report {
        severity: text("severity")?,
        code: text("code")?,
        message: text("message")?,
        primary: place(&json["primary"]),
        secondary: json["secondary"].as_array()?.iter().filter_map(place).collect(),
        footers: [footers("notes", "note"), footers("helps", "help"), fix].concat(),
    })
}

fn place(json: &Value) -> Option<Place> {
    let number = |name: &str| json[name].as_u64().map(|number| number as usize);
    Some(Place {
        file: json["file"].as_str()?.to_owned(),
        label: json["label"].as_str()?.replace('\n', " "),
        start: (number("line")?, number("column")?),
        end: (number("end_line")?, number("end_column")?),
    })
}
