//! A thread block on its way through its steps, and what its threads know.

use super::access::Lane;
use super::agents::Agent;
use super::cells::Share;
use super::clock::{Clock, Lookup};
use super::history::{History, MomentId, NONE, Source};
use super::step::Step;
use super::writers::Slot;
use crate::ir::RankId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// So many threads have a packet each of the smallest operation.
const FIRST_THREADS: u32 = 2;

/// A thread block.
pub(super) struct Block<'p> {
    pub(super) agent: Agent,
    pub(super) rank: RankId,
    pub(super) steps: Vec<Step<'p>>,
    pub(super) at: usize,
    /// Which elements of this step are done, while some wait for packets.
    pub(super) done: Vec<bool>,
    /// A packet without which this step cannot be begun.
    pub(super) missing: Option<Slot>,
    /// What all threads know.
    pub(super) base: Clock,
    /// The step at which they met last.
    met: u32,
    /// What single threads know beyond that.
    threads: SmallVec<[Thread; 1]>,
    /// What the elements of the last operations have learnt, which all threads know once they meet.
    pub(super) learnt: Vec<Source>,
    /// The same by the threads that have learnt it, as far as operations follow in which threads are told apart.
    pub(super) lanes: FxHashMap<Lane, Vec<Source>>,
    /// Whether some of these were told apart within a slice or a window, which may be smaller than its cells.
    pub(super) partly: bool,
    /// What the first threads have learnt.
    pub(super) first: Vec<Source>,
    pub(super) arrived: bool,
}

/// The blocks that have not ended, by their agents.
pub(super) struct Blocks<'p>(Vec<Option<Box<Block<'p>>>>);

/// What a thread knows beyond what all know.
#[derive(Clone, Debug)]
struct Thread {
    number: u32,
    heard: SmallVec<[Source; 1]>,
    /// How much it knows of what the first threads have learnt.
    first: usize,
    /// The last moment at which it told something since.
    last: MomentId,
    chain: u32,
}

impl<'p> Blocks<'p> {
    /// None yet.
    pub(super) fn new() -> Blocks<'p> {
        Blocks(Vec::new())
    }

    /// One more, at its start.
    pub(super) fn start(&mut self, rank: RankId, steps: Vec<Step<'p>>) {
        let agent = self.0.len() as Agent;
        self.0.push(Some(Box::new(Block::new((agent, agent), rank, steps))));
    }

    /// How many there were at the start.
    pub(super) fn started(&self) -> usize {
        self.0.len()
    }

    /// One that has not ended.
    pub(super) fn get(&self, agent: usize) -> Option<&Block<'p>> {
        self.0.get(agent)?.as_deref()
    }

    /// One that has not ended, to be led on.
    pub(super) fn get_mut(&mut self, agent: usize) -> Option<&mut Block<'p>> {
        self.0.get_mut(agent)?.as_deref_mut()
    }

    /// Takes one out that has done all its steps.
    pub(super) fn take_done(&mut self, agent: usize) -> Option<Box<Block<'p>>> {
        self.0.get_mut(agent)?.take_if(|block| block.at >= block.steps.len())
    }

    /// Whether all have ended.
    pub(super) fn have_ended(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

impl<'p> Block<'p> {
    /// A block at its start.
    pub(super) fn new(
        (agent, chain): (Agent, u32),
        rank: RankId,
        steps: Vec<Step<'p>>,
    ) -> Block<'p> {
        Block {
            agent,
            rank,
            steps,
            at: 0,
            done: Vec::new(),
            missing: None,
            base: Clock::of(agent, chain),
            met: 0,
            threads: SmallVec::new(),
            learnt: Vec::new(),
            lanes: FxHashMap::default(),
            partly: false,
            first: Vec::new(),
            arrived: false,
        }
    }

    /// All threads meet: each learns what any knows.
    pub(super) fn meet(&mut self, lookup: Lookup<'_>) {
        for thread in self.threads.drain(..) {
            let told = (thread.last != NONE).then_some(Source::All(thread.last, 0));
            told.into_iter().chain(thread.heard).for_each(|one| self.base.hear(lookup, one));
        }
        tidy(&mut self.learnt);
        self.learnt.drain(..).for_each(|source| self.base.hear(lookup, source));
        self.lanes.clear();
        self.partly = false;
        self.first.clear();
        self.reach(self.at as u32);
    }

    /// All steps before this one have happened.
    pub(super) fn reach(&mut self, step: u32) {
        self.met = step;
        self.base.reach(step);
    }

    /// A thread hears something.
    pub(super) fn hear(&mut self, thread: u32, source: Source) {
        self.thread(thread).heard.push(source);
    }

    /// The moment at which a thread tells what it knows.
    pub(super) fn moment(&mut self, history: &mut History, thread: u32) -> MomentId {
        let knows_more = thread < FIRST_THREADS && !self.first.is_empty();
        if !knows_more && self.threads.iter().all(|one| one.number != thread) {
            return self.base.moment(history);
        }
        let base = self.base.moment(history);
        let (agent, met) = (self.agent, self.met);
        let first = if knows_more { self.first.clone() } else { Vec::new() };
        let own = self.thread(thread);
        own.heard.extend(first.get(own.first..).unwrap_or_default().iter().copied());
        own.first = first.len();
        if own.last == NONE {
            own.chain = history.chain();
            own.heard.push(Source::All(base, 0));
        }
        if !own.heard.is_empty() {
            own.last = history.add((agent, own.chain), met, own.last, own.heard.drain(..));
        }
        own.last
    }

    fn thread(&mut self, number: u32) -> &mut Thread {
        let at = self.threads.iter().position(|one| one.number == number);
        let at = at.unwrap_or_else(|| {
            let heard = SmallVec::new();
            self.threads.push(Thread { number, heard, first: 0, last: NONE, chain: NONE });
            self.threads.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "found or pushed just now")]
        &mut self.threads[at]
    }
}

/// What the threads of wide elements have learnt from packets: a packet carries half as much as such an element, or
/// less, so the threads that do the first cells of an operation have each read a packet of the first half of these.
#[derive(Default)]
pub(super) struct Halves {
    /// The cells of packets that were looked at.
    seen: u64,
    /// What all of these tell of steps. Which of them a thread has read is open, and so what that was made from.
    common: Vec<Source>,
}

impl Halves {
    /// What the threads know that do the wide element at this distance from the first.
    pub(super) fn told(&mut self, block: &Block<'_>, at: u64) -> &[Source] {
        if block.partly || block.lanes.is_empty() {
            return &[];
        }
        if at == 0 {
            *self = Halves::default();
        }
        while self.seen <= at / 2 {
            let lane = block.lanes.get(&Lane { share: Share::Payload, at: self.seen });
            let told = lane.into_iter().flatten().filter_map(|source| source.steps());
            match self.seen {
                0 => self.common.extend(told),
                _ => {
                    let told: Vec<Source> = told.collect();
                    self.common.retain(|source| told.contains(source));
                }
            }
            self.seen += 1;
        }
        &self.common
    }
}

/// Each source once.
fn tidy(sources: &mut Vec<Source>) {
    sources.sort_unstable();
    sources.dedup();
}
