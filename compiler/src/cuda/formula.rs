//! Numbers of many blocks as one formula.
//!
//! In: which blocks of which ranks share a body, and one number of each. Out: an expression that a kernel computes it
//! by, from its rank and block, where there is a simple one: a constant, or a sum of a multiple of something that is
//! known of the block (its rank, its place among the blocks that share the body, the peer of that place, a rank so far
//! ahead, its node) and a multiple of the number of its copy. Every formula is tried on every number.

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
}

/// The blocks that share a body, and the numbers that all blocks of the program have in common.
pub(super) struct Members {
    pub(super) list: Vec<Member>,
    pub(super) ranks: i64,
    pub(super) ranks_per_node: i64,
    pub(super) copies: i64,
}

/// Something that is known of a block.
struct Feature {
    text: String,
    values: Vec<i64>,
}

impl Members {
    /// The numbers as one expression.
    pub(super) fn formula(&self, kind: Kind, values: &[i64]) -> Option<String> {
        let first = *values.first()?;
        if values.iter().all(|value| *value == first) {
            return Some(first.to_string());
        }
        let singles = self.features(kind, values);
        let single = singles.iter().find_map(|feature| self.fit(&[feature], kind, values));
        let pair = || {
            let (rank, index) = (self.rank(), self.index());
            let (node, local) = self.node();
            self.fit(&[&rank, &index], Kind::Chunk, values)
                .or_else(|| self.fit(&[&node, &local], Kind::Chunk, values))
        };
        single.or_else(|| self.fit(&[], Kind::Chunk, values)).or_else(pair)
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

    /// A multiple of the peers, or of this rank's places among the peers of each, and something.
    fn peers(&self, kind: Kind, lists: &[&[u32]]) -> Option<String> {
        let slot = |rank: i64, peer: i64| rank - i64::from(rank > peer);
        for (name, slots) in [("b.peers()", false), ("b.slots()", true)] {
            for factor in [1, self.copies] {
                let mut rests = Vec::with_capacity(lists.len());
                for (member, list) in self.list.iter().zip(lists) {
                    let rank = i64::from(member.rank);
                    let peers = (0..self.ranks).filter(|peer| *peer != rank);
                    let wanted = peers.map(|peer| if slots { slot(rank, peer) } else { peer });
                    if list.len() as i64 != self.ranks - 1 {
                        return None;
                    }
                    let mut rest = list.iter().zip(wanted).map(|(n, w)| i64::from(*n) - factor * w);
                    let first = rest.next()?;
                    rests.push(rest.all(|other| other == first).then_some(first));
                }
                let Some(rests) = rests.into_iter().collect::<Option<Vec<i64>>>() else { continue };
                if rests.iter().any(|rest| *rest < 0) || lists.iter().all(|list| list.len() < 2) {
                    continue;
                }
                let Some(rest) = self.formula(kind, &rests) else { continue };
                let times = if factor == 1 { String::new() } else { format!(" * {factor}") };
                let plus = if rest == "0" { String::new() } else { format!(" + {rest}") };
                return Some(format!("{name}{times}{plus}"));
            }
        }
        None
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
        let (rank, index) = (self.rank(), self.index());
        let peer: Vec<i64> = self
            .list
            .iter()
            .map(|member| member.index + i64::from(member.index >= i64::from(member.rank)))
            .collect();
        let slot: Vec<i64> = self
            .list
            .iter()
            .zip(&peer)
            .map(|(member, peer)| {
                i64::from(member.rank) - i64::from(i64::from(member.rank) > *peer)
            })
            .collect();
        let is_peer = peer.iter().all(|peer| *peer < self.ranks);
        let peer = Feature { text: "peer".to_owned(), values: peer };
        let slot = Feature { text: "b.slot(peer)".to_owned(), values: slot };
        let mut features = Vec::new();
        match kind {
            Kind::Rank => {
                features.extend(is_peer.then_some(peer));
                features.extend(self.ahead(values));
                features.extend([rank, index]);
            }
            Kind::Chunk
            | Kind::Lane
            | Kind::Group
            | Kind::Semaphore
            | Kind::Barrier
            | Kind::Size
            | Kind::Share => {
                features.extend([rank, index]);
                if is_peer {
                    features.extend([peer, slot]);
                }
                features.extend(self.ahead(values));
            }
        }
        features
    }

    fn rank(&self) -> Feature {
        let values = self.list.iter().map(|member| i64::from(member.rank)).collect();
        Feature { text: "b.rank".to_owned(), values }
    }

    fn index(&self) -> Feature {
        let values = self.list.iter().map(|member| member.index).collect();
        Feature { text: "index".to_owned(), values }
    }

    fn node(&self) -> (Feature, Feature) {
        let each = self.ranks_per_node.max(1);
        let of = |f: &dyn Fn(i64) -> i64| {
            self.list.iter().map(|member| f(i64::from(member.rank))).collect()
        };
        (
            Feature { text: format!("b.rank / {each}"), values: of(&|rank| rank / each) },
            Feature { text: format!("b.rank % {each}"), values: of(&|rank| rank % each) },
        )
    }

    /// The rank so many ahead, as far as the first number says; also of multiples, where there are copies.
    fn ahead(&self, values: &[i64]) -> Vec<Feature> {
        let (Some(first), Some(value)) = (self.list.first(), values.first()) else {
            return Vec::new();
        };
        let mut features = Vec::new();
        for factor in [1, self.copies] {
            let reached = value.div_euclid(factor.max(1));
            let ahead = (reached - i64::from(first.rank)).rem_euclid(self.ranks);
            let values = self
                .list
                .iter()
                .map(|member| (i64::from(member.rank) + ahead) % self.ranks)
                .collect();
            let text = if ahead * 2 > self.ranks {
                format!("b.before({})", self.ranks - ahead)
            } else {
                format!("b.after({ahead})")
            };
            features.push(Feature { text, values });
        }
        features
    }

    /// A multiple of each feature, a multiple of the copy and a constant, if that is what all numbers are. A rank is a
    /// feature itself.
    fn fit(&self, features: &[&Feature], kind: Kind, values: &[i64]) -> Option<String> {
        let copy = Feature {
            text: "copy".to_owned(),
            values: self.list.iter().map(|member| member.copy).collect(),
        };
        let all: Vec<&Feature> = features.iter().copied().chain([&copy]).collect();
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
        let plain = factors.iter().rev().skip(1).all(|factor| *factor == 1) && constant == 0;
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
