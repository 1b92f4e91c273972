//! Collectives as demands: what bounds and synthesis know of them.
//!
//! In: what each rank is promised. Out: which ranks get which values, as `synth` takes it. A value is a chunk of a
//! rank's input, or the reduction of several; a value that a rank gets twice counts once.

use crate::ir;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use synth::collective::{Collective, CollectiveKind, Demand, DemandList, SummandGroup};
use synth::graph::Vertex;

/// Why promises are no demands that have bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromiseError {
    /// Nothing is promised of any output.
    NoPromise,
    /// There are more than so many contributions.
    TooMany(usize),
    /// A value has a contribution more than once, so that it is no plain sum.
    Repeated(Contribution),
    /// A chunk of an input is a value of its own and a part of a sum, or a part of sums whose other parts are different
    /// chunks of one rank: what is known of such values does not tell how much of them has to move.
    SharedContribution(Contribution),
}

/// A chunk of a rank's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contribution {
    /// The rank.
    pub rank: u32,
    /// The chunk.
    pub chunk: u32,
}

impl fmt::Display for PromiseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PromiseError::NoPromise => write!(f, "it promises nothing of any output"),
            PromiseError::TooMany(most) => {
                write!(f, "its promises have more than {most} contributions")
            }
            PromiseError::Repeated(Contribution { rank, chunk }) => write!(
                f,
                "one of its values has `{rank}.input[{chunk}]` more than once, and there are no bounds for such values"
            ),
            PromiseError::SharedContribution(Contribution { rank, chunk }) => write!(
                f,
                "`{rank}.input[{chunk}]` is a part of several values that differ in their other parts, \
                 and there are no bounds for such collectives"
            ),
        }
    }
}

impl std::error::Error for PromiseError {}

/// How many contributions all promises together may have.
const MOST_CONTRIBUTIONS: usize = 1 << 22;

/// The collective of the library with this name, if its bounds are known without looking at its promises.
#[must_use]
pub fn find_known_collective(name: &str, root: Vertex) -> Option<CollectiveKind> {
    Some(match name {
        "allgather" => CollectiveKind::AllGather,
        "allreduce" => CollectiveKind::AllReduce,
        "reducescatter" => CollectiveKind::ReduceScatter,
        "alltoall" => CollectiveKind::AllToAll,
        "broadcast" => CollectiveKind::Broadcast(root),
        "reduce" => CollectiveKind::Reduce(root),
        "gather" => CollectiveKind::Gather(root),
        "scatter" => CollectiveKind::Scatter(root),
        _ => return None,
    })
}

/// The demands that the promises of all ranks are.
///
/// # Errors
/// [`PromiseError`].
pub fn collect_demands(ranks: &[ir::Rank]) -> Result<Collective, PromiseError> {
    let mut receivers_of: BTreeMap<Vec<Contribution>, BTreeSet<Vertex>> = BTreeMap::new();
    let mut left = MOST_CONTRIBUTIONS;
    for (rank, row) in (0..).zip(ranks) {
        for promise in row.promises.iter() {
            let sources = promise.terms.iter().flat_map(ir::Term::sources);
            let mut value: Vec<Contribution> =
                sources.take(left + 1).map(|(rank, chunk)| Contribution { rank, chunk }).collect();
            left =
                left.checked_sub(value.len()).ok_or(PromiseError::TooMany(MOST_CONTRIBUTIONS))?;
            value.sort_unstable();
            let mut pairs = value.iter().zip(value.iter().skip(1));
            if let Some((repeated, _)) = pairs.find(|(one, next)| one == next) {
                return Err(PromiseError::Repeated(*repeated));
            }
            receivers_of.entry(value).or_default().insert(Vertex(rank));
        }
    }
    let groups = Groups::collect(receivers_of.keys())?;
    let demands = receivers_of.iter().map(|(value, receivers)| Demand {
        origins: value.iter().map(|contribution| Vertex(contribution.rank)).collect(),
        receivers: receivers.iter().copied().collect(),
        count: 1,
        summands: groups.find(value),
    });
    let demands: Vec<Demand> = demands.filter(|demand| !demand.origins.is_empty()).collect();
    if demands.is_empty() {
        return Err(PromiseError::NoPromise);
    }
    // Each value has an origin and the count 1, so that nothing else can be wrong.
    let list = DemandList::new(demands).map_err(|_| PromiseError::TooMany(MOST_CONTRIBUTIONS))?;
    Ok(Collective::Demands(list))
}

/// Whether values have contributions in common. How many of them have to move is counted as sums are added: with `min` and
/// `max`, one may follow from others.
#[must_use]
pub fn has_common_contributions(collective: &Collective) -> bool {
    match collective {
        Collective::Known(_) => false,
        Collective::Demands(list) => list.as_slice().iter().any(|demand| demand.summands.is_some()),
    }
}

