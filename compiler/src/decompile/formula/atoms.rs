//! The atoms of expressions, with their values on each rank and in each turn.

use super::{Found, Loops};
use crate::decompile::tree::Domain;
use crate::decompile::world::{Peers, World};

/// A name or a call.
#[derive(Clone, Debug)]
pub(super) struct Atom {
    pub(super) text: String,
    /// Whether it can be an operand without parentheses.
    pub(super) tight: bool,
    /// How hard it is to read.
    pub(super) cost: u32,
    pub(super) values: Vec<i64>,
}

impl Atom {
    fn new(text: String, cost: u32, values: Vec<i64>) -> Atom {
        let tight = !text.contains(' ');
        Atom { text, tight, cost, values }
    }

    /// Whether an author would add something to it.
    pub(super) fn is_term(&self) -> bool {
        self.cost < 7
    }
}

/// A sum that wraps around, to which any constant can be added.
#[derive(Clone, Debug)]
pub(super) struct Circle {
    sum: String,
    pub(super) sums: Vec<i64>,
    pub(super) modulus: i64,
    name: &'static str,
}

/// All atoms.
pub(super) struct Atoms {
    pub(super) plain: Vec<Atom>,
    /// Those that wrap around, with the most frequent constants.
    pub(super) wrapped: Vec<Atom>,
    pub(super) circles: Vec<Circle>,
}

/// The most members of a list that are named by their position.
const MOST_MEMBERS: usize = 8;

/// The longest loop for whose turns powers of two are tried.
const MOST_POWER: usize = 20;

/// The name of a loop's variable.
pub(in crate::decompile) fn variable(loops: &Loops, depth: usize) -> String {
    let is_count = |(domain, _): &&(Domain, usize)| *domain == Domain::Count;
    let count = loops.get(depth).is_some_and(|turn| is_count(&turn));
    let outer = loops.iter().take(depth).filter(|turn| is_count(turn) == count).count();
    let names = if count { ["i", "j", "k", "l", "m", "n"] } else { ["p", "q", "r", "s", "t", "u"] };
    names.get(outer).map_or_else(|| format!("{}{outer}", names[0]), |name| (*name).to_owned())
}

/// A rank, and a turn of each of the loops.
struct Sample {
    rank: i64,
    turns: Vec<usize>,
}

impl Atoms {
    /// The atoms for some ranks inside some loops.
    pub(super) fn new(world: &World, ranks: &[i64], loops: &Loops) -> Atoms {
        let builder = Builder { world, ranks, loops, samples: samples(ranks, loops) };
        let plain = builder.plain();
        let circles = builder.circles();
        let wrapped =
            circles.iter().flat_map(|circle| [0, 1, -1].map(|shift| circle.atom(shift))).collect();
        Atoms { plain, wrapped, circles }
    }
}

fn samples(ranks: &[i64], loops: &Loops) -> Vec<Sample> {
    let mut turns: Vec<Vec<usize>> = vec![Vec::new()];
    for (_, count) in loops {
        turns = turns
            .iter()
            .flat_map(|before| (0..*count).map(move |turn| [before.as_slice(), &[turn]].concat()))
            .collect();
    }
    let of = |rank: &i64| {
        let rank = *rank;
        turns.iter().map(move |turns| Sample { rank, turns: turns.clone() }).collect::<Vec<_>>()
    };
    ranks.iter().flat_map(of).collect()
}

struct Builder<'a> {
    world: &'a World,
    ranks: &'a [i64],
    loops: &'a Loops,
    samples: Vec<Sample>,
}

