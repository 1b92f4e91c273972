//! Replaces all switches at once, by spreading evenly what passes them. This is a guess: whether ranks still get all
//! pieces is tested afterwards. It mostly holds, and the trees are flat.

use super::offsets::{PortGrid, SpreadReach};
use super::split_graph::{PortPair, SplitGraph};
use crate::dense::DenseMap;
use crate::graph::{Topology, Vertex};

/// How often the number of offsets is halved. With the last of them, what passes a switch goes to few neighbors of each.
const MAX_HALVINGS: u32 = 6;

/// How what passes switches is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpreadPlan {
    reach: SpreadReach,
    /// How often the number of offsets is halved.
    halvings: u32,
}

/// Ways to spread, the widest along rails first.
pub(super) fn list_plans(topology: &Topology, graph: &SplitGraph) -> Vec<SpreadPlan> {
    let grids: Vec<PortGrid> =
        graph.list_switches().map(|switch| PortGrid::new(topology, graph, switch)).collect();
    let reaches: &[SpreadReach] = if grids.iter().any(PortGrid::has_places) {
        &[SpreadReach::SamePlace, SpreadReach::OtherGroups, SpreadReach::All]
    } else {
        &[SpreadReach::All]
    };
    let offsets = grids.iter().map(|grid| grid.list_offsets(SpreadReach::All).len());
    let most = offsets.max().unwrap_or(0);
    let mut plans = Vec::new();
    for halvings in (0..=MAX_HALVINGS).filter(|halvings| *halvings == 0 || most >> halvings > 0) {
        plans.extend(reaches.iter().map(|reach| SpreadPlan { reach: *reach, halvings }));
    }
    plans
}

/// The switches in the order in which they are replaced: those between switches first.
pub(super) fn order_switches(graph: &SplitGraph) -> Vec<Vertex> {
    let count_ranks = |switch: &Vertex| {
        let ports = graph.list_ports(*switch);
        ports.into_iter().filter(|port| graph.is_rank(*port)).count()
    };
    let mut switches: Vec<Vertex> = graph.list_switches().collect();
    switches.sort_by_cached_key(count_ranks);
    switches
}

/// A graph without edges of switches.
pub(super) fn spread_switches(
    topology: &Topology,
    scaled: &SplitGraph,
    plan: SpreadPlan,
) -> SplitGraph {
    let mut graph = scaled.clone();
    for switch in order_switches(scaled) {
        spread_switch(topology, &mut graph, switch, plan);
        graph.remove_switch(switch);
    }
    graph
}

/// What the edges of a switch carry.
pub(super) struct PortCapacities {
    entering: DenseMap<Vertex, u64>,
    leaving: DenseMap<Vertex, u64>,
}

impl PortCapacities {
    pub(super) fn new(graph: &SplitGraph, switch: Vertex, grid: &PortGrid) -> PortCapacities {
        let mut entering = DenseMap::filled(graph.count_vertices(), 0);
        let mut leaving = entering.clone();
        for &port in grid.ports() {
            entering[port] = graph.find_capacity(port, switch);
            leaving[port] = graph.find_capacity(switch, port);
        }
        PortCapacities { entering, leaving }
    }

    /// How much the first one can send to the second one.
    pub(super) fn find_room(&self, pair: PortPair) -> u64 {
        self.entering[pair.from].min(self.leaving[pair.to])
    }

    pub(super) fn subtract(&mut self, pair: PortPair, amount: u64) {
        self.entering[pair.from] -= amount;
        self.leaving[pair.to] -= amount;
    }
}

/// The share of one of several offsets: as even as integers are.
pub(super) fn share_evenly(amount: u64, offsets: usize, index: usize) -> u64 {
    let [count, index] = [offsets, index].map(|number| number as u64);
    amount / count + u64::from(index < amount % count)
}

fn spread_switch(topology: &Topology, graph: &mut SplitGraph, switch: Vertex, plan: SpreadPlan) {
    let grid = PortGrid::new(topology, graph, switch);
    let whole = PortCapacities::new(graph, switch, &grid);
    let mut offsets = grid.list_offsets(plan.reach);
    offsets.retain(|offset| grid.list_pairs(*offset).any(|pair| whole.find_room(pair) > 0));
    let pairs = offsets.iter().flat_map(|offset| grid.list_pairs(*offset));
    let most = pairs.map(|pair| whole.find_room(pair)).max().unwrap_or(0);
    let widest = usize::try_from(most).unwrap_or(usize::MAX).min(offsets.len());
    let width = (widest >> plan.halvings).max(1);
    let mut rest = PortCapacities::new(graph, switch, &grid);
    for (index, offset) in offsets.iter().take(width).enumerate() {
        for pair in grid.list_pairs(*offset) {
            let amount =
                share_evenly(whole.find_room(pair), width, index).min(rest.find_room(pair));
            rest.subtract(pair, amount);
            graph.bypass(topology, switch, pair, amount);
        }
    }
    // Where neighbors differ, something is left over.
    for offset in &offsets {
        for pair in grid.list_pairs(*offset) {
            let amount = rest.find_room(pair);
            rest.subtract(pair, amount);
            graph.bypass(topology, switch, pair, amount);
        }
    }
}
