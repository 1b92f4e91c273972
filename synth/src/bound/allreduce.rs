//! The bandwidth bound of an AllReduce that need not be a ReduceScatter and an AllGather.
//!
//! The buffer is divided among roots: rank `v` sums up the share `x(v)` and sends the sum to all. Let `p(e)` be how
//! much of the copies an edge carries, `q(e)` how much of the sums to come. Then `p(e) + q(e) <= rate(e) * T`; one
//! unit can flow within `p` from the roots, which offer `x(v)`, to each rank; and one unit within `q` from each rank
//! to the roots. At a switch without `multicast` as much of `p` leaves as enters, at one without `reduce` as much of
//! `q`. The least `T` is the bound, per whole buffer. It is one of every algorithm that sums each part of the buffer up
//! at one rank, and sends the sum from there.
//!
//! Other sums, which some ranks contribute to and some get, have `x`, `p` and `q` of their own, which count as often as
//! there are such sums; so do copies, which are sums of one contribution.
//!
//! That each rank gets a unit means that every cut around it has at least 1, with the shares of the roots on its side.
//! Cuts become rows one after another, as for [`super::layered`]. Their prices in the dual solution are lengths
//! `l(d, e)` and `m(d, e)` of the edges, for the copies to rank `d` and for the sums from it; those of the switches'
//! rows are potentials `a(w)` and `b(w)`, of any sign. For any such numbers the following is a bound, by weak
//! duality, and it is what is returned, computed exactly from integers:
//!
//! ```text
//! min over v of sum over d of (distance from v to d under l(d, ..) + from d to v under m(d, ..))
//! ----------------------------------------------------------------------------------------------------
//! sum over e of rate(e) * max(0, a(head) - a(tail) + sum over d of l(d, e), the same of b and m)
//! ```
//!
//! Ranks that some `d` cannot reach, or that cannot reach it, are no roots, and not among the `v`.
//!
//! Ranks and edges that a symmetry maps to each other have their variables and rows in common; the prices of a row are
//! shared by all that it stands for (see `quotient`).

mod measure;
mod prices;
mod shares;

use super::budget::{Completeness, ProgramBudget, ProgramLimits, TOLERATED_LACK, WHOLE_FLOW};
use super::cutting::{CutFinder, CutProgram, PricedRow, ViolatedCut};
use super::flows::LengthScale;
use super::paths::{EdgeIndex, EdgeLists};
use super::quotient::PriceScale;
use super::rounding::{find_time, rate_fractions};
use super::steps::{bound_demand_steps, bound_steps_under, measure_distances};
use super::{BoundError, check_rank_count};
use crate::automorphism::{Symmetry, find_symmetry};
use crate::collective::{CollectiveKind, Demand, DemandList};
use crate::dense::DenseMap;
use crate::flow::{FlowArc, FlowNetwork, FlowNode};
use crate::graph::{Topology, Vertex};
use crate::observer::SearchObserver;
use crate::rational::Rational;
use crate::simplex::{LinearTerm, Unknown};
use measure::measure_value;
use prices::HalfPrices;
pub(crate) use shares::{RootShares, find_root_shares};

/// A bound on the time per buffer of an AllReduce, and the lengths and potentials that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllReduceBound {
    /// The bound, in rounds per buffer, or in seconds per byte.
    pub value: Rational,
    /// What shows it, for each demand; there is one for an AllReduce.
    pub parts: Vec<AllReducePart>,
    /// Whether it is the optimum of the program.
    pub completeness: Completeness,
}

/// What shows the bound of a demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllReducePart {
    /// How many such sums there are.
    pub count: u64,
    /// What shows it on the way from the roots to the receivers.
    pub copies: AllReduceHalf,
    /// What shows it on the way from the origins to the roots.
    pub sums: AllReduceHalf,
}

/// The lengths and potentials of one half of an AllReduce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllReduceHalf {
    /// The ranks that the half is about: who gets copies, or whose contributions are in the sums.
    pub ranks: Vec<Vertex>,
    /// For each rank the length of each of the topology's edges; zero for ranks that the half is not about.
    pub lengths: Vec<Vec<u64>>,
    /// The potential of each vertex; zero for ranks, and for switches that can do what this half needs.
    pub potentials: Vec<i64>,
}

