//! Checks bounds of collectives: whoever trusts one has to trust this file, besides the graph and the fractions.
//! [`crate::proof`] says what the lines mean, and why what they show holds.

#![expect(clippy::indexing_slicing, reason = "by vertices, demands and times, which have numbers")]

use super::{ProofFlaw, ProvedBound, ProvedQuantity};
use crate::graph::Topology;
use crate::rational::{ArithmeticError, Rational};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::str::FromStr;

type Checked<T> = Result<T, ProofFlaw>;
/// Potentials of all vertices, at each of some times.
type Flow = Vec<Vec<i128>>;

/// So many values, or so many for each receiver if they are apart, of which each is the sum of one of each origin.
/// Several sums have their summands in common.
pub(super) struct ProofDemand {
    count: i128,
    is_apart: bool,
    sums: Vec<[Rc<[usize]>; 2]>,
}

pub(super) fn parse_demand(ranks: &Rc<[usize]>, line: &str) -> Checked<ProofDemand> {
    let (head, lists) = line.split_once(" : ").ok_or(ProofFlaw::Malformed)?;
    let (kind, count) = head.split_once(' ').ok_or(ProofFlaw::Malformed)?;
    let ends = lists.split(" : ").map(|list| parse_list(list, ranks));
    let ends = ends.collect::<Checked<Vec<Rc<[usize]>>>>()?;
    let (sums, rest) = ends.as_chunks::<2>();
    let is_apart = kind == "apart" && sums.len() == 1;
    let count = parse::<u32>(count)?.into();
    require((is_apart || kind == "demand") && count > 0 && rest.is_empty(), ProofFlaw::Malformed)?;
    Ok(ProofDemand { count, is_apart, sums: sums.to_vec() })
}

/// Checks a bound: what flows need, divided by what edges offer.
pub(super) fn check_bound(
    topology: &Topology,
    demands: &[ProofDemand],
    certificate: &[&str],
) -> Checked<ProvedBound> {
    let words: Vec<&str> = certificate[0].split(' ').collect();
    let ["bound", value, limit @ ..] = words.as_slice() else { return Err(ProofFlaw::Malformed) };
    let (quantity, layers) = match limit {
        ["steps"] => (ProvedQuantity::Steps, 1_usize),
        ["time"] => (ProvedQuantity::TimePerChunk, 1),
        ["time", "roots"] => (ProvedQuantity::TimePerChunkByRoots, 2),
        ["time", "steps", own] => (ProvedQuantity::TimePerChunkInSteps(parse(own)?), parse(own)?),
        ["time", "hops", own] => (ProvedQuantity::TimePerChunkInHops(parse(own)?), parse(own)?),
        _ => return Err(ProofFlaw::Malformed),
    };
    let is_steps = quantity == ProvedQuantity::Steps;
    let edges = topology.edges().len();
    let all: Rc<[usize]> = (0..demands.len()).collect();
    let mut needed: i128 = 0;
    let mut uses: Vec<i128> = Vec::new();
    let mut next = 0;
    for line in &certificate[1..] {
        let (head, numbers) = line.split_once(" : ").ok_or(ProofFlaw::Malformed)?;
        let list = parse_list(head.strip_prefix("flow ").unwrap_or_default(), &all)?;
        require(next <= list[0], ProofFlaw::Malformed)?;
        next = list[list.len() - 1] + 1;
        let flows = parse_flows(topology, numbers, layers.saturating_add(limit.len() / 3))?;
        // One flow is of each value, and several ones are of all values of a demand together.
        let is_alone = is_steps || flows.len() == 1;
        let mut shares = if is_alone { 1 } else { i128::from(u32::MAX) };
        for demand in list.iter().map(|index| &demands[*index]) {
            require(demand.suits(limit), ProofFlaw::WrongVertex)?;
            shares = demand.count.min(shares);
            for flow in &flows {
                let rise = demand.measure_rise(flow, is_alone && !is_steps);
                let sum = needed.checked_add(rise).ok_or(ArithmeticError::Overflow)?;
                needed = if is_steps { needed.max(rise) } else { sum };
            }
        }
        let sums = add_uses(topology, limit, &flows)?;
        uses.resize(if limit.contains(&"steps") { sums.len() } else { edges }, 0);
        for sums in sums.chunks(uses.len().max(1)) {
            let more = uses.iter_mut().zip(sums).filter(|(used, sum)| **sum > **used * shares);
            more.for_each(|(used, sum)| *used = (sum + shares - 1) / shares);
        }
    }
    let offers = uses.chunks(edges.max(1)).map(|uses| {
        let edges = topology.weighted_edges().zip(uses);
        let offers = edges.map(|((_, weight), used)| used.saturating_mul(weight.into()));
        offers.fold(0, i128::saturating_add)
    });
    let offered = offers.max().unwrap_or(0);
    require(offered < i128::MAX, ArithmeticError::Overflow.into())?;
    let unit = if is_steps { Rational::ONE } else { topology.quantum() };
    let shown = Rational::new(needed, offered + i128::from(is_steps))?.checked_div(unit)?;
    require(shown == parse(value)?, ProofFlaw::OtherValue(shown))?;
    Ok(ProvedBound { quantity, value: shown })
}

