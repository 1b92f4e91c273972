//! The operations of a rank, each block reopened after each barrier.

use super::names::Names;
use super::ops::{self, Context};
use super::page::Page;
use crate::ir::weave::{Piece, weave};
use crate::ir::{Block, BlockId, Program, Rank, RankId};
use std::collections::BTreeSet;

/// Adds a rank's operations.
pub(super) fn rank(program: &Program, names: &Names, id: RankId, rank: &Rank, page: &mut Page) {
    if rank.blocks.iter().all(is_hole) {
        return;
    }
    page.push(&format!("\n    if rank == {} {{\n", id.0));
    for (block, row) in rank.blocks.entries().filter(|(_, row)| row.ops.is_empty() && !is_hole(row))
    {
        page.push(&format!("        block b[{}] {{}}{}\n", block.0, name(row)));
    }
    let context = Context { program, names, rank: id };
    let mut writer = Writer { context, rank, told: BTreeSet::new(), page };
    weave(rank).iter().for_each(|piece| writer.piece(piece, 8));
    page.push("    }\n");
}

/// Whether a block only fills an id that no block of the source has.
fn is_hole(block: &Block) -> bool {
    block.name.is_empty() && block.ops.is_empty()
}

fn name(block: &Block) -> String {
    if block.name.is_empty() { String::new() } else { format!("    // {}", block.name) }
}

/// Writes a rank's operations to the page.
struct Writer<'a, 'p> {
    context: Context<'a>,
    rank: &'a Rank,
    /// The blocks whose names in the source have been written.
    told: BTreeSet<BlockId>,
    page: &'p mut Page,
}

impl Writer<'_, '_> {
    fn piece(&mut self, piece: &Piece<'_>, indent: usize) {
        let margin = " ".repeat(indent);
        match piece {
            Piece::Block { block, ops } => {
                let row = self.rank.blocks.lookup(*block).filter(|_| self.told.insert(*block));
                let comment = row.map(name).unwrap_or_default();
                self.page.push(&format!("{margin}block b[{}] {{{comment}\n", block.0));
                ops.iter().for_each(|op| ops::op(&self.context, op, indent + 4, self.page));
                self.page.push(&format!("{margin}}}\n"));
            }
            Piece::Barrier { blocks, origin } => {
                origin.iter().for_each(|origin| self.page.mark(*origin));
                let blocks = ops::numbered("b", blocks.iter().map(|block| block.0));
                self.page.push(&format!("{margin}barrier {blocks};\n"));
            }
            Piece::Pipeline { pipeline, origin, body } => {
                origin.iter().for_each(|origin| self.page.mark(*origin));
                let (unit, chunks) = (pipeline.unit, pipeline.chunks);
                self.page.push(&format!("{margin}pipeline unit = {unit}, chunks = {chunks} {{\n"));
                body.iter().for_each(|piece| self.piece(piece, indent + 4));
                self.page.push(&format!("{margin}}}\n"));
            }
        }
    }
}
