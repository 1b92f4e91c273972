//! The values of expressions during elaboration: numbers, lists, slices of memory, declared things.

use crate::ir;
use crate::resolve::program::BufferName;
use std::rc::Rc;

/// The value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// No value yet: a `let` that depends on declarations that have not been made.
    Unset,
    /// An integer or a rank.
    Int(i64),
    /// A Boolean.
    Bool(bool),
    /// Text.
    Str(Rc<str>),
    /// A slice of a buffer.
    Chunk(ir::Operand),
    /// A whole buffer.
    Buffer(BufferValue),
    /// A channel of this rank.
    Channel(ir::ChannelId),
    /// A semaphore of this rank.
    Semaphore(ir::SemaphoreId),
    /// A thread block of this rank, by the order in which it was first mentioned.
    Block(u32),
    /// A list.
    List(List),
}

/// A buffer, and whose memory it is in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BufferValue {
    /// Whose memory it is in.
    pub(super) place: ir::Where,
    /// Which buffer.
    pub(super) name: BufferName,
}

/// A list. The common forms do not store a [`Value`] for each member.
#[derive(Clone, Debug)]
pub(super) enum List {
    /// `start`, `start + step`, ..: `len` of them.
    Range {
        /// The first integer.
        start: i64,
        /// The difference between neighbors.
        step: i64,
        /// The number of integers.
        len: i64,
    },
    /// Integers.
    Ints(Rc<[i64]>),
    /// Anything.
    Values(Rc<[Value]>),
}

impl PartialEq for List {
    fn eq(&self, other: &List) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl List {
    /// How many members it has.
    pub(super) fn len(&self) -> i64 {
        match self {
            List::Range { len, .. } => *len,
            List::Ints(list) => list.len() as i64,
            List::Values(list) => list.len() as i64,
        }
    }

    /// The member at `index`.
    pub(super) fn get(&self, index: i64) -> Option<Value> {
        let at = usize::try_from(index).ok()?;
        match self {
            List::Range { start, step, len } if index < *len => {
                Some(Value::Int(start + step * index))
            }
            List::Range { .. } => None,
            List::Ints(list) => list.get(at).map(|value| Value::Int(*value)),
            List::Values(list) => list.get(at).cloned(),
        }
    }

    /// Its members, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Value> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// The first position of `value`.
    pub(super) fn position(&self, value: &Value) -> Option<i64> {
        match (self, value) {
            (List::Range { start, step, len }, Value::Int(value)) => {
                let distance = value.checked_sub(*start)?;
                if *step == 0 {
                    return (distance == 0 && *len > 0).then_some(0);
                }
                let index = distance / step;
                (distance % step == 0 && (0..*len).contains(&index)).then_some(index)
            }
            _ => self.iter().position(|member| member == *value).map(|index| index as i64),
        }
    }

    /// `self[0]`, `self[n]`, `self[2 n]`, ..; `n` is positive.
    pub(super) fn stepped(&self, n: i64) -> List {
        let len = self.len().div_euclid(n) + i64::from(self.len().rem_euclid(n) > 0);
        match self {
            List::Range { start, step, .. } => {
                List::Range { start: *start, step: step.saturating_mul(n), len }
            }
            List::Ints(list) => List::Ints(list.iter().copied().step_by(n as usize).collect()),
            List::Values(list) => List::Values(list.iter().step_by(n as usize).cloned().collect()),
        }
    }

    /// Its members from the last to the first.
    pub(super) fn reversed(&self) -> List {
        match self {
            List::Range { start, step, len } => {
                List::Range { start: start + step * (len - 1).max(0), step: -step, len: *len }
            }
            List::Ints(list) => List::Ints(list.iter().rev().copied().collect()),
            List::Values(list) => List::Values(list.iter().rev().cloned().collect()),
        }
    }

    /// The first integer and the count, if the members are consecutive and ascending; none for an empty list.
    pub(super) fn consecutive(&self) -> Option<(i64, i64)> {
        match self {
            List::Range { start, step, len } => {
                (*len == 1 || *len > 1 && *step == 1).then_some((*start, *len))
            }
            List::Ints(list) => {
                let ascending = list.windows(2).all(|pair| matches!(pair, [a, b] if *b == a + 1));
                let first = *list.first()?;
                ascending.then_some((first, list.len() as i64))
            }
            List::Values(list) => {
                let ints: Option<Rc<[i64]>> = list
                    .iter()
                    .map(|value| if let Value::Int(n) = value { Some(*n) } else { None })
                    .collect();
                List::Ints(ints?).consecutive()
            }
        }
    }
}

/// The list of these values; a list of integers is stored as such.
pub(super) fn list_of(values: Vec<Value>) -> Value {
    let ints: Option<Rc<[i64]>> = values
        .iter()
        .map(|value| if let Value::Int(n) = value { Some(*n) } else { None })
        .collect();
    Value::List(match ints {
        Some(ints) => List::Ints(ints),
        None => List::Values(values.into()),
    })
}
