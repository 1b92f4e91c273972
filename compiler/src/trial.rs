//! Tries out fixes: applies them and checks the program again, to find out whether it is then correct.
//!
//! In: the reports of a program, and how it is checked. Out: the same reports, each with its fix. A fix is sure only if
//! 1. the checks find nothing once it is applied, together with the fixes of errors that come to light then;
//! 2. it leaves nothing behind that is never used;
//! 3. the fixed program is correct with other numbers of ranks, too: some smaller ones, one more, and twice as many.
//!    Numbers that the program does not accept are left out, and an error about a limit of the target counts only if
//!    the original program does not exceed that limit at that number, too.
//!
//! A race gets a sure fix next to the loops and conditions around its statements instead of one inside them, or of none
//! (`repair::around`).
//!
//! If a program is too large to be tried again, its fixes are not sure. If nothing is promised of a program's buffers,
//! a fix that removes something is never sure.

mod exchanges;
mod needless;
mod version;

use crate::diagnostic::witness::Finding;
use crate::diagnostic::{Certainty, Change, Diagnostic, Fix, Severity};
use crate::driver::Proof;
use crate::elaborate::{self, Settings};
use crate::interrupt::Interrupt;
use crate::onset::with_ranks;
use crate::phase::phase;
use crate::repair;
use crate::resolve::program::{ProgramId, Unit};
use crate::source::SourceMap;
pub use needless::{Needless, needless};
use std::cell::Cell;
use version::Version;

/// How many operations and chunks all trials of one program may look at, together.
const BUDGET: usize = 150_000;

/// How many rounds of fixes are tried, each for the errors that came to light after the previous one.
const ROUNDS: usize = 4;

/// Up to how many fixes are tried one by one, if they do not help together.
const MOST_ALONE: usize = 3;

/// How many exchanges next to the loops and conditions around the statements of a race are tried.
const MOST_AROUND: usize = 12;

/// Checks a program: returns everything that is found with these settings.
pub type CheckFn<'a> = dyn Fn(&Unit, ProgramId, &Settings, Proof) -> Vec<Diagnostic> + 'a;

/// A program, and how it was checked.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Its files.
    pub sources: &'a SourceMap,
    /// The resolved declarations of the files.
    pub unit: &'a Unit,
    /// Which program of the unit.
    pub program: ProgramId,
    /// The settings that it was elaborated with; every report was found with one of these.
    pub settings: &'a [Settings],
    /// How it was checked.
    pub check: &'a CheckFn<'a>,
    /// Set when nobody waits for the result any more.
    pub interrupt: &'a Interrupt,
}

/// Makes fixes from the changes that the checks found to help, and decides which of them are sure.
pub fn confirm(subject: Subject<'_>, found: &mut [Diagnostic]) {
    repair::propose(subject.sources, found);
    let rows = |wanted: &dyn Fn(&Diagnostic) -> bool| -> Vec<usize> {
        (0..found.len()).filter(|at| found.get(*at).is_some_and(wanted)).collect()
    };
    let open = rows(&is_open);
    let exchanged = rows(&is_exchanged);
    if open.is_empty() && exchanged.is_empty() {
        return;
    }
    let _trying = phase("try fixes", "");
    let trials = Trials::new(subject);
    let sure = trials.as_ref().map_or_else(Vec::new, |trials| trials.sure(found, &open));
    for at in open.into_iter().filter(|at| !sure.contains(at)) {
        if let Some(fix) = found.get_mut(at).and_then(|report| report.fix.as_mut()) {
            fix.certainty = Certainty::Guess;
        }
    }
    for at in exchanged.into_iter().take(MOST_ALONE) {
        let Some((trials, report)) = trials.as_ref().zip(found.get_mut(at)) else { return };
        if let Some(fix) = trials.around(report) {
            report.helps.clear();
            report.fix = Some(fix);
        }
    }
}

