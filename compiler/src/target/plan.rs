//! MSCCL++'s executor, which runs plans.
//!
//! In: a program. Out: its final form, with operations that the executor has and joins that are explicit; what the
//! executor has no room for.

use super::{Capacity, Target, Writer};
use crate::check::limits;
use crate::diagnostic::Diagnostic;
use crate::ir::Program;
use crate::optimize::{self, Stage, replicate};
use std::borrow::Cow;

/// The target.
pub static PLAN: Target = Target {
    word: "executor",
    versioned: None,
    description: "MSCCL++'s executor, by a plan",
    passes: |program| optimize::optimize(program, Stage::Sync),
    channel_note: None,
    runs_as: None,
    writer: Writer::Plan,
};

/// What the executor has no room for. Copies are made rank by rank, so that no two ranks' have to be in memory at once.
pub(super) fn check_limits(program: &Program, capacity: Capacity) -> Vec<Diagnostic> {
    let rank_of = |id| replicate::rank(program, id);
    let found = limits::check(program, &mut |id| Cow::Owned(rank_of(id)), &capacity.limits());
    capacity.grade(found)
}
