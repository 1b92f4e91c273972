//! Fusion: neighboring operations of a block become one operation of the executor.
//!
//! In: a program whose joins are implied. Out: the same program with fewer operations.
//!
//! Two neighbors are fused only where all of this holds:
//! - neither carries an author's `sync = ..`, and there is no `sync` between them;
//! - they are in the same block and at the same pipeline level, and have the same slice of a group;
//! - the threads meet before the first and after the second, or they do not meet between the two either. The threads
//!   cannot meet inside the fused operation, and the meeting there might be the only one between whatever precedes the
//!   two and the second, or between the first and whatever follows. Without a meeting between the two, only data
//!   operations are fused, and not over ports, since each entry of a list of channels or semaphores must stay with its
//!   thread;
//! - no thread needs to meet another between the first and the second: signals (waits, acquires, releases) of different
//!   channels order nothing among each other, and of two data operations the second reads what the first wrote only
//!   element by element, in which case one thread does both (`fuse::transfer`).
//!
//! `signal`, `wait`: same kind of channel, both relaxed or neither, disjoint channels, at most 8. `acquire`, `release`:
//! disjoint semaphores, at most 16. `put` and `signal` over the same ports: a `put_with_signal`, one request to each proxy
//! instead of two. Operations on a counter from which several blocks take ([`Sharing`]) are never fused: an author who
//! acquires one lock before asking for another means that order. Data: see [`transfer`].

pub mod transfer;

use super::blocks;
use crate::check::limits::{CHANNELS_OF_OPERATION, SEMAPHORES_OF_OPERATION};
use crate::ir::sharing::Sharing;
use crate::ir::{
    self, Action, ChannelId, ChannelKind, List, Op, Program, Signal, SyncOverride, Transfer, Verb,
};
use std::collections::BTreeSet;

/// Fuses neighbors, unless the program's options say not to.
#[must_use]
pub fn fuse(mut program: Program) -> Program {
    if !program.options.fuse || program.joins == ir::Joins::Explicit {
        return program;
    }
    // Only once: the result, printed as a program, must not ask for fusion again.
    program.options.fuse = false;
    let known = Known {
        reads: transfer::ScratchReads::of(&program),
        flushed: transfer::FlushedPuts::of(&program),
        sharing: Sharing::of(&program),
        keeps_bits: program.ranks.iter().any(|rank| !rank.same.is_empty()),
    };
    blocks::rewrite(&mut program, |program, (rank, block), ops| {
        let piped = matches!(ops.first(), Some(Op { action: Action::Pipeline(_), .. }));
        if ops.len() > 1 || piped {
            let met = meetings(program.options.auto_sync, &ops, (true, true));
            neighbours(program, &known, transfer::BlockSite { rank, block }, (ops, &met))
        } else {
            ops
        }
    });
    program
}

/// What fusion needs to know about the whole program.
struct Known {
    reads: transfer::ScratchReads,
    flushed: transfer::FlushedPuts,
    sharing: Sharing,
    /// Whether results must have the same bits on several ranks.
    keeps_bits: bool,
}

fn neighbours(
    program: &Program,
    known: &Known,
    here: transfer::BlockSite,
    (ops, met): (Vec<Op>, &[bool]),
) -> Vec<Op> {
    let meets = |gap: usize| met.get(gap).copied().unwrap_or(true);
    // What has been made so far, and where in the list each operation of it begins.
    let mut out: Vec<(Op, usize)> = Vec::with_capacity(ops.len());
    for (at, mut op) in ops.into_iter().enumerate() {
        if let Action::Pipeline(pipeline) = &mut op.action {
            let body = std::mem::take(&mut pipeline.body);
            let auto = program.options.auto_sync;
            let turn = body.last().zip(body.first()).is_none_or(|(a, b)| meet(auto, a, b));
            let met = meetings(auto, &body, (meets(at) && turn, meets(at + 1) && turn));
            pipeline.body = neighbours(program, known, here, (body, &met));
        }
        let mut begins = at;
        // A signal completes a put, and with it, perhaps, a list of puts.
        while let Some((last, start)) = out.last() {
            let apart = meets(*start) && meets(at + 1);
            let moved = is_spread(&op) && !meets(begins);
            let joined = (apart || moved).then(|| join(program, known, here, last, &op)).flatten();
            let Some(action) = joined else { break };
            let Some((last, start)) = out.pop() else { break };
            (op, begins) = (Op { action, ..last }, start);
        }
        out.push((op, begins));
    }
    out.into_iter().map(|(op, _)| op).collect()
}

