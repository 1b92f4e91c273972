//! What MSCCL++'s executor can run.
//!
//! In: the final program, joins explicit and instances laid out, rank by rank, so that a caller that writes ranks as it
//! makes them need not hold them all. Out: the message sizes that the plan serves, and what the executor cannot run:
//!
//! * `blocks`: 64 operations in a block (pipelines and their bodies count), 16 channels and 16 remote buffers of a kind
//!   in a block, 8 channels, 10 sources, 10 destinations and 16 semaphores in an operation, 16 barriers on a rank, and
//!   as many thread blocks as run at once. All but the first go unchecked by the loader and corrupt memory or hang.
//! * `operations`: what the executor lacks or runs wrongly: `flush`, reductions other than sums, a load-reduce that
//!   does not store, a `get` between different offsets, packets put over a port, and so on; pipelines that it would run
//!   past their end; operations that break under `reuse_resources` and `double_scratch`.
//! * `sizes`: message sizes beyond 32-bit offsets, scratch, and 65,535 windows of a pipeline.
//! * `reach`: memory and switch channels that leave a node.
//! * `constraints`: what whoever launches the plan must not do.
//! * `options`: alignments that are no multiple of 16 bytes, ranks without input, output or blocks, ports beyond the
//!   eighth rank of a node.
//!
//! One mistake is one report, however many ranks and blocks repeat it: see `findings`.

mod blocks;
mod constraints;
mod findings;
mod operations;
mod options;
mod reach;
mod sizes;
mod terms;
#[cfg(test)]
mod tests;

use super::calls;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::ir;
pub use blocks::{
    BUFFERS_OF_OPERATION, CHANNELS_OF_BLOCK, CHANNELS_OF_OPERATION, REMOTE_BUFFERS,
    SEMAPHORES_OF_OPERATION,
};
pub use constraints::{Constraint, constraints};
pub use reach::Mapping;
use std::borrow::Cow;

/// What differs between machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many thread blocks run at once on one GPU.
    pub max_blocks: u32,
}

impl Default for Limits {
    /// An H100's.
    fn default() -> Limits {
        Limits { max_blocks: 132 }
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The bytes of the smallest message that the plan serves, as the option `message_size` counts them.
    pub min_message_size: u64,
    /// The bytes of the largest one.
    pub max_message_size: u64,
    /// What the executor cannot run, and notes on the sizes.
    pub diagnostics: Vec<Diagnostic>,
}

/// Checks a program whose ranks `rank_of` makes or lends.
#[must_use]
pub fn check<'r>(
    program: &ir::Program,
    rank_of: &mut dyn FnMut(ir::RankId) -> Cow<'r, ir::Rank>,
    settings: &Limits,
) -> Vec<Diagnostic> {
    outcome(program, rank_of, settings).diagnostics
}

/// The fewest and the most bytes that the plan serves, and what is wrong with the limits that the author requests.
#[must_use]
pub fn message_size<'r>(
    program: &ir::Program,
    rank_of: &mut dyn FnMut(ir::RankId) -> Cow<'r, ir::Rank>,
) -> (u64, u64, Vec<Diagnostic>) {
    let mut bounds = sizes::Bounds::new(program);
    for id in program.ranks.ids() {
        bounds.rank(program, id, &rank_of(id));
    }
    bounds.finish(program)
}

/// [`check`] and [`message_size`] in one pass over the ranks.
#[must_use]
pub fn outcome<'r>(
    program: &ir::Program,
    rank_of: &mut dyn FnMut(ir::RankId) -> Cow<'r, ir::Rank>,
    settings: &Limits,
) -> Outcome {
    let mut checker = Checker::new(program, *settings);
    for id in program.ranks.ids() {
        checker.rank(id, &rank_of(id));
    }
    checker.finish()
}

/// The operations of pipelines that cover other chunks than their pipeline. Such a program leaves chunks out, or moves
/// them too early, so that whatever else is wrong with it is likely to be a consequence.
#[must_use]
pub fn in_pipelines(program: &ir::Program) -> Vec<Diagnostic> {
    let mut findings = findings::Findings::new(program);
    for (id, rank) in program.ranks.entries() {
        operations::in_pipelines(&mut findings, id, rank);
    }
    calls::told(&program.origins, findings.finish())
}

/// The transfers that the executor lacks or runs wrongly, whatever surrounds them: what is wrong with the synchronization
/// of a program has no influence on them.
#[must_use]
pub fn in_transfers(program: &ir::Program) -> Vec<Diagnostic> {
    let mut findings = findings::Findings::new(program);
    for (id, rank) in program.ranks.entries() {
        operations::in_transfers(&mut findings, id, rank);
    }
    let mut found = findings.finish();
    found.retain(|report| report.code == Code::E0807 && report.severity == Severity::Error);
    calls::told(&program.origins, found)
}

/// The channels of kernels that lead where no memory is mapped.
#[must_use]
pub fn unmapped(program: &ir::Program, mapping: Mapping) -> Vec<Diagnostic> {
    let mut findings = findings::Findings::new(program);
    reach::program(&mut findings, mapping);
    calls::told(&program.origins, findings.finish())
}

/// [`outcome`] for a caller that has one rank at a time: give it every rank, in order.
pub struct Checker<'p> {
    program: &'p ir::Program,
    settings: Limits,
    findings: findings::Findings<'p>,
    bounds: sizes::Bounds,
}

impl<'p> Checker<'p> {
    /// A checker that has seen no rank yet.
    #[must_use]
    pub fn new(program: &'p ir::Program, settings: Limits) -> Checker<'p> {
        let mut findings = findings::Findings::new(program);
        options::program(&mut findings);
        reach::program(&mut findings, Mapping::EXECUTOR);
        Checker { program, settings, findings, bounds: sizes::Bounds::new(program) }
    }

    /// Checks one rank.
    pub fn rank(&mut self, id: ir::RankId, rank: &ir::Rank) {
        options::rank(&mut self.findings, id, rank);
        blocks::rank(&mut self.findings, &self.settings, id, rank);
        operations::rank(&mut self.findings, id, rank);
        self.bounds.rank(self.program, id, rank);
    }

    /// What was found in all ranks.
    #[must_use]
    pub fn finish(self) -> Outcome {
        let (min_message_size, max_message_size, sizes) = self.bounds.finish(self.program);
        let mut diagnostics = self.findings.finish();
        let is_error = |report: &Diagnostic| report.severity == Severity::Error;
        let runs = !diagnostics.iter().any(is_error);
        // The sizes that a plan serves matter only if it runs.
        diagnostics.extend(sizes.into_iter().filter(|report| runs || is_error(report)));
        if runs {
            diagnostics.extend(constraints::note(self.program));
        }
        let diagnostics =
            calls::told(&self.program.origins, findings::unaccepted(self.program, diagnostics));
        Outcome { min_message_size, max_message_size, diagnostics }
    }
}
