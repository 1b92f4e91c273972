//! Whether a fix mends a program: it is made, and the program is checked again.
//!
//! In: the reports of a program, and how it is checked. Out: the same reports, each with its fix, which is sure only if
//! 1. nothing is left to be found once it is made, together with the fixes of what comes to light then;
//! 2. it leaves nothing behind that is never used;
//! 3. the program is right with other numbers of ranks then, too: some that are smaller, one more, and twice as many. Those that
//!    the program is not for are left out, and of limits of the target only those count that the fix reaches.
//!
//! What is too large to be tried again is not sure. A program of which nothing is promised is never sure to need less.

mod version;

use crate::diagnostic::{Certainty, Change, Diagnostic, Severity};
use crate::driver::Proof;
use crate::elaborate::Settings;
use crate::interrupt::Interrupt;
use crate::onset::with_ranks;
use crate::phase::phase;
use crate::repair;
use crate::resolve::program::{ProgramId, Unit};
use crate::source::SourceMap;
use std::cell::Cell;
use version::Version;

/// How many operations and chunks may be looked at in all trials of one program.
const BUDGET: usize = 150_000;

/// How often something may come to light that another fix mends.
const ROUNDS: usize = 4;

/// How many fixes are tried one by one, where they do not help together.
const MOST_ALONE: usize = 3;

/// How a program is checked: everything that is found with these settings.
pub type Look<'a> = dyn Fn(&Unit, ProgramId, &Settings, Proof) -> Vec<Diagnostic> + 'a;

/// A program as it was checked.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Its files.
    pub sources: &'a SourceMap,
    /// What they mean.
    pub unit: &'a Unit,
    /// Which of its programs.
    pub program: ProgramId,
    /// With what it was elaborated: all that was found was found with one of these.
    pub settings: &'a [Settings],
    /// How it was checked.
    pub look: &'a Look<'a>,
    /// Set when nobody waits any more.
    pub interrupt: &'a Interrupt,
}

/// Makes fixes of the changes that checks found to help, and says which of them are sure.
pub fn confirm(subject: Subject<'_>, found: &mut [Diagnostic]) {
    repair::propose(subject.sources, found);
    let open: Vec<usize> =
        (0..found.len()).filter(|at| found.get(*at).is_some_and(is_open)).collect();
    if open.is_empty() {
        return;
    }
    let _trying = phase("try fixes", "");
    let sure = Trials::new(subject).map_or_else(Vec::new, |trials| trials.sure(found, &open));
    for at in open.into_iter().filter(|at| !sure.contains(at)) {
        if let Some(fix) = found.get_mut(at).and_then(|report| report.fix.as_mut()) {
            fix.certainty = Certainty::Guess;
        }
    }
}

/// Whether a report's fix is of a change, and may be sure.
fn is_open(report: &Diagnostic) -> bool {
    let sure = |fix: &crate::diagnostic::Fix| fix.certainty == Certainty::Sure;
    report.change.is_some() && report.fix.as_ref().is_some_and(sure)
}

/// What a program is tried with.
struct Situation {
    settings: Settings,
    /// How many operations and chunks the program has with it.
    size: usize,
    /// Whether it is another number of ranks than those that were asked for.
    elsewhere: bool,
}

struct Trials<'a> {
    subject: Subject<'a>,
    /// The program as it is.
    first: Version,
    /// What costs least comes first: mostly it shows already that a fix does not help.
    situations: Vec<Situation>,
    left: Cell<usize>,
}

