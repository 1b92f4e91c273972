//! Runs blocks, and wakes them when they can go on.

use super::memory::{Cell, Memory};
use super::tree::{Tree, TreeId};
use super::value::{Value, combine};
use super::{Awaits, Outcome, Stuck};
use crate::events::{
    Arrival, BlockSteps, CellForm, CounterOfRank, Events, Give, MemoryExtent, MemoryReach, Move,
    Step, StepBuffer, Take,
};
use crate::ir::counter::CounterKind;
use crate::ir::{BlockId, RankId};
use smallvec::SmallVec;
use std::collections::{BTreeMap, VecDeque};

/// A running program.
pub(super) struct Machine<'e, 'p> {
    events: &'e Events<'p>,
    memory: Memory,
    /// The value of each counter.
    counters: Vec<i64>,
    /// The blocks that have arrived at each barrier.
    arrived: Vec<Vec<ArrivedBlock>>,
    blocks: Vec<RunningBlock<'p>>,
    /// Blocks that can go on, in order.
    ready: VecDeque<usize>,
    /// Blocks that wait, by what they wait for.
    waiting: BTreeMap<(RankId, Awaits), Vec<usize>>,
    /// How many more steps and elements may be processed.
    left: u64,
}

/// A block, and how far it has come.
struct RunningBlock<'p> {
    rank: RankId,
    block: BlockId,
    steps: BlockSteps<'p>,
    at: u64,
    /// How many elements of its step it has done, over all moves.
    done: u64,
    /// Whether the barrier at which it has arrived has opened.
    passed: bool,
}

/// A block at a barrier.
#[derive(Clone, Copy)]
struct ArrivedBlock {
    index: usize,
    /// How many arrivals it waits for.
    arrivals: u32,
}

/// The value of an element.
struct CombinedReads {
    value: Value,
    /// How what was combined had been computed, in order; empty where nothing is combined, or that is not kept.
    operands: SmallVec<[TreeId; 2]>,
}

/// What became of a step that was tried.
enum StepResult {
    Done,
    Waits(Awaits),
    /// The limit was reached.
    TooLong,
}

impl<'e, 'p> Machine<'e, 'p> {
    /// A program at its start.
    pub(super) fn new(events: &'e Events<'p>, memory: Memory, limit: u64) -> Machine<'e, 'p> {
        let program = events.program();
        let mut blocks = Vec::new();
        for (rank, row) in program.ranks.entries() {
            for block in row.blocks.ids() {
                let steps = events.block_steps(rank, block);
                blocks.push(RunningBlock { rank, block, steps, at: 0, done: 0, passed: false });
            }
        }
        Machine {
            events,
            memory,
            counters: events.counter_ids().map(|id| events.initial_value(id)).collect(),
            arrived: (0..events.count_meetings()).map(|_| Vec::new()).collect(),
            ready: (0..blocks.len()).collect(),
            blocks,
            waiting: BTreeMap::new(),
            left: limit,
        }
    }

    /// Runs until no block can go on.
    pub(super) fn run(mut self) -> Outcome {
        let mut buffer = StepBuffer::default();
        while let Some(index) = self.ready.pop_front() {
            while let Some(block) = self.blocks.get(index)
                && let Some(step) = self.events.lower_step(&block.steps, block.at, &mut buffer)
            {
                match self.try_step(index, &step) {
                    StepResult::Done => self.advance(index),
                    StepResult::Waits(awaits) => {
                        self.park(index, awaits);
                        break;
                    }
                    StepResult::TooLong => return Outcome::TooLong,
                }
            }
        }
        if self.waiting.is_empty() { Outcome::Finished(self.memory) } else { self.report_stuck() }
    }

    fn report_stuck(&self) -> Outcome {
        let mut buffer = StepBuffer::default();
        let mut stuck = Vec::new();
        for ((_, awaits), waiting) in &self.waiting {
            for block in waiting.iter().filter_map(|index| self.blocks.get(*index)) {
                let step = self.events.lower_step(&block.steps, block.at, &mut buffer);
                stuck.extend(step.map(|step| Stuck {
                    rank: block.rank,
                    block: block.block,
                    origin: step.origin,
                    site: step.site,
                    awaits: *awaits,
                }));
            }
        }
        Outcome::Stuck(stuck)
    }

