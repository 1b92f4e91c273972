//! What is done to packets, and what speaks against it.
//!
//! Packets are single accesses: among themselves it is enough that one comes after the other, in whatever way. A packet
//! may have several writers, which all write the same value (E0521): its reader has heard of what all of them know.

use super::access::Access;
use super::cells::Touch;
use super::clock::{Clock, Flow, follows_from};
use super::machine::{Actor, Conflict, Kind, Machine, Packet};
use super::memory::Needs;
use crate::ir::{Action, Op, Verb};
use std::rc::Rc;

/// What a packet tells: what had been run, and what it was made from.
type Told = (Rc<Clock>, Option<Rc<Flow>>);

impl<'p> Machine<'p, '_> {
    /// A packet is read; what it tells, if anything.
    pub(super) fn read_packet(
        &mut self,
        actor: &Actor<'_, 'p>,
        read: &Access,
        touch: Touch<'p>,
    ) -> Option<Told> {
        let (rank, cell) = (read.place.rank, read.place.cell);
        let before = self.before.and_then(|before| before.packets.get(&(rank, cell)));
        let packet = self.packets.get_mut(&(rank, cell))?;
        packet.readers.push(touch);
        // What all of several writers know is found when the last of them has written: in the first run.
        let told = before.filter(|before| before.writers.len() > 1).unwrap_or(packet);
        let told = (Rc::clone(&told.clock), told.flow.clone());
        if self.is_proxy(actor) && reads_raw(touch.op) {
            for first in self.packets.get(&(rank, cell))?.writers.clone() {
                self.check_order(actor, first, touch, read.place);
            }
        }
        if self.mixed {
            self.packet_over_plain(actor, touch, read.place);
        }
        Some(told)
    }

    /// A packet is written.
    pub(super) fn write_packet(
        &mut self,
        actor: &Actor<'_, 'p>,
        write: &Access,
        touch: Touch<'p>,
        (clock, flow): (&Rc<Clock>, Option<&Rc<Flow>>),
    ) {
        self.check_packet_launch(actor, write, touch);
        if self.mixed {
            self.packet_over_plain(actor, touch, write.place);
        }
        let place = write.place;
        let Some(packet) = self.packets.get_mut(&(place.rank, place.cell)) else {
            let packet = Packet {
                clock: Rc::clone(clock),
                flow: flow.cloned(),
                writers: [touch].into_iter().collect(),
                readers: Vec::new(),
            };
            self.packets.insert((place.rank, place.cell), packet);
            return;
        };
        packet.clock = Rc::new(packet.clock.in_common(clock));
        packet.flow = common_flow(packet.flow.as_ref(), flow);
        let first = packet.writers.first().copied();
        packet.writers.push(touch);
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
        let Some(packet) = before.packets.get(&(place.rank, place.cell)) else { return };
        let earlier = packet.readers.iter().chain(&packet.writers);
        let late = earlier.copied().find(|first| !self.ended(before, actor, first, Needs::Past));
        if let Some(first) = late {
            self.across_launches(first, touch, place);
        }
    }
}

/// Whether an operation has packets sent as they are, without looking at them.
fn reads_raw(op: &Op) -> bool {
    matches!(&op.action, Action::Transfer(transfer) if transfer.verb == Verb::PutPackets)
}

/// What two writers of one packet both made it from.
fn common_flow(first: Option<&Rc<Flow>>, second: Option<&Rc<Flow>>) -> Option<Rc<Flow>> {
    let (first, second) = (first?, second?);
    let from = |late: &Rc<Flow>, early: &Rc<Flow>| {
        follows_from([late].into_iter(), &|element| element == early.element)
    };
    if from(second, first) {
        return Some(Rc::clone(first));
    }
    from(first, second).then(|| Rc::clone(second))
}
