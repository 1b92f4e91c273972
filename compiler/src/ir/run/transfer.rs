//! A data operation, element by element.

use super::memory::{Cell, Memory};
use super::value::{Value, combine};
use crate::ir::memory::{source_is_packets, writes_packets};
use crate::ir::{Link, Operand, OriginId, Program, RankId, Slice, Transfer, Verb, Where};
use std::ops::Range;

/// An operation in a block, with what it covers of its operands.
pub(super) struct Job<'a> {
    /// The program.
    pub(super) program: &'a Program,
    /// The rank of the block.
    pub(super) here: RankId,
    /// What is to be done.
    pub(super) transfer: &'a Transfer,
    /// Where it comes from.
    pub(super) origin: OriginId,
    /// In a pipeline, which cells of its operands, counted from their beginning.
    pub(super) window: Option<Range<u64>>,
}

/// What a step of an operation came to.
#[derive(Default)]
pub(super) struct Progress {
    /// Whether all elements are done.
    pub(super) finished: bool,
    /// The ranks that packets were written on.
    pub(super) packets: Vec<RankId>,
    /// How many elements were looked at.
    pub(super) looked: u64,
}

/// One or several sources, and where their reduction goes.
struct Lane {
    sources: Vec<(usize, Operand)>,
    destinations: Vec<(usize, Operand)>,
}

/// Does every element whose packets are there; `done` says which ones were done before.
pub(super) fn step(memory: &mut Memory, job: &Job, done: &mut Vec<bool>) -> Progress {
    let mut progress = Progress { finished: true, ..Progress::default() };
    let mut element = 0;
    for lane in lanes(job.transfer) {
        let size = lane.destinations.first().map_or(0, |(_, operand)| operand.size);
        for at in covered(job, u64::from(size) * u64::from(memory.parts())) {
            if done.len() <= element {
                done.resize(element + 1, false);
            }
            let Some(slot) = done.get_mut(element) else { continue };
            element += 1;
            if *slot {
                continue;
            }
            progress.looked += 1;
            match value(memory, job, &lane, at) {
                Some(value) => {
                    *slot = true;
                    write(memory, job, &lane, at, &value, &mut progress.packets);
                }
                None => progress.finished = false,
            }
        }
    }
    progress
}

/// The pairs of a list; of a reduction all that it reads and writes.
fn lanes(transfer: &Transfer) -> Vec<Lane> {
    let sources = || transfer.sources.iter().copied().enumerate();
    let destinations = transfer.destinations.iter().copied().enumerate();
    match transfer.verb {
        Verb::Reduce | Verb::ReducePackets => {
            vec![Lane { sources: sources().collect(), destinations: destinations.collect() }]
        }
        Verb::Copy
        | Verb::Put
        | Verb::PutWithSignal
        | Verb::PutWithSignalAndFlush
        | Verb::Get
        | Verb::Broadcast
        | Verb::PutPackets
        | Verb::ReadPutPackets
        | Verb::CopyPackets
        | Verb::UnpackPackets
        | Verb::BroadcastPackets => {
            let single = transfer.sources.len() == 1;
            let source = |k: usize| sources().nth(if single { 0 } else { k }).into_iter().collect();
            destinations
                .map(|(k, to)| Lane { sources: source(k), destinations: vec![(k, to)] })
                .collect()
        }
    }
}

/// Which cells of an operand of `length` cells are this block's, in this window.
fn covered(job: &Job, length: u64) -> Range<u64> {
    let slice = job.transfer.slice.unwrap_or(Slice { index: 0, count: 1 });
    let bound = |i: u64| length.saturating_mul(i) / u64::from(slice.count.max(1));
    let part = bound(u64::from(slice.index))..bound(u64::from(slice.index) + 1);
    match &job.window {
        Some(window) => part.start + window.start..(part.start + window.end).min(part.end),
        None => part,
    }
}

/// What an element comes to; none while a packet of it is missing.
fn value(memory: &Memory, job: &Job, lane: &Lane, at: u64) -> Option<Value> {
    let mut sum: Option<Value> = None;
    for (index, operand) in &lane.sources {
        let cell = u64::from(operand.index) * u64::from(memory.parts()) + at;
        for rank in places(job, operand) {
            let read = if source_is_packets(job.transfer, *index) {
                memory.packet(rank, cell)?.clone()
            } else {
                memory
                    .read(rank, operand.buffer, cell)
                    .map(|cell| cell.value.clone())
                    .unwrap_or_default()
            };
            sum = Some(match sum {
                Some(sum) => combine(job.transfer.reduce, &sum, &read),
                None => read,
            });
        }
    }
    Some(sum.unwrap_or_default())
}

fn write(
    memory: &mut Memory,
    job: &Job,
    lane: &Lane,
    at: u64,
    value: &Value,
    packets: &mut Vec<RankId>,
) {
    for (index, operand) in &lane.destinations {
        let cell = u64::from(operand.index) * u64::from(memory.parts()) + at;
        for rank in places(job, operand) {
            let new = Cell { value: value.clone(), writer: Some(job.origin) };
            if writes_packets(job.transfer.verb, *index) {
                memory.write_packet(rank, cell, new);
                if packets.last() != Some(&rank) {
                    packets.push(rank);
                }
            } else {
                memory.write(rank, operand.buffer, cell, new);
            }
        }
    }
}

/// The ranks that an operand lies on.
fn places(job: &Job, operand: &Operand) -> smallvec::SmallVec<[RankId; 1]> {
    match operand.place {
        Where::Local => smallvec::smallvec![job.here],
        Where::Remote(peer) => smallvec::smallvec![peer],
        Where::Switch(channel) => {
            let channels = job.program.ranks.lookup(job.here).map(|rank| &rank.channels);
            match channels
                .and_then(|channels| channels.lookup(channel))
                .map(|channel| &channel.link)
            {
                Some(Link::Switch(group)) => group.ranks.iter().copied().collect(),
                Some(Link::Memory(_) | Link::Port(_)) | None => smallvec::smallvec![],
            }
        }
    }
}
