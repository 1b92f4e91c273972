//! Checks certificates of bounds, whose format is that of [`crate::proof`]. It shares nothing with the search for
//! bounds: whoever trusts a claim has to trust this file, the graph and the fractions only.

use super::{ProofFlaw, ProvedClaim, ProvedQuantity};
use crate::graph::{DirectedEdge, Topology};
use crate::rational::{ArithmeticError, Rational};
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
    let ranks = topology.ranks().len();
    let evidence = Evidence { topology, ranks, name, root, value, numbers };
    let quantity = match (*kind, arguments, name) {
        ("cut", [outside], _) => evidence.check_cut(parse_rank(topology, outside)?),
        ("steps", [from, to], _) => {
            evidence.check_steps([parse_rank(topology, from)?, parse_rank(topology, to)?])
        }
        ("lp", [], "alltoall") => evidence.check_alltoall(),
        ("lp", [], "allreduce") => evidence.check_allreduce(),
        ("layered", [steps], "allgather") => evidence.check_layers(parse(steps)?),
        _ => Err(ProofFlaw::Malformed),
    }?;
    Ok(ProvedClaim { collective: (*text).to_owned(), quantity, value })
}

fn parse<T: FromStr>(word: &str) -> Checked<T> {
    word.parse().map_err(|_| ProofFlaw::Malformed)
}

fn parse_rank(topology: &Topology, word: &str) -> Checked<usize> {
    let rank = parse(word)?;
    require(rank < topology.ranks().len(), ProofFlaw::WrongVertex)?;
    Ok(rank)
}

fn require(is_shown: bool, flaw: ProofFlaw) -> Checked<()> {
    if is_shown { Ok(()) } else { Err(flaw) }
}

struct Evidence<'a> {
    topology: &'a Topology,
    ranks: usize,
    name: &'a str,
    root: Option<usize>,
    value: Rational,
    numbers: &'a str,
}

#[expect(clippy::indexing_slicing, reason = "by vertices and edges, of which each has a number")]
impl Evidence<'_> {
    fn parse_numbers<T: FromStr>(&self) -> Checked<Vec<T>> {
        self.numbers.split(' ').skip(1).map(parse).collect()
    }

    /// So many potentials of all vertices.
    fn parse_potentials(&self, count: usize) -> Checked<Vec<Vec<i128>>> {
        let numbers = self.parse_numbers()?.into_iter().map(i64::into).collect::<Vec<i128>>();
        let vertices = self.topology.count_vertices();
        require(numbers.len() == count.saturating_mul(vertices), ProofFlaw::Malformed)?;
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

    fn check_cut(&self, outside: usize) -> Checked<ProvedQuantity> {
        // Potentials that rise where edges leave the side.
        let mut sides = vec![1; self.topology.count_vertices()];
        for vertex in self.parse_numbers::<usize>()? {
            *sides.get_mut(vertex).ok_or(ProofFlaw::WrongVertex)? = 0;
        }
        let ranks_outside: i128 = sides[..self.ranks].iter().sum();
        let ranks_inside = self.ranks as i128 - ranks_outside;
        let has_root = self.root.map_or(ranks_inside > 0, |root| sides[root] == 0);
        require(has_root && sides[outside] == 1, ProofFlaw::WrongVertex)?;
        let amount = match self.name {
            "allgather" => ranks_inside,
            "alltoall" => ranks_inside * ranks_outside,
            "scatter" => ranks_outside,
            _ => 1, // A broadcast, or an AllReduce: the buffer.
        };
        self.require_ratio(amount, &self.measure_rises([&sides; 2], 0))
    }

    fn check_steps(&self, [from, to]: [usize; 2]) -> Checked<ProvedQuantity> {
        require(self.root.is_none_or(|root| root == from) && from != to, ProofFlaw::WrongVertex)?;
        let distances = self.parse_potentials(1)?.concat();
        let rises = self.measure_rises([&distances; 2], 0);
        let mut edges = self.topology.edges().iter().zip(rises);
        let is_short = edges.all(|(edge, rise)| rise <= self.topology.is_rank(edge.to).into());
        let steps = Rational::new(distances[to] - distances[from], 1)?;
        require(is_short && steps == self.value, ProofFlaw::WrongValue)?;
        Ok(ProvedQuantity::Steps)
    }

    fn check_alltoall(&self) -> Checked<ProvedQuantity> {
        let mut needed = 0;
        let mut uses = vec![0; self.topology.edges().len()];
        for (from, own) in self.parse_potentials(self.ranks)?.iter().enumerate() {
            needed += own[..self.ranks].iter().map(|to| to - own[from]).sum::<i128>();
            combine(&mut uses, self.measure_rises([own; 2], 0), i128::max);
        }
        self.require_ratio(needed, &uses)
    }

    fn check_allreduce(&self) -> Checked<ProvedQuantity> {
        let potentials = self.parse_potentials(2 + 2 * self.ranks)?;
        let mut needed = vec![0; self.ranks];
        let mut uses = vec![0; self.topology.edges().len()];
        for (half, of_ranks) in potentials[2..].chunks(self.ranks).enumerate() {
            // As much enters a switch as leaves it, if it has no ability; other vertices have no potential.
            let own = &potentials[half];
            let switches = self.topology.switches().iter().zip(&own[self.ranks..]);
            let able = switches.filter(|(switch, _)| [switch.multicast, switch.reduce][half]);
            let mut others = able.map(|(_, own)| own).chain(&own[..self.ranks]);
            require(others.all(|own| *own == 0), ProofFlaw::WrongVertex)?;
            let mut sums = self.measure_rises([own; 2], i128::MIN);
            for (rank, own) in of_ranks.iter().enumerate() {
                let paths = own.iter().map(|root| [own[rank] - root, root - own[rank]][half]);
                combine(&mut needed, paths, i128::saturating_add);
                combine(&mut sums, self.measure_rises([own; 2], 0), i128::saturating_add);
            }
            combine(&mut uses, sums, i128::max);
        }
        self.require_ratio(needed.into_iter().min().unwrap_or(0), &uses)
    }

    fn check_layers(&self, steps: usize) -> Checked<ProvedQuantity> {
        let times = steps.saturating_add(1);
        let potentials = self.parse_potentials(times.saturating_mul(self.ranks * self.ranks))?;
        let mut needed = 0;
        let mut uses = vec![0; steps * self.topology.edges().len()];
        for (from, of_origin) in potentials.chunks(times * self.ranks).enumerate() {
            // What goes to several ranks shares an edge: the origin counts that needs most.
            let mut sums = vec![0; uses.len()];
            for (to, own) in of_origin.chunks(times).enumerate() {
                needed += own[steps][to] - own[0][from];
                let mut ranks =
                    own.windows(2).flat_map(|own| own[0].iter().zip(&own[1]).take(self.ranks));
                require(ranks.all(|(before, after)| before >= after), ProofFlaw::WrongValue)?;
                let rises =
                    own.windows(2).flat_map(|own| self.measure_rises([&own[0], &own[1]], 0));
                combine(&mut sums, rises, i128::saturating_add);
            }
            combine(&mut uses, sums, i128::max);
        }
        self.require_ratio(needed, &uses)?;
        Ok(ProvedQuantity::TimePerChunkInSteps(steps as u64))
    }
}

/// Takes further numbers into sums or maxima.
fn combine(own: &mut [i128], new: impl IntoIterator<Item = i128>, by: fn(i128, i128) -> i128) {
    own.iter_mut().zip(new).for_each(|(own, new)| *own = by(*own, new));
}
