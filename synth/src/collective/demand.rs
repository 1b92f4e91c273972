//! Collectives as what they demand: which ranks get which values.

use super::CollectiveKind;
use crate::graph::Vertex;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Demands with the same group add up the same values: what an origin contributes to one of them is what it contributes
/// to the others. The prefix sums of a scan are such demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SummandGroup(pub u32);

/// Values that ranks get. With one origin, each is a copy of something that this rank has; with several, it is the sum
/// of one contribution of each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Demand {
    /// The ranks that have what the value is made of.
    pub origins: Vec<Vertex>,
    /// The ranks that get it.
    pub receivers: Vec<Vertex>,
    /// How many such values there are, in chunks.
    pub count: u64,
    /// With which other demands it has its contributions in common; `None` if with none.
    pub summands: Option<SummandGroup>,
}

impl Demand {
    /// Copies of chunks of one rank.
    #[must_use]
    pub fn copy(origin: Vertex, receivers: Vec<Vertex>, count: u64) -> Demand {
        Demand { origins: vec![origin], receivers, count, summands: None }
    }

    /// Sums of chunks, one of each origin.
    #[must_use]
    pub fn sum(origins: Vec<Vertex>, receivers: Vec<Vertex>, count: u64) -> Demand {
        Demand { origins, receivers, count, summands: None }
    }
}

/// Why demands are no collective. `demand` is an index into the demands that [`DemandList::new`] was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DemandError {
    /// A demand has no origin.
    NoOrigin {
        /// Its index.
        demand: usize,
    },
    /// A demand is for no value at all.
    NoValue {
        /// Its index.
        demand: usize,
    },
    /// Two demands have the same contributions, but not as many of them.
    DifferentCounts {
        /// What they have in common.
        group: SummandGroup,
    },
    /// The counts sum up to 2^32 or more.
    TooMany,
}

impl fmt::Display for DemandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DemandError::NoOrigin { demand } => write!(f, "demand {demand} has no origin"),
            DemandError::NoValue { demand } => write!(f, "demand {demand} is for no value"),
            DemandError::DifferentCounts { group } => {
                write!(f, "demands of group {} have different counts", group.0)
            }
            DemandError::TooMany => write!(f, "2^32 or more values are demanded"),
        }
    }
}

impl std::error::Error for DemandError {}

/// The demands of a collective, in normal form: the ranks of each are sorted, what a rank has already is not demanded,
/// demands with the same ranks are one, and they are sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemandList {
    demands: Vec<Demand>,
}

/// What [`DemandList::recognize`] finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecognizedCollective {
    /// The collective.
    pub kind: CollectiveKind,
    /// How many of its chunks each of the demanded ones is.
    pub factor: u64,
}

impl DemandList {
    /// The normal form of demands.
    ///
    /// # Errors
    /// [`DemandError`].
    pub fn new(demands: Vec<Demand>) -> Result<DemandList, DemandError> {
        let mut counts_of_groups = BTreeMap::new();
        let mut members_of_groups: BTreeMap<SummandGroup, BTreeSet<[Vec<Vertex>; 2]>> =
            BTreeMap::new();
        // The keys have the count 0.
        let mut merged: BTreeMap<Demand, u64> = BTreeMap::new();
        let mut total: u64 = 0;
        for (index, mut demand) in demands.into_iter().enumerate() {
            for ranks in [&mut demand.origins, &mut demand.receivers] {
                ranks.sort_unstable();
                ranks.dedup();
            }
            let Demand { origins, mut receivers, count, summands } = demand;
            if count == 0 {
                return Err(DemandError::NoValue { demand: index });
            }
            total = total.saturating_add(count);
            match origins.as_slice() {
                [] => return Err(DemandError::NoOrigin { demand: index }),
                [only] => receivers.retain(|receiver| receiver != only),
                [..] => {}
            }
            if let Some(group) = summands
                && *counts_of_groups.entry(group).or_insert(count) != count
            {
                return Err(DemandError::DifferentCounts { group });
            }
            if receivers.is_empty() {
                continue;
            }
            if let Some(group) = summands {
                let members = members_of_groups.entry(group).or_default();
                members.insert([origins.clone(), receivers.clone()]);
            }
            let key = Demand { origins, receivers, count: 0, summands };
            let sum = merged.entry(key).or_default();
            // The same contributions, summed up for the same ranks, are the same values.
            *sum = if summands.is_some() { count } else { *sum + count };
        }
        if total >= 1 << 32 {
            return Err(DemandError::TooMany);
        }
        // A group of one demand has nothing in common with any other.
        let mut demands: BTreeMap<Demand, u64> = BTreeMap::new();
        for (mut demand, count) in merged {
            let members = demand.summands.and_then(|group| members_of_groups.get(&group));
            if members.is_some_and(|members| members.len() == 1) {
                demand.summands = None;
            }
            *demands.entry(demand).or_default() += count;
        }
        let demands = demands.into_iter().map(|(demand, count)| Demand { count, ..demand });
        Ok(DemandList { demands: demands.collect() })
    }

