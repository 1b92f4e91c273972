//! Refuses proof files that would take too much time or memory, before they are checked.

use super::{
    MAX_CERTIFICATES, MAX_EDGE_WORK, MAX_LAYERED_EDGES, MAX_PROOF_BYTES, MAX_PROOF_LINES,
    ProofError, ProofFlaw,
};
use crate::graph::Topology;

/// How many ranks of demands take as much time as an edge.
const RANKS_OF_AN_EDGE: u64 = 4;

/// Looks at the length only.
pub(super) fn check_size(text: &str) -> Result<(), ProofError> {
    if text.len() > MAX_PROOF_BYTES {
        return Err(ProofError { line: 1, flaw: ProofFlaw::TooLong });
    }
    if text.lines().nth(MAX_PROOF_LINES).is_some() {
        return Err(ProofError { line: MAX_PROOF_LINES + 1, flaw: ProofFlaw::TooLong });
    }
    Ok(())
}

/// How much of what is allowed a file has used.
pub(super) struct WorkMeter<'a> {
    topology: &'a Topology,
    /// How many edges, ranks and demands were looked at.
    work: u64,
    certificates: usize,
    /// For each demand of the collective how many ranks it looks at.
    demands: Vec<u64>,
}

impl<'a> WorkMeter<'a> {
    pub(super) fn new(topology: &'a Topology) -> WorkMeter<'a> {
        WorkMeter { topology, work: 0, certificates: 0, demands: Vec::new() }
    }

    /// Begins a collective.
    pub(super) fn start_collective(&mut self) {
        self.demands.clear();
    }

    /// Takes a demand in. Several sums of it are compared with each other.
    pub(super) fn admit_demand(&mut self, line: &str) {
        let lists = line.split(" : ").skip(1);
        let sums = (lists.clone().count() as u64).div_ceil(2);
        let ends = lists.map(|list| match list {
            "all" => self.topology.ranks().len(),
            _ => list.split(' ').count(),
        });
        self.demands.push(1 + (ends.sum::<usize>() as u64).saturating_mul(sums) / RANKS_OF_AN_EDGE);
    }

    /// Takes a bound and its flows in.
    pub(super) fn admit_certificate(&mut self, lines: &[&str]) -> Result<(), ProofFlaw> {
        self.certificates += 1;
        if self.certificates > MAX_CERTIFICATES {
            return Err(ProofFlaw::TooLong);
        }
        let edges = (self.topology.edges().len() + self.topology.ranks().len()) as u64;
        let layers = lines.first().and_then(|line| line.split(' ').nth(4)?.parse::<u64>().ok());
        for line in lines {
            let (head, numbers) = line.split_once(" : ").unwrap_or((line, ""));
            // Each potential has two letters at least, and all vertices' potentials are compared along each edge.
            let times = 1 + (numbers.len() / 2 / self.topology.count_vertices()) as u64;
            let listed = match head.strip_prefix("flow ") {
                Some("all") | None => self.demands.iter().sum(),
                Some(list) => {
                    let indexes = list.split(' ').filter_map(|word| word.parse::<usize>().ok());
                    indexes.filter_map(|index| self.demands.get(index)).sum::<u64>()
                }
            };
            self.work =
                self.work.saturating_add(times.saturating_mul(edges.saturating_add(listed)));
            let kept = layers.map_or(0, |layers| layers.min(times).saturating_mul(edges));
            if self.work > MAX_EDGE_WORK || kept > MAX_LAYERED_EDGES {
                return Err(ProofFlaw::TooLong);
            }
        }
        Ok(())
    }
}
