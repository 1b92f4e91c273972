//! What is done to packets, and what speaks against it.
//!
//! Packets are single accesses: among themselves it is enough that one comes after the other, in whatever way. A packet
//! may have several writers, which all write the same value (E0521): what it tells then is found from a run before
//! ([`super::writers`]).

use super::access::Access;
use super::cells::{Place, Touch};
use super::history::{FlowId, MomentId, Source};
use super::machine::{Actor, Conflict, Kind, Machine};
use super::memory::Needs;
use super::turn::By;
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
        run: MomentId,
    ) {
        self.check_packet_launch(actor, write, touch);
        if self.mixed {
            self.packet_over_plain(actor, touch, write.place);
        }
        let place = write.place;
        let (home, by) = self.packet_home(place);
        let back = self.agents.turn().back(by);
        let there = touch.moved(self.agents, back);
        let packet = self.packets.entry(home).or_default();
        let first = packet.writers.first().map(|first| first.moved(self.agents, by));
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

    /// Packets of an earlier launch in the same place: who wrote and who read them must be done.
    fn check_packet_launch(&mut self, actor: &Actor<'_, 'p>, write: &Access, touch: Touch<'p>) {
        let Some(before) = self.before else { return };
        let place = write.place;
        let (home, by) = self.packet_home(place);
        let Some(packet) = before.packets.get(&home) else { return };
        let earlier = packet.readers.iter().chain(&packet.writers);
        let mut earlier = earlier.map(|first| first.moved(self.agents, by));
        let late = earlier.find(|first| !self.ended(before, actor, first, Needs::Past));
        if let Some(first) = late {
            self.across_launches(first, touch, place);
        }
    }
}

/// Whether an operation has packets sent as they are, without looking at them.
fn reads_raw(op: &Op) -> bool {
    matches!(&op.action, Action::Transfer(transfer) if transfer.verb == Verb::PutPackets)
}
