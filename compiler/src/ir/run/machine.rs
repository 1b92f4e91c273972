//! The interpreter's scheduler: runs blocks, and wakes them when they can go on.

use super::memory::Memory;
use super::pace::pace;
use super::transfer::{self, Job};
use super::{Awaits, Grain, MOST_PARTS, Outcome, Stuck};
use crate::ir::{
    Action, BarrierId, BlockId, ChannelId, Op, Pipeline, Program, Rank, RankId, SemaphoreId,
    all_ops,
};
use crate::table::{Id, Table};
use std::collections::{BTreeMap, VecDeque};

/// A running program.
pub(super) struct Machine<'a> {
    program: &'a Program,
    memory: Memory,
    ranks: Table<RankId, Counters>,
    blocks: Vec<Running<'a>>,
    /// Blocks that can go on, in order.
    ready: VecDeque<usize>,
    /// Blocks that wait, by what they wait for.
    waiting: BTreeMap<(RankId, Awaits), Vec<usize>>,
    windows: Windows,
    left: u64,
}

/// What the blocks of a rank wait for.
#[derive(Default)]
struct Counters {
    signals: Table<ChannelId, u64>,
    semaphores: Table<SemaphoreId, i64>,
    /// The blocks at a barrier, with the number of arrivals that each of them expects.
    arrived: Table<BarrierId, Vec<(usize, u32)>>,
}

/// A block and how far it has come.
struct Running<'a> {
    rank: RankId,
    block: BlockId,
    ops: &'a [Op],
    at: usize,
    /// In a pipeline: the operation of its body, and the turn.
    inside: (usize, u64),
    /// Which elements of the current operation are done.
    done: Vec<bool>,
    /// Whether the barrier that it is at has opened.
    passed: bool,
}

/// The result of trying an operation.
enum Step {
    Done,
    Waits(Awaits),
}