/// The bound of an AllReduce.
///
/// # Errors
/// [`BoundError::TooLarge`], [`BoundError::Unreachable`], [`BoundError::SingleRank`] and [`BoundError::Arithmetic`].
pub fn bound_allreduce(topology: &Topology) -> Result<AllReduceBound, BoundError> {
    bound_allreduce_under(topology, &find_symmetry(topology), &ProgramBudget::default())
}

/// The same, with symmetries of the topology that are known: the copies and sums of an edge, and the share of a root,
/// are variables of their orbits.
///
/// # Errors
/// Those of [`bound_allreduce`].
pub fn bound_allreduce_under<'a>(
    topology: &Topology,
    symmetry: &Symmetry,
    limits: impl Into<ProgramLimits<'a>>,
) -> Result<AllReduceBound, BoundError> {
    check_rank_count(topology)?;
    // Finds pairs that no path joins.
    bound_steps_under(topology, symmetry, CollectiveKind::AllReduce)?;
    let demands = CollectiveKind::AllReduce.list_demands(topology.count_ranks());
    let rooted = RootedDemands { demands: demands.as_slice(), roots: Vec::new() };
    bound_roots(topology, symmetry, &rooted, limits.into())
}

/// The bound of any demands that have no contributions in common. Of sums that the same ranks contribute to and get, it
/// is like that of an AllReduce. Others may be faster without a root, as several ranks can sum them up.
///
/// # Errors
/// [`BoundError::NoRoot`] if no rank can be the root of a demand, [`BoundError::TooLarge`],
/// [`BoundError::Arithmetic`], and those of [`bound_demand_steps`].
pub fn bound_rooted_demands<'a>(
    topology: &Topology,
    demands: &DemandList,
    limits: impl Into<ProgramLimits<'a>>,
) -> Result<AllReduceBound, BoundError> {
    bound_demand_steps(topology, demands)?;
    let roots = find_roots(topology, demands).ok_or(BoundError::NoRoot)?;
    let rooted = RootedDemands { demands: demands.as_slice(), roots };
    bound_roots(topology, &Symmetry::trivial(topology), &rooted, limits.into())
}

/// For each demand the first rank that all origins reach and that reaches all receivers.
fn find_roots(topology: &Topology, demands: &DemandList) -> Option<Vec<Vertex>> {
    let reversed = topology.reverse();
    let [forward, backward] = [topology, &reversed].map(|one| (one, one.collect_neighbors()));
    let is_root = |demand: &Demand, rank: Vertex| {
        let [after, before] = [&forward, &backward]
            .map(|(topology, neighbors)| measure_distances(topology, neighbors, rank));
        demand.receivers.iter().all(|receiver| after[*receiver] != u32::MAX)
            && demand.origins.iter().all(|origin| before[*origin] != u32::MAX)
    };
    let find_root = |demand| topology.ranks().find(|rank| is_root(demand, *rank));
    demands.as_slice().iter().map(find_root).collect()
}

/// Demands, each with a rank that can be its only root; without roots, all ranks are roots of equal shares at first.
struct RootedDemands<'a> {
    demands: &'a [Demand],
    roots: Vec<Vertex>,
}

/// The symmetries keep the demands.
fn bound_roots(
    topology: &Topology,
    symmetry: &Symmetry,
    rooted: &RootedDemands<'_>,
    limits: ProgramLimits<'_>,
) -> Result<AllReduceBound, BoundError> {
    let demands = rooted.demands;
    let variables = (topology.ranks().len() + topology.edges().len()).saturating_mul(demands.len());
    if variables > limits.budget.allreduce_variables {
        return Err(BoundError::TooLarge);
    }
    let mut search = RootSearch::new(topology, symmetry, demands);
    let mut program = search.build_program(&rooted.roots);
    let completeness = program.optimize(&mut search, limits);
    let mut parts = search.spread_prices(&program.round_prices());
    let forward = EdgeLists::new(topology);
    parts.iter_mut().for_each(|part| part.sums.shorten_edges(&forward));
    let backward = forward.reverse();
    parts.iter_mut().for_each(|part| part.copies.shorten_edges(&backward));
    let value = measure_value(topology, &parts)?;
    let solution = program.objective() * search.largest_count as f64;
    let completeness = completeness.after_rounding(value, find_time(topology, solution));
    Ok(AllReduceBound { value, parts, completeness })
}

/// One of the two halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Half {
    Copies,
    Sums,
}

const HALVES: [Half; 2] = [Half::Copies, Half::Sums];

