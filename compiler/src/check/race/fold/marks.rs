//! Marks: numbers that tell blocks, channels, semaphores and cells apart by what they are used for, and by whom as seen
//! from their rank. What does the same has the same mark on every rank; so equal marks show what may stand for what.
//!
//! First a block is marked by the verbs, sizes and peers of its operations, and everything else by the blocks that use
//! it; then blocks again by what they use, and cells by those blocks.

use super::super::turn::{By, Turn};
use super::super::whole::Whole;
use super::{Folded, back, chunks, is_quiet, per_rank};
use crate::ir::memory::{home, source_is_packets, writes_packets};
use crate::ir::{Action, Buffer, ChannelId, Link, Op, Operand, Program, RankId, Where};
use crate::table::Id;

/// The marks of what one rank has.
#[derive(Debug, Default)]
struct Marks {
    blocks: Vec<u64>,
    channels: Vec<u64>,
    semaphores: Vec<u64>,
    cells: [Vec<u64>; 3],
}

/// What is used by an operand or a list: the marks so far are added to.
#[derive(Debug, Default)]
struct Uses {
    channels: Vec<u64>,
    semaphores: Vec<u64>,
    cells: [Slopes; 3],
}

/// For each chunk the sum of the marks that begin or end there, and the same times where they began: so an operand of
/// many chunks costs no more than one of few, and yet each of its chunks gets a mark of its own.
#[derive(Debug, Default)]
struct Slopes(Vec<(u64, u64)>);

/// What numbers operations have that may stand in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// All in a row the same: it may be another row on every rank.
    OfRows,
    /// Each its own: what only their order tells apart is told apart.
    OfOperations,
}

/// A guess at how the ranks lie on each other; none where marks differ.
pub(super) fn fold(whole: &Whole<'_>, turn: Turn, numbers: Numbers) -> Option<Vec<Folded>> {
    let program = whole.program();
    let mut marks: Vec<Marks> = per_rank(program, |_| Marks::default());
    let mut operations = Vec::new();
    for round in 0..2 {
        let mut uses = unused(program);
        for rank in program.ranks.ids() {
            operations.clear();
            let known = (round > 0).then_some(marks.as_slice());
            let view = View { program, turn, numbers, marks: known };
            let mut blocks = blocks(view, whole, rank, &mut operations);
            if round > 0 {
                tell_apart(&mut blocks);
            }
            if let Some(marks) = marks.get_mut(rank.index()) {
                marks.blocks = blocks;
            }
            let own = marks.get(rank.index())?;
            if !alike(&own.blocks, &marks.get(turn.home(rank).0.index())?.blocks) {
                return None;
            }
            use_all((program, turn), whole, (rank, &own.blocks, &operations), &mut uses);
        }
        settle(program, turn, uses, &mut marks);
    }
    let first = |rank| marks.get(turn.home(rank).0.index());
    program.ranks.ids().zip(&marks).map(|(rank, marks)| folded(first(rank)?, marks)).collect()
}

/// Whether every rank has its channels to the ranks to which the one that stands for it has them, once it is turned there.
pub(super) fn are_linked_alike(program: &Program, turn: Turn) -> bool {
    let ends = |here: RankId| -> Vec<u64> {
        let channels = program.ranks.lookup(here).map(|rank| rank.channels.ids());
        let view = (turn, back(turn, here));
        channels.into_iter().flatten().map(|id| channel(program, view, here, id)).collect()
    };
    let firsts = 0..turn.first(program.ranks.len() as u32);
    let firsts: Vec<Vec<u64>> = firsts.map(|rank| ends(RankId(rank))).collect();
    program.ranks.ids().all(|rank| {
        { firsts.get(turn.home(rank).0.index()) }.is_some_and(|first| alike(&ends(rank), first))
    })
}

/// Whether two lists hold the same marks, in any order.
fn alike(one: &[u64], other: &[u64]) -> bool {
    let sum = |list: &[u64]| list.iter().fold(0_u64, |sum, one| sum.wrapping_add(*one));
    one.len() == other.len() && sum(one) == sum(other)
}

fn folded(first: &Marks, marks: &Marks) -> Option<Folded> {
    let [input, output, scratch] = &marks.cells;
    let [first_input, first_output, first_scratch] = &first.cells;
    Some(Folded {
        blocks: paired(&marks.blocks, &first.blocks)?,
        channels: paired(&first.channels, &marks.channels)?,
        semaphores: paired(&first.semaphores, &marks.semaphores)?,
        input: paired(first_input, input)?,
        output: paired(first_output, output)?,
        scratch: paired(first_scratch, scratch)?,
    })
}

