//! Random programs, with one user for each counter.
//!
//! Two to four ranks with up to three blocks of up to eight operations; two memory channels and a port channel between
//! any two ranks, and two semaphores. The block that signals over an end of a channel and the one that waits are fixed
//! once for each program. A signal and its wait are added together, so that most programs finish; sometimes two
//! operations of a block are swapped. Nothing is promised.

use crate::lot::Lot;
use compiler::ir::{
    Action, BarrierId, Block, BlockId, Buffer, Channel, ChannelId, ChannelKind, Collective, Joins,
    Link, List, Op, Operand, Options, Origin, OriginId, Origins, Program, Protocol, Rank, RankId,
    ReduceOp, Semaphore, SemaphoreId, Signal, Transfer, Verb, Where,
};
use compiler::source::{FileId, Place, Span};
use compiler::table::Id as _;

/// Chunks of each buffer.
const CHUNKS: u32 = 3;

/// Ends of channels to each peer: two memory channels, one port channel.
const ENDS: u32 = 3;

/// The most operations of a block.
const LONGEST: usize = 8;

/// Makes a program; with `mixed`, packets may overlap plain chunks of scratch.
pub(crate) fn program(seed: u64, mixed: bool) -> Program {
    let mut lot = Lot(seed);
    let ranks = 2 + lot.below(2) + lot.below(2);
    let blocks = 1 + lot.below(3);
    let mut program = empty(ranks, blocks, &mut lot);
    let talks = 1 + lot.below(ranks * blocks * 3);
    for _ in 0..talks {
        match lot.below(10) {
            0..=3 => told(&mut program, &mut lot),
            4 => handed_on(&mut program, &mut lot),
            5 if lot.once_in(3) => meeting(&mut program, &mut lot),
            6 => packets(&mut program, &mut lot, mixed),
            _ => data(&mut program, &mut lot),
        }
    }
    if lot.once_in(3) {
        let (rank, block) = (RankId(lot.below(ranks)), BlockId(lot.below(blocks)));
        let ops = &mut program.ranks[rank].blocks[block].ops;
        if ops.len() > 1 {
            let at = lot.below(ops.len() as u32 - 1) as usize;
            ops.swap(at, at + 1);
        }
    }
    program
}

/// A program without operations.
pub(crate) fn empty(ranks: u32, blocks: u32, lot: &mut Lot) -> Program {
    let place = Place::Source(Span { file: FileId(0), start: 0, end: 0 });
    let rows: Vec<Origin> = vec![Origin { place, binding: None }];
    let explicit = lot.once_in(2);
    let rank = |r: u32| Rank {
        input_chunks: CHUNKS,
        output_chunks: CHUNKS,
        scratch_chunks: 2 * CHUNKS,
        channels: (0..ranks).filter(|p| *p != r).flat_map(|p| ends(r, p)).collect(),
        semaphores: (0..2)
            .map(|i| Semaphore {
                name: format!("s{i}").into(),
                initial: 0,
                shared: false,
                origin: OriginId(0),
            })
            .collect(),
        blocks: (0..blocks)
            .map(|b| Block { name: format!("b{b}").into(), ops: Vec::new(), origin: OriginId(0) })
            .collect(),
        ..Rank::default()
    };
    Program {
        collective: Collective {
            name: "test".into(),
            arguments: Vec::new(),
            in_place: false,
            op: ReduceOp::Sum,
            place: None,
        },
        options: Options {
            name: "test".into(),
            protocol: Protocol::Ll,
            double_scratch: lot.once_in(3),
            ..Options::default()
        },
        ranks: (0..ranks).map(rank).collect(),
        ranks_per_node: ranks,
        ranks_per_domain: ranks,
        machine: None,
        origins: Origins { rows: rows.into(), ..Origins::default() },
        joins: if explicit { Joins::Explicit } else { Joins::Implied },
        flush_waits: true,
        instances_done: 1,
        chunk_size: None,
    }
}