/// Which values have contributions in common, and so are in one group.
struct Groups {
    /// For each contribution the number of its group, if it is a part of several values.
    group_of: BTreeMap<Contribution, u32>,
}

impl Groups {
    fn collect<'v>(
        values: impl Iterator<Item = &'v Vec<Contribution>>,
    ) -> Result<Groups, PromiseError> {
        let mut first_of: BTreeMap<Contribution, u32> = BTreeMap::new();
        let mut shared: BTreeSet<Contribution> = BTreeSet::new();
        // Groups are joined where values meet; each value begins with one of its own.
        let mut parents: Vec<u32> = Vec::new();
        let all: Vec<&Vec<Contribution>> = values.collect();
        for (number, value) in (0..).zip(&all) {
            parents.push(number);
            for contribution in *value {
                if let Some(first) = first_of.insert(*contribution, number) {
                    shared.insert(*contribution);
                    let [one, other] = [find_root(&parents, first), find_root(&parents, number)];
                    if let Some(parent) = parents.get_mut(one.max(other) as usize) {
                        *parent = one.min(other);
                    }
                }
            }
        }
        let mut group_of = BTreeMap::new();
        let mut chunk_of: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (number, value) in (0..).zip(&all) {
            let group = find_root(&parents, number);
            if !value.iter().any(|contribution| shared.contains(contribution)) {
                continue;
            }
            for contribution in *value {
                let Contribution { rank, chunk } = *contribution;
                let known = *chunk_of.entry((group, rank)).or_insert(chunk);
                if known != chunk {
                    return Err(PromiseError::SharedContribution(*contribution));
                }
                group_of.insert(*contribution, group);
            }
        }
        Ok(Groups { group_of })
    }

    fn find(&self, value: &[Contribution]) -> Option<SummandGroup> {
        value.first().and_then(|first| self.group_of.get(first)).map(|group| SummandGroup(*group))
    }
}

fn find_root(parents: &[u32], mut number: u32) -> u32 {
    while let Some(parent) = parents.get(number as usize).copied().filter(|next| *next != number) {
        number = parent;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::{Contribution, PromiseError, collect_demands};
    use crate::ir::{Promise, Rank, Term};
    use synth::collective::{Collective, Demand};
    use synth::graph::Vertex;

    /// A rank whose output chunks are sums of these chunks of inputs.
    fn rank(values: &[&[(u32, u32)]]) -> Rank {
        let term = |&(rank, chunk): &(u32, u32)| Term {
            rank,
            chunk,
            count: 1,
            rank_step: 0,
            chunk_step: 0,
        };
        let promises = (0..)
            .zip(values)
            .map(|(chunk, value)| Promise { chunk, terms: value.iter().map(term).collect() });
        Rank { promises: promises.collect(), ..Rank::default() }
    }

    fn demands(ranks: &[Rank]) -> Vec<Demand> {
        match collect_demands(ranks).unwrap() {
            Collective::Demands(list) => list.as_slice().to_vec(),
            Collective::Known(_) => panic!("nothing is known of it"),
        }
    }

    #[test]
    fn a_value_that_a_rank_gets_twice_counts_once() {
        let ranks = [rank(&[]), rank(&[&[(0, 0)], &[(0, 0)], &[(0, 1)]])];
        assert_eq!(demands(&ranks), [Demand::copy(Vertex(0), vec![Vertex(1)], 2)]);
    }

    #[test]
    fn prefix_sums_are_one_group() {
        let ranks =
            [rank(&[&[(0, 0)]]), rank(&[&[(0, 0), (1, 0)]]), rank(&[&[(0, 0), (1, 0), (2, 0)]])];
        let demands = demands(&ranks);
        let groups: Vec<_> = demands.iter().map(|demand| demand.summands).collect();
        assert_eq!(demands.len(), 2);
        assert!(groups.iter().all(|group| group.is_some() && *group == groups[0]));
    }

    #[test]
    fn sums_of_other_chunks_have_no_group() {
        let all = |chunk| vec![(0, chunk), (1, chunk)];
        let ranks = [rank(&[&all(0), &all(1)]), rank(&[&all(0), &all(1)])];
        let vertices = vec![Vertex(0), Vertex(1)];
        assert_eq!(demands(&ranks), [Demand::sum(vertices.clone(), vertices, 2)]);
    }

    #[test]
    fn what_is_shared_otherwise_is_refused() {
        let ranks = [rank(&[&[(0, 0), (1, 0)], &[(0, 0), (1, 1)]]), rank(&[])];
        let shared = PromiseError::SharedContribution(Contribution { rank: 1, chunk: 1 });
        assert_eq!(collect_demands(&ranks), Err(shared));
        assert_eq!(collect_demands(&[rank(&[])]), Err(PromiseError::NoPromise));
        let repeated = PromiseError::Repeated(Contribution { rank: 1, chunk: 0 });
        assert_eq!(collect_demands(&[rank(&[&[(0, 0), (1, 0), (1, 0)]])]), Err(repeated));
    }
}
