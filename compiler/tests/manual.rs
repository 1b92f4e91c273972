//! Pages that are read with a terminal beside them: their programs are written, their commands are run, and what these
//! print is what the page says. With `BLESS=1` the page is made to say it.
//!
//! A block ```` ```ccl NAME ```` is a file of that name from there on. In a block ```` ```console ```` a line that begins with
//! `$ ` is a command, and the lines up to the next one are its output, of both streams. There a line `...` stands for any lines,
//! and a line that ends with `..` for one that begins so.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

use libtest_mimic::{Arguments, Failed, Trial};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The pages.
const PAGES: [&str; 1] = ["tutorial.md"];

fn main() -> ExitCode {
    let trials = PAGES.map(|page| Trial::test(page, move || follow(page)));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// Does what a page says.
fn follow(page: &str) -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page);
    let text = fs::read_to_string(&path)?;
    let folder = tempfile::tempdir()?;
    let (mut said, mut wrong) = (Vec::new(), Vec::new());
    for part in parts(&text) {
        match part {
            Part::Prose(lines) => said.extend(lines.iter().map(|line| (*line).to_owned())),
            Part::File { name, lines } => {
                fs::write(folder.path().join(name), lines.join("\n") + "\n")?;
                said.extend(lines.iter().map(|line| (*line).to_owned()));
            }
            Part::Command { command, output } => {
                let got = run(folder.path(), command)?;
                said.push(format!("$ {command}"));
                if matches(&output, &got) {
                    said.extend(output.iter().map(|line| (*line).to_owned()));
                } else {
                    wrong.push(format!("$ {command}\n{}", got.join("\n")));
                    said.extend(got);
                }
            }
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, said.join("\n") + "\n")?;
        return Ok(());
    }
    Err(format!("docs/{page} does not say what these print:\n\n{}", wrong.join("\n\n")).into())
}

/// A piece of a page.
enum Part<'t> {
    Prose(Vec<&'t str>),
    File { name: &'t str, lines: Vec<&'t str> },
    Command { command: &'t str, output: Vec<&'t str> },
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = vec![Part::Prose(Vec::new())];
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        if let Some(info) = line.strip_prefix("```") {
            parts.push(Part::Prose(vec![line]));
            fence = if fence.is_some() { None } else { Some(info) };
            if let Some(name) = fence.and_then(|info| info.strip_prefix("ccl ")) {
                parts.push(Part::File { name, lines: Vec::new() });
            }
            continue;
        }
        match (fence, line.strip_prefix("$ ")) {
            (Some("console"), Some(command)) => {
                parts.push(Part::Command { command, output: Vec::new() });
            }
            _ => match parts.last_mut().unwrap() {
                Part::Prose(lines)
                | Part::File { lines, .. }
                | Part::Command { output: lines, .. } => lines.push(line),
            },
        }
    }
    parts
}

/// What a command prints, to both streams in their order.
fn run(folder: &Path, command: &str) -> Result<Vec<String>, Failed> {
    let mut words = command.split_whitespace();
    assert_eq!(words.next(), Some("cclc"), "only cclc is run here: {command}");
    let output = folder.join(".output");
    let file = fs::File::create(&output)?;
    let mut cclc = Command::new(PathBuf::from(env!("CARGO_BIN_EXE_cclc")));
    cclc.args(words).current_dir(folder).stdin(Stdio::null());
    cclc.stdout(file.try_clone()?).stderr(file).env_remove("NO_COLOR").status()?;
    let text = fs::read_to_string(&output)?;
    Ok(text.trim_end().lines().map(|line| line.trim_end().to_owned()).collect())
}

/// Whether the lines are as a page says.
fn matches(said: &[&str], got: &[String]) -> bool {
    match (said, got) {
        ([], []) => true,
        (["...", rest @ ..], _) => {
            (0..=got.len()).any(|skipped| matches(rest, got.get(skipped..).unwrap_or_default()))
        }
        ([line, said @ ..], [first, got @ ..]) => {
            let same = match line.strip_suffix("..") {
                Some(beginning) => first.starts_with(beginning),
                None => line == first,
            };
            same && matches(said, got)
        }
        ([], _) | (_, []) => false,
    }
}
