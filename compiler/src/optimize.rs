//! The passes over a checked program, in order.
//!
//! Splitting stands before synchronisation, so that the threads that do the parts of an operation are the ones that
//! will: the eighth channel of a `signal` is thread 7's, the ninth thread 0's of the next operation. Operands are cut
//! for replication before both, since a cut moves elements to other threads.

mod blocks;
pub mod fuse;
mod operands;
pub mod ports;
pub mod replicate;
pub mod split;
pub mod sync;

use crate::ir;
use crate::phase::phase;

/// A place between passes at which a program can be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// After neighbours were joined.
    Fuse,
    /// After operations were cut to the executor's sizes.
    Split,
    /// After the threads of each block were told where to meet.
    Sync,
    /// After the copies were made.
    Replicate,
}

/// Runs all passes up to and including `last`. A program whose copies would touch each other (see
/// [`replicate::replicable`]) is to be refused before.
#[must_use]
pub fn optimize(program: ir::Program, last: Stage) -> ir::Program {
    let mut program = pass("fuse", fuse::fuse, program);
    if last >= Stage::Split {
        program = pass("split", split::split, pass("spread", replicate::spread::spread, program));
        program = blocks::everywhere(program);
    }
    if last >= Stage::Sync {
        program = pass("sync", sync::sync, program);
    }
    if last >= Stage::Replicate {
        program = pass("replicate", replicate::replicate, program);
    }
    program
}

/// The passes for kernels that are compiled for the program: there is no proxy, and no operation is too large.
#[must_use]
pub fn for_kernels(program: ir::Program) -> ir::Program {
    let program = pass("fuse", fuse::fuse, pass("ports", ports::ports, program));
    pass("sync", sync::sync, pass("spread", replicate::spread::spread, program))
}

/// The same where there is a network that does what goes over ports.
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
