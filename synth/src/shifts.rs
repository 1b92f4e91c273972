//! Shifts of ranks: groups that map each rank to each other one in exactly one way.
//!
//! The number of a rank is written with digits, of which each has a radix of its own: a box and a place in it, a row and
//! a column of a torus, the bits of a hypercube's corner. A group of shifts adds to each digit on its own, without
//! carries. So it is a product of cyclic groups, which acts on the ranks as on itself, and every schedule that it keeps
//! is that of one rank, shifted (a vertex-transitive machine with such a group is a Cayley graph: Akers and
//! Krishnamurthy, "A group-theoretic model for symmetric interconnection networks", IEEE Transactions on Computers 38(4),
//! 1989).

use crate::graph::Vertex;

/// A digit of the numbers of ranks, and the shift that adds one to it: `rank / stride % radix` grows by one, and is 0
/// after `radix - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shift {
    /// How many values the digit has; at least 2.
    pub radix: u32,
    /// How far apart two ranks are that differ by one in the digit: the product of the radices of all lower digits.
    pub stride: u32,
}

impl Shift {
    /// Where a rank goes.
    #[must_use]
    pub fn map(self, rank: Vertex) -> Vertex {
        let digit = self.find_digit(rank);
        let next = if digit + 1 == self.radix { 0 } else { digit + 1 };
        Vertex(rank.0 - digit * self.stride + next * self.stride)
    }

    /// The digit of a rank.
    #[must_use]
    pub fn find_digit(self, rank: Vertex) -> u32 {
        rank.0 / self.stride % self.radix
    }
}

/// A group of shifts of all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShiftGroup {
    ranks: u32,
    /// The highest digit first.
    digits: Vec<Shift>,
}

/// How ranks of a stride are written with the fewest digits.
#[derive(Clone, Copy)]
struct LeastDigits {
    stride: u32,
    count: usize,
    /// The highest digit; none for the stride 1.
    highest: Option<Shift>,
}

impl ShiftGroup {
    /// The group for so many ranks all of whose shifts are kept by something, if there is one: with as few digits as
    /// possible. Each digit is asked for once. One rank has the group without digits.
    pub fn find(ranks: u32, mut keeps: impl FnMut(Shift) -> bool) -> Option<ShiftGroup> {
        let divisors: Vec<u32> =
            (1..=ranks).filter(|divisor| ranks.is_multiple_of(*divisor)).collect();
        let mut reached = vec![LeastDigits { stride: 1, count: 0, highest: None }];
        for &next in divisors.iter().skip(1) {
            let mut best: Option<LeastDigits> = None;
            // The first of several with as few digits has the highest radix.
            for lower in reached.iter().filter(|lower| next.is_multiple_of(lower.stride)) {
                let shift = Shift { radix: next / lower.stride, stride: lower.stride };
                let is_better = best.is_none_or(|best| lower.count + 1 < best.count);
                if is_better && keeps(shift) {
                    let count = lower.count + 1;
                    best = Some(LeastDigits { stride: next, count, highest: Some(shift) });
                }
            }
            reached.extend(best);
        }
        let mut digits = Vec::new();
        let mut stride = ranks;
        while stride > 1 {
            let shift = reached.iter().find(|own| own.stride == stride)?.highest?;
            digits.push(shift);
            stride = shift.stride;
        }
        Some(ShiftGroup { ranks, digits })
    }

    /// The digits, the highest one first.
    #[must_use]
    pub fn digits(&self) -> &[Shift] {
        &self.digits
    }

    /// How many ranks there are.
    #[must_use]
    pub fn count_ranks(&self) -> u32 {
        self.ranks
    }

    /// The rank so far from another one: their digits are added. What is so far from rank 0 is the rank of that number.
    #[must_use]
    pub fn add(&self, rank: Vertex, offset: Vertex) -> Vertex {
        self.combine(rank, offset, |own, other, radix| (own + other) % radix)
    }

    /// How far a rank is from another one: [`ShiftGroup::add`] leads back.
    #[must_use]
    pub fn subtract(&self, rank: Vertex, from: Vertex) -> Vertex {
        self.combine(rank, from, |own, other, radix| (own + radix - other) % radix)
    }

    fn combine(&self, one: Vertex, other: Vertex, join: fn(u32, u32, u32) -> u32) -> Vertex {
        let place = |shift: &Shift| {
            join(shift.find_digit(one), shift.find_digit(other), shift.radix) * shift.stride
        };
        Vertex(self.digits.iter().map(place).sum())
    }

    /// For each rank but the first one, in order, a lower rank and the digit whose shift leads from there to it.
    pub(crate) fn list_links(&self) -> impl Iterator<Item = ShiftLink> + '_ {
        (1..self.ranks).map(Vertex).filter_map(|rank| {
            let digit = self.digits.iter().position(|shift| shift.find_digit(rank) > 0)?;
            let stride = self.digits.get(digit)?.stride;
            Some(ShiftLink { rank, before: Vertex(rank.0 - stride), digit })
        })
    }
}

/// A rank, and one that a shift maps to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShiftLink {
    pub(crate) rank: Vertex,
    pub(crate) before: Vertex,
    /// The place of the digit among [`ShiftGroup::digits`].
    pub(crate) digit: usize,
}

#[cfg(test)]
mod tests {
    use super::{Shift, ShiftGroup};
    use crate::graph::Vertex;

    fn list_radices(group: &ShiftGroup) -> Vec<u32> {
        group.digits().iter().map(|shift| shift.radix).collect()
    }

    #[test]
    fn groups_have_few_digits() {
        let all = ShiftGroup::find(24, |_| true).unwrap();
        assert_eq!(list_radices(&all), [24]);
        let bits = ShiftGroup::find(16, |shift| shift.radix == 2).unwrap();
        assert_eq!(list_radices(&bits), [2; 4]);
        let boxes = |shift: Shift| shift.stride * shift.radix <= 8 || shift.stride >= 8;
        assert_eq!(list_radices(&ShiftGroup::find(24, boxes).unwrap()), [3, 8]);
        assert_eq!(ShiftGroup::find(24, |shift| shift.stride == 1 && shift.radix == 2), None);
        assert!(ShiftGroup::find(1, |_| false).unwrap().digits().is_empty());
    }

    #[test]
    fn groups_are_regular() {
        for (ranks, is_kept) in [
            (12, (|_| true) as fn(Shift) -> bool),
            (24, |shift| shift.stride * shift.radix <= 8 || shift.stride >= 8),
            (16, |shift| shift.radix == 2),
        ] {
            let group = ShiftGroup::find(ranks, is_kept).unwrap();
            for one in (0..ranks).map(Vertex) {
                assert_eq!(group.add(Vertex(0), one), one);
                let mut images: Vec<Vertex> =
                    (0..ranks).map(|other| group.add(Vertex(other), one)).collect();
                for (image, other) in images.iter().zip((0..ranks).map(Vertex)) {
                    assert_eq!(group.subtract(*image, one), other);
                    assert_eq!(group.add(one, other), *image);
                }
                images.sort_unstable();
                assert!(images.iter().map(|image| image.0).eq(0..ranks));
            }
            for shift in group.digits() {
                for rank in (0..ranks).map(Vertex) {
                    assert_eq!(group.add(rank, Vertex(shift.stride)), shift.map(rank));
                }
            }
            for link in group.list_links() {
                assert!(link.before < link.rank);
                assert_eq!(group.digits()[link.digit].map(link.before), link.rank);
            }
        }
    }
}
