//! The bandwidth bound of AllToAll: the largest concurrent flow (Shahrokhi and Matula, "The maximum concurrent flow
//! problem", 1990).
//!
//! If each edge has a length, the chunk from one rank to another one uses at least the distance between them, and an
//! edge of rate `b` offers `b` times its length in each round. So the sum of all distances, divided by the sum of
//! lengths times rates, is a bound for any lengths; linear programming's duality says that the best lengths attain
//! the optimum.
//!
//! The best lengths minimize `sum of rate * length` where every routing of every rank's chunks uses at least its share
//! `z`, and the shares sum up to 1. Routings become rows one after another: those that are shortest under the best
//! lengths so far. Then the lengths are rounded to integers, and the bound is computed from these, exactly. So it is
//! always valid; it is the optimum if the rounding met the exact lengths and the budget sufficed.
//!
//! Edges that a symmetry maps to each other have one length, and ranks one share: on a symmetric machine of a thousand
//! ranks a few variables are left.

use super::budget::{BoundBudget, Completeness, PRECISION, ProgramBudget, ProgramLimits};
use super::paths::{EdgeIndex, EdgeLists, UNREACHED};
use super::quotient::spread_potentials;
use super::rounding::{find_time, rate_fractions, round_finely, round_ratios};
use super::{BoundError, all_vertices, check_rank_count};
use crate::automorphism::{Symmetry, find_symmetry};
use crate::dense::DenseMap;
use crate::graph::{Topology, Vertex};
use crate::observer::SearchObserver;
use crate::rational::Rational;
use crate::simplex::{LinearOutcome, LinearProgram, LinearTerm, RowId, Unknown};

/// The length that is added to each edge while routings are searched for, so that edges of length 0 form no circles,
/// and paths of few edges are preferred.
const STEP_LENGTH: u64 = 1 << 8;

/// By how much the lengths of two paths may differ that are both used. It is less than [`STEP_LENGTH`], and more than
/// the errors of rounding on a path.
const TIE_LENGTH: u64 = 1 << 7;

/// The largest length, while routings are searched for. With at most 2^18 edges, sums fit.
const LARGEST_LENGTH: f64 = (1_u64 << 32) as f64;

/// A bound on the time per chunk, and the lengths that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LengthBound {
    /// The bound, in rounds per chunk, or in seconds per byte.
    pub value: Rational,
    /// The length of each of the topology's edges.
    pub lengths: Vec<u64>,
    /// Whether it is the optimum of the program.
    pub completeness: Completeness,
}

impl LengthBound {
    /// For each rank the distance of each vertex from it, as certificates have them.
    pub(crate) fn list_potentials(&self, topology: &Topology) -> Vec<Vec<i64>> {
        let lists = EdgeLists::new(topology);
        let lengths: DenseMap<EdgeIndex, u64> = self.lengths.clone().into();
        let edges = || (0..lengths.len() as u32).map(EdgeIndex);
        // What keeps the lengths maps distances to distances, which is faster than to measure them.
        let mut generators = find_symmetry(topology).generators;
        generators.retain(|one| edges().all(|edge| lengths[one.map_edge(edge)] == lengths[edge]));
        spread_potentials(topology, &generators, |from| lists.measure_potentials(from, &lengths))
    }
}

/// The bound of an AllToAll, in which each rank has a chunk for each other one.
///
/// # Errors
/// [`BoundError::Unreachable`] if the collective is impossible, [`BoundError::SingleRank`], and
/// [`BoundError::Arithmetic`].
pub fn bound_alltoall(topology: &Topology) -> Result<LengthBound, BoundError> {
    bound_alltoall_under(topology, &find_symmetry(topology), &ProgramBudget::default())
}

