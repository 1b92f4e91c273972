//! How often each pair of trees is used so that the buffer is summed up and sent in the least time: the linear program
//! of a packing of trees.
//!
//! ```text
//! maximize the sum of all y(pair)        where for each edge   sum of y(pair) * (how often it uses the edge) <= rate
//! minimize the sum of rate(e) * l(e)     where for each pair   its trees together are at least 1 long under l
//! ```
//!
//! Both have the same value, the inverse of the time per buffer. There are too many pairs to write down, so that the
//! second program gets the shortest pairs under its lengths, one round after another, as long as they are shorter than
//! 1; the prices of its rows are the `y`. Where switches only forward, a shortest tree is an arborescence, and the value
//! is the one of the bound (Edmonds, "Edge-disjoint branchings", 1973). Else it may be above it: trees are less than
//! what each rank alone could get.
//!
//! Under a semiregular group, a pair stands for its images, and the edges of an orbit have one length.

use super::super::TreeEdge;
use super::super::budget::FlowMeter;
use super::super::error::TreeError;
use super::group::TreeGroup;
use super::half::{HalfGraph, MemberPaths, TreeMember};
use super::steiner::{MemberTree, TIE_BITS, find_cheap_tree};
use crate::bound::cutting::{CutFinder, CutProgram, ViolatedCut};
use crate::bound::rounding::rate_fractions;
use crate::bound::{Completeness, ProgramBudget, ProgramLimits};
use crate::dense::DenseMap;
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::observer::SearchObserver;
use crate::simplex::{LinearTerm, Unknown};
use std::collections::BTreeMap;

/// What the length 1 becomes as an integer.
const UNIT_LENGTH: f64 = 4_294_967_296.0; // 2^32

/// How many numbers the pivots may change in all: less than a second.
const MAX_PIVOT_WORK: usize = 1 << 29;

/// How much shorter than 1 a pair must be to be added.
const TOLERANCE: f64 = 1e-7;

/// A tree along which sums go to a root, and one along which they go to all ranks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TreePair {
    pub(super) root: Vertex,
    pub(super) sums: Vec<TreeEdge>,
    pub(super) copies: Vec<TreeEdge>,
}

impl TreePair {
    /// The edges of the topology that it uses, as often as it does.
    pub(super) fn list_uses(&self) -> impl Iterator<Item = EdgeIndex> + '_ {
        self.sums.iter().chain(&self.copies).flat_map(|edge| edge.path.iter().copied())
    }
}

/// A pair, and how many pieces use it.
#[derive(Clone, Debug)]
pub(super) struct WeightedPair {
    pub(super) pair: TreePair,
    pub(super) weight: u64,
}

/// The pairs of a solution, of which each stands for its images under a group.
pub(super) struct PairSolution {
    pub(super) pairs: Vec<WeightedPair>,
    pub(super) completeness: Completeness,
}

/// Both halves of an AllReduce.
pub(super) struct TreeHalves {
    pub(super) sums: HalfGraph,
    pub(super) copies: HalfGraph,
}

/// Shortest paths in both halves.
pub(super) struct PairPaths<'a> {
    halves: &'a TreeHalves,
    sums: MemberPaths,
    copies: MemberPaths,
}

impl TreeHalves {
    /// How many vertices trees of a half have at most.
    pub(super) fn count_members(&self) -> usize {
        self.sums.count_members().max(self.copies.count_members())
    }

    /// The shortest paths under lengths from 0 to 1.
    pub(super) fn find_paths(&self, lengths: &DenseMap<EdgeIndex, f64>) -> PairPaths<'_> {
        // One more for each edge, so that paths of few edges are preferred.
        let scale =
            |length: &f64| (((length.clamp(0.0, 1.0) * UNIT_LENGTH) as u64) << TIE_BITS) + 1;
        let scaled = lengths.as_slice().iter().map(scale).collect::<Vec<u64>>().into();
        let [sums, copies] = [&self.sums, &self.copies].map(|half| half.find_paths(&scaled));
        PairPaths { halves: self, sums, copies }
    }
}

/// The cheapest trees of a root.
pub(super) struct CheapPair {
    pub(super) pair: TreePair,
    pub(super) cost: u64,
}

