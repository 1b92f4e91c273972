//! Random programs with what [`crate::random`] leaves out.
//!
//! - Buffers in place, operands of several chunks and of every buffer, lists of operands, reductions with peers, the
//!   switch.
//! - Lists of channels and semaphores, counters that several blocks share, initial values, barriers of some blocks,
//!   `sync = ..` by the author.
//! - Packets that are copied, summed and sent on, over memory and over ports.
//! - Groups of blocks, and pipelines in which blocks hand off data.
//! - Ranks that do the same, except for a slip of one of them.
//!
//! A program is a sequence of items that one rank, or every rank alike, does; most programs begin and end with a
//! barrier of all ranks. Signals are added together with their waits. [`thinned`] removes what the checker reports
//! from a program, until the checker accepts it: such a program is nearly wrong. Nothing is promised.

#[path = "wide/items.rs"]
mod items;

use crate::lot::Lot;
use compiler::check;
use compiler::diagnostic::Severity;
use compiler::interrupt::Interrupt;
use compiler::ir::{
    Action, Alias, BarrierId, Block, BlockId, Buffer, Channel, ChannelId, ChannelKind, Collective,
    Joins, Link, Op, Options, Origin, OriginId, Origins, Program, Protocol, Rank, RankId, ReduceOp,
    Semaphore, SwitchGroup, SyncOverride,
};
use compiler::source::{FileId, Place, Span};
use std::sync::Arc;

/// Chunks of the input, and of each rank's part of an output that contains the input.
const CHUNKS: u32 = 4;

/// The first chunk of scratch used for packets, and the number of these chunks.
const SLOTS: (u32, u32) = (CHUNKS, 8);

/// Ends of channels to each peer: two memory channels, one port channel.
const ENDS: u32 = 3;

/// Semaphores of a rank.
const SEMAPHORES: u32 = 3;

/// The most operations of a block.
const LONGEST: usize = 20;

/// The most origins of an item of a program.
const PLACES: u32 = 16;

/// A program under construction.
struct Maker {
    lot: Lot,
    program: Program,
    /// How many ranks there are, and how many blocks each has.
    ranks: u32,
    blocks: u32,
    /// The number of the item that is being added, and how many operations it has on this rank.
    item: u32,
    nth: u32,
    /// For each rank, the packet slots that are in use.
    taken: Vec<Vec<u32>>,
}

/// Makes a program.
pub(crate) fn program(seed: u64) -> Program {
    let mut lot = Lot(seed);
    let ranks = lot.of(&[1, 2, 2, 2, 3, 4]);
    let blocks = 1 + lot.below(3);
    let program = empty(ranks, blocks, &mut lot);
    let taken = vec![Vec::new(); ranks as usize];
    let mut maker = Maker { lot, program, ranks, blocks, item: 0, nth: 0, taken };
    let meets = !maker.lot.once_in(6);
    let alike = maker.lot.once_in(2);
    if meets {
        let relaxed = !maker.lot.once_in(3);
        maker.everyone(relaxed);
    }
    if maker.lot.once_in(2) {
        maker.each(true, Maker::filled);
    }
    for _ in 0..1 + maker.lot.below(7) {
        if maker.lot.once_in(6) {
            maker.everyone(false);
        } else {
            let item = maker.kind();
            maker.each(alike, item);
        }
    }
    if meets {
        maker.everyone(false);
    }
    if maker.lot.once_in(3) {
        maker.slip();
    }
    maker.program
}

/// The program without what the checker reports, and the program before the last removal.
pub(crate) fn thinned(mut program: Program, seed: u64) -> (Program, Option<Program>) {
    let mut lot = Lot(seed);
    let mut before = None;
    for _ in 0..40 {
        let reports = check::check(&program, &Interrupt::default());
        let Some(report) = reports.iter().find(|report| report.severity == Severity::Error) else {
            break;
        };
        let places = report.primary.iter().chain(&report.secondary);
        let rows: Vec<u32> = places.filter_map(|label| row(label.place)).collect();
        let Some(row) = (!rows.is_empty()).then(|| lot.of(&rows)) else { break };
        before = Some(program.clone());
        let one = lot.once_in(2).then(|| RankId(lot.below(program.ranks.len() as u32)));
        if !drop_row(&mut program, row, one) && !drop_row(&mut program, row, None) {
            break;
        }
    }
    (program, before)
}

fn row(place: Place) -> Option<u32> {
    match place {
        Place::Source(span) => Some(span.start),
        Place::Plan(_) => None,
    }
}

