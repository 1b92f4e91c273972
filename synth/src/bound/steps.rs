//! The least number of steps: the greatest distance between a rank that has something and one that needs it.
//!
//! In a step, data moves from rank to rank along one edge, or through switches, which take no step of their own. So an
//! edge into a rank has length 1, and one into a switch has length 0.

use super::{BoundError, check_rank_count, check_root, reverse_error};
use crate::automorphism::{Symmetry, find_symmetry};
use crate::collective::{CollectiveKind, DemandList};
use crate::dense::DenseMap;
use crate::graph::{Topology, Vertex};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A bound on the number of steps, and the pair of ranks that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepBound {
    /// The number of steps.
    pub steps: u32,
    /// A rank whose data need so many.
    pub from: Vertex,
    /// The rank that needs them.
    pub to: Vertex,
    /// The distance of each vertex from `from`. Vertices that no path reaches have the largest distance of the others.
    pub distances: Vec<u32>,
}

/// The distance of vertices that no path reaches.
pub(crate) const UNREACHED: u32 = u32::MAX;

/// The least number of steps of a collective, by a breadth-first search from each rank that has data. Of several pairs
/// at the greatest distance the first one is the witness.
///
/// # Errors
/// [`BoundError::Unreachable`] if the collective is impossible, and those about roots and single ranks.
pub fn bound_steps(topology: &Topology, kind: CollectiveKind) -> Result<StepBound, BoundError> {
    let symmetry = match kind.root() {
        Some(_) => Symmetry::trivial(topology),
        None => find_symmetry(topology),
    };
    bound_steps_under(topology, &symmetry, kind)
}

/// The same, with symmetries of the topology that are known: a search from one rank of each orbit is enough. The
/// witness is the same, as it is the first pair.
///
/// # Errors
/// Those of [`bound_steps`].
pub fn bound_steps_under(
    topology: &Topology,
    symmetry: &Symmetry,
    kind: CollectiveKind,
) -> Result<StepBound, BoundError> {
    if let Some(forward) = kind.reverse() {
        // The orbits of the vertices are the same on the reversed topology.
        let reversed = bound_steps_under(&topology.reverse(), symmetry, forward);
        let StepBound { steps, from: to, to: from, .. } = reversed.map_err(reverse_error)?;
        let distances = measure_distances(topology, &topology.collect_neighbors(), from);
        return Ok(StepBound { steps, from, to, distances: close_distances(&distances) });
    }
    let origins: Vec<Vertex> = if let Some(root) = kind.root() {
        check_root(topology, root)?;
        vec![root]
    } else {
        check_rank_count(topology)?;
        topology.ranks().filter(|rank| symmetry.vertices.is_first(*rank)).collect()
    };
    let neighbors = topology.collect_neighbors();
    let mut best: Option<StepBound> = None;
    for from in origins {
        let distances = measure_distances(topology, &neighbors, from);
        for to in topology.ranks().filter(|to| kind.has_demand(from, *to)) {
            let steps = distances[to];
            if steps == UNREACHED {
                return Err(BoundError::Unreachable { from, to });
            }
            if best.as_ref().is_none_or(|best| best.steps < steps) {
                best = Some(StepBound { steps, from, to, distances: close_distances(&distances) });
            }
        }
    }
    best.ok_or(BoundError::SingleRank)
}

/// The least number of steps of demands: the greatest distance of a receiver from an origin whose value, or
/// contribution, it gets. The witness is about the topology itself.
///
/// # Errors
/// [`BoundError::Unreachable`], [`BoundError::RootOutOfRange`] for a rank that does not exist, and
/// [`BoundError::SingleRank`] if nothing has to move.
pub fn bound_demand_steps(
    topology: &Topology,
    demands: &DemandList,
) -> Result<StepBound, BoundError> {
    let mut receivers: BTreeMap<Vertex, BTreeSet<Vertex>> = BTreeMap::new();
    for demand in demands.as_slice() {
        let ends = demand.origins.iter().chain(&demand.receivers);
        if let Some(root) = ends.copied().find(|rank| !topology.is_rank(*rank)) {
            return Err(BoundError::RootOutOfRange { root });
        }
        for &origin in &demand.origins {
            let others = demand.receivers.iter().filter(|receiver| **receiver != origin);
            receivers.entry(origin).or_default().extend(others);
        }
    }
    let neighbors = topology.collect_neighbors();
    let mut best: Option<StepBound> = None;
    for (from, receivers) in receivers {
        let distances = measure_distances(topology, &neighbors, from);
        for to in receivers {
            let steps = distances[to];
            if steps == UNREACHED {
                return Err(BoundError::Unreachable { from, to });
            }
            if best.as_ref().is_none_or(|best| best.steps < steps) {
                best = Some(StepBound { steps, from, to, distances: close_distances(&distances) });
            }
        }
    }
    best.ok_or(BoundError::SingleRank)
}

/// The length of the shortest path from a rank to each vertex, where edges into switches have length 0.
pub(crate) fn measure_distances(
    topology: &Topology,
    neighbors: &DenseMap<Vertex, Vec<Vertex>>,
    from: Vertex,
) -> DenseMap<Vertex, u32> {
    let mut distances = DenseMap::filled(topology.count_vertices(), UNREACHED);
    distances[from] = 0;
    // Sorted by distance; what is reached by an edge of length 0 goes to the front.
    let mut open = VecDeque::from([from]);
    while let Some(vertex) = open.pop_front() {
        let distance = distances[vertex];
        for &next in &neighbors[vertex] {
            let is_rank = topology.is_rank(next);
            let length = distance + u32::from(is_rank);
            if length >= distances[next] {
                continue;
            }
            distances[next] = length;
            if is_rank {
                open.push_back(next);
            } else {
                open.push_front(next);
            }
        }
    }
    distances
}

/// The distances, with the largest one for vertices that no path reaches: no edge leads there from the others, so that
/// the distance along each edge still grows by at most its length.
fn close_distances(distances: &DenseMap<Vertex, u32>) -> Vec<u32> {
    let reached = distances.as_slice().iter().copied().filter(|distance| *distance != UNREACHED);
    let largest = reached.max().unwrap_or(0);
    distances.as_slice().iter().map(|distance| (*distance).min(largest)).collect()
}
