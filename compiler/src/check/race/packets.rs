//! What is done to packets, and what speaks against it.
//!
//! Packets are single accesses: among themselves it is enough that one comes after the other, in whatever way. A packet
//! may have several writers, which all write the same value (E0521): what it tells then is found from a run before
//! ([`super::writers`]).

use super::access::{Access, Element, Lane};
use super::acts::{Footprint, Touch};
use super::block::Block;
use super::cells::Place;
use super::history::{FlowId, MomentId, NONE, Source};
use super::launches::What;
use super::machine::{Actor, Conflict, Kind, Machine};
use super::pages::Pages;
use super::turn::By;
use super::value::Value;
use super::writers::Slot;
use crate::ir::threads::Share;
use crate::ir::{Action, Op, RankId, Verb};
use crate::table::Id;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A packet of this launch.
#[derive(Clone, Debug, Default)]
pub(super) struct Packet {
    /// Who wrote it.
    pub(super) writers: SmallVec<[Writer; 1]>,
    /// Who read it.
    pub(super) readers: SmallVec<[Footprint; 1]>,
    /// What it holds; followed only where few ranks are.
    pub(super) value: Value,
}

/// Who wrote a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writer {
    /// What is kept of the access.
    pub(super) print: Footprint,
    /// What had been run then, by who is followed.
    run: MomentId,
}

impl Writer {
    /// What had been run then.
    pub(super) fn run(&self) -> (MomentId, By) {
        (self.run, self.print.flow().1)
    }
}

impl Packet {
    /// Who wrote it, and if that is asked who read it.
    pub(super) fn prints(&self, reads: bool) -> impl Iterator<Item = Footprint> {
        let readers = self.readers.iter().filter(move |_| reads).copied();
        self.writers.iter().map(|writer| writer.print).chain(readers)
    }
}

/// The packets of this launch.
#[derive(Debug, Default)]
pub(super) struct Packets {
    all: Pages<Packet>,
    /// Of each rank and cell, which of them lies there, or [`NONE`].
    rows: Vec<Vec<u32>>,
    /// What the first threads of a writer had heard that the others had not. Each has written a packet of the cell, so who
    /// has read all of that knows it.
    first: FxHashMap<Slot, (MomentId, By)>,
}

/// What the first threads do of an operation with packets.
const FIRST: Lane = Lane { share: Share::Payload, at: 0 };

impl Packets {
    /// Where packets lie, and these.
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
    /// The packets that an element writes tell who reads all of them what its first threads know, if that is more than the
    /// others do.
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

    /// What that is of the packets that an element reads, once all its threads have met. Of packets with several writers it
    /// is open whose were read.
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

    /// A packet's place, and the turn that leads to it.
    pub(super) fn packet_home(&self, place: Place) -> (Slot, By) {
        let (home, by) = self.fold.home(place);
        ((home.rank, home.cell as u32), by)
    }

    /// A packet is read; what that tells. What its value was made from is added to `parts`.
    pub(super) fn read_packet(
        &mut self,
        actor: &Actor<'_, 'p>,
        (read, print): (&Access, Footprint),
        parts: &mut SmallVec<[(FlowId, By); 2]>,
    ) -> SmallVec<[Source; 2]> {
        let (home, by) = self.packet_home(read.place);
        let turn = self.agents.turn();
        let there = print.moved(turn, turn.back(by));
        let Some(packet) = self.packets.get_mut(home) else { return SmallVec::new() };
        packet.readers.push(there);
        if self.agents.is_proxy(actor.agent) && reads_raw(actor.op) {
            for first in packet.writers.clone() {
                self.check_order(actor, first.print.moved(turn, by), print, read.place);
            }
        }
        if self.mixed {
            self.packet_over_plain(actor, print, read.place);
        }
        self.told(home, by, &self.touch(there), parts)
    }

    /// What a packet tells this reader.
    fn told(
        &mut self,
        home: Slot,
        by: By,
        reader: &Touch<'p>,
        parts: &mut SmallVec<[(FlowId, By); 2]>,
    ) -> SmallVec<[Source; 2]> {
        let turn = self.agents.turn();
        let here = |(row, more): (u32, By)| (row, turn.then(more, by));
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

    /// A packet is written.
    pub(super) fn write_packet(
        &mut self,
        actor: &Actor<'_, 'p>,
        (write, print): (&Access, Footprint),
        (run, value): (MomentId, &Value),
    ) {
        let place = write.place;
        self.again(actor, print, place, What::Packet);
        if self.mixed {
            self.packet_over_plain(actor, print, place);
        }
        let (home, by) = self.packet_home(place);
        let turn = self.agents.turn();
        let back = turn.back(by);
        let Some(packet) = self.packets.written(home) else { return };
        let value = value.turned(turn, back);
        // Where it is followed what memory holds, it is known here whether the same is written again.
        let differs = !self.few || !packet.value.is((turn, 0), &value);
        let first = packet.writers.first().filter(|_| differs);
        let first = first.map(|first| first.print.moved(turn, by));
        packet.value = value;
        packet.writers.push(Writer { print: print.moved(turn, back), run });
        // It carries one flag both times: its reader may find either.
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

/// Whether an operation has packets sent as they are, without looking at them.
fn reads_raw(op: &Op) -> bool {
    matches!(&op.action, Action::Transfer(transfer) if transfer.verb == Verb::PutPackets)
}
