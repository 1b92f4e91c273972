//! The arrow between the operands of an operation, also where another mark is in its place, or none.

use super::form::{form, form_of_statement, head, statement};
use super::report::{missing, shown, written, wrong_marks};
use super::{Extra, Input, Reader, before, note, rest};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::ast::Operand;
use crate::syntax::fault::{Fault, Reach};
use crate::syntax::lookahead::{MAX_LOOK, at_binder, behind};
use crate::syntax::token::{Kind, Token};
use chumsky::prelude::{EmptyErr, Parser, custom};

/// `->`, even if something similar is here instead, or nothing.
pub(super) fn arrow<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    const ALIKE: &[Kind] =
        &[Kind::Equal, Kind::Greater, Kind::GreaterEqual, Kind::Minus, Kind::To, Kind::EqualEqual];
    custom(|input: &mut Reader<'t, '_>| {
        let Some(token) = rest(input).first() else {
            let fault = missing(input, "->", "before the destination");
            note(input, fault);
            return Ok(());
        };
        if token.kind == Kind::Arrow {
            input.next_ref();
        } else if ALIKE.contains(&token.kind) && !token.first {
            let tokens = rest(input);
            let alike = tokens.iter().take_while(|token| ALIKE.contains(&token.kind)).count();
            let alike = tokens.get(..alike).unwrap_or_default();
            note(input, wrong_marks(token, alike, Kind::Arrow));
            while input.peek_ref().is_some_and(|token| ALIKE.contains(&token.kind)) {
                input.next_ref();
            }
        } else {
            no_arrow(input);
        }
        Ok(())
    })
}

/// Reports that there is no arrow where it should be, and skips the operands up to a later one.
fn no_arrow(input: &mut Reader<'_, '_>) {
    let (tokens, before) = (rest(input), before(input));
    let end = tokens.iter().take(MAX_LOOK).position(|token| {
        matches!(token.kind, Kind::Arrow | Kind::Semicolon | Kind::RightBrace) || token.first
    });
    let operands = tokens.get(..end.unwrap_or(0)).unwrap_or_default();
    let next = tokens.get(operands.len()).filter(|next| next.kind == Kind::Arrow);
    let sources = statement(before).get(1..).unwrap_or_default();
    let form = head(before).and_then(|verb| form(verb.kind));
    let fault = match next {
        Some(_) => operand_before_source(form, sources, tokens),
        None => comma_for_arrow(sources, tokens),
    };
    let mut fault = fault.unwrap_or_else(|| missing(input, "->", "before the destination"));
    if next.is_some() && fault.report.helps.is_empty() {
        fault.report.helps.extend(form_of_statement(input));
    }
    note(input, fault);
    if next.is_some() {
        for _ in 0..=operands.len() {
            input.next_ref();
        }
    }
}

/// The operands on both sides.
type Sides = (Vec<Operand>, Vec<Operand>);

/// Operands in parentheses, as in a call: `put(a, b, c);`. They are skipped.
pub(super) fn called<'t>() -> impl Parser<'t, Input<'t>, Sides, Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let (open, inner) = rest(input).split_first().ok_or_else(EmptyErr::default)?;
        let is_open = open.kind == Kind::LeftParen;
        let end = behind(inner.iter(), Kind::RightParen).filter(|_| is_open);
        let end = end.ok_or_else(EmptyErr::default)?;
        let arguments = inner.get(..end - 1).unwrap_or_default();
        let ends = inner.get(end).is_none_or(ends_call);
        let is_call = ends && has_several(arguments) && !at_binder(inner);
        let close = inner.get(end - 1).filter(|_| is_call);
        let place = open.span.to(close.ok_or_else(EmptyErr::default)?.span);
        let mut report =
            Diagnostic::new(Code::E0101, place, "the operands of an operation have no parentheses");
        report.helps.extend(form_of_statement(input));
        note(input, Fault::new(place.start, Reach::Statement, report));
        for _ in 0..=end {
            input.next_ref();
        }
        Ok((Vec::new(), Vec::new()))
    })
}

/// Whether a call ends before this token: the operands of an operation may go on in the next line.
fn ends_call(next: &Token<'_>) -> bool {
    let goes_on = matches!(next.kind, Kind::Arrow | Kind::Comma | Kind::Via);
    next.kind == Kind::Semicolon || next.first && !goes_on
}