impl Builder<'_> {
    fn values(&self, of: impl Fn(&Sample) -> i64) -> Vec<i64> {
        self.samples.iter().map(of).collect()
    }

    /// The value of a loop's variable.
    fn turn(&self, sample: &Sample, depth: usize) -> i64 {
        let turn = sample.turns.get(depth).copied().unwrap_or(0);
        match self.loops.get(depth) {
            Some((Domain::Peers(list), _)) => {
                self.world.list(*list, sample.rank).get(turn).unwrap_or(0)
            }
            Some((Domain::Count, _)) | None => turn as i64,
        }
    }

    fn plain(&self) -> Vec<Atom> {
        let mut atoms: Vec<Atom> = self
            .loops
            .iter()
            .enumerate()
            .flat_map(|(depth, (domain, turns))| match domain {
                Domain::Peers(list) => self.of_peers(depth, *list),
                Domain::Count => self.of_turns(depth, *turns),
            })
            .collect();
        if self.ranks.len() > 1 {
            atoms.extend(self.of_rank());
            atoms.extend(self.world.lists().iter().flat_map(|list| self.members(*list)));
        }
        atoms.sort_by_key(|atom| atom.cost);
        atoms
    }

    /// The atoms for a loop over peers.
    fn of_peers(&self, depth: usize, list: Peers) -> Vec<Atom> {
        let (name, peers) = (variable(self.loops, depth), list.name());
        let values = self.values(|sample| self.turn(sample, depth));
        let turn = |sample: &Sample| sample.turns.get(depth).map_or(0, |turn| *turn as i64);
        let mut atoms = self.places(&name, 3, &values);
        let back = self.backward(list, &values);
        atoms.push(Atom::new(format!("{peers}.position({name})"), 4, self.values(turn)));
        atoms.push(Atom::new(format!("{name}.{peers}.position(rank)"), 5, back));
        atoms.push(Atom::new(name, 1, values));
        atoms
    }

    /// The atoms for a loop over numbers.
    fn of_turns(&self, depth: usize, turns: usize) -> Vec<Atom> {
        let name = variable(self.loops, depth);
        let mut atoms = Vec::new();
        for &list in self.world.lists() {
            let fits = |rank: &i64| self.world.list(list, *rank).len() == turns;
            if self.ranks.iter().all(fits) {
                let peer = format!("{}[{name}]", list.name());
                let peers = self.values(|sample| {
                    self.member(list, sample, sample.turns.get(depth).copied().unwrap_or(0))
                });
                let back = format!("{peer}.{}.position(rank)", list.name());
                atoms.push(Atom::new(back, 7, self.backward(list, &peers)));
                atoms.extend(self.places(&peer, 5, &peers));
                atoms.push(Atom::new(peer, 3, peers));
            }
        }
        let turn = |sample: &Sample| self.turn(sample, depth);
        let mut add = |text: String, cost: u32, values: Vec<i64>| {
            atoms.push(Atom::new(text, cost, values));
        };
        if (2..=MOST_POWER).contains(&turns) {
            add(format!("1 << {name}"), 5, self.values(|s| 1_i64 << turn(s)));
        }
        if self.ranks.len() > 1 {
            if (2..=MOST_POWER).contains(&turns) {
                add(format!("rank ^ (1 << {name})"), 5, self.values(|s| s.rank ^ (1 << turn(s))));
            }
            add(format!("rank ^ {name}"), 5, self.values(|s| s.rank ^ turn(s)));
            add(format!("rank ^ ({name} + 1)"), 7, self.values(|s| s.rank ^ (turn(s) + 1)));
        }
        add(name, 1, self.values(turn));
        atoms
    }

    /// The nodes of ranks, and their places there; `name` is an expression for the rank.
    fn places(&self, name: &str, cost: u32, ranks: &[i64]) -> Vec<Atom> {
        if !self.world.has_nodes() {
            return Vec::new();
        }
        let per_node = self.world.per_node;
        let nodes = ranks.iter().map(|rank| rank / per_node).collect();
        let locals = ranks.iter().map(|rank| rank % per_node).collect();
        vec![
            Atom::new(format!("{name}.node"), cost, nodes),
            Atom::new(format!("{name}.local_rank"), cost, locals),
        ]
    }

    fn of_rank(&self) -> Vec<Atom> {
        let per_node = self.world.per_node;
        let mut atoms = vec![Atom::new("rank".to_owned(), 1, self.values(|sample| sample.rank))];
        if self.world.has_nodes() {
            let nodes = self.values(|sample| sample.rank / per_node);
            let locals = self.values(|sample| sample.rank % per_node);
            atoms.push(Atom::new("node".to_owned(), 2, nodes));
            atoms.push(Atom::new("local_rank".to_owned(), 2, locals));
        }
        let halves = (1..16).map(|bits| 1 << bits).take_while(|size| *size < self.world.ranks);
        for size in halves.filter(|size| self.world.ranks % size == 0) {
            let parts = self.values(|sample| sample.rank / size);
            atoms.push(Atom::new(format!("rank / {size}"), 4, parts));
        }
        atoms
    }

    /// Single members of a list. With two ranks there is already a name for the other one.
    fn members(&self, list: Peers) -> Vec<Atom> {
        let count = self.world.list(list, 0).len();
        let named = if self.world.ranks == 2 { 0 } else { count.min(MOST_MEMBERS) };
        let cost = if count == 1 { 2 } else { 7 };
        let member = |at: usize| {
            let values = self.values(|sample| self.member(list, sample, at));
            Atom::new(format!("{}[{at}]", list.name()), cost, values)
        };
        (0..named).map(member).collect()
    }

    fn member(&self, list: Peers, sample: &Sample, at: usize) -> i64 {
        self.world.list(list, sample.rank).get(at).unwrap_or(0)
    }

    /// The position of each sample's rank in the list of another rank.
    fn backward(&self, list: Peers, others: &[i64]) -> Vec<i64> {
        let position = |(sample, other): (&Sample, &i64)| {
            self.world.list(list, *other).position(sample.rank).unwrap_or(-1)
        };
        self.samples.iter().zip(others).map(position).collect()
    }

    fn circles(&self) -> Vec<Circle> {
        let (ranks, per_node) = (self.world.ranks, self.world.per_node);
        type Of<'o> = &'o dyn Fn(&Sample) -> i64;
        let node = |sample: &Sample| sample.rank / per_node;
        let local = |sample: &Sample| sample.rank % per_node;
        let whole: (i64, &'static str, &'static str, Of<'_>) =
            (ranks, "ranks", "rank", &|sample| sample.rank);
        let mut around = vec![whole];
        if self.world.has_nodes() {
            around.push((per_node, "ranks_per_node", "local_rank", &local));
            around.push((ranks / per_node, "nodes", "node", &node));
        }
        let mut circles = Vec::new();
        for (modulus, name, base, of) in around {
            let mut add = |sum: String, sums: Vec<i64>| {
                circles.push(Circle { sum, sums, modulus, name });
            };
            if self.ranks.len() > 1 {
                add(base.to_owned(), self.values(of));
            }
            for depth in 0..self.loops.len() {
                let variable = variable(self.loops, depth);
                let turn = |sample: &Sample| self.turn(sample, depth);
                if self.ranks.len() > 1 {
                    add(format!("{base} + {variable}"), self.values(|s| of(s) + turn(s)));
                    add(format!("{base} - {variable}"), self.values(|s| of(s) - turn(s)));
                    add(format!("{variable} - {base}"), self.values(|s| turn(s) - of(s)));
                }
                add(variable, self.values(turn));
            }
        }
        circles
    }
}

