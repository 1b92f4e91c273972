//! The bound that lengths and potentials show, and what certificates have of them.

use super::super::BoundError;
use super::super::flows::LengthScale;
use super::super::paths::{EdgeIndex, EdgeLists};
use super::{AllReduceBound, AllReduceHalf, AllReducePart};
use crate::dense::DenseMap;
use crate::graph::{Topology, Vertex};
use crate::rational::Rational;

impl AllReduceBound {
    /// For each demand its flows, as certificates have them, with potentials for the sums and then for the copies: the
    /// first flow is what switches pass on, and there is one for each rank, with the distances from it, and those to
    /// it, less than nothing. From the last one's sums is subtracted what they need together, so that each rank has
    /// no more of the copies than of the sums.
    pub(crate) fn list_flows(&self, topology: &Topology) -> Vec<Vec<Vec<i64>>> {
        let forward = EdgeLists::new(topology);
        let backward = EdgeLists::new(topology).reverse();
        let list = |part: &AllReducePart| {
            let sums = part.sums.measure_potentials(&forward);
            let copies = part.copies.measure_potentials(&backward);
            let count_at = |root: usize| -> i64 {
                sums.iter().chain(&copies).filter_map(|own| own.get(root)).sum()
            };
            let needed = (0..topology.ranks().len()).map(count_at).min().unwrap_or(0);
            let mut flows =
                vec![[&part.sums, &part.copies].map(|half| half.potentials.clone()).concat()];
            flows.extend(sums.iter().zip(&copies).map(|(sums, copies)| {
                let copies = copies.iter().map(|distance| -distance);
                sums.iter().copied().chain(copies).collect()
            }));
            let last = flows.last_mut().into_iter().flatten();
            last.take(topology.count_vertices()).for_each(|potential| *potential -= needed);
            flows
        };
        self.parts.iter().map(list).collect()
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
