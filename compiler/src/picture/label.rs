//! The text in the boxes.

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
        // What is in its body is drawn instead.
        Action::Pipeline(_) => Vec::new(),
    }
}

/// What the proxy of a channel does for an operation; how often it signals is counted.
pub(super) fn request(
    program: &Program,
    rank: RankId,
    op: &Op,
    channel: ChannelId,
    signals: usize,
) -> Vec<String> {
    let signals = std::iter::repeat_n("signals".to_owned(), signals);
    match &op.action {
        Action::Transfer(transfer) => {
            let (sources, destinations) = over(transfer, channel);
            let reads = format!("reads {}", operands(program, rank, sources));
            let writes = format!("writes {}", operands(program, rank, destinations));
            [reads, writes].into_iter().chain(signals).collect()
        }
        Action::Signal(_) => signals.collect(),
        Action::Flush(_) => vec!["is done".to_owned()],
        Action::Sync
        | Action::Barrier { .. }
        | Action::Wait(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Pipeline(_) => Vec::new(),
    }
}

/// The sources and destinations of a put that go over one of its channels; the destinations have a channel each.
fn over(transfer: &Transfer, channel: ChannelId) -> (Vec<&Operand>, Vec<&Operand>) {
    let (sources, destinations) = (&transfer.sources, &transfer.destinations);
    let pairs = transfer.channels.iter().zip(destinations).enumerate();
    let (places, to): (Vec<usize>, Vec<&Operand>) = pairs
        .filter(|(_, (over, _))| **over == channel)
        .map(|(at, (_, operand))| (at, operand))
        .unzip();
    let each = sources.len() == destinations.len();
    let from = sources.iter().enumerate().filter(|(at, _)| !each || places.contains(at));
    (from.map(|(_, operand)| operand).collect(), to)
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

fn operands<'o>(
    program: &Program,
    rank: RankId,
    operands: impl IntoIterator<Item = &'o Operand>,
) -> String {
    few(operands.into_iter().map(|operand| {
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
