//! What collectives demand, as the checker of certificates knows it: it shares nothing with the search for bounds.

use super::ProofFlaw;
use crate::graph::Topology;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::str::FromStr;

pub(super) type Checked<T> = Result<T, ProofFlaw>;

/// Sums of values of the origins, which all receivers get; or, if they are apart, values of one origin for each receiver.
#[derive(Clone)]
pub(super) struct ProofDemand {
    pub(super) count: u32,
    /// Demands of one group have their summands in common.
    pub(super) group: Option<u32>,
    pub(super) is_apart: bool,
    pub(super) origins: Rc<[usize]>,
    pub(super) receivers: Rc<[usize]>,
}

impl ProofDemand {
    /// How much of a flow there is, and among how many values its use of edges is divided.
    pub(super) fn weigh_flow(&self) -> [i128; 2] {
        let count = i128::from(self.count);
        if self.is_apart { [count, 1] } else { [1, count] }
    }

    /// Whether what is sent can be part of long ways and of short ones.
    pub(super) fn is_joint(&self) -> bool {
        let is_for_several = self.origins.len() > 1 && self.receivers.len() > 1;
        is_for_several || self.group.is_some()
    }

    /// How many values there are, if each is summed up at one rank and sent from there.
    pub(super) fn count_roots(&self) -> Option<i128> {
        let is_one = self.group.is_none() && (!self.is_apart || self.receivers.len() == 1);
        is_one.then_some(i128::from(self.count))
    }

    /// Where flows begin and end: in one rank, and in one or, if they are apart, in all receivers.
    pub(super) fn list_flows(&self) -> impl Iterator<Item = [&[usize]; 2]> {
        let size = if self.is_apart { self.receivers.len() } else { 1 };
        let flows = move |from| self.receivers.chunks(size).map(move |to| [from, to]);
        self.origins.chunks(1).flat_map(flows).filter(|[from, to]| from != to)
    }
}

/// What a collective demands.
pub(super) fn list_demands(
    topology: &Topology,
    text: &str,
    listed: &[ProofDemand],
) -> Checked<Vec<ProofDemand>> {
    let (name, root) = text.split_once('(').unwrap_or((text, ")"));
    let root = root.strip_suffix(')').ok_or(ProofFlaw::Malformed)?;
    let all: Rc<[usize]> = (0..topology.ranks().len()).collect();
    let demand = |origins: &Rc<[usize]>, receivers: &Rc<[usize]>, is_apart| {
        let [origins, receivers] = [origins.clone(), receivers.clone()];
        ProofDemand { count: 1, group: None, is_apart, origins, receivers }
    };
    let one = |rank: usize| -> Rc<[usize]> { Rc::from([rank]) };
    let each = all.iter().map(|rank| one(*rank));
    if root.is_empty() {
        return match name {
            "demands" => Ok(listed.to_vec()),
            "allgather" => Ok(each.map(|rank| demand(&rank, &all, false)).collect()),
            "reduce_scatter" => Ok(each.map(|rank| demand(&all, &rank, false)).collect()),
            "alltoall" => Ok(each.map(|rank| demand(&rank, &all, true)).collect()),
            "allreduce" => Ok(vec![demand(&all, &all, false)]),
            _ => Err(ProofFlaw::Malformed),
        };
    }
    let root = one(parse_rank(topology, root)?);
    match name {
        "broadcast" => Ok(vec![demand(&root, &all, false)]),
        "reduce" => Ok(vec![demand(&all, &root, false)]),
        "scatter" => Ok(vec![demand(&root, &all, true)]),
        "gather" => Ok(each.map(|rank| demand(&rank, &root, true)).collect()),
        _ => Err(ProofFlaw::Malformed),
    }
}

/// How many values must leave the ranks whose side is 0.
#[expect(clippy::indexing_slicing, reason = "by ranks, each of which has a side")]
pub(super) fn count_leaving(demands: &[ProofDemand], sides: &[i128]) -> i128 {
    let all: i128 = sides.iter().sum();
    let count_outside = |ranks: &[usize]| {
        let some = ranks.iter().map(|rank| sides[*rank]);
        if ranks.len() == sides.len() { all } else { some.sum() }
    };
    let mut amount = 0;
    // Of sums with common summands the parts from inside, as far as none is a sum of others, modulo 2.
    let mut parts: BTreeMap<u32, Vec<BTreeSet<usize>>> = BTreeMap::new();
    for demand in demands {
        let outside = count_outside(&demand.receivers);
        let is_inside = count_outside(&demand.origins) < demand.origins.len() as i128;
        let count = i128::from(demand.count) * i128::from(is_inside && outside > 0);
        if let Some(group) = demand.group
            && count > 0
        {
            let inside = demand.origins.iter().filter(|rank| sides[**rank] == 0);
            let mut part: BTreeSet<usize> = inside.copied().collect();
            let others = parts.entry(group).or_default();
            for other in others.iter() {
                if other.first().is_some_and(|first| part.contains(first)) {
                    part = &part ^ other;
                }
            }
            amount += count * i128::from(!part.is_empty());
            others.push(part);
        } else {
            amount += if demand.is_apart { count * outside } else { count };
        }
    }
    amount
}

pub(super) fn parse<T: FromStr>(word: &str) -> Checked<T> {
    word.parse().map_err(|_| ProofFlaw::Malformed)
}

pub(super) fn parse_rank(topology: &Topology, word: &str) -> Checked<usize> {
    let rank = parse(word)?;
    require(rank < topology.ranks().len(), ProofFlaw::WrongVertex)?;
    Ok(rank)
}

pub(super) fn require(is_shown: bool, flaw: ProofFlaw) -> Checked<()> {
    if is_shown { Ok(()) } else { Err(flaw) }
}

/// What a line says is demanded: how many, of which group of summands, from whom, to whom.
pub(super) fn parse_demand(topology: &Topology, line: &str) -> Result<ProofDemand, ProofFlaw> {
    let parts: Vec<&str> = line.split(" : ").collect();
    let [head, origins, receivers] = parts.as_slice() else { return Err(ProofFlaw::Malformed) };
    let words: Vec<&str> = head.split(' ').collect();
    let ["demand", count, group] = words.as_slice() else { return Err(ProofFlaw::Malformed) };
    let parse_ranks = |text: &str| -> Result<Vec<usize>, ProofFlaw> {
        text.split(' ').map(|word| parse_rank(topology, word)).collect()
    };
    let [origins, receivers] = [parse_ranks(origins)?, parse_ranks(receivers)?];
    let count = parse(count)?;
    let group = if *group == "-" { None } else { Some(parse(group)?) };
    let is_sorted = [&origins, &receivers].iter().all(|ranks| ranks.is_sorted_by(|a, b| a < b));
    if !is_sorted || count == 0 {
        return Err(ProofFlaw::Malformed);
    }
    // A value of one rank for another one.
    let is_apart = origins.len() == 1 && receivers.len() == 1 && group.is_none();
    let [origins, receivers] = [origins, receivers].map(Into::into);
    Ok(ProofDemand { count, group, is_apart, origins, receivers })
}

/// How many ranks of demands a certificate looks at. Sums with common summands are compared with each other.
pub(super) fn measure_work(demands: &[ProofDemand]) -> u64 {
    let ends = demands.iter().map(|demand| (demand.origins.len() + demand.receivers.len()) as u64);
    let grouped = demands.iter().filter(|demand| demand.group.is_some()).count() as u64;
    ends.sum::<u64>() * (1 + grouped)
}
