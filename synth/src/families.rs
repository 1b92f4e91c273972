//! Machines of regular shape, with relative rates: what the literature measures on, and what tests compare with.
//!
//! Every link goes both ways, has no latency and all abilities. Rates are chunks per round.

use crate::graph::{
    DirectedEdge, EdgeAbilities, EdgeRate, RateUnit, SwitchAbilities, Topology, TopologyError,
    Vertex,
};
use crate::rational::Rational;

/// A topology under construction, in relative rates.
#[derive(Clone, Debug)]
pub struct RelativeGraph {
    ranks: u32,
    switches: Vec<SwitchAbilities>,
    edges: Vec<DirectedEdge>,
}

impl RelativeGraph {
    /// So many ranks, without any link.
    #[must_use]
    pub fn new(ranks: u32) -> RelativeGraph {
        RelativeGraph { ranks, switches: Vec::new(), edges: Vec::new() }
    }

    /// Adds a switch, and returns it.
    pub fn add_switch(&mut self, abilities: SwitchAbilities) -> Vertex {
        self.switches.push(abilities);
        Vertex(self.ranks + self.switches.len() as u32 - 1)
    }

    /// Adds one direction of a link.
    pub fn add_edge(&mut self, from: Vertex, to: Vertex, rate: u64) {
        let amount = Rational::from_integer(rate);
        self.edges.push(DirectedEdge {
            from,
            to,
            rate: EdgeRate { amount, unit: RateUnit::ChunksPerRound },
            latency_ns: 0,
            abilities: EdgeAbilities { memory: true, port: true },
        });
    }

    /// Adds both directions of a link.
    pub fn add_link(&mut self, one: Vertex, other: Vertex, rate: u64) {
        self.add_edge(one, other, rate);
        self.add_edge(other, one, rate);
    }

    /// The topology.
    ///
    /// # Errors
    /// Those of [`Topology::new`].
    pub fn build(self) -> Result<Topology, TopologyError> {
        Topology::new(self.ranks, self.switches, &self.edges)
    }
}

/// Ranks whose links form a circle, each of rate 1. Two ranks are joined by one link of rate 1.
///
/// # Errors
/// Those of [`Topology::new`].
pub fn build_ring(ranks: u32) -> Result<Topology, TopologyError> {
    let mut graph = RelativeGraph::new(ranks);
    let links = if ranks > 2 { ranks } else { ranks.saturating_sub(1) };
    for rank in 0..links {
        graph.add_link(Vertex(rank), Vertex((rank + 1) % ranks), 1);
    }
    graph.build()
}

/// Ranks in a row, joined by links of rate 1.
///
/// # Errors
/// Those of [`Topology::new`].
pub fn build_line(ranks: u32) -> Result<Topology, TopologyError> {
    let mut graph = RelativeGraph::new(ranks);
    for rank in 1..ranks {
        graph.add_link(Vertex(rank - 1), Vertex(rank), 1);
    }
    graph.build()
}

/// A link of a rate between any two ranks.
///
/// # Errors
/// Those of [`Topology::new`].
pub fn build_full(ranks: u32, rate: u64) -> Result<Topology, TopologyError> {
    let mut graph = RelativeGraph::new(ranks);
    for one in 0..ranks {
        for other in one + 1..ranks {
            graph.add_link(Vertex(one), Vertex(other), rate);
        }
    }
    graph.build()
}

/// `2^dimensions` ranks, joined by a link of rate 1 if their numbers differ in one bit.
///
/// # Errors
/// Those of [`Topology::new`], where 2^31 ranks stand for more dimensions.
pub fn build_hypercube(dimensions: u32) -> Result<Topology, TopologyError> {
    let ranks = 1 << dimensions.min(31);
    let mut graph = RelativeGraph::new(ranks);
    for rank in 0..ranks.min(crate::graph::MAX_VERTICES as u32) {
        for bit in (0..dimensions).filter(|bit| rank & (1 << bit) == 0) {
            graph.add_link(Vertex(rank), Vertex(rank | (1 << bit)), 1);
        }
    }
    graph.build()
}

