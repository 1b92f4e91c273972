//! What an operation that moves data becomes: lanes of elements, or requests to proxies.

use super::{Instr, Lane, Maker, Place, Push, Start};
use compiler::ir::{Buffer, ChannelKind, Link, Operand, RankId, Slice, Transfer, Verb, Where};
use compiler::table::Id as _;

/// The part of its operands that an operation covers.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    pub(super) slice: Option<Slice>,
    /// The first element, and the most elements.
    pub(super) window: Option<(u64, u64)>,
}

impl Maker<'_> {
    /// The instructions of a transfer; none if it leaves its buffer.
    pub(super) fn transfer(&self, rank: RankId, t: &Transfer, cut: Cut) -> Option<Vec<Instr>> {
        if t.via == Some(ChannelKind::Port) {
            return self.pushes(rank, t, cut);
        }
        let whole = match Motion::find(t.verb).joining {
            Joining::Pairs => false,
            Joining::ReadOnce => t.sources.len() == 1,
            Joining::Combined => true,
        };
        let mut lanes = Vec::new();
        if whole {
            lanes.push(self.reduction(rank, t, cut)?);
        } else {
            for (k, destination) in t.destinations.iter().enumerate() {
                let source = t.sources.get(k).or(t.sources.first())?;
                lanes.push(self.lane(rank, t, cut, &[*source], &[*destination])?);
            }
        }
        Some(vec![Instr::Move(lanes)])
    }

    fn reduction(&self, rank: RankId, t: &Transfer, cut: Cut) -> Option<Lane> {
        self.lane(rank, t, cut, &t.sources, &t.destinations)
    }

    fn lane(
        &self,
        rank: RankId,
        t: &Transfer,
        cut: Cut,
        sources: &[Operand],
        destinations: &[Operand],
    ) -> Option<Lane> {
        let payloads = Motion::find(t.verb).has_payloads();
        // Through the switch, integers have elements of 4 bytes, which belong to other threads than elements of 16.
        let mut all = sources.iter().chain(destinations);
        let switch = all.any(|operand| matches!(operand.place, Where::Switch(_)));
        let width = if payloads || switch { 1 } else { 2 };
        let whole = destinations.first()?.size;
        let range = self.range(whole, payloads, cut)?;
        let place = |operand: &Operand, packet: bool| {
            self.place(rank, operand, packet, &range, operand.size == whole)
        };
        let mut reads: Vec<(bool, Place)> = Vec::new();
        for (i, operand) in sources.iter().enumerate() {
            let packet = Motion::find(t.verb).reads.is_packets(i);
            reads.push((packet, place(operand, packet)?));
        }
        // The kernel waits for an element's packets before it reads plain memory.
        reads.sort_by_key(|(packet, _)| !packet);
        let mut writes = Vec::new();
        for (i, operand) in destinations.iter().enumerate() {
            writes.push(place(operand, Motion::find(t.verb).writes.is_packets(i))?);
        }
        Some(Lane {
            elements: ((range.end - range.start) / u64::from(width)) as u32,
            width,
            reads: reads.into_iter().map(|(_, place)| place).collect(),
            writes,
            reduce: t.reduce,
        })
    }

    fn pushes(&self, rank: RankId, t: &Transfer, cut: Cut) -> Option<Vec<Instr>> {
        let raw = Motion::find(t.verb).has_payloads();
        let first = self.code.ranks[rank.index()].channels;
        let mut pushes = Vec::new();
        let mut reads = Vec::new();
        for (k, destination) in t.destinations.iter().enumerate() {
            let source = t.sources.get(k).or(t.sources.first())?;
            let range = self.range(destination.size, raw, cut)?;
            let same = source.size == destination.size;
            let from = self.place(rank, source, raw, &range, same)?;
            let into = self.place(rank, destination, raw, &range, true)?;
            let cells = (range.end - range.start) as usize * if raw { 2 } else { 1 };
            let mut put = (*from.starts.first()?, *into.starts.first()?, cells);
            if !raw {
                // A plain put always addresses the first half of scratch.
                (put.0.half, put.1.half) = (0, 0);
            }
            pushes.push(Push {
                channel: first + t.channels.get(k)?.index(),
                put: Some(put),
                raw,
                observed: t.verb == Verb::ReadPutPackets,
                signal: matches!(t.verb, Verb::PutWithSignal | Verb::PutWithSignalAndFlush),
                flush: t.verb == Verb::PutWithSignalAndFlush,
            });
            if t.verb == Verb::ReadPutPackets && (k == 0 || t.sources.len() > 1) {
                reads.push(Lane {
                    elements: (range.end - range.start) as u32,
                    width: 1,
                    reads: vec![from],
                    writes: Vec::new(),
                    reduce: t.reduce,
                });
            }
        }
        if reads.is_empty() {
            return Some(vec![Instr::Push(pushes)]);
        }
        Some(vec![Instr::Move(reads), Instr::Join, Instr::Push(pushes)])
    }

    /// The cells of an operand of `size` chunks that an operation covers, relative to the operand's first cell. None
    /// if the window begins after its end.
    fn range(&self, size: u32, payloads: bool, cut: Cut) -> Option<std::ops::Range<u64>> {
        let all = u64::from(size) * u64::from(self.chunk);
        let mut range = 0..all;
        if let Some(slice) = cut.slice {
            let (i, n) = (u64::from(slice.index), u64::from(slice.count.max(1)));
            let begin = |i: u64| i * (all / n) + i.min(all % n);
            range = begin(i)..begin(i + 1);
        }
        if let Some((start, length)) = cut.window.filter(|_| !payloads) {
            if start > range.end - range.start {
                return None;
            }
            let start = range.start + start;
            range = start..range.end.min(start + length);
        }
        Some(2 * range.start..2 * range.end)
    }

    fn place(
        &self,
        here: RankId,
        operand: &Operand,
        packet: bool,
        range: &std::ops::Range<u64>,
        sized: bool,
    ) -> Option<Place> {
        if !sized {
            return None;
        }
        let mut starts = Vec::new();
        for rank in self.ranks(here, operand)? {
            let local = matches!(operand.place, Where::Local);
            let layout = &self.code.ranks.get(rank)?.memory;
            let factor = if packet { 2 } else { 1 };
            let (buffer, from) = layout.home(operand.buffer, operand.index as usize);
            let (base, room) = layout.room(buffer);
            let (start, end) = (from + range.start as usize, from + range.end as usize);
            if end * factor > room {
                return None;
            }
            let half = if buffer == Buffer::Scratch && (local || packet) { layout.half } else { 0 };
            starts.push(Start { cell: base + start * factor, half });
        }
        Some(Place { starts, packet })
    }

    fn ranks(&self, here: RankId, operand: &Operand) -> Option<Vec<usize>> {
        match operand.place {
            Where::Local => Some(vec![here.index()]),
            Where::Remote(peer) => Some(vec![peer.index()]),
            Where::Switch(channel) => {
                match &self.program.ranks.lookup(here)?.channels.lookup(channel)?.link {
                    Link::Switch(group) => Some(group.ranks.iter().map(|id| id.index()).collect()),
                    Link::Memory(_) | Link::Port(_) => None,
                }
            }
        }
    }
}

