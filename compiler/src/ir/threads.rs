//! How a transfer's elements fall to the threads of a block, as MSCCL++'s executor has it.
//!
//! Element i, counted from an operand's beginning, is thread i's, modulo their number. What an element is depends on the
//! operation, so two operations are done by the same threads only where they share out alike.

use super::{Operand, Options, Transfer};
pub use grammar::verb::Share;

/// The bytes of the elements of plain data.
const WIDE: u32 = 16;

/// How a transfer's elements fall to threads: as its verb says, but plain data that goes through a switch does so by the
/// type of the data, and below 16 bytes of alignment a copy begins with single words.
#[must_use]
pub fn find_share(options: &Options, transfer: &Transfer) -> Share {
    let mut operands = transfer.operands();
    match transfer.verb.row().share {
        Share::Wide
            if !options.alignment.is_multiple_of(WIDE) || operands.any(Operand::is_switch) =>
        {
            Share::Other
        }
        share @ (Share::Wide | Share::Payload | Share::Other) => share,
    }
}
