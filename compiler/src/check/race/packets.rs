//! What is done to packets, and what speaks against it.
//!
//! Packets are single accesses: among themselves it is enough that one comes after the other, in whatever way. A packet
//! may have several writers, which all write the same value (E0521): what it tells then is found from a run before
//! ([`super::writers`]).

use super::access::Access;
use super::cells::{Place, Touch};
use super::history::{FlowId, MomentId, Source};
use super::launches::What;
use super::machine::{Actor, Conflict, Kind, Machine};
use super::turn::By;
use super::value::Value;
use super::writers::Slot;
use crate::ir::{Action, Op, Verb};
use smallvec::SmallVec;

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
        let Some(packet) = self.packets.get_mut(&home) else { return SmallVec::new() };
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
            let history = &mut self.history;
            let moment = *self.heard.entry(row).or_insert_with(|| heard.moment(history));
            told.push(Source::All(moment, by));
            return told;
        }
        let Some(packet) = self.packets.get(&home) else { return told };
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
        let packet = self.packets.entry(home).or_default();
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
