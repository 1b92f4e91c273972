//! The reports of the front end, with what is needed to drop those that only echo an earlier mistake.
//!
//! In: the reports of the lexer, the bracket matching, the parser and the placement check. Out: one report for each
//! mistake, in the order of the text. The rules:
//!
//! - Between two places where reading starts afresh (`;`, `{`, `}`, or where one of these was missing) only the first
//!   report is kept, since what follows a mistake within one statement is rarely another one.
//! - A reserved word as a name is reported where it is declared, and not again where it is used.

use super::foreign;
use super::habit::Habit;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;
use std::collections::BTreeSet;

/// A report and the place where it was found.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Offset of the text that revealed the mistake.
    pub at: u32,
    /// Offset up to which the text had been read.
    pub read: u32,
    /// Which later faults are echoes of it.
    pub reach: Reach,
    /// Whether the `{` of a body is missing.
    pub unopened: bool,
    /// What the author may do throughout, so that one report is enough.
    pub habit: Option<Habit>,
    /// The report.
    pub report: Diagnostic,
}

impl Fault {
    /// A fault that is found at `at`.
    #[must_use]
    pub fn new(at: u32, reach: Reach, report: Diagnostic) -> Fault {
        Fault { at, read: at, reach, unopened: false, habit: None, report }
    }

    /// A fault at `at` because of which a body lacks its `{`.
    #[must_use]
    pub fn unopened(at: u32, reach: Reach, report: Diagnostic) -> Fault {
        Fault { unopened: true, ..Fault::new(at, reach, report) }
    }
}

/// How far a mistake confuses what is read after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// To the end of its statement.
    Statement,
    /// Not beyond its place: what follows is another statement, as after a missing `;`.
    Before,
    /// It has nothing to do with the statement around it, as a comment of another language.
    Alone,
    /// Like [`Reach::Statement`], but it is itself an echo if the same message was reported before, at the declaration
    /// of the name.
    Use,
}

/// A `:` in place of a body's `{`.
#[must_use]
pub fn colon_for_brace(place: Span) -> Fault {
    let report =
        Diagnostic::new(Code::E0101, place, "expected `{`, found `:`").help(foreign::BRACES);
    Fault::unopened(place.start, Reach::Before, report)
}

/// The faults that are not echoes. `fences` are the offsets where reading starts afresh, in order.
#[must_use]
pub fn settle(mut faults: Vec<Fault>, fences: &[u32]) -> Vec<Fault> {
    faults.sort_by_key(|fault| fault.read);
    let mut kept: Vec<Fault> = Vec::new();
    // The last one of them that is part of a statement.
    let mut last = None;
    for fault in faults {
        if fault.reach == Reach::Alone {
            kept.push(fault);
            continue;
        }
        match last.and_then(|last: usize| kept.get_mut(last)) {
            Some(last) if hides(last, &fault, fences) => {
                if fault.reach == Reach::Before {
                    last.at = last.at.max(fault.at);
                    last.reach = Reach::Before;
                }
            }
            _ => {
                last = Some(kept.len());
                kept.push(fault);
            }
        }
    }
    let mut said = BTreeSet::new();
    let declared = |fault: &&Fault| fault.reach != Reach::Use;
    said.extend(kept.iter().filter(declared).map(|fault| fault.report.message.clone()));
    kept.retain(|fault| fault.reach != Reach::Use || said.insert(fault.report.message.clone()));
    kept
}

/// The reports of faults.
#[must_use]
pub fn reports(faults: Vec<Fault>) -> Vec<Diagnostic> {
    faults.into_iter().map(|fault| fault.report).collect()
}

/// Whether `later` is in the statement that `earlier` is about, so that it is an echo.
fn hides(earlier: &Fault, later: &Fault, fences: &[u32]) -> bool {
    if earlier.reach == Reach::Before {
        let again = later.reach != Reach::Before || later.report == earlier.report;
        return later.at == earlier.at && again;
    }
    let (from, to) = (earlier.at.min(later.at), earlier.at.max(later.at));
    let next = fences.partition_point(|fence| *fence < from);
    fences.get(next).is_none_or(|fence| *fence >= to)
}
