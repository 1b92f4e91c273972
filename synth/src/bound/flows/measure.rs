//! The bound that lengths show, computed exactly.

use super::groups::{SingleValue, find_single};
use super::network::LayerEdge;
use super::{Layering, PairLength, SharedLength};
use crate::bound::{BoundError, all_vertices};
use crate::collective::DemandList;
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
pub(crate) struct LengthScale {
    factor: u64,
}

impl LengthScale {
    /// The least common multiple of counts. If it is too large, shared lengths are rounded up.
    pub(crate) fn new(counts: impl Iterator<Item = u64>) -> LengthScale {
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

    pub(crate) fn stretch_length(self, length: u64) -> u64 {
        length * self.factor
    }

    /// The shared length that a sum of lengths for a group of so many values needs.
    pub(super) fn share_sum(self, sum: u64, count: u64) -> u64 {
        let stretched = u128::from(sum) * u128::from(self.factor);
        u64::try_from(stretched.div_ceil(u128::from(count.max(1)))).unwrap_or(u64::MAX)
    }
}

/// A flow whose shortest paths count.
pub(crate) struct MeasuredFlow {
    /// The demand that has lengths of its own; `None` for single values.
    pub(crate) demand: Option<u32>,
    pub(crate) origin: Vertex,
    pub(crate) receivers: Vec<Vertex>,
}

/// Lengths in a network, of which distances are potentials.
pub(super) struct LayeredLengths<'a> {
    topology: &'a Topology,
    layering: Layering,
    pairs: &'a [PairLength],
    /// The shared ones, in each hop.
    shared: BTreeMap<LayerEdge, u64>,
}

