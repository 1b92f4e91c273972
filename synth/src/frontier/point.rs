//! The search for one point: a schedule of so many steps, rounds and pieces.

use super::subject::Subject;
use super::{FrontierRequest, PointStatus};
use crate::bound::collective::{BoundRequest, BoundScope, CollectiveBounds, bound_collective};
use crate::collective::Collective;
use crate::graph::Topology;
use crate::observer::SearchProgress;
use crate::rational::Rational;
use crate::schedule::{SchedulePoint, StepSchedule, Unit, check_schedule};
use crate::steps::{BudgetReached, PointOutcome, SearchError, check_point_size};

/// What is known about a point.
#[derive(Clone, Debug)]
pub struct PointSearch {
    /// The bounds for so many steps.
    pub bounds: CollectiveBounds,
    /// What the pieces of the schedule are pieces of.
    pub units: Vec<Unit>,
    /// The point.
    pub point: SchedulePoint,
    /// Its time, in rounds per chunk of the bounds' collective, or in seconds per byte.
    pub time: Rational,
    /// Whether there is such a schedule.
    pub verdict: PointVerdict,
}

/// Whether there is a schedule of a size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PointVerdict {
    /// This one takes exactly so many steps, rounds and pieces. Steps in which nothing moves are some of them, where it
    /// needs fewer.
    Found {
        /// The schedule.
        schedule: StepSchedule,
        /// How it compares with the bound for so many steps.
        status: PointStatus,
    },
    /// There is none, with any number of rounds and pieces.
    TooFewSteps {
        /// The least number of steps.
        least: u32,
    },
    /// There is none within the scope: the time is below the bound. A certificate shows that.
    BelowBound {
        /// The bound for so many steps.
        bound: Rational,
        /// Which schedules it is a bound of.
        scope: BoundScope,
    },
    /// There is none: the solver went through all of them. No certificate shows that.
    Impossible,
    /// None was found.
    NotFound {
        /// What ended the solver's search; `None` if it was not asked.
        reached: Option<BudgetReached>,
    },
}

/// Searches for a schedule of exactly so many steps, rounds and pieces. Of the request, the numbers of steps and pieces and
/// the conflicts for all points do not matter.
///
/// # Errors
/// [`SearchError::MalformedPoint`], and those of [`super::find_frontier`].
pub fn search_point(
    topology: &Topology,
    collective: &Collective,
    point: SchedulePoint,
    request: &FrontierRequest<'_>,
) -> Result<PointSearch, SearchError> {
    let asked = BoundRequest {
        min_steps: Some(point.steps),
        max_steps: Some(point.steps),
        budget: request.bounds,
        observer: request.observer,
    };
    let bounds = bound_collective(topology, collective, &request.sketch(), &asked)?;
    request.observer.report(SearchProgress::BoundsFound(&bounds));
    let request = FrontierRequest { max_chunks: point.chunks, ..*request };
    let mut subject = Subject::new(topology, &bounds, &request)?;
    check_point_size(&subject.units, point)?;
    let time = subject.compute_time(point)?;
    let mut verdict = find_verdict(&subject, &bounds, point, &request)?;
    if let PointVerdict::NotFound { .. } = verdict
        && let Some(separate) = subject.separate_sums()
    {
        let other = find_verdict(&separate, &bounds, point, &request)?;
        if let PointVerdict::Found { .. } = other {
            (subject, verdict) = (separate, other);
        }
    }
    if let PointVerdict::Found { .. } = verdict {
        request.observer.report(SearchProgress::PointFound { point });
    }
    Ok(PointSearch { bounds, units: subject.units, point, time, verdict })
}

fn find_verdict(
    subject: &Subject<'_>,
    bounds: &CollectiveBounds,
    point: SchedulePoint,
    request: &FrontierRequest<'_>,
) -> Result<PointVerdict, SearchError> {
    let least = bounds.steps.steps;
    if point.steps < least {
        return Ok(PointVerdict::TooFewSteps { least });
    }
    let own = bounds.by_steps.iter().find(|own| own.steps == point.steps);
    let bound = own.map_or(bounds.bandwidth.value, |own| own.value);
    let scope = bounds.bandwidth.scope;
    let time = subject.compute_time(point)?;
    let below = PointVerdict::BelowBound { bound, scope };
    if time < bound && scope == BoundScope::EverySchedule {
        return Ok(below);
    }
    let verdict = look_for_schedule(subject, point, request)?;
    Ok(match verdict {
        PointVerdict::NotFound { .. } if time < bound => below,
        PointVerdict::Found { schedule, .. } => {
            PointVerdict::Found { schedule, status: PointStatus::compare(time, bound) }
        }
        PointVerdict::NotFound { .. }
        | PointVerdict::TooFewSteps { .. }
        | PointVerdict::BelowBound { .. }
        | PointVerdict::Impossible => verdict,
    })
}

fn look_for_schedule(
    subject: &Subject<'_>,
    point: SchedulePoint,
    request: &FrontierRequest<'_>,
) -> Result<PointVerdict, SearchError> {
    let found = |schedule| PointVerdict::Found { schedule, status: PointStatus::Optimal };
    for schedule in subject.construct(request)? {
        if let Some(schedule) = stretch_schedule(&schedule, point)? {
            check_schedule(subject.topology, &subject.units, &schedule)?;
            return Ok(found(schedule));
        }
    }
    let Some(search) = subject.prepare_search(request) else {
        return Ok(PointVerdict::NotFound { reached: None });
    };
    let conflicts = request.solver.conflicts;
    let observer = request.observer;
    observer.report(SearchProgress::PointBegun { point, conflicts_left: conflicts });
    Ok(match search.solve(point, conflicts, observer)?.outcome {
        PointOutcome::Found(schedule) => found(schedule),
        PointOutcome::Impossible => PointVerdict::Impossible,
        PointOutcome::OutOfBudget(reached) => PointVerdict::NotFound { reached: Some(reached) },
    })
}

/// A schedule with steps, rounds and pieces added until it is of a size; `None` if it is larger, or its pieces cannot be
/// cut into so many.
fn stretch_schedule(
    schedule: &StepSchedule,
    point: SchedulePoint,
) -> Result<Option<StepSchedule>, SearchError> {
    let factor = point.chunks / schedule.chunks.max(1);
    if factor.checked_mul(schedule.chunks) != Some(point.chunks) || factor == 0 {
        return Ok(None);
    }
    let mut schedule = schedule.refine(factor)?;
    let size = schedule.measure();
    let Some(steps) = point.steps.checked_sub(size.steps) else { return Ok(None) };
    let needed = size.rounds.saturating_add(u64::from(steps));
    let Some(spare) = point.rounds.checked_sub(needed) else { return Ok(None) };
    schedule.rounds.extend(std::iter::repeat_n(1, steps as usize));
    let Some(last) = schedule.rounds.last_mut() else { return Ok(None) };
    *last += spare;
    Ok(Some(schedule))
}
