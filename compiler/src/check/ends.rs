//! Where slices end, for every size of a chunk.
//!
//! In: a program, and how many chunks are always used together. Out: for a number of units that so many chunks have, the
//! pattern of all ends: in which chunk each lies, and in which order they come within a chunk. Two sizes with one pattern
//! differ only in how long the pieces between the ends are, so one of them decides both.
//!
//! Of u units, slice i of n begins at unit `i * (u / n) + min(i, u % n)`. For chunks of k units and one residue of k modulo
//! the [`Ends::period`], this is linear in k: b k + a, where b is a multiple of 1/n and a is at most n/4. So from some size on,
//! ends with different b are in the order of b, ends with one b in the order of a, and the pattern depends on the residue
//! alone. Smaller sizes are looked at one by one.
//!
//! How much of that matters depends on the program ([`Relation`]). Threads are told by packets of what is at the same
//! distance from the beginnings of two operations, and packets take up twice the space of their payload: where threads do not
//! meet in between, the order of all distances and of their doubles is a part of the pattern.

use crate::ir::Program;
use crate::ir::grain::gcd;
use std::collections::BTreeSet;

/// The slices of a program that may end within chunks.
pub(super) struct Ends {
    forms: Vec<Form>,
    relation: Relation,
    /// The most units of chunks that are used together that an operand has.
    most: u64,
}

/// What it matters for where slices end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// Slices of different forms never meet: only which slices are empty, since their blocks wait for no packets.
    Empty,
    /// Which cells are in which slices. No block is told anything by the packets of a slice.
    Cells,
    /// The order of all ends, since blocks are told what the packets of their slices tell.
    Order,
    /// The order of all distances, too.
    Distances,
}

/// An operand that is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Form {
    /// How many units of chunks that are used together it has.
    size: u64,
    /// Over how many blocks.
    count: u64,
}

/// In which order everything comes that depends on where slices end.
pub(super) type Pattern = Vec<u64>;

impl Ends {
    /// The ends of a program of whose chunks `together` are always used together.
    pub(super) fn of(program: &Program, together: u32, relation: Relation) -> Ends {
        let (mut forms, mut most, mut last) = (BTreeSet::new(), 2, None);
        for transfer in program.all_ops().filter_map(|op| op.transfer()) {
            for operand in transfer.operands() {
                let size = u64::from(operand.size / together.max(1));
                let count = transfer.slice.map_or(1, |slice| u64::from(slice.count.max(1)));
                most = size.max(most);
                let form = Form { size, count };
                // Usually the operands of an operation are alike.
                if count > 1 && last != Some(form) {
                    last = Some(form);
                    forms.insert(form);
                }
            }
        }
        let within = |form: &Form| !form.size.is_multiple_of(form.count);
        forms.retain(|form| relation == Relation::Distances || within(form));
        Ends { forms: forms.into_iter().collect(), relation, most }
    }

    /// The number of units after which everything repeats, shifted.
    pub(super) fn period(&self) -> u64 {
        let share = |form: &Form| form.count / gcd(form.count, form.size);
        self.forms.iter().map(share).fold(1, common)
    }

    /// The number of units from which on the pattern depends on the residue alone.
    pub(super) fn settled(&self) -> u64 {
        let counts = self.forms.iter().map(|form| form.count);
        let shift = counts.clone().map(|count| count.div_ceil(4)).max().unwrap_or(0);
        // Distances are differences, and may be doubled.
        let factor = if self.relation == Relation::Distances { 6 } else { 1 };
        counts.fold(1, common).saturating_mul(shift).saturating_mul(factor).saturating_add(1)
    }

    /// How much work a pattern is.
    pub(super) fn work(&self) -> u64 {
        let ends: u64 = self.forms.iter().map(|form| form.count).fold(1, u64::saturating_add);
        match self.relation {
            Relation::Empty | Relation::Order => ends,
            Relation::Cells => ends.saturating_mul(self.chunks().max(1)),
            Relation::Distances => ends.saturating_mul(ends).saturating_mul(self.most),
        }
    }

    /// The pattern where chunks that are used together have so many units.
    pub(super) fn pattern(&self, units: u64) -> Pattern {
        if self.relation == Relation::Empty {
            let forms = self.forms.iter();
            return forms
                .flat_map(|form| ranked(units, &form.ends(units).collect::<Vec<u64>>()).1)
                .collect();
        }
        let ends: Vec<u64> = self.forms.iter().flat_map(|form| form.ends(units)).collect();
        let (cuts, mut pattern) = ranked(units, &ends);
        if self.relation == Relation::Distances {
            let mut far: Vec<u64> = (0..=self.most)
                .flat_map(|chunk| cuts.iter().map(move |cut| chunk * units + cut))
                .collect();
            for form in &self.forms {
                let starts = form.ends(units).chain([0]);
                for start in starts {
                    let after = (0..=form.size)
                        .flat_map(|chunk| cuts.iter().map(move |cut| chunk * units + cut))
                        .map(|cut| cut.saturating_sub(start));
                    far.extend(after);
                }
            }
            far.extend(far.clone().into_iter().map(|one| 2 * one));
            let mut sorted = far.clone();
            sorted.sort_unstable();
            sorted.dedup();
            pattern.extend(far.into_iter().map(|one| rank(&sorted, one)));
        }
        pattern
    }

