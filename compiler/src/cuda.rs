//! CUDA source: the program as kernels of its own.
//!
//! In: a program whose joins are explicit, instances laid out, and the files it comes from. Out: a `.cu` file with the
//! kernels, a `.h` file with a C interface, and one header for all programs, `ccl_device.cuh`, which holds everything
//! that is not this program's: the operations for a GPU, and the same for the threads of a CPU, on which the very same
//! file runs under sanitizers.
//!
//! The kernels name operations of `runtime/block.cuh` only; no statement touches memory, a thread number or a counter
//! by itself.

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

/// What the header for all programs is called.
pub const DEVICE_HEADER: &str = "ccl_device.cuh";

/// What every header holds.
const INTERFACE: &str = include_str!("cuda/runtime/interface.h");

/// How kernels reach the other end of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Ports are memory channels: every peer's memory is mapped.
    Mapped,
    /// By NVSHMEM, in whose symmetric memory all buffers lie.
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

/// Writes a program. `file` is what its files are called, without an ending.
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

/// What a reduction is called in the interface.
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
