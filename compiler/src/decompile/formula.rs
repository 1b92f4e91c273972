//! Expressions with given values.
//!
//! In: a number's value on each rank and in each turn of the loops around it. Out: the simplest expression
//! found that has exactly these values: a constant, an atom (`rank`, a loop's variable, `peers.position(p)`),
//! a sum of up to three atoms with integer factors, or one that wraps around the ranks
//! (`(rank + i) % ranks`). Every one is checked against all values.

mod atoms;
mod linear;

use super::tree::{Domain, Kind, Number};
use super::world::World;
pub(super) use atoms::variable;
use atoms::{Atom, Atoms};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The most values that a number may have.
const MOST_VALUES: usize = 1 << 16;

/// How many values may be compared before no more loops are tried.
const MOST_WORK: u64 = 200_000_000;

/// The loops around a number, from the outermost in: what each runs over, and how many turns it has.
pub(super) type Loops = [(Domain, usize)];

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) text: String,
    /// Whether it can be an operand without parentheses.
    pub(super) tight: bool,
    /// How hard it is to read.
    pub(super) cost: u32,
}

impl Found {
    /// The text as an operand.
    pub(super) fn operand(&self) -> String {
        if self.tight { self.text.clone() } else { format!("({})", self.text) }
    }
}

type Known = BTreeMap<Vec<(Domain, usize)>, Rc<Atoms>>;

/// Finds expressions for some ranks.
pub(super) struct Formulas<'w> {
    pub(super) world: &'w World,
    /// The ranks for which numbers have values, in ascending order.
    pub(super) ranks: Vec<i64>,
    /// The atoms for each nest of loops that occurred so far.
    atoms: RefCell<Known>,
    work: Cell<u64>,
}

/// A number, and the atoms that its expression may use.
struct Search<'a> {
    world: &'a World,
    atoms: &'a Atoms,
    values: &'a [i64],
    work: &'a Cell<u64>,
}

impl<'w> Formulas<'w> {
    /// Expressions for these ranks.
    pub(super) fn new(world: &'w World, ranks: Vec<i64>) -> Formulas<'w> {
        Formulas { world, ranks, atoms: RefCell::default(), work: Cell::new(0) }
    }

    /// Whether so much has been tried that it is time to stop.
    pub(super) fn is_tired(&self) -> bool {
        self.work.get() > MOST_WORK
    }

    /// An expression for a number inside some loops.
    pub(super) fn find(&self, number: &Number, loops: &Loops) -> Option<Found> {
        let values = number.values.as_slice();
        let first = *values.first()?;
        if values.iter().all(|value| *value == first) {
            return Some(Found { text: first.to_string(), tight: first >= 0, cost: 1 });
        }
        let turns: usize = loops.iter().map(|(_, turns)| turns).product();
        if values.len() > MOST_VALUES || values.len() != turns * self.ranks.len() {
            return None;
        }
        let atoms = Rc::clone(
            self.atoms
                .borrow_mut()
                .entry(loops.to_vec())
                .or_insert_with(|| Rc::new(Atoms::new(self.world, &self.ranks, loops))),
        );
        let search = Search { world: self.world, atoms: &atoms, values, work: &self.work };
        search.find(number.kind)
    }
}

impl Search<'_> {
    fn find(&self, kind: Kind) -> Option<Found> {
        let plain = &self.atoms.plain;
        let of_ranks = || self.wrapped().or_else(|| self.exclusive());
        let of_numbers = || self.sum_of_one(plain).or_else(|| self.sum_of_two(plain, plain));
        let simple = self.exact(plain).or_else(|| match kind {
            Kind::Rank => of_ranks().or_else(of_numbers),
            Kind::Number => of_numbers().or_else(of_ranks),
        });
        let wrapped = &self.atoms.wrapped;
        simple
            .or_else(|| self.exact(wrapped))
            .or_else(|| if kind == Kind::Rank { self.by_node() } else { None })
            .or_else(|| self.sum_of_one(wrapped))
            .or_else(|| self.sum_of_two(plain, wrapped))
            .or_else(|| self.sum_of_three(plain))
    }

