//! The reports of one run of the checks: one report for each mistake, however many ranks and blocks repeat it.
//!
//! Reports with the same code at the same places are one mistake; the first is kept and the others are counted. In a
//! plan every rank has places of its own: there, reports whose texts differ only in their numbers are one mistake.

use super::names;
use crate::diagnostic::{Code, Diagnostic, Label};
use crate::source::{At, Place};
use std::collections::{BTreeMap, BTreeSet};

/// Gathers reports.
#[derive(Debug, Default)]
pub(super) struct Found {
    rows: Vec<Row>,
    known: BTreeMap<(Code, Shape), usize>,
}

#[derive(Debug)]
struct Row {
    report: Diagnostic,
    more: u32,
    /// In a plan, the ranks that have this mistake.
    ranks: BTreeSet<u32>,
}

/// What distinguishes mistakes with the same code.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    Places(Vec<At>),
    Words(String),
}

impl Found {
    /// Adds a report.
    pub(super) fn add(&mut self, report: Diagnostic) {
        self.add_told(report, |report| report);
    }

    /// Adds a report. If it is a new one, `tell` adds details to it.
    pub(super) fn add_told(
        &mut self,
        report: Diagnostic,
        tell: impl FnOnce(Diagnostic) -> Diagnostic,
    ) {
        let next = self.rows.len();
        let row = *self.known.entry((report.code, shape(&report))).or_insert(next);
        let rank = rank(&report);
        match self.rows.get_mut(row) {
            Some(row) => {
                row.more += 1;
                row.ranks.extend(rank);
            }
            None => {
                let ranks = rank.into_iter().collect();
                self.rows.push(Row { report: tell(report), more: 0, ranks });
            }
        }
    }

    /// The reports in the order in which they were found; `what` is the noun that is counted, in the singular.
    pub(super) fn finish(self, what: &str) -> Vec<Diagnostic> {
        let rows = self.rows.into_iter();
        rows.map(|row| {
            let own = rank(&row.report);
            let others: Vec<u32> =
                row.ranks.into_iter().filter(|rank| Some(*rank) != own).collect();
            match (others.as_slice(), row.more) {
                ([], 0) => row.report,
                ([], 1) => row.report.note(format!("the same for 1 other {what}")),
                ([], more) => row.report.note(format!("the same for {more} other {what}s")),
                (others, _) => row.report.note(format!("the same on {}", names::ranks(others))),
            }
        })
        .collect()
    }
}

fn shape(report: &Diagnostic) -> Shape {
    let labels = || report.primary.iter().chain(&report.secondary);
    if labels().any(|label| matches!(label.place, Place::Plan(_))) {
        let texts = labels().map(|label| &label.text);
        return Shape::Words(
            std::iter::once(&report.message)
                .chain(texts)
                .map(|text| without_numbers(text))
                .collect(),
        );
    }
    let mut places: Vec<At> = labels().map(Label::at).collect();
    places.sort_unstable();
    places.dedup();
    Shape::Places(places)
}

/// The rank of a report's place, in a plan.
fn rank(report: &Diagnostic) -> Option<u32> {
    match report.primary.as_ref()?.place {
        Place::Plan(place) => place.rank,
        Place::Source(_) => None,
    }
}

/// A text with every number replaced by `#`.
fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            c => out.push(c),
        }
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{FileId, PlanPlace, Span};

    fn in_plan(rank: u32, op: u32) -> Diagnostic {
        let place = PlanPlace { file: FileId(0), rank: Some(rank), block: Some(0), op: Some(op) };
        Diagnostic::new(Code::E0501, Place::Plan(place), format!("rank {rank} is wrong"))
    }

    #[test]
    fn one_report_for_each_place_of_a_text() {
        let at = |start| {
            let span = Span { file: FileId(0), start, end: start + 1 };
            Diagnostic::new(Code::E0501, span, format!("{start}"))
        };
        let mut found = Found::default();
        [1, 2, 1].into_iter().for_each(|start| found.add(at(start)));
        let reports = found.finish("place");
        assert_eq!(reports.len(), 2);
        assert_eq!(reports[0].notes, ["the same for 1 other place"]);
    }

    #[test]
    fn one_report_for_what_ranks_of_a_plan_repeat() {
        let mut found = Found::default();
        for (rank, op) in [(3, 5), (0, 5), (10, 7)] {
            found.add(in_plan(rank, op));
        }
        found.add(Diagnostic { message: "another mistake".to_owned(), ..in_plan(1, 5) });
        let reports = found.finish("place");
        assert_eq!(reports.len(), 2);
        assert_eq!(reports[0].message, "rank 3 is wrong");
        assert_eq!(reports[0].notes, ["the same on ranks 0 and 10"]);
    }
}