/// For each of the second list's marks, where in the first one it is; equal marks in order.
fn paired(from: &[u64], to: &[u64]) -> Option<Vec<u32>> {
    if from == to {
        return Some((0..to.len() as u32).collect());
    }
    let sorted = |marks: &[u64]| {
        let mut list: Vec<(u64, u32)> = marks.iter().copied().zip(0..).collect();
        list.sort_unstable();
        list
    };
    let (from, to) = (sorted(from), sorted(to));
    let mut pairs = vec![0; to.len()];
    for ((mark, at), (wanted, into)) in from.iter().zip(&to) {
        if mark != wanted {
            return None;
        }
        *pairs.get_mut(*into as usize)? = *at;
    }
    (from.len() == to.len()).then_some(pairs)
}

fn mix(a: u64, b: u64) -> u64 {
    let mixed = (a ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    mixed ^ (mixed >> 32)
}

/// What marks are made from.
#[derive(Clone, Copy)]
struct View<'a> {
    program: &'a Program,
    turn: Turn,
    numbers: Numbers,
    /// The marks of the round before, if there was one.
    marks: Option<&'a [Marks]>,
}

/// The marks of a rank's blocks. Those of their operations are added to a list, with their numbers.
fn blocks(view: View<'_>, whole: &Whole<'_>, here: RankId, operations: &mut Vec<u64>) -> Vec<u64> {
    let mark = |ops: &[Op]| {
        let mut sum = 0_u64;
        each(ops, view.numbers, &mut |at, op| {
            let mark = mix(at, operation(view, here, op));
            operations.push(mark);
            sum = sum.wrapping_add(mark);
        });
        mix(sum, ops.len() as u64)
    };
    whole.blocks(here).map(mark).collect()
}

/// Of blocks with the same mark the first is taken to stand for the first, and so on; what they use then has marks that
/// say so. In a long row of blocks that take over from each other, those in the middle have no other.
fn tell_apart(marks: &mut [u64]) {
    let mut order: Vec<usize> = (0..marks.len()).collect();
    let mark = |at: &usize| marks.get(*at).copied();
    order.sort_by_key(mark);
    let mut told = Vec::with_capacity(order.len());
    let mut last = (None, 0_u64);
    for at in order {
        last = if mark(&at) == last.0 { (last.0, last.1 + 1) } else { (mark(&at), 0) };
        told.push((at, last.1));
    }
    for (at, number) in told {
        if let Some(mark) = marks.get_mut(at) {
            *mark = mix(*mark, number);
        }
    }
}

/// The mark of an operation: its kind, and what it uses.
fn operation(view: View<'_>, here: RankId, op: &Op) -> u64 {
    let back = back(view.turn, here);
    let known = |rank: RankId| view.marks.and_then(|marks| marks.get(rank.index()));
    let mut sum = 0_u64;
    used(view.program, here, op, &mut |used| {
        let what = match used {
            Used::Channel(id, role) => {
                let own = channel(view.program, (view.turn, back), here, id);
                mix(own ^ role, at_of(known(here).map(|marks| marks.channels.as_slice()), id.0))
            }
            Used::Semaphore(id, role) => {
                mix(role, at_of(known(here).map(|marks| marks.semaphores.as_slice()), id))
            }
            Used::Cells(rank, buffer, start, size, role) => {
                let cells = known(rank).and_then(|marks| marks.cells.get(buffer));
                let seen = u64::from(view.turn.then(rank.0, back));
                let cell = at_of(cells.map(Vec::as_slice), start);
                mix(mix(role, seen << 2 | buffer as u64), mix(u64::from(size), cell))
            }
        };
        sum = sum.wrapping_add(what);
    });
    mix(kind(op), sum)
}

fn at_of(list: Option<&[u64]>, at: u32) -> u64 {
    list.and_then(|list| list.get(at as usize)).copied().unwrap_or(0)
}

