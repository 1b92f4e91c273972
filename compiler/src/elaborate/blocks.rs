//! Thread blocks while their operations are collected, and the ids that they get at the end.
//!
//! A block exists on a rank once it is mentioned there. Ids follow the order of declaration, then the order of
//! first mention, and skip the ids that are pinned.

use super::domain::Domain;
use super::eval::{Eval, Evaluated};
use super::value::{Value, list_of};
use super::world::indexed;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir;
use crate::resolve::program::{BlockFamilyId, Index};
use crate::source::Span;
use crate::table::{Id, Table};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// The blocks of one rank, in order of first mention.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The state of each block.
    pub(super) rows: Vec<Row>,
    by_index: FxHashMap<(BlockFamilyId, SmallVec<[i64; 2]>), u32>,
    /// Barriers in order of first use: the rows of their blocks, ascending.
    pub(super) barriers: Vec<Vec<u32>>,
    barrier_ids: BTreeMap<Vec<u32>, u32>,
    /// Undeclared families that were named with an open index, such as `*`, and the first place where they
    /// were.
    left_open: BTreeMap<BlockFamilyId, Span>,
}

/// One block.
#[derive(Debug)]
pub(super) struct Row {
    family: BlockFamilyId,
    indices: SmallVec<[i64; 2]>,
    /// Its member number, if its family is declared.
    number: Option<u64>,
    /// Its operations; a barrier operation holds the row of the barrier.
    pub(super) ops: Vec<ir::Op>,
    /// The pipeline that the last operation belongs to.
    pub(super) pipeline: Option<u32>,
    origin: ir::OriginId,
}

/// The ids of blocks, and a conflict between them.
pub(super) struct Numbered {
    /// The row of the block with each id; none for a gap.
    pub(super) order: Vec<Option<u32>>,
    /// Two blocks with the same id: the id, and both rows.
    pub(super) collision: Option<(i64, u32, u32)>,
}

impl Blocks {
    /// The row of a block; a new block gets a new one.
    pub(super) fn row(
        &mut self,
        family: BlockFamilyId,
        indices: &[i64],
        number: Option<u64>,
        origin: ir::OriginId,
    ) -> u32 {
        let key = (family, SmallVec::from_slice(indices));
        if let Some(row) = self.by_index.get(&key) {
            return *row;
        }
        let row = self.rows.len() as u32;
        self.rows.push(Row {
            family,
            indices: key.1.clone(),
            number,
            ops: Vec::new(),
            pipeline: None,
            origin,
        });
        self.by_index.insert(key, row);
        row
    }

    /// The row of the barrier of these blocks, which must be ascending and without duplicates.
    pub(super) fn barrier(&mut self, blocks: Vec<u32>) -> u32 {
        if let Some(id) = self.barrier_ids.get(&blocks) {
            return *id;
        }
        let id = self.barriers.len() as u32;
        self.barriers.push(blocks.clone());
        self.barrier_ids.insert(blocks, id);
        id
    }

    /// The indices of a family's blocks that were mentioned, in order of first mention.
    fn mentioned(&self, family: BlockFamilyId) -> Vec<Vec<i64>> {
        self.rows
            .iter()
            .filter(|row| row.family == family)
            .map(|row| row.indices.to_vec())
            .collect()
    }

    /// Assigns the ids. `declared` gives the position of a family's declaration, `pins` the pinned ids by row.
    pub(super) fn number(
        &self,
        declared: &dyn Fn(BlockFamilyId) -> Option<usize>,
        pins: &FxHashMap<u32, i64>,
    ) -> Numbered {
        let mut order: BTreeMap<i64, u32> = BTreeMap::new();
        let mut collision = None;
        for (row, id) in pins {
            if let Some(other) = order.insert(*id, *row) {
                collision = Some((*id, other.min(*row), other.max(*row)));
            }
        }
        let mut rest: Vec<(u32, &Row)> =
            self.rows.iter().enumerate().map(|(i, row)| (i as u32, row)).collect();
        rest.retain(|(row, _)| !pins.contains_key(row));
        rest.sort_by_key(|(index, row)| match (declared(row.family), row.number) {
            (Some(position), Some(number)) => (0, position as u64, number),
            _ => (1, u64::from(*index), 0),
        });
        let mut next = 0;
        for (row, _) in rest {
            while order.contains_key(&next) {
                next += 1;
            }
            order.insert(next, row);
        }
        let last = order.keys().next_back().copied().unwrap_or(-1);
        Numbered { order: (0..=last).map(|id| order.get(&id).copied()).collect(), collision }
    }