/// How much flows use each edge in each layer together.
fn add_uses(topology: &Topology, limit: &[&str], flows: &[Flow]) -> Checked<Vec<i128>> {
    let is_rooted = limit.contains(&"roots");
    let mut sums: Vec<i128> = Vec::new();
    let mut waits = vec![0; topology.ranks().len()];
    for flow in flows {
        // Each flow can wait, and all to a root together have as much of it as those from it.
        let least = if is_rooted { i128::MIN } else { 0 };
        for (rank, wait) in waits.iter_mut().enumerate() {
            let rises = flow.windows(2).map(|times| times[1][rank] - times[0][rank]);
            *wait += rises.map(|rise| rise.max(least)).sum::<i128>();
        }
        let least = if is_rooted && is_balance(topology, flow) { i128::MIN } else { 0 };
        // Those of steps and hops lead from one time to the next.
        let layers = flow.iter().zip(&flow[limit.len() / 3..]);
        let edges = layers.flat_map(|layer| topology.edges().iter().map(move |edge| (layer, edge)));
        let rises = edges.map(|((before, after), edge)| {
            let tails = if topology.is_rank(edge.from) { before } else { after };
            let length = i128::from(limit == ["steps"] && topology.is_rank(edge.to));
            (after[edge.to.0 as usize] - tails[edge.from.0 as usize] - length).max(least)
        });
        let rises: Vec<i128> = rises.collect();
        sums.resize(rises.len(), 0);
        sums.iter_mut().zip(rises).for_each(|(sum, rise)| *sum += rise);
    }
    require(waits.iter().all(|wait| *wait <= 0), ProofFlaw::WrongValue)?;
    Ok(sums)
}

/// Whether only switches have potentials that pass on as much as they get: of sums, then of copies.
fn is_balance(topology: &Topology, flow: &Flow) -> bool {
    let switches = topology.switches().iter().map(|switch| [switch.reduce, switch.multicast]);
    let mut able = topology.ranks().map(|_| [true; 2]).chain(switches).enumerate();
    able.all(|(vertex, able)| (0..2).all(|half| !able[half] || flow[half][vertex] == 0))
}

impl ProofDemand {
    /// Whether each value has one root, or what is sent of it one number of hops.
    fn suits(&self, limit: &[&str]) -> bool {
        let is_tree = self.is_apart || self.sums[0].iter().any(|ends| ends.len() == 1);
        match limit {
            ["time", "roots"] => self.sums.len() == 1,
            ["time", "hops", hops] => *hops == "1" || (self.sums.len() == 1 && is_tree),
            _ => true,
        }
    }

    /// How far a flow must rise, or those of all values of which it is the only one.
    fn measure_rise(&self, flow: &Flow, is_alone: bool) -> i128 {
        let size = if is_alone && self.is_apart { 1 } else { usize::MAX };
        let sums = self.sums.iter();
        let rises =
            sums.map(|[from, to]| to.chunks(size).map(|to| find_rise(from, to, flow)).sum());
        // And by one for each further sum of which a part rises above 0 that is no sum of others, modulo 2.
        let mut parts: Vec<BTreeSet<usize>> = Vec::new();
        let is_above = |to: &[usize]| is_alone && find_rise(&[], to, flow) > 0;
        for [from, _] in self.sums.iter().filter(|[_, to]| is_above(to)) {
            let part = from.iter().copied().filter(|rank| flow[0][*rank] <= 0).collect();
            let part = parts.iter().fold(part, |part: BTreeSet<usize>, other| {
                let is_in = other.first().is_some_and(|first| part.contains(first));
                if is_in { &part ^ other } else { part }
            });
            parts.extend(Some(part).filter(|part| !part.is_empty()));
        }
        let rise: i128 = rises.max().unwrap_or(0) + parts.len().saturating_sub(1) as i128;
        if is_alone { self.count * rise } else { rise }
    }
}

/// How far potentials rise from the lowest origin at first to the highest receiver at last.
fn find_rise(origins: &[usize], receivers: &[usize], flow: &Flow) -> i128 {
    let lowest = origins.iter().map(|rank| flow[0][*rank]).min();
    let highest = receivers.iter().map(|rank| flow[flow.len() - 1][*rank]).max();
    highest.unwrap_or(0) - lowest.unwrap_or(0)
}

/// For each flow the potentials of all vertices, at so many times.
fn parse_flows(topology: &Topology, numbers: &str, times: usize) -> Checked<Vec<Flow>> {
    let numbers = numbers.split(' ').map(|number| parse::<i64>(number).map(i128::from));
    let numbers = numbers.collect::<Checked<Vec<i128>>>()?;
    let vertices = topology.count_vertices();
    let flows = numbers.chunks_exact(vertices.saturating_mul(times));
    require(flows.remainder().is_empty(), ProofFlaw::Malformed)?;
    Ok(flows.map(|flow| flow.chunks(vertices).map(<[i128]>::to_vec).collect()).collect())
}

/// Some of all numbers, in ascending order.
fn parse_list(text: &str, all: &Rc<[usize]>) -> Checked<Rc<[usize]>> {
    let list = match text {
        "all" => all.clone(),
        _ => text.split(' ').map(parse).collect::<Checked<Rc<[usize]>>>()?,
    };
    require(list.is_sorted_by(|one, next| one < next), ProofFlaw::Malformed)?;
    require(list.last().is_some_and(|last| *last < all.len()), ProofFlaw::WrongVertex)?;
    Ok(list)
}

fn parse<T: FromStr>(word: &str) -> Checked<T> {
    word.parse().map_err(|_| ProofFlaw::Malformed)
}

fn require(is_shown: bool, flaw: ProofFlaw) -> Checked<()> {
    if is_shown { Ok(()) } else { Err(flaw) }
}
