//! Random texts and edits; the seeds are fixed, so that they are the same in every run.

#![allow(dead_code, reason = "each test crate that includes this file uses a part of it")]

use fastrand::Rng;
use std::fs;
use std::path::{Path, PathBuf};

/// A generator of random numbers.
pub(crate) struct Lot(Rng);

impl Lot {
    pub(crate) fn new(seed: u64) -> Lot {
        Lot(Rng::with_seed(seed))
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.usize(..end.max(1))
    }

    pub(crate) fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// A random change of a text: what is replaced, and by what.
    pub(crate) fn edit(&mut self, text: &str) -> (std::ops::Range<usize>, String) {
        let start = self.place(text);
        match self.below(8) {
            0 => (start..self.near(text, start, 12), String::new()),
            1 => (start..self.near(text, start, 3), (*self.one(PIECES)).to_owned()),
            2 => {
                let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
                let end = text[start..].find('\n').map_or(text.len(), |end| start + end + 1);
                (line..line, text[line..end].to_owned())
            }
            3 => {
                let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
                let end = text[start..].find('\n').map_or(text.len(), |end| start + end + 1);
                (line..end, String::new())
            }
            _ => (start..start, (*self.one(PIECES)).to_owned()),
        }
    }

    /// A random change that is likely to leave a text without errors.
    pub(crate) fn gentle(&mut self, text: &str) -> (std::ops::Range<usize>, String) {
        let start = self.place(text);
        let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[start..].find('\n').map_or(text.len(), |end| start + end + 1);
        let simple = text[line..end].trim_end().ends_with(';');
        match self.below(5) {
            0 if simple => (line..end, String::new()),
            1 if simple => (end..end, text[line..end].to_owned()),
            2 => (line..line, "   // a \"comment\" (\n".to_owned()),
            3 => (line..line, "\n".to_owned()),
            _ => match text[line..end].find(" relaxed") {
                Some(at) => (line + at..line + at + " relaxed".len(), String::new()),
                None => (line..line, " ".to_owned()),
            },
        }
    }

    fn place(&mut self, text: &str) -> usize {
        let at = self.below(text.len() + 1);
        self.near(text, at, 0)
    }

    fn near(&mut self, text: &str, start: usize, most: usize) -> usize {
        let mut end = (start + self.below(most + 1)).min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        end.max(start.min(end))
    }
}

const PIECES: &[&str] = &[
    " ",
    "\n",
    "(",
    ")",
    "{",
    "}",
    ";",
    "[*]",
    " relaxed",
    "// é𝔘\n",
    "/// doc\n",
    "\"",
    "1",
    "x",
    "mem",
    "let y = 2;\n",
    "wait mem[*];\n",
    "signal mem[*] relaxed;\n",
    "program q() {}\n",
    "use std::math::log2;\n",
    "use \"other.ccl\"::{a, b as c};\n",
    "#[allow(unused, \"why\")]\n",
    "fn f(n) = n + f(n);\n",
    "rank",
    "ranks",
    "block b { copy input[0] -> output[0]; }\n",
    "\u{feff}",
    "\r\n",
    "// ccl: ranks=2\n",
    "for p in peers { ",
    "ä",
];

/// Program texts: the library's programs, examples, and the compiler's cases.
pub(crate) fn texts() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in ["stdlib/ccl", "examples", "compiler/tests/cases"] {
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    let texts = files.iter().filter_map(|file| fs::read_to_string(file).ok());
    texts.filter(|text| text.len() < 4000).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|end| end == "ccl") {
            files.push(path);
        }
    }
}

/// How often something is repeated: as often as the environment variable says, or else `otherwise`
/// times.
pub(crate) fn times(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}
