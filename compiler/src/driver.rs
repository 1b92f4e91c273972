//! The phases in order, for one program and one set of parameters.
//!
//! In: files that were read, a program's number and its settings. Out: a program ready to be written, and every
//! report on the way. A phase that reports an error is the last one that runs.

use crate::diagnostic::{Diagnostic, Severity};
use crate::elaborate::{self, Settings};
use crate::interrupt::Interrupt;
use crate::ir;
use crate::optimize::{self, Stage, replicate};
use crate::pending::{limits, resolve};
use crate::plan::{read, write};
use crate::resolve::program;
use crate::source::{FileId, SourceMap};
use std::io;
use std::sync::Arc;

/// What a program is checked against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Thread blocks that the GPU runs at once.
    pub sms: u32,
    /// How bad it is that the target cannot do something: an error, but for measurements.
    pub limits: Severity,
}

/// Reads imports: takes a path, gives its text or says why there is none.
pub type Read<'a> = dyn FnMut(&str) -> Result<Arc<str>, String> + 'a;

/// Text to a resolved unit. With errors among the reports the unit is good for its programs' names and parameters
/// only.
pub fn load(
    main: FileId,
    sources: &mut SourceMap,
    read: &mut Read<'_>,
) -> (program::Unit, Vec<Diagnostic>) {
    let (modules, mut diagnostics) = resolve::load(main, sources, read);
    let broken = has_errors(&diagnostics);
    let (unit, names) = resolve::resolve(&modules);
    // What is left out of a broken file may be what uses a name: no word about unused ones.
    diagnostics
        .extend(names.into_iter().filter(|report| !broken || report.severity == Severity::Error));
    (unit, diagnostics)
}

/// A resolved program to the final form of a plan, instances aside.
pub fn compile(
    unit: &program::Unit,
    program: program::ProgramId,
    settings: &Settings,
    target: Target,
    interrupt: &Interrupt,
) -> (Option<ir::Program>, Vec<Diagnostic>) {
    let (elaborated, mut diagnostics) = elaborate::elaborate(unit, program, settings, interrupt);
    let Some(elaborated) = elaborated.filter(|_| !has_errors(&diagnostics) && !interrupt.is_set())
    else {
        return (None, diagnostics);
    };
    diagnostics.extend(replicate::replicable(&elaborated).err().map(|report| *report));
    if has_errors(&diagnostics) {
        return (None, diagnostics);
    }
    let optimized = optimize::optimize(elaborated, Stage::Sync);
    diagnostics.extend(check_limits(&optimized, target));
    let good = !has_errors(&diagnostics) && !interrupt.is_set();
    (Some(optimized).filter(|_| good), diagnostics)
}

/// Writes the plan of an optimized program, rank by rank.
///
/// # Errors
/// Where `out` refuses bytes.
pub fn write_plan(program: &ir::Program, out: &mut impl io::Write) -> io::Result<()> {
    write::head(program, out)?;
    for rank in program.ranks.ids() {
        write::rank(program, rank, &replicate::rank(program, rank), out)?;
    }
    write::tail(program, out)
}

/// Checks a plan that anyone made.
#[must_use]
pub fn verify(file: FileId, text: &str, target: Target) -> Vec<Diagnostic> {
    let (program, mut diagnostics) = read::read(file, text);
    if let Some(program) = program.filter(|_| !has_errors(&diagnostics)) {
        diagnostics.extend(check_limits(&program, target));
    }
    diagnostics
}

/// Whether a report is an error.
#[must_use]
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|report| report.severity == Severity::Error)
}

fn check_limits(program: &ir::Program, target: Target) -> Vec<Diagnostic> {
    let mut diagnostics = limits::limits(program, target.sms);
    for report in &mut diagnostics {
        report.severity = report.severity.min(target.limits);
    }
    diagnostics
}
