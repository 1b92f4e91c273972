//! Programs that are right in place, and do not say so.
//!
//! In: a program and what was found in it. Out: the same findings. Where something is read that nobody has written, and
//! nothing is left to be found once input and output share memory, that is what is said, and nothing else: it is one
//! mistake.

use super::swap::Subject;
use super::{elaborated, has_errors, operations};
use crate::check;
use crate::diagnostic::{Change, Code, Diagnostic};
use crate::ir;
use crate::resolve::program::{Expr, ExprKind, Type};
use crate::source::{Place, Span};

/// How many operations a program may have for this to be tried.
const BUDGET: u64 = 1_000_000;

/// Says that `in_place` is missing.
pub(super) fn told(
    subject: &Subject<'_>,
    program: &ir::Program,
    mut found: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let unwritten = found.iter().position(|report| report.code == Code::E0520);
    let tried = unwritten.filter(|_| operations(program) <= BUDGET);
    let Some(at) = tried else { return found };
    let Some(collective) = lacking(subject) else { return found };
    let mut report = found.swap_remove(at);
    let change = Change::InPlace { at: Place::Source(collective) };
    report.helps = vec![change.title()];
    report = report.and(collective, "out of place, the output holds nothing at first");
    report.change = Some(change);
    vec![report]
}

/// Where a program says what it implements, if it says nothing of `in_place` and nothing is found once it does.
fn lacking(subject: &Subject<'_>) -> Option<Span> {
    let mut unit = subject.unit.clone();
    let implements = unit.programs[subject.program].collective.as_mut()?;
    if implements.in_place.is_some() {
        return None;
    }
    let span = implements.span;
    implements.in_place = Some(Expr { kind: ExprKind::Bool(true), span, ty: Type::Bool });
    let (program, said) = elaborated(&unit, subject.program, subject.settings, subject.interrupt);
    let program = program.filter(|_| !has_errors(&said))?;
    let after = check::check(&program, subject.interrupt);
    (!subject.interrupt.is_set() && !has_errors(&after)).then_some(span)
}
