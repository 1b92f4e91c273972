//! Names whose declaration a syntax error may have hidden. In: a text and its syntax errors. Out: words.
//!
//! A faulty declaration is missing from the tree. A use of its name is not a second mistake and should not be reported:
//! such a name is treated as declared.

use crate::diagnostic::Diagnostic;
use crate::source::{FileId, LINE_ENDS, Place, Ranges, line_ends};
use crate::syntax::token::{self, Kind, Token};
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

/// The words that begin lists of names, also in other languages: it is not known which of these names is missing.
const LISTS: &[&str] =
    &["use", "fn", "proc", "collective", "program", "import", "from", "include", "using"];

/// The words that items of a file begin with.
const ITEMS: &[&str] = &["use", "let", "fn", "proc", "collective", "program", "import", "from"];

/// The word after each declaring word in the text, and all words of the lines that have errors.
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
    let ends: Vec<u32> = line_ends(text).map(|end| end as u32 - 1).collect();
    let lines: Ranges = reports.iter().filter_map(|report| line(&ends, report)).collect();
    for (start, word) in words {
        if lines.meet(start as u32..(start + word.len()) as u32) {
            names.insert(word.to_owned());
        }
    }
    names
}

/// The text after faulty statements that declare something without a name: up to the next line that begins an item, or,
/// if the statement itself begins an item, to the end of the text.
pub(super) fn behind(file: FileId, text: &str, faults: &Ranges) -> Ranges {
    let tokens = token::tokens(file, text).tokens;
    let lines: Vec<&Token<'_>> = tokens.iter().filter(|token| token.first).collect();
    let begins = |token: &&&Token<'_>| {
        let before = text.get(..token.span.start as usize);
        ITEMS.contains(&token.text)
            && before.is_some_and(|it| it.is_empty() || it.ends_with(LINE_ENDS))
    };
    let items: Vec<u32> = lines.iter().filter(begins).map(|token| token.span.start).collect();
    let end = text.len() as u32;
    let reach = |fault: &Range<u32>| {
        let at = |offset: u32| tokens.partition_point(|token| token.span.start < offset);
        let own = tokens.get(at(fault.start)..at(fault.end))?;
        // A list in braces belongs to the line that it begins on.
        let start = own.first()?.span.start;
        let line = lines.partition_point(|first| first.span.start <= start).checked_sub(1)?;
        let first = lines.get(line)?;
        let lists = LISTS.contains(&first.text) || LISTS.contains(&own.first()?.text);
        (lists || declares_nameless(own)).then_some(())?;
        let item = items.partition_point(|item| *item < first.span.start);
        let is_item = items.get(item).is_some_and(|item| *item < fault.end);
        Some(fault.end..if is_item { end } else { items.get(item).copied().unwrap_or(end) })
    };
    faults.iter().filter_map(reach).collect()
}

/// Whether a faulty statement declares something whose name is missing.
fn declares_nameless(tokens: &[Token<'_>]) -> bool {
    let is_name = |token: Option<&Token<'_>>| token.is_some_and(|token| token.kind == Kind::Name);
    let nameless = |(at, token): (usize, &Token<'_>)| match token.text {
        "in" => !is_name(at.checked_sub(1).and_then(|before| tokens.get(before))),
        word => DECLARING.contains(&word) && !is_name(tokens.get(at + 1)),
    };
    let count = |text: &str| tokens.iter().filter(|token| token.text == text).count();
    let declares = tokens.iter().any(|token| DECLARING.contains(&token.text));
    tokens.iter().enumerate().any(nameless)
        // Without the opening bracket, a name and its binder become one word.
        || declares && count("]") > count("[")
}

/// The range of the lines that a report's place covers, in a text whose lines end at `ends`.
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