/// The same, with symmetries of the topology that are known: there is one length for each orbit of edges, and one
/// share for each orbit of ranks.
///
/// # Errors
/// Those of [`bound_alltoall`].
pub fn bound_alltoall_under<'a>(
    topology: &Topology,
    symmetry: &Symmetry,
    limits: impl Into<ProgramLimits<'a>>,
) -> Result<LengthBound, BoundError> {
    check_rank_count(topology)?;
    let lists = EdgeLists::new(topology);
    let mut best: Option<LengthBound> = None;
    let quotient = Quotient { topology, symmetry };
    let FoundLengths { lengths: found, bound: found_bound, completeness } =
        find_lengths(quotient, &lists, limits.into());
    // Simple ratios can be wrong where they are near, and fine ones are never exact: the larger bound counts.
    for lengths in [round_ratios(found.as_slice()), round_finely(found.as_slice())] {
        let bound = measure_lengths(quotient, &lists, &lengths.into())?;
        if best.as_ref().is_none_or(|best| best.value < bound.value) {
            best = Some(bound);
        }
    }
    let mut best = best.ok_or(BoundError::SingleRank)?;
    best.completeness = completeness.after_rounding(best.value, find_time(topology, found_bound));
    Ok(best)
}

/// The bound that lengths show, which are the same along each orbit.
fn measure_lengths(
    quotient: Quotient<'_>,
    lists: &EdgeLists,
    lengths: &DenseMap<EdgeIndex, u64>,
) -> Result<LengthBound, BoundError> {
    let topology = quotient.topology;
    let edges = &quotient.symmetry.edges;
    // No edge is longer than a shortest path needs.
    let mut needed = DenseMap::filled(edges.list_firsts().len(), 0);
    let mut paths: i128 = 0;
    for from in quotient.list_origins() {
        let distances = lists.measure_distances(from, lengths);
        let potentials = lists.measure_potentials(from, lengths);
        for edge in (0..lengths.len() as u32).map(EdgeIndex) {
            let own = &mut needed[edges.find_orbit(edge)];
            *own = lists.measure_rise(edge, &potentials).max(*own);
        }
        let origins = i128::from(quotient.count_origins(from));
        for to in topology.ranks() {
            if distances[to] == UNREACHED {
                return Err(BoundError::Unreachable { from, to });
            }
            paths += origins * i128::from(distances[to]);
        }
    }
    let lengths = (0..lengths.len() as u32).map(|edge| needed[edges.find_orbit(EdgeIndex(edge))]);
    let lengths: Vec<u64> = lengths.collect();
    let edges = topology.weighted_edges().zip(&lengths);
    let offers = edges.map(|((_, weight), length)| i128::from(weight) * i128::from(*length));
    let value = Rational::new(paths, offers.sum())?.checked_div(topology.quantum())?;
    Ok(LengthBound { value, lengths, completeness: Completeness::Optimal })
}

/// What a search found.
struct FoundLengths {
    lengths: DenseMap<EdgeIndex, f64>,
    /// The bound that they show, in rounds in which the fastest edge carries one chunk.
    bound: f64,
    completeness: Completeness,
}

/// The lengths that were found, by rows and pivots as far as the budgets go.
fn find_lengths(
    quotient: Quotient<'_>,
    lists: &EdgeLists,
    limits: ProgramLimits<'_>,
) -> FoundLengths {
    let mut search = LengthSearch::new(quotient, lists);
    let attained = search.try_fullest_edges();
    let origins = quotient.list_origins().count();
    let edges = quotient.symmetry.edges.list_firsts().len();
    let is_small = origins * (origins + edges) <= limits.budget.first_rows;
    // A routing that needs no more time than the bound shows that no lengths are better.
    let completeness = if search.best_bound >= attained * (1.0 - PRECISION) {
        Completeness::Optimal
    } else if is_small {
        search.run(limits)
    } else {
        Completeness::Stopped(BoundBudget::FirstRows)
    };
    FoundLengths { lengths: search.best, bound: search.best_bound, completeness }
}

