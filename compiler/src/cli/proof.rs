//! `cclc proof`: checks the certificates that `--prove` writes.

use super::args::Proof;
use super::report::Reporter;
use super::{Failure, Status, files, output};
use compiler::diagnostic::{Code, Diagnostic};
use compiler::source::Span;
use std::path::Path;
use synth::bound::collective::CollectiveBounds;
use synth::graph::RateUnit;
use synth::proof::read::check_proof;
use synth::proof::write::write_bounds_proof;
use synth::proof::{MAX_PROOF_BYTES, ProvedClaim, ProvedQuantity};
use synth::rational::Rational;

/// How many bytes of a line are marked in a report.
const MOST_SHOWN: u32 = 80;

/// Checks a proof file, and prints what it proves.
pub(crate) fn run(proof: &Proof, reporter: &mut Reporter) -> Result<Status, Failure> {
    let most = reporter.limits.plan_bytes().min(MAX_PROOF_BYTES as u64);
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
            let links = checked.topology.edges().len();
            let unit = match checked.topology.unit() {
                RateUnit::BytesPerSecond => "seconds per byte",
                RateUnit::ChunksPerRound => "rounds per chunk",
            };
            let lines: String =
                checked.claims.iter().map(|claim| describe_claim(claim, unit)).collect();
            output::show(&format!(
                "proved for the machine of the file, with {ranks} ranks and {links} links:\n{lines}"
            ))?;
        }
        Err(error) => {
            let name = files::name(&proof.file);
            let before = text.split_inclusive('\n').take(error.line.saturating_sub(1));
            let start: usize = before.map(str::len).sum();
            let line = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
            // What follows the line is not shown.
            let shown = text.get(..start + line.len()).unwrap_or_default();
            let file = reporter.sources.add(name, shown);
            let start = start as u32;
            let span = Span { file, start, end: start + (line.len() as u32).min(MOST_SHOWN) };
            let report = Diagnostic::new(Code::E1112, span, error.flaw.to_string());
            reporter.add(vec![report]);
        }
    }
    Ok(reporter.finish())
}

/// Writes the proofs of bounds to a file.
pub(crate) fn write_proof(
    path: &Path,
    bounds: &CollectiveBounds,
    reporter: &Reporter,
) -> Result<(), Failure> {
    output::refuse_losses([path], &reporter.sources)?;
    let proof = write_bounds_proof(bounds);
    if proof.len() > MAX_PROOF_BYTES {
        return Err(Failure::Usage(format!(
            "the proof would have {} bytes, and `cclc proof` reads at most {MAX_PROOF_BYTES}",
            proof.len()
        )));
    }
    output::write_text(path, &proof)
}

fn describe_claim(claim: &ProvedClaim, unit: &str) -> String {
    let ProvedClaim { collective, quantity, value } = claim;
    match quantity {
        ProvedQuantity::Steps if *value == Rational::ONE => {
            format!("  {collective}: at least 1 step\n")
        }
        ProvedQuantity::Steps => format!("  {collective}: at least {value} steps\n"),
        ProvedQuantity::TimePerChunk => format!("  {collective}: at least {value} {unit}\n"),
        ProvedQuantity::TimePerChunkInSteps(steps) => {
            let steps = if *steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
            format!("  {collective}: at least {value} {unit} in {steps}\n")
        }
        ProvedQuantity::TimePerChunkInHops(hops) => {
            let hops = if *hops == 1 { "1 hop".to_owned() } else { format!("{hops} hops") };
            format!("  {collective}: at least {value} {unit} with {hops}\n")
        }
        ProvedQuantity::TimePerChunkByRoots => format!(
            "  {collective}: at least {value} {unit}, if each part is summed up at one rank\n"
        ),
    }
}