/// Removes everything with an origin, on one rank or on all.
fn drop_row(program: &mut Program, row: u32, only: Option<RankId>) -> bool {
    let mut dropped = false;
    let ids: Vec<RankId> = program.ranks.ids().collect();
    for id in ids.into_iter().filter(|id| only.is_none_or(|only| only == *id)) {
        for block in program.ranks[id].blocks.iter_mut() {
            dropped |= drop_in(&mut block.ops, row);
        }
    }
    dropped
}

fn drop_in(ops: &mut Vec<Op>, row: u32) -> bool {
    let before = ops.len();
    ops.retain(|op| op.origin != OriginId(row));
    let mut dropped = ops.len() < before;
    for op in ops {
        if let Action::Pipeline(pipeline) = &mut op.action {
            dropped |= drop_in(&mut pipeline.body, row);
        }
    }
    dropped
}

fn empty(ranks: u32, blocks: u32, lot: &mut Lot) -> Program {
    let row = |start| Origin {
        place: Place::Source(Span { file: FileId(0), start, end: start + 1 }),
        binding: None,
    };
    let rows: Vec<Origin> = (0..24 * PLACES).map(row).collect();
    let joins = if lot.once_in(4) { Joins::Explicit } else { Joins::Implied };
    let in_place = lot.below(4);
    let shared = lot.once_in(8);
    let initial = if lot.once_in(4) { 1 } else { 0 };
    let rank = |r: u32| Rank {
        input_chunks: if in_place == 1 { CHUNKS * ranks } else { CHUNKS },
        output_chunks: if in_place == 2 { CHUNKS * ranks } else { CHUNKS },
        scratch_chunks: CHUNKS + 2 * SLOTS.1,
        alias: match in_place {
            1 => Some(alias(Buffer::Output, Buffer::Input, CHUNKS * r)),
            2 => Some(alias(Buffer::Input, Buffer::Output, CHUNKS * r)),
            3 => Some(alias(Buffer::Input, Buffer::Output, 0)),
            _ => None,
        },
        channels: (0..ranks)
            .filter(|p| *p != r)
            .flat_map(|p| ends(r, p, shared))
            .chain(switches(ranks))
            .collect(),
        semaphores: (0..SEMAPHORES)
            .map(|i| Semaphore {
                name: format!("s{i}").into(),
                initial: if i == 0 { initial } else { 0 },
                shared,
                origin: OriginId(0),
            })
            .collect(),
        barriers: barriers(blocks).into(),
        blocks: (0..blocks)
            .map(|b| Block { name: format!("b{b}").into(), ops: Vec::new(), origin: OriginId(0) })
            .collect(),
        ..Rank::default()
    };
    Program {
        collective: Collective {
            name: "test".into(),
            arguments: Vec::new(),
            in_place: in_place > 0,
            op: ReduceOp::Sum,
            place: None,
        },
        options: Options {
            name: "test".into(),
            protocol: Protocol::Ll,
            double_scratch: lot.once_in(3),
            auto_sync: !lot.once_in(12),
            ..Options::default()
        },
        ranks: (0..ranks).map(rank).collect(),
        ranks_per_node: ranks,
        ranks_per_domain: ranks,
        machine: None,
        origins: Origins { rows: rows.into(), ..Origins::default() },
        joins,
        flush_waits: true,
        instances_done: 1,
        chunk_size: None,
    }
}

fn alias(inner: Buffer, outer: Buffer, offset: u32) -> Alias {
    Alias { inner, outer, offset }
}

/// One barrier of all blocks, and one for every two of them.
fn barriers(blocks: u32) -> Vec<Vec<BlockId>> {
    let pairs =
        (0..blocks).flat_map(|b| (b + 1..blocks).map(move |c| vec![BlockId(b), BlockId(c)]));
    std::iter::once((0..blocks).map(BlockId).collect()).chain(pairs).collect()
}

/// The ends of rank `r`'s channels to rank `p`.
fn ends(r: u32, p: u32, shared: bool) -> impl Iterator<Item = Channel> {
    (0..ENDS).map(move |k| Channel {
        name: format!("c{p}_{k}").into(),
        link: if k + 1 < ENDS { Link::Memory(RankId(p)) } else { Link::Port(RankId(p)) },
        partner: Some(end(p, r, k)),
        shared,
        origin: OriginId(0),
    })
}

/// Switch channels to a buffer of all ranks: the output, and scratch.
fn switches(ranks: u32) -> impl Iterator<Item = Channel> {
    let group = move |buffer| {
        Arc::new(SwitchGroup { buffer, ranks: (0..ranks).map(RankId).collect(), size: ranks })
    };
    [Buffer::Output, Buffer::Scratch].into_iter().map(move |buffer| Channel {
        name: format!("w{buffer:?}").into(),
        link: Link::Switch(group(buffer)),
        partner: None,
        shared: false,
        origin: OriginId(0),
    })
}

