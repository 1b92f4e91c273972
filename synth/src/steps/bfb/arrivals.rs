//! What one rank gets in one step, as a flow from the origins to the hops into the rank.

use super::super::ConstructionError;
use super::super::hops::HopFinder;
use crate::dense::DenseMap;
use crate::flow::{FlowArc, FlowNetwork, FlowNode};
use crate::graph::{EdgeIndex, Vertex};
use crate::rational::Rational;
use std::collections::BTreeMap;

/// What a rank gets in a step.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    /// The rank.
    pub(super) receiver: Vertex,
    /// Units, each as a whole.
    pub(super) deliveries: Vec<Delivery>,
    /// The edges by which hops into the rank can go.
    pub(super) edges: Vec<EdgeIndex>,
}

/// A unit that a rank gets in a step.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    /// Where it comes from.
    pub(super) origin: Vertex,
    /// The ranks that have it before the step and from which a hop leads to the receiver.
    pub(super) holders: Vec<Vertex>,
}

/// Pieces of one unit that take the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    /// Which delivery they are of.
    pub(super) delivery: usize,
    /// How many there are.
    pub(super) amount: u64,
    /// The edges, in order.
    pub(super) path: Vec<EdgeIndex>,
}

/// The network of the flow: from a source to one node for each delivery, from there to its holders, and over the edges
/// of the hops to the receiver.
pub(super) struct ArrivalNetwork {
    network: FlowNetwork,
    /// For each delivery the arc from the source to its node.
    supplies: Vec<FlowArc>,
    /// For each delivery the arcs to its holders.
    choices: Vec<Vec<FlowArc>>,
    /// The arcs of the edges.
    edges: Vec<EdgeArc>,
}

#[derive(Clone, Copy)]
struct EdgeArc {
    edge: EdgeIndex,
    arc: FlowArc,
}

/// The capacity of every arc, until a flow is searched for.
const UNSET: u64 = 0;

const SOURCE: FlowNode = FlowNode(0);
const SINK: FlowNode = FlowNode(1);

impl ArrivalNetwork {
    pub(super) fn new(finder: &HopFinder<'_>, arrivals: &Arrivals) -> ArrivalNetwork {
        let mut next = 2 + arrivals.deliveries.len() as u32;
        let mut nodes = BTreeMap::from([(arrivals.receiver, SINK)]);
        for &edge in &arrivals.edges {
            let edge = finder.edge(edge);
            for vertex in [edge.from, edge.to] {
                nodes.entry(vertex).or_insert_with(|| {
                    next += 1;
                    FlowNode(next - 1)
                });
            }
        }
        let mut network = FlowNetwork::new(next as usize);
        let (mut supplies, mut choices) = (Vec::new(), Vec::new());
        for (node, delivery) in (2..).map(FlowNode).zip(&arrivals.deliveries) {
            supplies.push(network.add_arc(SOURCE, node, UNSET));
            let holders = delivery.holders.iter().filter_map(|holder| nodes.get(holder));
            choices.push(holders.map(|holder| network.add_arc(node, *holder, UNSET)).collect());
        }
        let mut edges = Vec::with_capacity(arrivals.edges.len());
        for &edge in &arrivals.edges {
            let ends = finder.edge(edge);
            if let (Some(from), Some(to)) = (nodes.get(&ends.from), nodes.get(&ends.to)) {
                edges.push(EdgeArc { edge, arc: network.add_arc(*from, *to, UNSET) });
            }
        }
        ArrivalNetwork { network, supplies, choices, edges }
    }

    /// Searches for a flow of so much from each delivery within the capacities of edges. Returns how much there is.
    pub(super) fn maximize(&mut self, supply: u64, capacity: impl Fn(EdgeIndex) -> u64) -> u64 {
        for arc in self.supplies.iter().chain(self.choices.iter().flatten()) {
            self.network.set_capacity(*arc, supply);
        }
        for own in &self.edges {
            self.network.set_capacity(own.arc, capacity(own.edge));
        }
        self.network.clear_flow();
        self.network.maximize_flow(SOURCE, SINK, u64::MAX)
    }

    /// The same, where as many deliveries as possible come from one holder as a whole: their pieces are not told apart.
    pub(super) fn maximize_wholes(
        &mut self,
        supply: u64,
        capacity: impl Fn(EdgeIndex) -> u64,
    ) -> u64 {
        let wholes = self.maximize(1, |edge| capacity(edge) / supply.max(1));
        for arc in self.supplies.iter().chain(self.choices.iter().flatten()) {
            self.network.set_capacity(*arc, supply);
        }
        for own in &self.edges {
            self.network.set_capacity(own.arc, capacity(own.edge));
        }
        self.network.multiply_flow(supply);
        wholes * supply + self.network.maximize_flow(SOURCE, SINK, u64::MAX)
    }

