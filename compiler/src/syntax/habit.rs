//! Mistakes that an author makes throughout a text, because another language has it so: one report for all of them.
//!
//! In: the faults of a text and its tokens. Out: the same faults, and of those of one habit only the first, with the
//! edits of all. A habit is what the author does more often than the right thing; what happens now and then is reported
//! where it happens.

use super::fault::Fault;
use super::token::{Kind, Tokens};
use crate::diagnostic::{Certainty, Edit, Fix};
use crate::source::Span;
use std::collections::BTreeMap;

/// What another language does differently throughout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// Statements end with their lines.
    NoSemicolon,
    /// A body is what is indented further.
    NoBraces,
    /// Comments begin with another mark.
    OtherComment,
}

const ALL: [Habit; 3] = [Habit::NoSemicolon, Habit::NoBraces, Habit::OtherComment];

/// Reduces the faults of each habit to one.
pub(super) fn gather(faults: &mut Vec<Fault>, cut: &Tokens<'_>) {
    for habit in ALL {
        let count = faults.iter().filter(|fault| fault.habit == Some(habit)).count();
        if count > 1 && count > done_right(habit, cut) {
            gather_one(faults, habit);
        }
    }
}

/// How often the author does what the language asks for.
fn done_right(habit: Habit, cut: &Tokens<'_>) -> usize {
    let count = |kind| cut.tokens.iter().filter(|token| token.kind == kind).count();
    match habit {
        Habit::NoSemicolon => count(Kind::Semicolon),
        Habit::NoBraces => count(Kind::RightBrace),
        Habit::OtherComment => cut.comments.len() + count(Kind::Doc) + count(Kind::InnerDoc),
    }
}

fn gather_one(faults: &mut Vec<Fault>, habit: Habit) {
    let mut edits = Vec::new();
    let mut certainty = Certainty::Sure;
    let mut others = 0_usize;
    for fault in faults.iter().filter(|fault| fault.habit == Some(habit)) {
        match &fault.report.fix {
            Some(fix) => {
                edits.extend(fix.edits.iter().cloned());
                certainty = certainty.max(fix.certainty);
            }
            None => return,
        }
        others += 1;
    }
    others -= 1;
    let mut is_first = true;
    faults.retain_mut(|fault| {
        if fault.habit != Some(habit) {
            return true;
        }
        if !std::mem::take(&mut is_first) {
            return false;
        }
        let places = if others == 1 { "place" } else { "places" };
        fault.report.notes.push(format!("the same in {others} other {places}"));
        let (title, edits) = (title(habit).to_owned(), joined(std::mem::take(&mut edits)));
        fault.report.fix = Some(Fix { title, certainty, edits, import: None });
        true
    });
}

fn title(habit: Habit) -> &'static str {
    match habit {
        Habit::NoSemicolon => "end each statement with `;`",
        Habit::NoBraces => "write `{ .. }` around each body",
        Habit::OtherComment => "begin each comment with `//`",
    }
}

/// The edits with those joined that insert at the same place; what ends first comes first.
fn joined(edits: Vec<Edit>) -> Vec<Edit> {
    let mut joined: Vec<Edit> = Vec::with_capacity(edits.len());
    let mut insertions: BTreeMap<Span, usize> = BTreeMap::new();
    for edit in edits {
        let inserts = edit.span.start == edit.span.end;
        let same = insertions.get(&edit.span).and_then(|same| joined.get_mut(*same));
        match same.filter(|_| inserts) {
            // The outer body's `}` was found first, and comes last.
            Some(other) => other.text.insert_str(0, &edit.text),
            None => {
                insertions.insert(edit.span, joined.len());
                joined.push(edit);
            }
        }
    }
    joined
}
