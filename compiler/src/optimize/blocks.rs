//! Every block of a program rewritten, while the rest of the program can be looked at.

use crate::ir::{BlockId, Op, Program, RankId};

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