/// A grid of ranks, row by row, whose rows and columns are rings with links of rate 1.
///
/// # Errors
/// Those of [`Topology::new`].
pub fn build_torus(rows: u32, columns: u32) -> Result<Topology, TopologyError> {
    let mut graph = RelativeGraph::new(rows.saturating_mul(columns));
    let rank = |row: u32, column: u32| Vertex((row % rows) * columns + column % columns);
    for row in 0..rows {
        for column in 0..columns {
            if rows > 2 || row + 1 < rows {
                graph.add_link(rank(row, column), rank(row + 1, column), 1);
            }
            if columns > 2 || column + 1 < columns {
                graph.add_link(rank(row, column), rank(row, column + 1), 1);
            }
        }
    }
    graph.build()
}

/// Ranks on the ports of one switch, each of rate 1.
///
/// # Errors
/// Those of [`Topology::new`].
pub fn build_hub(ranks: u32, abilities: SwitchAbilities) -> Result<Topology, TopologyError> {
    let mut graph = RelativeGraph::new(ranks);
    let hub = graph.add_switch(abilities);
    for rank in 0..ranks {
        graph.add_link(Vertex(rank), hub, 1);
    }
    graph.build()
}

/// Rank 0, joined to every other rank by a link of rate 1.
///
/// # Errors
/// Those of [`Topology::new`].
pub fn build_star(ranks: u32) -> Result<Topology, TopologyError> {
    let mut graph = RelativeGraph::new(ranks);
    for rank in 1..ranks {
        graph.add_link(Vertex(0), Vertex(rank), 1);
    }
    graph.build()
}

/// Two groups of ranks, each joined pairwise by links of a rate, and one link of rate 1 from the last rank of the
/// first group to the first rank of the second one.
///
/// # Errors
/// Those of [`Topology::new`].
pub fn build_two_cliques(ranks_each: u32, rate: u64) -> Result<Topology, TopologyError> {
    let mut graph = RelativeGraph::new(ranks_each.saturating_mul(2));
    for base in [0, ranks_each] {
        for one in base..base + ranks_each {
            for other in one + 1..base + ranks_each {
                graph.add_link(Vertex(one), Vertex(other), rate);
            }
        }
    }
    graph.add_link(Vertex(ranks_each.saturating_sub(1)), Vertex(ranks_each), 1);
    graph.build()
}

/// How boxes of GPUs are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxShape {
    /// How many boxes there are.
    pub boxes: u32,
    /// How many ranks are in a box.
    pub ranks: u32,
    /// The rate of a rank's port at the switch of its box.
    pub port_rate: u64,
    /// The rate of a rank's network card.
    pub card_rate: u64,
    /// How many switches join the boxes. The cards of the ranks `l` of each box go to switch `l % rails`; none are
    /// there if there is one box.
    pub rails: u32,
    /// What every switch can do.
    pub abilities: SwitchAbilities,
}

/// Boxes with a switch in each, and switches that join them: DGX and HGX machines, racks of NVL72.
///
/// # Errors
/// Those of [`Topology::new`].
pub fn build_boxes(shape: BoxShape) -> Result<Topology, TopologyError> {
    let mut graph = RelativeGraph::new(shape.boxes.saturating_mul(shape.ranks));
    let inside: Vec<Vertex> = (0..shape.boxes).map(|_| graph.add_switch(shape.abilities)).collect();
    let rails = if shape.boxes > 1 { shape.rails } else { 0 };
    let between: Vec<Vertex> = (0..rails).map(|_| graph.add_switch(shape.abilities)).collect();
    for (box_index, &switch) in (0..shape.boxes).zip(&inside) {
        for local in 0..shape.ranks {
            let rank = Vertex(box_index * shape.ranks + local);
            graph.add_link(rank, switch, shape.port_rate);
            if let Some(&rail) = between.get(local as usize % between.len().max(1)) {
                graph.add_link(rank, rail, shape.card_rate);
            }
        }
    }
    graph.build()
}

