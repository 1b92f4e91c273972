//! Synchronization between blocks: signals, semaphores, barriers.

use super::agents::{Agent, NOBODY};
use super::block::{Block, Blocks};
use super::clock::Lookup;
use super::guarantee::{Act, Acts, CounterKey, Given, Guarantees, Taken};
use super::history::{MomentId, Packed, Source};
use super::machine::Machine;
use crate::check::matching::InTurn;
use crate::events::{Give, MeetingId, StepBuffer, Strength, Take};
use crate::ir::counter::CounterKind;
use crate::ir::{ChannelId, Program, Rank, RankId, SemaphoreId};
use crate::table::{Id, Rows};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// The counters of channels and semaphores, with what they pass on.
pub(super) struct Counters {
    signals: Rows<RankId, Counter>,
    semaphores: Rows<RankId, Counter>,
    /// The uses of counters with several users.
    acts: BTreeMap<CounterKey, Acts>,
}

/// The signals at an end of a channel, or the releases of a semaphore.
#[derive(Default)]
struct Counter {
    /// What each signal or release told, in order.
    told: SmallVec<[Packed; 1]>,
    /// How often it was taken.
    taken: u32,
    giver: Users,
    taker: Users,
    /// How many of these each taking thread has heard.
    heard: SmallVec<[Progress; 1]>,
}

/// Who uses an end of a counter: nobody, one thread after the other of a block, or several at a time.
#[derive(Clone, Copy)]
struct Users {
    /// The block, [`NOBODY`] or [`SEVERAL`].
    agent: Agent,
    /// The thread that used it last.
    thread: u32,
    /// The step in which that was.
    step: u32,
}

/// The number for several users at a time.
const SEVERAL: Agent = NOBODY - 1;

/// How many of a counter's signals or releases a thread has heard: strongly (`seen`), and for execution only (`run`).
#[derive(Clone, Copy, Default)]
struct Progress {
    thread: u32,
    seen: u32,
    run: u32,
}

impl Users {
    const NOBODY: Users = Users { agent: NOBODY, thread: 0, step: 0 };

    /// Adds a use. Threads of a block use it one after the other if they have met since the last use.
    fn add(&mut self, (agent, step): Act, thread: u32, met: u32) {
        let follows = self.thread == thread || self.step < met;
        let is_first = self.agent == NOBODY;
        let goes_on = is_first || self.agent == agent && follows;
        *self = Users { agent: if goes_on { agent } else { SEVERAL }, thread, step };
    }

    fn are_several(self) -> bool {
        self.agent == SEVERAL
    }
}

impl Default for Users {
    fn default() -> Users {
        Users::NOBODY
    }
}

impl Counters {
    /// Counters for the channels and semaphores of these ranks, from rank 0 on.
    pub(super) fn new<'p>(ranks: impl Iterator<Item = &'p Rank> + Clone) -> Counters {
        let counters = |count: usize| (0..count).map(|_| Counter::default());
        Counters {
            signals: Rows::new(ranks.clone().map(|rank| counters(rank.channels.len()))),
            semaphores: Rows::new(ranks.map(|rank| counters(rank.semaphores.len()))),
            acts: BTreeMap::new(),
        }
    }

    /// The counters with several users, except for those that are used in turn.
    pub(super) fn several(&self, program: &Program) -> BTreeSet<CounterKey> {
        let shared: Vec<_> = self.all().filter(|(_, counter)| counter.is_shared()).collect();
        if shared.is_empty() {
            return BTreeSet::new();
        }
        let in_turn = InTurn::of(program);
        let is_open = |which: CounterKey, counter: &Counter| {
            let gives = counter.giver.are_several() && !which.is_given_in_turn(program, &in_turn);
            gives || counter.taker.are_several() && !which.is_taken_in_turn(&in_turn)
        };
        let open = shared.into_iter().filter(|(which, counter)| is_open(*which, counter));
        open.map(|(which, _)| which).collect()
    }

    /// The guarantees for the same counters as before, as far as this run shows.
    pub(super) fn guarantees(&self, lookup: Lookup<'_>, before: &Guarantees) -> Guarantees {
        let mut guarantees = before.forgotten();
        for (which, acts) in &self.acts {
            guarantees.add(lookup, *which, acts);
        }
        guarantees
    }

    fn all(&self) -> impl Iterator<Item = (CounterKey, &Counter)> {
        let signals = self.signals.entries().flat_map(|(rank, list)| {
            let which = move |at| CounterKey::Channel(rank, ChannelId::from_index(at));
            list.iter().enumerate().map(move |(at, counter)| (which(at), counter))
        });
        let semaphores = self.semaphores.entries().flat_map(|(rank, list)| {
            let which = move |at| CounterKey::Semaphore(rank, SemaphoreId::from_index(at));
            list.iter().enumerate().map(move |(at, counter)| (which(at), counter))
        });
        signals.chain(semaphores)
    }

    fn get(&self, which: CounterKey) -> Option<&Counter> {
        match which {
            CounterKey::Channel(rank, channel) => self.signals.get(rank, channel.index()),
            CounterKey::Semaphore(rank, id) => self.semaphores.get(rank, id.index()),
        }
    }

    fn of(&mut self, which: CounterKey) -> Option<&mut Counter> {
        match which {
            CounterKey::Channel(rank, channel) => self.signals.get_mut(rank, channel.index()),
            CounterKey::Semaphore(rank, id) => self.semaphores.get_mut(rank, id.index()),
        }
    }

    /// Adds a signal or release; the threads of its block have met at the step `met`.
    fn give(&mut self, which: CounterKey, given: Given, met: u32, is_shared: bool) {
        let Some(counter) = self.of(which) else { return };
        counter.told.push(Packed::from(given.source));
        counter.giver.add(given.act, given.thread, met);
        if is_shared {
            self.acts.entry(which).or_default().given.push(given);
        }
    }
}