impl Circle {
    /// The expression with a constant added.
    pub(super) fn found(&self, shift: i64) -> Found {
        let shift = shift.rem_euclid(self.modulus);
        let known = match (self.sum.as_str(), shift) {
            ("rank", 1) if self.modulus == 2 => Some("peer"),
            ("rank", 1) => Some("next"),
            ("rank", shift) if shift == self.modulus - 1 => Some("previous"),
            _ => None,
        };
        if let Some(name) = known {
            return Found { text: name.to_owned(), tight: true, cost: 2 };
        }
        let constant = match shift {
            0 => String::new(),
            near if near <= self.modulus / 2 => format!(" + {near}"),
            far => format!(" - {}", self.modulus - far),
        };
        let sum = format!("{}{constant}", self.sum);
        let sum = if sum.contains(' ') { format!("({sum})") } else { sum };
        let cost = 4 + u32::from(shift != 0) + if self.sum.contains(' ') { 1 } else { 0 };
        Found { text: format!("{sum} % {}", self.name), tight: false, cost }
    }

    fn atom(&self, shift: i64) -> Atom {
        let Found { text, tight, cost } = self.found(shift);
        let value = |sum: &i64| (sum + shift).rem_euclid(self.modulus);
        Atom { text, tight, cost, values: self.sums.iter().map(value).collect() }
    }
}