/// The search for the best lengths.
struct LengthSearch<'a> {
    quotient: Quotient<'a>,
    lists: &'a EdgeLists,
    /// The rate of each edge, as a fraction of the largest one.
    rates: DenseMap<EdgeIndex, f64>,
    /// Its variables are the lengths of the orbits of edges, then the shares of the orbits of ranks.
    program: LinearProgram,
    /// The rows before say that the shares sum up to 1.
    first_routing: RowId,
    /// The solution of the program.
    lengths: DenseMap<EdgeIndex, f64>,
    /// The lengths that showed the largest bound, and that bound. Times the rates they sum up to 1.
    best: DenseMap<EdgeIndex, f64>,
    best_bound: f64,
}

/// A topology, and which of its ranks and edges are alike.
#[derive(Clone, Copy)]
struct Quotient<'a> {
    topology: &'a Topology,
    symmetry: &'a Symmetry,
}

impl Quotient<'_> {
    /// One rank of each orbit.
    fn list_origins(&self) -> impl Iterator<Item = Vertex> {
        self.topology.ranks().filter(|rank| self.symmetry.vertices.is_first(*rank))
    }

    /// How many ranks an origin stands for.
    fn count_origins(&self, origin: Vertex) -> u64 {
        self.symmetry.vertices.count_members(origin)
    }

    /// The variable of an edge's length.
    fn find_length(&self, edge: EdgeIndex) -> Unknown {
        Unknown(self.symmetry.edges.find_orbit(edge).0)
    }

    /// The variable of a rank's share. Orbits of ranks come before those of switches.
    fn find_share(&self, rank: Vertex) -> Unknown {
        let lengths = self.symmetry.edges.list_firsts().len() as u32;
        Unknown(lengths + self.symmetry.vertices.find_orbit(rank).0)
    }
}

