//! Compares what a run left with what the collective promises.

use super::Memory;
use super::value::{Contribution, Value};
use crate::ir::{Buffer, OriginId, Program, Promise, RankId};
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
    /// Contributions that are there more often than promised.
    pub doubled: Vec<(u32, u32)>,
    /// Contributions that are there and not promised; the rank [`Contribution::NOBODY`] means memory that was never
    /// written.
    pub unexpected: Vec<(u32, u32)>,
    /// The operation that wrote the chunk last.
    pub last_writer: Option<OriginId>,
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
            let expected = expected(promise);
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

/// The promised contributions, ascending: rank, chunk, and how often.
fn expected(promise: &Promise) -> Vec<(u32, u32, u32)> {
    let mut expected = Vec::new();
    for term in &promise.terms {
        for i in 0..i64::from(term.count) {
            let rank = i64::from(term.rank) + i * i64::from(term.rank_step);
            let chunk = i64::from(term.chunk) + i * i64::from(term.chunk_step);
            expected.push((rank as u32, chunk as u32, 1));
        }
    }
    expected.sort_unstable();
    expected.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        kept.2 += u32::from(same);
        same
    });
    expected
}

/// What is wrong with a part of a chunk. `kept` is the last value that was found to be right there.
fn compare<'m>(
    memory: &'m Memory,
    rank: RankId,
    (chunk, part): (u32, u32),
    expected: &[(u32, u32, u32)],
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
    let place = |chunk: u32| grain.cells(u64::from(chunk)) as u32 + part;
    let is_kept = found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, (rank, chunk, count))| {
            (found.rank, found.cell, found.count) == (*rank, place(*chunk), *count)
        });
    if is_kept {
        *kept = Some(&cell.value);
        return None;
    }
    let expected: BTreeMap<(u32, u32), u32> =
        expected.iter().map(|(rank, chunk, count)| ((*rank, *chunk), *count)).collect();
    let source = |c: &Contribution| (c.rank, c.cell / parts * unit);
    let promised = |c: &Contribution| c.cell % parts == part && expected.contains_key(&source(c));
    let there = |key: &(u32, u32)| {
        found.binary_search_by_key(&(key.0, place(key.1)), |c| (c.rank, c.cell)).is_ok()
    };
    let once = |c: &&Contribution| {
        promised(c) && expected.get(&source(c)).is_some_and(|count| c.count > *count)
    };
    let broken = Broken {
        rank,
        chunk,
        part,
        missing: expected.keys().copied().filter(|key| !there(key)).collect(),
        doubled: found.iter().filter(once).map(source).collect(),
        unexpected: found.iter().filter(|c| !promised(c)).map(source).collect(),
        last_writer: cell.writer,
    };
    if broken.missing.is_empty() && broken.doubled.is_empty() && broken.unexpected.is_empty() {
        *kept = Some(&cell.value);
        return None;
    }
    Some(broken)
}
