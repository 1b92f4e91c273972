//! The blocks of a rank, interleaved so that every barrier stands where all its blocks have come to it.
//!
//! A barrier is one statement that all its blocks share; so is a pipeline in whose body blocks meet. Between these, the
//! blocks are opened one after another. Of several that could be next, the barrier with the lowest id is, which makes
//! their ids, given by first use, the same again.

use super::names::Names;
use super::ops::{self, Scene};
use super::page::Page;
use crate::ir::{Action, BarrierId, Block, BlockId, Op, OriginId, Pipeline, Program, Rank, RankId};
use std::collections::BTreeSet;

/// Adds a rank's operations.
pub(super) fn rank(program: &Program, names: &Names, id: RankId, rank: &Rank, page: &mut Page) {
    if rank.blocks.iter().all(is_hole) {
        return;
    }
    let scene = Scene { program, names, rank: id };
    page.push(&format!("\n    if rank == {} {{\n", id.0));
    for (block, row) in rank.blocks.entries().filter(|(_, row)| row.ops.is_empty() && !is_hole(row))
    {
        page.push(&format!("        block b[{}] {{}}{}\n", block.0, name(row)));
    }
    let strands = rank.blocks.entries().map(|(block, row)| Strand {
        block,
        ops: &row.ops,
        comment: name(row),
    });
    weave(&scene, rank, strands.collect(), 8, page);
    page.push("    }\n");
}

/// An id that no block of the source has.
fn is_hole(block: &Block) -> bool {
    block.name.is_empty() && block.ops.is_empty()
}

fn name(block: &Block) -> String {
    if block.name.is_empty() { String::new() } else { format!("    // {}", block.name) }
}

/// What is left of a block.
struct Strand<'a> {
    block: BlockId,
    ops: &'a [Op],
    /// Its name in the source, until it has been told.
    comment: String,
}

/// What a block waits for the others at.
enum Joint<'a> {
    Barrier(BarrierId),
    Pipeline(&'a Pipeline),
}

fn weave(scene: &Scene, rank: &Rank, mut strands: Vec<Strand>, indent: usize, page: &mut Page) {
    loop {
        strands.iter_mut().for_each(|strand| run(scene, strand, indent, page));
        strands.retain(|strand| !strand.ops.is_empty());
        let Some(members) = next(rank, &strands) else { return };
        meet(scene, rank, &mut strands, &members, indent, page);
    }
}

/// Adds a block's operations up to where it meets others.
fn run(scene: &Scene, strand: &mut Strand, indent: usize, page: &mut Page) {
    let length = strand.ops.iter().position(|op| joint(op).is_some()).unwrap_or(strand.ops.len());
    let (ops, rest) = strand.ops.split_at(length);
    strand.ops = rest;
    if ops.is_empty() {
        return;
    }
    let margin = " ".repeat(indent);
    page.push(&format!(
        "{margin}block b[{}] {{{}\n",
        strand.block.0,
        std::mem::take(&mut strand.comment)
    ));
    ops.iter().for_each(|op| ops::op(scene, op, indent + 4, page));
    page.push(&format!("{margin}}}\n"));
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

/// The blocks that meet next. Where nobody's barrier is complete, which no source makes, the first goes on alone.
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

/// The blocks whose pipelines belong together, since they meet inside, and the lowest barrier there.
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

/// Adds what the members do together, and takes it off each.
fn meet(
    scene: &Scene,
    rank: &Rank,
    strands: &mut [Strand],
    members: &BTreeSet<BlockId>,
    indent: usize,
    page: &mut Page,
) {
    let margin = " ".repeat(indent);
    let mut inner = Vec::new();
    let mut head = String::new();
    let mut origin: Option<OriginId> = None;
    for strand in strands.iter_mut().filter(|strand| members.contains(&strand.block)) {
        origin = origin.or(strand.ops.first().map(|op| op.origin));
        match current(strand) {
            Some(Joint::Pipeline(pipeline)) => {
                head = format!(
                    "{margin}pipeline unit = {}, chunks = {} {{\n",
                    pipeline.unit, pipeline.chunks
                );
                let comment = std::mem::take(&mut strand.comment);
                inner.push(Strand { block: strand.block, ops: &pipeline.body, comment });
            }
            Some(Joint::Barrier(_)) | None => {}
        }
        strand.ops = strand.ops.get(1..).unwrap_or_default();
    }
    origin.into_iter().for_each(|origin| page.mark(origin));
    if inner.is_empty() {
        let blocks = ops::numbered("b", members.iter().map(|block| block.0));
        page.push(&format!("{margin}barrier {blocks};\n"));
        return;
    }
    page.push(&head);
    weave(scene, rank, inner, indent + 4, page);
    page.push(&format!("{margin}}}\n"));
}