/// The `k`-th end of rank `r` to rank `p`.
fn end(r: u32, p: u32, k: u32) -> ChannelId {
    ChannelId((if p < r { p } else { p - 1 }) * ENDS + k)
}

impl Maker {
    /// Adds an item to one rank, or to every rank in the same way, relative to itself.
    fn each(&mut self, alike: bool, item: fn(&mut Maker, u32)) {
        let drawn = self.lot.clone();
        let ranks = if alike {
            0..self.ranks
        } else {
            let rank = self.lot.below(self.ranks);
            rank..rank + 1
        };
        let from = if alike { drawn } else { self.lot.clone() };
        for rank in ranks {
            self.lot = from.clone();
            self.nth = 0;
            item(self, rank);
        }
        self.item += 1;
    }

    /// A random kind of item.
    fn kind(&mut self) -> fn(&mut Maker, u32) {
        match self.lot.below(24) {
            0..=3 => Maker::told,
            4 | 5 => Maker::handed_on,
            6 => Maker::meeting,
            7..=9 => Maker::packets,
            10 => Maker::group,
            11 | 12 => Maker::pipeline,
            13 => Maker::switch,
            14 | 15 => Maker::port,
            _ => Maker::data,
        }
    }

    /// A barrier of all blocks of each rank, an exchange of signals between one block of each and all other ranks, and
    /// the barrier again.
    fn everyone(&mut self, relaxed: bool) {
        self.item += 1;
        for rank in 0..self.ranks {
            self.nth = 0;
            self.meet(rank, 0);
            self.nth = PLACES / 2;
            self.signal_all(rank, relaxed);
            self.meet(rank, 0);
        }
        self.item += 1;
    }

    /// Removes an operation, or swaps it with its neighbor.
    fn slip(&mut self) {
        let (rank, block) = (self.lot.below(self.ranks), self.lot.below(self.blocks));
        let ops = &mut self.program.ranks[RankId(rank)].blocks[BlockId(block)].ops;
        if ops.len() > 1 {
            let at = self.lot.below(ops.len() as u32 - 1) as usize;
            if self.lot.once_in(3) {
                ops.remove(at);
            } else {
                ops.swap(at, at + 1);
            }
        }
    }

    fn op(&mut self, action: Action) -> Op {
        let origin = OriginId(self.item * PLACES % (24 * PLACES) + self.nth.min(PLACES - 1));
        self.nth += 1;
        let sides = [SyncOverride::Before, SyncOverride::After, SyncOverride::Both];
        let implied =
            self.program.joins == Joins::Implied && !matches!(action, Action::Pipeline(_));
        let sync = match self.lot.below(48) {
            0 if implied => Some(SyncOverride::None),
            1 | 2 if implied => Some(self.lot.of(&sides)),
            _ => None,
        };
        Op { action, origin, sync }
    }

    fn push(&mut self, rank: u32, block: u32, action: Action) {
        let mut op = self.op(action);
        let explicit = self.program.joins == Joins::Explicit;
        // Programs must not rely on how elements of operations through the switch are assigned to threads.
        let is_switch = |op: &Op| op.transfer().is_some_and(|t| t.via == Some(ChannelKind::Switch));
        let asked = explicit || !self.program.options.auto_sync;
        let joined = explicit && !self.lot.once_in(8) || asked && is_switch(&op);
        let ops = &mut self.program.ranks[RankId(rank)].blocks[BlockId(block)].ops;
        if is_switch(&op) || ops.last().is_some_and(is_switch) {
            op.sync = None;
        }
        if joined && !ops.is_empty() {
            ops.push(Op { action: Action::Sync, origin: op.origin, sync: None });
        }
        ops.push(op);
    }

    fn room(&self, rank: u32, block: u32) -> bool {
        let ops = &self.program.ranks[RankId(rank)].blocks[BlockId(block)].ops;
        ops.iter().filter(|op| op.action != Action::Sync).count() < LONGEST
    }

    /// A random other rank, drawn as a distance.
    fn peer(&mut self, rank: u32) -> Option<u32> {
        let away = self.lot.below(self.ranks - 1);
        (self.ranks > 1).then_some((rank + 1 + away) % self.ranks)
    }

    fn meet(&mut self, rank: u32, barrier: u32) {
        let id = BarrierId(barrier);
        let blocks = self.program.ranks[RankId(rank)].barriers[id].clone();
        if blocks.len() > 1 {
            let arrivals = blocks.len() as u32;
            for block in blocks {
                self.push(rank, block.0, Action::Barrier { id, arrivals });
            }
        }
    }
}
