//! What a kernel can compute about a block that shares its body with others.
//!
//! In: the blocks, and one number of each, which shows how far away to look. Out: features of the block: its
//! rank, its place among the blocks, its peers, ranks ahead, its node. Each says which value it has for a
//! block, and by which expression.

use super::members::{Member, Members};
use super::peers::{About, Peers};
use super::statement::Kind;
use std::collections::BTreeSet;
use std::rc::Rc;

/// What a feature's value is for a block; none for a block that does not have the feature.
type Value = dyn Fn(&Member) -> Option<i64>;

/// Something that the kernel can compute about a block.
pub(super) struct Feature {
    pub(super) text: String,
    /// Whether it contains the step of a loop.
    pub(super) stepped: bool,
    /// Most features turn out wrong after a few blocks, so their values are computed when they are asked for.
    of: Rc<Value>,
}

impl Feature {
    /// A feature that every block has, without the step of a loop.
    pub(super) fn new(text: impl Into<String>, of: impl Fn(&Member) -> i64 + 'static) -> Feature {
        Feature::partial(text.into(), false, move |member| Some(of(member)))
    }

    /// A feature that some blocks may not have.
    pub(super) fn partial(
        text: String,
        stepped: bool,
        of: impl Fn(&Member) -> Option<i64> + 'static,
    ) -> Feature {
        Feature { text, stepped, of: Rc::new(of) }
    }

    pub(super) fn at(&self, member: &Member) -> Option<i64> {
        (self.of)(member)
    }

    /// What gives its values, for a feature that is made of this one.
    pub(super) fn values(&self) -> impl Fn(&Member) -> Option<i64> + 'static {
        let of = Rc::clone(&self.of);
        move |member| of(member)
    }

    /// This plus a constant.
    pub(super) fn further(&self, more: i64) -> Feature {
        let text = sum(&[self], &[i64::from(self.text != "0")], more);
        let of = self.values();
        Feature::partial(text, self.stepped, move |member| Some(of(member)? + more))
    }
}

impl Members {
    /// What is known about a block, likelier features first.
    pub(super) fn features(&self, kind: Kind, values: &[i64]) -> Vec<Feature> {
        let own = [self.rank(), self.index()];
        let circles = Peers::of(self.ranks, self.ranks_per_node);
        let places = self.places(&circles);
        let about = {
            let own = self.of_own_peer(&circles, kinds(kind)).into_iter();
            own.chain(self.of_peers(&circles, kinds(kind), &places, values))
        };
        let halved = self.flipped(values).into_iter().chain(self.halves());
        match kind {
            Kind::Rank => {
                about.chain(self.ahead(&circles, values)).chain(halved).chain(own).collect()
            }
            Kind::Chunk
            | Kind::Lane
            | Kind::Group
            | Kind::Semaphore
            | Kind::Barrier
            | Kind::Size
            | Kind::Share => {
                let (node, local) = self.node();
                let own = own.into_iter().chain([node, local]);
                let own = own.chain(self.ahead(&circles, values));
                own.chain(self.pairs(&circles)).chain(about).chain(halved).collect()
            }
        }
    }

    /// What is known about peers, if each rank counts them from itself on.
    pub(super) fn onward(&self, kind: Kind, values: &[i64]) -> Vec<Feature> {
        let places = self.places(&Peers::of(self.ranks, self.ranks_per_node));
        let onward = Peers::onward(self.ranks, self.ranks_per_node);
        self.of_peers(&onward, kinds(kind), &places, values)
    }

    pub(super) fn nothing(&self) -> Feature {
        Feature::new("0", |_| 0)
    }

    pub(super) fn rank(&self) -> Feature {
        Feature::new("b.rank", |member| i64::from(member.rank))
    }

    pub(super) fn index(&self) -> Feature {
        Feature::new("index", |member| member.index)
    }

    /// The rank's node, and the rank's place in it.
    pub(super) fn node(&self) -> (Feature, Feature) {
        let each = self.ranks_per_node.max(1);
        (
            Feature::new("b.node()", move |member| i64::from(member.rank) / each),
            Feature::new("b.local()", move |member| i64::from(member.rank) % each),
        )
    }

