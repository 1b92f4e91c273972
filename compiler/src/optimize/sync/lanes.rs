//! Which threads of a block do what in an operation: the facts on which synchronization inside a block is based.
//!
//! - A data operation is spread over all threads: element i, counted from the operand's beginning, is thread i's,
//!   modulo their number. An element is 16 bytes; in packet operations it is one packet's payload; in multimem
//!   operations it depends on the type of the data.
//! - Entry k of a `signal`, `wait`, `flush`, `acquire` or `release`, and pair k
//!   of a `put` over port channels, is thread k's.
//! - `read_put_packets` over port channels reads with all threads, lets them meet, then puts pair k with thread k.
//! - The proxy carries out a `put` over a port channel later: nothing that a block does orders it before what comes
//!   after, except for `put_with_signal_and_flush`, which returns when the put is done.

use super::others::Others;
use crate::ir::counter::CounterKind;
use crate::ir::memory::{self, Access, Extent};
use crate::ir::sharing::Sharing;
use crate::ir::threads::{Share, find_share};
use crate::ir::{
    Action, BlockId, Buffer, ChannelId, ChannelKind, List, Options, Rank, RankId, SemaphoreId,
    Signal, Slice, Transfer,
};
use crate::table::Table;
use smallvec::SmallVec;

/// The block that is being synchronized, and the rest of the program.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    /// All ranks.
    pub(super) ranks: &'a Table<RankId, Rank>,
    /// The block's rank, and the block's number there.
    pub(super) block: (RankId, BlockId),
    /// The program's options.
    pub(super) options: &'a Options,
    /// What other blocks and proxies touch.
    pub(super) others: &'a Others,
    /// The counters that several blocks use.
    pub(super) sharing: &'a Sharing,
}

/// Cells that all threads touch together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    /// The cells.
    pub(super) extent: Extent,
    /// Whether they are written.
    pub(super) write: bool,
    /// Whether they are accessed as packets.
    pub(super) packets: bool,
    /// How they are assigned to threads.
    pub(super) share: Share,
    /// The block's slice of them.
    pub(super) slice: Option<Slice>,
    /// The pipeline and the turn in which they are touched.
    pub(super) mark: Mark,
}

/// The pipeline and the turn to which an operation belongs; 0 and 0 outside pipelines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// The pipeline's number in its block, from 1.
    pub(super) pipeline: u32,
    /// 0 in this turn of the loop, 1 in the next.
    pub(super) turn: u8,
}

/// A counter that two threads must not use without being ordered: it has one user at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Use {
    /// Signals over this channel; over a port channel, also puts and flushes, which the proxy takes in order.
    Send(u32),
    /// Waits on this channel.
    Wait(u32),
    /// Acquires this semaphore.
    Acquire(u32),
}

/// What an operation does, thread by thread.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// Cells that all threads touch.
    pub(super) touches: SmallVec<[Touch; 8]>,
    /// Whether all threads rely on what was acquired before.
    pub(super) heeds: bool,
    /// Cells that the proxy touches later, on behalf of some threads.
    pub(super) proxied: SmallVec<[Touch; 4]>,
    /// How many threads learn something by waiting, from thread 0 on.
    pub(super) acquires: usize,
    /// Whether other blocks wait for the same thing, too: what has come may be taken by this block or by them.
    pub(super) draws: bool,
    /// How many threads let others know something, from thread 0 on.
    pub(super) releases: usize,
    /// Whether what they let others know includes that all earlier data operations are done.
    pub(super) publishes: bool,
    /// Whether other blocks of the rank may hear it, which may use the same counters next.
    pub(super) hands_over: bool,
    /// The counters that are used, each with the number of its thread.
    pub(super) uses: SmallVec<[(Use, usize); 4]>,
    /// Whether all threads meet between the touches and everything else.
    pub(super) meets: bool,
}

