//! Programs that are correct in place, but do not say that they are in place.
//!
//! In: a program and what was found in it. Out: the same findings. If something is read that nobody has written, and that
//! is not so once input and output share memory, that is reported, with the errors that are left then. If errors of another
//! kind come up, sharing memory is probably not what was meant.

use super::swap::Subject;
use super::{elaborated, has_errors, operations};
use crate::check;
use crate::diagnostic::{Change, Code, Diagnostic, Severity};
use crate::ir;
use crate::resolve::program::{Expr, ExprKind, Type};
use crate::source::{Place, Span};
use std::collections::BTreeSet;

/// The most operations of a program for which this is tried.
const BUDGET: u64 = 1_000_000;

/// Mistakes that have nothing to do with where the buffers are: when kernels begin and end.
const OTHERS: [Code; 3] = [Code::E0510, Code::E0512, Code::E0515];

/// Reports that `in_place` is missing.
pub(super) fn told(
    subject: &Subject<'_>,
    program: &ir::Program,
    mut found: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let unwritten = found.iter().position(|report| report.code == Code::E0520);
    let tried = unwritten.filter(|_| operations(program) <= BUDGET);
    let Some(at) = tried else { return found };
    let Some((collective, left)) = lacking(subject) else { return found };
    let mut known: BTreeSet<Code> = found.iter().map(|report| report.code).collect();
    known.remove(&Code::E0520);
    known.extend(OTHERS);
    if left.iter().any(|report| !known.contains(&report.code)) {
        return found;
    }
    let mut report = found.swap_remove(at);
    let change = Change::InPlace { at: Place::Source(collective) };
    report.helps = vec![change.title()];
    report = report.and(collective, "out of place, the output holds nothing at first");
    report.change = Some(change);
    std::iter::once(report).chain(left).collect()
}

/// Where a program names its collective, if it says nothing about `in_place`, and the errors that it has once it does.
fn lacking(subject: &Subject<'_>) -> Option<(Span, Vec<Diagnostic>)> {
    let mut unit = subject.unit.clone();
    let implements = unit.programs[subject.program].collective.as_mut()?;
    if implements.in_place.is_some() {
        return None;
    }
    let span = implements.span;
    implements.in_place = Some(Expr { kind: ExprKind::Bool(true), span, ty: Type::Bool });
    let (program, said) = elaborated(&unit, subject.program, subject.settings, subject.interrupt);
    let program = program.filter(|_| !has_errors(&said))?;
    let mut after = check::check(&program, subject.interrupt);
    after.retain(|report| report.severity == Severity::Error);
    (!subject.interrupt.is_set()).then_some((span, after))
}
