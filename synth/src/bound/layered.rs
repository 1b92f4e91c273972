//! The bandwidth bound of an AllGather that takes so many steps at most, with any number of chunks.
//!
//! In the time-expanded network (Ford and Fulkerson, "Constructing maximal dynamic flows from static flows", 1958) each
//! rank is there once before each step and at the end, each switch once in each step. An edge leads from the tail
//! before a step (a switch: in the step) to the head after it (a switch: in it), and each rank can wait.
//!
//! Let `x(o, e, t)` be how much of the chunk of rank `o` edge `e` carries in step `t`, and `rho(t)` how many rounds the
//! step takes. Then `sum over o of x(o, e, t) <= rate(e) * rho(t)`, and for each other rank `d` the `x(o, ..)` let
//! one unit pass from `o` at the begin to `d` at the end: every cut between the two has at least 1. The least sum of
//! all `rho(t)` is the bound. Cuts become rows one after another: those that the best `x` so far violates, which
//! maximum flows find.
//!
//! The weights of the cuts of `o` and `d` in the dual solution, on the edges that they cut, are lengths
//! `l(o, d, e, t)`. For any such lengths the following is a bound, by weak duality, and it is what is returned, computed
//! exactly from lengths that are integers:
//!
//! ```text
//! sum over o, d of the shortest path from o to d under l(o, d, ..)
//! ----------------------------------------------------------------------------------
//! max over t of sum over e of rate(e) * max over o of sum over d of l(o, d, e, t)
//! ```

use super::budget::{Completeness, ProgramBudget, ProgramLimits, TOLERATED_LACK, WHOLE_FLOW};
use super::cutting::{CutFinder, CutProgram, PricedRow, ViolatedCut};
use super::paths::EdgeIndex;
use super::quotient::{
    PriceScale, TupleIndex, TupleNumbers, merge_edges, merge_pair_edges, merge_pairs,
};
use super::rounding::{find_time, rate_fractions};
use super::steps::{bound_steps_under, measure_distances};
use super::{BoundError, all_vertices, check_rank_count, reverse_error};
use crate::automorphism::{OrbitNumber, Orbits, Symmetry, find_symmetry};
use crate::collective::CollectiveKind;
use crate::dense::{DenseKey, DenseMap};
use crate::flow::{FlowArc, FlowNetwork, FlowNode};
use crate::graph::{Topology, Vertex};
use crate::observer::SearchObserver;
use crate::rational::Rational;
use crate::simplex::{LinearTerm, Unknown};
use std::collections::BTreeMap;

/// A bound on the time per chunk of an AllGather in so many steps, and the lengths that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayeredBound {
    /// The bound, in rounds per chunk, or in seconds per byte.
    pub value: Rational,
    /// The number of steps.
    pub steps: u32,
    /// The lengths that are not zero, sorted.
    pub lengths: Vec<LayeredLength>,
    /// Whether it is the optimum of the program.
    pub completeness: Completeness,
}

/// The length of an edge in a step, for what goes from one rank to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LayeredLength {
    /// The rank whose chunk it is.
    pub origin: Vertex,
    /// The rank that gets it.
    pub destination: Vertex,
    /// The step, from 1.
    pub step: u32,
    /// The index of the edge among the topology's.
    pub edge: u32,
    /// The length.
    pub length: u64,
}

/// The bound of an AllGather that takes at most so many steps.
///
/// # Errors
/// [`BoundError::TooFewSteps`] if no AllGather takes so few, [`BoundError::TooLarge`],
/// [`BoundError::Unreachable`], [`BoundError::SingleRank`] and [`BoundError::Arithmetic`].
pub fn bound_allgather_in_steps(
    topology: &Topology,
    steps: u32,
) -> Result<LayeredBound, BoundError> {
    let symmetry = find_symmetry(topology);
    bound_allgather_in_steps_under(topology, &symmetry, steps, &ProgramBudget::default())
}

