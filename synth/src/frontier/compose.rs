//! The frontier of an AllReduce that is composed: a ReduceScatter, and then an AllGather of what it gives.
//!
//! Both halves cut each rank's part of the buffer into as many pieces: if their numbers differ, into a common multiple. The composition is a schedule like others, but not
//! always the best one: its points are compared with the bounds of an AllReduce.

use super::{Frontier, FrontierPoint, FrontierRequest, PointStatus, StepCount, find_frontier};
use crate::bound::collective::{BoundRequest, bound_collective};
use crate::collective::{Collective, CollectiveKind};
use crate::graph::Topology;
use crate::rational::Rational;
use crate::schedule::{StepSchedule, check_schedule, list_units};
use crate::sketch::Sketch;
use crate::steps::SearchError;

/// Composes the points of both halves. Their times are those of the whole buffer.
pub(super) fn compose_allreduce(
    topology: &Topology,
    request: &FrontierRequest,
) -> Result<Frontier, SearchError> {
    let collective = Collective::Known(CollectiveKind::AllReduce);
    let asked = BoundRequest { max_steps: request.max_steps, budget: request.bounds };
    let bounds = bound_collective(topology, &collective, &Sketch::default(), &asked)?;
    let half = FrontierRequest { max_steps: None, ..*request };
    let [sums, copies] = [CollectiveKind::ReduceScatter, CollectiveKind::AllGather]
        .map(|kind| find_frontier(topology, kind, &half));
    let [sums, copies] = [sums?, copies?];
    let ranks = topology.count_ranks();
    let units = list_units(&collective, ranks);
    let mut candidates: Vec<FrontierPoint> = Vec::new();
    for first in &sums.points {
        for second in &copies.points {
            let Some(schedule) = chain_halves(&first.schedule, &second.schedule, request)? else {
                continue;
            };
            check_schedule(topology, &units, &schedule)?;
            let size = schedule.measure();
            if request.max_steps.is_some_and(|most| size.steps > most) {
                continue;
            }
            let shards = Rational::from_integer(u64::from(ranks));
            let time = size.compute_time(topology)?.checked_div(shards)?;
            candidates.push(FrontierPoint { schedule, time, status: PointStatus::Optimal });
        }
    }
    candidates.sort_by(|one, other| {
        let steps = |point: &FrontierPoint| point.schedule.measure().steps;
        (steps(one), one.time).cmp(&(steps(other), other.time))
    });
    // Where the bounds for numbers of steps end, that for any number holds.
    let find_bound = |steps: u32| {
        let own = bounds.by_steps.iter().find(|bound| bound.steps == steps);
        own.map_or(bounds.bandwidth.value, |own| own.value)
    };
    let mut points: Vec<FrontierPoint> = Vec::new();
    for candidate in candidates {
        if points.last().is_some_and(|last| last.time <= candidate.time) {
            continue;
        }
        let bound = find_bound(candidate.schedule.measure().steps);
        let status = PointStatus::compare(candidate.time, bound);
        points.push(FrontierPoint { status, ..candidate });
    }
    let step_counts: Vec<StepCount> = bounds
        .by_steps
        .iter()
        .map(|own| {
            let fitting = points.iter().filter(|point| point.schedule.measure().steps <= own.steps);
            let best = fitting.map(|point| point.time).min();
            StepCount { steps: own.steps, bound: own.value, best, undecided: Vec::new() }
        })
        .collect();
    let is_least = points.last().map(|point| point.time) == Some(bounds.bandwidth.value);
    let is_complete = is_least && step_counts.iter().all(StepCount::is_settled);
    Ok(Frontier { bounds, points, step_counts, is_complete })
}

/// Both halves, one after the other; none if they would have more pieces than are asked for.
fn chain_halves(
    first: &StepSchedule,
    second: &StepSchedule,
    request: &FrontierRequest,
) -> Result<Option<StepSchedule>, SearchError> {
    let (mut divisor, mut rest) = (first.chunks, second.chunks);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    let factor = second.chunks / divisor.max(1);
    let chunks = first.chunks.checked_mul(factor);
    if chunks.is_none_or(|chunks| chunks > request.max_chunks) {
        return Ok(None);
    }
    let first = first.refine(factor)?;
    let second = second.refine(first.chunks / second.chunks)?;
    Ok(Some(first.chain(second)))
}
