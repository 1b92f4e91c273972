//! Library procedures that do what is needed, where the ones that are called do not.
//!
//! In: a program and what was found in it. Out: the same findings; if one would go away with signals that are not
//! relaxed, but these are in the library, where the user cannot change them, it says which other procedure to call.
//! That is found by trial: a procedure with the same parameters, with which the finding is gone and no other has come.

use super::{elaborated, operations};
use crate::check;
use crate::diagnostic::{Change, Diagnostic, Label, Severity};
use crate::elaborate::Settings;
use crate::interrupt::Interrupt;
use crate::ir;
use crate::resolve::program::{
    Procedure, ProcedureId, ProgramId, ProgramItem, Stmt, StmtKind, Unit,
};
use crate::source::{At, Call, Place, Span};
use std::collections::BTreeSet;

/// The most trials for a program, and the most operations that they may have together.
const MOST_TRIALS: u64 = 16;
const BUDGET: u64 = 1_000_000;

/// A program and its settings.
pub(super) struct Subject<'a> {
    pub(super) unit: &'a Unit,
    pub(super) program: ProgramId,
    pub(super) settings: &'a Settings,
    pub(super) interrupt: &'a Interrupt,
}

/// Adds which procedures to call instead.
pub(super) fn told(
    subject: &Subject<'_>,
    program: &ir::Program,
    mut found: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let mut left = MOST_TRIALS.min(BUDGET / operations(program).max(1));
    for at in 0..found.len() {
        let Some(report) = found.get(at) else { continue };
        let calls = relaxed_calls(&program.origins, report);
        if calls.is_empty() {
            continue;
        }
        let chosen = subject.chosen(&calls, &found, at, &mut left);
        if let Some(report) = found.get_mut(at) {
            say(report, chosen.as_deref(), &calls);
        }
    }
    found
}

/// The author's calls into the library whose signals and waits, according to a report, should not be relaxed.
fn relaxed_calls(origins: &ir::Origins, report: &Diagnostic) -> Vec<Call> {
    let Some(Change::Strong { at }) = &report.change else { return Vec::new() };
    let theirs: Vec<Place> = at.iter().copied().filter(|at| origins.is_library(*at)).collect();
    origins.calls_to(&theirs)
}

/// A call, and the procedure to call instead.
type Swap = (Call, ProcedureId);

impl Subject<'_> {
    /// The calls that have to change, with the procedures to call instead.
    fn chosen(
        &self,
        calls: &[Call],
        found: &[Diagnostic],
        at: usize,
        left: &mut u64,
    ) -> Option<Vec<(Call, String)>> {
        let others = |call: &Call| -> Vec<Swap> {
            self.others(call).into_iter().map(|id| (call.clone(), id)).collect()
        };
        // The last call is mostly the one that is meant to order the rest.
        let single = calls.iter().rev().flat_map(others).map(|swap| vec![swap]);
        let all =
            calls.iter().filter_map(|call| others(call).into_iter().next()).collect::<Vec<Swap>>();
        let mut trials = single.chain((all.len() > 1).then_some(all));
        let swaps = trials.find(|swaps| {
            *left = left.saturating_sub(1);
            *left > 0 && !self.interrupt.is_set() && self.helps(swaps, found, at)
        })?;
        let name = |id: ProcedureId| self.unit.procedures[id].name.clone();
        Some(swaps.into_iter().map(|(call, id)| (call, name(id))).collect())
    }

    /// The library's procedures with the parameters of the one that is called.
    fn others(&self, call: &Call) -> Vec<ProcedureId> {
        let rows = self.unit.procedures.entries();
        let theirs: Vec<(ProcedureId, &Procedure)> =
            rows.filter(|(_, row)| self.unit.library.contains(&row.span.file)).collect();
        let called = theirs.iter().find(|(_, row)| *row.name == *call.name);
        let Some((called, wanted)) = called else { return Vec::new() };
        let fitting = theirs.iter().filter(|(id, row)| id != called && alike(row, wanted));
        fitting.map(|(id, _)| *id).collect()
    }

    /// Whether a finding goes away with other procedures, and nothing new comes.
    fn helps(&self, swaps: &[Swap], found: &[Diagnostic], at: usize) -> bool {
        let mut unit = self.unit.clone();
        each_call(&mut unit, self.program, &mut |span, procedure| {
            let other = swaps.iter().find(|(call, _)| call.span == span);
            *procedure = other.map_or(*procedure, |(_, other)| *other);
        });
        let (program, _) = elaborated(&unit, self.program, self.settings, self.interrupt);
        let Some(program) = program else { return false };
        let after = check::check(&program, self.interrupt);
        let mut errors = after.iter().filter(|report| report.severity == Severity::Error);
        let is_known = |one: &Diagnostic| {
            let mut others = found.iter().enumerate().filter(|(other, _)| *other != at);
            others.any(|(_, other)| other.code == one.code && other.message == one.message)
        };
        !self.interrupt.is_set() && errors.all(is_known)
    }
}

/// Whether two procedures have the same parameters.
fn alike(one: &Procedure, other: &Procedure) -> bool {
    let types =
        |row: &Procedure| row.parameters.iter().map(|one| one.ty.clone()).collect::<Vec<_>>();
    types(one) == types(other)
}

/// Says what to call instead or, if no other procedure helps, what is needed.
fn say(report: &mut Diagnostic, chosen: Option<&[(Call, String)]>, calls: &[Call]) {
    report.change = None;
    let Some(chosen) = chosen else {
        let names: BTreeSet<String> = calls.iter().map(|call| format!("`{}`", call.name)).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(" and ");
        report.helps =
            vec![format!("signal and wait without `relaxed` here: {names} only orders execution")];
        return;
    };
    let told: BTreeSet<String> = chosen
        .iter()
        .map(|(call, other)| format!("call `{other}` instead of `{}`", call.name))
        .collect();
    report.helps = told.into_iter().collect();
    for (call, other) in chosen {
        let at = At::from(call.span);
        if !report.tells_of(&at) {
            report.secondary.push(Label::new(at, format!("call `{other}` here")));
        }
    }
}

/// Visits the calls of procedures, each with its place.
fn each_call(unit: &mut Unit, program: ProgramId, visit: &mut dyn FnMut(Span, &mut ProcedureId)) {
    for row in unit.procedures.iter_mut() {
        each_in(&mut row.body, visit);
    }
    for item in &mut unit.programs[program].body {
        match item {
            ProgramItem::Statement(statement) => each_in(std::slice::from_mut(statement), visit),
            ProgramItem::Scratch(_)
            | ProgramItem::Channel(_)
            | ProgramItem::Semaphore(_)
            | ProgramItem::Block(_) => {}
        }
    }
}

fn each_in(statements: &mut [Stmt], visit: &mut dyn FnMut(Span, &mut ProcedureId)) {
    for statement in statements {
        let span = statement.span;
        match &mut statement.kind {
            StmtKind::Call(procedure, _) => visit(span, procedure),
            StmtKind::If(_, then, otherwise) => {
                each_in(then, visit);
                each_in(otherwise, visit);
            }
            StmtKind::For(_, body)
            | StmtKind::Block { body, .. }
            | StmtKind::Group(_, body)
            | StmtKind::Pipeline { body, .. } => each_in(body, visit),
            StmtKind::Let(..)
            | StmtKind::Require(..)
            | StmtKind::Barrier(_)
            | StmtKind::Sync
            | StmtKind::Transfer(_)
            | StmtKind::Synchronise(_) => {}
        }
    }
}
