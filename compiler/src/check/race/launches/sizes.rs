//! Successive launches with messages of different sizes: a chunk of scratch lies elsewhere in each of them, so a write
//! must know that *every* access to its rank's scratch in earlier launches is done, not only those to its own chunk.
//!
//! In: a launch, of each class of message sizes. Out: the first write that may come too early after a launch of any
//! class. Reads need no check of their own: what they read was written in their own launch, by a write that is checked,
//! and that they come after.
//!
//! An access of an earlier launch is done if some rank knew of it at the end of that launch, and that rank is known to
//! have gone on. Neither depends on the size of the other launch. So each class is looked at once ([`Across`]): which
//! ranks know of all that an agent does to a rank's scratch, and which of those a writer knows to have gone on.
//!
//! Where packets and plain chunks are in one scratch, the contents of a chunk may look like a packet: that is found, too.

use super::super::acts::{Footprint, Touch};
use super::super::agents::Agent;
use super::super::cells::Place;
use super::super::clock::Clock;
use super::super::history::{MomentId, NONE, Source};
use super::super::machine::Actor;
use super::super::turn::{Turn, TurnId};
use super::{EarlierAccess, Launches, Needs};
use crate::ir::{Buffer, OriginId, RankId};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// An access to scratch. Where only representatives are followed, the operation is that of the representative.
#[derive(Clone, Copy, Debug)]
pub(in crate::check) struct Use {
    /// The rank of the block or proxy.
    pub(in crate::check) rank: RankId,
    /// The rank whose scratch it is.
    pub(in crate::check) owner: RankId,
    /// Whether it writes.
    pub(in crate::check) write: bool,
    /// Whether as a packet.
    pub(in crate::check) packet: bool,
    /// The operation.
    pub(in crate::check) origin: OriginId,
    /// If a proxy makes it, the rank to which that leads.
    pub(in crate::check) put_to: Option<RankId>,
}

/// What launches of one class, or of several, have to do with launches of another size.
#[derive(Debug)]
pub(in crate::check) struct Across {
    turn: Turn,
    /// Who knows of what is done to scratch.
    users: BTreeMap<Key, Known>,
    writes: Vec<Write>,
    /// For each owner, the ranks that the writes rely on that were looked at together: once for each class.
    relied: BTreeMap<RankId, BTreeSet<Vec<RankId>>>,
    /// Where there is a launch in between: of the pairs that writes rely on, those that hold in all classes, since it is
    /// open of which class that launch is.
    heard: BTreeSet<Heard>,
    /// Whether writes were looked at together, so that ranks were asked only as far as their own class needs it.
    partial: bool,
    /// Whether another class needs other pairs, or has writes that were looked at on their own.
    differs: bool,
}

/// A followed rank that knows at its end that another rank has begun that launch.
type Heard = (RankId, RankId);

/// A rank that is known to have gone on; and if that is known through the launch in between, what was heard there.
type GoneOn = (RankId, Option<Heard>);

/// A followed rank, an agent that uses its scratch, and whether packets are meant.
type Key = (RankId, Agent, bool);

/// Who knows at the end of a launch of all that an agent did to a rank's scratch: of the ranks that it was asked of.
#[derive(Debug)]
struct Known {
    ranks: SmallVec<[RankId; 2]>,
    /// One of the accesses.
    example: Use,
}

/// A write to scratch.
#[derive(Debug)]
struct Write {
    /// The followed rank that represents its owner, and the turn that leads from there to it.
    owner: RankId,
    by: TurnId,
    /// The ranks of which it is known that they have gone on, and that are enough for its own class.
    gone_on: SmallVec<[GoneOn; 2]>,
    /// The proxies of which it is known that they have done something since.
    overtaken: SmallVec<[Agent; 1]>,
    example: Use,
}

impl Across {
    /// Whether every rank was followed.
    pub(in crate::check) fn is_of_all_ranks(&self) -> bool {
        self.turn == Turn::Still
    }

