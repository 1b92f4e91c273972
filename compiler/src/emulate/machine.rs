//! All agents, and the state that they share.

use super::code::SizeCode;
use super::data::Data;
use super::memory::{Memory, OutOfBounds, Spot, Stretch, Watch, pages};
use super::proxy::{Proxy, Request};
use super::schedule::{Ready, Shape, SplitMix64};
use super::sizes::Sizes;
use super::thread::Thread;
use super::{Awaits, Outcome, Stuck, Trial, Writer};
use crate::events::{CounterId, EndId, Events, MeetingId, StepBuffer};
use crate::interrupt::Interrupt;
use crate::ir::counter::CounterKind;
use crate::ir::{BlockId, Program, RankId};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// The most late stores that a block may have at one time, and the most bytes of all of them. Every load of the block looks
/// through them.
const LATE_STORES: usize = 256;
const LATE_BYTES: u64 = 1 << 20;

/// After how many turns the interrupt is checked.
const TURNS: u64 = 1024;

/// A running program.
pub(super) struct Machine<'t, 'p> {
    pub(super) program: &'p Program,
    /// What blocks do, for each size.
    codes: &'t [SizeCode<'p>],
    pub(super) data: &'t mut Data,
    pub(super) memory: Memory,
    pub(super) shape: Shape,
    pub(super) random: SplitMix64,
    pub(super) ready: Ready,
    pub(super) threads: Vec<Thread>,
    pub(super) blocks: Vec<BlockState>,
    pub(super) ranks: Vec<RankState>,
    /// Those of all ends of channels, though only ports have requests.
    pub(super) proxies: Vec<Proxy>,
    /// For each counter: of a channel, how many signals have come so far; of a semaphore, its value.
    pub(super) counters: Vec<i64>,
    /// For each channel, how many signals have been waited for.
    pub(super) waits: Vec<u64>,
    /// For each barrier, the blocks that have arrived.
    pub(super) arrived: Vec<Vec<usize>>,
    pub(super) sizes: Sizes,
    pub(super) launches: u32,
    /// How many entries of a list of channels or semaphores an operation handles.
    pub(super) entries: usize,
    /// How the run ended, once it is known.
    pub(super) end: Option<Outcome>,
    waiting: BTreeMap<Key, Vec<usize>>,
}

/// What agents can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Counter(CounterId),
    /// A page of a rank's scratch.
    Packets(RankId, u64),
    Proxy(EndId),
}

/// How far a rank has come.
pub(super) struct RankState {
    pub(super) launch: u32,
    /// Whether the launch has ended and its user has not looked yet.
    pub(super) ran: bool,
    /// Threads that have not reached their end.
    pub(super) running: usize,
    /// The number of its first block.
    pub(super) first_block: usize,
}

/// What the threads of a block have in common.
pub(super) struct BlockState {
    pub(super) rank: RankId,
    pub(super) block: BlockId,
    /// How many threads are at the point where all are to meet.
    pub(super) met: usize,
    /// What it has stored and others do not see yet.
    pub(super) late: VecDeque<DelayedStore>,
    pub(super) late_bytes: u64,
    /// The step that one of its threads began last, for the others.
    lowered: Option<LoweredStep>,
}

/// A step of a block in a launch.
struct LoweredStep {
    at: u64,
    launch: u32,
    buffer: Rc<StepBuffer>,
}

/// A store that comes late.
pub(super) struct DelayedStore {
    /// Which of the block's threads stored it, and how often that thread had met the others by then.
    pub(super) thread: usize,
    pub(super) meetings: u64,
    pub(super) spot: Spot,
    pub(super) stretch: Stretch,
    pub(super) data: Vec<u8>,
    pub(super) launch: u32,
    pub(super) writer: Writer,
}

