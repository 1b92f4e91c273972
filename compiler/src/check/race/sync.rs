//! What blocks tell each other: signals, semaphores, barriers.

use super::block::{Block, Blocks};
use super::clock::Lookup;
use super::guarantee::{Given, Guarantees, Taken, Which};
use super::history::Source;
use super::machine::Machine;
use crate::ir::{Action, ChannelId, ChannelKind, Rank, RankId, SemaphoreId};
use crate::table::{Id, Table};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// What is told over channels and by semaphores.
#[derive(Default)]
pub(super) struct Counters {
    signals: Table<RankId, Vec<Counter>>,
    semaphores: Table<RankId, Vec<Counter>>,
}

#[derive(Default)]
struct Counter {
    given: SmallVec<[Given; 1]>,
    taken: SmallVec<[Taken; 1]>,
    /// How many of the given each thread that takes has heard of.
    heard: SmallVec<[Heard; 1]>,
}

/// How many of a counter's given a thread has heard of: of what they saw, and of what was run before them.
#[derive(Clone, Copy, Default)]
struct Heard {
    thread: u32,
    seen: u32,
    run: u32,
}

impl Counters {
    /// Counters for the channels and semaphores of these ranks, from rank 0 on.
    pub(super) fn new<'p>(ranks: impl Iterator<Item = &'p Rank> + Clone) -> Counters {
        let counters = |count: usize| (0..count).map(|_| Counter::default()).collect();
        Counters {
            signals: ranks.clone().map(|rank| counters(rank.channels.len())).collect(),
            semaphores: ranks.map(|rank| counters(rank.semaphores.len())).collect(),
        }
    }

    /// The counters with several users.
    pub(super) fn several(&self) -> BTreeSet<Which> {
        self.all().filter(|(_, counter)| counter.is_shared()).map(|(which, _)| which).collect()
    }

    /// What can be counted on, of the same counters as before, as far as this run tells.
    pub(super) fn guarantees(&self, lookup: Lookup<'_>, before: &Guarantees) -> Guarantees {
        let mut guarantees = before.forgotten();
        for (which, counter) in self.all() {
            if guarantees.concern(which) {
                guarantees.add(lookup, which, &counter.given, &counter.taken);
            }
        }
        guarantees
    }

    fn all(&self) -> impl Iterator<Item = (Which, &Counter)> {
        let signals = self.signals.entries().flat_map(|(rank, list)| {
            let which = move |at| Which::Channel(rank, ChannelId::from_index(at));
            list.iter().enumerate().map(move |(at, counter)| (which(at), counter))
        });
        let semaphores = self.semaphores.entries().flat_map(|(rank, list)| {
            let which = move |at| Which::Semaphore(rank, SemaphoreId::from_index(at));
            list.iter().enumerate().map(move |(at, counter)| (which(at), counter))
        });
        signals.chain(semaphores)
    }

    fn of(&mut self, which: Which) -> Option<&mut Counter> {
        let (table, rank, at) = match which {
            Which::Channel(rank, channel) => (&mut self.signals, rank, channel.index()),
            Which::Semaphore(rank, id) => (&mut self.semaphores, rank, id.index()),
        };
        table.iter_mut().nth(rank.index())?.get_mut(at)
    }
}

impl Counter {
    /// What a thread hears of by so many of the given: all those that it has not heard of yet. Each of them adds to the
    /// counter, and what one published is published by those that add to it after, however relaxed they are.
    fn hear(&mut self, needs: usize, (thread, relaxed): (u32, bool)) -> SmallVec<[Source; 1]> {
        let known = self.heard.iter().position(|heard| heard.thread == thread);
        let at = known.unwrap_or_else(|| {
            self.heard.push(Heard { thread, ..Heard::default() });
            self.heard.len() - 1
        });
        let Some(heard) = self.heard.get_mut(at) else { return SmallVec::new() };
        let from = if relaxed { heard.run } else { heard.seen };
        heard.run = heard.run.max(needs as u32);
        heard.seen = if relaxed { heard.seen } else { needs as u32 };
        let new = self.given.get(from as usize..needs).unwrap_or_default();
        new.iter().map(|one| one.source).collect()
    }

    fn is_shared(&self) -> bool {
        let differ = |mut agents: Vec<u32>| {
            agents.dedup();
            agents.len() > 1
        };
        differ(self.given.iter().map(|one| one.act.0).collect())
            || differ(self.taken.iter().map(|one| one.act.0).collect())
    }
}

