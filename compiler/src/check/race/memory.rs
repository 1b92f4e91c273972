//! What an operation does to plain memory, element by element, and what speaks against it.
//!
//! In: an element and who does it ([`Actor`]). Out: the memory after it, and conflicts.

use super::access::{Access, Element};
use super::cells::{Place, Touch};
use super::clock::{self, Clock, Flow};
use super::machine::{Actor, After, Conflict, Kind, Machine, known, past};
use crate::ir::{Buffer, RankId};
use crate::table::Id;
use smallvec::SmallVec;
use std::rc::Rc;

/// How much must be known of an earlier access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// That its effect can be seen, or that what it read was consumed.
    Seen,
    /// That it was made: enough among packets, which are single accesses.
    Past,
}

impl Needs {
    fn met(self, clock: &Clock, touch: &Touch) -> bool {
        match self {
            Needs::Seen => known(clock, touch),
            Needs::Past => past(clock, touch),
        }
    }

    /// Whether it is met for anything that an agent does.
    fn met_by_any(self, clock: &Clock, agent: clock::Agent) -> bool {
        clock.knows(agent, 0) || self == Needs::Past && clock.heard_any(agent)
    }
}

impl<'p> Machine<'p, '_> {
    /// One element: what it reads, then what it writes. What its packets tell is known to its own writes at once; it is
    /// given back, with what its threads have been told before. Where these go on without meeting the others, what they
    /// do next tells that they have done this.
    pub(super) fn element(
        &mut self,
        actor: &Actor<'_, 'p>,
        element: &Element,
        goes_on: bool,
    ) -> Option<Clock> {
        let mut parts: SmallVec<[Rc<Flow>; 2]> = SmallVec::new();
        let mut told = None;
        for read in element.reads.iter().filter(|read| read.packet) {
            let packet = self.read_packet(actor, read, touch(actor, element, read, false));
            let Some((clock, flow)) = packet else { continue };
            parts.extend(flow.clone());
            if self.is_proxy(actor) {
                continue;
            }
            let told = told.get_or_insert_with(|| actor.heard.cloned().unwrap_or_default());
            told.merge_run(&clock);
            if let Some(flow) = &flow {
                told.consume(flow);
            }
        }
        let earlier = actor.heard;
        let actor = Actor { heard: told.as_ref().or(earlier), ..*actor };
        for read in element.reads.iter().filter(|read| !read.packet) {
            self.plain(&actor, read, touch(&actor, element, read, false), None);
            parts.extend(self.made_from(read.place));
        }
        let flow = self.flow((actor.agent, actor.step, element.number), parts);
        let mut run = None;
        for write in &element.writes {
            let touch = touch(&actor, element, write, true);
            match write.packet {
                false => self.plain(&actor, write, touch, flow.as_ref()),
                true => {
                    let clock = run.get_or_insert_with(|| self.run_by(&actor));
                    self.write_packet(&actor, write, touch, (clock, flow.as_ref()));
                }
            }
        }
        let packets = element.reads.iter().chain(&element.writes).any(|access| access.packet);
        if let Some(flow) = flow.filter(|_| goes_on && packets) {
            told.get_or_insert_with(|| earlier.cloned().unwrap_or_default()).hear(&flow);
        }
        told
    }

    /// What is known to have been run by who does this element. The elements of an operation that have heard of nothing
    /// share it.
    fn run_by(&mut self, actor: &Actor) -> Rc<Clock> {
        let known = self
            .stamp
            .as_ref()
            .filter(|(agent, step, _)| (*agent, *step) == (actor.agent, actor.step));
        if let (Some((_, _, clock)), None) = (known, actor.heard) {
            return Rc::clone(clock);
        }
        let mut clock = actor.clock.execution_only();
        if let Some(heard) = actor.heard {
            clock.merge_run(heard);
        }
        clock.start(actor.agent);
        let clock = Rc::new(clock);
        if actor.heard.is_none() {
            self.stamp = Some((actor.agent, actor.step, Rc::clone(&clock)));
        }
        clock
    }

    /// What was made by an element; followed only where there are packets to tell of it.
    fn flow(
        &mut self,
        element: clock::Element,
        parts: SmallVec<[Rc<Flow>; 2]>,
    ) -> Option<Rc<Flow>> {
        self.flows += 1;
        self.follows.then(|| Rc::new(Flow { id: self.flows, element, parts }))
    }

    /// What a cell holds was made by this.
    fn made_from(&self, place: Place) -> Option<Rc<Flow>> {
        self.cells.get(place.rank.index())?.get(place.buffer, place.cell)?.made_from.clone()
    }

    /// Whether a cell holds something when a launch begins: the input, by whatever name.
    fn given(&self, place: Place) -> bool {
        let Some(rank) = self.program.ranks.lookup(place.rank) else { return false };
        match rank.alias {
            Some(alias) if place.buffer == alias.outer && alias.inner == Buffer::Input => {
                let chunk = place.cell / u64::from(self.parts.max(1));
                let first = u64::from(alias.offset);
                (first..first + u64::from(rank.input_chunks)).contains(&chunk)
            }
            Some(_) | None => place.buffer == Buffer::Input,
        }
    }

    /// An access to plain memory.
    fn plain(
        &mut self,
        actor: &Actor<'_, 'p>,
        access: &Access,
        touch: Touch<'p>,
        made_from: Option<&Rc<Flow>>,
    ) {
        let place = access.place;
        let foreign = place.rank != actor.rank
            && !actor.clocks().any(|clock| self.started(clock, place.rank));
        match place.buffer {
            // A rank's user writes all of both before it starts.
            Buffer::Input | Buffer::Output if foreign => {
                self.alone(Kind::Start, touch, place);
                return;
            }
            Buffer::Input | Buffer::Output => {}
            Buffer::Scratch => self.check_launch(actor, touch, place, foreign),
        }
        if self.mixed && place.buffer == Buffer::Scratch {
            self.plain_over_packet(actor, touch, place);
        }
        let given = self.given(place);
        let Some(cell) = self
            .cells
            .get_mut(place.rank.index())
            .and_then(|cells| cells.get_mut(place.buffer, place.cell))
        else {
            return;
        };
        let mut earlier: Vec<Touch<'p>> = cell.write.into_iter().collect();
        let empty = cell.write.is_none() && !given || cell.covered;
        if touch.write {
            earlier.extend(cell.reads.iter().copied());
            cell.write = Some(touch);
            cell.made_from = made_from.cloned();
            cell.covered = false;
            cell.reads.clear();
        } else {
            cell.reads.push(touch);
            if empty {
                self.alone(Kind::Unwritten, touch, place);
            }
        }
        for first in earlier {
            self.check_order(actor, first, touch, place);
        }
    }

    /// A conflict that takes one access.
    fn alone(&mut self, kind: Kind, touch: Touch<'p>, place: Place) {
        self.conflicts.push(Conflict { kind, first: touch, second: touch, place, relaxed: false });
    }

    /// Two accesses of this launch, one of them a write.
    pub(super) fn check_order(
        &mut self,
        actor: &Actor<'_, 'p>,
        first: Touch<'p>,
        second: Touch<'p>,
        place: Place,
    ) {
        if !ordered(actor, &first, &second) {
            let relaxed = actor.clocks().any(|clock| past(clock, &first));
            let kind = if first.agent == second.agent { Kind::Threads } else { Kind::Race };
            self.conflicts.push(Conflict { kind, first, second, place, relaxed });
        }
    }

    /// Whether a rank is known to have started this launch.
    fn started(&self, clock: &Clock, rank: RankId) -> bool {
        self.blocks_of.lookup(rank).is_some_and(|agents| clock.has_run_any(agents.clone()))
    }

    /// Scratch in the launch before: what touched it must be known to be done. Where the rank that it belongs to is not
    /// even known to have started, that is the first thing to say.
    fn check_launch(
        &mut self,
        actor: &Actor<'_, 'p>,
        touch: Touch<'p>,
        place: Place,
        foreign: bool,
    ) {
        let Some(before) = self.before else { return };
        let cell = before.cells.get(place.rank.index());
        let cell = cell.and_then(|cells| cells.get(place.buffer, place.cell));
        let plain = cell
            .into_iter()
            .flat_map(|cell| cell.write.iter().chain(cell.reads.iter().filter(|_| touch.write)));
        let over = self.mixed.then(|| self.packet_before(before, place)).flatten();
        let packets = over.into_iter().flat_map(|packet| {
            packet.writers.iter().chain(packet.readers.iter().filter(|_| touch.write))
        });
        let late = plain
            .chain(packets)
            .copied()
            .find(|first| !self.ended(before, actor, first, Needs::Seen));
        match late {
            Some(_) if foreign => self.alone(Kind::Start, touch, place),
            Some(first) => self.across_launches(first, touch, place),
            None => {}
        }
    }

    pub(super) fn across_launches(&mut self, first: Touch<'p>, second: Touch<'p>, place: Place) {
        let kind = Kind::Launches;
        self.conflicts.push(Conflict { kind, first, second, place, relaxed: false });
    }

    /// Whether something of an earlier launch is known to be done: the launch before, or with two halves of scratch the
    /// one before that. It is if the end of that launch on some rank knows of it, and that rank is known to have gone on:
    /// to have started this launch, or with a launch between, to have started that when another rank ended it that is
    /// known to have started this one.
    pub(super) fn ended(
        &self,
        before: &After<'p>,
        actor: &Actor<'_, 'p>,
        first: &Touch<'p>,
        needs: Needs,
    ) -> bool {
        let between = self.program.options.double_scratch;
        let knows =
            |rank: RankId| before.ends.get(rank.index()).is_some_and(|end| needs.met(end, first));
        let started = |rank: RankId| {
            rank == actor.rank || actor.clocks().any(|clock| self.started(clock, rank))
        };
        let went_on = |rank: RankId| {
            let then = |end: &Clock| self.started(end, rank);
            started(rank)
                || between
                    && self
                        .blocks_of
                        .ids()
                        .zip(&before.ends)
                        .any(|(via, end)| then(end) && started(via))
        };
        // A proxy does what it was asked for in order, launch after launch.
        let later = |clock: &Clock| needs.met_by_any(clock, first.agent);
        let overtaken = first.agent >= self.first_proxy
            && (first.agent == actor.agent
                || actor.clocks().any(later)
                || between
                    && self
                        .blocks_of
                        .ids()
                        .zip(&before.ends)
                        .any(|(via, end)| later(end) && started(via)));
        if overtaken {
            return true;
        }
        // Mostly it is the rank itself that did it.
        let likely = [actor.rank, first.rank];
        likely.into_iter().any(|rank| knows(rank) && went_on(rank))
            || self.blocks_of.ids().any(|rank| knows(rank) && went_on(rank))
    }

    /// Whether a proxy does it.
    pub(super) fn is_proxy(&self, actor: &Actor<'_, 'p>) -> bool {
        actor.agent >= self.first_proxy
    }
}

fn touch<'p>(actor: &Actor<'_, 'p>, element: &Element, access: &Access, write: bool) -> Touch<'p> {
    Touch {
        agent: actor.agent,
        rank: actor.rank,
        step: actor.step,
        element: element.number,
        said: access.said,
        write,
        share: access.share,
        base: access.base,
        op: actor.op,
    }
}

/// Whether the second access, made by this actor, comes after the first.
fn ordered(actor: &Actor, first: &Touch, second: &Touch) -> bool {
    let same_operation = first.agent == second.agent && first.step == second.step;
    let same_thread = first.agent == second.agent
        && first.share == second.share
        && first.share != super::cells::Share::Other
        && first.base == second.base;
    same_operation && first.element == second.element
        || same_thread
        || actor.clocks().any(|clock| known(clock, first))
}
