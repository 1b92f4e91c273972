//! The concrete program: every rank, its thread blocks and their operations; plain data.
//!
//! This is the narrow waist. Two doors lead in, `elaborate` (from source) and `plan::read` (from a plan that anyone
//! made); checks, passes and back ends all work on it. Operations have the verbs of the language; which operation of
//! a plan one becomes follows from its shape (`plan::write`).
//!
//! Lengths and offsets are in chunks of the collective; a chunk's size in bytes is known only at launch.

#[cfg(test)]
pub(crate) mod build;
pub mod memory;
pub mod print;
pub mod run;
pub(crate) mod weave;

mod verb;

use crate::source::{Place, Span};
use crate::table::{Table, id};
use smallvec::SmallVec;
use std::sync::Arc;
pub use verb::Verb;

id! {
    /// A row of [`Program::ranks`]; equal to the rank's number.
    RankId
}
id! {
    /// A row of [`Rank::blocks`]; equal to the plan's thread-block id.
    BlockId
}
id! {
    /// A row of [`Rank::channels`], which holds all kinds; a plan counts each kind apart.
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
id! {
    /// A row of [`Origins::rows`].
    OriginId
}
id! {
    /// A row of [`Origins::bindings`].
    BindingId
}

/// A program for a concrete number of ranks.
#[derive(Clone, Debug)]
pub struct Program {
    /// The collective it implements.
    pub collective: Collective,
    /// Its options, all set.
    pub options: Options,
    /// Its ranks.
    pub ranks: Table<RankId, Rank>,
    /// How many ranks share a node.
    pub ranks_per_node: u32,
    /// Where every operation and declaration comes from.
    pub origins: Origins,
    /// Whether the threads of a block meet between any two operations without being told to.
    pub joins: Joins,
    /// How many copies of the program's operations `ranks` holds already: 1 until the replication pass ran.
    pub instances_done: u32,
}

/// When the threads of a block meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joins {
    /// Between every two operations, except where an author's `sync = ..` says otherwise: a program from source.
    Implied,
    /// Only at [`Action::Sync`], [`Action::Barrier`] and the ends of a launch: a program after the synchronisation
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

/// An associative, commutative reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ReduceOp {
    /// Addition.
    #[default]
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
}

/// How packets are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Protocol {
    /// No packets.
    #[default]
    Simple,
    /// LL packets in scratch.
    Ll,
}

/// How instances are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Replication {
    /// The copies of a block, channel or semaphore stand side by side.
    #[default]
    Interleaved,
    /// No copies are made.
    None,
}

/// A program's options. `docs/reference.md` says what each means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The plan's name.
    pub name: String,
    /// Whether packets are used.
    pub protocol: Protocol,
    /// Threads per block.
    pub threads: u32,
    /// How many copies work side by side, each on its slice.
    pub instances: u32,
    /// How copies are laid out.
    pub replication: Replication,
    /// The fewest bytes that the plan serves, where the author says so.
    pub min_message_size: Option<u64>,
    /// The most bytes that the plan serves, where the author says so.
    pub max_message_size: Option<u64>,
    /// Where the message sizes are set.
    pub message_size_place: Option<Place>,
    /// Bytes; the unit in which chunks are cut.
    pub alignment: u32,
    /// Whether launches alternate between two halves of scratch.
    pub double_scratch: bool,
    /// Whether the executor reuses one set of resources for all messages.
    pub reuse_resources: bool,
    /// For the manifest.
    pub tags: Vec<(String, i64)>,
    /// Whether operations are joined.
    pub fuse: bool,
    /// Whether synchronisation inside blocks is inferred.
    pub auto_sync: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            name: String::new(),
            protocol: Protocol::Simple,
            threads: 1024,
            instances: 1,
            replication: Replication::Interleaved,
            min_message_size: None,
            max_message_size: None,
            message_size_place: None,
            alignment: 16,
            double_scratch: false,
            reuse_resources: false,
            tags: Vec::new(),
            fuse: true,
            auto_sync: true,
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
    /// The named parts of scratch, in order and without gaps; empty for a plan.
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
}

/// `inner` is the chunks of `outer` from `offset` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The buffer that lies in the other: input or output.
    pub inner: Buffer,
    /// The other.
    pub outer: Buffer,
    /// Where it begins there, in chunks.
    pub offset: u32,
}

/// A named part of scratch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its name in the source.
    pub name: Arc<str>,
    /// Its first chunk.
    pub offset: u32,
    /// The values of each dimension, in order; the last dimension is contiguous. None of a family whose rows differ.
    pub dimensions: Vec<Arc<[i64]>>,
}