impl<'a> Trials<'a> {
    fn new(subject: Subject<'a>) -> Option<Trials<'a>> {
        let first = Version::new(subject)?;
        let situations = situations(subject, &first)?;
        Some(Trials { subject, first, situations, left: Cell::new(BUDGET) })
    }

    /// The reports whose fixes mend the program: all together, or else some alone.
    fn sure(&self, found: &[Diagnostic], open: &[usize]) -> Vec<usize> {
        let chosen =
            |rows: &[usize]| rows.iter().filter_map(|at| found.get(*at)).collect::<Vec<_>>();
        if self.mends(&chosen(open)) {
            return open.to_vec();
        }
        let several = (2..=MOST_ALONE).contains(&open.len());
        let alone = open.iter().filter(|at| several && self.mends(&chosen(&[**at])));
        alone.copied().collect()
    }

    /// Whether a program is right with the fixes of these reports.
    fn mends(&self, reports: &[&Diagnostic]) -> bool {
        if self.is_needless_anyway(reports) {
            return false;
        }
        let mut mended = self.first.mended(reports);
        for _ in 0..ROUNDS {
            let Some(version) = mended.filter(|version| version.leaves_nothing_unused(&self.first))
            else {
                return false;
            };
            let Some(errors) = self.first_errors(&version) else { return false };
            if errors.is_empty() {
                return true;
            }
            let next: Vec<&Diagnostic> = errors.iter().filter(|report| is_open(report)).collect();
            mended = version.mended(&next);
        }
        false
    }

    /// What is wrong in the first situation in which anything is; none where that is not found out.
    fn first_errors(&self, version: &Version) -> Option<Vec<Diagnostic>> {
        for situation in &self.situations {
            match self.left.get().checked_sub(situation.size) {
                Some(left) => self.left.set(left),
                None if situation.elsewhere => continue,
                None => return None,
            }
            let mut errors = self.look(version, &situation.settings, Proof::Needed);
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

    /// Whether all errors are of limits that the program as it is exceeds, too.
    fn are_known(&self, errors: &[Diagnostic], situation: &Situation) -> bool {
        let known = self.look(&self.first, &situation.settings, Proof::Skipped);
        errors.iter().all(|error| known.iter().any(|limit| limit.code == error.code))
    }

    /// The errors that are found.
    fn look(&self, version: &Version, settings: &Settings, proof: Proof) -> Vec<Diagnostic> {
        let mut found = (self.subject.look)(&version.unit, version.program, settings, proof);
        found.retain(|report| report.severity == Severity::Error);
        found
    }

    /// Whether a fix leaves something out of a program of which nothing is promised, so that nothing shows that it was too
    /// much.
    fn is_needless_anyway(&self, reports: &[&Diagnostic]) -> bool {
        let removes = |report: &Diagnostic| matches!(report.change, Some(Change::Remove { .. }));
        let (mut settings, interrupt) = (self.subject.settings.iter(), self.subject.interrupt);
        let nothing = |settings: &Settings| !self.first.promises_anything(settings, interrupt);
        reports.iter().any(|report| removes(report)) && settings.any(nothing)
    }
}

/// What is asked for, and other numbers of ranks that the program is for and that can be afforded.
fn situations(subject: Subject<'_>, first: &Version) -> Option<Vec<Situation>> {
    let size = |settings: &Settings| first.ranks_and_size(settings, subject.interrupt);
    let situation = |settings: Settings, elsewhere| {
        let (_, size) = size(&settings)?;
        Some(Situation { settings, size, elsewhere })
    };
    let given = subject.settings.iter().map(|settings| situation(settings.clone(), false));
    let mut situations: Vec<Situation> = given.collect::<Option<_>>()?;
    let settings = subject.settings.first()?;
    let (ranks, here) = size(settings)?;
    let program = &first.unit.programs[first.program];
    for other in numbers(ranks).filter(|_| program.ranks.is_some()) {
        // What all ranks do together mostly grows with the square of their number.
        let expected = here.saturating_mul(other * other) / (ranks * ranks).max(1);
        if expected < BUDGET / 2 {
            situations.extend(situation(with_ranks(program, settings, other), true));
        }
    }
    situations.sort_by_key(|situation| situation.size);
    Some(situations)
}

/// The numbers of ranks to be tried beside one.
fn numbers(ranks: usize) -> impl Iterator<Item = usize> {
    let mut numbers = vec![2, 3, 4, 5, ranks / 2, ranks.saturating_sub(1), ranks + 1, 2 * ranks];
    numbers.retain(|other| *other >= 2 && *other != ranks);
    numbers.sort_unstable();
    numbers.dedup();
    numbers.into_iter()
}
