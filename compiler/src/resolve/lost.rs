//! Names whose declaration a syntax error may have swallowed: in come a text and its syntax errors, out come words.
//!
//! A faulty declaration is missing from the tree. A use of its name is then no second mistake, and nobody wants to
//! read about it: such a name is taken for one that was declared.

use crate::diagnostic::Diagnostic;
use crate::source::{Place, Ranges};
use std::collections::BTreeSet;
use std::ops::Range;

/// The words after which a name is declared.
const DECLARING: &[&str] = &[
    "let",
    "fn",
    "proc",
    "collective",
    "program",
    "scratch",
    "channel",
    "semaphore",
    "block",
    "as",
    "for",
];

/// The words that follow a declaring word anywhere, and all words of the lines that have errors.
pub(super) fn names(text: &str, reports: &[Diagnostic]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let words = words(text);
    let mut previous = "";
    for (_, word) in &words {
        if DECLARING.contains(&previous) {
            names.insert((*word).to_owned());
        }
        previous = word;
    }
    let ends: Vec<u32> = text.match_indices('\n').map(|(offset, _)| offset as u32).collect();
    let lines: Ranges = reports.iter().filter_map(|report| line(&ends, report)).collect();
    for (start, word) in words {
        if lines.meet(start as u32..(start + word.len()) as u32) {
            names.insert(word.to_owned());
        }
    }
    names
}

/// The lines of a report's place, in a text whose lines end at `ends`.
fn line(ends: &[u32], report: &Diagnostic) -> Option<Range<u32>> {
    let Place::Source(span) = report.primary.as_ref()?.place else { return None };
    let before = ends.partition_point(|end| *end < span.start);
    let first = before.checked_sub(1).and_then(|i| ends.get(i)).map_or(0, |newline| newline + 1);
    let after = ends.partition_point(|end| *end < span.end);
    Some(first..ends.get(after).copied().unwrap_or(u32::MAX))
}

/// The identifiers and reserved words of a text, with their offsets.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut start = None;
    for (offset, character) in text.char_indices().chain([(text.len(), ' ')]) {
        let inside = character.is_ascii_alphanumeric() || character == '_';
        match (start, inside) {
            (None, true) => start = Some(offset),
            (Some(first), false) => {
                words.extend(text.get(first..offset).map(|word| (first, word)));
                start = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }
    words
}
