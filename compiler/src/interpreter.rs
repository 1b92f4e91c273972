//! The reference interpreter: what a program leaves in memory, symbolically, in one fixed schedule.
//!
//! In: a program. Out: the final contents of every buffer, or the places where blocks are blocked. A cell of memory holds a
//! multiset of contributions, which chunks of which ranks' inputs were combined in it, and the operators.
//!
//! - Blocks run in turn, each until it has to wait; what is given, and packets that are written, wake the blocks that wait
//!   for that.
//! - Every step ([`crate::events`]) takes effect at once and is visible to everyone at once, that of a proxy, too; threads
//!   are not told apart. So races are not found here: a program with races leaves one of its possible outcomes.
//! - Packets are there once they are written, element by element. Steps wait for each packet that they read, elements in
//!   order, and for all of them before a proxy is asked to move them.
//! - Chunks are cut into equal parts, so that slices of groups and windows of pipelines are whole cells
//!   ([`crate::ir::grain::count_parts`]). A pipeline goes through at least two windows.
//! - Only one launch is run.

mod machine;
mod memory;
mod promise;
mod tree;
mod value;

use crate::events::{Events, Site, SizeClass};
use crate::ir::counter::CounterKind;
use crate::ir::grain::{Grain, count_parts};
use crate::ir::windows::choose_windows;
use crate::ir::{BarrierId, BlockId, ChannelId, OriginId, Program, RankId, SemaphoreId};
pub use memory::{Memory, Rewritten};
pub use promise::{Broken, BrokenPromises, Times, broken_promises, keeps_promises};
pub use tree::{Tree, TreeId, Trees};
pub use value::{Combined, Value, same_bits};

/// How a run ends.
#[derive(Debug)]
pub enum Outcome {
    /// All blocks reached their end.
    Finished(Memory),
    /// Some blocks can never go on.
    Stuck(Vec<Stuck>),
    /// The program needs more steps than were allowed.
    TooLong,
}

/// A block that waits forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Its rank.
    pub rank: RankId,
    /// The block.
    pub block: BlockId,
    /// The operation that it does not get past.
    pub origin: OriginId,
    /// The step that it does not get past.
    pub site: Site,
    /// What it waits for.
    pub awaits: Awaits,
}

/// What a block can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Awaits {
    /// A signal on this channel.
    Signal(ChannelId),
    /// A release of this semaphore.
    Semaphore(SemaphoreId),
    /// Other blocks.
    Barrier(BarrierId),
    /// Packets in its rank's scratch.
    Packets,
}

impl Awaits {
    /// The counter of the block's rank that is waited on, if it is one.
    #[must_use]
    pub fn counter(self) -> Option<CounterKind> {
        match self {
            Awaits::Signal(channel) => Some(CounterKind::Channel(channel)),
            Awaits::Semaphore(semaphore) => Some(CounterKind::Semaphore(semaphore)),
            Awaits::Barrier(_) | Awaits::Packets => None,
        }
    }
}

/// Runs a program, with as few parts per chunk as it needs. `limit` bounds the steps, elements and cells that are processed.
#[must_use]
pub fn run(program: &Program, limit: u64) -> Outcome {
    run_in(program, count_parts(program), limit)
}

/// Runs a program with a given number of parts per chunk: for comparing two programs whose chunks differ. A number that
/// is not a multiple of [`count_parts`] makes slices and windows uneven.
#[must_use]
pub fn run_in(program: &Program, parts: u32, limit: u64) -> Outcome {
    run_at(program, Grain::parts(parts), limit)
}

/// Runs a program with memory modeled at the given grain.
#[must_use]
pub fn run_at(program: &Program, grain: Grain, limit: u64) -> Outcome {
    let Some(memory) = Memory::new(program, grain, limit) else { return Outcome::TooLong };
    let windows = choose_windows(program).at(grain);
    let events = Events::new(program, SizeClass::Symbolic { grain, windows });
    machine::Machine::new(&events, memory, limit).run()
}

#[cfg(test)]
mod tests;