/// The same, with symmetries of the topology that are known: there is an origin for each orbit of ranks, and what an
/// edge carries of its chunk in a step is a variable of the orbit of the origin and the edge.
///
/// # Errors
/// Those of [`bound_allgather_in_steps`].
pub fn bound_allgather_in_steps_under<'a>(
    topology: &Topology,
    symmetry: &Symmetry,
    steps: u32,
    limits: impl Into<ProgramLimits<'a>>,
) -> Result<LayeredBound, BoundError> {
    let limits = limits.into();
    check_rank_count(topology)?;
    let least = bound_steps_under(topology, symmetry, CollectiveKind::AllGather)?.steps;
    if steps < least {
        return Err(BoundError::TooFewSteps { least });
    }
    let [ranks, edges] = [topology.ranks().len(), topology.edges().len()];
    let lengths = (ranks * ranks).saturating_mul(edges).saturating_mul(steps as usize);
    if lengths > limits.budget.layered_lengths {
        return Err(BoundError::TooLarge);
    }
    let origin_edges = merge_edges(topology, symmetry);
    let variables = origin_edges.list_firsts().len();
    if variables.saturating_mul(steps as usize) > limits.budget.layered_variables {
        return Err(BoundError::TooLarge);
    }
    let mut search = CutSearch::new(topology, symmetry, &origin_edges, steps);
    let mut program = search.build_program();
    let completeness = program.optimize(&mut search, limits);
    let lengths = search.spread_prices(&program.round_prices());
    let lengths = shorten_edges(topology, steps, &lengths);
    let value = measure_value(topology, steps, &lengths)?;
    let completeness = completeness.after_rounding(value, find_time(topology, program.objective()));
    Ok(LayeredBound { value, steps, lengths, completeness })
}

/// The bound of a ReduceScatter that takes at most so many steps: that of the AllGather on the reversed topology, whose
/// edges the lengths are about.
///
/// # Errors
/// Those of [`bound_allgather_in_steps`].
pub fn bound_reduce_scatter_in_steps(
    topology: &Topology,
    steps: u32,
) -> Result<LayeredBound, BoundError> {
    bound_allgather_in_steps(&topology.reverse(), steps).map_err(reverse_error)
}

/// An edge in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LayerEdge {
    /// From 1.
    step: u32,
    edge: EdgeIndex,
}

/// A row that says that a cut between two ranks has at least 1.
struct CutRow {
    origin: Vertex,
    destination: Vertex,
    edges: Vec<LayerEdge>,
}

/// A variable, at one of the places that it stands for: how much of the chunk of an origin an edge carries in a step.
#[derive(Clone)]
struct CarriedAmount {
    edge: LayerEdge,
    arc: FlowArc,
    unknown: Unknown,
}

/// The search for the cuts that bind.
struct CutSearch<'a> {
    topology: &'a Topology,
    symmetry: &'a Symmetry,
    numbers: TupleNumbers,
    /// The orbits of an origin and a destination. Those of the first members are looked at.
    pairs: Orbits<TupleIndex>,
    steps: u32,
    /// The time-expanded network.
    network: FlowNetwork,
    /// Of each origin that is the first of its orbit, the variables; others are zero in every solution worth having.
    amounts: DenseMap<Vertex, Vec<CarriedAmount>>,
    /// How many variables there are: the rounds of the steps, then the amounts.
    variable_count: usize,
}

