//! Checks certificates of bounds. Whoever trusts a bound has to trust this file, the graph and the fractions only: it
//! shares nothing with the search for bounds, and takes each claim from the numbers in the file. The format is that of
//! [`crate::proof`].

use super::{CheckedProof, ProofError, ProofFlaw, ProvedClaim, ProvedQuantity};
use crate::graph::text::{TopologyTextError, is_topology_line, parse_topology};
use crate::graph::{DirectedEdge, Topology, Vertex};
use crate::rational::Rational;
use std::str::FromStr;

/// How many lines are read: more than a topology can have, so that longer files are refused before they take time.
pub const MAX_PROOF_LINES: usize = 1 << 19;

/// How many certificates are checked; each takes a time that grows with the topology.
pub const MAX_CERTIFICATES: usize = 1 << 10;

type Checked<T> = Result<T, ProofFlaw>;

/// Checks a proof file.
///
/// # Errors
/// The first flaw.
pub fn check_proof(text: &str) -> Result<CheckedProof, ProofError> {
    let fail = |index: usize, flaw| ProofError { line: index + 1, flaw };
    let lines: Vec<&str> = text.lines().take(MAX_PROOF_LINES + 1).collect();
    if lines.len() > MAX_PROOF_LINES {
        return Err(fail(MAX_PROOF_LINES, ProofFlaw::TooLong));
    }
    let Some(("ccl-proof 1", body)) = lines.split_first().map(|(first, body)| (*first, body))
    else {
        return Err(fail(0, ProofFlaw::Malformed));
    };
    let head = body.iter().take_while(|line| is_topology_line(line)).count();
    let (head, certificates) = body.split_at(head);
    let topology = parse_topology(head).map_err(|error| match error {
        TopologyTextError::Malformed { line } => fail(1 + line, ProofFlaw::Malformed),
        TopologyTextError::Invalid(error) => fail(head.len(), ProofFlaw::Topology(error)),
    })?;
    let mut claims = Vec::new();
    for (index, line) in (1 + head.len()..).zip(certificates) {
        if line.starts_with("end") {
            let is_whole = *line == format!("end {}", claims.len()) && index + 1 == lines.len();
            let proof = CheckedProof { topology, claims };
            return if is_whole { Ok(proof) } else { Err(fail(index, ProofFlaw::Incomplete)) };
        }
        if claims.len() == MAX_CERTIFICATES {
            return Err(fail(index, ProofFlaw::TooLong));
        }
        claims.push(check_certificate(&topology, line).map_err(|flaw| fail(index, flaw))?);
    }
    Err(fail(lines.len(), ProofFlaw::Incomplete))
}

fn check_certificate(topology: &Topology, line: &str) -> Checked<ProvedClaim> {
    let (head, numbers) = line.split_once(" :").ok_or(ProofFlaw::Malformed)?;
    let words: Vec<&str> = head.split(' ').collect();
    let [kind, text, ends @ .., value] = words.as_slice() else {
        return Err(ProofFlaw::Malformed);
    };
    let root = text.split_once('(').and_then(|(_, root)| root.strip_suffix(')'));
    let root = root.map(|root| parse_rank(topology, root)).transpose()?;
    let name = text.split('(').next().unwrap_or_default();
    let value: Rational = parse(value)?;
    let certificate = Certificate { topology, name, root, value, numbers };
    match (*kind, ends) {
        ("cut", [outside]) => certificate.check_cut(parse_rank(topology, outside)?),
        ("steps", [from, to]) => {
            certificate.check_steps(parse_rank(topology, from)?, parse_rank(topology, to)?)
        }
        ("lp", []) => certificate.check_lengths(),
        _ => Err(ProofFlaw::Malformed),
    }?;
    let is_time = *kind != "steps";
    let quantity = if is_time { ProvedQuantity::TimePerChunk } else { ProvedQuantity::Steps };
    Ok(ProvedClaim { collective: (*text).to_owned(), quantity, value })
}

fn parse<T: FromStr>(word: &str) -> Checked<T> {
    word.parse().map_err(|_| ProofFlaw::Malformed)
}

fn parse_rank(topology: &Topology, word: &str) -> Checked<Vertex> {
    let rank = Vertex(parse(word)?);
    if topology.is_rank(rank) { Ok(rank) } else { Err(ProofFlaw::WrongVertex) }
}

fn require(is_shown: bool, flaw: ProofFlaw) -> Checked<()> {
    if is_shown { Ok(()) } else { Err(flaw) }
}

struct Certificate<'a> {
    topology: &'a Topology,
    name: &'a str,
    root: Option<Vertex>,
    value: Rational,
    numbers: &'a str,
}

