//! What each block does, step by step: a pipeline's body is repeated for each turn, and a request to a proxy
//! is a step separate from the waiting before it.

use super::MOST_STEPS;
use crate::ir::memory::reads_packets;
use crate::ir::{Action, ChannelKind, Op, Pipeline, Program, Rank, Transfer};
use std::ops::Range;

/// The steps of all ranks' blocks.
pub(super) struct Code<'p> {
    /// For each rank, the steps of each block.
    pub(super) ranks: Vec<Vec<Vec<Step<'p>>>>,
}

/// A step of a block.
pub(super) struct Step<'p> {
    pub(super) op: &'p Op,
    pub(super) kind: Kind,
    /// In a pipeline: the range of an operand's bytes.
    pub(super) window: Option<Range<u64>>,
}

/// Which part of its operation a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// All of it.
    Whole,
    /// Waiting for the packets that a proxy will move.
    Observe,
    /// The meeting of the threads before the request to the proxy.
    Meet,
    /// The request to the proxy.
    Push,
}

impl<'p> Code<'p> {
    fn of(program: &'p Program, chunk_bytes: u64, left: &mut u64) -> Option<Code<'p>> {
        let blocks = program.ranks.iter().map(|rank| blocks(rank, chunk_bytes, left));
        Some(Code { ranks: blocks.collect::<Option<_>>()? })
    }
}

/// The steps of a program for each size of a chunk in bytes; none if there are too many.
pub(super) fn of_sizes<'p>(program: &'p Program, sizes: &[u64]) -> Option<Vec<Code<'p>>> {
    let mut left = MOST_STEPS;
    sizes.iter().map(|chunk_bytes| Code::of(program, *chunk_bytes, &mut left)).collect()
}

fn blocks<'p>(rank: &'p Rank, chunk_bytes: u64, left: &mut u64) -> Option<Vec<Vec<Step<'p>>>> {
    let mut blocks = Vec::new();
    for block in &rank.blocks {
        let counts = block.ops.iter().map(|op| count_steps(op, chunk_bytes));
        let count = counts.fold(0, u64::saturating_add);
        *left = left.checked_sub(count)?;
        // Growing step by step would take twice the memory.
        let mut steps = Vec::with_capacity(usize::try_from(count).ok()?);
        for op in &block.ops {
            add(op, chunk_bytes, &mut steps);
        }
        blocks.push(steps);
    }
    Some(blocks)
}

fn count_turns(pipeline: &Pipeline, chunk_bytes: u64) -> u64 {
    u64::from(pipeline.chunks).saturating_mul(chunk_bytes).div_ceil(pipeline.unit.max(1))
}

fn count_steps(op: &Op, chunk_bytes: u64) -> u64 {
    let Action::Pipeline(pipeline) = &op.action else { return kinds(op).len() as u64 };
    let turn: u64 = pipeline.body.iter().map(|inner| kinds(inner).len() as u64).sum();
    count_turns(pipeline, chunk_bytes).saturating_mul(turn)
}

fn add<'p>(op: &'p Op, chunk_bytes: u64, steps: &mut Vec<Step<'p>>) {
    let Action::Pipeline(pipeline) = &op.action else { return put(op, None, steps) };
    let unit = pipeline.unit.max(1);
    for turn in 0..count_turns(pipeline, chunk_bytes) {
        for inner in &pipeline.body {
            put(inner, Some(turn * unit..(turn + 1) * unit), steps);
        }
    }
}

fn put<'p>(op: &'p Op, window: Option<Range<u64>>, steps: &mut Vec<Step<'p>>) {
    for kind in kinds(op) {
        steps.push(Step { op, kind: *kind, window: window.clone() });
    }
}

fn kinds(op: &Op) -> &'static [Kind] {
    match &op.action {
        Action::Transfer(transfer) if is_push(transfer) => {
            if reads_packets(transfer.verb, 0) {
                &[Kind::Observe, Kind::Meet, Kind::Push]
            } else {
                &[Kind::Push]
            }
        }
        Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Transfer(_)
        | Action::Pipeline(_) => &[Kind::Whole],
    }
}

fn is_push(transfer: &Transfer) -> bool {
    transfer.via == Some(ChannelKind::Port)
}
