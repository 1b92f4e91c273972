//! Scans: ranks in an order, of which each gets the sum of what all up to it contribute.
//!
//! - Along a chain each rank adds what it has to what comes from the one before it, and sends the sum on. Pieces follow
//!   one another.
//! - By doubling, in step `k` each rank sends what it has to the rank `2^k` behind it (Hillis and Steele, "Data parallel
//!   algorithms", 1986).
//! - Directly, each rank sends what it has to all behind it.
//!
//! Each of them needs hops between certain ranks of the order.

use super::hops::HopFinder;
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::schedule::{Move, MoveAction, Piece, StepSchedule, Unit};
use std::collections::{BTreeMap, VecDeque};

/// How a scan goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanMethod {
    /// Each rank sends to the next one.
    Chain,
    /// Distances double.
    Doubling,
    /// Each rank sends to all behind it.
    Direct,
}

/// A schedule of the units whose receivers get different parts, without those of others; `None` if one of them is no
/// scan, or if ranks that the method joins have no hop between them.
pub(crate) fn schedule_scans(
    topology: &Topology,
    units: &[Unit],
    chunks: u32,
    method: ScanMethod,
) -> Option<StepSchedule> {
    let finder = HopFinder::new(topology);
    let mut paths: BTreeMap<[Vertex; 2], Vec<EdgeIndex>> = BTreeMap::new();
    let mut moves = Vec::new();
    let mut steps = 0;
    for (index, unit) in (0_u32..).zip(units).filter(|(_, unit)| unit.has_parts()) {
        let order = find_order(unit)?;
        for chunk in 0..chunks {
            let piece = Piece(index.checked_mul(chunks)?.checked_add(chunk)?);
            for hop in list_hops(&order, method) {
                // The pieces of a chain follow one another.
                let delay = if method == ScanMethod::Chain { chunk } else { 0 };
                let ends = [hop.from, hop.to];
                let path = match paths.get(&ends) {
                    Some(path) => path.clone(),
                    None => find_path(&finder, ends)?,
                };
                paths.entry(ends).or_insert_with(|| path.clone());
                let step = hop.step + delay;
                steps = steps.max(step + 1);
                let action = MoveAction::Reduce;
                moves.push(Move { step, from: hop.from, to: hop.to, piece, action, path });
            }
        }
    }
    moves.sort_unstable();
    let schedule = StepSchedule { chunks, rounds: vec![1; steps as usize], moves };
    Some(schedule.tighten(topology).prefer_copies(units))
}

/// The ranks of a scan in order; `None` if it is none.
fn find_order(unit: &Unit) -> Option<Vec<Vertex>> {
    let mut parts: Vec<(&Vec<Vertex>, Vertex)> =
        unit.summands.iter().zip(unit.receivers.iter().copied()).collect();
    parts.sort_by_key(|(summands, receiver)| (summands.len(), *receiver));
    let mut order: Vec<Vertex> = Vec::new();
    for (summands, receiver) in parts {
        let new = summands.iter().filter(|origin| !order.contains(origin));
        let mut new: Vec<Vertex> = new.copied().collect();
        // The first one has its sum from the start, and is no receiver.
        let is_next = new.contains(&receiver) && (new.len() == 1 || order.is_empty());
        if !is_next || new.len() > 2 || summands.len() != order.len() + new.len() {
            return None;
        }
        new.sort_by_key(|rank| *rank == receiver);
        order.extend(new);
    }
    Some(order)
}

/// A rank of the order sends to another one.
struct ScanHop {
    step: u32,
    from: Vertex,
    to: Vertex,
}

fn list_hops(order: &[Vertex], method: ScanMethod) -> Vec<ScanHop> {
    let count = order.len();
    let mut hops = Vec::new();
    let mut add = |step: u32, from: usize, to: usize| {
        if let (Some(&from), Some(&to)) = (order.get(from), order.get(to)) {
            hops.push(ScanHop { step, from, to });
        }
    };
    match method {
        ScanMethod::Chain => {
            (1..count).for_each(|to| add(to as u32 - 1, to - 1, to));
        }
        ScanMethod::Doubling => {
            let mut step = 0;
            while 1 << step < count {
                (1 << step..count).for_each(|to| add(step, to - (1 << step), to));
                step += 1;
            }
        }
        ScanMethod::Direct => {
            (1..count).for_each(|to| (0..to).for_each(|from| add(0, from, to)));
        }
    }
    hops
}

