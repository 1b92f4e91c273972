//! Machines that the literature measures on, and that the library does not build.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]
#![allow(dead_code, unreachable_pub, reason = "each test uses some of them")]

use synth::families::{BoxShape, RelativeGraph, build_boxes, build_torus};
use synth::graph::{SwitchAbilities, Topology, Vertex};

const PLAIN: SwitchAbilities = SwitchAbilities { multicast: false, reduce: false };

/// Boxes with a port of a rate for each rank, and network cards of rate 1.
pub fn boxes(boxes: u32, ranks: u32, port_rate: u64, rails: u32) -> Topology {
    let shape = BoxShape { boxes, ranks, port_rate, card_rate: 1, rails, abilities: PLAIN };
    build_boxes(shape).unwrap()
}

/// Boxes of MI300X: links of rate 64 between the eight GPUs of a box, and network cards of rate 50.
pub fn build_mi300x(boxes: u32) -> Topology {
    let mut graph = RelativeGraph::new(8 * boxes);
    let network = (boxes > 1).then(|| graph.add_switch(PLAIN));
    for rank in 0..8 * boxes {
        for other in rank + 1..8 * (rank / 8 + 1) {
            graph.add_link(Vertex(rank), Vertex(other), 64);
        }
        if let Some(network) = network {
            graph.add_link(Vertex(rank), network, 50);
        }
    }
    graph.build().unwrap()
}

/// Boxes of NDv2 as TE-CCL models them: the links of a DGX-1 with rates of 50 and 100. What leaves a box comes from GPU
/// 0, what enters goes to GPU 1, at a rate of 25; through a switch for more than two boxes.
pub fn build_ndv2(boxes: u32) -> Topology {
    let mut graph = RelativeGraph::new(8 * boxes);
    let network = (boxes > 2).then(|| graph.add_switch(PLAIN));
    let double = [[0, 1], [0, 4], [1, 3], [2, 3], [2, 6], [4, 5], [5, 7], [6, 7]];
    let single = [[0, 2], [0, 3], [1, 2], [1, 5], [3, 7], [4, 6], [4, 7], [5, 6]];
    for first in (0..8 * boxes).step_by(8) {
        for [one, other] in double {
            graph.add_link(Vertex(first + one), Vertex(first + other), 100);
        }
        for [one, other] in single {
            graph.add_link(Vertex(first + one), Vertex(first + other), 50);
        }
        match network {
            Some(network) => {
                graph.add_edge(Vertex(first), network, 25);
                graph.add_edge(network, Vertex(first + 1), 25);
            }
            None => graph.add_edge(Vertex(first), Vertex((first + 8) % 16 + 1), 25),
        }
    }
    graph.build().unwrap()
}

/// Two boxes of DGX-2 as TE-CCL models them: 16 GPUs on a switch, and a one-way link of rate 25 from each odd GPU to
/// the even one before it in the other box.
pub fn build_two_dgx2() -> Topology {
    let mut graph = RelativeGraph::new(32);
    for first in [0, 16] {
        let switch = graph.add_switch(PLAIN);
        for local in 0..16 {
            graph.add_link(Vertex(first + local), switch, 250);
        }
        for local in (1..16).step_by(2) {
            graph.add_edge(Vertex(first + local), Vertex(16 - first + local - 1), 25);
        }
    }
    graph.build().unwrap()
}

/// A torus of 8 x 8 ranks without the link of its first two.
pub fn build_broken_torus() -> Topology {
    let torus = build_torus(8, 8).unwrap();
    let mut graph = RelativeGraph::new(64);
    let ends = |one, other| [Vertex(one), Vertex(other)];
    for edge in torus.edges() {
        if ![ends(0, 1), ends(1, 0)].contains(&[edge.from, edge.to]) {
            graph.add_edge(edge.from, edge.to, 1);
        }
    }
    graph.build().unwrap()
}

/// Boxes of H100, of which GPU 3 has a port of 6 instead of 9.
pub fn build_slow_port(count: u32, rails: u32) -> Topology {
    let whole = boxes(count, 8, 9, rails);
    let mut graph = RelativeGraph::new(8 * count);
    for _ in whole.switches() {
        graph.add_switch(PLAIN);
    }
    for (edge, weight) in whole.weighted_edges() {
        let is_slow = edge.from == Vertex(3) || edge.to == Vertex(3);
        graph.add_edge(edge.from, edge.to, if is_slow && weight == 9 { 6 } else { weight });
    }
    graph.build().unwrap()
}
