//! The search for the cuts that bind.

use super::groups::{Commodity, FlowGroup, GroupMeaning};
use super::measure::{LengthScale, Lengths};
use super::network::{DirectedWays, LayerArc, LayerEdge, LayeredNetwork, Ways};
use super::{Layering, PairLength};
use crate::bound::budget::{TOLERATED_LACK, WHOLE_FLOW};
use crate::bound::cutting::{CutFinder, CutProgram, PricedRow, ViolatedCut};
use crate::bound::rounding::{find_time, rate_fractions};
use crate::dense::DenseMap;
use crate::flow::FlowNode;
use crate::graph::Topology;
use crate::observer::SearchObserver;
use crate::simplex::{LinearTerm, Unknown};
use std::collections::BTreeMap;

/// A row that says that a cut lets a commodity pass: which one, and the edges.
pub(super) struct FlowCut {
    group: usize,
    commodity: usize,
    places: Vec<LayerEdge>,
}

/// A variable: which part of the values of a group is sent over an edge in a layer.
struct SentPart {
    place: LayerArc,
    unknown: Unknown,
}

/// The search, for all groups.
pub(super) struct FlowSearch<'a> {
    topology: &'a Topology,
    network: LayeredNetwork,
    groups: &'a [FlowGroup],
    layering: Layering,
    /// Of each group the variables; others are zero in every solution worth having.
    parts: Vec<Vec<SentPart>>,
    /// The largest count of a group. Times are measured in multiples of it.
    largest_count: u64,
    variable_count: usize,
}

impl<'a> FlowSearch<'a> {
    pub(super) fn new(
        topology: &'a Topology,
        network: LayeredNetwork,
        groups: &'a [FlowGroup],
        layering: Layering,
    ) -> FlowSearch<'a> {
        let reversed = topology.reverse();
        let [forward, backward] = [topology, &reversed].map(DirectedWays::new);
        let ways = Ways { forward, backward };
        let mut next = layering.count_times();
        let mut parts = Vec::new();
        for group in groups {
            let usable = network.collect_usable(&ways, group).into_iter();
            let of_group: Vec<SentPart> = (next..)
                .map(Unknown)
                .zip(usable)
                .map(|(unknown, place)| SentPart { place, unknown })
                .collect();
            next += of_group.len() as u32;
            parts.push(of_group);
        }
        let largest_count = groups.iter().map(|group| group.count).max().unwrap_or(1);
        let variable_count = next as usize;
        FlowSearch { topology, network, groups, layering, parts, largest_count, variable_count }
    }

    /// The program before there are cuts: the times, and in each layer no edge carries more than its rate allows.
    pub(super) fn build_program(&self) -> CutProgram<FlowCut> {
        let mut costs = vec![0.0; self.variable_count];
        let times = self.layering.count_times() as usize;
        costs.iter_mut().take(times).for_each(|cost| *cost = 1.0);
        let mut program = CutProgram::new(costs, DenseMap::filled(self.variable_count, 1.0));
        let rates = rate_fractions(self.topology);
        let mut rows: BTreeMap<LayerEdge, Vec<LinearTerm>> = BTreeMap::new();
        for (group, parts) in self.groups.iter().zip(&self.parts) {
            let share = group.count as f64 / self.largest_count as f64;
            for SentPart { place, unknown } in parts {
                let LayerEdge { layer, edge } = place.place;
                let time = self.layering.find_time_index(layer);
                let row = rows.entry(LayerEdge { layer: time + 1, edge }).or_insert_with(|| {
                    vec![LinearTerm { unknown: Unknown(time), factor: rates[edge] }]
                });
                row.push(LinearTerm { unknown: *unknown, factor: -share });
            }
        }
        for terms in rows.values() {
            program.add_fixed_row(terms, 0.0, None);
        }
        program
    }

    /// The time of a solution of the program.
    pub(super) fn find_solution(&self, objective: f64) -> f64 {
        find_time(self.topology, objective * self.largest_count as f64)
    }

    /// The lengths that cuts with their prices in the dual solution make.
    pub(super) fn spread_prices(&self, priced: &[PricedRow<'_, FlowCut>]) -> Lengths {
        let scale = LengthScale::new(self.groups.iter().map(|group| group.count));
        let mut pairs: BTreeMap<PairLength, u64> = BTreeMap::new();
        let mut sums: Vec<BTreeMap<LayerEdge, u64>> = vec![BTreeMap::new(); self.groups.len()];
        for PricedRow { meaning: cut, price } in priced {
            let (Some(group), Some(sums)) = (self.groups.get(cut.group), sums.get_mut(cut.group))
            else {
                continue;
            };
            for place in &cut.places {
                *sums.entry(*place).or_default() += price;
                if let Some(pair) = name_pair(group, cut.commodity, *place) {
                    *pairs.entry(pair).or_default() += scale.stretch_length(*price);
                }
            }
        }
        let mut shared: BTreeMap<LayerEdge, u64> = BTreeMap::new();
        for (group, sums) in self.groups.iter().zip(sums) {
            for (LayerEdge { layer, edge }, sum) in sums {
                let step = self.layering.find_time_index(layer) + 1;
                let most = shared.entry(LayerEdge { layer: step, edge }).or_default();
                *most = (*most).max(scale.share_sum(sum, group.count));
            }
        }
        Lengths::new(shared, pairs)
    }
}

