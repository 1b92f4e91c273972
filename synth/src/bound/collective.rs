//! All bounds of a collective on a machine: on its steps, on its time, and on its time for each number of steps.

mod allreduce;
mod sweep;

pub use allreduce::AllReduceComparison;
pub use sweep::{BoundInSteps, FURTHER_STEPS, StepWitness, SweepEnd};

use super::alltoall::{LengthBound, bound_alltoall_under};
use super::cut::bound_allgather_under;
use super::rooted::{bound_broadcast, bound_scatter};
use super::steps::{StepBound, bound_steps_under};
use super::{AllReduceBound, BoundError, Completeness, CutBound, ProgramBudget, reverse_error};
use crate::automorphism::{Symmetry, find_symmetry};
use crate::collective::{Collective, CollectiveKind, RecognizedCollective};
use crate::graph::Topology;
use crate::rational::Rational;
use crate::sketch::{Sketch, SketchGap};

/// What is asked for besides a collective and a machine.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BoundRequest {
    /// Up to how many steps there are bounds for each number of them; [`FURTHER_STEPS`] more than the least
    /// number if it is `None`.
    pub max_steps: Option<u32>,
    /// How much the linear programs may do.
    pub budget: ProgramBudget,
}

/// The bounds of a collective.
#[derive(Clone, Debug)]
pub struct CollectiveBounds {
    /// The machine that the bounds are about: without the edges that the sketch removes.
    pub topology: Topology,
    /// The collective that the bounds are about: a known one, if the demands are one.
    pub collective: Collective,
    /// How many chunks of this collective each one of the demanded ones is: what was asked for takes as many times the
    /// bounds on the time.
    pub factor: u64,
    /// The least number of steps.
    pub steps: StepBound,
    /// The least time, with any number of steps.
    pub bandwidth: BandwidthBound,
    /// The least time for each number of steps, from the least on. None of them is below that of a larger number.
    pub by_steps: Vec<BoundInSteps>,
    /// Why there are no bounds for more steps.
    pub sweep_end: SweepEnd,
    /// For an AllReduce: what its halves need one after the other.
    pub allreduce: Option<AllReduceComparison>,
    /// Which constraints of the sketch are not in the bounds.
    pub gaps: Vec<SketchGap>,
}

/// A bound on the time of a collective with any number of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BandwidthBound {
    /// The bound, in rounds per chunk, or in seconds per byte.
    pub value: Rational,
    /// What shows it.
    pub witness: BandwidthWitness,
    /// Whether it is the optimum of its program.
    pub completeness: Completeness,
    /// Whether it can be reached.
    pub attainment: Attainment,
}

/// What shows a bound on the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BandwidthWitness {
    /// What must leave a set of vertices. For collectives that run backwards (see [`CollectiveKind::reverse`]) it is a
    /// set of the reversed topology.
    Cut(CutBound),
    /// Lengths of edges.
    Lengths(LengthBound),
    /// Lengths and potentials of the halves of an AllReduce.
    AllReduce(Box<AllReduceBound>),
}

/// Whether a bound on the time of a collective can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attainment {
    /// The bound for so many steps is the same.
    InSteps(u32),
    /// No number of steps reaches it; their times come as near as is wanted.
    LimitOnly,
    /// It is not known.
    Unknown,
}

/// All bounds of a collective.
///
/// # Errors
/// [`BoundError::Unreachable`] if the collective is impossible, those about roots and single ranks, and
/// [`BoundError::Arithmetic`]. What is too large for its program has a bound that is simpler, or ends the bounds for
/// each number of steps.
pub fn bound_collective(
    topology: &Topology,
    collective: &Collective,
    sketch: &Sketch,
    request: &BoundRequest,
) -> Result<CollectiveBounds, BoundError> {
    let RecognizedCollective { kind, factor } = recognize_collective(topology, collective)?;
    if *sketch != Sketch::default() {
        return Err(BoundError::TooLarge);
    }
    let symmetry = match kind.root() {
        Some(_) => Symmetry::trivial(topology),
        None => find_symmetry(topology),
    };
    let machine = Machine { topology, symmetry: &symmetry, budget: &request.budget };
    let steps = bound_steps_under(topology, &symmetry, kind)?;
    let mut bandwidth = bound_bandwidth(machine, kind)?;
    let max_steps = request.max_steps.unwrap_or(steps.steps + FURTHER_STEPS);
    let sweep = sweep::bound_each_step(machine, kind, &bandwidth, steps.steps..=max_steps)?;
    if let SweepEnd::ReachedBandwidth = sweep.end
        && let Some(last) = sweep.bounds.last()
    {
        bandwidth.attainment = Attainment::InSteps(last.steps);
    }
    let allreduce = match kind {
        CollectiveKind::AllReduce => Some(allreduce::compare_halves(machine, &bandwidth)?),
        CollectiveKind::AllGather
        | CollectiveKind::ReduceScatter
        | CollectiveKind::AllToAll
        | CollectiveKind::Broadcast(_)
        | CollectiveKind::Reduce(_)
        | CollectiveKind::Scatter(_)
        | CollectiveKind::Gather(_) => None,
    };
    Ok(CollectiveBounds {
        topology: topology.clone(),
        collective: Collective::Known(kind),
        factor,
        steps,
        bandwidth,
        by_steps: sweep.bounds,
        sweep_end: sweep.end,
        allreduce,
        gaps: Vec::new(),
    })
}

/// A machine, with what is known about it and may be spent on it.
#[derive(Clone, Copy)]
struct Machine<'a> {
    topology: &'a Topology,
    symmetry: &'a Symmetry,
    budget: &'a ProgramBudget,
}

fn recognize_collective(
    topology: &Topology,
    collective: &Collective,
) -> Result<RecognizedCollective, BoundError> {
    match collective {
        Collective::Known(kind) => Ok(RecognizedCollective { kind: *kind, factor: 1 }),
        Collective::Demands(demands) => {
            demands.recognize(topology.count_ranks()).ok_or(BoundError::TooLarge)
        }
    }
}

/// The bound on the time of a known collective, without limits on steps.
fn bound_bandwidth(
    machine: Machine<'_>,
    kind: CollectiveKind,
) -> Result<BandwidthBound, BoundError> {
    let Machine { topology, symmetry, budget } = machine;
    if let Some(forward) = kind.reverse() {
        let topology = topology.reverse();
        let reversed = Machine { topology: &topology, ..machine };
        return bound_bandwidth(reversed, forward).map_err(reverse_error);
    }
    let cut = match kind {
        CollectiveKind::Broadcast(root) => bound_broadcast(topology, root)?,
        CollectiveKind::Scatter(root) => bound_scatter(topology, root)?,
        CollectiveKind::AllToAll => {
            let bound = bound_alltoall_under(topology, symmetry, budget)?;
            return Ok(BandwidthBound {
                value: bound.value,
                completeness: bound.completeness,
                witness: BandwidthWitness::Lengths(bound),
                attainment: Attainment::Unknown,
            });
        }
        CollectiveKind::AllReduce => return allreduce::bound_directly(machine),
        CollectiveKind::AllGather
        | CollectiveKind::ReduceScatter
        | CollectiveKind::Reduce(_)
        | CollectiveKind::Gather(_) => bound_allgather_under(topology, symmetry)?,
    };
    Ok(BandwidthBound {
        value: cut.value,
        witness: BandwidthWitness::Cut(cut),
        completeness: Completeness::Optimal,
        attainment: Attainment::Unknown,
    })
}
