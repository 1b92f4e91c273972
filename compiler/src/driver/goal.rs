//! What a program is checked for. In: a resolved program, and what is to run it. Out: its final form, if it has one, and
//! all reports, including those about what the target has no room for.

use super::{
    Kernels, Proof, Target, early, kernel_limits, limits, lower, lower_to_kernels, lower_to_native,
    lower_to_nvshmem,
};
use crate::diagnostic::Diagnostic;
use crate::elaborate::Settings;
use crate::interrupt::Interrupt;
use crate::ir;
use crate::resolve::program::{ProgramId, Unit};

/// What runs a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// MSCCL++'s executor, by a plan.
    #[default]
    Executor,
    /// Kernels whose ports are mapped memory.
    Cuda,
    /// Kernels whose ports use NVSHMEM.
    Nvshmem,
    /// Kernels that are a native algorithm of MSCCL++.
    Mscclpp,
}

impl Goal {
    /// All reports about a program with these settings, and the program in its final form, if it has one.
    pub fn check(
        self,
        unit: &Unit,
        program: ProgramId,
        settings: &Settings,
        (proof, target): (Proof, Target),
        interrupt: &Interrupt,
    ) -> (Option<ir::Program>, Vec<Diagnostic>) {
        let early = early(self, (unit, program, settings), (proof, target), interrupt);
        if early.is_large {
            return (None, early.and(Vec::new(), false));
        }
        let kernels = |(kernels, found): (Option<Kernels>, Vec<Diagnostic>)| {
            let exceeded = kernels.as_ref().map(|kernels| kernel_limits(kernels, target));
            (kernels.map(|kernels| kernels.program), found, exceeded)
        };
        let (program, found, exceeded) = match self {
            Goal::Executor => {
                let (lowered, found) = lower(unit, program, settings, proof, interrupt);
                let exceeded = lowered.as_ref().map(|lowered| limits(lowered, target));
                (lowered.map(|lowered| lowered.program), found, exceeded)
            }
            Goal::Cuda => kernels(lower_to_kernels(unit, program, settings, proof, interrupt)),
            Goal::Nvshmem => kernels(lower_to_nvshmem(unit, program, settings, proof, interrupt)),
            Goal::Mscclpp => kernels(lower_to_native(unit, program, settings, proof, interrupt)),
        };
        let mut found = target.graded_if_lacking(found);
        found.extend(exceeded.into_iter().flatten());
        let found = early.and(found, program.is_some());
        (program, found)
    }
}
