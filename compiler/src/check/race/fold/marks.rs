//! Marks: numbers that distinguish blocks, channels, semaphores and cells by what they are used for, and by which
//! ranks, as seen from their own rank. Things that do the same have the same mark on every rank, so equal marks show
//! what may correspond.
//!
//! First, a block is marked by the verbs, sizes and peers of its operations, and everything else by the blocks that use
//! it; then blocks again by what they use, and cells by those blocks, and so on: each round distinguishes things one
//! step further away from a difference. Chunks that always go together are one stretch.

use super::super::merged::Merged;
use super::super::turn::{Turn, TurnId};
use super::uses::{Cells, Slopes, Used, Uses, unused, use_all, used};
use super::{back, is_quiet, per_rank};
use crate::ir::{Action, ChannelId, Link, Op, Program, RankId, all_ops};
use crate::table::Id;

/// The marks of what one rank has.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) blocks: Vec<u64>,
    pub(super) channels: Vec<u64>,
    pub(super) semaphores: Vec<u64>,
    /// Those of each stretch of each buffer.
    pub(super) cells: [Vec<u64>; 3],
}

/// The part of one round's marks that the next round uses. Half the bits of stretches' marks are enough, since they are
/// only mixed.
struct Before {
    channels: Vec<u64>,
    semaphores: Vec<u64>,
    cells: [Vec<u32>; 3],
}

/// The numbers of operations that may be in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// All operations in a row have the same: their order may differ on every rank.
    OfRows,
    /// Each operation has its own: so things that differ only in their operations' order are distinguished.
    OfOperations,
}

