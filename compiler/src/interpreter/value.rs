//! The contents of a cell: contributions, each with how often it was added, and by which operator they were combined.
//!
//! - The reduction of several values is made by its operator, and by those that made the values.
//! - A sum adds up how often each contribution is in the values; a minimum or maximum does not, since that of a value and
//!   itself is the value.

use super::tree::TreeId;
use crate::ir::ReduceOp;
use crate::ir::contribution::{Contribution, merge_contributions};
use std::sync::Arc;

/// By which operators a value was made of several others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Combined {
    /// By none: it is a copy.
    #[default]
    Never,
    /// By this one only.
    By(ReduceOp),
    /// By several.
    Mixed,
}

impl Combined {
    /// The operators of a value that is made of values with these.
    #[must_use]
    pub fn and(self, other: Combined) -> Combined {
        match (self, other) {
            (Combined::Never, one) | (one, Combined::Never) => one,
            (Combined::By(one), Combined::By(other)) if one == other => self,
            (Combined::By(_) | Combined::Mixed, _) => Combined::Mixed,
        }
    }

    /// Whether there is no other operator than this one.
    #[must_use]
    pub fn is_only(self, op: ReduceOp) -> bool {
        match self {
            Combined::Never => true,
            Combined::By(one) => one == op,
            Combined::Mixed => false,
        }
    }
}

/// The contents of a cell: contributions, ascending, and how they were combined.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// It was never written.
    #[default]
    Nothing,
    /// A single contribution.
    One(Contribution, Combined, TreeId),
    /// Several.
    Many(Arc<[Contribution]>, Combined, TreeId),
}

const NOTHING: Contribution = Contribution { rank: Contribution::NOBODY, cell: 0, count: 1 };

impl Value {
    /// Whether the two are copies of one reduction.
    pub(super) fn is_shared_with(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Many(one, ..), Value::Many(other, ..)) => Arc::ptr_eq(one, other),
            (Value::Nothing | Value::One(..) | Value::Many(..), _) => false,
        }
    }

    /// The contributions, ascending by rank and cell.
    #[must_use]
    pub fn contributions(&self) -> &[Contribution] {
        match self {
            Value::Nothing => std::slice::from_ref(&NOTHING),
            Value::One(one, ..) => std::slice::from_ref(one),
            Value::Many(many, ..) => many,
        }
    }

    /// How it was computed, where trees are kept.
    #[must_use]
    pub fn tree(&self) -> TreeId {
        match self {
            Value::Nothing => TreeId::default(),
            Value::One(.., tree) | Value::Many(.., tree) => *tree,
        }
    }

    /// The same, computed in this way.
    pub(super) fn with_tree(self, tree: TreeId) -> Value {
        match self {
            Value::Nothing => Value::Nothing,
            Value::One(one, combined, _) => Value::One(one, combined, tree),
            Value::Many(many, combined, _) => Value::Many(many, combined, tree),
        }
    }

    /// How they were combined.
    #[must_use]
    pub fn combined(&self) -> Combined {
        match self {
            Value::Nothing => Combined::Never,
            Value::One(_, combined, _) | Value::Many(_, combined, _) => *combined,
        }
    }
}

/// Values are equal if the same contributions were combined by the same operators, in whatever order.
impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.combined() == other.combined() && self.contributions() == other.contributions()
    }
}

impl Eq for Value {}

/// Whether two values whose trees were kept have the same bits for certain, whatever the inputs.
#[must_use]
pub fn same_bits(one: &Value, other: &Value) -> bool {
    let is_written =
        |value: &Value| value.contributions().iter().all(|part| part.rank != Contribution::NOBODY);
    let rounds = !matches!(one.combined(), Combined::By(ReduceOp::Min | ReduceOp::Max));
    let same = if rounds { one.tree() == other.tree() } else { one == other };
    same && is_written(one)
}

/// The reduction of several values.
pub(super) fn combine(op: ReduceOp, values: &[&Value]) -> Value {
    let mut all: Vec<Contribution> =
        values.iter().flat_map(|value| value.contributions()).copied().collect();
    merge_contributions(&mut all, op);
    let before = values.iter().fold(Combined::Never, |before, value| before.and(value.combined()));
    let combined = before.and(Combined::By(op));
    match all.as_slice() {
        [one] => Value::One(*one, combined, TreeId::default()),
        _ => Value::Many(all.into(), combined, TreeId::default()),
    }
}
