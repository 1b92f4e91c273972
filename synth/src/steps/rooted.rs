//! Sums that several ranks get, in two phases: each piece is summed up at one rank, its root, and copied from there.
//! Both phases are greedy matchings ([`super::greedy`]); the first one runs backwards. Sums with one receiver have it as
//! their root; what is copied moves in the second phase.

use super::ConstructionError;
use super::greedy::{GreedyOutcome, GreedyRequest, schedule_greedily_until};
use super::hops::RankDistances;
use crate::dense::DenseMap;
use crate::graph::{Topology, Vertex};
use crate::observer::SearchObserver;
use crate::schedule::{StepSchedule, Unit};
use std::cmp::Reverse;

/// Where pieces are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RootChoice {
    /// Where the fewest hops lead from the origins and to the receivers; of several such ranks where the fewest roots are.
    Nearest,
    /// At the receivers in turn: where the fewest roots are; of several such ranks the nearest.
    Spread,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RootedRequest {
    pub(crate) roots: RootChoice,
    pub(crate) greedy: GreedyRequest,
}

/// A schedule of units of which no receiver gets a part only; `None` if a budget or the observer ends a phase.
///
/// Errors are [`ConstructionError::Unreachable`], [`ConstructionError::UnfitUnit`] and those of the phases.
pub(crate) fn schedule_by_roots(
    topology: &Topology,
    units: &[Unit],
    request: RootedRequest,
    observer: &dyn SearchObserver,
) -> Result<Option<StepSchedule>, ConstructionError> {
    let chunks = request.greedy.chunks;
    let pieces = (units.len() as u64).saturating_mul(u64::from(chunks));
    if pieces > u64::from(u32::MAX) {
        return Err(ConstructionError::TooLarge);
    }
    let mut finder = RootFinder::new(topology, request.roots);
    // Each piece is a unit of its own, so that its root is.
    let (mut sums, mut copies) = (Vec::new(), Vec::new());
    for (index, unit) in units.iter().enumerate() {
        if unit.has_parts() {
            return Err(ConstructionError::UnfitUnit { unit: index });
        }
        for _ in 0..chunks {
            if !unit.is_sum() || unit.receivers.is_empty() {
                sums.push(Unit::new(unit.origins.clone(), Vec::new()));
                copies.push(unit.clone());
                continue;
            }
            let root = finder.choose(unit)?;
            let others = |ranks: &[Vertex]| {
                ranks.iter().copied().filter(|rank| *rank != root).collect::<Vec<Vertex>>()
            };
            sums.push(Unit::new(vec![root], others(&unit.origins)));
            copies.push(Unit::new(vec![root], others(&unit.receivers)));
        }
    }
    // What is not summed up has nobody to go to in the first phase.
    for unit in &mut sums {
        unit.origins.truncate(1);
    }
    for unit in &mut copies {
        if unit.receivers.is_empty() {
            unit.origins.truncate(1);
        }
    }
    let greedy = GreedyRequest { chunks: 1, ..request.greedy };
    let reversed = topology.reverse();
    let first = schedule_greedily_until(&reversed, &sums, &greedy, observer)?;
    let GreedyOutcome::Found(first) = first else { return Ok(None) };
    let second = schedule_greedily_until(topology, &copies, &greedy, observer)?;
    let GreedyOutcome::Found(second) = second else { return Ok(None) };
    let schedule = first.reverse(&reversed, topology, true).chain(second);
    Ok(Some(StepSchedule { chunks, ..schedule }.prefer_copies(units)))
}

/// Chooses roots.
struct RootFinder {
    choice: RootChoice,
    distances: RankDistances,
    /// How many roots each rank is.
    roots: DenseMap<Vertex, u64>,
}

impl RootFinder {
    fn new(topology: &Topology, choice: RootChoice) -> RootFinder {
        let roots = DenseMap::filled(topology.count_ranks() as usize, 0);
        RootFinder { choice, distances: RankDistances::measure(topology), roots }
    }

    fn choose(&mut self, unit: &Unit) -> Result<Vertex, ConstructionError> {
        let ranks = (0..self.roots.len() as u32).map(Vertex);
        let candidates = ranks.filter(|rank| match (self.choice, unit.receivers.as_slice()) {
            (_, [only]) => rank == only,
            (RootChoice::Spread, _) => unit.has_receiver(*rank),
            (RootChoice::Nearest, _) => true,
        });
        let rated = candidates.filter_map(|rank| {
            let hops = self.count_hops(unit, rank)?;
            let roots = self.roots[rank];
            // Whoever is a receiver has what it needs.
            let is_receiver = Reverse(unit.has_receiver(rank));
            Some(match self.choice {
                RootChoice::Nearest => ((hops, roots), is_receiver, rank),
                RootChoice::Spread => ((roots, hops), is_receiver, rank),
            })
        });
        let Some((_, _, root)) = rated.min() else {
            let [from, to] = [&unit.origins, &unit.receivers].map(|ranks| ranks.first().copied());
            let [from, to] = [from, to].map(|rank| rank.unwrap_or(Vertex(0)));
            return Err(ConstructionError::Unreachable { from, to });
        };
        self.roots[root] += 1;
        Ok(root)
    }

    /// How many hops lead from all origins to a root and from there to all receivers; `None` if some of them is
    /// impossible.
    fn count_hops(&self, unit: &Unit, root: Vertex) -> Option<u64> {
        let mut sum = 0;
        for &origin in &unit.origins {
            sum += u64::from(self.distances.find(origin, root)?);
        }
        for &receiver in &unit.receivers {
            sum += u64::from(self.distances.find(root, receiver)?);
        }
        Some(sum)
    }
}