/// A shortest path from a rank to another one through switches; `None` if there is none.
fn find_path(finder: &HopFinder<'_>, [from, to]: [Vertex; 2]) -> Option<Vec<EdgeIndex>> {
    let mut before: BTreeMap<Vertex, EdgeIndex> = BTreeMap::new();
    let mut open = VecDeque::from([from]);
    while let Some(vertex) = open.pop_front() {
        for &edge in finder.leaving(vertex) {
            let next = finder.edge(edge).to;
            let is_end = next == to;
            if next == from || before.contains_key(&next) {
                continue;
            }
            if is_end {
                let mut path = vec![edge];
                let mut at = vertex;
                while at != from {
                    let edge = *before.get(&at)?;
                    path.push(edge);
                    at = finder.edge(edge).from;
                }
                path.reverse();
                return Some(path);
            }
            if !finder.topology().is_rank(next) {
                before.insert(next, edge);
                open.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{ScanMethod, schedule_scans};
    use crate::families::{build_full, build_hub, build_line, build_ring};
    use crate::graph::{SwitchAbilities, Topology, Vertex};
    use crate::schedule::{SchedulePoint, Unit, check_schedule};

    fn build_scan(ranks: u32) -> Unit {
        let all: Vec<Vertex> = (0..ranks).map(Vertex).collect();
        let summands = (1..ranks).map(|last| all[..=last as usize].to_vec()).collect();
        Unit { origins: all.clone(), receivers: all[1..].to_vec(), summands }
    }

    /// The steps, rounds and pieces; `None` if there is no schedule.
    fn measure(topology: &Topology, chunks: u32, method: ScanMethod) -> Option<SchedulePoint> {
        let units = [build_scan(topology.count_ranks())];
        let schedule = schedule_scans(topology, &units, chunks, method)?;
        check_schedule(topology, &units, &schedule).unwrap();
        Some(schedule.measure())
    }

    fn point(steps: u32, rounds: u64, chunks: u32) -> Option<SchedulePoint> {
        Some(SchedulePoint { steps, rounds, chunks })
    }

    #[test]
    fn scans_take_the_steps_of_their_method() {
        for ranks in 2..=9 {
            let full = build_full(ranks, 1).unwrap();
            let rounds = u64::from(ranks - 1);
            assert_eq!(measure(&full, 1, ScanMethod::Direct), point(1, 1, 1));
            assert_eq!(measure(&full, 1, ScanMethod::Chain), point(ranks - 1, rounds, 1));
            assert_eq!(measure(&full, 5, ScanMethod::Chain), point(ranks + 3, rounds + 4, 5));
            let doublings = (ranks - 1).ilog2() + 1;
            let expected = point(doublings, u64::from(doublings), 1);
            assert_eq!(measure(&full, 1, ScanMethod::Doubling), expected, "{ranks}");
            // The last rank gets something from all others, one after the other.
            let hub = build_hub(ranks, SwitchAbilities::default()).unwrap();
            assert_eq!(measure(&hub, 1, ScanMethod::Direct), point(1, rounds, 1));
        }
        let line = build_line(4).unwrap();
        assert_eq!(measure(&line, 3, ScanMethod::Chain), point(5, 5, 3));
        assert_eq!(measure(&line, 1, ScanMethod::Doubling), None);
        assert_eq!(measure(&build_ring(5).unwrap(), 1, ScanMethod::Direct), None);
    }

    #[test]
    fn other_parts_are_no_scan() {
        let full = build_full(4, 1).unwrap();
        let list = |ranks: &[u32]| ranks.iter().copied().map(Vertex).collect::<Vec<Vertex>>();
        let summands = vec![list(&[0, 1]), list(&[0, 2]), list(&[0, 1, 2, 3])];
        let unit = Unit { origins: list(&[0, 1, 2, 3]), receivers: list(&[1, 2, 3]), summands };
        assert_eq!(schedule_scans(&full, &[unit], 1, ScanMethod::Direct), None);
    }
}