impl<'a> LengthSearch<'a> {
    fn new(quotient: Quotient<'a>, lists: &'a EdgeLists) -> LengthSearch<'a> {
        let edges = &quotient.symmetry.edges;
        let rates = rate_fractions(quotient.topology);
        let cost = |edge: &EdgeIndex| rates[*edge] * edges.count_members(*edge) as f64;
        let mut costs: Vec<f64> = edges.list_firsts().iter().map(cost).collect();
        costs.resize(costs.len() + quotient.list_origins().count(), 0.0);
        let mut program = LinearProgram::new(costs);
        let share = |rank| {
            let factor = quotient.count_origins(rank) as f64;
            LinearTerm { unknown: quotient.find_share(rank), factor }
        };
        let shares: Vec<LinearTerm> = quotient.list_origins().map(share).collect();
        let sum = program.add_row(&shares, 1.0);
        let edge_count = quotient.topology.edges().len();
        LengthSearch {
            quotient,
            lists,
            rates,
            program,
            first_routing: RowId(sum.0 + 1),
            lengths: DenseMap::filled(edge_count, 0.0),
            best: DenseMap::filled(edge_count, 1.0),
            best_bound: 0.0,
        }
    }

    /// Routes everything where an edge is as long as the time it takes for a chunk. Tries these lengths, and those
    /// that are 1 on the edges that are the fullest and 0 on all others. Returns the time that the routing takes.
    fn try_fullest_edges(&mut self) -> f64 {
        let inverse = self.rates.as_slice().iter().map(|rate| 1.0 / rate).collect::<Vec<f64>>();
        let inverse: DenseMap<EdgeIndex, f64> = inverse.into();
        let edges = &self.quotient.symmetry.edges;
        let mut orbit_loads = DenseMap::filled(edges.list_firsts().len(), 0.0);
        let scaled = scale_lengths(&inverse);
        for from in self.quotient.list_origins() {
            let origins = self.quotient.count_origins(from) as f64;
            let loads = self.route_chunks(from, &scaled);
            for (edge, load) in (0..).map(EdgeIndex).zip(loads.as_slice()) {
                orbit_loads[edges.find_orbit(edge)] += origins * load;
            }
        }
        let utilization = (0..).map(EdgeIndex).zip(self.rates.as_slice()).map(|(edge, rate)| {
            orbit_loads[edges.find_orbit(edge)] / (edges.count_members(edge) as f64 * rate)
        });
        let utilization: Vec<f64> = utilization.collect();
        let largest = utilization.iter().copied().fold(0.0, f64::max);
        let is_full = |used: &f64| f64::from(u8::from(*used >= largest * (1.0 - PRECISION)));
        let full = utilization.iter().map(is_full).collect::<Vec<f64>>();
        for lengths in [inverse, full.into()] {
            let scaled = scale_lengths(&lengths);
            let measure = |from| {
                let used = dot(&self.route_chunks(from, &scaled), &lengths);
                self.quotient.count_origins(from) as f64 * used
            };
            let used: f64 = self.quotient.list_origins().map(measure).sum();
            self.keep_better(used / dot(&self.rates, &lengths), &lengths);
        }
        largest
    }

    fn keep_better(&mut self, bound: f64, lengths: &DenseMap<EdgeIndex, f64>) {
        if bound > self.best_bound && bound.is_finite() {
            let offers = dot(&self.rates, lengths);
            self.best_bound = bound;
            self.best = lengths
                .as_slice()
                .iter()
                .map(|length| length / offers)
                .collect::<Vec<f64>>()
                .into();
        }
    }

    /// Adds routings and improves the lengths in turn, as far as the budgets go.
    fn run(&mut self, limits: ProgramLimits<'_>) -> Completeness {
        let best = self.best.clone();
        self.add_routings(&best, true, limits.observer);
        for _ in 0..limits.budget.rounds {
            // The routings so far show that no lengths give more than the inverse of the objective.
            let is_optimal =
                |search: &Self| search.best_bound * search.program.objective() >= 1.0 - PRECISION;
            match self.improve_lengths(limits) {
                LinearOutcome::Optimal if is_optimal(self) => return Completeness::Optimal,
                LinearOutcome::Optimal => {}
                LinearOutcome::OutOfWork => return Completeness::Stopped(BoundBudget::PivotWork),
                LinearOutcome::Stopped => return Completeness::Stopped(BoundBudget::Observer),
                // Long lengths satisfy every row: only errors of rounding say otherwise.
                LinearOutcome::Infeasible => return Completeness::Imprecise,
            }
            // Routings that are shortest between the program's lengths and the best ones cut off more than those that
            // are shortest under the program's lengths, which jump (Ben-Ameur and Neto, "Acceleration of
            // cutting-plane and column generation algorithms", 2007).
            let objective = self.program.objective();
            let halves = self.lengths.as_slice().iter().zip(self.best.as_slice());
            let between = halves.map(|(length, best)| (length / objective + best) / 2.0);
            let between: DenseMap<EdgeIndex, f64> = between.collect::<Vec<f64>>().into();
            if self.add_routings(&between, false, limits.observer) == 0 {
                let lengths = self.lengths.clone();
                if self.add_routings(&lengths, false, limits.observer) == 0 {
                    return limits.complete();
                }
            }
        }
        Completeness::Stopped(BoundBudget::Rounds)
    }

    /// Adds the routing of each rank that is shortest under given lengths, if it uses less than the rank's share under
    /// those of the program, or if all are wanted. Returns how many were added. If the observer stops the search, some are
    /// missing.
    fn add_routings(
        &mut self,
        lengths: &DenseMap<EdgeIndex, f64>,
        adds_all: bool,
        observer: &dyn SearchObserver,
    ) -> usize {
        let scaled = scale_lengths(lengths);
        let mut used = 0.0;
        let mut added = 0;
        let quotient = self.quotient;
        for from in quotient.list_origins() {
            if observer.is_stopped() {
                return added;
            }
            let loads = self.route_chunks(from, &scaled);
            used += quotient.count_origins(from) as f64 * dot(&loads, lengths);
            let share = quotient.find_share(from);
            let needed = self.program.value(share) * (1.0 - PRECISION);
            if adds_all || dot(&loads, &self.lengths) < needed {
                let loads = (0..).map(EdgeIndex).zip(loads.as_slice());
                let terms = loads.filter(|(_, load)| **load > 0.0).map(|(edge, load)| LinearTerm {
                    unknown: quotient.find_length(edge),
                    factor: *load,
                });
                let share = LinearTerm { unknown: share, factor: -1.0 };
                self.program.add_row(&terms.chain([share]).collect::<Vec<LinearTerm>>(), 0.0);
                added += 1;
            }
        }
        self.keep_better(used / dot(&self.rates, lengths), lengths);
        added
    }

    /// Solves the program with the rows so far.
    fn improve_lengths(&mut self, limits: ProgramLimits<'_>) -> LinearOutcome {
        let before = self.program.objective();
        let outcome = self.program.optimize(limits.budget.pivot_work, limits.observer);
        if outcome != LinearOutcome::Optimal {
            return outcome;
        }
        // Rows that are dropped can come back; as long as the objective grows, this has an end.
        if self.program.objective() > before * (1.0 + PRECISION) {
            self.program.drop_slack_rows(self.first_routing);
        }
        for (edge, length) in (0..).map(EdgeIndex).zip(self.lengths.as_mut_slice()) {
            *length = self.program.value(self.quotient.find_length(edge));
        }
        outcome
    }

    /// Sends a chunk from one rank to each other one, over all shortest paths: at each vertex the edges that end
    /// shortest paths bring amounts in the ratio of their rates. Symmetric machines get symmetric routings in this
    /// way, which need few rounds.
    fn route_chunks(
        &self,
        from: Vertex,
        lengths: &DenseMap<EdgeIndex, u64>,
    ) -> DenseMap<EdgeIndex, f64> {
        let lists = self.lists;
        let distances = lists.measure_distances(from, lengths);
        let mut order: Vec<Vertex> = all_vertices(self.quotient.topology).collect();
        order.retain(|vertex| distances[*vertex] != UNREACHED && *vertex != from);
        order.sort_by_key(|vertex| std::cmp::Reverse(distances[*vertex]));
        let mut amounts = DenseMap::filled(distances.len(), 0.0);
        for rank in self.quotient.topology.ranks() {
            amounts[rank] = 1.0;
        }
        let mut loads = DenseMap::filled(lengths.len(), 0.0);
        for vertex in order {
            let limit = distances[vertex] + TIE_LENGTH;
            let is_shortest = |edge: &&EdgeIndex| {
                distances[lists.tails[**edge]].saturating_add(lengths[**edge]) <= limit
            };
            let shortest = || lists.entering[vertex].iter().filter(is_shortest);
            let total: f64 = shortest().map(|edge| self.rates[*edge]).sum();
            for &edge in shortest() {
                let amount = amounts[vertex] * self.rates[edge] / total;
                loads[edge] += amount;
                amounts[lists.tails[edge]] += amount;
            }
        }
        loads
    }
}

/// Integers for the search for routings: multiples of the largest length, and something for each edge.
fn scale_lengths(lengths: &DenseMap<EdgeIndex, f64>) -> DenseMap<EdgeIndex, u64> {
    let largest = lengths.as_slice().iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let scale = |length: &f64| (length / largest * LARGEST_LENGTH) as u64 + STEP_LENGTH;
    lengths.as_slice().iter().map(scale).collect::<Vec<u64>>().into()
}

/// The sum of the products of two numbers for each edge.
fn dot(first: &DenseMap<EdgeIndex, f64>, second: &DenseMap<EdgeIndex, f64>) -> f64 {
    first.as_slice().iter().zip(second.as_slice()).map(|(first, second)| first * second).sum()
}
