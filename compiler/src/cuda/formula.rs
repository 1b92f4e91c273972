//! One formula for a number of many blocks.
//!
//! In: which blocks of which ranks share a body, and one number of each. Out: an expression with which a kernel
//! computes the number from its rank and block, if there is a simple one: a constant, or a sum of multiples of what is
//! known about the block (`features`), of the number of its copy and, in a loop, of the step. Every formula is checked
//! against every number, and the shortest one is taken.

use super::features::{Feature, sum};
use super::members::{Member, Members};
use super::names;
use super::peers::{About, Peers};
use super::statement::Kind;

impl Members {
    /// The numbers as one expression, if there is one.
    pub(super) fn formula(&self, kind: Kind, values: &[i64]) -> Option<String> {
        let first = *values.first()?;
        if values.iter().all(|value| *value == first) {
            return Some(first.to_string());
        }
        let singles = self.features(kind, values);
        self.shortest(&singles, kind, values)
            .or_else(|| self.fit(&[], Kind::Chunk, values))
            .or_else(|| self.fit(&[&self.rank()], Kind::Chunk, values))
            .or_else(|| self.shortest(&self.onward(kind, values), kind, values))
            .or_else(|| self.pair(&singles, values))
            .or_else(|| self.downwards(kind, values))
            .or_else(|| self.shortest(&self.rare_features(kind, values), kind, values))
            .or_else(|| self.rare_sum(values))
            .or_else(|| self.split(kind, values))
            .or_else(|| self.index_of(kind, values))
    }

    /// The shortest formula that uses one of these features.
    fn shortest(&self, features: &[Feature], kind: Kind, values: &[i64]) -> Option<String> {
        let formulas = features.iter().filter_map(|feature| self.fit(&[feature], kind, values));
        formulas.min_by_key(|text| cost(kind, text))
    }

    /// A rank, or a chunk for each rank, by its node and its place there.
    fn split(&self, kind: Kind, values: &[i64]) -> Option<String> {
        let each = self.ranks_per_node;
        let is_split = each > 1 && each < self.ranks && values.iter().any(|value| *value >= each);
        if !is_split || !matches!(kind, Kind::Rank | Kind::Chunk) {
            return None;
        }
        let nodes: Vec<i64> = values.iter().map(|value| value / each).collect();
        let locals: Vec<i64> = values.iter().map(|value| value % each).collect();
        let part = |values: &[i64]| self.formula(Kind::Chunk, values);
        Some(format!("b.rank_at({}, {})", part(&nodes)?, part(&locals)?))
    }

    /// The place, among this rank's peers, of a rank that is given by its node and its place
    /// there; not for small numbers.
    fn index_of(&self, kind: Kind, values: &[i64]) -> Option<String> {
        let peer =
            |(member, value): (&Member, &i64)| value + i64::from(*value >= member.rank.into());
        let peers: Vec<i64> = self.list.iter().zip(values).map(peer).collect();
        let is_rank = peers.iter().all(|peer| *peer < self.ranks);
        let is_small = values.iter().all(|value| *value < self.ranks_per_node);
        if kind == Kind::Rank || !is_rank || is_small {
            return None;
        }
        Some(format!("b.index_of({})", self.split(Kind::Rank, &peers)?))
    }

    /// The shortest sum of two features, one of which says where the rank is.
    fn pair(&self, features: &[Feature], values: &[i64]) -> Option<String> {
        let places = self.whereabouts(values);
        let pairs = places.iter().flat_map(|one| features.iter().map(move |two| [one, two]));
        let fit = |pair: [&Feature; 2]| self.fit(&pair, Kind::Chunk, values);
        let (node, local) = self.node();
        fit([&local, &node])
            .or_else(|| pairs.filter_map(fit).min_by_key(|text| cost(Kind::Chunk, text)))
    }

    /// A number that decreases from one block or turn to the next and increases from one copy to the next.
    fn downwards(&self, kind: Kind, values: &[i64]) -> Option<String> {
        let rows = || self.list.iter().zip(values).map(|(one, value)| (one, value - one.copy));
        let (first, value) = rows().next()?;
        let in_step =
            |(one, _): &(&Member, i64)| one.step == first.step && one.index != first.index;
        // The number at place 0, whether or not a block is there.
        let most = match rows().find(in_step) {
            Some((other, less)) => {
                value + (value - less) * first.index / (other.index - first.index)
            }
            None => rows().map(|(_, value)| value).max()?,
        };
        let up: Vec<i64> = rows().map(|(_, value)| most - value).collect();
        let up = self.fit(&[&self.index()], Kind::Chunk, &up).filter(|_| kind != Kind::Rank)?;
        let down = format!("{most} - {}", term(up));
        Some(if self.copies > 1 { format!("{down} + copy") } else { down })
    }

    /// The lists as one expression; all are as long as the first.
    pub(super) fn list(&self, kind: Kind, lists: &[&[u32]]) -> Option<String> {
        let first = lists.first()?;
        let same = lists.iter().all(|list| list == first);
        self.peers(kind, lists)
            .or_else(|| self.run(kind, lists))
            .or_else(|| same.then(|| constant(first)))
            .or_else(|| self.each(kind, lists))
    }

    /// A separate formula for each entry of the lists.
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

