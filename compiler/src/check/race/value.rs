//! The values in memory, where only representatives are followed: reductions of input cells, as seen from the rank that
//! holds them, and the operators that made them.
//!
//! A cell of another rank is stored as its counterpart on the representative and the turn that leads from there; so is
//! an input cell in a sum. A represented rank holds what its representative holds, turned.

use super::cells::{Cells, Place};
use super::fold::Fold;
use super::turn::{Turn, TurnId};
use crate::interpreter::Combined;
use crate::ir::grain::Grain;
use crate::ir::memory::home;
use crate::ir::{Buffer, Program, RankId, ReduceOp};
use crate::table::Id;
use std::rc::Rc;

/// A term of a reduction: a cell of a rank's input, as it was at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Part {
    /// Its counterpart, numbered over all followed ranks.
    cell: u32,
    /// The turn that leads from there to it.
    by: TurnId,
    /// How often it is in the reduction.
    count: u32,
}

/// What a cell holds.
#[derive(Clone, Debug, Default)]
pub(super) enum Value {
    /// Nothing was written.
    #[default]
    Nothing,
    /// A single part.
    One(Part, Combined),
    /// Several, each turned by this.
    Many(Rc<Vec<Part>>, TurnId, Combined),
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
            Value::One(part, combined) => Value::One(part.turned(turn, by), *combined),
            Value::Many(parts, more, combined) => {
                Value::Many(Rc::clone(parts), turn.then(*more, by), *combined)
            }
        }
    }

    /// The same value for cells that are further on by `cells` in their units.
    pub(super) fn further(&self, cells: u32) -> Value {
        let further = |part: &Part| Part { cell: part.cell + cells, ..*part };
        match self {
            Value::Nothing => Value::Nothing,
            Value::One(part, combined) => Value::One(further(part), *combined),
            Value::Many(parts, by, combined) => {
                Value::Many(Rc::new(parts.iter().map(further).collect()), *by, *combined)
            }
        }
    }

    /// Its parts, ascending; none if it was never written.
    pub(super) fn parts(&self, turn: Turn) -> Vec<Part> {
        let mut parts: Vec<Part> = match self {
            Value::Nothing => Vec::new(),
            Value::One(part, _) => vec![*part],
            Value::Many(parts, by, _) => parts.iter().map(|part| part.turned(turn, *by)).collect(),
        };
        parts.sort_unstable();
        parts
    }

    /// How it was combined.
    pub(super) fn combined(&self) -> Combined {
        match self {
            Value::Nothing => Combined::Never,
            Value::One(_, combined) | Value::Many(_, _, combined) => *combined,
        }
    }

    /// Whether it equals another value, once it is turned.
    pub(super) fn is(&self, turned: (Turn, TurnId), other: &Value) -> bool {
        self.combined() == other.combined() && self.has_parts_of(turned, other)
    }

    /// Whether it has the same parts as another value, once it is turned, however they were combined.
    pub(super) fn has_parts_of(&self, (turn, by): (Turn, TurnId), other: &Value) -> bool {
        match (self, other) {
            (Value::One(one, _), Value::One(other, _)) => one.turned(turn, by) == *other,
            (Value::Many(one, more, _), Value::Many(other, there, _))
                if turn.then(*more, by) == *there =>
            {
                Rc::ptr_eq(one, other) || one == other
            }
            (Value::Many(parts, ..), Value::Many(others, ..)) if parts.len() == others.len() => {
                self.turned(turn, by).parts(turn) == other.parts(turn)
            }
            (Value::Nothing, Value::Nothing) => true,
            (Value::Nothing | Value::One(..) | Value::Many(..), _) => false,
        }
    }
}

/// The reduction of values.
pub(super) fn combined(turn: Turn, op: ReduceOp, values: &[Value]) -> Value {
    if let [single] = values {
        return single.clone();
    }
    let before = values.iter().fold(Combined::Never, |before, value| before.and(value.combined()));
    let combined = before.and(Combined::By(op));
    merged(values.iter().flat_map(|value| value.parts(turn)).collect(), op, combined)
}

fn merged(mut parts: Vec<Part>, op: ReduceOp, combined: Combined) -> Value {
    parts.sort_unstable();
    parts.dedup_by(|next, kept| {
        let same = (next.cell, next.by) == (kept.cell, kept.by);
        if same {
            kept.count = op.add_counts(kept.count, next.count);
        }
        same
    });
    match parts.as_slice() {
        [] => Value::Nothing,
        [one] => Value::One(*one, combined),
        _ => Value::Many(Rc::new(parts), 0, combined),
    }
}

/// The reduction of cells of input.
pub(super) fn reduction(op: ReduceOp, mut cells: impl Iterator<Item = Part>) -> Value {
    match (cells.next(), cells.next()) {
        (Some(single), None) => Value::One(single, Combined::Never),
        (one, other) => {
            let all = one.into_iter().chain(other).chain(cells).collect();
            merged(all, op, Combined::By(op))
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
        match place.buffer == buffer && inside {
            true => Value::One(self.part(place), Combined::Never),
            false => Value::Nothing,
        }
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
