//! Lines of text in a program that are no comments yet.
//!
//! A line counts as text if words follow each other on it as in no statement, and if it has none of the marks that
//! statements have. A text that a line does not end goes on in the next one.

use super::{Input, Rule, note, rest};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::fault::{Fault, Reach};
use crate::syntax::foreign;
use crate::syntax::lookahead::first_line;
use crate::syntax::token::{Class, Kind, Token};
use chumsky::prelude::{EmptyErr, Parser, custom};

/// Lines of text in place of statements: they are skipped.
pub(super) fn prose<'t>() -> Rule<'t, ()> {
    custom(|input: &mut super::Reader<'t, '_>| {
        let lines = lines_of_text(rest(input));
        let fault = no_comment(&lines).ok_or_else(EmptyErr::default)?;
        note(input, fault);
        for _ in 0..lines.iter().map(|line| line.len()).sum() {
            input.next_ref();
        }
        Ok(())
    })
    .boxed()
}

/// The lines of text that begin here; none if this is no text.
fn lines_of_text<'t>(tokens: Input<'t>) -> Vec<Input<'t>> {
    let mut lines = Vec::new();
    let mut left = tokens;
    let begins = |word: &Token<'_>| {
        word.first && word.kind == Kind::Name && foreign::statement(word.text).is_none()
    };
    if !tokens.first().is_some_and(begins) {
        return lines;
    }
    loop {
        let (line, after) = first_line(left);
        let opens = after.first().is_some_and(|next| next.kind == Kind::LeftBrace);
        if opens || !is_text(line) {
            return lines;
        }
        lines.push(line);
        left = after;
        let ends = |last: &Token<'_>| matches!(last.kind, Kind::Dot | Kind::Colon | Kind::Not);
        if line.last().is_some_and(ends) {
            return lines;
        }
    }
}

/// Whether a line holds nothing but words and punctuation, and one word follows another at least twice.
fn is_text(line: &[Token<'_>]) -> bool {
    let is_word = |token: &Token<'_>| token.kind.class() != Class::Mark;
    let punctuation = |token: &Token<'_>| {
        matches!(
            token.kind,
            Kind::Comma
                | Kind::Dot
                | Kind::Colon
                | Kind::Minus
                | Kind::Not
                | Kind::Slash
                | Kind::LeftParen
                | Kind::RightParen
                | Kind::Int
                | Kind::Str
        )
    };
    let pairs = line.windows(2).filter(|pair| pair.iter().all(is_word)).count();
    pairs >= 2 && line.iter().all(|token| is_word(token) || punctuation(token))
}

/// Text that is not in a comment.
fn no_comment(lines: &[Input<'_>]) -> Option<Fault> {
    let begins: Vec<&Token<'_>> = lines.iter().filter_map(|line| line.first()).collect();
    let word = begins.first()?;
    let before = |token: &&Token<'_>| Span { end: token.span.start, ..token.span };
    let slashes = begins.iter().map(|token| Edit { span: before(token), text: "// ".to_owned() });
    let message = format!("no statement or declaration begins with `{}`", word.text);
    let report = Diagnostic::new(Code::E0106, word.span, message)
        .guess("if this is a comment, write `//` before it", slashes.collect());
    Some(Fault::new(word.span.start, Reach::Statement, report))
}
