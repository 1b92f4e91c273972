//! Operations of an elaborated program, looked up by the statements that they come from.

use compiler::ir::{Action, Block, BlockId, Op, Operand, Program, Rank, RankId};
use compiler::plan;
use compiler::source::{Place, Span};
use std::collections::BTreeMap;

/// An operation, and where it is executed.
#[derive(Clone, Copy, Debug)]
pub struct Done<'p> {
    /// On which rank.
    pub rank: RankId,
    /// In which thread block.
    pub block: BlockId,
    /// The operation.
    pub op: &'p Op,
}

/// Visits every operation; those in a pipeline come after the pipeline itself.
pub fn each<'p>(program: &'p Program, visit: &mut dyn FnMut(Done<'p>)) {
    for (rank, row) in program.ranks.entries() {
        for (block, ops) in row.blocks.entries() {
            in_list(rank, block, &ops.ops, visit);
        }
    }
}

fn in_list<'p>(rank: RankId, block: BlockId, ops: &'p [Op], visit: &mut dyn FnMut(Done<'p>)) {
    for op in ops {
        visit(Done { rank, block, op });
        if let Action::Pipeline(pipeline) = &op.action {
            in_list(rank, block, &pipeline.body, visit);
        }
    }
}

/// The operations of a statement: those that originate from it directly, and those of the procedures that it calls.
#[must_use]
pub fn of_statement(program: &Program, statement: Span) -> Vec<Done<'_>> {
    let mut found = Vec::new();
    each(program, &mut |done| {
        let places = program.origins.places(done.op.origin);
        if places.contains(&Place::Source(statement))
            && !matches!(done.op.action, Action::Pipeline(_))
        {
            found.push(done);
        }
    });
    found
}

/// Counts operations by their names in the plan: `7 put, 1 nop`. If the counts are the same on all ranks, they are
/// given for one rank.
#[must_use]
pub fn census(done: &[Done<'_>], ranks: usize) -> String {
    let mut by_rank: BTreeMap<RankId, BTreeMap<&str, usize>> = BTreeMap::new();
    for one in done {
        let counts = by_rank.entry(one.rank).or_default();
        *counts.entry(plan::action_name(&one.op.action)).or_default() += 1;
    }
    let mut all: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, count) in by_rank.values().flatten() {
        *all.entry(name).or_default() += count;
    }
    let first = by_rank.values().next();
    let same = by_rank.len() == ranks && by_rank.values().all(|counts| Some(counts) == first);
    let (counts, scope) = match first.filter(|_| same) {
        Some(first) => (first, "on each rank"),
        None => (&all, "over all ranks"),
    };
    let texts: Vec<String> =
        counts.iter().map(|(name, count)| format!("{count} `{name}`")).collect();
    format!("{} {scope}", texts.join(", "))
}

/// The size of a slice in bytes, for a message of `message` bytes. A message is cut into units of the alignment; if
/// the units do not divide evenly among the chunks, the first chunks get one more.
#[must_use]
pub fn bytes(program: &Program, rank: &Rank, operand: &Operand, message: u64) -> Option<u64> {
    let gathers = program.collective.name == "allgather";
    let chunks = u64::from(if gathers { rank.output_chunks } else { rank.input_chunks });
    let unit = u64::from(program.options.alignment.max(1));
    let units = message / unit;
    let (each, more) = (units.checked_div(chunks)?, units.checked_rem(chunks)?);
    let until = |chunk: u64| chunk * each + chunk.min(more);
    let (first, size) = (u64::from(operand.index), u64::from(operand.size));
    Some((until(first + size) - until(first)) * unit)
}

/// The thread blocks of a family, with their ids.
pub fn blocks_of<'p>(
    rank: &'p Rank,
    family: &'p str,
) -> impl Iterator<Item = (BlockId, &'p Block)> {
    rank.blocks.entries().filter(move |(_, block)| is_member(&block.name, family))
}

/// Whether an indexed name is a member of a family.
#[must_use]
pub fn is_member(name: &str, family: &str) -> bool {
    name.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
}

/// "1 rank", "2 ranks"
#[must_use]
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_known_by_its_whole_name() {
        assert!(is_member("send[1]", "send") && is_member("send", "send"));
        assert!(!is_member("sender[1]", "send"));
    }
}
