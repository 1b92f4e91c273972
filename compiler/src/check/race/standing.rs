//! The blocks that a run leaves standing, and what each of them waits for.

use super::block::{Block, Blocks};
use super::machine::Machine;
use super::merged::Merged;
use crate::events::{InnerSite, Site};
use crate::interpreter::{Awaits, Stuck};
use crate::ir::windows::Windows;
use crate::ir::{Action, BlockId, Op};

impl<'p> Machine<'p, '_> {
    /// The blocks that have not come to their end.
    pub(super) fn standing(&self, merged: &'p Merged<'p>, blocks: &Blocks<'p>) -> Vec<Stuck> {
        let open = (0..blocks.started()).filter_map(|agent| blocks.get(agent));
        open.filter_map(|block| self.stuck(merged, block)).collect()
    }

    fn stuck(&self, merged: &'p Merged<'p>, block: &Block<'p>) -> Option<Stuck> {
        let id = BlockId(block.agent - self.agents.blocks(block.rank).start);
        let row = self.program.ranks.lookup(block.rank)?.blocks.lookup(id)?;
        let ops = merged.ops((block.rank, id), row);
        let site = find_site(ops, merged.windows().at(self.grain), u64::from(block.at))?;
        let op = block.step(self.program, 0)?.op;
        let awaits = self.awaits(block, op);
        let (rank, origin) = (block.rank, op.origin);
        Some(Stuck { rank, block: id, origin, site, awaits })
    }

    fn awaits(&self, block: &Block<'p>, op: &Op) -> Awaits {
        let missing = match &op.action {
            Action::Wait(signal) => {
                self.missing_signal(block.rank, &signal.channels).map(Awaits::Signal)
            }
            Action::Acquire(list) => self.missing_release(block.rank, list).map(Awaits::Semaphore),
            Action::Barrier { id, .. } => Some(Awaits::Barrier(*id)),
            Action::Sync
            | Action::Signal(_)
            | Action::Flush(_)
            | Action::Release(_)
            | Action::Transfer(_)
            | Action::Pipeline(_) => None,
        };
        missing.unwrap_or(Awaits::Packets)
    }
}

/// Where a step comes from, where pipelines are unrolled.
fn find_site(ops: &[Op], windows: Windows, step: u64) -> Option<Site> {
    let mut left = step;
    for (operation, op) in (0..).zip(ops) {
        let Some(pipeline) = op.pipeline() else {
            match left.checked_sub(1) {
                None => return Some(Site { operation, inner: None, part: 0 }),
                Some(less) => left = less,
            }
            continue;
        };
        let body = pipeline.body.len() as u64;
        let steps = body * windows.turns(pipeline);
        if left < steps {
            let inner = InnerSite { operation: (left % body) as u32, turn: (left / body) as u32 };
            return Some(Site { operation, inner: Some(inner), part: 0 });
        }
        left -= steps;
    }
    None
}
