//! Reports of one run of the checks: one for one mistake, however many ranks and blocks repeat it.
//!
//! What is reported with one code at one place, or at the same two places, is one mistake; the first is kept and the
//! others are counted.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Place;
use std::collections::BTreeMap;

/// Gathers reports.
#[derive(Debug, Default)]
pub(super) struct Found {
    rows: Vec<(Diagnostic, u32)>,
    known: BTreeMap<(Code, Vec<Place>), usize>,
}

impl Found {
    /// Adds a report.
    pub(super) fn add(&mut self, diagnostic: Diagnostic) {
        let mut places: Vec<Place> = diagnostic
            .primary
            .iter()
            .chain(&diagnostic.secondary)
            .map(|label| label.place)
            .collect();
        places.sort_unstable();
        places.dedup();
        let next = self.rows.len();
        let row = *self.known.entry((diagnostic.code, places)).or_insert(next);
        match self.rows.get_mut(row) {
            Some((_, more)) => *more += 1,
            None => self.rows.push((diagnostic, 0)),
        }
    }

    /// The reports in the order in which they were found; `what` is what is counted, in the singular.
    pub(super) fn finish(self, what: &str) -> Vec<Diagnostic> {
        let rows = self.rows.into_iter();
        rows.map(|(report, more)| match more {
            0 => report,
            1 => report.note(format!("the same for 1 other {what}")),
            _ => report.note(format!("the same for {more} other {what}s")),
        })
        .collect()
    }
}
