//! The bound that lengths show, computed exactly.

use super::groups::list_pairs;
use super::network::LayerEdge;
use super::{Layering, PairLength, SharedLength};
use crate::bound::{BoundError, all_vertices};
use crate::collective::{Demand, DemandList};
use crate::dense::DenseMap;
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::rational::Rational;
use std::collections::BTreeMap;

/// The lengths of a bound.
pub(super) struct Lengths {
    pub(super) shared: Vec<SharedLength>,
    pub(super) pairs: Vec<PairLength>,
}

impl Lengths {
    pub(super) fn new(
        shared: BTreeMap<LayerEdge, u64>,
        pairs: BTreeMap<PairLength, u64>,
    ) -> Lengths {
        let shared = shared.into_iter().filter(|(_, length)| *length > 0);
        let shared = shared.map(|(LayerEdge { layer, edge }, length)| SharedLength {
            step: layer,
            edge,
            length,
        });
        let pairs = pairs.into_iter().filter(|(_, length)| *length > 0);
        let pairs = pairs.map(|(pair, length)| PairLength { length, ..pair });
        Lengths { shared: shared.collect(), pairs: pairs.collect() }
    }
}

/// The largest factor by which lengths are multiplied, so that sums fit.
const MAX_STRETCH: u64 = 1 << 24;

/// What lengths are multiplied with, so that the shared ones, which are sums divided by counts, are integers.
#[derive(Clone, Copy)]
pub(super) struct LengthScale {
    factor: u64,
}

impl LengthScale {
    /// The least common multiple of counts. If it is too large, shared lengths are rounded up.
    pub(super) fn new(counts: impl Iterator<Item = u64>) -> LengthScale {
        let mut factor: u64 = 1;
        for count in counts {
            let (mut a, mut b) = (factor, count);
            while b != 0 {
                (a, b) = (b, a % b);
            }
            let multiple = factor.saturating_mul(count / a.max(1));
            factor = if multiple <= MAX_STRETCH { multiple } else { factor };
        }
        LengthScale { factor }
    }

    pub(super) fn stretch(self, length: u64) -> u64 {
        length * self.factor
    }

    /// The shared length that a sum of lengths for a group of so many values needs.
    pub(super) fn share(self, sum: u64, count: u64) -> u64 {
        let stretched = u128::from(sum) * u128::from(self.factor);
        u64::try_from(stretched.div_ceil(u128::from(count.max(1)))).unwrap_or(u64::MAX)
    }
}

/// The bound that lengths show.
pub(super) fn measure_value(
    topology: &Topology,
    demands: &DemandList,
    layering: Layering,
    lengths: &Lengths,
) -> Result<Rational, BoundError> {
    let paths = LayeredPaths { topology, layering };
    let mut needed: i128 = 0;
    let is_same_pair = |a: &PairLength, b: &PairLength| {
        (a.demand, a.origin, a.receiver) == (b.demand, b.origin, b.receiver)
    };
    for of_pair in lengths.pairs.chunk_by(is_same_pair) {
        let Some(PairLength { origin, receiver, .. }) = of_pair.first() else { continue };
        let own = of_pair.iter().map(|length| {
            let PairLength { layer, edge, length, .. } = *length;
            (LayerEdge { layer, edge }, length)
        });
        needed += paths.measure(*origin, &own.collect())[*receiver];
    }
    let shared: BTreeMap<LayerEdge, u64> = lengths
        .shared
        .iter()
        .map(|shared| (LayerEdge { layer: shared.step, edge: shared.edge }, shared.length))
        .collect();
    let shared = paths.repeat_shared(&shared);
    let singles = demands.as_slice().iter().filter(|demand| is_single(demand));
    let mut last: Option<(Vertex, DenseMap<Vertex, i128>)> = None;
    for single in singles {
        for [origin, receiver] in list_pairs(single) {
            let distances = match last {
                Some((from, distances)) if from == origin => distances,
                _ => paths.measure(origin, &shared),
            };
            needed += i128::from(single.count) * distances[receiver];
            last = Some((origin, distances));
        }
    }
    let offered = measure_offer(topology, &lengths.shared);
    Ok(Rational::new(needed, offered.max(1))?.checked_div(topology.quantum())?)
}

/// Whether a demand is for values of one origin and one receiver.
fn is_single(demand: &Demand) -> bool {
    demand.origins.len() == 1 && demand.receivers.len() == 1 && demand.summands.is_none()
}

/// What edges offer in a round of the step that offers most.
fn measure_offer(topology: &Topology, shared: &[SharedLength]) -> i128 {
    let weights: Vec<u64> = topology.weighted_edges().map(|(_, weight)| weight).collect();
    let weights: DenseMap<EdgeIndex, u64> = weights.into();
    let mut offers: BTreeMap<u32, i128> = BTreeMap::new();
    for SharedLength { step, edge, length } in shared {
        *offers.entry(*step).or_default() += i128::from(weights[*edge]) * i128::from(*length);
    }
    offers.into_values().max().unwrap_or(0)
}

/// Shortest paths in the layered network.
struct LayeredPaths<'a> {
    topology: &'a Topology,
    layering: Layering,
}

impl LayeredPaths<'_> {
    /// Lengths that are the same for each hop, in each of them.
    fn repeat_shared(&self, shared: &BTreeMap<LayerEdge, u64>) -> BTreeMap<LayerEdge, u64> {
        let Layering::Hops(hops) = self.layering else { return shared.clone() };
        let repeat = |(place, length): (&LayerEdge, &u64)| {
            let (edge, length) = (place.edge, *length);
            (1..=hops).map(move |layer| (LayerEdge { layer, edge }, length))
        };
        shared.iter().flat_map(repeat).collect()
    }

    /// The length of the shortest path to each vertex, by going layer by layer. Edges that are not named have length 0.
    fn measure(&self, origin: Vertex, own: &BTreeMap<LayerEdge, u64>) -> DenseMap<Vertex, i128> {
        let unreached = i128::MAX / 4;
        let vertices = self.topology.count_vertices();
        let mut before: DenseMap<Vertex, i128> = DenseMap::filled(vertices, unreached);
        before[origin] = 0;
        for layer in 1..=self.layering.count_layers() {
            let mut lengths: DenseMap<EdgeIndex, i128> =
                DenseMap::filled(self.topology.edges().len(), 0);
            let places = LayerEdge { layer, edge: EdgeIndex(0) }..LayerEdge {
                layer: layer + 1,
                edge: EdgeIndex(0),
            };
            for (place, length) in own.range(places) {
                lengths[place.edge] = i128::from(*length);
            }
            // Ranks wait; nothing stays in a switch.
            let mut after = before.clone();
            for switch in all_vertices(self.topology).skip(self.topology.ranks().len()) {
                after[switch] = unreached;
            }
            self.relax(&before, &mut after, &lengths);
            before = after;
        }
        before
    }

    /// Goes along edges until nothing changes. In a layer, paths lead from ranks to ranks, through switches; without
    /// layers through ranks, too.
    fn relax(
        &self,
        before: &DenseMap<Vertex, i128>,
        after: &mut DenseMap<Vertex, i128>,
        lengths: &DenseMap<EdgeIndex, i128>,
    ) {
        let is_layered = self.layering != Layering::Unlimited;
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for (index, edge) in (0..).map(EdgeIndex).zip(self.topology.edges()) {
                let is_start = is_layered && self.topology.is_rank(edge.from);
                let tail = if is_start { before[edge.from] } else { after[edge.from] };
                let through = tail + lengths[index];
                if through < after[edge.to] {
                    after[edge.to] = through;
                    has_changed = true;
                }
            }
        }
    }
}
