//! The reports about brackets that do not match.

use super::super::fault::{Fault, Reach};
use super::super::foreign;
use super::super::habit::Habit;
use super::super::token::{Kind, Token};
use super::{Frame, MAX_DEPTH, Open, Role};
use crate::diagnostic::{Certainty, Code, Diagnostic, Edit, Fix};
use crate::source::Span;

/// A report of something missing after `last`, with the edit that inserts it.
fn missing(last: Token<'_>, text: &str, message: String) -> Diagnostic {
    let edit = Edit { span: last.after(), text: text.to_owned() };
    Diagnostic::new(Code::E0105, last.after(), message)
        .guess(format!("insert `{}`", text.trim()), vec![edit])
}

/// A bracket that is not closed; the closing one would come after `last`.
pub(super) fn missing_closer(open: &Open<'_>, last: Token<'_>) -> Fault {
    let (opener, closer) = (open.token.kind.text(), open.closer.text());
    let text = match (open.frame, open.role) {
        (Frame::Body, _) => format!("\n{}}}", " ".repeat(open.token.indent as usize)),
        (_, Role::Import) if !open.is_ended => format!("{closer};"),
        (_, _) => closer.to_owned(),
    };
    let report = missing(last, &text, format!("expected `{closer}` to close this `{opener}`"))
        .label(format!("`{closer}` is missing here"))
        .and(open.token.span, format!("this `{opener}` is not closed"));
    let reach = if open.frame == Frame::Body { Reach::Before } else { Reach::Statement };
    Fault::new(last.span.end, reach, report)
}

/// Completes the report about a body without its `{` that has no `}` either.
pub(super) fn add_closer(fault: &mut Fault, open: &Open<'_>, last: Token<'_>) {
    let closer = Edit {
        span: last.after(),
        text: format!("\n{}}}", " ".repeat(open.token.indent as usize)),
    };
    let certainty = if open.token.text == ":" { Certainty::Sure } else { Certainty::Guess };
    let edits = vec![Edit { span: open.token.span, text: " {".to_owned() }, closer];
    let title = "write `{ .. }` around the body".to_owned();
    fault.report.fix = Some(Fix { title, certainty, edits, import: None });
    fault.habit = Some(Habit::NoBraces);
}

/// The `,` of a list that is in parentheses.
pub(super) fn list_in_parentheses(open: &Open<'_>, comma: Token<'_>) -> Fault {
    let report = Diagnostic::new(Code::E0101, comma.span, "expected `)`, found `,`")
        .and(open.token.span, "this `(` is still open")
        .help(foreign::LIST);
    Fault::new(comma.span.start, Reach::Statement, report)
}

/// A body without its `{`, which would come after `last`.
pub(super) fn missing_brace(last: Token<'_>) -> Fault {
    let report =
        missing(last, " {", "expected `{` to open a body".to_owned()).label("`{` is missing here");
    Fault::unopened(last.span.end, Reach::Before, report)
}

/// A closing bracket of another kind than the open one.
pub(super) fn wrong_closer(open: &Open<'_>, token: Token<'_>) -> Fault {
    let (opener, closer) = (open.token.kind.text(), open.closer.text());
    let edit = Edit { span: token.span, text: closer.to_owned() };
    let report = Diagnostic::new(
        Code::E0101,
        token.span,
        format!("expected `{closer}`, found `{}`", token.text),
    )
    .and(open.token.span, format!("this `{opener}` is still open"))
    .guess(format!("write `{closer}`"), vec![edit]);
    Fault::new(token.span.start, Reach::Statement, report)
}

/// A bracket that closes nothing; without the `if` that it seems to end, an `else` behind it is no second mistake.
pub(super) fn stray_closer(token: Token<'_>, before_else: bool) -> Fault {
    let edit = Edit { span: token.span, text: String::new() };
    let report =
        Diagnostic::new(Code::E0101, token.span, format!("this `{}` closes nothing", token.text))
            .guess(format!("remove `{}`", token.text), vec![edit]);
    let is_brace = token.kind == Kind::RightBrace;
    let reach = if is_brace && !before_else { Reach::Before } else { Reach::Statement };
    Fault::new(token.span.start, reach, report)
}

/// A token that is nested too deep.
pub(super) fn too_deep(token: Token<'_>) -> Fault {
    let span: Span = token.span;
    let report = Diagnostic::new(
        Code::E0109,
        span,
        format!("this is nested more than {MAX_DEPTH} levels deep"),
    )
    .label("the text from here on is not read")
    .note("brackets, braces, operators in a row and `else if` each count as a level")
    .help("name a part of it with `let`, or move statements into a procedure");
    Fault::new(span.start, Reach::Statement, report)
}
