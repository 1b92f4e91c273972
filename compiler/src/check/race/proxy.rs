//! Requests that are pushed to the proxies of port channels: carried out later, but with only the knowledge that the
//! pushing thread has now.

use super::access::Element;
use super::block::Block;
use super::clock::Clock;
use super::history::{NONE, Source};
use super::machine::{Actor, Machine};
use super::step::Step;
use crate::ir::{Transfer, Verb};
use smallvec::SmallVec;

impl<'p> Machine<'p, '_> {
    /// Pushes the requests of a transfer to the block's proxies.
    pub(super) fn push(
        &mut self,
        block: &mut Block<'p>,
        step: &Step<'p>,
        transfer: &'p Transfer,
        elements: &[Element],
    ) {
        let rank = block.rank;
        let reads_first = transfer.verb == Verb::ReadPutPackets;
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
            let proxy = self.agents.proxy(rank, *channel);
            let pushed = self.pushed(rank, *channel);
            let pusher = block.moment(&mut self.history, thread);
            let chain = self.history.chain();
            let told = [Source::All(pusher, 0)];
            let moment = self.history.add((proxy, chain), pushed, NONE, told);
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
            self.push_one(rank, *channel);
            if transfer.verb.signals() {
                self.signal(block, thread, *channel, false);
            }
            if transfer.verb == Verb::PutWithSignalAndFlush {
                let chain = self.history.chain();
                let flushed = self.history.add((proxy, chain), pushed + 1, NONE, []);
                block.hear(thread, Source::All(flushed, 0));
            }
        }
    }
}