/// Whether these are several arguments, or ones with names.
fn has_several(arguments: &[Token<'_>]) -> bool {
    let mut depth = 0_u32;
    arguments.iter().any(|token| {
        if token.kind.is_opener() {
            depth += 1;
        } else if token.kind.is_closer() {
            depth = depth.saturating_sub(1);
        }
        depth == 0 && matches!(token.kind, Kind::Comma | Kind::Equal)
    })
}

/// Operands with `<-` between them; they are skipped.
pub(super) fn backwards<'t>() -> impl Parser<'t, Input<'t>, Sides, Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let ends =
            |kind| matches!(kind, Kind::Semicolon | Kind::Via | Kind::Arrow | Kind::RightBrace);
        let end = tokens.iter().take(MAX_LOOK).position(|token| ends(token.kind));
        let operands = tokens.get(..end.unwrap_or(0)).unwrap_or_default();
        let touching = |pair: &[Token<'_>]| match pair {
            [less, minus] => {
                (less.kind, minus.kind) == (Kind::Less, Kind::Minus)
                    && less.span.end == minus.span.start
            }
            _ => false,
        };
        let at = operands.windows(2).position(touching).ok_or_else(EmptyErr::default)?;
        let (left, right) = (operands.get(..at), operands.get(at + 2..));
        let fault = left.zip(right).and_then(|(left, right)| arrow_backwards(left, right));
        note(input, fault.ok_or_else(EmptyErr::default)?);
        for _ in operands {
            input.next_ref();
        }
        Ok((Vec::new(), Vec::new()))
    })
}

/// `<-` between the operands of an operation.
fn arrow_backwards(left: &[Token<'_>], right: &[Token<'_>]) -> Option<Fault> {
    let place = left.first()?.span.to(right.last()?.span);
    let arrow = Span { start: left.last()?.span.end, end: right.first()?.span.start, ..place };
    let edit = Edit { span: place, text: format!("{} -> {}", written(right), written(left)) };
    let report = Diagnostic::new(
        Code::E0101,
        arrow,
        "the source comes first, and `->` before the destination",
    )
    .guess("exchange the two sides", vec![edit]);
    Some(Fault::new(place.start, Reach::Statement, report))
}

/// Another operand right before the sources, as in `put c a -> p.b`: most likely the channel. `sources` is what has
/// been read, and `tokens` what follows.
fn operand_before_source(
    form: Option<&str>,
    sources: &[Token<'_>],
    tokens: &[Token<'_>],
) -> Option<Fault> {
    let (first, last) = (sources.first()?, sources.last()?);
    let next = tokens.first()?;
    let place = first.span.to(last.span);
    let end = tokens.iter().take(MAX_LOOK).position(|token| token.kind == Kind::Semicolon)?;
    let end = tokens.get(..end)?;
    let message = format!("expected `->` after the source, found {}", shown(next));
    let report = Diagnostic::new(Code::E0101, next.span, message).and(place, "the source");
    let has_channel = end.iter().any(|token| token.kind == Kind::Via);
    let takes_channel = form.is_some_and(|form| form.contains(" via "));
    let report = match has_channel
        || !takes_channel
        || sources.iter().any(|token| token.kind == Kind::Comma)
    {
        true => report,
        false => {
            let channel = format!(" via {}", written(sources));
            let edits = vec![
                Edit { span: Span { end: next.span.start, ..place }, text: String::new() },
                Edit { span: end.last()?.after(), text: channel },
            ];
            report.guess("write the channel at the end, after `via`", edits)
        }
    };
    Some(Fault::new(next.span.start, Reach::Statement, report))
}

/// A comma between sources and destination: the last one of `sources`, which nothing but `tokens` follows.
fn comma_for_arrow(sources: &[Token<'_>], tokens: &[Token<'_>]) -> Option<Fault> {
    let mut depth = 0_u32;
    let commas = sources.iter().filter(|token| {
        if token.kind.is_opener() {
            depth += 1;
        } else if token.kind.is_closer() {
            depth = depth.saturating_sub(1);
        }
        depth == 0 && token.kind == Kind::Comma
    });
    let comma = commas.last().filter(|_| {
        tokens.first().is_none_or(|next| matches!(next.kind, Kind::Via | Kind::Semicolon))
    })?;
    let message = "expected `->` before the destination, found `,`";
    let report = Diagnostic::new(Code::E0101, comma.span, message)
        .guess("write `->`", vec![Edit { span: comma.span, text: " ->".to_owned() }]);
    Some(Fault::new(comma.span.start, Reach::Statement, report))
}
