//! A machine as a directed graph: ranks and switches, joined by edges that have a rate and a latency.
//!
//! Ranks are the vertices from 0; switches follow them. A switch only forwards: it has no data of its own.

mod error;
pub mod text;

pub use error::TopologyError;

use crate::dense::{DenseKey, DenseMap};
use crate::rational::{ArithmeticError, Rational};
use std::fmt;

/// How many vertices a topology may have. A search from each rank visits each edge, so that a limit on both keeps
/// what takes long under some minutes; [`TopologyError::TooManyVertices`] reports it.
pub const MAX_VERTICES: usize = 1 << 14;

/// How many edges a topology may have, before those with the same ends are added up: all pairs of 512 ranks.
/// [`TopologyError::TooManyEdges`] reports it before anything is computed.
pub const MAX_EDGES: usize = 1 << 18;

/// A rank or a switch of a [`Topology`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vertex(pub u32);

impl DenseKey for Vertex {
    fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Vertex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An edge of a [`Topology`], by its index among [`Topology::edges`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EdgeIndex(pub u32);

impl DenseKey for EdgeIndex {
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// What the rates of a topology count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateUnit {
    /// Chunks per round: only the ratios of rates mean something.
    ChunksPerRound,
    /// Bytes per second.
    BytesPerSecond,
}

/// How much an edge carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeRate {
    /// The amount; above zero.
    pub amount: Rational,
    /// What it counts.
    pub unit: RateUnit,
}

/// Which kinds of channels can use an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeAbilities {
    /// Threads load and store through it.
    pub memory: bool,
    /// A proxy sends through it.
    pub port: bool,
}

/// What a switch can do besides forwarding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SwitchAbilities {
    /// It sends what comes in once to several vertices.
    pub multicast: bool,
    /// It adds what comes in from several vertices, and sends the sum.
    pub reduce: bool,
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectedEdge {
    /// Where it begins.
    pub from: Vertex,
    /// Where it ends.
    pub to: Vertex,
    /// How much it carries.
    pub rate: EdgeRate,
    /// The time from its begin to its end, in nanoseconds.
    pub latency_ns: u64,
    /// Which channels can use it.
    pub abilities: EdgeAbilities,
}

/// A machine. Only [`Topology::new`] makes one, so that what is written at its errors holds for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    ranks: u32,
    switches: Vec<SwitchAbilities>,
    unit: RateUnit,
    edges: Vec<DirectedEdge>,
    /// The largest rate that divides the rate of every edge.
    quantum: Rational,
    /// The rate of each edge as a multiple of `quantum`.
    weights: Vec<u64>,
}

impl Topology {
    /// The topology of these ranks, switches and edges. Edges with the same ends, latency and abilities are added up,
    /// and the edges are sorted by their ends.
    ///
    /// # Errors
    /// Each [`TopologyError`] but [`TopologyError::Unreachable`]: a broadcast may be possible where an AllGather is
    /// not, and [`Topology::check_reachability`] tells.
    pub fn new(
        ranks: u32,
        switches: Vec<SwitchAbilities>,
        edges: &[DirectedEdge],
    ) -> Result<Topology, TopologyError> {
        if ranks == 0 {
            return Err(TopologyError::NoRanks);
        }
        let vertices = ranks as usize + switches.len();
        if vertices > MAX_VERTICES {
            return Err(TopologyError::TooManyVertices);
        }
        if edges.len() > MAX_EDGES {
            return Err(TopologyError::TooManyEdges);
        }
        for index in 0..edges.len() {
            check_edge(edges, index, vertices)?;
        }
        let unit = edges.first().map_or(RateUnit::ChunksPerRound, |edge| edge.rate.unit);
        let quantum = find_quantum(edges)?;
        let mut topology =
            Topology { ranks, switches, unit, edges: Vec::new(), quantum, weights: Vec::new() };
        topology.add_edges(edges)?;
        Ok(topology)
    }

    /// Takes the edges in the order of their ends, and adds up those that differ in their rates only.
    fn add_edges(&mut self, edges: &[DirectedEdge]) -> Result<(), TopologyError> {
        let mut order: Vec<(usize, &DirectedEdge)> = edges.iter().enumerate().collect();
        order.sort_by_key(|(_, edge)| {
            let EdgeAbilities { memory, port } = edge.abilities;
            (edge.from, edge.to, edge.latency_ns, memory, port)
        });
        let mut total: u64 = 0;
        for (index, edge) in order {
            let overflow = TopologyError::RatesOverflow { edge: index };
            let weight = count_quanta(edge.rate.amount, self.quantum).ok_or(overflow.clone())?;
            // A bound multiplies the rates by numbers up to the number of ranks, and adds them up.
            total = total.checked_add(weight).ok_or(overflow.clone())?;
            if total.checked_mul(u64::from(self.ranks)).is_none_or(|product| product >> 62 != 0) {
                return Err(overflow);
            }
            match (self.edges.last_mut(), self.weights.last_mut()) {
                (Some(last), Some(sum)) if is_parallel(last, edge) => {
                    *sum += weight;
                    let added = last.rate.amount.checked_add(edge.rate.amount);
                    last.rate.amount = added.map_err(|_| overflow)?;
                }
                _ => {
                    self.edges.push(*edge);
                    self.weights.push(weight);
                }
            }
        }
        Ok(())
    }

