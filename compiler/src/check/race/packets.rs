//! What is done to packets, and what speaks against it.
//!
//! Packets are single accesses: among themselves it is enough that one comes after the other, in whatever way. A packet
//! may have several writers, which all write the same value (E0521): what it tells then is found from a run before
//! ([`super::writers`]).

use super::access::Access;
use super::cells::{Place, Touch};
use super::history::{FlowId, MomentId, NONE, Source};
use super::launches::What;
use super::machine::{Actor, Conflict, Kind, Machine};
use super::turn::By;
use super::value::Value;
use super::writers::Slot;
use crate::ir::{Action, Op, Verb};
use crate::table::Id;
use smallvec::SmallVec;

/// A packet of this launch.
#[derive(Clone, Debug, Default)]
pub(super) struct Packet<'p> {
    /// Who wrote it.
    pub(super) writers: SmallVec<[Touch<'p>; 1]>,
    /// For each of these what had been run then.
    pub(super) runs: SmallVec<[(MomentId, By); 1]>,
    /// Who read it.
    pub(super) readers: SmallVec<[Touch<'p>; 1]>,
    /// What it holds; followed only where few ranks are.
    pub(super) value: Value,
}

/// The packets of this launch, in the order in which they were written first.
#[derive(Debug, Default)]
pub(super) struct Packets<'p> {
    all: Vec<(Slot, Packet<'p>)>,
    /// Of each rank and cell, which of them lies there, or [`NONE`].
    rows: Vec<Vec<u32>>,
}

impl<'p> Packets<'p> {
    /// Packets, and where they lie.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(Slot, Packet<'p>)> {
        self.all.iter()
    }

    /// A packet, if it was written.
    pub(super) fn get(&self, slot: Slot) -> Option<&Packet<'p>> {
        self.all.get(self.row(slot)?).map(|(_, packet)| packet)
    }

    fn get_mut(&mut self, slot: Slot) -> Option<&mut Packet<'p>> {
        let row = self.row(slot)?;
        self.all.get_mut(row).map(|(_, packet)| packet)
    }

    fn row(&self, (rank, cell): Slot) -> Option<usize> {
        let row = self.rows.get(rank.index())?.get(cell as usize)?;
        Some(*row as usize).filter(|_| *row != NONE)
    }

    /// A packet, to be written.
    fn written(&mut self, slot: Slot) -> Option<&mut Packet<'p>> {
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
            *row = self.all.len() as u32;
            self.all.push((slot, Packet::default()));
        }
        self.all.get_mut(*row as usize).map(|(_, packet)| packet)
    }
}

impl<'p> Machine<'p, '_> {
    /// A packet's place, and the turn that leads to it.
    pub(super) fn packet_home(&self, place: Place) -> (Slot, By) {
        let (home, by) = self.fold.home(place);
        ((home.rank, home.cell), by)
    }

    /// A packet is read; what that tells. What its value was made from is added to `parts`.
    pub(super) fn read_packet(
        &mut self,
        actor: &Actor<'_, 'p>,
        read: &Access,
        touch: Touch<'p>,
        parts: &mut SmallVec<[(FlowId, By); 2]>,
    ) -> SmallVec<[Source; 2]> {
        let (home, by) = self.packet_home(read.place);
        let there = touch.moved(self.agents, self.agents.turn().back(by));
        let Some(packet) = self.packets.get_mut(home) else { return SmallVec::new() };
        packet.readers.push(there);
        if self.agents.is_proxy(actor.agent) && reads_raw(touch.op) {
            for first in packet.writers.clone() {
                self.check_order(actor, first.moved(self.agents, by), touch, read.place);
            }
        }
        if self.mixed {
            self.packet_over_plain(actor, touch, read.place);
        }
        self.told(home, by, &there, parts)
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
        if let Some((writer, run)) = packet.writers.first().zip(packet.runs.first()) {
            let ((run, turned), flow) = (here(*run), here(writer.flow));
            parts.push(flow);
            told.extend([Source::Run(run, turned), Source::Read(flow.0, flow.1)]);
        }
        told
    }

    /// A packet is written.
    pub(super) fn write_packet(
        &mut self,
        actor: &Actor<'_, 'p>,
        write: &Access,
        touch: Touch<'p>,
        (run, value): (MomentId, &Value),
    ) {
        self.again(actor, touch, write.place, What::Packet);
        if self.mixed {
            self.packet_over_plain(actor, touch, write.place);
        }
        let place = write.place;
        let (home, by) = self.packet_home(place);
        let back = self.agents.turn().back(by);
        let there = touch.moved(self.agents, back);
        let turn = self.agents.turn();
        let Some(packet) = self.packets.written(home) else { return };
        let value = value.turned(turn, back);
        // Where it is followed what memory holds, it is known here whether the same is written again.
        let differs = !self.few || !packet.value.is(turn, &value);
        let first = packet.writers.first().filter(|_| differs);
        let first = first.map(|first| first.moved(self.agents, by));
        packet.value = value;
        packet.writers.push(there);
        packet.runs.push((run, back));
        // It carries one flag both times: its reader may find either.
        self.conflicts.extend(first.map(|first| Conflict {
            kind: Kind::Twice,
            first,
            second: touch,
            place,
            relaxed: false,
        }));
    }
}

/// Whether an operation has packets sent as they are, without looking at them.
fn reads_raw(op: &Op) -> bool {
    matches!(&op.action, Action::Transfer(transfer) if transfer.verb == Verb::PutPackets)
}
