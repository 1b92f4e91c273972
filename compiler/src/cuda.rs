//! The CUDA back end: writes a program as standalone kernels.
//!
//! In: a program whose joins are explicit, with its instances made, and the files that it comes from. Out: a `.cu` file
//! with the kernels, a `.h` file with a C interface, and `ccl_device.cuh`, one header for all programs. The header
//! holds everything that does not depend on the program: the operations for a GPU, and the same operations for threads
//! of a CPU, on which the very same `.cu` file runs under sanitizers.
//!
//! The kernels only call operations of `runtime/block.cuh`; no statement accesses
//! memory, a thread number or a counter directly.

mod body;
mod circles;
mod dispatch;
mod features;
mod formula;
mod header;
mod lanes;
mod layout;
pub mod limits;
pub mod mscclpp;
mod names;
mod peers;
mod places;
mod rare;
mod roles;
mod source;
mod statement;
mod traffic;
mod turns;

use crate::ir::{Program, ReduceOp};
use crate::source::SourceMap;

/// The name of the header for all programs.
pub const DEVICE_HEADER: &str = "ccl_device.cuh";

/// The part of the interface that every header contains.
const INTERFACE: &str = include_str!("cuda/runtime/interface.h");

/// How kernels reach the other end of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Ports are memory channels: every peer's memory is mapped.
    Mapped,
    /// Through NVSHMEM: all buffers are in its symmetric memory.
    Nvshmem,
}

/// The files of one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// `NAME.cu`.
    pub source: String,
    /// `NAME.h`.
    pub header: String,
    /// [`DEVICE_HEADER`], the same for all programs.
    pub device: String,
}

/// Writes a program. `file` is the name of its files, without an extension.
#[must_use]
pub fn write(program: &Program, network: Network, file: &str, sources: &SourceMap) -> Files {
    let layout = layout::Layout::of(program);
    let roles = roles::roles(program, &layout);
    let name = &*names::identifier(file);
    let scene =
        source::Scene { program, network, layout: &layout, roles: &roles, sources, file, name };
    Files {
        source: source::text(&scene),
        header: header::text(program, network, &layout, name),
        device: device_header(),
    }
}

/// The name of a reduction in the C interface.
fn op(op: ReduceOp) -> &'static str {
    match op {
        ReduceOp::Sum => "CCL_SUM",
        ReduceOp::Min => "CCL_MIN",
        ReduceOp::Max => "CCL_MAX",
    }
}

/// The header that all programs share.
#[must_use]
pub fn device_header() -> String {
    format!(
        "// What the kernels made by cclc {} are written in.\n#pragma once\n{INTERFACE}{}{}{}{}",
        env!("CARGO_PKG_VERSION"),
        include_str!("cuda/runtime/machine.cuh"),
        include_str!("cuda/runtime/network.cuh"),
        include_str!("cuda/runtime/block.cuh"),
        include_str!("cuda/runtime/host.cuh"),
    )
}
