//! Bounds for each number of steps.

use super::{BandwidthBound, Machine};
use crate::bound::layered::{LayeredBound, bound_allgather_in_steps_under};
use crate::bound::{BoundError, Completeness, reverse_error};
use crate::collective::CollectiveKind;
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
    /// The bound, in rounds per chunk, or in seconds per byte.
    pub value: Rational,
    /// What shows it.
    pub witness: StepWitness,
    /// Whether it is the optimum of its program.
    pub completeness: Completeness,
}

/// What shows a bound for so many steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepWitness {
    /// Lengths of edges in steps.
    Layered(LayeredBound),
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
    /// There are as many as were asked for.
    MaxSteps,
    /// The program for one more step is too large.
    TooLarge,
    /// The collective has no bounds for so many steps.
    NotBounded,
}

/// Bounds for each number of steps, and why there are no more.
pub(super) struct StepSweep {
    pub(super) bounds: Vec<BoundInSteps>,
    pub(super) end: SweepEnd,
}

/// Goes on until the bound for any number of steps is reached.
pub(super) fn bound_each_step(
    machine: Machine<'_>,
    kind: CollectiveKind,
    bandwidth: &BandwidthBound,
    steps: RangeInclusive<u32>,
) -> Result<StepSweep, BoundError> {
    let mut sweep = StepSweep { bounds: Vec::new(), end: SweepEnd::MaxSteps };
    for steps in steps {
        let bound = match bound_steps_of_kind(machine, kind, steps) {
            None => {
                sweep.end = SweepEnd::NotBounded;
                break;
            }
            Some(Err(BoundError::TooLarge)) => {
                sweep.end = SweepEnd::TooLarge;
                break;
            }
            Some(bound) => bound?,
        };
        let is_reached = bound.value <= bandwidth.value;
        let bound = if is_reached {
            let (value, completeness) = (bandwidth.value, bandwidth.completeness);
            BoundInSteps { steps, value, witness: StepWitness::Bandwidth, completeness }
        } else {
            let (value, completeness) = (bound.value, bound.completeness);
            BoundInSteps { steps, value, witness: StepWitness::Layered(bound), completeness }
        };
        sweep.bounds.push(bound);
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

/// `None` for collectives of which there is no such bound.
fn bound_steps_of_kind(
    machine: Machine<'_>,
    kind: CollectiveKind,
    steps: u32,
) -> Option<Result<LayeredBound, BoundError>> {
    let Machine { topology, symmetry, budget } = machine;
    match kind {
        CollectiveKind::AllGather => {
            Some(bound_allgather_in_steps_under(topology, symmetry, steps, budget))
        }
        CollectiveKind::ReduceScatter => {
            // The orbits of edges are numbered in the order of the edges, which is another one there.
            let reversed = topology.reverse();
            let symmetry = crate::automorphism::find_symmetry(&reversed);
            let bound = bound_allgather_in_steps_under(&reversed, &symmetry, steps, budget);
            Some(bound.map_err(reverse_error))
        }
        CollectiveKind::AllToAll
        | CollectiveKind::AllReduce
        | CollectiveKind::Broadcast(_)
        | CollectiveKind::Reduce(_)
        | CollectiveKind::Scatter(_)
        | CollectiveKind::Gather(_) => None,
    }
}
