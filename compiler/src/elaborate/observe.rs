//! Records values during an elaboration, for tools that show them next to the text.
//!
//! In: the values of expressions and names, as they are evaluated. Out: for each place in the program's file the
//! different values on each rank, in order. The amount is bounded: [`MANY`] values per place and rank, [`MEMBERS`]
//! members per list, [`NOTES`] values in all.

use super::eval::Eval;
use super::value::{List, Value};
use crate::ir;
use crate::resolve::program::LocalId;
use crate::source::{FileId, Span};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// How many values are kept for one place on one rank.
pub const MANY: usize = 16;

/// How many members of a list are kept.
pub const MEMBERS: usize = 64;

/// How many values are kept in all.
pub const NOTES: usize = 1 << 17;

/// A value of an expression, or of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObservedValue {
    /// A number or a rank.
    Int(i64),
    /// A Boolean.
    Bool(bool),
    /// A text.
    Text(String),
    /// Bytes per second.
    Rate(i64),
    /// Nanoseconds.
    Time(i64),
    /// A slice of a buffer.
    Chunk(ir::Operand),
    /// A channel of the rank.
    Channel(ir::ChannelId),
    /// A semaphore of the rank.
    Semaphore(ir::SemaphoreId),
    /// A list: its first members, and how many it has.
    List(Vec<ObservedValue>, u64),
}

impl ObservedValue {
    fn each_operand(&mut self, change: &dyn Fn(&mut ir::Operand)) {
        match self {
            ObservedValue::Chunk(operand) => change(operand),
            ObservedValue::List(members, _) => {
                members.iter_mut().for_each(|member| member.each_operand(change));
            }
            ObservedValue::Int(_)
            | ObservedValue::Bool(_)
            | ObservedValue::Text(_)
            | ObservedValue::Rate(_)
            | ObservedValue::Time(_)
            | ObservedValue::Channel(_)
            | ObservedValue::Semaphore(_) => {}
        }
    }
}

/// The values that were recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// By place (of an expression, or where a name is bound) and by rank; no rank for what is evaluated once. In the
    /// order of evaluation, each value once.
    pub values: BTreeMap<(Span, Option<u32>), Vec<ObservedValue>>,
}

/// The values recorded so far.
#[derive(Debug)]
pub(super) struct Notes {
    file: FileId,
    values: FxHashMap<(Span, Option<u32>), Vec<ObservedValue>>,
    count: usize,
}

impl Notes {
    /// For the places of one file, still empty.
    pub(super) fn new(file: FileId) -> Notes {
        Notes { file, values: FxHashMap::default(), count: 0 }
    }

    /// For the same file, still empty.
    pub(super) fn apart(&self) -> Notes {
        Notes::new(self.file)
    }

    /// Takes over values that were recorded on one rank but hold on all of them.
    pub(super) fn once(&mut self, others: Notes) {
        self.count += others.count;
        let others = others.values.into_iter();
        self.values.extend(others.map(|((span, _), values)| ((span, None), values)));
    }

    /// Changes every operand, given the rank on which it was evaluated.
    pub(super) fn each_operand(&mut self, change: &impl Fn(ir::RankId, &mut ir::Operand)) {
        for ((_, rank), values) in &mut self.values {
            let here = ir::RankId(rank.unwrap_or_default());
            values
                .iter_mut()
                .for_each(|value| value.each_operand(&|operand| change(here, operand)));
        }
    }

    /// All values, by place and rank.
    pub(super) fn finish(self) -> Observed {
        Observed { values: self.values.into_iter().collect() }
    }

    fn add(&mut self, span: Span, rank: Option<i64>, value: &Value) {
        if span.file != self.file || self.count >= NOTES {
            return;
        }
        let known = self.values.entry((span, rank.map(|rank| rank as u32))).or_default();
        if known.len() >= MANY {
            return;
        }
        if let Some(value) = observed(value).filter(|value| !known.contains(value)) {
            known.push(value);
            self.count += 1;
        }
    }
}

impl Eval<'_, '_> {
    /// Records the value of an expression.
    pub(super) fn note(&mut self, span: Span, value: &Value) {
        if let Some(notes) = &mut self.shared.notes {
            notes.add(span, self.rank, value);
        }
    }

    /// Records the value of a name.
    pub(super) fn note_local(&mut self, local: LocalId, value: &Value) {
        if let (Some(notes), Some(name)) = (&mut self.shared.notes, self.names.lookup(local)) {
            notes.add(name.span, self.rank, value);
        }
    }
}

/// The value to keep. Nothing is kept for blocks, which have no ids before all of them are known, or for buffers,
/// whose names say what they are.
fn observed(value: &Value) -> Option<ObservedValue> {
    Some(match value {
        Value::Unset | Value::Buffer(_) | Value::Block(_) => return None,
        Value::Int(value) => ObservedValue::Int(*value),
        Value::Bool(value) => ObservedValue::Bool(*value),
        Value::Str(text) => ObservedValue::Text(text.to_string()),
        Value::Rate(rate) => ObservedValue::Rate(*rate),
        Value::Time(time) => ObservedValue::Time(*time),
        Value::Chunk(chunk) => ObservedValue::Chunk(*chunk),
        Value::Channel(id) => ObservedValue::Channel(*id),
        Value::Semaphore(id) => ObservedValue::Semaphore(*id),
        Value::List(list) => members(list)?,
    })
}

fn members(list: &List) -> Option<ObservedValue> {
    let members: Option<Vec<ObservedValue>> =
        list.iter().take(MEMBERS).map(|member| observed(&member)).collect();
    Some(ObservedValue::List(members?, list.len().unsigned_abs()))
}
