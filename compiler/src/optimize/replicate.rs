//! Replication: `instances` copies of the program's operations side by side, each on its own part of every chunk.
//!
//! In: a program, whose options say how many copies to make. Out: a program with N times the chunks; chunk c becomes
//! the chunks from c * N to before c * N + N. In copy k:
//! - operand `b[i..+n]` becomes `b[i * N + k * n ..+ n]`;
//! - block, channel, semaphore and barrier x becomes x * N + k, so the copies of each are N consecutive rows;
//! - peers, rank groups, initial values, the size of a multimem group and a pipeline's `unit` stay.
//!
//! The copies know nothing of each other. That is correct only if no two of them touch a cell that one of them writes:
//! [`spread`] says when this holds, and cuts operands where that helps. With `replication = none` there is one copy.

pub mod spread;
mod undo;

use crate::diagnostic::Diagnostic;
use crate::ir::{
    self, Action, Alias, Block, BlockId, Channel, ChannelId, List, Op, Operand, Program, Promise,
    Rank, RankId, Region, SemaphoreId, Term, Where,
};
use std::sync::Arc;
pub use undo::undo;

/// Whether the copies would stay out of each other's way; if not, why.
///
/// # Errors
///
/// Two accesses that overlap, are not to the same chunks, and cannot be cut so
/// that they are; or counts that do not fit.
pub fn replicable(program: &Program) -> Result<(), Box<Diagnostic>> {
    spread::apart(program).map(|_| ())
}

/// How many copies are to be made.
#[must_use]
pub fn copies(program: &Program) -> u32 {
    match program.options.replication {
        ir::Replication::Interleaved if program.instances_done == 1 => {
            program.options.instances.max(1)
        }
        ir::Replication::Interleaved | ir::Replication::None => 1,
    }
}

/// The program with all its copies.
#[must_use]
pub fn replicate(mut program: Program) -> Program {
    let copies = copies(&program);
    if copies == 1 {
        return program;
    }
    let mut scaled: Vec<Scaled> = Vec::new();
    let ranks = program.ranks.entries().map(|(id, old)| {
        let known = scaled.iter().find(|known| Arc::ptr_eq(&known.old, &old.promises));
        let promises = known
            .map_or_else(|| scale_promises(&old.promises, copies), |known| Arc::clone(&known.new));
        if known.is_none() {
            scaled.push(Scaled { old: Arc::clone(&old.promises), new: Arc::clone(&promises) });
        }
        let same = old.same.iter().flat_map(|chunk| copied(*chunk, copies)).collect();
        Rank { promises, begun: Arc::clone(&old.begun), same, ..rank(&program, id) }
    });
    program.ranks = ranks.collect::<Vec<_>>().into();
    program.instances_done = copies;
    program
}

/// Promises that several ranks share, before and after scaling.
struct Scaled {
    old: Arc<[Promise]>,
    new: Arc<[Promise]>,
}

/// One rank with all its copies, but without the collective's promises.
#[must_use]
pub fn rank(program: &Program, id: RankId) -> Rank {
    let Some(rank) = program.ranks.lookup(id) else { return Rank::default() };
    let copies = copies(program);
    if copies == 1 {
        let (promises, begun, same) = (Arc::default(), Arc::default(), Arc::default());
        return Rank { promises, begun, same, ..rank.clone() };
    }
    let each = || 0..copies;
    Rank {
        input_chunks: rank.input_chunks.saturating_mul(copies),
        output_chunks: rank.output_chunks.saturating_mul(copies),
        scratch_chunks: rank.scratch_chunks.saturating_mul(copies),
        alias: rank
            .alias
            .map(|alias| Alias { offset: alias.offset.saturating_mul(copies), ..alias }),
        regions: rank.regions.iter().map(|region| scale_region(region, copies)).collect(),
        channels: rank
            .channels
            .iter()
            .flat_map(|channel| each().map(|k| copy_channel(channel, copies, k)))
            .collect(),
        semaphores: rank
            .semaphores
            .iter()
            .flat_map(|semaphore| each().map(|_| semaphore.clone()))
            .collect(),
        barriers: rank
            .barriers
            .iter()
            .flat_map(|blocks| each().map(|k| copy_barrier(blocks, copies, k)))
            .collect(),
        blocks: rank
            .blocks
            .iter()
            .flat_map(|block| each().map(|k| copy_block(block, copies, k)))
            .collect(),
        promises: Arc::default(),
        begun: Arc::default(),
        same: Arc::default(),
    }
}

fn scale_region(region: &Region, copies: u32) -> Region {
    let mut dimensions = region.dimensions.clone();
    dimensions.push((0..i64::from(copies)).collect());
    Region {
        name: Arc::clone(&region.name),
        offset: region.offset.saturating_mul(copies),
        dimensions,
    }
}

