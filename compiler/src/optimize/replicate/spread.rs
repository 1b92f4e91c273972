//! When copies of a program stay out of each other's memory, and how to cut operands so that they do.
//!
//! Copy k of an access `b[i..+n]` covers the k-th n of the n * N new chunks. So two copies stay out of each
//! other's way if every two accesses to the same memory that overlap, one of them a write, are to the same
//! chunks. This is checked over all ranks, since peers write each other's memory, and in the memory that actually
//! holds a buffer, since input and output may share it.
//!
//! Accesses for which that does not hold, and all operations that are connected to them by overlapping
//! accesses, are cut to their greatest common size, counted from the beginning of memory. Three kinds of
//! operations cannot be cut, and a program in which one has to be is refused: one that a group shares, since
//! its blocks would get other bytes; one in a pipeline, since its windows would be others; and one whose reads
//! and writes overlap without being the same chunks.
//!
//! Packets are an exception, since whoever reads one waits until it is there: all copies of an access together cover the same
//! new chunks, however large its operands are, so each packet is written and read as before, if by another copy. What a
//! block knows by a packet may then be about another copy, too. So operations on packets stay whole only where the
//! checks find nothing in all copies together, and these are few enough to be checked.

use super::{copies, replicate};
use crate::check;
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::grain::gcd;
use crate::ir::memory::{self, Extent};
use crate::ir::{
    Action, Buffer, Op, OriginId, Pairing, Program, Rank, RankId, Transfer, Verb, all_ops, region,
};
use crate::optimize::operands::{self, Placed};
use crate::optimize::{blocks, split, sync};
use crate::table::Sets;
use std::collections::BTreeMap;

/// The most pieces into which all operands together are cut.
const MOST_PIECES: u64 = 4_000_000;

/// How many operations all copies may have to be checked together.
const MOST_CHECKED: usize = 20_000;

/// The transfers that must be cut, by their number in the program, with the chunks to which each is cut. Those of
/// a pipeline are counted where the pipeline is.
pub(super) type Cuts = BTreeMap<usize, u32>;

/// Cuts operands where the copies need it. A program that [`super::replicable`] refuses is left unchanged.
#[must_use]
pub fn spread(mut program: Program) -> Program {
    let Ok(cuts) = apart(&program) else { return program };
    if cuts.is_empty() {
        return program;
    }
    if let Some(whole) = with_whole_packets(&program, &cuts) {
        return whole;
    }
    cut_operands(&mut program, &cuts);
    program
}

fn cut_operands(program: &mut Program, cuts: &Cuts) {
    let mut number = 0;
    blocks::rewrite(program, |_, _, ops| cut_all(cuts, &mut number, ops));
}

/// The program with fewer of these cuts, since operations on packets stay whole, if its copies are then right.
fn with_whole_packets(program: &Program, cuts: &Cuts) -> Option<Program> {
    let operations = program.all_ops().count().saturating_mul(copies(program) as usize);
    if operations > MOST_CHECKED {
        return None;
    }
    let fewer = cuts_for(program, AllowedOverlap::ReadsAndPackets).ok()?;
    if fewer.len() >= cuts.len() {
        return None;
    }
    let mut whole = program.clone();
    cut_operands(&mut whole, &fewer);
    let all = replicate(sync::sync(split::split(whole.clone())));
    check::finds_nothing(&all).then_some(whole)
}

/// Which overlaps of accesses to different chunks are left as they are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AllowedOverlap {
    /// Of reads.
    Reads,
    /// Of reads, and of packets with packets.
    ReadsAndPackets,
}

/// What must be cut so that the copies stay out of each other's way.
///
/// # Errors
///
/// See [`super::replicable`].
pub(super) fn apart(program: &Program) -> Result<Cuts, Box<Diagnostic>> {
    let copies = copies(program);
    if copies == 1 {
        return Ok(Cuts::new());
    }
    for (id, rank) in program.ranks.entries() {
        let chunks = rank.input_chunks.max(rank.output_chunks).max(rank.scratch_chunks);
        if chunks.checked_mul(copies).is_none() {
            return Err(Box::new(too_many(id, chunks, copies)));
        }
    }
    if even(program) {
        return Ok(Cuts::new());
    }
    cuts_for(program, AllowedOverlap::Reads)
}

