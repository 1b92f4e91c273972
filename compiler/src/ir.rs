//! The concrete program: every rank, its thread blocks and their operations; plain data.
//!
//! It is the narrow waist of the compiler. `elaborate` makes it from source, and `plan::read` from a plan, whoever made
//! that; checks, passes and back ends all work on it. Operations have the verbs of the language; which operation of a
//! plan one becomes follows from its shape (`plan::write`).
//!
//! Lengths and offsets are in chunks of the collective; a chunk's size in bytes is known only at launch.

#[cfg(test)]
pub(crate) mod build;
pub mod contribution;
pub mod counter;
pub mod grain;
pub mod memory;
pub mod pace;
pub mod parts;
pub mod print;
pub mod region;
pub mod scratch;
pub mod sharing;
pub mod threads;
pub mod traffic;
pub(crate) mod weave;
pub mod windows;

mod channel;
mod op;
mod options;
mod origin;

use crate::machine::Machine;
use crate::source::Place;
use crate::table::{Table, id};
pub use channel::{Channel, Link, SwitchGroup, Unmet, unmet};
pub use grammar::verb::{ChannelKind, ChannelNeed, OperandForm, OperandSide, Pairing, Verb};
pub use op::{
    Action, List, Op, Operand, Pipeline, Signal, Slice, SyncOverride, Transfer, Where, all_ops,
    count_ops,
};
pub use options::{
    MOST_OPS, MOST_SLICES, MOST_THREADS, MOST_WINDOWS, Options, Protocol, Replication,
};
pub use origin::{Accepted, Binding, BindingId, Origin, OriginId, Origins, Recorded};
pub use region::Region;
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::sync::Arc;

id! {
    /// A row of [`Program::ranks`]; equal to the rank's number.
    RankId
}
id! {
    /// A row of [`Rank::blocks`]; equal to the plan's thread-block id.
    BlockId
}
id! {
    /// A row of [`Rank::channels`], which holds all kinds; a plan counts each kind separately.
    ChannelId
}
id! {
    /// A row of [`Rank::semaphores`]; equal to the plan's semaphore id.
    SemaphoreId
}
id! {
    /// A row of [`Rank::barriers`]; equal to the plan's barrier id.
    BarrierId
}

/// A program for a concrete number of ranks.
#[derive(Clone, Debug)]
pub struct Program {
    /// The collective it implements.
    pub collective: Collective,
    /// Its options, with all defaults filled in.
    pub options: Options,
    /// Its ranks.
    pub ranks: Table<RankId, Rank>,
    /// How many ranks share a node.
    pub ranks_per_node: u32,
    /// How many ranks reach each other's memory: those of a node, unless the program says otherwise.
    pub ranks_per_domain: u32,
    /// The machine that it is for, if that is known.
    pub machine: Option<Arc<Machine>>,
    /// Where every operation and declaration comes from.
    pub origins: Origins,
    /// Whether the threads of a block meet between any two operations without an explicit `sync`.
    pub joins: Joins,
    /// Whether a `flush` waits for the proxies of its channels. MSCCL++'s executor goes on at once, so that a plan that was
    /// read cannot rely on it.
    pub flush_waits: bool,
    /// How many copies of the program's operations `ranks` holds already: 1 until the replication pass ran.
    pub instances_done: u32,
    /// The size of chunks for which the program is checked, if it is not for [`windows::choose_windows`] to choose.
    pub chunk_size: Option<windows::ChunkSize>,
}