    /// The number of ranks; at least 1.
    #[must_use]
    pub fn count_ranks(&self) -> u32 {
        self.ranks
    }

    /// The number of ranks and switches.
    #[must_use]
    pub fn count_vertices(&self) -> usize {
        self.ranks as usize + self.switches.len()
    }

    /// The ranks, in order.
    pub fn ranks(&self) -> impl DoubleEndedIterator<Item = Vertex> + ExactSizeIterator + use<> {
        (0..self.ranks).map(Vertex)
    }

    /// The abilities of the switches, the first of which is the vertex after the last rank.
    #[must_use]
    pub fn switches(&self) -> &[SwitchAbilities] {
        &self.switches
    }

    /// Whether a vertex is a rank.
    #[must_use]
    pub fn is_rank(&self, vertex: Vertex) -> bool {
        vertex.0 < self.ranks
    }

    /// What the rates count.
    #[must_use]
    pub fn unit(&self) -> RateUnit {
        self.unit
    }

    /// The edges, sorted by their ends.
    #[must_use]
    pub fn edges(&self) -> &[DirectedEdge] {
        &self.edges
    }

    /// The largest rate of which every edge's is a multiple, in the unit of the topology.
    #[must_use]
    pub fn quantum(&self) -> Rational {
        self.quantum
    }

    /// The edges, each with its rate as a multiple of [`Topology::quantum`]. The sum of all multiples, times the number
    /// of ranks, is below 2^62.
    pub fn weighted_edges(&self) -> impl Iterator<Item = (&DirectedEdge, u64)> {
        self.edges.iter().zip(self.weights.iter().copied())
    }

    /// The same machine with every edge turned round. A ReduceScatter is an AllGather that runs backwards, on this.
    #[must_use]
    pub fn reverse(&self) -> Topology {
        let mut turned: Vec<(DirectedEdge, u64)> = Vec::with_capacity(self.edges.len());
        for (edge, weight) in self.weighted_edges() {
            turned.push((DirectedEdge { from: edge.to, to: edge.from, ..*edge }, weight));
        }
        turned.sort_by_key(|(edge, _)| {
            let EdgeAbilities { memory, port } = edge.abilities;
            (edge.from, edge.to, edge.latency_ns, memory, port)
        });
        let (edges, weights) = turned.into_iter().unzip();
        Topology { switches: self.switches.clone(), edges, weights, ..*self }
    }

    /// The same machine with those edges only for which there is `true`, in the order of the edges.
    pub(crate) fn keep_edges(&self, keeps: &[bool]) -> Topology {
        let kept = self.weighted_edges().zip(keeps).filter(|(_, keep)| **keep);
        let (edges, mut weights): (Vec<DirectedEdge>, Vec<u64>) =
            kept.map(|((edge, weight), _)| (*edge, weight)).unzip();
        let mut common = 0;
        for weight in &weights {
            common = common_divisor(common, *weight);
        }
        let common = common.max(1);
        let mut quantum = if edges.is_empty() { Rational::ONE } else { self.quantum };
        if let Ok(larger) = quantum.checked_mul(Rational::from_integer(common)) {
            quantum = larger;
            weights.iter_mut().for_each(|weight| *weight /= common);
        }
        Topology { switches: self.switches.clone(), edges, weights, quantum, ..*self }
    }

    /// Looks for pairs of ranks that no path joins.
    ///
    /// # Errors
    /// [`TopologyError::Unreachable`] names the first pair.
    pub fn check_reachability(&self) -> Result<(), TopologyError> {
        let neighbors = self.collect_neighbors();
        let mut first = None;
        let mut pairs = 0;
        for from in self.ranks() {
            let reached = find_reachable(&neighbors, from);
            for to in self.ranks().filter(|to| !reached[*to]) {
                first.get_or_insert((from, to));
                pairs += 1;
            }
        }
        match first {
            Some((from, to)) => Err(TopologyError::Unreachable { from, to, pairs }),
            None => Ok(()),
        }
    }