    fn advance(&mut self, index: usize) {
        if let Some(block) = self.blocks.get_mut(index) {
            (block.at, block.done, block.passed) = (block.at + 1, 0, false);
        }
    }

    fn park(&mut self, index: usize, awaits: Awaits) {
        let rank = self.blocks.get(index).map(|block| block.rank).unwrap_or_default();
        self.waiting.entry((rank, awaits)).or_default().push(index);
    }

    fn wake(&mut self, rank: RankId, awaits: Awaits) {
        self.ready.extend(self.waiting.remove(&(rank, awaits)).into_iter().flatten());
    }

    fn try_step(&mut self, index: usize, step: &Step) -> StepResult {
        if self.left == 0 {
            return StepResult::TooLong;
        }
        self.left -= 1;
        if let Some(arrival) = step.arrival {
            return self.arrive(index, arrival);
        }
        if let Some(awaits) = self.find_missing_take(step.takes) {
            return StepResult::Waits(awaits);
        }
        if step.is_pushed() && !self.has_all_packets(step) {
            return StepResult::Waits(Awaits::Packets);
        }
        let has_moved = self.do_moves(index, step);
        if !has_moved {
            return StepResult::Waits(Awaits::Packets);
        }
        for take in step.takes {
            if let Some(value) = self.counters.get_mut(take.counter.0 as usize) {
                *value = value.saturating_sub(1);
            }
        }
        let signals = step.requests.iter().filter_map(|request| request.signal.as_ref());
        signals.chain(step.gives).for_each(|give| self.give(give));
        StepResult::Done
    }

    /// The first of these that cannot be taken yet. What a list names several times has to be there as often.
    fn find_missing_take(&self, takes: &[Take]) -> Option<Awaits> {
        let missing = takes.iter().enumerate().find(|(number, take)| {
            let before = takes.iter().take(*number).filter(|one| one.counter == take.counter);
            let value = self.counters.get(take.counter.0 as usize).copied().unwrap_or(i64::MAX);
            value <= before.count() as i64
        });
        missing.and_then(|(_, take)| Some(await_counter(self.events.counter(take.counter)?)))
    }

    fn give(&mut self, give: &Give) {
        let Some(id) = give.counter else { return };
        if let Some(value) = self.counters.get_mut(id.0 as usize) {
            *value = value.saturating_add(1);
        }
        if let Some(counter) = self.events.counter(id) {
            self.wake(counter.rank, await_counter(counter));
        }
    }

    /// A barrier opens when all blocks that ever come to it have arrived, and each waits for that many.
    fn arrive(&mut self, index: usize, arrival: Arrival) -> StepResult {
        if self.blocks.get(index).is_some_and(|block| block.passed) {
            return StepResult::Done;
        }
        let Some(barrier) = self.events.barrier(arrival.meeting) else { return StepResult::Done };
        let Some(arrived) = self.arrived.get_mut(arrival.meeting.0 as usize) else {
            return StepResult::Done;
        };
        arrived.push(ArrivedBlock { index, arrivals: arrival.arrivals });
        let all = arrived.len();
        let is_open = self.events.members(arrival.meeting).len() == all
            && arrived.iter().all(|one| one.arrivals as usize == all);
        if !is_open {
            return StepResult::Waits(Awaits::Barrier(barrier.barrier));
        }
        for other in std::mem::take(arrived) {
            if let Some(block) = self.blocks.get_mut(other.index) {
                block.passed = true;
            }
        }
        self.wake(barrier.rank, Awaits::Barrier(barrier.barrier));
        StepResult::Done
    }

    /// Whether no packet is missing of what a step reads.
    fn has_all_packets(&mut self, step: &Step) -> bool {
        let mut looked = 0;
        let is_there = step.moves.iter().all(|one| {
            let mut packets = step.reads(one).iter().filter(|extent| extent.form.is_packets());
            packets.all(|extent| {
                (0..one.elements).all(|element| {
                    looked += 1;
                    self.memory.packet(extent.rank, extent.start + element).is_some()
                })
            })
        });
        self.left = self.left.saturating_sub(looked);
        is_there
    }