    /// What is between two ends: for each form and each chunk of its operands, the slice that it is in; and in which order
    /// these slices begin, since a thread of a block does what is at one distance from there.
    pub(super) fn cells(&self, units: u64) -> Vec<Vec<u64>> {
        let ends: Vec<Vec<u64>> =
            self.forms.iter().map(|form| form.ends(units).collect()).collect();
        let (cuts, _) = ranked(units, &ends.concat());
        let cell = |cut: &u64| {
            let forms = self.forms.iter().zip(&ends);
            let slices = forms.flat_map(|(form, ends)| {
                (0..form.size).map(|chunk| {
                    let first = chunk * units;
                    let slice = ends.partition_point(|end| *end <= first + cut);
                    let before = slice.checked_sub(1).and_then(|before| ends.get(before));
                    // Whole operands begin at chunks, and slices there or before or after.
                    (slice as u64, before.map_or(0, |end| *end).cast_signed() - first.cast_signed())
                })
            });
            let slices: Vec<(u64, i64)> = slices.collect();
            let begins: BTreeSet<i64> = slices.iter().map(|(_, begin)| *begin).chain([0]).collect();
            let begins: Vec<i64> = begins.into_iter().collect();
            let rank = |begin| begins.partition_point(|one| *one < begin) as u64;
            slices.into_iter().flat_map(|(slice, begin)| [slice, rank(begin)]).collect()
        };
        cuts.iter().map(cell).collect()
    }

    /// How many chunks one operand of each form has, together.
    fn chunks(&self) -> u64 {
        self.forms.iter().map(|form| form.size).fold(0, u64::saturating_add)
    }
}

/// The different places within chunks at which something ends or begins, and for each end its chunk and the rank of its place.
fn ranked(units: u64, ends: &[u64]) -> (Vec<u64>, Pattern) {
    let cuts: BTreeSet<u64> = ends.iter().map(|end| end % units).chain([0]).collect();
    let cuts: Vec<u64> = cuts.into_iter().collect();
    let pattern = ends.iter().flat_map(|end| [end / units, rank(&cuts, end % units)]).collect();
    (cuts, pattern)
}

fn rank(sorted: &[u64], value: u64) -> u64 {
    sorted.partition_point(|one| *one < value) as u64
}

impl Form {
    /// Where its slices end, the last one excepted.
    fn ends(self, units: u64) -> impl Iterator<Item = u64> {
        let all = self.size.saturating_mul(units);
        let end = move |i: u64| i * (all / self.count) + i.min(all % self.count);
        (1..self.count).map(end)
    }
}

/// The least common multiple.
fn common(one: u64, other: u64) -> u64 {
    (one / gcd(one, other).max(1)).saturating_mul(other)
}

#[cfg(test)]
mod tests {
    use super::{Ends, Form, Relation};

    fn ends(forms: &[(u64, u64)], relation: Relation) -> Ends {
        let form = |(size, count): &(u64, u64)| Form { size: *size, count: *count };
        Ends { forms: forms.iter().map(form).collect(), relation, most: 2 }
    }

    #[test]
    fn from_some_size_on_the_residue_decides() {
        let lists: [&[(u64, u64)]; 5] = [
            &[(1, 2), (1, 4)],
            &[(1, 3), (1, 5)],
            &[(3, 2), (1, 4)],
            &[(1, 4), (1, 28)],
            &[(5, 8)],
        ];
        for forms in lists {
            for relation in [Relation::Empty, Relation::Cells, Relation::Order, Relation::Distances]
            {
                let ends = ends(forms, relation);
                let (settled, period) = (ends.settled(), ends.period());
                for units in settled..settled + 2 * period {
                    let (one, later) = (ends.pattern(units), ends.pattern(units + period));
                    assert_eq!(one, later, "{forms:?} {relation:?} {units}");
                }
            }
        }
    }

    #[test]
    fn halves_and_quarters_end_together_unless_two_units_are_left_over() {
        let ends = ends(&[(1, 2), (1, 4)], Relation::Order);
        let even = ends.pattern(4);
        for units in 4..100 {
            assert_eq!(ends.pattern(units) == even, units % 4 != 2, "{units}");
        }
        // For each cell its half and its quarter, each with the place of its beginning among the two and the chunk. With six
        // units, the second half begins in the second quarter.
        assert_eq!(
            ends.cells(4),
            [[0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 2, 1], [1, 1, 3, 2]].map(Vec::from)
        );
        assert!(ends.cells(6).contains(&vec![1, 2, 1, 1]));
    }
}
