//! Contributions to a reduction: which cells of which ranks' inputs it is made of.

use super::{ReduceOp, Term};

/// A cell of a rank's input, as it was at the start, in a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Contribution {
    /// The rank of the input; [`Contribution::NOBODY`] for memory that was never written.
    pub rank: u32,
    /// The cell: the chunk times the parts per chunk, plus the part; or the chunk divided by the chunks per cell.
    pub cell: u32,
    /// How often it is in the reduction.
    pub count: u32,
}

impl Contribution {
    /// The rank number that means memory that nobody wrote.
    pub const NOBODY: u32 = u32::MAX;
}

/// The contributions to a reduction of terms, ascending, each with how often it is in there; cells are chunks.
#[must_use]
pub fn collect_contributions(terms: &[Term], op: ReduceOp) -> Vec<Contribution> {
    let mut all: Vec<Contribution> = terms
        .iter()
        .flat_map(Term::sources)
        .map(|(rank, cell)| Contribution { rank, cell, count: 1 })
        .collect();
    merge_contributions(&mut all, op);
    all
}

/// Sorts contributions by rank and cell, and makes one of those that are the same.
pub fn merge_contributions(all: &mut Vec<Contribution>, op: ReduceOp) {
    all.sort_by_key(|one| (one.rank, one.cell));
    all.dedup_by(|next, kept| {
        let same = (next.rank, next.cell) == (kept.rank, kept.cell);
        if same {
            kept.count = op.add_counts(kept.count, next.count);
        }
        same
    });
}
