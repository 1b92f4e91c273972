//! Breadth-first broadcast: an AllGather in the least number of steps (Zhao et al., "Efficient Direct-Connect
//! Topologies for Collective Communications", NSDI 2025).
//!
//! In step `t` each rank gets what comes from the ranks `t` hops away, from those of its neighbors that are one hop
//! less away from there. For each receiver this is a flow from the origins to the hops into it. On machines of direct
//! links no hop has an edge in common with one into another receiver, and the least number of rounds of the step is the
//! largest that any receiver needs: no breadth-first schedule takes less time. What passes a switch shares the edges
//! into it with hops to other receivers. There the receivers take what capacity is left, one after another, and rounds
//! are added until all of them fit: that is not proved to be the least.
//!
//! On machines with a group of shifts, what rank 0 gets is shifted for all others where that takes no longer: then a
//! few rules for one rank say what all do.

mod arrivals;
mod assign;
mod shifted;

use super::ConstructionError;
use super::construction::MAX_MOVES;
use super::hops::{HopFinder, RankDistances};
use crate::automorphism::{ShiftSymmetry, find_shifts};
use crate::graph::{Topology, Vertex};
use crate::observer::{NoObserver, SearchObserver};
use crate::rational::Rational;
use crate::schedule::StepSchedule;
use arrivals::{Arrivals, bound_rounds};
use assign::{AssignedStep, StepAssignment, assign_step};
use shifted::assign_shifted;

/// A schedule of an AllGather in the least number of steps, for so many pieces of each unit.
///
/// # Errors
/// [`ConstructionError::NoChunks`], [`ConstructionError::Unreachable`], [`ConstructionError::TooLarge`] and
/// [`ConstructionError::Arithmetic`].
pub fn schedule_breadth_first(
    topology: &Topology,
    chunks: u32,
) -> Result<StepSchedule, ConstructionError> {
    check_size(topology, chunks)?;
    Broadcasts::new(topology, &NoObserver)?.schedule(chunks)
}

/// The same, for that number of pieces, up to a largest one, for which the time per chunk is the least; of several such
/// ones the smallest.
///
/// # Errors
/// Those of [`schedule_breadth_first`].
pub fn find_breadth_first(
    topology: &Topology,
    max_chunks: u32,
) -> Result<StepSchedule, ConstructionError> {
    find_breadth_first_until(topology, max_chunks, &NoObserver)
}

/// The same, or the best schedule that is found before the observer stops the search; if there is none,
/// [`ConstructionError::Stopped`].
pub(crate) fn find_breadth_first_until(
    topology: &Topology,
    max_chunks: u32,
    observer: &dyn SearchObserver,
) -> Result<StepSchedule, ConstructionError> {
    check_size(topology, max_chunks)?;
    let broadcasts = Broadcasts::new(topology, observer)?;
    let mut candidates = Vec::with_capacity(max_chunks as usize);
    for chunks in 1..=max_chunks {
        candidates.push(Candidate::new(broadcasts.bound_rounds(chunks)?, chunks)?);
    }
    candidates.sort_unstable();
    let mut best: Option<(Candidate, StepSchedule)> = None;
    for candidate in candidates {
        // All that follow take as long at least; on direct links the first one is the best.
        if best.as_ref().is_some_and(|(best, _)| *best <= candidate) {
            break;
        }
        let schedule = match broadcasts.schedule(candidate.chunks) {
            Err(ConstructionError::Stopped) if best.is_some() => break,
            found => found?,
        };
        let reached = Candidate::new(schedule.measure().rounds, candidate.chunks)?;
        if best.as_ref().is_none_or(|(best, _)| reached < *best) {
            best = Some((reached, schedule));
        }
    }
    best.map(|(_, schedule)| schedule).ok_or(ConstructionError::NoChunks)
}

/// A number of pieces. The first of several has the least time per chunk, or the least number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    rounds_per_chunk: Rational,
    chunks: u32,
}

impl Candidate {
    fn new(rounds: u64, chunks: u32) -> Result<Candidate, ConstructionError> {
        let rounds_per_chunk = Rational::new(i128::from(rounds), i128::from(chunks))?;
        Ok(Candidate { rounds_per_chunk, chunks })
    }
}

fn check_size(topology: &Topology, chunks: u32) -> Result<(), ConstructionError> {
    if chunks == 0 {
        return Err(ConstructionError::NoChunks);
    }
    let ranks = u128::from(topology.count_ranks());
    if ranks * ranks * u128::from(chunks) > u128::from(MAX_MOVES) {
        return Err(ConstructionError::TooLarge);
    }
    Ok(())
}

/// What moves in each step of breadth-first broadcasts from all ranks.
struct Broadcasts<'a> {
    finder: HopFinder<'a>,
    distances: RankDistances,
    observer: &'a dyn SearchObserver,
    /// Shifts of the machine; none if it is not the same for all ranks, or if none are known.
    shifts: Option<ShiftSymmetry>,
    /// For each step how many rounds it takes at least, for each piece of a unit.
    ratios: Vec<Rational>,
}

