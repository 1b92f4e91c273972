//! Fixes that insert lines of code where a comment ends the line: the lines go after the comment, which would otherwise
//! be behind them, as a remark about something else.
//!
//! In: a text with its comments, and the reports about it. Out: the same reports, with these edits divided: what goes to
//! the line of the comment stays before it.

use super::token::{Token, Tokens};
use crate::diagnostic::{Diagnostic, Edit};
use crate::source::Span;

/// Moves the lines that fixes insert behind the comments of the lines where they begin.
pub(super) fn insert(text: &str, cut: &Tokens<'_>, reports: &mut [Diagnostic]) {
    for fix in reports.iter_mut().filter_map(|report| report.fix.as_mut()) {
        let divided = fix.edits.drain(..).flat_map(|edit| {
            let comment = comment_behind(text, cut, edit.span.end);
            divide(edit, comment)
        });
        fix.edits = divided.collect();
    }
}

/// The comment that is on the same line as a place, with nothing but blanks in between.
fn comment_behind<'t>(text: &str, cut: &Tokens<'t>, place: u32) -> Option<Token<'t>> {
    let next = cut.comments.partition_point(|comment| comment.span.start < place);
    let comment = cut.comments.get(next).filter(|comment| !comment.first)?;
    let between = text.get(place as usize..comment.span.start as usize)?;
    between.trim().is_empty().then_some(*comment)
}

/// An edit before a comment, in two parts if it inserts lines of code.
fn divide(edit: Edit, comment: Option<Token<'_>>) -> Vec<Edit> {
    let lines = edit.text.find('\n').map(|end| edit.text.split_at(end));
    let lines = lines.filter(|(_, lines)| !lines.trim().is_empty()).zip(comment);
    let Some(((same, lines), comment)) = lines else { return vec![edit] };
    let after = Span { start: comment.span.end, ..comment.span };
    let moved = Edit { span: after, text: lines.to_owned() };
    let stays = Edit { text: same.to_owned(), ..edit };
    let is_empty = stays.text.is_empty() && stays.span.start == stays.span.end;
    if is_empty { vec![moved] } else { vec![stays, moved] }
}