/// The ends of rank `r`'s channels to rank `p`.
fn ends(r: u32, p: u32) -> impl Iterator<Item = Channel> {
    (0..ENDS).map(move |k| Channel {
        name: format!("c{p}_{k}").into(),
        link: if k + 1 < ENDS { Link::Memory(RankId(p)) } else { Link::Port(RankId(p)) },
        partner: Some(end(p, r, k)),
        shared: false,
        origin: OriginId(0),
    })
}

/// The `k`-th end of rank `r` to rank `p`.
pub(crate) fn end(r: u32, p: u32, k: u32) -> ChannelId {
    ChannelId((if p < r { p } else { p - 1 }) * ENDS + k)
}

fn push(program: &mut Program, rank: u32, block: u32, action: Action) {
    let explicit = program.joins == Joins::Explicit;
    let ops = &mut program.ranks[RankId(rank)].blocks[BlockId(block)].ops;
    let op = |action| Op { action, origin: OriginId(0), sync: None };
    // Most joins are present; which ones are missing depends on the operations themselves.
    if explicit && !ops.is_empty() && ops.len() * 7 % 5 != 3 {
        ops.push(op(Action::Sync));
    }
    ops.push(op(action));
}

/// The number of operations in a block, without joins.
fn length(program: &Program, rank: u32, block: u32) -> usize {
    let ops = &program.ranks[RankId(rank)].blocks[BlockId(block)].ops;
    ops.iter().filter(|op| op.action != Action::Sync).count()
}

fn room(program: &Program, rank: u32, block: u32) -> bool {
    length(program, rank, block) < LONGEST
}

fn two_ranks(program: &Program, lot: &mut Lot) -> (u32, u32) {
    let count = program.ranks.len() as u32;
    let from = lot.below(count);
    (from, (from + 1 + lot.below(count - 1)) % count)
}

fn blocks(program: &Program) -> u32 {
    program.ranks[RankId(0)].blocks.len() as u32
}

/// A signal and its wait, or one pair in each direction; the channel determines the blocks.
fn told(program: &mut Program, lot: &mut Lot) {
    let (from, to) = two_ranks(program, lot);
    let k = lot.below(ENDS);
    let relaxed = lot.once_in(3);
    let both = lot.once_in(2);
    tell(program, from, to, k, relaxed);
    if both {
        tell(program, to, from, k, relaxed);
    }
}

fn tell(program: &mut Program, from: u32, to: u32, k: u32, relaxed: bool) {
    let count = blocks(program);
    let (sender, receiver) = ((from + k) % count, (to + k) % count);
    if !room(program, from, sender) || !room(program, to, receiver) {
        return;
    }
    let relaxed = relaxed && k + 1 < ENDS;
    let over = |id| Signal { channels: [id].into_iter().collect(), relaxed };
    push(program, from, sender, Action::Signal(over(end(from, to, k))));
    push(program, to, receiver, Action::Wait(over(end(to, from, k))));
}

/// A release in one block, now and then in another one, and an acquire in the next block.
fn handed_on(program: &mut Program, lot: &mut Lot) {
    let (rank, _) = two_ranks(program, lot);
    let count = blocks(program);
    let which = lot.below(2);
    let taker = (which + 1) % count;
    let giver = if lot.once_in(3) { lot.below(count) } else { which % count };
    if giver == taker || !room(program, rank, giver) || !room(program, rank, taker) {
        return;
    }
    let list: List<SemaphoreId> = [SemaphoreId(which)].into_iter().collect();
    push(program, rank, giver, Action::Release(list.clone()));
    push(program, rank, taker, Action::Acquire(list));
}

/// A barrier of all blocks of a rank.
fn meeting(program: &mut Program, lot: &mut Lot) {
    let (rank, _) = two_ranks(program, lot);
    let count = blocks(program);
    if !(0..count).all(|block| room(program, rank, block)) {
        return;
    }
    let barriers = &mut program.ranks[RankId(rank)].barriers;
    if barriers.is_empty() {
        barriers.push((0..count).map(BlockId).collect());
    }
    for block in 0..count {
        push(program, rank, block, Action::Barrier { id: BarrierId(0), arrivals: count });
    }
}

