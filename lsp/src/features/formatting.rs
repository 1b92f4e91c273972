//! Formatting: what `cclc fmt` would write, as edits of the whitespace that differs.
//!
//! In: a file, and which part of it. Out: edits between tokens, so that the cursor and other positions in the text
//! stay where they are. Imports that are not in order are moved only where the whole file is formatted, by one edit. A
//! text with syntax errors is not changed, except for the indentation of a new line.

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
    let Changes { whitespace, imports } = Changes::find(analysis)?;
    Some(converted(analysis, whitespace.into_iter().chain(imports)))
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

/// The edits of whitespace that touch a range.
fn edits(analysis: &Analysis<'_>, range: Range<u32>) -> Option<Vec<TextEdit>> {
    let Changes { whitespace, .. } = Changes::find(analysis)?;
    let touches = |change: &Change| range.start <= change.old.end && change.old.start <= range.end;
    Some(converted(analysis, whitespace.into_iter().filter(touches)))
}

fn converted(analysis: &Analysis<'_>, changes: impl Iterator<Item = Change>) -> Vec<TextEdit> {
    changes.map(|change| TextEdit::new(analysis.lines.range(change.old), change.new)).collect()
}

/// Text that is to be replaced.
struct Change {
    old: Range<u32>,
    new: String,
}

/// What the formatter changes.
struct Changes {
    /// Between pieces that stay where they are.
    whitespace: Vec<Change>,
    /// From the first to the last import that moves.
    imports: Option<Change>,
}

impl Changes {
    fn find(analysis: &Analysis<'_>) -> Option<Changes> {
        let old = analysis.text();
        let new = syntax::format(old).ok()?;
        let (before, after) = (Pieces::read(old)?, Pieces::read(&new)?);
        let count = before.pieces.len();
        if count != after.pieces.len() {
            return None;
        }
        let moved = |i: &usize| before.text(*i) != after.text(*i);
        let first = (0..count).find(moved);
        let last = (0..count).rev().find(moved);
        let imports = first.zip(last).map(|(first, last)| Change {
            old: before.between(first, last),
            new: slice(&new, &after.between(first, last)).to_owned(),
        });
        let stays = |gap: &usize| {
            first.is_none_or(|first| *gap <= first) || last.is_some_and(|last| *gap > last)
        };
        let mut whitespace = Vec::new();
        for gap in (0..=count).filter(stays) {
            let (old, is) = (before.gap(gap), slice(&new, &after.gap(gap)));
            if slice(before.source, &old) != is {
                whitespace.push(Change { old, new: is.to_owned() });
            }
        }
        Some(Changes { whitespace, imports })
    }
}

/// The tokens and comments of a text.
struct Pieces<'t> {
    source: &'t str,
    pieces: Vec<Range<u32>>,
}

impl<'t> Pieces<'t> {
    /// Reads a text; none if there is anything else in it.
    fn read(source: &'t str) -> Option<Pieces<'t>> {
        let cut = tokens(FileId(0), source);
        let mut pieces: Vec<Range<u32>> =
            cut.tokens.iter().chain(&cut.comments).map(|t| t.span.start..t.span.end).collect();
        pieces.sort_by_key(|piece| piece.start);
        for piece in &mut pieces {
            // The formatter removes trailing blanks of a comment.
            piece.end = piece.start + slice(source, piece).trim_end().len() as u32;
        }
        let found = Pieces { source, pieces };
        let blank = |c: char| c.is_whitespace() || c == '\u{feff}';
        let is_blank = |gap| slice(source, &found.gap(gap)).trim_matches(blank).is_empty();
        (0..=found.pieces.len()).all(is_blank).then_some(found)
    }

    fn text(&self, piece: usize) -> Option<&'t str> {
        self.pieces.get(piece).map(|piece| slice(self.source, piece))
    }

    /// The whitespace before a piece, or after the last one.
    fn gap(&self, piece: usize) -> Range<u32> {
        let before = piece.checked_sub(1).and_then(|before| self.pieces.get(before));
        let start = before.map_or(0, |before| before.end);
        start..self.pieces.get(piece).map_or(self.source.len() as u32, |piece| piece.start)
    }

    /// From one piece to another.
    fn between(&self, first: usize, last: usize) -> Range<u32> {
        self.gap(first).end..self.gap(last + 1).start
    }
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
