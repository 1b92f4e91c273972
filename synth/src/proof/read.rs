//! Reads proof files: the topology, then the certificates, which are checked one by one.

use super::check::check_certificate;
use super::demand::{measure_work, parse_demand};
use super::{
    CheckedProof, MAX_CERTIFICATES, MAX_EDGE_WORK, MAX_PROOF_BYTES, MAX_PROOF_LINES, ProofError,
    ProofFlaw,
};
use crate::graph::text::{TopologyTextError, is_topology_line, parse_topology};

/// Checks a proof file: every certificate in it, and that none is missing.
///
/// # Errors
/// The first flaw.
pub fn check_proof(text: &str) -> Result<CheckedProof, ProofError> {
    let fail = |index: usize, flaw| ProofError { line: index + 1, flaw };
    if text.len() > MAX_PROOF_BYTES {
        return Err(fail(0, ProofFlaw::TooLong));
    }
    let lines: Vec<&str> = text.lines().take(MAX_PROOF_LINES + 1).collect();
    if lines.len() > MAX_PROOF_LINES {
        return Err(fail(MAX_PROOF_LINES, ProofFlaw::TooLong));
    }
    let Some((&"ccl-proof 1", body)) = lines.split_first() else {
        return Err(fail(0, ProofFlaw::Malformed));
    };
    let head = body.iter().take_while(|line| is_topology_line(line)).count();
    let (head, certificates) = body.split_at(head);
    let topology = parse_topology(head).map_err(|error| match error {
        TopologyTextError::Malformed { line } => fail(1 + line, ProofFlaw::Malformed),
        TopologyTextError::Invalid(error) => fail(head.len(), ProofFlaw::Topology(error)),
    })?;
    let count = certificates.iter().take_while(|line| line.starts_with("demand ")).count();
    let (demand_lines, certificates) = certificates.split_at(count);
    let mut demands = Vec::new();
    for (index, line) in (1 + head.len()..).zip(demand_lines) {
        let demand = parse_demand(&topology, line);
        demands.push(demand.map_err(|flaw| fail(index, flaw))?);
    }
    let mut claims = Vec::new();
    let mut work = 0;
    for (index, line) in (1 + head.len() + count..).zip(certificates) {
        if line.starts_with("end") {
            let is_whole = *line == format!("end {}", claims.len()) && index + 1 == lines.len();
            let proof = CheckedProof { topology, claims };
            return if is_whole { Ok(proof) } else { Err(fail(index, ProofFlaw::Incomplete)) };
        }
        // Each potential has two letters at least, and all vertices' potentials are compared along each edge.
        let potentials = 1 + line.len() / 2 / topology.count_vertices();
        work += potentials as u64 * topology.edges().len() as u64 + measure_work(&demands);
        if claims.len() == MAX_CERTIFICATES || work > MAX_EDGE_WORK {
            return Err(fail(index, ProofFlaw::TooLong));
        }
        let claim = check_certificate(&topology, &demands, line);
        claims.push(claim.map_err(|flaw| fail(index, flaw))?);
    }
    Err(fail(lines.len(), ProofFlaw::Incomplete))
}
