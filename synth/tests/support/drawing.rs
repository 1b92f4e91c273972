//! Random machines and ranks.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]
#![allow(dead_code, unreachable_pub, reason = "each test uses some of them")]

use std::ops::Range;
use synth::families::RelativeGraph;
use synth::graph::{SwitchAbilities, Topology, Vertex};

/// How the two directions of a link differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// Both have the same rate.
    Even,
    /// Each direction has a rate of its own.
    Uneven,
}

/// What switches can do besides forwarding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchKind {
    /// Nothing.
    Plain,
    /// Some copy, and some add up.
    Able,
}

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Drawing {
    pub most_ranks: u32,
    pub most_switches: u32,
    pub links: LinkKind,
    pub switches: SwitchKind,
}

/// A ring of all vertices makes it connected.
pub fn draw_topology(random: &mut fastrand::Rng, drawing: Drawing) -> Topology {
    let ranks = random.u32(2..=drawing.most_ranks);
    let vertices = ranks + random.u32(0..=drawing.most_switches);
    let mut graph = RelativeGraph::new(ranks);
    for _ in ranks..vertices {
        let mut draw = || drawing.switches == SwitchKind::Able && random.bool();
        graph.add_switch(SwitchAbilities { multicast: draw(), reduce: draw() });
    }
    let density = random.f64();
    let most = random.u64(2..8);
    for one in 0..vertices {
        for other in one + 1..vertices {
            if other == one + 1 || random.f64() < density {
                let rates = [random.u64(1..most), random.u64(1..most)];
                graph.add_edge(Vertex(one), Vertex(other), rates[0]);
                let back = if drawing.links == LinkKind::Even { rates[0] } else { rates[1] };
                graph.add_edge(Vertex(other), Vertex(one), back);
            }
        }
    }
    graph.build().unwrap()
}

/// Some of these ranks, in order: each with a chance of one in two.
pub fn draw_subset(random: &mut fastrand::Rng, ranks: Range<u32>) -> Vec<Vertex> {
    let mut drawn = Vec::new();
    for rank in ranks {
        if random.bool() {
            drawn.push(Vertex(rank));
        }
    }
    drawn
}
