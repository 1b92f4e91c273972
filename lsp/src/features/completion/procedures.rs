//! What procedures do, and where they may therefore be called.

use super::scope::Level;
use crate::analysis::{Analysis, parts};
use crate::database::{self, Db as _};
use compiler::resolve::program::{Procedure, Stmt, StmtKind, Unit};
use std::collections::BTreeSet;

/// Something a body may do that is not allowed everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    /// It moves data.
    Moves,
    /// It synchronizes.
    Synchronises,
    /// It opens blocks.
    Opens,
    /// It opens groups, or has barriers between blocks.
    Groups,
    /// It contains a pipeline.
    Repeats,
}

/// Whether a procedure may be called at a level.
pub(super) fn allowed(unit: &Unit, procedure: &Procedure, level: Level) -> bool {
    let mut effects = BTreeSet::new();
    let mut seen: Vec<&str> = vec![&procedure.name];
    read(unit, &procedure.body, &mut effects, &mut seen);
    effects.iter().all(|effect| allows(level, *effect))
}

/// Whether a procedure of the library may be called at a level.
pub(super) fn library_allowed(
    analysis: &Analysis<'_>,
    module: &str,
    name: &str,
    level: Level,
) -> bool {
    let database = analysis.database;
    parts(database, database.document(module)).into_iter().any(|part| {
        let unit = &database::resolved(database, part.declaration).unit;
        let named = unit.procedures.iter().find(|row| row.name == name);
        named.is_some_and(|row| allowed(unit, row, level))
    })
}

fn allows(level: Level, effect: Effect) -> bool {
    match level {
        Level::Procedure => true,
        Level::Program => matches!(effect, Effect::Opens | Effect::Groups | Effect::Repeats),
        Level::Block => matches!(effect, Effect::Moves | Effect::Synchronises | Effect::Repeats),
        Level::Round => matches!(effect, Effect::Moves | Effect::Synchronises),
        Level::Group => effect == Effect::Moves,
        Level::Window => effect == Effect::Opens,
        Level::File
        | Level::Collective
        | Level::InPlace
        | Level::Ensures
        | Level::Topology
        | Level::Switch
        | Level::Options => false,
    }
}

fn read<'u>(
    unit: &'u Unit,
    body: &'u [Stmt],
    effects: &mut BTreeSet<Effect>,
    seen: &mut Vec<&'u str>,
) {
    for statement in body {
        let effect = match &statement.kind {
            StmtKind::Let(..) | StmtKind::Require(..) => continue,
            StmtKind::For(_, body) => {
                read(unit, body, effects, seen);
                continue;
            }
            StmtKind::If(_, then, otherwise) => {
                read(unit, then, effects, seen);
                read(unit, otherwise, effects, seen);
                continue;
            }
            StmtKind::Call(called, _) => {
                let called = unit.procedures.lookup(*called);
                if let Some(called) = called.filter(|row| !seen.contains(&row.name.as_str())) {
                    seen.push(&called.name);
                    read(unit, &called.body, effects, seen);
                }
                continue;
            }
            StmtKind::Pipeline { body, .. } => {
                read(unit, body, effects, seen);
                Effect::Repeats
            }
            StmtKind::Block { .. } => Effect::Opens,
            StmtKind::Group(..) | StmtKind::Barrier(_) => Effect::Groups,
            StmtKind::Sync | StmtKind::Synchronise(_) => Effect::Synchronises,
            StmtKind::Transfer(_) => Effect::Moves,
        };
        effects.insert(effect);
    }
}