/// What a row of the program says.
enum RowMeaning {
    /// A cut around a rank, by the edges that it cuts.
    Cut { demand: usize, half: Half, rank: Vertex, edges: Vec<EdgeIndex> },
    /// As much enters a switch as leaves it (factor 1), or the other way round (factor -1).
    Switch { demand: usize, half: Half, switch: Vertex, factor: f64 },
}

/// The flows from the roots to a rank, or the reverse of those from a rank to the roots.
struct HalfNetwork {
    network: FlowNetwork,
    /// The arc of each edge, turned round for the sums.
    edges: Vec<FlowArc>,
    /// The arcs from the source to each rank.
    roots: Vec<FlowArc>,
}

/// The search for the cuts that bind.
struct RootSearch<'a> {
    topology: &'a Topology,
    symmetry: &'a Symmetry,
    source: FlowNode,
    networks: [HalfNetwork; 2],
    demands: &'a [Demand],
    /// Of a demand the variables are the shares of the orbits of roots, the copies and the sums on each orbit of edges.
    /// Before them comes the time, in multiples of the largest count.
    shares: u32,
    largest_count: u64,
}

impl<'a> RootSearch<'a> {
    fn new(
        topology: &'a Topology,
        symmetry: &'a Symmetry,
        demands: &'a [Demand],
    ) -> RootSearch<'a> {
        let shares = topology.ranks().filter(|rank| symmetry.vertices.is_first(*rank)).count();
        RootSearch {
            topology,
            symmetry,
            source: FlowNode(topology.count_vertices() as u32),
            networks: HALVES.map(|half| HalfNetwork::new(topology, half)),
            demands,
            shares: shares as u32,
            largest_count: demands.iter().map(|demand| demand.count).max().unwrap_or(1),
        }
    }

    /// How many variables a demand has.
    fn count_variables(&self) -> u32 {
        self.shares + 2 * self.symmetry.edges.list_firsts().len() as u32
    }

    /// The program before there are cuts: the time, and what does not depend on cuts.
    fn build_program(&self, roots: &[Vertex]) -> CutProgram<RowMeaning> {
        let variable_count = 1 + self.demands.len() * self.count_variables() as usize;
        let mut costs = vec![0.0; variable_count];
        costs.iter_mut().take(1).for_each(|cost| *cost = 1.0);
        self.build_costly_program(costs, roots)
    }

    /// The same, with other costs.
    fn build_costly_program(&self, costs: Vec<f64>, roots: &[Vertex]) -> CutProgram<RowMeaning> {
        let variable_count = costs.len();
        // All edges carry everything.
        let mut inner = DenseMap::filled(variable_count, 1.0);
        for demand in 0..self.demands.len() {
            for rank in self.topology.ranks() {
                inner[self.find_share(demand, rank)] = match roots.get(demand) {
                    Some(root) => f64::from(u8::from(*root == rank)),
                    None => 1.0 / f64::from(self.topology.count_ranks()),
                };
            }
        }
        let mut program = CutProgram::new(costs, inner);
        self.add_rate_rows(&mut program);
        for demand in 0..self.demands.len() {
            self.add_fixed_rows(&mut program, demand);
        }
        program
    }

    /// An edge carries the copies and the sums of all demands.
    fn add_rate_rows(&self, program: &mut CutProgram<RowMeaning>) {
        let rates = rate_fractions(self.topology);
        for &edge in self.symmetry.edges.list_firsts() {
            let mut terms = vec![LinearTerm { unknown: Unknown(0), factor: rates[edge] }];
            for (index, demand) in self.demands.iter().enumerate() {
                let factor = -(demand.count as f64 / self.largest_count as f64);
                terms.extend(HALVES.map(|half| {
                    let unknown = self.find_amount(index, half, edge);
                    LinearTerm { unknown, factor }
                }));
            }
            program.add_fixed_row(&terms, 0.0, None);
        }
    }

    /// The rows of the shares and of the switches.
    fn add_fixed_rows(&self, program: &mut CutProgram<RowMeaning>, demand: usize) {
        let symmetry = self.symmetry;
        let share = |rank| LinearTerm { unknown: self.find_share(demand, rank), factor: -1.0 };
        let shares: Vec<LinearTerm> = self.topology.ranks().map(share).collect();
        program.add_fixed_row(&shares, -1.0, None);
        for (switch, abilities) in
            (self.topology.count_ranks()..).map(Vertex).zip(self.topology.switches())
        {
            let can_do = [abilities.multicast, abilities.reduce];
            let is_first = symmetry.vertices.is_first(switch);
            for (half, _) in HALVES.into_iter().zip(can_do).filter(|(_, can)| is_first && !can) {
                for factor in [1.0, -1.0] {
                    let meaning = RowMeaning::Switch { demand, half, switch, factor };
                    let terms = self.collect_switch(&meaning);
                    program.add_fixed_row(&terms, 0.0, Some(meaning));
                }
            }
        }
    }

    /// What enters a switch less what leaves it, times a factor.
    fn collect_switch(&self, meaning: &RowMeaning) -> Vec<LinearTerm> {
        let RowMeaning::Switch { demand, half, switch, factor } = *meaning else {
            return Vec::new();
        };
        let mut terms = Vec::new();
        for (index, edge) in (0..).map(EdgeIndex).zip(self.topology.edges()) {
            let unknown = self.find_amount(demand, half, index);
            if edge.to == switch {
                terms.push(LinearTerm { unknown, factor });
            } else if edge.from == switch {
                terms.push(LinearTerm { unknown, factor: -factor });
            }
        }
        terms
    }

    /// The variable of what an edge carries.
    fn find_amount(&self, demand: usize, half: Half, edge: EdgeIndex) -> Unknown {
        let orbits = self.symmetry.edges.list_firsts().len() as u32;
        let before = match half {
            Half::Copies => 0,
            Half::Sums => orbits,
        };
        let first = 1 + demand as u32 * self.count_variables() + self.shares;
        Unknown(first + before + self.symmetry.edges.find_orbit(edge).0)
    }

    /// The variable of a root's share. Orbits of ranks come before those of switches.
    fn find_share(&self, demand: usize, rank: Vertex) -> Unknown {
        let first = 1 + demand as u32 * self.count_variables();
        Unknown(first + self.symmetry.vertices.find_orbit(rank).0)
    }
}

