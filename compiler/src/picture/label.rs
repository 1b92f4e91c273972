//! The text in the boxes.

use crate::bytes;
use crate::check::names;
use crate::ir::{
    Action, Channel, ChannelId, Op, Operand, Program, RankId, Semaphore, SemaphoreId, Signal,
    Transfer, Where,
};
use crate::table::{Id, Table};

/// An operation of a block.
pub(super) fn operation(program: &Program, rank: RankId, op: &Op) -> Vec<String> {
    let Some(own) = program.ranks.lookup(rank) else { return Vec::new() };
    let channels = |list: &[ChannelId]| ends(&own.channels, list);
    match &op.action {
        Action::Sync => vec!["sync".to_owned()],
        Action::Barrier { .. } => vec!["barrier".to_owned()],
        Action::Signal(signal) => told("signal", signal, &channels(&signal.channels)),
        Action::Wait(signal) => told("wait", signal, &channels(&signal.channels)),
        Action::Flush(list) => vec![format!("flush {}", channels(list))],
        Action::Acquire(list) => vec![format!("acquire {}", counters(&own.semaphores, list))],
        Action::Release(list) => vec![format!("release {}", counters(&own.semaphores, list))],
        Action::Transfer(transfer) => moved(program, rank, transfer),
        Action::Pipeline(pipeline) => {
            let mut lines = vec![format!("every {}", bytes::text(pipeline.unit))];
            lines.extend(pipeline.body.iter().flat_map(|op| operation(program, rank, op)));
            lines
        }
    }
}

/// What a proxy does for an operation.
pub(super) fn request(program: &Program, rank: RankId, op: &Op) -> Vec<String> {
    match &op.action {
        Action::Transfer(transfer) => {
            let mut lines = vec![
                format!("reads {}", operands(program, rank, &transfer.sources)),
                format!("writes {}", operands(program, rank, &transfer.destinations)),
            ];
            lines.extend(super::event::is_followed_by_a_signal(op).then(|| "signals".to_owned()));
            lines
        }
        Action::Pipeline(pipeline) => {
            pipeline.body.iter().flat_map(|op| request(program, rank, op)).collect()
        }
        Action::Signal(_) => vec!["signals".to_owned()],
        Action::Flush(_) => vec!["is done".to_owned()],
        Action::Sync
        | Action::Barrier { .. }
        | Action::Wait(_)
        | Action::Acquire(_)
        | Action::Release(_) => Vec::new(),
    }
}

fn told(word: &str, signal: &Signal, channels: &str) -> Vec<String> {
    let relaxed = if signal.relaxed { " relaxed" } else { "" };
    vec![format!("{word} {channels}{relaxed}")]
}

fn moved(program: &Program, rank: RankId, transfer: &Transfer) -> Vec<String> {
    vec![
        format!("{} {}", transfer.verb.word(), operands(program, rank, &transfer.sources)),
        format!("→ {}", operands(program, rank, &transfer.destinations)),
    ]
}

fn operands(program: &Program, rank: RankId, operands: &[Operand]) -> String {
    few(operands.iter().map(|operand| {
        let (owner, of) = match operand.place {
            Where::Local => (rank, String::new()),
            Where::Remote(peer) => (peer, format!(" of {}", peer.0)),
            Where::Switch(_) => (rank, " of all".to_owned()),
        };
        let first = names::chunk(program, owner, operand.buffer, u64::from(operand.index));
        let more = if operand.size > 1 { format!("..+{}", operand.size) } else { String::new() };
        format!("{}{more}{of}", first.trim_matches('`'))
    }))
}

fn ends(channels: &Table<ChannelId, Channel>, list: &[ChannelId]) -> String {
    few(list.iter().filter_map(|id| Some(channels.lookup(*id)?.name.to_string())))
}

fn counters(semaphores: &Table<SemaphoreId, Semaphore>, list: &[SemaphoreId]) -> String {
    few(list.iter().filter_map(|id| Some(semaphores.lookup(*id)?.name.to_string())))
}

/// Up to three things; if there are more, the first one and how many more.
fn few(things: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = things.collect();
    match all.as_slice() {
        [first, _, _, _, ..] => format!("{first} and {} more", all.len() - 1),
        _ => all.join(", "),
    }
}

/// A rank, as in the heading of its columns.
pub(super) fn rank(rank: RankId) -> String {
    format!("rank {}", rank.index())
}
