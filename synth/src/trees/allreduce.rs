//! Trees along which an AllReduce takes the least time that a machine allows.
//!
//! The buffer is divided into `k` equal pieces. Each piece has a root: its sum comes together there along a tree, and
//! goes from there to all ranks along another one. If the trees load no edge with more than its rate, and the pieces
//! are pipelined, the collective takes as long as the trees say as the buffer becomes large. Where a switch can send
//! what comes in to several vertices, or add what comes in from several, trees branch there.
//!
//! ```text
//! compose: ReduceScatter, AllGather ── as fast as the bound? ─────────────────────────────> AllReduceTrees ──> check
//!    │ no                                                                                      │
//! divide: the bound's solution in integers, if switches only forward ── as fast? ──────────────┤
//!    │ no                                                                                      │
//! group ──> program ──> pieces ──> flatten, reroute: flatter trees and fewer pieces ───────────┘
//!           half ──> steiner ──> arborescence: a cheap tree under lengths of edges
//! ```
//!
//! 1. A ReduceScatter and an AllGather make an AllReduce, and often none is faster. All ranks are roots of as much.
//! 2. Where switches only forward, the bound's program says which rank is the root of how much, and what edges carry of
//!    both halves; each half is packed for itself.
//! 3. Otherwise a linear program says how often which pairs of trees are used. Its solution, in integers, is one of
//!    some number of pieces; fewer may do as well.
//!
//! Nothing is random, and budgets are counters: the same input gives the same trees everywhere.

mod arborescence;
mod check;
mod compose;
mod divide;
mod flatten;
mod group;
mod half;
mod pieces;
mod program;
mod reroute;
mod stars;
mod steiner;

pub use check::{AllReduceFlaw, HalfTree, check_allreduce_trees};

use super::budget::{FlowMeter, PackLimit, PackRequest};
use super::error::TreeError;
use super::{TreeDirection, WeightedTree};
use crate::automorphism::find_symmetry;
use crate::bound::allreduce::{AllReduceBound, bound_allreduce_under};
use crate::bound::steps::bound_steps;
use crate::bound::{BoundError, Completeness, ProgramBudget, ProgramLimits};
use crate::collective::CollectiveKind;
use crate::graph::{SwitchAbilities, Topology};
use crate::rational::{ArithmeticError, Rational};
use group::TreeGroup;
use half::{HalfGraph, measure_depth};
use program::{PairSolution, TreeHalves, WeightedPair};

/// How many ranks and switches trees may have that are searched for directly; larger machines get composed trees only.
const MAX_MEMBERS: usize = 1 << 9;

/// How many flow tests the division of the bound's solution may take: less than a second.
const DIVIDE_TESTS: u64 = 1 << 15;

/// How many flow tests the program of pairs may take: one or two seconds.
const PROGRAM_TESTS: u64 = 1 << 14;

/// How many flow tests it may take to make trees flatter.
const FLATTEN_TESTS: u64 = 1 << 11;

/// How many flow tests the search for a given number of pieces may take: some seconds.
const COUNT_TESTS: u64 = 1 << 15;

/// Up to so many pieces are tried where the program's solution has more.
const MAX_FEW_PIECES: u64 = 12;

/// The largest number of pieces that is tried.
const MAX_TRIED: u64 = 1 << 8;

/// How many arcs of trees are compared at most to route all pieces once; for larger machines few pieces are not tried.
const MAX_SEARCH_WORK: u64 = 1 << 20;

/// How many flow tests all searches for given numbers of pieces may take.
const FEW_PIECES_TESTS: u64 = 1 << 13;

/// Into how many pieces the buffer is divided at most where trees are chosen piece by piece.
const MAX_SINGLE_PIECES: u64 = 1 << 10;

/// Solutions of more pieces are rounded to fewer.
const MAX_PIECES: u64 = 1 << 14;

/// To how many pieces solutions are rounded, as far as the work allows: it is how many uses of edges are counted.
const MIN_ROUNDED: usize = 1 << 6;
const MAX_ROUNDED: usize = 1 << 10;
const MAX_ROUNDING_WORK: usize = 1 << 22;

