//! Whether a program is proved to be correct.
//!
//! In: everything that the checks report about a program, wherever it lies. Out: what may be claimed about it.

use crate::database::{self, Database, Declaration};
use compiler::diagnostic::{Diagnostic, Severity};
use compiler::driver;
use lsp_types::Url;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known about a program whose checks have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All checks were made, and nothing is wrong with so many ranks.
    Proved(usize),
    /// Nothing wrong was found, but a check was not made, or not to its end.
    Open,
    /// It has this many errors, some of which may lie in what it calls.
    Wrong(usize),
}

/// Verdicts by the names of programs; a program whose checks have not ended, or were not made, has none.
pub type Verdicts = BTreeMap<String, Verdict>;

impl Verdict {
    /// The verdict about a program with these reports; `ranks` is how many its final form has, if it got one.
    #[must_use]
    pub fn new(reports: &[Diagnostic], ranks: Option<usize>) -> Verdict {
        let errors = reports.iter().filter(|report| report.severity == Severity::Error).count();
        match (errors, ranks) {
            (0, Some(ranks)) if driver::is_proved(reports) => Verdict::Proved(ranks),
            (0, _) => Verdict::Open,
            (errors, _) => Verdict::Wrong(errors),
        }
    }
}

/// What is known about the programs of a file: a notification to clients that show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVerdicts {
    /// The file.
    pub uri: Url,
    /// The version of its text; none once it is closed.
    pub version: Option<i32>,
    /// How many errors are in the file, in programs or elsewhere.
    pub errors: usize,
    /// Its programs, by name. Those whose checks have not ended, or were not made, are left out.
    pub programs: Vec<NamedVerdict>,
}

/// The verdict about a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedVerdict {
    /// The program's name.
    pub name: String,
    /// The verdict.
    pub verdict: VerdictKind,
    /// For how many ranks it is proved.
    pub ranks: Option<usize>,
}

/// A verdict without its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictKind {
    /// [`Verdict::Proved`].
    Proved,
    /// [`Verdict::Open`].
    Open,
    /// [`Verdict::Wrong`].
    Wrong,
}

impl NamedVerdict {
    /// The verdict about the program of that name.
    #[must_use]
    pub fn new(name: &str, verdict: Verdict) -> NamedVerdict {
        let (verdict, ranks) = match verdict {
            Verdict::Proved(ranks) => (VerdictKind::Proved, Some(ranks)),
            Verdict::Open => (VerdictKind::Open, None),
            Verdict::Wrong(_) => (VerdictKind::Wrong, None),
        };
        NamedVerdict { name: name.to_owned(), verdict, ranks }
    }
}

/// The name of the program that a declaration is, and the verdict about it; to be called only for a file in which
/// [`crate::diagnostics::types`] has no doubt.
#[must_use]
pub fn verdict(database: &Database, declaration: Declaration<'_>) -> Option<(String, Verdict)> {
    let resolved = database::resolved(database, declaration);
    let program = &resolved.unit.programs[resolved.program()?];
    let proved = database::proved(database, declaration);
    let ranks = proved.shape.as_ref().map(|shape| shape.ranks);
    Some((program.name.clone(), Verdict::new(&proved.reports, ranks)))
}
