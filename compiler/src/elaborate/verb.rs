//! Properties of verbs, whatever their operands: the word, the sides, the kinds of channels.

use crate::ir;
use crate::syntax::ast::TransferVerb;

/// The verb in the IR.
pub(super) fn verb_of(verb: TransferVerb) -> ir::Verb {
    match verb {
        TransferVerb::Copy => ir::Verb::Copy,
        TransferVerb::Put => ir::Verb::Put,
        TransferVerb::PutWithSignal => ir::Verb::PutWithSignal,
        TransferVerb::PutWithSignalAndFlush => ir::Verb::PutWithSignalAndFlush,
        TransferVerb::Get => ir::Verb::Get,
        TransferVerb::Reduce => ir::Verb::Reduce,
        TransferVerb::Broadcast => ir::Verb::Broadcast,
        TransferVerb::PutPackets => ir::Verb::PutPackets,
        TransferVerb::ReadPutPackets => ir::Verb::ReadPutPackets,
        TransferVerb::CopyPackets => ir::Verb::CopyPackets,
        TransferVerb::UnpackPackets => ir::Verb::UnpackPackets,
        TransferVerb::ReducePackets => ir::Verb::ReducePackets,
        TransferVerb::BroadcastPackets => ir::Verb::BroadcastPackets,
    }
}

/// The kind of channel that a link makes.
pub(super) fn kind(link: &ir::Link) -> ir::ChannelKind {
    match link {
        ir::Link::Memory(_) => ir::ChannelKind::Memory,
        ir::Link::Port(_) => ir::ChannelKind::Port,
        ir::Link::Switch(_) => ir::ChannelKind::Switch,
    }
}

/// The rank that a link leads to; none for a switch.
pub(super) fn peer_of(link: &ir::Link) -> Option<ir::RankId> {
    match link {
        ir::Link::Memory(peer) | ir::Link::Port(peer) => Some(*peer),
        ir::Link::Switch(_) => None,
    }
}

/// Whether a verb reads from another rank, and whether it writes to one.
pub(super) fn sides(verb: ir::Verb) -> (bool, bool) {
    match verb {
        ir::Verb::Copy | ir::Verb::CopyPackets | ir::Verb::UnpackPackets => (false, false),
        ir::Verb::Put
        | ir::Verb::PutWithSignal
        | ir::Verb::PutWithSignalAndFlush
        | ir::Verb::PutPackets
        | ir::Verb::ReadPutPackets
        | ir::Verb::Broadcast
        | ir::Verb::BroadcastPackets => (false, true),
        ir::Verb::Get => (true, false),
        ir::Verb::Reduce | ir::Verb::ReducePackets => (false, false),
    }
}

/// Whether a verb can use a channel of this kind.
pub(super) fn carries(verb: ir::Verb, kind: ir::ChannelKind) -> bool {
    match verb {
        ir::Verb::Put | ir::Verb::ReadPutPackets => kind != ir::ChannelKind::Switch,
        ir::Verb::PutWithSignal | ir::Verb::PutWithSignalAndFlush => kind == ir::ChannelKind::Port,
        ir::Verb::Get | ir::Verb::PutPackets | ir::Verb::Reduce | ir::Verb::ReducePackets => {
            kind == ir::ChannelKind::Memory
        }
        ir::Verb::Broadcast | ir::Verb::BroadcastPackets => kind == ir::ChannelKind::Switch,
        ir::Verb::Copy | ir::Verb::CopyPackets | ir::Verb::UnpackPackets => false,
    }
}

/// The word of a verb.
pub(super) fn word(verb: ir::Verb) -> &'static str {
    match verb {
        ir::Verb::Copy => "copy",
        ir::Verb::Put => "put",
        ir::Verb::PutWithSignal => "put_with_signal",
        ir::Verb::PutWithSignalAndFlush => "put_with_signal_and_flush",
        ir::Verb::Get => "get",
        ir::Verb::Reduce => "reduce",
        ir::Verb::Broadcast => "broadcast",
        ir::Verb::PutPackets => "put_packets",
        ir::Verb::ReadPutPackets => "read_put_packets",
        ir::Verb::CopyPackets => "copy_packets",
        ir::Verb::UnpackPackets => "unpack_packets",
        ir::Verb::ReducePackets => "reduce_packets",
        ir::Verb::BroadcastPackets => "broadcast_packets",
    }
}