    /// Processes the elements of a step in order, up to the first whose packets are missing; says whether it did all.
    fn do_moves(&mut self, index: usize, step: &Step) -> bool {
        let Some(block) = self.blocks.get(index) else { return true };
        let mut skipped = block.done;
        let mut done = block.done;
        let mut written = SmallVec::<[RankId; 2]>::new();
        let mut is_complete = true;
        for one in step.moves {
            let before = done;
            let first = skipped.min(one.elements);
            skipped -= first;
            for element in first..one.elements {
                self.left = self.left.saturating_sub(1);
                if !self.do_element(step, one, element) {
                    is_complete = false;
                    break;
                }
                done += 1;
            }
            // Waking blocks for nothing would keep two that wait for each other running.
            if done > before {
                let packets = step.writes(one).iter().filter(|extent| extent.form.is_packets());
                written.extend(packets.map(|extent| extent.rank));
            }
            if !is_complete {
                break;
            }
        }
        if let Some(block) = self.blocks.get_mut(index) {
            block.done = done;
        }
        written.dedup();
        written.into_iter().for_each(|rank| self.wake(rank, Awaits::Packets));
        is_complete
    }

    /// Reads, combines and writes an element; false if one of its packets is missing.
    fn do_element(&mut self, step: &Step, one: &Move, element: u64) -> bool {
        let reads = step.reads(one);
        let Some(combined) = self.combine_reads(one, reads, element) else { return false };
        let mut value = combined.value;
        if !combined.operands.is_empty() {
            value = value.with_tree(self.find_tree(one, reads, combined.operands));
        }
        for extent in step.writes(one) {
            let cell = extent.start + element;
            let new = Cell { value: value.clone(), writer: Some(step.origin) };
            match extent.form {
                CellForm::Plain => self.memory.write_home(extent.rank, extent.buffer, cell, new),
                CellForm::Packets | CellForm::RawPackets | CellForm::SeenPackets => {
                    self.memory.write_packet(extent.rank, cell, new);
                }
            }
        }
        true
    }

    /// What is made of the cells that an element reads; none if one of its packets is missing.
    fn combine_reads(
        &self,
        one: &Move,
        reads: &[MemoryExtent],
        element: u64,
    ) -> Option<CombinedReads> {
        let mut values: SmallVec<[&Value; 2]> = SmallVec::new();
        for extent in reads {
            let cell = extent.start + element;
            values.push(match extent.form {
                CellForm::Plain => self.memory.read_home(extent.rank, extent.buffer, cell),
                CellForm::Packets | CellForm::RawPackets | CellForm::SeenPackets => {
                    self.memory.packet(extent.rank, cell)?
                }
            });
        }
        let value = match values.as_slice() {
            [] => Value::default(),
            [one] => (*one).clone(),
            all => combine(one.reduce, all),
        };
        let mut operands = SmallVec::new();
        if values.len() > 1 && self.memory.trees().is_some() {
            operands.extend(values.iter().map(|value| value.tree()));
        }
        Some(CombinedReads { value, operands })
    }

    /// How a value was computed from values that were computed like this, in order.
    fn find_tree(
        &mut self,
        one: &Move,
        reads: &[MemoryExtent],
        operands: SmallVec<[TreeId; 2]>,
    ) -> TreeId {
        let Some(trees) = self.memory.trees_mut() else { return TreeId::default() };
        if reads.iter().any(|extent| extent.reach == MemoryReach::Group) {
            return trees.switched(one.reduce);
        }
        let nothing = trees.id(Tree::Nothing);
        let name = |id: TreeId| if id == TreeId::default() { nothing } else { id };
        trees.reduced(one.reduce, operands.into_iter().map(name).collect())
    }
}

/// What a block waits for that takes from a counter.
fn await_counter(counter: CounterOfRank) -> Awaits {
    match counter.kind {
        CounterKind::Channel(channel) => Awaits::Signal(channel),
        CounterKind::Semaphore(semaphore) => Awaits::Semaphore(semaphore),
    }
}
