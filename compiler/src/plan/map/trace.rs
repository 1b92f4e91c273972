//! Making the map of a program whose operations come from source text.
//!
//! In: a lowered program, before its copies are made, and the source files. Out: a [`Map`] that is not bound to a plan
//! yet. Equal rows are stored once: ranks mostly have the same blocks, and loops bind the same values. The copies that
//! `instances` requests come from the same lines and are not stored at all.

use super::{Collective, File, Map, OriginRow, PlaceRow, VERSION, ValueRow, accepted, digest};
use crate::ir;
use crate::optimize::replicate;
use crate::source::{FileId, Place, SourceMap};
use rustc_hash::FxHashMap;
use std::hash::Hash;

impl Map {
    /// The map of a program.
    #[must_use]
    pub fn trace(program: &ir::Program, sources: &SourceMap) -> Map {
        let mut tracer = Tracer {
            program,
            sources,
            files: Rows::default(),
            places: Rows::default(),
            values: Rows::default(),
            known: FxHashMap::default(),
        };
        let mut blocks = Rows::default();
        let mut ranks = Vec::with_capacity(program.ranks.len());
        for rank in program.ranks.iter() {
            let of_rank = rank.blocks.iter().map(|block| blocks.row(tracer.block(block)));
            ranks.push(of_rank.collect());
        }
        let collective = &program.collective;
        Map {
            version: VERSION,
            plan: String::new(),
            collective: Collective {
                name: collective.name.clone(),
                arguments: collective.arguments.clone(),
            },
            instances: replicate::copies(program),
            files: tracer.files.rows.iter().map(|id| file(sources, *id)).collect(),
            places: tracer.places.rows,
            values: tracer.values.rows,
            blocks: blocks.rows,
            ranks,
            shared: accepted::rows(program),
        }
    }
}

/// Rows of a table, without duplicates.
struct Rows<T> {
    rows: Vec<T>,
    known: FxHashMap<T, u32>,
}

impl<T> Default for Rows<T> {
    fn default() -> Rows<T> {
        Rows { rows: Vec::new(), known: FxHashMap::default() }
    }
}

impl<T: Clone + Eq + Hash> Rows<T> {
    fn row(&mut self, value: T) -> u32 {
        let next = self.rows.len() as u32;
        let row = *self.known.entry(value.clone()).or_insert(next);
        if row == next {
            self.rows.push(value);
        }
        row
    }
}

struct Tracer<'a> {
    program: &'a ir::Program,
    sources: &'a SourceMap,
    files: Rows<FileId>,
    places: Rows<PlaceRow>,
    values: Rows<ValueRow>,
    /// The row of each binding that has one, plus one.
    known: FxHashMap<ir::BindingId, u32>,
}

impl Tracer<'_> {
    fn block(&mut self, block: &ir::Block) -> Vec<OriginRow> {
        let mut origins = Vec::with_capacity(block.ops.len() + 1);
        origins.push(self.origin(block.origin));
        origins.extend(ir::all_ops(&block.ops).map(|op| self.origin(op.origin)));
        origins
    }

    fn origin(&mut self, origin: ir::OriginId) -> OriginRow {
        let Some(row) = self.program.origins.rows.lookup(origin) else { return (u32::MAX, 0) };
        (self.place(row.place), self.value(row.binding))
    }

    /// The row of a place in source text; `u32::MAX`, which is no row, for any other place.
    fn place(&mut self, place: Place) -> u32 {
        let Place::Source(span) = place else { return u32::MAX };
        let Some(file) = self.sources.files.lookup(span.file) else { return u32::MAX };
        let (line, column) = file.line_column(span.start);
        let file = self.files.row(span.file);
        self.places.row((file, span.start, span.end, line, column))
    }

    /// The row of a loop value or call, plus one; 0 for none.
    fn value(&mut self, binding: Option<ir::BindingId>) -> u32 {
        let bindings = &self.program.origins.bindings;
        let mut chain = Vec::new();
        let (mut next, mut inner) = (binding, 0);
        while let Some((id, row)) = next.and_then(|id| Some((id, bindings.lookup(id)?))) {
            if let Some(known) = self.known.get(&id) {
                inner = *known;
                break;
            }
            chain.push((id, row));
            next = match row {
                ir::Binding::Value { outer, .. } | ir::Binding::Call { outer, .. } => *outer,
            };
        }
        for (id, row) in chain.into_iter().rev() {
            let row = match row {
                ir::Binding::Value { name, value, .. } => {
                    ValueRow::Value(inner, name.to_string(), *value)
                }
                ir::Binding::Call { span, .. } => {
                    ValueRow::Call(inner, self.place(Place::Source(*span)))
                }
            };
            inner = self.values.row(row) + 1;
            self.known.insert(id, inner);
        }
        inner
    }
}

fn file(sources: &SourceMap, id: FileId) -> File {
    let file = sources.files.lookup(id);
    let text = file.map_or("", |file| &file.text);
    File {
        name: file.map_or_else(String::new, |file| file.name.clone()),
        hash: digest(text.as_bytes()),
    }
}