impl<'a> Machine<'a> {
    /// A program at its start.
    pub(super) fn new(program: &'a Program, memory: Memory, limit: u64) -> Machine<'a> {
        let blocks: Vec<Running> =
            program.ranks.entries().flat_map(|(id, rank)| blocks(id, rank)).collect();
        let windows = windows(program).at(memory.grain());
        Machine {
            program,
            memory,
            ranks: program.ranks.iter().map(counters).collect(),
            ready: (0..blocks.len()).collect(),
            blocks,
            waiting: BTreeMap::new(),
            windows,
            left: limit,
        }
    }

    /// Runs until no block can go on.
    pub(super) fn run(mut self) -> Outcome {
        while let Some(index) = self.ready.pop_front() {
            if !self.advance(index) {
                return Outcome::TooLong;
            }
        }
        let stuck: Vec<Stuck> =
            self.waiting.iter().flat_map(|(key, list)| self.stuck(key.1, list)).collect();
        if stuck.is_empty() { Outcome::Finished(self.memory) } else { Outcome::Stuck(stuck) }
    }

    fn stuck(&self, awaits: Awaits, list: &[usize]) -> Vec<Stuck> {
        let blocks = list.iter().filter_map(|index| self.blocks.get(*index));
        let place = |b: &Running| {
            let (op, pipeline) = b.current()?;
            let (body, turn) = b.inside;
            Some(Stuck {
                rank: b.rank,
                block: b.block,
                origin: op.origin,
                operation: b.at as u32,
                inner: pipeline.map(|_| (body as u32, turn as u32)),
                awaits,
            })
        };
        blocks.filter_map(place).collect()
    }

    /// Runs a block until it waits or ends; false if the limit is reached.
    fn advance(&mut self, index: usize) -> bool {
        while let Some((op, pipeline)) = self.blocks.get(index).and_then(Running::current) {
            if self.left == 0 {
                return false;
            }
            self.left -= 1;
            match self.step(index, op, pipeline) {
                Step::Done => self.pass(index, op, pipeline),
                Step::Waits(awaits) => {
                    let rank = self.blocks.get(index).map(|block| block.rank).unwrap_or_default();
                    self.waiting.entry((rank, awaits)).or_default().push(index);
                    return true;
                }
            }
        }
        true
    }

    fn pass(&mut self, index: usize, op: &Op, pipeline: Option<&Pipeline>) {
        let turns = match (pipeline, &op.action) {
            (Some(pipeline), _) | (None, Action::Pipeline(pipeline)) => {
                self.windows.turns(pipeline)
            }
            (None, _) => 0,
        };
        if let Some(block) = self.blocks.get_mut(index) {
            block.done.clear();
            block.passed = false;
            block.next(pipeline, turns);
        }
    }

    fn step(&mut self, index: usize, op: &'a Op, pipeline: Option<&'a Pipeline>) -> Step {
        let Some(block) = self.blocks.get(index) else { return Step::Done };
        let rank = block.rank;
        match &op.action {
            Action::Sync | Action::Flush(_) | Action::Pipeline(_) => Step::Done,
            Action::Barrier { id, arrivals } => self.arrive(index, rank, *id, *arrivals),
            Action::Signal(signal) => {
                signal.channels.iter().for_each(|channel| self.signal(rank, *channel));
                Step::Done
            }
            Action::Wait(signal) => self.wait(rank, &signal.channels),
            Action::Acquire(semaphores) => self.acquire(rank, semaphores),
            Action::Release(semaphores) => {
                semaphores.iter().for_each(|semaphore| self.release(rank, *semaphore));
                Step::Done
            }
            Action::Transfer(_) => self.transfer(index, op, pipeline),
        }
    }

    fn signal(&mut self, rank: RankId, channel: ChannelId) {
        let Some(end) =
            self.program.ranks.lookup(rank).and_then(|rank| rank.channels.lookup(channel))
        else {
            return;
        };
        let (Some(peer), Some(partner)) = (end.peer(), end.partner) else { return };
        if let Some(count) = row(&mut self.ranks, peer).and_then(|c| row(&mut c.signals, partner)) {
            *count += 1;
        }
        self.wake(peer, Awaits::Signal(partner));
    }

    fn wait(&mut self, rank: RankId, channels: &[ChannelId]) -> Step {
        let Some(counters) = row(&mut self.ranks, rank) else { return Step::Done };
        let missing =
            channels.iter().find(|channel| counters.signals.lookup(**channel) == Some(&0));
        if let Some(missing) = missing {
            return Step::Waits(Awaits::Signal(*missing));
        }
        for channel in channels {
            if let Some(count) = row(&mut counters.signals, *channel) {
                *count = count.saturating_sub(1);
            }
        }
        Step::Done
    }

    fn release(&mut self, rank: RankId, semaphore: SemaphoreId) {
        let counters = row(&mut self.ranks, rank);
        if let Some(value) = counters.and_then(|c| row(&mut c.semaphores, semaphore)) {
            *value = value.saturating_add(1);
        }
        self.wake(rank, Awaits::Semaphore(semaphore));
    }

    fn acquire(&mut self, rank: RankId, semaphores: &[SemaphoreId]) -> Step {
        let Some(counters) = row(&mut self.ranks, rank) else { return Step::Done };
        let empty = |semaphore: &&SemaphoreId| {
            counters.semaphores.lookup(**semaphore).is_some_and(|value| *value <= 0)
        };
        if let Some(empty) = semaphores.iter().find(empty) {
            return Step::Waits(Awaits::Semaphore(*empty));
        }
        for semaphore in semaphores {
            if let Some(value) = row(&mut counters.semaphores, *semaphore) {
                *value -= 1;
            }
        }
        Step::Done
    }

    fn arrive(&mut self, index: usize, rank: RankId, id: BarrierId, arrivals: u32) -> Step {
        if self.blocks.get(index).is_some_and(|block| block.passed) {
            return Step::Done;
        }
        let counters = row(&mut self.ranks, rank);
        let Some(arrived) = counters.and_then(|c| row(&mut c.arrived, id)) else {
            return Step::Done;
        };
        arrived.push((index, arrivals));
        // It opens when all blocks that ever come to it have arrived, and each expects that many.
        let members = self.program.ranks.lookup(rank).and_then(|rank| rank.barriers.lookup(id));
        let all = arrived.len();
        if members.is_some_and(|members| members.len() != all)
            || arrived.iter().any(|(_, arrivals)| *arrivals as usize != all)
        {
            return Step::Waits(Awaits::Barrier(id));
        }
        for (other, _) in std::mem::take(arrived) {
            if let Some(block) = self.blocks.get_mut(other) {
                block.passed = true;
            }
        }
        self.wake(rank, Awaits::Barrier(id));
        Step::Done
    }

    fn transfer(&mut self, index: usize, op: &'a Op, pipeline: Option<&'a Pipeline>) -> Step {
        let (Action::Transfer(transfer), Some(block)) = (&op.action, self.blocks.get_mut(index))
        else {
            return Step::Done;
        };
        let window = pipeline
            .map(|pipeline| self.windows.window(pipeline, block.inside.1, self.memory.parts()));
        let job =
            Job { program: self.program, here: block.rank, transfer, origin: op.origin, window };
        let progress = transfer::step(&mut self.memory, &job, &mut block.done);
        self.left = self.left.saturating_sub(progress.looked);
        self.after(block_rank(&self.blocks, index), transfer, progress)
    }

    fn after(
        &mut self,
        rank: RankId,
        transfer: &crate::ir::Transfer,
        progress: transfer::Progress,
    ) -> Step {
        progress.packets.iter().for_each(|written| self.wake(*written, Awaits::Packets));
        if !progress.finished {
            return Step::Waits(Awaits::Packets);
        }
        if transfer.verb.signals() {
            transfer.channels.iter().for_each(|channel| self.signal(rank, *channel));
        }
        Step::Done
    }

    fn wake(&mut self, rank: RankId, awaits: Awaits) {
        self.ready.extend(self.waiting.remove(&(rank, awaits)).into_iter().flatten());
    }
}

fn row<I: Id, T>(table: &mut Table<I, T>, id: I) -> Option<&mut T> {
    table.iter_mut().nth(id.index())
}

fn block_rank(blocks: &[Running], index: usize) -> RankId {
    blocks.get(index).map(|block| block.rank).unwrap_or_default()
}

fn counters(rank: &Rank) -> Counters {
    Counters {
        signals: rank.channels.iter().map(|_| 0).collect(),
        semaphores: rank.semaphores.iter().map(|semaphore| semaphore.initial).collect(),
        arrived: rank.barriers.iter().map(|_| Vec::new()).collect(),
    }
}

fn blocks(id: RankId, rank: &Rank) -> impl Iterator<Item = Running<'_>> {
    rank.blocks.entries().map(move |(block, row)| Running {
        rank: id,
        block,
        ops: &row.ops,
        at: 0,
        inside: (0, 0),
        done: Vec::new(),
        passed: false,
    })
}

