//! Ports as memory channels, for a machine on which every peer's memory is mapped and which has no proxy.
//!
//! In: a program whose joins are implied. Out: the same program without ports:
//! - a port channel becomes a memory channel, and the block itself does what went over the port, at once;
//! - `put_with_signal` becomes a `put` and a `signal`, and so does `put_with_signal_and_flush`, since a `put` that has
//!   returned is done; a `flush` becomes nothing;
//! - a signal over a port announces data, whatever its author wrote, so it is not relaxed;
//! - an author's `sync = ..` that keeps threads from meeting is dropped, since it relied on a single thread giving the
//!   proxy its orders; one that lets them meet becomes a `sync`. Without `auto_sync`, and in a block in which any
//!   operation keeps threads from meeting next to it, there is a `sync` on both sides of whatever the proxy did.

use super::blocks;
use crate::ir::{
    Action, ChannelId, ChannelKind, Link, List, Op, Program, Rank, Signal, SyncOverride, Transfer,
    Verb,
};

/// Replaces every port.
#[must_use]
pub fn ports(mut program: Program) -> Program {
    let is_port = |rank: &Rank| rank.channels.iter().any(|c| c.kind() == ChannelKind::Port);
    if !program.ranks.iter().any(is_port) {
        return program;
    }
    let auto = program.options.auto_sync;
    blocks::rewrite(&mut program, |program, (rank, _), ops| {
        let joins = !auto || ops.iter().any(keeps_apart);
        program.ranks.lookup(rank).map_or_else(Vec::new, |rank| line(rank, joins, ops))
    });
    for channel in program.ranks.iter_mut().flat_map(|rank| rank.channels.iter_mut()) {
        if let Link::Port(peer) = channel.link {
            channel.link = Link::Memory(peer);
        }
    }
    program
}

/// Whether the author keeps threads from meeting on at least one side of an operation, or of one in its body.
fn keeps_apart(op: &Op) -> bool {
    let inside = match &op.action {
        Action::Pipeline(pipeline) => pipeline.body.iter().any(keeps_apart),
        Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Transfer(_) => false,
    };
    inside || !matches!(op.sync, None | Some(SyncOverride::Both))
}

fn line(rank: &Rank, joins: bool, ops: Vec<Op>) -> Vec<Op> {
    ops.into_iter().flat_map(|op| replaced(rank, joins, op)).collect()
}

fn replaced(rank: &Rank, joins: bool, op: Op) -> Vec<Op> {
    let origin = op.origin;
    let plain = |action| Op { action, origin, sync: None };
    let actions = match op.action {
        Action::Signal(signal) if over_port(rank, &signal.channels) => {
            vec![Action::Signal(Signal { relaxed: false, ..signal })]
        }
        Action::Wait(wait) if over_port(rank, &wait.channels) => {
            vec![Action::Wait(Signal { relaxed: false, ..wait })]
        }
        Action::Flush(_) => Vec::new(),
        Action::Transfer(transfer) if transfer.via == Some(ChannelKind::Port) => moved(transfer),
        Action::Pipeline(mut pipeline) => {
            pipeline.body = line(rank, joins, pipeline.body);
            return vec![Op { action: Action::Pipeline(pipeline), ..op }];
        }
        action @ (Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Transfer(_)) => return vec![Op { action, ..op }],
    };
    let before = joins || matches!(op.sync, Some(SyncOverride::Before | SyncOverride::Both));
    let after = joins || matches!(op.sync, Some(SyncOverride::After | SyncOverride::Both));
    let mut ops: Vec<Op> = before.then(|| plain(Action::Sync)).into_iter().collect();
    for (k, action) in actions.into_iter().enumerate() {
        if joins && k > 0 {
            ops.push(plain(Action::Sync));
        }
        ops.push(plain(action));
    }
    ops.extend(after.then(|| plain(Action::Sync)));
    ops
}

/// The operations that replace one over ports.
fn moved(transfer: Transfer) -> Vec<Action> {
    let signal = transfer
        .verb
        .signals()
        .then(|| Action::Signal(Signal { channels: transfer.channels.clone(), relaxed: false }));
    let verb = if signal.is_some() { Verb::Put } else { transfer.verb };
    let put = Transfer { verb, via: Some(ChannelKind::Memory), ..transfer };
    std::iter::once(Action::Transfer(put)).chain(signal).collect()
}

fn over_port(rank: &Rank, channels: &List<ChannelId>) -> bool {
    let kind = |id: &ChannelId| rank.channels.lookup(*id).map(|channel| channel.kind());
    channels.iter().any(|id| kind(id) == Some(ChannelKind::Port))
}