fn cuts_for(program: &Program, allowed: AllowedOverlap) -> Result<Cuts, Box<Diagnostic>> {
    let units: Vec<Unit<'_>> = units(program).collect();
    let mut accesses = accesses(program, &units);
    accesses.sort_unstable_by_key(|access| (access.extent, !access.write, access.unit));
    if allowed == AllowedOverlap::ReadsAndPackets {
        accesses = overlapping(&accesses)
            .filter(|cluster| !are_packets(cluster))
            .flatten()
            .copied()
            .collect();
    }
    let conflicts = conflicts(&accesses);
    if conflicts.is_empty() {
        return Ok(Cuts::new());
    }
    resolve(program, &units, &accesses, &conflicts)
}

/// Whether all accesses to each buffer have one size and the same offset modulo it. This holds for most programs, is
/// enough for them, and is found without a list of all accesses.
fn even(program: &Program) -> bool {
    let mut grids: BTreeMap<(RankId, Buffer), (u64, u64)> = BTreeMap::new();
    let mut even = true;
    for unit in units(program) {
        for operand in unit.transfer.operands() {
            for extent in memory::extents(&program.ranks, unit.rank, *operand) {
                let size = (extent.end - extent.start).max(1);
                let grid = (size, extent.start % size);
                even &= *grids.entry((extent.rank, extent.buffer)).or_insert(grid) == grid;
            }
        }
    }
    even
}

/// What cutting needs to know about a transfer.
struct Unit<'a> {
    transfer: &'a Transfer,
    rank: RankId,
    origin: OriginId,
    piped: bool,
}

#[derive(Clone, Copy)]
struct Access {
    extent: Extent,
    write: bool,
    /// Whether it is of packets, outside of pipelines.
    is_awaited: bool,
    /// The index of the transfer.
    unit: usize,
}

/// The transfers, in the order in which [`Cuts`] numbers them.
fn units(program: &Program) -> impl Iterator<Item = Unit<'_>> {
    program.ranks.entries().flat_map(|(rank, row)| {
        let ops = row.blocks.iter().flat_map(|block| &block.ops);
        ops.flat_map(move |outer| {
            let piped = outer.pipeline().is_some();
            all_ops(std::slice::from_ref(outer)).filter_map(move |op| {
                Some(Unit { transfer: op.transfer()?, rank, origin: op.origin, piped })
            })
        })
    })
}

fn accesses(program: &Program, units: &[Unit]) -> Vec<Access> {
    let mut accesses = Vec::new();
    for (number, unit) in units.iter().enumerate() {
        for access in memory::accesses(unit.transfer) {
            let extents = memory::extents(&program.ranks, unit.rank, access.operand);
            accesses.extend(extents.map(|extent| Access {
                extent,
                write: access.write,
                is_awaited: access.packets && !unit.piped,
                unit: number,
            }));
        }
    }
    accesses
}

/// Whether all accesses are of packets.
fn are_packets(cluster: &[Access]) -> bool {
    cluster.iter().all(|access| access.is_awaited)
}

/// Maximal runs of accesses that overlap, in memory order.
fn overlapping(accesses: &[Access]) -> impl Iterator<Item = &[Access]> {
    let mut rest = accesses;
    std::iter::from_fn(move || {
        let mut reach = rest.first()?.extent;
        let apart = |access: &Access| {
            let ends = !reach.overlaps(&access.extent);
            reach.end = reach.end.max(access.extent.end);
            ends
        };
        let length = rest.iter().skip(1).position(apart).map_or(rest.len(), |i| i + 1);
        let (cluster, others) = rest.split_at(length);
        rest = others;
        Some(cluster)
    })
}

/// For each cluster in which copies would touch each other's memory, two accesses
/// that show it: a write, and one to other chunks.
fn conflicts(accesses: &[Access]) -> Vec<(&Access, &Access)> {
    let mut found = Vec::new();
    for cluster in overlapping(accesses) {
        let uneven =
            |access: &&Access| cluster.first().is_some_and(|first| first.extent != access.extent);
        let write = cluster.iter().find(|access| access.write);
        if let (Some(write), Some(other)) = (write, cluster.iter().find(uneven)) {
            let clash = |access: &&Access| {
                access.extent != write.extent && access.extent.overlaps(&write.extent)
            };
            found.push((write, cluster.iter().find(clash).unwrap_or(other)));
        }
    }
    found
}

