//! Where a block with more operations than the executor takes can be cut into parts, which run one after the other.
//!
//! In: the operations of a block whose joins are explicit. Out: how many of them each part takes. A cut is never
//!
//! - inside a pipeline;
//! - between the uses of a channel or semaphore that a pipeline uses: uses in pipelines are in no order with others;
//! - between two meetings at one barrier, which has one set of blocks.

use super::counter::{Counter, asks, gives, takes};
use super::{Action, BarrierId, MOST_OPS, Op, all_ops, count_ops};
use std::collections::{BTreeMap, BTreeSet};

/// The most operations of a part: the rest of what a block may have is for the semaphores before and after it, and for
/// two meetings.
const MOST: usize = MOST_OPS - 4;

/// How many operations of the list each part takes; none where the block cannot be cut so that each fits.
#[must_use]
pub fn parts(ops: &[Op]) -> Option<Vec<usize>> {
    let lasts = lasts(ops);
    let (mut lengths, mut start, mut cut) = (Vec::new(), 0, 0);
    // Up to here, something stays together that was used before.
    let mut reach = 0;
    // Operations from the last cut on, and from the last place for one.
    let (mut count, mut since) = (0, 0);
    for (at, op) in ops.iter().enumerate() {
        if at > reach {
            (cut, since) = (at, 0);
        }
        reach = reach.max(lasts.get(&at).copied().unwrap_or(0));
        let more = count_ops(std::slice::from_ref(op));
        (count, since) = (count + more, since + more);
        if count > MOST {
            if cut == start {
                return None;
            }
            lengths.push(cut - start);
            (start, count) = (cut, since);
        }
        if count > MOST {
            return None;
        }
    }
    lengths.push(ops.len() - start);
    Some(lengths)
}

/// Something whose uses stay in one part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kept {
    Barrier(BarrierId),
    Counter(Counter),
}

/// For each operation that is the first use of something that stays in one part, the last use.
fn lasts(ops: &[Op]) -> BTreeMap<usize, usize> {
    let (mut uses, mut piped) = (BTreeMap::<Kept, (usize, usize)>::new(), BTreeSet::new());
    for (at, op) in ops.iter().enumerate() {
        let mut used = |kept| uses.entry(kept).or_insert((at, at)).1 = at;
        if let Action::Barrier { id, .. } = &op.action {
            used(Kept::Barrier(*id));
        }
        for inner in all_ops(std::slice::from_ref(op)) {
            for counter in counters(&inner.action) {
                used(Kept::Counter(counter));
                piped.extend(op.pipeline().map(|_| counter));
            }
        }
    }
    let is_free = |kept: &Kept| matches!(kept, Kept::Counter(one) if !piped.contains(one));
    let mut lasts = BTreeMap::new();
    for (_, (first, last)) in uses.into_iter().filter(|(kept, _)| !is_free(kept)) {
        let known = lasts.entry(first).or_insert(last);
        *known = last.max(*known);
    }
    lasts
}

/// What an operation takes from and gives to, and the ports over which it sends; the order of operations on these
/// matters.
fn counters(action: &Action) -> impl Iterator<Item = Counter> + '_ {
    let channels = asks(action).iter().map(|id| Counter::Channel(*id));
    takes(action).chain(gives(action)).chain(channels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{
        ChannelId, ChannelKind, OriginId, Pipeline, ReduceOp, SemaphoreId, Transfer, Verb,
    };
    use smallvec::SmallVec;

    fn op(action: Action) -> Op {
        Op { action, origin: OriginId::default(), sync: None }
    }

    fn release(id: u32) -> Op {
        op(Action::Release([SemaphoreId(id)].into_iter().collect()))
    }

    /// A pipeline of that many operations that releases one semaphore.
    fn pipeline(id: u32, length: usize) -> Op {
        op(Action::Pipeline(Pipeline { unit: 16, chunks: 1, body: vec![release(id); length - 1] }))
    }

    #[test]
    fn parts_are_as_long_as_they_may_be() {
        let of = |count| parts(&vec![op(Action::Sync); count]).unwrap();
        assert_eq!(of(MOST), [MOST]);
        assert_eq!(of(MOST + 1), [MOST, 1]);
        assert_eq!(of(2 * MOST + 1), [MOST, MOST, 1]);
    }

    #[test]
    fn a_barrier_belongs_to_one_part() {
        let barrier = || op(Action::Barrier { id: BarrierId(0), arrivals: 1 });
        let mut ops = vec![op(Action::Sync); MOST_OPS];
        ops.push(barrier());
        assert_eq!(parts(&ops).unwrap().len(), 2);
        ops.insert(0, barrier());
        assert_eq!(parts(&ops), None);
        ops.remove(0);
        ops.insert(MOST - 5, barrier());
        assert_eq!(parts(&ops), Some(vec![MOST - 5, ops.len() - (MOST - 5)]));
    }

    #[test]
    fn data_over_memory_is_in_no_order() {
        let put = |via| {
            op(Action::Transfer(Transfer {
                verb: Verb::Put,
                sources: SmallVec::new(),
                destinations: SmallVec::new(),
                via: Some(via),
                channels: [ChannelId(0)].into_iter().collect(),
                slice: None,
                reduce: ReduceOp::Sum,
            }))
        };
        for (via, is_cut) in [(ChannelKind::Memory, true), (ChannelKind::Port, false)] {
            let body = vec![put(via)];
            let mut ops = vec![op(Action::Pipeline(Pipeline { unit: 16, chunks: 1, body }))];
            ops.extend(vec![op(Action::Sync); MOST]);
            ops.push(put(via));
            assert_eq!(parts(&ops).is_some(), is_cut);
        }
    }

    #[test]
    fn pipelines_that_use_one_semaphore_stay_together() {
        let ops: Vec<Op> = [0, 0, 1, 1, 2, 2].map(|id| pipeline(id, 20)).into();
        assert_eq!(parts(&ops), Some(vec![2, 2, 2]));
        let ops: Vec<Op> = [0, 0, 0, 0].map(|id| pipeline(id, 20)).into();
        assert_eq!(parts(&ops), None);
        assert_eq!(parts(&[pipeline(0, MOST + 1)]), None);
        // Outside of pipelines, a semaphore is used in turn.
        assert_eq!(parts(&vec![release(0); MOST + 2]), Some(vec![MOST, 2]));
    }
}
