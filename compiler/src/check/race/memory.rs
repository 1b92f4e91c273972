//! What an operation does to plain memory, element by element, and what speaks against it.
//!
//! In: an element and who does it ([`Actor`]). Out: the memory after it, and conflicts.

use super::access::{Access, Element};
use super::agents::Agent;
use super::cells::{Place, Touch};
use super::clock::{Clock, Lookup};
use super::history::{FlowId, MomentId, NONE, Source};
use super::machine::{Actor, After, Conflict, Kind, Machine, known, past};
use super::turn::By;
use crate::ir::{Buffer, RankId};
use crate::table::Id;
use smallvec::SmallVec;

/// How much must be known of an earlier access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// That its effect can be seen, or that what it read was consumed.
    Seen,
    /// That it was made: enough among packets, which are single accesses.
    Past,
}

impl Needs {
    fn met(self, lookup: Lookup<'_>, clock: &Clock, touch: &Touch) -> bool {
        match self {
            Needs::Seen => known(lookup, clock, touch),
            Needs::Past => past(lookup, clock, touch),
        }
    }

    /// Whether it is met for anything that an agent does.
    fn met_by_any(self, lookup: Lookup<'_>, clock: &Clock, agent: Agent) -> bool {
        clock.knows(lookup, agent, 0) || self == Needs::Past && clock.heard_any(lookup, agent)
    }
}

