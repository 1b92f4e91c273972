//! Programs in which there is nothing to check.
//!
//! In: a program as it is resolved and as it runs. Out: a warning if it does nothing, its collective promises nothing,
//! and it requires nothing: that it is found to be correct means nothing then.

use super::operations;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::resolve::program::{Program, ProgramItem, Stmt, StmtKind, Unit};

/// Warns about a program in which there is nothing to check.
pub(super) fn check(unit: &Unit, program: &Program, concrete: &ir::Program) -> Option<Diagnostic> {
    let promised = concrete.ranks.iter().any(ir::Rank::promises_anything);
    let asked = program.body.iter().any(|item| match item {
        ProgramItem::Statement(statement) => asks(statement),
        ProgramItem::Scratch(_)
        | ProgramItem::Channel(_)
        | ProgramItem::Semaphore(_)
        | ProgramItem::Block(_) => false,
    });
    if promised || asked || operations(concrete) > 0 {
        return None;
    }
    let implements = program.collective.as_ref()?;
    let name = &unit.collectives[implements.collective].name;
    let message =
        format!("`{name}` promises nothing, and this program does nothing: nothing is checked");
    let report = Diagnostic::new(Code::W0501, implements.span, message);
    Some(report)
}

/// Whether a statement requires something, or may.
fn asks(statement: &Stmt) -> bool {
    match &statement.kind {
        StmtKind::Require(..) | StmtKind::Call(..) => true,
        StmtKind::If(_, then, otherwise) => then.iter().chain(otherwise).any(asks),
        StmtKind::For(_, body)
        | StmtKind::Block { body, .. }
        | StmtKind::Group(_, body)
        | StmtKind::Pipeline { body, .. } => body.iter().any(asks),
        StmtKind::Let(..)
        | StmtKind::Barrier(_)
        | StmtKind::Sync
        | StmtKind::Transfer(_)
        | StmtKind::Synchronise(_) => false,
    }
}
