//! What an operation does to memory, element by element, and what speaks against it.

use super::access::{Access, Element};
use super::cells::{Place, Share, Touch};
use super::clock::{self, Clock, Flow};
use super::machine::{Actor, After, Conflict, Kind, Machine, Packet, known};
use crate::ir::{Buffer, RankId};
use crate::table::Id;
use smallvec::SmallVec;
use std::rc::Rc;

impl<'p> Machine<'p, '_> {
    /// One element: what it reads, then what it writes. What its packets tell is known to its own writes at once, and
    /// goes into `learnt` for the block.
    pub(super) fn element(&mut self, actor: &Actor<'_, 'p>, element: &Element, learnt: &mut Clock) {
        let mut parts: SmallVec<[Rc<Flow>; 2]> = SmallVec::new();
        let mut told = None;
        for read in element.reads.iter().filter(|read| read.packet) {
            let touch = touch(actor, element, read, false);
            let Some(packet) = self.packets.get_mut(&(read.place.rank, read.place.cell)) else {
                continue;
            };
            packet.readers.push(touch);
            parts.push(Rc::clone(&packet.flow));
            for clock in [told.get_or_insert_with(Clock::default), &mut *learnt] {
                clock.merge_run(&packet.clock);
                clock.consume(&packet.flow);
            }
        }
        let actor = Actor { heard: told.as_ref(), ..*actor };
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
                    self.check_packet_launch(&actor, write, touch);
                    self.check_packet_twice(write, touch);
                    let clock = run.get_or_insert_with(|| self.run_by(&actor));
                    if let Some(flow) = &flow {
                        let packet = Packet {
                            clock: Rc::clone(clock),
                            flow: Rc::clone(flow),
                            writer: touch,
                            readers: Vec::new(),
                        };
                        self.packets.insert((write.place.rank, write.place.cell), packet);
                    }
                }
            }
        }
    }

    /// What has been run once this element has. The elements of an operation that have heard of nothing share it.
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
        clock.ran(actor.agent, actor.step);
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

    /// A packet that is written twice in a launch carries one flag both times: its reader may find either.
    fn check_packet_twice(&mut self, write: &Access, touch: Touch<'p>) {
        let Some(packet) = self.packets.get(&(write.place.rank, write.place.cell)) else { return };
        let first = packet.writer;
        self.conflicts.push(Conflict {
            kind: Kind::Twice,
            first,
            second: touch,
            place: write.place,
            relaxed: false,
        });
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
                self.too_early(touch, place);
                return;
            }
            Buffer::Input | Buffer::Output => {}
            Buffer::Scratch => self.check_launch(actor, touch, place, foreign),
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
        if touch.write {
            earlier.extend(cell.reads.iter().copied());
            cell.write = Some(touch);
            cell.made_from = made_from.cloned();
            cell.reads.clear();
        } else {
            if cell.write.is_none() && !given {
                self.conflicts.push(Conflict {
                    kind: Kind::Unwritten,
                    first: touch,
                    second: touch,
                    place,
                    relaxed: false,
                });
            }
            cell.reads.push(touch);
        }
        for first in earlier {
            if !ordered(actor, &first, &touch) {
                let relaxed = actor.clocks().any(|clock| clock.has_run(first.agent, first.step));
                let kind = if first.agent == touch.agent { Kind::Threads } else { Kind::Race };
                self.conflicts.push(Conflict { kind, first, second: touch, place, relaxed });
            }
        }
    }

    /// Whether a rank is known to have started this launch.
    fn started(&self, clock: &Clock, rank: RankId) -> bool {
        self.blocks_of.lookup(rank).is_some_and(|agents| clock.has_run_any(agents.clone()))
    }

    fn too_early(&mut self, touch: Touch<'p>, place: Place) {
        self.conflicts.push(Conflict {
            kind: Kind::Start,
            first: touch,
            second: touch,
            place,
            relaxed: false,
        });
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
        let Some(cell) = before
            .cells
            .get(place.rank.index())
            .and_then(|cells| cells.get(place.buffer, place.cell))
        else {
            return;
        };
        let earlier = cell.write.iter().chain(cell.reads.iter().filter(|_| touch.write));
        let late = earlier.copied().find(|first| !self.ended(before, actor, first, false));
        if foreign && late.is_some() {
            self.too_early(touch, place);
        } else if let Some(first) = late {
            self.conflicts.push(Conflict {
                kind: Kind::Launches,
                first,
                second: touch,
                place,
                relaxed: false,
            });
        }
    }

    /// Packets of the launch before (or, in doubled scratch, of the one before that): their readers must be done.
    fn check_packet_launch(&mut self, actor: &Actor<'_, 'p>, write: &Access, touch: Touch<'p>) {
        let Some(before) = self.before else { return };
        let Some(packet) = before.packets.get(&(write.place.rank, write.place.cell)) else {
            return;
        };
        let doubled = self.program.options.double_scratch;
        let late =
            packet.readers.iter().copied().find(|first| !self.ended(before, actor, first, doubled));
        if let Some(first) = late {
            let place = write.place;
            self.conflicts.push(Conflict {
                kind: Kind::Launches,
                first,
                second: touch,
                place,
                relaxed: false,
            });
        }
    }

    /// Whether something of an earlier launch is known to be done: the end of that launch on some rank knows it, and
    /// that rank is known to have started this one, or with another launch between, to have started that.
    fn ended(
        &self,
        before: &After<'p>,
        actor: &Actor<'_, 'p>,
        first: &Touch<'p>,
        launch_between: bool,
    ) -> bool {
        let knows = |rank: RankId| {
            before.ends.get(rank.index()).is_some_and(|end| {
                end.has_run(first.agent, first.step) || end.knows(first.agent, first.step)
            })
        };
        if knows(actor.rank) {
            return true;
        }
        // Mostly it is the rank itself that did it.
        let own_end = before.ends.get(actor.rank.index()).filter(|_| launch_between);
        let clocks = || actor.clocks().chain(own_end);
        if knows(first.rank) && clocks().any(|clock| self.started(clock, first.rank)) {
            return true;
        }
        self.blocks_of.entries().any(|(rank, agents)| {
            clocks().any(|clock| clock.has_run_any(agents.clone())) && knows(rank)
        })
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
        && first.share != Share::Other
        && first.base == second.base;
    same_operation && first.element == second.element
        || same_thread
        || actor.clocks().any(|clock| known(clock, first))
}
