//! How a program gets its final form, for each kind of output.

use compiler::diagnostic::Diagnostic;
use compiler::driver::{self, Goal, Kernels, Lowered, Proof, Target};
use compiler::elaborate::Settings;
use compiler::interrupt::Interrupt;
use compiler::resolve::program::{ProgramId, Unit};

/// A function from a resolved program to its final form.
type Lower<T> = fn(&Unit, ProgramId, &Settings, Proof, &Interrupt) -> (Option<T>, Vec<Diagnostic>);

/// How a program gets its final form `T`, and the check that this form is within the limits of what runs it.
pub(crate) struct Lowering<T> {
    /// What it is for.
    pub(super) goal: Goal,
    lower: Lower<T>,
    pub(super) limits: fn(&T, Target) -> Vec<Diagnostic>,
}

impl Lowering<Lowered> {
    /// For MSCCL++'s executor.
    pub(crate) const EXECUTOR: Self =
        Lowering { goal: Goal::Executor, lower: driver::lower, limits: driver::limits };
}

impl Lowering<Kernels> {
    /// For kernels whose ports are mapped memory.
    pub(crate) const KERNELS: Self = Lowering {
        goal: Goal::Cuda,
        lower: driver::lower_to_kernels,
        limits: driver::kernel_limits,
    };

    /// For kernels whose ports use NVSHMEM.
    pub(crate) const NVSHMEM: Self = Lowering {
        goal: Goal::Nvshmem,
        lower: driver::lower_to_nvshmem,
        limits: driver::kernel_limits,
    };

    /// For kernels that are a native algorithm of MSCCL++.
    pub(crate) const NATIVE: Self = Lowering {
        goal: Goal::Mscclpp,
        lower: driver::lower_to_native,
        limits: driver::kernel_limits,
    };
}

impl<T> Lowering<T> {
    /// The final form of a program with these settings, if it has one, and the reports on the way.
    pub(crate) fn lowered(
        &self,
        unit: &Unit,
        program: ProgramId,
        settings: &Settings,
        (proof, target): (Proof, Target),
        interrupt: &Interrupt,
    ) -> (Option<T>, Vec<Diagnostic>) {
        let of = (unit, program, settings);
        let early = driver::early(self.goal, of, (proof, target), interrupt);
        if early.is_large {
            return (None, early.and(Vec::new(), false));
        }
        let (lowered, found) = (self.lower)(unit, program, settings, proof, interrupt);
        let found = early.and(target.graded_if_lacking(found), lowered.is_some());
        (lowered, found)
    }
}
