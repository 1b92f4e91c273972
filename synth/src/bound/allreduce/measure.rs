//! The bound that lengths and potentials show, and what certificates have of them.

use super::super::BoundError;
use super::super::paths::{EdgeIndex, EdgeLists};
use super::{AllReduceBound, AllReduceHalf};
use crate::dense::DenseMap;
use crate::graph::{Topology, Vertex};
use crate::rational::Rational;

impl AllReduceBound {
    /// The potentials of the switches for the copies and the sums, then for each rank the distance of each vertex to
    /// it, less than nothing, then for each rank the distance of each vertex from it: as certificates have them.
    pub(crate) fn list_potentials(&self, topology: &Topology) -> Vec<Vec<i64>> {
        let halves = [&self.copies, &self.sums];
        let switches = halves.map(|half| half.potentials.clone());
        let from_ranks = EdgeLists::new(topology);
        let sums = self.sums.measure_potentials(&from_ranks);
        let copies = self.copies.measure_potentials(&from_ranks.reverse()).into_iter();
        let copies = copies.map(|of_rank| of_rank.into_iter().map(|distance| -distance).collect());
        switches.into_iter().chain(copies).chain(sums).collect()
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
    copies: &AllReduceHalf,
    sums: &AllReduceHalf,
) -> Result<Rational, BoundError> {
    let lists = EdgeLists::new(topology);
    let mut roots: DenseMap<Vertex, i128> = DenseMap::filled(topology.ranks().len(), 0);
    for (rank, lengths) in topology.ranks().zip(&sums.lengths) {
        let distances = lists.measure_distances(rank, &lengths.clone().into());
        topology.ranks().for_each(|root| roots[root] += i128::from(distances[root]));
    }
    let lists = lists.reverse();
    for (rank, lengths) in topology.ranks().zip(&copies.lengths) {
        let distances = lists.measure_distances(rank, &lengths.clone().into());
        topology.ranks().for_each(|root| roots[root] += i128::from(distances[root]));
    }
    let needed = roots.as_slice().iter().copied().min().unwrap_or(0);
    let [copied, summed] = [copies, sums].map(|side| measure_use(topology, side));
    let used = copied.into_iter().zip(summed).map(|(copied, summed)| copied.max(summed).max(0));
    let offers = topology.weighted_edges().map(|(_, weight)| i128::from(weight)).zip(used);
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
