//! The blocks that share a body.
//!
//! In: where the blocks are. Out: the list of them, in each turn of a loop where there is one, and a sample of the list,
//! which shows that most formulas are wrong without a look at all blocks.

use std::collections::BTreeSet;

/// One of the blocks that share a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) rank: u32,
    pub(super) block: u32,
    /// Its place among the role's blocks of its rank, not counting copies and the blocks of other roles in between.
    pub(super) index: i64,
    /// The number of its copy.
    pub(super) copy: i64,
    /// The turn of a loop that it is in.
    pub(super) step: i64,
}

/// The blocks that share a body, and numbers that are the same for all blocks of the program.
pub(super) struct Members {
    pub(super) list: Vec<Member>,
    /// Some of the list, by their places in it; all of it if it is short.
    pub(super) sample: Vec<usize>,
    pub(super) ranks: i64,
    pub(super) ranks_per_node: i64,
    pub(super) copies: i64,
    /// How many blocks there are from one of the role's to its next, not counting copies.
    pub(super) stride: i64,
    /// Turns of the loop in which the numbers occur; 1 outside of loops.
    pub(super) steps: i64,
}

/// A list that is not longer than this is its own sample.
const SHORT: usize = 1 << 12;

impl Members {
    /// The blocks in each turn of a loop: all turns of the first block, then all turns of the next.
    pub(super) fn in_loop(&self, steps: usize) -> Members {
        let turns = |member: &Member| {
            let member = *member;
            (0..steps as i64).map(move |step| Member { step, ..member })
        };
        let list: Vec<Member> = self.list.iter().flat_map(turns).collect();
        let sample = sample(&list, self.ranks_per_node);
        Members { list, sample, steps: steps as i64, ..*self }
    }
}

/// The places of the first block and of those whose ranks, places and turns are all among a few.
pub(super) fn sample(list: &[Member], ranks_per_node: i64) -> Vec<usize> {
    if list.len() <= SHORT {
        return (0..list.len()).collect();
    }
    let few = |of: fn(&Member) -> i64| few(&list.iter().map(of).collect(), ranks_per_node);
    let ranks = few(|member| i64::from(member.rank));
    let (indices, steps) = (few(|member| member.index), few(|member| member.step));
    let is_in = |(at, member): &(usize, &Member)| {
        let rank = i64::from(member.rank);
        *at == 0
            || ranks.contains(&rank)
                && indices.contains(&member.index)
                && steps.contains(&member.step)
    };
    list.iter().enumerate().filter(is_in).map(|(at, _)| at).collect()
}

/// A few of the numbers, by their order: the first of the first three nodes, two in the middle and the last two.
fn few(all: &BTreeSet<i64>, ranks_per_node: i64) -> BTreeSet<i64> {
    let (each, count) = (ranks_per_node.max(4) as usize, all.len());
    let begins = [0, each, 2 * each].map(|begin| begin..begin + 4);
    let others = [count / 2..count / 2 + 2, count.saturating_sub(2)..count];
    let is_in = |at: usize| begins.iter().chain(&others).any(|range| range.contains(&at));
    all.iter().enumerate().filter(|(at, _)| is_in(*at)).map(|(_, number)| *number).collect()
}