impl<'t, 'p> Machine<'t, 'p> {
    /// A program before its first launch.
    pub(super) fn new(
        trial: &'t mut Trial<'p>,
        seed: u64,
        watch: Option<Watch>,
    ) -> Machine<'t, 'p> {
        let (program, sizes) = (trial.program, trial.sizes(seed));
        let mut random = SplitMix64::new(seed);
        let shape = Shape::drawn(&mut random);
        let (ranks, blocks) = states(program);
        let codes: &'t [SizeCode<'p>] = &trial.codes;
        let counts = CounterTables::new(codes);
        let mut groups: Vec<u32> =
            blocks.iter().flat_map(|b| std::iter::repeat_n(b.rank.0, shape.threads)).collect();
        for (id, rank) in program.ranks.entries() {
            groups.extend(rank.channels.iter().map(|_| id.0));
        }
        groups.extend(program.ranks.ids().map(|id| id.0));
        let mut machine = Machine {
            program,
            codes,
            data: &mut trial.data,
            memory: Memory::new(program, sizes.clone(), watch),
            shape,
            random,
            ready: Ready::new(seed, &groups),
            threads: (0..blocks.len() * shape.threads).map(|_| Thread::default()).collect(),
            blocks,
            ranks,
            proxies: counts.proxies,
            counters: counts.counters,
            waits: counts.waits,
            arrived: counts.arrived,
            sizes,
            launches: trial.settings.launches,
            entries: trial.settings.entries,
            end: None,
            waiting: BTreeMap::new(),
        };
        for id in program.ranks.ids() {
            machine.ready.add(machine.user_of(id));
        }
        machine
    }

    /// Runs until no agent can continue, or something is wrong.
    pub(super) fn run(mut self, interrupt: &Interrupt) -> Outcome {
        let mut turns = 0;
        while let Some(agent) = self.ready.next() {
            turns += 1;
            if turns % TURNS == 0 && interrupt.is_set() {
                return Outcome::Interrupted;
            }
            self.turn(agent);
            if let Some(end) = self.end.take() {
                return end;
            }
        }
        if self.ranks.iter().all(|rank| rank.launch == self.launches) {
            Outcome::Right
        } else {
            Outcome::Stuck(self.stuck())
        }
    }

    fn turn(&mut self, agent: usize) {
        let (threads, proxies) = (self.threads.len(), self.proxies.len());
        if agent < threads {
            self.thread(agent);
        } else if agent < threads + proxies {
            self.proxy(agent - threads);
        } else {
            self.user(RankId((agent - threads - proxies) as u32));
        }
    }

    /// The number of a rank's user.
    pub(super) fn user_of(&self, rank: RankId) -> usize {
        self.threads.len() + self.proxies.len() + rank.0 as usize
    }

    /// Starts the blocks of a rank.
    pub(super) fn begin(&mut self, id: RankId) {
        let Some(rank) = self.ranks.get_mut(id.0 as usize) else { return };
        let count = self.program.ranks.lookup(id).map_or(0, |rank| rank.blocks.len());
        let first = rank.first_block * self.shape.threads;
        rank.running = count * self.shape.threads;
        if rank.running == 0 {
            self.ended(id);
        }
        for agent in first..first + count * self.shape.threads {
            if let Some(thread) = self.threads.get_mut(agent) {
                *thread = Thread::default();
            }
            self.settle(agent);
        }
    }

    /// Lets a thread continue, or notes that it has reached its end.
    pub(super) fn settle(&mut self, agent: usize) {
        let (index, _) = self.place(agent);
        let at = self.threads.get(agent).map_or(0, |thread| thread.at);
        if self.has_step(index, at) {
            self.ready.add(agent);
            return;
        }
        let Some(id) = self.blocks.get(index).map(|block| block.rank) else { return };
        let Some(rank) = self.ranks.get_mut(id.0 as usize) else { return };
        rank.running -= 1;
        if rank.running == 0 {
            self.ended(id);
        }
    }

    fn ended(&mut self, id: RankId) {
        let Some(rank) = self.ranks.get_mut(id.0 as usize) else { return };
        rank.ran = true;
        let first = rank.first_block;
        let launch = rank.launch;
        let Some(row) = self.program.ranks.lookup(id) else { return };
        (first..first + row.blocks.len()).for_each(|block| self.store_all(block));
        if let Some(begins) = row.begun.iter().find(|other| !self.has_begun(**other, launch)) {
            self.end = Some(Outcome::Early { ended: id, begins: *begins, launch });
        }
        self.ready.add(self.user_of(id));
    }

    fn has_begun(&self, id: RankId, launch: u32) -> bool {
        let begun = |rank: &RankState| {
            rank.launch > launch || rank.launch == launch && (rank.running > 0 || rank.ran)
        };
        self.ranks.get(id.0 as usize).is_none_or(begun)
    }

    /// What blocks do in a block's launch.
    fn code_of(&self, block: usize) -> Option<&'t SizeCode<'p>> {
        let codes: &'t [SizeCode<'p>] = self.codes;
        codes.get(self.sizes.index(self.launch_of(block)?))
    }

    fn launch_of(&self, block: usize) -> Option<u32> {
        let state = self.blocks.get(block)?;
        Some(self.ranks.get(state.rank.0 as usize)?.launch)
    }

    /// Whether a block has a step of this number in its launch.
    fn has_step(&self, block: usize, at: u64) -> bool {
        let steps = self.code_of(block).and_then(|code| code.blocks.get(block));
        steps.is_some_and(|steps| at < steps.len())
    }

    /// A step of a block in its launch.
    pub(super) fn lower_step(&mut self, block: usize, at: u64) -> Option<Rc<StepBuffer>> {
        let (code, launch) = (self.code_of(block)?, self.launch_of(block)?);
        let state = self.blocks.get_mut(block)?;
        if let Some(known) = &state.lowered
            && known.at == at
            && known.launch == launch
        {
            return Some(Rc::clone(&known.buffer));
        }
        let mut buffer = StepBuffer::default();
        code.events.lower_step(code.blocks.get(block)?, at, &mut buffer)?;
        let buffer = Rc::new(buffer);
        state.lowered = Some(LoweredStep { at, launch, buffer: Rc::clone(&buffer) });
        Some(buffer)
    }

    /// What a counter is.
    pub(super) fn counter_kind(&self, counter: CounterId) -> Option<CounterKind> {
        Some(self.codes.first()?.events.counter(counter)?.kind)
    }

    /// The threads of a block, as agents.
    pub(super) fn agents_of(&self, block: usize) -> std::ops::Range<usize> {
        block * self.shape.threads..(block + 1) * self.shape.threads
    }

    /// A thread's block, and its number there.
    pub(super) fn place(&self, agent: usize) -> (usize, usize) {
        (agent / self.shape.threads, agent % self.shape.threads)
    }

    /// Makes an agent wait.
    pub(super) fn park(&mut self, agent: usize, key: Key) {
        self.waiting.entry(key).or_default().push(agent);
    }

    /// Lets all agents continue that wait for something.
    pub(super) fn wake(&mut self, key: Key) {
        for agent in self.waiting.remove(&key).into_iter().flatten() {
            self.ready.add(agent);
        }
    }

    /// Lets all agents continue that wait for packets there.
    pub(super) fn wake_packets(&mut self, spot: Spot, bytes: u64) {
        for page in pages(spot, bytes) {
            self.wake(Key::Packets(spot.rank, page));
        }
    }

    /// Adds one to a counter; nobody can take from one that does not exist.
    pub(super) fn give(&mut self, counter: Option<CounterId>) {
        let Some(id) = counter else { return };
        if let Some(value) = self.counters.get_mut(id.0 as usize) {
            *value = value.saturating_add(1);
        }
        self.wake(Key::Counter(id));
    }

    /// Gives a request to a proxy; returns how many it has been given, including this one.
    pub(super) fn ask(&mut self, end: EndId, request: Request) -> u64 {
        let index = end.0 as usize;
        let Some(proxy) = self.proxies.get_mut(index) else { return 0 };
        let idle = proxy.requests.is_empty();
        let asked = proxy.ask(request);
        if idle {
            self.ready.add(self.threads.len() + index);
        }
        asked
    }

    fn proxy(&mut self, index: usize) {
        let Some(proxy) = self.proxies.get_mut(index) else { return };
        let signal = proxy.take_signal();
        let piece = if signal.is_some() {
            None
        } else {
            proxy.piece(|launch| self.shape.piece(self.sizes.chunk_bytes(launch)))
        };
        let more = !proxy.requests.is_empty();
        if let Some(put) = piece {
            let spots = (put.from, put.to);
            let done = self.memory.copy(spots, put.bytes, put.packets, put.launch, put.writer);
            self.allowed(done, put.writer, put.to);
            if put.packets {
                self.wake_packets(put.to, put.bytes);
            }
        }
        if let Some(counter) = signal {
            self.give(counter);
        }
        self.wake(Key::Proxy(EndId(index as u32)));
        if more {
            self.ready.add(self.threads.len() + index);
        }
    }

    /// The result of an access; one that leaves its buffer ends the run.
    pub(super) fn allowed<T>(
        &mut self,
        done: Result<T, OutOfBounds>,
        writer: Writer,
        spot: Spot,
    ) -> Option<T> {
        if done.is_err() {
            self.end = Some(Outcome::Outside(writer, spot.named, spot.rank));
        }
        done.ok()
    }

    /// Holds a store back; if there are too many, the first ones are carried out.
    pub(super) fn keep(&mut self, block: usize, late: DelayedStore) {
        if let Some(state) = self.blocks.get_mut(block) {
            state.late_bytes += late.data.len() as u64;
            state.late.push_back(late);
        }
        let too_many =
            |state: &BlockState| state.late.len() > LATE_STORES || state.late_bytes > LATE_BYTES;
        while self.blocks.get(block).is_some_and(too_many) {
            self.store_first(block);
        }
    }

    /// Replaces what a block has read from memory by what it has stored there itself since, in order.
    pub(super) fn see_own(&self, block: usize, read: &Stretch, data: &mut [u8]) {
        let late = self.blocks.get(block).map(|state| &state.late);
        for store in late.into_iter().flatten() {
            let Some((to, from)) = read.overlap(&store.stretch) else { continue };
            if let (Some(to), Some(from)) = (data.get_mut(to), store.data.get(from)) {
                to.copy_from_slice(from);
            }
        }
    }

    /// Carries out the stores that a block has held back, if one of them is to these bytes.
    pub(super) fn store_before(&mut self, block: usize, stretch: &Stretch) {
        let late = self.blocks.get(block).map(|state| &state.late);
        let is_there = |store: &DelayedStore| store.stretch.overlap(stretch).is_some();
        if late.is_some_and(|late| late.iter().any(is_there)) {
            self.store_all(block);
        }
    }

    /// Carries out the first store that a block has held back.
    pub(super) fn store_first(&mut self, block: usize) {
        let late = self.blocks.get_mut(block).and_then(|state| state.late.pop_front());
        late.into_iter().for_each(|late| self.store_late(block, late));
    }

    /// Carries out all stores that a block has held back.
    pub(super) fn store_all(&mut self, block: usize) {
        while self.blocks.get(block).is_some_and(|state| !state.late.is_empty()) {
            self.store_first(block);
        }
    }

    /// Carries out all stores that a thread knows of: its own, and those that others made before all met.
    pub(super) fn store_known(&mut self, block: usize, thread: usize) {
        let agent = block * self.shape.threads + thread;
        let meetings = self.threads.get(agent).map_or(0, |thread| thread.meetings);
        let Some(state) = self.blocks.get_mut(block) else { return };
        let knows = |late: &DelayedStore| late.thread == thread || late.meetings < meetings;
        let (known, unknown): (VecDeque<DelayedStore>, _) =
            std::mem::take(&mut state.late).into_iter().partition(knows);
        state.late = unknown;
        known.into_iter().for_each(|late| self.store_late(block, late));
    }

    fn store_late(&mut self, block: usize, late: DelayedStore) {
        if let Some(state) = self.blocks.get_mut(block) {
            state.late_bytes -= late.data.len() as u64;
        }
        let done = self.memory.write(late.spot, &late.data, late.launch, late.writer);
        self.allowed(done, late.writer, late.spot);
    }

    /// The blocks that wait forever, and for what: one thread of each.
    fn stuck(&self) -> Vec<Stuck> {
        let mut stuck: BTreeMap<usize, Stuck> = BTreeMap::new();
        let threads = self.waiting.iter().flat_map(|(key, agents)| {
            let blocks = agents.iter().filter(|agent| **agent < self.threads.len());
            blocks.filter_map(|agent| self.stuck_at(*agent, self.describe_key(*key)?))
        });
        let barriers = (0..).zip(&self.arrived).flat_map(|(id, blocks)| {
            let barrier = self.codes.first().and_then(|code| code.events.barrier(MeetingId(id)));
            let awaits = barrier.map(|barrier| Awaits::Barrier(barrier.barrier));
            blocks.iter().filter_map(move |b| self.stuck_at(b * self.shape.threads, awaits?))
        });
        for (block, found) in threads.chain(barriers) {
            stuck.entry(block).or_insert(found);
        }
        stuck.into_values().collect()
    }

    fn stuck_at(&self, agent: usize, awaits: Awaits) -> Option<(usize, Stuck)> {
        let (block, _) = self.place(agent);
        let state = self.blocks.get(block)?;
        let (code, at) = (self.code_of(block)?, self.threads.get(agent)?.at);
        let mut buffer = StepBuffer::default();
        let step = code.events.lower_step(code.blocks.get(block)?, at, &mut buffer)?;
        let at = Writer { rank: state.rank, block: state.block, origin: step.origin };
        let launch = self.ranks.get(state.rank.0 as usize)?.launch;
        Some((block, Stuck { at, launch, awaits }))
    }

    /// What is waited for, as reports have it.
    fn describe_key(&self, key: Key) -> Option<Awaits> {
        let events = &self.codes.first()?.events;
        Some(match key {
            Key::Counter(id) => match events.counter(id)?.kind {
                CounterKind::Channel(channel) => Awaits::Signal(channel),
                CounterKind::Semaphore(semaphore) => Awaits::Semaphore(semaphore),
            },
            Key::Packets(..) => Awaits::Packets,
            Key::Proxy(end) => Awaits::Proxy(events.end(end)?.channel),
        })
    }
}