impl Program {
    /// The thread blocks of all ranks.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.ranks.iter().flat_map(|rank| &rank.blocks)
    }

    /// The same, to be changed.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        self.ranks.iter_mut().flat_map(|rank| rank.blocks.iter_mut())
    }

    /// Every operation of all ranks, those in pipelines too.
    pub fn all_ops(&self) -> impl Iterator<Item = &Op> {
        self.ranks.iter().flat_map(Rank::all_ops)
    }

    /// Whether the threads of a block meet between two operations. `sync` and `barrier` are meetings themselves.
    #[must_use]
    pub fn meets_between(&self, before: &Op, after: &Op) -> bool {
        use SyncOverride::{After, Before, Both, None};
        let asked =
            matches!(before.sync, Some(After | Both)) || matches!(after.sync, Some(Before | Both));
        let refused =
            matches!(before.sync, Some(Before | None)) || matches!(after.sync, Some(After | None));
        match self.joins {
            Joins::Explicit => false,
            Joins::Implied => asked || self.options.auto_sync && !refused,
        }
    }

    /// How many chunks the buffers of all ranks have.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        self.ranks.iter().map(Rank::all_chunks).sum()
    }

    /// How many chunks a message has, which is what the sizes in options and launches refer to: the fewest that any
    /// rank with chunks has; at least one.
    #[must_use]
    pub fn message_chunks(&self) -> u32 {
        let message = self.collective.message();
        let chunks = self.ranks.iter().map(|rank| rank.chunks(message));
        chunks.filter(|chunks| *chunks > 0).min().unwrap_or(1)
    }

    /// The most chunks that any rank has of what [`Program::message_chunks`] counts; at least one.
    #[must_use]
    pub fn most_message_chunks(&self) -> u32 {
        let message = self.collective.message();
        self.ranks.iter().map(|rank| rank.chunks(message)).max().unwrap_or(1).max(1)
    }
}

/// When the threads of a block meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joins {
    /// Between every two operations, except where an author's `sync = ..` says otherwise: a program from source.
    Implied,
    /// Only at [`Action::Sync`], [`Action::Barrier`] and the ends of a launch: a program after the synchronization
    /// pass, and every plan.
    Explicit,
}

/// What the program implements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collective {
    /// The name that the plan carries.
    pub name: String,
    /// Its arguments, as they would be written; none where they are not known.
    pub arguments: Vec<(String, String)>,
    /// Whether input and output share memory.
    pub in_place: bool,
    /// What `reduce` means.
    pub op: ReduceOp,
    /// Where the program names it.
    pub place: Option<Place>,
}

impl Collective {
    /// The buffer whose size is the message size: the output of an AllGather, the input of others.
    #[must_use]
    pub fn message(&self) -> Buffer {
        if self.name == "allgather" { Buffer::Output } else { Buffer::Input }
    }
}

/// An associative, commutative reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ReduceOp {
    /// Addition.
    #[default]
    Sum,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
}

impl ReduceOp {
    /// Its name in the language.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Min => "min",
            ReduceOp::Max => "max",
        }
    }

    /// How often a contribution is in the reduction of two values that hold it so many times: a sum counts both, while a
    /// minimum or maximum of a value and itself is that value.
    #[must_use]
    pub fn add_counts(self, one: u32, other: u32) -> u32 {
        match self {
            ReduceOp::Sum => one.saturating_add(other),
            ReduceOp::Min | ReduceOp::Max => one.max(other),
        }
    }
}

/// One rank: its memory, its channels, its thread blocks.
#[derive(Clone, Debug, Default)]
pub struct Rank {
    /// Chunks of the input buffer.
    pub input_chunks: u32,
    /// Chunks of the output buffer.
    pub output_chunks: u32,
    /// Chunks of scratch.
    pub scratch_chunks: u32,
    /// How input and output share memory, in place.
    pub alias: Option<Alias>,
    /// The named parts of scratch, in order; empty for a plan.
    pub regions: Vec<Region>,
    /// Ends of channels. A plan's id is the position among those of the same kind.
    pub channels: Table<ChannelId, Channel>,
    /// Semaphores between blocks of this rank.
    pub semaphores: Table<SemaphoreId, Semaphore>,
    /// Barriers: the blocks that meet, ascending.
    pub barriers: Table<BarrierId, Vec<BlockId>>,
    /// Thread blocks.
    pub blocks: Table<BlockId, Block>,
    /// What the collective promises of this rank's output, ascending by chunk; none for a chunk that may hold
    /// anything. Shared by the ranks that have the same.
    pub promises: Arc<[Promise]>,
    /// The ranks of which the collective promises that they have begun before this one ends, ascending. Shared like
    /// `promises`.
    pub begun: Arc<[RankId]>,
    /// The output chunks that have the same bits on all ranks for which that is promised of them, ascending. Shared like
    /// `promises`.
    pub same: Arc<[u32]>,
}

