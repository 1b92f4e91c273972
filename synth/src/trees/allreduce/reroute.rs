//! Trees for single pieces, chosen one after another under prices of the edges: what is full is expensive, and becomes
//! more so as long as it is too full (McMurchie and Ebeling, "PathFinder: A Negotiation-Based Performance-Driven Router
//! for FPGAs", 1995).

use super::super::budget::FlowMeter;
use super::super::error::TreeError;
use super::pieces::{find_rooms, measure_loads, measure_rounds};
use super::program::{CheapPair, TreeHalves, WeightedPair};
use crate::dense::DenseMap;
use crate::graph::{EdgeIndex, Topology};
use crate::rational::{ArithmeticError, Rational};

/// How often all pieces on edges that are too full are rerouted, for one time.
const MAX_SWEEPS: u32 = 6;

/// How many times are tried.
const MAX_TARGETS: u32 = 3;

/// What an edge costs that carries as much as it may; the most that it can cost is 1.
const FULL_PRICE: f64 = 1.0 / 65536.0;

/// By how much the price grows with each piece too much.
const EXCESS_FACTOR: f64 = 16.0;

/// What rerouting found.
pub(super) struct ReroutedPairs {
    /// Each of weight 1.
    pub(super) pairs: Vec<WeightedPair>,
    /// Whether a budget ended it.
    pub(super) is_stopped: bool,
}

/// Pieces in the least time that is found, which begins with given pairs; not less than `least` per buffer.
pub(super) fn improve_pieces(
    topology: &Topology,
    halves: &TreeHalves,
    start: &[WeightedPair],
    least: Rational,
    meter: &mut FlowMeter,
) -> Result<ReroutedPairs, TreeError> {
    let single = |own: &WeightedPair| {
        std::iter::repeat_n(WeightedPair { weight: 1, ..own.clone() }, own.weight as usize)
    };
    let start: Vec<WeightedPair> = start.iter().flat_map(single).collect();
    let count = Rational::from_integer(start.len() as u64);
    let least = least.checked_mul(topology.quantum())?.checked_mul(count)?;
    let mut router = PieceRouter::new(topology, halves, start)?;
    let mut best = router.pieces.clone();
    let mut best_rounds = measure_rounds(topology, &best)?;
    let mut target = least;
    for _ in 0..MAX_TARGETS {
        if best_rounds <= target {
            break;
        }
        router.begin(best.clone())?;
        for _ in 0..MAX_SWEEPS {
            match router.sweep(target, meter) {
                Ok(()) => {}
                // What was found before is kept.
                Err(TreeError::OutOfBudget(_)) => {
                    return Ok(ReroutedPairs { pairs: best, is_stopped: true });
                }
                Err(error) => return Err(error),
            }
            let rounds = measure_rounds(topology, &router.pieces)?;
            if rounds < best_rounds {
                best_rounds = rounds;
                best.clone_from(&router.pieces);
            }
            if best_rounds <= target {
                return Ok(ReroutedPairs { pairs: best, is_stopped: false });
            }
        }
        target = target.checked_add(best_rounds)?.checked_div(Rational::from_integer(2))?;
    }
    Ok(ReroutedPairs { pairs: best, is_stopped: false })
}

struct PieceRouter<'a> {
    topology: &'a Topology,
    halves: &'a TreeHalves,
    /// Each of weight 1.
    pieces: Vec<WeightedPair>,
    loads: DenseMap<EdgeIndex, u64>,
    /// How often an edge was too full.
    history: DenseMap<EdgeIndex, u32>,
}

impl<'a> PieceRouter<'a> {
    fn new(
        topology: &'a Topology,
        halves: &'a TreeHalves,
        pieces: Vec<WeightedPair>,
    ) -> Result<PieceRouter<'a>, ArithmeticError> {
        let loads = measure_loads(topology, &pieces)?;
        let history = DenseMap::filled(loads.len(), 0);
        Ok(PieceRouter { topology, halves, pieces, loads, history })
    }

    fn begin(&mut self, pieces: Vec<WeightedPair>) -> Result<(), ArithmeticError> {
        *self = PieceRouter::new(self.topology, self.halves, pieces)?;
        Ok(())
    }

    fn list_edges(&self) -> impl Iterator<Item = EdgeIndex> + use<> {
        (0..self.loads.len() as u32).map(EdgeIndex)
    }

    /// Reroutes each piece on an edge that carries too much in so many rounds.
    fn sweep(&mut self, rounds: Rational, meter: &mut FlowMeter) -> Result<(), TreeError> {
        let capacities = find_rooms(self.topology, rounds)?;
        for place in 0..self.pieces.len() {
            let Some(WeightedPair { pair, .. }) = self.pieces.get(place).cloned() else { continue };
            if pair.list_uses().all(|edge| self.loads[edge] <= capacities[edge]) {
                continue;
            }
            pair.list_uses().for_each(|edge| self.loads[edge] -= 1);
            let found = self.find_pair(&capacities, meter)?;
            let pair = found.map_or(pair, |found| found.pair);
            pair.list_uses().for_each(|edge| self.loads[edge] += 1);
            if let Some(own) = self.pieces.get_mut(place) {
                own.pair = pair;
            }
        }
        for edge in self.list_edges() {
            let excess = self.loads[edge].saturating_sub(capacities[edge]);
            self.history[edge] += u32::from(excess > 0);
        }
        Ok(())
    }

    /// The cheapest pair of all roots.
    fn find_pair(
        &self,
        capacities: &DenseMap<EdgeIndex, u64>,
        meter: &mut FlowMeter,
    ) -> Result<Option<CheapPair>, TreeError> {
        let price = |edge: EdgeIndex| {
            let [load, capacity] = [self.loads[edge] + 1, capacities[edge]].map(|own| own as f64);
            let excess = (load - capacity).max(0.0);
            let history = 1.0 + f64::from(self.history[edge]);
            FULL_PRICE * history * (load / capacity.max(0.5) + EXCESS_FACTOR * excess)
        };
        let prices = self.list_edges().map(price).collect::<Vec<f64>>().into();
        let paths = self.halves.find_paths(&prices);
        let mut best: Option<CheapPair> = None;
        for root in self.topology.ranks() {
            if let Some(found) = paths.find_pair(root, meter)?
                && best.as_ref().is_none_or(|best| found.cost < best.cost)
            {
                best = Some(found);
            }
        }
        Ok(best)
    }
}
