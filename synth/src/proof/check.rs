//! Checks certificates of bounds, whose format is that of [`crate::proof`]. It shares nothing with the search for
//! bounds: whoever trusts a claim has to trust this file, the graph and the fractions only.

use super::{MAX_PATH_WORK, ProofFlaw, ProvedClaim, ProvedQuantity};
use crate::graph::{DirectedEdge, Topology, Vertex};
use crate::rational::Rational;
use std::collections::BTreeMap;
use std::str::FromStr;

type Checked<T> = Result<T, ProofFlaw>;

/// Checks a certificate, which is about a topology or about its reverse. Returns what it proves, or what is wrong.
pub(super) fn check_certificate(topologies: [&Topology; 2], line: &str) -> Checked<ProvedClaim> {
    let (head, numbers) = line.split_once(" :").ok_or(ProofFlaw::Malformed)?;
    let words: Vec<&str> = head.split(' ').collect();
    let [kind, text, arguments @ .., value] = words.as_slice() else {
        return Err(ProofFlaw::Malformed);
    };
    let value: Rational = parse(value)?;
    let [forward, reversed] = topologies;
    let name = text.split('(').next().unwrap_or_default();
    let root = text.split_once('(').and_then(|(_, root)| root.strip_suffix(')'));
    let root = root.map(|root| parse_rank(forward, root)).transpose()?;
    // What adds up or gathers is what copies or scatters, backwards.
    let (name, topology) = match (name, root) {
        ("allgather" | "alltoall" | "allreduce", None) => (name, forward),
        ("broadcast" | "scatter", Some(_)) => (name, forward),
        ("reduce_scatter", None) => ("allgather", reversed),
        ("reduce", Some(_)) => ("broadcast", reversed),
        ("gather", Some(_)) => ("scatter", reversed),
        _ => return Err(ProofFlaw::Malformed),
    };
    let evidence = Evidence { topology, name, root, value, numbers };
    let quantity = match (*kind, arguments) {
        ("cut", [outside]) => evidence.check_cut(parse_rank(topology, outside)?),
        ("steps", [from, to]) => {
            evidence.check_steps(parse_rank(topology, from)?, parse_rank(topology, to)?)
        }
        ("lp", []) if name == "alltoall" => evidence.check_lengths(),
        ("layered", [steps]) if name == "allgather" => evidence.check_layers(parse(steps)?),
        _ => Err(ProofFlaw::Malformed),
    }?;
    Ok(ProvedClaim { collective: (*text).to_owned(), quantity, value })
}

fn parse<T: FromStr>(word: &str) -> Checked<T> {
    word.parse().map_err(|_| ProofFlaw::Malformed)
}

fn parse_rank(topology: &Topology, word: &str) -> Checked<Vertex> {
    let rank = Vertex(parse(word)?);
    if topology.is_rank(rank) { Ok(rank) } else { Err(ProofFlaw::WrongVertex) }
}

fn require(is_shown: bool, flaw: ProofFlaw) -> Checked<()> {
    if is_shown { Ok(()) } else { Err(flaw) }
}

struct Evidence<'a> {
    topology: &'a Topology,
    name: &'a str,
    root: Option<Vertex>,
    value: Rational,
    numbers: &'a str,
}

