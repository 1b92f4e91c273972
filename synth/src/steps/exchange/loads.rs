//! What edges carry in steps, and what it costs to carry one piece more.

use super::super::hops::HopFinder;
use super::super::legs::RouteLeg;
use crate::dense::DenseMap;
use crate::graph::EdgeIndex;

/// What prices are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PriceKind {
    /// The load, so that the sum of squares becomes small.
    Balance,
    /// By how much the load is beyond the limit, which counts more in later passes, and how often it was.
    Negotiate {
        /// From 0.
        pass: u32,
    },
}

/// What a load of one round costs.
const ROUND_PRICE: u64 = 1 << 10;

#[derive(Clone, Copy, Debug, Default)]
struct EdgeLoad {
    pieces: u64,
    limit: u64,
    /// How much was too much, summed up over the passes.
    excess: u64,
}

/// What edges carry.
#[derive(Clone, Debug)]
pub(super) struct StepLoads {
    /// For each step, for each edge.
    loads: Vec<DenseMap<EdgeIndex, EdgeLoad>>,
    weights: DenseMap<EdgeIndex, u64>,
    /// On how many edges in steps there is too much.
    overloaded: u64,
}

impl StepLoads {
    pub(super) fn new(finder: &HopFinder<'_>, steps: u32) -> StepLoads {
        let edges = (0..finder.topology().edges().len() as u32).map(EdgeIndex);
        let weights: Vec<u64> = edges.map(|edge| finder.weight(edge)).collect();
        let none = EdgeLoad { limit: u64::MAX, ..EdgeLoad::default() };
        let loads = vec![DenseMap::filled(weights.len(), none); steps as usize];
        StepLoads { loads, weights: weights.into(), overloaded: 0 }
    }

    /// Takes all pieces away.
    pub(super) fn clear(&mut self) {
        for load in self.loads.iter_mut().flat_map(|step| step.as_mut_slice()) {
            *load = EdgeLoad { limit: u64::MAX, ..EdgeLoad::default() };
        }
        self.overloaded = 0;
    }

    pub(super) fn add(&mut self, legs: &[RouteLeg]) {
        for leg in legs {
            let Some(step) = self.loads.get_mut(leg.step as usize) else { continue };
            let load = &mut step[leg.edge];
            load.pieces += 1;
            // More than the limit for the first time.
            self.overloaded += u64::from(load.pieces - 1 == load.limit);
        }
    }

    pub(super) fn remove(&mut self, legs: &[RouteLeg]) {
        for leg in legs {
            let Some(step) = self.loads.get_mut(leg.step as usize) else { continue };
            let load = &mut step[leg.edge];
            load.pieces -= 1;
            self.overloaded -= u64::from(load.pieces == load.limit);
        }
    }

    /// How many rounds each step takes.
    pub(super) fn count_rounds(&self) -> Vec<u64> {
        let count = |step: &DenseMap<EdgeIndex, EdgeLoad>| {
            let loads = step.as_slice().iter().zip(self.weights.as_slice());
            loads.map(|(load, weight)| load.pieces.div_ceil(*weight)).max().unwrap_or(0).max(1)
        };
        self.loads.iter().map(count).collect()
    }

    /// Sets the limits of edges to what they carry in so many rounds, and forgets what was too much before.
    pub(super) fn limit(&mut self, rounds: &[u64]) {
        self.overloaded = 0;
        for (step, rounds) in self.loads.iter_mut().zip(rounds) {
            for (load, weight) in step.as_mut_slice().iter_mut().zip(self.weights.as_slice()) {
                load.limit = rounds.saturating_mul(*weight);
                load.excess = 0;
                self.overloaded += u64::from(load.pieces > load.limit);
            }
        }
    }

    pub(super) fn is_overloaded(&self) -> bool {
        self.overloaded > 0
    }

    pub(super) fn has_overloaded(&self, legs: &[RouteLeg]) -> bool {
        self.overloaded > 0
            && legs.iter().any(|leg| {
                let step = self.loads.get(leg.step as usize);
                step.is_some_and(|step| step[leg.edge].pieces > step[leg.edge].limit)
            })
    }

    /// Makes edges that carry too much dearer from now on.
    pub(super) fn raise_prices(&mut self) {
        for load in self.loads.iter_mut().flat_map(|step| step.as_mut_slice()) {
            load.excess += load.pieces.saturating_sub(load.limit);
        }
    }

    /// What one piece more on an edge costs; at least 1.
    pub(super) fn price(&self, leg: RouteLeg, kind: PriceKind) -> u64 {
        let Some(step) = self.loads.get(leg.step as usize) else { return 1 };
        let (load, weight) = (step[leg.edge], self.weights[leg.edge]);
        let pieces = load.pieces + 1;
        match kind {
            PriceKind::Balance => 1 + (ROUND_PRICE * pieces).div_ceil(weight),
            PriceKind::Negotiate { pass } => {
                let beyond = pieces.saturating_sub(load.limit);
                let now = 2 + beyond * u64::from(pass + 1);
                now * (2 + load.excess)
            }
        }
    }
}
