//! Every block of a program rewritten, while the rest of the program can be looked at; and a block forevery rank.

use crate::ir::{Block, BlockId, Op, Origin, Program, RankId};

/// Replaces the operations of every block by what `rewrite` makes of them. The program that it sees has no blocks.
pub(super) fn rewrite(
    program: &mut Program,
    mut rewrite: impl FnMut(&Program, (RankId, BlockId), Vec<Op>) -> Vec<Op>,
) {
    let mut all: Vec<_> =
        program.ranks.iter_mut().map(|rank| std::mem::take(&mut rank.blocks)).collect();
    for (id, blocks) in program.ranks.ids().zip(&mut all) {
        let ids: Vec<BlockId> = blocks.ids().collect();
        for (block, which) in blocks.iter_mut().zip(ids) {
            block.ops = rewrite(program, (id, which), std::mem::take(&mut block.ops));
        }
    }
    for (rank, blocks) in program.ranks.iter_mut().zip(all) {
        rank.blocks = blocks;
    }
}

/// Gives each rank that has no block one without operations: the executor launches a kernel everywhere.
#[must_use]
pub(super) fn everywhere(mut program: Program) -> Program {
    let Some(place) = program.collective.place else { return program };
    if program.ranks.iter().all(|rank| !rank.blocks.is_empty()) {
        return program;
    }
    let origin = program.origins.rows.push(Origin { place, binding: None });
    for rank in program.ranks.iter_mut().filter(|rank| rank.blocks.is_empty()) {
        rank.blocks.push(Block { name: "idle".into(), ops: Vec::new(), origin });
    }
    program
}
