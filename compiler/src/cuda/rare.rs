//! Features of a block that are rarely needed, and are tried only if nothing else gives its number.
//!
//! In: the blocks, and one number of each. Out: peers in rows of ranks that are not a circle of the machine; peers
//! counted from the place of a rank, by the bits of their numbers, or by their places; parents in binomial trees; and
//! what is known about peers whose number is the block's place, one of the two numbers of its pair, or any constant.

use super::circles::{about_peer, each};
use super::features::{Feature, kinds};
use super::formula::cost;
use super::members::{Member, Members};
use super::peers::{About, Peers};
use super::statement::Kind;

/// Nothing rare is tried for more numbers than this: it would take seconds.
const MOST: usize = 1 << 14;

/// Ranks at equal distances within a node: a domain (a part of the node), or the ranks with one place in all domains.
#[derive(Clone, Copy)]
struct Row {
    size: i64,
    distance: i64,
}

impl Row {
    /// The rows into which a node of so many ranks can be divided evenly.
    fn of(ranks: i64) -> impl Iterator<Item = Row> {
        let divisors = |of: i64| (2..=of).filter(move |part| of % part == 0);
        divisors(ranks).flat_map(move |span| {
            divisors(span).map(move |size| Row { size, distance: span / size })
        })
    }

    fn place(self, rank: i64) -> i64 {
        rank / self.distance % self.size
    }

    /// A rank's peer with this number.
    fn peer(self, rank: i64, number: i64) -> i64 {
        let place = self.place(rank);
        rank + (number + i64::from(number >= place) - place) * self.distance
    }
}

impl Members {
    /// Further features of a block.
    pub(super) fn rare_features(&self, kind: Kind, values: &[i64]) -> Vec<Feature> {
        if values.len() > MOST {
            return Vec::new();
        }
        let circles = Peers::of(self.ranks, self.ranks_per_node);
        let places = self.places_of_ranks(&circles);
        let mut features = self.of_rows(values);
        features.extend(self.of_pairs(&circles, kinds(kind)));
        let onward = Peers::onward(self.ranks, self.ranks_per_node);
        let back = Peers::back(self.ranks, self.ranks_per_node);
        for peers in [&circles, &onward, &back] {
            features.extend(self.of_peers(peers, kinds(kind), &places, values));
        }
        let plain = [self.nothing(), self.index()];
        let numbered = Peers::numbered(self.ranks, self.ranks_per_node);
        features.extend(self.of_peers(&numbered, kinds(kind), &plain, values));
        let namesake = |(peers, about)| about_peer(peers, about, &self.index());
        features.extend(each(&numbered, kinds(kind)).map(namesake));
        features.push(parent());
        if kind != Kind::Rank {
            features.extend(of_some_peer(&circles, &self.nothing()));
        }
        features
    }

    /// A sum of one number of the block's pair and something about a peer whose number is the other.
    pub(super) fn rare_sum(&self, values: &[i64]) -> Option<String> {
        if values.len() > MOST {
            return None;
        }
        let circles = Peers::of(self.ranks, self.ranks_per_node);
        let features = self.of_pairs(&circles, &About::ALL);
        let places: Vec<Feature> = self.pairs(&circles).collect();
        let pairs = places.iter().flat_map(|one| features.iter().map(move |two| [two, one]));
        let formulas = pairs.filter_map(|pair| self.fit(&pair, Kind::Chunk, values));
        formulas.min_by_key(|text| cost(Kind::Chunk, text))
    }

    /// Peers in rows, at the distance from a place that the first value shows; and the places themselves.
    fn of_rows(&self, values: &[i64]) -> Vec<Feature> {
        let in_node = if self.ranks_per_node > 1 { self.ranks_per_node } else { self.ranks };
        let rows: Vec<Row> = Row::of(in_node).collect();
        let mut places = vec![self.nothing(), self.index()];
        places.extend(self.pairs_of(rows.iter().map(|row| row.size - 1)));
        let mut features = Vec::new();
        for row in rows {
            for place in &places {
                features.extend(self.of_row(row, place, ("", |_, peer| peer), values));
                let local = move |_, peer| peer % in_node;
                features.extend(self.of_row(row, place, ("b.local", local), values));
                let slot = |rank, peer| rank - i64::from(rank > peer);
                features.extend(self.of_row(row, place, ("b.slot", slot), values));
            }
        }
        features.extend(places);
        features
    }

    /// Something about a peer in a row.
    fn of_row(
        &self,
        row: Row,
        place: &Feature,
        (name, about): (&str, impl Fn(i64, i64) -> i64 + 'static),
        values: &[i64],
    ) -> Option<Feature> {
        let peer = move |rank: u32, number: i64| {
            let rank = i64::from(rank);
            about(rank, row.peer(rank, number))
        };
        let (member, value) = (self.list.first()?, values.first()?);
        let first = (0..row.size - 1).find(|number| peer(member.rank, *number) == *value)?;
        let number = place.further(first - place.at(member)?);
        let call = format!("b.row_peer({}, {}, {})", row.size, row.distance, number.text);
        let text = if name.is_empty() { call } else { format!("{name}({call})") };
        let of = number.values();
        Some(Feature::partial(text, false, move |member| {
            let number = of(member)?;
            (0..row.size - 1).contains(&number).then(|| peer(member.rank, number))
        }))
    }

    /// What is known about the peers whose numbers are those of the block's pair.
    fn of_pairs(&self, circles: &[Peers], kinds: &[About]) -> Vec<Feature> {
        let of = |place: Feature| {
            each(circles, kinds)
                .map(|(peers, about)| about_peer(peers, about, &place.further(0)))
                .collect::<Vec<Feature>>()
        };
        self.pairs(circles).flat_map(of).collect()
    }

    /// The places of this rank, and those of the block's own peers.
    fn places_of_ranks(&self, circles: &[Peers]) -> Vec<Feature> {
        let (node, local) = self.node();
        [node, local].into_iter().chain(self.of_own_peer(circles, &[About::Place])).collect()
    }
}

/// The rank without its lowest set bit: its parent in a binomial tree.
fn parent() -> Feature {
    let value = |member: &Member| i64::from(member.rank & member.rank.wrapping_sub(1));
    Feature::new("b.parent()", value)
}

/// What is known about the peer with a constant number in each circle, for every number.
fn of_some_peer(circles: &[Peers], nothing: &Feature) -> Vec<Feature> {
    let numbers = |peers: &Peers| {
        let peers = *peers;
        (0..peers.size() - 1).map(move |number| (peers, number))
    };
    let about = |(peers, number): (Peers, i64)| {
        let number = nothing.further(number);
        About::ALL.map(|about| about_peer(peers, about, &number))
    };
    circles.iter().flat_map(numbers).flat_map(about).collect()
}