impl Use {
    /// Whether other blocks of the rank use the counter in the same way.
    pub(super) fn is_shared(self, context: Context) -> bool {
        let rank = context.block.0;
        match self {
            Use::Send(id) => context.sharing.is_sent(rank, ChannelId(id)),
            Use::Wait(id) => context.sharing.is_shared(rank, CounterKind::Channel(ChannelId(id))),
            Use::Acquire(id) => {
                context.sharing.is_shared(rank, CounterKind::Semaphore(SemaphoreId(id)))
            }
        }
    }
}

/// What an operation does. Pipelines, barriers and joins do nothing by themselves.
pub(super) fn effects(context: Context, action: &Action, mark: Mark) -> Effects {
    match action {
        Action::Signal(signal) => signals(signal),
        Action::Wait(signal) => Effects {
            acquires: signal.channels.len(),
            draws: context.sharing.is_drawn(context.block.0, action),
            uses: uses(&signal.channels, |id| Use::Wait(id.0)),
            ..Effects::default()
        },
        Action::Flush(channels) => Effects {
            acquires: channels.len(),
            uses: uses(channels, |id| Use::Send(id.0)),
            ..Effects::default()
        },
        Action::Acquire(semaphores) => Effects {
            acquires: semaphores.len(),
            draws: context.sharing.is_drawn(context.block.0, action),
            uses: uses(semaphores, |id| Use::Acquire(id.0)),
            ..Effects::default()
        },
        Action::Release(semaphores) => {
            let releases = semaphores.len();
            Effects { releases, publishes: true, hands_over: true, ..Effects::default() }
        }
        Action::Transfer(transfer) => moved(context, transfer, mark),
        Action::Sync | Action::Barrier { .. } | Action::Pipeline(_) => Effects::default(),
    }
}

fn signals(signal: &Signal) -> Effects {
    Effects {
        releases: signal.channels.len(),
        publishes: true,
        uses: uses(&signal.channels, |id| Use::Send(id.0)),
        ..Effects::default()
    }
}

fn uses<T: Copy>(list: &List<T>, name: fn(T) -> Use) -> SmallVec<[(Use, usize); 4]> {
    list.iter().enumerate().map(|(k, id)| (name(*id), k)).collect()
}

fn moved(context: Context, transfer: &Transfer, mark: Mark) -> Effects {
    if transfer.via != Some(ChannelKind::Port) {
        let touches: SmallVec<[Touch; 8]> = touches(context, transfer, mark).collect();
        return Effects { touches, heeds: true, ..Effects::default() };
    }
    let packets = memory::reads_packets(transfer.verb, 0);
    let flushes = transfer.verb.flushes();
    let pairs = transfer.destinations.len();
    let mut effects = Effects {
        releases: pairs,
        publishes: transfer.verb.signals(),
        acquires: if flushes { pairs } else { 0 },
        uses: uses(&transfer.channels, |id| Use::Send(id.0)),
        meets: packets,
        ..Effects::default()
    };
    for touch in touches(context, transfer, mark) {
        if packets && !touch.write {
            effects.touches.push(touch);
        } else {
            effects.proxied.push(Touch { share: Share::Other, ..touch });
        }
    }
    effects
}

/// Which threads of a block have learned something from packets since they last met.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Heard {
    /// None has.
    #[default]
    Nobody,
    /// The threads that touch memory in this way have, each from its own packets.
    Alike(ThreadAssignment),
    /// Some have, and it is not known which.
    Some,
}

/// Which thread touches which chunk: where two of these are equal, the same thread touches the same chunk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ThreadAssignment {
    share: Share,
    slice: Option<Slice>,
    mark: Mark,
    chunks: u64,
}

impl Heard {
    /// Adds packets that are read: each thread learns something from its own. If other operations touch these cells in
    /// another way, it is not known which thread learned it.
    pub(super) fn add(&mut self, context: Context, packets: &Touch) {
        let by = packets.thread_assignment();
        let alike = match self {
            Heard::Nobody => by.share == Share::Payload,
            Heard::Alike(before) => *before == by,
            Heard::Some => return,
        };
        *self = match alike && context.others.are_alike(&packets.extent) {
            true => Heard::Alike(by),
            false => Heard::Some,
        };
    }
}

