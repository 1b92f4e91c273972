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
    /// How many ranks a program has; none if reports about limits do not say from how many ranks on they are exceeded.
    pub(super) ranks: fn(&T) -> Option<usize>,
}

impl Lowering<Lowered> {
    /// For MSCCL++'s executor.
    pub(crate) const EXECUTOR: Self = Lowering {
        goal: Goal::Executor,
        lower: driver::lower,
        limits: driver::limits,
        ranks: |lowered| Some(lowered.program().ranks.len()),
    };
}

impl Lowering<Kernels> {
    /// For kernels whose ports are mapped memory.
    pub(crate) const KERNELS: Self = Lowering {
        goal: Goal::Cuda,
        lower: driver::lower_to_kernels,
        limits: driver::kernel_limits,
        ranks: |_| None,
    };

    /// For kernels whose ports use NVSHMEM.
    pub(crate) const NVSHMEM: Self = Lowering {
        goal: Goal::Nvshmem,
        lower: driver::lower_to_nvshmem,
        limits: driver::kernel_limits,
        ranks: |_| None,
    };

    /// For kernels that are a native algorithm of MSCCL++.
    pub(crate) const NATIVE: Self = Lowering {
        goal: Goal::Mscclpp,
        lower: driver::lower_to_native,
        limits: driver::kernel_limits,
        ranks: |_| None,
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
        let (lowered, found) = (self.lower)(unit, program, settings, proof, interrupt);
        (lowered, target.graded_if_lacking(found))
    }
}
