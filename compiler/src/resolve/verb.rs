//! Tables of what each verb takes.
//!
//! | verb | sources | destinations | via |
//! |---|---|---|---|
//! | `copy` | local | local | none |
//! | `put` | local | remote | memory, port |
//! | `put_with_signal`, `put_with_signal_and_flush` | local | remote | port |
//! | `get` | remote | local | memory |
//! | `reduce` | local, remote | local first, then local or remote | memory, if anything is remote |
//! | `reduce` over a switch | one of the group's | local, or the group's | none |
//! | `broadcast`, `broadcast_packets` | local | the group's | none |
//! | `put_packets` | local | remote | memory |
//! | `read_put_packets` | local | remote | memory, port |
//! | `copy_packets`, `unpack_packets` | local | local | none |
//! | `reduce_packets` | local | local first, then local or remote | memory, if anything is remote |

use super::body::Side;
use super::family::LinkKind;
use super::program::{Op, Sync};
use crate::syntax::ast::{SynchroniseVerb, TransferVerb};

/// When a verb needs channels.
#[derive(Clone, Copy)]
pub(super) enum Via {
    /// Always.
    Always,
    /// Never.
    Never,
    /// If an operand is another rank's memory.
    WhereRemote,
}

/// When a verb needs channels.
pub(super) fn needs_via(verb: TransferVerb) -> Via {
    match verb {
        TransferVerb::Put
        | TransferVerb::PutWithSignal
        | TransferVerb::PutWithSignalAndFlush
        | TransferVerb::Get
        | TransferVerb::PutPackets
        | TransferVerb::ReadPutPackets => Via::Always,
        TransferVerb::Copy
        | TransferVerb::Broadcast
        | TransferVerb::CopyPackets
        | TransferVerb::UnpackPackets
        | TransferVerb::BroadcastPackets => Via::Never,
        TransferVerb::Reduce | TransferVerb::ReducePackets => Via::WhereRemote,
    }
}

/// Whose memory a verb may read; `group` is set if one of the sources is the memory behind a switch
/// channel.
pub(super) fn source_sides(verb: TransferVerb, group: bool) -> &'static [Side] {
    match verb {
        TransferVerb::Get => &[Side::Remote],
        TransferVerb::Reduce if group => &[Side::Switch, Side::Local, Side::Remote],
        TransferVerb::Reduce => &[Side::Local, Side::Remote, Side::Switch],
        TransferVerb::Copy
        | TransferVerb::Put
        | TransferVerb::PutWithSignal
        | TransferVerb::PutWithSignalAndFlush
        | TransferVerb::Broadcast
        | TransferVerb::PutPackets
        | TransferVerb::ReadPutPackets
        | TransferVerb::CopyPackets
        | TransferVerb::UnpackPackets
        | TransferVerb::ReducePackets
        | TransferVerb::BroadcastPackets => &[Side::Local],
    }
}

/// Whose memory a verb may write, at a position among its destinations; `group` is as for sources.
pub(super) fn destination_sides(
    verb: TransferVerb,
    position: usize,
    group: bool,
) -> &'static [Side] {
    match verb {
        TransferVerb::Copy
        | TransferVerb::Get
        | TransferVerb::CopyPackets
        | TransferVerb::UnpackPackets => &[Side::Local],
        TransferVerb::Put
        | TransferVerb::PutWithSignal
        | TransferVerb::PutWithSignalAndFlush
        | TransferVerb::PutPackets
        | TransferVerb::ReadPutPackets => &[Side::Remote],
        TransferVerb::Broadcast | TransferVerb::BroadcastPackets => &[Side::Switch],
        TransferVerb::Reduce if group => &[Side::Local, Side::Switch],
        TransferVerb::Reduce | TransferVerb::ReducePackets if position == 0 || group => {
            &[Side::Local]
        }
        TransferVerb::Reduce | TransferVerb::ReducePackets => &[Side::Local, Side::Remote],
    }
}

