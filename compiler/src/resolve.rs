//! Trees to a resolved, typed program.
//!
//! ```text
//! load:     text of the main file -> Modules: all files it needs, parsed, with their names
//! resolve:  Modules -> program::Unit: names are ids, everything has a type
//! ```
//!
//! Names come first (`global`), then functions, procedures, constants and collectives, callees before callers
//! (`item`), then each program on its own (`declare`).

mod access;
mod attribute;
mod body;
mod call;
mod collective;
mod declare;
mod expr;
mod family;
mod global;
pub mod index;
mod item;
pub mod load;
mod lost;
mod name;
mod nature;
mod option;
mod order;
pub mod program;
mod signature;
mod stmt;
mod transfer;
mod types;
pub mod usage;

pub use index::index;
pub use load::{Modules, load};

use crate::diagnostic::{Diagnostic, Severity};
use crate::source::Place;
use crate::syntax::ast;

/// What a set of files means, and everything that was found on the way.
#[derive(Debug, Default)]
pub struct Resolved {
    /// The declarations.
    pub unit: program::Unit,
    /// What is wrong, in the order of the text.
    pub reports: Vec<Diagnostic>,
    /// The definition of each use of a name.
    pub uses: usage::Uses,
}

/// Resolves the names and types of all files.
#[must_use]
pub fn resolve(modules: &Modules) -> (program::Unit, Vec<Diagnostic>) {
    let resolved = resolve_all(modules);
    (resolved.unit, resolved.reports)
}

/// The same, with the definitions of all names, for tools.
#[must_use]
pub fn resolve_all(modules: &Modules) -> Resolved {
    let mut found = item::Found::default();
    let mut unit = program::Unit::default();
    let mut globals = global::Globals::new(modules, &mut found.reports);
    let signatures = item::items(&mut globals, &mut unit, &mut found);
    for declared in globals.programs.iter() {
        let (program, body) = declare::program(&globals, &signatures, *declared);
        unit.programs.push(program);
        found.take(modules, body);
    }
    global::check_imports(&globals, &mut found);
    found.reports.retain(|report| !is_said(modules, report));
    found.reports.sort_by_key(|report| report.primary.as_ref().map(|label| label.place));
    Resolved { unit, reports: found.reports, uses: found.uses }
}

/// Whether the parser has already reported the place.
fn is_said(modules: &Modules, report: &Diagnostic) -> bool {
    match report.primary.as_ref().map(|label| label.place) {
        Some(Place::Source(span)) => modules.modules.iter().any(|module| module.is_faulty(span)),
        Some(Place::Plan(_)) | None => false,
    }
}

/// Resolves a value that stands alone: numbers, truth values, lists and arithmetic, but no names.
#[must_use]
pub fn argument(expr: &ast::Expr) -> (Option<program::Expr>, Vec<Diagnostic>) {
    alone(|body| {
        let typed = body.expr(expr, None);
        Some(typed.expr)
    })
}

/// Resolves an option that stands alone, as on the command line.
#[must_use]
pub fn option(setting: &ast::OptionSetting) -> (Option<program::OptionSetting>, Vec<Diagnostic>) {
    alone(|body| body.option(setting))
}

/// Resolves something without any file around it; nothing comes out where something is wrong.
fn alone<T>(part: impl FnOnce(&mut body::Body) -> Option<T>) -> (Option<T>, Vec<Diagnostic>) {
    let modules = Modules::default();
    let globals = global::Globals::new(&modules, &mut Vec::new());
    let signatures = signature::Signatures::default();
    let module = load::ModuleId::default();
    let mut body = body::Body::new(&globals, &signatures, module, body::Level::Argument);
    let result = part(&mut body);
    let failed = body.reports.iter().any(|report| report.severity == Severity::Error);
    (result.filter(|_| !failed), body.reports)
}