/// Counters, barriers and proxies before the first launch.
struct CounterTables {
    counters: Vec<i64>,
    waits: Vec<u64>,
    arrived: Vec<Vec<usize>>,
    proxies: Vec<Proxy>,
}

impl CounterTables {
    /// Their numbers are the same for all sizes.
    fn new(codes: &[SizeCode]) -> CounterTables {
        let events = codes.first().map(|code| &code.events);
        let counters: Vec<i64> = events
            .into_iter()
            .flat_map(|events| events.counter_ids().map(|id| events.initial_value(id)))
            .collect();
        let meetings = events.map_or(0, Events::count_meetings);
        let ends = events.map_or(0, Events::count_ends);
        CounterTables {
            waits: vec![0; counters.len()],
            counters,
            arrived: vec![Vec::new(); meetings],
            proxies: (0..ends).map(|_| Proxy::default()).collect(),
        }
    }
}

/// All ranks and blocks before the first launch.
fn states(program: &Program) -> (Vec<RankState>, Vec<BlockState>) {
    let (mut ranks, mut blocks) = (Vec::new(), Vec::new());
    for (id, rank) in program.ranks.entries() {
        ranks.push(RankState { launch: 0, ran: false, running: 0, first_block: blocks.len() });
        blocks.extend(rank.blocks.ids().map(|block| BlockState {
            rank: id,
            block,
            met: 0,
            late: VecDeque::new(),
            late_bytes: 0,
            lowered: None,
        }));
    }
    (ranks, blocks)
}
