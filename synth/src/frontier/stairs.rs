//! The search for the fastest schedule of each number of steps.

use super::subject::Subject;
use super::{FrontierPoint, FrontierRequest, PointStatus, StepCount, UndecidedPoint};
use crate::observer::{SearchObserver, SearchProgress};
use crate::rational::Rational;
use crate::schedule::{SchedulePoint, StepSchedule};
use crate::steps::{
    BudgetReached, PointAnswer, PointOutcome, SearchError, SolverLimit, UnitSearch,
};

/// A number of steps, and the bound on their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepTarget {
    pub(super) steps: u32,
    pub(super) bound: Rational,
}

/// So many pieces are tried before more are: a larger limit makes nothing worse.
const FEW_CHUNKS: u32 = 12;

/// The numbers of pieces that are tried.
#[derive(Clone, Copy)]
struct PieceRange {
    first: u32,
    last: u32,
}

/// The search over numbers of steps, which grow.
pub(super) struct StairSearch<'a> {
    subject: &'a Subject<'a>,
    /// `None` if the solver is not asked.
    search: Option<&'a UnitSearch<'a>>,
    /// Whether it is not asked any more.
    is_dismissed: bool,
    observer: &'a dyn SearchObserver,
    constructed: &'a [StepSchedule],
    max_chunks: u32,
    /// How many conflicts the search for a point may have.
    point_conflicts: u64,
    /// How many are left for all.
    conflicts_left: u64,
    /// At how many left the search for this number of steps ends: it takes half of them at most.
    conflicts_kept: u64,
    points: Vec<FrontierPoint>,
    step_counts: Vec<StepCount>,
}

/// What the search found.
pub(super) struct FoundPoints {
    pub(super) points: Vec<FrontierPoint>,
    pub(super) step_counts: Vec<StepCount>,
}

/// The search for one number of steps. Ratios are rounds per piece, not times the quantum.
struct StepSearch {
    steps: u32,
    least: Rational,
    /// What must be undercut.
    best: Option<Rational>,
    found: Option<StepSchedule>,
    undecided: Vec<UndecidedPoint>,
}

/// Whether there is a schedule, as far as the search found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    Found,
    NotFound,
    /// Nor will one with more rounds or pieces be.
    TooLarge,
    /// The observer stopped the search.
    Stopped,
}