impl<'a> CutSearch<'a> {
    fn new(
        topology: &'a Topology,
        symmetry: &'a Symmetry,
        origin_edges: &Orbits<TupleIndex>,
        steps: u32,
    ) -> CutSearch<'a> {
        let vertices = topology.count_vertices();
        let mut network = FlowNetwork::new(vertices * (steps as usize + 1));
        let mut arcs = BTreeMap::new();
        for step in 1..=steps {
            for rank in topology.ranks() {
                let ends = [step - 1, step].map(|time| find_node(topology, rank, time));
                network.add_arc(ends[0], ends[1], WHOLE_FLOW);
            }
            for (index, edge) in (0..).zip(topology.edges()) {
                let before = if topology.is_rank(edge.from) { step - 1 } else { step };
                let tail = find_node(topology, edge.from, before);
                let arc = network.add_arc(tail, find_node(topology, edge.to, step), 0);
                arcs.insert(LayerEdge { step, edge: EdgeIndex(index) }, arc);
            }
        }
        let neighbors = topology.collect_neighbors();
        let numbers = TupleNumbers::new(topology);
        let mut unknowns = BTreeMap::new();
        let mut amounts: DenseMap<Vertex, Vec<CarriedAmount>> =
            DenseMap::filled(topology.ranks().len(), Vec::new());
        for origin in topology.ranks().filter(|rank| symmetry.vertices.is_first(*rank)) {
            let distances = measure_distances(topology, &neighbors, origin);
            for (edge, arc) in &arcs {
                let Some(ends) = topology.edges().get(edge.edge.index()) else { continue };
                // What has not left the origin's reach cannot be sent, and the origin needs nothing.
                if distances[ends.from] < edge.step && ends.to != origin {
                    let orbit = origin_edges.find_orbit(numbers.number_edge(origin, edge.edge));
                    let next = Unknown(steps + unknowns.len() as u32);
                    let unknown = *unknowns.entry((orbit, edge.step)).or_insert(next);
                    amounts[origin].push(CarriedAmount { edge: *edge, arc: *arc, unknown });
                }
            }
        }
        let variable_count = steps as usize + unknowns.len();
        let pairs = merge_pairs(topology, symmetry);
        CutSearch { topology, symmetry, numbers, pairs, steps, network, amounts, variable_count }
    }

    /// The program before there are cuts: the rounds of all steps, and the rows of the rates.
    fn build_program(&self) -> CutProgram<CutRow> {
        let mut costs = vec![0.0; self.variable_count];
        costs.iter_mut().take(self.steps as usize).for_each(|cost| *cost = 1.0);
        let mut program = CutProgram::new(costs, DenseMap::filled(self.variable_count, 1.0));
        self.add_rate_rows(&mut program);
        program
    }

    /// In no step an edge carries more than its rate times the rounds. A row is about all edges of an orbit, and about
    /// all origins.
    fn add_rate_rows(&self, program: &mut CutProgram<CutRow>) {
        let rates = rate_fractions(self.topology);
        let Symmetry { vertices, edges, .. } = self.symmetry;
        let mut rows: BTreeMap<LayerEdge, Vec<LinearTerm>> = BTreeMap::new();
        for (origin, amounts) in self.topology.ranks().zip(self.amounts.as_slice()) {
            let origins = vertices.count_members(origin) as f64;
            for amount in amounts {
                let LayerEdge { step, edge } = amount.edge;
                let rounds = LinearTerm {
                    unknown: Unknown(step - 1),
                    factor: rates[edge] * edges.count_members(edge) as f64,
                };
                let first = LayerEdge { step, edge: edges.find_first(edge) };
                let row = rows.entry(first).or_insert_with(|| vec![rounds]);
                row.push(LinearTerm { unknown: amount.unknown, factor: -origins });
            }
        }
        for terms in rows.values() {
            program.add_fixed_row(terms, 0.0, None);
        }
    }
}