    /// The finished blocks and barriers, by id. `name` gives each its name.
    pub(super) fn finish(
        self,
        order: &[Option<u32>],
        name: &dyn Fn(BlockFamilyId, &[i64]) -> String,
        hole: ir::OriginId,
    ) -> (Table<ir::BlockId, ir::Block>, Table<ir::BarrierId, Vec<ir::BlockId>>) {
        let mut ids = vec![ir::BlockId(0); self.rows.len()];
        for (id, row) in order.iter().enumerate() {
            if let Some(slot) = row.and_then(|row| ids.get_mut(row as usize)) {
                *slot = ir::BlockId::from_index(id);
            }
        }
        let barriers = self.barriers.iter().map(|rows| {
            let mut set: Vec<ir::BlockId> =
                rows.iter().filter_map(|row| ids.get(*row as usize).copied()).collect();
            set.sort_unstable();
            set
        });
        let barriers = barriers.collect();
        let mut rows: Vec<Option<Row>> = self.rows.into_iter().map(Some).collect();
        let blocks = order.iter().map(|row| {
            let row = row.and_then(|row| rows.get_mut(row as usize)).and_then(Option::take);
            match row {
                Some(row) => ir::Block {
                    name: name(row.family, &row.indices).into(),
                    ops: row.ops,
                    origin: row.origin,
                },
                None => ir::Block { name: "".into(), ops: Vec::new(), origin: hole },
            }
        });
        (blocks.collect(), barriers)
    }

    /// The family and the indices of a row.
    pub(super) fn identity(&self, row: u32) -> Option<(BlockFamilyId, &[i64])> {
        self.rows.get(row as usize).map(|row| (row.family, &*row.indices))
    }
}

impl<'a> Eval<'_, 'a> {
    /// `work`, `work[p, *]`: the blocks that these indices select.
    pub(super) fn block_members(
        &mut self,
        id: BlockFamilyId,
        indices: &'a [Index],
        span: Span,
    ) -> Evaluated<Value> {
        let family = &self.world.program.blocks[id];
        let domain = self.block_domain(id);
        let (tuples, several) = match &domain {
            Some(domain) => self.index_tuples(domain, indices)?,
            None => self.undeclared(id, indices, span)?,
        };
        let mut rows = Vec::with_capacity(tuples.len());
        for tuple in &tuples {
            rows.push(Value::Block(self.block_row(id, tuple, span)?));
        }
        let single = family.arity == 0;
        match (several && !single, rows.first()) {
            (false, Some(row)) => Ok(row.clone()),
            _ => Ok(Value::List(list_of(rows))),
        }
    }

    /// The members of a declared family of blocks.
    pub(super) fn block_domain(&self, id: BlockFamilyId) -> Option<Domain> {
        self.own.blocks.get(id.index()).and_then(Option::as_ref).map(|family| family.domain.clone())
    }

    /// The row of one block; if its family is declared, it must be a member.
    pub(super) fn block_row(
        &mut self,
        id: BlockFamilyId,
        indices: &[i64],
        span: Span,
    ) -> Evaluated<u32> {
        let number = match self.block_domain(id).map(|domain| domain.position(indices)) {
            Some(Ok(number)) => Some(number),
            None => None,
            Some(Err(_)) => {
                let name = &self.world.program.blocks[id].name;
                return Err(self.fail_at(String::new(), no_block(span, name, indices)));
            }
        };
        let (origin, before) = (self.origin, self.blocks.rows.len());
        let row = self.blocks.row(id, indices, number, origin);
        if let Some(open) = self.blocks.left_open.get(&id).filter(|_| row as usize == before) {
            let report = too_late(span, *open, &self.world.program.blocks[id].name, indices);
            self.shared.reports.add(self.rank, String::new(), report);
        }
        Ok(row)
    }

    /// The blocks of an undeclared family; for an open index, those that were mentioned so far.
    fn undeclared(
        &mut self,
        id: BlockFamilyId,
        indices: &'a [Index],
        span: Span,
    ) -> Evaluated<(Vec<Vec<i64>>, bool)> {
        let known = self.blocks.mentioned(id);
        if indices.is_empty() && self.world.program.blocks[id].arity == 0 {
            return Ok((vec![Vec::new()], true));
        }
        if !indices.is_empty() && indices.iter().all(|index| matches!(index, Index::At(_))) {
            return self.index_tuples(&Domain::Leaf, indices);
        }
        self.blocks.left_open.entry(id).or_insert(span);
        let mut kept = known;
        for (position, index) in indices.iter().enumerate() {
            let (allowed, open) = match index {
                Index::At(_) => {
                    (self.index_tuples(&Domain::Leaf, std::slice::from_ref(index))?.0, false)
                }
                Index::All(_) | Index::Whole(_) | Index::To(..) | Index::From(_) => {
                    (Vec::new(), true)
                }
            };
            kept.retain(|tuple| {
                open || tuple
                    .get(position)
                    .is_some_and(|value| allowed.iter().any(|one| one.first() == Some(value)))
            });
        }
        Ok((kept, true))
    }
}

fn too_late(span: Span, open: Span, name: &str, indices: &[i64]) -> Diagnostic {
    let block = indexed(name, indices);
    Diagnostic::new(Code::W0302, span, format!("block `{block}` is opened too late to be included"))
        .label("opened here")
        .and(open, format!("this includes only the blocks of `{name}` that were opened before it"))
        .help(format!("declare the family, `block {name}[..];`, before both"))
}

fn no_block(span: Span, name: &str, indices: &[i64]) -> Diagnostic {
    let block = indexed(name, indices);
    Diagnostic::new(Code::E0304, span, format!("there is no block `{block}` here"))
        .help(format!("the declaration of `{name}` says which blocks there are"))
}