impl<'a> LayeredLengths<'a> {
    pub(super) fn new(
        topology: &'a Topology,
        layering: Layering,
        shared: &[SharedLength],
        pairs: &'a [PairLength],
    ) -> LayeredLengths<'a> {
        let layers = layering.count_layers();
        let spread = |length: &SharedLength| {
            let SharedLength { step, edge, length } = *length;
            let layers = match layering {
                Layering::Unlimited | Layering::Steps(_) => step..=step,
                Layering::Hops(_) => 1..=layers,
            };
            layers.map(move |layer| (LayerEdge { layer, edge }, length))
        };
        let shared = shared.iter().flat_map(spread).collect();
        LayeredLengths { topology, layering, pairs, shared }
    }

    /// The bound that the potentials of all flows show.
    pub(super) fn measure_value(&self, demands: &DemandList) -> Result<Rational, BoundError> {
        let mut needed: i128 = 0;
        let mut sums: BTreeMap<u32, BTreeMap<LayerEdge, u64>> = BTreeMap::new();
        let mut uses: BTreeMap<LayerEdge, u64> = BTreeMap::new();
        let is_same_pair = |a: &PairLength, b: &PairLength| {
            (a.demand, a.origin, a.receiver) == (b.demand, b.origin, b.receiver)
        };
        for of_pair in self.pairs.chunk_by(is_same_pair) {
            let Some(PairLength { demand, origin, receiver, .. }) = of_pair.first() else {
                continue;
            };
            let receivers = vec![*receiver];
            let flow = MeasuredFlow { demand: Some(*demand), origin: *origin, receivers };
            let potentials = self.measure_potentials(&flow);
            needed += find_end(&potentials, *receiver);
            let sums = sums.entry(*demand).or_default();
            for (place, rise) in self.measure_rises(&potentials) {
                *sums.entry(place).or_default() += rise;
            }
        }
        for (demand, sums) in sums {
            let count = demands.as_slice().get(demand as usize).map_or(1, |demand| demand.count);
            for (place, sum) in sums {
                self.raise_use(&mut uses, place, sum.div_ceil(count));
            }
        }
        for (origin, singles) in collect_singles(demands) {
            let receivers = singles.iter().map(|single| single.receiver).collect();
            let flow = MeasuredFlow { demand: None, origin, receivers };
            let potentials = self.measure_potentials(&flow);
            for SingleReceiver { receiver, count } in singles {
                needed += i128::from(count) * find_end(&potentials, receiver);
            }
            for (place, rise) in self.measure_rises(&potentials) {
                self.raise_use(&mut uses, place, rise);
            }
        }
        let offered = self.measure_offer(&uses);
        Ok(Rational::new(needed, offered.max(1))?.checked_div(self.topology.quantum())?)
    }

    fn raise_use(&self, uses: &mut BTreeMap<LayerEdge, u64>, place: LayerEdge, amount: u64) {
        let layer = self.layering.find_time_index(place.layer) + 1;
        let most = uses.entry(LayerEdge { layer, ..place }).or_default();
        *most = amount.max(*most);
    }

    /// What edges offer in a round of the step that offers most.
    fn measure_offer(&self, uses: &BTreeMap<LayerEdge, u64>) -> i128 {
        let weights: Vec<u64> = self.topology.weighted_edges().map(|(_, weight)| weight).collect();
        let weights: DenseMap<EdgeIndex, u64> = weights.into();
        let mut offers: BTreeMap<u32, i128> = BTreeMap::new();
        for (LayerEdge { layer, edge }, used) in uses {
            *offers.entry(*layer).or_default() += i128::from(weights[*edge]) * i128::from(*used);
        }
        offers.into_values().max().unwrap_or(0)
    }

    /// By how much potentials rise along edges, if they do.
    fn measure_rises(&self, potentials: &[DenseMap<Vertex, i128>]) -> Vec<(LayerEdge, u64)> {
        let mut rises = Vec::new();
        for layer in 1..=self.layering.count_layers() {
            let index = layer as usize;
            let after = potentials.get(index).or(potentials.last());
            let (Some(before), Some(after)) = (potentials.get(index - 1), after) else { continue };
            for (edge, ends) in (0..).map(EdgeIndex).zip(self.topology.edges()) {
                let tails = if self.topology.is_rank(ends.from) { before } else { after };
                let rise = u64::try_from(after[ends.to] - tails[ends.from]).unwrap_or(0);
                if rise > 0 {
                    rises.push((LayerEdge { layer, edge }, rise));
                }
            }
        }
        rises
    }

    /// The distance of each vertex from the origin of a flow, at the begin and after each layer; without layers once.
    /// None is larger than that of the farthest receiver at the end.
    pub(super) fn measure_potentials(&self, flow: &MeasuredFlow) -> Vec<DenseMap<Vertex, i128>> {
        let own: BTreeMap<LayerEdge, u64>;
        let lengths = match flow.demand {
            None => &self.shared,
            Some(demand) => {
                own = self.find_pair(demand, flow);
                &own
            }
        };
        let mut times = self.measure_distances(flow.origin, lengths);
        let farthest = flow.receivers.iter().map(|receiver| find_end(&times, *receiver)).max();
        let farthest = farthest.unwrap_or(0);
        for distances in &mut times {
            distances.as_mut_slice().iter_mut().for_each(|own| *own = farthest.min(*own));
        }
        times
    }

    /// The lengths of a pair.
    fn find_pair(&self, demand: u32, flow: &MeasuredFlow) -> BTreeMap<LayerEdge, u64> {
        let Some(&receiver) = flow.receivers.first() else { return BTreeMap::new() };
        let pair = (demand, flow.origin, receiver);
        let place = |own: &PairLength| (own.demand, own.origin, own.receiver);
        let first = self.pairs.partition_point(|own| place(own) < pair);
        let of_pair = self.pairs.iter().skip(first).take_while(|own| place(own) == pair);
        let lengths = of_pair.map(|own| {
            let PairLength { layer, edge, length, .. } = *own;
            (LayerEdge { layer, edge }, length)
        });
        lengths.collect()
    }

    /// The length of the shortest path to each vertex, by going layer by layer. Edges that are not named have length 0.
    fn measure_distances(
        &self,
        origin: Vertex,
        own: &BTreeMap<LayerEdge, u64>,
    ) -> Vec<DenseMap<Vertex, i128>> {
        let unreached = i128::MAX / 4;
        let mut start: DenseMap<Vertex, i128> =
            DenseMap::filled(self.topology.count_vertices(), unreached);
        start[origin] = 0;
        let is_layered = self.layering != Layering::Unlimited;
        let mut times = vec![start.clone()];
        let mut before = start;
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
            self.relax_edges(&before, &mut after, &lengths);
            if !is_layered {
                times.clear();
            }
            times.push(after.clone());
            before = after;
        }
        times
    }

    /// Goes along edges until nothing changes. In a layer, paths lead from ranks to ranks, through switches; without
    /// layers through ranks, too.
    fn relax_edges(
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

/// The potential of a vertex at the end.
fn find_end(potentials: &[DenseMap<Vertex, i128>], vertex: Vertex) -> i128 {
    potentials.last().map_or(0, |last| last[vertex])
}

/// Who gets single values of an origin, and how many.
struct SingleReceiver {
    receiver: Vertex,
    count: u64,
}

/// The single values, by their origins.
fn collect_singles(demands: &DemandList) -> BTreeMap<Vertex, Vec<SingleReceiver>> {
    let mut singles: BTreeMap<Vertex, Vec<SingleReceiver>> = BTreeMap::new();
    for single in demands.as_slice().iter().filter_map(find_single) {
        let SingleValue { origin, receiver, count } = single;
        singles.entry(origin).or_default().push(SingleReceiver { receiver, count });
    }
    singles
}
