//! A concrete program as the steps that its thread blocks take, for one class of message sizes.
//!
//! In: an [`ir::Program`] and a [`SizeClass`]. Out: for each thread block, its [`Step`]s in order. A step is a few lists of
//! *effects*: what it takes from counters and gives to them, which memory it reads and writes, what it asks of the proxies
//! of port channels, the barrier at which it arrives. Pipelines are unrolled. Which effects an operation has is decided in
//! one place, the file `events/lower.rs`; whoever executes, checks or draws a program reads steps and looks at no operation.
//!
//! Within a step, in this order:
//!
//! 1. the threads of the block meet, if [`Step::joined`];
//! 2. all [`Step::takes`] are waited for, and are taken together; entry k is thread k's;
//! 3. the elements of [`Step::moves`] that no proxy carries out are processed, in order: an element waits for its packets,
//!    reads them, reads its plain cells, then writes. A thread goes through its elements in order, so it does nothing past
//!    a missing packet;
//! 4. [`Step::requests`] are pushed, entry k by thread k; each carries what its thread knows by then;
//! 5. [`Step::gives`] are given, entry k by thread k, and threads wait for their requests that are
//!    [`ProxyRequest::awaited`];
//! 6. at an [`Arrival`], or if [`Step::is_join`], the threads meet; at an arrival the blocks of the barrier meet, then the
//!    threads meet again.
//!
//! Steps are not stored: [`Events::lower_step`] makes one when it is asked for, in a [`StepBuffer`] that is used again. A
//! program with a thousand ranks has millions of them. [`Events`] has one row for each rank, and [`BlockSteps`] one for each
//! operation that is not exactly one step.

mod class;
mod code;
mod lower;
mod step;

use crate::ir::counter::CounterKind;
use crate::ir::{self, BarrierId, BlockId, ChannelId, RankId, SemaphoreId};
use crate::table::id;
pub use class::SizeClass;
pub use code::BlockSteps;
pub use step::{
    Arrival, CellForm, Give, InnerSite, MemoryExtent, MemoryReach, Move, ProxyRequest, Site, Step,
    StepBuffer, StepPlace, StepRepeat, StepSink, Strength, Take,
};

id! {
    /// A counter: the end of a channel at which signals arrive, or a semaphore. Dense over all ranks.
    CounterId
}
id! {
    /// A barrier. Dense over all ranks.
    MeetingId
}
id! {
    /// An end of a channel, as its own rank uses it. Dense over all ranks.
    EndId
}

/// A program as events, for one class of message sizes.
#[derive(Debug)]
pub struct Events<'p> {
    program: &'p ir::Program,
    class: SizeClass,
    /// For each rank the first of its counters, barriers and ends of channels; at the end, how many there are.
    firsts: Vec<FirstIds>,
}

/// The first ids of a rank.
#[derive(Clone, Copy, Debug, Default)]
struct FirstIds {
    counter: u32,
    meeting: u32,
    end: u32,
}

/// A counter of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterOfRank {
    /// The rank whose blocks take from it.
    pub rank: RankId,
    /// What it is.
    pub kind: CounterKind,
}

/// A barrier of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BarrierOfRank {
    /// The rank.
    pub rank: RankId,
    /// The barrier.
    pub barrier: BarrierId,
}

/// An end of a channel of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndOfRank {
    /// The rank.
    pub rank: RankId,
    /// The channel, among those of the rank.
    pub channel: ChannelId,
}

