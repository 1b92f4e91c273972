//! Routes: how a rank can send to another one in one step.

use crate::dense::{DenseKey, DenseMap};
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::observer::SearchObserver;
use std::collections::VecDeque;

/// How many unfinished routes through switches may be looked at from each rank. Machines with two levels of switches
/// have some hundreds.
const MAX_OPEN_ROUTES: usize = 1 << 12;

/// A direct edge from a rank to another one, or edges through different switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) from: Vertex,
    pub(super) to: Vertex,
    pub(super) edges: Vec<EdgeIndex>,
}

/// A route, by its index in a [`RouteTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RouteIndex(pub(super) u32);

impl DenseKey for RouteIndex {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// The routes of a topology.
#[derive(Clone, Debug)]
pub(super) struct RouteTable {
    /// By their first rank, and the shorter ones first.
    pub(super) routes: DenseMap<RouteIndex, Route>,
    /// For each rank those that end there.
    pub(super) ending_at: DenseMap<Vertex, Vec<RouteIndex>>,
    /// Whether these are all there are.
    pub(super) is_complete: bool,
}

/// The shortest routes between each two ranks, at most so many for each pair, by a breadth-first search over simple
/// paths. If the observer stops the search, some are missing.
pub(super) fn list_routes(
    topology: &Topology,
    max_per_pair: usize,
    observer: &dyn SearchObserver,
) -> RouteTable {
    let mut table = RouteTable { is_complete: true, ..RouteTable::empty(topology) };
    let mut leaving: DenseMap<Vertex, Vec<EdgeIndex>> =
        DenseMap::filled(topology.count_vertices(), Vec::new());
    for (index, edge) in (0..).zip(topology.edges()) {
        leaving[edge.from].push(EdgeIndex(index));
    }
    for from in topology.ranks() {
        if observer.is_stopped() {
            table.is_complete = false;
            break;
        }
        table.add_routes(topology, &leaving, from, max_per_pair);
    }
    table
}

/// A path from a rank to a switch, through switches.
#[derive(Clone)]
struct OpenRoute {
    edges: Vec<EdgeIndex>,
    passed: Vec<Vertex>,
    at: Vertex,
}

impl RouteTable {
    /// No routes yet.
    pub(super) fn empty(topology: &Topology) -> RouteTable {
        RouteTable {
            routes: Vec::new().into(),
            ending_at: DenseMap::filled(topology.ranks().len(), Vec::new()),
            is_complete: false,
        }
    }

    fn add_routes(
        &mut self,
        topology: &Topology,
        leaving: &DenseMap<Vertex, Vec<EdgeIndex>>,
        from: Vertex,
        max_per_pair: usize,
    ) {
        let mut counts: DenseMap<Vertex, usize> = DenseMap::filled(topology.ranks().len(), 0);
        let mut open =
            VecDeque::from([OpenRoute { edges: Vec::new(), passed: Vec::new(), at: from }]);
        let mut opened = 1;
        while let Some(route) = open.pop_front() {
            for &index in &leaving[route.at] {
                let Some(edge) = topology.edges().get(index.index()) else { continue };
                let mut edges = route.edges.clone();
                edges.push(index);
                if !topology.is_rank(edge.to) {
                    if route.passed.contains(&edge.to) {
                        continue;
                    }
                    opened += 1;
                    if opened > MAX_OPEN_ROUTES {
                        self.is_complete = false;
                        continue;
                    }
                    let mut passed = route.passed.clone();
                    passed.push(edge.to);
                    open.push_back(OpenRoute { edges, passed, at: edge.to });
                } else if edge.to != from {
                    counts[edge.to] += 1;
                    if counts[edge.to] > max_per_pair {
                        self.is_complete = false;
                        continue;
                    }
                    self.ending_at[edge.to].push(RouteIndex(self.routes.len() as u32));
                    self.routes.push(Route { from, to: edge.to, edges });
                }
            }
        }
    }

