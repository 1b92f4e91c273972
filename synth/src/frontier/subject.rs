//! What a search is about: the units of a collective on a machine.

use super::FrontierRequest;
use super::compose::{compose_constructed, count_shards};
use super::construct::Construction;
use super::request::{FrontierGoal, SymmetryUse};
use crate::automorphism::{Symmetry, find_symmetry};
use crate::bound::BoundError;
use crate::bound::collective::CollectiveBounds;
use crate::bound::steps::{bound_demand_steps, bound_steps};
use crate::collective::{Collective, CollectiveKind, DemandList};
use crate::graph::Topology;
use crate::rational::{ArithmeticError, Rational};
use crate::schedule::{SchedulePoint, StepSchedule, Unit, list_separate_units, list_units};
use crate::steps::{SearchDirection, SearchError, SearchSubject, UnitSearch};

/// How many values demands may have, after their common factor is divided out. Each is a unit of its own, and more have
/// no schedule that is worth a search for single pieces.
const MAX_VALUES: u64 = 1 << 16;

/// For how many values of demands there is a search for symmetries that keep them. An AllToAll of 64 ranks has as many;
/// more take seconds to compare.
const MAX_SYMMETRIC_UNITS: usize = 1 << 12;

/// What a search is about.
pub(super) struct Subject<'a> {
    pub(super) topology: &'a Topology,
    pub(super) units: Vec<Unit>,
    /// Whether sums that have their contributions in common are units of their own.
    pub(super) separates_sums: bool,
    collective: Collective,
    direction: SearchDirection,
    symmetry: Symmetry,
    /// How many units each chunk of the bounds is.
    shards: Rational,
}

/// Up to how many steps bounds are needed.
pub(super) fn limit_steps(
    topology: &Topology,
    collective: &Collective,
    request: &FrontierRequest<'_>,
) -> Result<Option<u32>, BoundError> {
    if request.goal == FrontierGoal::EveryPoint {
        return Ok(request.max_steps);
    }
    let least = match collective {
        // A composition has its halves one after the other.
        Collective::Known(CollectiveKind::AllReduce) => {
            bound_steps(topology, CollectiveKind::AllReduce)?.steps.saturating_mul(2)
        }
        Collective::Known(kind) => bound_steps(topology, *kind)?.steps,
        // More steps than the least number may be needed.
        Collective::Demands(demands) if demands.has_joint_sums() => return Ok(request.max_steps),
        Collective::Demands(demands) => bound_demand_steps(topology, demands)?.steps,
    };
    Ok(Some(request.max_steps.map_or(least, |most| most.min(least))))
}

impl<'a> Subject<'a> {
    pub(super) fn new(
        topology: &'a Topology,
        bounds: &CollectiveBounds,
        request: &FrontierRequest<'_>,
    ) -> Result<Subject<'a>, SearchError> {
        let ranks = topology.count_ranks();
        let collective = bounds.collective.clone();
        let shards = match &collective {
            Collective::Known(kind) => count_shards(*kind, ranks),
            Collective::Demands(demands) if count_values(demands) > MAX_VALUES => {
                return Err(SearchError::TooLarge);
            }
            Collective::Demands(_) => Rational::ONE,
        };
        let units = list_units(&collective, ranks);
        // The symmetries of a machine need not keep a root.
        let symmetry = match (request.symmetry, &collective) {
            (SymmetryUse::Auto, Collective::Known(kind)) if kind.root().is_none() => {
                find_symmetry(topology)
            }
            (SymmetryUse::Auto, Collective::Demands(_)) if units.len() <= MAX_SYMMETRIC_UNITS => {
                find_symmetry(topology)
            }
            (SymmetryUse::Auto | SymmetryUse::None, _) => Symmetry::trivial(topology),
        };
        let direction = SearchDirection::find(&collective, &units);
        let separates_sums = false;
        Ok(Subject { topology, units, separates_sums, collective, direction, symmetry, shards })
    }

    /// The same collective, in which sums that have their contributions in common are units of their own; `None` if there
    /// are none.
    pub(super) fn separate_sums(&self) -> Option<Subject<'a>> {
        let Collective::Demands(demands) = &self.collective else { return None };
        if !self.units.iter().any(Unit::has_parts) {
            return None;
        }
        let units = list_separate_units(demands.as_slice());
        let direction = SearchDirection::find(&self.collective, &units);
        let (collective, symmetry) = (self.collective.clone(), self.symmetry.clone());
        Some(Subject { units, separates_sums: true, direction, collective, symmetry, ..*self })
    }

    /// The time of a schedule of a size, per chunk of the bounds.
    pub(super) fn compute_time(&self, point: SchedulePoint) -> Result<Rational, ArithmeticError> {
        point.compute_time(self.topology)?.checked_div(self.shards)
    }

    /// What the solver needs to know; `None` if it is not asked.
    pub(super) fn prepare_search(&self, request: &FrontierRequest<'_>) -> Option<UnitSearch<'_>> {
        let Subject { topology, units, direction, symmetry, .. } = self;
        let max_hops = request.max_hops;
        let shares_sums = match &self.collective {
            Collective::Known(_) => false,
            Collective::Demands(demands) => {
                demands.as_slice().iter().any(|demand| demand.summands.is_some())
            }
        };
        let subject = SearchSubject {
            topology,
            units,
            direction: *direction,
            symmetry,
            max_hops,
            shares_sums,
        };
        let prepare = || UnitSearch::new(subject, request.solver, request.observer);
        request.engine.has_solver().then(prepare)
    }

    /// Constructed schedules.
    pub(super) fn construct(
        &self,
        request: &FrontierRequest<'_>,
    ) -> Result<Vec<StepSchedule>, SearchError> {
        let construction = Construction::new(request);
        match self.collective {
            Collective::Known(CollectiveKind::AllReduce) => compose_constructed(self, request),
            Collective::Known(kind) => construction.construct_known(self.topology, kind),
            Collective::Demands(_) => {
                construction.construct_units(self.topology, &self.units, self.direction)
            }
        }
    }
}

fn count_values(demands: &DemandList) -> u64 {
    demands.as_slice().iter().map(|demand| demand.count).sum()
}
