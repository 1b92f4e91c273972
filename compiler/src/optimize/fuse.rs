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
//!   operations are fused, since each entry of a list of channels or semaphores must stay with its thread;
//! - no thread needs to meet another between the first and the second: signals (waits, acquires, releases) of different
//!   channels order nothing among each other, and of two data operations the second reads what the first wrote only
//!   element by element, in which case one thread does both (`fuse::transfer`).
//!
//! `signal`, `wait`: same kind of channel, both relaxed or neither, disjoint channels, at most 8. `acquire`, `release`:
//! disjoint semaphores, at most 16. Operations on a counter from which several blocks take ([`Sharing`]) are never
//! fused: an author who acquires one lock before asking for another means that order. Data: see [`transfer`].

pub mod transfer;

use super::blocks;
use crate::check::limits::{CHANNELS_OF_OPERATION, SEMAPHORES_OF_OPERATION};
use crate::ir::sharing::Sharing;
use crate::ir::{self, Action, List, Op, Program, RankId, Signal, SyncOverride};

/// Fuses neighbors, unless the program's options say not to.
#[must_use]
pub fn fuse(mut program: Program) -> Program {
    if !program.options.fuse || program.joins == ir::Joins::Explicit {
        return program;
    }
    // Only once: the result, printed as a program, must not ask for fusion again.
    program.options.fuse = false;
    let known =
        Known { reads: transfer::ScratchReads::of(&program), sharing: Sharing::of(&program) };
    blocks::rewrite(&mut program, |program, (rank, _), ops| {
        let piped = matches!(ops.first(), Some(Op { action: Action::Pipeline(_), .. }));
        if ops.len() > 1 || piped {
            let met = meetings(program.options.auto_sync, &ops, (true, true));
            neighbours(program, &known, rank, (ops, &met))
        } else {
            ops
        }
    });
    program
}

/// What fusion needs to know about the whole program.
struct Known {
    reads: transfer::ScratchReads,
    sharing: Sharing,
}

fn neighbours(
    program: &Program,
    known: &Known,
    rank: RankId,
    (ops, met): (Vec<Op>, &[bool]),
) -> Vec<Op> {
    let meets = |gap: usize| met.get(gap).copied().unwrap_or(true);
    let mut out: Vec<Op> = Vec::with_capacity(ops.len());
    // Where in the list the last operation of `out` begins.
    let mut start = 0;
    for (at, mut op) in ops.into_iter().enumerate() {
        if let Action::Pipeline(pipeline) = &mut op.action {
            let body = std::mem::take(&mut pipeline.body);
            let auto = program.options.auto_sync;
            let turn = body.last().zip(body.first()).is_none_or(|(a, b)| meet(auto, a, b));
            let met = meetings(auto, &body, (meets(at) && turn, meets(at + 1) && turn));
            pipeline.body = neighbours(program, known, rank, (body, &met));
        }
        let apart = meets(start) && meets(at + 1);
        let moved = matches!(op.action, Action::Transfer(_)) && !meets(at);
        let last = out.last_mut().filter(|_| apart || moved);
        match last.and_then(|last| Some((join(program, known, rank, last, &op)?, last))) {
            Some((action, last)) => last.action = action,
            None => {
                out.push(op);
                start = at;
            }
        }
    }
    out
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

fn join(program: &Program, known: &Known, rank: RankId, first: &Op, second: &Op) -> Option<Action> {
    if first.sync.is_some() || second.sync.is_some() {
        return None;
    }
    if [first, second].into_iter().any(|op| known.sharing.is_named(rank, &op.action)) {
        return None;
    }
    let here = program.ranks.lookup(rank)?;
    if let (Action::Signal(a), Action::Signal(b)) = (&first.action, &second.action) {
        return signals(here, a, b).map(Action::Signal);
    }
    if let (Action::Wait(a), Action::Wait(b)) = (&first.action, &second.action) {
        return signals(here, a, b).map(Action::Wait);
    }
    if let (Action::Acquire(a), Action::Acquire(b)) = (&first.action, &second.action) {
        return disjoint(a, b, SEMAPHORES_OF_OPERATION).map(Action::Acquire);
    }
    if let (Action::Release(a), Action::Release(b)) = (&first.action, &second.action) {
        return disjoint(a, b, SEMAPHORES_OF_OPERATION).map(Action::Release);
    }
    if let (Action::Transfer(a), Action::Transfer(b)) = (&first.action, &second.action) {
        return transfer::join(&transfer::Context { program, reads: &known.reads, rank }, a, b)
            .map(Action::Transfer);
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

/// The two lists as one, if they have no member in common and together fit the limit.
fn disjoint<T: Copy + PartialEq>(a: &List<T>, b: &List<T>, limit: usize) -> Option<List<T>> {
    if a.len() + b.len() > limit || b.iter().any(|member| a.contains(member)) {
        return None;
    }
    Some(a.iter().chain(b).copied().collect())
}

#[cfg(test)]
mod tests;
