//! The values in memory, where only representatives are followed: sums of input cells, as seen from the rank that holds
//! them.
//!
//! A cell of another rank is stored as its counterpart on the representative and the turn that leads from there; so is
//! an input cell in a sum. A represented rank holds what its representative holds, turned.

use super::cells::{Cells, Place};
use super::fold::Fold;
use super::turn::{Turn, TurnId};
use crate::ir::memory::home;
use crate::ir::run::Grain;
use crate::ir::{Buffer, Program, RankId, ReduceOp};
use crate::table::Id;
use std::rc::Rc;

/// A term of a sum: a cell of a rank's input, as it was at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Part {
    /// Its counterpart, numbered over all followed ranks.
    cell: u32,
    /// The turn that leads from there to it.
    by: TurnId,
    /// How often it is in the sum.
    count: u32,
}

/// What a cell holds.
#[derive(Clone, Debug, Default)]
pub(super) enum Value {
    /// Nothing was written.
    #[default]
    Nothing,
    /// A single part.
    One(Part),
    /// Several, each turned by this.
    Many(Rc<Vec<Part>>, TurnId),
}

/// Where values come from: the inputs of the ranks that are followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inputs<'a> {
    pub(super) program: &'a Program,
    pub(super) fold: &'a Fold,
    pub(super) grain: Grain,
}

impl Part {
    fn turned(self, turn: Turn, by: TurnId) -> Part {
        Part { by: turn.then(self.by, by), ..self }
    }
}

impl Value {
    /// The same, turned.
    pub(super) fn turned(&self, turn: Turn, by: TurnId) -> Value {
        match self {
            Value::Nothing => Value::Nothing,
            Value::One(part) => Value::One(part.turned(turn, by)),
            Value::Many(parts, more) => Value::Many(Rc::clone(parts), turn.then(*more, by)),
        }
    }

    /// The same value for cells that are further on by `cells` in their units.
    pub(super) fn further(&self, cells: u32) -> Value {
        let further = |part: &Part| Part { cell: part.cell + cells, ..*part };
        match self {
            Value::Nothing => Value::Nothing,
            Value::One(part) => Value::One(further(part)),
            Value::Many(parts, by) => {
                Value::Many(Rc::new(parts.iter().map(further).collect()), *by)
            }
        }
    }

    /// Its parts, ascending; none if it was never written.
    pub(super) fn parts(&self, turn: Turn) -> Vec<Part> {
        let mut parts: Vec<Part> = match self {
            Value::Nothing => Vec::new(),
            Value::One(part) => vec![*part],
            Value::Many(parts, by) => parts.iter().map(|part| part.turned(turn, *by)).collect(),
        };
        parts.sort_unstable();
        parts
    }

    /// Whether it equals another value, once it is turned.
    pub(super) fn is(&self, (turn, by): (Turn, TurnId), other: &Value) -> bool {
        match (self, other) {
            (Value::One(one), Value::One(other)) => one.turned(turn, by) == *other,
            (Value::Many(one, more), Value::Many(other, there))
                if turn.then(*more, by) == *there =>
            {
                Rc::ptr_eq(one, other) || one == other
            }
            (Value::Many(parts, _), Value::Many(others, _)) if parts.len() == others.len() => {
                self.turned(turn, by).parts(turn) == other.parts(turn)
            }
            (Value::Nothing, Value::Nothing) => true,
            (Value::Nothing | Value::One(_) | Value::Many(..), _) => false,
        }
    }
}

/// The reduction of values: a sum adds up how often each part is in the values, a minimum or maximum does not.
pub(super) fn combined(turn: Turn, op: ReduceOp, values: &[Value]) -> Value {
    if let [single] = values {
        return single.clone();
    }
    merged(values.iter().flat_map(|value| value.parts(turn)).collect(), |a, b| match op {
        ReduceOp::Sum => a.saturating_add(b),
        ReduceOp::Min | ReduceOp::Max => a.max(b),
    })
}

fn merged(mut parts: Vec<Part>, both: impl Fn(u32, u32) -> u32) -> Value {
    parts.sort_unstable();
    parts.dedup_by(|next, kept| {
        let same = (next.cell, next.by) == (kept.cell, kept.by);
        if same {
            kept.count = both(kept.count, next.count);
        }
        same
    });
    match parts.as_slice() {
        [] => Value::Nothing,
        [one] => Value::One(*one),
        _ => Value::Many(Rc::new(parts), 0),
    }
}

/// The sum of cells of input, each as often as it is given.
pub(super) fn sum(mut cells: impl Iterator<Item = Part>) -> Value {
    match (cells.next(), cells.next()) {
        (Some(single), None) => Value::One(single),
        (one, other) => {
            merged(one.into_iter().chain(other).chain(cells).collect(), u32::saturating_add)
        }
    }
}

impl Inputs<'_> {
    /// What a place that was never written holds.
    pub(super) fn given(&self, place: Place) -> Value {
        let Some(rank) = self.program.ranks.lookup(place.rank) else { return Value::Nothing };
        let (buffer, first) = home(rank.alias, Buffer::Input, 0);
        let (chunk, _) = self.grain.unit(place.cell);
        let inside = (first..first + u64::from(rank.input_chunks)).contains(&chunk);
        if place.buffer == buffer && inside { Value::One(self.part(place)) } else { Value::Nothing }
    }

    /// What a place holds.
    pub(super) fn held(&self, cells: &[Cells], place: Place) -> Value {
        let (home, by) = self.fold.home(place);
        let cell = cells.get(home.rank.index());
        match cell.and_then(|cells| cells.get(home.buffer, home.cell)).map(|cell| &cell.value) {
            Some(Value::Nothing) | None => self.given(place),
            Some(value) => value.turned(self.fold.turn(), by),
        }
    }

    /// The place of a cell of a buffer.
    pub(super) fn place(&self, rank: RankId, buffer: Buffer, cell: u64) -> Place {
        let alias = self.program.ranks.lookup(rank).and_then(|rank| rank.alias);
        let (buffer, first) = home(alias, buffer, 0);
        Place { rank, buffer, cell: self.grain.cells(first) + cell }
    }

    /// A cell of input as a part.
    pub(super) fn part(&self, place: Place) -> Part {
        let (home, by) = self.fold.home(place);
        let before = self.program.ranks.iter().take(home.rank.index());
        let chunks = before.map(|rank| u64::from(rank.input_chunks.max(rank.output_chunks)));
        Part { cell: (self.grain.cells(chunks.sum()) + home.cell) as u32, by, count: 1 }
    }
}
