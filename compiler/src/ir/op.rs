//! Operations of thread blocks, as plain data: what they do, to which chunks, over which channels.

use super::{
    BarrierId, Buffer, Channel, ChannelId, ChannelKind, OperandSide, OriginId, Rank, RankId,
    ReduceOp, SemaphoreId, Verb,
};
use smallvec::{SmallVec, smallvec};

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

impl Op {
    /// What it moves, if it moves data.
    #[must_use]
    pub fn transfer(&self) -> Option<&Transfer> {
        if let Action::Transfer(transfer) = &self.action { Some(transfer) } else { None }
    }

    /// What it repeats, if it is a pipeline.
    #[must_use]
    pub fn pipeline(&self) -> Option<&Pipeline> {
        if let Action::Pipeline(pipeline) = &self.action { Some(pipeline) } else { None }
    }
}

/// An author's `sync = ..`: where the threads of the block meet around an operation.
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
        /// The barrier.
        id: BarrierId,
        /// How many arrivals it waits for: in a sound program, as many as the barrier has blocks.
        arrivals: u32,
    },
    /// Signals the other end of each channel.
    Signal(Signal),
    /// Waits for one more signal on each channel.
    Wait(Signal),
    /// Waits until the proxies have carried out everything that was requested over each channel.
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

/// A short list; one or two members need no allocation.
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
/// Reductions have their plain local destination first. A source or destination of kind [`Where::Switch`] stands for
/// the multimem cells of a group: as a source it is a load-reduce, as a destination a store to all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The verb.
    pub verb: Verb,
    /// What is read.
    pub sources: SmallVec<[Operand; 1]>,
    /// What is written.
    pub destinations: SmallVec<[Operand; 1]>,
    /// The kind of channel it goes over; none for a local operation.
    pub via: Option<ChannelKind>,
    /// One channel for each remote or switch operand: those of `sources` first, then those of `destinations`. In a plan
    /// that was read, memory channels are those that its block lists for the rank; there are none if it lists none.
    pub channels: List<ChannelId>,
    /// This block's part, where a group of blocks shares the operation.
    pub slice: Option<Slice>,
    /// How values are combined; meaningless for verbs that combine none.
    pub reduce: ReduceOp,
}

impl Transfer {
    /// What is read, then what is written.
    pub fn operands(&self) -> impl Iterator<Item = &Operand> + Clone {
        self.sources.iter().chain(&self.destinations)
    }

    /// The channel of each remote operand, in order; a switch operand names its own. A plan need not name memory
    /// channels: then it is the first one to the peer.
    #[must_use]
    pub fn routes(&self, rank: &Rank) -> List<ChannelId> {
        let first_to = |peer: RankId| {
            let leads = |channel: &Channel| {
                channel.peer() == Some(peer) && Some(channel.kind()) == self.via
            };
            rank.channels.entries().find(|(_, channel)| leads(channel)).map(|(id, _)| id)
        };
        let away = self.operands().filter(|operand| !operand.is_local());
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
    /// Whose memory it lies in.
    pub place: Where,
    /// The buffer.
    pub buffer: Buffer,
    /// The first chunk.
    pub index: u32,
    /// How many, at least one.
    pub size: u32,
}

impl Operand {
    /// Whether it is this rank's.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.place == Where::Local
    }

    /// Whether it is a peer's.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.place.peer().is_some()
    }

    /// Whether it is that of a switch channel's group.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.place.switch().is_some()
    }
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

impl Where {
    /// Whose memory it is, whichever peer or group that is.
    #[must_use]
    pub fn side(self) -> OperandSide {
        match self {
            Where::Local => OperandSide::Local,
            Where::Remote(_) => OperandSide::Remote,
            Where::Switch(_) => OperandSide::Switch,
        }
    }

    /// The switch channel, if it is that of a group.
    #[must_use]
    pub fn switch(self) -> Option<ChannelId> {
        match self {
            Where::Switch(channel) => Some(channel),
            Where::Local | Where::Remote(_) => None,
        }
    }

    /// The peer, if it is a peer's.
    #[must_use]
    pub fn peer(self) -> Option<RankId> {
        match self {
            Where::Remote(peer) => Some(peer),
            Where::Local | Where::Switch(_) => None,
        }
    }
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
    /// The operations for each window; there are no pipelines among them.
    pub body: Vec<Op>,
}

/// Every operation in order: each pipeline, then the operations in it.
pub fn all_ops(ops: &[Op]) -> impl Iterator<Item = &Op> {
    let mut open: SmallVec<[std::slice::Iter<'_, Op>; 2]> = smallvec![ops.iter()];
    std::iter::from_fn(move || {
        loop {
            let Some(op) = open.last_mut()?.next() else {
                open.pop();
                continue;
            };
            if let Action::Pipeline(pipeline) = &op.action {
                open.push(pipeline.body.iter());
            }
            return Some(op);
        }
    })
}

/// Counts operations, pipelines and their bodies included, as the executor does.
#[must_use]
pub fn count_ops(ops: &[Op]) -> usize {
    all_ops(ops).count()
}
