//! What a kernel knows of a block that shares its body with others.
//!
//! In: the blocks, and one number of each, which says how far away to look. Out: its rank, its place among the blocks, its
//! peers, ranks so far ahead, its node: each with the value that every block has for it, and the expression that gives
//! it.

use super::formula::{Member, Members};
use super::peers::{About, Peers};
use super::statement::Kind;
use std::collections::BTreeSet;

/// Something that is known of a block.
pub(super) struct Feature {
    pub(super) text: String,
    pub(super) values: Vec<i64>,
    /// Whether the step of a loop is in it.
    pub(super) stepped: bool,
}

impl Feature {
    pub(super) fn new(text: impl Into<String>, values: Vec<i64>) -> Feature {
        Feature { text: text.into(), values, stepped: false }
    }
}

/// What grows evenly: where it begins, and by how much it changes with each step and each place.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Line {
    begin: i64,
    step: i64,
    index: i64,
}

impl Line {
    fn at(&self, member: &Member) -> i64 {
        self.begin + self.step * member.step + self.index * member.index
    }

    /// Whole rounds taken off.
    fn around(self, size: i64) -> Line {
        let [begin, step, index] =
            [self.begin, self.step, self.index].map(|part| part.rem_euclid(size));
        Line { begin, step, index }
    }

    fn text(&self) -> String {
        let names = ["index", "step"].map(|name| Feature::new(name, Vec::new()));
        sum(&names.each_ref(), &[self.index, self.step], self.begin)
    }
}

impl Members {
    /// What is known of a block, likelier things first.
    pub(super) fn features(&self, kind: Kind, values: &[i64]) -> Vec<Feature> {
        let own = [self.rank(), self.index()];
        let circles = Peers::of(self.ranks, self.ranks_per_node);
        let about = |kinds: &[About]| self.of_peers(&circles, kinds, values);
        let halved = self.flipped(values).into_iter().chain(self.halves());
        match kind {
            Kind::Rank => {
                let ranks = about(&[About::Peer]).into_iter();
                ranks.chain(self.ahead(&circles, values)).chain(halved).chain(own).collect()
            }
            Kind::Chunk
            | Kind::Lane
            | Kind::Group
            | Kind::Semaphore
            | Kind::Barrier
            | Kind::Size
            | Kind::Share => {
                let kinds = [About::Place, About::Slot, About::WideSlot, About::Peer, About::Index];
                let (node, local) = self.node();
                let own = own.into_iter().chain([node, local]);
                let own = own.chain(self.ahead(&circles, values));
                own.chain(self.pairs(&circles)).chain(about(&kinds)).chain(halved).collect()
            }
        }
    }

    pub(super) fn rank(&self) -> Feature {
        Feature::new("b.rank", self.list.iter().map(|member| i64::from(member.rank)).collect())
    }

    pub(super) fn index(&self) -> Feature {
        Feature::new("index", self.list.iter().map(|member| member.index).collect())
    }

    /// The node, and the place in it.
    pub(super) fn node(&self) -> (Feature, Feature) {
        let each = self.ranks_per_node.max(1);
        let of = |f: &dyn Fn(i64) -> i64| {
            self.list.iter().map(|member| f(i64::from(member.rank))).collect()
        };
        (
            Feature::new("b.node()", of(&|rank| rank / each)),
            Feature::new("b.local()", of(&|rank| rank % each)),
        )
    }

    /// What is known of peers: of those whose number is the block's place, or so far from something of its place.
    fn of_peers(&self, circles: &[Peers], kinds: &[About], values: &[i64]) -> Vec<Feature> {
        let all = || circles.iter().flat_map(|peers| kinds.iter().map(|kind| (*peers, *kind)));
        let by_place = all().filter_map(|(peers, about)| self.about(peers, about, self.index()));
        let multiples = self.multiples(circles);
        let nothing = Feature::new("0", vec![0; self.list.len()]);
        let places: Vec<Feature> =
            [nothing, self.index()].into_iter().chain(self.pairs(circles)).collect();
        let by_number = places.iter().flat_map(|place| {
            let of = |(peers, about)| {
                let number = |of: &i64| self.number(peers, about, (place, *of), values);
                let numbers: Vec<Feature> = multiples.iter().filter_map(number).collect();
                numbers.into_iter().filter_map(move |number| self.about(peers, about, number))
            };
            all().flat_map(of)
        });
        by_place.chain(by_number).collect()
    }

