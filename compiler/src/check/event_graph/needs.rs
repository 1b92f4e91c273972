//! The moments that must have run just before a moment.

use super::{Agent, Chain, EventGraph, Late, Moment, Places, Request};
use crate::events::{CellForm, Step};
use crate::ir::counter::CounterKind;
use crate::ir::{BarrierId, ChannelId, RankId, SemaphoreId};

impl EventGraph<'_> {
    /// The moments that must have run just before; none where the moment never comes. Where several agents write a
    /// packet, it is the first one's write, or the one that `late` chooses.
    pub(in crate::check) fn needs(
        &self,
        moment: Moment,
        late: Option<&Late>,
    ) -> Option<Vec<Moment>> {
        let Moment { launch, agent, at } = moment;
        match self.chain(agent)? {
            Chain::User { rank } => Some(self.before_launch(*rank, launch)),
            Chain::Proxy { requests, .. } => {
                let request = requests.get(at as usize)?;
                let made = Moment { launch, agent: request.block, at: request.line };
                let behind = at.checked_sub(1).map(|at| Moment { launch, agent, at });
                Some(behind.into_iter().chain([made]).collect())
            }
            Chain::Block { rank, lines, .. } => {
                let mut needs = Vec::new();
                if at < lines.len() as u32 {
                    self.add_awaited(*rank, moment, late, &mut needs)?;
                }
                // The last one is served first: a block advances on its own before it waits for others.
                needs.extend(self.before(*rank, moment));
                Some(needs)
            }
        }
    }

    /// The other moments that are done together with one: the blocks of a barrier pass it together.
    pub(super) fn meets(&self, moment: Moment) -> Vec<Moment> {
        match self.barrier(moment) {
            Some((rank, id)) => self.members(rank, id, moment),
            None => Vec::new(),
        }
    }

    fn before_launch(&self, rank: RankId, launch: u32) -> Vec<Moment> {
        let Some(before) = launch.checked_sub(1) else { return Vec::new() };
        let blocks = self.blocks_of(rank).map(|agent| Moment {
            launch: before,
            agent,
            at: self.lines(agent).len() as u32,
        });
        blocks.chain([self.start(rank, before)]).collect()
    }

    /// The moments of the block itself: the previous line, with the proxy requests that this waits for at its end, or
    /// the start of the launch.
    fn before(&self, rank: RankId, moment: Moment) -> Vec<Moment> {
        let Some(at) = moment.at.checked_sub(1) else {
            return vec![self.start(rank, moment.launch)];
        };
        let before = Moment { at, ..moment };
        let mut needs = Vec::new();
        let awaited = self.with_step(moment.agent, at, |step| {
            let awaited = step.requests.iter().filter(|request| request.awaited);
            awaited.map(|request| request.channel).collect::<Vec<ChannelId>>()
        });
        needs.extend(self.requests(rank, before, &awaited.unwrap_or_default()));
        needs.push(before);
        needs
    }

    /// The request that a line makes of a channel.
    pub(in crate::check) fn request(
        &self,
        rank: RankId,
        channel: ChannelId,
        line: Moment,
    ) -> Option<Moment> {
        self.requests(rank, line, &[channel]).first().copied()
    }

    /// The requests that a line makes of some channels.
    pub(super) fn requests(
        &self,
        rank: RankId,
        line: Moment,
        channels: &[ChannelId],
    ) -> Vec<Moment> {
        let mut made = Vec::new();
        let servers = channels.iter().filter_map(|channel| self.proxies.get(&(rank, *channel)));
        for agent in servers.flatten().map(|server| server.proxy) {
            let Some(Chain::Proxy { requests, .. }) = self.chain(agent) else { continue };
            let of = |request: &Request| (request.block, request.line) == (line.agent, line.at);
            let of = (0..).zip(requests).filter(|(_, request)| of(request));
            made.extend(of.map(|(at, _)| Moment { launch: line.launch, agent, at }));
        }
        made
    }

    /// Adds the moments of others that a line waits for; none where one of them never comes.
    fn add_awaited(
        &self,
        rank: RankId,
        moment: Moment,
        late: Option<&Late>,
        needs: &mut Vec<Moment>,
    ) -> Option<()> {
        self.with_step(moment.agent, moment.at, |step| {
            for take in step.takes {
                let counter = self.events.counter(take.counter)?;
                match counter.kind {
                    CounterKind::Channel(channel) => {
                        needs.push(self.signal_for(rank, channel, moment)?);
                    }
                    CounterKind::Semaphore(id) => {
                        needs.extend(self.release_for(rank, id, moment)?);
                    }
                }
            }
            if let Some(barrier) =
                step.arrival.and_then(|arrival| self.events.barrier(arrival.meeting))
            {
                for member in self.members(rank, barrier.barrier, moment) {
                    needs.extend(self.before(rank, member));
                }
            }
            self.packets_for(moment, late, step, needs)
        })?
    }

    /// All signals to an end of a channel, and all waits there, in one launch.
    pub(in crate::check) fn signals_and_waits(
        &self,
        rank: RankId,
        channel: ChannelId,
    ) -> (Vec<Moment>, Vec<Moment>) {
        let end = (rank, channel);
        (moments(self.signals.get(&end)), moments(self.waits.get(&end)))
    }

    /// All releases of a semaphore, and all acquires, in one launch.
    pub(in crate::check) fn releases_and_acquires(
        &self,
        rank: RankId,
        id: SemaphoreId,
    ) -> (Vec<Moment>, Vec<Moment>) {
        (moments(self.releases.get(&(rank, id))), moments(self.acquires.get(&(rank, id))))
    }

    /// The signal that a wait on a channel receives.
    pub(in crate::check) fn signal_for(
        &self,
        rank: RankId,
        channel: ChannelId,
        wait: Moment,
    ) -> Option<Moment> {
        let waits = self.waits.get(&(rank, channel))?;
        let count = waits.partition_point(|place| *place <= (wait.agent, wait.at));
        let signals = self.signals.get(&(rank, channel))?;
        let (agent, at) = *signals.get(count.checked_sub(1)?)?;
        Some(Moment { launch: wait.launch, agent, at })
    }

    /// The wait that receives a signal.
    pub(in crate::check) fn wait_for(
        &self,
        rank: RankId,
        channel: ChannelId,
        signal: Moment,
    ) -> Option<Moment> {
        let signals = self.signals.get(&(rank, channel))?;
        let count = signals.partition_point(|place| *place < (signal.agent, signal.at));
        let (agent, at) = *self.waits.get(&(rank, channel))?.get(count)?;
        Some(Moment { launch: signal.launch, agent, at })
    }

    /// The signal to an end of a channel that a line sends, itself or by a proxy.
    pub(in crate::check) fn giver(
        &self,
        line: Moment,
        channel: ChannelId,
        rank: RankId,
    ) -> Option<Moment> {
        let launch = line.launch;
        let moment = |(agent, at): &(Agent, u32)| Moment { launch, agent: *agent, at: *at };
        let mut signals = self.signals.get(&(rank, channel))?.iter().map(moment);
        signals.find(|signal| self.line(*signal) == Some((line.agent, line.at)))
    }

    /// The release that an acquire needs; none inside where the initial value is enough.
    fn release_for(
        &self,
        rank: RankId,
        id: SemaphoreId,
        acquire: Moment,
    ) -> Option<Option<Moment>> {
        let acquires = self.acquires.get(&(rank, id))?;
        let here = acquires.partition_point(|place| *place <= (acquire.agent, acquire.at));
        let all = acquire.launch as usize * acquires.len() + here;
        let row = self.program.ranks.lookup(rank)?.semaphores.lookup(id)?;
        let Some(needed) = all.checked_sub(row.initial.max(0) as usize + 1) else {
            return Some(None);
        };
        let releases = self.releases.get(&(rank, id)).filter(|releases| !releases.is_empty())?;
        let (agent, at) = *releases.get(needed % releases.len())?;
        let launch = (needed / releases.len()) as u32;
        // A release of a later launch comes too late.
        (launch <= acquire.launch).then_some(Some(Moment { launch, agent, at }))
    }

    fn barrier(&self, moment: Moment) -> Option<(RankId, BarrierId)> {
        let arrival = self.with_step(moment.agent, moment.at, |step| step.arrival)??;
        let barrier = self.events.barrier(arrival.meeting)?;
        Some((barrier.rank, barrier.barrier))
    }

    /// The other blocks' moments at the same meeting of a barrier: each block's n-th arrival, if this is its n-th.
    fn members(&self, rank: RankId, id: BarrierId, moment: Moment) -> Vec<Moment> {
        let Some(places) = self.barriers.get(&(rank, id)) else { return Vec::new() };
        let of = |agent: Agent| {
            let first = places.partition_point(|place| *place < (agent, 0));
            first..places.partition_point(|place| *place < (agent + 1, 0))
        };
        let mine = of(moment.agent);
        let number = places.partition_point(|place| *place < (moment.agent, moment.at));
        let number = number.saturating_sub(mine.start);
        self.blocks_of(rank)
            .filter(|agent| *agent != moment.agent)
            .filter_map(|agent| places.get(of(agent)).and_then(|own| own.get(number)))
            .map(|(agent, at)| Moment { launch: moment.launch, agent: *agent, at: *at })
            .collect()
    }

    /// The writes of the packets that a line waits for, except its own. A proxy that sends packets waits for none.
    fn packets_for(
        &self,
        moment: Moment,
        late: Option<&Late>,
        step: &Step,
        needs: &mut Vec<Moment>,
    ) -> Option<()> {
        let mut missing = false;
        let first = needs.len();
        each_packet_read(step, &[CellForm::Packets], &mut |at| {
            let writers = self.packets.get(&at);
            missing |= writers.is_none_or(Vec::is_empty);
            let others = { writers.into_iter().flatten() }
                .filter(|writer| **writer != (moment.agent, moment.at))
                .map(|(agent, at)| Moment { launch: moment.launch, agent: *agent, at: *at });
            let mut others = others.peekable();
            if others.peek().is_none() {
                return;
            }
            let writer = match late {
                Some(late) => late.choose(moment, others),
                None => others.next(),
            };
            missing |= writer.is_none();
            needs.extend(writer);
        });
        if let Some(found) = needs.get_mut(first..) {
            found.sort_unstable();
        }
        needs.dedup();
        (!missing).then_some(())
    }

    /// Whether a line has packets sent by a proxy, which does not look at them.
    pub(in crate::check) fn sends_raw(&self, moment: Moment) -> bool {
        let sends = |step: &Step| {
            let mut reads = step.moves.iter().flat_map(|one| step.reads(one));
            reads.any(|extent| extent.form == CellForm::RawPackets)
        };
        self.with_step(moment.agent, moment.at, sends).unwrap_or(false)
    }

    /// The writes of the packets that a line has sent; none where one of them is never written.
    pub(in crate::check) fn sent(&self, moment: Moment) -> Option<Vec<Moment>> {
        let (mut writes, mut missing) = (Vec::new(), false);
        self.with_step(moment.agent, moment.at, |step| {
            each_packet_read(step, &[CellForm::RawPackets], &mut |at| {
                let first = self.packets.get(&at).and_then(|writers| writers.first());
                missing |= first.is_none();
                writes.extend(first.map(|(agent, at)| Moment { agent: *agent, at: *at, ..moment }));
            });
        })?;
        (!missing).then_some(writes)
    }

    /// The first packet that a block's line reads and nobody writes.
    pub(in crate::check) fn unwritten_packet(&self, moment: Moment) -> Option<(RankId, u64)> {
        let mut first = None;
        self.with_step(moment.agent, moment.at, |step| {
            each_packet_read(step, &[CellForm::Packets, CellForm::RawPackets], &mut |at| {
                first = first.or_else(|| (!self.packets.contains_key(&at)).then_some(at));
            });
        });
        first
    }

    /// The written packet on the same rank that is nearest to a place, and who writes it.
    pub(in crate::check) fn nearest_packet(
        &self,
        (rank, cell): (RankId, u64),
    ) -> Option<((RankId, u64), Moment)> {
        let there = self.packets.iter().filter(|((on, _), _)| *on == rank);
        let (at, writers) = there.min_by_key(|((_, at), _)| (at.abs_diff(cell), *at))?;
        let (agent, line) = *writers.first()?;
        Some((*at, Moment { launch: 0, agent, at: line }))
    }
}

/// Visits every packet that a step reads in one of these forms.
fn each_packet_read(step: &Step, forms: &[CellForm], visit: &mut dyn FnMut((RankId, u64))) {
    for one in step.moves {
        for extent in step.reads(one).iter().filter(|extent| forms.contains(&extent.form)) {
            let cells = extent.start..extent.start.saturating_add(one.elements);
            cells.for_each(|cell| visit((extent.rank, cell)));
        }
    }
}

/// Places as moments of the first launch.
fn moments(places: Option<&Places>) -> Vec<Moment> {
    let moment = |(agent, at): &(Agent, u32)| Moment { launch: 0, agent: *agent, at: *at };
    places.into_iter().flatten().map(moment).collect()
}
