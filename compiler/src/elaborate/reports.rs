//! Makes one report of one mistake, however many ranks and loop values repeat it.
//!
//! Reports of one code at one place are one mistake. The first is kept, with the values it happened for; the others are
//! counted. Reports with the same text and values at several places are one mistake, too, and so are reports of
//! different codes at one place, and slices past the end of a buffer that begin where another one ends. A mistake that
//! happens again and again on a rank ends the evaluation of that rank, since it would show nothing new. If a requirement
//! of the program does not hold, only that is reported.

use crate::diagnostic::{Code, Diagnostic, Label, Severity};
use crate::source::Place;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// After how many occurrences of an error the rest of the rank is skipped.
const MOST_TIMES: u32 = 1000;

/// The reports of one elaboration.
#[derive(Debug, Default)]
pub(super) struct Reports {
    entries: Vec<Entry>,
    known: FxHashMap<(Code, Option<Place>), usize>,
    /// By rank and buffer: where the slices end that reach past the end of the buffer, and the entry that reports each.
    ends: FxHashMap<(Option<i64>, String), BTreeMap<i64, usize>>,
    /// The last rank whose rest was skipped because one error occurred too often there.
    left: Option<Option<i64>>,
}

/// A slice that reaches past the end of a buffer.
pub(super) struct PastEnd {
    /// The buffer's name, with its rank.
    pub(super) buffer: String,
    /// Where it begins.
    pub(super) first: i64,
    /// Where it ends, exclusive.
    pub(super) end: i64,
}

#[derive(Debug)]
struct Entry {
    diagnostic: Diagnostic,
    /// The values of the first occurrence: "start = 256, n = 128".
    values: String,
    first_rank: Option<i64>,
    /// Further places of the same mistake.
    on: BTreeSet<Place>,
    ranks: BTreeSet<i64>,
    /// Whether it occurred with the same values on all these ranks.
    alike: bool,
    /// The last rank on which it occurred, and how often it did there.
    times: (Option<i64>, u32),
    /// Whether the rest of any rank was skipped because of it.
    left: bool,
}

impl Reports {
    /// Adds a report for `rank` (or for none, before ranks are distinguished) with these values.
    pub(super) fn add(&mut self, rank: Option<i64>, values: String, diagnostic: Diagnostic) {
        self.add_new(rank, values, diagnostic);
    }

    /// Adds a report about a slice. A slice that begins where another slice past the end of the same buffer ends, such
    /// as the tail of a loop that goes too far, is not a mistake of its own.
    pub(super) fn add_past_end(
        &mut self,
        rank: Option<i64>,
        values: String,
        diagnostic: Diagnostic,
        slice: PastEnd,
    ) {
        let place = diagnostic.primary.as_ref().map(|label| label.place);
        let key = (rank, slice.buffer);
        let begun = self.ends.get(&key).and_then(|ends| ends.get(&slice.first)).copied();
        let index = match begun.filter(|_| !self.known.contains_key(&(diagnostic.code, place))) {
            Some(begun) => {
                if let Some(entry) = self.entries.get_mut(begun) {
                    entry.on.extend(place);
                }
                self.count(begun, rank, &values);
                begun
            }
            None => self.add_new(rank, values, diagnostic),
        };
        self.ends.entry(key).or_default().entry(slice.end).or_insert(index);
    }

    /// Adds a report, and returns the index of its entry.
    fn add_new(&mut self, rank: Option<i64>, values: String, diagnostic: Diagnostic) -> usize {
        let key = (diagnostic.code, diagnostic.primary.as_ref().map(|label| label.place));
        let index = *self.known.entry(key).or_insert(self.entries.len());
        if index == self.entries.len() {
            let (first_rank, ranks, alike) = (rank, BTreeSet::new(), true);
            let (times, left, on) = ((rank, 0), false, BTreeSet::new());
            let values = values.clone();
            self.entries.push(Entry {
                diagnostic,
                values,
                first_rank,
                on,
                ranks,
                alike,
                times,
                left,
            });
        }
        self.count(index, rank, &values);
        index
    }

    /// Counts one more occurrence of an entry.
    fn count(&mut self, index: usize, rank: Option<i64>, values: &str) {
        if let Some(entry) = self.entries.get_mut(index) {
            let again = rank.is_some_and(|rank| entry.ranks.contains(&rank));
            entry.alike &= again || entry.values == values;
            let before = if entry.times.0 == rank { entry.times.1 } else { 0 };
            entry.times = (rank, before + 1);
            entry.ranks.extend(rank);
            if entry.diagnostic.severity == Severity::Error && entry.times.1 >= MOST_TIMES {
                entry.left = true;
                self.left = Some(rank);
            }
        }
    }