    /// Something about each block's peer that has this number.
    fn about(&self, peers: Peers, about: About, number: Feature) -> Option<Feature> {
        let is_one = |number: &i64| (0..peers.size() - 1).contains(number);
        let value = |(member, number): (&Member, &i64)| {
            is_one(number).then(|| peers.about(about, i64::from(member.rank), *number))
        };
        let values = self.list.iter().zip(&number.values).map(value).collect::<Option<_>>()?;
        let peer = match number.text.as_str() {
            "index" => peers.variable().to_owned(),
            other => format!("b.{}({other})", peers.variable()),
        };
        Some(Feature { text: peers.text(about, &peer), values, stepped: number.stepped })
    }

    /// The two numbers that a block's place has where there is a block for each pair of peers.
    fn pairs(&self, circles: &[Peers]) -> impl Iterator<Item = Feature> {
        let widths = circles.iter().map(|peers| peers.size() - 1).filter(|width| *width > 1);
        widths.flat_map(|width| {
            let of = |text: &str, value: fn(i64, i64) -> i64| {
                let values = self.list.iter().map(|member| value(member.index, width));
                Feature::new(format!("index {text} {width}"), values.collect())
            };
            [of("/", |index, width| index / width), of("%", |index, width| index % width)]
        })
    }

    /// The rank whose number differs in some bits, as the first value says: whom recursive doubling meets.
    fn flipped(&self, values: &[i64]) -> Option<Feature> {
        let bits = i64::from(self.list.first()?.rank) ^ values.first()?;
        let value = |member: &Member| i64::from(member.rank) ^ bits;
        (bits > 0).then(|| {
            Feature::new(format!("b.flipped({bits})"), self.list.iter().map(value).collect())
        })
    }

    /// The rank, or the one before, divided by a power of two: groups of so many ranks, and the parents in a tree.
    fn halves(&self) -> impl Iterator<Item = Feature> {
        let powers = std::iter::successors(Some(2), |power| Some(power * 2));
        let has_root = self.list.iter().any(|member| member.rank == 0);
        powers.take_while(|power| *power < self.ranks).flat_map(move |power| {
            let of = |text: &str, less: i64| {
                let values = self.list.iter().map(|member| (i64::from(member.rank) - less) / power);
                Feature::new(format!("{text} / {power}"), values.collect())
            };
            let before = (!has_root).then(|| of("(b.rank - 1)", 1));
            std::iter::once(of("b.rank", 0)).chain(before)
        })
    }

    /// The number of the peer of whom so many multiples of this are known: so far from a place, and further with each step,
    /// as far as the first value and the next step's say.
    fn number(
        &self,
        peers: Peers,
        about: About,
        (place, multiple): (&Feature, i64),
        values: &[i64],
    ) -> Option<Feature> {
        let line = self.line(values, |value, rank| {
            let value = value.div_euclid(multiple);
            (0..peers.size() - 1).find(|number| peers.about(about, rank, *number) == value)
        })?;
        let begin = line.at(self.list.first()?) - place.values.first()?;
        if line.step < 0 {
            return None;
        }
        let number = |(member, place): (&Member, &i64)| place + begin + line.step * member.step;
        let step = Feature::new("step", Vec::new());
        let factors = [i64::from(place.text != "0"), line.step];
        Some(Feature {
            text: sum(&[place, &step], &factors, begin),
            values: self.list.iter().zip(&place.values).map(number).collect(),
            stepped: line.step != 0,
        })
    }

    /// What is found of each value and its rank, if it grows evenly, as the first value, the next step's and the next
    /// place's have it.
    fn line(&self, values: &[i64], find: impl Fn(i64, i64) -> Option<i64>) -> Option<Line> {
        let rows = || self.list.iter().zip(values);
        let found = |(member, value): (&Member, &i64)| find(*value, i64::from(member.rank));
        let (first, value) = rows().next()?;
        let begin = found((first, value))?;
        let change = |next: Option<(&Member, &i64)>| match next {
            Some(next) => found(next).map(|found| found - begin),
            None => Some(0),
        };
        let next_step = Member { step: first.step + 1, ..*first };
        let next_step = rows().find(|(one, _)| self.steps > 1 && **one == next_step);
        let next_index = rows().take_while(|(one, _)| one.rank == first.rank).find(|(one, _)| {
            (one.index, one.copy, one.step) == (first.index + 1, first.copy, first.step)
        });
        let (step, index) = (change(next_step)?, change(next_index)?);
        Some(Line { begin: begin - index * first.index - step * first.step, step, index })
    }

