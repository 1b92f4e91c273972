//! Circles of ranks, and how a rank counts its peers in them.
//!
//! A circle is a set of ranks in cyclic order: all ranks, the ranks of a node, or the ranks with the same place in all
//! nodes (a rail). A rank may count its peers in ascending order, from itself onward or backward, by the bits in which
//! their numbers differ, or by their places. `runtime/block.cuh` has a few names for each.

use std::ops::Range;

/// Ranks in cyclic order, each of which is a peer of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Circle {
    All,
    Node,
    Rail,
}

/// How a rank counts its peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// From 0, in ascending order.
    Ascending,
    /// From 1, which is the rank after it in the circle.
    Onward,
    /// From 1, which is the rank before it in the circle.
    Back,
    /// From 1, node by node from its own on, and in each node from its own place on.
    ByNodes,
    /// From 1, by the bits in which the peer's number differs: the partners in recursive doubling.
    Flipped,
    /// By their places.
    Placed,
}

/// Something about a peer of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// The peer's rank.
    Peer,
    /// The peer's place in the circle.
    Place,
    /// The rank's place among the peer's peers in the circle.
    Slot,
    /// The rank's place among all of the peer's peers.
    WideSlot,
    /// The peer's place among all of the rank's peers.
    Index,
}

impl About {
    /// All of these, likelier ones first.
    pub(super) const ALL: [About; 5] =
        [About::Place, About::Slot, About::WideSlot, About::Peer, About::Index];
}

/// A circle of a machine, and an order of peers in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peers {
    circle: Circle,
    order: Order,
    ranks: i64,
    ranks_per_node: i64,
}

impl Peers {
    /// The circles of a machine: only one if all ranks are in one node, or each is in its own.
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

    /// The same circles, with peers counted from each rank onward.
    pub(super) fn onward(ranks: i64, ranks_per_node: i64) -> Vec<Peers> {
        let circles = Peers::of(ranks, ranks_per_node);
        let by_nodes = circles.first().filter(|_| circles.len() > 1);
        let by_nodes = by_nodes.map(|all| Peers { order: Order::ByNodes, ..*all });
        let onward = circles.iter().map(|peers| Peers { order: Order::Onward, ..*peers });
        onward.chain(by_nodes).collect()
    }

    /// The same circles, with peers counted from each rank backward.
    pub(super) fn back(ranks: i64, ranks_per_node: i64) -> Vec<Peers> {
        let circles = Peers::of(ranks, ranks_per_node).into_iter();
        circles.map(|peers| Peers { order: Order::Back, ..peers }).collect()
    }

    /// The circles with peers counted by their places; and all ranks by the bits in which their numbers
    /// differ, if that gives every other rank a number.
    pub(super) fn numbered(ranks: i64, ranks_per_node: i64) -> Vec<Peers> {
        let circles = Peers::of(ranks, ranks_per_node);
        let all = circles.first().filter(|_| ranks & (ranks - 1) == 0);
        let flipped = all.map(|all| Peers { order: Order::Flipped, ..*all });
        let placed = circles.iter().map(|peers| Peers { order: Order::Placed, ..*peers });
        flipped.into_iter().chain(placed).collect()
    }

    /// How many ranks are in the circle.
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

    /// The rank at a place in a rank's circle.
    pub(super) fn at(self, rank: i64, place: i64) -> i64 {
        match self.circle {
            Circle::All => place,
            Circle::Node => rank - rank % self.ranks_per_node + place,
            Circle::Rail => place * self.ranks_per_node + rank % self.ranks_per_node,
        }
    }

    /// The functions for the rank at a distance ahead in its circle, and for the one at a distance behind.
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

    /// Whether a rank has a peer with this number.
    pub(super) fn has(self, rank: i64, number: i64) -> bool {
        self.numbers().contains(&number) && self.peer(rank, number) != rank
    }

    /// A rank's peer with this number.
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

    /// Something about a rank's peer with this number.
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

    /// Whether peers are counted in ascending order.
    pub(super) fn is_ascending(self) -> bool {
        self.order == Order::Ascending
    }

    /// The variable that holds the peer whose number is the block's place, if there is one.
    pub(super) fn variable(self) -> Option<&'static str> {
        self.is_ascending().then(|| self.name())
    }

    /// The expression for the peer with a number.
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

    /// The name of the function, and of the variable, for peers in ascending order.
    pub(super) fn name(self) -> &'static str {
        match self.circle {
            Circle::All => "peer",
            Circle::Node => "node_peer",
            Circle::Rail => "rail_peer",
        }
    }

    /// The expression for something about a peer.
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

    /// The expression for the list of something about each peer, if there is one.
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
