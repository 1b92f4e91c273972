//! Programs with concrete parameters: their operations, the values met on the way, and the program after the passes.
//!
//! In: a declaration. Out: its elaborated program, or the values in a constant, for features that show values next to
//! the text. Programs that would take long are skipped, because a feature must answer at once.

use crate::database::{self, Configuration, Db, Declaration};
use compiler::driver;
use compiler::elaborate::observe::Observed;
use compiler::elaborate::{self, Settings};
use compiler::ir;
use compiler::optimize::{self, Stage, replicate};
use compiler::resolve::index::EntryKind;
use std::sync::Arc;

/// Values are shown only for programs with at most this many operations.
const MAX_OPERATIONS: u64 = 1 << 14;

/// The most evaluation steps for such a program, however few operations result from them.
const MAX_STEPS: u64 = 1 << 18;

/// What is added to the text of a constant: a program that uses it, since nothing else is evaluated.
fn using(constant: &str) -> String {
    format!(
        "use std::collectives::unchecked as _unchecked;
program _use(ranks: int = 1) {{ collective _unchecked(ranks); let _value = {constant}; }}
"
    )
}

/// An elaborated program; places are those of the excerpt.
#[derive(Debug, Default)]
pub struct Concrete {
    /// Its operations, as its author wrote them; none if it cannot be elaborated, or has too many.
    pub program: Option<Arc<ir::Program>>,
    /// The values that expressions had during elaboration.
    pub observed: Observed,
}

/// Elaborates a program, or evaluates a constant, if the declaration is one without errors.
#[salsa::tracked(returns(clone), no_eq)]
pub fn concrete<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> Arc<Concrete> {
    let program = elaborated(db, declaration, MAX_OPERATIONS, MAX_STEPS, false);
    program.or_else(|| evaluated(db, declaration)).map(Arc::new).unwrap_or_default()
}

/// The values in a constant.
fn evaluated(db: &dyn Db, declaration: Declaration<'_>) -> Option<Concrete> {
    let names = database::names(db, declaration);
    let [(Some(EntryKind::Constant), name)] = names.declares.as_slice() else { return None };
    let text = database::excerpt_of(db, declaration).text.to_string() + &using(name);
    let resolved = database::resolve(db, declaration, text.into());
    let program = resolved.program().filter(|_| !resolved.broken)?;
    let settings = Settings {
        max_operations: MAX_OPERATIONS,
        max_steps: MAX_STEPS,
        promises: false,
        ..Settings::default()
    };
    let (_, observed) = elaborate::observe(&resolved.unit, program, &settings, db.interrupt());
    db.give_way();
    Some(Concrete { program: None, observed })
}

/// The program, even if it has more operations than values are shown for; in that case it is not cached.
pub fn complete(db: &dyn Db, declaration: Declaration<'_>) -> Option<Arc<ir::Program>> {
    let known = concrete(db, declaration).program.clone();
    known.or_else(|| elaborated(db, declaration, u64::MAX, u64::MAX, false)?.program)
}

/// The program together with what its collective promises, if it has at most `most` operations.
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

/// For how many ranks the least time is computed while somebody types: the linear programs for more may take seconds.
const MAX_BOUNDED_RANKS: usize = 128;

/// How long the program takes on its machine, beside the least time; none if it names no machine, has too many
/// operations or ranks, or if the least time is not known.
#[salsa::tracked(returns(clone))]
pub fn bandwidth<'db>(db: &'db dyn Db, declaration: Declaration<'db>) -> Option<String> {
    let program = promised(db, declaration, MAX_OPERATIONS)?;
    let is_small = program.ranks.len() <= MAX_BOUNDED_RANKS;
    is_small.then(|| driver::measure_bandwidth(&program))??.summarize()
}
