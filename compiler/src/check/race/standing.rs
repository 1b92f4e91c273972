//! The blocks that a run leaves blocked, and what each of them waits for.

use super::block::{Block, Blocks};
use super::guarantee::CounterKey;
use super::machine::Machine;
use crate::events::StepBuffer;
use crate::interpreter::{Awaits, Stuck};
use crate::ir::BlockId;

impl<'p> Machine<'p, '_> {
    /// The blocks that have not come to their end.
    pub(super) fn list_stuck(&self, blocks: &Blocks<'p>) -> Vec<Stuck> {
        let mut buffer = StepBuffer::default();
        let open = (0..blocks.started()).filter_map(|agent| blocks.get(agent));
        open.filter_map(|block| self.describe_stuck(block, &mut buffer)).collect()
    }

    fn describe_stuck(&self, block: &Block<'p>, buffer: &mut StepBuffer) -> Option<Stuck> {
        let id = BlockId(block.agent - self.agents.blocks(block.rank).start);
        let step = block.lower_step(self.events, buffer)?;
        let awaits = match (self.find_missing(step.takes), step.arrival) {
            (Some(CounterKey::Channel(_, channel)), _) => Awaits::Signal(channel),
            (Some(CounterKey::Semaphore(_, semaphore)), _) => Awaits::Semaphore(semaphore),
            (None, Some(arrival)) => Awaits::Barrier(self.events.barrier(arrival.meeting)?.barrier),
            (None, None) => Awaits::Packets,
        };
        let (rank, origin, site) = (block.rank, step.origin, step.site);
        Some(Stuck { rank, block: id, origin, site, awaits })
    }
}
