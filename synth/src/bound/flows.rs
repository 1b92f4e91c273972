//! The bandwidth bound of any collective, as a linear program over flows.
//!
//! What the demands ask for are flows: of each value that is copied, one unit from its origin to each receiver; of each
//! sum, one unit from each origin, whose contribution it has, to each receiver. A value is one of a *group* if it is of
//! the same demand, or of demands that add up the same contributions. Let `x(g, e)` be how many values of a group an
//! edge carries, of `count(g)` that there are. Then all flows of a value pass within `x(g, ..)`, and
//! `sum over g of count(g) * x(g, e) <= rate(e) * T`. The least `T` is the bound.
//!
//! It holds for every schedule, as what is sent of a value serves all its flows. For copies, for what has one receiver
//! each, and for sums with one receiver each it is the least time of all schedules, in the limit of many steps. Sums
//! with several receivers, and sums that have contributions in common, may need more.
//!
//! Switches copy and add up in it, whatever their abilities are: on machines with switches that cannot, the bound can be
//! below the least time, above all for few steps.
//!
//! With a number of steps the network is the time-expanded one (see [`super::layered`]), with an `x` and a `T` for each
//! step. With a number of hops it is the same network, of which each layer is a hop, with an `x` for each hop and one
//! `T` for all: what is sent of a value has taken some hops from its origin, or takes some more to its receiver.
//!
//! That a flow passes means that every cut has enough: these are rows, which are added one after another. Their prices
//! in the dual solution are lengths `l(p, e)` for each pair `p` of an origin and a receiver of a group, with
//! `sum over the pairs of g of l(p, e) <= count(g) * y(e)`. Values of one origin and one receiver can have `count * y` as
//! their lengths. For any such lengths the following is a bound, by weak duality, and it is what is returned, computed
//! exactly from lengths that are integers (for steps: with the largest sum over `e` of all steps):
//!
//! ```text
//! sum over p of the distance between the two under l(p, ..)
//! -----------------------------------------------------------------------
//! sum over e of rate(e) * y(e)
//! ```

mod groups;
mod measure;
mod network;
mod search;

use super::budget::ProgramLimits;
use super::steps::bound_demand_steps;
use super::{BoundError, Completeness};
use crate::collective::{DemandList, SummandGroup};
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::rational::Rational;
use groups::{collect_groups, find_single, list_pairs};
use measure::LayeredLengths;
pub(super) use measure::LengthScale;
pub(crate) use measure::MeasuredFlow;
use network::LayeredNetwork;
use search::FlowSearch;
use std::collections::{BTreeMap, BTreeSet};

/// How the network of a program is layered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layering {
    /// There is one layer: any number of steps.
    Unlimited,
    /// So many steps, each with a time of its own.
    Steps(u32),
    /// So many hops for each value, in any number of steps.
    Hops(u32),
}

/// A bound on the time of a collective, and the lengths that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowBound {
    /// The bound, in rounds, or in seconds per byte of a chunk.
    pub value: Rational,
    /// What limits there are on steps or hops.
    pub layering: Layering,
    /// The lengths of edges that all values share, those that are not zero, sorted.
    pub shared: Vec<SharedLength>,
    /// The lengths for what goes from one rank to another, those that are not zero, sorted. Values of one origin and
    /// one receiver have none: theirs are the shared ones.
    pub lengths: Vec<PairLength>,
    /// Whether it is the optimum of the program.
    pub completeness: Completeness,
}

/// The length of an edge for all values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SharedLength {
    /// The step, from 1; 1 if there is no limit on steps.
    pub step: u32,
    /// The edge of the topology.
    pub edge: EdgeIndex,
    /// The length.
    pub length: u64,
}

/// The length of an edge for what goes from one rank to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PairLength {
    /// The index of the demand, in the order of [`DemandList::as_slice`]; of several that add up the same
    /// contributions, that of the first.
    pub demand: u32,
    /// The rank that has it.
    pub origin: Vertex,
    /// The rank that gets it, or the sum of which it is a part.
    pub receiver: Vertex,
    /// The step or hop, from 1; 1 if there is no limit on either.
    pub layer: u32,
    /// The edge of the topology.
    pub edge: EdgeIndex,
    /// The length.
    pub length: u64,
}