/// Trees for an AllReduce.
///
/// The edges of a tree join ranks, and switches that do more than forward: in a tree for copies a switch with
/// `multicast`, from which the piece goes on along several edges, in one for sums a switch with `reduce`, which adds
/// what several edges bring. What enters or leaves such a switch on one edge loads it once. Paths of edges lead through
/// switches that forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllReduceTrees {
    /// Into how many pieces the buffer is divided: the weight of all trees for sums, and that of all trees for copies.
    pub k: u64,
    /// The time per buffer within which no edge carries more than its rate: in rounds per buffer, or in seconds per
    /// byte.
    pub rho: Rational,
    /// The trees towards the roots, in the order of these. An edge comes after those that bring what it sends.
    pub sums: Vec<WeightedTree>,
    /// The trees away from the roots, in the order of these. Those of each root weigh as much as its trees for sums. An
    /// edge comes after the one that brings what it sends.
    pub copies: Vec<WeightedTree>,
}

/// Where trees come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllReduceMethod {
    /// From trees of a ReduceScatter and of an AllGather: each rank is the root of as many pieces.
    Composed,
    /// From a search for both halves together.
    Direct,
}

/// How the search for trees ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackingEnd {
    /// The trees are as fast as the bound.
    BoundReached,
    /// The search came to its end above the bound. No trees of its kind are faster, unless switches that copy or add are so
    /// many that not all trees through them were looked at, or fractions were rounded.
    AboveBound,
    /// A budget ended the search above the bound.
    OutOfBudget,
    /// The machine, or a number, is too large for the direct search, so that there was none.
    TooLarge,
}

/// Trees that were found, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllReducePacking {
    /// The trees, which [`check_allreduce_trees`] accepts.
    pub trees: AllReduceTrees,
    /// Where they come from.
    pub method: AllReduceMethod,
    /// How the search ended.
    pub end: PackingEnd,
    /// The bound that they are compared with, in the unit of [`AllReduceTrees::rho`].
    pub bound: Rational,
    /// How many flow tests it took, in the unit of [`super::PackBudget::flow_tests`].
    pub flow_tests: u64,
}

impl AllReduceTrees {
    /// The most times that a piece goes from a rank to the next one in one half: on the way to a root, or from one.
    #[must_use]
    pub fn measure_depth(&self, topology: &Topology, direction: TreeDirection) -> u32 {
        let trees = match direction {
            TreeDirection::FromRoot => &self.copies,
            TreeDirection::ToRoot => &self.sums,
        };
        let depths = trees.iter().map(|tree| measure_depth(topology, &tree.edges, direction));
        depths.max().unwrap_or(0)
    }
}

/// Trees for an AllReduce, as fast as its bound if such are found; composed ones where the machine is too large for the
/// bound.
///
/// # Errors
/// Outside, what keeps the bound from being found: there is no AllReduce on the machine, or a number overflows. Inside, that
/// no trees were found.
pub fn find_allreduce_trees(
    topology: &Topology,
    request: PackRequest<'_>,
) -> Result<Result<AllReducePacking, TreeError>, BoundError> {
    let budget = ProgramBudget::default();
    let limits = ProgramLimits { budget: &budget, observer: request.observer };
    match bound_allreduce_under(topology, &find_symmetry(topology), limits) {
        Ok(bound) => Ok(pack_allreduce_trees(topology, &bound, request)),
        Err(BoundError::TooLarge) => {
            Ok(compose_allreduce_trees(topology, request).map(|trees| AllReducePacking {
                bound: trees.rho,
                trees,
                method: AllReduceMethod::Composed,
                end: PackingEnd::TooLarge,
                flow_tests: 0,
            }))
        }
        Err(error) => Err(error),
    }
}

/// Trees for an AllReduce, as fast as its bound if such are found. They are composed ones if no faster ones are found,
/// and wherever these are as fast as the bound, which [`crate::bound::allreduce::bound_allreduce`] gives.
///
/// # Errors
/// That of the composed trees, each a [`TreeError`], if there are neither these nor others.
pub fn pack_allreduce_trees(
    topology: &Topology,
    bound: &AllReduceBound,
    request: PackRequest,
) -> Result<AllReducePacking, TreeError> {
    bound_steps(topology, CollectiveKind::AllReduce)?;
    let meter = &mut FlowMeter::new(request);
    let composed = compose::compose_trees(topology, meter);
    if let Ok(trees) = &composed
        && trees.rho <= bound.value
    {
        let method = AllReduceMethod::Composed;
        return finish(
            topology,
            bound,
            FoundTrees { trees: trees.clone(), method, end: None },
            meter,
        );
    }
    let direct = match pack_directly(topology, bound, meter) {
        Ok(direct) => direct,
        Err(TreeError::OutOfBudget(_)) => DirectTrees::none(PackingEnd::OutOfBudget),
        Err(TreeError::Arithmetic(_)) => DirectTrees::none(PackingEnd::TooLarge),
        Err(error) => return Err(error),
    };
    let end = direct.end;
    let is_faster = |trees: &AllReduceTrees| {
        composed.as_ref().map_or(true, |composed| trees.rho < composed.rho)
    };
    let found = match direct.trees.filter(is_faster) {
        Some(trees) => FoundTrees {
            trees: spread_roots(topology, trees),
            method: AllReduceMethod::Direct,
            end,
        },
        None => FoundTrees { trees: composed?, method: AllReduceMethod::Composed, end },
    };
    finish(topology, bound, found, meter)
}

