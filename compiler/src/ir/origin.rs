//! Where operations and declarations come from: places, and the loop values and calls that led there.

use crate::source::{Place, Span};
use crate::table::{Table, id};
use std::sync::Arc;

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
    /// One row a place and situation.
    pub rows: Table<OriginId, Origin>,
    /// Loop values, as linked lists that rows share.
    pub bindings: Table<BindingId, Binding>,
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
        /// The next one out.
        outer: Option<BindingId>,
    },
    /// The statements inside stand in a procedure that is called here.
    Call {
        /// The call.
        span: Span,
        /// What surrounds the call.
        outer: Option<BindingId>,
    },
}

impl Origins {
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

    /// The place of an origin, then those of the calls that led there, from the innermost out.
    #[must_use]
    pub fn places(&self, origin: OriginId) -> Vec<Place> {
        let mut places = vec![self.place(origin)];
        let mut next = self.rows[origin].binding;
        while let Some(binding) = next.and_then(|id| self.bindings.lookup(id)) {
            match binding {
                Binding::Value { outer, .. } => next = *outer,
                Binding::Call { span, outer } => {
                    places.push(Place::Source(*span));
                    next = *outer;
                }
            }
        }
        places
    }
}
