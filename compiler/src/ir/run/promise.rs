//! Compares what a run left with what the collective promises.
//!
//! - A sum holds each contribution as often as the promise names it; a minimum or maximum holds each that the promise
//!   names at least once.
//! - What was made of several sources was made by the collective's operator alone.

use super::Memory;
use super::value::{Combined, Contribution, Value, merge};
use crate::ir::{Buffer, OriginId, Program, Promise, RankId, ReduceOp, Term};
use std::collections::BTreeMap;

/// An output chunk that does not hold what it should. Contributions are (rank, input chunk).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The rank of the output.
    pub rank: RankId,
    /// The chunk.
    pub chunk: u32,
    /// The part of it.
    pub part: u32,
    /// Contributions that are promised and not there.
    pub missing: Vec<(u32, u32)>,
    /// Contributions that are there, but less often than promised.
    pub too_few: Vec<Times>,
    /// Contributions that are there more often than promised.
    pub doubled: Vec<Times>,
    /// Contributions that are there and not promised; the rank [`Contribution::NOBODY`] means memory that was never
    /// written.
    pub unexpected: Vec<(u32, u32)>,
    /// How it was combined, if another operator than the collective's was used. Contributions are not compared then: how
    /// often one counts depends on the operator.
    pub combined: Option<Combined>,
    /// The operation that wrote the chunk last.
    pub last_writer: Option<OriginId>,
}

impl Broken {
    fn new((rank, chunk, part): (RankId, u32, u32), last_writer: Option<OriginId>) -> Broken {
        let (missing, too_few, doubled) = (Vec::new(), Vec::new(), Vec::new());
        let (unexpected, combined) = (Vec::new(), None);
        Broken { rank, chunk, part, missing, too_few, doubled, unexpected, combined, last_writer }
    }
}

/// How often a contribution is in a chunk, and how often it is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The contribution.
    pub of: (u32, u32),
    /// How often it is there.
    pub found: u32,
    /// How often it is promised.
    pub promised: u32,
}

/// Every output chunk that breaks a promise, by rank and chunk, each with the first part that does. A promise that many
/// ranks share is evaluated once, and copies of one value are compared once.
#[must_use]
pub fn broken_promises(program: &Program, memory: &Memory) -> Vec<Broken> {
    let mut alike: BTreeMap<*const Promise, Vec<RankId>> = BTreeMap::new();
    for (id, rank) in program.ranks.entries() {
        alike.entry(rank.promises.as_ptr()).or_default().push(id);
    }
    let unit = memory.grain().chunks_of_unit();
    let mut broken = Vec::new();
    for ranks in alike.values() {
        let first = ranks.first().and_then(|id| program.ranks.lookup(*id));
        let promises = first.iter().flat_map(|rank| rank.promises.iter());
        // The chunks of a unit have the same promise.
        for promise in promises.filter(|promise| promise.chunk.is_multiple_of(unit)) {
            let op = program.collective.op;
            let expected = Expected { op, terms: promised(&promise.terms, op) };
            let mut kept: Vec<Option<&Value>> = vec![None; memory.parts() as usize];
            for id in ranks {
                broken.extend((0..).zip(&mut kept).find_map(|(part, kept)| {
                    compare(memory, *id, (promise.chunk, part), &expected, kept)
                }));
            }
        }
    }
    broken.sort_by_key(|broken| (broken.rank, broken.chunk));
    broken
}

/// The contributions to a reduction of terms, ascending, each with how often it is in there.
#[must_use]
pub fn promised(terms: &[Term], op: ReduceOp) -> Vec<Contribution> {
    let mut all: Vec<Contribution> = terms
        .iter()
        .flat_map(Term::sources)
        .map(|(rank, cell)| Contribution { rank, cell, count: 1 })
        .collect();
    merge(&mut all, op);
    all
}

/// The contents that a promise calls for.
struct Expected {
    op: ReduceOp,
    terms: Vec<Contribution>,
}

/// What is wrong with a part of a chunk. `kept` is the last value that was found to be right there.
fn compare<'m>(
    memory: &'m Memory,
    rank: RankId,
    (chunk, part): (u32, u32),
    expected: &Expected,
    kept: &mut Option<&'m Value>,
) -> Option<Broken> {
    let (grain, parts) = (memory.grain(), memory.parts());
    let unit = grain.chunks_of_unit();
    let cell =
        memory.read(rank, Buffer::Output, grain.cells(u64::from(chunk)) + u64::from(part))?;
    if kept.is_some_and(|kept| kept.is_shared_with(&cell.value)) {
        return None;
    }
    let found = cell.value.contributions();
    let combined = cell.value.combined();
    let wrong = Broken::new((rank, chunk, part), cell.writer);
    if !combined.is_only(expected.op) {
        return Some(Broken { combined: Some(combined), ..wrong });
    }
    let place = |chunk: u32| grain.cells(u64::from(chunk)) as u32 + part;
    let is_kept = found.len() == expected.terms.len()
        && found.iter().zip(&expected.terms).all(|(found, term)| {
            (found.rank, found.cell, found.count) == (term.rank, place(term.cell), term.count)
        });
    if is_kept {
        *kept = Some(&cell.value);
        return None;
    }
    let expected: BTreeMap<(u32, u32), u32> =
        expected.terms.iter().map(|term| ((term.rank, term.cell), term.count)).collect();
    let source = |c: &Contribution| (c.rank, c.cell / parts * unit);
    let promised =
        |c: &Contribution| expected.get(&source(c)).copied().filter(|_| c.cell % parts == part);
    let there = |key: &(u32, u32)| {
        found.binary_search_by_key(&(key.0, place(key.1)), |c| (c.rank, c.cell)).is_ok()
    };
    let times = |c: &Contribution| {
        promised(c).map(|promised| Times { of: source(c), found: c.count, promised })
    };
    Some(Broken {
        missing: expected.keys().copied().filter(|key| !there(key)).collect(),
        too_few: found.iter().filter_map(times).filter(|one| one.found < one.promised).collect(),
        doubled: found.iter().filter_map(times).filter(|one| one.found > one.promised).collect(),
        unexpected: found.iter().filter(|c| promised(c).is_none()).map(source).collect(),
        ..wrong
    })
}
