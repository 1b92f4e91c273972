//! The passes over a checked program, in order.
//!
//! Splitting comes before synchronization, so that synchronization sees which thread does which part of an operation:
//! the eighth channel of a `signal` is thread 7's, the ninth is thread 0's in the next operation. Operands are cut for
//! replication before both, since a cut assigns elements to other threads.

mod blocks;
pub mod fuse;
mod operands;
mod outer;
mod parts;
pub mod ports;
pub mod replicate;
mod scratch;
pub mod split;
pub mod sync;

use crate::ir;
use crate::phase::phase;

/// A point before or after a pass, at which a program can be inspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Before all passes.
    Elaborate,
    /// After neighboring operations were fused.
    Fuse,
    /// After operations were cut to the executor's sizes.
    Split,
    /// After the points at which the threads of each block meet were made explicit.
    Sync,
    /// After the copies were made.
    Replicate,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Stage; 5] =
        [Stage::Elaborate, Stage::Fuse, Stage::Split, Stage::Sync, Stage::Replicate];

    /// The word for it on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Stage::Elaborate => "elaborate",
            Stage::Fuse => "fuse",
            Stage::Split => "split",
            Stage::Sync => "sync",
            Stage::Replicate => "replicate",
        }
    }

    /// What was done last.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Stage::Elaborate => "Loops unrolled, names resolved",
            Stage::Fuse => "Operations fused",
            Stage::Split => "Operations split at the executor's limits",
            Stage::Sync => "Synchronization inside blocks inserted",
            Stage::Replicate => "Instances created",
        }
    }
}

/// Runs all passes up to and including `last`. The caller has already refused programs whose copies would touch each
/// other's memory (see [`replicate::replicable`]).
#[must_use]
pub fn optimize(mut program: ir::Program, last: Stage) -> ir::Program {
    if last >= Stage::Fuse {
        program = pass("fuse", fuse::fuse, program);
    }
    if last >= Stage::Split {
        program = pass("scratch", scratch::scratch, pass("outer", outer::outer, program));
        program = pass("split", split::split, pass("spread", replicate::spread::spread, program));
        program = blocks::everywhere(program);
    }
    if last >= Stage::Sync {
        program = pass("parts", parts::parts, pass("sync", sync::sync, program));
    }
    if last >= Stage::Replicate {
        program = pass("replicate", replicate::replicate, program);
    }
    program
}

/// The passes for kernels compiled for this program. There is no proxy, so ports become memory channels; and
/// no operation is too large, so nothing is split.
#[must_use]
pub fn for_kernels(program: ir::Program) -> ir::Program {
    let program = pass("fuse", fuse::fuse, pass("ports", ports::ports, program));
    pass("sync", sync::sync, pass("spread", replicate::spread::spread, program))
}

/// The same, where a network carries out what goes over ports, so that ports stay.
#[must_use]
pub fn for_networked_kernels(program: ir::Program) -> ir::Program {
    let program = pass("spread", replicate::spread::spread, pass("fuse", fuse::fuse, program));
    pass("sync", sync::sync, program)
}

fn pass(
    name: &'static str,
    run: fn(ir::Program) -> ir::Program,
    program: ir::Program,
) -> ir::Program {
    let _passing = phase(name, "");
    run(program)
}

#[cfg(test)]
mod tests;
