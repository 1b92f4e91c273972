//! The first words of statements and declarations that are misspelled, missing, or words of other languages.

use super::report::{call_without_parentheses, missing_word, no_statement, no_such_word};
use super::skip::{skip_body, skip_in_statement, skip_indented, skip_one, skip_statement};
use super::{Extra, Input, Reader, Rule, head, kind_at, last, note, rest};
use crate::diagnostic::nearest;
use crate::syntax::foreign;
use crate::syntax::lookahead::{behind, is_operator, left_out};
use crate::syntax::token::{Class, Kind, Token};
use chumsky::prelude::{EmptyErr, Parser, custom};

/// The word that begins a production; if it was left out but what follows it is there, that is reported.
pub(super) fn word<'t>(kind: Kind) -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    let missing = custom(move |input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let token = tokens.first().filter(|_| left_out(tokens) == Some(kind));
        let fault = missing_word(token.ok_or_else(EmptyErr::default)?, kind.text());
        note(input, fault);
        Ok(())
    });
    head(kind).ignored().or(missing)
}

/// A statement whose first word is misspelled: `own` reads it again with the word of `words` that was meant. Fails if
/// no word is near enough.
pub(super) fn misspelt_head<'t, O: 't>(words: &'static [Kind], own: Rule<'t, O>) -> Rule<'t, O> {
    custom(move |input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let token = tokens.first().ok_or_else(EmptyErr::default)?;
        let next = kind_at(tokens, 1);
        let follows = next.is_some_and(|next| {
            !matches!(next, Kind::Equal | Kind::Dot | Kind::RightBrace) && !is_operator(next)
        });
        if token.kind != Kind::Name || !follows || foreign::statement(token.text).is_some() {
            return Err(EmptyErr::default());
        }
        let meant = meant_word(token.text, words, next).ok_or_else(EmptyErr::default)?;
        note(input, no_such_word(token, Some(meant)));
        let at = *input.cursor().inner();
        input.state().meant = Some((at, meant));
        input.parse(&own)
    })
    .boxed()
}

/// A declaration that begins with a word of another language, judging by its body: `algorithm f(..) { collective ..;
/// }`. `own` reads it again as what it is.
pub(super) fn other_head<'t, O: 't>(own: Rule<'t, O>) -> Rule<'t, O> {
    custom(move |input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let word = tokens.first().filter(|word| word.kind == Kind::Name);
        let word = word.ok_or_else(EmptyErr::default)?;
        let meant = left_out(tokens.get(1..).unwrap_or_default());
        let meant = meant.filter(|meant| matches!(meant, Kind::Program | Kind::Collective));
        let meant = meant.ok_or_else(EmptyErr::default)?;
        note(input, no_such_word(word, Some(meant)));
        let at = *input.cursor().inner();
        input.state().meant = Some((at, meant));
        input.parse(&own)
    })
    .boxed()
}

/// The word of `words` that a misspelled one was meant to be.
fn meant_word(text: &str, words: &'static [Kind], next: Option<Kind>) -> Option<Kind> {
    // A single letter is a name rather than a misspelled word.
    if text.len() == 1 {
        return None;
    }
    let ends = next == Some(Kind::Semicolon);
    let fitting = words.iter().copied().filter(|word| !ends || *word == Kind::Sync);
    let text = nearest(text, fitting.map(Kind::text))?;
    words.iter().copied().find(|word| word.text() == text)
}

/// A body, which is skipped if parentheses are before it: then it is that of a function in another language.
pub(super) fn unless_called<'t, O: 't>(body: Rule<'t, O>) -> Rule<'t, ()> {
    custom(move |input: &mut Reader<'t, '_>| {
        if last(input).is_some_and(|last| last.kind == Kind::RightParen) {
            skip_one(input);
        } else {
            input.parse(&body)?;
        }
        Ok(())
    })
    .boxed()
}

/// A statement whose first token begins no statement: it is skipped, except for the bodies in it, which are read with
/// `body`.
pub(super) fn unknown<'t, O: 't>(what: &'static str, body: Rule<'t, O>) -> Rule<'t, ()> {
    custom(move |input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let token = tokens.first().filter(|token| !token.kind.is_closer());
        let token = token.ok_or_else(EmptyErr::default)?;
        let fault = call_without_parentheses(tokens);
        let fault =
            fault.unwrap_or_else(|| no_statement(token, behind_indices(tokens), what.into()));
        note(input, fault);
        if skip_indented(input) {
            return Ok(());
        }
        if foreign::declares_type(token.text) {
            skip_one(input);
            skip_statement(input);
            return Ok(());
        }
        if matches!(token.kind, Kind::Ensures | Kind::InPlace) {
            skip_body(input);
            return Ok(());
        }
        if token.kind == Kind::Semicolon {
            input.next_ref();
            return Ok(());
        }
        if token.kind != Kind::LeftBrace {
            skip_one(input);
        }
        while let Some(token) = rest(input).first() {
            if token.kind == Kind::LeftBrace && may_hold_statements(rest(input)) {
                input.parse(&body)?;
                break;
            }
            if skip_in_statement(input) {
                break;
            }
        }
        Ok(())
    })
    .boxed()
}

/// Whether a brace may enclose statements: not if it begins with what begins none, as in `match x { 1 => .. }`.
fn may_hold_statements(tokens: Input<'_>) -> bool {
    let begins = kind_at(tokens, 1).is_some_and(|first| match first.class() {
        Class::Mark => matches!(first, Kind::RightBrace | Kind::Doc | Kind::Hash),
        Class::Word | Class::Verb | Class::Reserved => true,
    });
    let goes_on = kind_at(tokens, 2).is_none_or(|next| {
        !matches!(
            next,
            Kind::Equal | Kind::EqualEqual | Kind::Comma | Kind::Colon | Kind::RightBrace
        )
    });
    begins && goes_on
}

/// The token after the first one; if the first one is indexed and a field follows, the `.`.
fn behind_indices(tokens: &[Token<'_>]) -> Option<Kind> {
    let next = kind_at(tokens, 1)?;
    let inner = tokens.get(2..).filter(|_| next == Kind::LeftBracket).unwrap_or_default();
    let end = behind(inner.iter(), Kind::RightBracket);
    let dot = end.and_then(|end| kind_at(inner, end)).filter(|kind| *kind == Kind::Dot);
    dot.or(Some(next))
}