/// Trees of stars with all ranks as roots, if these are as fast.
fn spread_roots(topology: &Topology, trees: AllReduceTrees) -> AllReduceTrees {
    match stars::spread_stars(topology, &trees) {
        Some(spread) if check_allreduce_trees(topology, &spread).is_ok() => spread,
        Some(_) | None => trees,
    }
}

/// Trees for an AllReduce of a buffer of `k` equal pieces, in the least time that is found. The packing's bound is one of
/// so many pieces, of which each edge carries a whole number.
///
/// # Errors
/// [`TreeError::NoTrees`] for no pieces, [`TreeError::OutOfBudget`] for more than 1,024 of them, [`BoundError::TooLarge`]
/// if the machine is too large, and each other [`TreeError`].
pub fn pack_allreduce_with_count(
    topology: &Topology,
    bound: &AllReduceBound,
    k: u64,
    request: PackRequest,
) -> Result<AllReducePacking, TreeError> {
    bound_steps(topology, CollectiveKind::AllReduce)?;
    if k == 0 {
        return Err(TreeError::NoTrees);
    }
    if k > MAX_SINGLE_PIECES {
        return Err(TreeError::OutOfBudget(PackLimit::TreeEdges));
    }
    let meter = &mut FlowMeter::new(request);
    let least = pieces::find_least_time(topology, bound.value, k, meter)?;
    let bound = AllReduceBound { value: least, ..bound.clone() };
    let ranks = u64::from(topology.count_ranks());
    let composed = if k.is_multiple_of(ranks) {
        compose::compose_counted(topology, k / ranks, meter).ok()
    } else {
        None
    };
    let is_fast = composed.as_ref().is_some_and(|trees| trees.rho <= least);
    let direct = if is_fast {
        Ok(None)
    } else {
        let search = |meter: &mut FlowMeter| match DirectSearch::new(topology, &bound, meter)? {
            Some(search) => search.pack_count(k, meter),
            None => Err(BoundError::TooLarge.into()),
        };
        meter.try_within(COUNT_TESTS, search).map(Option::flatten)
    };
    let composed = composed.map(|trees| FoundTrees {
        trees,
        method: AllReduceMethod::Composed,
        end: direct.is_err().then_some(PackingEnd::TooLarge),
    });
    let direct = match direct {
        Ok(direct) => direct.map(FoundTrees::from),
        Err(error) if composed.is_none() => return Err(error),
        Err(_) => None,
    };
    let best = direct.into_iter().chain(composed).min_by_key(|found| found.trees.rho);
    let found = best.ok_or(TreeError::OutOfBudget(PackLimit::FlowTests))?;
    finish(topology, &bound, found, meter)
}

/// Trees of a ReduceScatter and then of an AllGather, each in the least time. They are the fastest ones if they are as
/// fast as the bound of an AllReduce, which machines can be too large for.
///
/// # Errors
/// Each [`TreeError`].
pub fn compose_allreduce_trees(
    topology: &Topology,
    request: PackRequest,
) -> Result<AllReduceTrees, TreeError> {
    bound_steps(topology, CollectiveKind::AllReduce)?;
    let trees = compose::compose_trees(topology, &mut FlowMeter::new(request))?;
    check_allreduce_trees(topology, &trees)?;
    Ok(trees)
}

/// Trees before they are checked.
struct FoundTrees {
    trees: AllReduceTrees,
    method: AllReduceMethod,
    /// How the search ended if it did not reach the bound.
    end: Option<PackingEnd>,
}

impl From<CandidateTrees> for FoundTrees {
    fn from(candidate: CandidateTrees) -> FoundTrees {
        let CandidateTrees { trees, is_stopped, .. } = candidate;
        let end = is_stopped.then_some(PackingEnd::OutOfBudget);
        FoundTrees { trees, method: AllReduceMethod::Direct, end }
    }
}

