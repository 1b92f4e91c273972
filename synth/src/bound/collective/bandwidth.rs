//! The bound on the time of a collective with any number of steps.

use super::limit::{is_broadcast_limit, is_reduce_limit};
use super::{Attainment, BandwidthBound, BandwidthWitness, BoundScope, Machine, allreduce};
use crate::bound::allreduce::{AllReduceBound, bound_rooted_demands};
use crate::bound::alltoall::bound_alltoall_under;
use crate::bound::cut::bound_allgather_until;
use crate::bound::cut_search::search_cut_until;
use crate::bound::flows::{FlowBound, Layering, bound_flows};
use crate::bound::rooted::{bound_broadcast, bound_gather, bound_reduce, bound_scatter};
use crate::bound::{BoundBudget, BoundError, Completeness, CutBound, reverse_cut, reverse_error};
use crate::collective::{Collective, CollectiveKind, Demand, DemandList};
use crate::sketch::SketchGap;

/// The bound, without a limit on hops.
pub(super) fn bound_bandwidth(
    machine: Machine<'_>,
    collective: &Collective,
) -> Result<BandwidthBound, BoundError> {
    match collective {
        Collective::Known(kind) => bound_known(machine, *kind),
        Collective::Demands(demands) => bound_demands(machine, demands),
    }
}

fn bound_known(machine: Machine<'_>, kind: CollectiveKind) -> Result<BandwidthBound, BoundError> {
    let Machine { topology, symmetry, limits } = machine;
    let cut = match kind {
        CollectiveKind::AllReduce => return allreduce::bound_directly(machine),
        CollectiveKind::AllToAll => {
            let bound = bound_alltoall_under(topology, symmetry, limits)?;
            return Ok(BandwidthBound {
                value: bound.value,
                completeness: bound.completeness,
                witness: BandwidthWitness::Lengths(bound),
                attainment: Attainment::Unknown,
                scope: BoundScope::EverySchedule,
            });
        }
        CollectiveKind::AllGather => bound_allgather_until(topology, symmetry, limits.observer)?,
        CollectiveKind::ReduceScatter => {
            // The orbits of the vertices are the same on the reversed topology.
            let reversed = topology.reverse();
            let reversed = bound_allgather_until(&reversed, symmetry, limits.observer);
            reverse_cut(topology, reversed.map_err(reverse_error)?)
        }
        CollectiveKind::Broadcast(root) => bound_broadcast(topology, root)?,
        CollectiveKind::Reduce(root) => bound_reduce(topology, root)?,
        CollectiveKind::Scatter(root) => bound_scatter(topology, root)?,
        CollectiveKind::Gather(root) => bound_gather(topology, root)?,
    };
    let is_limit = match kind {
        CollectiveKind::Broadcast(root) => is_broadcast_limit(topology, root, limits.observer),
        CollectiveKind::Reduce(root) => is_reduce_limit(topology, root, limits.observer),
        CollectiveKind::AllGather
        | CollectiveKind::ReduceScatter
        | CollectiveKind::AllToAll
        | CollectiveKind::AllReduce
        | CollectiveKind::Scatter(_)
        | CollectiveKind::Gather(_) => false,
    };
    let attainment = if is_limit { Attainment::LimitOnly } else { Attainment::Unknown };
    Ok(BandwidthBound { attainment, ..from_cut(cut, limits.complete()) })
}

/// The bound of the program over flows, or that of a cut if it is as large, which is easier to see. For sums that the
/// same ranks contribute to and get, as in an AllReduce, the bound is that of schedules which sum each part up at one
/// rank.
fn bound_demands(machine: Machine<'_>, demands: &DemandList) -> Result<BandwidthBound, BoundError> {
    let Machine { topology, limits, .. } = machine;
    let cut = search_cut_until(topology, demands, limits.observer)?;
    let bound = match bound_flows(topology, demands, Layering::Unlimited, limits) {
        Ok(flows) if flows.value > cut.value => from_flows(flows),
        Ok(flows) => from_cut(cut, flows.completeness),
        Err(BoundError::TooLarge) => {
            from_cut(cut, Completeness::Stopped(BoundBudget::LayeredVariables))
        }
        Err(error) => return Err(error),
    };
    let is_like_allreduce = |demand: &Demand| {
        let is_joint = demand.origins.len() > 1 && demand.receivers.len() > 1;
        demand.summands.is_none() && (!is_joint || demand.origins == demand.receivers)
    };
    if !demands.as_slice().iter().all(is_like_allreduce) || !demands.has_joint_sums() {
        return Ok(bound);
    }
    match bound_rooted_demands(topology, demands, limits) {
        Ok(rooted) if rooted.value > bound.value => Ok(from_roots(rooted)),
        Ok(_) | Err(BoundError::TooLarge | BoundError::NoRoot) => Ok(bound),
        Err(error) => Err(error),
    }
}

pub(super) fn from_roots(rooted: AllReduceBound) -> BandwidthBound {
    BandwidthBound {
        value: rooted.value,
        completeness: rooted.completeness,
        witness: BandwidthWitness::AllReduce(Box::new(rooted)),
        attainment: Attainment::Unknown,
        scope: BoundScope::RootedSums,
    }
}

pub(super) fn from_cut(cut: CutBound, completeness: Completeness) -> BandwidthBound {
    BandwidthBound {
        value: cut.value,
        witness: BandwidthWitness::Cut(cut),
        completeness,
        attainment: Attainment::Unknown,
        scope: BoundScope::EverySchedule,
    }
}

fn from_flows(flows: FlowBound) -> BandwidthBound {
    BandwidthBound {
        value: flows.value,
        completeness: flows.completeness,
        witness: BandwidthWitness::Flows(flows),
        attainment: Attainment::Unknown,
        scope: BoundScope::EverySchedule,
    }
}

/// Takes a limit on hops into the bound, as far as it can be: what is sent of a value that is copied, or of a sum that
/// one rank gets, has one number of hops. What is sent of a sum that several ranks get can be part of long ways and of
/// short ones.
pub(super) fn include_hops(
    machine: Machine<'_>,
    collective: &Collective,
    hops: u32,
    bandwidth: &mut BandwidthBound,
) -> Result<Option<SketchGap>, BoundError> {
    let Machine { topology, limits, .. } = machine;
    let ranks = topology.count_ranks();
    let demands = match collective {
        // No way is longer.
        _ if hops >= ranks => return Ok(None),
        Collective::Known(kind) if kind.count_demands(ranks) > MAX_LISTED_DEMANDS => {
            return Ok(Some(SketchGap::TooManyHops));
        }
        Collective::Known(kind) => kind.list_demands(ranks),
        Collective::Demands(demands) => demands.clone(),
    };
    if hops > 1 && demands.has_joint_sums() {
        return Ok(Some(SketchGap::HopsOfSums));
    }
    match bound_flows(topology, &demands, Layering::Hops(hops), limits) {
        Ok(flows) => {
            if flows.value > bandwidth.value {
                *bandwidth = from_flows(flows);
            }
            Ok(None)
        }
        Err(BoundError::TooLarge) => Ok(Some(SketchGap::TooManyHops)),
        Err(error) => Err(error),
    }
}

/// How many demands of a known collective are listed for the program over flows. More are too large for it, and said to
/// be.
pub(super) const MAX_LISTED_DEMANDS: u64 = 1 << 16;