/// The pair of ranks whose lengths a cut adds to, without a length; `None` for single values, which have none.
fn name_pair(group: &FlowGroup, commodity: usize, place: LayerEdge) -> Option<PairLength> {
    let GroupMeaning::Demand(demand) = group.meaning else { return None };
    let Commodity { origins, receivers } = group.commodities.get(commodity)?;
    let [origin, receiver] = [origins.first()?.vertex, receivers.first()?.vertex];
    let LayerEdge { layer, edge } = place;
    Some(PairLength { demand, origin, receiver, layer, edge, length: 0 })
}

impl CutFinder<FlowCut> for FlowSearch<'_> {
    fn find_violated_cuts(
        &mut self,
        values: &DenseMap<Unknown, f64>,
        observer: &dyn SearchObserver,
    ) -> Vec<ViolatedCut<FlowCut>> {
        let mut found = Vec::new();
        for (group_index, (group, parts)) in self.groups.iter().zip(&self.parts).enumerate() {
            for place in &self.network.arcs {
                self.network.flow.set_capacity(place.arc, 0);
            }
            for SentPart { place, unknown } in parts {
                // One more, so that of several minimum cuts one of few edges is found.
                let sent = (values[*unknown].clamp(0.0, 1.0) * WHOLE_FLOW as f64) as u64;
                self.network.flow.set_capacity(place.arc, sent + 1);
            }
            for (commodity_index, commodity) in group.commodities.iter().enumerate() {
                if observer.is_stopped() {
                    return found;
                }
                for side in find_cuts(&mut self.network, commodity) {
                    let bound = self.network.measure_demand(commodity, &side);
                    let mut terms = Vec::new();
                    let mut places = Vec::new();
                    for SentPart { place, unknown } in parts {
                        let flow = &self.network.flow;
                        if side[flow.tail(place.arc)] && !side[flow.head(place.arc)] {
                            terms.push(LinearTerm { unknown: *unknown, factor: 1.0 });
                            places.push(place.place);
                        }
                    }
                    let meaning =
                        FlowCut { group: group_index, commodity: commodity_index, places };
                    found.push(ViolatedCut { terms, bound, meaning });
                }
            }
        }
        found
    }
}

/// The sides of the source of the two outermost minimum cuts, if less than a commodity passes.
fn find_cuts(network: &mut LayeredNetwork, commodity: &Commodity) -> Vec<DenseMap<FlowNode, bool>> {
    network.open_ends(commodity);
    network.flow.clear_flow();
    let needed = WHOLE_FLOW - TOLERATED_LACK;
    if network.flow.maximize_flow(network.source, network.sink, needed) >= needed {
        return Vec::new();
    }
    let near = network.flow.collect_reachable(network.source);
    let far = network.flow.collect_reaching(network.sink);
    let far = far.as_slice().iter().map(|is_in| !is_in).collect::<Vec<bool>>().into();
    if near == far { vec![near] } else { vec![near, far] }
}
