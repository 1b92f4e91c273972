//! The canonical layout of a text: what `cclc fmt` writes.
//!
//! In: a text without syntax errors. Out: the same tokens and comments, laid out anew; only imports change their order.
//! The rules:
//!
//! - Four spaces for each body in braces, and for each bracket or continued line within a statement; eight for a
//!   continued line before a body.
//! - One statement per line. A statement that its author wrote on one line, bodies included, stays on one line if it
//!   fits in [`WIDTH`] columns.
//! - A statement without a body is on one line if it fits. Otherwise it is broken at its outermost places first; see
//!   `wrap`. A bracket whose contents its author put on lines of their own keeps them there.
//! - One space or none between tokens, depending on the tokens only; around `..` the author decides.
//! - No more than one empty line in a row, none at the ends of a body, one after every declaration of several lines.
//! - Comments stay between the tokens where they are. Comments after code keep their column if the line keeps its code,
//!   and stay aligned with those of the lines above and below, at least two spaces after the code.
//! - Imports are sorted; see [`super::imports`].
//! - Lines end with a carriage return and a line feed if the first one does, and with a line feed otherwise.

mod lines;
mod nodes;
mod space;
mod wrap;

use super::ast::File;
use super::balance::{Balanced, balance};
use super::imports::{line_end, sort_imports};
use super::token::{Kind, Token, tokens};
use crate::source::{FileId, line_ends};
use lines::Lines;
use wrap::Statement;

/// The width of a line, unless it has nothing to break.
pub const WIDTH: usize = 100;

/// The columns by which a body, the contents of a bracket and a continued line are indented.
const INDENT: usize = 4;

/// Formats a text, which must have no syntax errors, for lines of a width. `file` is its tree.
#[must_use]
pub fn layout(file: &File, text: &str, width: usize) -> String {
    let sorted = sort_imports(file, text);
    let text = sorted.as_str();
    let cut = tokens(FileId(0), text);
    let Balanced { tokens, bodies, .. } = balance(&cut.tokens, false);
    let mut pieces = space::pieces(&tokens, &bodies);
    pieces.extend(cut.comments.iter().map(|comment| Piece::comment(*comment)));
    pieces.sort_by_key(|piece| piece.token.span.start);
    let mut printer = Printer { text, lines: Lines::new(text, width), blank: false };
    printer.print_statements(&pieces, 0);
    printer.lines.render(line_end(text))
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

    fn is_kind(&self, kind: Kind) -> bool {
        self.token.kind == kind
    }
}

struct Printer<'t> {
    text: &'t str,
    lines: Lines<'t>,
    /// Whether an empty line must come before the next one.
    blank: bool,
}

impl<'t> Printer<'t> {
    /// Prints the statements of a body, or of the file.
    fn print_statements(&mut self, pieces: &[Piece<'t>], indent: usize) {
        let mut rest = pieces;
        let mut is_first = true;
        while let Some(piece) = rest.first() {
            if piece.is_comment() && !piece.token.first && !self.lines.is_empty() {
                self.lines.put_comment(piece);
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            if !is_first && (self.blank || self.follows_blank(piece)) {
                self.lines.leave_blank();
            }
            is_first = false;
            let length = statement_length(rest);
            let (statement, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            let before = self.lines.count();
            self.print_statement(statement, indent);
            let has_lines = self.lines.count() > before + 1;
            self.blank = indent == 0 && has_lines && ends_body(statement);
            rest = after;
        }
        self.blank = false;
    }

    /// Prints a statement, a comment, a line of documentation or an attribute.
    fn print_statement(&mut self, pieces: &[Piece<'t>], indent: usize) {
        self.lines.start(indent);
        if let [piece] = pieces {
            return self.lines.put(piece, indent);
        }
        let body = pieces.iter().position(|piece| piece.opens_body);
        let in_bodies = pieces.get(body.unwrap_or(pieces.len())..).unwrap_or_default();
        let is_inline = in_bodies.iter().all(|p| !p.token.first || p.is_kind(Kind::Else));
        let whole = Statement::new(pieces);
        if is_inline && whole.fits(&self.lines) {
            return whole.print(&mut self.lines, indent);
        }
        let mut rest = pieces;
        while let Some(open) = rest.iter().position(|piece| piece.opens_body) {
            let (head, after) = rest.split_at_checked(open).unwrap_or((rest, &[]));
            Statement::new(head).print_head(&mut self.lines, indent);
            let Some((brace, after)) = after.split_first() else { return };
            let (inside, closing) =
                after.split_at_checked(body_length(after)).unwrap_or((after, &[]));
            self.print_body(brace, inside, indent);
            let Some((brace, after)) = closing.split_first() else { return };
            self.lines.put(brace, indent);
            let between = after.iter().take_while(|p| p.is_comment() || p.is_kind(Kind::Else));
            let (between, after) = after.split_at_checked(between.count()).unwrap_or_default();
            between.iter().for_each(|piece| self.lines.put(piece, indent));
            rest = after;
        }
        Statement::new(rest).print(&mut self.lines, indent);
    }

    /// Prints a body up to its `}`, with each statement on its own line.
    fn print_body(&mut self, brace: &Piece<'t>, inside: &[Piece<'t>], indent: usize) {
        self.lines.put(brace, indent);
        if !inside.is_empty() {
            self.print_statements(inside, indent + INDENT);
            self.lines.start(indent);
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
