//! Operations in a row that could be one, as one: what passes have cut is whole again, and a loop over peers is a list.
//!
//! Where a list begins is another peer on every rank, and so is where it is cut: of ranks that do the same, each then does
//! it in operations of its own. Here they are alike again. Nothing more is known in what is made here than in the program:
//!
//! * What tells others nothing in between is done with what was known before. Threads that see to two operations one after
//!   the other know what both have heard; of one operation, each of its threads knows its own.
//! * A sum that goes on in the next operation is a sum of all. Of one over packets, nobody knows which came first: what it
//!   reads and writes beside packets is touched once more before, when none has been read. Where threads meet in between,
//!   they do not here.
//!
//! So what is without races here is so in the program. What is not may still be: ranks that do the same as they stand are looked
//! at so.

use crate::ir::memory::home;
use crate::ir::run::{Windows, windows};
use crate::ir::{
    Action, Alias, Block, BlockId, ChannelKind, List, Op, Operand, Program, RankId, Transfer, Verb,
    Where,
};
use std::collections::BTreeMap;
use std::mem::discriminant;

/// More members than this are not made one list: a block has no more threads to see to one each.
const MOST_MEMBERS: usize = 1024;

/// The operations of a program, some of them put together.
#[derive(Debug)]
pub(super) struct Whole<'p> {
    /// The blocks in which something is put together.
    blocks: BTreeMap<(RankId, BlockId), Vec<Op>>,
    windows: Windows,
    program: &'p Program,
}

impl<'p> Whole<'p> {
    /// Every operation as it stands.
    pub(super) fn as_written(program: &'p Program) -> Whole<'p> {
        Whole { blocks: BTreeMap::new(), windows: windows(program), program }
    }

    /// What can be put together is.
    pub(super) fn of(program: &'p Program) -> Whole<'p> {
        let mut blocks = BTreeMap::new();
        for (id, rank) in program.ranks.entries() {
            for (block, row) in rank.blocks.entries() {
                if let Some(ops) = whole(rank.alias, &row.ops) {
                    blocks.insert((id, block), ops);
                }
            }
        }
        Whole { blocks, windows: windows(program), program }
    }

    /// Whether nothing was put together.
    pub(super) fn is_as_written(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Only the first ranks' operations are put together.
    pub(super) fn of_first(mut self, ranks: u32) -> Whole<'p> {
        drop(self.blocks.split_off(&(RankId(ranks), BlockId(0))));
        self
    }

    /// The program.
    pub(super) fn program(&self) -> &'p Program {
        self.program
    }

    /// The windows of its pipelines.
    pub(super) fn windows(&self) -> &Windows {
        &self.windows
    }

    /// The operations of each block of a rank.
    pub(super) fn blocks(&self, rank: RankId) -> impl Iterator<Item = &[Op]> {
        let rows = self.program.ranks.lookup(rank).map(|rank| rank.blocks.entries());
        rows.into_iter().flatten().map(move |(block, row)| self.ops((rank, block), row))
    }

    /// The operations of a block.
    pub(super) fn ops<'a>(&'a self, of: (RankId, BlockId), row: &'a Block) -> &'a [Op] {
        self.blocks.get(&of).map_or(&row.ops, Vec::as_slice)
    }
}

/// A block's operations, put together; none where they are as they stand.
fn whole(alias: Option<Alias>, ops: &[Op]) -> Option<Vec<Op>> {
    let first = (0..ops.len()).find(|at| {
        let Some((one, (next, _))) = ops.get(*at).zip(follower(ops, *at)) else { return false };
        // Nothing is copied to be tried of which neighbours are of two kinds, as most are.
        is_like(&one.action, &next.action) && absorb(alias, &mut one.clone(), next)
    })?;
    let mut out: Vec<Op> = ops.iter().take(first + 1).cloned().collect();
    let mut at = first;
    // Whether the last one is a sum that was put together.
    let mut summed = false;
    while let Some((op, further)) = follower(ops, at) {
        let before = out.last().filter(|_| !summed).and_then(plain_part);
        if out.last_mut().is_some_and(|last| absorb(alias, last, op)) {
            at += further;
            if let Some(before) = before {
                out.insert(out.len() - 1, before);
                summed = true;
            }
            continue;
        }
        at += 1;
        out.extend(ops.get(at).cloned());
        summed = false;
    }
    // There are as many of these as the program has blocks.
    out.shrink_to_fit();
    Some(out)
}

/// The operation that may go on with what one does, and how much further it is. Where threads meet between parts of a sum
/// over packets, that only adds to what they know.
fn follower(ops: &[Op], at: usize) -> Option<(&Op, usize)> {
    let is_sum = |op: &Op| matches!(&op.action, Action::Transfer(transfer) if transfer.verb == Verb::ReducePackets);
    let next = ops.get(at + 1)?;
    let meets = ops.get(at).is_some_and(is_sum) && matches!(next.action, Action::Sync);
    match ops.get(at + 2).filter(|op| meets && is_sum(op)) {
        Some(further) => Some((further, 2)),
        None => Some((next, 1)),
    }
}

/// What a sum over packets touches beside them, whatever has come.
fn plain_part(op: &Op) -> Option<Op> {
    let Action::Transfer(sum) = &op.action else { return None };
    let plain = Transfer {
        sources: sum.sources.iter().take(1).copied().collect(),
        destinations: sum.destinations.iter().take(1).copied().collect(),
        via: None,
        channels: List::new(),
        ..*sum
    };
    let is_sum = sum.verb == Verb::ReducePackets;
    is_sum.then(|| Op { action: Action::Transfer(plain), ..op.clone() })
}

/// Adds an operation to the one before it, if the two can be one.
fn absorb(alias: Option<Alias>, last: &mut Op, op: &Op) -> bool {
    if last.sync.is_some() || op.sync.is_some() {
        return false;
    }
    match (&mut last.action, &op.action) {
        (Action::Signal(list), Action::Signal(more)) | (Action::Wait(list), Action::Wait(more)) => {
            list.relaxed == more.relaxed && add(&mut list.channels, &more.channels)
        }
        (Action::Flush(list), Action::Flush(more)) => add(list, more),
        (Action::Acquire(list), Action::Acquire(more))
        | (Action::Release(list), Action::Release(more)) => add(list, more),
        (Action::Transfer(one), Action::Transfer(more)) => transfer(alias, one, more),
        (
            Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_)
            | Action::Transfer(_)
            | Action::Pipeline(_),
            _,
        ) => false,
    }
}

