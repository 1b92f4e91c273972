//! The hops between ranks, as paths of edges: inside a box through its own switches, and between boxes through those of
//! the network.

use super::grouping::BoxGrouping;
use crate::graph::{EdgeIndex, Topology, Vertex};
use crate::steps::hops::HopFinder;
use std::collections::{BTreeMap, VecDeque};

/// How many shortest paths of a hop are used at most; others carry nothing.
const MAX_PATHS: usize = 64;

/// A path of a hop.
pub(super) type HopPath = Vec<EdgeIndex>;

/// The switches that a search reached, with the number of edges on the way.
type SwitchLevels = BTreeMap<Vertex, u32>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RankPair {
    from: Vertex,
    to: Vertex,
}

/// An edge, and where it begins.
struct EdgeBehind {
    edge: EdgeIndex,
    tail: Vertex,
}

/// The end of a path, backwards.
struct PathEnd {
    begin: Vertex,
    /// How many edges are before it.
    level: u32,
    edges: Vec<EdgeIndex>,
}

/// Finds the shortest paths of hops, and keeps them.
pub(super) struct HopPaths<'a> {
    finder: HopFinder<'a>,
    boxes: &'a BoxGrouping,
    levels: BTreeMap<Vertex, SwitchLevels>,
    paths: BTreeMap<RankPair, Vec<HopPath>>,
}

impl<'a> HopPaths<'a> {
    pub(super) fn new(topology: &'a Topology, boxes: &'a BoxGrouping) -> HopPaths<'a> {
        let finder = HopFinder::new(topology);
        HopPaths { finder, boxes, levels: BTreeMap::new(), paths: BTreeMap::new() }
    }

    /// How many pieces an edge carries in a round.
    pub(super) fn weight(&self, edge: EdgeIndex) -> u64 {
        self.finder.weight(edge)
    }

    /// The shortest paths from a rank to another one; none if there is no hop.
    pub(super) fn find(&mut self, from: Vertex, to: Vertex) -> &[HopPath] {
        let pair = RankPair { from, to };
        if !self.paths.contains_key(&pair) {
            let paths = self.search(from, to);
            self.paths.insert(pair, paths);
        }
        self.paths.get(&pair).map_or(&[], Vec::as_slice)
    }

    /// The rate of the widest shortest path, in pieces per round; 0 if there is no hop.
    pub(super) fn measure_width(&mut self, from: Vertex, to: Vertex) -> u64 {
        let _ = self.find(from, to);
        let paths = self.paths.get(&RankPair { from, to }).map_or(&[][..], Vec::as_slice);
        let width = |path: &HopPath| path.iter().map(|edge| self.finder.weight(*edge)).min();
        paths.iter().filter_map(width).max().unwrap_or(0)
    }

    /// The number of edges of a hop; none if there is none.
    pub(super) fn measure_length(&mut self, from: Vertex, to: Vertex) -> Option<usize> {
        self.find(from, to).first().map(Vec::len)
    }

    fn search(&mut self, from: Vertex, to: Vertex) -> Vec<HopPath> {
        let levels = match self.levels.remove(&from) {
            Some(levels) => levels,
            None => self.measure_levels(from),
        };
        let found = self.trace_back(RankPair { from, to }, &levels);
        self.levels.insert(from, levels);
        found
    }

    /// The paths backwards from their end, with fewer edges on the way at each vertex.
    fn trace_back(&self, pair: RankPair, levels: &SwitchLevels) -> Vec<HopPath> {
        let RankPair { from, to } = pair;
        let level_of = |vertex| if vertex == from { Some(0) } else { levels.get(&vertex).copied() };
        let is_inside = self.boxes.is_inside(from, to);
        let list_entering = |vertex| {
            let edges = self.finder.entering(vertex).iter();
            edges.map(|edge| EdgeBehind { edge: *edge, tail: self.finder.edge(*edge).from })
        };
        let is_way = |own: &EdgeBehind| own.tail == from || self.is_way(own.tail, from, is_inside);
        let entering = list_entering(to).filter(is_way);
        let Some(last) = entering.filter_map(|own| level_of(own.tail)).min() else {
            return Vec::new();
        };
        let mut found: Vec<HopPath> = Vec::new();
        let mut open = vec![PathEnd { begin: to, level: last + 1, edges: Vec::new() }];
        while let Some(end) = open.pop() {
            if end.level == 0 {
                found.push(end.edges.into_iter().rev().collect());
                if found.len() == MAX_PATHS {
                    break;
                }
                continue;
            }
            for own in list_entering(end.begin).filter(is_way) {
                if level_of(own.tail) == Some(end.level - 1) {
                    let mut edges = end.edges.clone();
                    edges.push(own.edge);
                    open.push(PathEnd { begin: own.tail, level: end.level - 1, edges });
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// Whether a switch is on ways inside the box, or across the network.
    fn is_way(&self, switch: Vertex, rank: Vertex, is_inside: bool) -> bool {
        let topology = self.finder.topology();
        !topology.is_rank(switch)
            && if is_inside {
                self.boxes.is_inside(switch, rank)
            } else {
                self.boxes.home(switch).is_none()
            }
    }

    fn measure_levels(&self, from: Vertex) -> SwitchLevels {
        let mut levels = SwitchLevels::new();
        let mut open = VecDeque::from([(from, 0)]);
        while let Some((vertex, level)) = open.pop_front() {
            for &edge in self.finder.leaving(vertex) {
                let to = self.finder.edge(edge).to;
                if !self.finder.topology().is_rank(to) && !levels.contains_key(&to) {
                    levels.insert(to, level + 1);
                    open.push_back((to, level + 1));
                }
            }
        }
        levels
    }
}
