//! The pages of the project are correct: their programs compile, their commands are run, and the output must be what
//! the page shows. `BLESS=1` updates the pages. `CONTRIBUTING.md` describes the kinds of blocks.
//!
//! Each page has a folder of its own, in which `stdlib`, `examples` and `compiler` are those of the project. In the
//! output of a command, a line `...` stands for any number of lines, and a line that ends with `..` for one with the
//! same beginning.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

#[path = "support/files.rs"]
mod files;
#[path = "manual/links.rs"]
mod links;
#[path = "manual/page.rs"]
mod page;

use files::{ccl_files, entries, manifest};
use libtest_mimic::{Arguments, Failed, Trial};
use page::{Block, Command, Piece};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode, Stdio};

/// The folders of the pages; each subfolder of `editors` and `integrations` has its own.
const FOLDERS: [&str; 8] =
    ["", "docs", "examples", "fuzz", "editors", "integrations", "cuda", EXPLAINED];

/// Pages whose programs, a mistake and its correction, `tests/explain.rs` compiles.
const EXPLAINED: &str = "compiler/explain";

/// The folders of the project that are available in a page's folder.
const SHARED: [&str; 3] = ["stdlib", "examples", "compiler"];

/// Folders whose files are named in prose by their path from the root.
const PROJECT: [&str; 11] = [
    "compiler/",
    "cuda/",
    "docs/",
    "editors/",
    "examples/",
    "fuzz/",
    "grammar/",
    "integrations/",
    "lsp/",
    "stdlib/",
    "benches/",
];

/// Folders with programs that other tests compile; fragments on pages may come from these.
const COMPILED: [&str; 7] = [
    "compiler/tests/language",
    "compiler/tests/decompiled",
    "stdlib/ccl/algorithms",
    "examples",
    "examples/algorithms",
    "examples/mscclpp",
    "examples/systems",
];

fn main() -> ExitCode {
    let trial = |page: String| Trial::test(page.clone(), move || follow(&root(), &page));
    let mut trials: Vec<Trial> = pages(&root()).into_iter().map(trial).collect();
    trials.push(Trial::test("every_picture_is_made_by_a_page", || {
        every_picture_is_made_by_a_page(&root())
    }));
    trials.push(Trial::test("the_manual_lists_every_page", || {
        let unlisted = links::unlisted(&root().join("docs"))?;
        if unlisted.is_empty() { Ok(()) } else { Err(unlisted.join(", ").into()) }
    }));
    trials.push(Trial::test("mistakes_are_found", || mistakes_are_found(&root())));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn root() -> PathBuf {
    fs::canonicalize(manifest("..")).unwrap()
}

/// The pages, by their paths from the project's root.
fn pages(root: &Path) -> Vec<String> {
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|folder| root.join(folder)).collect();
    for parent in ["editors", "integrations"] {
        folders.extend(entries(&root.join(parent)).into_iter().filter(|path| path.is_dir()));
    }
    let files = folders.iter().filter(|folder| folder.is_dir()).flat_map(|folder| entries(folder));
    let pages = files.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    pages.map(|path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned()).collect()
}

/// Checks a page, or with `BLESS=1` updates it.
fn follow(root: &Path, name: &str) -> Result<(), Failed> {
    let path = root.join(name);
    let (said, wrong) = read(root, name, &fs::read_to_string(&path)?)?;
    if wrong.is_empty() {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, said.join("\n") + "\n")?;
    }
    Err(format!("{name} is not right:\n\n{}", wrong.join("\n\n")).into())
}

