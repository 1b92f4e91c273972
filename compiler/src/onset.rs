//! Finds the number of ranks from which on a limit of the target is exceeded.
//!
//! In: a program that exceeds limits, and the reports that say so. Out: the same reports, each with the smallest number
//! of ranks at which it occurs. The search tries larger and larger numbers until one exceeds the limit, then bisects
//! between that number and the one before: a limit that is exceeded at some number of ranks is usually exceeded at all
//! larger ones. Numbers of ranks that the program does not accept are skipped. If the search needs too many operations,
//! it gives up, and the reports stay as they are. Of a program that is so large that only its first rank was looked at,
//! only the first rank is looked at with other numbers of ranks, too.

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::driver::{self, Lowered, Request};
use crate::elaborate::{self, Settings};
use crate::interrupt::Interrupt;
use crate::resolve::program::{Expr, ExprKind, Program, Type};
use crate::target::Capacity;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Limits that grow with the number of ranks.
pub(crate) const GROWING: [Code; 5] =
    [Code::E0801, Code::E0802, Code::E0803, Code::E0804, Code::E0806];

/// How many operations the search may elaborate.
const BUDGET: usize = 1_000_000;

/// Adds a note to each report about a limit: from how many ranks on the limit is exceeded.
/// Only for plans: kernels have no such limits.
pub fn explain(request: &Request<'_>, capacity: Capacity, diagnostics: &mut [Diagnostic]) {
    let Request { unit, program, settings, target, interrupt, .. } = *request;
    if !target.is_plan() {
        return;
    }
    let reported = |report: &&mut Diagnostic| {
        report.severity == Severity::Error && GROWING.contains(&report.code)
    };
    let codes: BTreeSet<Code> =
        diagnostics.iter_mut().filter(reported).map(|report| report.code).collect();
    if codes.is_empty()
        || !unit.programs[program].parameters.iter().any(|parameter| parameter.name == "ranks")
    {
        return;
    }
    let Some(ranks) = elaborate::count_ranks(unit, program, settings) else { return };
    let first =
        |settings: &Settings| driver::first_codes(&request.with_settings(settings), capacity);
    let is_large = first(settings).is_some_and(|first| first.is_large);
    let look = |fewer: usize| {
        let settings =
            Settings { promises: false, ..with_ranks(&unit.programs[program], settings, fewer) };
        if is_large {
            return first(&settings).map(|first| (first.codes, first.operations));
        }
        driver::lower_program(&request.with_settings(&settings)).0.map(|lowered| {
            let found = driver::check_limits(&lowered, capacity);
            (found.into_iter().map(|report| report.code).collect(), operations(&lowered))
        })
    };
    let mut search = Search { look: &look, interrupt, known: BTreeMap::new(), made: 0 };
    let onsets: Option<BTreeMap<Code, usize>> =
        codes.into_iter().map(|code| Some((code, search.onset(code, ranks)?))).collect();
    let Some(onsets) = onsets else { return };
    for report in diagnostics.iter_mut().filter(reported) {
        let onset = onsets.get(&report.code).copied().unwrap_or(ranks);
        report.notes.insert(
            0,
            match search.fits_somewhere(report.code) {
                true => format!("the limit is exceeded with {onset} or more ranks"),
                false => {
                    format!("the limit is exceeded even with {onset} ranks, so fewer do not help")
                }
            },
        );
    }
}

fn operations(lowered: &Lowered) -> usize {
    lowered.program().all_ops().count()
}

/// The limits that are exceeded at a number of ranks, and how many operations were elaborated to find out.
type Seen = (BTreeSet<Code>, usize);

/// A search for numbers of ranks.
struct Search<'a> {
    /// What is found at a number of ranks; none if the program does not accept that number.
    look: &'a dyn Fn(usize) -> Option<Seen>,
    interrupt: &'a Interrupt,
    known: BTreeMap<usize, Option<BTreeSet<Code>>>,
    made: usize,
}