impl CutFinder<CutRow> for CutSearch<'_> {
    /// A row for each pair of ranks between which the given amounts let less than a chunk pass.
    fn find_violated_cuts(
        &mut self,
        values: &DenseMap<Unknown, f64>,
        observer: &dyn SearchObserver,
    ) -> Vec<ViolatedCut<CutRow>> {
        let mut found = Vec::new();
        let Symmetry { vertices, .. } = self.symmetry;
        for origin in self.topology.ranks().filter(|rank| vertices.is_first(*rank)) {
            let source = find_node(self.topology, origin, 0);
            for amounts in self.amounts.as_slice() {
                amounts.iter().for_each(|amount| self.network.set_capacity(amount.arc, 0));
            }
            for amount in &self.amounts[origin] {
                // One more, so that of several minimum cuts one of few edges is found.
                let carried = (values[amount.unknown].clamp(0.0, 1.0) * WHOLE_FLOW as f64) as u64;
                self.network.set_capacity(amount.arc, carried + 1);
            }
            for destination in self.topology.ranks().filter(|rank| *rank != origin) {
                if !self.pairs.is_first(self.numbers.number_pair(origin, destination)) {
                    continue;
                }
                if observer.is_stopped() {
                    break;
                }
                self.network.clear_flow();
                let sink = find_node(self.topology, destination, self.steps);
                let needed = WHOLE_FLOW - TOLERATED_LACK;
                if self.network.maximize_flow(source, sink, needed) < needed {
                    let reached = self.network.collect_reachable(source);
                    let near = self.collect_cut(origin, destination, &reached);
                    let reaching = self.network.collect_reaching(sink);
                    let complement = reaching.as_slice().iter().map(|is_in| !is_in);
                    let complement = complement.collect::<Vec<bool>>().into();
                    let far = self.collect_cut(origin, destination, &complement);
                    let is_other = far.edges != near.edges;
                    found.push(near);
                    found.extend(is_other.then_some(far));
                }
            }
        }
        let found = found.into_iter();
        found.map(|cut| self.collect_row(cut)).collect()
    }
}

impl CutSearch<'_> {
    /// The row that says that a cut has at least 1.
    fn collect_row(&self, cut: CutRow) -> ViolatedCut<CutRow> {
        let amounts = self.amounts[cut.origin].iter();
        let cut_amounts = amounts.filter(|amount| cut.edges.binary_search(&amount.edge).is_ok());
        let term = |amount: &CarriedAmount| LinearTerm { unknown: amount.unknown, factor: 1.0 };
        ViolatedCut { terms: cut_amounts.map(term).collect(), bound: 1.0, meaning: cut }
    }

    /// The cut around nodes of the time-expanded network.
    fn collect_cut(
        &self,
        origin: Vertex,
        destination: Vertex,
        side: &DenseMap<FlowNode, bool>,
    ) -> CutRow {
        let leaves = |amount: &&CarriedAmount| {
            side[self.network.tail(amount.arc)] && !side[self.network.head(amount.arc)]
        };
        let edges = self.amounts[origin].iter().filter(leaves).map(|amount| amount.edge);
        CutRow { origin, destination, edges: edges.collect() }
    }

    /// The lengths that cuts with their prices in the dual solution make.
    fn spread_prices(&self, priced: &[PricedRow<'_, CutRow>]) -> Vec<LayeredLength> {
        let orbits = merge_pair_edges(self.topology, self.symmetry);
        let number = |cut: &CutRow, edge: EdgeIndex| {
            let pair = self.numbers.number_pair(cut.origin, cut.destination);
            self.numbers.number_pair_edge(pair, edge)
        };
        let prices: Vec<u64> = priced.iter().map(|row| row.price).collect();
        let mut scale = PriceScale::new(&prices);
        for PricedRow { meaning: cut, .. } in priced {
            for edge in &cut.edges {
                scale.admit(orbits.count_members(number(cut, edge.edge)));
            }
        }
        let mut sums: BTreeMap<OrbitNumber, BTreeMap<u32, u64>> = BTreeMap::new();
        for PricedRow { meaning: cut, price } in priced {
            for LayerEdge { step, edge } in &cut.edges {
                let place = number(cut, *edge);
                let of_orbit = sums.entry(orbits.find_orbit(place)).or_default();
                *of_orbit.entry(*step).or_default() +=
                    scale.share(*price, orbits.count_members(place));
            }
        }
        self.expand_lengths(&orbits, &sums)
    }

    /// The lengths of all members of orbits of an origin, a destination and an edge, by step.
    fn expand_lengths(
        &self,
        orbits: &Orbits<TupleIndex>,
        sums: &BTreeMap<OrbitNumber, BTreeMap<u32, u64>>,
    ) -> Vec<LayeredLength> {
        let mut lengths = Vec::new();
        for origin in self.topology.ranks() {
            for destination in self.topology.ranks() {
                let pair = self.numbers.number_pair(origin, destination);
                for edge in 0..self.topology.edges().len() as u32 {
                    let place = self.numbers.number_pair_edge(pair, EdgeIndex(edge));
                    let of_orbit = sums.get(&orbits.find_orbit(place));
                    lengths.extend(of_orbit.into_iter().flatten().map(|(step, length)| {
                        LayeredLength { origin, destination, step: *step, edge, length: *length }
                    }));
                }
            }
        }
        lengths.retain(|place| place.length > 0);
        lengths.sort_unstable();
        lengths
    }
}