    /// For each vertex where its edges lead.
    pub(crate) fn collect_neighbors(&self) -> DenseMap<Vertex, Vec<Vertex>> {
        let mut neighbors = DenseMap::filled(self.count_vertices(), Vec::new());
        for edge in &self.edges {
            neighbors[edge.from].push(edge.to);
        }
        neighbors
    }
}

/// What holds for each edge on its own, and that its unit is that of the first one.
fn check_edge(edges: &[DirectedEdge], index: usize, vertices: usize) -> Result<(), TopologyError> {
    let (Some(first), Some(edge)) = (edges.first(), edges.get(index)) else { return Ok(()) };
    if let Some(vertex) = [edge.from, edge.to].into_iter().find(|end| end.index() >= vertices) {
        return Err(TopologyError::VertexOutOfRange { edge: index, vertex });
    }
    if edge.from == edge.to {
        return Err(TopologyError::SelfLoop { edge: index });
    }
    if !edge.rate.amount.is_positive() {
        return Err(TopologyError::RateNotPositive { edge: index });
    }
    if edge.rate.unit != first.rate.unit {
        return Err(TopologyError::MixedUnits { first: 0, other: index });
    }
    Ok(())
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The greatest common divisor of all rates. That of `a/b` and `c/d` in lowest terms is `gcd(a, c) / lcm(b, d)`; it is
/// 1 if there is no edge.
fn find_quantum(edges: &[DirectedEdge]) -> Result<Rational, TopologyError> {
    let Some(first) = edges.first() else { return Ok(Rational::ONE) };
    let mut quantum = first.rate.amount;
    for (edge, other) in edges.iter().enumerate() {
        let divisor = divide_commonly(quantum, other.rate.amount);
        quantum = divisor.map_err(|_| TopologyError::RatesOverflow { edge })?;
    }
    Ok(quantum)
}

/// The greatest common divisor of two positive fractions.
fn divide_commonly(mut a: Rational, mut b: Rational) -> Result<Rational, ArithmeticError> {
    // Euclid's algorithm: the remainder is a minus the whole multiples of b.
    while b.is_positive() {
        let quotient = a.checked_div(b)?;
        let whole = Rational::new(quotient.numerator() / quotient.denominator(), 1)?;
        (a, b) = (b, a.checked_sub(whole.checked_mul(b)?)?);
    }
    Ok(a)
}

/// How many times the quantum a rate is, if it fits.
fn count_quanta(rate: Rational, quantum: Rational) -> Option<u64> {
    let quotient = rate.checked_div(quantum).ok()?;
    u64::try_from(quotient.numerator()).ok().filter(|count| *count > 0)
}

/// Whether two edges of one topology differ in their rates only.
fn is_parallel(first: &DirectedEdge, second: &DirectedEdge) -> bool {
    first.from == second.from
        && first.to == second.to
        && first.latency_ns == second.latency_ns
        && first.abilities == second.abilities
}

/// The vertices to which paths lead.
fn find_reachable(
    neighbors: &DenseMap<Vertex, Vec<Vertex>>,
    from: Vertex,
) -> DenseMap<Vertex, bool> {
    let mut reached = DenseMap::filled(neighbors.len(), false);
    reached[from] = true;
    let mut open = vec![from];
    while let Some(vertex) = open.pop() {
        for &next in &neighbors[vertex] {
            if !reached[next] {
                reached[next] = true;
                open.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::{
        DirectedEdge, EdgeAbilities, EdgeRate, MAX_EDGES, MAX_VERTICES, RateUnit, SwitchAbilities,
        Topology, TopologyError, Vertex,
    };

    fn edge(from: u32, to: u32, rate: &str) -> DirectedEdge {
        DirectedEdge {
            from: Vertex(from),
            to: Vertex(to),
            rate: EdgeRate { amount: rate.parse().unwrap(), unit: RateUnit::ChunksPerRound },
            latency_ns: 0,
            abilities: EdgeAbilities { memory: true, port: true },
        }
    }

    fn weights(topology: &Topology) -> Vec<u64> {
        topology.weighted_edges().map(|(_, weight)| weight).collect()
    }

    #[test]
    fn rates_become_multiples_of_their_greatest_common_divisor() {
        let edges = [edge(0, 1, "5/6"), edge(1, 2, "3/4"), edge(2, 0, "2")];
        let topology = Topology::new(3, Vec::new(), &edges).unwrap();
        assert_eq!(topology.quantum(), "1/12".parse().unwrap());
        assert_eq!(weights(&topology), [10, 9, 24]);
    }

    #[test]
    fn parallel_edges_add_up() {
        let slow = DirectedEdge { latency_ns: 9, ..edge(0, 1, "1") };
        let edges = [edge(1, 0, "1"), edge(0, 1, "1/2"), slow, edge(0, 1, "1")];
        let topology = Topology::new(2, Vec::new(), &edges).unwrap();
        // The one with another latency stays apart.
        assert_eq!(topology.edges(), [edge(0, 1, "3/2"), slow, edge(1, 0, "1")]);
        assert_eq!(weights(&topology), [3, 2, 2]);
    }

    #[test]
    fn reversal_turns_every_edge_round() {
        let edges = [edge(0, 1, "1"), edge(1, 2, "2"), edge(2, 0, "3")];
        let topology = Topology::new(2, vec![SwitchAbilities::default()], &edges).unwrap();
        let reversed = topology.reverse();
        assert_eq!(reversed.edges(), [edge(0, 2, "3"), edge(1, 0, "1"), edge(2, 1, "2")]);
        assert_eq!(weights(&reversed), [3, 1, 2]);
        assert_eq!(reversed.reverse(), topology);
    }

    #[test]
    fn mistakes_are_named() {
        let new = |ranks, edges: &[DirectedEdge]| Topology::new(ranks, Vec::new(), edges);
        assert_eq!(new(0, &[]), Err(TopologyError::NoRanks));
        assert_eq!(
            new(2, &[edge(0, 1, "1"), edge(1, 2, "1")]),
            Err(TopologyError::VertexOutOfRange { edge: 1, vertex: Vertex(2) })
        );
        assert_eq!(new(2, &[edge(1, 1, "1")]), Err(TopologyError::SelfLoop { edge: 0 }));
        for rate in ["0", "-1"] {
            assert_eq!(
                new(2, &[edge(0, 1, "1"), edge(1, 0, rate)]),
                Err(TopologyError::RateNotPositive { edge: 1 })
            );
        }
        let mut absolute = edge(1, 0, "1");
        absolute.rate.unit = RateUnit::BytesPerSecond;
        assert_eq!(
            new(2, &[edge(0, 1, "1"), absolute]),
            Err(TopologyError::MixedUnits { first: 0, other: 1 })
        );
    }

    #[test]
    fn rates_that_are_too_large_for_exact_arithmetic_are_refused() {
        let new = |rate| Topology::new(2, Vec::new(), &[edge(0, 1, rate), edge(1, 0, "1")]);
        // 2^61 - 2 and one more, times two ranks, is below 2^62.
        assert!(new("2305843009213693950").is_ok());
        assert_eq!(new("2305843009213693951"), Err(TopologyError::RatesOverflow { edge: 1 }));
        // 2^100, and a denominator of 127 bits.
        assert_eq!(
            new("1267650600228229401496703205376"),
            Err(TopologyError::RatesOverflow { edge: 0 })
        );
        let tiny = "1/170141183460469231731687303715884105727";
        assert_eq!(new(tiny), Err(TopologyError::RatesOverflow { edge: 1 }));
    }

    #[test]
    fn graphs_that_are_too_large_are_refused() {
        let most = MAX_VERTICES as u32;
        assert!(Topology::new(most, Vec::new(), &[]).is_ok());
        assert_eq!(Topology::new(most + 1, Vec::new(), &[]), Err(TopologyError::TooManyVertices));
        let edges = vec![edge(0, 1, "1"); MAX_EDGES];
        assert_eq!(weights(&Topology::new(2, Vec::new(), &edges).unwrap()), [1 << 18]);
        let edges = vec![edge(0, 1, "1"); MAX_EDGES + 1];
        assert_eq!(Topology::new(2, Vec::new(), &edges), Err(TopologyError::TooManyEdges));
    }

    #[test]
    fn pairs_without_a_path_are_named() {
        let line = [edge(0, 1, "1"), edge(1, 2, "1")];
        let topology = Topology::new(3, Vec::new(), &line).unwrap();
        let error = topology.check_reachability().unwrap_err();
        assert_eq!(error, TopologyError::Unreachable { from: Vertex(1), to: Vertex(0), pairs: 3 });
        assert_eq!(error.to_string(), "no path leads from rank 1 to rank 0, nor for 2 other pairs");
        let ring = [line[0], line[1], edge(2, 0, "1")];
        assert_eq!(Topology::new(3, Vec::new(), &ring).unwrap().check_reachability(), Ok(()));
        // A switch need not be reached.
        let topology = Topology::new(3, vec![SwitchAbilities::default()], &ring).unwrap();
        assert_eq!(topology.check_reachability(), Ok(()));
    }
}
