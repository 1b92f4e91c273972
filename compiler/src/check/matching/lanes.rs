//! Threads of one block that use one counter without meeting in between.
//!
//! Entry k of a list of channels or semaphores is thread k's, and nothing orders two threads of a block until they meet:
//! of `signal [a, b]; signal [b, a];` nobody knows which signal over `a` comes first.

use crate::check::race::step::{Step, steps};
use crate::ir::{self, Action, BlockId, ChannelId, ChannelKind, OriginId, SemaphoreId, Verb, run};
use crate::table::Id;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Two uses of a counter by two threads, in order.
pub(super) struct Unordered {
    /// The counter's name.
    pub(super) name: Arc<str>,
    /// What the threads do.
    pub(super) does: &'static str,
    /// Whose threads.
    pub(super) block: BlockId,
    /// Where the first one does.
    pub(super) first: OriginId,
    /// Where the second one does.
    pub(super) second: OriginId,
}

/// What is counted, and how it is used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Which {
    Signals(ChannelId),
    Waits(ChannelId),
    Acquires(SemaphoreId),
}

/// All such uses on a rank, but of what may be shared.
pub(super) fn unordered(
    program: &ir::Program,
    windows: &run::Windows,
    rank: &ir::Rank,
) -> Vec<Unordered> {
    let signalled = signalled(rank);
    let mut found = Vec::new();
    for (block, row) in rank.blocks.entries() {
        let mut last: BTreeMap<Which, (usize, OriginId)> = BTreeMap::new();
        for step in steps(program, windows, &row.ops, 1) {
            if step.joined || meets(&step) {
                last.clear();
            }
            for (thread, which) in uses(&signalled, step.op) {
                let second = step.op.origin;
                let before = last.insert(which, (thread, second));
                let Some((other, first)) = before.filter(|(other, _)| *other != thread) else {
                    continue;
                };
                debug_assert_ne!(other, thread, "those of one thread are in order");
                let Some((name, does)) = named(rank, which) else { continue };
                found.push(Unordered { name, does, block, first, second });
            }
        }
    }
    found
}

/// Whether an operation is a meeting, or has one before its threads use a counter.
fn meets(step: &Step) -> bool {
    match &step.op.action {
        Action::Sync | Action::Barrier { .. } => true,
        Action::Transfer(transfer) => {
            transfer.verb == Verb::ReadPutPackets && transfer.via == Some(ChannelKind::Port)
        }
        Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Pipeline(_) => false,
    }
}

/// Each counter that an operation uses, and by which thread. What is put over a port stands in a row with its signals.
fn uses(signalled: &[bool], op: &ir::Op) -> Vec<(usize, Which)> {
    match &op.action {
        Action::Signal(signal) => numbered(&signal.channels, Which::Signals),
        Action::Wait(signal) => numbered(&signal.channels, Which::Waits),
        Action::Acquire(list) => numbered(list, Which::Acquires),
        Action::Transfer(transfer) if transfer.via == Some(ChannelKind::Port) => {
            let all = numbered(&transfer.channels, Which::Signals).into_iter();
            let counted = |which: &Which| match which {
                Which::Signals(id) => signalled.get(id.index()) == Some(&true),
                Which::Waits(_) | Which::Acquires(_) => false,
            };
            all.filter(|(_, which)| counted(which)).collect()
        }
        Action::Transfer(_)
        | Action::Sync
        | Action::Barrier { .. }
        | Action::Flush(_)
        | Action::Release(_)
        | Action::Pipeline(_) => Vec::new(),
    }
}

fn numbered<T: Copy>(list: &[T], which: impl Fn(T) -> Which) -> Vec<(usize, Which)> {
    list.iter().map(|one| which(*one)).enumerate().collect()
}

/// Which channels anything signals over.
fn signalled(rank: &ir::Rank) -> Vec<bool> {
    let mut found = vec![false; rank.channels.len()];
    let mut mark = |channels: &[ChannelId]| {
        for id in channels {
            if let Some(one) = found.get_mut(id.index()) {
                *one = true;
            }
        }
    };
    for block in &rank.blocks {
        run::each_op(&block.ops, &mut |op| match &op.action {
            Action::Signal(signal) => mark(&signal.channels),
            Action::Transfer(transfer) => {
                if matches!(transfer.verb, Verb::PutWithSignal | Verb::PutWithSignalAndFlush) {
                    mark(&transfer.channels);
                }
            }
            Action::Sync
            | Action::Barrier { .. }
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_)
            | Action::Pipeline(_) => {}
        });
    }
    found
}

/// The name of a counter, and what is done with it; none where it may be shared.
fn named(rank: &ir::Rank, which: Which) -> Option<(Arc<str>, &'static str)> {
    let channel = |id| rank.channels.lookup(id).filter(|channel| !channel.shared);
    match which {
        Which::Signals(id) => Some((Arc::clone(&channel(id)?.name), "use")),
        Which::Waits(id) => Some((Arc::clone(&channel(id)?.name), "wait on")),
        Which::Acquires(id) => {
            let semaphore = rank.semaphores.lookup(id).filter(|semaphore| !semaphore.shared)?;
            Some((Arc::clone(&semaphore.name), "acquire"))
        }
    }
}
