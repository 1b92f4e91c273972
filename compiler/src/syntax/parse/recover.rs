//! The rules for what is missing or superfluous: each reports it, and continues where the author most likely meant
//! to.

use super::form::{self, form_of_statement};
use super::report::{Expected, expected, missing, misspelt, several_names, unexpected, wrong_mark};
use super::skip::{skip_one, skip_statement};
use super::{Extra, Input, Reader, Rule, before, here, kind_at, last, note, rest};
use crate::diagnostic::nearest;
use crate::syntax::ast::{Expr, ExprKind};
use crate::syntax::fault::Reach;
use crate::syntax::habit::Habit;
use crate::syntax::lookahead::begins_statement;
use crate::syntax::token::{Class, Kind, Token};
use chumsky::prelude::{EmptyErr, Parser, custom};

/// A rule after which the text must end.
pub(super) fn alone<'t, O: 't>(rule: Rule<'t, O>) -> Rule<'t, O> {
    let end = custom(|input: &mut Reader<'t, '_>| {
        if let Some(token) = rest(input).first() {
            let before = last(input);
            note(input, unexpected(before, token, Expected::End));
        }
        while input.next_ref().is_some() {}
        Ok(())
    });
    rule.then_ignore(end).boxed()
}

/// A value that must be here; a hole if there is none.
pub(super) fn required<'t>(value: Rule<'t, Expr>, what: &'static str) -> Rule<'t, Expr> {
    value.or(hole(what)).boxed()
}

/// Reports that `wanted` is missing.
pub(super) fn hole<'t>(
    wanted: impl Into<Expected>,
) -> impl Parser<'t, Input<'t>, Expr, Extra> + Clone {
    let wanted = wanted.into();
    custom(move |input: &mut Reader<'t, '_>| {
        let fault = expected(input, wanted);
        note(input, fault);
        Ok(Expr { kind: ExprKind::Error, span: here(input) })
    })
}

/// A mark that must be here; `place` says where that is. A token of `instead`, written by mistake, is skipped.
pub(super) fn expect<'t>(
    kind: Kind,
    place: &'static str,
    instead: &'static [Kind],
) -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(move |input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        match tokens.first() {
            Some(token) if token.kind == kind => {
                input.next_ref();
                return Ok(());
            }
            Some(token) if instead.contains(&token.kind) && !token.first => {
                note(input, wrong_mark(token, kind));
                input.next_ref();
                return Ok(());
            }
            Some(token) if is_misspelt(token, kind) => {
                note(input, misspelt(token, kind.text()));
                input.next_ref();
                return Ok(());
            }
            Some(token) if kind == Kind::In && token.kind == Kind::Comma => {
                note(input, several_names(token));
                return Ok(());
            }
            _ => {}
        }
        let fault = missing(input, kind.text(), place);
        note(input, fault);
        Ok(())
    })
}

/// A word within a statement, even if it is misspelled.
pub(super) fn inner_word<'t>(
    kind: Kind,
) -> impl Parser<'t, Input<'t>, &'t Token<'t>, Extra> + Clone {
    custom(move |input: &mut Reader<'t, '_>| {
        let token = rest(input).first().ok_or_else(EmptyErr::default)?;
        if token.kind != kind {
            let next = kind_at(rest(input), 1);
            let fits = kind != Kind::Else || matches!(next, Some(Kind::LeftBrace | Kind::If));
            if !fits || !is_misspelt(token, kind) {
                return Err(EmptyErr::default());
            }
            note(input, misspelt(token, kind.text()));
        }
        input.next_ref();
        Ok(token)
    })
}

/// The `;` after a statement. Tokens before it that do not belong there are skipped.
pub(super) fn semicolon<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        match tokens.first() {
            Some(token) if token.kind == Kind::Semicolon => {
                input.next_ref();
            }
            Some(token) if is_stray(tokens) => {
                let mut fault = unexpected(last(input), token, Expected::Semicolon);
                if is_lone_for(tokens) {
                    fault.report.helps.clear();
                }
                if fault.report.helps.is_empty() && fault.report.fix.is_none() {
                    let is_let =
                        form::head(before(input)).is_some_and(|head| head.kind == Kind::Let);
                    fault.report.helps.extend(form_of_statement(input).filter(|_| !is_let));
                }
                note(input, fault);
                skip_one(input);
                skip_statement(input);
            }
            _ => {
                let mut fault = missing(input, ";", "after this statement");
                fault.reach = Reach::Before;
                fault.habit = Some(Habit::NoSemicolon);
                note(input, fault);
            }
        }
        Ok(())
    })
}

/// Whether the next token neither belongs to the statement before it nor begins another one.
fn is_stray(tokens: Input<'_>) -> bool {
    tokens.first().is_some_and(|token| {
        !matches!(token.kind, Kind::Semicolon | Kind::RightBrace)
            && !token.first
            && (!begins_statement(tokens) || is_lone_for(tokens))
    })
}

/// A `for` that begins no loop, as in `wait c for data;`.
fn is_lone_for(tokens: Input<'_>) -> bool {
    let binds = matches!(kind_at(tokens, 2), Some(Kind::In | Kind::Comma | Kind::Equal));
    kind_at(tokens, 0) == Some(Kind::For) && kind_at(tokens, 1) != Some(Kind::LeftParen) && !binds
}

/// A value that must not be followed by something that does not belong there; a hole if it is.
pub(super) fn whole<'t>(value: Rule<'t, Expr>) -> Rule<'t, Expr> {
    let stray = custom(|input: &mut Reader<'t, '_>| Ok(is_stray(rest(input))));
    value
        .then(stray)
        .map(|(value, stray)| match stray {
            true => Expr { kind: ExprKind::Error, ..value },
            false => value,
        })
        .boxed()
}

/// Reports a `;` that is missing at the end of a line; fails if the next line is indented further.
pub(super) fn no_semicolon<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let indent = last(input).map_or(0, |last| last.indent);
        let next = rest(input).first();
        let goes_on = |next: &Token<'_>| {
            next.kind == Kind::LeftBrace
                || !next.kind.is_closer() && (!next.first || next.indent > indent)
        };
        if next.is_some_and(goes_on) {
            return Err(EmptyErr::default());
        }
        let mut fault = missing(input, ";", "after this declaration");
        fault.reach = Reach::Before;
        fault.habit = Some(Habit::NoSemicolon);
        note(input, fault);
        Ok(())
    })
}

/// Whether a word within a statement is almost the one that is allowed there.
fn is_misspelt(token: &Token<'_>, kind: Kind) -> bool {
    token.kind == Kind::Name
        && !token.first
        && kind.class() != Class::Mark
        && nearest(token.text, [kind.text()]).is_some()
}
