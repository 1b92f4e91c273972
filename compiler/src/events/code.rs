//! The steps of a block by number: which operation each one is, pipelines unrolled.

use super::step::{InnerSite, Site, StepBuffer, StepHeader, StepSink};
use super::{Events, Step};
use crate::ir::{Action, BlockId, ChannelKind, Joins, Op, Pipeline, RankId, SyncOverride, Verb};
use std::ops::Range;

/// The steps of a block.
#[derive(Clone, Debug)]
pub struct BlockSteps<'p> {
    pub(super) rank: RankId,
    ops: &'p [Op],
    /// The operations that are not exactly one step, ascending.
    long: Vec<LongOp>,
    len: u64,
}

/// An operation that is not exactly one step.
#[derive(Clone, Copy, Debug)]
struct LongOp {
    op: u32,
    /// The number of its first step.
    first: u64,
    steps: u64,
}

/// An operation as it runs once.
#[derive(Clone, Debug)]
pub(super) struct Occurrence<'p> {
    pub(super) op: &'p Op,
    pub(super) site: Site,
    /// In a pipeline: the cells of its operands that it covers, counted from the beginning of the block's part.
    pub(super) window: Option<Range<u64>>,
}

impl BlockSteps<'_> {
    /// How many steps there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<'p> Events<'p> {
    /// The steps of a block; none for a block that does not exist.
    #[must_use]
    pub fn block_steps(&self, rank: RankId, block: BlockId) -> BlockSteps<'p> {
        let row = self.program.ranks.lookup(rank).and_then(|row| row.blocks.lookup(block));
        let ops: &'p [Op] = row.map_or(&[], |row| &row.ops);
        let (mut long, mut first) = (Vec::new(), 0_u64);
        for (op, one) in (0..).zip(ops) {
            let steps = self.count_steps(one);
            if steps != 1 {
                long.push(LongOp { op, first, steps });
            }
            first = first.saturating_add(steps);
        }
        BlockSteps { rank, ops, long, len: first }
    }

    /// Lowers a step of a block into a buffer, and returns it; none beyond the last.
    pub fn lower_step<'b>(
        &self,
        steps: &BlockSteps<'p>,
        at: u64,
        into: &'b mut StepBuffer,
    ) -> Option<Step<'b>> {
        into.clear();
        let occurrence = self.find_occurrence(steps, at)?;
        // The threads meet between the parts of one operation.
        let joined = occurrence.site.part > 0
            || match at.checked_sub(1).and_then(|before| self.find_op(steps, before)) {
                Some(before) => self.meets_between(before, occurrence.op),
                None => true,
            };
        let meeting = self.lower(steps.rank, &occurrence, into);
        into.set_header(StepHeader {
            site: occurrence.site,
            origin: occurrence.op.origin,
            joined,
            is_join: meeting.is_join,
            arrival: meeting.arrival,
        });
        into.step()
    }

    /// Lets a sink look at the effects of a step of a block.
    pub fn visit_step(&self, steps: &BlockSteps<'p>, at: u64, sink: &mut impl StepSink) {
        if let Some(occurrence) = self.find_occurrence(steps, at) {
            self.lower(steps.rank, &occurrence, sink);
        }
    }

    fn count_steps(&self, op: &Op) -> u64 {
        match &op.action {
            Action::Pipeline(pipeline) => {
                count_body_steps(pipeline).saturating_mul(self.class.count_turns(pipeline))
            }
            Action::Transfer(_)
            | Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_) => count_parts(op).into(),
        }
    }

    /// The operation of a step, and where in it the step is.
    fn find_occurrence(&self, steps: &BlockSteps<'p>, at: u64) -> Option<Occurrence<'p>> {
        let found = find_place(steps, at)?;
        let op = steps.ops.get(found.op as usize)?;
        let site = |inner, part| Site { operation: found.op, inner, part };
        let Action::Pipeline(pipeline) = &op.action else {
            return Some(Occurrence { op, site: site(None, found.rest as u32), window: None });
        };
        let body = count_body_steps(pipeline).max(1);
        let inner = find_inner(pipeline, found.rest % body)?;
        let turn = found.rest / body;
        let place = InnerSite { operation: inner.operation, turn: turn as u32 };
        Some(Occurrence {
            op: inner.op,
            site: site(Some(place), inner.part),
            window: Some(self.class.window(pipeline, turn)),
        })
    }

    /// The operation of a step.
    fn find_op(&self, steps: &BlockSteps<'p>, at: u64) -> Option<&'p Op> {
        let found = find_place(steps, at)?;
        let op = steps.ops.get(found.op as usize)?;
        let Action::Pipeline(pipeline) = &op.action else { return Some(op) };
        let body = count_body_steps(pipeline).max(1);
        find_inner(pipeline, found.rest % body).map(|inner| inner.op)
    }

    /// Whether the threads of a block meet between two operations. `sync` and `barrier` are meetings themselves.
    fn meets_between(&self, before: &Op, after: &Op) -> bool {
        use SyncOverride::{After, Before, Both, None};
        let asked =
            matches!(before.sync, Some(After | Both)) || matches!(after.sync, Some(Before | Both));
        let refused =
            matches!(before.sync, Some(Before | None)) || matches!(after.sync, Some(After | None));
        match self.program.joins {
            Joins::Explicit => false,
            Joins::Implied => asked || self.program.options.auto_sync && !refused,
        }
    }
}

/// The operation of a step, and the step's number in that.
struct FoundPlace {
    op: u32,
    rest: u64,
}

fn find_place(steps: &BlockSteps, at: u64) -> Option<FoundPlace> {
    if at >= steps.len {
        return None;
    }
    let after = steps.long.partition_point(|long| long.first <= at);
    let long = after.checked_sub(1).and_then(|last| steps.long.get(last));
    let Some(long) = long else { return Some(FoundPlace { op: at as u32, rest: 0 }) };
    let rest = at - long.first;
    Some(match rest.checked_sub(long.steps) {
        None => FoundPlace { op: long.op, rest },
        Some(behind) => FoundPlace { op: long.op + 1 + behind as u32, rest: 0 },
    })
}

/// An operation of a pipeline's body, with its number there, and a part of it.
struct InnerOp<'p> {
    op: &'p Op,
    operation: u32,
    part: u32,
}

/// The operation of a pipeline's body that a step of one turn is.
fn find_inner(pipeline: &Pipeline, step: u64) -> Option<InnerOp<'_>> {
    let mut rest = step;
    for (operation, op) in (0..).zip(&pipeline.body) {
        let parts = u64::from(count_parts(op));
        if rest < parts {
            return Some(InnerOp { op, operation, part: rest as u32 });
        }
        rest -= parts;
    }
    None
}

fn count_body_steps(pipeline: &Pipeline) -> u64 {
    pipeline.body.iter().map(|op| u64::from(count_parts(op))).sum()
}

/// How many steps an operation is that is no pipeline. In `read_put_packets` over a port, all threads wait for the packets and
/// meet before one of them asks the proxy.
fn count_parts(op: &Op) -> u32 {
    let is_parted = op.transfer().is_some_and(|transfer| {
        transfer.verb == Verb::ReadPutPackets && transfer.via == Some(ChannelKind::Port)
    });
    if is_parted { 2 } else { 1 }
}
