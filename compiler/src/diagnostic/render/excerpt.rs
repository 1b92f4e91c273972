//! Excerpts from lines that are too long to be drawn whole: a plan's JSON is often one line of many
//! megabytes.

use super::printable;
use crate::source::{LINE_ENDS, SourceFile};

/// Lines with more bytes than this are not drawn whole.
const MAX_LINE: usize = 1000;

/// How many characters are shown on each side of a place's beginning.
const AROUND: usize = 60;

/// Whether one of the lines in which a range of a text begins and ends is too long to be drawn.
pub(super) fn is_needed(file: &SourceFile, (start, end): (usize, usize)) -> bool {
    [start, end].into_iter().any(|offset| line(file, offset).len() > MAX_LINE)
}

/// The text around the beginning of a range, and a line of marks to go below it.
pub(super) fn around(file: &SourceFile, (start, end): (usize, usize)) -> [String; 2] {
    let line = line(file, start);
    let before = file.text.get(line.start..start).unwrap_or("");
    let after = file.text.get(start..line.end).unwrap_or("");
    let from = before.char_indices().rev().take(AROUND).last().map_or(before.len(), |(at, _)| at);
    let to = after.char_indices().nth(AROUND).map_or(after.len(), |(at, _)| at);
    let (left, right) = (before.get(from..).unwrap_or(""), after.get(..to).unwrap_or(""));
    let cut = |is_cut: bool| if is_cut { ".." } else { "" };
    let (head, tail) = (cut(from > 0), cut(to < after.len()));
    let inside = right.get(..end - start).unwrap_or(right).chars().count().max(1);
    let indent = " ".repeat(head.len() + left.chars().count());
    let shown = printable(&format!("{left}{right}"));
    [format!("{head}{shown}{tail}"), format!("{indent}{}", "^".repeat(inside))]
}

/// The range of an offset's line, without its line end.
fn line(file: &SourceFile, offset: usize) -> std::ops::Range<usize> {
    let (before, after) = file.text.split_at_checked(offset).unwrap_or((&file.text, ""));
    let start = before.rfind(LINE_ENDS).map_or(0, |newline| newline + 1);
    start..offset + after.find(LINE_ENDS).unwrap_or(after.len())
}
