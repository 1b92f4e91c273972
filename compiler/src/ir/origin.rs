//! Where operations and declarations come from: places, and the loop values and calls that led there.

use crate::source::{At, Call, FileId, Place, Span};
use crate::table::{Table, id};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many of the calls that led to an operation are reported.
const MOST_CALLS: usize = 16;

id! {
    /// A row of [`Origins::rows`].
    OriginId
}
id! {
    /// A row of [`Origins::bindings`].
    BindingId
}

/// Where operations come from: a side table, so that an operation stays small.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    /// One row for each place and the loop values and calls it was reached with.
    pub rows: Table<OriginId, Origin>,
    /// Loop values, as linked lists that rows share.
    pub bindings: Table<BindingId, Binding>,
    /// The names of procedures.
    pub procedures: Arc<[Arc<str>]>,
    /// The files of the library.
    pub library: Arc<BTreeSet<FileId>>,
    /// The warnings and notes that attributes accept.
    pub accepted: Arc<[Accepted]>,
}

/// A warning or note that an attribute accepts in a declaration or statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its code, as it is printed.
    pub code: &'static str,
    /// The declaration or statement.
    pub span: Span,
}

/// How many rows and bindings there were at some time.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    rows: usize,
    bindings: usize,
}

/// A place with the loop values it was reached with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The statement, declaration or plan operation.
    pub place: Place,
    /// The innermost loop value or call, if there is one.
    pub binding: Option<BindingId>,
}

/// A loop value ("step = 2"), or the place of a procedure's call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// A name that a loop or a block family bound.
    Value {
        /// The name.
        name: Arc<str>,
        /// Its value.
        value: i64,
        /// The next outer one.
        outer: Option<BindingId>,
    },
    /// The statements inside are in a procedure that is called here.
    Call {
        /// The call.
        span: Span,
        /// The procedure: a row of [`Origins::procedures`].
        procedure: u32,
        /// The next outer one, around the call.
        outer: Option<BindingId>,
    },
}

impl Origins {
    /// How much is recorded now.
    #[must_use]
    pub fn recorded(&self) -> Recorded {
        Recorded { rows: self.rows.len(), bindings: self.bindings.len() }
    }

    /// Forgets the bindings that were recorded since some time, unless there are rows since then, which refer to them.
    pub fn forget_unused(&mut self, since: Recorded) {
        if self.rows.len() == since.rows {
            self.bindings.truncate(since.bindings);
        }
    }

    /// The names and values that an origin was reached with, outermost first, as "step = 2".
    #[must_use]
    pub fn values(&self, origin: OriginId) -> Vec<String> {
        self.binding_values(self.rows.lookup(origin).and_then(|row| row.binding))
    }

    /// The names and values of a loop value and those around it, outermost first.
    #[must_use]
    pub fn binding_values(&self, binding: Option<BindingId>) -> Vec<String> {
        let mut values = Vec::new();
        let mut next = binding;
        while let Some(binding) = next.and_then(|id| self.bindings.lookup(id)) {
            match binding {
                Binding::Value { name, value, outer } => {
                    values.push(format!("{name} = {value}"));
                    next = *outer;
                }
                Binding::Call { outer, .. } => next = *outer,
            }
        }
        values.reverse();
        values
    }

    /// The place of an origin.
    #[must_use]
    pub fn place(&self, origin: OriginId) -> Place {
        self.rows[origin].place
    }

    /// The place of an origin, then those of the calls that led there, innermost first.
    #[must_use]
    pub fn places(&self, origin: OriginId) -> Vec<Place> {
        let calls = self.calls(self.rows[origin].binding).map(|(span, _)| Place::Source(span));
        std::iter::once(self.place(origin)).chain(calls).collect()
    }

    /// Whether a warning or note is accepted about what comes from there: at its place, or at a call that led there.
    #[must_use]
    pub fn accepts(&self, code: &str, origin: OriginId) -> bool {
        let accepted = |place: Place| self.accepts_at(code, place);
        !self.accepted.is_empty() && self.places(origin).into_iter().any(accepted)
    }

    /// Whether it is accepted at this place.
    #[must_use]
    pub fn accepts_at(&self, code: &str, place: Place) -> bool {
        let Place::Source(inner) = place else { return false };
        let around = |outer: Span| {
            outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end
        };
        self.accepted.iter().any(|one| one.code == code && around(one.span))
    }

    /// The place of an origin, and the innermost calls that led there.
    #[must_use]
    pub fn at(&self, origin: OriginId) -> At {
        self.at_row(&self.rows[origin])
    }

    /// A place, with the calls that led to the first operation that comes from there.
    #[must_use]
    pub fn first_at(&self, place: Place) -> At {
        let row = self.rows.iter().find(|row| row.place == place);
        row.map_or(place.into(), |row| self.at_row(row))
    }

    /// Whether other operations come from the same place, by the same calls in the library, but by other calls of the
    /// author's.
    #[must_use]
    pub fn has_other_calls(&self, at: &At) -> bool {
        let inner = self.into_library(at.place, &at.calls).map_or(0, |call| call + 1);
        let mut there = self.rows.iter().filter(|row| row.place == at.place);
        there.any(|row| {
            let other = self.at_row(row).calls;
            other.get(..inner) == at.calls.get(..inner) && other != at.calls
        })
    }

    /// The author's calls into the library that lead to any of these places, each once, by place.
    #[must_use]
    pub fn calls_to(&self, places: &[Place]) -> Vec<Call> {
        let rows = self.rows.iter().filter(|row| places.contains(&row.place));
        let calls = rows.filter_map(|row| {
            let At { place, mut calls } = self.at_row(row);
            let call = self.into_library(place, &calls)?;
            Some(calls.swap_remove(call))
        });
        calls.collect::<BTreeSet<Call>>().into_iter().collect()
    }

    /// Of the calls that led to a place in the library, the index of the innermost one in a file of the author's.
    #[must_use]
    pub fn into_library(&self, place: Place, calls: &[Call]) -> Option<usize> {
        let own = |call: &Call| !self.is_library(call.span.into());
        self.is_library(place).then(|| calls.iter().position(own))?
    }

    /// Whether a place lies in a file of the library.
    #[must_use]
    pub fn is_library(&self, place: Place) -> bool {
        matches!(place, Place::Source(span) if self.library.contains(&span.file))
    }

    fn at_row(&self, row: &Origin) -> At {
        let name = |procedure: u32| self.procedures.get(procedure as usize).cloned();
        let calls = self.calls(row.binding).take(MOST_CALLS);
        let calls =
            calls.map(|(span, called)| Call { span, name: name(called).unwrap_or_default() });
        At { place: row.place, calls: calls.collect() }
    }

    /// The calls that led to a binding, innermost first, each with the procedure that is called.
    fn calls(&self, binding: Option<BindingId>) -> impl Iterator<Item = (Span, u32)> {
        let mut next = binding;
        std::iter::from_fn(move || {
            while let Some(binding) = next.and_then(|id| self.bindings.lookup(id)) {
                match binding {
                    Binding::Value { outer, .. } => next = *outer,
                    Binding::Call { span, procedure, outer } => {
                        next = *outer;
                        return Some((*span, *procedure));
                    }
                }
            }
            None
        })
    }
}
