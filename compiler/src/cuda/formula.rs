//! Numbers of many blocks as one formula.
//!
//! In: which blocks of which ranks share a body, and one number of each. Out: an expression that a kernel computes it
//! by, from its rank and block, where there is a simple one: a constant, or a sum of a multiple of something that is
//! known of the block (its rank, its place among the blocks that share the body, the peer of that place, a rank so far
//! ahead, its node), a multiple of the number of its copy, and within a loop a multiple of the step. Every formula is
//! tried on every number.

use super::peers::{About, Peers};
use super::statement::Kind;

/// One block among those that share a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) rank: u32,
    pub(super) block: u32,
    /// Its place among the role's blocks of its rank, copies not counted.
    pub(super) index: i64,
    /// Which copy it is.
    pub(super) copy: i64,
    /// Which turn of a loop it is in.
    pub(super) step: i64,
}

/// The blocks that share a body, and the numbers that all blocks of the program have in common.
pub(super) struct Members {
    pub(super) list: Vec<Member>,
    pub(super) ranks: i64,
    pub(super) ranks_per_node: i64,
    pub(super) copies: i64,
    /// Turns of the loop that the numbers are in; 1 outside of loops.
    pub(super) steps: i64,
}

/// Something that is known of a block.
struct Feature {
    text: String,
    values: Vec<i64>,
    /// Whether the step of a loop is in it.
    stepped: bool,
}

/// How many ranks ahead something is: so many, and more with each step and each place.
struct Distance {
    begin: i64,
    step: i64,
    index: i64,
}

impl Feature {
    fn new(text: impl Into<String>, values: Vec<i64>) -> Feature {
        Feature { text: text.into(), values, stepped: false }
    }
}

impl Members {
    /// The blocks in each turn of a loop: all turns of the first, then all of the next.
    pub(super) fn in_loop(&self, steps: usize) -> Members {
        let turns = |member: &Member| {
            let member = *member;
            (0..steps as i64).map(move |step| Member { step, ..member })
        };
        Members { list: self.list.iter().flat_map(turns).collect(), steps: steps as i64, ..*self }
    }

    /// The numbers as one expression.
    pub(super) fn formula(&self, kind: Kind, values: &[i64]) -> Option<String> {
        let first = *values.first()?;
        if values.iter().all(|value| *value == first) {
            return Some(first.to_string());
        }
        let singles = self.features(kind, values);
        let single = singles.iter().find_map(|feature| self.fit(&[feature], kind, values));
        single
            .or_else(|| self.fit(&[], Kind::Chunk, values))
            .or_else(|| self.pair(&singles, values))
            .or_else(|| self.downwards(kind, values))
    }

    /// A sum of two features: of the node and the place in it, or of one of these or the rank and another one.
    fn pair(&self, features: &[Feature], values: &[i64]) -> Option<String> {
        let (node, local) = self.node();
        let rank = self.rank();
        let own = [&node, &local, &rank];
        let with = |one| features.iter().find_map(|two| self.fit(&[one, two], Kind::Chunk, values));
        self.fit(&[&node, &local], Kind::Chunk, values).or_else(|| own.into_iter().find_map(with))
    }

    /// What becomes less from one block to the next.
    fn downwards(&self, kind: Kind, values: &[i64]) -> Option<String> {
        let most = values.iter().max()?;
        let up: Vec<i64> = values.iter().map(|value| most - value).collect();
        let up = self.fit(&[&self.index()], Kind::Chunk, &up).filter(|_| kind != Kind::Rank)?;
        Some(format!("{most} - {}", if up.contains('+') { format!("({up})") } else { up }))
    }

    /// The lists as one expression; the first list's length is that of all.
    pub(super) fn list(&self, kind: Kind, lists: &[&[u32]]) -> Option<String> {
        let first = lists.first()?;
        let same = lists.iter().all(|list| list == first);
        self.peers(kind, lists)
            .or_else(|| self.run(kind, lists))
            .or_else(|| same.then(|| constant(first)))
            .or_else(|| self.each(kind, lists))
    }

