//! CUDA kernels as a native algorithm of MSCCL++.
//!
//! In: a program. Out: its final form, which is that of other kernels; what an algorithm has no room for, or lacks; its
//! source, with a file for the interface of MSCCL++.

use super::cuda::{CUDA, PORT_NOTE, check_kernels, list_files, write_cuda};
use super::{Capacity, KernelFile, KernelFiles, KernelJob, KernelWriter, Target, Writer};
use crate::check::limits::{self, Mapping};
use crate::cuda::{Ports, mscclpp};
use crate::diagnostic::Diagnostic;
use crate::ir::Program;
use crate::optimize;

/// How MSCCL++'s communicator reaches other ranks' memory: ports are mapped memory, too.
const MAPPING: Mapping = Mapping {
    why: "a native algorithm maps the memory of other ranks whatever the kind of channel, and fails there unless NVLink connects the two ranks",
    has_ports: false,
};

/// The target.
pub static MSCCLPP: Target = Target {
    word: "mscclpp",
    versioned: Some("mscclpp@0.9"),
    description: "CUDA kernels, as a native algorithm of MSCCL++ 0.9",
    passes: optimize::for_kernels,
    channel_note: Some(PORT_NOTE),
    runs_as: Some(&CUDA),
    writer: Writer::Kernels(KernelWriter {
        extension: "cu",
        limits: check_algorithm,
        write: write_algorithm,
    }),
};

fn check_algorithm(program: &Program, capacity: Capacity) -> Vec<Diagnostic> {
    let mut found = check_kernels(program, Ports::Mapped, capacity);
    found.extend(limits::unmapped(program, MAPPING));
    found.extend(mscclpp::lacking(program));
    found
}

fn write_algorithm(job: &KernelJob<'_>) -> Option<KernelFiles> {
    let files = write_cuda(job, Ports::Mapped)?;
    let text = mscclpp::write(job.program, &files, job.name);
    let algorithm = KernelFile { name: format!("{}.cu", mscclpp::module(job.name)), text };
    let KernelFiles { main, beside } = list_files(job, files);
    Some(KernelFiles { main, beside: [algorithm].into_iter().chain(beside).collect() })
}