impl Counter {
    /// What a thread hears by taking `needs` in total: everything that was given up to there and that it has not heard
    /// yet. Every giver increments the same counter, so what one giver published is also published by the increments
    /// after it, however relaxed they are.
    fn hear(&mut self, needs: usize, (thread, relaxed): (u32, bool)) -> SmallVec<[Source; 1]> {
        let known = self.heard.iter().position(|heard| heard.thread == thread);
        let at = known.unwrap_or_else(|| {
            self.heard.push(Progress { thread, ..Progress::default() });
            self.heard.len() - 1
        });
        let Some(heard) = self.heard.get_mut(at) else { return SmallVec::new() };
        let from = if relaxed { heard.run } else { heard.seen };
        heard.run = heard.run.max(needs as u32);
        heard.seen = if relaxed { heard.seen } else { needs as u32 };
        let told = self.told.get(from as usize..needs).unwrap_or_default();
        told.iter().map(|packed| packed.source()).collect()
    }

    fn is_shared(&self) -> bool {
        self.giver.are_several() || self.taker.are_several()
    }
}

impl<'p> Machine<'p, '_> {
    /// Lets all blocks of a barrier go on, if all have arrived and the barrier is for that many.
    pub(super) fn barrier(
        &mut self,
        blocks: &mut Blocks<'p>,
        agent: usize,
        meeting: MeetingId,
    ) -> bool {
        let Some(rank) = blocks.get_mut(agent).map(|block| block.rank) else { return false };
        let first = self.agents.blocks(rank).start as usize;
        let members = self.events.members(meeting);
        let members: Vec<usize> = members.iter().map(|block| first + block.index()).collect();
        let mut buffer = StepBuffer::default();
        let mut is_at_it = |block: &Block<'p>| {
            let step = block.lower_step(self.events, &mut buffer);
            let arrival = step.and_then(|step| step.arrival);
            block.arrived
                && arrival.is_some_and(|arrival| {
                    arrival.meeting == meeting && arrival.arrivals as usize == members.len()
                })
        };
        if !members.iter().all(|member| blocks.get(*member).is_some_and(&mut is_at_it)) {
            return false;
        }
        let mut all = Vec::new();
        for member in &members {
            if let Some(block) = blocks.get_mut(*member) {
                // Whatever comes after the barrier knows that the barrier itself has happened.
                block.reach(block.at + 1);
                let moment = block.base.moment(&mut self.history);
                all.push(Source::All(moment, 0));
            }
        }
        let meeting = Source::All(self.history.meeting(all), 0);
        for member in &members {
            if let Some(block) = blocks.get_mut(*member) {
                block.base.hear(self.lookup(), meeting);
                block.arrived = false;
                block.at += 1;
            }
        }
        true
    }

    /// A thread gives to a counter: a signal, or a release. That of a port is passed on by the request of its proxy.
    pub(super) fn give_over(
        &mut self,
        block: &mut Block<'p>,
        give: &Give,
        port: Option<ChannelId>,
    ) {
        let Some(counter) = give.counter.and_then(|id| self.events.counter(id)) else { return };
        let (which, by) = match counter.kind {
            CounterKind::Channel(there) => {
                let (rank, there, by) = self.fold.end(counter.rank, there);
                (CounterKey::Channel(rank, there), by)
            }
            CounterKind::Semaphore(semaphore) => {
                (CounterKey::Semaphore(counter.rank, semaphore), 0)
            }
        };
        let mut moment = self.giving(block, give.thread, which);
        if let Some(channel) = port {
            moment = self.request(block, give.thread, channel, moment).moment;
        }
        let back = self.agents.turn().back(by);
        let source = match give.strength {
            Strength::Relaxed => Source::Run(moment, back),
            Strength::Strong => Source::All(moment, back),
        };
        let act = (self.agents.moved(block.agent, back), block.at);
        let given = Given { act, thread: give.thread, source, mark: (moment, back) };
        self.give(which, given, block.met());
    }

    /// Takes from each counter, with a thread for each: all of them are there.
    pub(super) fn take_all(&mut self, block: &mut Block<'p>, takes: &[Take]) {
        for take in takes {
            let Some((which, start)) = self.find_counter(take) else { continue };
            let relaxed = take.strength == Strength::Relaxed;
            for source in self.take(block, which, start, (take.thread, relaxed)) {
                block.hear(take.thread, if relaxed { source.run() } else { source });
            }
        }
    }

    /// The first counter from which one of these cannot be taken yet.
    pub(super) fn find_missing(&self, takes: &[Take]) -> Option<CounterKey> {
        takes.iter().find_map(|take| {
            let (which, start) = self.find_counter(take)?;
            (!self.is_ready(which, start)).then_some(which)
        })
    }

    /// The counter from which something is taken, and how often that can be done before anything is given.
    fn find_counter(&self, take: &Take) -> Option<(CounterKey, usize)> {
        let counter = self.events.counter(take.counter)?;
        Some(match counter.kind {
            CounterKind::Channel(channel) => (CounterKey::Channel(counter.rank, channel), 0),
            CounterKind::Semaphore(semaphore) => {
                let initial = self.events.initial_value(take.counter).max(0) as usize;
                (CounterKey::Semaphore(counter.rank, semaphore), initial)
            }
        })
    }

    /// Whether there is one more to take, from a counter with initial value `start`.
    fn is_ready(&self, which: CounterKey, start: usize) -> bool {
        self.counters
            .get(which)
            .is_some_and(|counter| (counter.taken as usize) < counter.told.len() + start)
    }

    fn give(&mut self, which: CounterKey, given: Given, met: u32) {
        self.counters.give(which, given, met, self.shared.guarantees.concern(which));
    }

    /// A thread of a block takes one more; returns what that tells. With one user at each end, it is what the needed
    /// signals told; otherwise, what those signals told that are needed in every schedule, and what any others tell.
    fn take(
        &mut self,
        block: &mut Block<'p>,
        which: CounterKey,
        start: usize,
        by: (u32, bool),
    ) -> SmallVec<[Source; 1]> {
        let Some(counter) = self.counters.of(which) else { return SmallVec::new() };
        counter.taken += 1;
        counter.taker.add((block.agent, block.at), by.0, block.met());
        if !self.shared.guarantees.concern(which) {
            return counter.hear((counter.taken as usize).saturating_sub(start), by);
        }
        let user = ((block.agent, block.at), by.0);
        let knew = block.moment(&mut self.history, by.0);
        let mark = (block.mark(&mut self.history, by.0), 0);
        let acts = self.counters.acts.entry(which).or_default();
        acts.taken.push(Taken { user, knew, mark, start });
        let known = self.shared.guarantees.of(which, user);
        let told = acts.given.iter().filter(|one| known.contains(&one.user()));
        let certain = told.map(|one| one.source);
        let common = self.shared.guarantees.common(which, user);
        let common = common.map(|common| common.sources(&mut self.history, self.agents));
        certain.chain(common.unwrap_or_default()).collect()
    }

    /// The moment at which a thread signals or releases: a mark, if it matters which of several it was.
    fn giving(&mut self, block: &mut Block<'p>, thread: u32, which: CounterKey) -> MomentId {
        match self.shared.guarantees.concern(which) {
            true => block.mark(&mut self.history, thread),
            false => block.moment(&mut self.history, thread),
        }
    }
}
