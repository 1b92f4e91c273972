//! Merges operations in a row that could be one: what passes have split is whole again, and a loop over peers is a
//! list.
//!
//! A list of peers begins with a different peer on every rank, and passes may split it at a different peer, too:
//! symmetric ranks then have different operations. Once merged, they are alike again. The merged program never knows
//! more than the original:
//!
//! * A merged operation relies only on what was known before its first part; nothing in between told others anything. A
//!   thread that processes two operations one after the other knows what both have heard; in a merged operation, each
//!   thread only knows what its own entries have heard.
//! * A sum that continues in the next operation becomes one sum of everything. In a sum over packets, it is unknown
//!   which packet came first: so its plain operands are accessed once more before, when no packet has been read. Joins
//!   of the threads in between are left out.
//!
//! So if the merged program has no races, neither has the original. The converse does not hold: ranks that are
//! symmetric as they stand are followed without merging.

use crate::ir::memory::{home, overlap_locally};
use crate::ir::windows::{Windows, choose_windows};
use crate::ir::{
    Action, Alias, Block, BlockId, ChannelKind, List, MOST_THREADS, Op, Operand, OperandSide,
    Pairing, Program, RankId, Transfer, Verb, Where,
};
use std::collections::BTreeMap;
use std::mem::discriminant;

/// Lists are not merged to more members than a block has threads, since each of these handles one member.
const MEMBERS: usize = MOST_THREADS as usize;

/// The operations of a program, some of them merged.
#[derive(Debug)]
pub(super) struct Merged<'p> {
    /// The blocks in which operations were merged.
    blocks: BTreeMap<(RankId, BlockId), Vec<Op>>,
    windows: Windows,
    program: &'p Program,
}

impl<'p> Merged<'p> {
    /// All operations as they stand.
    pub(super) fn as_written(program: &'p Program) -> Merged<'p> {
        Merged { blocks: BTreeMap::new(), windows: choose_windows(program), program }
    }

    /// All operations, merged where possible.
    pub(super) fn of(program: &'p Program) -> Merged<'p> {
        let mut blocks = BTreeMap::new();
        for (id, rank) in program.ranks.entries() {
            for (block, row) in rank.blocks.entries() {
                if let Some(ops) = merged(rank.alias, &row.ops) {
                    blocks.insert((id, block), ops);
                }
            }
        }
        Merged { blocks, windows: choose_windows(program), program }
    }

    /// Whether nothing was merged.
    pub(super) fn is_as_written(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Keeps only the merged operations of the first ranks.
    pub(super) fn of_first(mut self, ranks: u32) -> Merged<'p> {
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

/// A block's operations, merged; none if nothing can be merged.
fn merged(alias: Option<Alias>, ops: &[Op]) -> Option<Vec<Op>> {
    let first = (0..ops.len()).find(|at| {
        let Some((one, (next, _))) = ops.get(*at).zip(follower(ops, *at)) else { return false };
        // The kinds are compared before anything is copied, since most neighbors differ in kind.
        is_like(&one.action, &next.action) && absorb(alias, &mut one.clone(), next)
    })?;
    let mut out: Vec<Op> = ops.iter().take(first + 1).cloned().collect();
    let mut at = first;
    // Whether the last one is a merged sum.
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
    // The program may have many blocks, each with such a list.
    out.shrink_to_fit();
    Some(out)
}

/// The operation that may continue another one, and its distance. Where threads meet between the parts of a sum over
/// packets, that only adds to what they know.
fn follower(ops: &[Op], at: usize) -> Option<(&Op, usize)> {
    let is_sum = |op: &Op| matches!(&op.action, Action::Transfer(transfer) if transfer.verb == Verb::ReducePackets);
    let next = ops.get(at + 1)?;
    let meets = ops.get(at).is_some_and(is_sum) && matches!(next.action, Action::Sync);
    match ops.get(at + 2).filter(|op| meets && is_sum(op)) {
        Some(further) => Some((further, 2)),
        None => Some((next, 1)),
    }
}

/// The plain accesses of a sum over packets, whatever packets have arrived.
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

/// Merges an operation into the previous one, if possible.
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

/// Adds members, if none of them is in the list yet.
fn add<T: Copy + PartialEq>(list: &mut List<T>, more: &[T]) -> bool {
    let fits = list.len() + more.len() <= MEMBERS;
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

/// Whether two transfers do the same to their operands.
fn is_same(one: &Transfer, more: &Transfer) -> bool {
    (one.verb, one.slice, one.reduce) == (more.verb, more.slice, more.reduce)
}

fn transfer(alias: Option<Alias>, one: &mut Transfer, more: &Transfer) -> bool {
    if !is_same(one, more) {
        return false;
    }
    let row = one.verb.row();
    let writes_peer = row.destinations.first.sides == [OperandSide::Remote];
    match row.pairing {
        Pairing::Combine => sum(alias, one, more),
        Pairing::Pairs | Pairing::OneToAll => writes_peer && spread(one, more),
    }
}

/// Merges a sum with one that continues it: the first one's only result is the second one's first source.
fn sum(alias: Option<Alias>, one: &mut Transfer, more: &Transfer) -> bool {
    let [made] = one.destinations.as_slice() else { return false };
    let Some((first, rest)) = more.sources.split_first() else { return false };
    let goes_on = first == made && more.destinations.first() == Some(made);
    let mut all = one.sources.iter().chain(rest).chain(&more.destinations);
    let is_switch = |operand: &Operand| matches!(operand.place, Where::Switch(_));
    let is_port = |transfer: &Transfer| transfer.via == Some(ChannelKind::Port);
    let read_late = rest.iter().any(|operand| overlap_locally(alias, operand, made));
    let place = |operand: &Operand| (home(alias, operand.buffer, operand.index), operand.size);
    let askew =
        |operand: &Operand| place(operand) != place(made) && overlap_locally(alias, operand, made);
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

/// Merges puts to ranks that are all different, over a port with a channel each. Packets that are read are the same.
fn spread(one: &mut Transfer, more: &Transfer) -> bool {
    let single = |transfer: &Transfer| transfer.sources.len() == 1;
    let same = single(one) && one.sources == more.sources;
    let local = |operand: &Operand| operand.place == Where::Local;
    let there = |operand: &Operand| operand.place.peer();
    let known = |operand: &Operand| one.destinations.iter().any(|to| there(to) == there(operand));
    let port = one.via == Some(ChannelKind::Port);
    if one.via != more.via
        || one.destinations.len() + more.destinations.len() > MEMBERS
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
