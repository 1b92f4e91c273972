//! The contents of a cell: contributions, each with how often it was added.

use crate::ir::ReduceOp;
use std::sync::Arc;

/// A cell of a rank's input, as it was at the start, in a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Contribution {
    /// The rank of the input; [`Contribution::NOBODY`] for memory that was never written.
    pub rank: u32,
    /// The cell: the chunk times the parts per chunk, plus the part; or the chunk divided by the chunks per cell.
    pub cell: u32,
    /// How often it is in the sum.
    pub count: u32,
}

impl Contribution {
    /// The rank number that means memory that nobody wrote.
    pub const NOBODY: u32 = u32::MAX;
}

/// The contents of a cell: contributions, ascending.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// It was never written.
    #[default]
    Nothing,
    /// A single contribution.
    One(Contribution),
    /// Several.
    Many(Arc<[Contribution]>),
}

const NOTHING: Contribution = Contribution { rank: Contribution::NOBODY, cell: 0, count: 1 };

impl Value {
    /// Whether the two are copies of one sum.
    pub(super) fn is_shared_with(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Many(one), Value::Many(other)) => Arc::ptr_eq(one, other),
            (Value::Nothing | Value::One(_) | Value::Many(_), _) => false,
        }
    }

    /// The contributions, ascending by rank and cell.
    #[must_use]
    pub fn contributions(&self) -> &[Contribution] {
        match self {
            Value::Nothing => std::slice::from_ref(&NOTHING),
            Value::One(one) => std::slice::from_ref(one),
            Value::Many(many) => many,
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.contributions() == other.contributions()
    }
}

impl Eq for Value {}

/// The reduction of values: a sum adds up how often each contribution is in the values, a minimum or maximum does not.
pub(super) fn combine(op: ReduceOp, values: &[&Value]) -> Value {
    let mut all: Vec<Contribution> =
        values.iter().flat_map(|value| value.contributions()).copied().collect();
    all.sort_by_key(|one| (one.rank, one.cell));
    all.dedup_by(|next, kept| {
        let same = (next.rank, next.cell) == (kept.rank, kept.cell);
        if same {
            kept.count = both(op, kept.count, next.count);
        }
        same
    });
    match all.as_slice() {
        [one] => Value::One(*one),
        _ => Value::Many(all.into()),
    }
}

fn both(op: ReduceOp, a: u32, b: u32) -> u32 {
    match op {
        ReduceOp::Sum => a.saturating_add(b),
        ReduceOp::Min | ReduceOp::Max => a.max(b),
    }
}
