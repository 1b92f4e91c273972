//! Edges between vertices that stand for paths through switches.

use crate::dense::DenseKey;
use crate::graph::{EdgeIndex, Topology};

/// A path, and how many pieces it carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BundledPath {
    pub(super) amount: u64,
    /// Edges of the topology, in order.
    pub(super) path: Vec<EdgeIndex>,
}

/// Paths with the same ends.
#[derive(Clone, Debug, Default)]
pub(super) struct PathBundle {
    /// The sum of all amounts.
    capacity: u64,
    /// Each carries something.
    paths: Vec<BundledPath>,
}

impl PathBundle {
    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(super) fn add(&mut self, added: BundledPath) {
        self.capacity += added.amount;
        match self.paths.iter_mut().find(|own| own.path == added.path) {
            Some(own) => own.amount += added.amount,
            None => self.paths.push(added),
        }
    }

    /// Takes paths away that carry so much, or all if there is less.
    pub(super) fn take(&mut self, amount: u64) -> Vec<BundledPath> {
        let mut taken = Vec::new();
        let mut missing = amount;
        while missing > 0 {
            let Some(last) = self.paths.last_mut() else { break };
            let part = last.amount.min(missing);
            missing -= part;
            self.capacity -= part;
            if last.amount > part {
                last.amount -= part;
                taken.push(BundledPath { amount: part, path: last.path.clone() });
            } else {
                taken.extend(self.paths.pop());
            }
        }
        taken
    }

    pub(super) fn into_paths(self) -> Vec<BundledPath> {
        self.paths
    }
}

/// Paths to a switch, continued by paths from it that carry as much.
pub(super) fn join_paths(
    topology: &Topology,
    first: Vec<BundledPath>,
    second: Vec<BundledPath>,
) -> Vec<BundledPath> {
    let mut joined = Vec::new();
    let mut rests = second.into_iter();
    let mut rest = rests.next();
    for mut start in first {
        while start.amount > 0
            && let Some(end) = rest.as_mut()
        {
            let amount = start.amount.min(end.amount);
            let mut path = Vec::with_capacity(start.path.len() + end.path.len());
            path.extend_from_slice(&start.path);
            path.extend_from_slice(&end.path);
            joined.push(BundledPath { amount, path: cut_cycles(topology, path) });
            start.amount -= amount;
            end.amount -= amount;
            if end.amount == 0 {
                rest = rests.next();
            }
        }
    }
    joined
}

/// A path without what leads back to where it was before.
fn cut_cycles(topology: &Topology, path: Vec<EdgeIndex>) -> Vec<EdgeIndex> {
    // Two edges with different ends have no cycle.
    if path.len() <= 2 {
        return path;
    }
    let find_edge = |index: EdgeIndex| topology.edges().get(index.index());
    let mut simple: Vec<EdgeIndex> = Vec::with_capacity(path.len());
    for index in path {
        simple.push(index);
        let Some(head) = find_edge(index).map(|edge| edge.to) else { continue };
        let begins_there = |own: &EdgeIndex| find_edge(*own).is_some_and(|edge| edge.from == head);
        if let Some(place) = simple.iter().position(begins_there) {
            simple.truncate(place);
        }
    }
    simple
}

#[cfg(test)]
mod tests {
    use super::{BundledPath, PathBundle, join_paths};
    use crate::families::RelativeGraph;
    use crate::graph::{EdgeIndex, SwitchAbilities, Topology, Vertex};

    fn bundled(amount: u64, edges: &[u32]) -> BundledPath {
        BundledPath { amount, path: edges.iter().copied().map(EdgeIndex).collect() }
    }

    #[test]
    fn bundles_give_what_was_added() {
        let mut bundle = PathBundle::default();
        for (amount, edge) in [(3, 0), (2, 1), (1, 0)] {
            bundle.add(bundled(amount, &[edge]));
        }
        assert_eq!(bundle.capacity(), 6);
        assert_eq!(bundle.take(3), [bundled(2, &[1]), bundled(1, &[0])]);
        assert_eq!(bundle.capacity(), 3);
        assert_eq!(bundle.take(9), [bundled(3, &[0])]);
        assert_eq!(bundle.capacity(), 0);
    }

    /// The switches 2 and 3 between the ranks 0 and 1, and edges from each vertex to each other.
    fn two_switches() -> Topology {
        let mut graph = RelativeGraph::new(2);
        graph.add_switch(SwitchAbilities::default());
        graph.add_switch(SwitchAbilities::default());
        for one in 0..4 {
            for other in one + 1..4 {
                graph.add_link(Vertex(one), Vertex(other), 1);
            }
        }
        graph.build().unwrap()
    }

    #[test]
    fn joined_paths_carry_as_much_and_have_no_cycles() {
        let topology = two_switches();
        let edge = |from: u32, to: u32| {
            let is_it = |edge: &crate::graph::DirectedEdge| edge.from.0 == from && edge.to.0 == to;
            topology.edges().iter().position(is_it).unwrap() as u32
        };
        let first = vec![bundled(2, &[edge(0, 2)]), bundled(1, &[edge(0, 3), edge(3, 2)])];
        let second = vec![bundled(1, &[edge(2, 1)]), bundled(2, &[edge(2, 3), edge(3, 1)])];
        let expected = [
            bundled(1, &[edge(0, 2), edge(2, 1)]),
            bundled(1, &[edge(0, 2), edge(2, 3), edge(3, 1)]),
            bundled(1, &[edge(0, 3), edge(3, 1)]),
        ];
        assert_eq!(join_paths(&topology, first, second), expected);
    }
}