    /// What a peer's number may be counted from: 0, the block's place, and the two numbers of its pair.
    fn places(&self, circles: &[Peers]) -> Vec<Feature> {
        [self.nothing(), self.index()].into_iter().chain(self.pairs(circles)).collect()
    }

    /// The block's place as two numbers, for programs with a block for each pair
    /// of peers, or with several for each peer.
    pub(super) fn pairs(&self, circles: &[Peers]) -> impl Iterator<Item = Feature> {
        let blocks = self.list.iter().map(|member| member.index + 1).max().unwrap_or(1);
        let widths = circles.iter().flat_map(|peers| {
            let others = peers.size() - 1;
            [others, if blocks.checked_rem(others) == Some(0) { blocks / others } else { 1 }]
        });
        let widths: BTreeSet<i64> = widths.collect();
        self.pairs_of(widths.into_iter())
    }

    /// The block's place as two numbers, quotient and remainder, for each of these widths.
    pub(super) fn pairs_of(
        &self,
        widths: impl Iterator<Item = i64>,
    ) -> impl Iterator<Item = Feature> {
        let widths = widths.filter(|width| *width > 1);
        widths.flat_map(|width| {
            [
                Feature::new(format!("index / {width}"), move |member| member.index / width),
                Feature::new(format!("index % {width}"), move |member| member.index % width),
            ]
        })
    }

    /// The rank whose number differs in some bits, given by the first value: the partner in recursive doubling.
    fn flipped(&self, values: &[i64]) -> Option<Feature> {
        let bits = i64::from(self.list.first()?.rank) ^ values.first()?;
        let value = move |member: &Member| i64::from(member.rank) ^ bits;
        (bits > 0).then(|| Feature::new(format!("b.flipped({bits})"), value))
    }

    /// The rank, or the rank minus one, divided by a power of two: groups of that many ranks, and parents in a tree.
    fn halves(&self) -> impl Iterator<Item = Feature> {
        let powers = std::iter::successors(Some(2), |power| Some(power * 2));
        let has_root = self.list.iter().any(|member| member.rank == 0);
        powers.take_while(|power| *power < self.ranks).flat_map(move |power| {
            let of = |text: &str, less: i64| {
                let value = move |member: &Member| (i64::from(member.rank) - less) / power;
                Feature::new(format!("{text} / {power}"), value)
            };
            let before = (!has_root).then(|| of("(b.rank - 1)", 1));
            std::iter::once(of("b.rank", 0)).chain(before)
        })
    }

    /// Where a rank is: its node, its place there, the rank itself, and ranks ahead.
    pub(super) fn whereabouts(&self, values: &[i64]) -> Vec<Feature> {
        let (node, local) = self.node();
        let circles = Peers::of(self.ranks, self.ranks_per_node);
        [node, local, self.rank()].into_iter().chain(self.ahead(&circles, values)).collect()
    }
}

/// What about a peer can be a number of this kind.
pub(super) fn kinds(kind: Kind) -> &'static [About] {
    if kind == Kind::Rank { &[About::Peer] } else { &About::ALL }
}

/// Whether an expression has operators outside of all parentheses.
fn is_sum(text: &str) -> bool {
    let mut depth = 0;
    text.chars().any(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0 && c == ' '
    })
}

/// A sum of multiples of features and a constant, as text.
pub(super) fn sum(features: &[&Feature], factors: &[i64], constant: i64) -> String {
    let mut text = String::new();
    for (feature, factor) in features.iter().zip(factors).filter(|(_, factor)| **factor != 0) {
        if !text.is_empty() {
            text.push_str(" + ");
        }
        let several = is_sum(&feature.text) && *factor != 1;
        text.push_str(&if several { format!("({})", feature.text) } else { feature.text.clone() });
        if *factor != 1 {
            text.push_str(&format!(" * {factor}"));
        }
    }
    match constant {
        0 if !text.is_empty() => {}
        _ if text.is_empty() => text = constant.to_string(),
        1.. => text.push_str(&format!(" + {constant}")),
        _ => text.push_str(&format!(" - {}", -constant)),
    }
    text
}