/// For the transfers that must be cut, the common size of all those that are connected.
fn resolve(
    program: &Program,
    units: &[Unit],
    accesses: &[Access],
    conflicts: &[(&Access, &Access)],
) -> Result<Cuts, Box<Diagnostic>> {
    let mut sets = Sets::new(units.len());
    let written = |cluster: &&[Access]| cluster.iter().any(|access| access.write);
    for cluster in overlapping(accesses).filter(written) {
        cluster.windows(2).for_each(|pair| {
            if let [a, b] = pair {
                sets.unite(a.unit, b.unit);
            }
        });
    }
    let mut common: BTreeMap<usize, u64> = BTreeMap::new();
    for cluster in overlapping(accesses) {
        let grid = written(&cluster);
        for access in cluster {
            let size = common.entry(sets.find(access.unit)).or_insert(0);
            let from = if grid { access.extent.start } else { 0 };
            *size = gcd(*size, gcd(from, access.extent.end - access.extent.start));
        }
    }
    let mut causes: BTreeMap<usize, (&Access, &Access)> = BTreeMap::new();
    for pair in conflicts {
        causes.entry(sets.find(pair.0.unit)).or_insert(*pair);
    }
    let (mut cuts, mut pieces) = (Cuts::new(), 0);
    for (number, unit) in units.iter().enumerate() {
        let set = sets.find(number);
        let (Some(pair), Some(size)) = (causes.get(&set), common.get(&set)) else { continue };
        let size = u32::try_from(*size).unwrap_or(u32::MAX);
        if unit.transfer.destinations.iter().all(|operand| operand.size == size) {
            continue;
        }
        if let Some(why) = uncuttable(program, unit) {
            return Err(Box::new(together(program, units, *pair, (unit, why))));
        }
        pieces += unit
            .transfer
            .destinations
            .iter()
            .map(|operand| u64::from(operand.size / size))
            .sum::<u64>();
        if pieces > MOST_PIECES {
            return Err(Box::new(too_many_pieces(program, unit, size)));
        }
        cuts.insert(number, size);
    }
    Ok(cuts)
}

fn too_many_pieces(program: &Program, unit: &Unit, size: u32) -> Diagnostic {
    let chunks = if size == 1 { "single chunks".to_owned() } else { format!("{size} chunks each") };
    let message = format!("for `instances`, this would be cut into more than {MOST_PIECES} pieces");
    Diagnostic::new(Code::E0808, program.origins.at(unit.origin), message)
        .note(format!("other operations access {chunks} of the same memory, and copies must stay out of each other's way"))
        .help("let all operations on a buffer have the same size")
}

fn uncuttable(program: &Program, unit: &Unit) -> Option<&'static str> {
    if unit.transfer.slice.is_some() {
        return Some("is shared by a group, whose blocks would get different bytes");
    }
    if unit.piped {
        return Some("goes through a pipeline, whose windows would change");
    }
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for access in memory::accesses(unit.transfer) {
        let list = if access.write { &mut writes } else { &mut reads };
        list.extend(memory::extents(&program.ranks, unit.rank, access.operand));
    }
    let crosses = |write: &Extent| reads.iter().any(|read| read.overlaps(write) && read != write);
    writes.iter().any(crosses).then_some("reads and writes chunks that overlap but differ")
}

fn cut_all(cuts: &Cuts, number: &mut usize, ops: Vec<Op>) -> Vec<Op> {
    let mut out = Vec::with_capacity(ops.len());
    for mut op in ops {
        match &mut op.action {
            Action::Transfer(transfer) => {
                let size = cuts.get(number);
                *number += 1;
                if let Some(size) = size {
                    let pieces = cut(transfer, *size).into_iter();
                    out.extend(
                        pieces.map(|piece| Op { action: Action::Transfer(piece), ..op.clone() }),
                    );
                    continue;
                }
            }
            Action::Pipeline(pipeline) => {
                pipeline.body = cut_all(cuts, number, std::mem::take(&mut pipeline.body));
            }
            Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_) => {}
        }
        out.push(op);
    }
    out
}

