//! Edits that set an option of a program.

use super::statement::{Statement, gap};
use super::surroundings::Surroundings;
use crate::diagnostic::Edit;
use crate::source::Span;

/// Sets an option of the program that a statement is in.
pub(super) fn set(statement: &Statement<'_>, name: &str, value: &str) -> Option<Edit> {
    let text = Surroundings::new(statement.file, statement.span);
    let program = *text.headers(statement.span.start)?.first()?;
    if text.word(program.word) != "program" {
        return None;
    }
    let end = text.closing(program.open)?;
    let mut at = program.open + 1;
    let mut collective = None;
    while at < end {
        match text.word(at) {
            "options" => return within(&text, at + 1, statement.span, (name, value)),
            "collective" => collective = Some(at),
            _ => {}
        }
        at = text.next(at, &[";", "{", "}"])?;
        at = if text.word(at) == "{" { text.closing(at)? + 1 } else { at + 1 };
    }
    let collective = collective?;
    let offset = text.end(text.next(collective, &[";"])?)?;
    let gap = gap(text.file, text.start(collective)?);
    let span = Span { start: offset, end: offset, ..statement.span };
    Some(Edit { span, text: format!("{gap}options {{ {name} = {value}; }}") })
}

/// Sets it in a list of options that is there already.
fn within(
    text: &Surroundings<'_>,
    open: usize,
    file: Span,
    (name, value): (&str, &str),
) -> Option<Edit> {
    let close = text.closing(open)?;
    if let Some(there) = (open..close).find(|at| text.word(*at) == name) {
        let end = text.next(there, &[";"])?.checked_sub(1)?;
        let span = Span { start: text.start(there + 2)?, end: text.end(end)?, ..file };
        return Some(Edit { span, text: value.to_owned() });
    }
    let offset = text.end(open)?;
    let gap = gap(text.file, text.start(open + 1)?);
    let span = Span { start: offset, end: offset, ..file };
    Some(Edit { span, text: format!("{gap}{name} = {value};") })
}
