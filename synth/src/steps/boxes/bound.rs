//! Bounds on the time of an AllToAll with any amounts on boxes, each with what shows it: cuts around boxes and around
//! ranks, and what all ports inside boxes carry together.

use super::BoxError;
use super::grouping::{BoxGrouping, BoxIndex};
use super::traffic::TrafficMatrix;
use crate::dense::DenseMap;
use crate::flow::{FlowNetwork, FlowNode};
use crate::graph::{Topology, Vertex};
use crate::rational::Rational;
use std::collections::VecDeque;
use std::fmt;

/// What an AllToAll cannot be faster than.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxBound {
    /// The time, in rounds per unit, or in seconds per byte of a unit.
    pub value: Rational,
    /// What shows it.
    pub witness: BoxWitness,
}

/// What shows a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxWitness {
    /// What a box has for others leaves it: a row of the matrix of boxes.
    BoxSends(BoxIndex),
    /// What others have for a box enters it: a column of the matrix of boxes.
    BoxReceives(BoxIndex),
    /// What a rank has for others leaves it.
    RankSends(Vertex),
    /// What others have for a rank enters it.
    RankReceives(Vertex),
    /// All edges by which ranks send inside boxes carry what cannot do without them.
    InsidePorts,
}

impl fmt::Display for BoxWitness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BoxWitness::BoxSends(own) => write!(f, "what must leave box {}", own.0),
            BoxWitness::BoxReceives(own) => write!(f, "what must enter box {}", own.0),
            BoxWitness::RankSends(rank) => write!(f, "what must leave rank {rank}"),
            BoxWitness::RankReceives(rank) => write!(f, "what must enter rank {rank}"),
            BoxWitness::InsidePorts => write!(f, "what the links inside boxes must carry"),
        }
    }
}

/// The largest of the bounds; of equal ones the first kind.
///
/// # Errors
/// [`BoxError::BadMatrix`], [`BoxError::Unreachable`] and [`BoxError::Arithmetic`].
pub fn bound_box_alltoall(
    topology: &Topology,
    boxes: &BoxGrouping,
    traffic: &TrafficMatrix,
) -> Result<BoxBound, BoxError> {
    if traffic.count_ranks() != topology.count_ranks() {
        return Err(BoxError::BadMatrix);
    }
    let sums = traffic.sum_boxes(boxes);
    let mut best = BoxBound { value: Rational::ZERO, witness: BoxWitness::InsidePorts };
    let mut consider = |amount: u64, capacity: u64, witness| {
        if amount > 0 && capacity > 0 {
            let rounds = Rational::new(i128::from(amount), i128::from(capacity))?;
            let value = rounds.checked_div(topology.quantum())?;
            if value > best.value {
                best = BoxBound { value, witness };
            }
        }
        Ok::<(), BoxError>(())
    };
    for own in boxes.indices() {
        let [sent, received] = [
            boxes.indices().map(|other| sums[own][other]).sum(),
            boxes.indices().map(|other| sums[other][own]).sum(),
        ];
        consider(sent, measure_cut(topology, boxes, own, false), BoxWitness::BoxSends(own))?;
        consider(received, measure_cut(topology, boxes, own, true), BoxWitness::BoxReceives(own))?;
    }
    let mut leaving = DenseMap::filled(topology.count_vertices(), 0_u64);
    let mut entering = leaving.clone();
    let mut ports = 0;
    for (edge, weight) in topology.weighted_edges() {
        leaving[edge.from] += weight;
        entering[edge.to] += weight;
        if is_port(topology, boxes, edge.from, edge.to) {
            ports += weight;
        }
    }
    for rank in topology.ranks() {
        let others = || topology.ranks().filter(|other| *other != rank);
        let sent = others().map(|other| traffic.count(rank, other)).sum();
        let received = others().map(|other| traffic.count(other, rank)).sum();
        consider(sent, leaving[rank], BoxWitness::RankSends(rank))?;
        consider(received, entering[rank], BoxWitness::RankReceives(rank))?;
    }
    consider(count_port_uses(topology, boxes, traffic)?, ports, BoxWitness::InsidePorts)?;
    Ok(best)
}

/// Whether an edge is one by which a rank sends inside its box.
fn is_port(topology: &Topology, boxes: &BoxGrouping, from: Vertex, to: Vertex) -> bool {
    topology.is_rank(from) && boxes.is_inside(from, to)
}

/// How much the edges out of a box, or into it, carry: the least cut between its ranks and all others.
fn measure_cut(topology: &Topology, boxes: &BoxGrouping, own: BoxIndex, is_reversed: bool) -> u64 {
    let vertices = topology.count_vertices() as u32;
    let [source, sink] = [FlowNode(vertices), FlowNode(vertices + 1)];
    let mut network = FlowNetwork::new(vertices as usize + 2);
    let mut total = 0;
    for (edge, weight) in topology.weighted_edges() {
        let [from, to] = [FlowNode(edge.from.0), FlowNode(edge.to.0)];
        let [from, to] = if is_reversed { [to, from] } else { [from, to] };
        network.add_arc(from, to, weight);
        total += weight;
    }
    for rank in topology.ranks() {
        let node = FlowNode(rank.0);
        if boxes.home(rank) == Some(own) {
            network.add_arc(source, node, total);
        } else {
            network.add_arc(node, sink, total);
        }
    }
    network.maximize_flow(source, sink, u64::MAX)
}

/// How many ports the units pass at least: each goes a way with the fewest.
fn count_port_uses(
    topology: &Topology,
    boxes: &BoxGrouping,
    traffic: &TrafficMatrix,
) -> Result<u64, BoxError> {
    let mut leaving = DenseMap::filled(topology.count_vertices(), Vec::new());
    for edge in topology.edges() {
        leaving[edge.from].push((edge.to, is_port(topology, boxes, edge.from, edge.to)));
    }
    let mut uses: u64 = 0;
    for from in topology.ranks() {
        let mut fewest: DenseMap<Vertex, Option<u64>> =
            DenseMap::filled(topology.count_vertices(), None);
        fewest[from] = Some(0);
        let mut open = VecDeque::from([(from, 0)]);
        // What has fewer ports comes first: edges that are no ports go to the front.
        while let Some((vertex, ports)) = open.pop_front() {
            if fewest[vertex] != Some(ports) {
                continue;
            }
            for &(to, is_port) in &leaving[vertex] {
                let ports = ports + u64::from(is_port);
                if fewest[to].is_none_or(|known| ports < known) {
                    fewest[to] = Some(ports);
                    if is_port {
                        open.push_back((to, ports));
                    } else {
                        open.push_front((to, ports));
                    }
                }
            }
        }
        for to in topology.ranks().filter(|to| traffic.count(from, *to) > 0) {
            let ports = fewest[to].ok_or(BoxError::Unreachable { from, to })?;
            let own = traffic.count(from, to).checked_mul(ports);
            uses = own.and_then(|own| uses.checked_add(own)).ok_or(BoxError::TooLarge)?;
        }
    }
    Ok(uses)
}
