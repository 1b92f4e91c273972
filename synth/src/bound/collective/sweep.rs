//! Bounds for each number of steps.

use super::bandwidth::MAX_LISTED_DEMANDS;
use super::{BandwidthBound, Machine};
use crate::automorphism::find_symmetry;
use crate::bound::flows::{FlowBound, Layering, bound_flows};
use crate::bound::layered::{LayeredBound, bound_allgather_in_steps_under};
use crate::bound::{BoundError, Completeness, reverse_error};
use crate::collective::{Collective, CollectiveKind};
use crate::rational::Rational;
use std::ops::RangeInclusive;

/// How many more steps than the least number there are bounds for, if nothing else is asked for. The frontiers of the
/// literature's machines end before; for a broadcast there is no end.
pub const FURTHER_STEPS: u32 = 6;

/// A bound on the time of a collective that takes at most so many steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundInSteps {
    /// The number of steps.
    pub steps: u32,
    /// The bound, in rounds per chunk, or in seconds per byte. It is not below that for any number of steps, and holds for
    /// the schedules of its scope where it is the same.
    pub value: Rational,
    /// What shows it.
    pub witness: StepWitness,
    /// Whether it is the optimum of its program.
    pub completeness: Completeness,
}

/// What shows a bound for so many steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepWitness {
    /// Lengths of edges in steps, for an AllGather, or for a ReduceScatter on the reversed topology.
    Layered(LayeredBound),
    /// Lengths of edges in steps, for any collective.
    Flows(FlowBound),
    /// What shows the bound for any number of steps.
    Bandwidth,
    /// What shows the bound for one more step.
    OneMoreStep,
}

/// Why there are no bounds for more steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepEnd {
    /// The last one is the bound for any number of steps.
    ReachedBandwidth,
    /// The program of the last one ended at a budget: so would those for more steps, which are larger. Or the observer
    /// stopped the search.
    OutOfBudget,
    /// There are as many as were asked for.
    MaxSteps,
    /// The program for one more step is too large.
    TooLarge,
}

/// Bounds for each number of steps, and why there are no more.
pub(super) struct StepSweep {
    pub(super) bounds: Vec<BoundInSteps>,
    pub(super) end: SweepEnd,
}

/// Goes on until the bound for any number of steps is reached, or the observer stops the search.
pub(super) fn bound_each_step(
    machine: Machine<'_>,
    collective: &Collective,
    bandwidth: &BandwidthBound,
    steps: RangeInclusive<u32>,
) -> Result<StepSweep, BoundError> {
    let mut sweep = StepSweep { bounds: Vec::new(), end: SweepEnd::MaxSteps };
    for steps in steps {
        if machine.limits.observer.is_stopped() {
            sweep.end = SweepEnd::OutOfBudget;
            break;
        }
        let bound = match bound_in_steps(machine, collective, steps) {
            Err(BoundError::TooLarge) => {
                sweep.end = SweepEnd::TooLarge;
                break;
            }
            bound => bound?,
        };
        let is_reached = bound.value <= bandwidth.value;
        let completeness = bound.completeness;
        sweep.bounds.push(if is_reached {
            BoundInSteps { value: bandwidth.value, witness: StepWitness::Bandwidth, ..bound }
        } else {
            bound
        });
        if let Completeness::Stopped(_) = completeness {
            sweep.end = SweepEnd::OutOfBudget;
            break;
        }
        if is_reached {
            sweep.end = SweepEnd::ReachedBandwidth;
            break;
        }
    }
    sweep.keep_monotone();
    Ok(sweep)
}

impl StepSweep {
    /// What takes some steps takes at most one more: so the bound for one more holds for them, too.
    fn keep_monotone(&mut self) {
        let mut next: Option<Rational> = None;
        for bound in self.bounds.iter_mut().rev() {
            if let Some(next) = next
                && next > bound.value
            {
                bound.value = next;
                bound.witness = StepWitness::OneMoreStep;
            }
            next = Some(bound.value);
        }
    }
}

/// The bound of the program for so many steps.
fn bound_in_steps(
    machine: Machine<'_>,
    collective: &Collective,
    steps: u32,
) -> Result<BoundInSteps, BoundError> {
    let Machine { topology, symmetry, limits } = machine;
    let ranks = topology.count_ranks();
    let flows = match collective {
        Collective::Known(CollectiveKind::AllGather) => {
            let bound = bound_allgather_in_steps_under(topology, symmetry, steps, limits)?;
            return Ok(from_layers(bound));
        }
        Collective::Known(CollectiveKind::ReduceScatter) => {
            // The orbits of edges are numbered in the order of the edges, which is another one there.
            let reversed = topology.reverse();
            let symmetry = find_symmetry(&reversed);
            let bound = bound_allgather_in_steps_under(&reversed, &symmetry, steps, limits);
            return Ok(from_layers(bound.map_err(reverse_error)?));
        }
        Collective::Known(kind) if kind.count_demands(ranks) > MAX_LISTED_DEMANDS => {
            return Err(BoundError::TooLarge);
        }
        Collective::Known(kind) => {
            let demands = kind.list_demands(ranks);
            bound_flows(topology, &demands, Layering::Steps(steps), limits)?
        }
        Collective::Demands(demands) => {
            bound_flows(topology, demands, Layering::Steps(steps), limits)?
        }
    };
    Ok(BoundInSteps {
        steps,
        value: flows.value,
        completeness: flows.completeness,
        witness: StepWitness::Flows(flows),
    })
}

fn from_layers(bound: LayeredBound) -> BoundInSteps {
    BoundInSteps {
        steps: bound.steps,
        value: bound.value,
        completeness: bound.completeness,
        witness: StepWitness::Layered(bound),
    }
}
