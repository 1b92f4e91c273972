//! Successive launches: scratch lives from one to the next, and an access to it must know that the accesses of earlier
//! launches to the same place are done. If launches may have messages of different sizes, that is not enough ([`sizes`]).
//!
//! In: a launch, with every access to scratch that may conflict with an earlier launch, and what was known at that time
//! ([`EarlierAccess`]). All launches are alike: the accesses to a cell in the previous launch are those of this one. Out:
//! conflicts.

mod sizes;

use super::acts::{Footprint, Touch};
use super::agents::Agent;
use super::cells::Place;
use super::clock::{Clock, Lookup};
use super::fold::Fold;
use super::history::{MomentId, NONE, Packed, Source};
use super::machine::{Actor, After, Conflict, Kind, Machine};
use super::memory::{known, past};
use super::overlay::packet_at;
use super::pages::Pages;
use super::turn::TurnId;
use crate::ir::{Buffer, Program, RankId};
use crate::table::Id;
pub(in crate::check) use sizes::{Across, Use, Writes};
use smallvec::SmallVec;

/// An access to scratch, and what was known at that time.
#[derive(Debug)]
struct EarlierAccess {
    what: TouchKind,
    print: Footprint,
    /// Where in scratch.
    rank: RankId,
    cell: u32,
    /// What its agent knew, as a block or as a proxy.
    moment: MomentId,
    /// What its element had heard in addition: rows of [`Touched::heard`].
    heard: (u32, u32),
    /// How many conflicts had been found by then.
    conflicts: u32,
}

/// All accesses to scratch, in order.
#[derive(Debug, Default)]
pub(super) struct Touched {
    all: Pages<EarlierAccess>,
    /// What elements had heard, one element after the other.
    heard: Pages<Packed>,
}

impl Touched {
    /// The rows with what an element has heard. The accesses of an element follow each other, and share these rows.
    fn heard(&mut self, told: &[Source]) -> (u32, u32) {
        let told = told.iter().map(|source| Packed::from(*source));
        let end = self.heard.len();
        let start = end.saturating_sub(told.len());
        if self.heard.range(start..end).copied().eq(told.clone()) {
            return (start as u32, end as u32);
        }
        self.heard.extend(told);
        (end as u32, self.heard.len() as u32)
    }

    /// What an element has heard, as a clock; none where that is nothing.
    fn clock(&self, (start, end): (u32, u32)) -> Option<Clock> {
        let told = self.heard.range(start as usize..end as usize);
        (start < end).then(|| Clock::told(told.map(|packed| packed.source())))
    }
}

/// How scratch is touched.
#[derive(Clone, Copy, Debug)]
pub(super) enum TouchKind {
    /// As a plain cell: whether its rank is not known to have started, and whether packets of the previous launch lie
    /// over it.
    Plain { foreign: bool, over: bool },
    /// As a packet that is written.
    Packet,
    /// As a plain cell that a packet lies over.
    Under,
}

/// How much must be known of an earlier access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// That its effect is visible, or that what it read was consumed.
    Seen,
    /// That it was made: enough between packets, which are single accesses.
    Past,
}

impl Needs {
    fn met(self, lookup: Lookup<'_>, clock: &Clock, touch: &Touch) -> bool {
        match self {
            Needs::Seen => known(lookup, clock, touch),
            Needs::Past => past(lookup, clock, touch),
        }
    }

    /// Whether it is met for everything that a proxy did before something that is known of it.
    fn met_before_any(self, lookup: Lookup<'_>, clock: &Clock, proxy: Agent) -> bool {
        clock.has_met(lookup, proxy) || self == Needs::Past && clock.heard_any(lookup, proxy)
    }
}

/// A launch, which stands for the previous one too.
pub(super) struct Launches<'a, 'p> {
    pub(super) program: &'p Program,
    pub(super) fold: &'a Fold,
    pub(super) lookup: Lookup<'a>,
    pub(super) after: &'a After<'p>,
}

