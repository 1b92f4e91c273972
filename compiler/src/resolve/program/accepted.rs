//! Warnings that attributes accept by their codes, for the checks that come later.

use crate::diagnostic::Code;
use crate::source::Span;

/// A warning that an attribute accepts for everything in a declaration or statement: `#[allow(W0503, "why")]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its code.
    pub code: Code,
    /// The declaration or statement.
    pub span: Span,
}
