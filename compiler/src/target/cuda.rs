//! CUDA kernels: with ports as mapped memory, and with ports that use NVSHMEM.
//!
//! In: a program. Out: its final form, in which nothing is split, since kernels have operations of any size; what kernels
//! have no room for; their source.

use super::{Capacity, KernelFile, KernelFiles, KernelJob, KernelWriter, Target, Writer};
use crate::check::limits::{self, Mapping};
use crate::cuda::{self, DEVICE_HEADER, Files, KernelSettings, Ports};
use crate::diagnostic::Diagnostic;
use crate::ir::Program;
use crate::optimize;

/// What is said of a channel that was a port.
pub(super) const PORT_NOTE: &str =
    "in kernels of this target ports are memory channels; `--target nvshmem` has ports";

/// How NVSHMEM's kernels reach other ranks' memory.
const MAPPING: Mapping = Mapping {
    why: "kernels store to the other rank's memory directly, and cannot be set up unless NVLink connects the two ranks",
    has_ports: true,
};

/// Kernels on their own, with every peer's memory mapped.
pub static CUDA: Target = Target {
    word: "cuda",
    versioned: None,
    description: "CUDA kernels, with every peer's memory mapped",
    passes: optimize::for_kernels,
    channel_note: Some(PORT_NOTE),
    runs_as: None,
    writer: Writer::Kernels(KernelWriter {
        extension: "cu",
        // Whoever creates the kernels maps all memory, by any means.
        limits: |program, capacity| check_kernels(program, Ports::Mapped, capacity),
        write: |job| Some(list_files(job, write_cuda(job, Ports::Mapped)?)),
    }),
};

/// Kernels whose ports use NVSHMEM.
pub static NVSHMEM: Target = Target {
    word: "nvshmem",
    versioned: None,
    description: "CUDA kernels whose ports use NVSHMEM",
    passes: optimize::for_networked_kernels,
    channel_note: None,
    runs_as: Some(&CUDA),
    writer: Writer::Kernels(KernelWriter {
        extension: "cu",
        limits: |program, capacity| {
            let mut found = check_kernels(program, Ports::Nvshmem, capacity);
            found.extend(limits::unmapped(program, MAPPING));
            found
        },
        write: |job| Some(list_files(job, write_cuda(job, Ports::Nvshmem)?)),
    }),
};

/// What kernels have no room for.
pub(super) fn check_kernels(
    program: &Program,
    ports: Ports,
    capacity: Capacity,
) -> Vec<Diagnostic> {
    capacity.grade(cuda::limits::check(program, ports, capacity.sms))
}

/// Writes kernels, their C header and the header that all programs share.
pub(super) fn write_cuda(job: &KernelJob<'_>, ports: Ports) -> Option<Files> {
    let settings = KernelSettings { ports, any_size: job.any_size };
    cuda::write(job.program, settings, job.name, job.sources, job.interrupt)
}

/// The files with their names.
pub(super) fn list_files(job: &KernelJob<'_>, files: Files) -> KernelFiles {
    let beside = vec![
        KernelFile { name: DEVICE_HEADER.to_owned(), text: files.device },
        KernelFile { name: format!("{}.h", job.name), text: files.header },
    ];
    KernelFiles { main: files.source, beside }
}
