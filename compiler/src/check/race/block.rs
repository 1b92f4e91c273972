//! A thread block as it runs through its steps, and what its threads know.

use super::agents::Agent;
use super::clock::{Clock, Lookup};
use super::heard::Heard;
use super::history::{History, MomentId, NONE, Source};
use super::writers::Slot;
use crate::events::{BlockSteps, Events, Step, StepBuffer};
use crate::ir::{Op, RankId};
use smallvec::SmallVec;

/// The number of threads that have a packet each in the smallest operation.
const FIRST_THREADS: u32 = 2;

/// A thread block.
pub(super) struct Block<'p> {
    pub(super) agent: Agent,
    pub(super) rank: RankId,
    steps: BlockSteps<'p>,
    pub(super) at: u32,
    /// Whether it has arrived at a barrier, and its threads have met there.
    pub(super) arrived: bool,
    /// What all its threads know.
    pub(super) base: Clock,
    /// The step at which they met last.
    met: u32,
    /// What individual threads know beyond that.
    threads: Vec<Thread>,
    /// What its threads wait for and have heard from packets, if there are any.
    heard: Option<Box<Heard>>,
}

/// The blocks that have begun and not ended, by their agents.
pub(super) struct Blocks<'p>(Vec<Option<Box<Block<'p>>>>);

/// What a thread knows beyond what all know.
#[derive(Clone, Debug)]
struct Thread {
    number: u32,
    heard: SmallVec<[Source; 1]>,
    /// How many of the sources learned by the first threads it knows.
    first: u32,
    /// Its last moment since the threads met, or [`NONE`].
    last: MomentId,
    chain: u32,
}

impl<'p> Blocks<'p> {
    /// No blocks yet.
    pub(super) fn new() -> Blocks<'p> {
        Blocks(Vec::new())
    }

    /// Adds a block at its start; returns its agent.
    pub(super) fn start(&mut self, rank: RankId, steps: BlockSteps<'p>) -> usize {
        let agent = self.0.len();
        self.0.push(Some(Box::new(Block::new(agent as Agent, rank, steps))));
        agent
    }

    /// How many have begun.
    pub(super) fn started(&self) -> usize {
        self.0.len()
    }

    /// A block that has not ended.
    pub(super) fn get(&self, agent: usize) -> Option<&Block<'p>> {
        self.0.get(agent)?.as_deref()
    }

    /// A block that has not ended, to be advanced.
    pub(super) fn get_mut(&mut self, agent: usize) -> Option<&mut Block<'p>> {
        self.0.get_mut(agent)?.as_deref_mut()
    }

    /// Takes out a block, if it has done all its steps.
    pub(super) fn take_done(&mut self, agent: usize) -> Option<Box<Block<'p>>> {
        self.0.get_mut(agent)?.take_if(|block| u64::from(block.at) >= block.steps.len())
    }

    /// Whether all blocks that have begun have ended.
    pub(super) fn have_ended(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

impl<'p> Block<'p> {
    /// A block at its start.
    fn new(agent: Agent, rank: RankId, steps: BlockSteps<'p>) -> Block<'p> {
        Block {
            agent,
            rank,
            steps,
            at: 0,
            arrived: false,
            base: Clock::of(agent, agent),
            met: 0,
            threads: Vec::new(),
            heard: None,
        }
    }

    /// The current step.
    pub(super) fn lower_step<'b>(
        &self,
        events: &Events<'p>,
        into: &'b mut StepBuffer,
    ) -> Option<Step<'b>> {
        events.lower_step(&self.steps, self.at.into(), into)
    }

    /// The operation that the current step comes from, for reports.
    pub(super) fn operation(&self, events: &Events<'p>) -> Option<&'p Op> {
        events.operation(&self.steps, self.at.into())
    }

    /// Whether its threads go on to another step without meeting.
    pub(super) fn goes_on(&self, events: &Events<'p>) -> bool {
        let next = u64::from(self.at) + 1;
        next < self.steps.len() && !events.meets_at(&self.steps, next)
    }

    /// What its threads wait for and have heard from packets, if there were any.
    pub(super) fn heard(&self) -> Option<&Heard> {
        self.heard.as_deref()
    }

    /// The same, to be added to.
    pub(super) fn heard_mut(&mut self) -> &mut Heard {
        self.heard.get_or_insert_default()
    }

    /// A transfer has processed this many of its elements, and waits for a packet or is done.
    pub(super) fn progress(&mut self, done: usize, missing: Option<Slot>) {
        if missing.is_some() {
            let heard = self.heard_mut();
            (heard.done, heard.missing) = (done, missing);
        } else {
            self.heard.iter_mut().for_each(|heard| (heard.done, heard.missing) = (0, None));
            self.at += 1;
        }
    }

    /// All threads meet: each learns what any knows.
    pub(super) fn meet(&mut self, lookup: Lookup<'_>) {
        for thread in std::mem::take(&mut self.threads) {
            let told = (thread.last != NONE).then_some(Source::All(thread.last, 0));
            told.into_iter().chain(thread.heard).for_each(|one| self.base.hear(lookup, one));
        }
        let heard = self.heard.iter_mut().flat_map(|heard| heard.take_all());
        heard.for_each(|source| self.base.hear(lookup, source));
        self.reach(self.at);
    }

    /// The step at which its threads met last.
    pub(super) fn met(&self) -> u32 {
        self.met
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

    /// The moment of the first threads, where they have heard more than the others since all threads met. Where chunks
    /// are cut into parts, it is unknown which parts are the second thread's.
    pub(super) fn first_moment(&mut self, history: &mut History, is_cut: bool) -> Option<MomentId> {
        let first = 0..if is_cut { 1 } else { FIRST_THREADS };
        let knows_more = |number: &u32| self.threads.iter().any(|one| one.number == *number);
        let knowing: SmallVec<[u32; 2]> = first.filter(knows_more).collect();
        let mut told = knowing.into_iter().map(|number| self.moment(history, number));
        let (one, other) = (told.next()?, told.next());
        let Some(other) = other else { return Some(one) };
        Some(history.meeting([one, other].map(|moment| Source::All(moment, 0))))
    }

    /// The moment at which a thread passes on what it knows.
    pub(super) fn moment(&mut self, history: &mut History, thread: u32) -> MomentId {
        let heard = self.heard().filter(|_| thread < FIRST_THREADS);
        let first = heard.map_or(0, |heard| heard.first.len());
        if first == 0 && self.threads.iter().all(|one| one.number != thread) {
            return self.base.moment(history);
        }
        self.pass(history, thread, false)
    }

    /// A moment of the thread's own chain that nobody knows before the thread goes on: whoever knows it knows that the
    /// thread has done its part of the current step, whether the others have or not.
    pub(super) fn mark(&mut self, history: &mut History, thread: u32) -> MomentId {
        self.pass(history, thread, true)
    }

    /// The last moment of a thread's own chain, which is a new one if there is something new or if it must be.
    fn pass(&mut self, history: &mut History, thread: u32, must: bool) -> MomentId {
        let heard = self.heard().filter(|_| thread < FIRST_THREADS);
        let first = heard.map_or(Vec::new(), |heard| heard.first.clone());
        let base = self.base.moment(history);
        let (agent, met) = (self.agent, self.met);
        let own = self.thread(thread);
        own.heard.extend(first.get(own.first as usize..).unwrap_or_default().iter().copied());
        own.first = first.len() as u32;
        if own.last == NONE {
            own.chain = history.chain();
            own.heard.push(Source::All(base, 0));
        }
        if must || !own.heard.is_empty() {
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
