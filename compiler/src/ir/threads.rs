//! How a transfer's elements fall to the threads of a block, as MSCCL++'s executor has it.
//!
//! Element i, counted from an operand's beginning, is thread i's, modulo their number. What an element is depends on the
//! operation, so two operations are done by the same threads only where they share out alike.

use super::{Operand, Options, Transfer, Verb};

/// The bytes of the elements of plain data.
const WIDE: u32 = 16;

/// How the elements of an operation fall to the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Share {
    /// 16 bytes each.
    Wide,
    /// One packet's payload each.
    Payload,
    /// Otherwise, or not by threads: never known to be the same thread's.
    Other,
}

impl Share {
    /// How a transfer's elements fall to threads. All that has to do with packets goes packet by packet, broadcasts over a
    /// switch, too. Plain data that goes through a switch does so by the type of the data, and below 16 bytes of
    /// alignment a copy begins with single words.
    #[must_use]
    pub fn of(options: &Options, transfer: &Transfer) -> Share {
        let mut operands = transfer.operands();
        match transfer.verb {
            Verb::PutPackets
            | Verb::ReadPutPackets
            | Verb::CopyPackets
            | Verb::UnpackPackets
            | Verb::ReducePackets
            | Verb::BroadcastPackets => Share::Payload,
            Verb::Copy | Verb::Put | Verb::Get | Verb::Reduce
                if options.alignment.is_multiple_of(WIDE) && !operands.any(Operand::is_switch) =>
            {
                Share::Wide
            }
            Verb::Copy
            | Verb::Put
            | Verb::Get
            | Verb::Reduce
            | Verb::PutWithSignal
            | Verb::PutWithSignalAndFlush
            | Verb::Broadcast => Share::Other,
        }
    }
}
