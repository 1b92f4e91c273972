//! Warnings that attributes accept by their codes, for the checks that come later.

use super::Unit;
use crate::diagnostic::Code;
use crate::source::{Place, Span};

/// A warning that an attribute accepts for everything in a declaration or statement: `#[allow(W0503, "why")]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its code.
    pub code: Code,
    /// The declaration or statement.
    pub span: Span,
}

impl Unit {
    /// Whether an attribute accepts a warning or note at a place.
    #[must_use]
    pub fn accepts(&self, code: Code, place: Place) -> bool {
        let Place::Source(inner) = place else { return false };
        let around = |outer: Span| {
            outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end
        };
        self.accepted.iter().any(|one| one.code == code && around(one.span))
    }
}