    /// Adds what is known of another class; none where other ranks were followed.
    pub(in crate::check) fn and(mut self, other: Across) -> Option<Across> {
        if self.turn != other.turn {
            return None;
        }
        for (key, known) in other.users {
            match self.users.get_mut(&key) {
                Some(both) => both.ranks.retain(|rank| known.ranks.contains(rank)),
                None => {
                    self.users.insert(key, known);
                }
            }
        }
        self.writes.extend(other.writes);
        for (owner, sets) in other.relied {
            self.relied.entry(owner).or_default().extend(sets);
        }
        let each = !self.writes.is_empty();
        self.differs |= other.differs || self.heard != other.heard || each;
        self.heard.retain(|heard| other.heard.contains(heard));
        Some(self)
    }

    /// Whether writes have to be looked at one by one ([`Writes::Each`]): those that were looked at together rely on ranks
    /// of which another class shows that they do not know of all that is done.
    pub(in crate::check) fn is_unclear(&self) -> bool {
        let users = |owner: RankId| self.users.range((owner, 0, false)..=(owner, Agent::MAX, true));
        let tells =
            |known: &Known, set: &[RankId]| set.iter().any(|rank| known.ranks.contains(rank));
        let is_told = |(owner, sets): (&RankId, &BTreeSet<Vec<RankId>>)| {
            let first = users(*owner).next().map(|((_, _, packet), _)| *packet);
            users(*owner).all(|((_, _, packet), known)| {
                Some(*packet) == first && sets.iter().all(|set| tells(known, set))
            })
        };
        self.partial && (self.differs || !self.relied.iter().all(is_told))
    }

    /// The writes that may come too early, each with every access in a launch of another size that may not be done.
    pub(in crate::check) fn conflicts(&self) -> impl Iterator<Item = (Use, Use)> {
        self.writes.iter().flat_map(|write| {
            let users = self.users.range((write.owner, 0, false)..=(write.owner, Agent::MAX, true));
            let open = |((_, agent, packet), known): &(&Key, &Known)| {
                let gone_on = write.gone_on.iter().any(|(rank, heard)| {
                    known.ranks.contains(rank)
                        && heard.is_none_or(|heard| self.heard.contains(&heard))
                });
                !gone_on && !write.overtaken.contains(agent) || *packet != write.example.packet
            };
            let there = |rank: RankId| RankId(self.turn.then(rank.0, write.by));
            users.filter(open).map(move |(_, known)| {
                let first = known.example;
                let (rank, owner) = (there(first.rank), there(first.owner));
                let put_to = first.put_to.map(there);
                (Use { rank, owner, put_to, ..first }, write.example)
            })
        })
    }
}

/// What an agent does to the scratch of a followed rank: either packets or plain accesses.
#[derive(Debug)]
struct User {
    agent: Agent,
    packet: bool,
    prints: Vec<Footprint>,
    /// For each rank that this was asked of, whether it knows of all of that when it ends.
    known: FxHashMap<RankId, bool>,
}

impl User {
    /// How much must be known for a later write of another launch: of packets, that they were accessed, since they are
    /// single accesses; there are no plain chunks where they are.
    fn needs(&self) -> Needs {
        if self.packet { Needs::Past } else { Needs::Seen }
    }
}

/// A write as it is looked at from the rank whose scratch it is.
struct Looked<'c, 'p> {
    actor: &'c Actor<'c, 'p>,
    /// The followed rank that represents the owner, and the turn that leads from there to it.
    owner: RankId,
    by: TurnId,
}

/// How writes are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::check) enum Writes {
    /// Those of one rank to the scratch of another one together, where that is enough: with many ranks, looking at each of
    /// them would take longer than everything else.
    Together,
    /// Each on its own.
    Each,
}

/// For the writes to a followed rank's scratch: ranks that together know at their ends of all that is done to it.
#[derive(Debug, Default)]
struct Covers {
    /// For each owner, these ranks, and whether packets are meant; none where no rank is likely to know of some user, or
    /// where there are packets and plain chunks.
    ranks: FxHashMap<RankId, Option<(Vec<RankId>, bool)>>,
    /// The owners for which writes rely on them.
    used: FxHashSet<RankId>,
    /// The pairs that are relied on where there is a launch in between.
    heard: FxHashSet<Heard>,
    /// For each owner and each rank that writes there: those of these ranks that must be known to have begun when the
    /// write is made, since the end of the launch before does not tell.
    open: FxHashMap<(RankId, RankId), SmallVec<[RankId; 1]>>,
}

