//! Undoing replication: from a plan that contains copies to the program that they are copies of.
//!
//! In: a program without instances, as read from a plan. Out: the program from which replication makes this one, with
//! as many `instances` as possible; none if its blocks are not copies of each other that differ exactly as
//! [`super::replicate`] makes them. Names and origins are those of the first copy. The order of rows is not compared:
//! whoever writes the plan again sees whether it is the same.

use super::copy_ops;
use crate::ir::{
    self, Action, Alias, BarrierId, Block, BlockId, Channel, ChannelId, List, Op, Operand,
    OriginId, Program, Rank, SemaphoreId, Where,
};

/// The largest number of copies that is tried.
const MOST_COPIES: u32 = 256;

/// The program from which replication makes this one, if there is one.
#[must_use]
pub fn undo(program: &Program) -> Option<Program> {
    let blocks = program.ranks.iter().map(|rank| rank.blocks.len() as u32);
    let most = blocks.filter(|blocks| *blocks > 0).min()?.min(MOST_COPIES);
    (2..=most).rev().find_map(|copies| {
        let ranks: Option<Vec<Rank>> =
            program.ranks.iter().map(|rank| Undo { rank, copies }.rank()).collect();
        let options = ir::Options { instances: copies, ..program.options.clone() };
        Some(Program { ranks: ranks?.into(), options, instances_done: 1, ..program.clone() })
    })
}

/// A rank that is assumed to consist of `copies` copies.
struct Undo<'p> {
    rank: &'p Rank,
    copies: u32,
}

impl Undo<'_> {
    fn rank(&self) -> Option<Rank> {
        let rank = self.rank;
        let every = self.copies as usize;
        let even = [rank.blocks.len(), rank.channels.len(), rank.semaphores.len()];
        if even.iter().any(|count| !count.is_multiple_of(every)) {
            return None;
        }
        let alias = match rank.alias {
            Some(alias) => Some(Alias { offset: self.part(alias.offset)?, ..alias }),
            None => None,
        };
        let channels: Option<Vec<Channel>> =
            rank.channels.iter().step_by(every).map(|channel| self.channel(channel)).collect();
        let barriers: Option<Vec<Vec<BlockId>>> = rank
            .barriers
            .iter()
            .step_by(every)
            .map(|blocks| blocks.iter().map(|id| self.part(id.0).map(BlockId)).collect())
            .collect();
        Some(Rank {
            input_chunks: self.part(rank.input_chunks)?,
            output_chunks: self.part(rank.output_chunks)?,
            scratch_chunks: self.part(rank.scratch_chunks)?,
            alias,
            regions: Vec::new(),
            channels: channels?.into(),
            semaphores: rank.semaphores.iter().step_by(every).cloned().collect(),
            barriers: barriers?.into(),
            blocks: self.blocks()?.into(),
            promises: rank.promises.clone(),
            begun: rank.begun.clone(),
            same: rank.same.clone(),
        })
    }

    /// What `number` was before it was multiplied by the number of copies; none if it is not a multiple.
    fn part(&self, number: u32) -> Option<u32> {
        number.is_multiple_of(self.copies).then_some(number / self.copies)
    }

    fn channel(&self, channel: &Channel) -> Option<Channel> {
        let partner = match channel.partner {
            Some(id) => Some(ChannelId(self.part(id.0)?)),
            None => None,
        };
        Some(Channel { partner, ..channel.clone() })
    }

    /// The first copy of each block, if the others are copies of it.
    fn blocks(&self) -> Option<Vec<Block>> {
        let all: Vec<&Block> = self.rank.blocks.iter().collect();
        all.chunks(self.copies as usize)
            .map(|copies| {
                let first = copies.first()?;
                let ops = self.ops(&first.ops)?;
                let is_copy = |(k, block): (u32, &&Block)| {
                    bare(&copy_ops(&ops, self.copies, k)) == bare(&block.ops)
                };
                let fits = (0..).zip(copies).all(is_copy);
                fits.then(|| Block { ops, ..(*first).clone() })
            })
            .collect()
    }

    fn ops(&self, ops: &[Op]) -> Option<Vec<Op>> {
        ops.iter().map(|op| Some(Op { action: self.action(&op.action)?, ..*op })).collect()
    }

    fn action(&self, action: &Action) -> Option<Action> {
        Some(match action {
            Action::Sync => Action::Sync,
            Action::Barrier { id, arrivals } => {
                Action::Barrier { id: BarrierId(self.part(id.0)?), arrivals: *arrivals }
            }
            Action::Signal(signal) => Action::Signal(self.signal(signal)?),
            Action::Wait(signal) => Action::Wait(self.signal(signal)?),
            Action::Flush(channels) => Action::Flush(self.channels(channels)?),
            Action::Acquire(semaphores) => Action::Acquire(self.semaphores(semaphores)?),
            Action::Release(semaphores) => Action::Release(self.semaphores(semaphores)?),
            Action::Transfer(transfer) => {
                let operands = |list: &[Operand]| -> Option<_> {
                    list.iter().map(|operand| self.operand(operand)).collect()
                };
                Action::Transfer(ir::Transfer {
                    sources: operands(&transfer.sources)?,
                    destinations: operands(&transfer.destinations)?,
                    channels: self.channels(&transfer.channels)?,
                    ..transfer.clone()
                })
            }
            Action::Pipeline(pipeline) => {
                Action::Pipeline(ir::Pipeline { body: self.ops(&pipeline.body)?, ..*pipeline })
            }
        })
    }

    fn signal(&self, signal: &ir::Signal) -> Option<ir::Signal> {
        Some(ir::Signal { channels: self.channels(&signal.channels)?, relaxed: signal.relaxed })
    }

    fn channels(&self, ids: &[ChannelId]) -> Option<List<ChannelId>> {
        ids.iter().map(|id| self.part(id.0).map(ChannelId)).collect()
    }

    fn semaphores(&self, ids: &[SemaphoreId]) -> Option<List<SemaphoreId>> {
        ids.iter().map(|id| self.part(id.0).map(SemaphoreId)).collect()
    }

    fn operand(&self, operand: &Operand) -> Option<Operand> {
        let place = match operand.place {
            Where::Switch(channel) => Where::Switch(ChannelId(self.part(channel.0)?)),
            Where::Local => Where::Local,
            Where::Remote(peer) => Where::Remote(peer),
        };
        Some(Operand { place, index: self.part(operand.index)?, ..*operand })
    }
}

/// Operations without their origins.
fn bare(ops: &[Op]) -> Vec<Op> {
    let action = |action: &Action| match action {
        Action::Pipeline(pipeline) => {
            Action::Pipeline(ir::Pipeline { body: bare(&pipeline.body), ..*pipeline })
        }
        Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Transfer(_) => action.clone(),
    };
    ops.iter()
        .map(|op| Op { action: action(&op.action), origin: OriginId(u32::MAX), sync: op.sync })
        .collect()
}
