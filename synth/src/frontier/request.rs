//! What a search is asked for besides a collective and a machine.

use crate::bound::ProgramBudget;
use crate::observer::{NoObserver, SearchObserver};
use crate::sketch::Sketch;
use crate::steps::SolverBudget;

#[cfg(doc)]
use crate::bound::collective::FURTHER_STEPS;

/// What is asked for besides a collective and a machine.
#[derive(Clone, Copy, Debug)]
pub struct FrontierRequest<'a> {
    /// From how many steps on there is a search; from the least number on if it is `None` or less. What is found may
    /// still take fewer.
    pub min_steps: Option<u32>,
    /// Up to how many steps there may be; [`FURTHER_STEPS`] more than the least number if it is `None`.
    pub max_steps: Option<u32>,
    /// Which points are asked for.
    pub goal: FrontierGoal,
    /// Into how many pieces each unit may be cut.
    pub max_chunks: u32,
    /// At most so many hops from rank to rank take what an origin contributes to a receiver; see
    /// [`Sketch::limit_hops`]. `None` if there is no limit.
    pub max_hops: Option<u32>,
    /// What looks for schedules.
    pub engine: SearchEngine,
    /// Whether the solver looks for symmetric schedules first.
    pub symmetry: SymmetryUse,
    /// How much the linear programs for the bounds may do.
    pub bounds: ProgramBudget,
    /// How much the search for each point may do.
    pub solver: SolverBudget,
    /// How many conflicts the searches for all points may have; those for each number of steps take half of what is
    /// left at most. The default takes some seconds.
    pub conflicts: u64,
    /// Who watches the search and can stop it. What is known by then is returned.
    pub observer: &'a dyn SearchObserver,
}

impl Default for FrontierRequest<'_> {
    fn default() -> Self {
        FrontierRequest {
            min_steps: None,
            max_steps: None,
            goal: FrontierGoal::EveryPoint,
            max_chunks: 12,
            max_hops: None,
            engine: SearchEngine::Auto,
            symmetry: SymmetryUse::Auto,
            bounds: ProgramBudget::default(),
            solver: SolverBudget::default(),
            conflicts: 20_000,
            observer: &NoObserver,
        }
    }
}

impl FrontierRequest<'_> {
    /// The constraints that the bounds include.
    pub(super) fn sketch(&self) -> Sketch {
        Sketch { max_hops: self.max_hops, ..Sketch::default() }
    }
}

/// Which points of the frontier are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontierGoal {
    /// All.
    EveryPoint,
    /// The fastest schedule of the least number of steps that has one.
    LeastSteps,
}

/// What looks for schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEngine {
    /// Everything that suits the collective; the solver comes last.
    Auto,
    /// Breadth-first broadcasts ([`crate::steps::bfb`]), for an AllGather and a ReduceScatter.
    BreadthFirst,
    /// The solver ([`crate::steps::solve_collective_point`]).
    Solver,
    /// Greedy matching ([`crate::steps::greedy`]).
    Greedy,
    /// Flows of what one rank sends or gets ([`crate::steps::scatter`]), and the ways of what one receiver each gets
    /// ([`crate::steps::exchange`]).
    Flows,
}

/// Whether the solver looks for symmetric schedules first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymmetryUse {
    /// It does, where the machine has symmetries that keep the collective.
    Auto,
    /// It looks for all schedules at once.
    None,
}

impl SearchEngine {
    /// Whether the solver is asked.
    pub(super) fn has_solver(self) -> bool {
        match self {
            SearchEngine::Auto | SearchEngine::Solver => true,
            SearchEngine::BreadthFirst | SearchEngine::Greedy | SearchEngine::Flows => false,
        }
    }

    /// Whether schedules are constructed in the way of another engine.
    pub(super) fn includes(self, other: SearchEngine) -> bool {
        self == other || self == SearchEngine::Auto
    }
}