fn finish(
    topology: &Topology,
    bound: &AllReduceBound,
    found: FoundTrees,
    meter: &FlowMeter,
) -> Result<AllReducePacking, TreeError> {
    let FoundTrees { trees, method, end } = found;
    check_allreduce_trees(topology, &trees)?;
    let end = if trees.rho <= bound.value {
        PackingEnd::BoundReached
    } else {
        end.unwrap_or(PackingEnd::AboveBound)
    };
    Ok(AllReducePacking { trees, method, end, bound: bound.value, flow_tests: meter.count_tests() })
}

/// What the direct search found.
struct DirectTrees {
    trees: Option<AllReduceTrees>,
    end: Option<PackingEnd>,
}

impl DirectTrees {
    fn none(end: PackingEnd) -> DirectTrees {
        DirectTrees { trees: None, end: Some(end) }
    }
}

fn pack_directly(
    topology: &Topology,
    bound: &AllReduceBound,
    meter: &mut FlowMeter,
) -> Result<DirectTrees, TreeError> {
    let only_forwards = |switch: &SwitchAbilities| !switch.multicast && !switch.reduce;
    let divided = if topology.switches().iter().all(only_forwards) {
        let attempt =
            meter.try_within(DIVIDE_TESTS, |meter| divide::divide_shares(topology, meter))?;
        attempt.flatten()
    } else {
        None
    };
    if divided.as_ref().is_some_and(|trees| trees.rho <= bound.value) {
        return Ok(DirectTrees { trees: divided, end: None });
    }
    let Some(search) = DirectSearch::new(topology, bound, meter)? else {
        return Ok(DirectTrees { trees: divided, end: Some(PackingEnd::TooLarge) });
    };
    let Some(best) = search.pack_best(meter)? else {
        return Ok(DirectTrees { trees: divided, end: Some(PackingEnd::OutOfBudget) });
    };
    let end = best.is_stopped.then_some(PackingEnd::OutOfBudget);
    let both = divided.into_iter().chain([best.trees]);
    Ok(DirectTrees { trees: both.min_by_key(|trees| trees.rho), end })
}

/// The solution of the program, from which trees are made.
struct DirectSearch<'a> {
    topology: &'a Topology,
    bound: &'a AllReduceBound,
    halves: TreeHalves,
    /// All pairs of trees of the solution, with all images.
    pairs: Vec<WeightedPair>,
    completeness: Completeness,
}

/// Pairs, and the time that they take per buffer.
struct TimedPairs {
    pairs: Vec<WeightedPair>,
    time: Rational,
}

/// Trees, and how deep both halves are together.
struct CandidateTrees {
    trees: AllReduceTrees,
    depth: u32,
    /// Whether a budget ended a search that might have found faster ones.
    is_stopped: bool,
}

