//! `cclc proof`: checks the certificates that `cclc bound --prove` writes.

use super::args::Proof;
use super::report::Reporter;
use super::{Failure, Status, files, output};
use synth::proof::read::check_proof;
use synth::proof::{ProvedClaim, ProvedQuantity};

/// The most bytes of a proof file.
const MOST_BYTES: u64 = 1 << 28;

/// Checks a proof file, and prints what it proves.
pub(crate) fn run(proof: &Proof, reporter: &mut Reporter) -> Result<Status, Failure> {
    let most = reporter.limits.plan_bytes().min(MOST_BYTES);
    let text = match files::text(&proof.file, most, &reporter.interrupt) {
        Ok(text) => text,
        Err(why) => {
            reporter.unreadable(&proof.file, &why);
            return Ok(reporter.finish());
        }
    };
    match check_proof(&text) {
        Ok(checked) => {
            let ranks = checked.topology.count_ranks();
            let lines: String = checked.claims.iter().map(describe_claim).collect();
            output::show(&format!("proved for a machine of {ranks} ranks:\n{lines}"))?;
        }
        Err(error) => {
            let name = files::name(&proof.file);
            return Err(Failure::Files(format!("`{name}` proves nothing: {error}")));
        }
    }
    Ok(reporter.finish())
}

fn describe_claim(claim: &ProvedClaim) -> String {
    let ProvedClaim { collective, quantity, value } = claim;
    match quantity {
        ProvedQuantity::Steps => format!("  {collective}: at least {value} steps\n"),
        ProvedQuantity::TimePerChunk => format!("  {collective}: at least {value} per chunk\n"),
        ProvedQuantity::TimePerChunkInSteps(steps) => {
            format!("  {collective}: at least {value} per chunk in {steps} steps\n")
        }
    }
}