/// What an output chunk must hold: each of these exactly once, and nothing else.
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
    /// From one's rank to the next one's.
    pub rank_step: i32,
    /// From one's chunk to the next one's.
    pub chunk_step: i32,
}

/// One end of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its name in the source with its indices, or its ordinal in a plan.
    pub name: Arc<str>,
    /// What it leads to.
    pub link: Link,
    /// The other end's row on the other rank; none for a switch, and where a plan leaves it unpaired.
    pub partner: Option<ChannelId>,
    /// Where it is declared.
    pub origin: OriginId,
    /// Whether its author accepts that several blocks use one end.
    pub shared: bool,
}

/// What a channel leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// A peer's memory, mapped.
    Memory(RankId),
    /// A peer, through a proxy thread on the host.
    Port(RankId),
    /// The same buffer of every rank of a group, through the switch (NVLS).
    Switch(Arc<SwitchGroup>),
}

/// A multimem group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchGroup {
    /// The buffer that is bound.
    pub buffer: Buffer,
    /// Its members.
    pub ranks: Vec<RankId>,
    /// The group's `size` as the plan file has it: how many members there are.
    pub size: u32,
}

/// The kinds of channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChannelKind {
    /// See [`Link::Memory`].
    Memory,
    /// See [`Link::Port`].
    Port,
    /// See [`Link::Switch`].
    Switch,
}

impl Channel {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> ChannelKind {
        match self.link {
            Link::Memory(_) => ChannelKind::Memory,
            Link::Port(_) => ChannelKind::Port,
            Link::Switch(_) => ChannelKind::Switch,
        }
    }

    /// The rank at the other end; none for a switch.
    #[must_use]
    pub fn peer(&self) -> Option<RankId> {
        match self.link {
            Link::Memory(peer) | Link::Port(peer) => Some(peer),
            Link::Switch(_) => None,
        }
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

/// An operation of a thread block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub action: Action,
    /// Where it comes from.
    pub origin: OriginId,
    /// An author's `sync = ..`.
    pub sync: Option<SyncOverride>,
}

/// An author's word on where the threads of the block meet around an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SyncOverride {
    /// Before it, not after.
    Before,
    /// After it, not before.
    After,
    /// Before and after.
    Both,
    /// Neither.
    None,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The threads of the block meet (a plan's `nop`).
    Sync,
    /// The blocks of a barrier meet, `arrivals` of them.
    Barrier {
        /// Which barrier.
        id: BarrierId,
        /// How many arrivals it waits for: in a sound program, as many as the barrier has blocks.
        arrivals: u32,
    },
    /// Tells the other end of each channel.
    Signal(Signal),
    /// Waits for one more signal on each channel.
    Wait(Signal),
    /// Waits until the proxy has done what was asked of each channel.
    Flush(List<ChannelId>),
    /// Takes one from each semaphore, waiting until it can.
    Acquire(List<SemaphoreId>),
    /// Adds one to each semaphore.
    Release(List<SemaphoreId>),
    /// Moves data.
    Transfer(Transfer),
    /// Repeats its body over `unit` bytes at a time of `chunks` chunks.
    Pipeline(Pipeline),
}

/// A short list; one or two members cost no allocation.
pub type List<T> = SmallVec<[T; 2]>;

/// The channels of a `signal` or `wait`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The channels, all of one kind, in the author's order.
    pub channels: List<ChannelId>,
    /// Whether it orders execution only, not data.
    pub relaxed: bool,
}

/// An operation that moves data.
///
/// How operands pair up depends on the verb. Copies, puts and gets (packet forms too): source k goes to destination
/// k; a single source goes to every destination. Reductions: all sources are combined, in order, and every
/// destination gets the result.
///
/// Reductions have their plain local destination first. A source or destination of kind [`Where::Switch`] names the
/// multimem cells of a group: as a source it is a load-reduce, as a destination a store to all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Which.
    pub verb: Verb,
    /// What is read.
    pub sources: SmallVec<[Operand; 1]>,
    /// What is written.
    pub destinations: SmallVec<[Operand; 1]>,
    /// The kind of channel it goes over; none for a local operation.
    pub via: Option<ChannelKind>,
    /// One channel for each remote or switch operand: those of `sources` first, then those of `destinations`. In a
    /// plan that was read, memory channels are those that its block lists for the rank, where it lists any.
    pub channels: List<ChannelId>,
    /// This block's part, where a group of blocks shares the operation.
    pub slice: Option<Slice>,
    /// How values are combined; meaningless for verbs that combine none.
    pub reduce: ReduceOp,
}