/// The first source and the first destination that are packets; all that follow are packets, too.
pub(super) fn packets(verb: TransferVerb) -> (Option<usize>, Option<usize>) {
    match verb {
        TransferVerb::PutPackets | TransferVerb::CopyPackets => (None, Some(0)),
        TransferVerb::UnpackPackets => (Some(0), None),
        TransferVerb::ReadPutPackets | TransferVerb::BroadcastPackets => (Some(0), Some(0)),
        TransferVerb::ReducePackets => (Some(1), Some(1)),
        TransferVerb::Copy
        | TransferVerb::Put
        | TransferVerb::PutWithSignal
        | TransferVerb::PutWithSignalAndFlush
        | TransferVerb::Get
        | TransferVerb::Reduce
        | TransferVerb::Broadcast => (None, None),
    }
}

/// The kinds of channels that a verb moves data over.
pub(super) fn links(verb: TransferVerb) -> &'static [LinkKind] {
    match verb {
        TransferVerb::Put | TransferVerb::ReadPutPackets => &[LinkKind::Memory, LinkKind::Port],
        TransferVerb::PutWithSignal | TransferVerb::PutWithSignalAndFlush => &[LinkKind::Port],
        TransferVerb::Get
        | TransferVerb::Reduce
        | TransferVerb::PutPackets
        | TransferVerb::ReducePackets => &[LinkKind::Memory],
        TransferVerb::Copy
        | TransferVerb::Broadcast
        | TransferVerb::CopyPackets
        | TransferVerb::UnpackPackets
        | TransferVerb::BroadcastPackets => &[],
    }
}

/// Whether a verb has a reduction.
pub(super) fn reduces(verb: TransferVerb) -> bool {
    matches!(verb, TransferVerb::Reduce | TransferVerb::ReducePackets)
}

/// The words of `op`.
pub(super) const OPS: [&str; 3] = ["sum", "min", "max"];

/// The words of `sync`.
pub(super) const SYNCS: [&str; 4] = ["before", "after", "both", "none"];

/// The reduction that a word names.
pub(super) fn op_word(word: &str) -> Option<Op> {
    match word {
        "sum" => Some(Op::Sum),
        "min" => Some(Op::Min),
        "max" => Some(Op::Max),
        _ => None,
    }
}

/// The `sync` setting that a word names.
pub(super) fn sync_word(word: &str) -> Option<Sync> {
    match word {
        "before" => Some(Sync::Before),
        "after" => Some(Sync::After),
        "both" => Some(Sync::Both),
        "none" => Some(Sync::None),
        _ => None,
    }
}

/// The word of a verb.
pub(super) fn word(verb: TransferVerb) -> &'static str {
    match verb {
        TransferVerb::Copy => "copy",
        TransferVerb::Put => "put",
        TransferVerb::PutWithSignal => "put_with_signal",
        TransferVerb::PutWithSignalAndFlush => "put_with_signal_and_flush",
        TransferVerb::Get => "get",
        TransferVerb::Reduce => "reduce",
        TransferVerb::Broadcast => "broadcast",
        TransferVerb::PutPackets => "put_packets",
        TransferVerb::ReadPutPackets => "read_put_packets",
        TransferVerb::CopyPackets => "copy_packets",
        TransferVerb::UnpackPackets => "unpack_packets",
        TransferVerb::ReducePackets => "reduce_packets",
        TransferVerb::BroadcastPackets => "broadcast_packets",
    }
}

/// The word of a verb.
pub(super) fn synchronise_word(verb: SynchroniseVerb) -> &'static str {
    match verb {
        SynchroniseVerb::Signal => "signal",
        SynchroniseVerb::Wait => "wait",
        SynchroniseVerb::Flush => "flush",
        SynchroniseVerb::Acquire => "acquire",
        SynchroniseVerb::Release => "release",
    }
}
