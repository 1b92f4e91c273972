//! The bandwidth bound of an AllReduce that need not be a ReduceScatter and an AllGather.
//!
//! The buffer is divided among roots: rank `v` sums up the share `x(v)` and sends the sum to all. Let `p(e)` be how
//! much of the copies an edge carries, `q(e)` how much of the sums to come. Then `p(e) + q(e) <= rate(e) * T`; one
//! unit can flow within `p` from the roots, which offer `x(v)`, to each rank; and one unit within `q` from each rank
//! to the roots. At a switch without `multicast` as much of `p` leaves as enters, at one without `reduce` as much of
//! `q`. The least `T` is the bound, per whole buffer.
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
//! Ranks and edges that a symmetry maps to each other have their variables and rows in common; the prices of a row are
//! shared by all that it stands for (see `quotient`).

mod measure;
mod prices;

use super::budget::{Completeness, ProgramBudget, TOLERATED_LACK, WHOLE_FLOW};
use super::cutting::{CutFinder, CutProgram, PricedRow, ViolatedCut};
use super::paths::{EdgeIndex, EdgeLists};
use super::quotient::PriceScale;
use super::rounding::{find_time, rate_fractions};
use super::steps::bound_steps_under;
use super::{BoundError, check_rank_count};
use crate::automorphism::{Symmetry, find_symmetry};
use crate::collective::CollectiveKind;
use crate::dense::DenseMap;
use crate::flow::{FlowArc, FlowNetwork, FlowNode};
use crate::graph::{Topology, Vertex};
use crate::rational::Rational;
use crate::simplex::{LinearTerm, Unknown};
use measure::measure_value;
use prices::HalfPrices;

/// A bound on the time per buffer of an AllReduce, and the lengths and potentials that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllReduceBound {
    /// The bound, in rounds per buffer, or in seconds per byte.
    pub value: Rational,
    /// What shows it on the way from the roots to the ranks.
    pub copies: AllReduceHalf,
    /// What shows it on the way from the ranks to the roots.
    pub sums: AllReduceHalf,
    /// Whether it is the optimum of the program.
    pub completeness: Completeness,
}

/// The lengths and potentials of one half of an AllReduce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllReduceHalf {
    /// For each rank the length of each of the topology's edges.
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
pub fn bound_allreduce_under(
    topology: &Topology,
    symmetry: &Symmetry,
    budget: &ProgramBudget,
) -> Result<AllReduceBound, BoundError> {
    check_rank_count(topology)?;
    if topology.ranks().len() + topology.edges().len() > budget.allreduce_variables {
        return Err(BoundError::TooLarge);
    }
    // Finds pairs that no path joins.
    bound_steps_under(topology, symmetry, CollectiveKind::AllReduce)?;
    let mut search = RootSearch::new(topology, symmetry);
    let mut program = search.build_program();
    let completeness = program.optimize(&mut search, budget);
    let [mut copies, mut sums] = search.spread_prices(&program.round_prices());
    let lists = EdgeLists::new(topology);
    sums.shorten_edges(&lists);
    copies.shorten_edges(&lists.reverse());
    let value = measure_value(topology, &copies, &sums)?;
    let completeness = completeness.after_rounding(value, find_time(topology, program.objective()));
    Ok(AllReduceBound { value, copies, sums, completeness })
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
    Cut { half: Half, rank: Vertex, edges: Vec<EdgeIndex> },
    /// As much enters a switch as leaves it (factor 1), or the other way round (factor -1).
    Switch { half: Half, switch: Vertex, factor: f64 },
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
    /// Its variables are the time, the shares of the orbits of roots, the copies and the sums on each orbit of edges.
    variable_count: usize,
    first_amount: Unknown,
}

