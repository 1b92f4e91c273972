//! Kernels that write to scratch too early for the previous launch, and would not if launches alternated between two
//! halves of it.
//!
//! In: a program for kernels and what was found in it. Out: the same findings. In kernels, `double_scratch` is for all
//! data. It takes memory and no time, so it comes before a change that adds a signal and a wait to each launch, if
//! it makes every finding of this kind go away and brings no other. MSCCL++'s executor selects the half for packets only; for
//! these, the checks themselves try it.

use super::operations;
use crate::check;
use crate::diagnostic::{Change, Code, Diagnostic, Severity};
use crate::interrupt::Interrupt;
use crate::ir;

/// The most operations of a program for which this is tried.
const BUDGET: u64 = 1_000_000;

/// Offers to double scratch.
pub(super) fn offer_double_scratch(
    program: &ir::Program,
    mut found: Vec<Diagnostic>,
    interrupt: &Interrupt,
) -> Vec<Diagnostic> {
    let Some(first) = found.iter().position(is_costly) else { return found };
    if !may_be_doubled(program) || operations(program) > BUDGET {
        return found;
    }
    let mut doubled = program.clone();
    doubled.options.double_scratch = true;
    let after = check::check(&doubled, interrupt);
    let mut errors = after.iter().filter(|report| report.severity == Severity::Error);
    let stays = |report: &Diagnostic| report.code != Code::E0515;
    let is_known = |error: &Diagnostic| {
        found
            .iter()
            .filter(|report| stays(report))
            .any(|report| (report.code, &report.message) == (error.code, &error.message))
    };
    if interrupt.is_set() || !errors.all(is_known) {
        return found;
    }
    let mut report = found.swap_remove(first);
    let others = found.len();
    found.retain(stays);
    report = match others - found.len() {
        0 => report,
        1 => report.note("the same change resolves 1 other finding"),
        more => report.note(format!("the same change resolves {more} other findings")),
    };
    let change = Change::Option { name: "double_scratch", value: "true" };
    report.helps = vec![change.title()];
    report.change = Some(change);
    found.insert(first.min(found.len()), report);
    found
}

fn may_be_doubled(program: &ir::Program) -> bool {
    !program.options.double_scratch && program.ranks.iter().any(|rank| rank.scratch_chunks > 0)
}

/// Whether a report is of a race for scratch between launches that takes another exchange to repair, or for which no change
/// is known.
fn is_costly(report: &Diagnostic) -> bool {
    let adds = match &report.change {
        None
        | Some(
            Change::Handshake { .. }
            | Change::Exchange { .. }
            | Change::Answer { .. }
            | Change::Repeat { .. },
        ) => true,
        Some(
            Change::Join { .. }
            | Change::Strong { .. }
            | Change::Flush { .. }
            | Change::Move { .. }
            | Change::Option { .. }
            | Change::Remove { .. }
            | Change::Release { .. }
            | Change::Initial { .. }
            | Change::Handover(_)
            | Change::Relay { .. }
            | Change::Barrier { .. }
            | Change::InPlace { .. }
            | Change::Attend { .. },
        ) => false,
    };
    report.code == Code::E0515 && adds
}
