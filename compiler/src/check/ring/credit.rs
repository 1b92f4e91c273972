//! How far the writer of scratch in a pipeline may be ahead of its reader: the credit of the counters that it waits for.
//!
//! In: a program. Out: for each counter that a pipeline waits for, its initial value and how often it is given outside
//! pipelines. A ring of as many windows is enough for a pipeline that takes such a counter in each round, and gives it
//! back in each.

use crate::ir::counter::{CounterKind, Owned, given, takes};
use crate::ir::{Op, Program};
use std::collections::{BTreeMap, BTreeSet};

/// The credits of all counters that pipelines wait for.
pub(super) fn credits(program: &Program) -> BTreeSet<u64> {
    let awaited = awaited(program);
    let mut credits = initial(program);
    for (id, rank) in program.ranks.entries() {
        for op in rank.blocks.iter().flat_map(|block| &block.ops) {
            given(program, id, op).for_each(|counter| *credits.entry(counter).or_default() += 1);
        }
    }
    credits.retain(|counter, _| awaited.contains(counter));
    credits.into_values().collect()
}

/// The counters that pipelines wait for.
fn awaited(program: &Program) -> BTreeSet<Owned> {
    let mut found = BTreeSet::new();
    for (id, rank) in program.ranks.entries() {
        let ops = rank.blocks.iter().flat_map(|block| &block.ops);
        let inner = ops.filter_map(Op::pipeline).flat_map(|pipeline| &pipeline.body);
        found.extend(inner.flat_map(|op| takes(&op.action)).map(|counter| (id, counter)));
    }
    found
}

/// The initial values of all semaphores.
fn initial(program: &Program) -> BTreeMap<Owned, u64> {
    let ranks = program.ranks.entries();
    let all = ranks.flat_map(|(rank, row)| {
        row.semaphores.entries().map(move |(id, semaphore)| {
            let value = u64::try_from(semaphore.initial).unwrap_or(0);
            ((rank, CounterKind::Semaphore(id)), value)
        })
    });
    all.collect()
}
