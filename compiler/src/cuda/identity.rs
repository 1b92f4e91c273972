//! The numbers by which ranks know that they have created the same program.
//!
//! In: a program as its kernels are written, or the header for all programs. Out: a hash of the program with everything spelled
//! out and of what may follow each other on its streams, or of the header. Kernels compare both. Paths of source files are not
//! part of them, so that each rank may build in a folder of its own.

use super::{KernelSettings, Ports};
use crate::ir::{Program, print};

/// The number of a program.
pub(super) fn identity(program: &Program, settings: KernelSettings) -> u64 {
    let built_for = [u8::from(settings.ports == Ports::Nvshmem), u8::from(settings.any_size)];
    hash(&[&built_for, print::print(program).text.as_bytes()])
}

/// The first 64 bits of a hash. Two texts by chance have one number once in 2^64 times; nobody is kept from making two such
/// texts on purpose.
pub(super) fn hash(parts: &[&[u8]]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