/// A transfer whose operands have `size` chunks each: a longer list of pairs, or several reductions.
fn cut(transfer: &Transfer, size: u32) -> Vec<Transfer> {
    let parts = operands::parts(transfer);
    match transfer.verb.row().pairing {
        Pairing::Combine => {
            let whole = parts.destinations.first().map_or(0, |placed| placed.operand.size);
            let piece = |at: u32| operands::Parts {
                sources: parts.sources.iter().map(|placed| part(placed, at, size)).collect(),
                destinations: parts
                    .destinations
                    .iter()
                    .map(|placed| part(placed, at, size))
                    .collect(),
            };
            offsets(whole, size)
                .map(|at| operands::assemble(transfer, transfer.verb, &piece(at)))
                .collect()
        }
        Pairing::Pairs | Pairing::OneToAll if transfer.verb.signals() => {
            let (mut heads, mut tails) = (Vec::new(), Vec::new());
            for (source, destination) in operands::pairs(&parts) {
                let piece = |at| (part(&source, at, size), part(&destination, at, size));
                let mut pieces: Vec<_> = offsets(source.operand.size, size).map(piece).collect();
                tails.extend(pieces.pop());
                heads.append(&mut pieces);
            }
            // One signal for each pair, as before, after all of its pieces: a port channel keeps the order.
            let mut cut = Vec::new();
            if !heads.is_empty() {
                cut.push(operands::assemble(transfer, Verb::Put, &operands::unpaired(heads)));
            }
            cut.push(operands::assemble(transfer, transfer.verb, &operands::unpaired(tails)));
            cut
        }
        Pairing::Pairs | Pairing::OneToAll => {
            let pairs = operands::pairs(&parts).flat_map(|(source, destination)| {
                offsets(source.operand.size, size)
                    .map(move |at| (part(&source, at, size), part(&destination, at, size)))
            });
            vec![operands::assemble(transfer, transfer.verb, &operands::unpaired(pairs))]
        }
    }
}

fn offsets(whole: u32, size: u32) -> impl Iterator<Item = u32> {
    (0..whole).step_by(size.max(1) as usize)
}

fn part(placed: &Placed, at: u32, size: u32) -> Placed {
    let operand = crate::ir::Operand { index: placed.operand.index + at, size, ..placed.operand };
    Placed { operand, channel: placed.channel }
}

fn too_many(rank: RankId, chunks: u32, copies: u32) -> Diagnostic {
    let message = format!(
        "{copies} instances of {chunks} chunks on rank {} are more than a plan can hold",
        rank.0
    );
    Diagnostic::without_place(Code::E0808, message).help("use fewer `instances`")
}

/// Reports two accesses with which copies would touch each other's memory, and the operation that cannot be cut.
fn together(
    program: &Program,
    units: &[Unit],
    pair: (&Access, &Access),
    (stiff, why): (&Unit, &str),
) -> Diagnostic {
    let message = format!("the {} instances of this program would overlap", copies(program));
    let mut report = Diagnostic::new(Code::E0808, program.origins.at(stiff.origin), message)
        .label(format!("this would have to be split, but it {why}"));
    for access in [pair.0, pair.1] {
        let Some(unit) = units.get(access.unit) else { continue };
        let Some(owner) = program.ranks.lookup(access.extent.rank) else { continue };
        let verb = if access.write { "writes" } else { "reads" };
        let what = chunks(owner, &access.extent);
        let whose = match access.extent.rank == unit.rank {
            true => String::new(),
            false => format!(" of rank {}", access.extent.rank.0),
        };
        let text = format!("rank {} {verb} {what}{whose} as one piece", unit.rank.0);
        report = report.and(program.origins.at(unit.origin), text);
    }
    report
        .note("each instance takes its own part of every operand, and parts of different operands would overlap")
        .help("let every operation on these chunks name the same ones, or set `instances = 1`")
}

/// A range of memory as an author would write it, relative to the region that it is in.
fn chunks(rank: &Rank, extent: &Extent) -> String {
    let size = extent.end - extent.start;
    let (name, start) = region::at(&rank.regions, extent.buffer, extent.start);
    if size == 1 { format!("`{name}[{start}]`") } else { format!("`{name}[{start}..+{size}]`") }
}
