//! Whether a program is proved to be correct.
//!
//! In: everything that the checks report about a program, wherever it lies. Out: what may be claimed about it.

use crate::database::{self, Database, Declaration};
use compiler::diagnostic::{Diagnostic, Severity};
use compiler::driver;
use std::collections::BTreeMap;

/// What is known about a program whose checks have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All checks were made, and nothing is wrong.
    Proved,
    /// Nothing wrong was found, but a check was not made, or not to its end.
    Open,
    /// It has this many errors, some of which may lie in what it calls.
    Wrong(usize),
}

/// Verdicts by the names of programs; a program whose checks have not ended, or were not made, has none.
pub type Verdicts = BTreeMap<String, Verdict>;

impl Verdict {
    /// The verdict about a program with these reports; `lowered` says whether it got its final form.
    #[must_use]
    pub fn new(reports: &[Diagnostic], lowered: bool) -> Verdict {
        match reports.iter().filter(|report| report.severity == Severity::Error).count() {
            0 if lowered && driver::is_proved(reports) => Verdict::Proved,
            0 => Verdict::Open,
            errors => Verdict::Wrong(errors),
        }
    }
}

/// The name of the program that a declaration is, and the verdict about it; to be called only for a file in which
/// [`crate::diagnostics::types`] has no doubt.
#[must_use]
pub fn verdict(database: &Database, declaration: Declaration<'_>) -> Option<(String, Verdict)> {
    let resolved = database::resolved(database, declaration);
    let program = &resolved.unit.programs[resolved.program()?];
    let proved = database::proved(database, declaration);
    Some((program.name.clone(), Verdict::new(&proved.reports, proved.shape.is_some())))
}
