//! The cut bound of any collective.
//!
//! What must leave a set of vertices: each value that is copied from inside to outside; of each sum that somebody outside
//! gets, the part that comes from inside. Sums that have contributions in common may have parts in common; the parts
//! are independent of each other as far as no part is a sum of others, and so many values must leave. The bound is
//! their number, divided by the sum of the rates of the edges that leave.
//!
//! For copies from one rank, and for single values from or to one rank, some cut is the optimum of the program over
//! flows. For others there are too many cuts, and none may be the optimum: those around single ranks are improved
//! vertex by vertex, and the best one is a bound.

use super::{BoundError, CutBound, CutRatio, all_vertices, sum_leaving};
use crate::collective::{Demand, DemandList};
use crate::dense::DenseMap;
use crate::graph::{Topology, Vertex};
use crate::observer::{NoObserver, SearchObserver};
use std::collections::{BTreeMap, BTreeSet};

/// How often an edge or a rank of a demand is looked at, which takes about a second. It ends the search for better cuts;
/// the best one that was found is a bound.
const MAX_CUT_WORK: usize = 1 << 26;

/// How many values must leave a set of vertices, as chunks.
#[must_use]
pub fn count_leaving_values(demands: &DemandList, is_inside: impl Fn(Vertex) -> bool) -> u64 {
    let mut total = 0;
    let mut parts: BTreeMap<u32, Vec<&Demand>> = BTreeMap::new();
    for demand in demands.as_slice() {
        let leaves = demand.receivers.iter().any(|receiver| !is_inside(*receiver))
            && demand.origins.iter().any(|origin| is_inside(*origin));
        match demand.summands {
            Some(group) if leaves => parts.entry(group.0).or_default().push(demand),
            None if leaves => total += demand.count,
            Some(_) | None => {}
        }
    }
    for of_group in parts.into_values() {
        let sets = of_group.iter().map(|demand| {
            demand.origins.iter().copied().filter(|origin| is_inside(*origin)).collect()
        });
        let count = of_group.first().map_or(0, |demand| demand.count);
        total += count * count_independent(sets);
    }
    total
}

/// How many of some sums are independent: the rank of the matrix of their summands over the field of two elements, which
/// is at most the one over the fractions.
fn count_independent(sums: impl Iterator<Item = BTreeSet<Vertex>>) -> u64 {
    let mut basis: Vec<BTreeSet<Vertex>> = Vec::new();
    for mut sum in sums {
        for other in &basis {
            if other.first().is_some_and(|leader| sum.contains(leader)) {
                sum = sum.symmetric_difference(other).copied().collect();
            }
        }
        if !sum.is_empty() {
            basis.push(sum);
        }
    }
    basis.len() as u64
}

/// The best cut that is found.
///
/// # Errors
/// [`BoundError::Unreachable`] if nothing can leave a set that something must, [`BoundError::SingleRank`] if nothing
/// has to move, and [`BoundError::Arithmetic`].
pub fn search_cut(topology: &Topology, demands: &DemandList) -> Result<CutBound, BoundError> {
    search_cut_until(topology, demands, &NoObserver)
}

/// The same, or the best cut that is found before the observer stops the search.
pub(crate) fn search_cut_until(
    topology: &Topology,
    demands: &DemandList,
    observer: &dyn SearchObserver,
) -> Result<CutBound, BoundError> {
    let ends =
        demands.as_slice().iter().map(|demand| demand.origins.len() + demand.receivers.len());
    let cost = ends.sum::<usize>() + topology.edges().len() + 1;
    let evaluations = MAX_CUT_WORK / cost;
    let mut search = CutClimb { topology, demands, observer, best: None, evaluations };
    for rank in topology.ranks() {
        for is_inside in [true, false] {
            if search.best.is_some() && observer.is_stopped() {
                break;
            }
            let mut side = DenseMap::filled(topology.count_vertices(), !is_inside);
            side[rank] = is_inside;
            search.improve_side(side)?;
        }
    }
    let FoundCut { side, ratio } = search.best.ok_or(BoundError::SingleRank)?;
    let value = ratio.compute_value(topology)?;
    let is_outside = |rank: &Vertex| !side[*rank];
    let outside = topology.ranks().find(is_outside).ok_or(BoundError::SingleRank)?;
    let side = all_vertices(topology).filter(|vertex| side[*vertex]).collect();
    Ok(CutBound { value, side, outside })
}

/// A set of vertices, and what must leave it.
#[derive(Clone)]
struct FoundCut {
    side: DenseMap<Vertex, bool>,
    ratio: CutRatio,
}

/// The search for better cuts, one vertex at a time.
struct CutClimb<'a> {
    topology: &'a Topology,
    demands: &'a DemandList,
    observer: &'a dyn SearchObserver,
    best: Option<FoundCut>,
    /// How many more cuts may be looked at.
    evaluations: usize,
}

impl CutClimb<'_> {
    /// Moves vertices to the other side as long as the cut becomes better.
    fn improve_side(&mut self, side: DenseMap<Vertex, bool>) -> Result<(), BoundError> {
        let Some(mut here) = self.measure_side(side)? else { return Ok(()) };
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for vertex in all_vertices(self.topology) {
                if self.observer.is_stopped() {
                    break;
                }
                let mut side = here.side.clone();
                side[vertex] = !side[vertex];
                if let Some(next) = self.measure_side(side)?
                    && is_worse(here.ratio, next.ratio)
                {
                    here = next;
                    has_changed = true;
                }
            }
        }
        if self.best.as_ref().is_none_or(|best| is_worse(best.ratio, here.ratio)) {
            self.best = Some(here);
        }
        Ok(())
    }

    /// A cut, if something must leave it and the budget is not spent.
    fn measure_side(
        &mut self,
        side: DenseMap<Vertex, bool>,
    ) -> Result<Option<FoundCut>, BoundError> {
        if self.evaluations == 0 {
            return Ok(None);
        }
        self.evaluations -= 1;
        let amount = count_leaving_values(self.demands, |vertex| side[vertex]);
        if amount == 0 {
            return Ok(None);
        }
        let weight = sum_leaving(self.topology, |vertex| side[vertex]);
        if weight == 0 {
            let pairs = self.demands.as_slice().iter().find_map(|demand| {
                let from = demand.origins.iter().find(|origin| side[**origin])?;
                let to = demand.receivers.iter().find(|receiver| !side[**receiver])?;
                Some(BoundError::Unreachable { from: *from, to: *to })
            });
            return Err(pairs.unwrap_or(BoundError::SingleRank));
        }
        Ok(Some(FoundCut { side, ratio: CutRatio { amount, weight } }))
    }
}

/// Whether less must pass the first cut, for its weight.
fn is_worse(one: CutRatio, other: CutRatio) -> bool {
    u128::from(one.amount) * u128::from(other.weight)
        < u128::from(other.amount) * u128::from(one.weight)
}
