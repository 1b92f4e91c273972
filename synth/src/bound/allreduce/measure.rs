//! The bound that lengths and potentials show, and what certificates have of them.

use super::super::BoundError;
use super::super::flows::LengthScale;
use super::super::paths::{EdgeIndex, EdgeLists};
use super::{AllReduceBound, AllReduceHalf, AllReducePart};
use crate::dense::DenseMap;
use crate::graph::{Topology, Vertex};
use crate::rational::Rational;

impl AllReduceBound {
    /// For each demand the potentials of the switches for the copies and the sums, then for each rank the distance of
    /// each vertex to it, less than nothing, then for each rank the distance of each vertex from it: as certificates
    /// have them.
    pub(crate) fn list_potentials(&self, topology: &Topology) -> Vec<Vec<i64>> {
        let forward = EdgeLists::new(topology);
        let backward = EdgeLists::new(topology).reverse();
        let mut potentials = Vec::new();
        for AllReducePart { copies, sums, .. } in &self.parts {
            potentials.extend([copies, sums].map(|half| half.potentials.clone()));
            let copies = copies.measure_potentials(&backward).into_iter();
            let fall = |of_rank: Vec<i64>| of_rank.into_iter().map(|distance| -distance).collect();
            potentials.extend(copies.map(fall));
            potentials.extend(sums.measure_potentials(&forward));
        }
        potentials
    }
}

impl AllReduceHalf {
    /// For each rank the distance of each vertex from it.
    fn measure_potentials(&self, lists: &EdgeLists) -> Vec<Vec<i64>> {
        let lengths = (0..).map(Vertex).zip(&self.lengths);
        let potentials =
            lengths.map(|(rank, own)| lists.measure_potentials(rank, &own.clone().into()));
        potentials.map(DenseMap::into_values).collect()
    }

    /// Multiplies everything.
    pub(super) fn stretch_length(&mut self, scale: LengthScale) {
        self.lengths
            .iter_mut()
            .flatten()
            .for_each(|length| *length = scale.stretch_length(*length));
        let factor = scale.stretch_length(1) as i64;
        self.potentials.iter_mut().for_each(|potential| *potential *= factor);
    }

    /// Makes every edge as short as it can be while all distances stay the same.
    pub(super) fn shorten_edges(&mut self, lists: &EdgeLists) {
        let potentials = self.measure_potentials(lists);
        for (own, potentials) in self.lengths.iter_mut().zip(potentials) {
            let potentials = potentials.into();
            for (edge, length) in (0..).map(EdgeIndex).zip(own) {
                *length = lists.measure_rise(edge, &potentials);
            }
        }
    }
}

/// The bound that lengths and potentials show.
pub(super) fn measure_value(
    topology: &Topology,
    parts: &[AllReducePart],
) -> Result<Rational, BoundError> {
    let forward = EdgeLists::new(topology);
    let backward = EdgeLists::new(topology).reverse();
    let mut needed: i128 = 0;
    let mut uses: Vec<i128> = vec![0; topology.edges().len()];
    for AllReducePart { count, copies, sums } in parts {
        let mut roots: DenseMap<Vertex, i128> = DenseMap::filled(topology.ranks().len(), 0);
        for (half, lists) in [(sums, &forward), (copies, &backward)] {
            for (rank, lengths) in topology.ranks().zip(&half.lengths) {
                if lengths.iter().all(|length| *length == 0) {
                    continue;
                }
                let distances = lists.measure_potentials(rank, &lengths.clone().into());
                topology.ranks().for_each(|root| roots[root] += i128::from(distances[root]));
            }
        }
        needed += roots.as_slice().iter().copied().min().unwrap_or(0);
        for half in [copies, sums] {
            for (most, used) in uses.iter_mut().zip(measure_use(topology, half)) {
                // Divided by the count, and rounded up.
                let count = i128::from((*count).max(1));
                *most = (*most).max(-(-used).div_euclid(count));
            }
        }
    }
    let offers = topology.weighted_edges().map(|(_, weight)| i128::from(weight)).zip(uses);
    let offered: i128 = offers.map(|(weight, used)| weight * used).sum();
    // If nothing is offered, nothing is needed.
    Ok(Rational::new(needed, offered.max(1))?.checked_div(topology.quantum())?)
}

/// How much of each edge one half uses at most: the lengths for all ranks, and the difference of the potentials.
fn measure_use(topology: &Topology, side: &AllReduceHalf) -> Vec<i128> {
    let potentials: DenseMap<Vertex, i64> = side.potentials.clone().into();
    let rises = topology.edges().iter().map(|edge| potentials[edge.to] - potentials[edge.from]);
    let mut used: Vec<i128> = rises.map(i128::from).collect();
    for lengths in &side.lengths {
        for (used, length) in used.iter_mut().zip(lengths) {
            *used += i128::from(*length);
        }
    }
    used
}