    /// After a flow that leaves something out: the ratio of the deliveries on the side of the source of a minimum cut
    /// to the rates that leave this side. No schedule takes fewer rounds for each piece.
    fn find_bottleneck(&self, finder: &HopFinder<'_>) -> Result<Rational, ConstructionError> {
        let near: DenseMap<FlowNode, bool> = self.network.collect_reachable(SOURCE);
        let deliveries = self.supplies.iter().filter(|arc| near[self.network.head(**arc)]).count();
        let is_cut =
            |own: &&EdgeArc| near[self.network.tail(own.arc)] && !near[self.network.head(own.arc)];
        let rate: u64 = self.edges.iter().filter(is_cut).map(|own| finder.weight(own.edge)).sum();
        Ok(Rational::new(deliveries as i128, i128::from(rate))?)
    }

    /// The ways of the flow that was found.
    pub(super) fn decompose(&self, finder: &HopFinder<'_>) -> Vec<Passage> {
        let mut left: BTreeMap<EdgeIndex, u64> = BTreeMap::new();
        let mut leaving: BTreeMap<u32, Vec<EdgeArc>> = BTreeMap::new();
        for own in self.edges.iter().filter(|own| self.network.flow(own.arc) > 0) {
            left.insert(own.edge, self.network.flow(own.arc));
            leaving.entry(self.network.tail(own.arc).0).or_default().push(*own);
        }
        let mut passages = Vec::new();
        for (delivery, choices) in self.choices.iter().enumerate() {
            for &choice in choices {
                let mut open = self.network.flow(choice);
                while open > 0 {
                    let Some(path) = self.follow(choice, &left, &leaving) else { break };
                    let room = path.iter().filter_map(|own| left.get(&own.edge)).min();
                    let amount = room.copied().unwrap_or(0).min(open);
                    for own in &path {
                        left.entry(own.edge).and_modify(|rest| *rest -= amount);
                    }
                    open -= amount;
                    let path = path.into_iter().map(|own| own.edge).collect();
                    passages.push(Passage { delivery, amount, path: remove_circles(finder, path) });
                }
            }
        }
        passages
    }

    /// A way along which there is flow left, from where an arc ends to the receiver.
    fn follow(
        &self,
        choice: FlowArc,
        left: &BTreeMap<EdgeIndex, u64>,
        leaving: &BTreeMap<u32, Vec<EdgeArc>>,
    ) -> Option<Vec<EdgeArc>> {
        let mut path: Vec<EdgeArc> = Vec::new();
        let mut node = self.network.head(choice);
        while node != SINK {
            let has_flow = |own: &&EdgeArc| {
                let taken = path.iter().filter(|other| other.edge == own.edge).count() as u64;
                left.get(&own.edge).is_some_and(|rest| *rest > taken)
            };
            let own = *leaving.get(&node.0)?.iter().find(has_flow)?;
            node = self.network.head(own.arc);
            path.push(own);
        }
        Some(path)
    }
}

/// A path without what leads back to a vertex that it has visited.
fn remove_circles(finder: &HopFinder<'_>, path: Vec<EdgeIndex>) -> Vec<EdgeIndex> {
    let mut simple: Vec<EdgeIndex> = Vec::new();
    for edge in path {
        simple.push(edge);
        let at = finder.edge(edge).to;
        if let Some(first) = simple.iter().position(|edge| finder.edge(*edge).from == at) {
            simple.truncate(first);
        }
    }
    simple
}

/// How many rounds a receiver needs at least for each piece of a unit, on its own, if that is more than a ratio that is
/// known; else this ratio. A minimum cut shows a larger ratio as long as a flow leaves something out (Newton's method;
/// Dinkelbach, "On nonlinear fractional programming", 1967).
pub(super) fn bound_rounds(
    finder: &HopFinder<'_>,
    arrivals: &Arrivals,
    known: Rational,
) -> Result<Rational, ConstructionError> {
    if arrivals.deliveries.is_empty() {
        return Ok(known);
    }
    let mut network = ArrivalNetwork::new(finder, arrivals);
    let mut ratio = known;
    loop {
        let convert = |part: i128| u64::try_from(part).map_err(|_| ConstructionError::TooLarge);
        let (factor, supply) = (convert(ratio.numerator())?, convert(ratio.denominator())?);
        let total = supply.checked_mul(arrivals.deliveries.len() as u64);
        let total = total.ok_or(ConstructionError::TooLarge)?;
        // Products of rates and a number of deliveries fit: a topology has no larger rates.
        if network.maximize(supply, |edge| finder.weight(edge) * factor) == total {
            return Ok(ratio);
        }
        ratio = network.find_bottleneck(finder)?;
    }
}