/// Packets written to a peer's scratch and read there; each chunk has one writer.
fn packets(program: &mut Program, lot: &mut Lot, mixed: bool) {
    let (from, to) = two_ranks(program, lot);
    let (writer, reader) = (lot.below(blocks(program)), lot.below(blocks(program)));
    if !room(program, from, writer) || !room(program, to, reader) || from >= CHUNKS {
        return;
    }
    let written = |op: &Op| {
        matches!(&op.action, Action::Transfer(t) if t.verb == Verb::PutPackets
            && t.destinations.iter().any(|d| d.place == Where::Remote(RankId(to))))
    };
    let taken = program.ranks[RankId(from)].blocks.iter().any(|b| b.ops.iter().any(written));
    if taken {
        return;
    }
    let place = Where::Remote(RankId(to));
    // Packets are at twice their offset: from chunk 3 on they do not touch the plain chunks.
    let index = from + if mixed { 0 } else { CHUNKS };
    let slot = Operand { place, buffer: Buffer::Scratch, index, size: 1 };
    let source = local(Buffer::Input, lot);
    let channel = end(from, to, 0);
    push(program, from, writer, transfer(Verb::PutPackets, &[source], &[slot], Some(channel)));
    let slot = Operand { place: Where::Local, ..slot };
    let into = local(Buffer::Output, lot);
    push(program, to, reader, transfer(Verb::UnpackPackets, &[slot], &[into], None));
}

fn local(buffer: Buffer, lot: &mut Lot) -> Operand {
    Operand { place: Where::Local, buffer, index: lot.below(CHUNKS), size: 1 }
}

pub(crate) fn transfer(
    verb: Verb,
    sources: &[Operand],
    destinations: &[Operand],
    channel: Option<ChannelId>,
) -> Action {
    let kind = |id: ChannelId| match id.index() as u32 % ENDS == ENDS - 1 {
        true => ChannelKind::Port,
        false => ChannelKind::Memory,
    };
    Action::Transfer(Transfer {
        verb,
        sources: sources.iter().copied().collect(),
        destinations: destinations.iter().copied().collect(),
        via: channel.map(kind),
        channels: channel.into_iter().collect(),
        slice: None,
        reduce: ReduceOp::Sum,
    })
}

/// Data is copied, put, gotten or reduced.
fn data(program: &mut Program, lot: &mut Lot) {
    let (rank, peer) = two_ranks(program, lot);
    let block = lot.below(blocks(program));
    if !room(program, rank, block) {
        return;
    }
    let there = |operand: Operand| Operand { place: Where::Remote(RankId(peer)), ..operand };
    let source = local(Buffer::Input, lot);
    let output = local(Buffer::Output, lot);
    let scratch = local(Buffer::Scratch, lot);
    let over = Some(end(rank, peer, 0));
    // The executor applies the current half of scratch only on the local side.
    let halves = program.options.double_scratch;
    let action = match lot.below(7) {
        3 if halves => return,
        0 => transfer(Verb::Copy, &[source], &[output], None),
        1 => transfer(Verb::Copy, &[source], &[scratch], None),
        2 => transfer(Verb::Put, &[source], &[there(output)], over),
        3 => transfer(Verb::Put, &[source], &[there(scratch)], over),
        4 => transfer(Verb::Get, &[there(source)], &[output], over),
        5 => transfer(Verb::Reduce, &[source, scratch], &[output], None),
        _ => {
            return flushed(program, (rank, peer), [source, there(output)]);
        }
    };
    push(program, rank, block, action);
}

/// A put over a port with its signal and its wait, in the blocks that own the channel.
fn flushed(program: &mut Program, (rank, peer): (u32, u32), [source, into]: [Operand; 2]) {
    let k = ENDS - 1;
    let count = blocks(program);
    let (sender, receiver) = ((rank + k) % count, (peer + k) % count);
    if !room(program, rank, sender) || !room(program, peer, receiver) {
        return;
    }
    let verb = if source.index == 0 { Verb::PutWithSignal } else { Verb::PutWithSignalAndFlush };
    let over = Some(end(rank, peer, k));
    push(program, rank, sender, transfer(verb, &[source], &[into], over));
    let channels = [end(peer, rank, k)].into_iter().collect();
    push(program, peer, receiver, Action::Wait(Signal { channels, relaxed: false }));
}
