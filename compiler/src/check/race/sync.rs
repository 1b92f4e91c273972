//! What blocks tell each other: signals, semaphores, barriers.

use super::agents::Agent;
use super::block::Block;
use super::history::Source;
use super::machine::Machine;
use crate::ir::{Action, ChannelId, ChannelKind, Rank, RankId, SemaphoreId};
use crate::table::{Id, Table};
use smallvec::SmallVec;

/// What is told over channels and by semaphores.
#[derive(Default)]
pub(super) struct Counters {
    signals: Table<RankId, Vec<Counter>>,
    semaphores: Table<RankId, Vec<Counter>>,
}

#[derive(Default)]
struct Counter {
    given: Vec<Source>,
    givers: SmallVec<[Agent; 1]>,
    taken: usize,
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

    fn signals(&mut self, rank: RankId, channel: ChannelId) -> Option<&mut Counter> {
        self.signals.iter_mut().nth(rank.index())?.get_mut(channel.index())
    }

    fn semaphore(&mut self, rank: RankId, id: SemaphoreId) -> Option<&mut Counter> {
        self.semaphores.iter_mut().nth(rank.index())?.get_mut(id.index())
    }
}

impl Counter {
    fn give(&mut self, giver: Agent, source: Source) {
        self.given.push(source);
        if !self.givers.contains(&giver) {
            self.givers.push(giver);
        }
    }

    /// What the `count`-th taker knows: with one giver all that was given up to there; with several only where it took
    /// all there are, since their order depends on the schedule.
    fn heard(&self, count: usize) -> &[Source] {
        let given = self.given.as_slice();
        if self.givers.len() > 1 {
            return if count < given.len() { &[] } else { given };
        }
        count.checked_sub(1).and_then(|at| given.get(at..=at)).unwrap_or_default()
    }
}

impl<'p> Machine<'p, '_> {
    /// All blocks of a barrier go on, if all are there.
    pub(super) fn barrier(&mut self, blocks: &mut [Block<'p>], agent: usize, id: usize) -> bool {
        let Some(rank) = blocks.get(agent).map(|block| block.rank) else { return false };
        let first = self.agents.blocks(rank).start as usize;
        let members = self.program.ranks[rank].barriers.iter().nth(id);
        let members: Vec<usize> =
            members.into_iter().flatten().map(|block| first + block.index()).collect();
        let at_it = |block: &Block| {
            block.arrived
                && block.steps.get(block.at).is_some_and(
                    |step| matches!(&step.op.action, Action::Barrier { id: there, .. } if there.index() == id),
                )
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
        thread: u8,
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
        let giver = self.agents.moved(block.agent, back);
        if let Some(counter) = self.counters.signals(rank, there) {
            counter.give(giver, source);
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
        let ready = channels.iter().all(|channel| {
            self.counters
                .signals(rank, *channel)
                .is_some_and(|counter| counter.taken < counter.given.len())
        });
        if !ready {
            return false;
        }
        for (thread, channel) in channels.iter().enumerate() {
            let port = self.program.ranks[rank].channels[*channel].kind() == ChannelKind::Port;
            let Some(counter) = self.counters.signals(rank, *channel) else { continue };
            counter.taken += 1;
            for source in counter.heard(counter.taken) {
                block.hear(thread as u8, if relaxed && !port { source.run() } else { *source });
            }
        }
        true
    }

    /// A thread releases a semaphore.
    pub(super) fn release(&mut self, block: &mut Block<'p>, thread: u8, id: SemaphoreId) {
        let moment = block.moment(&mut self.history, thread);
        if let Some(counter) = self.counters.semaphore(block.rank, id) {
            counter.give(block.agent, Source::All(moment, 0));
        }
    }

    /// A thread for each semaphore acquires it, if they can.
    pub(super) fn acquire(&mut self, block: &mut Block<'p>, list: &[SemaphoreId]) -> bool {
        let rank = block.rank;
        let program = self.program;
        let initial = |id: SemaphoreId| program.ranks[rank].semaphores[id].initial.max(0) as usize;
        let ready = list.iter().all(|id| {
            self.counters
                .semaphore(rank, *id)
                .is_some_and(|counter| counter.taken < counter.given.len() + initial(*id))
        });
        if !ready {
            return false;
        }
        for (thread, id) in list.iter().enumerate() {
            let Some(counter) = self.counters.semaphore(rank, *id) else { continue };
            counter.taken += 1;
            let count = counter.taken.saturating_sub(initial(*id));
            for source in counter.heard(count) {
                block.hear(thread as u8, *source);
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