impl<'a> DirectSearch<'a> {
    /// None if the machine is too large.
    fn new(
        topology: &'a Topology,
        bound: &'a AllReduceBound,
        meter: &mut FlowMeter,
    ) -> Result<Option<DirectSearch<'a>>, TreeError> {
        if topology.count_vertices() > MAX_MEMBERS {
            return Ok(None);
        }
        let halves = TreeHalves {
            sums: HalfGraph::new(topology, TreeDirection::ToRoot),
            copies: HalfGraph::new(topology, TreeDirection::FromRoot),
        };
        let group = TreeGroup::find(topology, &find_symmetry(topology));
        let solution = meter.try_within(PROGRAM_TESTS, |meter| {
            program::solve_program(topology, &group, &halves, meter)
        })?;
        let solution = solution.ok_or(TreeError::OutOfBudget(PackLimit::FlowTests))?;
        let PairSolution { mut pairs, completeness } = solution;
        pieces::reduce_weights(&mut pairs);
        meter.try_within(FLATTEN_TESTS, |meter| {
            flatten::flatten_pairs(topology, &group, &halves, &mut pairs, meter)
        })?;
        let pairs = pieces::expand_pairs(&group, &pairs);
        Ok(Some(DirectSearch { topology, bound, halves, pairs, completeness }))
    }

    /// The fastest trees that are found: those of the solution, or others that are faster, or have fewer pieces and are
    /// not deeper.
    fn pack_best(&self, meter: &mut FlowMeter) -> Result<Option<CandidateTrees>, TreeError> {
        let Some(mut best) = self.pack_whole(meter)? else { return Ok(None) };
        let spent = meter.count_tests();
        for k in self.list_counts()? {
            let is_fast = best.trees.rho <= self.bound.value;
            let members = self.halves.count_members() as u64;
            let work = k * u64::from(self.topology.count_ranks()) * members * members;
            if is_fast && k >= best.trees.k || work > MAX_SEARCH_WORK {
                break;
            }
            let left = FEW_PIECES_TESTS.saturating_sub(meter.count_tests() - spent);
            let attempt = meter.try_within(left, |meter| {
                if !pieces::can_carry(self.topology, best.trees.rho, k, meter)? {
                    return Ok(None);
                }
                self.pack_count(k, meter)
            })?;
            best.is_stopped |= attempt.is_none();
            let Some(found) = attempt.flatten() else { continue };
            let is_stopped = best.is_stopped || found.is_stopped;
            let order = found.trees.rho.cmp(&best.trees.rho);
            let is_smaller = found.trees.k < best.trees.k && found.depth <= best.depth;
            if order.is_lt() || order.is_eq() && is_smaller {
                best = found;
            }
            best.is_stopped = is_stopped;
        }
        Ok(Some(best))
    }

    /// The numbers of pieces that are tried, in order: few, and those that take a whole number of rounds within the
    /// bound.
    fn list_counts(&self) -> Result<Vec<u64>, ArithmeticError> {
        let mut counts: Vec<u64> = (1..=MAX_FEW_PIECES).collect();
        let rounds = self.bound.value.checked_mul(self.topology.quantum())?;
        let whole = u64::try_from(rounds.denominator()).unwrap_or(u64::MAX);
        let multiples = [1, 2].map(|factor| whole.saturating_mul(factor));
        counts.extend(multiples.into_iter().filter(|k| (MAX_FEW_PIECES..=MAX_TRIED).contains(k)));
        Ok(counts)
    }

    /// The trees of the solution, or those that it becomes with fewer pieces if these take no longer. If the solution
    /// has very many pieces, they may take longer.
    fn pack_whole(&self, meter: &mut FlowMeter) -> Result<Option<CandidateTrees>, TreeError> {
        let Some(k) = pieces::count_pieces(&self.pairs) else { return Ok(None) };
        let mut best: Option<TimedPairs> = None;
        if k <= MAX_PIECES {
            let time = pieces::measure_time(self.topology, &self.pairs)?;
            best = Some(TimedPairs { pairs: self.pairs.clone(), time });
        }
        let uses: usize = self.pairs.iter().map(|own| own.pair.list_uses().count()).sum();
        let most = (MAX_ROUNDING_WORK / uses.max(1)).clamp(MIN_ROUNDED, MAX_ROUNDED) as u64;
        for fewer in (1..=most).take_while(|fewer| *fewer < k) {
            let Some(pairs) = pieces::round_pairs(&self.pairs, fewer) else { continue };
            let time = pieces::measure_time(self.topology, &pairs)?;
            let is_faster = best.as_ref().is_none_or(|best| {
                let best_count = pieces::count_pieces(&best.pairs).unwrap_or(k);
                time < best.time || time == best.time && fewer < best_count
            });
            if is_faster {
                best = Some(TimedPairs { pairs, time });
            }
        }
        best.map(|best| self.flatten(best.pairs, meter)).transpose()
    }

    /// Trees of so many pieces, which are looked at one by one; none if the solution is empty.
    fn pack_count(
        &self,
        k: u64,
        meter: &mut FlowMeter,
    ) -> Result<Option<CandidateTrees>, TreeError> {
        let Some(start) = pieces::round_pairs(&self.pairs, k) else { return Ok(None) };
        let least = self.bound.value;
        let found = reroute::improve_pieces(self.topology, &self.halves, &start, least, meter)?;
        let flat = self.flatten(found.pairs, meter)?;
        Ok(Some(CandidateTrees { is_stopped: flat.is_stopped || found.is_stopped, ..flat }))
    }

    /// The trees of pairs, made flatter.
    fn flatten(
        &self,
        pairs: Vec<WeightedPair>,
        meter: &mut FlowMeter,
    ) -> Result<CandidateTrees, TreeError> {
        let mut pairs = pairs;
        let group = TreeGroup::trivial(self.topology);
        meter.try_within(FLATTEN_TESTS, |meter| {
            flatten::flatten_pairs(self.topology, &group, &self.halves, &mut pairs, meter)
        })?;
        let depths = pairs.iter().map(|own| flatten::measure_pair(self.topology, &own.pair));
        let depth = depths.max().unwrap_or(0);
        let trees = pieces::assemble_trees(self.topology, &pairs, meter)?;
        let is_stopped = match self.completeness {
            Completeness::Optimal | Completeness::Imprecise => false,
            Completeness::Stopped(_) => true,
        };
        Ok(CandidateTrees { trees, depth, is_stopped })
    }
}
