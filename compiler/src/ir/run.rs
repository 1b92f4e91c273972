//! Reference interpreter: runs a program symbolically, in one fixed order.
//!
//! In: a program. Out: the final contents of every buffer, symbolically, or the places where blocks are stuck. A cell
//! of memory holds a multiset of contributions, which chunks of which ranks' inputs were combined in it, and the operators.
//!
//! - Blocks run in turn, each until it has to wait; a signal, release, packet or arrival wakes the blocks that wait for
//!   it.
//! - Every operation takes effect at once, and is visible to everyone at once, puts over port channels included; joins
//!   of threads do nothing. So races are not found here: a program with races leaves one of its possible outcomes.
//! - Packets are there once they are written, element by element; the operations that read them wait for each one.
//! - Chunks are cut into equal parts, so that slices of groups and windows of pipelines are whole cells ([`parts`]). A
//!   pipeline goes through at least two windows.
//! - Only one launch is run.

mod grain;
mod machine;
mod memory;
mod pace;
mod promise;
mod transfer;
mod tree;
mod value;

use super::{BarrierId, BlockId, ChannelId, Op, OriginId, Program, RankId, SemaphoreId};
pub use grain::{Grain, chunks_used_together, coarsest};
pub use machine::{ChunkSize, Windows, each_op, gcd, windows};
pub use memory::{Memory, Rewritten};
pub use pace::{Pace, pace};
pub use promise::{Broken, BrokenPromises, Times, broken_promises, keeps_promises, promised};
pub use tree::{Tree, TreeId, Trees};
pub use value::{Combined, Contribution, Value, same_bits};

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
    /// The operation's number in its block.
    pub operation: u32,
    /// In a pipeline: the operation's number in its body, and the turn.
    pub inner: Option<(u32, u32)>,
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

/// Runs a program, with as few parts per chunk as it needs. `limit` bounds the operations, elements and cells that are
/// processed.
#[must_use]
pub fn run(program: &Program, limit: u64) -> Outcome {
    run_in(program, parts(program), limit)
}

/// Runs a program with a given number of parts per chunk: for comparing two programs whose chunks differ. A number that
/// is not a multiple of [`parts`] makes slices and windows uneven.
#[must_use]
pub fn run_in(program: &Program, parts: u32, limit: u64) -> Outcome {
    run_at(program, Grain::parts(parts), limit)
}

/// Runs a program with memory modeled at the given grain.
#[must_use]
pub fn run_at(program: &Program, grain: Grain, limit: u64) -> Outcome {
    match Memory::new(program, grain, limit) {
        Some(memory) => machine::Machine::new(program, memory, limit).run(),
        None => Outcome::TooLong,
    }
}

/// The number of parts into which chunks must be cut for every slice and every window to be whole; at most
/// [`MOST_PARTS`].
#[must_use]
pub fn parts(program: &Program) -> u32 {
    parts_of(program, 1)
}

/// The same where `unit` chunks are treated as one.
fn parts_of(program: &Program, unit: u32) -> u32 {
    let mut parts = u64::from(windows(program).parts);
    for transfer in program.all_ops().filter_map(Op::transfer) {
        let count = transfer.slice.map_or(1, |slice| u64::from(slice.count.max(1)));
        for operand in transfer.destinations.iter().filter(|_| count > 1) {
            let share = count / gcd(count, u64::from(operand.size / unit).max(1));
            let common = parts / gcd(parts, share) * share;
            parts = if common <= u64::from(MOST_PARTS) { common } else { parts };
        }
    }
    parts as u32
}

/// The most parts that a chunk is cut into. If more would be needed, some slices are uneven.
pub const MOST_PARTS: u32 = 5040;

#[cfg(test)]
mod tests;