    /// A multiple of something about each peer, plus a number that all entries have in common.
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
            let of =
                |member: &Member, k: usize| peers.about(about, i64::from(member.rank), k as i64);
            let rows = || self.list.iter().zip(lists);
            let factor = rows().find_map(|(member, list)| scale(list, |k| of(member, k)))?;
            let rest = |(member, list): (&Member, &&[u32])| {
                let rest = |(k, n): (usize, &u32)| i64::from(*n) - factor * of(member, k);
                let mut rests = list.iter().enumerate().map(rest);
                let first = rests.next().filter(|first| *first >= 0)?;
                rests.all(|other| other == first).then_some(first)
            };
            let rests: Vec<i64> = rows().map(rest).collect::<Option<_>>()?;
            let rest = self.formula(kind, &rests)?;
            let times = if factor == 1 { String::new() } else { format!(" * {factor}") };
            // To a list, numbers can be added only.
            let rest = if rest.contains(" - ") { term(rest) } else { rest };
            let plus = if rest == "0" { String::new() } else { format!(" + {rest}") };
            Some(format!("{name}{times}{plus}"))
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

    /// A multiple of each feature, multiples of the copy and the step, and a constant, if that gives
    /// all numbers. A rank must be a feature itself.
    pub(super) fn fit(&self, features: &[&Feature], kind: Kind, values: &[i64]) -> Option<String> {
        let has_step = self.steps > 1 && !features.iter().any(|feature| feature.stepped);
        // A number that no block has another value of would be compared, for every feature, with that of all blocks.
        let copy = (self.copies > 1).then(|| Feature::new("copy", |member| member.copy));
        let step = has_step.then(|| Feature::new("step", |member| member.step));
        let more = [copy.as_ref(), step.as_ref()];
        let all: Vec<&Feature> =
            features.iter().copied().chain(more.into_iter().flatten()).collect();
        let rows = || self.list.iter().zip(values.iter().copied());
        let some = self.sample.iter();
        let some = || some.clone().filter_map(|at| Some((self.list.get(*at)?, *values.get(*at)?)));
        let (factors, constant) = fit_rows(&all, some).and_then(|_| fit_rows(&all, rows))?;
        let plain = factors.iter().take(features.len()).all(|factor| *factor == 1) && constant == 0;
        if factors.iter().any(|factor| *factor < 0) || (kind == Kind::Rank && !plain) {
            return None;
        }
        Some(sum(&all, &factors, constant))
    }
}

/// By which factors the features, and by which constant their sum, give the numbers of all these blocks.
fn fit_rows<'a, Rows>(features: &[&Feature], rows: impl Fn() -> Rows) -> Option<(Vec<i64>, i64)>
where
    Rows: Iterator<Item = (&'a Member, i64)>,
{
    let factors: Vec<i64> =
        (0..features.len()).map(|k| factor(features, k, rows())).collect::<Option<_>>()?;
    let sum = |member: &Member| -> Option<i64> {
        let parts = features.iter().zip(&factors);
        parts.map(|(feature, factor)| Some(feature.at(member)? * factor)).sum()
    };
    let (first, value) = rows().next()?;
    let constant = value - sum(first)?;
    let is_right = |(member, value)| sum(member).is_some_and(|sum| sum + constant == value);
    rows().all(is_right).then_some((factors, constant))
}

/// By which factor the numbers change with one feature while all others stay the same; 0 if no two blocks show it.
fn factor<'a>(
    features: &[&Feature],
    which: usize,
    mut rows: impl Iterator<Item = (&'a Member, i64)>,
) -> Option<i64> {
    let (first, value) = rows.next()?;
    let own = features.get(which)?;
    let begin = own.at(first)?;
    let firsts: Vec<Option<i64>> = features.iter().map(|feature| feature.at(first)).collect();
    let differs = |(member, _): &(&Member, i64)| {
        let mut others = features.iter().zip(&firsts).enumerate().filter(|(k, _)| *k != which);
        own.at(member) != Some(begin)
            && others.all(|(_, (other, first))| other.at(member) == *first)
    };
    let Some((member, next)) = rows.find(differs) else { return Some(0) };
    let (change, distance) = (next - value, own.at(member)? - begin);
    (change % distance == 0).then(|| change / distance)
}

/// An expression as a term of a sum or difference.
fn term(text: String) -> String {
    let is_sum = text.contains(" + ") || text.contains(" - ");
    if is_sum { format!("({text})") } else { text }
}

/// The length of an expression. A variable that holds a peer takes a register of the whole kernel, so except for ranks,
/// for which it is meant, it counts as much as the call that computes it.
pub(super) fn cost(kind: Kind, text: &str) -> usize {
    let held =
        ["peer", "node_peer", "rail_peer"].iter().any(|name| names::has_variable(text, name));
    text.len() + if held && kind != Kind::Rank { "b.(index)".len() } else { 0 }
}

/// By which factor the numbers of a list grow with what is known about each entry; the factor must be positive.
fn scale(list: &[u32], known: impl Fn(usize) -> i64) -> Option<i64> {
    let first = i64::from(*list.first()?);
    let other = (1..list.len()).find(|k| known(*k) != known(0))?;
    let (change, distance) = (i64::from(*list.get(other)?) - first, known(other) - known(0));
    (change % distance == 0 && change / distance > 0).then(|| change / distance)
}

fn constant(list: &[u32]) -> String {
    let numbers: Vec<String> = list.iter().map(u32::to_string).collect();
    format!("ccl::list({})", numbers.join(", "))
}

#[cfg(test)]
mod tests;
