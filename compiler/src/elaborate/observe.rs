//! Values as an elaboration meets them, for tools that show them beside the text.
//!
//! In: what expressions are worth and what names are bound to, as they come. Out: for each place in the file of the
//! program the different values on each rank, in order. How much is kept is bounded: [`MANY`] values a place and rank,
//! [`MEMBERS`] members a list, [`NOTES`] values in all.

use super::eval::Eval;
use super::value::{List, Value};
use crate::ir;
use crate::resolve::program::LocalId;
use crate::source::{FileId, Span};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// How many values are kept of one place on one rank.
pub const MANY: usize = 16;

/// How many members are kept of a list.
pub const MEMBERS: usize = 64;

/// How many values are kept in all.
pub const NOTES: usize = 1 << 17;

/// A value of an expression, or of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Worth {
    /// A number or a rank.
    Int(i64),
    /// A Boolean.
    Bool(bool),
    /// A text.
    Text(String),
    /// A slice of a buffer.
    Chunk(ir::Operand),
    /// A channel of the rank.
    Channel(ir::ChannelId),
    /// A semaphore of the rank.
    Semaphore(ir::SemaphoreId),
    /// A list: its first members, and how many it has.
    List(Vec<Worth>, u64),
}

/// The values that were met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// By place, that of an expression or that where a name is bound, and by rank; without a rank what is evaluated
    /// once. In the order of evaluation, each value once.
    pub values: BTreeMap<(Span, Option<u32>), Vec<Worth>>,
}

/// What is noted during an elaboration.
#[derive(Debug)]
pub(super) struct Notes {
    file: FileId,
    values: FxHashMap<(Span, Option<u32>), Vec<Worth>>,
    count: usize,
}

impl Notes {
    /// Notes about the places of one file.
    pub(super) fn new(file: FileId) -> Notes {
        Notes { file, values: FxHashMap::default(), count: 0 }
    }

    /// Notes about the same file, as yet none.
    pub(super) fn apart(&self) -> Notes {
        Notes::new(self.file)
    }

    /// Takes over notes of what holds on all ranks, though it was evaluated on one.
    pub(super) fn once(&mut self, others: Notes) {
        self.count += others.count;
        let others = others.values.into_iter();
        self.values.extend(others.map(|((span, _), worths)| ((span, None), worths)));
    }

    /// The notes, in order.
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
        if let Some(worth) = worth(value).filter(|worth| !known.contains(worth)) {
            known.push(worth);
            self.count += 1;
        }
    }
}

impl Eval<'_, '_> {
    /// Notes what an expression is worth.
    pub(super) fn note(&mut self, span: Span, value: &Value) {
        if let Some(notes) = &mut self.shared.notes {
            notes.add(span, self.rank, value);
        }
    }

    /// Notes what a name is bound to.
    pub(super) fn note_local(&mut self, local: LocalId, value: &Value) {
        if let (Some(notes), Some(name)) = (&mut self.shared.notes, self.names.lookup(local)) {
            notes.add(name.span, self.rank, value);
        }
    }
}

/// A value as it is kept; blocks have no ids before all are known, and buffers are what their names say.
fn worth(value: &Value) -> Option<Worth> {
    Some(match value {
        Value::Unset | Value::Buffer(_) | Value::Block(_) => return None,
        Value::Int(value) => Worth::Int(*value),
        Value::Bool(value) => Worth::Bool(*value),
        Value::Str(text) => Worth::Text(text.to_string()),
        Value::Chunk(chunk) => Worth::Chunk(*chunk),
        Value::Channel(id) => Worth::Channel(*id),
        Value::Semaphore(id) => Worth::Semaphore(*id),
        Value::List(list) => members(list)?,
    })
}

fn members(list: &List) -> Option<Worth> {
    let members: Option<Vec<Worth>> =
        list.iter().take(MEMBERS).map(|member| worth(&member)).collect();
    Some(Worth::List(members?, list.len().unsigned_abs()))
}