/// Adds members of which none is there yet.
fn add<T: Copy + PartialEq>(list: &mut List<T>, more: &[T]) -> bool {
    let fits = list.len() + more.len() <= MOST_MEMBERS;
    let new = fits && !more.iter().any(|member| list.contains(member));
    if new {
        list.extend_from_slice(more);
    }
    new
}

/// Whether two actions are of one kind.
fn is_like(one: &Action, more: &Action) -> bool {
    if let (Action::Transfer(one), Action::Transfer(more)) = (one, more) {
        return is_same(one, more);
    }
    discriminant(one) == discriminant(more)
}

/// Whether two transfers do the same with their operands.
fn is_same(one: &Transfer, more: &Transfer) -> bool {
    (one.verb, one.slice, one.reduce) == (more.verb, more.slice, more.reduce)
}

fn transfer(alias: Option<Alias>, one: &mut Transfer, more: &Transfer) -> bool {
    if !is_same(one, more) {
        return false;
    }
    match one.verb {
        Verb::Reduce | Verb::ReducePackets => sum(alias, one, more),
        Verb::Put
        | Verb::PutWithSignal
        | Verb::PutWithSignalAndFlush
        | Verb::PutPackets
        | Verb::ReadPutPackets => spread(one, more),
        Verb::Copy
        | Verb::Get
        | Verb::Broadcast
        | Verb::CopyPackets
        | Verb::UnpackPackets
        | Verb::BroadcastPackets => false,
    }
}

/// A sum that goes on: what the first one makes, and nothing else, is the first thing that the second one reads.
fn sum(alias: Option<Alias>, one: &mut Transfer, more: &Transfer) -> bool {
    let [made] = one.destinations.as_slice() else { return false };
    let Some((first, rest)) = more.sources.split_first() else { return false };
    let goes_on = first == made && more.destinations.first() == Some(made);
    let mut all = one.sources.iter().chain(rest).chain(&more.destinations);
    let is_switch = |operand: &Operand| matches!(operand.place, Where::Switch(_));
    let is_port = |transfer: &Transfer| transfer.via == Some(ChannelKind::Port);
    let read_late = rest.iter().any(|operand| touch(alias, operand, made));
    let place = |operand: &Operand| (home(alias, operand.buffer, operand.index), operand.size);
    let askew = |operand: &Operand| place(operand) != place(made) && touch(alias, operand, made);
    if made.place != Where::Local
        || !goes_on
        || all.any(is_switch)
        || is_port(one)
        || is_port(more)
        || read_late
        || one.sources.iter().any(askew)
    {
        return false;
    }
    one.sources.extend_from_slice(rest);
    one.destinations = more.destinations.clone();
    one.channels.extend_from_slice(&more.channels);
    one.via = one.via.or(more.via);
    true
}

/// Puts to ranks that are all different, over a port with a channel each. What is read as packets is the same.
fn spread(one: &mut Transfer, more: &Transfer) -> bool {
    let single = |transfer: &Transfer| transfer.sources.len() == 1;
    let same = single(one) && one.sources == more.sources;
    let local = |operand: &Operand| operand.place == Where::Local;
    let there = |operand: &Operand| match operand.place {
        Where::Remote(rank) => Some(rank),
        Where::Local | Where::Switch(_) => None,
    };
    let known = |operand: &Operand| one.destinations.iter().any(|to| there(to) == there(operand));
    let port = one.via == Some(ChannelKind::Port);
    if one.via != more.via
        || one.destinations.len() + more.destinations.len() > MOST_MEMBERS
        || !same && one.verb == Verb::ReadPutPackets
        || !one.sources.iter().chain(&more.sources).all(local)
        || !one.destinations.iter().all(|to| there(to).is_some())
        || !more.destinations.iter().all(|to| there(to).is_some() && !known(to))
        || port && more.channels.iter().any(|channel| one.channels.contains(channel))
    {
        return false;
    }
    if !same {
        for transfer in [&*one, more] {
            if !single(transfer) && transfer.sources.len() != transfer.destinations.len() {
                return false;
            }
        }
        each_its_own(one);
        let mut more = more.clone();
        each_its_own(&mut more);
        one.sources.extend_from_slice(&more.sources);
    }
    one.destinations.extend_from_slice(&more.destinations);
    one.channels.extend_from_slice(&more.channels);
    true
}

/// A source for each destination.
fn each_its_own(transfer: &mut Transfer) {
    if let [single] = transfer.sources.as_slice() {
        let single = *single;
        transfer.sources = transfer.destinations.iter().map(|_| single).collect();
    }
}

/// Whether a local operand has a cell of another one.
fn touch(alias: Option<Alias>, a: &Operand, b: &Operand) -> bool {
    let home = |operand: &Operand| home(alias, operand.buffer, operand.index);
    let ((a_buffer, a_start), (b_buffer, b_start)) = (home(a), home(b));
    a.place == b.place
        && a_buffer == b_buffer
        && a_start < b_start + u64::from(b.size)
        && b_start < a_start + u64::from(a.size)
}
