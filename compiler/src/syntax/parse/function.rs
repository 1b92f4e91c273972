//! Functions and procedures, also as other languages write them.

use super::expression::Values;
use super::first_word::word;
use super::item::{is_type, parameters};
use super::name::required_name;
use super::recover::{expect, semicolon};
use super::report::is_word;
use super::skip::{skip_one, skip_statement};
use super::statement::r#type;
use super::{Extra, Input, Reader, Rule, before, head, here, kind_at, last, look, note, rest};
use crate::diagnostic::{Code, Diagnostic, Edit};
use crate::source::Span;
use crate::syntax::ast::{Body, Expr, ExprKind, Function, Name, Procedure};
use crate::syntax::fault::{Fault, Reach};
use crate::syntax::foreign;
use crate::syntax::lookahead::{MAX_LOOK, begins_surely, behind, holder};
use crate::syntax::token::{Kind, Token};
use chumsky::prelude::{EmptyErr, Parser, custom};

pub(super) fn function<'t>(values: &Values<'t>) -> Rule<'t, Option<Function>> {
    const INSTEAD: &[Kind] = &[Kind::EqualEqual, Kind::Colon, Kind::Arrow];
    let result = look(has_result).ignore_then(expect(
        Kind::Arrow,
        "before the type of the value",
        &[Kind::Colon],
    ));
    let value = expect(Kind::Equal, "and a value", INSTEAD)
        .ignore_then(fat_arrow().or_not())
        .ignore_then(values.required("a value"))
        .then_ignore(semicolon());
    head(Kind::Fn)
        .ignore_then(required_name("a name for the function"))
        .then(parameters(values, "()"))
        .then_ignore(statements_of_function().or_not())
        .then(result.ignore_then(r#type()).or_not())
        .then(function_in_braces().or(value))
        .map(|(((name, parameters), result), body)| {
            Some(Function { name: name?, parameters, result: result.flatten(), body })
        })
        .boxed()
}

/// Whether the type of a function's value comes next, rather than the value after a mark in place of `=`.
fn has_result(tokens: &[Token<'_>]) -> bool {
    if !matches!(kind_at(tokens, 0), Some(Kind::Arrow | Kind::Colon)) {
        return false;
    }
    let line = first_line(tokens, 1);
    let Some(next) = line.first() else { return true };
    let is_known = is_type(next) || foreign::r#type(next.text).is_some();
    let goes_on = line.iter().any(|token| matches!(token.kind, Kind::Equal | Kind::LeftBrace));
    is_known || (goes_on && next.kind != Kind::If)
}

/// A few tokens from the given one on, up to the end of the line or statement.
fn first_line<'a, 't>(tokens: &'a [Token<'t>], from: usize) -> &'a [Token<'t>] {
    let after = tokens.get(from..).unwrap_or_default();
    let ends = |token: &Token<'_>| token.first || token.kind == Kind::Semicolon;
    let end = after.iter().take(MAX_HEADER).position(ends);
    after.get(..end.unwrap_or(MAX_HEADER)).unwrap_or(after)
}

/// The `>` of `=>` between a function and its value, as in other languages.
pub(super) fn fat_arrow<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let equal = last(input).filter(|equal| equal.kind == Kind::Equal);
        let head = rest(input).first().filter(|head| head.kind == Kind::Greater);
        let (equal, head) = equal.zip(head).ok_or_else(EmptyErr::default)?;
        note(input, arrow_for_equal(equal, head));
        input.next_ref();
        Ok(())
    })
}

/// The value of a function in braces, as in other languages; it is skipped.
pub(super) fn function_in_braces<'t>() -> impl Parser<'t, Input<'t>, Expr, Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let (open, inner) = tokens.split_first().ok_or_else(EmptyErr::default)?;
        if open.kind != Kind::LeftBrace {
            return Err(EmptyErr::default());
        }
        let end = behind(inner.iter(), Kind::RightBrace).unwrap_or(inner.len());
        note(input, body_of_function(open, inner.get(..end).unwrap_or_default()));
        skip_one(input);
        if input.peek_ref().is_some_and(|token| token.kind == Kind::Semicolon) {
            input.next_ref();
        }
        Ok(Expr { kind: ExprKind::Error, span: here(input) })
    })
}

