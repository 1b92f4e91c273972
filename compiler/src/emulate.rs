//! Running a program on the CPU, on real numbers, in random schedules.
//!
//! In: a program whose joins are explicit, with its instances made, the sizes of the messages and their type. Out: for
//! every schedule that is tried, whether each rank ended with what the collective promises, or the first place where one
//! did not.
//!
//! - The agents are: the threads of every block, a few, among which bytes are divided as on a GPU; the proxy of each
//!   port channel; and the user of each rank's stream, who checks the output, spoils it, writes new input and launches
//!   again, and waits for nobody but the blocks of that rank.
//! - An agent does one piece of one operation at a time; the schedule decides which agent is next.
//! - In some schedules a block's stores come late: the block itself sees them at once, other blocks, ranks and proxies at
//!   the latest when the block signals (not relaxed), releases, meets other blocks or makes a request to a proxy, or when
//!   the launch of its rank ends. This is so whosever memory it stores to, since a peer may read the block's own.
//! - Packets are modeled as packets: words of data, each next to the number of the launch. Everything else is bytes.
//! - Chunks are equal, and multiples of 16 bytes. Scratch has as many as the program declares, of the largest size.
//!
//! A mistake that is found is real; that none is found in some schedules proves nothing. Proofs are up to the checks.

mod code;
mod data;
mod element;
mod half;
mod machine;
mod memory;
mod message;
mod proxy;
mod report;
mod schedule;
mod sizes;
mod thread;
mod user;

use crate::diagnostic::Diagnostic;
use crate::interrupt::Interrupt;
use crate::ir::{Action, BlockId, Buffer, ChannelId, OriginId, Program, RankId, ReduceOp};
use crate::ir::{BarrierId, Op, SemaphoreId};
pub use element::Element;
pub use message::{choose_chunk_bytes, round_chunk_bytes};
use report::Reports;
use sizes::Sizes;
use std::sync::Arc;

/// How a program is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes in a chunk: every launch has one of these sizes, which are multiples of 16.
    pub chunk_bytes: Arc<[u64]>,
    /// The type of the numbers.
    pub element: Element,
    /// How many launches follow each other.
    pub launches: u32,
    /// The most bytes of memory that may be used.
    pub max_bytes: u64,
    /// How many entries of a list of channels or semaphores an operation handles. The executor gives each a thread of
    /// its own, so those beyond a block's threads are not handled; kernels handle them all.
    pub entries: usize,
    /// Whether floats have sums that depend on the order in which they are added. A sum may then be off by what rounding
    /// can do; otherwise it is exact.
    pub inexact: bool,
}

/// Why a program cannot be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooLarge {
    /// It needs this many bytes.
    Memory(u64),
    /// It has more steps than [`MOST_STEPS`].
    Steps,
}

/// The most operations of all blocks, with pipelines' bodies counted as often as they are run.
pub const MOST_STEPS: u64 = 16_000_000;

/// How a schedule ends.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Every rank ended every launch with what is promised.
    Right,
    /// A rank did not.
    Wrong(Box<Wrong>),
    /// A rank ended its launch before another one had begun which the collective says has.
    Early {
        /// The rank that ended.
        ended: RankId,
        /// The rank that had not begun.
        begins: RankId,
        /// The launch, from 0.
        launch: u32,
    },
    /// Some blocks can never continue.
    Stuck(Vec<Stuck>),
    /// An operation leaves its buffer.
    Outside(Writer, Buffer, RankId),
    /// The time is up.
    Interrupted,
}

/// The first wrong element of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The rank whose output it is.
    pub rank: RankId,
    /// The launch after which it was found, from 0.
    pub launch: u32,
    /// The chunk, as the program counts chunks before instances are made.
    pub chunk: u32,
    /// The element of the output.
    pub element: u64,
    /// What it holds.
    pub found: String,
    /// What it should hold.
    pub expected: String,
    /// The rank that ended with the expected value before, if what is promised is only that the two have the same bits.
    pub like: Option<RankId>,
    /// Who wrote it in that launch, in the order of the schedule.
    pub writers: Vec<Writer>,
}