/// The bound of demands.
///
/// # Errors
/// [`BoundError::TooFewSteps`] if they take more steps or hops than the layering has, [`BoundError::TooLarge`],
/// [`BoundError::Arithmetic`], and those of [`bound_demand_steps`].
pub fn bound_flows<'a>(
    topology: &Topology,
    demands: &DemandList,
    layering: Layering,
    limits: impl Into<ProgramLimits<'a>>,
) -> Result<FlowBound, BoundError> {
    let limits = limits.into();
    let layers = layering.count_layers();
    let edges = topology.edges().len().saturating_mul(layers as usize);
    // Before the flows are listed, of which there may be very many.
    let joint = demands.as_slice().iter().filter(|demand| find_single(demand).is_none());
    let pairs: usize = joint.map(|demand| demand.origins.len() * demand.receivers.len()).sum();
    if edges.saturating_mul(pairs) > limits.budget.layered_lengths {
        return Err(BoundError::TooLarge);
    }
    let least = bound_demand_steps(topology, demands)?.steps;
    if layering != Layering::Unlimited && least > layers {
        return Err(BoundError::TooFewSteps { least });
    }
    let groups = collect_groups(demands);
    if edges.saturating_mul(groups.len()) > limits.budget.layered_variables {
        return Err(BoundError::TooLarge);
    }
    let network = LayeredNetwork::new(topology, layering);
    let mut search = FlowSearch::new(topology, network, &groups, layering);
    let mut program = search.build_program();
    let completeness = program.optimize(&mut search, limits);
    let prices = search.spread_prices(&program.round_prices());
    let measure::Lengths { shared, pairs: lengths } = prices;
    let value =
        LayeredLengths::new(topology, layering, &shared, &lengths).measure_value(demands)?;
    let solution = search.find_solution(program.objective());
    let completeness = completeness.after_rounding(value, solution);
    Ok(FlowBound { value, layering, shared, lengths, completeness })
}

impl FlowBound {
    /// For each flow the potentials of all vertices, at the begin and after each layer, as certificates have them.
    pub(crate) fn list_potentials(
        &self,
        topology: &Topology,
        flows: &[MeasuredFlow],
    ) -> Vec<Vec<i64>> {
        let lengths = LayeredLengths::new(topology, self.layering, &self.shared, &self.lengths);
        let times = flows.iter().flat_map(|flow| lengths.measure_potentials(flow));
        // They are sums of lengths, of which the largest is far smaller.
        let narrow = |own: &i128| i64::try_from(*own).unwrap_or(i64::MAX);
        times.map(|own| own.as_slice().iter().map(narrow).collect()).collect()
    }
}

/// The flows of each demand, or of several that add up the same contributions, in the order of the first ones. A flow
/// of the same contribution to the same rank is one.
pub(crate) fn list_flows(demands: &DemandList) -> Vec<Vec<MeasuredFlow>> {
    let mut groups: BTreeMap<SummandGroup, usize> = BTreeMap::new();
    let mut known: BTreeSet<(usize, [Vertex; 2])> = BTreeSet::new();
    let mut flows: Vec<Vec<MeasuredFlow>> = Vec::new();
    for (index, demand) in (0..).zip(demands.as_slice()) {
        let new = flows.len();
        let place = demand.summands.map_or(new, |group| *groups.entry(group).or_insert(new));
        let pairs: Vec<[Vertex; 2]> =
            list_pairs(demand).filter(|pair| known.insert((place, *pair))).collect();
        let own = pairs.into_iter().map(|[origin, receiver]| {
            let demand = find_single(demand).is_none().then_some(index);
            MeasuredFlow { demand, origin, receivers: vec![receiver] }
        });
        match flows.get_mut(place) {
            Some(first) => {
                // What they have in common has the lengths of the first one.
                let demand = first.first().and_then(|flow| flow.demand);
                first.extend(own.map(|flow| MeasuredFlow { demand, ..flow }));
            }
            None => flows.push(own.collect()),
        }
    }
    flows
}

impl Layering {
    fn count_layers(self) -> u32 {
        match self {
            Layering::Unlimited => 1,
            Layering::Steps(layers) | Layering::Hops(layers) => layers,
        }
    }

    /// How many steps there are with a time of their own.
    fn count_times(self) -> u32 {
        match self {
            Layering::Unlimited | Layering::Hops(_) => 1,
            Layering::Steps(steps) => steps,
        }
    }

    /// Which of the times a layer is in, from 0.
    fn find_time_index(self, layer: u32) -> u32 {
        match self {
            Layering::Unlimited | Layering::Hops(_) => 0,
            Layering::Steps(_) => layer - 1,
        }
    }
}