/// The marks after `rounds` rounds; none if the blocks' marks differ between ranks.
pub(super) fn marks(
    (merged, cells): (&Merged<'_>, &[Cells]),
    turn: Turn,
    (numbers, rounds): (Numbers, u32),
) -> Option<Vec<Marks>> {
    let program = merged.program();
    let first = View { program, turn, numbers, cells, before: None };
    let mut marks = one_round(first, merged, rounds == 1)?;
    for round in 2..=rounds {
        let before: Vec<Before> = marks.into_iter().map(Before::of).collect();
        marks = one_round(View { before: Some(&before), ..first }, merged, round == rounds)?;
    }
    Some(marks)
}

/// Whether the first represented rank has blocks like its representative's, as far as the first round shows. If ranks
/// are not symmetric, that usually shows here, before anything is known about their memory.
pub(super) fn begin_alike(merged: &Merged<'_>, turn: Turn) -> bool {
    let program = merged.program();
    let view = View { program, turn, numbers: Numbers::OfRows, cells: &[], before: None };
    let rank = RankId(turn.first(program.ranks.len() as u32));
    let [own, first] =
        [rank, turn.home(rank).0].map(|of| blocks(view, merged, of, &mut Vec::new()));
    alike(&own, &first)
}

/// The marks of a round; none if the blocks' marks differ between ranks.
fn one_round(view: View<'_>, merged: &Merged<'_>, is_last: bool) -> Option<Vec<Marks>> {
    let mut marks: Vec<Marks> = per_rank(view.program, |_| Marks::default());
    let mut uses = unused(view.program, view.cells);
    let mut operations = Vec::new();
    for rank in view.program.ranks.ids() {
        operations.clear();
        let mut blocks = blocks(view, merged, rank, &mut operations);
        if is_last {
            tell_apart(&mut blocks);
        }
        marks.get_mut(rank.index())?.blocks = blocks;
        let own = marks.get(rank.index())?;
        if !alike(&own.blocks, &marks.get(view.turn.home(rank).0.index())?.blocks) {
            return None;
        }
        use_all((view.turn, view.cells), merged, (rank, &own.blocks, &operations), &mut uses);
    }
    settle(view.program, view.turn, uses, &mut marks);
    Some(marks)
}

impl Before {
    fn of(marks: Marks) -> Before {
        let half = |marks: Vec<u64>| marks.into_iter().map(|mark| mark as u32).collect();
        let Marks { channels, semaphores, cells, .. } = marks;
        Before { channels, semaphores, cells: cells.map(half) }
    }
}

/// Whether every rank has channels to the same ranks as its representative, once it is turned there.
pub(super) fn are_linked_alike(program: &Program, turn: Turn) -> bool {
    let ends = |here: RankId| -> Vec<u64> {
        let channels = program.ranks.lookup(here).map(|rank| rank.channels.ids());
        let view = (turn, back(turn, here));
        channels.into_iter().flatten().map(|id| channel(program, view, here, id)).collect()
    };
    let firsts = 0..turn.first(program.ranks.len() as u32);
    let firsts: Vec<Vec<u64>> = firsts.map(|rank| ends(RankId(rank))).collect();
    program.ranks.ids().all(|rank| {
        let first = firsts.get(turn.home(rank).0.index());
        first.is_some_and(|first| alike(&ends(rank), first))
    })
}

/// Whether two lists hold the same marks, in any order.
fn alike(one: &[u64], other: &[u64]) -> bool {
    let sum = |list: &[u64]| list.iter().fold(0_u64, |sum, one| sum.wrapping_add(*one));
    one.len() == other.len() && sum(one) == sum(other)
}

/// Combines two marks into one.
pub(super) fn mix(a: u64, b: u64) -> u64 {
    let mixed = (a ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    mixed ^ (mixed >> 32)
}

/// The data that marks are made from.
#[derive(Clone, Copy)]
struct View<'a> {
    program: &'a Program,
    turn: Turn,
    numbers: Numbers,
    cells: &'a [Cells],
    /// The marks of the previous round, if there was one.
    before: Option<&'a [Before]>,
}

/// The marks of a rank's blocks. Those of their operations are added to a list, with their numbers.
fn blocks(
    view: View<'_>,
    merged: &Merged<'_>,
    here: RankId,
    operations: &mut Vec<u64>,
) -> Vec<u64> {
    let mark = |ops: &[Op]| {
        let mut sum = 0_u64;
        each(ops, view.numbers, &mut |at, op| {
            let mark = mix(at, operation(view, here, op));
            operations.push(mark);
            sum = sum.wrapping_add(mark);
        });
        mix(sum, ops.len() as u64)
    };
    merged.blocks(here).map(mark).collect()
}

/// Distinguishes blocks with the same mark by number: the first is matched with the first, and so on, and what they use
/// then gets marks that reflect it. In a long row of blocks that take over from each other, nothing else distinguishes
/// those in the middle.
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
    let known = |rank: RankId| view.before.and_then(|before| before.get(rank.index()));
    let mut sum = 0_u64;
    used(view.program, here, op, &mut |used| {
        let what = match used {
            Used::Channel(id, role) => {
                let own = channel(view.program, (view.turn, back), here, id);
                mix(own ^ role, at_of(known(here).map(|before| before.channels.as_slice()), id.0))
            }
            Used::Semaphore(id, role) => {
                mix(role, at_of(known(here).map(|before| before.semaphores.as_slice()), id))
            }
            Used::Cells(rank, buffer, start, size, role) => {
                let marks = known(rank).and_then(|before| before.cells.get(buffer));
                let stretches = view.cells.get(rank.index()).and_then(|cells| cells.get(buffer));
                let stretch = stretches.map_or(0, |stretches| stretches.of(start));
                let seen = u64::from(view.turn.then(rank.0, back));
                let cell = marks.and_then(|marks| marks.get(stretch)).copied().unwrap_or(0);
                mix(mix(role, seen << 2 | buffer as u64), mix(u64::from(size), u64::from(cell)))
            }
        };
        sum = sum.wrapping_add(what);
    });
    mix(kind(op), sum)
}

fn at_of(list: Option<&[u64]>, at: u32) -> u64 {
    list.and_then(|list| list.get(at as usize)).copied().unwrap_or(0)
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
    for ((here, rank), (uses, marks)) in program.ranks.entries().zip(uses.into_iter().zip(marks)) {
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

/// The mark of a channel, without its uses.
fn channel(program: &Program, (turn, back): (Turn, TurnId), here: RankId, id: ChannelId) -> u64 {
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

/// Visits every operation with its number, also those in pipelines.
fn each(ops: &[Op], numbers: Numbers, visit: &mut dyn FnMut(u64, &Op)) {
    let (mut at, mut was_quiet) = (0, false);
    all_ops(ops).for_each(|op| {
        let quiet = numbers == Numbers::OfRows && is_quiet(op);
        at += u64::from(!(quiet && was_quiet));
        was_quiet = quiet;
        visit(at, op);
    });
}

/// The mark of an operation's kind, without what it uses.
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
