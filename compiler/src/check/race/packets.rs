//! The accesses to packets, and their conflicts.
//!
//! Packets are single accesses: between two of them it is enough that one comes after the other, in any way. A packet
//! may have several writers, which all write the same value (E0521): what it tells then is derived from a previous run
//! ([`super::writers`]).

use super::access::{Access, Element, Lane};
use super::acts::{Footprint, Touch};
use super::block::Block;
use super::cells::Place;
use super::history::{FlowId, MomentId, NONE, Source};
use super::launches::TouchKind;
use super::machine::{Actor, Conflict, Kind, Machine};
use super::pages::Pages;
use super::turn::TurnId;
use super::value::Value;
use super::writers::Slot;
use crate::ir::RankId;
use crate::ir::threads::Share;
use crate::table::Id;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A packet of this launch.
#[derive(Clone, Debug, Default)]
pub(super) struct Packet {
    /// Its writes.
    pub(super) writers: SmallVec<[Writer; 1]>,
    /// Its reads.
    pub(super) readers: SmallVec<[Footprint; 1]>,
    /// What it holds; followed only where representatives are.
    pub(super) value: Value,
}

/// A write of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writer {
    /// The access.
    pub(super) print: Footprint,
    /// What had run by then, as known to the followed agent.
    run: MomentId,
}

impl Writer {
    /// What had run by then.
    pub(super) fn run(&self) -> (MomentId, TurnId) {
        (self.run, self.print.flow().1)
    }
}

impl Packet {
    /// The writes, and with `reads` the reads.
    pub(super) fn prints(&self, reads: bool) -> impl Iterator<Item = Footprint> {
        let readers = self.readers.iter().filter(move |_| reads).copied();
        self.writers.iter().map(|writer| writer.print).chain(readers)
    }
}

/// The packets of this launch.
#[derive(Debug, Default)]
pub(super) struct Packets {
    all: Pages<Packet>,
    /// For each rank and cell, the row of the packet that lies there, or [`NONE`].
    rows: Vec<Vec<u32>>,
    /// What the first threads of a writer had heard that the others had not. Each of these threads has written a packet
    /// of the cell, so a reader of the whole cell knows it.
    first: FxHashMap<Slot, (MomentId, TurnId)>,
}

/// The elements of an operation with packets that the first threads process.
const FIRST: Lane = Lane { share: Share::Payload, at: 0 };

impl Packets {
    /// All packets, with their slots.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Slot, &Packet)> {
        let slots = (0..).zip(&self.rows).flat_map(|(rank, rows)| {
            (0..).zip(rows).map(move |(cell, row)| ((RankId(rank), cell), *row))
        });
        slots.filter_map(|(slot, row)| Some((slot, self.all.get(row as usize)?)))
    }

    /// A packet, if it was written.
    pub(super) fn get(&self, slot: Slot) -> Option<&Packet> {
        self.all.get(self.row(slot)?)
    }

    fn get_mut(&mut self, slot: Slot) -> Option<&mut Packet> {
        let row = self.row(slot)?;
        self.all.get_mut(row)
    }

    fn row(&self, (rank, cell): Slot) -> Option<usize> {
        let row = self.rows.get(rank.index())?.get(cell as usize)?;
        Some(*row as usize).filter(|_| *row != NONE)
    }

    /// A packet, to be written.
    fn written(&mut self, slot: Slot) -> Option<&mut Packet> {
        let (rank, cell) = (slot.0.index(), slot.1 as usize);
        if self.rows.len() <= rank {
            self.rows.resize(rank + 1, Vec::new());
        }
        let rows = self.rows.get_mut(rank)?;
        if rows.len() <= cell {
            rows.resize(cell + 1, NONE);
        }
        let row = rows.get_mut(cell)?;
        if *row == NONE {
            *row = self.all.push(Packet::default()) as u32;
        }
        self.all.get_mut(*row as usize)
    }
}