impl<'a> StairSearch<'a> {
    pub(super) fn new(
        subject: &'a Subject<'a>,
        search: Option<&'a UnitSearch<'a>>,
        request: &FrontierRequest<'a>,
        constructed: &'a [StepSchedule],
    ) -> StairSearch<'a> {
        StairSearch {
            subject,
            search,
            is_dismissed: false,
            observer: request.observer,
            constructed,
            max_chunks: request.max_chunks,
            point_conflicts: request.solver.conflicts,
            conflicts_left: request.conflicts,
            conflicts_kept: 0,
            points: Vec::new(),
            step_counts: Vec::new(),
        }
    }

    /// The points that no other one is better than, each with the bound for its steps, and what is known for each number of
    /// steps. A schedule that was found for some steps may need fewer.
    pub(super) fn finish(self) -> FoundPoints {
        let StairSearch { mut points, step_counts, .. } = self;
        for point in &mut points {
            let steps = point.schedule.rounds.len() as u32;
            let own = step_counts.iter().rev().find(|count| count.steps <= steps);
            if let Some(count) = own {
                point.status = PointStatus::compare(point.time, count.bound);
            }
        }
        FoundPoints { points, step_counts }.prune()
    }

    /// If nothing was found, takes the constructed schedule of the fewest steps, which are more than were searched for.
    /// The bound is the one for any number of steps.
    pub(super) fn take_longer(&mut self, bound: Rational) -> Result<(), SearchError> {
        let longer = self.constructed.iter().map(|schedule| schedule.measure());
        let steps = longer.map(|point| point.steps).min();
        let searched = self.step_counts.iter().map(|count| count.steps).max();
        let Some(steps) = steps.filter(|steps| searched.is_none_or(|most| *steps > most)) else {
            return Ok(());
        };
        if self.points.is_empty() {
            let kept = std::mem::take(&mut self.search);
            self.search_steps(StepTarget { steps, bound })?;
            self.search = kept;
        }
        Ok(())
    }

    /// The time of the fastest schedule.
    pub(super) fn find_best_time(&self) -> Option<Rational> {
        self.points.last().map(|point| point.time)
    }

    /// From now on only what was constructed is looked at.
    pub(super) fn dismiss_solver(&mut self) {
        self.is_dismissed = self.is_dismissed || self.search.take().is_some();
    }

    /// Searches for a schedule of so many steps that is faster than all before.
    pub(super) fn search_steps(&mut self, target: StepTarget) -> Result<(), SearchError> {
        self.conflicts_kept = self.conflicts_left / 2;
        let StepTarget { steps, bound } = target;
        self.observer.report(SearchProgress::StepsBegun { steps, bound });
        let topology = self.subject.topology;
        let quantum = topology.quantum();
        let last = self.find_best_time();
        let mut step = StepSearch {
            steps: target.steps,
            least: target.bound.checked_mul(quantum)?,
            best: last.map(|time| time.checked_mul(quantum)).transpose()?,
            found: None,
            undecided: Vec::new(),
        };
        self.take_constructed(&mut step)?;
        let is_faster = |step: &StepSearch| step.best.is_some_and(|best| best <= step.least);
        if !is_faster(&step) {
            let few = self.max_chunks.min(FEW_CHUNKS);
            self.search_pieces(&mut step, PieceRange { first: 1, last: few })?;
            if !is_faster(&step) && few < self.max_chunks {
                let many = PieceRange { first: few + 1, last: self.max_chunks };
                self.search_pieces(&mut step, many)?;
            }
        } else if let Some(found) = &step.found {
            // As fast with fewer pieces is simpler.
            let fewer = found.chunks - 1;
            let undecided = std::mem::take(&mut step.undecided);
            self.search_bound(&mut step, PieceRange { first: 1, last: fewer })?;
            step.undecided = undecided;
        }
        let best = step.best.map(|best| best.checked_div(quantum)).transpose()?;
        if let Some(schedule) = step.found {
            let schedule = schedule.tighten(topology);
            let time = schedule.measure().compute_time(topology)?;
            let status = PointStatus::compare(time, target.bound);
            let separates_sums = self.subject.separates_sums;
            self.points.push(FrontierPoint { schedule, time, status, separates_sums });
        }
        self.step_counts.push(StepCount { steps, bound, best, undecided: step.undecided });
        Ok(())
    }

    /// Begins with the fastest constructed schedule of so many steps, if it is faster than all of fewer steps.
    fn take_constructed(&self, step: &mut StepSearch) -> Result<(), SearchError> {
        for schedule in self.constructed {
            let SchedulePoint { steps, rounds, chunks } = schedule.measure();
            let ratio = Rational::new(i128::from(rounds), i128::from(chunks))?;
            if steps == step.steps && step.best.is_none_or(|best| ratio < best) {
                step.best = Some(ratio);
                step.found = Some(schedule.clone());
            }
        }
        if let Some(found) = &step.found {
            self.observer.report(SearchProgress::PointFound { point: found.measure() });
        }
        Ok(())
    }

    /// Tries the points of so many pieces: those whose time is the bound, and if there is none of them, those above it.
    fn search_pieces(
        &mut self,
        step: &mut StepSearch,
        range: PieceRange,
    ) -> Result<(), SearchError> {
        // Half of what is left for these steps is for points above the bound.
        let kept = self.conflicts_kept;
        self.conflicts_kept = kept + self.conflicts_left.saturating_sub(kept) / 2;
        let attempt = self.search_bound(step, range)?;
        self.conflicts_kept = kept;
        if attempt == Attempt::NotFound { self.climb_stairs(step, range) } else { Ok(()) }
    }

    /// Tries the points whose time is the bound.
    fn search_bound(
        &mut self,
        step: &mut StepSearch,
        range: PieceRange,
    ) -> Result<Attempt, SearchError> {
        for chunks in range.first..=range.last {
            let rounds = step.least.checked_mul(Rational::from_integer(u64::from(chunks)))?;
            let rounds = rounds.to_integer().and_then(|rounds| u64::try_from(rounds).ok());
            let Some(rounds) = rounds.filter(|rounds| *rounds >= u64::from(step.steps)) else {
                continue;
            };
            match self.try_point(step, rounds, chunks)? {
                Attempt::Found => return Ok(Attempt::Found),
                Attempt::NotFound => {}
                // Points above the bound may have fewer pieces, and may use what is kept for them.
                Attempt::TooLarge => return Ok(Attempt::NotFound),
                Attempt::Stopped => return Ok(Attempt::Stopped),
            }
        }
        Ok(Attempt::NotFound)
    }

    /// Tries the points above the bound. If one is not possible, neither is one with as many rounds and more pieces: so
    /// for each number of rounds the pieces grow until one is not possible, and then the rounds do.
    fn climb_stairs(
        &mut self,
        step: &mut StepSearch,
        range: PieceRange,
    ) -> Result<(), SearchError> {
        // More rounds than an edge can use, if it carries every unit to every rank in each step.
        let ranks = u64::from(self.subject.topology.count_ranks());
        let most = self.subject.units.len() as u64 * ranks * u64::from(step.steps);
        let mut chunks = range.first;
        let mut rounds = u64::from(step.steps);
        loop {
            let Some(improving) = step.find_improving_chunks(rounds) else { return Ok(()) };
            chunks = improving.max(chunks);
            let is_last = step.best.is_none() && rounds > most;
            if chunks > range.last || is_last {
                return Ok(());
            }
            if !step.is_above_bound(rounds, chunks)? {
                rounds += 1;
                continue;
            }
            match self.try_point(step, rounds, chunks)? {
                Attempt::Found => {}
                Attempt::NotFound => rounds += 1,
                Attempt::TooLarge | Attempt::Stopped => return Ok(()),
            }
        }
    }

    fn try_point(
        &mut self,
        step: &mut StepSearch,
        rounds: u64,
        chunks: u32,
    ) -> Result<Attempt, SearchError> {
        let point = SchedulePoint { steps: step.steps, rounds, chunks };
        let Some(search) = self.search else {
            if !self.is_dismissed {
                return Ok(Attempt::TooLarge);
            }
            let reached = BudgetReached { limit: SolverLimit::Observer, conflicts: 0 };
            step.undecided.push(UndecidedPoint { point, reached });
            return Ok(Attempt::Stopped);
        };
        let conflicts =
            self.point_conflicts.min(self.conflicts_left.saturating_sub(self.conflicts_kept));
        if conflicts == 0 {
            let reached = BudgetReached { limit: SolverLimit::AllConflicts, conflicts };
            step.undecided.push(UndecidedPoint { point, reached });
            return Ok(Attempt::TooLarge);
        }
        let conflicts_left = self.conflicts_left;
        self.observer.report(SearchProgress::PointBegun { point, conflicts_left });
        let PointAnswer { outcome, conflicts } = search.solve(point, conflicts, self.observer)?;
        self.conflicts_left = self.conflicts_left.saturating_sub(conflicts);
        match outcome {
            PointOutcome::Found(schedule) => {
                step.best = Some(Rational::new(i128::from(rounds), i128::from(chunks))?);
                step.found = Some(schedule);
                self.observer.report(SearchProgress::PointFound { point });
                Ok(Attempt::Found)
            }
            PointOutcome::Impossible => Ok(Attempt::NotFound),
            PointOutcome::OutOfBudget(reached) => {
                step.undecided.push(UndecidedPoint { point, reached });
                Ok(match reached.limit {
                    SolverLimit::Conflicts | SolverLimit::Routes | SolverLimit::OneValue => {
                        Attempt::NotFound
                    }
                    SolverLimit::Variables | SolverLimit::Ranks | SolverLimit::AllConflicts => {
                        Attempt::TooLarge
                    }
                    SolverLimit::Observer => Attempt::Stopped,
                })
            }
        }
    }
}

impl StepSearch {
    /// The least number of pieces with which so many rounds are faster than the best schedule; `None` if there are none
    /// that can be counted.
    fn find_improving_chunks(&self, rounds: u64) -> Option<u32> {
        let Some(best) = self.best else { return Some(1) };
        // rounds / chunks < best
        let product = i128::from(rounds).checked_mul(best.denominator())?;
        u32::try_from(product.checked_div(best.numerator())? + 1).ok()
    }

    fn is_above_bound(&self, rounds: u64, chunks: u32) -> Result<bool, SearchError> {
        Ok(Rational::new(i128::from(rounds), i128::from(chunks))? > self.least)
    }
}
