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
mod stairs;

use crate::automorphism::{Symmetry, find_symmetry};
use crate::bound::ProgramBudget;
use crate::bound::collective::{BoundRequest, CollectiveBounds, FURTHER_STEPS, bound_collective};
use crate::collective::{Collective, CollectiveKind};
use crate::graph::Topology;
use crate::rational::Rational;
use crate::schedule::{SchedulePoint, StepSchedule};
use crate::sketch::Sketch;
use crate::steps::{BudgetReached, CollectiveSearch, SearchError, SolverBudget};
use compose::compose_allreduce;
use construct::construct_schedules;
use stairs::{FoundPoints, StairSearch, StepTarget};

/// What is asked for besides a collective and a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontierRequest {
    /// Up to how many steps there may be; [`FURTHER_STEPS`] more than the least number if it is `None`.
    pub max_steps: Option<u32>,
    /// Into how many pieces each unit may be cut.
    pub max_chunks: u32,
    /// How much the linear programs for the bounds may do.
    pub bounds: ProgramBudget,
    /// How much the search for each point may do.
    pub solver: SolverBudget,
    /// How many conflicts the searches for all points may have; those for each number of steps take half of what is
    /// left at most. The default takes some seconds.
    pub conflicts: u64,
}

impl Default for FrontierRequest {
    fn default() -> FrontierRequest {
        FrontierRequest {
            max_steps: None,
            max_chunks: 12,
            bounds: ProgramBudget::default(),
            solver: SolverBudget::default(),
            conflicts: 20_000,
        }
    }
}

/// The frontier of a collective.
#[derive(Clone, Debug)]
pub struct Frontier {
    /// The bounds that the search started from.
    pub bounds: CollectiveBounds,
    /// The points, in the order of their steps. Each is faster than those before.
    pub points: Vec<FrontierPoint>,
    /// What is known for each number of steps, in order.
    pub step_counts: Vec<StepCount>,
    /// Whether nothing is missing, for any number of steps and pieces: for each number of steps the bound is reached,
    /// and the last time is the bound for any number of steps.
    pub is_complete: bool,
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
}

/// How good a schedule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointStatus {
    /// Its time is the bound for its number of steps: no schedule of so many steps is faster.
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
        if time == bound { PointStatus::Optimal } else { PointStatus::AboveBound { bound } }
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
        self.best == Some(self.bound)
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

/// Searches for the frontier of a known collective. That of an AllReduce is composed of those of a ReduceScatter and of an
/// AllGather, where both have as many pieces; its times are for the whole buffer.
///
/// # Errors
/// [`SearchError::Bound`] if there is no bound, and [`SearchError::Arithmetic`].
pub fn find_frontier(
    topology: &Topology,
    kind: CollectiveKind,
    request: &FrontierRequest,
) -> Result<Frontier, SearchError> {
    if kind == CollectiveKind::AllReduce {
        return compose_allreduce(topology, request);
    }
    let collective = Collective::Known(kind);
    let asked = BoundRequest { max_steps: request.max_steps, budget: request.bounds };
    let bounds = bound_collective(topology, &collective, &Sketch::default(), &asked)?;
    // The symmetries of a machine need not keep a root.
    let symmetry = match kind.root() {
        Some(_) => Symmetry::trivial(topology),
        None => find_symmetry(topology),
    };
    let search = CollectiveSearch::new(topology, kind, &symmetry, request.solver)?;
    let max_steps = request.max_steps.unwrap_or(bounds.steps.steps + FURTHER_STEPS);
    let constructed = construct_schedules(topology, kind, request.max_chunks);
    let mut stairs = StairSearch::new(topology, &search, request, &constructed);
    let least_time = bounds.bandwidth.value;
    for target in list_targets(&bounds, max_steps) {
        if stairs.find_best_time() == Some(least_time) {
            break;
        }
        stairs.search_steps(target)?;
    }
    let is_least = stairs.find_best_time() == Some(least_time);
    let FoundPoints { points, step_counts } = stairs.finish();
    let is_complete = is_least && step_counts.iter().all(StepCount::is_settled);
    Ok(Frontier { bounds, points, step_counts, is_complete })
}

/// The bound for each number of steps: that for any number, where there is no other.
fn list_targets(bounds: &CollectiveBounds, max_steps: u32) -> Vec<StepTarget> {
    let mut targets: Vec<StepTarget> = Vec::new();
    for own in bounds.by_steps.iter().filter(|own| own.steps <= max_steps) {
        targets.push(StepTarget { steps: own.steps, bound: own.value });
    }
    let next = targets.last().map_or(bounds.steps.steps, |last| last.steps + 1);
    for steps in next..=max_steps {
        targets.push(StepTarget { steps, bound: bounds.bandwidth.value });
    }
    targets
}