/// Reads a page; returns the text that it should have, and what is wrong with it.
fn read(root: &Path, name: &str, text: &str) -> Result<(Vec<String>, Vec<String>), Failed> {
    let folder = tempfile::tempdir()?;
    for shared in SHARED {
        std::os::unix::fs::symlink(root.join(shared), folder.path().join(shared))?;
    }
    let wrong = links::broken(&root.join(name), text)?;
    let folder = folder.path();
    let mut reader =
        Reader { root, name, folder, unused: BTreeSet::new(), said: Vec::new(), wrong };
    for piece in page::pieces(text)? {
        match piece {
            Piece::Prose(line) => reader.prose(line)?,
            Piece::Block(block) => reader.block(&block)?,
        }
    }
    reader.pictures()?;
    let unused = std::mem::take(&mut reader.unused);
    reader.wrong.extend(unused.iter().map(|file| format!("no command takes `{file}`")));
    Ok((reader.said, reader.wrong))
}

/// Mistakes on pages, with the expected message for each.
const MISTAKES: [(&str, &str); 15] = [
    ("[a](nowhere.md)", "there is no `nowhere.md`"),
    ("[a](reference.md#nowhere)", "there is no `reference.md#nowhere`"),
    ("`cclc chek`", "there is no such command"),
    ("`cclc check --nowhere`", "--nowhere is not known"),
    ("`compiler/tests/nowhere.rs`", "there is no `compiler/tests/nowhere.rs`"),
    ("`cargo test --test nowhere`", "there is no compiler/tests/nowhere.rs"),
    ("```ccl\nprogram p() {}\n```", "error[E"),
    ("```ccl a.ccl\nlet a = 1;\n```", "no command takes `a.ccl`"),
    ("```ccl fragment\ncopy nowhere -> nowhere;\n```", "no program that is compiled"),
    ("```console\n$ cclc --version\ncclc 7\n```", "$ cclc --version"),
    ("```console\n$ cclc --version\n```", "$ cclc --version"),
    ("```rust in compiler/src/main.rs\nfn nowhere() {}\n```", "does not have these lines"),
    ("```sh\nls\n```", "not run: WHY"),
    ("```sh\n# not run: \nls\n```", "not run: WHY"),
    ("```\nls\n```", "this is no kind of block"),
];

/// Every mistake is found, wherever it occurs on a page, and nothing else is reported.
fn mistakes_are_found(root: &Path) -> Result<(), Failed> {
    for (text, expected) in MISTAKES {
        let (_, wrong) = read(root, "docs/tutorial.md", text)?;
        let [only] = wrong.as_slice() else {
            return Err(format!("{text}: not one mistake, but {wrong:?}").into());
        };
        if !only.contains(expected) {
            return Err(format!("{text}: {only}").into());
        }
    }
    Ok(())
}

/// The state of checking a page.
struct Reader<'r> {
    root: &'r Path,
    name: &'r str,
    folder: &'r Path,
    /// Files of the page that no command has used yet.
    unused: BTreeSet<String>,
    /// The page so far, with the actual output of the commands.
    said: Vec<String>,
    wrong: Vec<String>,
}