/// The node of a vertex at a time, which counts the steps that are over; for a switch, those that are over or in
/// which it is used.
fn find_node(topology: &Topology, vertex: Vertex, time: u32) -> FlowNode {
    FlowNode(time * topology.count_vertices() as u32 + vertex.0)
}

/// The bound that lengths show.
fn measure_value(
    topology: &Topology,
    steps: u32,
    lengths: &[LayeredLength],
) -> Result<Rational, BoundError> {
    let mut paths: i128 = 0;
    let mut used_by_origin: BTreeMap<(Vertex, LayerEdge), i128> = BTreeMap::new();
    for of_pair in lengths.chunk_by(is_same_pair) {
        let destination = of_pair.first().map(|place| place.destination);
        let potentials = measure_potentials(topology, steps, of_pair);
        let end = potentials.last().zip(destination);
        paths += end.map_or(0, |(last, destination)| last[destination].into());
        for place in of_pair {
            let edge = LayerEdge { step: place.step, edge: EdgeIndex(place.edge) };
            *used_by_origin.entry((place.origin, edge)).or_default() += i128::from(place.length);
        }
    }
    let mut used: BTreeMap<LayerEdge, i128> = BTreeMap::new();
    for ((_, edge), sum) in used_by_origin {
        let most = used.entry(edge).or_default();
        *most = sum.max(*most);
    }
    let weights: DenseMap<EdgeIndex, u64> =
        topology.weighted_edges().map(|(_, weight)| weight).collect::<Vec<u64>>().into();
    let mut offers: BTreeMap<u32, i128> = BTreeMap::new();
    for (edge, most) in used {
        *offers.entry(edge.step).or_default() += i128::from(weights[edge.edge]) * most;
    }
    let offered = offers.into_values().max().unwrap_or(1);
    Ok(Rational::new(paths, offered)?.checked_div(topology.quantum())?)
}

/// Whether two lengths are of one pair.
fn is_same_pair(one: &LayeredLength, other: &LayeredLength) -> bool {
    (one.origin, one.destination) == (other.origin, other.destination)
}

/// Makes every edge as short as it can be while the shortest paths between all pairs stay as long.
fn shorten_edges(topology: &Topology, steps: u32, lengths: &[LayeredLength]) -> Vec<LayeredLength> {
    let mut shortened = Vec::new();
    for of_pair in lengths.chunk_by(is_same_pair) {
        let potentials = measure_potentials(topology, steps, of_pair);
        for place in of_pair {
            let Some(ends) = topology.edges().get(place.edge as usize) else { continue };
            let after = potentials.get(place.step as usize);
            let before = potentials.get(place.step as usize - 1);
            let tails = if topology.is_rank(ends.from) { before } else { after };
            let (Some(tails), Some(heads)) = (tails, after) else { continue };
            let length = u64::try_from(heads[ends.to] - tails[ends.from]).unwrap_or(0);
            shortened.push(LayeredLength { length, ..*place });
        }
    }
    shortened.retain(|place| place.length > 0);
    shortened
}