impl PairPaths<'_> {
    /// A cheap pair of a root; none if the root is cut off.
    pub(super) fn find_pair(
        &self,
        root: Vertex,
        meter: &mut FlowMeter,
    ) -> Result<Option<CheapPair>, TreeError> {
        let member = TreeMember(root.0);
        let find = |half, paths: &MemberPaths, meter: &mut FlowMeter| {
            find_cheap_tree(half, &paths.costs, member, meter)
        };
        let sums = find(&self.halves.sums, &self.sums, meter)?;
        let copies = find(&self.halves.copies, &self.copies, meter)?;
        let (Some(sums), Some(copies)) = (sums, copies) else { return Ok(None) };
        let collect = |half: &HalfGraph, tree: &MemberTree, paths| {
            half.collect_edges(member, &tree.parents, paths)
        };
        let pair = TreePair {
            root,
            sums: collect(&self.halves.sums, &sums, &self.sums),
            copies: collect(&self.halves.copies, &copies, &self.copies),
        };
        Ok(Some(CheapPair { pair, cost: sums.cost.saturating_add(copies.cost) }))
    }
}

/// Solves the program, as far as the budget goes.
pub(super) fn solve_program(
    topology: &Topology,
    group: &TreeGroup,
    halves: &TreeHalves,
    meter: &mut FlowMeter,
) -> Result<PairSolution, TreeError> {
    let rates = rate_fractions(topology);
    let firsts = group.edges.list_firsts();
    let members = |edge: &EdgeIndex| group.edges.count_members(*edge) as f64;
    let share = |edge: &EdgeIndex| rates[*edge] * members(edge) / group.elements.len() as f64;
    let costs: Vec<f64> = firsts.iter().map(share).collect();
    // Each pair uses some edge.
    let inner = DenseMap::filled(firsts.len(), 1.0);
    let mut program = CutProgram::new(costs, inner);
    let budget = ProgramBudget { pivot_work: MAX_PIVOT_WORK, ..ProgramBudget::default() };
    let limits = ProgramLimits { budget: &budget, observer: meter.observer() };
    let mut search = PairSearch { topology, group, halves, meter, failure: None };
    let completeness = program.optimize(&mut search, limits);
    let completeness = match search.failure {
        None => completeness,
        Some(TreeError::OutOfBudget(_)) => Completeness::Stopped(crate::bound::BoundBudget::Rounds),
        Some(error) => return Err(error),
    };
    let priced = program.round_prices().into_iter().filter(|row| row.price > 0);
    let pairs = priced.map(|row| WeightedPair { pair: row.meaning.clone(), weight: row.price });
    Ok(PairSolution { pairs: pairs.collect(), completeness })
}

/// The search for pairs that are too short.
struct PairSearch<'a, 'o> {
    topology: &'a Topology,
    group: &'a TreeGroup,
    halves: &'a TreeHalves,
    meter: &'a mut FlowMeter<'o>,
    failure: Option<TreeError>,
}

impl CutFinder<TreePair> for PairSearch<'_, '_> {
    fn find_violated_cuts(
        &mut self,
        values: &DenseMap<Unknown, f64>,
        _: &dyn SearchObserver,
    ) -> Vec<ViolatedCut<TreePair>> {
        let edges = (0..self.topology.edges().len() as u32).map(EdgeIndex);
        let lengths = edges.map(|edge| values[Unknown(self.group.edges.find_orbit(edge).0)]);
        let paths = self.halves.find_paths(&lengths.collect::<Vec<f64>>().into());
        let mut cuts = Vec::new();
        for root in &self.group.roots {
            match paths.find_pair(*root, self.meter) {
                Ok(found) => cuts.extend(found.and_then(|found| self.collect_row(found, values))),
                Err(error) => {
                    self.failure = Some(error);
                    return Vec::new();
                }
            }
        }
        cuts
    }
}

impl PairSearch<'_, '_> {
    /// The row of a pair, if it is too short.
    fn collect_row(
        &self,
        found: CheapPair,
        values: &DenseMap<Unknown, f64>,
    ) -> Option<ViolatedCut<TreePair>> {
        let mut uses: BTreeMap<u32, u32> = BTreeMap::new();
        for edge in found.pair.list_uses() {
            *uses.entry(self.group.edges.find_orbit(edge).0).or_default() += 1;
        }
        let term = |(orbit, count): (u32, u32)| LinearTerm {
            unknown: Unknown(orbit),
            factor: f64::from(count),
        };
        let terms: Vec<LinearTerm> = uses.into_iter().map(term).collect();
        let length: f64 = terms.iter().map(|term| values[term.unknown] * term.factor).sum();
        (length < 1.0 - TOLERANCE).then_some(ViolatedCut { terms, bound: 1.0, meaning: found.pair })
    }
}