    /// A formula for each number of the lists.
    fn each(&self, kind: Kind, lists: &[&[u32]]) -> Option<String> {
        let length = lists.first()?.len();
        let column = |k: usize| -> Option<String> {
            let values: Option<Vec<i64>> =
                lists.iter().map(|list| list.get(k).map(|n| i64::from(*n))).collect();
            self.formula(kind, &values?)
        };
        let texts = (0..length).map(column).collect::<Option<Vec<String>>>()?;
        Some(format!("ccl::list({})", texts.join(", ")))
    }

    /// A multiple of something about each peer, and something that all have in common.
    fn peers(&self, kind: Kind, lists: &[&[u32]]) -> Option<String> {
        let length = lists.first()?.len();
        if length < 2 {
            return None;
        }
        let circles = Peers::of(self.ranks, self.ranks_per_node).into_iter();
        let mut named = circles
            .filter(|peers| peers.size() == length as i64 + 1)
            .flat_map(|peers| [About::Peer, About::Place, About::Slot].map(|about| (peers, about)));
        named.find_map(|(peers, about)| {
            let name = peers.list(about)?;
            [1, self.copies].into_iter().find_map(|factor| {
                let rest = |(member, list): (&Member, &&[u32])| {
                    let of = |k: i64| factor * peers.about(about, i64::from(member.rank), k);
                    let mut rests = (0..).zip(list.iter()).map(|(k, n)| i64::from(*n) - of(k));
                    let first = rests.next().filter(|first| *first >= 0)?;
                    rests.all(|other| other == first).then_some(first)
                };
                let rests: Vec<i64> =
                    self.list.iter().zip(lists).map(rest).collect::<Option<_>>()?;
                let rest = self.formula(kind, &rests)?;
                let times = if factor == 1 { String::new() } else { format!(" * {factor}") };
                let plus = if rest == "0" { String::new() } else { format!(" + {rest}") };
                Some(format!("{name}{times}{plus}"))
            })
        })
    }

    /// Numbers at equal distances.
    fn run(&self, kind: Kind, lists: &[&[u32]]) -> Option<String> {
        let distance = |list: &&[u32]| match list {
            [first, second, ..] => {
                let step = i64::from(*second) - i64::from(*first);
                let even = list
                    .windows(2)
                    .all(|two| matches!(two, [a, b] if i64::from(*b) - i64::from(*a) == step));
                (even && step > 0).then_some(step)
            }
            [] | [_] => None,
        };
        let length = lists.first()?.len();
        let step = distance(lists.first()?)?;
        if length < 3 || !lists.iter().all(|list| distance(list) == Some(step)) {
            return None;
        }
        let firsts: Option<Vec<i64>> =
            lists.iter().map(|list| list.first().map(|n| i64::from(*n))).collect();
        let first = self.formula(kind, &firsts?)?;
        let step = if step == 1 { String::new() } else { format!(", {step}") };
        Some(format!("ccl::run<{length}>({first}{step})"))
    }

    /// What is known of a block, likelier things first.
    fn features(&self, kind: Kind, values: &[i64]) -> Vec<Feature> {
        let own = [self.rank(), self.index()];
        let circles = Peers::of(self.ranks, self.ranks_per_node);
        let about = |kinds: &[About]| -> Vec<Feature> {
            let all = || circles.iter().flat_map(|peers| kinds.iter().map(|kind| (*peers, *kind)));
            let by_index = all().filter_map(|(peers, about)| self.about(peers, about));
            let by_step = all().filter_map(|(peers, about)| self.numbered(peers, about, values));
            by_index.chain(by_step).collect()
        };
        match kind {
            Kind::Rank => {
                let ranks = about(&[About::Peer]).into_iter();
                ranks.chain(self.ahead(values)).chain(own).collect()
            }
            Kind::Chunk
            | Kind::Lane
            | Kind::Group
            | Kind::Semaphore
            | Kind::Barrier
            | Kind::Size
            | Kind::Share => {
                let about = about(&[About::Place, About::Slot, About::WideSlot, About::Peer]);
                own.into_iter().chain(self.ahead(values)).chain(about).collect()
            }
        }
    }

