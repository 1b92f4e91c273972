//! The arrows: which event comes before which event of another column.

use super::event::{Order, OutlineRow, Scene, Who, outline_block};
use super::schedule::{self, Counter};
use crate::events::{
    self, CellForm, CounterId, Events, MeetingId, MemoryExtent, StepBuffer, Strength,
};
use crate::ir::RankId;
use crate::ir::counter::CounterKind;
use std::collections::BTreeMap;
use std::ops::Range;

/// A counter, in the order in which arrows are drawn: channels first.
type CounterKey = (bool, CounterId);

/// Adds the arrows.
pub(super) fn link(events: &Events, scene: &mut Scene) {
    let mut counters: BTreeMap<CounterKey, Counter> = BTreeMap::new();
    let mut meetings: BTreeMap<(MeetingId, usize), Vec<usize>> = BTreeMap::new();
    let mut packets = Packets::default();
    for (id, rank) in events.program().ranks.entries() {
        for block in rank.blocks.ids() {
            let mut met: BTreeMap<MeetingId, usize> = BTreeMap::new();
            for row in outline_block(events, id, block) {
                let Some(event) = scene.find(id, Who::Block(block), row.step) else { continue };
                for step in row.parts.iter().filter_map(StepBuffer::step) {
                    if let Some(arrival) = step.arrival {
                        let turn = met.entry(arrival.meeting).or_default();
                        meetings.entry((arrival.meeting, *turn)).or_default().push(event);
                        *turn += 1;
                    }
                    count_effects(events, &step, event, &mut counters);
                    packets.add(&step, event);
                }
                link_requests(events, id, &row, event, scene, &mut counters);
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
fn count_effects(
    events: &Events,
    step: &events::Step,
    event: usize,
    counters: &mut BTreeMap<CounterKey, Counter>,
) {
    for take in step.takes {
        let counter = counters.entry(key_of(events, take.counter)).or_default();
        counter.taken.push((event, take.strength == Strength::Strong));
        counter.initial = usize::try_from(events.initial_value(take.counter)).unwrap_or_default();
    }
    for give in step.gives {
        if let Some(id) = give.counter {
            let counter = counters.entry(key_of(events, id)).or_default();
            counter.given.push((event, give.strength == Strength::Strong));
        }
    }
}

fn key_of(events: &Events, id: CounterId) -> CounterKey {
    let kind = events.counter(id).map(|counter| counter.kind);
    (matches!(kind, Some(CounterKind::Semaphore(_))), id)
}

/// What proxies do for an operation: they get its request, and signal; the block hears from them if it waits for that.
fn link_requests(
    events: &Events,
    id: RankId,
    row: &OutlineRow,
    event: usize,
    scene: &mut Scene,
    counters: &mut BTreeMap<CounterKey, Counter>,
) {
    let Some(rank) = events.program().ranks.lookup(id) else { return };
    for channel in rank.channels.ids() {
        let mut requests = row.requests_to(channel).peekable();
        let Some(served) = scene.find(id, Who::Proxy(channel), row.step) else { continue };
        if requests.peek().is_none() {
            continue;
        }
        scene.arrow(event, served, Order::Memory);
        let mut is_awaited = false;
        for request in requests {
            if let Some(counter) = request.signal.and_then(|signal| signal.counter) {
                counters.entry(key_of(events, counter)).or_default().given.push((served, true));
            }
            is_awaited |= request.awaited;
        }
        let column = |event: usize| scene.events.get(event).map(|event| event.column);
        let is_next = column(event + 1) == column(event);
        if is_next && is_awaited {
            scene.arrow(served, event + 1, Order::Memory);
        }
    }
}

/// Who writes packets into chunks of scratch, and who waits for them there.
#[derive(Default)]
struct Packets {
    written: Vec<PacketChunks>,
    read: Vec<PacketChunks>,
}

/// Chunks of a rank's scratch that an event accesses as packets.
#[derive(Clone, PartialEq, Eq)]
struct PacketChunks {
    rank: RankId,
    chunks: Range<u64>,
    event: usize,
}

impl Packets {
    fn add(&mut self, step: &events::Step, event: usize) {
        for one in step.moves {
            let chunks = |extent: &MemoryExtent| PacketChunks {
                rank: extent.rank,
                chunks: extent.start..extent.start + one.elements,
                event,
            };
            let is_there = |extent: &&MemoryExtent| extent.form == CellForm::Packets;
            for read in step.reads(one).iter().filter(is_there).map(chunks) {
                // A single source that goes to several destinations is in several moves.
                if !self.read.contains(&read) {
                    self.read.push(read);
                }
            }
            self.written.extend(step.writes(one).iter().filter(is_there).map(chunks));
        }
    }

    fn link(&self, scene: &mut Scene) {
        for read in &self.read {
            for written in &self.written {
                let meet = written.chunks.start < read.chunks.end
                    && read.chunks.start < written.chunks.end;
                if written.rank == read.rank && meet && written.event != read.event {
                    scene.arrow(written.event, read.event, Order::Packet);
                }
            }
        }
    }
}
