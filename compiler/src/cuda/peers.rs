//! Whose peers a block works for: those among all ranks, among the ranks of its node, or among the ranks that have its
//! place in the other nodes. Each is known by a few names in `runtime/block.cuh`.

/// Ranks of which each is the others' peer.
#[derive(Clone, Copy, Debug)]
enum Circle {
    All,
    Node,
    Rail,
}

/// What is known of a peer.
#[derive(Clone, Copy, Debug)]
pub(super) enum About {
    /// Its rank.
    Peer,
    /// Its place in the circle.
    Place,
    /// The place of the rank whose peer it is, among its own peers.
    Slot,
    /// The same among all ranks.
    WideSlot,
    /// Its own place among all peers of the rank whose peer it is.
    Index,
}

impl About {
    /// All that there is, likelier things first.
    pub(super) const ALL: [About; 5] =
        [About::Place, About::Slot, About::WideSlot, About::Peer, About::Index];
}

/// A circle of a machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peers {
    circle: Circle,
    ranks: i64,
    ranks_per_node: i64,
}

impl Peers {
    /// The circles of a machine: one, where all ranks are in one node, or each is in its own.
    pub(super) fn of(ranks: i64, ranks_per_node: i64) -> Vec<Peers> {
        let nodes = ranks_per_node > 1 && ranks_per_node < ranks && ranks % ranks_per_node == 0;
        let circles: &[Circle] =
            if nodes { &[Circle::All, Circle::Node, Circle::Rail] } else { &[Circle::All] };
        circles.iter().map(|circle| Peers { circle: *circle, ranks, ranks_per_node }).collect()
    }

    /// How many ranks are in it.
    pub(super) fn size(self) -> i64 {
        match self.circle {
            Circle::All => self.ranks,
            Circle::Node => self.ranks_per_node,
            Circle::Rail => self.ranks / self.ranks_per_node,
        }
    }

    /// A rank's place in its circle.
    pub(super) fn place(self, rank: i64) -> i64 {
        match self.circle {
            Circle::All => rank,
            Circle::Node => rank % self.ranks_per_node,
            Circle::Rail => rank / self.ranks_per_node,
        }
    }

    /// The rank that has a place in a rank's circle.
    pub(super) fn at(self, rank: i64, place: i64) -> i64 {
        match self.circle {
            Circle::All => place,
            Circle::Node => rank - rank % self.ranks_per_node + place,
            Circle::Rail => place * self.ranks_per_node + rank % self.ranks_per_node,
        }
    }

    /// What gives the rank so far ahead in its circle, and the one so far behind.
    pub(super) fn ahead(self) -> (&'static str, &'static str) {
        match self.circle {
            Circle::All => ("after", "before"),
            Circle::Node => ("node_after", "node_before"),
            Circle::Rail => ("rail_after", "rail_before"),
        }
    }

    /// What is known of a rank's peer with a number.
    pub(super) fn about(self, about: About, rank: i64, number: i64) -> i64 {
        let own = self.place(rank);
        let place = number + i64::from(number >= own);
        match (about, self.circle) {
            (About::Place, _) => place,
            (About::Peer, _) => self.at(rank, place),
            (About::Slot, _) | (About::WideSlot, Circle::All) => own - i64::from(own > place),
            (About::WideSlot, Circle::Node | Circle::Rail) => {
                rank - i64::from(rank > self.about(About::Peer, rank, number))
            }
            (About::Index, _) => {
                let peer = self.about(About::Peer, rank, number);
                peer - i64::from(peer > rank)
            }
        }
    }

    /// The variable that holds a peer, which is also what gives it for its number.
    pub(super) fn variable(self) -> &'static str {
        match self.circle {
            Circle::All => "peer",
            Circle::Node => "node_peer",
            Circle::Rail => "rail_peer",
        }
    }

    /// What is known of a peer.
    pub(super) fn text(self, about: About, peer: &str) -> String {
        let function = match (about, self.circle) {
            (About::Peer, _) | (About::Place, Circle::All) => return peer.to_owned(),
            (About::Place, Circle::Node) => "local",
            (About::Place, Circle::Rail) => "node",
            (About::Slot, Circle::All) | (About::WideSlot, _) => "slot",
            (About::Slot, Circle::Node) => "node_slot",
            (About::Slot, Circle::Rail) => "rail_slot",
            (About::Index, _) => "index_of",
        };
        format!("b.{function}({peer})")
    }

    /// What gives it of each peer, where there is something.
    pub(super) fn list(self, about: About) -> Option<&'static str> {
        match (about, self.circle) {
            (About::Peer, Circle::All) => Some("b.peers()"),
            (About::Peer, Circle::Node) => Some("b.node_peers()"),
            (About::Peer, Circle::Rail) => Some("b.rail_peers()"),
            (About::Place, Circle::Node) => Some("b.locals()"),
            (About::Place, Circle::Rail) => Some("b.nodes()"),
            (About::Slot, Circle::All) => Some("b.slots()"),
            (About::Slot, Circle::Node) => Some("b.node_slots()"),
            (About::Slot, Circle::Rail) => Some("b.rail_slots()"),
            (About::Place, Circle::All) | (About::WideSlot | About::Index, _) => None,
        }
    }
}
