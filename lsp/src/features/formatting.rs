//! Formatting: what `cclc fmt` would write, as edits of the whitespace that differs.
//!
//! In: a file, and which part of it. Out: edits between tokens, so that the cursor and other positions in the text
//! stay where they are. A text with syntax errors is not changed, except for the indentation of a new line.

use crate::analysis::Analysis;
use compiler::source::FileId;
use compiler::syntax;
use compiler::syntax::token::{Kind, tokens};
use lsp_types::{Position, TextEdit};
use std::ops::Range;

/// The number of blanks of one indentation level.
const INDENT: usize = 4;

/// Formats a file.
#[must_use]
pub fn document(analysis: &Analysis<'_>) -> Option<Vec<TextEdit>> {
    edits(analysis, 0..analysis.text().len() as u32)
}

/// Formats the lines of a range.
#[must_use]
pub fn range(analysis: &Analysis<'_>, range: lsp_types::Range) -> Option<Vec<TextEdit>> {
    let first = analysis.lines.start(range.start.line);
    let last = if range.end.character == 0 && range.end.line > range.start.line {
        range.end.line
    } else {
        range.end.line + 1
    };
    edits(analysis, first..analysis.lines.start(last))
}

/// Formats what was just typed: the statement or body that `;` or `}` ended, or the indentation of a new line.
#[must_use]
pub fn typed(analysis: &Analysis<'_>, position: Position, text: &str) -> Option<Vec<TextEdit>> {
    let offset = analysis.lines.offset(position);
    match text {
        "\n" => new_line(analysis, position.line),
        "}" => edits(analysis, opener(analysis.text(), offset)?..offset),
        _ => edits(analysis, analysis.lines.start(position.line)..offset),
    }
}

/// The edits that touch a range.
fn edits(analysis: &Analysis<'_>, range: Range<u32>) -> Option<Vec<TextEdit>> {
    let old = analysis.text();
    let new = syntax::format(old).ok()?;
    let mut edits = Vec::new();
    for (before, after) in gaps(old)?.into_iter().zip(gaps(&new)?) {
        let (was, is) = (slice(old, &before), slice(&new, &after));
        if was != is && range.start <= before.end && before.start <= range.end {
            edits.push(TextEdit::new(analysis.lines.range(before), is.to_owned()));
        }
    }
    Some(edits)
}

/// The whitespace before each token and comment, and after the last one.
fn gaps(text: &str) -> Option<Vec<Range<u32>>> {
    let cut = tokens(FileId(0), text);
    let mut pieces: Vec<Range<u32>> =
        cut.tokens.iter().chain(&cut.comments).map(|t| t.span.start..t.span.end).collect();
    pieces.sort_by_key(|piece| piece.start);
    let mut gaps = Vec::with_capacity(pieces.len() + 1);
    let mut end = 0;
    for piece in pieces {
        // The formatter removes trailing blanks of a comment.
        let blanks = slice(text, &piece);
        let blanks = blanks.len() - blanks.trim_end().len();
        gaps.push(end..piece.start);
        end = piece.end - blanks as u32;
    }
    gaps.push(end..text.len() as u32);
    let blank = |c: char| c.is_whitespace() || c == '\u{feff}';
    gaps.iter().all(|gap| slice(text, gap).trim_matches(blank).is_empty()).then_some(gaps)
}

fn slice<'t>(text: &'t str, range: &Range<u32>) -> &'t str {
    text.get(range.start as usize..range.end as usize).unwrap_or("")
}

/// The beginning of the line with the `{` that the `}` before an offset closes.
fn opener(text: &str, offset: u32) -> Option<u32> {
    let before = text.get(..offset as usize)?;
    let mut depth = 0_usize;
    let cut = tokens(FileId(0), before);
    for token in cut.tokens.iter().rev() {
        if token.kind == Kind::RightBrace {
            depth += 1;
        } else if token.kind == Kind::LeftBrace && depth > 1 {
            depth -= 1;
        } else if token.kind == Kind::LeftBrace {
            let line = before.get(..token.span.start as usize)?.rfind(['\n', '\r']);
            return Some(line.map_or(0, |newline| newline as u32 + 1));
        }
    }
    None
}

/// Indents a new line by the number of brackets that are open before it.
fn new_line(analysis: &Analysis<'_>, line: u32) -> Option<Vec<TextEdit>> {
    let start = analysis.lines.start(line);
    let text = analysis.lines.line(line);
    let blanks = text.len() - text.trim_start().len();
    let part = analysis.part_at(start)?;
    let before = slice(analysis.text(), &(part.start..start)).to_owned();
    let mut depth = 0_usize;
    for token in tokens(FileId(0), &before).tokens {
        if matches!(token.kind, Kind::LeftBrace | Kind::LeftBracket | Kind::LeftParen) {
            depth += 1;
        } else if matches!(token.kind, Kind::RightBrace | Kind::RightBracket | Kind::RightParen) {
            depth = depth.saturating_sub(1);
        }
    }
    let closes = text.trim_start().starts_with(['}', ')', ']']);
    let indent = " ".repeat(depth.saturating_sub(usize::from(closes)) * INDENT);
    if text.get(..blanks) == Some(&indent) {
        return Some(Vec::new());
    }
    Some(vec![TextEdit::new(analysis.lines.range(start..start + blanks as u32), indent)])
}
