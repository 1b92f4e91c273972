//! What an AllReduce needs directly, and by its halves.

use super::bandwidth::{from_cut, from_roots};
use super::{BandwidthBound, Machine};
use crate::bound::allreduce::bound_allreduce_under;
use crate::bound::cut::bound_allgather_until;
use crate::bound::rooted::{bound_broadcast, bound_reduce};
use crate::bound::{BoundError, Completeness, CutBound};
use crate::graph::{SwitchAbilities, Topology, Vertex};
use crate::rational::Rational;

/// The time of an AllReduce that is a ReduceScatter and an AllGather, beside the bound of one that need not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllReduceComparison {
    /// The bound of a ReduceScatter, then an AllGather, per whole buffer. It is no bound of every AllReduce.
    pub composed: Rational,
    /// The same per shard, of which a buffer has as many as there are ranks.
    pub composed_per_shard: Rational,
    /// The bound of an AllReduce on the machine without switches that multicast or reduce, per whole buffer; `None` if
    /// it has no such switch, and if the program is too large.
    pub without_abilities: Option<Rational>,
}

/// The bound of an AllReduce whose parts are each summed up at one rank; where the program is too large, the bound of
/// all cuts.
pub(super) fn bound_directly(machine: Machine<'_>) -> Result<BandwidthBound, BoundError> {
    let Machine { topology, symmetry, limits } = machine;
    match bound_allreduce_under(topology, symmetry, limits) {
        Ok(bound) => {
            // What a cut shows holds for every schedule, and does not suffer from rates that are far apart.
            let cut = bound_by_cuts(topology)?;
            if cut.value >= bound.value {
                return Ok(from_cut(cut, bound.completeness));
            }
            Ok(from_roots(bound))
        }
        Err(BoundError::TooLarge) => Ok(from_cut(bound_by_cuts(topology)?, Completeness::Optimal)),
        Err(error) => Err(error),
    }
}

/// A sum of what is on each side of a cut must pass it, in both directions: the buffer, as in a broadcast from a rank
/// on one side, and in one to it.
fn bound_by_cuts(topology: &Topology) -> Result<CutBound, BoundError> {
    let root = Vertex(0);
    let forward = bound_broadcast(topology, root)?;
    let backward = bound_reduce(topology, root)?;
    if backward.value <= forward.value {
        return Ok(forward);
    }
    Ok(backward)
}

/// What the halves of an AllReduce need; `None` if the observer stops the search.
pub(super) fn compare_halves(
    machine: Machine<'_>,
) -> Result<Option<AllReduceComparison>, BoundError> {
    let Machine { topology, symmetry, limits } = machine;
    let gathered = bound_allgather_until(topology, symmetry, limits.observer)?.value;
    // The orbits of the vertices are the same on the reversed topology.
    let scattered = bound_allgather_until(&topology.reverse(), symmetry, limits.observer)?.value;
    let composed_per_shard = gathered.checked_add(scattered)?;
    let ranks = Rational::from_integer(u64::from(topology.count_ranks()));
    let composed = composed_per_shard.checked_div(ranks)?;
    let plain = SwitchAbilities::default();
    let is_plain = topology.switches().iter().all(|abilities| *abilities == plain);
    let without_abilities = if is_plain {
        None
    } else {
        let switches = vec![plain; topology.switches().len()];
        let edges = topology.edges();
        // The edges are those of a topology.
        let Ok(plain) = Topology::new(topology.count_ranks(), switches, edges) else {
            return Err(BoundError::TooLarge);
        };
        match bound_allreduce_under(&plain, symmetry, limits) {
            Ok(bound) => Some(bound.value),
            Err(BoundError::TooLarge) => None,
            Err(error) => return Err(error),
        }
    };
    let is_stopped = limits.observer.is_stopped();
    let found = AllReduceComparison { composed, composed_per_shard, without_abilities };
    Ok((!is_stopped).then_some(found))
}
