//! The arrows: which event comes before which event of another column.

use super::event::{Order, Scene, Step, Who, asks, signals, steps};
use super::schedule::{self, Counter};
use crate::ir::counter::flushes;
use crate::ir::memory::{packets, ranks_of};
use crate::ir::{
    Action, BarrierId, ChannelId, ChannelKind, Op, Operand, Program, Rank, RankId, SemaphoreId,
};
use crate::table::Table;
use std::collections::BTreeMap;

/// What an event gives or takes. Things with one name are matched in the order of a schedule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    /// Signals that arrive at a rank's end of a channel.
    Channel(RankId, ChannelId),
    /// A rank's semaphore.
    Semaphore(RankId, SemaphoreId),
}

/// Adds the arrows.
pub(super) fn link(program: &Program, scene: &mut Scene) {
    let mut counters: BTreeMap<Name, Counter> = BTreeMap::new();
    let mut meetings: BTreeMap<(RankId, BarrierId, usize), Vec<usize>> = BTreeMap::new();
    let mut packets = Packets::default();
    for (id, rank) in program.ranks.entries() {
        for (block, content) in rank.blocks.entries() {
            let mut met: BTreeMap<BarrierId, usize> = BTreeMap::new();
            for (step, _, op) in steps(block, &content.ops) {
                let Some(event) = scene.find(id, Who::Block(block), step) else { continue };
                if let Action::Barrier { id: barrier, .. } = &op.action {
                    let turn = met.entry(*barrier).or_default();
                    meetings.entry((id, *barrier, *turn)).or_default().push(event);
                    *turn += 1;
                }
                count(op, (id, rank), event, &mut counters);
                packets.add(op, (&program.ranks, id), event);
                requests(program, op, (id, rank), step, (event, scene, &mut counters));
            }
        }
    }
    for blocks in meetings.into_values() {
        for pair in blocks.windows(2) {
            if let [one, other] = pair {
                scene.arrow(*one, *other, Order::Meeting);
            }
        }
    }
    let times = schedule::times(scene, counters.values());
    let time = |(event, _): &(usize, bool)| times.get(*event).copied();
    for mut counter in counters.into_values() {
        counter.given.sort_by_key(time);
        counter.taken.sort_by_key(time);
        let taken = counter.taken.iter().skip(counter.initial);
        for ((from, strong), (to, strongly)) in counter.given.iter().zip(taken) {
            let order = if *strong && *strongly { Order::Memory } else { Order::Execution };
            scene.arrow(*from, *to, order);
        }
    }
    packets.link(scene);
}

/// What an operation itself gives and takes.
fn count(
    op: &Op,
    (id, rank): (RankId, &Rank),
    event: usize,
    counters: &mut BTreeMap<Name, Counter>,
) {
    let strong = |channel: &ChannelId, relaxed: bool| {
        let kind = rank.channels.lookup(*channel).map(|end| end.kind());
        !relaxed || kind == Some(ChannelKind::Port)
    };
    match &op.action {
        Action::Signal(signal) => {
            for channel in &signal.channels {
                if let Some(name) = arrival(rank, *channel).filter(|_| !is_port(rank, *channel)) {
                    let counter = counters.entry(name).or_default();
                    counter.given.push((event, !signal.relaxed));
                }
            }
        }
        Action::Wait(signal) => {
            for channel in &signal.channels {
                let counter = counters.entry(Name::Channel(id, *channel)).or_default();
                counter.taken.push((event, strong(channel, signal.relaxed)));
            }
        }
        Action::Acquire(list) => {
            for semaphore in list {
                let initial = rank.semaphores.lookup(*semaphore).map_or(0, |s| s.initial);
                let counter = counters.entry(Name::Semaphore(id, *semaphore)).or_default();
                counter.taken.push((event, true));
                counter.initial = usize::try_from(initial).unwrap_or_default();
            }
        }
        Action::Release(list) => {
            for semaphore in list {
                let counter = counters.entry(Name::Semaphore(id, *semaphore)).or_default();
                counter.given.push((event, true));
            }
        }
        Action::Sync
        | Action::Barrier { .. }
        | Action::Flush(_)
        | Action::Transfer(_)
        | Action::Pipeline(_) => {}
    }
}

/// What proxies do for an operation: they get its request, and signal; the block hears from them if it flushes.
fn requests(
    program: &Program,
    op: &Op,
    (id, rank): (RankId, &Rank),
    step: Step,
    (event, scene, counters): (usize, &mut Scene, &mut BTreeMap<Name, Counter>),
) {
    for channel in rank.channels.ids().filter(|channel| asks(program, rank, op, *channel)) {
        let Some(served) = scene.find(id, Who::Proxy(channel), step) else { continue };
        scene.arrow(event, served, Order::Memory);
        if let Some(name) = arrival(rank, channel) {
            let given = std::iter::repeat_n((served, true), signals(op, channel));
            counters.entry(name).or_default().given.extend(given);
        }
        let column = |event: usize| scene.events.get(event).map(|event| event.column);
        let is_next = column(event + 1) == column(event);
        if is_next && !flushes(&op.action).is_empty() {
            scene.arrow(served, event + 1, Order::Memory);
        }
    }
}

fn is_port(rank: &Rank, channel: ChannelId) -> bool {
    rank.channels.lookup(channel).is_some_and(|end| end.kind() == ChannelKind::Port)
}

/// Where signals over a channel arrive.
fn arrival(rank: &Rank, channel: ChannelId) -> Option<Name> {
    let end = rank.channels.lookup(channel)?;
    Some(Name::Channel(end.peer()?, end.partner?))
}

/// Who writes packets into chunks of scratch, and who reads them there.
#[derive(Default)]
struct Packets {
    written: Vec<(RankId, Operand, usize)>,
    read: Vec<(RankId, Operand, usize)>,
}

impl Packets {
    fn add(&mut self, op: &Op, (ranks, id): (&Table<RankId, Rank>, RankId), event: usize) {
        match &op.action {
            Action::Transfer(transfer) => {
                let (reads, writes) =
                    packets(transfer.verb, &transfer.sources, &transfer.destinations);
                self.read.extend(reads.iter().map(|operand| (id, **operand, event)));
                for operand in writes {
                    let owners = ranks_of(ranks, id, operand.place);
                    self.written.extend(owners.map(|owner| (owner, *operand, event)));
                }
            }
            Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_)
            | Action::Pipeline(_) => {}
        }
    }

    fn link(&self, scene: &mut Scene) {
        for (reader, read, to) in &self.read {
            for (owner, written, from) in &self.written {
                let meet = written.index < read.index + read.size
                    && read.index < written.index + written.size;
                if owner == reader && meet && from != to {
                    scene.arrow(*from, *to, Order::Packet);
                }
            }
        }
    }
}