/// The block and the operation that access memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writer {
    /// The rank of the block.
    pub rank: RankId,
    /// The block.
    pub block: BlockId,
    /// The operation.
    pub origin: OriginId,
}

/// A block that waits forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The block and its operation.
    pub at: Writer,
    /// The launch of its rank, from 0.
    pub launch: u32,
    /// What it waits for.
    pub awaits: Awaits,
}

/// What a block can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// A signal on this channel.
    Signal(ChannelId),
    /// A release of this semaphore.
    Semaphore(SemaphoreId),
    /// The other blocks of this barrier.
    Barrier(BarrierId),
    /// Packets in its rank's scratch.
    Packets,
    /// The proxy of this channel.
    Proxy(ChannelId),
}

/// A program that is ready to be run, schedule after schedule.
pub struct Trial<'p> {
    program: &'p Program,
    /// What blocks do, for each size.
    codes: Vec<code::SizeCode<'p>>,
    data: data::Data,
    settings: Settings,
}

impl<'p> Trial<'p> {
    /// Prepares a program.
    ///
    /// # Errors
    /// If it needs more than it may have.
    pub fn new(program: &'p Program, settings: Settings) -> Result<Trial<'p>, TooLarge> {
        let bytes = memory::bytes(program, sizes::largest(&settings.chunk_bytes))
            .saturating_add(data::bytes(program, &settings));
        if bytes > settings.max_bytes {
            return Err(TooLarge::Memory(bytes));
        }
        let codes = code::prepare_sizes(program, &settings.chunk_bytes).ok_or(TooLarge::Steps)?;
        Ok(Trial { program, codes, data: data::Data::new(program, &settings), settings })
    }

    /// Runs one schedule; the same seed gives the same one.
    pub fn run(&mut self, seed: u64, interrupt: &Interrupt) -> Outcome {
        let outcome = self.go(seed, None, interrupt);
        let Outcome::Wrong(wrong) = &outcome else { return outcome };
        // Once more, to find out who writes the wrong element.
        let width = self.settings.element.bytes();
        let watch = memory::Watch::new(wrong.rank, wrong.launch, wrong.element * width, width);
        let traced = self.go(seed, Some(watch), interrupt);
        if matches!(traced, Outcome::Interrupted) { outcome } else { traced }
    }

    /// The report about a schedule that went wrong; none if it did not.
    #[must_use]
    pub fn report(&self, seed: u64, outcome: &Outcome) -> Option<Diagnostic> {
        Reports { program: self.program, sizes: self.sizes(seed) }.of(outcome)
    }

    fn sizes(&self, seed: u64) -> Sizes {
        Sizes::new(&self.settings.chunk_bytes, seed)
    }

    fn go(&mut self, seed: u64, watch: Option<memory::Watch>, interrupt: &Interrupt) -> Outcome {
        self.data.begin();
        machine::Machine::new(self, seed, watch).run(interrupt)
    }
}

/// The program with another reduction in place of its collective's.
#[must_use]
pub fn with_reduction(mut program: Program, op: ReduceOp) -> Program {
    let own = std::mem::replace(&mut program.collective.op, op);
    for block in program.blocks_mut() {
        block.ops.iter_mut().for_each(|one| replace(one, own, op));
    }
    program
}

fn replace(one: &mut Op, own: ReduceOp, op: ReduceOp) {
    match &mut one.action {
        Action::Transfer(transfer) if transfer.reduce == own => transfer.reduce = op,
        Action::Pipeline(pipeline) => pipeline.body.iter_mut().for_each(|o| replace(o, own, op)),
        Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Transfer(_) => {}
    }
}

#[cfg(test)]
mod tests;