impl<'a> Running<'a> {
    /// The next operation, and the pipeline that contains it. A pipeline without a body is returned itself.
    fn current(&self) -> Option<(&'a Op, Option<&'a Pipeline>)> {
        let op = self.ops.get(self.at)?;
        match &op.action {
            Action::Pipeline(pipeline) => match pipeline.body.get(self.inside.0) {
                Some(inner) => Some((inner, Some(pipeline))),
                None => Some((op, None)),
            },
            Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_)
            | Action::Transfer(_) => Some((op, None)),
        }
    }

    fn next(&mut self, pipeline: Option<&Pipeline>, turns: u64) {
        let Some(pipeline) = pipeline else {
            self.at += 1;
            return;
        };
        self.inside.0 += 1;
        if self.inside.0 >= pipeline.body.len() {
            self.inside = (0, self.inside.1 + 1);
        }
        if self.inside.1 >= turns {
            self.inside = (0, 0);
            self.at += 1;
        }
    }
}

/// A size of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSize {
    /// The size, in `scale`-ths of a byte.
    pub size: u64,
    /// How many of these make a byte; not zero.
    pub scale: u64,
}

/// The size that a chunk is assumed to have, chosen so that every pipeline's windows are whole parts of it.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// How many chunks are treated as one: what is said of a chunk below is said of so many together.
    unit: u32,
    /// The size of a chunk, in `scale`-ths of a byte.
    chunk: u64,
    /// How many of these make a byte.
    scale: u64,
    /// Parts per chunk that make every window whole.
    pub(super) parts: u32,
}

impl Windows {
    /// The windows at a grain: where several chunks are treated as one, they get the size of one.
    #[must_use]
    pub fn at(self, grain: Grain) -> Windows {
        Windows { unit: grain.chunks_of_unit().max(1), ..self }
    }

    /// Whether every pipeline processes everything in one window, because there is no size for which all windows are
    /// whole.
    #[must_use]
    pub fn are_left_out(&self) -> bool {
        self.chunk == 0
    }

    /// The size of a chunk.
    #[must_use]
    pub fn chunk_size(&self) -> ChunkSize {
        ChunkSize { size: self.chunk, scale: self.scale }
    }

    /// The size in bytes of so many chunks; none if pipelines process everything in one window.
    #[must_use]
    pub fn bytes(&self, chunks: u32) -> Option<u64> {
        let size = self.chunk.saturating_mul(chunks.into());
        (!self.are_left_out()).then(|| size.div_ceil(self.scale))
    }

