//! Taking a transfer apart into operands, each with its channel, and putting it together again.

use crate::check::limits::{BUFFERS_OF_OPERATION, CHANNELS_OF_OPERATION};
use crate::ir::{ChannelId, ChannelKind, List, Operand, Transfer, Verb};
use smallvec::SmallVec;

/// An operand, and its channel where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    /// What is read or written.
    pub(super) operand: Operand,
    /// The channel it goes over; a plan names none for memory channels.
    pub(super) channel: Option<ChannelId>,
}

/// Sources and destinations of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// What is read, in order.
    pub(super) sources: SmallVec<[Placed; 4]>,
    /// What is written, in order.
    pub(super) destinations: SmallVec<[Placed; 4]>,
}

/// Takes a transfer apart.
pub(super) fn parts(transfer: &Transfer) -> Parts {
    let mut channels = transfer.channels.iter().copied();
    let mut place = |operand: &Operand| {
        let channel = if operand.is_local() { None } else { channels.next() };
        Placed { operand: *operand, channel }
    };
    Parts {
        sources: transfer.sources.iter().map(&mut place).collect(),
        destinations: transfer.destinations.iter().map(&mut place).collect(),
    }
}

/// A transfer that consists of these parts; slice and reduction are those of `like`.
pub(super) fn assemble(like: &Transfer, verb: Verb, parts: &Parts) -> Transfer {
    let all = || parts.sources.iter().chain(&parts.destinations);
    let channels: List<ChannelId> = all().filter_map(|placed| placed.channel).collect();
    let remote = all().any(|placed| placed.operand.is_remote());
    let switch = all().any(|placed| placed.operand.is_switch());
    let via = if switch {
        Some(ChannelKind::Switch)
    } else if remote {
        Some(like.via.unwrap_or(ChannelKind::Memory))
    } else {
        None
    };
    Transfer {
        verb,
        sources: parts.sources.iter().map(|placed| placed.operand).collect(),
        destinations: parts.destinations.iter().map(|placed| placed.operand).collect(),
        via,
        channels,
        slice: like.slice,
        reduce: like.reduce,
    }
}

/// Source and destination of each pair; a single source goes to every destination.
pub(super) fn pairs(parts: &Parts) -> impl Iterator<Item = (Placed, Placed)> + '_ {
    let single = if parts.sources.len() == 1 { parts.sources.first() } else { None };
    parts.destinations.iter().enumerate().filter_map(move |(i, destination)| {
        Some((*single.or_else(|| parts.sources.get(i))?, *destination))
    })
}

/// The parts that consist of these pairs.
pub(super) fn unpaired(pairs: impl IntoIterator<Item = (Placed, Placed)>) -> Parts {
    let (sources, destinations) = pairs.into_iter().unzip();
    Parts { sources, destinations }
}

/// How many pairs such an operation over such a channel holds. Over port channels, each pair is one thread's, with a
/// channel of its own. For a `get`, the executor looks up each pair's channel, and has room for as many.
pub(super) fn pair_limit(verb: Verb, via: Option<ChannelKind>) -> usize {
    match via {
        Some(ChannelKind::Port) => CHANNELS_OF_OPERATION,
        _ if verb == Verb::Get => CHANNELS_OF_OPERATION,
        Some(ChannelKind::Memory | ChannelKind::Switch) | None => BUFFERS_OF_OPERATION,
    }
}

/// Whether all operands are of one buffer.
pub(super) fn same_buffer<'a>(mut operands: impl Iterator<Item = &'a Placed>) -> bool {
    operands
        .next()
        .is_none_or(|first| operands.all(|other| other.operand.buffer == first.operand.buffer))
}
