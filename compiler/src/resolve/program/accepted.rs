//! Warnings that attributes accept by their codes, wherever in the compiler they are found.

use super::Unit;
use crate::diagnostic::{Code, Diagnostic, Severity};
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
    /// Whether an attribute accepts a report: at its place, or at a call that leads there.
    #[must_use]
    pub fn accepts(&self, report: &Diagnostic) -> bool {
        let Some(label) = &report.primary else { return false };
        let within = |outer: &Span, inner: &Span| {
            outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end
        };
        let is_in = |span: &Span| match label.place {
            Place::Source(place) if within(span, &place) => true,
            Place::Source(_) | Place::Plan(_) => {
                label.calls.iter().any(|call| within(span, &call.span))
            }
        };
        report.severity != Severity::Error
            && self.accepted.iter().any(|one| one.code == report.code && is_in(&one.span))
    }
}