impl<'p> Machine<'p, '_> {
    /// Records what an element's first threads know beyond the others, for readers of all packets that the element
    /// writes.
    pub(super) fn tell_first(&mut self, block: &mut Block<'p>, element: &Element) {
        let mut packets = element.writes.iter().filter(|write| write.packet).peekable();
        if element.lane != FIRST || packets.peek().is_none() {
            return;
        }
        let is_cut = self.grain.cells_of_unit() > 1;
        let Some(moment) = block.first_moment(&mut self.history, is_cut) else { return };
        let turn = self.agents.turn();
        for write in packets {
            let (home, by) = self.packet_home(write.place);
            self.packets.first.insert(home, (moment, turn.back(by)));
        }
    }

    /// TouchKind [`Self::tell_first`] recorded for the packets that an element reads, which its block knows once all its
    /// threads have met. Of a packet with several writers it is unknown which write was read.
    pub(super) fn told_first(&self, element: &Element) -> impl Iterator<Item = Source> {
        let turn = self.agents.turn();
        let packets = element.reads.iter().filter(|read| read.packet);
        let packets = packets.filter(|_| !self.packets.first.is_empty());
        packets.filter_map(move |read| {
            let (home, by) = self.packet_home(read.place);
            let (moment, more) = self.packets.first.get(&home)?;
            let single = !self.shared.writers.concern(home);
            single.then(|| Source::Run(*moment, turn.then(*more, by)))
        })
    }

    /// The packet's slot on its representative, and the turn that leads from there to it.
    pub(super) fn packet_home(&self, place: Place) -> (Slot, TurnId) {
        let (home, by) = self.fold.home(place);
        ((home.rank, home.cell as u32), by)
    }

    /// Reads a packet; returns what that tells. The flows that its value was made from are added to `parts`.
    pub(super) fn read_packet(
        &mut self,
        actor: &Actor<'_, 'p>,
        (read, print): (&Access, Footprint),
        parts: &mut SmallVec<[(FlowId, TurnId); 2]>,
    ) -> SmallVec<[Source; 2]> {
        let (home, by) = self.packet_home(read.place);
        let turn = self.agents.turn();
        let there = print.moved(turn, turn.back(by));
        let Some(packet) = self.packets.get_mut(home) else { return SmallVec::new() };
        packet.readers.push(there);
        if self.agents.is_proxy(actor.agent) && read.raw {
            for first in packet.writers.clone() {
                self.check_order(actor, first.print.moved(turn, by), print, read.place);
            }
        }
        if self.mixed {
            self.packet_over_plain(actor, print, read.place);
        }
        self.told(home, by, &self.touch(there), parts)
    }

    /// What a packet tells a reader.
    fn told(
        &mut self,
        home: Slot,
        by: TurnId,
        reader: &Touch<'p>,
        parts: &mut SmallVec<[(FlowId, TurnId); 2]>,
    ) -> SmallVec<[Source; 2]> {
        let turn = self.agents.turn();
        let here = |(row, more): (u32, TurnId)| (row, turn.then(more, by));
        let mut told = SmallVec::new();
        if self.shared.writers.concern(home) {
            let Some((row, heard)) = self.shared.writers.heard(home, reader) else { return told };
            parts.extend(heard.made_from.iter().copied().map(here));
            let (history, agents) = (&mut self.history, self.agents);
            let moment = *self.heard.entry(row).or_insert_with(|| heard.moment(history, agents));
            told.push(Source::All(moment, by));
            return told;
        }
        let Some(packet) = self.packets.get(home) else { return told };
        if let Some(writer) = packet.writers.first() {
            let ((run, turned), flow) = (here(writer.run()), here(writer.print.flow()));
            parts.push(flow);
            told.extend([Source::Run(run, turned), Source::Read(flow.0, flow.1)]);
        }
        told
    }

    /// Writes a packet.
    pub(super) fn write_packet(
        &mut self,
        actor: &Actor<'_, 'p>,
        (write, print): (&Access, Footprint),
        (run, value): (MomentId, &Value),
    ) {
        let place = write.place;
        self.again(actor, print, place, TouchKind::Packet);
        if self.mixed {
            self.packet_over_plain(actor, print, place);
        }
        let (home, by) = self.packet_home(place);
        let turn = self.agents.turn();
        let back = turn.back(by);
        let Some(packet) = self.packets.written(home) else { return };
        let value = value.turned(turn, back);
        // Where values are followed, it is known here whether the same value is written again.
        let differs = !self.few || !packet.value.is((turn, 0), &value);
        let first = packet.writers.first().filter(|_| differs);
        let first = first.map(|first| first.print.moved(turn, by));
        packet.value = value;
        packet.writers.push(Writer { print: print.moved(turn, back), run });
        // Both writes carry the same flag: the reader may find either.
        let twice = first.map(|first| Conflict {
            kind: Kind::Twice,
            first: self.touch(first),
            second: self.touch(print),
            place,
            relaxed: false,
        });
        self.conflicts.extend(twice);
    }
}