impl Search<'_> {
    /// The smallest number of ranks at which a limit is exceeded, given that it is exceeded at `ranks`; none if the
    /// search takes too long.
    fn onset(&mut self, code: Code, ranks: usize) -> Option<usize> {
        // At `fits` the limit is not exceeded, at `onset` it is, and the program accepts no number from `end` up to
        // `onset`.
        let (mut fits, mut end, mut onset) = (1, ranks, ranks);
        let mut is_growing = true;
        while fits + 1 < end {
            let next = match is_growing {
                true => (fits + fits / 2 + 1).min(end - 1),
                false => fits.midpoint(end),
            };
            match self.first(next..end)? {
                Some(other) if !self.exceeds(other, code) => fits = other,
                found => {
                    (end, onset) = (next, found.unwrap_or(onset));
                    is_growing = false;
                }
            }
        }
        Some(onset)
    }

    /// Whether any number of ranks was seen at which a limit is not exceeded.
    fn fits_somewhere(&self, code: Code) -> bool {
        self.known.values().flatten().any(|codes| !codes.contains(&code))
    }

    /// The first of these numbers that the program accepts: `Some(None)` if it accepts none of them, `None` if the
    /// search is given up.
    fn first(&mut self, numbers: Range<usize>) -> Option<Option<usize>> {
        for number in numbers {
            if !self.known.contains_key(&number) {
                if self.made > BUDGET || self.interrupt.is_set() {
                    return None;
                }
                let seen = (self.look)(number);
                self.made += seen.as_ref().map_or(0, |(_, operations)| *operations);
                self.known.insert(number, seen.map(|(codes, _)| codes));
            }
            if self.known.get(&number).is_some_and(Option::is_some) {
                return Some(Some(number));
            }
        }
        Some(None)
    }

    fn exceeds(&self, number: usize, code: Code) -> bool {
        self.known.get(&number).and_then(Option::as_ref).is_some_and(|codes| codes.contains(&code))
    }
}

/// The same settings with a different number of ranks.
pub(crate) fn with_ranks(program: &Program, settings: &Settings, ranks: usize) -> Settings {
    let mut settings = settings.clone();
    settings.machine = None;
    settings.parameters.retain(|(name, _)| name != "ranks");
    let value = Expr { kind: ExprKind::Int(ranks as i64), span: program.span, ty: Type::Int };
    settings.parameters.push(("ranks".to_string(), value));
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The onset that a search finds if the limit is exceeded from `onset` ranks on, and how many numbers it looked at.
    fn found(onset: usize, ranks: usize, is_for: fn(usize) -> bool) -> (Option<usize>, usize) {
        let codes = |number| if number >= onset { [Code::E0801].into() } else { BTreeSet::new() };
        let look = |number: usize| is_for(number).then(|| (codes(number), number));
        let interrupt = Interrupt::default();
        let known = BTreeMap::new();
        let mut search = Search { look: &look, interrupt: &interrupt, known, made: 0 };
        let onset = search.onset(Code::E0801, ranks);
        (onset, search.known.values().flatten().count())
    }

    #[test]
    fn the_smallest_number_is_found() {
        for ranks in [2, 3, 4, 5, 16, 17, 256] {
            for onset in 2..=ranks {
                let (smallest, looks) = found(onset, ranks, |_| true);
                assert_eq!(smallest, Some(onset), "{ranks}");
                assert!(looks <= 20, "{looks} at {onset} of {ranks}");
            }
        }
    }

    #[test]
    fn numbers_that_the_program_is_not_for_are_passed_over() {
        assert_eq!(found(65, 256, usize::is_power_of_two).0, Some(128));
        assert_eq!(found(64, 256, usize::is_power_of_two).0, Some(64));
        assert_eq!(found(250, 256, usize::is_power_of_two).0, Some(256));
        assert_eq!(found(2, 256, |number| number == 256).0, Some(256));
    }

    #[test]
    fn too_long_a_search_is_given_up() {
        assert_eq!(found(700_000, 1_000_000, |_| true).0, None);
    }
}
