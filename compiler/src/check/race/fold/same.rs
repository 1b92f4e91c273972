//! Verifies a fold: whether every rank does the same as its representative, once it is turned there and its blocks,
//! channels, semaphores and cells are replaced by their counterparts.
//!
//! Lists may be in another order where that changes nothing: the operands of a reduction, and the pairs of a copy; also
//! the channels and semaphores of an operation, each of which is handled by one thread, if all operations between two
//! meetings of the threads agree on which thread corresponds to which.

use super::super::merged::Merged;
use super::super::turn::{Turn, TurnId};
use super::operands::Places;
use super::{Fold, back, is_quiet, row};
use crate::ir::memory::{Extent, accesses, extents, source_is_packets, writes_packets};
use crate::ir::{
    Action, BlockId, Buffer, Channel, ChannelId, ChannelKind, Link, Op, Program, Rank, RankId,
    Transfer,
};
use crate::table::Id;

/// A fold that is verified against the program.
pub(super) struct Check<'a> {
    pub(super) program: &'a Program,
    merged: &'a Merged<'a>,
    pub(super) fold: &'a Fold,
    pub(super) turn: Turn,
}

/// Which thread corresponds to which; none while that does not matter yet.
#[derive(Default)]
struct Threads(Option<Order>);

/// The positions of the members of one list in another; none where they are in the same places.
type Order = Option<Vec<usize>>;

/// Whether a fold is right.
pub(super) fn holds(merged: &Merged<'_>, fold: &Fold) -> bool {
    let program = merged.program();
    let check = Check { program, merged, fold, turn: fold.turn };
    program.ranks.entries().all(|(id, rank)| {
        let (first, by) = fold.turn.home(id);
        let one = program.ranks.lookup(first);
        by == 0 || one.is_some_and(|one| check.rank((first, one), id, rank))
    })
}

