//! Comments that were meant as divisions: `ranks // 2;`, as in Python.
//!
//! In: the tokens and comments of a text, and the reports about it. Out: the same reports. If a comment has swallowed
//! the rest of a statement, its report says so and no longer offers to insert something before the comment. Otherwise,
//! if the comment contains a `;`, the report's fix is no longer sure.

use super::lookahead::is_operator;
use super::token::{self, Kind, Token, Tokens};
use crate::diagnostic::{Certainty, Diagnostic, Edit};
use crate::source::{Place, Span};

/// How a comment begins.
const MARK: &str = "//";

/// Adjusts the reports about statements that end in a comment.
pub(super) fn tell(cut: &Tokens<'_>, reports: &mut [Diagnostic]) {
    if reports.is_empty() {
        return;
    }
    for comment in &cut.comments {
        let next = cut.tokens.partition_point(|token| token.span.start < comment.span.start);
        let Some(before) = next.checked_sub(1).and_then(|last| cut.tokens.get(last)) else {
            continue;
        };
        if comment.first || !is_value_end(before.kind) {
            continue;
        }
        let until = cut.tokens.get(next).map_or(u32::MAX, |token| token.span.start);
        let here = before.span.end..=until;
        let is_here = |report: &&mut Diagnostic| {
            let place = report.primary.as_ref().map(|label| label.place);
            matches!(place, Some(Place::Source(span)) if here.contains(&span.start))
        };
        let Some(report) = reports.iter_mut().find(is_here) else { continue };
        if goes_on(comment) {
            divide(comment.span, report);
        } else if let Some(fix) = report.fix.as_mut().filter(|_| comment.text.contains(';')) {
            fix.certainty = Certainty::Guess;
        }
    }
}

/// Makes a report say that a division was meant.
fn divide(comment: Span, report: &mut Diagnostic) {
    let mark = Span { end: comment.start + MARK.len() as u32, ..comment };
    let edit = Edit { span: mark, text: "/".to_owned() };
    report.helps.clear();
    let said = report.clone().and(mark, "this begins a comment");
    *report = said.guess("to divide, write `/`, which rounds down", vec![edit]);
}

fn is_value_end(kind: Kind) -> bool {
    matches!(kind, Kind::Name | Kind::Int | Kind::RightParen | Kind::RightBracket)
}

/// Whether the text of a comment reads like the rest of a statement after a division: a value, then operators and
/// values in turn, up to a `;` or the `{` of a body. Without either, only numbers and sums count, since a word may be a remark.
fn goes_on(comment: &Token<'_>) -> bool {
    let Some(rest) = comment.text.strip_prefix(MARK) else { return false };
    let tokens = token::tokens(comment.span.file, rest).tokens;
    let kinds: Vec<Kind> = tokens.iter().map(|token| token.kind).collect();
    let (rest, ends) = match kinds.split_last() {
        Some((Kind::Semicolon | Kind::LeftBrace, rest)) => (rest, true),
        Some(_) | None => (kinds.as_slice(), false),
    };
    let counts = match rest {
        [Kind::Int | Kind::LeftParen, ..] => true,
        [Kind::Name, next, ..] => ends || is_operator(*next),
        [Kind::Name] => ends,
        _ => false,
    };
    counts && takes_turns(rest)
}

/// Whether values are separated from each other, and the last one is there.
fn takes_turns(kinds: &[Kind]) -> bool {
    let mut open = true;
    for kind in kinds {
        let value = matches!(kind, Kind::Name | Kind::Int);
        if value && !open || matches!(kind, Kind::Wrong | Kind::Semicolon) {
            return false;
        }
        open = !value && !is_value_end(*kind);
    }
    !open
}
