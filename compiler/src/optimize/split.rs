//! Splitting: operations that are too large for the executor become several.
//!
//! In: a program whose joins are implied. Out: a program in which every operation has the
//! shape and size of an operation of the executor, as far as one exists; the limit check
//! reports the rest. Operations that fit stay as they are.
//!
//! - `signal`, `wait`, `flush`: at most 8 channels, each once. `acquire`, `release`: at most 16 semaphores, each once.
//!   Each entry of these lists is handled by one thread, so no list is longer than the block has threads.
//! - Data: see [`transfer`].
//! - Of an author's `sync = ..`, the first part keeps what applies before the
//!   operation, the last what applies after it.

pub mod transfer;
mod undo;

use super::blocks;
use crate::check::limits::{CHANNELS_OF_OPERATION, SEMAPHORES_OF_OPERATION};
use crate::ir::{Action, Alias, List, Op, Program, RankId, Signal, SyncOverride};
pub use undo::undo;

/// Cuts every operation to the executor's sizes.
#[must_use]
pub fn split(mut program: Program) -> Program {
    blocks::rewrite(&mut program, |program, (rank, _), ops| all(limits(program, rank), ops));
    program
}

fn limits(program: &Program, rank: RankId) -> Limits {
    let threads = program.options.threads.max(1) as usize;
    let alias = program.ranks.lookup(rank).and_then(|rank| rank.alias);
    let (channels, semaphores) =
        (CHANNELS_OF_OPERATION.min(threads), SEMAPHORES_OF_OPERATION.min(threads));
    Limits { alias, channels, semaphores }
}

/// The sizes to which the operations of a block are cut.
#[derive(Clone, Copy)]
struct Limits {
    /// How the rank's buffers share memory.
    alias: Option<Alias>,
    /// The most channels in one operation.
    channels: usize,
    /// The most semaphores in one operation.
    semaphores: usize,
}

fn all(limits: Limits, ops: Vec<Op>) -> Vec<Op> {
    let mut out = Vec::with_capacity(ops.len());
    for mut op in ops {
        if let Action::Pipeline(pipeline) = &mut op.action {
            pipeline.body = all(limits, std::mem::take(&mut pipeline.body));
        }
        match pieces(limits, &op.action) {
            None => out.push(op),
            Some(actions) => replace(&op, actions, &mut out),
        }
    }
    out
}

/// The parts of an operation; none if it fits as it is.
fn pieces(limits: Limits, action: &Action) -> Option<Vec<Action>> {
    match action {
        Action::Signal(signal) => signals(limits, signal, Action::Signal),
        Action::Wait(signal) => signals(limits, signal, Action::Wait),
        Action::Flush(channels) => lists(channels, limits.channels, Action::Flush),
        Action::Acquire(semaphores) => lists(semaphores, limits.semaphores, Action::Acquire),
        Action::Release(semaphores) => lists(semaphores, limits.semaphores, Action::Release),
        Action::Transfer(transfer) => transfer::pieces(limits.alias, limits.channels, transfer)
            .map(|pieces| pieces.into_iter().map(Action::Transfer).collect()),
        Action::Sync | Action::Barrier { .. } | Action::Pipeline(_) => None,
    }
}

fn signals(limits: Limits, signal: &Signal, wrap: fn(Signal) -> Action) -> Option<Vec<Action>> {
    let runs = runs(&signal.channels, limits.channels)?;
    Some(
        runs.into_iter()
            .map(|channels| wrap(Signal { channels, relaxed: signal.relaxed }))
            .collect(),
    )
}

fn lists<T: Copy + PartialEq>(
    list: &List<T>,
    limit: usize,
    wrap: fn(List<T>) -> Action,
) -> Option<Vec<Action>> {
    Some(runs(list, limit)?.into_iter().map(wrap).collect())
}

/// The list in runs of at most `limit` members without duplicates; none if one run is enough.
fn runs<T: Copy + PartialEq>(list: &List<T>, limit: usize) -> Option<Vec<List<T>>> {
    let mut runs: Vec<List<T>> = Vec::new();
    for member in list {
        match runs.last_mut() {
            Some(run) if run.len() < limit && !run.contains(member) => run.push(*member),
            Some(_) | None => runs.push(List::from_slice(&[*member])),
        }
    }
    (runs.len() != 1).then_some(runs)
}

/// Adds the parts with the operation's origin. If there are none, an author's request that the threads meet remains.
fn replace(op: &Op, actions: Vec<Action>, out: &mut Vec<Op>) {
    let last = actions.len().saturating_sub(1);
    if actions.is_empty() && !matches!(op.sync, None | Some(SyncOverride::None)) {
        out.push(Op { action: Action::Sync, origin: op.origin, sync: None });
    }
    for (i, action) in actions.into_iter().enumerate() {
        out.push(Op {
            action,
            origin: op.origin,
            sync: op.sync.map(|sync| part(sync, i == 0, i == last)),
        });
    }
}

fn part(sync: SyncOverride, first: bool, last: bool) -> SyncOverride {
    let before = first && matches!(sync, SyncOverride::Before | SyncOverride::Both);
    let after = last && matches!(sync, SyncOverride::After | SyncOverride::Both);
    match (before, after) {
        (true, true) => SyncOverride::Both,
        (true, false) => SyncOverride::Before,
        (false, true) => SyncOverride::After,
        (false, false) => SyncOverride::None,
    }
}

#[cfg(test)]
mod tests;