impl Check<'_> {
    fn rank(&self, (one, first): (RankId, &Rank), id: RankId, rank: &Rank) -> bool {
        let Some(folded) = self.fold.ranks.get(id.index()) else { return false };
        let view = (id, back(self.turn, id));
        let blocks = folded.blocks.iter().map(|at| {
            let at = BlockId(*at);
            Some(self.merged.ops((id, at), rank.blocks.lookup(at)?))
        });
        self.memory(first, id, rank)
            && first.blocks.len() == rank.blocks.len()
            && first.channels.len() == rank.channels.len()
            && rank.channels.iter().zip(&folded.channels).all(|(channel, at)| {
                row(&first.channels, *at).is_some_and(|one| self.channel(view, channel, one))
            })
            && rank.semaphores.iter().zip(&folded.semaphores).all(|(semaphore, at)| {
                row(&first.semaphores, *at).is_some_and(|one| one.initial == semaphore.initial)
            })
            && self.merged.blocks(one).zip(blocks).all(|(ones, ops)| {
                ops.is_some_and(|ops| self.block(view, (first, ones), (rank, ops)))
            })
    }

    /// Whether two ranks' buffers have the same sizes and overlap in the same way.
    fn memory(&self, first: &Rank, id: RankId, rank: &Rank) -> bool {
        let sizes = |rank: &Rank| (rank.input_chunks, rank.output_chunks, rank.scratch_chunks);
        if sizes(first) != sizes(rank) {
            return false;
        }
        match (first.alias, rank.alias) {
            (None, None) => true,
            (Some(a), Some(b)) => {
                let inner = |rank: &Rank| match a.inner {
                    Buffer::Input => rank.input_chunks,
                    Buffer::Output => rank.output_chunks,
                    Buffer::Scratch => rank.scratch_chunks,
                };
                let there = a.offset..a.offset.saturating_add(inner(first));
                let mut chunks = b.offset..b.offset.saturating_add(inner(rank));
                let inside = |chunk: u32| {
                    let cell = self.fold.cell(id, b.outer, u64::from(chunk));
                    cell.is_some_and(|cell| there.contains(&cell))
                };
                (a.inner, a.outer) == (b.inner, b.outer) && chunks.all(inside)
            }
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    fn channel(&self, (_, back): (RankId, TurnId), channel: &Channel, one: &Channel) -> bool {
        let seen = |rank: &RankId| self.turn.then(rank.0, back);
        let links = match (&channel.link, &one.link) {
            (Link::Memory(peer), Link::Memory(other)) | (Link::Port(peer), Link::Port(other)) => {
                seen(peer) == other.0
            }
            (Link::Switch(group), Link::Switch(other)) => {
                let mut turned: Vec<u32> = group.ranks.iter().map(seen).collect();
                let mut others: Vec<u32> = other.ranks.iter().map(|rank| rank.0).collect();
                turned.sort_unstable();
                others.sort_unstable();
                group.buffer == other.buffer && turned == others
            }
            (Link::Memory(_) | Link::Port(_) | Link::Switch(_), _) => false,
        };
        let end = |channel: &Channel| {
            let (peer, there) = channel.peer().zip(channel.partner)?;
            Some(self.fold.end(peer, there).1)
        };
        links && channel.partner.is_some() == one.partner.is_some() && end(channel) == end(one)
    }

    fn block(
        &self,
        view: (RankId, TurnId),
        (first, ones): (&Rank, &[Op]),
        (rank, ops): (&Rank, &[Op]),
    ) -> bool {
        ones.len() == ops.len()
            && self.barriers(view, (first, ones), (rank, ops))
            && self.ops(view, ops, ones, &mut Threads::default())
    }

    /// Whether barriers are between corresponding blocks.
    fn barriers(
        &self,
        (id, _): (RankId, TurnId),
        (first, ones): (&Rank, &[Op]),
        (rank, ops): (&Rank, &[Op]),
    ) -> bool {
        let blocks = self.fold.ranks.get(id.index()).map(|folded| folded.blocks.as_slice());
        ones.iter().zip(ops).all(|(one, op)| match (&one.action, &op.action) {
            (Action::Barrier { id: one, .. }, Action::Barrier { id, .. }) => {
                let (Some(ones), Some(members)) =
                    (first.barriers.lookup(*one), rank.barriers.lookup(*id))
                else {
                    return false;
                };
                let turned = |one: &BlockId| blocks?.get(one.index()).copied().map(BlockId);
                let is_member = |one: &BlockId| turned(one).is_some_and(|at| members.contains(&at));
                ones.len() == members.len() && ones.iter().all(is_member)
            }
            (one, op) => {
                let barrier = |action: &Action| matches!(action, Action::Barrier { .. });
                !barrier(one) && !barrier(op)
            }
        })
    }

    fn ops(&self, view: (RankId, TurnId), ops: &[Op], ones: &[Op], threads: &mut Threads) -> bool {
        let mut before: Option<&Op> = None;
        let mut at = 0;
        while let (Some(op), Some(one)) = (ops.get(at), ones.get(at)) {
            let met = before.is_some_and(|before| self.program.meets_between(before, one));
            if met || matches!(one.action, Action::Sync | Action::Barrier { .. }) {
                *threads = Threads::default();
            }
            let same = op.sync == one.sync && self.op(view, op, one, threads);
            if !same {
                let quiet = |ops: &[Op]| ops.iter().skip(at).take_while(|op| is_quiet(op)).count();
                let count = quiet(ones);
                let both = ops.get(at..at + count).zip(ones.get(at..at + count));
                let found = both.is_some_and(|both| count == quiet(ops) && self.run(view, both));
                if count == 0 || !found {
                    return false;
                }
                at += count - 1;
            }
            before = ones.get(at);
            at += 1;
        }
        ops.len() == ones.len()
    }

    /// Whether operations in a row that do not synchronize are the same in some order, if their order does not matter.
    fn run(&self, view: (RankId, TurnId), (ops, ones): (&[Op], &[Op])) -> bool {
        let same = |i: usize, j: usize| match (ops.get(i), ones.get(j)) {
            (Some(op), Some(one)) => self.op(view, op, one, &mut Threads::default()),
            (Some(_) | None, _) => false,
        };
        order(ones.len(), same).is_some() && self.is_apart(self.turn.home(view.0).0, ones)
    }

    /// Whether no operation touches what another one writes.
    fn is_apart(&self, here: RankId, ops: &[Op]) -> bool {
        let mut touched: Vec<(Extent, usize, bool)> = Vec::new();
        for (at, op) in ops.iter().enumerate() {
            let Action::Transfer(transfer) = &op.action else { continue };
            for access in accesses(transfer) {
                let extents = extents(&self.program.ranks, here, access.operand);
                touched.extend(extents.map(|extent| (extent, at, access.write)));
            }
        }
        touched.sort_unstable();
        let mut last: Option<(Extent, usize, bool)> = None;
        touched.into_iter().all(|(extent, at, write)| {
            let apart = last.is_none_or(|(before, op, written)| {
                !before.overlaps(&extent) || op == at || !write && !written
            });
            // Of two that overlap without harm, the one that reaches further is kept, as a write if either is one.
            last = Some(match last.filter(|(before, ..)| before.overlaps(&extent)) {
                Some((before, op, written)) if before.end > extent.end => {
                    (before, if op == at { op } else { usize::MAX }, write || written)
                }
                Some((_, op, written)) => {
                    (extent, if op == at { op } else { usize::MAX }, write || written)
                }
                None => (extent, at, write),
            });
            apart
        })
    }

    fn op(&self, view: (RankId, TurnId), op: &Op, one: &Op, threads: &mut Threads) -> bool {
        let (id, _) = view;
        let channel = |at: &ChannelId, one: &ChannelId| self.fold.end(id, *at).1 == *one;
        match (&op.action, &one.action) {
            (Action::Sync, Action::Sync) => true,
            (Action::Barrier { arrivals, .. }, Action::Barrier { arrivals: there, .. }) => {
                arrivals == there
            }
            (Action::Signal(a), Action::Signal(b)) | (Action::Wait(a), Action::Wait(b)) => {
                a.relaxed == b.relaxed && threads.agree(&a.channels, &b.channels, channel)
            }
            (Action::Flush(a), Action::Flush(b)) => threads.agree(a, b, channel),
            (Action::Acquire(a), Action::Acquire(b)) | (Action::Release(a), Action::Release(b)) => {
                let all = self.fold.ranks.get(id.index()).map(|folded| &folded.semaphores);
                threads.agree(a, b, |at, one| {
                    all.and_then(|all| all.get(at.index())).is_some_and(|at| *at == one.0)
                })
            }
            (Action::Transfer(a), Action::Transfer(b)) => self.transfer(view, a, b, threads),
            (Action::Pipeline(a), Action::Pipeline(b)) => {
                // The first operation of a window comes after the last one of the previous window.
                let mut same = Threads(Some(None));
                let held = threads.keep(None);
                held && (a.unit, a.chunks) == (b.unit, b.chunks)
                    && a.body
                        .iter()
                        .zip(&b.body)
                        .all(|(op, one)| op.sync == one.sync && self.op(view, op, one, &mut same))
                    && a.body.len() == b.body.len()
            }
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

    fn transfer(
        &self,
        view: (RankId, TurnId),
        a: &Transfer,
        b: &Transfer,
        threads: &mut Threads,
    ) -> bool {
        let kind = |t: &Transfer| {
            let lengths = (t.sources.len(), t.destinations.len(), t.channels.len());
            (t.verb, t.via, t.slice, t.reduce, lengths)
        };
        if kind(a) != kind(b) {
            return false;
        }
        let source = |(i, j): (usize, usize), places: &Places<'_>| {
            let (Some(x), Some(y)) = (a.sources.get(i), b.sources.get(j)) else { return false };
            source_is_packets(a, i) == source_is_packets(b, j) && self.operand(view, (x, y), places)
        };
        let destination = |(i, j): (usize, usize), places: &Places<'_>| {
            let (Some(x), Some(y)) = (a.destinations.get(i), b.destinations.get(j)) else {
                return false;
            };
            writes_packets(a.verb, i) == writes_packets(b.verb, j)
                && self.operand(view, (x, y), places)
        };
        let port = a.via == Some(ChannelKind::Port);
        let packets = (0..a.sources.len()).any(|i| source_is_packets(a, i))
            || (0..a.destinations.len()).any(|i| writes_packets(a.verb, i));
        // Threads that go on without the others know about the packets that they have handled.
        if packets && !port && !threads.keep(None) {
            return false;
        }
        if a.verb.reduces() && !port {
            let places = self.places(view, a.destinations.first().zip(b.destinations.first()));
            return order(a.sources.len(), |i, j| source((i, j), &places)).is_some()
                && order(a.destinations.len(), |i, j| destination((i, j), &places)).is_some();
        }
        let single = a.sources.len() == 1;
        let pair = |i: usize, j: usize| {
            let from = if single { (0, 0) } else { (i, j) };
            let sources = a.sources.get(from.0).zip(b.sources.get(from.1));
            let places = (!port).then(|| {
                let there = self.places(view, sources);
                there
                    .or_else(|| self.places(view, a.destinations.get(i).zip(b.destinations.get(j))))
            });
            let places = places.flatten();
            let channel = || match (a.channels.get(i), b.channels.get(j)) {
                (Some(x), Some(y)) => self.fold.end(view.0, *x).1 == *y,
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            destination((i, j), &places) && source(from, &places) && (!port || channel())
        };
        match order(a.destinations.len(), pair) {
            Some(order) if port => threads.keep(order),
            found => found.is_some(),
        }
    }
}

impl Threads {
    /// Whether two lists are the same in an order on which all operations agree since the threads last met.
    fn agree<T>(&mut self, list: &[T], other: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
        let found = order(list.len(), |i, j| match (list.get(i), other.get(j)) {
            (Some(one), Some(other)) => same(one, other),
            (Some(_) | None, _) => false,
        });
        list.len() == other.len() && found.is_some_and(|order| self.keep(order))
    }

    fn keep(&mut self, order: Order) -> bool {
        *self.0.get_or_insert_with(|| order.clone()) == order
    }
}

/// The position of each of `count` things among as many others; none if they are not the same things.
fn order(count: usize, same: impl Fn(usize, usize) -> bool) -> Option<Order> {
    if (0..count).all(|i| same(i, i)) {
        return Some(None);
    }
    let mut taken = vec![false; count];
    let mut places = Vec::with_capacity(count);
    let mut next = 0;
    for i in 0..count {
        // Usually the lists are the same ring, with another beginning.
        let found = (next..count)
            .chain(0..next)
            .find(|j| taken.get(*j).is_some_and(|taken| !taken) && same(i, *j))?;
        if let Some(taken) = taken.get_mut(found) {
            *taken = true;
        }
        places.push(found);
        next = found + 1;
    }
    Some(Some(places))
}
