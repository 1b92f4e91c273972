//! The frontier of an AllReduce that is composed: a ReduceScatter, and then an AllGather of what it gives.
//!
//! Both halves cut each rank's part of the buffer into as many pieces: if their numbers differ, into a common multiple.
//! The composition is a schedule like others, but not always the best one: its points are compared with the bounds of
//! an AllReduce. Where ranks are joined directly, there is also the exchange of all summands in one step.

use super::construct::Construction;
use super::{
    Frontier, FrontierPoint, FrontierRequest, PointStatus, StepCount, Subject, find_frontier,
};
use crate::bound::BoundError;
use crate::bound::collective::CollectiveBounds;
use crate::collective::CollectiveKind;
use crate::rational::Rational;
use crate::schedule::{Move, MoveAction, Piece, StepSchedule, check_schedule, measure_hops};
use crate::steps::SearchError;

/// Composes the points of both halves. Their times are those of the whole buffer.
pub(super) fn compose_allreduce(
    subject: &Subject<'_>,
    bounds: CollectiveBounds,
    request: &FrontierRequest<'_>,
) -> Result<Frontier, SearchError> {
    let topology = subject.topology;
    let half = FrontierRequest {
        min_steps: None,
        max_steps: None,
        // Each half takes a hop at least.
        max_hops: request.max_hops.map(|hops| hops.saturating_sub(1)),
        ..*request
    };
    let [sums, copies] = [CollectiveKind::ReduceScatter, CollectiveKind::AllGather]
        .map(|kind| find_half(subject, kind, &half));
    let [sums, copies] = [sums?, copies?];
    let direct = if request.max_hops == Some(1) {
        // No hop is left for another half, and the exchange needs none.
        let whole = FrontierRequest { max_hops: request.max_hops, ..half };
        &find_half(subject, CollectiveKind::AllGather, &whole)?
    } else {
        &copies
    };
    let mut schedules: Vec<StepSchedule> =
        direct.iter().filter_map(|copies| exchange_at_once(subject, copies)).collect();
    schedules.extend(chain_all(&sums, &copies, request)?);
    let mut candidates: Vec<FrontierPoint> = Vec::new();
    for schedule in schedules {
        if request.observer.is_stopped() && !candidates.is_empty() {
            break;
        }
        check_schedule(topology, &subject.units, &schedule)?;
        let size = schedule.measure();
        let is_asked = request.max_steps.is_none_or(|most| size.steps <= most)
            && request.min_steps.is_none_or(|least| size.steps >= least);
        let hops =
            request.max_hops.is_none_or(|most| measure_hops(&subject.units, &schedule) <= most);
        if is_asked && hops {
            let time = subject.compute_time(size)?;
            candidates.push(FrontierPoint {
                schedule,
                time,
                status: PointStatus::Optimal,
                separates_sums: false,
            });
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
    let is_least = points.last().is_some_and(|point| point.time <= bounds.bandwidth.value);
    let is_complete = is_least && step_counts.iter().all(StepCount::is_settled);
    let is_stopped = !is_complete && request.observer.is_stopped();
    let units = subject.units.clone();
    let separate_units = Vec::new();
    Ok(Frontier { bounds, units, separate_units, points, step_counts, is_complete, is_stopped })
}

/// How many moves there are at most where each rank sends all it has to all others.
const MAX_EXCHANGED_MOVES: usize = 1 << 16;

/// Each rank sends its summands of all parts to all others in one step, on the paths of an AllGather of one step; none if that
/// takes more.
fn exchange_at_once(subject: &Subject<'_>, copies: &StepSchedule) -> Option<StepSchedule> {
    let parts = subject.units.len() as u32;
    let [rounds] = copies.rounds.as_slice() else { return None };
    if copies.moves.len().checked_mul(subject.units.len())? > MAX_EXCHANGED_MOVES {
        return None;
    }
    let mut moves = Vec::new();
    for own in &copies.moves {
        for part in 0..parts {
            let piece = Piece(part * copies.chunks + own.piece.0 % copies.chunks);
            moves.push(Move { piece, action: MoveAction::Reduce, ..own.clone() });
        }
    }
    moves.sort_unstable();
    let rounds = vec![rounds.checked_mul(u64::from(parts))?];
    Some(StepSchedule { chunks: copies.chunks, rounds, moves })
}

/// The schedules of one half; none if it takes more hops than are left for it.
fn find_half(
    subject: &Subject<'_>,
    kind: CollectiveKind,
    request: &FrontierRequest<'_>,
) -> Result<Vec<StepSchedule>, SearchError> {
    match find_frontier(subject.topology, &kind.into(), request) {
        Ok(frontier) => Ok(frontier.points.into_iter().map(|point| point.schedule).collect()),
        Err(SearchError::Bound(BoundError::TooFewHops { .. })) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Constructed halves, one after the other.
pub(super) fn compose_constructed(
    subject: &Subject<'_>,
    request: &FrontierRequest<'_>,
) -> Result<Vec<StepSchedule>, SearchError> {
    let construction = Construction { max_hops: None, ..Construction::new(request) };
    let [sums, copies] = [CollectiveKind::ReduceScatter, CollectiveKind::AllGather]
        .map(|kind| construction.construct_known(subject.topology, kind));
    let mut found = chain_all(&sums?, &copies?, request)?;
    found.retain(|schedule| {
        request.max_hops.is_none_or(|most| measure_hops(&subject.units, schedule) <= most)
    });
    Ok(found)
}

/// Each schedule of the first half, and then each of the second one.
fn chain_all(
    first: &[StepSchedule],
    second: &[StepSchedule],
    request: &FrontierRequest<'_>,
) -> Result<Vec<StepSchedule>, SearchError> {
    let mut chained = Vec::new();
    for one in first {
        for other in second {
            chained.extend(chain_halves(one, other, request)?);
        }
    }
    Ok(chained)
}

/// Both halves, one after the other; none if they would have more pieces than are asked for.
fn chain_halves(
    first: &StepSchedule,
    second: &StepSchedule,
    request: &FrontierRequest<'_>,
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

/// The number of buffers' parts that an AllReduce has for each chunk of its bound.
pub(super) fn count_shards(kind: CollectiveKind, ranks: u32) -> Rational {
    let shards = if kind == CollectiveKind::AllReduce { ranks } else { 1 };
    Rational::from_integer(u64::from(shards))
}