/// What every rank has, used by nothing yet.
fn unused(program: &Program) -> Vec<Uses> {
    per_rank(program, |rank| Uses {
        channels: vec![0; rank.channels.len()],
        semaphores: vec![0; rank.semaphores.len()],
        cells: [Buffer::Input, Buffer::Output, Buffer::Scratch]
            .map(|buffer| Slopes(vec![(0, 0); chunks(rank, buffer) as usize + 1])),
    })
}

/// Marks everything that a rank uses by its blocks and operations.
fn use_all(
    (program, turn): (&Program, Turn),
    whole: &Whole<'_>,
    (here, blocks, operations): (RankId, &[u64], &[u64]),
    uses: &mut [Uses],
) {
    let mut operations = operations.iter();
    for (block, ops) in blocks.iter().zip(whole.blocks(here)) {
        crate::ir::run::each_op(ops, &mut |op| {
            let own = mix(*block, operations.next().copied().unwrap_or(0));
            used(program, here, op, &mut |used| match used {
                Used::Channel(id, role) => {
                    let list = uses.get_mut(here.index()).map(|uses| &mut uses.channels);
                    add(list, id.0, mix(own, role));
                }
                Used::Semaphore(id, role) => {
                    let list = uses.get_mut(here.index()).map(|uses| &mut uses.semaphores);
                    add(list, id, mix(own, role));
                }
                Used::Cells(rank, buffer, start, size, role) => {
                    let seen = turn.then(here.0, back(turn, rank));
                    let mark = mix(mix(own, role), u64::from(seen));
                    let there = uses.get_mut(rank.index());
                    if let Some(there) = there.and_then(|uses| uses.cells.get_mut(buffer)) {
                        there.add(start, size, mark);
                    }
                }
            });
        });
    }
}

fn add(list: Option<&mut Vec<u64>>, at: u32, mark: u64) {
    if let Some(sum) = list.and_then(|list| list.get_mut(at as usize)) {
        *sum = sum.wrapping_add(mark);
    }
}

fn settle(program: &Program, turn: Turn, uses: Vec<Uses>, marks: &mut [Marks]) {
    let ends: Vec<Vec<u64>> = program
        .ranks
        .entries()
        .zip(&uses)
        .map(|((here, rank), uses)| {
            let view = (turn, back(turn, here));
            let mark = |(id, own): (ChannelId, &u64)| mix(channel(program, view, here, id), *own);
            rank.channels.ids().zip(&uses.channels).map(mark).collect()
        })
        .collect();
    for (((here, rank), uses), marks) in program.ranks.entries().zip(uses).zip(marks) {
        let own = ends.get(here.index()).map(Vec::as_slice);
        marks.channels = rank
            .channels
            .entries()
            .map(|(id, channel)| {
                let partner = channel.peer().zip(channel.partner);
                let there = partner.map_or(0, |(peer, there)| {
                    at_of(ends.get(peer.index()).map(Vec::as_slice), there.0)
                });
                mix(at_of(own, id.0), there)
            })
            .collect();
        let semaphores = rank.semaphores.iter().zip(&uses.semaphores);
        marks.semaphores = semaphores.map(|(row, own)| mix(row.initial as u64, *own)).collect();
        marks.cells = uses.cells.map(Slopes::marks);
    }
}

/// What a channel is, whoever uses it.
fn channel(program: &Program, (turn, back): (Turn, By), here: RankId, id: ChannelId) -> u64 {
    let channel = program.ranks.lookup(here).and_then(|rank| rank.channels.lookup(id));
    match channel.map(|channel| &channel.link) {
        Some(Link::Memory(peer)) => mix(1, u64::from(turn.then(peer.0, back))),
        Some(Link::Port(peer)) => mix(2, u64::from(turn.then(peer.0, back))),
        Some(Link::Switch(group)) => group
            .ranks
            .iter()
            .map(|rank| mix(3, u64::from(turn.then(rank.0, back))))
            .fold(0, u64::wrapping_add),
        None => 0,
    }
}

impl Slopes {
    fn add(&mut self, start: u32, size: u32, mark: u64) {
        let from = mark.wrapping_mul(u64::from(start));
        if let Some((sum, begun)) = self.0.get_mut(start as usize) {
            (*sum, *begun) = (sum.wrapping_add(mark), begun.wrapping_add(from));
        }
        if let Some((sum, begun)) = self.0.get_mut(start as usize + size as usize) {
            (*sum, *begun) = (sum.wrapping_sub(mark), begun.wrapping_sub(from));
        }
    }

