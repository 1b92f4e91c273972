//! Trees for single pieces, chosen one after another under prices of the edges: what is full is expensive, and becomes
//! more so as long as it is too full (McMurchie and Ebeling, "PathFinder: A Negotiation-Based Performance-Driven Router
//! for FPGAs", 1995).

use super::super::budget::FlowMeter;
use super::super::error::TreeError;
use super::program::{CheapPair, Halves, TreePair};
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

/// Pieces in the least time that is found, which begins with given pairs; not less than `least` per buffer.
pub(super) fn improve_pieces(
    topology: &Topology,
    halves: &Halves,
    start: Vec<TreePair>,
    least: Rational,
    meter: &mut FlowMeter,
) -> Result<Vec<TreePair>, TreeError> {
    let count = Rational::from_integer(start.len() as u64);
    let least = least.checked_mul(topology.quantum())?.checked_mul(count)?;
    let mut router = PieceRouter::new(topology, halves, start);
    let mut best = router.pieces.clone();
    let mut best_rounds = router.measure_rounds()?;
    let mut target = least;
    for _ in 0..MAX_TARGETS {
        if best_rounds <= target {
            break;
        }
        router.begin(best.clone());
        for _ in 0..MAX_SWEEPS {
            match router.sweep(target, meter) {
                Ok(()) => {}
                // What was found before is kept.
                Err(TreeError::OutOfBudget(_)) => return Ok(best),
                Err(error) => return Err(error),
            }
            let rounds = router.measure_rounds()?;
            if rounds < best_rounds {
                best_rounds = rounds;
                best.clone_from(&router.pieces);
            }
            if best_rounds <= target {
                return Ok(best);
            }
        }
        target = target.checked_add(best_rounds)?.checked_div(Rational::from_integer(2))?;
    }
    Ok(best)
}

struct PieceRouter<'a> {
    topology: &'a Topology,
    halves: &'a Halves,
    weights: DenseMap<EdgeIndex, u64>,
    pieces: Vec<TreePair>,
    loads: DenseMap<EdgeIndex, u64>,
    /// How often an edge was too full.
    history: DenseMap<EdgeIndex, u32>,
}

impl<'a> PieceRouter<'a> {
    fn new(topology: &'a Topology, halves: &'a Halves, pieces: Vec<TreePair>) -> PieceRouter<'a> {
        let edges = topology.edges().len();
        let weights = topology.weighted_edges().map(|(_, weight)| weight);
        let mut router = PieceRouter {
            topology,
            halves,
            weights: weights.collect::<Vec<u64>>().into(),
            pieces: Vec::new(),
            loads: DenseMap::filled(edges, 0),
            history: DenseMap::filled(edges, 0),
        };
        router.begin(pieces);
        router
    }

    fn begin(&mut self, pieces: Vec<TreePair>) {
        self.loads.fill(0);
        self.history.fill(0);
        for edge in pieces.iter().flat_map(TreePair::list_uses) {
            self.loads[edge] += 1;
        }
        self.pieces = pieces;
    }

    fn list_edges(&self) -> impl Iterator<Item = EdgeIndex> + use<> {
        (0..self.weights.len() as u32).map(EdgeIndex)
    }

    /// In how many rounds the edges carry all pieces.
    fn measure_rounds(&self) -> Result<Rational, ArithmeticError> {
        let mut most = Rational::ZERO;
        for edge in self.list_edges() {
            let [load, weight] = [self.loads[edge], self.weights[edge]].map(i128::from);
            most = most.max(Rational::new(load, weight)?);
        }
        Ok(most)
    }

    /// Reroutes each piece on an edge that carries too much in so many rounds.
    fn sweep(&mut self, rounds: Rational, meter: &mut FlowMeter) -> Result<(), TreeError> {
        let mut capacities: DenseMap<EdgeIndex, u64> = Vec::new().into();
        for weight in self.weights.as_slice() {
            let exact = Rational::from_integer(*weight).checked_mul(rounds)?;
            let floor = exact.numerator().div_euclid(exact.denominator());
            capacities.push(u64::try_from(floor).map_err(|_| ArithmeticError::Overflow)?);
        }
        for place in 0..self.pieces.len() {
            let Some(pair) = self.pieces.get(place).cloned() else { continue };
            if pair.list_uses().all(|edge| self.loads[edge] <= capacities[edge]) {
                continue;
            }
            pair.list_uses().for_each(|edge| self.loads[edge] -= 1);
            let found = self.find_pair(&capacities, meter);
            let next = match &found {
                Ok(Some(found)) => found.pair.clone(),
                Ok(None) | Err(_) => pair,
            };
            next.list_uses().for_each(|edge| self.loads[edge] += 1);
            if let Some(own) = self.pieces.get_mut(place) {
                *own = next;
            }
            found?;
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
