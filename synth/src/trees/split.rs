//! Replaces switches pair by pair, such that each rank can still get all pieces.
//!
//! If what two edges at a switch carry is led past it, some cuts become smaller by the same amount, and no cut becomes
//! larger. How much can be split off is therefore what is asked for, less what the worst rank lacks then. If as much
//! enters each vertex as leaves it, everything at a switch can be split off, in any order (Jackson, "Some remarks on
//! arc-connectivity, vertex splitting, and orientation in graphs and digraphs", 1988; Bang-Jensen, Frank and Jackson,
//! "Preserving and increasing local edge-connectivity in mixed graphs", 1995).

use super::budget::FlowMeter;
use super::connectivity::RootedNetwork;
use super::demand::TreeDemand;
use super::error::TreeError;
use super::offsets::{PortGrid, SpreadReach};
use super::split_graph::{PortPair, SplitGraph};
use super::spread::{PortCapacities, order_switches, share_evenly};
use crate::flow::FlowArc;
use crate::graph::{Topology, Vertex};
use std::collections::{BTreeMap, BTreeSet};

/// A graph without edges of switches, in which each rank can get all pieces. So it can in the graph that is given.
pub(super) fn split_switches(
    topology: &Topology,
    graph: SplitGraph,
    demand: &TreeDemand,
    meter: &mut FlowMeter<'_>,
) -> Result<SplitGraph, TreeError> {
    let mut graph = graph;
    for switch in order_switches(&graph) {
        SwitchSplitter::new(topology, &mut graph, switch, demand).split(demand, meter)?;
        graph.remove_switch(switch);
    }
    Ok(graph)
}

/// Splits off one switch.
struct SwitchSplitter<'a> {
    topology: &'a Topology,
    graph: &'a mut SplitGraph,
    switch: Vertex,
    grid: PortGrid,
    /// What the edges of the switch still carry.
    rest: PortCapacities,
    network: RootedNetwork,
    arcs: BTreeMap<PortPair, FlowArc>,
    /// Pairs of which nothing more can be split off: a cut that is as small as may be stays so.
    exhausted: BTreeSet<PortPair>,
}

impl<'a> SwitchSplitter<'a> {
    fn new(
        topology: &'a Topology,
        graph: &'a mut SplitGraph,
        switch: Vertex,
        demand: &TreeDemand,
    ) -> SwitchSplitter<'a> {
        let grid = PortGrid::new(topology, graph, switch);
        let rest = PortCapacities::new(graph, switch, &grid);
        let mut capacities: BTreeMap<PortPair, u64> = BTreeMap::new();
        for &from in grid.ports() {
            for &to in grid.ports().iter().filter(|to| **to != from) {
                capacities.insert(PortPair { from, to }, 0);
            }
        }
        let edges = graph.list_edges();
        capacities
            .extend(edges.map(|edge| (PortPair { from: edge.from, to: edge.to }, edge.capacity)));
        let mut network = RootedNetwork::new(graph.count_vertices(), demand);
        let arcs = capacities
            .into_iter()
            .map(|(pair, capacity)| (pair, network.add_edge(pair.from, pair.to, capacity)))
            .collect();
        SwitchSplitter {
            topology,
            graph,
            switch,
            grid,
            rest,
            network,
            arcs,
            exhausted: BTreeSet::new(),
        }
    }

    /// Splits off what can be: evenly at first, so that trees become flat, and then the rest.
    fn split(mut self, demand: &TreeDemand, meter: &mut FlowMeter<'_>) -> Result<(), TreeError> {
        let whole = PortCapacities::new(self.graph, self.switch, &self.grid);
        let mut offsets = self.grid.list_offsets(SpreadReach::OtherGroups);
        offsets
            .retain(|offset| self.grid.list_pairs(*offset).any(|pair| whole.find_room(pair) > 0));
        for (index, offset) in offsets.iter().enumerate() {
            for pair in self.grid.list_pairs(*offset).collect::<Vec<PortPair>>() {
                let share = share_evenly(whole.find_room(pair), offsets.len(), index);
                self.split_pair(pair, share, demand, meter)?;
            }
        }
        for offset in self.grid.list_offsets(SpreadReach::All) {
            for pair in self.grid.list_pairs(offset).collect::<Vec<PortPair>>() {
                self.split_pair(pair, u64::MAX, demand, meter)?;
            }
        }
        // What comes back to where it came from is taken away.
        for port in self.grid.ports().to_vec() {
            self.split_pair(PortPair { from: port, to: port }, u64::MAX, demand, meter)?;
        }
        self.drop_rest(demand, meter)
    }

    /// Splits off as much as can be, up to a limit.
    fn split_pair(
        &mut self,
        pair: PortPair,
        limit: u64,
        demand: &TreeDemand,
        meter: &mut FlowMeter<'_>,
    ) -> Result<(), TreeError> {
        let asked = self.rest.find_room(pair).min(limit);
        if asked == 0 || self.exhausted.contains(&pair) {
            return Ok(());
        }
        self.set_capacities(pair, asked);
        let lack = self.network.find_worst_lack(demand.list_ranks(), asked, meter)?;
        let amount = asked.saturating_sub(lack);
        if lack > 0 {
            self.exhausted.insert(pair);
        }
        self.set_capacities(pair, amount);
        self.rest.subtract(pair, amount);
        self.graph.bypass(self.topology, self.switch, pair, amount);
        Ok(())
    }

    /// The capacities in the network, if so much is split off from what is in the graph.
    fn set_capacities(&mut self, pair: PortPair, amount: u64) {
        let entering = PortPair { from: pair.from, to: self.switch };
        let leaving = PortPair { from: self.switch, to: pair.to };
        let mut set = |changed: PortPair, capacity: u64| {
            if let Some(arc) = self.arcs.get(&changed) {
                self.network.set_capacity(*arc, capacity);
            }
        };
        let find = |changed: PortPair| self.graph.find_capacity(changed.from, changed.to);
        set(entering, find(entering) - amount);
        set(leaving, find(leaving) - amount);
        if pair.from != pair.to {
            set(pair, find(pair) + amount);
        }
    }

    /// Whether what is left at the switch is not needed.
    fn drop_rest(
        mut self,
        demand: &TreeDemand,
        meter: &mut FlowMeter<'_>,
    ) -> Result<(), TreeError> {
        let is_left = |port: &&Vertex| {
            let [to, from] = [
                self.graph.find_capacity(**port, self.switch),
                self.graph.find_capacity(self.switch, **port),
            ];
            to + from > 0
        };
        if self.grid.ports().iter().all(|port| !is_left(&port)) {
            return Ok(());
        }
        let own = |pair: &&PortPair| pair.from == self.switch || pair.to == self.switch;
        for pair in self.arcs.keys().filter(own) {
            if let Some(arc) = self.arcs.get(pair) {
                self.network.set_capacity(*arc, 0);
            }
        }
        if self.network.find_worst_lack(demand.list_ranks(), 1, meter)? > 0 {
            return Err(TreeError::UnevenSwitch { switch: self.switch });
        }
        Ok(())
    }
}
