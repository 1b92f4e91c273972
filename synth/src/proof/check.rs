//! Checks certificates of bounds, whose format is that of [`crate::proof`]. It shares nothing with the search for
//! bounds: whoever trusts a claim has to trust this folder's `read`, `demand` and `check`, the graph and the fractions.

mod roots;

use super::demand::{Checked, ProofDemand, count_leaving, list_demands};
use super::demand::{parse, parse_rank, require};
use super::{MAX_GROUP_SUMS, ProofFlaw, ProvedClaim, ProvedQuantity};
use crate::graph::{DirectedEdge, Topology};
use crate::rational::{ArithmeticError, Rational};
use std::collections::BTreeMap;
use std::str::FromStr;

/// Checks a certificate. Returns what it proves, or what is wrong. `listed` is what `demands` means.
pub(super) fn check_certificate(
    topology: &Topology,
    listed: &[ProofDemand],
    line: &str,
) -> Checked<ProvedClaim> {
    let (head, numbers) = line.split_once(" :").ok_or(ProofFlaw::Malformed)?;
    let words: Vec<&str> = head.split(' ').collect();
    let [kind, text, arguments @ .., value] = words.as_slice() else {
        return Err(ProofFlaw::Malformed);
    };
    let value = parse(value)?;
    let demands = list_demands(topology, text, listed)?;
    let evidence = Evidence { topology, demands, ranks: topology.ranks().len(), value, numbers };
    let quantity = match (*kind, arguments) {
        ("cut", []) => evidence.check_cut(),
        ("steps", [from, to]) => {
            evidence.check_steps([parse_rank(topology, from)?, parse_rank(topology, to)?])
        }
        ("flow", []) => evidence.check_flows([0, 1], |_| ProvedQuantity::TimePerChunk),
        ("flow", ["steps", steps]) => {
            evidence.check_flows([parse(steps)?; 2], ProvedQuantity::TimePerChunkInSteps)
        }
        ("flow", ["hops", hops]) => {
            evidence.check_flows([parse(hops)?, 1], ProvedQuantity::TimePerChunkInHops)
        }
        ("roots", []) => evidence.check_roots(),
        _ => Err(ProofFlaw::Malformed),
    }?;
    Ok(ProvedClaim { collective: (*text).to_owned(), quantity, value })
}

struct Evidence<'a> {
    topology: &'a Topology,
    demands: Vec<ProofDemand>,
    ranks: usize,
    value: Rational,
    numbers: &'a str,
}

