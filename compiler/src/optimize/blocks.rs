//! Rewriting every block of a program while the rest of the program can be read,
//! and adding a block to ranks without any.

use crate::ir::{Block, BlockId, Op, Origin, Program, RankId};

/// Replaces the operations of every block with what `rewrite` returns. The
/// program that is passed to `rewrite` has no blocks.
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

/// Gives each rank that has no block one without operations, since the executor launches a kernel on every rank.
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
