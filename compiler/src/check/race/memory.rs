//! The accesses of an operation to plain memory, element by element, and their conflicts.
//!
//! In: an element and the agent that processes it ([`Actor`]). Out: the memory after it, and conflicts.

use super::access::{Access, Element};
use super::acts::{Footprint, Touch};
use super::cells::Place;
use super::clock::{Clock, Lookup};
use super::history::{FlowId, MomentId, NONE, Source};
use super::launches::TouchKind;
use super::machine::{Actor, Conflict, Kind, Machine};
use super::turn::TurnId;
use super::value::Value;
use crate::ir::Buffer;
use crate::ir::threads::Share;
use crate::table::Id;
use smallvec::SmallVec;

impl<'p> Machine<'p, '_> {
    /// One element: its reads, then its writes. Its own writes know at once what its packets tell; this is returned,
    /// together with what its threads were told before, unless the packets told nothing. Where the threads go on
    /// without meeting the others, whatever they do next also tells that they have done this.
    pub(super) fn element(
        &mut self,
        actor: &Actor<'_, 'p>,
        element: &Element,
        (before, goes_on): (&[Source], bool),
    ) -> SmallVec<[Source; 4]> {
        let mut parts: SmallVec<[(FlowId, TurnId); 2]> = SmallVec::new();
        let mut told: SmallVec<[Source; 4]> = SmallVec::new();
        let flow = self.history.next_flow();
        let act = (self.acts.next((actor.agent, actor.step, actor.op), element, flow), flow);
        for read in element.reads.iter().filter(|read| read.packet) {
            let print = Footprint::new(act, read, false);
            let heard = self.read_packet(actor, (read, print), &mut parts);
            if !self.agents.is_proxy(actor.agent) {
                told.extend(heard);
            }
        }
        if !told.is_empty() {
            told.extend_from_slice(before);
        }
        let heard = (!told.is_empty()).then(|| Clock::told(told.iter().copied()));
        let known = if told.is_empty() { before } else { told.as_slice() };
        let actor = Actor { heard: heard.as_ref().or(actor.heard), told: known, ..*actor };
        for read in element.reads.iter().filter(|read| !read.packet) {
            self.plain(&actor, read, Footprint::new(act, read, false));
            parts.extend(self.made_from(read.place));
        }
        if self.follows {
            self.history.flow((actor.agent, actor.step), &mut parts);
        }
        let mut run = None;
        let value = self.value(element);
        for write in &element.writes {
            let print = Footprint::new(act, write, true);
            match write.packet {
                false => {
                    self.plain(&actor, write, print);
                    self.hold(write.place, &value);
                }
                true => {
                    let run = *run.get_or_insert_with(|| self.run_by(&actor, known, &parts));
                    self.write_packet(&actor, (write, print), (run, &value));
                }
            }
        }
        let packets = element.reads.iter().chain(&element.writes).any(|access| access.packet);
        if self.follows && goes_on && packets {
            if told.is_empty() {
                told.extend_from_slice(before);
            }
            told.push(Source::Heard(flow, 0));
        }
        told
    }

    /// Stores a value in a cell.
    fn hold(&mut self, place: Place, value: &Value) {
        if !self.few {
            return;
        }
        let (home, by) = self.fold.home(place);
        let turn = self.agents.turn();
        let cells = self.cells.get_mut(home.rank.index());
        match cells.and_then(|cells| cells.get_mut(home.buffer, home.cell)) {
            Some(cell) => cell.value = value.turned(turn, turn.back(by)),
            None => self.fold.lose(),
        }
    }

    /// The moment of an element: what its agent knows to have run, except what the element was made from, which its
    /// flow records. The elements of an operation that have heard nothing share it.
    fn run_by(&mut self, actor: &Actor, told: &[Source], parts: &[(FlowId, TurnId)]) -> MomentId {
        if told.is_empty() {
            return actor.moment;
        }
        let is_new = |source: &Source| match *source {
            Source::Heard(flow, by) => parts.binary_search(&(flow, by)).is_err(),
            Source::All(..) | Source::Run(..) | Source::Steps(..) | Source::Read(..) => true,
        };
        let chain = self.history.chain();
        let sources = std::iter::once(Source::Run(actor.moment, 0))
            .chain(told.iter().map(|source| source.run()).filter(is_new));
        self.history.add((actor.agent, chain), 0, NONE, sources)
    }

    /// The flow that made a cell's value; recorded only where there are packets.
    fn made_from(&self, place: Place) -> Option<(FlowId, TurnId)> {
        let (home, by) = self.fold.home(place);
        let cell = self.cells.get(home.rank.index())?.get(home.buffer, home.cell)?;
        let write = cell.write.filter(|_| self.follows)?;
        Some(write.moved(self.agents.turn(), by).flow())
    }

    /// Whether a cell holds something when a launch begins: the input, by either name.
    fn given(&self, place: Place) -> bool {
        let Some(rank) = self.program.ranks.lookup(place.rank) else { return false };
        match rank.alias {
            Some(alias) if place.buffer == alias.outer && alias.inner == Buffer::Input => {
                let (chunk, _) = self.grain.unit(place.cell);
                let first = u64::from(alias.offset);
                (first..first + u64::from(rank.input_chunks)).contains(&chunk)
            }
            Some(_) | None => place.buffer == Buffer::Input,
        }
    }

    /// An access to plain memory.
    fn plain(&mut self, actor: &Actor<'_, 'p>, access: &Access, print: Footprint) {
        let place = access.place;
        let foreign = place.rank != actor.rank && !actor.has_started(self.lookup(), place.rank);
        match place.buffer {
            // Before a rank starts, its user may write all of either buffer.
            Buffer::Input | Buffer::Output if foreign => {
                if self.early.insert((actor.agent, place.rank)) {
                    self.alone(Kind::Start, print, place);
                }
                return;
            }
            Buffer::Input | Buffer::Output => {}
            Buffer::Scratch => {
                let over = self.mixed && !self.has_packet_over(place);
                self.again(actor, print, place, TouchKind::Plain { foreign, over });
            }
        }
        if self.mixed && place.buffer == Buffer::Scratch {
            self.plain_over_packet(actor, print, place);
        }
        let given = self.given(place);
        let (home, by) = self.fold.home(place);
        let turn = self.agents.turn();
        let there = print.moved(turn, turn.back(by));
        let cells = self.cells.get_mut(home.rank.index());
        let Some(cell) = cells.and_then(|cells| cells.get_mut(home.buffer, home.cell)) else {
            return self.fold.lose();
        };
        let earlier: SmallVec<[Footprint; 2]> = cell.prints(print.writes()).collect();
        let empty = cell.write.is_none() && !given || cell.covered;
        if print.writes() {
            cell.write = Some(there);
            cell.covered = false;
            cell.reads.clear();
        } else {
            cell.reads.push(there);
            if empty {
                self.alone(Kind::Unwritten, print, place);
            }
        }
        for first in earlier {
            self.check_order(actor, first.moved(turn, by), print, place);
        }
    }

    /// The access that a footprint is of.
    pub(super) fn touch(&self, print: Footprint) -> Touch<'p> {
        self.acts.touch(self.agents, print)
    }

    /// A conflict that needs only one access.
    fn alone(&mut self, kind: Kind, print: Footprint, place: Place) {
        let touch = self.touch(print);
        self.conflicts.push(Conflict { kind, first: touch, second: touch, place, relaxed: false });
    }

    /// Checks that two accesses of this launch, one of them a write, are ordered.
    pub(super) fn check_order(
        &mut self,
        actor: &Actor<'_, 'p>,
        first: Footprint,
        second: Footprint,
        place: Place,
    ) {
        let [first, second] = [first, second].map(|print| self.touch(print));
        let lookup = self.lookup();
        let alone = self.fold.is_scattered();
        if !ordered((lookup, alone), actor, &first, &second) {
            let relaxed = actor.clocks().any(|clock| past(lookup, clock, &first));
            let kind = if first.agent == second.agent { Kind::Threads } else { Kind::Race };
            self.conflicts.push(Conflict { kind, first, second, place, relaxed });
        }
    }
}

/// Whether the second access, made by this actor, comes after the first one. With `alone`, it is unknown which thread
/// processes which element of another operation.
fn ordered(
    (lookup, alone): (Lookup<'_>, bool),
    actor: &Actor,
    first: &Touch,
    second: &Touch,
) -> bool {
    let same_operation = first.agent == second.agent && first.step == second.step;
    let same_thread = !alone
        && first.agent == second.agent
        && first.share == second.share
        && first.share != Share::Other
        && first.packet == second.packet
        && first.lane == second.lane;
    same_operation && first.element == second.element
        || same_thread
        || actor.clocks().any(|clock| known(lookup, clock, first))
}

/// Whether a clock knows of an access: its effect, or that what it read was consumed.
pub(super) fn known(lookup: Lookup<'_>, clock: &Clock, touch: &Touch) -> bool {
    clock.sees(lookup, (touch.agent, touch.step), (!touch.write).then_some(touch.flow))
}

/// Whether a clock knows that an access was made, visible or not.
pub(super) fn past(lookup: Lookup<'_>, clock: &Clock, touch: &Touch) -> bool {
    clock.has_run_element(lookup, (touch.agent, touch.step), touch.flow)
}