    /// Where a rank is: its node, its place in it, itself, and those so far ahead.
    pub(super) fn whereabouts(&self, values: &[i64]) -> Vec<Feature> {
        let (node, local) = self.node();
        let circles = Peers::of(self.ranks, self.ranks_per_node);
        [node, local, self.rank()].into_iter().chain(self.ahead(&circles, values)).collect()
    }

    /// How many numbers there may be of each rank: one for each copy, or for each place of a circle.
    fn multiples(&self, circles: &[Peers]) -> Vec<i64> {
        let sizes: BTreeSet<i64> = circles.iter().map(|circle| circle.size()).collect();
        [1, self.copies.max(1)].into_iter().chain(sizes).collect()
    }

    /// The ranks so many ahead in each circle, and their places there.
    fn ahead(&self, circles: &[Peers], values: &[i64]) -> Vec<Feature> {
        let multiples = self.multiples(circles);
        let of = |circle: &Peers| {
            let lines = self.lines_ahead(*circle, &multiples, values).into_iter();
            let mut features: Vec<Feature> =
                lines.flat_map(|line| self.ahead_in(*circle, line)).collect();
            // Among all ranks, a rank is its place.
            features.dedup_by(|one, other| one.text == other.text);
            features
        };
        circles.iter().flat_map(of).collect()
    }

    /// How far ahead in a circle the numbers may be, as far as the first says. That may change with the block's place and
    /// with the step, by as much as the next of each say.
    fn lines_ahead(&self, circle: Peers, multiples: &[i64], values: &[i64]) -> Vec<Line> {
        let mut found: Vec<Line> = Vec::new();
        for multiple in multiples {
            // A number stands for a rank, or for a place in the circle.
            let readings = [|circle: Peers, value| circle.place(value), |_, value| value];
            let lines = readings.map(|place| {
                self.line(values, |value, rank| {
                    Some(place(circle, value.div_euclid(*multiple)) - circle.place(rank))
                })
            });
            for line in lines.into_iter().flatten().map(|line| line.around(circle.size())) {
                found.extend((!found.contains(&line)).then_some(line));
            }
        }
        found
    }

    /// The rank so far ahead, and its place.
    fn ahead_in(&self, circle: Peers, line: Line) -> [Feature; 2] {
        let place = |member: &Member| {
            (circle.place(i64::from(member.rank)) + line.at(member)).rem_euclid(circle.size())
        };
        let places: Vec<i64> = self.list.iter().map(place).collect();
        let rank = |(member, place): (&Member, &i64)| circle.at(i64::from(member.rank), *place);
        let ranks = self.list.iter().zip(&places).map(rank).collect();
        let text = self.ahead_or_behind(circle, &line);
        let stepped = line.step != 0;
        let place = circle.text(About::Place, &text);
        [Feature { text, values: ranks, stepped }, Feature { text: place, values: places, stepped }]
    }

    /// Ranks that are nearer from the other side are behind.
    fn ahead_or_behind(&self, circle: Peers, ahead: &Line) -> String {
        let size = circle.size();
        let parts = [ahead.step, ahead.index, ahead.begin];
        let is_behind = parts.iter().find(|part| **part != 0).is_some_and(|part| part * 2 > size);
        let back =
            Line { begin: -ahead.begin, step: -ahead.step, index: -ahead.index }.around(size);
        // Nothing is further behind than the circle is long: the kernel counts without signs.
        let behind = [back.begin, back.begin - size].map(|begin| Line { begin, ..back });
        let is_near =
            |line: &&Line| is_behind && self.list.iter().all(|member| line.at(member) <= size);
        let (after, before) = circle.ahead();
        match behind.iter().find(is_near) {
            Some(behind) => format!("b.{before}({})", behind.text()),
            None => format!("b.{after}({})", ahead.text()),
        }
    }
}

/// Whether an expression has operators outside of all brackets.
fn is_sum(text: &str) -> bool {
    let mut depth = 0;
    text.chars().any(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0 && c == ' '
    })
}

/// A sum of multiples and a constant.
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