impl Certificate<'_> {
    fn parse_numbers<T: FromStr>(&self, expected: usize) -> Checked<Vec<T>> {
        let numbers = self.numbers.split(' ').skip(1).map(parse).collect::<Checked<Vec<T>>>()?;
        require(numbers.len() == expected || expected == 0, ProofFlaw::Malformed)?;
        Ok(numbers)
    }

    fn check_cut(&self, outside: Vertex) -> Checked<()> {
        let mut inside = vec![false; self.topology.count_vertices()];
        for vertex in self.parse_numbers::<u32>(0)? {
            *inside.get_mut(vertex as usize).ok_or(ProofFlaw::WrongVertex)? = true;
        }
        let is_inside = |vertex: Vertex| inside.get(vertex.0 as usize) == Some(&true);
        let ranks_inside = self.topology.ranks().filter(|rank| is_inside(*rank)).count() as u64;
        let ranks_outside = u64::from(self.topology.count_ranks()) - ranks_inside;
        let is_between = ranks_inside > 0 && !is_inside(outside);
        require(is_between && self.root.is_none_or(is_inside), ProofFlaw::WrongVertex)?;
        // How much must pass the cut, and whether it leaves the side or enters it.
        let (amount, leaves) = match (self.name, self.root) {
            ("allgather", None) => (ranks_inside, true),
            ("reduce_scatter", None) => (ranks_inside, false),
            ("alltoall", None) => (ranks_inside * ranks_outside, true),
            ("allreduce", None) | ("broadcast", Some(_)) => (1, true),
            ("reduce", Some(_)) => (1, false),
            ("scatter", Some(_)) => (ranks_outside, true),
            ("gather", Some(_)) => (ranks_outside, false),
            _ => return Err(ProofFlaw::Malformed),
        };
        let mut rate = Rational::ZERO;
        for edge in self.topology.edges() {
            if is_inside(edge.from) == leaves && is_inside(edge.to) != leaves {
                rate = rate.checked_add(edge.rate.amount)?;
            }
        }
        let passed = self.value.checked_mul(rate)?;
        require(passed == Rational::from_integer(amount), ProofFlaw::WrongValue)
    }

    fn check_steps(&self, from: Vertex, to: Vertex) -> Checked<()> {
        let is_demanded = match (self.name, self.root) {
            ("allgather" | "reduce_scatter" | "alltoall" | "allreduce", None) => true,
            ("broadcast" | "scatter", Some(root)) => from == root,
            ("reduce" | "gather", Some(root)) => to == root,
            _ => return Err(ProofFlaw::Malformed),
        };
        require(is_demanded && from != to, ProofFlaw::WrongVertex)?;
        let distances: Vec<u32> = self.parse_numbers(self.topology.count_vertices())?;
        let distance = |vertex: Vertex| u64::from(*distances.get(vertex.0 as usize).unwrap_or(&0));
        let is_short = |edge: &DirectedEdge| {
            distance(edge.to) <= distance(edge.from) + u64::from(self.topology.is_rank(edge.to))
        };
        let is_at_end = Rational::from_integer(distance(to)) == self.value;
        let is_path = distance(from) == 0 && self.topology.edges().iter().all(is_short);
        require(is_path && is_at_end, ProofFlaw::WrongValue)
    }

    fn check_lengths(&self) -> Checked<()> {
        require(self.name == "alltoall" && self.root.is_none(), ProofFlaw::Malformed)?;
        let edges = self.topology.edges();
        let lengths: Vec<Rational> = self.parse_numbers(edges.len())?;
        let mut capacity = Rational::ZERO;
        for (edge, length) in edges.iter().zip(&lengths) {
            require(*length >= Rational::ZERO, ProofFlaw::WrongValue)?;
            capacity = capacity.checked_add(edge.rate.amount.checked_mul(*length)?)?;
        }
        let mut paths = Rational::ZERO;
        for from in self.topology.ranks() {
            let distances = self.measure_paths(from, &lengths)?;
            for to in distances.iter().take(self.topology.count_ranks() as usize) {
                paths = paths.checked_add(to.ok_or(ProofFlaw::WrongValue)?)?;
            }
        }
        let is_shown = capacity.is_positive() && self.value.checked_mul(capacity)? == paths;
        require(is_shown, ProofFlaw::WrongValue)
    }

    /// The length of the shortest path to each vertex: goes over the edges until nothing changes (Bellman, Ford).
    fn measure_paths(&self, from: Vertex, lengths: &[Rational]) -> Checked<Vec<Option<Rational>>> {
        let own = |vertex| (vertex == from.0).then_some(Rational::ZERO);
        let mut distances: Vec<_> = (0..self.topology.count_vertices() as u32).map(own).collect();
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for (edge, length) in self.topology.edges().iter().zip(lengths) {
                let Some(Some(tail)) = distances.get(edge.from.0 as usize) else { continue };
                let through = tail.checked_add(*length)?;
                let Some(head) = distances.get_mut(edge.to.0 as usize) else { continue };
                if head.is_none_or(|head| through < head) {
                    *head = Some(through);
                    has_changed = true;
                }
            }
        }
        Ok(distances)
    }
}