/// Adds a link for each pair of ranks whose weight is not zero. `weights` is symmetric: row by row, one digit for each
/// rank, `0` for no link.
fn add_weights(graph: &mut RelativeGraph, weights: &[&str], rates: Digits) {
    for (from, row) in weights.iter().enumerate() {
        for (to, digit) in row.bytes().enumerate().filter(|(_, digit)| *digit > b'0') {
            let rate = u64::from(digit - b'0') * rates.scale;
            graph.add_edge(
                Vertex(rates.first_rank + from as u32),
                Vertex(rates.first_rank + to as u32),
                rate,
            );
        }
    }
}

/// What the digits of a matrix of weights mean.
#[derive(Clone, Copy)]
struct Digits {
    /// The rank of the first row.
    first_rank: u32,
    /// The rate that `1` stands for.
    scale: u64,
}

/// The eight GPUs of a DGX-1, with one or two NVLinks between neighbors.
///
/// # Errors
/// None; the type is that of the other functions.
pub fn build_dgx1() -> Result<Topology, TopologyError> {
    const WEIGHTS: [&str; 8] = [
        "02112000", "20120100", "11020020", "12200001", "20000211", "01002012", "00201102",
        "00011220",
    ];
    let mut graph = RelativeGraph::new(8);
    add_weights(&mut graph, &WEIGHTS, Digits { first_rank: 0, scale: 1 });
    graph.build()
}

/// Four AMD GPUs in a square.
///
/// # Errors
/// None; the type is that of the other functions.
pub fn build_amd4() -> Result<Topology, TopologyError> {
    let mut graph = RelativeGraph::new(4);
    let weights = ["0110", "1001", "1001", "0110"];
    add_weights(&mut graph, &weights, Digits { first_rank: 0, scale: 1 });
    graph.build()
}

/// Eight AMD GPUs, of which 0, 2, 3, 5 and 1, 4, 6, 7 are joined by links of rate 6, and all others of rate 5.
///
/// # Errors
/// None; the type is that of the other functions.
pub fn build_amd8() -> Result<Topology, TopologyError> {
    let mut graph = RelativeGraph::new(8);
    let group = |rank: u32| [0, 2, 3, 5].contains(&rank);
    for one in 0..8 {
        for other in one + 1..8 {
            let rate = if group(one) == group(other) { 6 } else { 5 };
            graph.add_link(Vertex(one), Vertex(other), rate);
        }
    }
    graph.build()
}

/// Boxes of MI250: 16 dies each, with links of one to four lanes. A lane has `lane_rate`, and each die a network card
/// of `card_rate` to one switch, if there is more than one box.
///
/// The matrix is ForestColl's (Zhao et al., "ForestColl", NSDI 2025).
///
/// # Errors
/// Those of [`Topology::new`].
pub fn build_mi250(boxes: u32, lane_rate: u64, card_rate: u64) -> Result<Topology, TopologyError> {
    const WEIGHTS: [&str; 16] = [
        "0400200010000000",
        "4000010001100000",
        "0004001001100000",
        "0040000200010000",
        "2000041000000000",
        "0100401100000000",
        "0010110400000000",
        "0002014000000000",
        "1000000004002000",
        "0110000040000100",
        "0110000000040010",
        "0001000000400002",
        "0000000020000410",
        "0000000001004011",
        "0000000000101104",
        "0000000000020140",
    ];
    let mut graph = RelativeGraph::new(boxes.saturating_mul(16));
    let network = (boxes > 1).then(|| graph.add_switch(SwitchAbilities::default()));
    for box_index in 0..boxes {
        let first_rank = 16 * box_index;
        add_weights(&mut graph, &WEIGHTS, Digits { first_rank, scale: lane_rate });
        for rank in first_rank..first_rank + 16 {
            if let Some(network) = network {
                graph.add_link(Vertex(rank), network, card_rate);
            }
        }
    }
    graph.build()
}
