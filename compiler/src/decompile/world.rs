//! The ranks and their nodes.

use crate::ir::{ChannelKind, Link, Program};

/// How many ranks there are, and how many share a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct World {
    pub(super) ranks: i64,
    pub(super) per_node: i64,
}

/// Lists of ranks that the language has names for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Peers {
    /// All but this one.
    All,
    /// Those of the same node.
    Node,
    /// Those of other nodes with the same local rank.
    Rail,
}

impl Peers {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Peers::All => "peers",
            Peers::Node => "node_peers",
            Peers::Rail => "rail_peers",
        }
    }
}

impl World {
    /// A plan does not say what a node is: ranks that are connected by memory channels and switches are taken to be one
    /// node, if all nodes then have the same number of consecutive ranks.
    pub(super) fn new(program: &Program) -> World {
        let ranks = program.ranks.len() as i64;
        let whole = World { ranks, per_node: ranks };
        if i64::from(program.ranks_per_node) != ranks {
            return World { ranks, per_node: i64::from(program.ranks_per_node).max(1) };
        }
        let any = |port: bool| {
            let is = |kind: ChannelKind| (kind == ChannelKind::Port) == port;
            program.ranks.iter().flat_map(|rank| &rank.channels).any(|channel| is(channel.kind()))
        };
        if !any(true) || !any(false) {
            return whole;
        }
        let wide = |width: i64| {
            program.ranks.entries().all(|(id, rank)| {
                rank.channels.iter().all(|channel| {
                    let near = |peer: u32| i64::from(peer) / width == i64::from(id.0) / width;
                    match &channel.link {
                        Link::Memory(peer) => near(peer.0),
                        Link::Port(_) => true,
                        Link::Switch(group) => group.ranks.iter().all(|peer| near(peer.0)),
                    }
                })
            })
        };
        let mut widths = (2..ranks).filter(|width| ranks % width == 0);
        widths.find(|width| wide(*width)).map_or(whole, |per_node| World { ranks, per_node })
    }

    /// Whether there is more than one node.
    pub(super) fn has_nodes(&self) -> bool {
        self.per_node < self.ranks
    }

    /// A list of a rank.
    pub(super) fn list(&self, peers: Peers, rank: i64) -> PeerList {
        let (node, local) = (rank / self.per_node, rank % self.per_node);
        let base = node * self.per_node;
        match peers {
            Peers::All => PeerList { first: 0, step: 1, own: rank, count: self.ranks },
            Peers::Node => {
                let count = self.per_node.min(self.ranks - base);
                PeerList { first: base, step: 1, own: local, count }
            }
            Peers::Rail => {
                let count = (self.ranks - local).div_euclid(self.per_node)
                    + i64::from((self.ranks - local) % self.per_node != 0);
                PeerList { first: local, step: self.per_node, own: node, count }
            }
        }
    }

    /// The lists that exist, the widest first.
    pub(super) fn lists(&self) -> &'static [Peers] {
        if self.has_nodes() { &[Peers::All, Peers::Node, Peers::Rail] } else { &[Peers::All] }
    }
}

/// The members of a list of a rank, in ascending order: ranks at equal distances, without the rank itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PeerList {
    first: i64,
    step: i64,
    /// The place of the rank itself among them.
    own: i64,
    /// How many there are with the rank itself.
    count: i64,
}

impl PeerList {
    /// How many members it has.
    pub(super) fn len(self) -> usize {
        usize::try_from(self.count - 1).unwrap_or(0)
    }

    /// A member.
    pub(super) fn get(self, position: usize) -> Option<i64> {
        let position =
            i64::try_from(position).ok().filter(|position| *position < self.count - 1)?;
        let place = position + i64::from(position >= self.own);
        Some(self.first + place * self.step)
    }

    /// The position of a member.
    pub(super) fn position(self, rank: i64) -> Option<i64> {
        let place = (rank - self.first).div_euclid(self.step);
        let is_member = self.first + place * self.step == rank
            && (0..self.count).contains(&place)
            && place != self.own;
        is_member.then(|| place - i64::from(place > self.own))
    }

    /// All members.
    pub(super) fn members(self) -> impl Iterator<Item = i64> {
        (0..self.len()).filter_map(move |position| self.get(position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_the_peers_that_their_names_say() {
        for (ranks, per_node) in [(1, 1), (2, 1), (2, 2), (8, 4), (12, 3), (7, 3), (8, 8)] {
            let world = World { ranks, per_node };
            for rank in 0..ranks {
                for peers in [Peers::All, Peers::Node, Peers::Rail] {
                    let belongs = |other: &i64| match peers {
                        Peers::All => true,
                        Peers::Node => other / per_node == rank / per_node,
                        Peers::Rail => other % per_node == rank % per_node,
                    };
                    let expected: Vec<i64> =
                        (0..ranks).filter(|other| *other != rank && belongs(other)).collect();
                    let list = world.list(peers, rank);
                    assert_eq!(list.members().collect::<Vec<_>>(), expected, "{peers:?} {rank}");
                    assert_eq!(list.len(), expected.len());
                    assert_eq!(list.get(expected.len()), None);
                    for other in 0..ranks {
                        let position = expected.iter().position(|member| *member == other);
                        assert_eq!(list.position(other), position.map(|at| at as i64));
                    }
                }
            }
        }
    }
}