impl CutFinder<RowMeaning> for RootSearch<'_> {
    /// A row for each rank that gets less than the buffer, or whose sums do not all arrive.
    fn find_violated_cuts(
        &mut self,
        values: &DenseMap<Unknown, f64>,
        observer: &dyn SearchObserver,
    ) -> Vec<ViolatedCut<RowMeaning>> {
        let mut cuts = Vec::new();
        for (index, demand) in self.demands.iter().enumerate() {
            let [copies, sums] = [(Half::Copies, &demand.receivers), (Half::Sums, &demand.origins)]
                .map(|(half, ranks)| WantedCuts { demand: index, half, ranks });
            cuts.extend(self.find_cuts_of_half(values, copies, observer));
            cuts.extend(self.find_cuts_of_half(values, sums, observer));
        }
        cuts
    }
}

/// The cuts between the roots of a demand and some ranks.
#[derive(Clone, Copy)]
struct WantedCuts<'a> {
    demand: usize,
    half: Half,
    ranks: &'a [Vertex],
}

impl RootSearch<'_> {
    /// A row for each rank of some between which and the roots less than a unit flows.
    fn find_cuts_of_half(
        &mut self,
        values: &DenseMap<Unknown, f64>,
        wanted: WantedCuts<'_>,
        observer: &dyn SearchObserver,
    ) -> Vec<ViolatedCut<RowMeaning>> {
        let WantedCuts { demand, half, ranks } = wanted;
        // One more, so that of several minimum cuts one of few edges is found.
        let capacity =
            |unknown: Unknown| (values[unknown].clamp(0.0, 1.0) * WHOLE_FLOW as f64) as u64 + 1;
        let amounts: Vec<Unknown> = (0..self.topology.edges().len() as u32)
            .map(|edge| self.find_amount(demand, half, EdgeIndex(edge)))
            .collect();
        let shares: Vec<Unknown> =
            self.topology.ranks().map(|rank| self.find_share(demand, rank)).collect();
        let [copies, sums] = &mut self.networks;
        let half_network = if half == Half::Copies { copies } else { sums };
        for (arc, unknown) in half_network.edges.iter().zip(&amounts) {
            half_network.network.set_capacity(*arc, capacity(*unknown));
        }
        for (arc, unknown) in half_network.roots.iter().zip(&shares) {
            half_network.network.set_capacity(*arc, capacity(*unknown));
        }
        let mut found = Vec::new();
        for rank in ranks.iter().filter(|rank| self.symmetry.vertices.is_first(**rank)) {
            if observer.is_stopped() {
                break;
            }
            found.extend(half_network.find_cuts(self.source, *rank).map(|side| (*rank, side)));
        }
        let cuts = found.iter().map(|(rank, side)| {
            let meaning = RowMeaning::Cut { demand, half, rank: *rank, edges: Vec::new() };
            self.collect_cut(meaning, side)
        });
        cuts.collect()
    }
}