    /// The demands.
    #[must_use]
    pub fn as_slice(&self) -> &[Demand] {
        &self.demands
    }

    /// The greatest common divisor of all counts; 1 if there is no demand.
    #[must_use]
    pub fn find_common_factor(&self) -> u64 {
        let divide = |mut a: u64, mut b: u64| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let counts = self.demands.iter().map(|demand| demand.count);
        counts.fold(0, divide).max(1)
    }

    /// The same demands for as many times fewer values.
    #[must_use]
    pub fn divide_counts(&self, divisor: u64) -> DemandList {
        let mut demands = self.demands.clone();
        for demand in &mut demands {
            demand.count /= divisor.max(1);
        }
        DemandList { demands }
    }

    /// Whether there are sums that several ranks get, or that have contributions in common.
    #[must_use]
    pub fn has_joint_sums(&self) -> bool {
        let mut groups = BTreeSet::new();
        self.demands.iter().any(|demand| {
            let is_for_several = demand.origins.len() > 1 && demand.receivers.len() > 1;
            is_for_several || demand.summands.is_some_and(|group| !groups.insert(group))
        })
    }

    /// The known collective that these demands are, on so many ranks, if any.
    #[must_use]
    pub fn recognize(&self, ranks: u32) -> Option<RecognizedCollective> {
        let factor = self.find_common_factor();
        let own = self.divide_counts(factor);
        let first = own.demands.first()?;
        let [origin, receiver] = [&first.origins, &first.receivers].map(|ends| ends.first());
        let mut kinds = vec![
            CollectiveKind::AllGather,
            CollectiveKind::ReduceScatter,
            CollectiveKind::AllReduce,
            CollectiveKind::AllToAll,
        ];
        if let (Some(&origin), Some(&receiver)) = (origin, receiver) {
            kinds.extend([
                CollectiveKind::Broadcast(origin),
                CollectiveKind::Scatter(origin),
                CollectiveKind::Reduce(receiver),
                CollectiveKind::Gather(receiver),
            ]);
        }
        let count = own.demands.len() as u64;
        let is_same = |kind: &CollectiveKind| {
            kind.count_demands(ranks) == count && kind.list_demands(ranks) == own
        };
        let kind = kinds.into_iter().find(is_same)?;
        Some(RecognizedCollective { kind, factor })
    }
}

impl CollectiveKind {
    /// How many demands it has on so many ranks, which are more than one.
    pub(crate) fn count_demands(self, ranks: u32) -> u64 {
        let ranks = u64::from(ranks);
        match self {
            CollectiveKind::AllGather | CollectiveKind::ReduceScatter => ranks,
            CollectiveKind::AllToAll => ranks * ranks.saturating_sub(1),
            CollectiveKind::AllReduce
            | CollectiveKind::Broadcast(_)
            | CollectiveKind::Reduce(_) => 1,
            CollectiveKind::Scatter(_) | CollectiveKind::Gather(_) => ranks.saturating_sub(1),
        }
    }

    /// What it demands on so many ranks, with one value for each chunk.
    #[must_use]
    pub fn list_demands(self, ranks: u32) -> DemandList {
        let all: Vec<Vertex> = (0..ranks).map(Vertex).collect();
        let mut demands = Vec::new();
        match self {
            CollectiveKind::AllGather => {
                demands.extend(
                    all.iter().map(|rank| Demand::copy(*rank, list_others(&all, *rank), 1)),
                );
            }
            CollectiveKind::ReduceScatter => {
                demands.extend(all.iter().map(|rank| Demand::sum(all.clone(), vec![*rank], 1)));
            }
            CollectiveKind::AllToAll => {
                for &from in &all {
                    let others = list_others(&all, from).into_iter();
                    demands.extend(others.map(|to| Demand::copy(from, vec![to], 1)));
                }
            }
            CollectiveKind::AllReduce => demands.push(Demand::sum(all.clone(), all, 1)),
            CollectiveKind::Broadcast(root) => {
                demands.push(Demand::copy(root, list_others(&all, root), 1));
            }
            CollectiveKind::Reduce(root) => demands.push(Demand::sum(all, vec![root], 1)),
            CollectiveKind::Scatter(root) => {
                let others = list_others(&all, root).into_iter();
                demands.extend(others.map(|rank| Demand::copy(root, vec![rank], 1)));
            }
            CollectiveKind::Gather(root) => {
                let others = list_others(&all, root).into_iter();
                demands.extend(others.map(|rank| Demand::copy(rank, vec![root], 1)));
            }
        }
        // One rank has everything.
        if ranks < 2 {
            demands.clear();
        }
        demands.sort_unstable();
        DemandList { demands }
    }
}

fn list_others(ranks: &[Vertex], rank: Vertex) -> Vec<Vertex> {
    ranks.iter().filter(|other| **other != rank).copied().collect()
}
