//! Groups: the blocks whose statements differ only in numbers.
//!
//! In: the program. Out: its groups, ordered by their first block. The text of the statements is kept once for a group;
//! of each block, only its numbers and what its statements come from.

use super::body::{self, Context};
use super::layout::Layout;
use super::statement::Statement;
use crate::ir::{OriginId, Program, RankId};
use std::collections::BTreeMap;
use std::ops::Range;

/// Blocks that can share a function.
pub(super) struct Group {
    /// The blocks' name in the source, without indices.
    pub(super) family: String,
    /// The statements of the first block.
    pub(super) statements: Vec<Statement>,
    /// Where the numbers of each statement begin among those of a block.
    starts: Vec<usize>,
    pub(super) blocks: Vec<Block>,
}

/// What is a block's own in a group.
pub(super) struct Block {
    pub(super) rank: RankId,
    pub(super) number: u32,
    /// The numbers in all holes of its statements.
    numbers: Vec<u32>,
    /// The operation that each statement does.
    origins: Vec<Option<OriginId>>,
}

impl Block {
    fn at(&self, hole: Range<usize>) -> &[u32] {
        self.numbers.get(hole).unwrap_or_default()
    }
}

/// The groups of a program.
pub(super) fn groups(program: &Program, layout: &Layout) -> Vec<Group> {
    let mut order: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (rank, row) in program.ranks.entries() {
        for (id, block) in row.blocks.entries() {
            let statements = body::body(Context { program, layout, rank }, &block.ops);
            let family = block.name.split('[').next().unwrap_or_default();
            let mut shape = family.to_owned();
            statements.iter().for_each(|statement| statement.shape(&mut shape));
            let own = Block {
                rank,
                number: id.0,
                numbers: statements.iter().flat_map(Statement::numbers).copied().collect(),
                origins: statements.iter().map(|statement| statement.origin).collect(),
            };
            let next = groups.len();
            let place = *order.entry(shape).or_insert(next);
            if place == next {
                groups.push(Group::new(family, statements));
            }
            if let Some(group) = groups.get_mut(place) {
                group.blocks.push(own);
            }
        }
    }
    groups
}

impl Group {
    fn new(family: &str, statements: Vec<Statement>) -> Group {
        let mut start = 0;
        let starts = statements.iter().map(|statement| {
            let own = start;
            start += statement.numbers().count();
            own
        });
        let starts = starts.collect();
        Group { family: family.to_owned(), statements, starts, blocks: Vec::new() }
    }

    /// The block numbers that its blocks have.
    pub(super) fn block_numbers(&self) -> impl Iterator<Item = u32> {
        self.blocks.iter().map(|block| block.number)
    }

    /// The numbers of one piece of these statements, which differ only in numbers: for each block, those of each statement.
    pub(super) fn lists(&self, statements: &[usize], piece: usize) -> Vec<&[u32]> {
        let hole = |at: &usize| {
            let pieces = &self.statements.get(*at)?.pieces;
            let before =
                pieces.iter().take(piece).map(|piece| piece.numbers().len()).sum::<usize>();
            let start = self.starts.get(*at)? + before;
            Some(start..start + pieces.get(piece)?.numbers().len())
        };
        let holes: Vec<_> = statements.iter().filter_map(hole).collect();
        let all = |block| holes.iter().map(move |hole| Block::at(block, hole.clone()));
        self.blocks.iter().flat_map(all).collect()
    }

    /// What these statements come from: for each block, the operation of each statement.
    pub(super) fn origins(&self, statements: &[usize]) -> impl Iterator<Item = Option<OriginId>> {
        let of = |block: &Block, at: &usize| block.origins.get(*at).copied().flatten();
        self.blocks.iter().flat_map(move |block| statements.iter().map(move |at| of(block, at)))
    }
}