    /// The number of windows that a pipeline goes through.
    #[must_use]
    pub fn turns(&self, pipeline: &Pipeline) -> u64 {
        let window = if self.are_left_out() { u64::MAX } else { self.size(pipeline) };
        let chunks = u64::from(pipeline.chunks / self.unit);
        chunks.saturating_mul(self.chunk).div_ceil(window).max(1)
    }

    /// The size of a window, in `scale`-ths of a byte.
    fn size(&self, pipeline: &Pipeline) -> u64 {
        pipeline.unit.max(1).saturating_mul(self.scale)
    }

    /// The cells of an operand, counted from its beginning, that a turn covers; chunks are cut into `parts`.
    #[must_use]
    pub fn window(&self, pipeline: &Pipeline, turn: u64, parts: u32) -> std::ops::Range<u64> {
        if self.are_left_out() {
            return 0..u64::MAX / 2;
        }
        let cells =
            |size: u64| (u128::from(size) * u128::from(parts) / u128::from(self.chunk)) as u64;
        let size = self.size(pipeline);
        cells(turn.saturating_mul(size))..cells(turn.saturating_add(1).saturating_mul(size))
    }
}

/// The size of a chunk that is a multiple of every unit, at least two of each; more if pipelines wait for later windows
/// of others ([`super::Pace::behind`]), and as many times more as the most blocks that share a chunk: then each slice has
/// windows that are not the last ones. It is no larger than in the largest message that the plan serves, if that has two
/// windows. If an operation covers other chunks than its pipeline does, the size is larger by half
/// the greatest common divisor of the units: then the operation's last window does not end where the pipeline does. If
/// there is no such size, every pipeline processes everything in one window. A program may also say the size itself.
#[must_use]
pub fn windows(program: &Program) -> Windows {
    let (mut least, mut common, mut scale) = (0, 1_u64, 1);
    for pipeline in program.blocks().flat_map(|block| &block.ops).filter_map(Op::pipeline) {
        let unit = pipeline.unit.max(1);
        least = gcd(least, unit);
        common = (common / gcd(common, unit)).saturating_mul(unit);
        if pipeline.body.iter().any(|op| covers_other(op, pipeline.chunks)) {
            scale = 2;
        }
    }
    let none = Windows { unit: 1, chunk: 0, scale, parts: 1 };
    if least == 0 {
        return none;
    }
    if let Some(ChunkSize { size, scale }) = program.chunk_size {
        let part = gcd(size, least.saturating_mul(scale)).max(1);
        let parts = u32::try_from(size / part).unwrap_or(u32::MAX);
        return Windows { unit: 1, chunk: size, scale, parts };
    }
    let rest = if scale > 1 { least } else { 0 };
    let turns = match pace(program).behind {
        0 => 2,
        behind => behind.saturating_add(2).saturating_mul(most_slices(program)),
    };
    let turns = turns.min(most_bytes(program).div_ceil(common)).max(2);
    let chunk = common.saturating_mul(turns.saturating_mul(scale)).saturating_add(rest);
    match u32::try_from(chunk / least) {
        Ok(parts) if parts <= MOST_PARTS => Windows { unit: 1, chunk, scale, parts },
        Ok(_) | Err(_) => none,
    }
}

/// The most bytes that a chunk has in a message that the plan serves.
fn most_bytes(program: &Program) -> u64 {
    let options = &program.options;
    let copies = if program.instances_done == 1 { options.instances.max(1) } else { 1 };
    let chunks = u64::from(program.message_chunks()) * u64::from(copies);
    options.max_message_size.map_or(u64::MAX, |most| most / chunks.max(1))
}

/// Over how many blocks an operation is distributed at most.
fn most_slices(program: &Program) -> u64 {
    let slices = program.all_ops().filter_map(Op::transfer).filter_map(|transfer| transfer.slice);
    slices.map(|slice| u64::from(slice.count)).max().unwrap_or(1).max(1)
}

/// Whether an operation in a pipeline covers other chunks than the pipeline does.
fn covers_other(op: &Op, chunks: u32) -> bool {
    op.transfer().is_some_and(|transfer| transfer.operands().any(|o| o.size != chunks))
}

/// The greatest number that divides both.
#[must_use]
pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Calls `visit` for every operation, those in pipelines too.
pub fn each_op(ops: &[Op], visit: &mut dyn FnMut(&Op)) {
    all_ops(ops).for_each(visit);
}