/// Whether a report is of a race that nothing but an exchange next to one of its statements would repair, as far as the
/// checks know.
fn is_exchanged(report: &Diagnostic) -> bool {
    report.severity == Severity::Error
        && is_race(report)
        && matches!(report.change, None | Some(Change::Handshake { .. }))
}

/// Whether a report's fix was made from a change and may still turn out to be sure.
fn is_open(report: &Diagnostic) -> bool {
    let sure = |fix: &Fix| fix.certainty == Certainty::Sure;
    report.change.is_some() && report.fix.as_ref().is_some_and(sure)
}

/// Whether a report is of a race.
fn is_race(report: &Diagnostic) -> bool {
    let finding = report.witness.as_ref().map(|witness| &witness.finding);
    matches!(finding, Some(Finding::Race(_)))
}

/// Whether a report's fix makes further blocks. If another fix leads to that, it is not sure.
fn costs_blocks(report: &Diagnostic) -> bool {
    matches!(report.change, Some(Change::Option { name: "split_blocks", .. }))
}

/// Settings that a program is tried with.
struct Situation {
    settings: Settings,
    /// How many ranks the program has with these settings.
    ranks: usize,
    /// How many operations and chunks.
    size: usize,
    /// Whether these settings have a number of ranks that was not requested.
    elsewhere: bool,
}

struct Trials<'a> {
    subject: Subject<'a>,
    /// The program as it was checked.
    first: Version,
    /// The cheapest one first: it usually shows already that a fix does not help.
    situations: Vec<Situation>,
    left: Cell<usize>,
}