impl RootSearch<'_> {
    /// The row of the cut between a side, on which the source is, and a rank. Its meaning gets its edges.
    fn collect_cut(
        &self,
        mut meaning: RowMeaning,
        side: &DenseMap<FlowNode, bool>,
    ) -> ViolatedCut<RowMeaning> {
        let is_inside = |vertex: Vertex| side[FlowNode(vertex.0)];
        let mut terms = Vec::new();
        if let RowMeaning::Cut { demand, half, edges, .. } = &mut meaning {
            for root in self.topology.ranks().filter(|root| !is_inside(*root)) {
                terms.push(LinearTerm { unknown: self.find_share(*demand, root), factor: 1.0 });
            }
            for (index, edge) in (0..).map(EdgeIndex).zip(self.topology.edges()) {
                let [tail, head] = match half {
                    Half::Copies => [edge.from, edge.to],
                    Half::Sums => [edge.to, edge.from],
                };
                if is_inside(tail) && !is_inside(head) {
                    let unknown = self.find_amount(*demand, *half, index);
                    terms.push(LinearTerm { unknown, factor: 1.0 });
                    edges.push(index);
                }
            }
        }
        ViolatedCut { terms, bound: 1.0, meaning }
    }

    /// The lengths and potentials of the halves of each demand that rows with their prices make.
    fn spread_prices(&self, priced: &[PricedRow<'_, RowMeaning>]) -> Vec<AllReducePart> {
        let integers: Vec<u64> = priced.iter().map(|row| row.price).collect();
        let mut prices = HalfPrices::new(self.topology, self.symmetry, PriceScale::new(&integers));
        for row in priced {
            prices.admit(row.meaning);
        }
        for row in priced {
            prices.add(row.meaning, row.price);
        }
        // So that they can be divided by the counts.
        let scale = LengthScale::new(self.demands.iter().map(|demand| demand.count));
        let parts = self.demands.iter().enumerate().map(|(index, demand)| {
            let [copies, sums] = [(Half::Copies, &demand.receivers), (Half::Sums, &demand.origins)]
                .map(|(half, ranks)| prices.expand(WantedCuts { demand: index, half, ranks }));
            let mut part = AllReducePart { count: demand.count, copies, sums };
            part.copies.stretch_length(scale);
            part.sums.stretch_length(scale);
            part
        });
        parts.collect()
    }
}

impl HalfNetwork {
    fn new(topology: &Topology, half: Half) -> HalfNetwork {
        let mut network = FlowNetwork::new(topology.count_vertices() + 1);
        let edges = topology.edges().iter().map(|edge| {
            let [from, to] = [edge.from, edge.to].map(|vertex| FlowNode(vertex.0));
            match half {
                Half::Copies => network.add_arc(from, to, 0),
                Half::Sums => network.add_arc(to, from, 0),
            }
        });
        let edges = edges.collect();
        let source = FlowNode(topology.count_vertices() as u32);
        let roots = topology.ranks().map(|rank| network.add_arc(source, FlowNode(rank.0), 0));
        let roots = roots.collect();
        HalfNetwork { network, edges, roots }
    }

    /// The sides of the source of the two outermost minimum cuts, if less than a buffer flows from it to a rank.
    fn find_cuts(
        &mut self,
        source: FlowNode,
        rank: Vertex,
    ) -> impl Iterator<Item = DenseMap<FlowNode, bool>> + use<> {
        let sink = FlowNode(rank.0);
        let needed = WHOLE_FLOW - TOLERATED_LACK;
        self.network.clear_flow();
        let mut sides = Vec::new();
        if self.network.maximize_flow(source, sink, needed) < needed {
            let near = self.network.collect_reachable(source);
            let far = self.network.collect_reaching(sink);
            let far = far.as_slice().iter().map(|is_in| !is_in).collect::<Vec<bool>>().into();
            let is_other = far != near;
            sides.push(near);
            sides.extend(is_other.then_some(far));
        }
        sides.into_iter()
    }
}
