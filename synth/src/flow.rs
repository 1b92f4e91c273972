//! Maximum flows and minimum cuts (Dinic, "Algorithm for solution of a problem of maximum flow in networks with power
//! estimation", 1970), on capacities that are integers.

use crate::dense::{DenseKey, DenseMap};
use std::collections::VecDeque;

/// A node of a [`FlowNetwork`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowNode(pub(crate) u32);

impl DenseKey for FlowNode {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// An arc of a [`FlowNetwork`], or the residual arc that cancels the flow on it: the two differ in the lowest bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowArc(u32);

impl FlowArc {
    fn opposite(self) -> FlowArc {
        FlowArc(self.0 ^ 1)
    }
}

impl DenseKey for FlowArc {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// A directed graph with capacities, and a flow in it.
#[derive(Clone, Debug)]
pub(crate) struct FlowNetwork {
    /// The arcs that leave a node, residual ones, too.
    leaving: DenseMap<FlowNode, Vec<FlowArc>>,
    /// Where an arc ends.
    heads: DenseMap<FlowArc, FlowNode>,
    /// How much more an arc can carry.
    residual: DenseMap<FlowArc, u64>,
    /// The capacities without any flow: those of the arcs themselves, and zero for their opposites.
    capacities: DenseMap<FlowArc, u64>,
    /// The number of arcs on the shortest residual path from the source, in this phase.
    levels: DenseMap<FlowNode, u32>,
    /// How many arcs of a node are known to lead nowhere, in this phase.
    exhausted: DenseMap<FlowNode, usize>,
}

/// The level of nodes that a search has not reached.
const UNREACHED: u32 = u32::MAX;

impl FlowNetwork {
    /// A network of nodes without arcs.
    pub(crate) fn new(nodes: usize) -> FlowNetwork {
        FlowNetwork {
            leaving: DenseMap::filled(nodes, Vec::new()),
            heads: Vec::new().into(),
            residual: Vec::new().into(),
            capacities: Vec::new().into(),
            levels: DenseMap::filled(nodes, UNREACHED),
            exhausted: DenseMap::filled(nodes, 0),
        }
    }

    /// Adds an arc. The capacities that leave a node sum up to at most `u64::MAX`, as do all flows.
    pub(crate) fn add_arc(&mut self, from: FlowNode, to: FlowNode, capacity: u64) -> FlowArc {
        let arc = FlowArc(self.heads.len() as u32);
        for (tail, head, arc, capacity) in
            [(from, to, arc, capacity), (to, from, arc.opposite(), 0)]
        {
            self.leaving[tail].push(arc);
            self.heads.push(head);
            self.residual.push(capacity);
            self.capacities.push(capacity);
        }
        arc
    }

    /// Changes the capacity of an arc; [`FlowNetwork::clear_flow`] makes it hold.
    pub(crate) fn set_capacity(&mut self, arc: FlowArc, capacity: u64) {
        self.capacities[arc] = capacity;
    }

    /// The flow on an arc that was added.
    pub(crate) fn measure_flow(&self, arc: FlowArc) -> u64 {
        self.capacities[arc].saturating_sub(self.residual[arc])
    }

    /// Where an arc begins.
    pub(crate) fn tail(&self, arc: FlowArc) -> FlowNode {
        self.heads[arc.opposite()]
    }

    /// Where an arc ends.
    pub(crate) fn head(&self, arc: FlowArc) -> FlowNode {
        self.heads[arc]
    }

    /// How much flow is on an arc that was added.
    pub(crate) fn flow(&self, arc: FlowArc) -> u64 {
        self.residual[arc.opposite()]
    }

    /// Takes all flow away.
    pub(crate) fn clear_flow(&mut self) {
        self.residual.clone_from(&self.capacities);
    }

    /// Makes the flow so many times as large, within capacities that were changed for it: a flow that goes along whole
    /// paths stays one.
    pub(crate) fn multiply_flow(&mut self, factor: u64) {
        for number in (0..self.heads.len() as u32).step_by(2) {
            let arc = FlowArc(number);
            let flow = self.residual[arc.opposite()].saturating_mul(factor);
            self.residual[arc.opposite()] = flow;
            self.residual[arc] = self.capacities[arc].saturating_sub(flow);
        }
    }

    /// Adds as much flow from a source to a sink as fits, up to a limit, to the flow that is there. Returns what was
    /// added.
    pub(crate) fn maximize_flow(&mut self, source: FlowNode, sink: FlowNode, limit: u64) -> u64 {
        let mut added = 0;
        while added < limit && self.assign_levels(source, sink) {
            self.exhausted.fill(0);
            added += self.block_flow(source, sink, limit - added);
        }
        added
    }

    /// The nodes that residual arcs reach from a node: after a flow that is maximal, the side of its source of a
    /// minimum cut, and the smallest such side.
    pub(crate) fn collect_reachable(&self, source: FlowNode) -> DenseMap<FlowNode, bool> {
        let mut reached = DenseMap::filled(self.leaving.len(), false);
        reached[source] = true;
        let mut open = vec![source];
        while let Some(node) = open.pop() {
            for &arc in &self.leaving[node] {
                let head = self.heads[arc];
                if self.residual[arc] > 0 && !reached[head] {
                    reached[head] = true;
                    open.push(head);
                }
            }
        }
        reached
    }