/// The distance from the origin of each vertex at each time, under lengths that are of one pair, by going step by step.
/// None is larger than that of the destination at the end.
fn measure_potentials(
    topology: &Topology,
    steps: u32,
    lengths: &[LayeredLength],
) -> Vec<DenseMap<Vertex, i64>> {
    let unreached = i64::MAX / 2;
    let mut before: DenseMap<Vertex, i64> = DenseMap::filled(topology.count_vertices(), unreached);
    let Some(LayeredLength { origin, destination, .. }) = lengths.first() else {
        before.fill(0);
        return vec![before; steps as usize + 1];
    };
    before[*origin] = 0;
    let mut times = vec![before.clone()];
    for step in 1..=steps {
        let mut own: DenseMap<EdgeIndex, i64> = DenseMap::filled(topology.edges().len(), 0);
        for place in lengths.iter().filter(|place| place.step == step) {
            own[EdgeIndex(place.edge)] = place.length as i64;
        }
        // Ranks wait; nothing stays in a switch.
        let mut after = before.clone();
        for switch in all_vertices(topology).skip(topology.ranks().len()) {
            after[switch] = unreached;
        }
        // Paths through switches: at most as often as there are switches, and once more.
        for _ in 0..=topology.switches().len() {
            for (index, edge) in (0..).map(EdgeIndex).zip(topology.edges()) {
                let is_rank = topology.is_rank(edge.from);
                let tail = if is_rank { before[edge.from] } else { after[edge.from] };
                after[edge.to] = after[edge.to].min(tail + own[index]);
            }
        }
        times.push(after.clone());
        before = after;
    }
    let end = before[*destination];
    for potentials in &mut times {
        potentials.as_mut_slice().iter_mut().for_each(|own| *own = end.min(*own));
    }
    times
}

impl LayeredBound {
    /// For each origin, each other rank and each time the distance of each vertex from the origin, as certificates have
    /// them. `topology` is the one that the lengths are about.
    pub(crate) fn list_potentials(&self, topology: &Topology) -> Vec<Vec<i64>> {
        let mut potentials = Vec::new();
        for origin in topology.ranks() {
            for destination in topology.ranks().filter(|rank| *rank != origin) {
                let pair = (origin, destination);
                let place = |place: &LayeredLength| (place.origin, place.destination);
                let first = self.lengths.partition_point(|own| place(own) < pair);
                let end = self.lengths.partition_point(|own| place(own) <= pair);
                let lengths = self.lengths.get(first..end).unwrap_or_default();
                let times = measure_potentials(topology, self.steps, lengths).into_iter();
                potentials.extend(times.map(DenseMap::into_values));
            }
        }
        potentials
    }

    /// The same for a ReduceScatter, whose lengths are about the reversed topology: time runs backwards there, and what
    /// rises along an edge falls along the edge that is turned round. A switch stands for a step, not for a time.
    pub(crate) fn list_reversed_potentials(&self, topology: &Topology) -> Vec<Vec<i64>> {
        let times = self.steps as usize + 1;
        let ranks = topology.ranks().len();
        let mut potentials = Vec::new();
        for of_pair in self.list_potentials(&topology.reverse()).chunks(times) {
            for time in 0..times {
                let [at_ranks, at_switches] =
                    [of_pair.get(times - 1 - time), of_pair.get((times - time).min(times - 1))];
                let ranks = at_ranks.into_iter().flatten().take(ranks);
                let switches = at_switches.into_iter().flatten().skip(topology.ranks().len());
                potentials.push(ranks.chain(switches).map(|potential| -potential).collect());
            }
        }
        potentials
    }
}
