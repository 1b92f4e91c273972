//! Where statements may stand, by name.

use super::ast;
use super::fault::Fault;

/// Reports the statements that stand in the wrong place.
#[must_use]
pub fn check(_file: &ast::File) -> Vec<Fault> {
    Vec::new()
}
