//! The blocks of a rank, interleaved so that every barrier comes where all its blocks have reached it.
//!
//! In: a rank. Out: its operations in the order in which source text has them.
//!
//! A barrier is one statement that all its blocks share; so is a pipeline in whose body blocks meet. Between these, the
//! blocks are opened one after another. If several barriers could be next, the one with the lowest id is, so that their
//! ids, which are given by first use, are the same again.

use super::{Action, BarrierId, BlockId, Op, OriginId, Pipeline, Rank};
use std::collections::BTreeSet;

/// A statement outside blocks.
pub(crate) enum Piece<'a> {
    /// A block, opened for some of its operations.
    Block {
        /// The block.
        block: BlockId,
        /// The operations.
        ops: &'a [Op],
    },
    /// A barrier.
    Barrier {
        /// The blocks that meet, ascending.
        blocks: BTreeSet<BlockId>,
        /// The origin that the first of them has.
        origin: Option<OriginId>,
    },
    /// A pipeline in whose body blocks meet.
    Pipeline {
        /// The first block's, for its unit and chunks.
        pipeline: &'a Pipeline,
        /// Where it comes from.
        origin: Option<OriginId>,
        /// The statements of all of them in it.
        body: Vec<Piece<'a>>,
    },
}

/// The operations of a rank in an order that source text can have.
pub(crate) fn weave(rank: &Rank) -> Vec<Piece<'_>> {
    let remaining =
        rank.blocks.entries().map(|(block, row)| Remaining { block, ops: &row.ops }).collect();
    pieces(rank, remaining)
}

/// The rest of a block.
struct Remaining<'a> {
    block: BlockId,
    ops: &'a [Op],
}

/// A statement at which a block waits for others.
enum SyncPoint<'a> {
    Barrier(BarrierId),
    Pipeline(&'a Pipeline),
}

fn pieces<'a>(rank: &Rank, mut remaining: Vec<Remaining<'a>>) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    loop {
        pieces.extend(remaining.iter_mut().filter_map(run));
        remaining.retain(|rest| !rest.ops.is_empty());
        let Some(members) = next(rank, &remaining) else { return pieces };
        pieces.push(meet(rank, &mut remaining, members));
    }
}

/// A block's operations up to the next place where it meets others.
fn run<'a>(rest: &mut Remaining<'a>) -> Option<Piece<'a>> {
    let length = rest.ops.iter().position(|op| sync_point(op).is_some()).unwrap_or(rest.ops.len());
    let (ops, after) = rest.ops.split_at(length);
    rest.ops = after;
    (!ops.is_empty()).then_some(Piece::Block { block: rest.block, ops })
}

fn sync_point(op: &Op) -> Option<SyncPoint<'_>> {
    match &op.action {
        Action::Barrier { id, .. } => Some(SyncPoint::Barrier(*id)),
        Action::Pipeline(pipeline) => pipeline
            .body
            .iter()
            .any(|op| sync_point(op).is_some())
            .then_some(SyncPoint::Pipeline(pipeline)),
        Action::Sync
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Transfer(_) => None,
    }
}

fn current<'a>(rest: &Remaining<'a>) -> Option<SyncPoint<'a>> {
    rest.ops.first().and_then(sync_point)
}

/// The blocks that meet next. If no barrier is complete, which source never leads to, the first block goes on alone.
fn next(rank: &Rank, remaining: &[Remaining]) -> Option<BTreeSet<BlockId>> {
    let mut best: Option<(BarrierId, BTreeSet<BlockId>)> = None;
    for rest in remaining {
        let (id, members) = match current(rest)? {
            SyncPoint::Barrier(id) => (id, of(rank, id)),
            SyncPoint::Pipeline(pipeline) => together(rank, remaining, rest.block, pipeline),
        };
        let comes = |member: &BlockId| {
            let other = remaining.iter().find(|other| other.block == *member).and_then(current);
            match (current(rest), other) {
                (Some(SyncPoint::Barrier(a)), Some(SyncPoint::Barrier(b))) => a == b,
                (Some(SyncPoint::Pipeline(a)), Some(SyncPoint::Pipeline(b))) => {
                    (a.unit, a.chunks) == (b.unit, b.chunks)
                }
                (_, _) => false,
            }
        };
        let lower = best.as_ref().is_none_or(|(best, _)| id < *best);
        if lower && members.contains(&rest.block) && members.iter().all(comes) {
            best = Some((id, members));
        }
    }
    best.map(|(_, members)| members)
        .or_else(|| remaining.first().map(|rest| BTreeSet::from([rest.block])))
}

fn of(rank: &Rank, id: BarrierId) -> BTreeSet<BlockId> {
    rank.barriers.lookup(id).into_iter().flatten().copied().collect()
}

/// The blocks whose pipelines belong together because they meet inside, and the lowest barrier there.
fn together(
    rank: &Rank,
    remaining: &[Remaining],
    block: BlockId,
    pipeline: &Pipeline,
) -> (BarrierId, BTreeSet<BlockId>) {
    let (mut members, mut lowest) = (BTreeSet::from([block]), BarrierId(u32::MAX));
    let mut new = vec![pipeline];
    while let Some(pipeline) = new.pop() {
        for op in &pipeline.body {
            let Some(SyncPoint::Barrier(id)) = sync_point(op) else { continue };
            lowest = lowest.min(id);
            for member in of(rank, id) {
                let rest = remaining.iter().find(|rest| rest.block == member);
                if let (true, Some(SyncPoint::Pipeline(other))) =
                    (members.insert(member), rest.and_then(current))
                {
                    new.push(other);
                }
            }
        }
    }
    (lowest, members)
}

/// The statement that the members share, removed from each of them.
fn meet<'a>(rank: &Rank, remaining: &mut [Remaining<'a>], members: BTreeSet<BlockId>) -> Piece<'a> {
    let mut inner = Vec::new();
    let mut first: Option<&Pipeline> = None;
    let mut origin: Option<OriginId> = None;
    for rest in remaining.iter_mut().filter(|rest| members.contains(&rest.block)) {
        origin = origin.or(rest.ops.first().map(|op| op.origin));
        if let Some(SyncPoint::Pipeline(pipeline)) = current(rest) {
            first = first.or(Some(pipeline));
            inner.push(Remaining { block: rest.block, ops: &pipeline.body });
        }
        rest.ops = rest.ops.get(1..).unwrap_or_default();
    }
    match first {
        None => Piece::Barrier { blocks: members, origin },
        Some(pipeline) => Piece::Pipeline { pipeline, origin, body: pieces(rank, inner) },
    }
}