impl Reader<'_> {
    /// Commands and paths mentioned in prose must exist.
    fn prose(&mut self, line: &str) -> Result<(), Failed> {
        self.said.push(line.to_owned());
        for span in page::spans(line) {
            if let Some(missing) = self.missing(span) {
                self.wrong.push(format!("`{span}`: there is no {missing}"));
            }
        }
        for span in page::spans(line).filter(|span| span.starts_with("cclc ")) {
            let words: Vec<&str> = span.split_whitespace().skip(1).collect();
            let command = words.first().filter(|word| !word.starts_with('-'));
            let help = match command {
                Some(command) => self.run(&format!("cclc {command} --help"))?,
                None => self.run("cclc --help")?,
            };
            let known = help.join("\n");
            let flags = words.iter().filter(|word| word.starts_with('-') && word.len() > 1);
            for flag in flags.map(|flag| flag.split('=').next().unwrap_or(flag)) {
                let hidden = flag == "--checks";
                if !hidden && !known.contains(flag) {
                    self.wrong.push(format!("`{span}`: {flag} is not known"));
                }
            }
            if known.starts_with("error:") {
                self.wrong.push(format!("`{span}`: there is no such command"));
            }
        }
        Ok(())
    }

    /// The file or test of the project that a code span names but that does not exist. Names in capitals are
    /// placeholders.
    fn missing(&self, span: &str) -> Option<String> {
        let first = span.split_whitespace().next().unwrap_or_default();
        let is_path = PROJECT.iter().any(|folder| first.starts_with(folder))
            && !first.contains(|c: char| "*{=<".contains(c))
            && !first.split(['/', '.']).any(|part| part.chars().all(|c| c.is_ascii_uppercase()));
        let beside = self.root.join(self.name).with_file_name("");
        let gone = |path: &str| !self.root.join(path).exists() && !beside.join(path).exists();
        if is_path && gone(first.trim_end_matches('/')) {
            return Some(format!("`{first}`"));
        }
        let words: Vec<&str> = span.split_whitespace().collect();
        let test = words.windows(2).find_map(|pair| match pair {
            ["--test", name] => Some(*name),
            _ => None,
        })?;
        let file = format!("compiler/tests/{test}.rs");
        (first == "cargo" && gone(&file)).then_some(file)
    }

    fn block(&mut self, block: &Block<'_>) -> Result<(), Failed> {
        self.said.push(format!("```{}", block.info));
        let wrong = self.wrong.len();
        match block.info.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["ccl"] if self.name.starts_with(EXPLAINED) => {}
            ["ccl"] => self.compiles(block)?,
            ["ccl", "fragment"] => self.is_compiled_elsewhere(block),
            ["ccl", file] => {
                fs::write(self.folder.join(file), block.lines.join("\n") + "\n")?;
                if !self.unused.insert((*file).to_owned()) {
                    self.wrong.push(format!("no command has taken the last `{file}`"));
                }
            }
            ["console"] => {
                for command in page::commands(block)? {
                    self.follow(&command)?;
                }
            }
            ["text"] => {}
            [_, "in", file] => self.stands_in(block, file)?,
            // A tool that extracts these blocks from the page does not know the tags used here.
            ["sh"] if self.name == "README.md" => self.stands_in(block, ".ci/run")?,
            [_] => self.says_why_not(block),
            _ => self.wrong.push("this is no kind of block".to_owned()),
        }
        for wrong in self.wrong.iter_mut().skip(wrong) {
            *wrong = format!("line {}: {wrong}", block.line);
        }
        if block.info != "console" {
            self.said.extend(block.lines.iter().map(|line| (*line).to_owned()));
        }
        self.said.push("```".to_owned());
        Ok(())
    }

    /// A program without a name: no errors and no warnings.
    fn compiles(&mut self, block: &Block<'_>) -> Result<(), Failed> {
        fs::write(self.folder.join("block.ccl"), block.lines.join("\n") + "\n")?;
        // What every plan with packets or groups is told is not about the page.
        let quiet = "--allow N0802 --allow N0803 --allow N0804";
        let got = self.run(&format!("cclc check block.ccl --quiet --deny warnings {quiet}"))?;
        if !got.is_empty() {
            self.wrong.push(got.join("\n"));
        }
        Ok(())
    }

    /// A fragment must occur, apart from blanks and comments, in a program that a test compiles.
    fn is_compiled_elsewhere(&mut self, block: &Block<'_>) {
        let fragment = code(&block.lines);
        let mut programs = COMPILED.iter().flat_map(|folder| ccl_files(&self.root.join(folder)));
        let found = programs.any(|path| {
            let text = fs::read_to_string(path).unwrap();
            has_lines(&code(&text.lines().collect::<Vec<_>>()), &fragment)
        });
        if !found {
            self.wrong.push("no program that is compiled has this fragment".to_owned());
        }
    }

    /// A part of a file that other tests use, or that itself reads the page.
    fn stands_in(&mut self, block: &Block<'_>, file: &str) -> Result<(), Failed> {
        let text = fs::read_to_string(self.root.join(file))?;
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let wanted: Vec<&str> = block.lines.iter().map(|line| line.trim()).collect();
        if !text.contains(self.name) && !has_lines(&lines, &wanted) {
            self.wrong.push(format!("`{file}` does not have these lines"));
        }
        Ok(())
    }

    /// A block that is not checked must say so, and why, where readers see it.
    fn says_why_not(&mut self, block: &Block<'_>) {
        let first = block.lines.first().unwrap_or(&"");
        if first.split_once("not run: ").is_none_or(|(_, why)| why.trim().is_empty()) {
            self.wrong
                .push("nothing runs this, and its first line has no `not run: WHY`".to_owned());
        }
    }

    fn follow(&mut self, command: &Command<'_>) -> Result<(), Failed> {
        let got = self.run(command.text)?;
        self.unused.retain(|file| !command.text.split_whitespace().any(|word| word == file));
        self.said.push(format!("$ {}", command.text));
        if matches(&command.output, &got) {
            self.said.extend(command.output.iter().map(|line| (*line).to_owned()));
        } else {
            self.wrong.push(format!("$ {}\n{}", command.text, got.join("\n")));
            self.said.extend(got);
        }
        Ok(())
    }

    /// The output of a command, on both streams in order.
    fn run(&self, command: &str) -> Result<Vec<String>, Failed> {
        let words = split_words(command);
        let mut words = words.iter().map(String::as_str);
        let program = match words.next() {
            Some("cclc") => env!("CARGO_BIN_EXE_cclc"),
            Some("cat") => "cat",
            _ => return Err(format!("only `cclc` and `cat` are run here: {command}").into()),
        };
        let output = self.folder.join(".output");
        let file = fs::File::create(&output)?;
        let mut run = process::Command::new(program);
        run.args(words).current_dir(self.folder).stdin(Stdio::null()).env_remove("NO_COLOR");
        run.stdout(file.try_clone()?).stderr(file).status()?;
        let text = fs::read_to_string(&output)?;
        Ok(text.trim_end().lines().map(|line| line.trim_end().to_owned()).collect())
    }

    /// Pictures drawn by commands must be those of the page.
    fn pictures(&mut self) -> Result<(), Failed> {
        for drawn in entries(self.folder) {
            let Some(name) = drawn.file_name().and_then(|name| name.to_str()) else { continue };
            if !name.ends_with(".svg") {
                continue;
            }
            let kept = self.root.join("docs/pictures").join(name);
            let picture = fs::read(&drawn)?;
            if fs::read(&kept).ok().as_ref() != Some(&picture) {
                self.wrong.push(format!("docs/pictures/{name} is not what is drawn"));
                if std::env::var_os("BLESS").is_some() {
                    fs::write(kept, picture)?;
                }
            }
        }
        Ok(())
    }
}

