//! The canonical layout of a text: what `cclc fmt` writes.
//!
//! In: a text without syntax errors. Out: the same tokens and comments, laid out anew. The rules:
//!
//! - Four spaces for each body in braces, and for each bracket or continued line within a statement.
//! - One statement per line. A statement that its author wrote on one line, bodies included, stays on one line if it
//!   fits in [`WIDTH`] columns.
//! - Within a statement, lines break where its author broke them.
//! - One space or none between tokens, depending on the tokens only; around `..` the author decides.
//! - No more than one empty line in a row, none at the ends of a body, one after every declaration of several lines.
//! - Lines end as the first one does: with `\r\n`, or else with `\n`.
//! - Comments stay where they are. Comments after code keep their column and stay aligned with those of the lines
//!   above and below, at least two spaces after the code.

mod space;

use super::balance::{Balanced, balance};
use super::token::{Kind, Token, tokens};
use crate::source::{FileId, LINE_ENDS, line_ends};

/// The width that a statement on one line may have.
pub const WIDTH: usize = 100;

/// Formats a text, which must have no syntax errors.
#[must_use]
pub fn layout(text: &str) -> String {
    let new = layout_lines(text);
    if ends_lines_with_carriage_returns(text) { new.replace('\n', "\r\n") } else { new }
}

/// Whether the first line ends with `\r\n`. Then all do, or should.
fn ends_lines_with_carriage_returns(text: &str) -> bool {
    let first = text.find(LINE_ENDS).and_then(|end| text.get(end..));
    first.is_some_and(|end| end.starts_with("\r\n"))
}

fn layout_lines(text: &str) -> String {
    let cut = tokens(FileId(0), text);
    let Balanced { tokens, bodies, .. } = balance(&cut.tokens, false);
    let mut pieces = space::pieces(&tokens, &bodies);
    pieces.extend(cut.comments.iter().map(|comment| Piece::comment(*comment)));
    pieces.sort_by_key(|piece| piece.token.span.start);
    let mut printer = Printer { text, lines: Vec::new(), blank: false };
    printer.statements(&pieces, 0);
    render(&printer.lines)
}

/// A token or comment, and how it is printed.
#[derive(Clone, Copy, Debug)]
struct Piece<'t> {
    token: Token<'t>,
    /// Whether a space comes before it, unless it is the first on its line.
    space: bool,
    /// Whether it is the `{` of a body.
    opens_body: bool,
}

impl<'t> Piece<'t> {
    fn comment(token: Token<'t>) -> Piece<'t> {
        Piece { token: Token { kind: Kind::Comment, ..token }, space: true, opens_body: false }
    }

    fn is_comment(&self) -> bool {
        self.token.kind == Kind::Comment
    }
}

/// A line of the new text.
#[derive(Clone, Debug, Default)]
struct Line {
    indent: usize,
    code: String,
    /// A comment after the code, and its column in the old text.
    comment: Option<(String, usize)>,
    /// Whether the code was on another line before, so that the column of its comment means nothing.
    moved: bool,
}

impl Line {
    /// Whether more code can follow.
    fn is_open(&self) -> bool {
        self.comment.is_none() && !self.code.starts_with("//")
    }
}

struct Printer<'t> {
    text: &'t str,
    lines: Vec<Line>,
    /// Whether an empty line must come before the next one.
    blank: bool,
}