impl Transfer {
    /// The channel of each operand of a peer, in order; a switch operand names its own. A plan names no memory channels:
    /// the first one to the peer will do.
    #[must_use]
    pub fn routes(&self, rank: &Rank) -> List<ChannelId> {
        let first_to = |peer: RankId| {
            let leads = |channel: &Channel| {
                channel.peer() == Some(peer) && Some(channel.kind()) == self.via
            };
            rank.channels.entries().find(|(_, channel)| leads(channel)).map(|(id, _)| id)
        };
        let operands = self.sources.iter().chain(&self.destinations);
        let away = operands.filter(|operand| operand.place != Where::Local);
        let mut given = self.channels.iter().copied();
        away.filter_map(|operand| {
            let named = given.next();
            match operand.place {
                Where::Remote(peer) => named.or_else(|| first_to(peer)),
                Where::Local | Where::Switch(_) => None,
            }
        })
        .collect()
    }
}

/// Chunks that an operation reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Operand {
    /// Whose.
    pub place: Where,
    /// Of which buffer.
    pub buffer: Buffer,
    /// The first chunk.
    pub index: u32,
    /// How many, at least one.
    pub size: u32,
}

/// Whose memory an operand lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Where {
    /// This rank's.
    Local,
    /// A peer's.
    Remote(RankId),
    /// That of every rank of a switch channel's group.
    Switch(ChannelId),
}

/// The three buffers of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Buffer {
    /// What the user gives.
    Input,
    /// What the user gets.
    Output,
    /// Memory of the executor.
    Scratch,
}

/// A block's part of an operation that a group shares: part `index` of `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slice {
    /// Which part, from 0.
    pub index: u32,
    /// How many blocks share it.
    pub count: u32,
}

/// A loop over windows of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Bytes in a window.
    pub unit: u64,
    /// Chunks that every operation of the body covers.
    pub chunks: u32,
    /// What is done for each window; holds no pipelines.
    pub body: Vec<Op>,
}

/// Where operations come from: a side table, so that an operation stays small.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    /// One row a place and situation.
    pub rows: Table<OriginId, Origin>,
    /// Loop values, as linked lists that rows share.
    pub bindings: Table<BindingId, Binding>,
}

/// A place with the loop values it was reached with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The statement, declaration or plan operation.
    pub place: Place,
    /// The innermost loop value or call, if there is one.
    pub binding: Option<BindingId>,
}

/// A loop value ("step = 2"), or the place of a procedure's call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// A name that a loop or a block family bound.
    Value {
        /// The name.
        name: Arc<str>,
        /// Its value.
        value: i64,
        /// The next one out.
        outer: Option<BindingId>,
    },
    /// The statements inside stand in a procedure that is called here.
    Call {
        /// The call.
        span: Span,
        /// What surrounds the call.
        outer: Option<BindingId>,
    },
}

impl Origins {
    /// The names and values that an origin was reached with, outermost first, as "step = 2".
    #[must_use]
    pub fn values(&self, origin: OriginId) -> Vec<String> {
        self.binding_values(self.rows.lookup(origin).and_then(|row| row.binding))
    }

    /// The names and values of a loop value and those around it, outermost first.
    #[must_use]
    pub fn binding_values(&self, binding: Option<BindingId>) -> Vec<String> {
        let mut values = Vec::new();
        let mut next = binding;
        while let Some(binding) = next.and_then(|id| self.bindings.lookup(id)) {
            match binding {
                Binding::Value { name, value, outer } => {
                    values.push(format!("{name} = {value}"));
                    next = *outer;
                }
                Binding::Call { outer, .. } => next = *outer,
            }
        }
        values.reverse();
        values
    }

    /// The place of an origin.
    #[must_use]
    pub fn place(&self, origin: OriginId) -> Place {
        self.rows[origin].place
    }

    /// The place of an origin, then those of the calls that led there, from the innermost out.
    #[must_use]
    pub fn places(&self, origin: OriginId) -> Vec<Place> {
        let mut places = vec![self.place(origin)];
        let mut next = self.rows[origin].binding;
        while let Some(binding) = next.and_then(|id| self.bindings.lookup(id)) {
            match binding {
                Binding::Value { outer, .. } => next = *outer,
                Binding::Call { span, outer } => {
                    places.push(Place::Source(*span));
                    next = *outer;
                }
            }
        }
        places
    }
}

/// Counts operations, pipelines and their bodies included, as the executor does.
#[must_use]
pub fn count_ops(ops: &[Op]) -> usize {
    ops.iter()
        .map(|op| match &op.action {
            Action::Pipeline(pipeline) => 1 + count_ops(&pipeline.body),
            Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_)
            | Action::Transfer(_) => 1,
        })
        .sum()
}
