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
    let strands =
        rank.blocks.entries().map(|(block, row)| Strand { block, ops: &row.ops }).collect();
    pieces(rank, strands)
}

/// The rest of a block.
struct Strand<'a> {
    block: BlockId,
    ops: &'a [Op],
}

/// A statement at which a block waits for others.
enum Joint<'a> {
    Barrier(BarrierId),
    Pipeline(&'a Pipeline),
}

fn pieces<'a>(rank: &Rank, mut strands: Vec<Strand<'a>>) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    loop {
        pieces.extend(strands.iter_mut().filter_map(run));
        strands.retain(|strand| !strand.ops.is_empty());
        let Some(members) = next(rank, &strands) else { return pieces };
        pieces.push(meet(rank, &mut strands, members));
    }
}

/// A block's operations up to the next place where it meets others.
fn run<'a>(strand: &mut Strand<'a>) -> Option<Piece<'a>> {
    let length = strand.ops.iter().position(|op| joint(op).is_some()).unwrap_or(strand.ops.len());
    let (ops, rest) = strand.ops.split_at(length);
    strand.ops = rest;
    (!ops.is_empty()).then_some(Piece::Block { block: strand.block, ops })
}

fn joint(op: &Op) -> Option<Joint<'_>> {
    match &op.action {
        Action::Barrier { id, .. } => Some(Joint::Barrier(*id)),
        Action::Pipeline(pipeline) => {
            pipeline.body.iter().any(|op| joint(op).is_some()).then_some(Joint::Pipeline(pipeline))
        }
        Action::Sync
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Transfer(_) => None,
    }
}

fn current<'a>(strand: &Strand<'a>) -> Option<Joint<'a>> {
    strand.ops.first().and_then(joint)
}

/// The blocks that meet next. If no barrier is complete, which source never leads to, the first block goes on alone.
fn next(rank: &Rank, strands: &[Strand]) -> Option<BTreeSet<BlockId>> {
    let mut best: Option<(BarrierId, BTreeSet<BlockId>)> = None;
    for strand in strands {
        let (id, members) = match current(strand)? {
            Joint::Barrier(id) => (id, of(rank, id)),
            Joint::Pipeline(pipeline) => together(rank, strands, strand.block, pipeline),
        };
        let comes = |member: &BlockId| {
            let other = strands.iter().find(|other| other.block == *member).and_then(current);
            match (current(strand), other) {
                (Some(Joint::Barrier(a)), Some(Joint::Barrier(b))) => a == b,
                (Some(Joint::Pipeline(a)), Some(Joint::Pipeline(b))) => {
                    (a.unit, a.chunks) == (b.unit, b.chunks)
                }
                (_, _) => false,
            }
        };
        let lower = best.as_ref().is_none_or(|(best, _)| id < *best);
        if lower && members.contains(&strand.block) && members.iter().all(comes) {
            best = Some((id, members));
        }
    }
    best.map(|(_, members)| members)
        .or_else(|| strands.first().map(|strand| BTreeSet::from([strand.block])))
}

fn of(rank: &Rank, id: BarrierId) -> BTreeSet<BlockId> {
    rank.barriers.lookup(id).into_iter().flatten().copied().collect()
}

/// The blocks whose pipelines belong together because they meet inside, and the lowest barrier there.
fn together(
    rank: &Rank,
    strands: &[Strand],
    block: BlockId,
    pipeline: &Pipeline,
) -> (BarrierId, BTreeSet<BlockId>) {
    let (mut members, mut lowest) = (BTreeSet::from([block]), BarrierId(u32::MAX));
    let mut new = vec![pipeline];
    while let Some(pipeline) = new.pop() {
        for op in &pipeline.body {
            let Some(Joint::Barrier(id)) = joint(op) else { continue };
            lowest = lowest.min(id);
            for member in of(rank, id) {
                let strand = strands.iter().find(|strand| strand.block == member);
                if let (true, Some(Joint::Pipeline(other))) =
                    (members.insert(member), strand.and_then(current))
                {
                    new.push(other);
                }
            }
        }
    }
    (lowest, members)
}

/// The statement that the members share, removed from each of them.
fn meet<'a>(rank: &Rank, strands: &mut [Strand<'a>], members: BTreeSet<BlockId>) -> Piece<'a> {
    let mut inner = Vec::new();
    let mut first: Option<&Pipeline> = None;
    let mut origin: Option<OriginId> = None;
    for strand in strands.iter_mut().filter(|strand| members.contains(&strand.block)) {
        origin = origin.or(strand.ops.first().map(|op| op.origin));
        if let Some(Joint::Pipeline(pipeline)) = current(strand) {
            first = first.or(Some(pipeline));
            inner.push(Strand { block: strand.block, ops: &pipeline.body });
        }
        strand.ops = strand.ops.get(1..).unwrap_or_default();
    }
    match first {
        None => Piece::Barrier { blocks: members, origin },
        Some(pipeline) => Piece::Pipeline { pipeline, origin, body: pieces(rank, inner) },
    }
}
