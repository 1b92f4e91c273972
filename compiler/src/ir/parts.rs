//! Where a block with more operations than the executor takes can be cut into parts, which run one after the other.
//!
//! In: the operations of a block whose joins are explicit. Out: how many of them each part takes, or what is in the way. A cut is never
//!
//! - inside a pipeline;
//! - between the uses of a channel or semaphore that a pipeline uses: uses in pipelines are in no order with others;
//! - between two meetings at one barrier, which has one set of blocks.

use super::counter::{CounterKind, asks, gives, takes};
use super::{Action, BarrierId, MOST_OPS, Op, all_ops, count_ops};
use std::collections::{BTreeMap, BTreeSet};

/// The most operations of a part: the rest of what a block may have is for the semaphores before and after it, and for
/// two meetings.
const MOST: usize = MOST_OPS - 4;

/// Why a block cannot be cut into parts that the executor takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// What stays together.
    pub kind: ObstacleKind,
    /// Where in the block the operation is that it is about: a pipeline, or a meeting at a barrier.
    pub at: usize,
}

/// What cannot be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObstacleKind {
    /// A pipeline that alone has too many operations.
    LongPipeline,
    /// All that lies between a pipeline and other uses of a channel or a semaphore of it.
    Counter,
    /// All that lies between the first and the last meeting at a barrier.
    Barrier,
}

/// How many operations of the list each part takes.
///
/// # Errors
///
/// If the block cannot be cut so that each part fits, what is in the way.
pub fn parts(ops: &[Op]) -> Result<Vec<usize>, Obstacle> {
    let lasts = lasts(ops);
    let (mut lengths, mut start, mut cut) = (Vec::new(), 0, 0);
    // Up to here, something stays together that was used before.
    let mut reach = 0;
    let mut farthest = None;
    // Operations from the last cut on, and from the last place for one.
    let (mut count, mut since) = (0, 0);
    for (at, op) in ops.iter().enumerate() {
        if at > reach {
            (cut, since) = (at, 0);
        }
        if let Some(last) = lasts.get(&at).filter(|last| last.at >= reach) {
            (reach, farthest) = (last.at, Some(last.kept));
        }
        let more = count_ops(std::slice::from_ref(op));
        if more > MOST {
            return Err(Obstacle { kind: ObstacleKind::LongPipeline, at });
        }
        (count, since) = (count + more, since + more);
        if count > MOST {
            if cut == start || since > MOST {
                return Err(obstacle(farthest, ops.get(cut..).unwrap_or_default(), cut));
            }
            lengths.push(cut - start);
            (start, count) = (cut, since);
        }
    }
    lengths.push(ops.len() - start);
    Ok(lengths)
}

/// What keeps these operations together, the first of which is `first` in the block.
fn obstacle(farthest: Option<Kept>, ops: &[Op], first: usize) -> Obstacle {
    let uses = |op: &Op| match (farthest, &op.action) {
        (Some(Kept::Barrier(barrier)), Action::Barrier { id, .. }) => *id == barrier,
        (Some(Kept::Counter(counter)), Action::Pipeline(pipeline)) => {
            all_ops(&pipeline.body).any(|op| counters(&op.action).any(|one| one == counter))
        }
        _ => false,
    };
    let kind = match farthest {
        Some(Kept::Barrier(_)) => ObstacleKind::Barrier,
        Some(Kept::Counter(_)) | None => ObstacleKind::Counter,
    };
    Obstacle { kind, at: first + ops.iter().position(uses).unwrap_or(0) }
}

/// Something whose uses stay in one part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kept {
    Barrier(BarrierId),
    Counter(CounterKind),
}

/// The last use of something that stays in one part.
struct LastUse {
    at: usize,
    kept: Kept,
}

/// For each operation that is the first use of something that stays in one part, the last use.
fn lasts(ops: &[Op]) -> BTreeMap<usize, LastUse> {
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
    let mut lasts: BTreeMap<usize, LastUse> = BTreeMap::new();
    for (kept, (first, last)) in uses.into_iter().filter(|(kept, _)| !is_free(kept)) {
        if lasts.get(&first).is_none_or(|known| known.at < last) {
            lasts.insert(first, LastUse { at: last, kept });
        }
    }
    lasts
}

/// What an operation takes from and gives to, and the ports over which it sends; the order of operations on these
/// matters.
fn counters(action: &Action) -> impl Iterator<Item = CounterKind> + '_ {
    let channels = asks(action).iter().map(|id| CounterKind::Channel(*id));
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
        assert_eq!(parts(&ops), Err(Obstacle { kind: ObstacleKind::Barrier, at: 0 }));
        ops.remove(0);
        ops.insert(MOST - 5, barrier());
        assert_eq!(parts(&ops), Ok(vec![MOST - 5, ops.len() - (MOST - 5)]));
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
            assert_eq!(parts(&ops).is_ok(), is_cut);
        }
    }

    #[test]
    fn pipelines_that_use_one_semaphore_stay_together() {
        let ops: Vec<Op> = [0, 0, 1, 1, 2, 2].map(|id| pipeline(id, 20)).into();
        assert_eq!(parts(&ops), Ok(vec![2, 2, 2]));
        let ops: Vec<Op> = [1, 0, 0, 0, 0].map(|id| pipeline(id, 20)).into();
        assert_eq!(parts(&ops), Err(Obstacle { kind: ObstacleKind::Counter, at: 1 }));
        let ops = [release(1), pipeline(0, MOST + 1)];
        assert_eq!(parts(&ops), Err(Obstacle { kind: ObstacleKind::LongPipeline, at: 1 }));
        // Outside of pipelines, a semaphore is used in turn.
        assert_eq!(parts(&vec![release(0); MOST + 2]), Ok(vec![MOST, 2]));
    }
}