    /// Whether an error has occurred so often on a rank that its rest is skipped.
    pub(super) fn are_enough(&self, rank: Option<i64>) -> bool {
        self.left == Some(rank)
    }

    /// Whether any of them is an error.
    pub(super) fn has_errors(&self) -> bool {
        self.entries.iter().any(|entry| entry.diagnostic.severity == Severity::Error)
    }

    /// The reports in the order in which they were found; each says for which of `ranks` ranks it holds.
    pub(super) fn finish(self, ranks: i64) -> Vec<Diagnostic> {
        let mut kept: Vec<Entry> = Vec::new();
        let mut places: FxHashMap<Place, Code> = FxHashMap::default();
        let mut said: FxHashMap<(Code, String, String), usize> = FxHashMap::default();
        // A program whose requirement does not hold is not meant for these parameters.
        let excluded = self.entries.iter().any(|entry| entry.diagnostic.code == Code::E0302);
        let excludes_itself = self.entries.iter().any(is_own_requirement);
        for entry in self.entries {
            let (report, code) = (&entry.diagnostic, entry.diagnostic.code);
            if report.severity == Severity::Error {
                if excluded && code != Code::E0302 {
                    continue;
                }
                // What a program requires of its parameters is often also required by its collective.
                if excludes_itself && !is_own_requirement(&entry) {
                    continue;
                }
                // A place that is wrong in one way on one rank may be wrong in another way on another rank: one report
                // is enough.
                let mut at = report.primary.iter().chain(&report.secondary);
                if at.any(|label| places.get(&label.place).is_some_and(|other| *other != code)) {
                    continue;
                }
                // If two operands differ in size, either may be wrong.
                let others = report.secondary.iter().filter(|_| code == Code::E0309);
                let wrong = report.primary.iter().chain(others);
                places.extend(wrong.map(|label| (label.place, code)));
            }
            let key = (code, report.message.clone(), entry.values.clone());
            let row = *said.entry(key).or_insert(kept.len());
            match kept.get_mut(row) {
                Some(first) => first.and(entry),
                None => kept.push(entry),
            }
        }
        kept.into_iter().map(|entry| entry.finish(ranks)).collect()
    }
}

/// Whether a report says that a requirement of the program itself does not hold, not one that is written elsewhere.
fn is_own_requirement(entry: &Entry) -> bool {
    entry.diagnostic.code == Code::E0302 && entry.diagnostic.secondary.is_empty()
}

impl Entry {
    /// Adds the place of an entry with the same report.
    fn and(&mut self, other: Entry) {
        let again =
            other.diagnostic.primary.map(|label| Label { text: "and here".into(), ..label });
        self.diagnostic.secondary.extend(again);
    }

    fn finish(mut self, ranks: i64) -> Diagnostic {
        let everywhere = self.ranks.len() as i64 == ranks && self.alike;
        let situation = match (self.first_rank, everywhere) {
            (None, _) => self.values.clone(),
            (Some(_), true) if self.values.is_empty() => String::new(),
            (Some(_), true) => format!("{}, on every rank", self.values),
            (Some(rank), false) if self.values.is_empty() => format!("when rank = {rank}"),
            (Some(rank), false) => format!("when rank = {rank}, {}", self.values),
        };
        if let Some(primary) = &mut self.diagnostic.primary
            && !situation.is_empty()
        {
            match primary.text.is_empty() {
                true => primary.text = situation,
                false => primary.text = format!("{} ({situation})", primary.text),
            }
        }
        let on = self.on.into_iter();
        let on = on.map(|place| Label::new(place, "and everything after it"));
        self.diagnostic.secondary.extend(on);
        let others = self.ranks.len().saturating_sub(1);
        if !everywhere && others > 0 {
            let noun = if others == 1 { "rank" } else { "ranks" };
            self.diagnostic.notes.push(format!("the same happens on {others} other {noun}"));
        }
        if self.left {
            let note = format!("after the {MOST_TIMES}th time, the rest of the rank was skipped");
            self.diagnostic.notes.push(note);
        }
        self.diagnostic
    }
}
