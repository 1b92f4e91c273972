//! The number by which ranks know that they have created the same program.
//!
//! In: a program as its kernels are written. Out: a hash of all that its kernels do: of the program with everything spelled
//! out, of what may follow each other on its streams, and of the header for all programs. Paths of source files are not part
//! of it, so that each rank may build in a folder of its own.

use super::Network;
use crate::ir::{Program, print};

/// The first 64 bits of the hash. Two programs by chance have one number once in 2^64 times; nobody is kept from making two
/// such programs on purpose.
pub(super) fn identity(program: &Program, network: Network, any_size: bool) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(super::device_header().as_bytes());
    hasher.update(&[u8::from(network == Network::Nvshmem), u8::from(any_size)]);
    hasher.update(print::print(program).text.as_bytes());
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}
