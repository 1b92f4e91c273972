//! Carries out a data operation, element by element.

use super::memory::{Cell, Memory};
use super::tree::{Tree, TreeId};
use super::value::{Value, combine};
use crate::ir::memory::{Group, covered, groups, ranks_of, source_is_packets, writes_packets};
use crate::ir::{ChannelKind, Operand, OriginId, Program, RankId, Transfer};
use smallvec::SmallVec;
use std::ops::Range;

/// An operation in a block, with the part of its operands that it covers.
pub(super) struct Job<'a> {
    /// The program.
    pub(super) program: &'a Program,
    /// The rank of the block.
    pub(super) here: RankId,
    /// The operation.
    pub(super) transfer: &'a Transfer,
    /// Where it comes from.
    pub(super) origin: OriginId,
    /// In a pipeline, the cells of its operands that it covers, counted from their beginning.
    pub(super) window: Option<Range<u64>>,
}

/// The progress that a step of an operation made.
#[derive(Default)]
pub(super) struct Progress {
    /// Whether all elements are done.
    pub(super) finished: bool,
    /// The ranks that packets were written on.
    pub(super) packets: Vec<RankId>,
    /// How many elements were tried.
    pub(super) looked: u64,
}

/// Processes every element whose packets are there; `done` says which ones were done before.
pub(super) fn step(memory: &mut Memory, job: &Job, done: &mut Vec<bool>) -> Progress {
    let mut progress = Progress { finished: true, ..Progress::default() };
    if job.transfer.via == Some(ChannelKind::Port) {
        progress.finished = are_there(memory, job, &mut progress.looked);
        if !progress.finished {
            return progress;
        }
    }
    let mut element = 0;
    for group in groups(job.transfer) {
        let size = group.destinations.first().map_or(0, |(_, operand)| operand.size);
        let length = memory.grain().cells(u64::from(size));
        for at in covered(job.transfer.slice, job.window.as_ref(), length) {
            if done.len() <= element {
                done.resize(element + 1, false);
            }
            let Some(slot) = done.get_mut(element) else { continue };
            element += 1;
            if *slot {
                continue;
            }
            progress.looked += 1;
            match value(memory, job, &group, at) {
                Some((value, operands)) => {
                    let value = with_tree(memory, job, value, operands);
                    *slot = true;
                    write(memory, job, &group, at, &value, &mut progress.packets);
                }
                None => progress.finished = false,
            }
        }
    }
    progress
}

/// Whether no packet is missing of what a transfer reads; `looked` counts the elements.
fn are_there(memory: &Memory, job: &Job, looked: &mut u64) -> bool {
    groups(job.transfer).iter().all(|group| {
        let packets: SmallVec<[&Operand; 2]> = group
            .sources
            .iter()
            .filter(|(index, _)| source_is_packets(job.transfer, *index))
            .map(|(_, operand)| operand)
            .collect();
        let size = group.destinations.first().map_or(0, |(_, operand)| operand.size);
        let length = memory.grain().cells(u64::from(size));
        packets.is_empty()
            || covered(job.transfer.slice, job.window.as_ref(), length).all(|at| {
                *looked += 1;
                packets.iter().all(|operand| {
                    let cell = memory.grain().cells(u64::from(operand.index)) + at;
                    places(job, operand).all(|rank| memory.packet(rank, cell).is_some())
                })
            })
    })
}

/// A value with the way in which it was computed, if that is kept and it is new.
fn with_tree(memory: &mut Memory, job: &Job, value: Value, operands: Operands) -> Value {
    let op = job.transfer.reduce;
    let Some(trees) = memory.trees_mut().filter(|_| operands.len() > 1) else { return value };
    let tree = match job.transfer.sources.iter().any(Operand::is_switch) {
        true => trees.switched(op),
        false => {
            let unwritten = |id: TreeId| {
                if id == TreeId::default() { trees.id(Tree::Nothing) } else { id }
            };
            let operands = operands.into_iter().map(unwritten).collect();
            trees.reduced(op, operands)
        }
    };
    value.with_tree(tree)
}

/// How the operands of an element were computed, in order; none where that is not kept.
type Operands = SmallVec<[TreeId; 2]>;

/// The value of an element, with its operands; none while one of its packets is missing.
fn value(memory: &Memory, job: &Job, group: &Group, at: u64) -> Option<(Value, Operands)> {
    let mut read: SmallVec<[&Value; 2]> = SmallVec::new();
    for (index, operand) in &group.sources {
        let cell = memory.grain().cells(u64::from(operand.index)) + at;
        let packets = source_is_packets(job.transfer, *index);
        for rank in places(job, operand) {
            read.push(match packets {
                true => memory.packet(rank, cell)?,
                false => memory
                    .read(rank, operand.buffer, cell)
                    .map_or(&Value::Nothing, |cell| &cell.value),
            });
        }
    }
    let kept = memory.trees().is_some() && read.len() > 1;
    let operands = read.iter().take(if kept { read.len() } else { 0 }).map(|one| one.tree());
    let operands = operands.collect();
    let value = match read.as_slice() {
        [] => Value::default(),
        [one] => (*one).clone(),
        all => combine(job.transfer.reduce, all),
    };
    Some((value, operands))
}

fn write(
    memory: &mut Memory,
    job: &Job,
    group: &Group,
    at: u64,
    value: &Value,
    packets: &mut Vec<RankId>,
) {
    for (index, operand) in &group.destinations {
        let cell = memory.grain().cells(u64::from(operand.index)) + at;
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

/// The ranks on which an operand lies.
fn places(job: &Job, operand: &Operand) -> impl Iterator<Item = RankId> {
    ranks_of(&job.program.ranks, job.here, operand.place)
}