    /// In how many steps each rank can have what one of them has; `None` if never.
    pub(super) fn measure_steps_from(&self, origin: Vertex) -> DenseMap<Vertex, Option<u32>> {
        self.measure_steps(origin, |route| [route.from, route.to])
    }

    /// In how many steps what each rank has can be at one of them; `None` if never.
    pub(super) fn measure_steps_to(&self, receiver: Vertex) -> DenseMap<Vertex, Option<u32>> {
        self.measure_steps(receiver, |route| [route.to, route.from])
    }

    fn measure_steps(
        &self,
        start: Vertex,
        get_ends: fn(&Route) -> [Vertex; 2],
    ) -> DenseMap<Vertex, Option<u32>> {
        let ranks = self.ending_at.len();
        let mut neighbors: DenseMap<Vertex, Vec<Vertex>> = DenseMap::filled(ranks, Vec::new());
        for route in self.routes.as_slice() {
            let [near, far] = get_ends(route);
            neighbors[near].push(far);
        }
        let mut distances = DenseMap::filled(ranks, None);
        distances[start] = Some(0);
        let mut open = VecDeque::from([start]);
        while let Some(rank) = open.pop_front() {
            let next = distances[rank].map(|distance: u32| distance + 1);
            for &neighbor in &neighbors[rank] {
                if distances[neighbor].is_none() {
                    distances[neighbor] = next;
                    open.push_back(neighbor);
                }
            }
        }
        distances
    }
}

#[cfg(test)]
mod tests {
    use super::list_routes;
    use crate::families::{BoxShape, RelativeGraph, build_boxes, build_dgx1};
    use crate::graph::{SwitchAbilities, Vertex};
    use crate::observer::NoObserver;

    #[test]
    fn direct_edges_are_routes() {
        let dgx1 = build_dgx1().unwrap();
        let table = list_routes(&dgx1, 2, &NoObserver);
        assert!(table.is_complete);
        assert_eq!(table.routes.len(), dgx1.edges().len());
        let steps = table.measure_steps_from(Vertex(0));
        let steps: Vec<u32> = steps.as_slice().iter().map(|steps| steps.unwrap()).collect();
        assert_eq!(steps, [0, 1, 1, 1, 1, 2, 2, 2]);
        assert_eq!(table.measure_steps_to(Vertex(0)), table.measure_steps_from(Vertex(0)));
    }

    #[test]
    fn routes_pass_switches_and_no_ranks() {
        let boxes = build_boxes(BoxShape {
            boxes: 2,
            ranks: 2,
            port_rate: 9,
            card_rate: 1,
            rails: 1,
            abilities: SwitchAbilities::default(),
        })
        .unwrap();
        let table = list_routes(&boxes, 4, &NoObserver);
        assert!(table.is_complete);
        let counts = boxes.ranks().map(|from| {
            let to_others = boxes.ranks().map(|to| {
                let joins = |route: &&super::Route| route.from == from && route.to == to;
                table.routes.as_slice().iter().filter(joins).count()
            });
            to_others.collect::<Vec<usize>>()
        });
        // Through the box and through the network, or through the network only.
        let expected = [[0, 2, 1, 1], [2, 0, 1, 1], [1, 1, 0, 2], [1, 1, 2, 0]];
        assert_eq!(counts.collect::<Vec<_>>(), expected);
        assert!(!list_routes(&boxes, 1, &NoObserver).is_complete);
    }

    #[test]
    fn too_many_detours_are_left_out() {
        // All switches are joined pairwise.
        let mut graph = RelativeGraph::new(2);
        let switches: Vec<Vertex> =
            (0..9).map(|_| graph.add_switch(SwitchAbilities::default())).collect();
        for (index, one) in switches.iter().enumerate() {
            for other in &switches[..index] {
                graph.add_link(*one, *other, 1);
            }
        }
        graph.add_link(Vertex(0), switches[0], 1);
        graph.add_link(switches[8], Vertex(1), 1);
        let table = list_routes(&graph.build().unwrap(), usize::MAX, &NoObserver);
        assert!(!table.is_complete);
        assert_eq!(table.routes.as_slice()[0].edges.len(), 3);
    }
}
