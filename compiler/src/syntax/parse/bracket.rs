//! Brackets and what is in them, also where a bracket is missing, or is not one that belongs there.

use super::expression::Values;
use super::report::{
    Expected, in_no_brackets, is_opening_mark, missing, no_parameters, unexpected,
};
use super::skip::{has_body, skip_one};
use super::superfluous::before_brace;
use super::{Extra, Input, Note, Reader, Rule, here, kind_at, last, look, mark, note, pick, rest};
use crate::syntax::ast::Expr;
use crate::syntax::fault::{Fault, Reach, colon_for_brace};
use crate::syntax::lookahead::behind;
use crate::syntax::token::{Class, Kind, Token};
use chumsky::prelude::{EmptyErr, IterParser, Parser, custom};

/// A closing bracket, whose presence the bracket matching has ensured. Tokens before it that do not belong there are
/// skipped.
pub(super) fn close<'t>(kind: Kind) -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(move |input: &mut Reader<'t, '_>| {
        if let Some(token) = rest(input).first().filter(|token| token.kind != kind) {
            let before = last(input);
            let is_one = kind == Kind::RightParen && token.kind == Kind::Comma;
            let wanted = if is_one { Expected::ClosingOne(kind) } else { Expected::Closing(kind) };
            note(input, unexpected(before, token, wanted));
        }
        while input.peek_ref().is_some_and(|token| !token.kind.is_closer()) {
            skip_one(input);
        }
        if input.peek_ref().is_some_and(|token| token.kind == kind) {
            input.next_ref();
        }
        Ok(())
    })
}

/// Parentheses around settings, where the language has none.
pub(super) struct Parenthesized<'t> {
    /// The token before them.
    pub(super) before: Option<&'t Token<'t>>,
    pub(super) open: &'t Token<'t>,
    /// What is in them, and the closing one.
    pub(super) inner: Input<'t>,
    /// The token behind them.
    pub(super) next: Option<&'t Token<'t>>,
}

impl Parenthesized<'_> {
    /// Whether no bracket was added to what the author wrote: otherwise these may not be the parentheses that belong
    /// together.
    pub(super) fn is_certain(&self) -> bool {
        self.inner.iter().all(|token| !token.text.is_empty())
    }
}

/// What is in parentheses that do not belong here, which `fault` reports; fails if none begin here.
pub(super) fn parenthesized<'t, O: 't>(
    content: Rule<'t, O>,
    fault: fn(&Parenthesized<'t>) -> Option<Fault>,
) -> Rule<'t, O> {
    let open = custom(move |input: &mut Reader<'t, '_>| {
        let (open, after) = rest(input).split_first().ok_or_else(EmptyErr::default)?;
        let end = behind(after.iter(), Kind::RightParen).filter(|_| open.kind == Kind::LeftParen);
        let (inner, next) =
            end.and_then(|end| after.split_at_checked(end)).ok_or_else(EmptyErr::default)?;
        let before = last(input);
        let fault = fault(&Parenthesized { before, open, inner, next: next.first() });
        note(input, fault.ok_or_else(EmptyErr::default)?);
        input.next_ref();
        Ok(())
    });
    open.ignore_then(content).then_ignore(close(Kind::RightParen)).boxed()
}

/// The `{` of a body, even if tokens that do not belong there come before it. Fails if there is none in this
/// statement.
pub(super) fn open<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        if input.parse(before_brace()).is_ok() {
            input.next_ref();
            return Ok(());
        }
        let tokens = rest(input);
        let token = tokens.first().ok_or_else(EmptyErr::default)?;
        if token.kind != Kind::LeftBrace {
            if !has_body(tokens) {
                return Err(EmptyErr::default());
            }
            let before = last(input);
            note(input, unexpected(before, token, Expected::Body));
            while input.peek_ref().is_some_and(|token| token.kind != Kind::LeftBrace) {
                skip_one(input);
            }
        }
        input.next_ref();
        Ok(())
    })
}

/// Reports that a body is missing.
pub(super) fn no_body<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let colon = rest(input).first().filter(|token| token.kind == Kind::Colon && !token.first);
        let fault = match colon {
            Some(colon) => {
                input.next_ref();
                colon_for_brace(colon.span)
            }
            None => Fault {
                reach: Reach::Before,
                unopened: true,
                ..missing(input, "{", "to open a body")
            },
        };
        note(input, fault);
        if input.peek_ref().is_some_and(|token| token.kind == Kind::Semicolon) {
            input.next_ref();
        }
        Ok(())
    })
}

/// The parentheses of a declaration; if there are none, that is reported, and they are empty.
pub(super) fn parentheses<'t, O: 't>(
    content: Rule<'t, Vec<O>>,
    what: &'static str,
    example: &'static str,
) -> Rule<'t, Vec<O>> {
    let missing = custom(move |input: &mut Reader<'t, '_>| {
        let other = rest(input).first().filter(|next| {
            let goes_on = matches!(next.kind, Kind::LeftBrace | Kind::Colon | Kind::Semicolon);
            next.kind.class() == Class::Mark && !goes_on && !next.first
        });
        let before = last(input);
        let fault = match other {
            Some(other) => unexpected(before, other, Expected::Thing("`(`")),
            None => no_parameters(input, what, example),
        };
        note(input, fault);
        Ok(Vec::new())
    });
    mark(Kind::LeftParen).ignore_then(content).or(missing).boxed()
}

/// A size that should be in brackets and is not, as in other languages: after `:` or `=`, in parentheses, or bare.
pub(super) fn size_without_brackets<'t>(
    values: &Values<'t>,
    message: &'static str,
) -> Rule<'t, Expr> {
    let instead = pick(|token| is_opening_mark(token).then_some(()));
    let on_this_line = look(|tokens| {
        let is_word = |at: usize| kind_at(tokens, at).is_some_and(Kind::is_name);
        let is_value = is_word(1) || kind_at(tokens, 1) == Some(Kind::Int);
        tokens.first().is_some_and(|token| !token.first) && !(is_word(0) && is_value)
    });
    let size = instead
        .or_not()
        .ignore_then(on_this_line.clone())
        .ignore_then(values.expression.clone())
        .map_with(|value, e| (value, e.slice()));
    let after = custom(|input: &mut Reader<'t, '_>| Ok(here(input)));
    on_this_line
        .ignore_then(after)
        .then(size.boxed())
        .map_with(move |(after, (value, size)), e| {
            let fault = in_no_brackets(message, size, after);
            e.state().log.extend(fault.map(|fault| Note::Fault(Box::new(fault))));
            value
        })
        .boxed()
}

/// The elements of a list up to its closing bracket, a comma after the last one allowed.
pub(super) fn listed<'t, O: 't>(element: Rule<'t, O>, closer: Kind) -> Rule<'t, Vec<O>> {
    look(move |tokens| kind_at(tokens, 0).is_some_and(|kind| !kind.is_closer()))
        .ignore_then(element)
        .separated_by(mark(Kind::Comma))
        .allow_trailing()
        .collect()
        .then_ignore(close(closer))
        .boxed()
}

/// Like [`listed`], with at least one element: `element` reports that it is missing.
pub(super) fn listed_some<'t, O: 't>(element: Rule<'t, O>, closer: Kind) -> Rule<'t, Vec<O>> {
    let missing = look(move |tokens| kind_at(tokens, 0) == Some(closer))
        .ignore_then(element.clone())
        .map(|element| vec![element])
        .then_ignore(close(closer));
    missing.or(listed(element, closer)).boxed()
}
