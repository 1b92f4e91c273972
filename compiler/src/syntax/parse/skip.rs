//! Skipping what makes no sense, up to where it probably ends.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::{Reader, rest};
use crate::syntax::lookahead::{MAX_LOOK, begins_statement, first_line};
use crate::syntax::token::{Kind, Token};

/// Skips to the end of a statement.
pub(super) fn skip_statement(input: &mut Reader<'_, '_>) {
    while !skip_in_statement(input) {}
}

/// Skips a word and what it has to say, up to the end of a body that is no list of statements, or to the `;`. A line that
/// begins a statement is not part of it.
pub(super) fn skip_body(input: &mut Reader<'_, '_>) {
    skip_one(input);
    while let Some(token) = rest(input).first().filter(|token| !token.kind.is_closer()) {
        if token.first && begins_statement(rest(input)) {
            break;
        }
        let ends = matches!(token.kind, Kind::LeftBrace | Kind::Semicolon);
        skip_one(input);
        if ends {
            break;
        }
    }
}

/// Skips one token or bracket of a statement; true if that was its end.
pub(super) fn skip_in_statement(input: &mut Reader<'_, '_>) -> bool {
    let tokens = rest(input);
    match tokens.first() {
        None => true,
        Some(token) if token.kind == Kind::Semicolon => {
            input.next_ref();
            true
        }
        Some(token) => {
            token.kind.is_closer()
                || begins_statement(tokens)
                || matches!(token.kind, Kind::Doc | Kind::Hash)
                || {
                    let is_body = token.kind == Kind::LeftBrace;
                    skip_one(input);
                    is_body && input.peek_ref().is_none_or(|next| next.first)
                }
        }
    }
}

/// Skips a token, or a bracket with its content.
pub(super) fn skip_one(input: &mut Reader<'_, '_>) {
    let mut depth = 0u32;
    while let Some(token) = input.peek_ref() {
        if token.kind.is_opener() {
            depth += 1;
        } else if token.kind.is_closer() {
            depth = depth.saturating_sub(1);
        }
        input.next_ref();
        if depth == 0 {
            break;
        }
    }
}

/// Skips a body of another language: a line that ends with `:`, and the lines below it that are indented further. False
/// if this is none.
pub(super) fn skip_indented(input: &mut Reader<'_, '_>) -> bool {
    let tokens = rest(input);
    let Some(head) = tokens.first().filter(|head| head.first) else { return false };
    let (line, _) = first_line(tokens);
    let ends = line.last().is_some_and(|last| last.kind == Kind::Colon);
    let inside = |token: &&Token<'_>| {
        !token.kind.is_closer() && (!token.first || token.indent > head.indent)
    };
    if !ends {
        return false;
    }
    for _ in line {
        input.next_ref();
    }
    while rest(input).first().filter(inside).is_some() {
        skip_one(input);
    }
    true
}

/// Whether a body opens before this statement ends.
pub(super) fn has_body(tokens: &[Token<'_>]) -> bool {
    let mut depth = 0u32;
    for (i, token) in tokens.iter().enumerate().take(MAX_LOOK) {
        if depth == 0 {
            match token.kind {
                Kind::LeftBrace => return true,
                Kind::Semicolon | Kind::Else => return false,
                _ if token.first || begins_statement(tokens.get(i..).unwrap_or_default()) => {
                    return false;
                }
                _ => {}
            }
        }
        if token.kind.is_opener() {
            depth += 1;
        } else if token.kind.is_closer() {
            let Some(less) = depth.checked_sub(1) else { return false };
            depth = less;
        }
    }
    false
}
