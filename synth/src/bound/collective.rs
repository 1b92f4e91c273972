//! All bounds of a collective on a machine: on its steps, on its time, and on its time for each number of steps.

mod allreduce;
mod bandwidth;
mod limit;
mod sweep;

pub use allreduce::AllReduceComparison;
pub use sweep::{BoundInSteps, FURTHER_STEPS, StepWitness, SweepEnd};

use super::alltoall::LengthBound;
use super::flows::FlowBound;
use super::steps::{StepBound, bound_demand_steps, bound_steps_under};
use super::tree_count::compute_tree_count;
use super::{AllReduceBound, BoundError, Completeness, CutBound, ProgramBudget, ProgramLimits};
use crate::automorphism::{Symmetry, find_symmetry};
use crate::collective::{Collective, CollectiveKind, RecognizedCollective};
use crate::graph::Topology;
use crate::observer::{NoObserver, SearchObserver};
use crate::rational::Rational;
use crate::sketch::{Sketch, SketchGap, SketchedTopology};
use sweep::StepSweep;

/// What is asked for besides a collective and a machine.
#[derive(Clone, Copy, Debug)]
pub struct BoundRequest<'a> {
    /// From how many steps on there are bounds for each number of them; the least number if it is `None` or less.
    pub min_steps: Option<u32>,
    /// Up to how many steps there are bounds for each number of them; [`FURTHER_STEPS`] more than the least
    /// number if it is `None`.
    pub max_steps: Option<u32>,
    /// How much the linear programs may do.
    pub budget: ProgramBudget,
    /// Who can stop the search. The bounds hold then, too, but may be below those that are found otherwise: their
    /// completeness says so.
    pub observer: &'a dyn SearchObserver,
}

impl Default for BoundRequest<'_> {
    fn default() -> Self {
        BoundRequest {
            min_steps: None,
            max_steps: None,
            budget: ProgramBudget::default(),
            observer: &NoObserver,
        }
    }
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
    /// The least time for each number of steps, from the least on, or from what was asked for. None of them is below that of a larger number.
    pub by_steps: Vec<BoundInSteps>,
    /// Why there are no bounds for more steps.
    pub sweep_end: SweepEnd,
    /// For an AllGather and a ReduceScatter without a limit on hops: how many trees per root reach the least time; `None`
    /// if the search was stopped.
    pub tree_count: Option<u64>,
    /// For an AllReduce: what its halves need one after the other; `None` if the search was stopped.
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
    /// Which schedules it is a bound of.
    pub scope: BoundScope,
}

/// What shows a bound on the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BandwidthWitness {
    /// What must leave a set of vertices.
    Cut(CutBound),
    /// Lengths of edges, for an AllToAll.
    Lengths(LengthBound),
    /// Lengths of edges, for any collective.
    Flows(FlowBound),
    /// Lengths and potentials of the halves of an AllReduce, or of other sums that several ranks get.
    AllReduce(Box<AllReduceBound>),
}

/// Which schedules a bound holds for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundScope {
    /// All.
    EverySchedule,
    /// All that sum each part of a value that several ranks get up at one rank, and send the sum from there. It is not
    /// known whether others can be faster.
    RootedSums,
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
/// [`BoundError::Unreachable`] and [`BoundError::TooFewHops`] if the collective is impossible,
/// [`BoundError::Sketch`], those about roots and single ranks, and [`BoundError::Arithmetic`]. What is too large for its
/// program has a bound that is simpler, or ends the bounds for each number of steps.
pub fn bound_collective(
    topology: &Topology,
    collective: &Collective,
    sketch: &Sketch,
    request: &BoundRequest<'_>,
) -> Result<CollectiveBounds, BoundError> {
    let FactoredCollective { collective, factor } = factor_collective(topology, collective);
    let SketchedTopology { topology, gaps } = sketch.apply(topology)?;
    // The symmetries of a machine need not keep a root, or the demands.
    let symmetry = match &collective {
        Collective::Known(kind) if kind.root().is_none() => find_symmetry(&topology),
        Collective::Known(_) | Collective::Demands(_) => Symmetry::trivial(&topology),
    };
    let BoundRequest { min_steps, max_steps, budget, observer } = request;
    let limits = ProgramLimits { budget, observer: *observer };
    let machine = Machine { topology: &topology, symmetry: &symmetry, limits };
    let steps = match &collective {
        Collective::Known(kind) => bound_steps_under(&topology, &symmetry, *kind)?,
        Collective::Demands(demands) => bound_demand_steps(&topology, demands)?,
    };
    let mut bandwidth = bandwidth::bound_bandwidth(machine, &collective)?;
    let mut gaps = gaps;
    if let Some(hops) = sketch.limit_hops() {
        if hops < steps.steps {
            return Err(BoundError::TooFewHops { least: steps.steps });
        }
        gaps.extend(bandwidth::include_hops(machine, &collective, hops, &mut bandwidth)?);
    }
    let min_steps = min_steps.map_or(steps.steps, |least| least.max(steps.steps));
    let max_steps = max_steps.unwrap_or(min_steps.saturating_add(FURTHER_STEPS));
    let sweep = sweep::bound_each_step(machine, &collective, &bandwidth, min_steps..=max_steps)?;
    if let (SweepEnd::ReachedBandwidth, Some(last)) = (sweep.end, sweep.bounds.last()) {
        bandwidth.attainment = Attainment::InSteps(last.steps);
    }
    let needs_both = |hops: u32| sweep.bounds.iter().any(|bound| bound.steps > hops);
    if sketch.limit_hops().is_some_and(needs_both) {
        gaps.push(SketchGap::HopsWithinSteps);
    }
    let allreduce = match collective {
        Collective::Known(CollectiveKind::AllReduce) => allreduce::compare_halves(machine)?,
        Collective::Known(_) | Collective::Demands(_) => None,
    };
    let tree_count = match (&collective, &bandwidth.witness) {
        (
            Collective::Known(CollectiveKind::AllGather | CollectiveKind::ReduceScatter),
            BandwidthWitness::Cut(cut),
        ) if bandwidth.completeness == Completeness::Optimal => {
            Some(compute_tree_count(&topology, cut)?)
        }
        _ => None,
    };
    let StepSweep { bounds: by_steps, end: sweep_end } = sweep;
    Ok(CollectiveBounds {
        topology: topology.clone(),
        collective,
        factor,
        steps,
        bandwidth,
        by_steps,
        sweep_end,
        tree_count,
        allreduce,
        gaps,
    })
}

/// A machine, with what is known about it and may be spent on it.
#[derive(Clone, Copy)]
struct Machine<'a> {
    topology: &'a Topology,
    symmetry: &'a Symmetry,
    limits: ProgramLimits<'a>,
}

/// A collective, and how many times it is asked for.
struct FactoredCollective {
    collective: Collective,
    factor: u64,
}

/// The known collective that demands are, or the demands without their common factor.
fn factor_collective(topology: &Topology, collective: &Collective) -> FactoredCollective {
    match collective {
        Collective::Known(kind) => {
            FactoredCollective { collective: Collective::Known(*kind), factor: 1 }
        }
        Collective::Demands(demands) => match demands.recognize(topology.count_ranks()) {
            Some(RecognizedCollective { kind, factor }) => {
                FactoredCollective { collective: Collective::Known(kind), factor }
            }
            None => {
                let factor = demands.find_common_factor();
                let collective = Collective::Demands(demands.divide_counts(factor));
                FactoredCollective { collective, factor }
            }
        },
    }
}