/// Whether an operation is spread over the threads element by element, and not entry by entry.
fn is_spread(op: &Op) -> bool {
    op.transfer().is_some_and(|transfer| transfer.via != Some(ChannelKind::Port))
}

/// Whether the threads meet before each operation of a list and, as the last entry, after the list. `ends` gives the
/// first and the last entry. Empty where the threads always meet.
fn meetings(auto: bool, ops: &[Op], ends: (bool, bool)) -> Vec<bool> {
    if auto && ends == (true, true) && ops.iter().all(|op| op.sync.is_none()) {
        return Vec::new();
    }
    let gaps = ops.iter().zip(ops.iter().skip(1)).map(|(one, other)| meet(auto, one, other));
    std::iter::once(ends.0).chain(gaps).chain([ends.1]).collect()
}

/// Whether the threads meet between two operations, or at one of them.
fn meet(auto: bool, before: &Op, after: &Op) -> bool {
    use SyncOverride::{After, Before, Both, None};
    let is_meeting = |op: &Op| matches!(op.action, Action::Sync | Action::Barrier { .. });
    let wanted =
        matches!(before.sync, Some(After | Both)) || matches!(after.sync, Some(Before | Both));
    let unwanted =
        matches!(before.sync, Some(Before | None)) || matches!(after.sync, Some(After | None));
    is_meeting(before) || is_meeting(after) || wanted || auto && !unwanted
}

fn join(
    program: &Program,
    known: &Known,
    here: transfer::BlockSite,
    first: &Op,
    second: &Op,
) -> Option<Action> {
    if first.sync.is_some() || second.sync.is_some() {
        return None;
    }
    if [first, second].into_iter().any(|op| known.sharing.is_named(here.rank, &op.action)) {
        return None;
    }
    let rank = program.ranks.lookup(here.rank)?;
    if let (Action::Signal(a), Action::Signal(b)) = (&first.action, &second.action) {
        return signals(rank, a, b).map(Action::Signal);
    }
    if let (Action::Wait(a), Action::Wait(b)) = (&first.action, &second.action) {
        return signals(rank, a, b).map(Action::Wait);
    }
    if let (Action::Acquire(a), Action::Acquire(b)) = (&first.action, &second.action) {
        return disjoint(a, b, SEMAPHORES_OF_OPERATION).map(Action::Acquire);
    }
    if let (Action::Release(a), Action::Release(b)) = (&first.action, &second.action) {
        return disjoint(a, b, SEMAPHORES_OF_OPERATION).map(Action::Release);
    }
    if let (Action::Transfer(put), Action::Signal(signal)) = (&first.action, &second.action) {
        return put_and_signal(put, signal).map(Action::Transfer);
    }
    if let (Action::Transfer(a), Action::Transfer(b)) = (&first.action, &second.action) {
        let Known { reads, flushed, keeps_bits, .. } = known;
        let context = transfer::Context { program, reads, flushed, keeps_bits: *keeps_bits, here };
        return transfer::join(&context, a, b).map(Action::Transfer);
    }
    None
}

fn signals(rank: &ir::Rank, a: &Signal, b: &Signal) -> Option<Signal> {
    let kind = |signal: &Signal| {
        signal.channels.first().and_then(|id| rank.channels.lookup(*id)).map(ir::Channel::kind)
    };
    if a.relaxed != b.relaxed || kind(a) != kind(b) {
        return None;
    }
    Some(Signal {
        channels: disjoint(&a.channels, &b.channels, CHANNELS_OF_OPERATION)?,
        relaxed: a.relaxed,
    })
}

/// A put that signals over each of its ports, if the signals are those.
fn put_and_signal(put: &Transfer, signal: &Signal) -> Option<Transfer> {
    let ports: BTreeSet<ChannelId> = put.channels.iter().copied().collect();
    let signalled: BTreeSet<ChannelId> = signal.channels.iter().copied().collect();
    let once = ports.len() == put.channels.len() && put.channels.len() == signal.channels.len();
    let is_put = put.verb == Verb::Put && put.via == Some(ChannelKind::Port);
    (is_put && once && ports == signalled && put.slice.is_none())
        .then(|| Transfer { verb: Verb::PutWithSignal, ..put.clone() })
}

/// The two lists as one, if they have no member in common and together fit the limit.
fn disjoint<T: Copy + PartialEq>(a: &List<T>, b: &List<T>, limit: usize) -> Option<List<T>> {
    if a.len() + b.len() > limit || b.iter().any(|member| a.contains(member)) {
        return None;
    }
    Some(a.iter().chain(b).copied().collect())
}

#[cfg(test)]
mod tests;