    /// Something about each block's peer whose number is the block's place.
    fn about(&self, peers: Peers, about: About) -> Option<Feature> {
        let least = self.list.iter().all(|member| member.index + 1 < peers.size());
        let value = |member: &Member| peers.about(about, i64::from(member.rank), member.index);
        let values = least.then(|| self.list.iter().map(value).collect())?;
        Some(Feature::new(peers.text(about, peers.variable()), values))
    }

    /// Something about each block's peer with a number, which is that of the first value; in a loop, of the next peer in
    /// each step.
    fn numbered(&self, peers: Peers, about: About, values: &[i64]) -> Option<Feature> {
        let (first, value) = (self.list.first()?, values.first()?);
        let mut numbers = 0..peers.size() - self.steps;
        let begin = numbers.find(|n| peers.about(about, i64::from(first.rank), *n) == *value)?;
        let value =
            |member: &Member| peers.about(about, i64::from(member.rank), begin + member.step);
        let step = Feature::new("step", Vec::new());
        let number = text(&[&step], &[i64::from(self.steps > 1)], begin);
        Some(Feature {
            text: peers.text(about, &format!("b.{}({number})", peers.variable())),
            values: self.list.iter().map(value).collect(),
            stepped: self.steps > 1,
        })
    }

    fn rank(&self) -> Feature {
        Feature::new("b.rank", self.list.iter().map(|member| i64::from(member.rank)).collect())
    }

    fn index(&self) -> Feature {
        Feature::new("index", self.list.iter().map(|member| member.index).collect())
    }

    fn node(&self) -> (Feature, Feature) {
        let each = self.ranks_per_node.max(1);
        let of = |f: &dyn Fn(i64) -> i64| {
            self.list.iter().map(|member| f(i64::from(member.rank))).collect()
        };
        (
            Feature::new("b.node()", of(&|rank| rank / each)),
            Feature::new("b.local()", of(&|rank| rank % each)),
        )
    }

    /// The rank so many ahead, as far as the first number says; also of multiples, where there are copies, and its node.
    /// How far that is may change with the block's place and with the step, by as much as the next of each say.
    fn ahead(&self, values: &[i64]) -> Vec<Feature> {
        let rows: Vec<(Member, i64)> =
            self.list.iter().copied().zip(values.iter().copied()).collect();
        let Some((first, value)) = rows.first().copied() else { return Vec::new() };
        let beside = |member: Member| rows.iter().find(|(one, _)| *one == member);
        let next_step =
            (self.steps > 1).then(|| Member { step: first.step + 1, ..first }).and_then(beside);
        let next_index =
            rows.iter().take_while(|(one, _)| one.rank == first.rank).find(|(one, _)| {
                (one.index, one.copy, one.step) == (first.index + 1, first.copy, first.step)
            });
        let of = |ahead: &dyn Fn(i64, i64) -> i64| {
            let begin = ahead(value, i64::from(first.rank));
            let change = |next: Option<&(Member, i64)>| {
                let by = |(member, value): &(Member, i64)| ahead(*value, i64::from(member.rank));
                next.map_or(0, |next| self.around(by(next) - begin))
            };
            let (step, index) = (change(next_step), change(next_index));
            Distance { begin: begin - index * first.index - step * first.step, step, index }
        };
        let each = self.ranks_per_node.max(1);
        let rank = [1, self.copies].map(|factor| {
            let ahead = |value: i64, rank: i64| value.div_euclid(factor.max(1)) - rank;
            self.feature(&of(&ahead))
        });
        let node = self.feature(&of(&|value, rank| (value - rank / each) * each));
        let node = Feature {
            text: format!("b.node({})", node.text),
            values: node.values.iter().map(|rank| rank / each).collect(),
            ..node
        };
        rank.into_iter().chain((each > 1 && each < self.ranks).then_some(node)).collect()
    }

    /// A number of ranks, all around taken off.
    fn around(&self, ranks: i64) -> i64 {
        ranks.rem_euclid(self.ranks)
    }

