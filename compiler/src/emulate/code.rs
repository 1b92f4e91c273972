//! What each block does, step by step: a pipeline's body is repeated for each turn, and a request to a proxy
//! is a step separate from the waiting before it.

use super::MOST_STEPS;
use crate::ir::{Action, ChannelKind, Op, Program, Rank, Transfer, Verb};
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
        let mut steps = Vec::new();
        for op in &block.ops {
            add(op, chunk_bytes, left, &mut steps)?;
        }
        blocks.push(steps);
    }
    Some(blocks)
}

fn add<'p>(op: &'p Op, chunk_bytes: u64, left: &mut u64, steps: &mut Vec<Step<'p>>) -> Option<()> {
    let Action::Pipeline(pipeline) = &op.action else { return put(op, None, left, steps) };
    let unit = pipeline.unit.max(1);
    let turns = u64::from(pipeline.chunks).saturating_mul(chunk_bytes).div_ceil(unit);
    for turn in 0..turns {
        for inner in &pipeline.body {
            put(inner, Some(turn * unit..(turn + 1) * unit), left, steps)?;
        }
    }
    Some(())
}

fn put<'p>(
    op: &'p Op,
    window: Option<Range<u64>>,
    left: &mut u64,
    steps: &mut Vec<Step<'p>>,
) -> Option<()> {
    *left = left.checked_sub(1)?;
    for kind in kinds(op) {
        steps.push(Step { op, kind: *kind, window: window.clone() });
    }
    Some(())
}

fn kinds(op: &Op) -> &'static [Kind] {
    match &op.action {
        Action::Transfer(transfer) if is_push(transfer) => {
            if transfer.verb == Verb::ReadPutPackets {
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
