//! Synchronization that a program can do without.
//!
//! In: a program in which the checks find no mistake, and the settings that it was checked with. Out: the statements that
//! can be removed (N0501), and the signals and waits that can be `relaxed` (N0502), so that the checks still find
//! nothing: with these settings, and with some other numbers of ranks. All the changes can be made together.
//!
//! Statements that synchronize with each other are removed together ([`exchanges`](super::exchanges)). They are tried in
//! the order of the text, each in the program that the changes before it have left.

use super::exchanges::{Exchange, Exchanges};
use super::version::Version;
use super::{Situation, Subject, situations};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::driver::Proof;
use crate::phase::phase;
use crate::repair;
use std::collections::{BTreeMap, BTreeSet};

/// How many operations and chunks all trials of one program may look at, together.
const BUDGET: usize = 6_000_000;

/// How many numbers of ranks a report lists.
const LISTED: usize = 12;

/// What a program can do without.
#[derive(Clone, Debug, Default)]
pub struct Needless {
    /// A note for each set of statements that can be removed or relaxed.
    pub found: Vec<Diagnostic>,
    /// How many sets of statements there are that synchronize with each other and move no data.
    pub exchanges: usize,
    /// How many of these were not tried, since the program is too large or nobody waits for the result any more.
    pub untried: usize,
}

/// Looks for synchronization that a program can do without. None if nothing would show that it is needed: nothing is
/// promised of the program's buffers.
#[must_use]
pub fn needless(subject: Subject<'_>) -> Option<Needless> {
    let _looking = phase("look for needless synchronization", "");
    let first = Version::new(subject)?;
    let settings = subject.settings;
    if !settings.iter().all(|settings| first.promises_anything(settings, subject.interrupt)) {
        return None;
    }
    let situations = situations(subject, &first, BUDGET)?;
    let mut all = Exchanges::default();
    for situation in &situations {
        if let Some(program) = first.elaborated(&situation.settings, subject.interrupt) {
            all.add(&program);
        }
    }
    let exchanges = all.finish();
    let mut search = Search::new(subject, first, situations);
    let total = exchanges.len();
    for (at, exchange) in exchanges.iter().enumerate() {
        if !search.attempt(exchange) {
            return Some(search.finish(total, total - at));
        }
    }
    Some(search.finish(total, 0))
}

/// What may be done to synchronization.
#[derive(Clone, Copy)]
enum Change {
    Remove,
    Relax,
}

/// How many reports of each rule there are.
type Counts = BTreeMap<Code, usize>;

struct Search<'a> {
    subject: Subject<'a>,
    first: Version,
    situations: Vec<Situation>,
    /// What the checks find in the program as it is, for each situation.
    known: Vec<Counts>,
    /// The changes that were accepted.
    found: Vec<Diagnostic>,
    left: usize,
}

impl<'a> Search<'a> {
    fn new(subject: Subject<'a>, first: Version, situations: Vec<Situation>) -> Search<'a> {
        let known = situations.iter().map(|situation| counts(subject, &first, situation)).collect();
        Search { subject, first, situations, known, found: Vec::new(), left: BUDGET }
    }

    /// Removes an exchange or, if that is too much, relaxes it, and keeps the change if nothing is wrong then. False
    /// if the budget is spent.
    fn attempt(&mut self, exchange: &Exchange) -> bool {
        let changes = [Some(Change::Remove), exchange.may_relax.then_some(Change::Relax)];
        for change in changes.into_iter().flatten() {
            let Some(report) = self.proposed(change, exchange) else { continue };
            self.found.push(report);
            let changed = self.first.mended(&self.found.iter().collect::<Vec<_>>());
            let verdict = changed.map_or(Some(false), |version| self.is_as_good(&version));
            if verdict != Some(true) {
                self.found.pop();
            }
            match verdict {
                Some(true) => return true,
                Some(false) => {}
                None => return false,
            }
        }
        true
    }

    /// A report with its fix; none if that is not one obvious edit, or if the author accepts what it is about.
    fn proposed(&self, change: Change, exchange: &Exchange) -> Option<Diagnostic> {
        let Exchange { verb, places, may_relax: _ } = exchange;
        let what = match places.as_slice() {
            [_] => format!("the `{verb}`"),
            _ => format!("the `{verb}` and what goes with it"),
        };
        let sources = self.subject.sources;
        let (code, message, title, edits) = match change {
            Change::Remove => (
                Code::N0501,
                format!("nothing needs this `{verb}`"),
                format!("remove {what}"),
                repair::without(sources, places)?,
            ),
            Change::Relax => (
                Code::N0502,
                format!("`relaxed` is enough for this `{verb}`"),
                format!("relax {what}"),
                repair::relaxed(sources, places)?,
            ),
        };
        let at = places.first()?;
        if places.iter().any(|place| self.subject.unit.accepts(code, *place)) {
            return None;
        }
        let report = Diagnostic::new(code, *at, message).fix(title, edits);
        let others = places.iter().skip(1);
        Some(others.fold(report, |report, place| report.and(*place, "this goes with it")))
    }

    /// Whether the checks find nothing in a version that they do not find in the program as it is; none if the budget is
    /// spent or the search is interrupted.
    fn is_as_good(&mut self, version: &Version) -> Option<bool> {
        for (situation, known) in self.situations.iter().zip(&self.known) {
            self.left = self.left.checked_sub(situation.size)?;
            let counts = counts(self.subject, version, situation);
            if self.subject.interrupt.is_set() {
                return None;
            }
            let is_known =
                |(code, count): (&Code, &usize)| known.get(code).copied().unwrap_or(0) >= *count;
            if !counts.iter().all(is_known) {
                return Some(false);
            }
        }
        Some(true)
    }

    fn finish(mut self, exchanges: usize, untried: usize) -> Needless {
        let numbers = self.numbers();
        for report in &mut self.found {
            let changed = if report.code == Code::N0502 { "relaxed" } else { "removed" };
            report
                .notes
                .push(format!("with it {changed}, the checks find nothing for {numbers} ranks"));
        }
        Needless { found: self.found, exchanges, untried }
    }

    /// The numbers of ranks that the changes were tried with.
    fn numbers(&self) -> String {
        let ranks: BTreeSet<usize> =
            self.situations.iter().map(|situation| situation.ranks).collect();
        let mut listed: Vec<String> = ranks.iter().take(LISTED).map(usize::to_string).collect();
        match ranks.len().saturating_sub(LISTED) {
            0 => {}
            more => listed.push(format!("{more} other numbers of")),
        }
        let last = listed.pop().unwrap_or_default();
        if listed.is_empty() { last } else { format!("{} and {last}", listed.join(", ")) }
    }
}

/// What the checks find, by rule; notes are left out.
fn counts(subject: Subject<'_>, version: &Version, situation: &Situation) -> Counts {
    let found = (subject.check)(&version.unit, version.program, &situation.settings, Proof::Needed);
    let mut counts = Counts::new();
    for report in found.iter().filter(|report| report.severity > Severity::Note) {
        *counts.entry(report.code).or_default() += 1;
    }
    counts
}
