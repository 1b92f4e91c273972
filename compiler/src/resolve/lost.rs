//! Names whose declaration a syntax error may have swallowed: in come a text and its syntax errors, out come words.
//!
//! A faulty declaration is missing from the tree. A use of its name is then no second mistake, and nobody wants to
//! read about it: such a name is taken for one that was declared.

use crate::diagnostic::Diagnostic;
use crate::source::Place;
use std::collections::BTreeSet;

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
    let lines: Vec<(usize, usize)> =
        reports.iter().filter_map(|report| line(text, report)).collect();
    for (start, word) in words {
        if lines.iter().any(|(first, last)| (*first..*last).contains(&start)) {
            names.insert(word.to_owned());
        }
    }
    names
}

/// The offsets between which the line of a report's place lies.
fn line(text: &str, report: &Diagnostic) -> Option<(usize, usize)> {
    let Place::Source(span) = report.primary.as_ref()?.place else { return None };
    let (start, end) = (span.start as usize, span.end as usize);
    let first = text.get(..start)?.rfind('\n').map_or(0, |newline| newline + 1);
    let last = text.get(end..)?.find('\n').map_or(text.len(), |newline| end + newline);
    Some((first, last))
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