    /// The nodes from which residual arcs reach a node: after a flow that is maximal, the side of its sink of a minimum
    /// cut, and the smallest such side.
    pub(crate) fn collect_reaching(&self, sink: FlowNode) -> DenseMap<FlowNode, bool> {
        let mut reaching = DenseMap::filled(self.leaving.len(), false);
        reaching[sink] = true;
        let mut open = vec![sink];
        while let Some(node) = open.pop() {
            for &arc in &self.leaving[node] {
                let tail = self.heads[arc];
                if self.residual[arc.opposite()] > 0 && !reaching[tail] {
                    reaching[tail] = true;
                    open.push(tail);
                }
            }
        }
        reaching
    }

    /// Searches breadth first until the sink is found. Returns whether it is.
    fn assign_levels(&mut self, source: FlowNode, sink: FlowNode) -> bool {
        self.levels.fill(UNREACHED);
        self.levels[source] = 0;
        let mut open = VecDeque::from([source]);
        while let Some(node) = open.pop_front() {
            for &arc in &self.leaving[node] {
                let head = self.heads[arc];
                if self.residual[arc] > 0 && self.levels[head] == UNREACHED {
                    self.levels[head] = self.levels[node] + 1;
                    if head == sink {
                        return true;
                    }
                    open.push_back(head);
                }
            }
        }
        false
    }

    /// Adds flow along shortest paths until each has an arc that is full, or the limit is reached. Without recursion:
    /// paths can be as long as there are nodes.
    fn block_flow(&mut self, source: FlowNode, sink: FlowNode, limit: u64) -> u64 {
        let mut added = 0;
        let mut path: Vec<FlowArc> = Vec::new();
        let mut node = source;
        while added < limit {
            if node == sink {
                let room = path.iter().map(|arc| self.residual[*arc]).min();
                let amount = room.unwrap_or(0).min(limit - added);
                added += amount;
                for &arc in &path {
                    self.residual[arc] -= amount;
                    self.residual[arc.opposite()] += amount;
                }
                // Goes on before the first arc that is full.
                let full = path.iter().position(|arc| self.residual[*arc] == 0);
                path.truncate(full.unwrap_or(0));
                node = path.last().map_or(source, |arc| self.heads[*arc]);
            } else if let Some(arc) = self.find_next_arc(node) {
                path.push(arc);
                node = self.heads[arc];
            } else {
                let Some(arc) = path.pop() else { break };
                node = self.heads[arc.opposite()];
                self.exhausted[node] += 1;
            }
        }
        added
    }

    /// The first arc of a node that is not known to lead nowhere, has room, and leads to the next level.
    fn find_next_arc(&mut self, node: FlowNode) -> Option<FlowArc> {
        while let Some(&arc) = self.leaving[node].get(self.exhausted[node]) {
            let is_next = self.levels[self.heads[arc]] == self.levels[node].saturating_add(1);
            if is_next && self.residual[arc] > 0 {
                return Some(arc);
            }
            self.exhausted[node] += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{FlowNetwork, FlowNode};
    use crate::dense::DenseMap;

    struct Arc {
        from: u32,
        to: u32,
        capacity: u64,
    }

    fn network(nodes: usize, arcs: &[Arc]) -> FlowNetwork {
        let mut network = FlowNetwork::new(nodes);
        for arc in arcs {
            network.add_arc(FlowNode(arc.from), FlowNode(arc.to), arc.capacity);
        }
        network
    }

    fn capacity_out(arcs: &[Arc], is_inside: impl Fn(u32) -> bool) -> u64 {
        let leaves = |arc: &&Arc| is_inside(arc.from) && !is_inside(arc.to);
        arcs.iter().filter(leaves).map(|arc| arc.capacity).sum()
    }

    /// The capacity of the least of all cuts between the nodes 0 and 1.
    fn least_cut(nodes: u32, arcs: &[Arc]) -> u64 {
        let sides = (0_u32..1 << nodes).filter(|side| side & 3 == 1);
        sides.map(|side| capacity_out(arcs, |node| side >> node & 1 == 1)).min().unwrap()
    }

    #[test]
    fn flows_equal_the_least_of_all_cuts() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..2000 {
            let nodes = random.u32(2..9);
            let arc = |_| Arc {
                from: random.u32(0..nodes),
                to: random.u32(0..nodes),
                capacity: random.u64(0..8),
            };
            let arcs: Vec<Arc> = (0..nodes * 3).map(arc).collect();
            let expected = least_cut(nodes, &arcs);
            let mut network = network(nodes as usize, &arcs);
            let (source, sink) = (FlowNode(0), FlowNode(1));
            // In two parts, and none is left.
            let first = network.maximize_flow(source, sink, 3);
            assert_eq!(first, expected.min(3));
            assert_eq!(first + network.maximize_flow(source, sink, u64::MAX), expected);
            let near: DenseMap<FlowNode, bool> = network.collect_reachable(source);
            let far = network.collect_reaching(sink);
            assert_eq!(capacity_out(&arcs, |node| near[FlowNode(node)]), expected);
            assert_eq!(capacity_out(&arcs, |node| !far[FlowNode(node)]), expected);
            network.clear_flow();
            assert_eq!(network.maximize_flow(source, sink, u64::MAX), expected);
        }
    }

    #[test]
    fn long_paths_do_not_exhaust_the_stack() {
        let nodes = 200_000;
        let arcs: Vec<Arc> =
            (1..nodes).map(|to| Arc { from: to - 1, to, capacity: u64::from(to) }).collect();
        let mut network = network(nodes as usize, &arcs);
        assert_eq!(network.maximize_flow(FlowNode(0), FlowNode(nodes - 1), u64::MAX), 1);
    }
}