impl<'p> Machine<'p, '_> {
    /// All blocks of a barrier go on, if all are there, and it is for so many.
    pub(super) fn barrier(&mut self, blocks: &mut Blocks<'p>, agent: usize, id: usize) -> bool {
        let Some(rank) = blocks.get_mut(agent).map(|block| block.rank) else { return false };
        let first = self.agents.blocks(rank).start as usize;
        let members = self.program.ranks[rank].barriers.iter().nth(id);
        let members: Vec<usize> =
            members.into_iter().flatten().map(|block| first + block.index()).collect();
        let is_it = |action: &Action| match action {
            Action::Barrier { id: there, arrivals } => {
                there.index() == id && *arrivals as usize == members.len()
            }
            Action::Sync
            | Action::Signal(_)
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_)
            | Action::Transfer(_)
            | Action::Pipeline(_) => false,
        };
        let at_it = |block: &Block| {
            block.arrived && block.steps.get(block.at).is_some_and(|step| is_it(&step.op.action))
        };
        if !members.iter().all(|member| blocks.get(*member).is_some_and(at_it)) {
            return false;
        }
        let mut all = Vec::new();
        for member in &members {
            if let Some(block) = blocks.get_mut(*member) {
                // The barrier itself has happened for everyone behind it.
                block.reach(block.at as u32 + 1);
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

    /// A thread signals over a channel. A port channel's signal is always strong.
    pub(super) fn signal(
        &mut self,
        block: &mut Block<'p>,
        thread: u32,
        channel: ChannelId,
        relaxed: bool,
    ) {
        let row = &self.program.ranks[block.rank].channels[channel];
        let (Some(peer), Some(there)) = (row.peer(), row.partner) else { return };
        let port = row.kind() == ChannelKind::Port;
        let mut moment = block.moment(&mut self.history, thread);
        if port {
            let proxy = self.agents.proxy(block.rank, channel);
            let pushed = self.pushed(block.rank, channel);
            let (chain, told) = (self.history.chain(), [Source::All(moment, 0)]);
            let none = super::history::NONE;
            moment = self.history.add((proxy, chain), pushed, none, told);
        }
        let (rank, there, by) = self.fold.end(peer, there);
        let back = self.agents.turn().back(by);
        let source = match relaxed && !port {
            true => Source::Run(moment, back),
            false => Source::All(moment, back),
        };
        let act = (self.agents.moved(block.agent, back), block.at as u32);
        if let Some(counter) = self.counters.of(Which::Channel(rank, there)) {
            counter.given.push(Given { act, source });
        }
    }

    /// A thread for each channel waits for one more signal on it, if they are there.
    pub(super) fn wait(
        &mut self,
        block: &mut Block<'p>,
        channels: &[ChannelId],
        relaxed: bool,
    ) -> bool {
        let rank = block.rank;
        let which = |channel: &ChannelId| Which::Channel(rank, *channel);
        if !channels.iter().all(|channel| self.is_ready(which(channel), 0)) {
            return false;
        }
        for (thread, channel) in (0..).zip(channels) {
            let port = self.program.ranks[rank].channels[*channel].kind() == ChannelKind::Port;
            let relaxed = relaxed && !port;
            for source in self.take(block, which(channel), 0, (thread, relaxed)) {
                block.hear(thread, if relaxed { source.run() } else { source });
            }
        }
        true
    }

    /// Whether there is one more to take, of so many that were there at the start.
    fn is_ready(&mut self, which: Which, start: usize) -> bool {
        let counter = self.counters.of(which);
        counter.is_some_and(|counter| counter.taken.len() < counter.given.len() + start)
    }

    /// A thread of a block takes one more; what that tells. With one user at each end it is what those told that are needed,
    /// otherwise what those told that are needed in every schedule.
    fn take(
        &mut self,
        block: &Block<'p>,
        which: Which,
        start: usize,
        by: (u32, bool),
    ) -> SmallVec<[Source; 1]> {
        let act = (block.agent, block.at as u32);
        let shared = self.shared.guarantees.concern(which);
        let Some(counter) = self.counters.of(which) else { return SmallVec::new() };
        let own = |one: &&Taken| !shared || one.act.0 == block.agent;
        let needs = (counter.taken.iter().filter(own).count() + 1).saturating_sub(start);
        counter.taken.push(Taken { act, needs });
        if !shared {
            return counter.hear(needs, by);
        }
        let known = self.shared.guarantees.of(which, act);
        let told = counter.given.iter().filter(|one| known.contains(&one.act));
        told.map(|one| one.source).collect()
    }

    /// A thread releases a semaphore.
    pub(super) fn release(&mut self, block: &mut Block<'p>, thread: u32, id: SemaphoreId) {
        let moment = block.moment(&mut self.history, thread);
        let act = (block.agent, block.at as u32);
        if let Some(counter) = self.counters.of(Which::Semaphore(block.rank, id)) {
            counter.given.push(Given { act, source: Source::All(moment, 0) });
        }
    }

    /// A thread for each semaphore acquires it, if they can.
    pub(super) fn acquire(&mut self, block: &mut Block<'p>, list: &[SemaphoreId]) -> bool {
        let rank = block.rank;
        let program = self.program;
        let initial = |id: SemaphoreId| program.ranks[rank].semaphores[id].initial.max(0) as usize;
        let which = |id: SemaphoreId| Which::Semaphore(rank, id);
        if !list.iter().all(|id| self.is_ready(which(*id), initial(*id))) {
            return false;
        }
        for (thread, id) in (0..).zip(list) {
            for source in self.take(block, which(*id), initial(*id), (thread, false)) {
                block.hear(thread, source);
            }
        }
        true
    }

    /// How often a port channel's proxy was pushed.
    pub(super) fn pushed(&self, rank: RankId, channel: ChannelId) -> u32 {
        let list = self.pushed.lookup(rank);
        list.and_then(|list| list.get(channel.index())).copied().unwrap_or(0)
    }

    /// A port channel's proxy is pushed once more.
    pub(super) fn push_one(&mut self, rank: RankId, channel: ChannelId) {
        let list = self.pushed.iter_mut().nth(rank.index());
        if let Some(count) = list.and_then(|list| list.get_mut(channel.index())) {
            *count += 1;
        }
    }
}
