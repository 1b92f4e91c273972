//! What is rarely known of a block, and looked for where nothing else gives its number.
//!
//! In: the blocks, and one number of each. Out: peers in rows of ranks that are no circle of the machine; peers that are counted
//! from the place of a rank, by the bits of their numbers, or by their places; parents in binomial trees; and of peers with the
//! number of a block's place, or one of the two of its pair, or any, what is known of them, whatever is added.

use super::circles::each;
use super::features::{Feature, kinds};
use super::formula::{Member, Members, cost};
use super::peers::{About, Peers};
use super::statement::Kind;

/// Of more numbers than these nothing rare is looked for: it would take seconds.
const MOST: usize = 1 << 14;

/// Ranks at equal distances inside of a node: a domain, or those that have one place in all domains.
#[derive(Clone, Copy)]
struct Row {
    size: i64,
    distance: i64,
}

impl Row {
    /// The rows that a node of so many ranks falls into in equal parts.
    fn of(ranks: i64) -> impl Iterator<Item = Row> {
        let divisors = |of: i64| (2..=of).filter(move |part| of % part == 0);
        divisors(ranks).flat_map(move |span| {
            divisors(span).map(move |size| Row { size, distance: span / size })
        })
    }

    fn place(self, rank: i64) -> i64 {
        rank / self.distance % self.size
    }

    /// A rank's peer of this number.
    fn peer(self, rank: i64, number: i64) -> i64 {
        let place = self.place(rank);
        rank + (number + i64::from(number >= place) - place) * self.distance
    }
}

impl Members {
    /// What else may be known of a block.
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
        let namesake = |(peers, about)| self.about(peers, about, self.index());
        features.extend(each(&numbered, kinds(kind)).filter_map(namesake));
        features.push(self.parent());
        if kind != Kind::Rank {
            features.extend(self.of_some_peer(&circles));
        }
        features
    }

    /// A sum of one number of a block's pair and of what is known of a peer with the other.
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

    /// The rank without its last bit: its parent in a binomial tree.
    fn parent(&self) -> Feature {
        let value = |member: &Member| i64::from(member.rank & member.rank.wrapping_sub(1));
        Feature::new("b.parent()", self.list.iter().map(value).collect())
    }

    /// Peers in rows, as far from the block's place as the first says, and the numbers of a place that lead to them.
    fn of_rows(&self, values: &[i64]) -> Vec<Feature> {
        let in_node = if self.ranks_per_node > 1 { self.ranks_per_node } else { self.ranks };
        let rows: Vec<Row> = Row::of(in_node).collect();
        let mut places = vec![self.nothing(), self.index()];
        places.extend(self.pairs_of(rows.iter().map(|row| row.size - 1)));
        let mut features = Vec::new();
        for row in rows {
            for place in &places {
                features.extend(self.of_row(row, place, ("", |_, peer| peer), values));
                let local = |_, peer| peer % in_node;
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
        (name, about): (&str, impl Fn(i64, i64) -> i64),
        values: &[i64],
    ) -> Option<Feature> {
        let peer = |rank: u32, number: i64| {
            let rank = i64::from(rank);
            about(rank, row.peer(rank, number))
        };
        let (member, value) = (self.list.first()?, values.first()?);
        let first = (0..row.size - 1).find(|number| peer(member.rank, *number) == *value)?;
        let number = place.further(first - place.values.first()?);
        let value = |(member, number): (&Member, &i64)| {
            (0..row.size - 1).contains(number).then(|| peer(member.rank, *number))
        };
        let found = self.list.iter().zip(&number.values).map(value).collect::<Option<_>>()?;
        let peer = format!("b.row_peer({}, {}, {})", row.size, row.distance, number.text);
        let text = if name.is_empty() { peer } else { format!("{name}({peer})") };
        Some(Feature::new(text, found))
    }

    /// What is known of the peers whose numbers are those of a block's pair.
    fn of_pairs(&self, circles: &[Peers], kinds: &[About]) -> Vec<Feature> {
        let of = |place: Feature| {
            each(circles, kinds)
                .filter_map(|(peers, about)| self.about(peers, about, place.further(0)))
                .collect::<Vec<Feature>>()
        };
        self.pairs(circles).flat_map(of).collect()
    }

    /// The places of this rank, and of the block's own peers.
    fn places_of_ranks(&self, circles: &[Peers]) -> Vec<Feature> {
        let (node, local) = self.node();
        [node, local].into_iter().chain(self.of_own_peer(circles, &[About::Place])).collect()
    }

    /// What is known of the peer that has a number in each circle, forevery number.
    fn of_some_peer(&self, circles: &[Peers]) -> Vec<Feature> {
        let numbers = |peers: &Peers| {
            let peers = *peers;
            (0..peers.size() - 1).map(move |number| (peers, number))
        };
        let about = |(peers, number): (Peers, i64)| {
            let of = move |about| self.about(peers, about, self.nothing().further(number));
            About::ALL.into_iter().filter_map(of)
        };
        circles.iter().flat_map(numbers).flat_map(about).collect()
    }
}