impl<'a> RootSearch<'a> {
    fn new(topology: &'a Topology, symmetry: &'a Symmetry) -> RootSearch<'a> {
        let shares = topology.ranks().filter(|rank| symmetry.vertices.is_first(*rank)).count();
        RootSearch {
            topology,
            symmetry,
            source: FlowNode(topology.count_vertices() as u32),
            networks: HALVES.map(|half| HalfNetwork::new(topology, half)),
            variable_count: 1 + shares + 2 * symmetry.edges.list_firsts().len(),
            first_amount: Unknown(1 + shares as u32),
        }
    }

    /// The program before there are cuts: the time, and what does not depend on cuts.
    fn build_program(&self) -> CutProgram<RowMeaning> {
        let mut costs = vec![0.0; self.variable_count];
        costs.iter_mut().take(1).for_each(|cost| *cost = 1.0);
        // All ranks are roots of equal shares, and all edges carry everything.
        let mut inner = DenseMap::filled(self.variable_count, 1.0);
        for share in (1..self.first_amount.0).map(Unknown) {
            inner[share] = 1.0 / f64::from(self.topology.count_ranks());
        }
        let mut program = CutProgram::new(costs, inner);
        self.add_fixed_rows(&mut program);
        program
    }

    /// The rows of the rates, of the shares and of the switches.
    fn add_fixed_rows(&self, program: &mut CutProgram<RowMeaning>) {
        let rates = rate_fractions(self.topology);
        let symmetry = self.symmetry;
        for &edge in symmetry.edges.list_firsts() {
            let carried = HALVES
                .map(|half| LinearTerm { unknown: self.find_amount(half, edge), factor: -1.0 });
            let time = LinearTerm { unknown: Unknown(0), factor: rates[edge] };
            program.add_fixed_row(&[&[time], carried.as_slice()].concat(), 0.0, None);
        }
        let share = |rank| LinearTerm { unknown: self.find_share(rank), factor: -1.0 };
        let shares: Vec<LinearTerm> = self.topology.ranks().map(share).collect();
        program.add_fixed_row(&shares, -1.0, None);
        for (switch, abilities) in
            (self.topology.count_ranks()..).map(Vertex).zip(self.topology.switches())
        {
            let can_do = [abilities.multicast, abilities.reduce];
            let is_first = symmetry.vertices.is_first(switch);
            for (half, _) in HALVES.into_iter().zip(can_do).filter(|(_, can)| is_first && !can) {
                for factor in [1.0, -1.0] {
                    let terms = self.collect_switch(half, switch, factor);
                    let meaning = RowMeaning::Switch { half, switch, factor };
                    program.add_fixed_row(&terms, 0.0, Some(meaning));
                }
            }
        }
    }

    /// What enters a switch less what leaves it, times a factor.
    fn collect_switch(&self, half: Half, switch: Vertex, factor: f64) -> Vec<LinearTerm> {
        let mut terms = Vec::new();
        for (index, edge) in (0..).map(EdgeIndex).zip(self.topology.edges()) {
            let unknown = self.find_amount(half, index);
            if edge.to == switch {
                terms.push(LinearTerm { unknown, factor });
            } else if edge.from == switch {
                terms.push(LinearTerm { unknown, factor: -factor });
            }
        }
        terms
    }

    /// The variable of what an edge carries.
    fn find_amount(&self, half: Half, edge: EdgeIndex) -> Unknown {
        let orbits = self.symmetry.edges.list_firsts().len() as u32;
        let before = match half {
            Half::Copies => 0,
            Half::Sums => orbits,
        };
        Unknown(self.first_amount.0 + before + self.symmetry.edges.find_orbit(edge).0)
    }

    /// The variable of a root's share. Orbits of ranks come before those of switches.
    fn find_share(&self, rank: Vertex) -> Unknown {
        Unknown(1 + self.symmetry.vertices.find_orbit(rank).0)
    }
}

impl CutFinder<RowMeaning> for RootSearch<'_> {
    /// A row for each rank that gets less than the buffer, or whose sums do not all arrive.
    fn find_violated_cuts(
        &mut self,
        values: &DenseMap<Unknown, f64>,
    ) -> Vec<ViolatedCut<RowMeaning>> {
        // One more, so that of several minimum cuts one of few edges is found.
        let capacity =
            |unknown: Unknown| (values[unknown].clamp(0.0, 1.0) * WHOLE_FLOW as f64) as u64 + 1;
        let mut cuts = Vec::new();
        for half in HALVES {
            let amounts: Vec<Unknown> = (0..self.topology.edges().len() as u32)
                .map(|edge| self.find_amount(half, EdgeIndex(edge)))
                .collect();
            let shares: Vec<Unknown> =
                self.topology.ranks().map(|rank| self.find_share(rank)).collect();
            let mut found = Vec::new();
            let [copies, sums] = &mut self.networks;
            let half_network = if half == Half::Copies { copies } else { sums };
            for (arc, unknown) in half_network.edges.iter().zip(&amounts) {
                half_network.network.set_capacity(*arc, capacity(*unknown));
            }
            for (arc, unknown) in half_network.roots.iter().zip(&shares) {
                half_network.network.set_capacity(*arc, capacity(*unknown));
            }
            for rank in self.topology.ranks().filter(|rank| self.symmetry.vertices.is_first(*rank))
            {
                found.extend(half_network.find_cuts(self.source, rank).map(|side| (rank, side)));
            }
            for (rank, side) in found {
                cuts.push(self.collect_cut(half, rank, &side));
            }
        }
        cuts
    }
}

impl RootSearch<'_> {
    /// The row of the cut between a side, on which the source is, and a rank.
    fn collect_cut(
        &self,
        half: Half,
        rank: Vertex,
        side: &DenseMap<FlowNode, bool>,
    ) -> ViolatedCut<RowMeaning> {
        let is_inside = |vertex: Vertex| side[FlowNode(vertex.0)];
        let mut terms = Vec::new();
        for root in self.topology.ranks().filter(|root| !is_inside(*root)) {
            terms.push(LinearTerm { unknown: self.find_share(root), factor: 1.0 });
        }
        let mut edges = Vec::new();
        for (index, edge) in (0..).map(EdgeIndex).zip(self.topology.edges()) {
            let [tail, head] = match half {
                Half::Copies => [edge.from, edge.to],
                Half::Sums => [edge.to, edge.from],
            };
            if is_inside(tail) && !is_inside(head) {
                terms.push(LinearTerm { unknown: self.find_amount(half, index), factor: 1.0 });
                edges.push(index);
            }
        }
        ViolatedCut { terms, bound: 1.0, meaning: RowMeaning::Cut { half, rank, edges } }
    }

    /// The lengths and potentials of both halves that rows with their prices make.
    fn spread_prices(&self, priced: &[PricedRow<'_, RowMeaning>]) -> [AllReduceHalf; 2] {
        let integers: Vec<u64> = priced.iter().map(|row| row.price).collect();
        let mut prices = HalfPrices::new(self.topology, self.symmetry, PriceScale::new(&integers));
        for row in priced {
            prices.admit(row.meaning);
        }
        for row in priced {
            prices.add(row.meaning, row.price);
        }
        HALVES.map(|half| prices.expand(self.topology, half))
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
