//! The frontier of a collective: its schedules of steps that no other one is better than in both steps and time, each
//! with the bound for its number of steps.
//!
//! For each number of steps, from the least one on, the bound says what is worth looking for (the sweep of Cai et al.,
//! "Synthesizing optimal collective algorithms", PPoPP 2021, with a bound for each number of steps instead of one for
//! all). Constructed schedules come first: where one of them reaches the bound there is nothing to search for. Where some number of pieces makes the bound a whole number of rounds, the search begins there: what is found
//! is optimal, for any number of pieces. If nothing is found, it goes up the stairs that possible points form: with as
//! many rounds, fewer pieces are possible, too; with as many pieces, more rounds are.

mod compose;
mod construct;
mod merge;
mod point;
mod request;
mod stairs;
mod subject;

pub use point::{PointSearch, PointVerdict, search_point};
pub use request::{FrontierGoal, FrontierRequest, SearchEngine, SymmetryUse};

#[cfg(doc)]
use crate::bound::collective::BoundScope;
use crate::bound::collective::{BoundRequest, CollectiveBounds, FURTHER_STEPS, bound_collective};
use crate::collective::{Collective, CollectiveKind};
use crate::graph::Topology;
use crate::observer::SearchProgress;
use crate::rational::Rational;
use crate::schedule::{SchedulePoint, StepSchedule, Unit};
use crate::steps::{BudgetReached, SearchError};
use compose::compose_allreduce;
use merge::merge_points;
use stairs::{FoundPoints, StairSearch, StepTarget};
use subject::Subject;

/// The frontier of a collective.
#[derive(Clone, Debug)]
pub struct Frontier {
    /// The bounds that the search started from. The points are about their collective, of which what was asked for
    /// may be a multiple: see [`CollectiveBounds::factor`].
    pub bounds: CollectiveBounds,
    /// What the pieces of the schedules are pieces of, of all points but those that separate sums; see
    /// [`Frontier::find_units`].
    pub units: Vec<Unit>,
    /// What the pieces of schedules that separate sums are pieces of; empty if there are no such sums.
    pub separate_units: Vec<Unit>,
    /// The points, in the order of their steps. Each is faster than those before.
    pub points: Vec<FrontierPoint>,
    /// What is known for each number of steps, in order.
    pub step_counts: Vec<StepCount>,
    /// Whether nothing is missing, for any number of pieces, and of steps from where the search began: for each number
    /// of steps the bound is reached, and the last time is the bound for any number of steps. It is said of the schedules
    /// that the bounds are of: see [`BoundScope`].
    pub is_complete: bool,
    /// Whether the observer stopped the search before it was complete. What it did not come to is undecided.
    pub is_stopped: bool,
}

impl Frontier {
    /// What the pieces of the schedule of a point are pieces of.
    #[must_use]
    pub fn find_units(&self, point: &FrontierPoint) -> &[Unit] {
        if point.separates_sums { &self.separate_units } else { &self.units }
    }

    /// Whether each number of steps that was asked for has a schedule that reaches its bound. More steps may be faster.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let has_counts = !self.is_stopped && !self.step_counts.is_empty();
        self.is_complete || (has_counts && self.step_counts.iter().all(StepCount::is_settled))
    }
}

/// A schedule of the frontier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontierPoint {
    /// The schedule.
    pub schedule: StepSchedule,
    /// Its time, in rounds per chunk, or in seconds per byte.
    pub time: Rational,
    /// How it compares with the bound.
    pub status: PointStatus,
    /// Whether sums that have their contributions in common, as those of a scan, are units of their own.
    pub separates_sums: bool,
}

/// How good a schedule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointStatus {
    /// Its time is the bound for its number of steps: no schedule of so many steps is faster, of those that the bound is
    /// one of ([`BoundScope`]). Outside of these it may even be faster than the bound.
    Optimal,
    /// There may be faster ones.
    AboveBound {
        /// The bound for its number of steps.
        bound: Rational,
    },
}

impl PointStatus {
    /// Compares a time with the bound for its number of steps.
    fn compare(time: Rational, bound: Rational) -> PointStatus {
        if time <= bound { PointStatus::Optimal } else { PointStatus::AboveBound { bound } }
    }
}

/// What is known for a number of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepCount {
    /// The number of steps.
    pub steps: u32,
    /// The bound on the time.
    pub bound: Rational,
    /// The time of the fastest schedule of at most so many steps.
    pub best: Option<Rational>,
    /// For which points a budget ended the search.
    pub undecided: Vec<UndecidedPoint>,
}