#[expect(clippy::indexing_slicing, reason = "by vertices and edges, of which each has a number")]
impl Evidence<'_> {
    fn parse_numbers<T: FromStr>(&self) -> Checked<Vec<T>> {
        self.numbers.split(' ').skip(1).map(parse).collect()
    }

    /// Potentials of all vertices, one after another.
    fn parse_potentials(&self) -> Checked<Vec<Vec<i128>>> {
        let numbers = self.parse_numbers()?.into_iter().map(i64::into).collect::<Vec<i128>>();
        let vertices = self.topology.count_vertices();
        require(numbers.len().is_multiple_of(vertices), ProofFlaw::Malformed)?;
        Ok(numbers.chunks(vertices).map(<[i128]>::to_vec).collect())
    }

    /// By how much potentials rise along each edge, at least so much. At ranks that edges leave those before hold.
    fn measure_rises(&self, [before, after]: [&[i128]; 2], least: i128) -> Vec<i128> {
        let rise = |edge: &DirectedEdge| {
            let tails = if self.topology.is_rank(edge.from) { before } else { after };
            (after[edge.to.0 as usize] - tails[edge.from.0 as usize]).max(least)
        };
        self.topology.edges().iter().map(rise).collect()
    }

    /// Whether the value is an amount, divided by the sum of how much edges are used times their rates, in multiples of
    /// the quantum of the rates. Of several steps, each with a use of every edge, the one with the most counts.
    fn require_ratio(&self, amount: i128, uses: &[i128]) -> Checked<ProvedQuantity> {
        let weigh = |uses: &[i128]| {
            let weights = self.topology.weighted_edges().map(|(_, weight)| i128::from(weight));
            let offers = uses.iter().zip(weights).map(|(used, weight)| used.saturating_mul(weight));
            offers.fold(0, i128::saturating_add)
        };
        let offered = uses.chunks(self.topology.edges().len().max(1)).map(weigh).max().unwrap_or(0);
        require(offered < i128::MAX, ProofFlaw::Arithmetic(ArithmeticError::Overflow))?;
        let bound = Rational::new(amount, offered)?.checked_div(self.topology.quantum())?;
        require(bound == self.value, ProofFlaw::WrongValue)?;
        Ok(ProvedQuantity::TimePerChunk)
    }

    fn check_cut(&self) -> Checked<ProvedQuantity> {
        // Potentials that rise where edges leave the side.
        let mut sides = vec![1; self.topology.count_vertices()];
        for vertex in self.parse_numbers::<usize>()? {
            *sides.get_mut(vertex).ok_or(ProofFlaw::WrongVertex)? = 0;
        }
        let amount = count_leaving(&self.demands, &sides[..self.ranks]);
        require(amount > 0, ProofFlaw::WrongVertex)?;
        self.require_ratio(amount, &self.measure_rises([&sides; 2], 0))
    }

    fn check_steps(&self, [from, to]: [usize; 2]) -> Checked<ProvedQuantity> {
        let is_demanded = |demand: &ProofDemand| {
            let [has_origin, has_receiver] = [(&demand.origins, from), (&demand.receivers, to)]
                .map(|(ranks, rank)| ranks.binary_search(&rank).is_ok());
            has_origin && has_receiver && from != to
        };
        require(self.demands.iter().any(is_demanded), ProofFlaw::WrongVertex)?;
        let distances = self.parse_potentials()?.concat();
        require(distances.len() == self.topology.count_vertices(), ProofFlaw::Malformed)?;
        let rises = self.measure_rises([&distances; 2], 0);
        let mut edges = self.topology.edges().iter().zip(rises);
        let is_short = edges.all(|(edge, rise)| rise <= self.topology.is_rank(edge.to).into());
        let steps = Rational::new(distances[to] - distances[from], 1)?;
        require(is_short && steps == self.value, ProofFlaw::WrongValue)?;
        Ok(ProvedQuantity::Steps)
    }

    fn check_flows(
        &self,
        [layers, times]: [usize; 2],
        claim: fn(u64) -> ProvedQuantity,
    ) -> Checked<ProvedQuantity> {
        let potentials = self.parse_potentials()?;
        let ends = layers.saturating_add(1);
        require(ends <= potentials.len(), ProofFlaw::Malformed)?;
        let mut flows = potentials.chunks_exact(ends);
        let edges = self.topology.edges().len();
        let mut needed: i128 = 0;
        let mut uses = vec![0; times * edges];
        let mut sums_of_groups = BTreeMap::new();
        for demand in &self.demands {
            require(layers < 2 || times > 1 || !demand.is_joint(), ProofFlaw::WrongVertex)?;
            let [count, shares] = demand.weigh_flow();
            if demand.list_flows().next().is_none() {
                continue;
            }
            let mut sums = vec![0; (ends - 1).max(1) * edges];
            for [from, to] in demand.list_flows() {
                let own = flows.next().ok_or(ProofFlaw::Malformed)?;
                let end = &own[ends - 1];
                needed += to.iter().map(|to| count * (end[*to] - own[0][from[0]])).sum::<i128>();
                // Without layers paths lead on within the only one.
                let steps = own.iter().zip(&own[ends.min(2) - 1..]);
                let waits = steps.clone().map(|(before, after)| before.iter().zip(after));
                let mut waits =
                    waits.flat_map(|waits| waits.take(if layers > 0 { self.ranks } else { 0 }));
                require(waits.all(|(before, after)| before >= after), ProofFlaw::WrongValue)?;
                let rises =
                    steps.flat_map(|(before, after)| self.measure_rises([before, after], 0));
                combine(&mut sums, rises, i128::saturating_add);
            }
            // What serves several receivers, or sums with common summands, shares an edge.
            if let Some(group) = demand.group {
                let is_full = sums_of_groups.len() * sums.len() > MAX_GROUP_SUMS;
                require(!is_full, ProofFlaw::TooLong)?;
                let (of_group, all) =
                    sums_of_groups.entry(group).or_insert_with(|| (shares, vec![0; sums.len()]));
                require(*of_group == shares, ProofFlaw::Malformed)?;
                combine(all, sums, i128::saturating_add);
            } else {
                combine_shares(&mut uses, &sums, shares);
            }
        }
        sums_of_groups.values().for_each(|(shares, sums)| combine_shares(&mut uses, sums, *shares));
        require(flows.next().is_none() && flows.remainder().is_empty(), ProofFlaw::Malformed)?;
        self.require_ratio(needed, &uses)?;
        Ok(claim(layers as u64))
    }
}

/// Takes further numbers into sums or maxima.
fn combine(own: &mut [i128], new: impl IntoIterator<Item = i128>, by: fn(i128, i128) -> i128) {
    own.iter_mut().zip(new).for_each(|(own, new)| *own = by(*own, new));
}

/// Takes the uses of a group of flows in, divided among so many values, of all layers that the uses do not tell apart.
fn combine_shares(uses: &mut [i128], sums: &[i128], shares: i128) {
    for sums in sums.chunks(uses.len().max(1)) {
        let divide =
            |own| if shares == 1 { own } else { i128::saturating_add(own, shares - 1) / shares };
        combine(uses, sums.iter().copied().map(divide), i128::max);
    }
}
