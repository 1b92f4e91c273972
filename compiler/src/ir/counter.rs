//! Counters: the ends of channels, and semaphores. Which of them an operation takes from, and which it gives to.

use super::{Action, ChannelId, ChannelKind, Op, Program, RankId, SemaphoreId};

/// An end of a channel, or a semaphore, of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CounterKind {
    /// The end of a channel.
    Channel(ChannelId),
    /// A semaphore.
    Semaphore(SemaphoreId),
}

/// A counter, and the rank that takes from it.
pub type Owned = (RankId, CounterKind);

/// The counters that an operation takes from.
pub fn takes(action: &Action) -> impl Iterator<Item = CounterKind> + Clone + '_ {
    let (channels, semaphores): (&[ChannelId], &[SemaphoreId]) = match action {
        Action::Wait(signal) => (&signal.channels, &[]),
        Action::Acquire(list) => (&[], list),
        Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Flush(_)
        | Action::Release(_)
        | Action::Transfer(_)
        | Action::Pipeline(_) => (&[], &[]),
    };
    counters(channels, semaphores)
}

/// The counters that an operation gives to; of a channel, its own end.
pub fn gives(action: &Action) -> impl Iterator<Item = CounterKind> + Clone + '_ {
    let (channels, semaphores): (&[ChannelId], &[SemaphoreId]) = match action {
        Action::Signal(signal) => (&signal.channels, &[]),
        Action::Transfer(transfer) if transfer.verb.signals() => (&transfer.channels, &[]),
        Action::Release(list) => (&[], list),
        Action::Sync
        | Action::Barrier { .. }
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Transfer(_)
        | Action::Pipeline(_) => (&[], &[]),
    };
    counters(channels, semaphores)
}

/// The counters that an operation of a rank gives to: of a channel, the end that is waited on.
pub fn given(program: &Program, rank: RankId, op: &Op) -> impl Iterator<Item = Owned> {
    gives(&op.action).filter_map(move |counter| {
        let CounterKind::Channel(id) = counter else { return Some((rank, counter)) };
        let end = program.ranks.lookup(rank)?.channels.lookup(id)?;
        Some((end.peer()?, CounterKind::Channel(end.partner?)))
    })
}

/// The channels over which an operation signals or, over a port, puts.
#[must_use]
pub fn sends(action: &Action) -> &[ChannelId] {
    match action {
        Action::Signal(signal) => &signal.channels,
        Action::Transfer(transfer) if transfer.via == Some(ChannelKind::Port) => &transfer.channels,
        Action::Sync
        | Action::Barrier { .. }
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Transfer(_)
        | Action::Pipeline(_) => &[],
    }
}

/// The channels whose proxies get a request from an operation, if they are ports: it sends over them, or flushes them.
#[must_use]
pub fn asks(action: &Action) -> &[ChannelId] {
    if let Action::Flush(channels) = action { channels } else { sends(action) }
}

/// The channels whose proxies an operation waits for: what it and others have asked of them is done when it ends.
#[must_use]
pub fn flushes(action: &Action) -> &[ChannelId] {
    match action {
        Action::Flush(channels) => channels,
        Action::Transfer(transfer) if transfer.verb.flushes() => &transfer.channels,
        Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Transfer(_)
        | Action::Pipeline(_) => &[],
    }
}

fn counters<'a>(
    channels: &'a [ChannelId],
    semaphores: &'a [SemaphoreId],
) -> impl Iterator<Item = CounterKind> + Clone + 'a {
    let channels = channels.iter().map(|id| CounterKind::Channel(*id));
    channels.chain(semaphores.iter().map(|id| CounterKind::Semaphore(*id)))
}