impl<'t> Printer<'t> {
    /// Prints the statements of a body, or of the file.
    fn statements(&mut self, pieces: &[Piece<'t>], indent: usize) {
        let mut rest = pieces;
        let mut is_first = true;
        while let Some(piece) = rest.first() {
            if piece.is_comment() && !piece.token.first && !self.lines.is_empty() {
                self.trail(piece);
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            self.blank = !is_first && (self.blank || self.follows_blank(piece));
            is_first = false;
            let length = statement_length(rest);
            let (statement, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            let lines = self.lines.len();
            self.statement(statement, indent);
            self.note_moved(lines, piece);
            self.blank = indent == 0 && self.lines.len() > lines + 1 && ends_body(statement);
            rest = after;
        }
        self.blank = false;
    }

    /// Marks the first line of code from `from` on as moved if something else was before it on its line.
    fn note_moved(&mut self, from: usize, first: &Piece<'t>) {
        let begun = self.lines.iter_mut().skip(from).find(|line| !line.code.is_empty());
        if let Some(line) = begun.filter(|_| !first.token.first) {
            line.moved = true;
            if let Some((_, column)) = &mut line.comment {
                *column = 0;
            }
        }
    }

    /// Prints a statement, a comment, a line of documentation or an attribute.
    fn statement(&mut self, pieces: &[Piece<'t>], indent: usize) {
        let fits = |line: &String| pieces.len() == 1 || indent + line.chars().count() <= WIDTH;
        if let Some(line) = one_line(pieces).filter(fits) {
            return self.start(indent, line);
        }
        self.start(indent, String::new());
        let mut depth = 0;
        let mut rest = pieces;
        while let Some((piece, after)) = rest.split_first() {
            rest = after;
            if piece.opens_body {
                let length = body_length(after);
                let (inside, closing) = after.split_at_checked(length).unwrap_or((after, &[]));
                self.body(piece, inside, indent);
                let moved = closing.first().is_some_and(|brace| !brace.token.first);
                if let (true, false, Some(line)) = (moved, inside.is_empty(), self.lines.last_mut())
                {
                    line.moved = true;
                }
                rest = closing.get(1..).unwrap_or_default();
                continue;
            }
            if piece.token.kind.is_closer() {
                depth -= 1;
            }
            self.piece(piece, indent, depth);
            if piece.token.kind.is_opener() {
                depth += 1;
            }
        }
    }

    /// Prints a body, with each statement on its own line.
    fn body(&mut self, brace: &Piece<'t>, inside: &[Piece<'t>], indent: usize) {
        self.append(brace, indent);
        if let (true, Some(line)) = (inside.is_empty(), self.lines.last_mut()) {
            return line.code.push('}');
        }
        self.statements(inside, indent + 4);
        self.start(indent, "}".to_owned());
    }

    /// Prints a token or comment within a statement, `depth` brackets deep.
    fn piece(&mut self, piece: &Piece<'t>, indent: usize, depth: i32) {
        let is_new = self.lines.last().is_some_and(|line| line.code.is_empty());
        let joins = piece.token.kind == Kind::Else;
        if !piece.token.first || is_new || joins {
            return if piece.is_comment() { self.trail(piece) } else { self.append(piece, indent) };
        }
        let depth = usize::try_from(depth).unwrap_or(0);
        let levels = if piece.token.kind.is_closer() { depth } else { depth.max(1) };
        self.start(indent + 4 * levels, piece.token.text.to_owned());
    }

    /// Begins a line.
    fn start(&mut self, indent: usize, code: String) {
        if std::mem::take(&mut self.blank) && !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        self.lines.push(Line { indent, code, ..Line::default() });
    }

    /// Appends to the current line, unless a comment has ended it.
    fn append(&mut self, piece: &Piece<'t>, indent: usize) {
        match self.lines.last_mut() {
            Some(line) if line.is_open() => {
                let space = piece.space && !line.code.is_empty();
                line.code.push_str(if space { " " } else { "" });
                line.code.push_str(piece.token.text);
            }
            _ => self.start(indent, piece.token.text.to_owned()),
        }
    }

    /// Puts a comment after the code of the last line.
    fn trail(&mut self, piece: &Piece<'t>) {
        let start = piece.token.span.start as usize;
        let before = self.text.get(..start).unwrap_or("");
        let line = before
            .rfind(LINE_ENDS)
            .map_or(before, |newline| before.get(newline + 1..).unwrap_or(""));
        let column = line.chars().count();
        match self.lines.last_mut() {
            Some(line) if line.is_open() && !line.code.is_empty() => {
                let column = if line.moved { 0 } else { column };
                line.comment = Some((piece.token.text.to_owned(), column));
            }
            _ => self.start(piece.token.indent as usize, piece.token.text.to_owned()),
        }
    }

    /// Whether the author left an empty line before a piece.
    fn follows_blank(&self, piece: &Piece<'t>) -> bool {
        let before = self.text.get(..piece.token.span.start as usize).unwrap_or("");
        let space = before.len() - before.trim_end().len();
        line_ends(before.get(before.len() - space..).unwrap_or("")).nth(1).is_some()
    }
}

/// How many pieces a statement has: up to its `;` or the end of its last body.
fn statement_length(pieces: &[Piece<'_>]) -> usize {
    let mut depth = 0u32;
    let is_attribute = pieces.first().is_some_and(|first| first.token.kind == Kind::Hash);
    for (i, piece) in pieces.iter().enumerate() {
        let kind = piece.token.kind;
        if i == 0 && matches!(kind, Kind::Comment | Kind::Doc | Kind::InnerDoc) {
            return 1;
        }
        if kind.is_opener() {
            depth += 1;
        } else if kind.is_closer() {
            depth = depth.saturating_sub(1);
        }
        let ends_attribute = is_attribute && depth == 0 && kind == Kind::RightBracket;
        let ends_last_body = depth == 0 && kind == Kind::RightBrace && closes_body(pieces, i);
        if depth == 0 && (kind == Kind::Semicolon || ends_attribute || ends_last_body) {
            return i + 1;
        }
    }
    pieces.len()
}

/// Whether the `}` at `end` closes the body that ends a statement: no `else` follows.
fn closes_body(pieces: &[Piece<'_>], end: usize) -> bool {
    let mut depth = 0u32;
    let opener = pieces.iter().take(end + 1).rev().find(|piece| {
        depth = if piece.token.kind.is_closer() { depth + 1 } else { depth };
        depth -= u32::from(piece.token.kind.is_opener());
        depth == 0
    });
    let next = pieces.iter().skip(end + 1).find(|piece| !piece.is_comment());
    opener.is_some_and(|opener| opener.opens_body)
        && next.is_none_or(|next| next.token.kind != Kind::Else)
}

/// How many pieces there are before the `}` of a body.
fn body_length(pieces: &[Piece<'_>]) -> usize {
    let mut depth = 0u32;
    for (i, piece) in pieces.iter().enumerate() {
        if piece.token.kind.is_opener() {
            depth += 1;
        } else if piece.token.kind.is_closer() {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return i,
            }
        }
    }
    pieces.len()
}

fn ends_body(pieces: &[Piece<'_>]) -> bool {
    pieces.last().is_some_and(|last| last.token.kind == Kind::RightBrace)
}

/// A statement as its author wrote it on one line; none if it has comments, or line breaks other than before `else`.
fn one_line(pieces: &[Piece<'_>]) -> Option<String> {
    let mut line = String::new();
    for (i, piece) in pieces.iter().enumerate() {
        let breaks = piece.token.first && piece.token.kind != Kind::Else;
        if i > 0 && (breaks || piece.is_comment()) {
            return None;
        }
        line.push_str(if i > 0 && piece.space { " " } else { "" });
        line.push_str(piece.token.text);
    }
    Some(line)
}

/// The text of the lines. Comments that share a column keep sharing one.
fn render(lines: &[Line]) -> String {
    let mut out = String::new();
    let mut rest = lines;
    while let Some(line) = rest.first() {
        let column = line.comment.as_ref().map(|(_, column)| *column);
        let same = |line: &&Line| column.is_some() && line.comment.as_ref().map(|c| c.1) == column;
        let run = rest.iter().take_while(same).count().max(1);
        let (together, after) = rest.split_at_checked(run).unwrap_or((rest, &[]));
        let width = |line: &Line| line.indent + line.code.chars().count() + 2;
        let column = together.iter().map(width).max().unwrap_or(0).max(column.unwrap_or(0));
        for line in together {
            render_line(line, column, &mut out);
        }
        rest = after;
    }
    out
}

fn render_line(line: &Line, column: usize, out: &mut String) {
    if !line.code.is_empty() {
        out.extend(std::iter::repeat_n(' ', line.indent));
        out.push_str(&line.code);
    }
    if let Some((comment, _)) = &line.comment {
        let width = line.indent + line.code.chars().count();
        out.extend(std::iter::repeat_n(' ', column.saturating_sub(width)));
        out.push_str(comment);
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::layout;

    #[test]
    fn lines_end_as_the_first_one_does() {
        let text = "let a  = 1; // One.\n\n\nlet b = 2;\n";
        let new = "let a = 1; // One.\n\nlet b = 2;\n";
        assert_eq!(layout(text), new);
        assert_eq!(layout(&text.replace('\n', "\r")), new);
        let (text, new) = (text.replace('\n', "\r\n"), new.replace('\n', "\r\n"));
        assert_eq!(layout(&text), new);
        assert_eq!(layout(&new), new);
        assert_eq!(layout("let a = 1;"), "let a = 1;\n");
    }
}