/// Whether an operation touches what may be in use by others, so that it must be known that they are done: another
/// rank's memory, or cells that others touch. Packets told only the threads that read them, which is enough only where
/// all packets since the last join were read by the threads that now touch the memory.
pub(super) fn visits(context: Context, effects: &Effects, heard: &Heard) -> bool {
    if *heard == Heard::Nobody {
        return false;
    }
    // An operation that reads packets itself is told by these.
    let waits = effects.heard().next().is_some();
    let foreign = |touch: &Touch| match touch.extent.rank == context.block.0 {
        true => !waits && touch.write && context.others.are_at(touch, context.block),
        false => !touch.packets || !waits && touch.write,
    };
    let told = |touch: &Touch| *heard == Heard::Alike(touch.thread_assignment());
    // What threads do after they have met is ordered after all packets.
    let later = effects.proxied.iter().filter(|_| !effects.meets);
    effects.touches.iter().chain(later).any(|touch| !told(touch) && foreign(touch))
}

impl Touch {
    /// Which thread touches which chunk.
    fn thread_assignment(&self) -> ThreadAssignment {
        let Touch { share, slice, mark, .. } = *self;
        let cells = self.extent.end - self.extent.start;
        ThreadAssignment { share, slice, mark, chunks: cells / if self.packets { 2 } else { 1 } }
    }
}

impl Effects {
    /// Packets that are read: each thread learns something from its own.
    pub(super) fn heard(&self) -> impl Iterator<Item = &Touch> {
        self.touches.iter().filter(|touch| touch.packets && !touch.write)
    }
}

fn touches(context: Context, transfer: &Transfer, mark: Mark) -> impl Iterator<Item = Touch> {
    let mut touches: SmallVec<[Touch; 8]> = SmallVec::new();
    let share = find_share(context.options, transfer);
    for access in memory::accesses(transfer) {
        let Access { operand, write, packets, slice } = access;
        let extents = memory::cells(context.ranks, context.block.0, operand, packets);
        touches.extend(extents.map(|extent| Touch { extent, write, packets, share, slice, mark }));
    }
    touches.into_iter()
}

/// Whether both touch a cell in a way that needs an order, by threads that are not known to be the same.
pub(super) fn conflict(context: Context, first: &Touch, second: &Touch) -> bool {
    if !(first.write || second.write) || !first.extent.overlaps(&second.extent) {
        return false;
    }
    let packets = first.packets && second.packets;
    if packets && first.write && !second.write {
        return false;
    }
    !apart_in_group(first, second)
        && !other_window(context, first, second)
        && !same_thread(first, second)
}

/// Whether each cell is the same thread's in both: both begin at the same cell, and slices begin at the same cell only
/// where the whole is as large. In a pipeline the elements are counted from the beginning of each window.
fn same_thread(first: &Touch, second: &Touch) -> bool {
    let alike = first.share == second.share
        && first.share != Share::Other
        && first.packets == second.packets;
    let windows = first.mark.pipeline == second.mark.pipeline;
    let slices = first.slice == second.slice
        && (first.slice.is_none() || first.extent.end == second.extent.end);
    alike && windows && slices && first.extent.start == second.extent.start
}

/// Whether both are slices of the same cells, shared out among equally many blocks, but different ones.
pub(super) fn apart_in_group(first: &Touch, second: &Touch) -> bool {
    match (first.slice, second.slice) {
        (Some(a), Some(b)) => {
            a.count == b.count
                && a.index != b.index
                && first.extent == second.extent
                && first.packets == second.packets
        }
        (Some(_), None) | (None, Some(_) | None) => false,
    }
}

/// Whether both are in different turns of a loop, in which an operand's windows are disjoint, unless
/// scratch is a ring that the windows go around.
fn other_window(context: Context, first: &Touch, second: &Touch) -> bool {
    let loops = first.mark.pipeline != 0 && first.mark.pipeline == second.mark.pipeline;
    let ring = context.options.reuse_resources && first.extent.buffer == Buffer::Scratch;
    let same = first.extent == second.extent && first.packets == second.packets;
    loops && first.mark.turn != second.mark.turn && same && !ring
}
