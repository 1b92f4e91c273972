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

    /// The members of a list, in ascending order.
    pub(super) fn list(&self, peers: Peers, rank: i64) -> Vec<i64> {
        let near = |other: &i64| other / self.per_node == rank / self.per_node;
        let same = |other: &i64| other % self.per_node == rank % self.per_node;
        (0..self.ranks)
            .filter(|other| *other != rank)
            .filter(|other| match peers {
                Peers::All => true,
                Peers::Node => near(other),
                Peers::Rail => same(other),
            })
            .collect()
    }

    /// The lists that exist, the widest first.
    pub(super) fn lists(&self) -> &'static [Peers] {
        if self.has_nodes() { &[Peers::All, Peers::Node, Peers::Rail] } else { &[Peers::All] }
    }
}