/// The words of a command, as a shell takes them: spaces in single quotes separate none.
fn split_words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in command.chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Every stored picture must be drawn and shown by a page.
fn every_picture_is_made_by_a_page(root: &Path) -> Result<(), Failed> {
    let text: String = entries(&root.join("docs"))
        .into_iter()
        .chain([root.join("README.md")])
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    for picture in entries(&root.join("docs/pictures")) {
        let name = picture.file_name().unwrap().to_str().unwrap();
        let drawn = text.contains(&format!("-o {name}"));
        let shown = ["](pictures/", "](docs/pictures/"]
            .iter()
            .any(|before| text.contains(&format!("{before}{name})")));
        if !drawn || !shown {
            return Err(format!("docs/pictures/{name}: drawn {drawn}, shown {shown}").into());
        }
    }
    Ok(())
}

/// The lines without surrounding blanks and without comments.
fn code<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let bare = lines.iter().map(|line| line.split("//").next().unwrap_or("").trim());
    bare.filter(|line| !line.is_empty()).collect()
}

/// Whether a text contains these lines, one after the other.
fn has_lines(text: &[&str], lines: &[&str]) -> bool {
    !lines.is_empty() && text.windows(lines.len()).any(|window| window == lines)
}

/// Whether the output matches what a page shows.
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