    fn marks(self) -> Vec<u64> {
        let (mut sum, mut begun) = (0_u64, 0_u64);
        let cells = self.0.len().saturating_sub(1);
        let mark = |(at, (here, from)): (u64, (u64, u64))| {
            (sum, begun) = (sum.wrapping_add(here), begun.wrapping_add(from));
            mix(sum, sum.wrapping_mul(at).wrapping_sub(begun))
        };
        (0..).zip(self.0).take(cells).map(mark).collect()
    }
}

/// What an operation uses.
enum Used {
    /// A channel of its rank, and as what.
    Channel(ChannelId, u64),
    /// A semaphore of its rank, and as what.
    Semaphore(u32, u64),
    /// Whose chunks, of which buffer, from where, how many, and as what.
    Cells(RankId, usize, u32, u32, u64),
}

/// Every operation with its number, those in pipelines too.
fn each(ops: &[Op], numbers: Numbers, visit: &mut dyn FnMut(u64, &Op)) {
    let (mut at, mut was_quiet) = (0, false);
    crate::ir::run::each_op(ops, &mut |op| {
        let quiet = numbers == Numbers::OfRows && is_quiet(op);
        at += u64::from(!(quiet && was_quiet));
        was_quiet = quiet;
        visit(at, op);
    });
}

/// What kind of operation it is, whatever it uses.
fn kind(op: &Op) -> u64 {
    match &op.action {
        Action::Sync => 1,
        Action::Barrier { arrivals, .. } => mix(2, u64::from(*arrivals)),
        Action::Signal(signal) => 3 + u64::from(signal.relaxed),
        Action::Wait(signal) => 5 + u64::from(signal.relaxed),
        Action::Flush(_) => 7,
        Action::Acquire(_) => 8,
        Action::Release(_) => 9,
        Action::Transfer(transfer) => {
            let slice = transfer.slice.map_or(0, |slice| u64::from(slice.index) + 1);
            mix(mix(10, transfer.verb as u64), slice)
        }
        Action::Pipeline(pipeline) => mix(11, mix(pipeline.unit, u64::from(pipeline.chunks))),
    }
}

fn used(program: &Program, here: RankId, op: &Op, visit: &mut impl FnMut(Used)) {
    match &op.action {
        Action::Signal(signal) => {
            signal.channels.iter().for_each(|id| visit(Used::Channel(*id, 1)))
        }
        Action::Wait(signal) => signal.channels.iter().for_each(|id| visit(Used::Channel(*id, 2))),
        Action::Flush(list) => list.iter().for_each(|id| visit(Used::Channel(*id, 3))),
        Action::Acquire(list) => list.iter().for_each(|id| visit(Used::Semaphore(id.0, 1))),
        Action::Release(list) => list.iter().for_each(|id| visit(Used::Semaphore(id.0, 2))),
        Action::Transfer(transfer) => {
            if transfer.via == Some(crate::ir::ChannelKind::Port) {
                transfer.channels.iter().for_each(|id| visit(Used::Channel(*id, 4)));
            }
            for (index, operand) in transfer.sources.iter().enumerate() {
                let role = if source_is_packets(transfer, index) { 2 } else { 1 };
                cells(program, here, operand, role, visit);
            }
            for (index, operand) in transfer.destinations.iter().enumerate() {
                let role = if writes_packets(transfer.verb, index) { 4 } else { 3 };
                cells(program, here, operand, role, visit);
            }
        }
        Action::Sync | Action::Barrier { .. } | Action::Pipeline(_) => {}
    }
}

fn cells(
    program: &Program,
    here: RankId,
    operand: &Operand,
    role: u64,
    visit: &mut impl FnMut(Used),
) {
    let mut on = |rank: RankId| {
        let alias = program.ranks.lookup(rank).and_then(|rank| rank.alias);
        let (buffer, chunk) = home(alias, operand.buffer, operand.index);
        visit(Used::Cells(rank, buffer as usize, chunk as u32, operand.size, role));
    };
    match operand.place {
        Where::Local => on(here),
        Where::Remote(peer) => on(peer),
        Where::Switch(id) => {
            let channel = program.ranks.lookup(here).and_then(|rank| rank.channels.lookup(id));
            if let Some(Link::Switch(group)) = channel.map(|channel| &channel.link) {
                group.ranks.iter().for_each(|member| on(*member));
            }
        }
    }
}
