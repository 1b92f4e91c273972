//! What is done to packets, and what speaks against it.
//!
//! Packets are single accesses: among themselves it is enough that one comes after the other, in whatever way. A packet
//! may have several writers, which all write the same value (E0521): its reader has heard of what all of them know.

use super::access::Access;
use super::agents::NOBODY;
use super::cells::{Place, Touch};
use super::clock::Clock;
use super::history::{FlowId, MomentId, NONE, Source};
use super::machine::{Actor, Conflict, Kind, Machine, Packet};
use super::memory::Needs;
use super::turn::By;
use crate::ir::{Action, Op, RankId, Verb};

/// What a packet tells: what had been run, and what it was made from.
type Told = ((MomentId, By), Option<(FlowId, By)>);

impl<'p> Machine<'p, '_> {
    /// A packet's place, and the turn that leads to it.
    pub(super) fn packet_home(&self, place: Place) -> ((RankId, u64), By) {
        let (home, by) = self.fold.home(place);
        ((home.rank, home.cell), by)
    }

    /// A packet is read; what it tells, if anything.
    pub(super) fn read_packet(
        &mut self,
        actor: &Actor<'_, 'p>,
        read: &Access,
        touch: Touch<'p>,
    ) -> Option<Told> {
        let (home, by) = self.packet_home(read.place);
        let turn = self.agents.turn();
        let before = self.before.and_then(|before| before.packets.get(&home));
        let packet = self.packets.get_mut(&home)?;
        packet.readers.push(touch.moved(self.agents, turn.back(by)));
        let here = |(row, more): (u32, By)| (row, turn.then(more, by));
        // What all of several writers know is found when the last of them has written: in the first run.
        let told = before.filter(|before| before.writers.len() > 1).unwrap_or(packet);
        let told = (here(told.run), told.flow.map(here));
        if self.agents.is_proxy(actor.agent) && reads_raw(touch.op) {
            for first in packet.writers.clone() {
                self.check_order(actor, first.moved(self.agents, by), touch, read.place);
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
        let flow = self.follows.then_some(there.flow);
        let known = self.packets.get(&home).map(|packet| (packet.run, packet.flow));
        let Some((run_before, flow_before)) = known else {
            let writers = [there].into_iter().collect();
            let packet = Packet { run: (run, back), flow, writers, readers: Vec::new() };
            self.packets.insert(home, packet);
            return;
        };
        let run = self.in_common(run_before, (run, back));
        let flow = self.common_flow(flow_before, flow);
        let mut first = None;
        if let Some(packet) = self.packets.get_mut(&home) {
            (packet.run, packet.flow) = (run, flow);
            first = packet.writers.first().map(|first| first.moved(self.agents, by));
            packet.writers.push(there);
        }
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

    /// What two moments both know to have been run.
    fn in_common(&mut self, first: (MomentId, By), second: (MomentId, By)) -> (MomentId, By) {
        if first == second {
            return first;
        }
        let all = |(moment, by)| Clock::told(&[Source::Run(moment, by)]).run(self.lookup());
        let (one, other) = (all(first), all(second));
        let mut both: Vec<Source> = Vec::new();
        for (agent, before) in one.steps {
            let there = other.steps.binary_search_by_key(&agent, |(agent, _)| *agent);
            let Some((_, least)) = there.ok().and_then(|at| other.steps.get(at)) else { continue };
            let chain = self.history.chain();
            let moment = self.history.add((agent, chain), before.min(*least), NONE, []);
            both.push(Source::Run(moment, 0));
        }
        let shared = one.elements.iter().filter(|one| other.elements.binary_search(one).is_ok());
        both.extend(shared.map(|(flow, by)| Source::Heard(*flow, *by)));
        (self.history.meeting(both), 0)
    }

    /// What two writers of one packet both made it from. There is one more flow whatever it is, so that flows have the
    /// same numbers in every launch.
    fn common_flow(
        &mut self,
        first: Option<(FlowId, By)>,
        second: Option<(FlowId, By)>,
    ) -> Option<(FlowId, By)> {
        let (first, second) = (first?, second?);
        let from = |(late, by), early| {
            Clock::told(&[Source::Read(late, by)]).consumed(self.lookup(), early)
        };
        let all = |(flow, by)| {
            let clock = Clock::told(&[Source::Read(flow, by)]);
            // Nobody is found, and everything looked into.
            clock.heard_any(self.lookup(), NOBODY);
            clock.run(self.lookup()).elements
        };
        let mut both = match (from(second, first), from(first, second)) {
            (true, _) => vec![first],
            (false, true) => vec![second],
            (false, false) => {
                let others = all(second);
                all(first).into_iter().filter(|one| others.binary_search(one).is_ok()).collect()
            }
        };
        let flow = self.history.next_flow();
        self.history.flow(NOBODY, &mut both);
        Some((flow, 0))
    }
}

/// Whether an operation has packets sent as they are, without looking at them.
fn reads_raw(op: &Op) -> bool {
    matches!(&op.action, Action::Transfer(transfer) if transfer.verb == Verb::PutPackets)
}
