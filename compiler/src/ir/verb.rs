//! The verbs that move data, and their words in the language.

/// The verbs that move data, as in the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Local to local.
    Copy,
    /// Local to peer.
    Put,
    /// Local to peer over a port, then a signal.
    PutWithSignal,
    /// Local to peer over a port, then a signal, then a flush.
    PutWithSignalAndFlush,
    /// Peer to local.
    Get,
    /// Combines sources.
    Reduce,
    /// Stores to every rank of a switch channel's group.
    Broadcast,
    /// Plain data into packets of a peer's scratch.
    PutPackets,
    /// Packets into packets of a peer's scratch.
    ReadPutPackets,
    /// Plain data into packets of local scratch.
    CopyPackets,
    /// Packets into plain data.
    UnpackPackets,
    /// Combines plain data (the first source) with packets (the others); the first destination is plain, the others
    /// are packets.
    ReducePackets,
    /// Packets stored to every rank of a switch channel's group.
    BroadcastPackets,
}

impl Verb {
    /// Whether it sends a signal after the data.
    #[must_use]
    pub fn signals(self) -> bool {
        match self {
            Verb::PutWithSignal | Verb::PutWithSignalAndFlush => true,
            Verb::Copy
            | Verb::Put
            | Verb::Get
            | Verb::Reduce
            | Verb::Broadcast
            | Verb::PutPackets
            | Verb::ReadPutPackets
            | Verb::CopyPackets
            | Verb::UnpackPackets
            | Verb::ReducePackets
            | Verb::BroadcastPackets => false,
        }
    }

    /// Whether everything that is read is combined, and every destination gets the result.
    #[must_use]
    pub fn reduces(self) -> bool {
        matches!(self, Verb::Reduce | Verb::ReducePackets)
    }

    /// Whether any operand is packets.
    #[must_use]
    pub fn moves_packets(self) -> bool {
        match self {
            Verb::PutPackets
            | Verb::ReadPutPackets
            | Verb::CopyPackets
            | Verb::UnpackPackets
            | Verb::ReducePackets
            | Verb::BroadcastPackets => true,
            Verb::Copy
            | Verb::Put
            | Verb::PutWithSignal
            | Verb::PutWithSignalAndFlush
            | Verb::Get
            | Verb::Reduce
            | Verb::Broadcast => false,
        }
    }

    /// The verb as an author writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Verb::Copy => "copy",
            Verb::Put => "put",
            Verb::PutWithSignal => "put_with_signal",
            Verb::PutWithSignalAndFlush => "put_with_signal_and_flush",
            Verb::Get => "get",
            Verb::Reduce => "reduce",
            Verb::Broadcast => "broadcast",
            Verb::PutPackets => "put_packets",
            Verb::ReadPutPackets => "read_put_packets",
            Verb::CopyPackets => "copy_packets",
            Verb::UnpackPackets => "unpack_packets",
            Verb::ReducePackets => "reduce_packets",
            Verb::BroadcastPackets => "broadcast_packets",
        }
    }
}