    /// A single atom.
    fn exact(&self, atoms: &[Atom]) -> Option<Found> {
        let fitting = atoms.iter().filter(|atom| self.same(|at| atom.values.get(at).copied()));
        let best = fitting.min_by_key(|atom| atom.cost)?;
        Some(Found { text: best.text.clone(), tight: best.tight, cost: best.cost })
    }

    fn same(&self, value: impl Fn(usize) -> Option<i64>) -> bool {
        self.work.set(self.work.get() + 1 + self.values.len() as u64 / 8);
        self.values.iter().enumerate().all(|(at, wanted)| value(at) == Some(*wanted))
    }

    /// A sum that wraps around the ranks, plus any constant.
    fn wrapped(&self) -> Option<Found> {
        self.atoms.circles.iter().find_map(|circle| {
            let first = *self.values.first()? - *circle.sums.first()?;
            let shift = first.rem_euclid(circle.modulus);
            let value =
                |at: usize| Some((*circle.sums.get(at)? + shift).rem_euclid(circle.modulus));
            self.same(value).then(|| circle.found(shift))
        })
    }

    /// The rank with the same bits flipped everywhere.
    fn exclusive(&self) -> Option<Found> {
        let rank = self.atoms.plain.iter().find(|atom| atom.text == "rank")?;
        let bits = *self.values.first()? ^ *rank.values.first()?;
        let fits = self.same(|at| Some(rank.values.get(at)? ^ bits));
        fits.then(|| Found { text: format!("rank ^ {bits}"), tight: false, cost: 4 })
    }

    fn sum_of_one(&self, atoms: &[Atom]) -> Option<Found> {
        atoms.iter().filter(|atom| atom.is_term()).find_map(|atom| self.sum(&[atom]))
    }

    fn sum_of_two(&self, left: &[Atom], right: &[Atom]) -> Option<Found> {
        let mut pairs: Vec<[&Atom; 2]> = left
            .iter()
            .flat_map(|a| right.iter().map(move |b| [a, b]))
            .filter(|[a, b]| !std::ptr::eq(*a, *b) && a.is_term() && b.is_term())
            .collect();
        pairs.sort_by_key(|[a, b]| a.cost + b.cost);
        pairs.iter().find_map(|pair| self.sum(pair))
    }

    fn sum_of_three(&self, atoms: &[Atom]) -> Option<Found> {
        let cheap: Vec<&Atom> = atoms.iter().filter(|atom| atom.cost <= 4).collect();
        for (first, a) in cheap.iter().enumerate() {
            for (second, b) in cheap.iter().enumerate().skip(first + 1) {
                for c in cheap.iter().skip(second + 1) {
                    if let Some(found) = self.sum(&[a, b, c]) {
                        return Some(found);
                    }
                }
            }
        }
        None
    }

    fn sum(&self, atoms: &[&Atom]) -> Option<Found> {
        self.work.set(self.work.get() + 64);
        let columns: Vec<&[i64]> = atoms.iter().map(|atom| atom.values.as_slice()).collect();
        let (factors, constant) = linear::solve(&columns, self.values)?;
        let value = |at: usize| {
            let mut sum = constant;
            for (factor, column) in factors.iter().zip(&columns) {
                sum = sum.checked_add(factor.checked_mul(*column.get(at)?)?)?;
            }
            Some(sum)
        };
        self.same(value).then(|| linear::found(atoms, &factors, constant))
    }