impl Rank {
    /// Whether the collective promises anything for this rank.
    #[must_use]
    pub fn promises_anything(&self) -> bool {
        !self.promises.is_empty() || !self.begun.is_empty() || !self.same.is_empty()
    }

    /// Whether the author accepts that several blocks take from one counter of this rank.
    #[must_use]
    pub fn may_share(&self) -> bool {
        self.channels.iter().any(|channel| channel.shared)
            || self.semaphores.iter().any(|semaphore| semaphore.shared)
    }

    /// How many chunks a buffer has.
    #[must_use]
    pub fn chunks(&self, buffer: Buffer) -> u32 {
        match buffer {
            Buffer::Input => self.input_chunks,
            Buffer::Output => self.output_chunks,
            Buffer::Scratch => self.scratch_chunks,
        }
    }

    /// How many chunks all buffers have.
    #[must_use]
    pub fn all_chunks(&self) -> u64 {
        [self.input_chunks, self.output_chunks, self.scratch_chunks].map(u64::from).iter().sum()
    }

    /// The switch channels that its operations use.
    #[must_use]
    pub fn used_switches(&self) -> BTreeSet<ChannelId> {
        let operands = self.all_ops().filter_map(Op::transfer).flat_map(Transfer::operands);
        operands.filter_map(|operand| operand.place.switch()).collect()
    }

    /// Every operation, those in pipelines too.
    pub fn all_ops(&self) -> impl Iterator<Item = &Op> {
        self.blocks.iter().flat_map(|block| all_ops(&block.ops))
    }
}

/// How two buffers share memory: `inner` is the chunks of `outer` from `offset` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The buffer that lies in the other: input or output.
    pub inner: Buffer,
    /// The other.
    pub outer: Buffer,
    /// Where the inner buffer begins in the outer one, in chunks.
    pub offset: u32,
}

/// What an output chunk must hold: the reduction of these contributions by the collective's operator, and nothing else. A
/// sum that names a contribution twice has it twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The output chunk.
    pub chunk: u32,
    /// The contributions.
    pub terms: SmallVec<[Term; 1]>,
}

/// `count` contributions: chunk `chunk + i * chunk_step` of rank `rank + i * rank_step`'s input, for i from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The first one's rank.
    pub rank: u32,
    /// The first one's input chunk.
    pub chunk: u32,
    /// How many there are, at least one.
    pub count: u32,
    /// The step from one contribution's rank to the next one's.
    pub rank_step: i32,
    /// The step from one contribution's chunk to the next one's.
    pub chunk_step: i32,
}

impl Term {
    /// The rank and the input chunk of each contribution.
    pub fn sources(&self) -> impl Iterator<Item = (u32, u32)> {
        let Term { rank, chunk, rank_step, chunk_step, .. } = *self;
        let at = |first: u32, step: i32, i: i64| (i64::from(first) + i * i64::from(step)) as u32;
        (0..i64::from(self.count)).map(move |i| (at(rank, rank_step, i), at(chunk, chunk_step, i)))
    }
}

/// A semaphore between blocks of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Semaphore {
    /// Its name in the source with its indices, or its ordinal in a plan.
    pub name: Arc<str>,
    /// The value it starts with, once in the life of the plan.
    pub initial: i64,
    /// Where it is declared.
    pub origin: OriginId,
    /// Whether its author accepts that several blocks acquire it.
    pub shared: bool,
}

/// A thread block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its name in the source with its indices, or its ordinal in a plan.
    pub name: Arc<str>,
    /// Its operations, in order.
    pub ops: Vec<Op>,
    /// Where it is declared or first opened.
    pub origin: OriginId,
}

/// The three buffers of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Buffer {
    /// The data that the user provides.
    Input,
    /// The data that the user gets.
    Output,
    /// Memory of the executor.
    Scratch,
}

impl Buffer {
    /// Its name in the language.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Buffer::Input => "input",
            Buffer::Output => "output",
            Buffer::Scratch => "scratch",
        }
    }
}
