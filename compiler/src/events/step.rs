//! Steps, and what they consist of.

use super::{CounterId, EndId, MeetingId};
use crate::ir::threads::Share;
use crate::ir::{Buffer, ChannelId, OriginId, RankId, ReduceOp, Slice};
use smallvec::SmallVec;
use std::ops::Range;

/// How strong the order is that a signal and a wait make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strength {
    /// Release and acquire: what was written before the signal is visible after the wait.
    Strong,
    /// Only execution is ordered.
    Relaxed,
}

/// Where a step comes from, as authors, reports and witnesses count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// The operation's number in its block.
    pub operation: u32,
    /// In a pipeline: the operation's number in the body, and the turn.
    pub inner: Option<InnerSite>,
    /// Which part of the operation, from 0: `read_put_packets` over a port has two.
    pub part: u32,
}

/// A step's place in a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InnerSite {
    /// The operation's number in the body.
    pub operation: u32,
    /// The turn, from 0.
    pub turn: u32,
}

/// A thread takes one from a counter, waiting until it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Take {
    /// The counter, which is one of the block's own rank.
    pub counter: CounterId,
    /// The thread: the position in the author's list.
    pub thread: u32,
    /// Whether it acquires what the giver released. A wait on a port always does.
    pub strength: Strength,
}

/// A thread, or the proxy that serves it, adds one to a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Give {
    /// The counter; none where a plan leaves the other end of the channel out, so that nobody can take it.
    pub counter: Option<CounterId>,
    /// For a signal: the channel over which it is sent, among those of the block's rank.
    pub channel: Option<ChannelId>,
    /// The thread: the position in the author's list.
    pub thread: u32,
    /// Whether it releases what its agent knows. A port's signal always does.
    pub strength: Strength,
}

/// A request to the proxy of a port channel: an optional put, then an optional signal. One with neither is a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyRequest {
    /// The end of the channel.
    pub end: EndId,
    /// The channel, among those of the block's rank.
    pub channel: ChannelId,
    /// The thread that pushes it.
    pub thread: u32,
    /// The move that the proxy carries out, as an index of [`Step::moves`].
    pub put: Option<u32>,
    /// The signal behind it.
    pub signal: Option<Give>,
    /// Whether the thread waits until the proxy has carried it out, and so all that was requested before.
    pub awaited: bool,
}

/// The form in which cells are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CellForm {
    /// Plain cells.
    Plain,
    /// Packets: a payload cell each, next to a flag, so that each takes up two cells of memory. A read waits for the flag.
    Packets,
    /// Packets that a proxy reads as they are, without waiting. Whoever wrote them has to be known.
    RawPackets,
    /// Packets that a proxy reads as they are, after the threads of the block have seen them and met.
    SeenPackets,
}

impl CellForm {
    /// Whether it is one of the forms of packets.
    #[must_use]
    pub fn is_packets(self) -> bool {
        match self {
            CellForm::Plain => false,
            CellForm::Packets | CellForm::RawPackets | CellForm::SeenPackets => true,
        }
    }
}

/// Whose memory is accessed, as seen from the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryReach {
    /// The rank's own.
    Own,
    /// A peer's, through a mapped address or a port.
    Peer,
    /// That of one rank of a switch's group. The extents of all ranks of the group have the same operand.
    Group,
}

/// Cells that the elements of a move access: element i accesses cell `start + i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryExtent {
    /// The cell of the first element, in [`MemoryExtent::buffer`]. Of packets, payload cells are counted: their memory
    /// begins at twice this.
    pub start: u64,
    /// Whose memory.
    pub rank: RankId,
    /// The operand's number among the sources, or among the destinations, of its operation.
    pub operand: u16,
    /// The buffer that really holds the cells: in place, the outer one.
    pub buffer: Buffer,
    /// The buffer by which the author names them.
    pub named: Buffer,
    /// How they are accessed.
    pub form: CellForm,
    /// Whose memory it is, as seen from the agent.
    pub reach: MemoryReach,
}

/// Elements that are read, combined and written, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The entry of the operation; over a port, the thread that pushes it.
    pub entry: u32,
    /// How many elements.
    pub elements: u64,
    /// The block's part of the operands, where a group shares them.
    pub slice: Option<Slice>,
    /// How elements fall to threads, counted from the first element of the move.
    pub share: Share,
    /// Whether these are all elements of the operands: neither a slice nor a window of them.
    pub is_all: bool,
    /// How what is read is combined.
    pub reduce: ReduceOp,
    /// Where a buffer has its extents: those that are read, then those that are written.
    pub(super) reads: Range<u32>,
    pub(super) writes: Range<u32>,
}

/// An arrival at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The barrier.
    pub meeting: MeetingId,
    /// How many arrivals the block waits for: in a sound program, as many as the barrier has members.
    pub arrivals: u32,
}

/// What a step is besides its lists of effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepHeader {
    pub(super) site: Site,
    pub(super) origin: OriginId,
    pub(super) joined: bool,
    pub(super) is_join: bool,
    pub(super) arrival: Option<Arrival>,
}