impl Evidence<'_> {
    fn parse_numbers<T: FromStr>(&self) -> Checked<Vec<T>> {
        self.numbers.split(' ').skip(1).map(parse).collect()
    }

    /// Whether the value is the ratio of an amount to what edges offer, in multiples of the quantum of the rates.
    fn require_ratio(&self, amount: u128, offered: u128) -> Checked<ProvedQuantity> {
        let [amount, offered] = [amount, offered].map(|x| i128::try_from(x).unwrap_or(i128::MIN));
        let bound = Rational::new(amount, offered)?.checked_div(self.topology.quantum())?;
        require(bound == self.value, ProofFlaw::WrongValue)?;
        Ok(ProvedQuantity::TimePerChunk)
    }

    fn check_cut(&self, outside: Vertex) -> Checked<ProvedQuantity> {
        let mut inside = vec![false; self.topology.count_vertices()];
        for vertex in self.parse_numbers::<u32>()? {
            *inside.get_mut(vertex as usize).ok_or(ProofFlaw::WrongVertex)? = true;
        }
        let is_inside = |vertex: Vertex| inside.get(vertex.0 as usize) == Some(&true);
        let ranks_inside = self.topology.ranks().filter(|rank| is_inside(*rank)).count() as u128;
        let ranks_outside = u128::from(self.topology.count_ranks()) - ranks_inside;
        let is_between = ranks_inside > 0 && !is_inside(outside);
        require(is_between && self.root.is_none_or(is_inside), ProofFlaw::WrongVertex)?;
        let edges = self.topology.weighted_edges();
        let leaving = edges.filter(|(edge, _)| is_inside(edge.from) && !is_inside(edge.to));
        let offered = leaving.map(|(_, weight)| u128::from(weight)).sum();
        let amount = match self.name {
            "allgather" => ranks_inside,
            "alltoall" => ranks_inside * ranks_outside,
            "scatter" => ranks_outside,
            // A broadcast, or an AllReduce: the buffer.
            _ => 1,
        };
        self.require_ratio(amount, offered)
    }

    fn check_steps(&self, from: Vertex, to: Vertex) -> Checked<ProvedQuantity> {
        require(self.root.is_none_or(|root| root == from) && from != to, ProofFlaw::WrongVertex)?;
        let distances: Vec<u32> = self.parse_numbers()?;
        require(distances.len() == self.topology.count_vertices(), ProofFlaw::Malformed)?;
        let distance = |vertex: Vertex| u64::from(*distances.get(vertex.0 as usize).unwrap_or(&0));
        let is_short = |edge: &DirectedEdge| {
            distance(edge.to) <= distance(edge.from) + u64::from(self.topology.is_rank(edge.to))
        };
        let is_shown = distance(from) == 0 && self.topology.edges().iter().all(is_short);
        let distance = Rational::from_integer(distance(to));
        require(is_shown && distance == self.value, ProofFlaw::WrongValue)?;
        Ok(ProvedQuantity::Steps)
    }

    fn check_lengths(&self) -> Checked<ProvedQuantity> {
        let lengths: Vec<u64> = self.parse_numbers()?;
        require(lengths.len() == self.topology.edges().len(), ProofFlaw::Malformed)?;
        let mut needed = 0_u128;
        for from in self.topology.ranks() {
            let length = |_: u64, edge: usize| lengths.get(edge).copied().unwrap_or(0);
            let distances = self.measure_paths(from, None, length);
            let to_ranks = distances.iter().take(self.topology.count_ranks() as usize);
            needed = to_ranks.fold(needed, |sum, distance| sum.saturating_add(*distance));
        }
        let edges = self.topology.weighted_edges().zip(&lengths);
        let offers = edges.map(|((_, weight), length)| u128::from(weight) * u128::from(*length));
        self.require_ratio(needed, offers.sum())
    }

    fn check_layers(&self, steps: u64) -> Checked<ProvedQuantity> {
        // For each pair of ranks the lengths, and for each origin their sums, times what the edges carry.
        let mut pairs: BTreeMap<[u32; 2], BTreeMap<[u64; 2], u64>> = BTreeMap::new();
        let mut sums: BTreeMap<[u64; 3], u128> = BTreeMap::new();
        let weights: Vec<u64> = self.topology.weighted_edges().map(|(_, weight)| weight).collect();
        let numbers: Vec<&str> = self.numbers.split(' ').skip(1).collect();
        for place in numbers.chunks(5) {
            let &[from, to, step, edge, length] = place else { return Err(ProofFlaw::Malformed) };
            let ends = [parse_rank(self.topology, from)?.0, parse_rank(self.topology, to)?.0];
            let [step, edge, length] = [parse(step)?, parse(edge)?, parse(length)?];
            let weight = *weights.get(edge as usize).ok_or(ProofFlaw::WrongVertex)?;
            let old = pairs.entry(ends).or_default().insert([step, edge], length);
            require(old.is_none() && (1..=steps).contains(&step), ProofFlaw::Malformed)?;
            let sum = sums.entry([step, edge, u64::from(ends[0])]).or_default();
            *sum = sum.saturating_add(u128::from(weight) * u128::from(length));
        }
        let work = (pairs.len().max(1) as u64 * weights.len() as u64).saturating_mul(steps);
        require(work <= MAX_PATH_WORK, ProofFlaw::TooLong)?;
        let mut needed = 0_u128;
        for ([from, to], lengths) in pairs {
            let length =
                |step, edge: usize| lengths.get(&[step, edge as u64]).copied().unwrap_or(0);
            let distances = self.measure_paths(Vertex(from), Some(steps), length);
            needed = needed.saturating_add(*distances.get(to as usize).unwrap_or(&0));
        }
        // What goes to several ranks shares an edge: the origin counts that needs most. So does the step.
        let mut most: BTreeMap<[u64; 2], u128> = BTreeMap::new();
        for ([step, edge, _], sum) in sums {
            most.entry([step, edge]).and_modify(|most| *most = sum.max(*most)).or_insert(sum);
        }
        let of_step = |step| most.range([step, 0]..[step + 1, 0]).map(|(_, most)| *most);
        let offers = (1..=steps).map(|step| of_step(step).fold(0, u128::saturating_add));
        self.require_ratio(needed, offers.max().unwrap_or(0))?;
        Ok(ProvedQuantity::TimePerChunkInSteps(steps))
    }

    /// The length of the shortest path to each vertex in so many steps, or in any number. In a step, paths lead from
    /// ranks to ranks, through switches. Goes over the edges until nothing changes (Bellman, Ford).
    fn measure_paths<L>(&self, from: Vertex, steps: Option<u64>, length: L) -> Vec<u128>
    where
        L: Fn(u64, usize) -> u64,
    {
        let switch = Vertex(self.topology.count_ranks());
        let own = |vertex| if vertex == from.0 { 0 } else { u128::MAX };
        let mut distances: Vec<u128> =
            (0..self.topology.count_vertices() as u32).map(own).collect();
        for step in 1..=steps.unwrap_or(u64::MAX) {
            let before = distances.clone();
            distances.iter_mut().skip(switch.0 as usize).for_each(|own| *own = u128::MAX);
            let mut has_changed = true;
            while has_changed {
                has_changed = false;
                for (index, edge) in self.topology.edges().iter().enumerate() {
                    let tails = if edge.from < switch { &before } else { &distances };
                    let tail = *tails.get(edge.from.0 as usize).unwrap_or(&u128::MAX);
                    let through = tail.saturating_add(length(step, index).into());
                    if let Some(head) = distances.get_mut(edge.to.0 as usize) {
                        has_changed |= through < *head;
                        *head = through.min(*head);
                    }
                }
            }
            if steps.is_none() && distances == before {
                break;
            }
        }
        distances
    }
}