/// Reports a function that has statements, as if it were a procedure. Consumes nothing.
fn statements_of_function<'t>() -> impl Parser<'t, Input<'t>, (), Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let open = tokens.iter().take(MAX_HEADER).position(|token| token.kind == Kind::LeftBrace);
        let header = tokens.get(..open.unwrap_or(0)).unwrap_or_default();
        let plain = |token: &Token<'_>| !matches!(token.kind, Kind::Equal | Kind::Semicolon);
        let body = tokens.get(open.ok_or_else(EmptyErr::default)? + 1..).unwrap_or_default();
        let word = before(input).iter().rev().find(|token| token.kind == Kind::Fn);
        let has_statements = header.iter().all(plain) && holds_operations(body);
        let word = word.filter(|_| has_statements).ok_or_else(EmptyErr::default)?;
        note(input, function_with_statements(word, holder(body), header));
        Ok(())
    })
}

/// How many tokens there are at most between the parameters of a function and its value.
const MAX_HEADER: usize = 8;

/// Whether a body holds operations or declarations, judging by the first one.
fn holds_operations(body: &[Token<'_>]) -> bool {
    begins_surely(body) && body.first().is_some_and(|first| first.kind != Kind::Let)
}

pub(super) fn procedure<'t>(
    values: &Values<'t>,
    body: Rule<'t, Body>,
) -> Rule<'t, Option<Procedure>> {
    let name = look(|tokens| kind_at(tokens, 0).is_some_and(is_verb))
        .ignore_then(verb_as_name())
        .or(required_name("a name for the procedure"));
    word(Kind::Proc)
        .ignore_then(name)
        .then(parameters(values, "()"))
        .then(value_for_body().or(body))
        .map(|((name, parameters), body)| Some(Procedure { name: name?, parameters, body }))
        .boxed()
}

/// A value in place of the body of a procedure, as functions have one; it is skipped.
fn value_for_body<'t>() -> impl Parser<'t, Input<'t>, Body, Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let tokens = rest(input);
        let word = before(input).iter().rev().take(MAX_LOOK).find(|token| token.kind == Kind::Proc);
        let word = word.filter(|_| is_value(tokens)).ok_or_else(EmptyErr::default)?;
        note(input, procedure_with_value(word));
        skip_one(input);
        skip_statement(input);
        Ok(Body { statements: Vec::new(), span: here(input) })
    })
}

/// Whether `= value` comes next, maybe with a type before it, and no statement or body behind the `=`.
fn is_value(tokens: &[Token<'_>]) -> bool {
    let typed = kind_at(tokens, 0) == Some(Kind::Arrow);
    let equal = match typed {
        true => first_line(tokens, 0).iter().position(|token| token.kind == Kind::Equal),
        false => Some(0).filter(|_| kind_at(tokens, 0) == Some(Kind::Equal)),
    };
    let Some(value) = equal.and_then(|equal| tokens.get(equal + 1..)) else { return false };
    let calls = kind_at(value, 0) == Some(Kind::Name) && kind_at(value, 1) == Some(Kind::LeftParen);
    let arguments = value.get(2..).filter(|_| calls).unwrap_or_default();
    let end = behind(arguments.iter(), Kind::RightParen);
    let is_call = end.is_some_and(|end| kind_at(arguments, end) == Some(Kind::Semicolon));
    let is_body = matches!(kind_at(value, 0), Some(Kind::LeftBrace | Kind::Sync));
    typed || !(is_call || is_body || begins_surely(value))
}

/// Whether a word cannot begin a call, since it begins another statement.
fn is_verb(kind: Kind) -> bool {
    kind.is_name() && kind != Kind::Name
}

fn verb_as_name<'t>() -> impl Parser<'t, Input<'t>, Option<Name>, Extra> + Clone {
    custom(|input: &mut Reader<'t, '_>| {
        let token = input.next_ref().ok_or_else(EmptyErr::default)?;
        note(input, verb_procedure(token));
        Ok(Some(Name { text: token.text.to_owned(), span: token.span }))
    })
}

