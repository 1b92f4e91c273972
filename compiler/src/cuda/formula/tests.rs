//! The text of a formula, computed as a kernel does, gives the numbers that it was made for.

use crate::cuda::members::{Member, Members, sample};
use crate::cuda::statement::Kind;
use proptest::prelude::{prop, prop_assert_eq, proptest};

/// An expression of numbers, variables, calls without arguments, `+ - * / %` and parentheses, in unsigned 32-bit
/// arithmetic; none if it has anything else.
struct Reader<'a> {
    rest: &'a str,
    member: Member,
    ranks_per_node: u32,
}

impl Reader<'_> {
    fn next(&mut self, word: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn sum(&mut self) -> Option<u32> {
        let mut value = self.product()?;
        loop {
            if self.next("+") {
                value = value.wrapping_add(self.product()?);
            } else if self.next("-") {
                value = value.wrapping_sub(self.product()?);
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<u32> {
        let mut value = self.single()?;
        loop {
            if self.next("*") {
                value = value.wrapping_mul(self.single()?);
            } else if self.next("/") {
                value = value.checked_div(self.single()?)?;
            } else if self.next("%") {
                value = value.checked_rem(self.single()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn single(&mut self) -> Option<u32> {
        if self.next("(") {
            let value = self.sum()?;
            return self.next(")").then_some(value);
        }
        let Member { rank, index, copy, step, .. } = self.member;
        let known = [
            ("b.node()", rank / self.ranks_per_node),
            ("b.local()", rank % self.ranks_per_node),
            ("b.rank", rank),
            ("index", index as u32),
            ("copy", copy as u32),
            ("step", step as u32),
        ];
        for (name, value) in known {
            if self.next(name) {
                return Some(value);
            }
        }
        let rest = self.rest.trim_start();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = rest.split_at(digits);
        self.rest = rest;
        number.parse().ok()
    }
}

/// Blocks from place `first` on, of some ranks, with copies, in a loop.
fn members(ranks: u32, (first, blocks): (i64, i64), copies: i64, steps: i64) -> Members {
    let mut list = Vec::new();
    for rank in 0..ranks {
        for index in first..first + blocks {
            for copy in 0..copies {
                let block = (index * copies + copy) as u32;
                list.push(Member { rank, block, index, copy, step: 0 });
            }
        }
    }
    let ranks = i64::from(ranks);
    let ranks_per_node = ranks.min(2);
    let sample = sample(&list, ranks_per_node);
    let all = Members { list, sample, ranks, ranks_per_node, copies, stride: 1, steps: 1 };
    if steps > 1 { all.in_loop(steps as usize) } else { all }
}

proptest! {
    #[test]
    fn a_formula_gives_its_numbers(
        ranks in 1u32..5,
        first in 0i64..3,
        blocks in 1i64..5,
        (copies, steps) in (1i64..3, 1i64..4),
        factors in prop::array::uniform4(-3i64..4),
        constant in -5i64..6,
    ) {
        let members = members(ranks, (first, blocks), copies, steps);
        let [by_rank, by_index, by_copy, by_step] = factors;
        let raw = |one: &Member| {
            by_rank * i64::from(one.rank) + by_index * one.index + by_copy * one.copy + by_step * one.step
        };
        let least = members.list.iter().map(raw).min().unwrap_or(0);
        let shift = (constant - least).max(-least);
        let values: Vec<i64> = members.list.iter().map(|one| raw(one) + shift).collect();
        if let Some(text) = members.formula(Kind::Chunk, &values) {
            for (member, value) in members.list.iter().zip(&values) {
                let ranks_per_node = ranks.min(2);
                let mut reader = Reader { rest: &text, member: *member, ranks_per_node };
                // Texts that call functions of the device header are tested with kernels.
                let Some(read) = reader.sum().filter(|_| reader.rest.is_empty()) else { break };
                prop_assert_eq!(i64::from(read), *value, "{} for {:?}", text, member);
            }
        }
    }
}
