//! Programs at their parameters: the operations, the values on the way, and what the passes make of them.
//!
//! In: a declaration. Out: what it is when it is elaborated, for features that show values beside the text. Programs
//! that would take long are not looked at: what a feature shows must be there at once.

use crate::database::{self, Configuration, Db, Declaration};
use compiler::elaborate::observe::Observed;
use compiler::elaborate::{self, Settings};
use compiler::ir;
use compiler::optimize::{self, Stage, replicate};
use std::sync::Arc;

/// The most operations of a program whose values are shown.
const MAX_OPERATIONS: u64 = 1 << 14;

/// The most that is evaluated for it, however few operations there are in the end.
const MAX_STEPS: u64 = 1 << 18;

/// A program at its parameters; places are those of the excerpt.
#[derive(Debug, Default)]
pub struct Concrete {
    /// Its operations, as its author wrote them; none where they cannot be made, or are too many.
    pub program: Option<Arc<ir::Program>>,
    /// The values that were met.
    pub observed: Observed,
}

/// Elaborates a program, if the declaration is one and sound.
#[salsa::tracked(returns(clone), no_eq)]
pub fn concrete<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> Arc<Concrete> {
    elaborated(db, declaration, MAX_OPERATIONS, MAX_STEPS, false).map(Arc::new).unwrap_or_default()
}

/// The program, though it may have more operations than are looked at for values; then it is not kept.
pub fn complete(db: &dyn Db, declaration: Declaration<'_>) -> Option<Arc<ir::Program>> {
    let known = concrete(db, declaration).program.clone();
    known.or_else(|| elaborated(db, declaration, u64::MAX, u64::MAX, false)?.program)
}

/// The program with what its collective promises, if it has no more operations than these.
pub fn promised(db: &dyn Db, declaration: Declaration<'_>, most: u64) -> Option<Arc<ir::Program>> {
    elaborated(db, declaration, most, u64::MAX, true)?.program
}

fn elaborated(
    db: &dyn Db,
    declaration: Declaration<'_>,
    most: u64,
    max_steps: u64,
    promises: bool,
) -> Option<Concrete> {
    let resolved = database::resolved(db, declaration);
    let program = resolved.program().filter(|_| !resolved.broken)?;
    let settings = Configuration::get(db).settings(db);
    let directive = database::directive(db, declaration);
    let elaboration = settings.elaboration(&resolved.unit.programs[program], &directive);
    let max_operations = elaboration.max_operations.min(most);
    let elaboration = Settings { max_operations, max_steps, promises, ..elaboration };
    let (program, observed) =
        elaborate::observe(&resolved.unit, program, &elaboration, db.interrupt());
    db.give_way();
    Some(Concrete { program: program.map(Arc::new), observed })
}

/// The program after the passes.
#[salsa::tracked(returns(clone), no_eq)]
pub fn lowered<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> Option<Arc<ir::Program>> {
    let program = concrete(db, declaration).program.clone()?;
    replicate::replicable(&program).ok()?;
    Some(Arc::new(optimize::optimize(ir::Program::clone(&program), Stage::Sync)))
}
