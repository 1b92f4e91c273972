//! The values of expressions during elaboration: numbers, lists, slices of memory, declared things.
//!
//! The bytes that members of lists take are counted for as long as a list has them, so that they can be bounded.

use crate::ir;
use crate::resolve::program::BufferName;
use std::cell::Cell;
use std::ops::Deref;
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
    /// Bytes per second.
    Rate(i64),
    /// Nanoseconds.
    Time(i64),
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

impl Value {
    /// Whether it is a list that has more than so many members, with those of the lists in it. Lists may share members, and
    /// have far more of them than there are.
    pub(super) fn is_longer_than(&self, most: i64) -> bool {
        let mut left = most;
        !self.take_members(&mut left)
    }

    /// Takes its members from those that are left; false if there are not as many.
    fn take_members(&self, left: &mut i64) -> bool {
        let Value::List(list) = self else { return true };
        *left = left.saturating_sub(list.len());
        let nested = if let List::Values(members) = list { &***members } else { &[] };
        *left >= 0 && nested.iter().all(|member| member.take_members(left))
    }
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
    Ints(Rc<Members<i64>>),
    /// Anything.
    Values(Rc<Members<Value>>),
}

impl PartialEq for List {
    fn eq(&self, other: &List) -> bool {
        match (self, other) {
            // Two ranges may have more members than anyone can compare.
            (
                List::Range { start, step, len },
                List::Range { start: from, step: by, len: many },
            ) => len == many && (*len == 0 || start == from) && (*len < 2 || step == by),
            (List::Values(one), List::Values(other)) if Rc::ptr_eq(one, other) => true,
            _ => self.len() == other.len() && self.iter().eq(other.iter()),
        }
    }
}

thread_local! {
    /// The bytes of all [`Members`] of this thread. An elaboration stays on one.
    static STORED: Cell<u64> = const { Cell::new(0) };
}

/// How many bytes the members of lists take now.
pub(super) fn stored_bytes() -> u64 {
    STORED.get()
}

/// What a stored list takes besides its members: two allocations.
const LIST_BYTES: usize = 64;

/// The members of a list that are stored.
#[derive(Debug)]
pub(super) struct Members<T>(Box<[T]>);

impl<T> Members<T> {
    /// With what the list itself takes, which is more than the members of a short one.
    fn bytes(&self) -> u64 {
        (size_of_val::<[T]>(&self.0) + LIST_BYTES) as u64
    }
}

impl<T> From<Vec<T>> for Members<T> {
    fn from(members: Vec<T>) -> Members<T> {
        let members = Members(members.into_boxed_slice());
        STORED.set(STORED.get().saturating_add(members.bytes()));
        members
    }
}

impl<T> FromIterator<T> for Members<T> {
    fn from_iter<I: IntoIterator<Item = T>>(members: I) -> Members<T> {
        members.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T> Drop for Members<T> {
    fn drop(&mut self) {
        STORED.set(STORED.get().saturating_sub(self.bytes()));
    }
}

impl<T> Deref for Members<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl List {
    /// How many bytes its members take.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            List::Range { .. } => 0,
            List::Ints(list) => list.bytes(),
            List::Values(list) => list.bytes(),
        }
    }

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
            (List::Ints(list), Value::Int(value)) => {
                list.iter().position(|member| member == value).map(|index| index as i64)
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
            List::Ints(list) => {
                List::Ints(Rc::new(list.iter().copied().step_by(n as usize).collect()))
            }
            List::Values(list) => {
                List::Values(Rc::new(list.iter().step_by(n as usize).cloned().collect()))
            }
        }
    }

    /// Its members from the last to the first.
    pub(super) fn reversed(&self) -> List {
        match self {
            List::Range { start, step, len } => {
                List::Range { start: start + step * (len - 1).max(0), step: -step, len: *len }
            }
            List::Ints(list) => List::Ints(Rc::new(list.iter().rev().copied().collect())),
            List::Values(list) => List::Values(Rc::new(list.iter().rev().cloned().collect())),
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
            List::Values(list) => List::Ints(Rc::new(ints_of(list)?)).consecutive(),
        }
    }
}

/// The members of a list that is being made: integers, until there is something else.
#[derive(Debug, Default)]
pub(super) struct ListBuilder {
    ints: Vec<i64>,
    values: Vec<Value>,
}

impl ListBuilder {
    /// Adds a member.
    pub(super) fn push(&mut self, value: Value) {
        if let Value::Int(int) = value
            && self.values.is_empty()
        {
            self.ints.push(int);
            return;
        }
        let ints = std::mem::take(&mut self.ints);
        self.values.extend(ints.into_iter().map(Value::Int));
        self.values.push(value);
    }

    /// How many members there are.
    pub(super) fn len(&self) -> usize {
        self.ints.len() + self.values.len()
    }

    /// How many bytes they take.
    pub(super) fn bytes(&self) -> u64 {
        (size_of_val::<[i64]>(&self.ints) + size_of_val::<[Value]>(&self.values)) as u64
    }

    /// The list.
    pub(super) fn list(self) -> List {
        match self.values.is_empty() {
            true => List::Ints(Rc::new(self.ints.into())),
            false => List::Values(Rc::new(self.values.into())),
        }
    }
}

/// The list of these values; a list of integers is stored as such.
pub(super) fn list_of(values: Vec<Value>) -> List {
    match ints_of(&values) {
        Some(ints) => List::Ints(Rc::new(ints)),
        None => List::Values(Rc::new(values.into())),
    }
}

/// The integers that these values are; none if one of them is not.
fn ints_of(values: &[Value]) -> Option<Members<i64>> {
    let all = values.iter().all(|value| matches!(value, Value::Int(_)));
    let int = |value: &Value| if let Value::Int(n) = value { Some(*n) } else { None };
    all.then(|| values.iter().filter_map(int).collect())
}