/// A function with statements in braces, as if it were what `meant` declares; `header` is what it has between them and
/// its parameters.
fn function_with_statements(word: &Token<'_>, meant: Kind, header: &[Token<'_>]) -> Fault {
    let message = "a function has one value, and no statements";
    let report = Diagnostic::new(Code::E0101, word.span, message);
    let edit = Edit { span: word.span, text: meant.text().to_owned() };
    let report = match header {
        [] => report.fix(format!("write `{}`", meant.text()), vec![edit]),
        _ => report.help("statements are in a procedure, which has no result: `proc f() { .. }`"),
    };
    Fault::new(word.span.start, Reach::Statement, report)
}

/// A procedure, declared with `word`, that has a value as if it were a function.
fn procedure_with_value(word: &Token<'_>) -> Fault {
    let edit = Edit { span: word.span, text: Kind::Fn.text().to_owned() };
    let message = "a procedure has statements, and no value";
    let report = Diagnostic::new(Code::E0101, word.span, message).fix("write `fn`", vec![edit]);
    Fault::new(word.span.start, Reach::Statement, report)
}

fn verb_procedure(token: &Token<'_>) -> Fault {
    let word = token.text;
    let report = Diagnostic::new(
        Code::E0107,
        token.span,
        format!("`{word}` cannot be the name of a procedure"),
    )
    .note(format!("a statement that begins with `{word}` is never a call"));
    Fault::new(token.span.start, Reach::Statement, report)
}

/// `=>` in place of the `=` between a function and its value.
pub(super) fn arrow_for_equal(equal: &Token<'_>, head: &Token<'_>) -> Fault {
    let place = equal.span.to(head.span);
    let report = Diagnostic::new(Code::E0101, place, "expected `=` and a value, found `=>`")
        .fix("write `=`", vec![Edit { span: place, text: "=".to_owned() }]);
    Fault::new(place.start, Reach::Statement, report)
}

/// The braces of a function's value, as other languages write it: `{ return x; }`.
pub(super) fn body_of_function(open: &Token<'_>, body: &[Token<'_>]) -> Fault {
    let place = open.span;
    let report = Diagnostic::new(Code::E0101, place, "expected `=` and a value, found `{`");
    let report = match unbraced(open, body) {
        Some(edits) => report.help(foreign::RETURN).guess("write `= ..;`", edits),
        None => report.help(foreign::RETURN),
    };
    Fault::new(place.start, Reach::Statement, report)
}

/// The edits that turn `{ return x; }` or `{ x }` into `= x;`; none if there is more than one statement in the braces.
/// Comments are kept.
fn unbraced(open: &Token<'_>, body: &[Token<'_>]) -> Option<Vec<Edit>> {
    let (close, inner) = body.split_last()?;
    let word = inner.first().filter(|_| is_word(inner.first(), "return"));
    let inner = if word.is_some() { inner.get(1..)? } else { inner };
    let (value, end) = match inner.split_last()? {
        (end, value) if end.kind == Kind::Semicolon => (value, Some(end)),
        _ => (inner, None),
    };
    let (first, last) = (value.first()?, value.last()?);
    if begins_surely(value) || value.iter().any(|token| token.kind == Kind::Semicolon) {
        return None;
    }
    // Up to the next token if that is on the same line, so that no comment is in between.
    let until = |from: &Token<'_>, next: &Token<'_>| match next.first {
        true => from.span,
        false => Span { end: next.span.start, ..from.span },
    };
    let mut edits = vec![Edit { span: open.span, text: "=".to_owned() }];
    edits.extend(word.map(|word| Edit { span: until(word, first), text: String::new() }));
    let before = end.unwrap_or(last);
    let start = if close.first { close.span.start } else { before.span.end };
    if end.is_none() {
        edits.push(Edit { span: last.after(), text: ";".to_owned() });
    }
    edits.push(Edit { span: Span { start, ..close.span }, text: String::new() });
    Some(edits)
}