impl<'a> Trials<'a> {
    fn new(subject: Subject<'a>) -> Option<Trials<'a>> {
        if !subject.settings.iter().all(|settings| may_be_tried(subject, settings)) {
            return None;
        }
        let first = Version::new(subject)?;
        let situations = situations(subject, &first, BUDGET)?;
        Some(Trials { subject, first, situations, left: Cell::new(BUDGET) })
    }

    /// The reports whose fixes repair the program: all together, or else single ones.
    fn sure(&self, found: &[Diagnostic], open: &[usize]) -> Vec<usize> {
        let chosen =
            |rows: &[usize]| rows.iter().filter_map(|at| found.get(*at)).collect::<Vec<_>>();
        if self.mends(&chosen(open), |_| true) {
            return open.to_vec();
        }
        let several = (2..=MOST_ALONE).contains(&open.len());
        let alone = open.iter().filter(|at| several && self.mends(&chosen(&[**at]), |_| true));
        alone.copied().collect()
    }

    /// The first exchange next to loops or conditions that repairs the program. After it, no race may remain: its own fix would be
    /// an exchange next to some loop again, and not the one that is tried here.
    fn around(&self, report: &Diagnostic) -> Option<Fix> {
        let fixes = repair::around(self.subject.sources, report);
        fixes.into_iter().take(MOST_AROUND).find(|fix| {
            let report = Diagnostic { fix: Some(fix.clone()), ..report.clone() };
            self.mends(&[&report], |error| !is_race(error))
        })
    }

    /// Whether the program is correct after the fixes of these reports, and of those that come to light then. `may_remain` says
    /// which may do so.
    fn mends(&self, reports: &[&Diagnostic], may_remain: fn(&Diagnostic) -> bool) -> bool {
        if self.is_needless_anyway(reports) {
            return false;
        }
        let mut mended = self.first.mended(reports);
        for round in 0..ROUNDS {
            let Some(version) = mended.filter(|version| version.leaves_nothing_unused(&self.first))
            else {
                return false;
            };
            let Some(errors) = self.first_errors(&version) else { return false };
            if errors.is_empty() {
                return true;
            }
            if round == 0 && !errors.iter().all(may_remain) {
                return false;
            }
            let next = errors.iter().filter(|report| is_open(report) && !costs_blocks(report));
            let next: Vec<&Diagnostic> = next.collect();
            mended = version.mended(&next);
        }
        false
    }

    /// The errors in the first situation that has any; empty if none has; none if the budget is spent or the search is
    /// interrupted.
    fn first_errors(&self, version: &Version) -> Option<Vec<Diagnostic>> {
        for situation in &self.situations {
            match self.left.get().checked_sub(situation.size) {
                Some(left) => self.left.set(left),
                None if situation.elsewhere => continue,
                None => return None,
            }
            let mut errors = self.check(version, &situation.settings, Proof::Needed);
            if self.subject.interrupt.is_set() {
                return None;
            }
            if errors.is_empty() || situation.elsewhere && self.are_known(&errors, situation) {
                continue;
            }
            repair::propose(&version.sources, &mut errors);
            return Some(errors);
        }
        Some(Vec::new())
    }

    /// Whether all errors are about limits that the original program exceeds, too.
    fn are_known(&self, errors: &[Diagnostic], situation: &Situation) -> bool {
        let known = self.check(&self.first, &situation.settings, Proof::Skipped);
        errors.iter().all(|error| known.iter().any(|limit| limit.code == error.code))
    }

    /// The errors that the checks find; warnings and notes are left out.
    fn check(&self, version: &Version, settings: &Settings, proof: Proof) -> Vec<Diagnostic> {
        let mut found = (self.subject.check)(&version.unit, version.program, settings, proof);
        found.retain(|report| report.severity == Severity::Error);
        found
    }

    /// Whether a fix removes something from a program of which nothing is promised: then nothing would show
    /// that it removed too much.
    fn is_needless_anyway(&self, reports: &[&Diagnostic]) -> bool {
        let removes = |report: &Diagnostic| matches!(report.change, Some(Change::Remove { .. }));
        let (mut settings, interrupt) = (self.subject.settings.iter(), self.subject.interrupt);
        let nothing = |settings: &Settings| !self.first.promises_anything(settings, interrupt);
        reports.iter().any(|report| removes(report)) && settings.any(nothing)
    }
}

/// Whether a program may be small enough with these settings to be tried, as far as its first rank and the memory of all
/// ranks show.
fn may_be_tried(subject: Subject<'_>, settings: &Settings) -> bool {
    let Subject { unit, program, interrupt, .. } = subject;
    let first = elaborate::first_rank(unit, program, settings, interrupt);
    first.is_none_or(|first| first.chunks() <= BUDGET as u64)
}

/// The requested settings, and other numbers of ranks that the program accepts and that fit the budget.
fn situations(subject: Subject<'_>, first: &Version, budget: usize) -> Option<Vec<Situation>> {
    let size = |settings: &Settings| first.ranks_and_size(settings, subject.interrupt);
    let situation = |settings: Settings, elsewhere| {
        let (ranks, size) = size(&settings)?;
        Some(Situation { settings, ranks, size, elsewhere })
    };
    let given = subject.settings.iter().map(|settings| situation(settings.clone(), false));
    let mut situations: Vec<Situation> = given.collect::<Option<_>>()?;
    let settings = subject.settings.first()?;
    let (ranks, here) = size(settings)?;
    let program = &first.unit.programs[first.program];
    for other in numbers(ranks).filter(|_| program.ranks.is_some()) {
        // The work of all ranks together usually grows with the square of their number.
        let expected = here.saturating_mul(other * other) / (ranks * ranks).max(1);
        if expected < budget / 2 {
            situations.extend(situation(with_ranks(program, settings, other), true));
        }
    }
    situations.sort_by_key(|situation| situation.size);
    Some(situations)
}

/// The numbers of ranks to be tried in addition to `ranks`.
fn numbers(ranks: usize) -> impl Iterator<Item = usize> {
    let mut numbers = vec![2, 3, 4, 5, ranks / 2, ranks.saturating_sub(1), ranks + 1, 2 * ranks];
    numbers.retain(|other| *other >= 2 && *other != ranks);
    numbers.sort_unstable();
    numbers.dedup();
    numbers.into_iter()
}
