//! How much a program moves between ranks, and how much its promise forces out of them.
//!
//! In: a program that keeps its promise. Out: the chunks that it moves from one rank's memory to another's, and a number
//! of chunks below which no program gets that keeps this promise (`least` says why).
//!
//! Multimem groups are left out: what a switch combines or copies on the way is not counted by ranks.

use super::{Op, Operand, Program, Promise, Rank, RankId, Term, Transfer};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most contributions and outputs that are looked at: those of an AllReduce over some thousand ranks.
const MOST_TERMS: usize = 1 << 22;

/// What a program moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// The chunks that move between ranks.
    pub moved: u64,
    /// The fewest chunks that any program with this promise moves; at least one.
    pub least: u64,
    /// How often each rank sends as much as its input, if all ranks send the same part of theirs.
    pub inputs_sent: Option<f64>,
}

/// What a program moves; none if it uses a switch, if its promise forces nothing out of any rank, or if that is too much to
/// count.
#[must_use]
pub fn traffic(program: &Program) -> Option<Traffic> {
    let sent = sent(program)?;
    let least = least(program).filter(|least| *least > 0)?;
    let moved = sent.iter().sum();
    let parts = sent.iter().zip(&program.ranks).map(|(sent, rank)| Part::new(*sent, rank));
    Some(Traffic { moved, least, inputs_sent: common(parts) })
}

impl Traffic {
    /// The one that moves more, compared with what must move; of what all ranks send, nothing.
    #[must_use]
    pub fn further(self, other: Traffic) -> Traffic {
        let (mine, others) = (
            u128::from(self.moved) * u128::from(other.least),
            u128::from(other.moved) * u128::from(self.least),
        );
        let further = if mine >= others { self } else { other };
        Traffic { inputs_sent: None, ..further }
    }
}

/// What a rank sends, of what it was given.
struct Part {
    sent: u64,
    input: u64,
}

impl Part {
    fn new(sent: u64, rank: &Rank) -> Part {
        Part { sent, input: rank.input_chunks.into() }
    }

    fn is_equal(&self, other: &Part) -> bool {
        u128::from(self.sent) * u128::from(other.input)
            == u128::from(other.sent) * u128::from(self.input)
    }
}

/// The part that all have, if there is one.
fn common(mut parts: impl Iterator<Item = Part>) -> Option<f64> {
    let first = parts.next().filter(|first| first.input > 0)?;
    let is_common = parts.all(|part| part.input > 0 && part.is_equal(&first));
    is_common.then(|| first.sent as f64 / first.input as f64)
}

/// The chunks that leave each rank; none if a switch is involved.
fn sent(program: &Program) -> Option<Vec<u64>> {
    let mut sent = vec![0; program.ranks.len()];
    for (id, rank) in program.ranks.entries() {
        let transfers = rank.all_ops().filter_map(Op::transfer);
        for transfer in transfers.filter(|transfer| !is_counted_elsewhere(transfer)) {
            if transfer.operands().any(Operand::is_switch) {
                return None;
            }
            let read =
                transfer.sources.iter().filter_map(|one| Some((one.place.peer()?, one.size)));
            let written = transfer.destinations.iter().filter(|one| one.is_remote());
            for (sender, size) in read.chain(written.map(|one| (id, one.size))) {
                if let Some(chunks) = sent.get_mut(sender.0 as usize) {
                    *chunks += u64::from(size);
                }
            }
        }
    }
    Some(sent)
}

/// Whether a transfer is shared by the blocks of a group, and another one of them is counted for all.
fn is_counted_elsewhere(transfer: &Transfer) -> bool {
    transfer.slice.is_some_and(|slice| slice.index > 0)
}

/// A value that is promised: the contributions that it combines, ascending.
type Contributions = Vec<(u32, u32)>;

