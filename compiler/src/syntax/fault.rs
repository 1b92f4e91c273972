//! Reports as the front end finds them, with what is needed to drop the echoes of a mistake.
//!
//! In: the reports of the tokens, the brackets and the parser. Out: one report for each mistake, in the order of the
//! text. The rule: between two places where a reader starts anew (`;`, `{`, `}`, or a place where one of these was
//! missing) only the first report is kept, since what follows a mistake within one statement is rarely another one.

use crate::diagnostic::{Code, Diagnostic};

/// A report, the place where it was found, and whether reading starts anew there.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Offset of the text that gave it away.
    pub at: u32,
    /// Whether the text after it is another statement, as after a missing `;`.
    pub restarts: bool,
    /// What is said.
    pub report: Diagnostic,
}

/// The reports that are no echoes. `fences` are the offsets where reading starts anew, in order.
#[must_use]
pub fn settle(mut faults: Vec<Fault>, fences: &[u32]) -> Vec<Diagnostic> {
    faults.sort_by_key(|fault| (fault.at, fault.restarts));
    let mut kept: Vec<Fault> = Vec::new();
    for fault in faults {
        if !kept.last().is_some_and(|last| hides(last, &fault, fences)) {
            kept.push(fault);
        } else if let (true, Some(last)) = (fault.restarts, kept.last_mut()) {
            last.at = fault.at;
            last.restarts = true;
        }
    }
    let mut names: Vec<String> = Vec::new();
    kept.retain(|fault| is_news(&fault.report, &mut names));
    kept.into_iter().map(|fault| fault.report).collect()
}

/// Whether `later` stands in the statement about which `earlier` has been said.
fn hides(earlier: &Fault, later: &Fault, fences: &[u32]) -> bool {
    if earlier.restarts && later.at > earlier.at {
        return false;
    }
    let next = fences.partition_point(|fence| *fence < earlier.at);
    fences.get(next).is_none_or(|fence| *fence >= later.at)
}

/// A reserved word as a name is one mistake, however often the name is used.
fn is_news(report: &Diagnostic, names: &mut Vec<String>) -> bool {
    if report.code != Code::E0107 {
        return true;
    }
    let known = names.contains(&report.message);
    if !known {
        names.push(report.message.clone());
    }
    !known
}
