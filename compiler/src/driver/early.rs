//! Limits that show on the first rank on its own, before all ranks are elaborated and before anything is looked for that
//! takes time.
//!
//! In: a program and its settings. Out: what MSCCL++'s executor has no room for on that rank. If the program is large,
//! that is all that is reported of it. A small one is checked all the same, so that its author sees at once what else is
//! wrong.

use super::{Proof, Request, has_errors, run_passes};
use crate::check::limits;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::elaborate;
use crate::ir::{self, RankId};
use crate::onset;
use crate::optimize::replicate;
use crate::phase::phase;
use crate::target::{Capacity, PLAN};
use std::collections::BTreeSet;

/// The most operations of a program that is elaborated and checked although it exceeds a limit.
const MOST_OPERATIONS: usize = 100_000;

/// What shows on the first rank.
#[derive(Debug, Default)]
pub(super) struct Early {
    /// The limits that it exceeds.
    found: Vec<Diagnostic>,
    /// Whether the program is too large to be looked at any further.
    pub(super) is_large: bool,
}

/// A program with its first rank only, in the final form of its operations.
struct First {
    program: ir::Program,
    /// How many operations all ranks have, if they have as many as this one.
    operations: usize,
}

impl First {
    fn of(request: &Request<'_>) -> Option<First> {
        let Request { unit, program, settings, interrupt, .. } = *request;
        let first = elaborate::first_rank(unit, program, settings, interrupt)?;
        let program = run_passes(&PLAN, first);
        let operations = program.all_ops().count().saturating_mul(program.ranks.len());
        // What is too large to be elaborated is reported as such.
        let fits = operations as u64 <= settings.max_operations;
        fits.then_some(First { program, operations })
    }

    /// The limits that the first rank exceeds.
    fn exceeded(&self, capacity: Capacity) -> Vec<Diagnostic> {
        let mut checker = limits::Checker::new(&self.program, capacity.limits());
        let first = RankId(0);
        checker.rank(first, &replicate::rank(&self.program, first));
        let mut found = checker.finish().diagnostics;
        found.retain(|one| one.severity == Severity::Error && onset::GROWING.contains(&one.code));
        found
    }

    /// Whether a program that exceeds these limits is too large to be looked at any further.
    fn is_too_large(&self, exceeded: &[Diagnostic]) -> bool {
        !exceeded.is_empty() && self.operations > MOST_OPERATIONS
    }
}

/// The limits that a program exceeds on its first rank; nothing if they do not make it wrong.
pub(super) fn early(request: &Request<'_>, capacity: Capacity) -> Early {
    let matters = request.target.is_plan()
        && request.proof == Proof::Needed
        && capacity.worst == Severity::Error;
    if !matters {
        return Early::default();
    }
    let _looking = phase("limits", &request.unit.programs[request.program].name);
    let Some(first) = First::of(request) else {
        return Early::default();
    };
    let mut found = first.exceeded(capacity);
    let is_large = first.is_too_large(&found);
    if let Some(report) = found.last_mut().filter(|_| is_large) {
        let rest = "only rank 0 was looked at: races, deadlocks and the result are checked once the program is within the limits";
        report.notes.push(rest.to_owned());
    }
    Early { found, is_large }
}

/// Which limits the first rank exceeds.
pub(crate) struct FirstCodes {
    /// Their codes.
    pub(crate) codes: BTreeSet<Code>,
    /// How many operations that rank has.
    pub(crate) operations: usize,
    /// Whether the program is too large to be looked at any further.
    pub(crate) is_large: bool,
}

/// Which limits the first rank of a program exceeds; none if the program does not accept the settings.
pub(crate) fn first_codes(request: &Request<'_>, capacity: Capacity) -> Option<FirstCodes> {
    let first = First::of(request)?;
    let found = first.exceeded(capacity);
    let is_large = first.is_too_large(&found);
    let codes = found.into_iter().map(|report| report.code).collect();
    let operations = first.program.all_ops().count();
    Some(FirstCodes { codes, operations, is_large })
}

impl Early {
    /// All reports about a program, if these are the others. Where it has no final form for what the checks find, its limits
    /// come first; where it has one, they are reported for all ranks.
    pub(super) fn and(self, others: Vec<Diagnostic>, is_lowered: bool) -> Vec<Diagnostic> {
        let of_checks = |code: Code| matches!(code.id().get(1..3), Some("05" | "06" | "07" | "08"));
        let mut errors = others.iter().filter(|report| report.severity == Severity::Error);
        let is_refused = !is_lowered && has_errors(&others);
        let is_first = self.is_large || is_refused && errors.all(|report| of_checks(report.code));
        if !is_first {
            return others;
        }
        let mut all = self.found;
        all.retain(|one| others.iter().all(|other| other.code != one.code));
        all.extend(others);
        all
    }
}
