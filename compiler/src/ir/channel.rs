//! Ends of channels, which lead from one rank to another.

use super::{Buffer, ChannelId, ChannelKind, OriginId, RankId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// One end of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its name in the source with its indices, or its ordinal in a plan.
    pub name: Arc<str>,
    /// Where it leads.
    pub link: Link,
    /// The other end's row on the other rank; none for a switch, and where a plan leaves the end unpaired.
    pub partner: Option<ChannelId>,
    /// Where it is declared.
    pub origin: OriginId,
    /// Whether its author accepts that several blocks use one end.
    pub shared: bool,
}

/// Where a channel leads.
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

impl SwitchGroup {
    /// Whether two ranks mean the same group. The order of the members does not matter.
    #[must_use]
    pub fn is(&self, other: &SwitchGroup) -> bool {
        let members = |group: &SwitchGroup| group.ranks.iter().copied().collect::<BTreeSet<_>>();
        self.buffer == other.buffer
            && (self.ranks == other.ranks || members(self) == members(other))
    }
}

/// A group that is never set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The rank that waits for it.
    pub rank: RankId,
    /// The group's position among the rank's groups.
    pub position: usize,
    /// The first of its members that never reaches it; the rank itself if it is no member.
    pub absent: RankId,
}

/// The first group that is never set up, if there is one. In: for each rank, its groups in order. All members set a
/// group up together, and each rank sets up its groups one after the other.
#[must_use]
pub fn unmet(groups: &[Vec<&SwitchGroup>]) -> Option<Unmet> {
    let mut done = vec![0_usize; groups.len()];
    let next = |done: &[usize], rank: RankId| -> Option<&SwitchGroup> {
        let rank = rank.0 as usize;
        groups.get(rank)?.get(*done.get(rank)?).copied()
    };
    let absent = |done: &[usize], rank: RankId| -> Option<RankId> {
        let group = next(done, rank)?;
        let comes = |member: &RankId| next(done, *member).is_some_and(|other| group.is(other));
        if !group.ranks.contains(&rank) {
            return Some(rank);
        }
        group.ranks.iter().copied().find(|member| !comes(member))
    };
    let ranks = || (0..groups.len() as u32).map(RankId);
    loop {
        let mut moved = false;
        for rank in ranks() {
            while let Some(group) = next(&done, rank)
                && absent(&done, rank).is_none()
            {
                for member in group.ranks.iter().collect::<BTreeSet<_>>() {
                    if let Some(done) = done.get_mut(member.0 as usize) {
                        *done += 1;
                    }
                }
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    ranks().find_map(|rank| {
        let position = *done.get(rank.0 as usize)?;
        Some(Unmet { rank, position, absent: absent(&done, rank)? })
    })
}

impl Link {
    /// The kind of channel that it makes.
    #[must_use]
    pub fn kind(&self) -> ChannelKind {
        match self {
            Link::Memory(_) => ChannelKind::Memory,
            Link::Port(_) => ChannelKind::Port,
            Link::Switch(_) => ChannelKind::Switch,
        }
    }

    /// The rank that it leads to; none for a switch.
    #[must_use]
    pub fn peer(&self) -> Option<RankId> {
        match self {
            Link::Memory(peer) | Link::Port(peer) => Some(*peer),
            Link::Switch(_) => None,
        }
    }
}

impl Channel {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> ChannelKind {
        self.link.kind()
    }

    /// The rank at the other end; none for a switch.
    #[must_use]
    pub fn peer(&self) -> Option<RankId> {
        self.link.peer()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(ranks: &[u32]) -> SwitchGroup {
        let ranks = ranks.iter().copied().map(RankId).collect();
        SwitchGroup { buffer: Buffer::Scratch, ranks, size: 1 }
    }

    #[test]
    fn groups_that_all_members_come_to_come_about() {
        let (all, pair) = (group(&[0, 1, 2]), group(&[1, 0]));
        let other = group(&[2, 0, 1]);
        assert_eq!(unmet(&[vec![&pair, &all], vec![&pair, &other], vec![&all]]), None);
        assert_eq!(unmet(&[vec![], vec![]]), None);
    }

    #[test]
    fn a_group_that_a_member_does_not_come_to() {
        let (all, pair) = (group(&[0, 1, 2]), group(&[0, 1]));
        let odd = |rank, position, absent| {
            Some(Unmet { rank: RankId(rank), position, absent: RankId(absent) })
        };
        // In another order.
        assert_eq!(unmet(&[vec![&pair, &all], vec![&all, &pair], vec![&all]]), odd(0, 0, 1));
        // Once more on one side.
        assert_eq!(unmet(&[vec![&pair, &pair], vec![&pair]]), odd(0, 1, 1));
        // Without the rank itself.
        assert_eq!(unmet(&[vec![], vec![&group(&[0])]]), odd(1, 0, 1));
        // Another buffer.
        let bound = SwitchGroup { buffer: Buffer::Output, ..group(&[0, 1]) };
        assert_eq!(unmet(&[vec![&pair], vec![&bound]]), odd(0, 0, 1));
    }
}