fn scale_promises(promises: &[Promise], copies: u32) -> Arc<[Promise]> {
    let part = |promise: &Promise, k: u32| Promise {
        chunk: promise.chunk.saturating_mul(copies).saturating_add(k),
        terms: promise.terms.iter().map(|term| scale_term(term, copies, k)).collect(),
    };
    promises.iter().flat_map(|promise| (0..copies).map(move |k| part(promise, k))).collect()
}

/// The chunks that a chunk becomes.
fn copied(chunk: u32, copies: u32) -> impl Iterator<Item = u32> {
    (0..copies).map(move |k| chunk.saturating_mul(copies).saturating_add(k))
}

fn scale_term(term: &Term, copies: u32, k: u32) -> Term {
    Term {
        chunk: term.chunk.saturating_mul(copies).saturating_add(k),
        chunk_step: term.chunk_step.saturating_mul(i32::try_from(copies).unwrap_or(i32::MAX)),
        ..*term
    }
}

fn copy_channel(channel: &Channel, copies: u32, k: u32) -> Channel {
    Channel {
        partner: channel.partner.map(|id| ChannelId(shift(id.0, copies, k))),
        ..channel.clone()
    }
}

fn copy_barrier(blocks: &[BlockId], copies: u32, k: u32) -> Vec<BlockId> {
    blocks.iter().map(|id| BlockId(shift(id.0, copies, k))).collect()
}

fn copy_block(block: &Block, copies: u32, k: u32) -> Block {
    Block {
        ops: copy_ops(&block.ops, copies, k),
        ..Block { name: Arc::clone(&block.name), ops: Vec::new(), ..*block }
    }
}

fn copy_ops(ops: &[Op], copies: u32, k: u32) -> Vec<Op> {
    ops.iter().map(|op| Op { action: copy_action(&op.action, copies, k), ..*op }).collect()
}

fn copy_action(action: &Action, copies: u32, k: u32) -> Action {
    match action {
        Action::Sync => Action::Sync,
        Action::Barrier { id, arrivals } => {
            Action::Barrier { id: ir::BarrierId(shift(id.0, copies, k)), arrivals: *arrivals }
        }
        Action::Signal(signal) => Action::Signal(copy_signal(signal, copies, k)),
        Action::Wait(signal) => Action::Wait(copy_signal(signal, copies, k)),
        Action::Flush(channels) => Action::Flush(copy_channels(channels, copies, k)),
        Action::Acquire(semaphores) => Action::Acquire(copy_semaphores(semaphores, copies, k)),
        Action::Release(semaphores) => Action::Release(copy_semaphores(semaphores, copies, k)),
        Action::Transfer(transfer) => Action::Transfer(copy_transfer(transfer, copies, k)),
        Action::Pipeline(pipeline) => Action::Pipeline(ir::Pipeline {
            body: copy_ops(&pipeline.body, copies, k),
            ..*pipeline
        }),
    }
}

fn copy_signal(signal: &ir::Signal, copies: u32, k: u32) -> ir::Signal {
    ir::Signal { channels: copy_channels(&signal.channels, copies, k), relaxed: signal.relaxed }
}

fn copy_channels(channels: &List<ChannelId>, copies: u32, k: u32) -> List<ChannelId> {
    channels.iter().map(|id| ChannelId(shift(id.0, copies, k))).collect()
}

fn copy_semaphores(semaphores: &List<SemaphoreId>, copies: u32, k: u32) -> List<SemaphoreId> {
    semaphores.iter().map(|id| SemaphoreId(shift(id.0, copies, k))).collect()
}

fn copy_transfer(transfer: &ir::Transfer, copies: u32, k: u32) -> ir::Transfer {
    ir::Transfer {
        verb: transfer.verb,
        sources: transfer.sources.iter().map(|operand| copy_operand(operand, copies, k)).collect(),
        destinations: transfer
            .destinations
            .iter()
            .map(|operand| copy_operand(operand, copies, k))
            .collect(),
        via: transfer.via,
        channels: copy_channels(&transfer.channels, copies, k),
        slice: transfer.slice,
        reduce: transfer.reduce,
    }
}

fn copy_operand(operand: &Operand, copies: u32, k: u32) -> Operand {
    let place = match operand.place {
        Where::Switch(channel) => Where::Switch(ChannelId(shift(channel.0, copies, k))),
        Where::Local => Where::Local,
        Where::Remote(peer) => Where::Remote(peer),
    };
    let index = operand.index.saturating_mul(copies).saturating_add(k.saturating_mul(operand.size));
    Operand { place, index, ..*operand }
}

fn shift(id: u32, copies: u32, k: u32) -> u32 {
    id.saturating_mul(copies).saturating_add(k)
}

#[cfg(test)]
mod tests;