impl<'p> Machine<'p, '_> {
    /// Records an access to scratch, which may conflict with an earlier launch.
    pub(super) fn again(
        &mut self,
        actor: &Actor<'_, 'p>,
        print: Footprint,
        Place { rank, cell, .. }: Place,
        what: TouchKind,
    ) {
        let (moment, heard) = (actor.moment, self.again.heard(actor.told));
        let conflicts = self.conflicts.len() as u32;
        let cell = cell as u32;
        self.again.all.push(EarlierAccess { what, print, rank, cell, moment, heard, conflicts });
    }
}

impl<'p> Launches<'_, 'p> {
    /// All conflicts: those of the launch, and those with the previous one.
    pub(super) fn conflicts(&self) -> Vec<Conflict<'p>> {
        let mut own = self.after.conflicts.iter();
        let (mut all, mut taken) = (Vec::new(), 0);
        let mut clock = (NONE, Clock::default());
        let mut heard = ((0, 0), None);
        for again in self.after.again.all.iter() {
            all.extend(own.by_ref().take((again.conflicts - taken) as usize).copied());
            taken = again.conflicts;
            // The elements of an operation follow each other, and their block knows the same; so do an element's
            // accesses.
            if clock.0 != again.moment {
                clock = (again.moment, Clock::told([Source::All(again.moment, 0)]));
            }
            if heard.0 != again.heard {
                heard = (again.heard, self.after.again.clock(again.heard));
            }
            all.extend(self.conflict(&clock.1, heard.1.as_ref(), again));
        }
        all.extend(own.copied());
        all
    }

    fn conflict(
        &self,
        clock: &Clock,
        heard: Option<&Clock>,
        again: &EarlierAccess,
    ) -> Option<Conflict<'p>> {
        let touch = self.touch(again.print);
        let actor = Actor {
            agent: touch.agent,
            rank: touch.rank,
            step: touch.step,
            clock,
            starts: clock,
            heard,
            told: &[],
            moment: again.moment,
            op: touch.op,
        };
        let needs = match again.what {
            TouchKind::Packet => Needs::Past,
            TouchKind::Plain { .. } | TouchKind::Under => Needs::Seen,
        };
        let place =
            Place { rank: again.rank, buffer: Buffer::Scratch, cell: u64::from(again.cell) };
        let (earlier, by) = self.earlier(again, place);
        let turn = self.lookup.agents.turn();
        let mut earlier = earlier.into_iter().map(|first| first.moved(turn, by));
        let late = earlier.find(|first| !self.ended(&actor, *first, needs))?;
        let place = match again.what {
            TouchKind::Under => Place { cell: place.cell / 2, ..place },
            TouchKind::Plain { .. } | TouchKind::Packet => place,
        };
        // If the rank that it belongs to is not even known to have started, that is reported first.
        let kind = match again.what {
            TouchKind::Plain { foreign: true, .. } => Kind::Start,
            TouchKind::Plain { .. } | TouchKind::Packet | TouchKind::Under => Kind::Launches,
        };
        Some(Conflict { kind, first: self.touch(late), second: touch, place, relaxed: false })
    }

    fn touch(&self, print: Footprint) -> Touch<'p> {
        self.after.acts.touch(self.lookup.agents, print)
    }

    /// The accesses to the same place in the previous launch, if one of the two is a write, and the turn that leads
    /// there.
    fn earlier(&self, again: &EarlierAccess, place: Place) -> (SmallVec<[Footprint; 4]>, TurnId) {
        let (home, by) = self.fold.home(place);
        let write = again.print.writes();
        let cell = || {
            let cells = self.after.cells.get(home.rank.index());
            let cell = cells.and_then(|cells| cells.get(home.buffer, home.cell));
            cell.into_iter().flat_map(|cell| cell.prints(write))
        };
        let packet = |slot| self.after.packets.get(slot).into_iter();
        let earlier = match again.what {
            TouchKind::Packet => {
                let packet = packet((home.rank, home.cell as u32));
                packet
                    .flat_map(|one| one.readers.iter().copied().chain(one.prints(false)))
                    .collect()
            }
            TouchKind::Plain { over: true, .. } => {
                let packet = packet(packet_at(place));
                cell().chain(packet.flat_map(|one| one.prints(write))).collect()
            }
            TouchKind::Plain { .. } | TouchKind::Under => cell().collect(),
        };
        (earlier, by)
    }

    /// Whether an access of an earlier launch is known to be done: of the previous launch, or, with two halves of
    /// scratch, of the one before that. It is if some rank knew of it at the end of that launch, and that rank is known
    /// to have gone on: it has started this launch; or, with a launch in between, it had started that launch when
    /// another rank ended it which is known to have started this one.
    fn ended(&self, actor: &Actor<'_, 'p>, print: Footprint, needs: Needs) -> bool {
        let first = self.touch(print);
        let between = self.program.options.double_scratch;
        let lookup = self.lookup;
        let knows = |rank: RankId| self.knows_at_end(rank, print, needs);
        let then = |via: RankId, rank: RankId| self.has_started_by_end(via, rank);
        // Usually it is the rank itself that knows what it did, or for a proxy, the rank it put to. What an end knows
        // is checked before what the block knows, which each block has to search on its own, and that before what was
        // heard just now.
        let put_to = self.lookup.agents.peer(first.agent);
        let likely = || {
            let ranks = [put_to, Some(first.rank), Some(actor.rank)].into_iter().flatten();
            ranks.filter(|rank| knows(*rank))
        };
        let went_on_for_all = |rank: RankId| {
            rank == actor.rank
                || between && then(actor.rank, rank)
                || actor.clock.has_started(lookup, rank)
        };
        if likely().any(went_on_for_all) {
            return true;
        }
        let started = |rank: RankId| rank == actor.rank || actor.has_started(lookup, rank);
        if likely().any(started) {
            return true;
        }
        let begun: Vec<RankId> = self.program.ranks.ids().filter(|rank| started(*rank)).collect();
        if self.is_overtaken((actor, needs), &first, &begun) {
            return true;
        }
        let went_on = |rank: RankId| {
            begun.binary_search(&rank).is_ok()
                || between && begun.iter().any(|via| then(*via, rank))
        };
        likely().any(went_on) || self.program.ranks.ids().any(|rank| knows(rank) && went_on(rank))
    }

    /// What a rank knows at its end: its representative's knowledge, and the turn that leads from the rank to its
    /// representative.
    fn end(&self, rank: RankId) -> Option<(&Clock, TurnId)> {
        let turn = self.lookup.agents.turn();
        let (first, by) = turn.home(rank);
        Some((self.after.ends.get(first.index())?, turn.back(by)))
    }

    /// Whether a rank knows at its end that an access of that launch is done.
    fn knows_at_end(&self, rank: RankId, print: Footprint, needs: Needs) -> bool {
        let turn = self.lookup.agents.turn();
        self.end(rank).is_some_and(|(end, by)| {
            needs.met(self.lookup, end, &self.touch(print.moved(turn, by)))
        })
    }

    /// Whether a rank knows at its end that another one had started that launch.
    fn has_started_by_end(&self, via: RankId, rank: RankId) -> bool {
        let turn = self.lookup.agents.turn();
        self.end(via)
            .is_some_and(|(end, by)| end.has_started(self.lookup, RankId(turn.then(rank.0, by))))
    }

    /// Whether it is known that a proxy that made an access in an earlier launch has done something since, if only
    /// signaled: a proxy serves its requests in order, launch after launch. `begun` are the ranks that are known to have
    /// started.
    fn is_overtaken(
        &self,
        (actor, needs): (&Actor<'_, 'p>, Needs),
        first: &Touch<'p>,
        begun: &[RankId],
    ) -> bool {
        if !self.lookup.agents.is_proxy(first.agent) {
            return false;
        }
        let (lookup, turn) = (self.lookup, self.lookup.agents.turn());
        let proxies = lookup.agents.siblings(first.agent);
        let later = |clock: &Clock, by: TurnId| {
            let mut moved = proxies.clone().map(|proxy| lookup.agents.moved(proxy, by));
            moved.any(|proxy| needs.met_before_any(lookup, clock, proxy))
        };
        let in_end = |via: RankId| {
            let (home, by) = turn.home(via);
            self.after.ends.get(home.index()).is_some_and(|end| later(end, turn.back(by)))
        };
        proxies.contains(&actor.agent)
            || actor.clocks().any(|clock| later(clock, 0))
            || self.program.options.double_scratch && begun.iter().any(|via| in_end(*via))
    }
}