impl StepCount {
    /// Whether the bound is reached.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.best.is_some_and(|best| best <= self.bound)
    }
}

/// A point for which a budget ended the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndecidedPoint {
    /// The point.
    pub point: SchedulePoint,
    /// The budget.
    pub reached: BudgetReached,
}

/// Searches for the frontier of a collective. That of an AllReduce is composed of those of a ReduceScatter and of an
/// AllGather, where both have as many pieces; its times are for the whole buffer. Of sums that have their contributions in
/// common, as in a scan, there are schedules in which ranks keep one value of each piece, and others in which each sum is
/// on its own.
///
/// # Errors
/// [`SearchError::Bound`] if there is no bound, [`SearchError::UnfitEngine`], [`SearchError::TooLarge`] for more values
/// than can be searched for, and [`SearchError::Arithmetic`].
pub fn find_frontier(
    topology: &Topology,
    collective: &Collective,
    request: &FrontierRequest<'_>,
) -> Result<Frontier, SearchError> {
    let max_steps = subject::limit_steps(topology, collective, request)?;
    let asked = BoundRequest {
        min_steps: request.min_steps,
        max_steps,
        budget: request.bounds,
        observer: request.observer,
    };
    let bounds = bound_collective(topology, collective, &request.sketch(), &asked)?;
    request.observer.report(SearchProgress::BoundsFound(&bounds));
    let subject = Subject::new(topology, &bounds, request)?;
    if bounds.collective == Collective::Known(CollectiveKind::AllReduce) {
        return compose_allreduce(&subject, bounds, request);
    }
    let targets = list_targets(&bounds, request.min_steps, max_steps);
    let (found, separate_units) = match subject.separate_sums() {
        None => (search_targets(&subject, &bounds, &targets, request)?, Vec::new()),
        Some(separate) => {
            let half = FrontierRequest { conflicts: request.conflicts / 2, ..*request };
            let joint = search_targets(&subject, &bounds, &targets, &half)?;
            let found = if joint.is_least(&bounds) {
                joint
            } else {
                merge_points(joint, search_targets(&separate, &bounds, &targets, &half)?)
            };
            (found, separate.units)
        }
    };
    let is_least = found.is_least(&bounds);
    let FoundPoints { points, step_counts } = found;
    let is_complete = is_least && step_counts.iter().all(StepCount::is_settled);
    let is_stopped = !is_complete && request.observer.is_stopped();
    let units = subject.units;
    Ok(Frontier { bounds, units, separate_units, points, step_counts, is_complete, is_stopped })
}

/// Searches for schedules of each number of steps, until the last one takes the least time of all.
fn search_targets(
    subject: &Subject<'_>,
    bounds: &CollectiveBounds,
    targets: &[StepTarget],
    request: &FrontierRequest<'_>,
) -> Result<FoundPoints, SearchError> {
    let search = subject.prepare_search(request);
    let constructed = subject.construct(request)?;
    let mut stairs = StairSearch::new(subject, search.as_ref(), request, &constructed);
    for target in targets {
        let best = stairs.find_best_time();
        let is_enough = request.goal == FrontierGoal::LeastSteps && best.is_some();
        if is_enough || best.is_some_and(|best| best <= bounds.bandwidth.value) {
            break;
        }
        stairs.search_steps(*target)?;
        if request.observer.is_stopped() {
            // What was constructed is known.
            stairs.dismiss_solver();
        }
    }
    if request.max_steps.is_none() {
        stairs.take_longer(bounds.bandwidth.value)?;
    }
    Ok(stairs.finish())
}

/// The bound for each number of steps: that for any number, where there is no other.
fn list_targets(
    bounds: &CollectiveBounds,
    min_steps: Option<u32>,
    max_steps: Option<u32>,
) -> Vec<StepTarget> {
    let first = min_steps.map_or(bounds.steps.steps, |least| least.max(bounds.steps.steps));
    let max_steps = max_steps.unwrap_or(first.saturating_add(FURTHER_STEPS));
    let mut targets: Vec<StepTarget> = Vec::new();
    for own in bounds.by_steps.iter().filter(|own| own.steps <= max_steps) {
        targets.push(StepTarget { steps: own.steps, bound: own.value });
    }
    let next = targets.last().map_or(first, |last| last.steps + 1);
    for steps in next..=max_steps {
        targets.push(StepTarget { steps, bound: bounds.bandwidth.value });
    }
    targets
}
