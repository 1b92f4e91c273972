//! Limits of standalone kernels.
//!
//! In: the final program. Out: reports.
//!
//! - Blocks wait for each other, so all blocks of a rank must run at once: at most as many as the GPU has room for.
//! - The kernel's argument holds the addresses of every rank's memory, so the number of ranks is limited.

use crate::diagnostic::{Code, Diagnostic, Label};
use crate::ir::Program;

/// 4 KiB of kernel arguments hold 32 bytes for each rank, and the rest.
const RANKS: usize = 120;

/// Checks a program; `sms` is how many blocks the GPU runs at once.
#[must_use]
pub fn check(program: &Program, sms: u32) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let most = program.ranks.iter().map(|rank| rank.blocks.len()).max().unwrap_or(0);
    if most > sms as usize {
        found.push(placed(program, too_many_blocks(most, sms)));
    }
    if program.ranks.len() > RANKS {
        found.push(placed(program, too_many_ranks(program.ranks.len())));
    }
    found
}

fn placed(program: &Program, mut report: Diagnostic) -> Diagnostic {
    if let Some(place) = program.collective.place {
        report.primary = Some(Label::new(place, ""));
    }
    report
}

fn too_many_blocks(count: usize, most: u32) -> Diagnostic {
    let message = format!("a rank has {count} thread blocks; {most} run at once on its GPU");
    Diagnostic::without_place(Code::E0806, message)
        .note("blocks wait for each other, so one that has not started yet can keep all others waiting forever")
        .help("give each block more of the work, or use fewer `instances`")
}

fn too_many_ranks(count: usize) -> Diagnostic {
    let message =
        format!("the program has {count} ranks; a kernel's arguments have room for {RANKS}");
    Diagnostic::without_place(Code::E0813, message)
        .note("kernels reach their peers' memory directly, which only the ranks of a few nodes can")
        .help("build an execution plan for MSCCL++'s executor instead")
}