impl<'p> Machine<'p, '_> {
    /// One element: what it reads, then what it writes. What its packets tell is known to its own writes at once; it is
    /// given back, with what its threads have been told before, unless they told nothing. Where these go on without
    /// meeting the others, what they do next tells that they have done this.
    pub(super) fn element(
        &mut self,
        actor: &Actor<'_, 'p>,
        element: &Element,
        (before, goes_on): (&[Source], bool),
    ) -> SmallVec<[Source; 4]> {
        let mut parts: SmallVec<[(FlowId, By); 2]> = SmallVec::new();
        let mut told: SmallVec<[Source; 4]> = SmallVec::new();
        let flow = self.history.next_flow();
        for read in element.reads.iter().filter(|read| read.packet) {
            let packet = touch(actor, element, read, flow, false);
            let heard = self.read_packet(actor, read, packet, &mut parts);
            if !self.agents.is_proxy(actor.agent) {
                told.extend(heard);
            }
        }
        if !told.is_empty() {
            told.extend_from_slice(before);
        }
        let heard = (!told.is_empty()).then(|| Clock::told(&told));
        let actor = Actor { heard: heard.as_ref().or(actor.heard), ..*actor };
        for read in element.reads.iter().filter(|read| !read.packet) {
            self.plain(&actor, read, touch(&actor, element, read, flow, false));
            parts.extend(self.made_from(read.place));
        }
        if self.follows {
            self.history.flow((actor.agent, actor.step), &mut parts);
        }
        let known = if told.is_empty() { before } else { told.as_slice() };
        let mut run = None;
        for write in &element.writes {
            let touch = touch(&actor, element, write, flow, true);
            match write.packet {
                false => self.plain(&actor, write, touch),
                true => {
                    let run = *run.get_or_insert_with(|| self.run_by(&actor, known));
                    self.write_packet(&actor, write, touch, run);
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

    /// The moment of an element: what is known to have been run by who does it. The elements of an operation that have
    /// heard of nothing share it.
    fn run_by(&mut self, actor: &Actor, told: &[Source]) -> MomentId {
        if told.is_empty() {
            return actor.moment;
        }
        let chain = self.history.chain();
        let sources = std::iter::once(Source::Run(actor.moment, 0))
            .chain(told.iter().map(|source| source.run()));
        self.history.add((actor.agent, chain), 0, NONE, sources)
    }

    /// What a cell holds was made by this.
    fn made_from(&self, place: Place) -> Option<(FlowId, By)> {
        let (home, by) = self.fold.home(place);
        let cell = self.cells.get(home.rank.index())?.get(home.buffer, home.cell)?;
        cell.made_from.map(|(flow, more)| (flow, self.agents.turn().then(more, by)))
    }

    /// Whether a cell holds something when a launch begins: the input, by whatever name.
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
    fn plain(&mut self, actor: &Actor<'_, 'p>, access: &Access, touch: Touch<'p>) {
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
        let (home, by) = self.fold.home(place);
        let there = touch.moved(self.agents, self.agents.turn().back(by));
        let cells = self.cells.get_mut(home.rank.index());
        let Some(cell) = cells.and_then(|cells| cells.get_mut(home.buffer, home.cell)) else {
            return;
        };
        let mut earlier: SmallVec<[Touch<'p>; 2]> = cell.write.into_iter().collect();
        let empty = cell.write.is_none() && !given || cell.covered;
        if touch.write {
            earlier.extend(cell.reads.iter().copied());
            cell.write = Some(there);
            cell.made_from = self.follows.then_some(there.flow);
            cell.covered = false;
            cell.reads.clear();
        } else {
            cell.reads.push(there);
            if empty {
                self.alone(Kind::Unwritten, touch, place);
            }
        }
        for first in earlier {
            self.check_order(actor, first.moved(self.agents, by), touch, place);
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
        let lookup = self.lookup();
        if !ordered(lookup, actor, &first, &second) {
            let relaxed = actor.clocks().any(|clock| past(lookup, clock, &first));
            let kind = if first.agent == second.agent { Kind::Threads } else { Kind::Race };
            self.conflicts.push(Conflict { kind, first, second, place, relaxed });
        }
    }

    /// Whether a rank is known to have started this launch.
    fn started(&self, clock: &Clock, rank: RankId) -> bool {
        clock.has_run_any(self.lookup(), self.agents.blocks(rank))
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
        let (home, by) = self.fold.home(place);
        let cell = before.cells.get(home.rank.index());
        let cell = cell.and_then(|cells| cells.get(home.buffer, home.cell));
        let plain = cell
            .into_iter()
            .flat_map(|cell| cell.write.iter().chain(cell.reads.iter().filter(|_| touch.write)));
        let over = self.mixed.then(|| self.packet_before(before, place)).flatten();
        let packets = over.into_iter().flat_map(|packet| {
            packet.writers.iter().chain(packet.readers.iter().filter(|_| touch.write))
        });
        let late = plain
            .chain(packets)
            .map(|first| first.moved(self.agents, by))
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
        let (lookup, turn) = (self.lookup(), self.agents.turn());
        // The end of a rank, and the turn that leads from it to the one that stands for it.
        let end = |rank: RankId| {
            let (first, by) = turn.home(rank);
            Some((before.ends.get(first.index())?, turn.back(by)))
        };
        let knows = |rank: RankId| {
            end(rank).is_some_and(|(end, by)| needs.met(lookup, end, &first.moved(self.agents, by)))
        };
        let then = |via: RankId, rank: RankId| {
            end(via).is_some_and(|(end, by)| {
                let rank = RankId(turn.then(rank.0, by));
                end.has_run_any(lookup, self.agents.blocks(rank))
            })
        };
        // Mostly it is the rank itself that knows what it did. What the block knows is asked before what was heard just now.
        let likely = || [first.rank, actor.rank].into_iter().filter(|rank| knows(*rank));
        let went_on_for_all = |rank: RankId| {
            rank == actor.rank
                || self.started(actor.clock, rank)
                || between && then(actor.rank, rank)
        };
        if likely().any(went_on_for_all) {
            return true;
        }
        let started = |rank: RankId| {
            rank == actor.rank || actor.clocks().any(|clock| self.started(clock, rank))
        };
        let all = || self.program.ranks.ids();
        let went_on = |rank: RankId| {
            started(rank) || between && all().any(|via| started(via) && then(via, rank))
        };
        if likely().any(started) || self.is_overtaken(before, (actor, needs), first, &started) {
            return true;
        }
        likely().any(went_on) || all().any(|rank| went_on(rank) && knows(rank))
    }

    /// Whether a proxy that did something in an earlier launch has done something since, which is known: it does what it was
    /// asked for in order, launch after launch.
    fn is_overtaken(
        &self,
        before: &After<'p>,
        (actor, needs): (&Actor<'_, 'p>, Needs),
        first: &Touch<'p>,
        started: &dyn Fn(RankId) -> bool,
    ) -> bool {
        if !self.agents.is_proxy(first.agent) {
            return false;
        }
        let (lookup, turn) = (self.lookup(), self.agents.turn());
        let later = |clock: &Clock, by: By| {
            needs.met_by_any(lookup, clock, self.agents.moved(first.agent, by))
        };
        let in_end = |via: RankId| {
            let (home, by) = turn.home(via);
            before.ends.get(home.index()).is_some_and(|end| later(end, turn.back(by)))
        };
        first.agent == actor.agent
            || actor.clocks().any(|clock| later(clock, 0))
            || self.program.options.double_scratch
                && self.program.ranks.ids().any(|via| started(via) && in_end(via))
    }
}

fn touch<'p>(
    actor: &Actor<'_, 'p>,
    element: &Element,
    access: &Access,
    flow: FlowId,
    write: bool,
) -> Touch<'p> {
    Touch {
        agent: actor.agent,
        rank: actor.rank,
        step: actor.step,
        element: element.number,
        said: access.said,
        write,
        packet: access.packet,
        share: access.share,
        base: access.base,
        flow: (flow, 0),
        op: actor.op,
    }
}

/// Whether the second access, made by this actor, comes after the first.
fn ordered(lookup: Lookup<'_>, actor: &Actor, first: &Touch, second: &Touch) -> bool {
    let same_operation = first.agent == second.agent && first.step == second.step;
    let same_thread = first.agent == second.agent
        && first.share == second.share
        && first.share != super::cells::Share::Other
        && first.packet == second.packet
        && first.base == second.base;
    same_operation && first.element == second.element
        || same_thread
        || actor.clocks().any(|clock| clock.knows(lookup, first.agent, first.step))
        || !first.write && actor.clocks().any(|clock| clock.consumed(lookup, first.flow))
}
