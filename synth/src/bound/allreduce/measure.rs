//! The bound that lengths and potentials show, and what certificates have of them.

use super::super::BoundError;
use super::super::flows::LengthScale;
use super::super::paths::{EdgeIndex, EdgeLists, UNREACHED};
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
        let lists = DirectedLists::new(topology);
        let list = |part: &AllReducePart| {
            let needed = i64::try_from(part.measure_need(topology, &lists)).unwrap_or(i64::MAX);
            let sums = part.sums.measure_potentials(&lists.forward, needed);
            let copies = part.copies.measure_potentials(&lists.backward, needed);
            let mut flows =
                vec![[&part.sums, &part.copies].map(|half| half.potentials.clone()).concat()];
            flows.extend(sums.zip(copies).map(|(sums, copies)| {
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

/// The edges of a topology, as sums go from ranks to roots, and turned round, as copies come from roots.
struct DirectedLists {
    forward: EdgeLists,
    backward: EdgeLists,
}

impl DirectedLists {
    fn new(topology: &Topology) -> DirectedLists {
        let [forward, backward] = [(); 2].map(|()| EdgeLists::new(topology));
        DirectedLists { forward, backward: backward.reverse() }
    }
}

impl AllReducePart {
    /// What the copies and the sums need at the root that needs least.
    fn measure_need(&self, topology: &Topology, lists: &DirectedLists) -> i128 {
        let mut roots: DenseMap<Vertex, Option<i128>> =
            DenseMap::filled(topology.ranks().len(), Some(0));
        for (half, lists) in [(&self.sums, &lists.forward), (&self.copies, &lists.backward)] {
            for &rank in &half.ranks {
                let Some(lengths) = half.lengths.get(rank.0 as usize) else { continue };
                let distances = lists.measure_distances(rank, &lengths.clone().into());
                for root in topology.ranks() {
                    let distance = distances[root];
                    let more = (distance != UNREACHED).then_some(i128::from(distance));
                    roots[root] = roots[root].zip(more).map(|(needed, more)| needed + more);
                }
            }
        }
        roots.as_slice().iter().copied().flatten().min().unwrap_or(0)
    }
}

impl AllReduceHalf {
    /// For each rank the distance of each vertex from it. No edge leads to a vertex that is not reached from one that is: it
    /// is so far away that no root there needs less than a given amount.
    fn measure_potentials(&self, lists: &EdgeLists, needed: i64) -> impl Iterator<Item = Vec<i64>> {
        (0..).map(Vertex).zip(&self.lengths).map(move |(rank, lengths)| {
            if !self.ranks.contains(&rank) {
                return vec![0; lists.leaving.len()];
            }
            let distances = lists.measure_distances(rank, &lengths.clone().into());
            let close = |distance: &u64| match *distance {
                UNREACHED => needed,
                reached => reached as i64,
            };
            distances.as_slice().iter().map(close).collect()
        })
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
        for (rank, own) in (0..).map(Vertex).zip(&mut self.lengths) {
            let potentials = lists.measure_potentials(rank, &own.clone().into());
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
    let lists = DirectedLists::new(topology);
    let mut needed: i128 = 0;
    let mut uses: Vec<i128> = vec![0; topology.edges().len()];
    for part in parts {
        needed += part.measure_need(topology, &lists);
        for half in [&part.copies, &part.sums] {
            for (most, used) in uses.iter_mut().zip(measure_use(topology, half)) {
                // Divided by the count, and rounded up.
                let count = i128::from(part.count.max(1));
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