impl<'a> Broadcasts<'a> {
    fn new(
        topology: &'a Topology,
        observer: &'a dyn SearchObserver,
    ) -> Result<Broadcasts<'a>, ConstructionError> {
        let finder = HopFinder::new(topology);
        let distances = RankDistances::measure(topology);
        let steps = find_diameter(topology, &distances)?;
        let shifts = find_shifts(topology);
        // What holds for one rank holds for all that it is shifted to.
        let receivers = if shifts.is_some() { 1 } else { topology.count_ranks() };
        let mut broadcasts = Broadcasts { finder, distances, observer, shifts, ratios: Vec::new() };
        for step in 0..steps {
            let mut ratio = Rational::ZERO;
            for receiver in (0..receivers).map(Vertex) {
                broadcasts.check_observer()?;
                ratio =
                    bound_rounds(&broadcasts.finder, &broadcasts.collect(receiver, step), ratio)?;
            }
            broadcasts.ratios.push(ratio);
        }
        Ok(broadcasts)
    }

    /// An error if the observer stops the search.
    fn check_observer(&self) -> Result<(), ConstructionError> {
        if self.observer.is_stopped() { Err(ConstructionError::Stopped) } else { Ok(()) }
    }

    /// What a rank gets in a step. The order starts behind the rank, so that not all receivers ask the same senders
    /// first.
    fn collect(&self, receiver: Vertex, step: u32) -> Arrivals {
        let ranks = self.finder.topology().count_ranks();
        let turned = (1..ranks).map(|offset| Vertex((receiver.0 + offset) % ranks));
        let is_due = |origin: &Vertex| self.distances.find(*origin, receiver) == Some(step + 1);
        let fabric = self.finder.collect_fabric(receiver);
        let mut arrivals = Arrivals { receiver, deliveries: Vec::new(), edges: fabric.edges };
        for origin in turned.filter(is_due) {
            let has_it = |sender: &Vertex| self.distances.find(origin, *sender) == Some(step);
            let holders = match step {
                0 => vec![origin],
                _ => fabric.senders.iter().copied().filter(has_it).collect(),
            };
            arrivals.deliveries.push(arrivals::Delivery { origin, holders });
        }
        arrivals
    }

    /// No breadth-first schedule takes fewer rounds.
    fn bound_rounds(&self, chunks: u32) -> Result<u64, ConstructionError> {
        let mut sum: u64 = 0;
        for ratio in &self.ratios {
            sum = sum.checked_add(round_up(*ratio, chunks)?).ok_or(ConstructionError::TooLarge)?;
        }
        Ok(sum)
    }

    fn schedule(&self, chunks: u32) -> Result<StepSchedule, ConstructionError> {
        let mut schedule = StepSchedule { chunks, rounds: Vec::new(), moves: Vec::new() };
        for (step, ratio) in (0..).zip(&self.ratios) {
            let least = round_up(*ratio, chunks)?;
            let assigned = self.assign(StepAssignment { broadcasts: self, step, chunks }, least)?;
            schedule.rounds.push(assigned.rounds);
            schedule.moves.extend(assigned.moves);
        }
        schedule.moves.sort_unstable();
        Ok(schedule)
    }

    /// The moves of a step: shifted ones where they take no longer.
    fn assign(
        &self,
        step: StepAssignment<'_>,
        least: u64,
    ) -> Result<AssignedStep, ConstructionError> {
        let shifts = self.shifts.as_ref();
        let shifted = shifts.and_then(|shifts| assign_shifted(&step, shifts, least));
        match shifted {
            Some(shifted) if shifted.rounds <= least => Ok(shifted),
            Some(shifted) => {
                let assigned = assign_step(step, least)?;
                Ok(if shifted.rounds <= assigned.rounds { shifted } else { assigned })
            }
            None => assign_step(step, least),
        }
    }
}

/// The largest distance between two ranks.
fn find_diameter(topology: &Topology, distances: &RankDistances) -> Result<u32, ConstructionError> {
    let mut diameter = 0;
    for from in topology.ranks() {
        for to in topology.ranks() {
            let distance = distances.find(from, to);
            let distance = distance.ok_or(ConstructionError::Unreachable { from, to })?;
            diameter = diameter.max(distance);
        }
    }
    Ok(diameter)
}

/// The least integer that is not below so many times a ratio.
fn round_up(ratio: Rational, chunks: u32) -> Result<u64, ConstructionError> {
    let product = ratio.checked_mul(Rational::from_integer(u64::from(chunks)))?;
    let (whole, part) = (product.numerator(), product.denominator());
    let rounded = whole.div_euclid(part) + i128::from(whole.rem_euclid(part) > 0);
    u64::try_from(rounded).map_err(|_| ConstructionError::TooLarge)
}
