//! Requests that are pushed to the proxies of port channels: carried out later, but with only the knowledge that the
//! pushing thread has now.

use super::access::Element;
use super::agents::Agent;
use super::block::Block;
use super::clock::Clock;
use super::history::{MomentId, NONE, Source};
use super::machine::{Actor, Machine};
use super::step::Step;
use crate::ir::memory::reads_packets;
use crate::ir::{ChannelId, ChannelKind, Transfer};
use smallvec::SmallVec;

/// A request to a proxy.
pub(super) struct Request {
    /// The proxy.
    proxy: Agent,
    /// How many transfers it was pushed before, and how many of these are known to come before it.
    pushed: u32,
    known: u32,
    /// What is known when it is carried out.
    pub(super) moment: MomentId,
    /// What is known of the requests of other blocks to the same channel: these are carried out before it.
    ahead: Ahead,
}

/// Requests of other blocks to a channel.
type Ahead = SmallVec<[Source; 1]>;

/// The transfers that the threads of a block have pushed to a proxy.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pushed {
    count: u32,
    /// How many of them the threads pushed before they met last, and at which step that was.
    before: u32,
    met: u32,
    /// After that: the thread that pushed first, and how many it pushed before any other thread did.
    first: Option<(u32, u32)>,
}

impl Pushed {
    /// How many transfers a thread knows to come before what it pushes now, if its block met last at `met`. Two threads
    /// push in no certain order.
    fn known(&self, thread: u32, met: u32) -> u32 {
        match self.first {
            Some((first, run)) if self.met == met => {
                self.before + if first == thread { run } else { 0 }
            }
            Some(_) | None => self.count,
        }
    }

    /// A thread pushes one more.
    fn push(&mut self, thread: u32, met: u32) {
        if self.met != met {
            *self = Pushed { count: self.count, before: self.count, met, first: None };
        }
        match &mut self.first {
            Some((first, run)) => {
                *run += u32::from(*first == thread && self.before + *run == self.count)
            }
            None => self.first = Some((thread, 1)),
        }
        self.count += 1;
    }
}

impl<'p> Machine<'p, '_> {
    /// A request that a thread pushes, which knows all up to a moment.
    pub(super) fn request(
        &mut self,
        block: &Block<'p>,
        thread: u32,
        channel: ChannelId,
        pusher: MomentId,
    ) -> Request {
        let proxy = self.agents.proxy(block.rank, channel, block.agent);
        let pushed = self.pushed.get(&proxy).copied().unwrap_or_default();
        let known = pushed.known(thread, block.met());
        let ahead = self.ahead(proxy, pusher);
        let told = std::iter::once(Source::All(pusher, 0)).chain(ahead.iter().copied());
        let chain = self.history.chain();
        let moment = self.history.add((proxy, chain), known, NONE, told);
        Request { proxy, pushed: pushed.count, known, moment, ahead }
    }

    /// What other blocks have pushed to the same channel, as far as the pushing thread knows of it.
    fn ahead(&mut self, proxy: Agent, pusher: MomentId) -> Ahead {
        let siblings = self.agents.siblings(proxy);
        if siblings.len() == 1 {
            return SmallVec::new();
        }
        let knows = Clock::told([Source::All(pusher, 0)]);
        let mut ahead = SmallVec::new();
        for other in siblings.filter(|other| *other != proxy) {
            let (lookup, queue) = (self.lookup(), self.agents.queue(other));
            let pushed = self.pushed.get(&other).map_or(0, |pushed| pushed.count);
            let steps: Vec<u32> = (0..pushed).collect();
            let known = steps.partition_point(|step| knows.sees(lookup, (queue, *step), None));
            let known = known as u32;
            if known > 0 {
                let chain = self.history.chain();
                let moment = self.history.add((other, chain), known, NONE, []);
                ahead.push(Source::All(moment, 0));
            }
        }
        ahead
    }

    /// Counts one more transfer that a thread has pushed to a proxy.
    fn push_one(&mut self, block: &mut Block<'p>, thread: u32, proxy: Agent) {
        let pushed = self.pushed.entry(proxy).or_default();
        pushed.push(thread, block.met());
        let known = pushed.known(thread, block.met());
        if self.agents.siblings(proxy).len() > 1 {
            let chain = self.history.chain();
            let queue = (self.agents.queue(proxy), chain);
            let moment = self.history.add(queue, known, NONE, []);
            block.hear(thread, Source::All(moment, 0));
        }
    }

    /// Pushes the requests of a transfer to the block's proxies.
    pub(super) fn push(
        &mut self,
        block: &mut Block<'p>,
        step: &Step<'p>,
        transfer: &'p Transfer,
        elements: &[Element],
    ) {
        let rank = block.rank;
        let reads_first = reads_packets(transfer.verb, 0);
        if reads_first {
            // All threads read the packets and meet before one of them pushes.
            // A single source that goes to several destinations is read once.
            let once = transfer.sources.len() == 1;
            let reads = elements.iter().filter(|element| element.entry == 0 || !once);
            let reads: Vec<Element> =
                reads.map(|one| Element { writes: SmallVec::new(), ..one.clone() }).collect();
            let several = elements.last().is_some_and(|element| element.entry > 0);
            self.act(block, step, (transfer, several), reads.iter());
            block.meet(self.lookup());
        }
        for (thread, channel) in (0..).zip(&transfer.channels) {
            let pusher = block.moment(&mut self.history, thread);
            let Request { proxy, pushed, known, moment, ahead } =
                self.request(block, thread, *channel, pusher);
            let clock = Clock::told([Source::All(moment, 0)]);
            // A thread often knows what all threads know, whose clock goes from one request to the next.
            let is_base = pusher == block.base.moment(&mut self.history);
            let actor = Actor {
                agent: proxy,
                rank,
                step: pushed,
                clock: &clock,
                starts: if is_base { &block.base } else { &clock },
                heard: None,
                told: &[],
                moment,
                op: step.op,
            };
            for element in elements.iter().filter(|element| element.entry == thread as usize) {
                self.element(&actor, element, (&[], false));
            }
            self.push_one(block, thread, proxy);
            if transfer.verb.signals() {
                self.signal(block, thread, *channel, false);
            }
            if transfer.verb.flushes() {
                let own = u32::from(known == pushed);
                self.flushed(block, thread, (proxy, known + own), ahead);
            }
        }
    }

    /// Waits until the proxies have carried out what was pushed before, if a `flush` does.
    pub(super) fn flush(&mut self, block: &mut Block<'p>, channels: &[ChannelId]) {
        let rows = &self.program.ranks[block.rank].channels;
        let is_port = |channel: &ChannelId| rows[*channel].kind() == ChannelKind::Port;
        let flushed = (0..).zip(channels).filter(|(_, channel)| is_port(channel));
        for (thread, channel) in flushed.filter(|_| self.program.flush_waits) {
            let pusher = block.moment(&mut self.history, thread);
            let proxy = self.agents.proxy(block.rank, *channel, block.agent);
            let pushed = self.pushed.get(&proxy).copied().unwrap_or_default();
            let ahead = self.ahead(proxy, pusher);
            self.flushed(block, thread, (proxy, pushed.known(thread, block.met())), ahead);
        }
    }

    /// A thread learns that a proxy has carried out its first requests, and what comes before these.
    fn flushed(
        &mut self,
        block: &mut Block<'p>,
        thread: u32,
        (proxy, count): (Agent, u32),
        ahead: Ahead,
    ) {
        let chain = self.history.chain();
        let flushed = self.history.add((proxy, chain), count, NONE, ahead);
        block.hear(thread, Source::All(flushed, 0));
    }
}
