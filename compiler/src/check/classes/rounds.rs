//! For how many windows pipelines are checked beyond two.
//!
//! A pipeline may run ahead of another by the credit of the counters that it waits for: their initial values, and what
//! they are given outside pipelines. Only a message with more windows than that shows what happens when the credit is
//! used up. So a chunk is checked with three windows, and so on up to two more than the largest credit, but no more than
//! [`ONE_BY_ONE`]; and with two more than the largest credit, and than all credits together, as far as that many windows
//! can be run.

use crate::check::credit::credits;
use crate::ir::run;
use crate::ir::{Op, Program};
use std::collections::BTreeSet;

/// Up to how many windows each number is checked.
const ONE_BY_ONE: u64 = 8;

/// The most windows of a chunk.
const MOST_WINDOWS: u64 = 64;

/// The most operations of pipelines, with those of each window counted.
const MOST_OPS: u64 = 200_000;

/// The most cells of all buffers.
const MOST_CELLS: u64 = 400_000;

/// The programs to check in addition, each with the size in bytes of a message that has so many windows.
pub(super) fn longer(program: &Program) -> Vec<(Program, u64)> {
    let most = program.options.max_message_size.unwrap_or(u64::MAX);
    let with = |windows: u64| {
        let mut longer = program.clone();
        longer.options.windows = u32::try_from(windows).ok()?;
        let size = run::windows(&longer).bytes()?.saturating_mul(program.message_chunks().into());
        (size <= most).then_some((longer, size))
    };
    numbers(program).into_iter().filter_map(with).collect()
}

/// The numbers of windows.
fn numbers(program: &Program) -> BTreeSet<u64> {
    let credits = credits(program);
    let Some(largest) = credits.iter().max().filter(|credit| **credit > 0) else {
        return BTreeSet::new();
    };
    let limit = limit(program);
    let all = credits.iter().fold(0, |all: u64, credit| all.saturating_add(*credit));
    let needed = |credit: u64| credit.saturating_add(2).min(limit);
    let last = needed(*largest);
    (3..=last.min(ONE_BY_ONE)).chain([last, needed(all)]).filter(|number| *number > 2).collect()
}

/// The largest number of windows that is checked.
fn limit(program: &Program) -> u64 {
    let pipelines = program.blocks().flat_map(|block| &block.ops).filter_map(Op::pipeline);
    let ops: u64 = pipelines.map(|one| one.body.len() as u64 * u64::from(one.chunks)).sum();
    let cells = program.chunks().saturating_mul(run::parts(program).div_ceil(2).into());
    (MOST_OPS / ops.max(1)).min(MOST_CELLS / cells.max(1)).min(MOST_WINDOWS)
}