impl<'p> Events<'p> {
    /// A program for a class of message sizes.
    #[must_use]
    pub fn new(program: &'p ir::Program, class: SizeClass) -> Events<'p> {
        let mut next = FirstIds::default();
        let mut firsts = Vec::with_capacity(program.ranks.len() + 1);
        for rank in &program.ranks {
            firsts.push(next);
            next.counter += (rank.channels.len() + rank.semaphores.len()) as u32;
            next.meeting += rank.barriers.len() as u32;
            next.end += rank.channels.len() as u32;
        }
        firsts.push(next);
        Events { program, class, firsts }
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &'p ir::Program {
        self.program
    }

    /// The class of message sizes.
    #[must_use]
    pub fn class(&self) -> SizeClass {
        self.class
    }

    /// All counters, rank by rank.
    pub fn counter_ids(&self) -> impl Iterator<Item = CounterId> + use<> {
        (0..self.totals().counter).map(CounterId)
    }

    /// How many barriers all ranks have.
    #[must_use]
    pub fn count_meetings(&self) -> usize {
        self.totals().meeting as usize
    }

    /// How many ends of channels all ranks have.
    #[must_use]
    pub fn count_ends(&self) -> usize {
        self.totals().end as usize
    }

    /// The counter of the signals that arrive at an end of a channel.
    #[must_use]
    pub fn channel_counter(&self, end: EndOfRank) -> CounterId {
        CounterId(self.first(end.rank).counter + end.channel.0)
    }

    /// The counter of a semaphore.
    #[must_use]
    pub fn semaphore_counter(&self, rank: RankId, semaphore: SemaphoreId) -> CounterId {
        let channels = self.program.ranks.lookup(rank).map_or(0, |row| row.channels.len() as u32);
        CounterId(self.first(rank).counter + channels + semaphore.0)
    }

    /// The counter of a rank that is this.
    #[must_use]
    pub fn counter_on(&self, rank: RankId, kind: CounterKind) -> CounterId {
        match kind {
            CounterKind::Channel(channel) => self.channel_counter(EndOfRank { rank, channel }),
            CounterKind::Semaphore(semaphore) => self.semaphore_counter(rank, semaphore),
        }
    }

    /// What a counter is; none for an id of another program.
    #[must_use]
    pub fn counter(&self, id: CounterId) -> Option<CounterOfRank> {
        let rank = self.find_rank(|first| first.counter <= id.0)?;
        let (row, at) = (self.program.ranks.lookup(rank)?, id.0 - self.first(rank).counter);
        let kind = match at.checked_sub(row.channels.len() as u32) {
            None => CounterKind::Channel(ChannelId(at)),
            Some(at) => CounterKind::Semaphore(SemaphoreId(at)),
        };
        Some(CounterOfRank { rank, kind })
    }

    /// What a counter of a rank is, where it is known whose it is.
    #[must_use]
    pub fn kind_on(&self, rank: RankId, id: CounterId) -> CounterKind {
        let at = id.0.wrapping_sub(self.first(rank).counter);
        let channels = self.program.ranks.lookup(rank).map_or(0, |row| row.channels.len() as u32);
        match at.checked_sub(channels) {
            None => CounterKind::Channel(ChannelId(at)),
            Some(at) => CounterKind::Semaphore(SemaphoreId(at)),
        }
    }

    /// The value with which a counter starts: zero for channels. It may be negative.
    #[must_use]
    pub fn initial_value(&self, id: CounterId) -> i64 {
        let value = |counter: CounterOfRank| {
            let CounterKind::Semaphore(semaphore) = counter.kind else { return None };
            let row = self.program.ranks.lookup(counter.rank)?.semaphores.lookup(semaphore)?;
            Some(row.initial)
        };
        self.counter(id).and_then(value).unwrap_or(0)
    }

    /// What a barrier is; none for an id of another program.
    #[must_use]
    pub fn barrier(&self, id: MeetingId) -> Option<BarrierOfRank> {
        let rank = self.find_rank(|first| first.meeting <= id.0)?;
        let barrier = BarrierId(id.0 - self.first(rank).meeting);
        Some(BarrierOfRank { rank, barrier })
    }

    /// The blocks that meet at a barrier, ascending.
    #[must_use]
    pub fn members(&self, id: MeetingId) -> &'p [BlockId] {
        let blocks = |one: BarrierOfRank| {
            self.program.ranks.lookup(one.rank)?.barriers.lookup(one.barrier).map(Vec::as_slice)
        };
        self.barrier(id).and_then(blocks).unwrap_or_default()
    }

    /// The id of an end of a channel.
    #[must_use]
    pub fn end_id(&self, end: EndOfRank) -> EndId {
        EndId(self.first(end.rank).end + end.channel.0)
    }

    /// The end of a channel that has an id; none for an id of another program.
    #[must_use]
    pub fn end(&self, id: EndId) -> Option<EndOfRank> {
        let rank = self.find_rank(|first| first.end <= id.0)?;
        Some(EndOfRank { rank, channel: ChannelId(id.0 - self.first(rank).end) })
    }

    /// The last rank for whose first ids that holds; it holds for those of ranks before, too.
    fn find_rank(&self, is_before: impl Fn(&FirstIds) -> bool) -> Option<RankId> {
        let after = self.firsts.partition_point(is_before);
        Some(RankId(after.checked_sub(1)? as u32))
    }

    fn first(&self, rank: RankId) -> FirstIds {
        self.firsts.get(rank.0 as usize).copied().unwrap_or_default()
    }

    fn totals(&self) -> FirstIds {
        self.firsts.last().copied().unwrap_or_default()
    }
}