impl<'p> Launches<'_, 'p> {
    /// What the launches have to do with launches of another size.
    pub(in crate::check::race) fn across(&self, writes_are: Writes) -> Across {
        let mut users = self.users();
        let mut covers = Covers::default();
        let mut writes = Vec::new();
        let mut settled: FxHashSet<(Agent, RankId)> = FxHashSet::default();
        let mut seen: FxHashSet<(Agent, MomentId, (u32, u32), RankId)> = FxHashSet::default();
        for again in self.after.again.all.iter().filter(|again| again.print.writes()) {
            let touch = self.touch(again.print);
            if settled.contains(&(touch.agent, again.rank))
                || !seen.insert((touch.agent, again.moment, again.heard, again.rank))
            {
                continue;
            }
            let together = writes_are == Writes::Together;
            let is_covered = if together && self.is_covered(again, &touch, &mut users, &mut covers)
            {
                true
            } else {
                let (write, is_covered) = self.write(again, &mut users);
                writes.push(write);
                is_covered
            };
            // Whatever a block does later comes after this; a proxy may do it for another block.
            let by_all = again.heard.0 == again.heard.1;
            if is_covered && by_all && !self.lookup.agents.is_proxy(touch.agent) {
                settled.insert((touch.agent, again.rank));
            }
        }
        let known = |(owner, list): (RankId, Vec<User>)| {
            list.into_iter().filter_map(move |mut user| {
                // All classes are asked of these, whichever of them writes of this class rely on.
                let likely = (writes_are == Writes::Each).then(|| self.likely(&user, owner));
                for rank in likely.into_iter().flatten() {
                    self.knows(&mut user, rank);
                }
                let examples = user.prints.iter().map(|print| self.example(*print, owner));
                let place = |one: &Use| self.program.origins.place(one.origin);
                let example = examples.min_by_key(|one| (place(one), one.write))?;
                let ranks = user.known.iter().filter(|(_, knows)| **knows);
                let ranks = ranks.map(|(rank, _)| *rank).collect();
                Some(((owner, user.agent, user.packet), Known { ranks, example }))
            })
        };
        let users = users.into_iter().flat_map(known).collect();
        let gone_on = writes.iter().flat_map(|write: &Write| &write.gone_on);
        let heard = gone_on.filter_map(|(_, heard)| *heard).chain(covers.heard).collect();
        let relied = covers.ranks.into_iter().filter(|(owner, _)| covers.used.contains(owner));
        let relied =
            relied.filter_map(|(owner, ranks)| Some((owner, BTreeSet::from([ranks?.0])))).collect();
        let turn = self.lookup.agents.turn();
        let partial = writes_are == Writes::Together;
        Across { turn, users, writes, relied, heard, partial, differs: false }
    }

    fn example(&self, print: Footprint, owner: RankId) -> Use {
        let touch = self.touch(print);
        Use {
            rank: touch.rank,
            owner,
            write: touch.write,
            packet: touch.packet,
            origin: touch.op.origin,
            put_to: self.lookup.agents.peer(touch.agent),
        }
    }

    /// Who uses the scratch of each followed rank.
    fn users(&self) -> BTreeMap<RankId, Vec<User>> {
        let mut all: BTreeMap<Key, Vec<Footprint>> = BTreeMap::new();
        let mut add = |rank: RankId, print: Footprint| {
            let touch = self.touch(print);
            all.entry((rank, touch.agent, touch.packet)).or_default().push(print);
        };
        for (rank, cells) in (0..).map(RankId).zip(&self.after.cells) {
            for cell in cells.buffer(Buffer::Scratch) {
                cell.prints(true).for_each(|print| add(rank, print));
            }
        }
        for ((rank, _), packet) in self.after.packets.iter() {
            packet.readers.iter().for_each(|print| add(rank, *print));
            packet.prints(false).for_each(|print| add(rank, print));
        }
        let mut users: BTreeMap<RankId, Vec<User>> = BTreeMap::new();
        for ((rank, agent, packet), prints) in all {
            let user = User { agent, packet, prints, known: FxHashMap::default() };
            users.entry(rank).or_default().push(user);
        }
        users
    }

    /// Whether a write comes after all that launches before it do to its owner's scratch, as far as ranks show that are
    /// asked once for all writes. Otherwise each write has to be looked at on its own ([`Self::write`]).
    fn is_covered(
        &self,
        again: &EarlierAccess,
        touch: &Touch<'p>,
        users: &mut BTreeMap<RankId, Vec<User>>,
        covers: &mut Covers,
    ) -> bool {
        let turn = self.lookup.agents.turn();
        let (owner, by) = turn.home(again.rank);
        let ranks = covers.ranks.entry(owner);
        let ranks = ranks.or_insert_with(|| {
            let users = users.get_mut(&owner)?;
            let packet = users.first()?.packet;
            let mut ranks = BTreeSet::new();
            for user in users {
                if user.packet != packet {
                    return None;
                }
                // Whatever a proxy does, the rank to which it leads usually knows first.
                let put_to = self.lookup.agents.peer(user.agent);
                let user_rank = self.lookup.agents.rank(user.agent);
                let mut likely = put_to.into_iter().chain([owner, user_rank]);
                ranks.insert(likely.find(|rank| self.knows(user, *rank))?);
            }
            Some((ranks.into_iter().collect(), packet))
        });
        let Some((ranks, _)) = ranks.as_ref().filter(|(_, packet)| *packet == touch.packet) else {
            return false;
        };
        let writer = RankId(turn.then(touch.rank.0, turn.back(by)));
        let between = self.program.options.double_scratch;
        let heard = &mut covers.heard;
        let open = covers.open.entry((owner, writer)).or_insert_with(|| {
            let others = ranks.iter().copied().filter(|rank| *rank != writer);
            let is_open = |rank: &RankId| {
                let tells = between && self.has_started_by_end(writer, *rank);
                heard.extend(tells.then(|| self.as_followed(writer, *rank)));
                !tells
            };
            others.filter(is_open).collect()
        });
        covers.used.insert(owner);
        if open.is_empty() {
            return true;
        }
        let (clock, heard) = self.clocks(again);
        let clocks = || std::iter::once(&clock).chain(&heard);
        let there = |rank: &RankId| RankId(turn.then(rank.0, by));
        open.iter()
            .map(there)
            .all(|rank| clocks().any(|clock| clock.has_started(self.lookup, rank)))
    }

    /// What was known when an access was made: to its block, and what its element had heard in addition.
    fn clocks(&self, again: &EarlierAccess) -> (Clock, Option<Clock>) {
        let clock = Clock::told((again.moment != NONE).then_some(Source::All(again.moment, 0)));
        (clock, self.after.again.clock(again.heard))
    }

    /// What is known when a write is made, and whether that is enough for its own class.
    fn write(
        &self,
        again: &EarlierAccess,
        users: &mut BTreeMap<RankId, Vec<User>>,
    ) -> (Write, bool) {
        let touch = self.touch(again.print);
        let (clock, heard) = self.clocks(again);
        let actor = Actor {
            agent: touch.agent,
            rank: touch.rank,
            step: touch.step,
            clock: &clock,
            starts: &clock,
            heard: heard.as_ref(),
            told: &[],
            moment: again.moment,
            op: touch.op,
        };
        let place =
            Place { rank: again.rank, buffer: Buffer::Scratch, cell: u64::from(again.cell) };
        let (home, by) = self.fold.home(place);
        let write = Looked { actor: &actor, owner: home.rank, by };
        let mut made = Write {
            owner: home.rank,
            by,
            gone_on: SmallVec::new(),
            overtaken: SmallVec::new(),
            example: self.example(again.print, again.rank),
        };
        let mut is_covered = true;
        for user in users.get_mut(&home.rank).into_iter().flatten() {
            let known = made.gone_on.iter().any(|(rank, _)| self.knows(user, *rank));
            if known {
                continue;
            }
            let gone_on = self.who_went_on(&write, user);
            if !gone_on.is_empty() {
                made.gone_on.extend(gone_on);
            } else if self.overtakes(&write, user) {
                made.overtaken.push(user.agent);
            } else {
                is_covered = false;
            }
        }
        (made, is_covered)
    }

    /// Whether a rank knows at its end of all that an agent did.
    fn knows(&self, user: &mut User, rank: RankId) -> bool {
        let needs = user.needs();
        let User { prints, known, .. } = user;
        *known
            .entry(rank)
            .or_insert_with(|| prints.iter().all(|print| self.knows_at_end(rank, *print, needs)))
    }

    /// Ranks that knew at their ends of all that an agent did, and are known to have gone on: all that are likely to, since
    /// another class may know it of only one of them, or else the first.
    fn who_went_on(&self, write: &Looked<'_, 'p>, user: &mut User) -> SmallVec<[GoneOn; 2]> {
        let turn = self.lookup.agents.turn();
        let there = |rank: RankId| RankId(turn.then(rank.0, write.by));
        let own = write.actor.rank;
        let back = RankId(turn.then(own.0, turn.back(write.by)));
        let mut likely = self.likely(user, write.owner);
        likely.insert(back);
        let mut gone_on = SmallVec::new();
        for rank in likely {
            let heard = self.went_on(write, there(rank), &[own]);
            if let Some(heard) = heard.filter(|_| self.knows(user, rank)) {
                gone_on.push((rank, heard));
            }
        }
        if gone_on.is_empty() {
            let ranks = || self.program.ranks.ids();
            let begun: Vec<RankId> = ranks().filter(|rank| self.has_begun(write, *rank)).collect();
            gone_on.extend(ranks().find_map(|rank| {
                let heard = self.went_on(write, there(rank), &begun)?;
                self.knows(user, rank).then_some((rank, heard))
            }));
        }
        gone_on
    }

    /// The ranks that are likely to know of all that an agent does to a rank's scratch.
    fn likely(&self, user: &User, owner: RankId) -> BTreeSet<RankId> {
        let agents = self.lookup.agents;
        let of_user = [Some(agents.rank(user.agent)), agents.peer(user.agent)];
        of_user.into_iter().flatten().chain([owner]).collect()
    }

    /// Whether a rank is known to have gone on: it has begun this launch; or with a launch in between, it had begun that one
    /// when one of `begun` ended it.
    fn went_on(
        &self,
        write: &Looked<'_, 'p>,
        rank: RankId,
        begun: &[RankId],
    ) -> Option<Option<Heard>> {
        if self.has_begun(write, rank) {
            return Some(None);
        }
        let mut begun = begun.iter().filter(|_| self.program.options.double_scratch);
        let via = *begun.find(|via| self.has_started_by_end(**via, rank))?;
        Some(Some(self.as_followed(via, rank)))
    }

    /// A rank that heard of another one, as the rank that represents it, and the one that that one heard of.
    fn as_followed(&self, via: RankId, rank: RankId) -> Heard {
        let turn = self.lookup.agents.turn();
        let (home, by) = turn.home(via);
        (home, RankId(turn.then(rank.0, turn.back(by))))
    }

    /// Whether the writer knows that a rank has begun this launch.
    fn has_begun(&self, write: &Looked<'_, 'p>, rank: RankId) -> bool {
        let mut clocks = write.actor.clocks();
        rank == write.actor.rank || clocks.any(|clock| clock.has_started(self.lookup, rank))
    }

    /// Whether a user is a proxy that is known to have done something since: in this launch, since it is open of which class
    /// the launch in between is, if there is one.
    fn overtakes(&self, write: &Looked<'_, 'p>, user: &User) -> bool {
        // The proxies of copies go ahead on their own.
        let copies = self.program.instances_done == 1 && self.program.options.instances > 1;
        let turn = self.lookup.agents.turn();
        let Some(print) = user.prints.first().filter(|_| !copies) else { return false };
        let first = self.touch(print.moved(turn, write.by));
        self.is_overtaken((write.actor, user.needs()), &first, &[])
    }
}