/// A step of a thread block; see [the module](super) for the order of its effects.
#[derive(Clone, Copy, Debug)]
pub struct Step<'b> {
    /// Where it comes from.
    pub site: Site,
    /// The same, for reports.
    pub origin: OriginId,
    /// Whether the threads of the block meet before it. They do before the first step, and after the last.
    pub joined: bool,
    /// Whether it is a meeting of the threads: `sync`, or a barrier.
    pub is_join: bool,
    /// What is taken.
    pub takes: &'b [Take],
    /// What is moved.
    pub moves: &'b [Move],
    /// What is asked of proxies. The moves that these name are carried out by the proxies.
    pub requests: &'b [ProxyRequest],
    /// What is given.
    pub gives: &'b [Give],
    /// The barrier at which it arrives.
    pub arrival: Option<Arrival>,
    extents: &'b [MemoryExtent],
}

impl<'b> Step<'b> {
    /// What a move of this step reads.
    #[must_use]
    pub fn reads(&self, one: &Move) -> &'b [MemoryExtent] {
        self.extents_in(&one.reads)
    }

    /// What a move of this step writes.
    #[must_use]
    pub fn writes(&self, one: &Move) -> &'b [MemoryExtent] {
        self.extents_in(&one.writes)
    }

    /// Whether its moves are carried out by proxies.
    #[must_use]
    pub fn is_pushed(&self) -> bool {
        self.requests.iter().any(|request| request.put.is_some())
    }

    fn extents_in(&self, range: &Range<u32>) -> &'b [MemoryExtent] {
        self.extents.get(range.start as usize..range.end as usize).unwrap_or_default()
    }
}

/// Which step of a block is visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepPlace {
    /// Where it comes from.
    pub site: Site,
    /// The same, for reports.
    pub origin: OriginId,
    /// In a pipeline: how often it is repeated.
    pub repeat: Option<StepRepeat>,
    /// Whether the threads of the block meet before it.
    pub joined: bool,
    /// Whether it is a meeting of the threads.
    pub is_join: bool,
}

/// How often a step of a pipeline is taken: once for each window, however many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepRepeat {
    /// Bytes in a window.
    pub unit: u64,
    /// The chunks that all windows cover.
    pub chunks: u32,
}

/// What looks at effects while an operation is lowered: a [`StepBuffer`] keeps them, others count, compare or hash them.
/// Effects that a sink does not ask for cost it nothing.
pub trait StepSink {
    /// Whether it asks for memory: otherwise moves and their extents are not worked out.
    const ASKS_FOR_MEMORY: bool;

    /// A step begins, all effects up to the next one are its.
    fn open_step(&mut self, _place: &StepPlace) {}
    /// Something is taken.
    fn take(&mut self, _take: Take) {}
    /// Something is given.
    fn give(&mut self, _give: Give) {}
    /// A proxy is asked. Moves that it names have been visited.
    fn request(&mut self, _request: ProxyRequest) {}
    /// The elements of the next move read these cells.
    fn read(&mut self, _extent: MemoryExtent) {}
    /// The elements of the next move write these cells.
    fn write(&mut self, _extent: MemoryExtent) {}
    /// The move whose extents were visited.
    fn close_move(&mut self, _done: Move) {}
}

/// Room for one step.
#[derive(Clone, Debug, Default)]
pub struct StepBuffer {
    header: Option<StepHeader>,
    takes: SmallVec<[Take; 1]>,
    gives: SmallVec<[Give; 1]>,
    requests: SmallVec<[ProxyRequest; 1]>,
    moves: SmallVec<[Move; 1]>,
    extents: SmallVec<[MemoryExtent; 2]>,
    /// How many of the extents are those of moves that are closed, or are read by the open one.
    read: u32,
}

impl StepBuffer {
    /// The step that was lowered last; none before the first.
    #[must_use]
    pub fn step(&self) -> Option<Step<'_>> {
        let StepHeader { site, origin, joined, is_join, arrival } = self.header?;
        Some(Step {
            site,
            origin,
            joined,
            is_join,
            takes: &self.takes,
            moves: &self.moves,
            requests: &self.requests,
            gives: &self.gives,
            arrival,
            extents: &self.extents,
        })
    }

    pub(super) fn clear(&mut self) {
        self.header = None;
        self.takes.clear();
        self.gives.clear();
        self.requests.clear();
        self.moves.clear();
        self.extents.clear();
        self.read = 0;
    }

    pub(super) fn set_header(&mut self, header: StepHeader) {
        self.header = Some(header);
    }
}

impl StepSink for StepBuffer {
    const ASKS_FOR_MEMORY: bool = true;

    fn take(&mut self, take: Take) {
        self.takes.push(take);
    }

    fn give(&mut self, give: Give) {
        self.gives.push(give);
    }

    fn request(&mut self, request: ProxyRequest) {
        self.requests.push(request);
    }

    fn read(&mut self, extent: MemoryExtent) {
        self.extents.push(extent);
        self.read = self.extents.len() as u32;
    }

    fn write(&mut self, extent: MemoryExtent) {
        self.extents.push(extent);
    }

    fn close_move(&mut self, done: Move) {
        let first = self.moves.last().map_or(0, |last| last.writes.end);
        let (read, end) = (self.read.max(first), self.extents.len() as u32);
        self.moves.push(Move { reads: first..read, writes: read..end, ..done });
    }
}