    /// The rank at a node and a place in it.
    fn by_node(&self) -> Option<Found> {
        if !self.world.has_nodes() {
            return None;
        }
        let part = |of: &dyn Fn(i64) -> i64| {
            let values: Vec<i64> = self.values.iter().map(|value| of(*value)).collect();
            let first = *values.first()?;
            if values.iter().all(|value| *value == first) {
                return Some(Found { text: first.to_string(), tight: true, cost: 1 });
            }
            Search { values: &values, ..*self }.find(Kind::Number)
        };
        let per_node = self.world.per_node;
        let (node, local) = (part(&|rank| rank / per_node)?, part(&|rank| rank % per_node)?);
        let text = format!("rank_at({}, {})", node.text, local.text);
        Some(Found { text, tight: true, cost: 3 + node.cost + local.cost })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decompile::world::Peers;

    fn text(world: World, kind: Kind, loops: &Loops, of: impl Fn(i64, &[i64]) -> i64) -> String {
        let ranks: Vec<i64> = (0..world.ranks).collect();
        let mut values = Vec::new();
        for &rank in &ranks {
            let mut turns: Vec<Vec<i64>> = vec![Vec::new()];
            for (domain, count) in loops {
                let members: Vec<i64> = match domain {
                    Domain::Count => (0..*count as i64).collect(),
                    Domain::Peers(list) => world.list(*list, rank).members().collect(),
                };
                turns = turns
                    .iter()
                    .flat_map(|before| {
                        members.iter().map(move |member| [before.as_slice(), &[*member]].concat())
                    })
                    .collect();
            }
            values.extend(turns.iter().map(|turn| of(rank, turn)));
        }
        let formulas = Formulas::new(&world, ranks);
        formulas.find(&Number { kind, values }, loops).map_or("none".to_owned(), |found| found.text)
    }

    const FLAT: World = World { ranks: 8, per_node: 8 };
    const NODES: World = World { ranks: 8, per_node: 4 };

    #[test]
    fn of_the_rank_alone() {
        let number = |of: fn(i64) -> i64| text(FLAT, Kind::Number, &[], |rank, _| of(rank));
        assert_eq!(number(|_| 7), "7");
        assert_eq!(number(|rank| rank), "rank");
        assert_eq!(number(|rank| 3 * rank + 2), "3 * rank + 2");
        assert_eq!(number(|rank| 7 - rank), "7 - rank");
        assert_eq!(number(|rank| rank * rank), "none");
        let peer = |of: fn(i64) -> i64| text(FLAT, Kind::Rank, &[], |rank, _| of(rank));
        assert_eq!(peer(|rank| (rank + 1) % 8), "next");
        assert_eq!(peer(|rank| (rank + 7) % 8), "previous");
        assert_eq!(peer(|rank| (rank + 3) % 8), "(rank + 3) % ranks");
        assert_eq!(peer(|rank| rank ^ 5), "rank ^ 5");
        let node = |of: fn(i64) -> i64| text(NODES, Kind::Rank, &[], |rank, _| of(rank));
        assert_eq!(node(|rank| (rank + 4) % 8), "rail_peers[0]");
        assert_eq!(
            node(|rank| rank / 4 * 4 + (rank + 1) % 4),
            "rank_at(node, (local_rank + 1) % ranks_per_node)"
        );
    }

    #[test]
    fn of_loops() {
        let peers = [(Domain::Peers(Peers::All), 7)];
        let number = |of: fn(i64, &[i64]) -> i64| text(FLAT, Kind::Number, &peers, of);
        assert_eq!(number(|_, turn| turn[0]), "p");
        assert_eq!(number(|rank, turn| rank * 8 + turn[0]), "8 * rank + p");
        assert_eq!(number(|rank, turn| turn[0] - i64::from(turn[0] > rank)), "peers.position(p)");
        assert_eq!(number(|rank, turn| rank - i64::from(rank > turn[0])), "p.peers.position(rank)");
        let steps = [(Domain::Count, 7)];
        let step = |of: fn(i64, &[i64]) -> i64| text(FLAT, Kind::Number, &steps, of);
        assert_eq!(step(|rank, turn| (rank - turn[0]).rem_euclid(8)), "(rank - i) % ranks");
        assert_eq!(
            step(|rank, turn| 2 * ((rank + turn[0] + 1) % 8) + 1),
            "2 * ((rank + i + 1) % ranks) + 1"
        );
        assert_eq!(
            step(|rank, turn| if turn[0] < rank { turn[0] } else { turn[0] + 1 }),
            "peers[i]"
        );
    }
}