/// What a verb does with its operands. This is written down here once more: the compiler has a table of its own.
#[derive(Clone, Copy)]
pub(super) struct Motion {
    reads: Shape,
    writes: Shape,
    joining: Joining,
}

/// Which operands of one side are packets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Plain,
    Packets,
    PacketsBehindFirst,
}

/// Which sources end up in which destinations.
#[derive(Clone, Copy)]
enum Joining {
    Pairs,
    /// Pairs, but a single source is read once for all.
    ReadOnce,
    Combined,
}

impl Motion {
    pub(super) fn find(verb: Verb) -> Motion {
        let (reads, writes, joining) = match verb {
            Verb::Copy
            | Verb::Put
            | Verb::PutWithSignal
            | Verb::PutWithSignalAndFlush
            | Verb::Get
            | Verb::Broadcast => (Shape::Plain, Shape::Plain, Joining::Pairs),
            Verb::PutPackets | Verb::CopyPackets => (Shape::Plain, Shape::Packets, Joining::Pairs),
            Verb::UnpackPackets => (Shape::Packets, Shape::Plain, Joining::Pairs),
            Verb::ReadPutPackets | Verb::BroadcastPackets => {
                (Shape::Packets, Shape::Packets, Joining::ReadOnce)
            }
            Verb::Reduce => (Shape::Plain, Shape::Plain, Joining::Combined),
            Verb::ReducePackets => {
                (Shape::PacketsBehindFirst, Shape::PacketsBehindFirst, Joining::Combined)
            }
        };
        Motion { reads, writes, joining }
    }

    pub(super) fn has_payloads(self) -> bool {
        self.reads != Shape::Plain || self.writes != Shape::Plain
    }
}

impl Shape {
    fn is_packets(self, index: usize) -> bool {
        match self {
            Shape::Plain => false,
            Shape::Packets => true,
            Shape::PacketsBehindFirst => index > 0,
        }
    }
}
