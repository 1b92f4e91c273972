//! Finds invisible characters in comments and strings that change what is displayed around them.
//!
//! In: the tokens of a file. Out: one report per comment or string (E0110). Everywhere else such a character begins no
//! token, and is reported as that. The characters are the control characters other than blanks, and those with which
//! Unicode embeds, overrides and isolates the direction of text: with them a comment can look like code, and code like
//! a comment (CVE-2021-42574).

use super::token::{Kind, Token, Tokens};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::{Span, changes_direction};

/// Reports the comments and strings that contain invisible characters.
#[must_use]
pub fn check(cut: &Tokens<'_>) -> Vec<Diagnostic> {
    let speaks = |token: &&Token<'_>| matches!(token.kind, Kind::Str | Kind::Doc | Kind::InnerDoc);
    cut.tokens.iter().filter(speaks).chain(&cut.comments).filter_map(report).collect()
}

/// A character as it can be shown in a line of text.
pub(super) fn visible(c: char) -> String {
    if c.is_control() || changes_direction(c) {
        format!("U+{:04X}", c as u32)
    } else {
        c.to_string()
    }
}

fn is_unseen(c: char) -> bool {
    changes_direction(c) || (c.is_control() && !matches!(c, '\t' | '\r' | '\n' | '\u{c}'))
}

fn report(token: &Token<'_>) -> Option<Diagnostic> {
    let mut found = token.text.char_indices().filter(|(_, c)| is_unseen(*c)).peekable();
    let &(_, first) = found.peek()?;
    let edits: Vec<Edit> = found.map(|(at, c)| removal(token, at, c)).collect();
    let span = edits.first()?.span;
    let what = if token.kind == Kind::Str { "string" } else { "comment" };
    let why = match changes_direction(first) {
        true => "which makes text appear in a different order than it is stored",
        false => "an invisible control character that a terminal obeys",
    };
    let message = format!("this {what} contains {}, {why}", visible(first));
    let report = Diagnostic::new(Code::E0110, span, message);
    Some(match edits.len() {
        1 => report.fix("remove the character", edits),
        more => report
            .note(format!("it contains {more} such characters"))
            .fix("remove the characters", edits),
    })
}

fn removal(token: &Token<'_>, at: usize, c: char) -> Edit {
    let start = token.span.start + at as u32;
    let span = Span { start, end: start + c.len_utf8() as u32, ..token.span };
    Edit { span, text: String::new() }
}
