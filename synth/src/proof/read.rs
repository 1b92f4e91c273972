//! Reads proof files: the topology, then each collective, whose bounds are checked one by one.

use super::check::{check_bound, parse_demand};
use super::known::name_collective;
use super::limits::{WorkMeter, check_size};
use super::{CheckedProof, ProofError, ProofFlaw, ProvedBound, ProvedClaim};
use crate::graph::text::{TopologyTextError, is_topology_line, parse_topology};
use std::rc::Rc;

/// Checks a proof file: every certificate in it, and that none is missing.
///
/// # Errors
/// The first flaw. That of a flow has the line of the bound that it is for.
pub fn check_proof(text: &str) -> Result<CheckedProof, ProofError> {
    check_size(text)?;
    let fail = |index: usize, flaw| ProofError { line: index + 1, flaw };
    let lines: Vec<&str> = text.lines().collect();
    let Some((&"ccl-proof 2", body)) = lines.split_first() else {
        return Err(fail(0, ProofFlaw::Malformed));
    };
    let head = body.iter().take_while(|line| is_topology_line(line)).count();
    let (head, body) = body.split_at(head);
    let topology = parse_topology(head).map_err(|error| match error {
        TopologyTextError::Malformed { line } => fail(1 + line, ProofFlaw::Malformed),
        TopologyTextError::Invalid(error) => fail(head.len(), ProofFlaw::Topology(error)),
    })?;
    let ranks: Rc<[usize]> = (0..topology.ranks().len()).collect();
    let mut meter = WorkMeter::new(&topology);
    let mut claims = Vec::new();
    let mut index = 1 + head.len();
    for section in body.chunk_by(|_, next| *next != "collective" && !next.starts_with("end")) {
        let [first, section @ ..] = section else { continue };
        if first.starts_with("end") {
            let is_whole = *first == format!("end {}", claims.len()) && index + 1 == lines.len();
            return if is_whole {
                Ok(CheckedProof { topology, claims })
            } else {
                Err(fail(index, ProofFlaw::Incomplete))
            };
        }
        if *first != "collective" {
            return Err(fail(index, ProofFlaw::Malformed));
        }
        index += 1;
        let count = section.iter().take_while(|line| !line.starts_with("bound ")).count();
        let (demand_lines, bounds) = section.split_at(count);
        let collective = name_collective(topology.count_ranks(), demand_lines);
        let mut demands = Vec::new();
        meter.start_collective();
        for line in demand_lines {
            meter.admit_demand(line);
            demands.push(parse_demand(&ranks, line).map_err(|flaw| fail(index, flaw))?);
            index += 1;
        }
        for certificate in bounds.chunk_by(|_, next| !next.starts_with("bound ")) {
            let bound = meter
                .admit_certificate(certificate)
                .and_then(|()| check_bound(&topology, &demands, certificate))
                .map_err(|flaw| fail(index, flaw))?;
            let ProvedBound { quantity, value } = bound;
            claims.push(ProvedClaim { collective: collective.clone(), quantity, value });
            index += certificate.len();
        }
    }
    Err(fail(lines.len(), ProofFlaw::Incomplete))
}
