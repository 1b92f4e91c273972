//! How statements and declarations are written: what a report shows if something in them is missing or superfluous.
#![expect(clippy::wildcard_enum_match_arm, reason = "few of the many kinds of tokens matter here")]

use super::{Reader, before};
use crate::syntax::lookahead::MAX_LOOK;
use crate::syntax::token::{Kind, Token};

/// How the statement that is being read is written; none if its first word does not say so.
pub(super) fn form_of_statement(input: &mut Reader<'_, '_>) -> Option<String> {
    let form = form(head(before(input))?.kind)?;
    Some(format!("it is written as `{form}`"))
}

/// The first token of the statement that `before` ends in.
pub(super) fn head<'t>(before: &'t [Token<'t>]) -> Option<&'t Token<'t>> {
    statement(before).first()
}

/// The tokens of the statement that `before` ends in.
pub(super) fn statement<'t>(before: &'t [Token<'t>]) -> &'t [Token<'t>] {
    let ends = |token: &&Token<'_>| {
        !matches!(token.kind, Kind::Semicolon | Kind::LeftBrace | Kind::RightBrace)
    };
    let length = before.iter().rev().take(MAX_LOOK).take_while(ends).count();
    before.get(before.len() - length..).unwrap_or_default()
}

/// How a statement with this first word is written.
pub(super) fn form(word: Kind) -> Option<&'static str> {
    Some(match word {
        Kind::Transfer(verb) => verb.row().example,
        Kind::Signal => "signal c;",
        Kind::Wait => "wait c;",
        Kind::Flush => "flush c;",
        Kind::Acquire => "acquire s;",
        Kind::Release => "release s;",
        Kind::Barrier => "barrier a, b[*];",
        Kind::Use => "use std::collectives::allgather;",
        Kind::Let => "let n = 4;",
        Kind::Scratch => "scratch inbox[4];",
        Kind::Semaphore => "semaphore ready = 0;",
        Kind::Channel => "channel c[p in peers] = memory(p);",
        _ => return None,
    })
}
