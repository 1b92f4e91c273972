//! The network of steps of one root.

use super::super::ConstructionError;
use super::super::hops::HopFinder;
use super::super::legs::{RouteLeg, list_moves};
use super::cover::RoundInequality;
use crate::dense::DenseMap;
use crate::flow::{FlowArc, FlowNetwork, FlowNode};
use crate::graph::Vertex;
use crate::schedule::{Move, Piece};

/// How many arcs a network may have; some 50 bytes each. [`ConstructionError::TooLarge`] reports it.
const MAX_ARCS: u64 = 1 << 23;

/// Each vertex, once before each step and once after the last one, and a sink. Edges into switches stay before the
/// step.
pub(super) struct ScatterNetwork<'a> {
    finder: HopFinder<'a>,
    root: Vertex,
    steps: u32,
    network: FlowNetwork,
    legs: Vec<LegArc>,
    waits: Vec<FlowArc>,
    deliveries: Vec<DeliveryArc>,
}

#[derive(Clone, Copy)]
struct LegArc {
    leg: RouteLeg,
    arc: FlowArc,
}

#[derive(Clone, Copy)]
struct DeliveryArc {
    rank: Vertex,
    arc: FlowArc,
}

/// What an arc with flow is.
#[derive(Clone, Copy)]
enum Passing {
    Wait,
    Leg(RouteLeg),
    Delivery(Vertex),
}

/// Flow that has to be followed.
#[derive(Clone, Copy)]
struct OpenFlow {
    passing: Passing,
    to: FlowNode,
    left: u64,
}

impl<'a> ScatterNetwork<'a> {
    pub(super) fn new(
        finder: HopFinder<'a>,
        root: Vertex,
        steps: u32,
    ) -> Result<ScatterNetwork<'a>, ConstructionError> {
        let topology = finder.topology();
        let vertices = topology.count_vertices() as u64;
        let arcs = (vertices + topology.edges().len() as u64) * (u64::from(steps) + 1);
        if arcs > MAX_ARCS {
            return Err(ConstructionError::TooLarge);
        }
        let sink = FlowNode((vertices * (u64::from(steps) + 1)) as u32);
        let mut built = ScatterNetwork {
            network: FlowNetwork::new(sink.0 as usize + 1),
            legs: Vec::new(),
            waits: Vec::new(),
            deliveries: Vec::new(),
            finder,
            root,
            steps,
        };
        for step in 0..steps {
            for rank in topology.ranks() {
                let (from, to) = (built.find_node(rank, step), built.find_node(rank, step + 1));
                built.waits.push(built.network.add_arc(from, to, 0));
            }
            for (edge, ends) in (0..).map(crate::graph::EdgeIndex).zip(topology.edges()) {
                let arrival = step + u32::from(topology.is_rank(ends.to));
                let (from, to) =
                    (built.find_node(ends.from, step), built.find_node(ends.to, arrival));
                let leg = RouteLeg { step, edge };
                built.legs.push(LegArc { leg, arc: built.network.add_arc(from, to, 0) });
            }
        }
        for rank in topology.ranks().filter(|rank| *rank != root) {
            let arc = built.network.add_arc(built.find_node(rank, steps), sink, 0);
            built.deliveries.push(DeliveryArc { rank, arc });
        }
        Ok(built)
    }

    fn find_node(&self, vertex: Vertex, step: u32) -> FlowNode {
        FlowNode(step * self.finder.topology().count_vertices() as u32 + vertex.0)
    }

    fn find_sink(&self) -> FlowNode {
        self.find_node(Vertex(0), self.steps + 1)
    }

    /// Searches for ways of all pieces in so many rounds of each step. If there are none, returns an inequality that
    /// the rounds violate.
    pub(super) fn try_rounds(&mut self, rounds: &[u64], chunks: u32) -> Option<RoundInequality> {
        let total = self.deliveries.len() as u64 * u64::from(chunks);
        for own in &self.legs {
            let rounds = rounds.get(own.leg.step as usize).copied().unwrap_or(0);
            let capacity = rounds.saturating_mul(self.finder.weight(own.leg.edge)).min(total);
            self.network.set_capacity(own.arc, capacity);
        }
        self.waits.iter().for_each(|arc| self.network.set_capacity(*arc, total));
        for own in &self.deliveries {
            self.network.set_capacity(own.arc, u64::from(chunks));
        }
        self.network.clear_flow();
        let (source, sink) = (self.find_node(self.root, 0), self.find_sink());
        if self.network.maximize_flow(source, sink, total) == total {
            return None;
        }
        let near: DenseMap<FlowNode, bool> = self.network.collect_reachable(source);
        let mut factors = vec![0; rounds.len()];
        for own in &self.legs {
            let is_cut = near[self.network.tail(own.arc)] && !near[self.network.head(own.arc)];
            if is_cut && let Some(factor) = factors.get_mut(own.leg.step as usize) {
                *factor += self.finder.weight(own.leg.edge);
            }
        }
        let is_far = |own: &&DeliveryArc| !near[self.network.tail(own.arc)];
        let amount = self.deliveries.iter().filter(is_far).count() as u64;
        Some(RoundInequality { factors, amount })
    }

    /// The moves of the flow that was found.
    pub(super) fn list_moves(&self, chunks: u32) -> Vec<Move> {
        let mut leaving: DenseMap<FlowNode, Vec<OpenFlow>> =
            DenseMap::filled(self.find_sink().0 as usize + 1, Vec::new());
        let mut add = |arc: FlowArc, passing: Passing| {
            let left = self.network.flow(arc);
            if left > 0 {
                let to = self.network.head(arc);
                leaving[self.network.tail(arc)].push(OpenFlow { passing, to, left });
            }
        };
        self.deliveries.iter().for_each(|own| add(own.arc, Passing::Delivery(own.rank)));
        self.legs.iter().for_each(|own| add(own.arc, Passing::Leg(own.leg)));
        self.waits.iter().for_each(|arc| add(*arc, Passing::Wait));
        let mut moves = Vec::new();
        let mut next: DenseMap<Vertex, u32> =
            DenseMap::filled(self.finder.topology().count_ranks() as usize, 0);
        for _ in 0..self.deliveries.len() as u64 * u64::from(chunks) {
            let mut legs: Vec<RouteLeg> = Vec::new();
            let mut node = self.find_node(self.root, 0);
            while node != self.find_sink() {
                let Some(open) = leaving[node].iter_mut().find(|open| open.left > 0) else { break };
                open.left -= 1;
                node = open.to;
                match open.passing {
                    Passing::Wait => {}
                    Passing::Leg(leg) => legs.push(leg),
                    Passing::Delivery(rank) => {
                        let piece = Piece(rank.0 * chunks + next[rank]);
                        next[rank] += 1;
                        moves.extend(list_moves(&self.finder, piece, &legs));
                    }
                }
            }
        }
        moves
    }
}