    fn feature(&self, distance: &Distance) -> Feature {
        let value = |member: &Member| {
            let ahead = distance.step * member.step + distance.index * member.index;
            self.around(i64::from(member.rank) + distance.begin + ahead)
        };
        Feature {
            text: self.distance(distance),
            values: self.list.iter().map(value).collect(),
            stepped: distance.step != 0,
        }
    }

    /// Ranks that are nearer from the other side are behind.
    fn distance(&self, distance: &Distance) -> String {
        let ahead = [distance.step, distance.index, self.around(distance.begin)];
        let is_behind =
            ahead.iter().find(|part| **part != 0).is_some_and(|part| part * 2 > self.ranks);
        let [step, index, begin] = ahead.map(|part| self.around(-part));
        let most = self.list.iter().map(|member| step * member.step + index * member.index).max();
        // No rank is further behind than there are ranks: the kernel counts without signs.
        let behind = [begin, begin - self.ranks]
            .into_iter()
            .find(|begin| is_behind && begin + most.unwrap_or(0) <= self.ranks);
        let (word, factors, begin) = match behind {
            Some(begin) => ("before", [index, step], begin),
            None => ("after", [distance.index, distance.step], self.around(distance.begin)),
        };
        let names = ["index", "step"].map(|name| Feature::new(name, Vec::new()));
        format!("b.{word}({})", text(&names.each_ref(), &factors, begin))
    }

    /// A multiple of each feature, multiples of the copy and the step, and a constant, if that is what all numbers are. A
    /// rank is a feature itself.
    fn fit(&self, features: &[&Feature], kind: Kind, values: &[i64]) -> Option<String> {
        let copy = Feature::new("copy", self.list.iter().map(|member| member.copy).collect());
        let step = Feature::new("step", self.list.iter().map(|member| member.step).collect());
        let has_step = self.steps > 1 && !features.iter().any(|feature| feature.stepped);
        let more = [Some(&copy), has_step.then_some(&step)];
        let all: Vec<&Feature> =
            features.iter().copied().chain(more.into_iter().flatten()).collect();
        let factors: Vec<i64> =
            (0..all.len()).map(|k| factor(&all, k, values)).collect::<Option<_>>()?;
        let product = |row: usize| -> i64 {
            let value = |feature: &&Feature| feature.values.get(row).copied().unwrap_or(0);
            all.iter().zip(&factors).map(|(feature, factor)| value(feature) * factor).sum()
        };
        let constant = values.first()? - product(0);
        if !values.iter().enumerate().all(|(row, value)| product(row) + constant == *value) {
            return None;
        }
        let plain = factors.iter().take(features.len()).all(|factor| *factor == 1) && constant == 0;
        if factors.iter().any(|factor| *factor < 0) || (kind == Kind::Rank && !plain) {
            return None;
        }
        Some(text(&all, &factors, constant))
    }
}

/// By how much the numbers change with one feature while all others stay as they are; 0 where nothing tells.
fn factor(features: &[&Feature], which: usize, values: &[i64]) -> Option<i64> {
    let at = |k: usize, row: usize| features.get(k).and_then(|f| f.values.get(row)).copied();
    let differs =
        |row: &usize| (0..features.len()).all(|k| (at(k, *row) != at(k, 0)) == (k == which));
    let Some(row) = (1..values.len()).find(differs) else { return Some(0) };
    let change = values.get(row)? - values.first()?;
    let distance = at(which, row)? - at(which, 0)?;
    (change % distance == 0).then(|| change / distance)
}

fn text(features: &[&Feature], factors: &[i64], constant: i64) -> String {
    let mut text = String::new();
    for (feature, factor) in features.iter().zip(factors).filter(|(_, factor)| **factor != 0) {
        if !text.is_empty() {
            text.push_str(" + ");
        }
        let several = feature.text.contains(' ') && *factor != 1;
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

fn constant(list: &[u32]) -> String {
    let numbers: Vec<String> = list.iter().map(u32::to_string).collect();
    format!("ccl::list({})", numbers.join(", "))
}
