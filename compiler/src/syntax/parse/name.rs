//! Names, also where a reserved word is in the place of one, or nothing.

use super::report::{expected, no_scratch, reserved};
use super::{Extra, Input, Reader, kind_at, last, note, rest};
use crate::syntax::ast::Name;
use crate::syntax::fault::{Fault, Reach};
use crate::syntax::token::{Class, Kind, Token};
use chumsky::prelude::{EmptyErr, Parser, custom};

/// A name that is used.
pub(super) fn name<'t>() -> impl Parser<'t, Input<'t>, Name, Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| match input.peek_ref() {
        Some(token) if token.kind.is_name() => {
            input.next_ref();
            Ok(named(token))
        }
        _ => Err(EmptyErr::default()),
    })
}

/// A name that must be here; `what` describes it. None if there is none; a reserved word is taken as the name.
pub(super) fn required_name<'t>(
    what: &'static str,
) -> impl Parser<'t, Input<'t>, Option<Name>, Extra> + Clone {
    custom(move |input: &mut Reader<'t, '_>| {
        let before = last(input);
        let tokens = rest(input);
        match tokens.first() {
            Some(token) if token.kind.is_name() => {
                input.next_ref();
                Ok(Some(named(token)))
            }
            Some(token) if is_reserved_name(before, tokens) => {
                let is_field = before.is_some_and(|before| before.kind == Kind::Dot);
                let is_memory = token.kind == Kind::Scratch && is_field;
                note(input, if is_memory { no_scratch(token) } else { reserved(token) });
                input.next_ref();
                Ok(Some(named(token)))
            }
            _ => {
                let fault = expected(input, what.into());
                note(input, fault);
                Ok(None)
            }
        }
    })
}

/// A reserved word where a value is expected.
pub(super) fn reserved_name<'t>() -> impl Parser<'t, Input<'t>, Name, Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let before = last(input);
        let tokens = rest(input);
        let token = tokens.first().ok_or_else(EmptyErr::default)?;
        let for_later = matches!(token.kind, Kind::Link | Kind::Flow | Kind::Synthesize);
        let is_word = !matches!(token.kind, Kind::Via | Kind::Relaxed | Kind::Else | Kind::As);
        let is_value =
            !kind_at(tokens, 1).is_some_and(Kind::is_name) && !begins_declaration(tokens);
        if !is_reserved_name(before, tokens) || !(for_later || (is_word && is_value)) {
            return Err(EmptyErr::default());
        }
        let is_memory = token.kind == Kind::Scratch;
        let fault = if is_memory { no_scratch(token) } else { reserved(token) };
        note(input, Fault { reach: Reach::Use, ..fault });
        input.next_ref();
        Ok(named(token))
    })
}

/// Whether a reserved word is where a name is expected: on the same line as what comes before, and not a word that
/// can follow a name.
fn is_reserved_name(before: Option<&Token<'_>>, tokens: &[Token<'_>]) -> bool {
    tokens.first().is_some_and(|token| {
        token.kind.class() == Class::Reserved
            && !token.first
            && (token.kind != Kind::In || is_in_as_name(before, kind_at(tokens, 1)))
    })
}

/// Whether `in` is meant as a name: as in `let in = 1` or `wait in[p]`, and not where a binder has lost its name, as in
/// `for in [1, 2]`.
fn is_in_as_name(before: Option<&Token<'_>>, next: Option<Kind>) -> bool {
    let Some(next) = next else { return true };
    let binds = |before: Kind| before == Kind::For || before == Kind::Comma || before.is_opener();
    let indexed = next == Kind::LeftBracket && !before.is_some_and(|before| binds(before.kind));
    indexed || next == Kind::In || (next.class() == Class::Mark && !begins_value(next))
}

/// Whether a declaration with a name begins here.
fn begins_declaration(tokens: &[Token<'_>]) -> bool {
    matches!(kind_at(tokens, 0), Some(Kind::If | Kind::Let | Kind::For | Kind::True | Kind::False))
}

/// Marks and literals that a value begins with.
fn begins_value(kind: Kind) -> bool {
    kind.is_opener() || matches!(kind, Kind::Int | Kind::Str | Kind::Wrong)
}

pub(super) fn named(token: &Token<'_>) -> Name {
    Name { text: token.text.to_owned(), span: token.span }
}
