//! The lines of the new text, and the columns of their comments.
//!
//! In: pieces, one after the other, and where lines begin. Out: a text.

use super::Piece;
use crate::source::LINE_ENDS;

/// A line of the new text.
#[derive(Clone, Debug, Default)]
struct Line {
    indent: usize,
    code: String,
    /// A comment after the code.
    comment: Option<Trailing>,
    /// Whether the code was on other lines before, so that the column of its comment means nothing.
    moved: bool,
}

/// A comment after code.
#[derive(Clone, Debug)]
struct Trailing {
    text: String,
    /// Its column in the old text; 0 if that means nothing.
    column: usize,
}

impl Line {
    /// Whether more code can follow.
    fn is_open(&self) -> bool {
        self.comment.is_none() && !self.code.starts_with("//")
    }

    fn width(&self) -> usize {
        self.indent + self.code.chars().count()
    }
}

/// The lines that are written so far.
pub(super) struct Lines<'t> {
    text: &'t str,
    width: usize,
    lines: Vec<Line>,
    /// The columns that the code of the last line ends at.
    column: usize,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str, width: usize) -> Lines<'t> {
        Lines { text, width, lines: Vec::new(), column: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.lines.len()
    }

    /// Whether so many columns fit on the last line.
    pub(super) fn has_room(&self, columns: usize) -> bool {
        self.last().is_none_or(Line::is_open) && self.column + columns <= self.width
    }

    /// Whether so many columns fit on a line with an indentation.
    pub(super) fn has_room_at(&self, indent: usize, columns: usize) -> bool {
        indent + columns <= self.width
    }

    /// Whether the last line has nothing on it yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.last().is_some_and(|line| line.code.is_empty())
    }

    /// Whether the last line has nothing but the ends of brackets.
    pub(super) fn ends_bracket(&self) -> bool {
        self.last().is_some_and(|line| line.code.chars().all(|c| ")]},".contains(c)))
    }

    /// The indentation of the last line.
    pub(super) fn indent(&self) -> usize {
        self.last().map_or(0, |line| line.indent)
    }

    fn last(&self) -> Option<&Line> {
        self.lines.last()
    }

    /// Leaves an empty line.
    pub(super) fn leave_blank(&mut self) {
        self.lines.push(Line::default());
    }

    /// Begins the line of a statement or of what closes its body.
    pub(super) fn start(&mut self, indent: usize) {
        self.lines.push(Line { indent, ..Line::default() });
        self.column = indent;
    }

    /// Begins a line within a statement, unless the last one has nothing on it.
    pub(super) fn wrap(&mut self, indent: usize) {
        match self.lines.last_mut() {
            Some(line) if line.code.is_empty() => line.indent = indent,
            _ => return self.start(indent),
        }
        self.column = indent;
    }

    /// Writes a token or comment; if that takes another line, it has this indentation.
    pub(super) fn put(&mut self, piece: &Piece<'t>, indent: usize) {
        if piece.is_comment() && !piece.token.first {
            return self.put_comment(piece);
        }
        let is_open = self.last().is_some_and(Line::is_open);
        if !is_open || (piece.is_comment() && !self.is_fresh()) {
            self.wrap(indent);
        }
        let Some(line) = self.lines.last_mut() else { return };
        let begins = line.code.is_empty();
        line.moved |= begins != piece.token.first;
        let space = if piece.space && !begins { " " } else { "" };
        line.code.push_str(space);
        line.code.push_str(piece.token.text);
        self.column += space.len() + piece.token.text.chars().count();
    }

    /// Puts a comment after the code of the last line.
    pub(super) fn put_comment(&mut self, piece: &Piece<'t>) {
        let before = self.text.get(..piece.token.span.start as usize).unwrap_or("");
        let line = before
            .rfind(LINE_ENDS)
            .map_or(before, |newline| before.get(newline + 1..).unwrap_or(""));
        let column = line.chars().count();
        match self.lines.last_mut() {
            Some(line) if line.is_open() && !line.code.is_empty() => {
                let column = if line.moved { 0 } else { column };
                line.comment = Some(Trailing { text: piece.token.text.to_owned(), column });
            }
            _ => {
                self.wrap(piece.token.indent as usize);
                if let Some(line) = self.lines.last_mut() {
                    line.code.push_str(piece.token.text);
                }
            }
        }
    }

    /// The text of the lines. Comments that share a column keep sharing one.
    pub(super) fn render(&self, line_end: &str) -> String {
        let mut out = String::new();
        let mut rest = self.lines.as_slice();
        while let Some(line) = rest.first() {
            let column = line.comment.as_ref().map(|comment| comment.column);
            let same = |line: &&Line| {
                column.is_some() && line.comment.as_ref().map(|comment| comment.column) == column
            };
            let run = rest.iter().take_while(same).count().max(1);
            let (together, after) = rest.split_at_checked(run).unwrap_or((rest, &[]));
            let least = together.iter().map(|line| line.width() + 2).max().unwrap_or(0);
            for line in together {
                render_line(line, least.max(column.unwrap_or(0)), &mut out);
                out.push_str(line_end);
            }
            rest = after;
        }
        out
    }
}

fn render_line(line: &Line, column: usize, out: &mut String) {
    if !line.code.is_empty() {
        out.extend(std::iter::repeat_n(' ', line.indent));
        out.push_str(&line.code);
    }
    if let Some(comment) = &line.comment {
        out.extend(std::iter::repeat_n(' ', column.saturating_sub(line.width())));
        out.push_str(&comment.text);
    }
}
