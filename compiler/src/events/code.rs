//! The steps of a block by number: which operation each one is, pipelines unrolled.

use super::step::{InnerSite, Site, StepBuffer, StepHeader, StepPlace, StepRepeat, StepSink};
use super::{Events, Step};
use crate::ir::{Action, BlockId, ChannelKind, Op, Pipeline, RankId, Verb};
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

/// An operation that is visited.
struct Visit<'p> {
    op: &'p Op,
    operation: u32,
    inner: Option<InnerSite>,
    /// The one before it.
    last: Option<&'p Op>,
    repeat: Option<StepRepeat>,
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
        self.steps_of(rank, row.map_or(&[], |row| &row.ops))
    }

    /// The steps of a block of a rank with these operations, which may be others than the program's.
    #[must_use]
    pub fn steps_of(&self, rank: RankId, ops: &'p [Op]) -> BlockSteps<'p> {
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
        let joined = self.is_joined(steps, at, &occurrence);
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

    /// Whether the threads of a block meet before a step or in it; false beyond the last step.
    #[must_use]
    pub fn meets_at(&self, steps: &BlockSteps<'p>, at: u64) -> bool {
        self.find_occurrence(steps, at).is_some_and(|occurrence| {
            is_meeting(occurrence.op) || self.is_joined(steps, at, &occurrence)
        })
    }

    /// Where a step comes from.
    #[must_use]
    pub fn site(&self, steps: &BlockSteps<'p>, at: u64) -> Option<Site> {
        Some(self.find_occurrence(steps, at)?.site)
    }

    /// The operation that a step comes from, for reports: what it does is in the step.
    #[must_use]
    pub fn operation(&self, steps: &BlockSteps<'p>, at: u64) -> Option<&'p Op> {
        self.find_op(steps, at)
    }

    /// Whether the threads meet before a step: before the first one, between the parts of an operation, and between two
    /// operations if the program says so.
    fn is_joined(&self, steps: &BlockSteps<'p>, at: u64, occurrence: &Occurrence) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.find_op(steps, before));
        occurrence.site.part > 0
            || before.is_none_or(|before| self.program.meets_between(before, occurrence.op))
    }

    /// Lets a sink look at the effects of all steps of a block, those of a pipeline once and without windows.
    pub fn visit_block(&self, rank: RankId, block: BlockId, sink: &mut impl StepSink) {
        self.visit_turns(rank, block, 1, sink);
    }

    /// The same, with so many turns of each pipeline: the second one shows what comes behind the end of the first.
    pub fn visit_turns(&self, rank: RankId, block: BlockId, turns: u32, sink: &mut impl StepSink) {
        let row = self.program.ranks.lookup(rank).and_then(|row| row.blocks.lookup(block));
        let mut last = None;
        for (operation, op) in (0..).zip(row.map_or(&[] as &[Op], |row| &row.ops)) {
            let Some(pipeline) = op.pipeline() else {
                self.visit_op(rank, Visit { op, operation, inner: None, last, repeat: None }, sink);
                last = Some(op);
                continue;
            };
            let repeat = Some(StepRepeat { unit: pipeline.unit, chunks: pipeline.chunks });
            for turn in 0..turns {
                for (k, op) in (0..).zip(&pipeline.body) {
                    let inner = Some(InnerSite { operation: k, turn });
                    self.visit_op(rank, Visit { op, operation, inner, last, repeat }, sink);
                    last = Some(op);
                }
            }
        }
    }

    fn visit_op(&self, rank: RankId, visit: Visit<'p>, sink: &mut impl StepSink) {
        let Visit { op, operation, inner, last, repeat } = visit;
        for part in 0..count_parts(op) {
            let site = Site { operation, inner, part };
            let joined = part > 0 || last.is_none_or(|last| self.program.meets_between(last, op));
            let is_join = is_meeting(op);
            sink.open_step(&StepPlace { site, origin: op.origin, repeat, joined, is_join });
            self.lower(rank, &Occurrence { op, site, window: None }, sink);
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
            window: self.class.window(pipeline, turn),
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
}

/// Whether an operation is a meeting of the threads of its block.
fn is_meeting(op: &Op) -> bool {
    matches!(op.action, Action::Sync | Action::Barrier { .. })
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