/// The fewest chunks that any program moves that keeps the promise; none if that is too much to count.
///
/// Take one value that is promised, S, the ranks that contribute to it, and D, those whose output has it. Of the ranks in
/// D, one is the first to which all contributions have come, in whatever form. Until then, every other rank in S has sent
/// something; afterwards, every other rank in D has yet to receive something. That is a chunk each: |S| + |D| - 2, and
/// one more if no rank is in both. (For an AllReduce over n ranks, 2(n - 1) for each chunk.)
///
/// Values that have no contribution in common add up, because no chunk serves two of them: what is combined cannot be
/// separated. Of values that have contributions in common, directly or by way of others, the one that needs most counts.
fn least(program: &Program) -> Option<u64> {
    let demands = demands(program)?;
    let mut groups = Groups::new(demands.len());
    let mut first_with: FxHashMap<(u32, u32), usize> = FxHashMap::default();
    for (value, contributions) in demands.keys().enumerate() {
        for contribution in contributions {
            let first = *first_with.entry(*contribution).or_insert(value);
            groups.join(first, value);
        }
    }
    let mut most: BTreeMap<usize, u64> = BTreeMap::new();
    for (value, (contributions, ranks)) in demands.iter().enumerate() {
        let group = most.entry(groups.leader(value)).or_default();
        *group = (*group).max(forced(contributions, ranks));
    }
    Some(most.values().sum())
}

/// The chunks that move for one value: its contributions, ascending, and the ranks whose output has it.
fn forced(contributions: &Contributions, ranks: &[u32]) -> u64 {
    let mut from: Vec<u32> = contributions.iter().map(|(rank, _)| *rank).collect();
    from.dedup();
    let mut to = ranks.to_vec();
    to.sort_unstable();
    to.dedup();
    let in_both = to.iter().any(|rank| from.binary_search(rank).is_ok());
    (from.len() + to.len()).saturating_sub(1 + usize::from(in_both)) as u64
}

/// Each value that is promised, and the ranks whose output has it.
fn demands(program: &Program) -> Option<BTreeMap<Contributions, Vec<u32>>> {
    let mut demands: BTreeMap<Contributions, Vec<u32>> = BTreeMap::new();
    let mut left = MOST_TERMS;
    for (promises, ranks) in shared(program) {
        for promise in promises {
            let terms = promise.terms.iter().map(|term| term.count as usize).sum::<usize>();
            left = left.checked_sub(terms.saturating_add(ranks.len()))?;
            let mut contributions: Contributions =
                promise.terms.iter().flat_map(Term::sources).collect();
            contributions.sort_unstable();
            contributions.dedup();
            demands.entry(contributions).or_default().extend(ranks.iter().map(|rank| rank.0));
        }
    }
    Some(demands)
}

/// The promises, each list with the ranks that share it.
fn shared(program: &Program) -> Vec<(&[Promise], Vec<RankId>)> {
    let mut lists: Vec<(&[Promise], Vec<RankId>)> = Vec::new();
    let mut rows: FxHashMap<*const Promise, usize> = FxHashMap::default();
    for (id, rank) in program.ranks.entries().filter(|(_, rank)| !rank.promises.is_empty()) {
        let row = *rows.entry(Arc::as_ptr(&rank.promises).cast()).or_insert(lists.len());
        match lists.get_mut(row) {
            Some((_, ranks)) => ranks.push(id),
            None => lists.push((&rank.promises, vec![id])),
        }
    }
    lists
}

/// Values that have contributions in common, each led by one of them.
struct Groups(Vec<usize>);

impl Groups {
    fn new(values: usize) -> Groups {
        Groups((0..values).collect())
    }

    fn leader(&mut self, value: usize) -> usize {
        let mut at = value;
        while let Some(next) = self.0.get(at).copied().filter(|next| *next != at) {
            let over = self.0.get(next).copied().unwrap_or(next);
            if let Some(slot) = self.0.get_mut(at) {
                *slot = over;
            }
            at = over;
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.leader(one), self.leader(other));
        if let Some(slot) = self.0.get_mut(other) {
            *slot = one;
        }
    }
}
