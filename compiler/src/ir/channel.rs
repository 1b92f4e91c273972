//! Ends of channels: what leads from one rank to another.

use super::{Buffer, ChannelId, OriginId, RankId};
use std::sync::Arc;

/// One end of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its name in the source with its indices, or its ordinal in a plan.
    pub name: Arc<str>,
    /// What it leads to.
    pub link: Link,
    /// The other end's row on the other rank; none for a switch, and where a plan leaves it unpaired.
    pub partner: Option<ChannelId>,
    /// Where it is declared.
    pub origin: OriginId,
    /// Whether its author accepts that several blocks use one end.
    pub shared: bool,
}

/// What a channel leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// A peer's memory, mapped.
    Memory(RankId),
    /// A peer, through a proxy thread on the host.
    Port(RankId),
    /// The same buffer of every rank of a group, through the switch (NVLS).
    Switch(Arc<SwitchGroup>),
}

/// A multimem group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchGroup {
    /// The buffer that is bound.
    pub buffer: Buffer,
    /// Its members.
    pub ranks: Vec<RankId>,
    /// The group's `size` as the plan file has it: how many members there are.
    pub size: u32,
}

/// The kinds of channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChannelKind {
    /// See [`Link::Memory`].
    Memory,
    /// See [`Link::Port`].
    Port,
    /// See [`Link::Switch`].
    Switch,
}

impl Channel {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> ChannelKind {
        match self.link {
            Link::Memory(_) => ChannelKind::Memory,
            Link::Port(_) => ChannelKind::Port,
            Link::Switch(_) => ChannelKind::Switch,
        }
    }

    /// The rank at the other end; none for a switch.
    #[must_use]
    pub fn peer(&self) -> Option<RankId> {
        match self.link {
            Link::Memory(peer) | Link::Port(peer) => Some(peer),
            Link::Switch(_) => None,
        }
    }
}
