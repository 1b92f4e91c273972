//! Whose peers a block works for: those among all ranks, among the ranks of its node, or among the ranks that have its
//! place in the other nodes; ascending, as each rank counts them from itself on or back, by the bits in which their numbers
//! differ, or by their places. Each is known by a few names in `runtime/block.cuh`.

use std::ops::Range;

/// Ranks of which each is the others' peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Circle {
    All,
    Node,
    Rail,
}

/// How a rank counts its peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// From 0 on, ascending.
    Ascending,
    /// From 1 on, which is the one after it in the circle.
    Onward,
    /// From 1 on, which is the one before it in the circle.
    Back,
    /// From 1 on, node by node from its own on, in each from its own place on.
    ByNodes,
    /// From 1 on, by the bits in which its number differs: whom recursive doubling meets.
    Flipped,
    /// By their places.
    Placed,
}

/// What is known of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peers {
    circle: Circle,
    order: Order,
    ranks: i64,
    ranks_per_node: i64,
}

impl Peers {
    /// The circles of a machine: one, where all ranks are in one node, or each is in its own.
    pub(super) fn of(ranks: i64, ranks_per_node: i64) -> Vec<Peers> {
        let nodes = ranks_per_node > 1 && ranks_per_node < ranks && ranks % ranks_per_node == 0;
        let circles: &[Circle] =
            if nodes { &[Circle::All, Circle::Node, Circle::Rail] } else { &[Circle::All] };
        let peers = |circle: &Circle| Peers {
            circle: *circle,
            order: Order::Ascending,
            ranks,
            ranks_per_node,
        };
        circles.iter().map(peers).collect()
    }

    /// The same peers as each rank counts them from itself on.
    pub(super) fn onward(ranks: i64, ranks_per_node: i64) -> Vec<Peers> {
        let circles = Peers::of(ranks, ranks_per_node);
        let by_nodes = circles.first().filter(|_| circles.len() > 1);
        let by_nodes = by_nodes.map(|all| Peers { order: Order::ByNodes, ..*all });
        let onward = circles.iter().map(|peers| Peers { order: Order::Onward, ..*peers });
        onward.chain(by_nodes).collect()
    }

    /// The same peers as each rank counts them from itself back.
    pub(super) fn back(ranks: i64, ranks_per_node: i64) -> Vec<Peers> {
        let circles = Peers::of(ranks, ranks_per_node).into_iter();
        circles.map(|peers| Peers { order: Order::Back, ..peers }).collect()
    }

    /// Peers by their places, and all ranks by the bits in which their numbers differ, where that gives every other one a number.
    pub(super) fn numbered(ranks: i64, ranks_per_node: i64) -> Vec<Peers> {
        let circles = Peers::of(ranks, ranks_per_node);
        let all = circles.first().filter(|_| ranks & (ranks - 1) == 0);
        let flipped = all.map(|all| Peers { order: Order::Flipped, ..*all });
        let placed = circles.iter().map(|peers| Peers { order: Order::Placed, ..*peers });
        flipped.into_iter().chain(placed).collect()
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

    /// The numbers that peers have.
    pub(super) fn numbers(self) -> Range<i64> {
        match self.order {
            Order::Ascending => 0..self.size() - 1,
            Order::Onward | Order::Back | Order::ByNodes | Order::Flipped => 1..self.size(),
            Order::Placed => 0..self.size(),
        }
    }

    /// Whether a rank has a peer with a number.
    pub(super) fn has(self, rank: i64, number: i64) -> bool {
        self.numbers().contains(&number) && self.peer(rank, number) != rank
    }

    /// A rank's peer with a number.
    fn peer(self, rank: i64, number: i64) -> i64 {
        let own = self.place(rank);
        match self.order {
            Order::Ascending => self.at(rank, number + i64::from(number >= own)),
            Order::Onward => self.at(rank, (own + number) % self.size()),
            Order::Back => self.at(rank, (own - number).rem_euclid(self.size())),
            Order::ByNodes => {
                let each = self.ranks_per_node;
                let first = (rank - rank % each + number - number % each) % self.ranks;
                first + (rank + number) % each
            }
            Order::Flipped => rank ^ number,
            Order::Placed => self.at(rank, number),
        }
    }

    /// What is known of a rank's peer with a number.
    pub(super) fn about(self, about: About, rank: i64, number: i64) -> i64 {
        let peer = self.peer(rank, number);
        match about {
            About::Place => self.place(peer),
            About::Peer => peer,
            About::Slot => self.place(rank) - i64::from(rank > peer),
            About::WideSlot => rank - i64::from(rank > peer),
            About::Index => peer - i64::from(peer > rank),
        }
    }

    /// Whether they are counted ascending.
    pub(super) fn is_ascending(self) -> bool {
        self.order == Order::Ascending
    }

    /// The variable that holds the peer whose number is the block's place, where there is one.
    pub(super) fn variable(self) -> Option<&'static str> {
        self.is_ascending().then(|| self.name())
    }

    /// The peer with a number.
    pub(super) fn call(self, number: &str) -> String {
        let name = match (self.order, self.circle) {
            (Order::Placed, Circle::All) => return number.to_owned(),
            (Order::Placed, Circle::Node) => return format!("b.rank_at(b.node(), {number})"),
            (Order::Placed, Circle::Rail) => return format!("b.rank_at({number}, b.local())"),
            (Order::Ascending, _) => self.name(),
            (Order::Onward, _) => self.ahead().0,
            (Order::Back, _) => self.ahead().1,
            (Order::ByNodes, _) => "onward",
            (Order::Flipped, _) => "flipped",
        };
        format!("b.{name}({number})")
    }

    /// What those that are counted ascending are called.
    pub(super) fn name(self) -> &'static str {
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
