//! Compares what a run left with what the collective promises.
//!
//! - A sum holds each contribution as often as the promise names it; a minimum or maximum holds each that the promise
//!   names at least once.
//! - What was made of several sources was made by the collective's operator alone.

use super::Memory;
use super::memory::Cell;
use super::value::{Combined, Value};
use crate::ir::contribution::{Contribution, collect_contributions};
use crate::ir::{Buffer, OriginId, Program, Promise, RankId, ReduceOp};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

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

/// The output chunks that do not hold what they should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenPromises {
    /// The first of them, by rank and chunk, with its first part that is wrong.
    pub first: Broken,
    /// How many there are.
    pub chunks: usize,
    /// How many of the first one's rank nothing has written.
    pub unwritten: usize,
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

/// The output chunks that break a promise; none if all promises are kept.
#[must_use]
pub fn broken_promises(program: &Program, memory: &Memory) -> Option<BrokenPromises> {
    let mut first: Option<Place> = None;
    let mut chunks = 0;
    let mut unwritten: BTreeMap<RankId, usize> = BTreeMap::new();
    // Nearly all chunks may be wrong, and all contributions missing: only what is wrong with one of them is kept.
    let _ = each_broken(program, memory, &mut |place, writer| {
        chunks += 1;
        if writer.is_none() {
            *unwritten.entry(place.rank).or_default() += 1;
        }
        first = first.min(Some(place)).or(Some(place));
        ControlFlow::Continue(())
    });
    let place = first?;
    let unwritten = unwritten.get(&place.rank).copied().unwrap_or_default();
    Some(BrokenPromises { first: explain(program, memory, place)?, chunks, unwritten })
}

/// Whether every output chunk holds what is promised.
#[must_use]
pub fn keeps_promises(program: &Program, memory: &Memory) -> bool {
    each_broken(program, memory, &mut |_, _| ControlFlow::Break(())).is_continue()
}

/// A part of an output chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    rank: RankId,
    chunk: u32,
    part: u32,
}

/// Goes through the output chunks that break a promise, each with the first part that does, and the operation that wrote
/// it last. A promise that many ranks share is evaluated once, and copies of one value are compared once.
fn each_broken(
    program: &Program,
    memory: &Memory,
    found: &mut dyn FnMut(Place, Option<OriginId>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut alike: BTreeMap<*const Promise, Vec<RankId>> = BTreeMap::new();
    for (id, rank) in program.ranks.entries() {
        alike.entry(rank.promises.as_ptr()).or_default().push(id);
    }
    let unit = memory.grain().chunks_of_unit();
    for ranks in alike.values() {
        let first = ranks.first().and_then(|id| program.ranks.lookup(*id));
        let promises = first.iter().flat_map(|rank| rank.promises.iter());
        // The chunks of a unit have the same promise.
        for promise in promises.filter(|promise| promise.chunk.is_multiple_of(unit)) {
            let expected = Expected::of(program, promise);
            let mut kept: Vec<Option<&Value>> = vec![None; memory.parts() as usize];
            for &rank in ranks {
                let mut parts = (0..).zip(&mut kept);
                let broken = parts.find_map(|(part, kept)| {
                    let place = Place { rank, chunk: promise.chunk, part };
                    if is_kept(memory, place, &expected, kept) { None } else { Some(place) }
                });
                if let Some(place) = broken {
                    found(place, read(memory, place).and_then(|cell| cell.writer))?;
                }
            }
        }
    }
    ControlFlow::Continue(())
}

/// The contents that a promise calls for.
struct Expected {
    op: ReduceOp,
    terms: Vec<Contribution>,
}

impl Expected {
    fn of(program: &Program, promise: &Promise) -> Expected {
        let op = program.collective.op;
        Expected { op, terms: collect_contributions(&promise.terms, op) }
    }
}

fn read(memory: &Memory, place: Place) -> Option<&Cell> {
    let cell = memory.grain().cells(u64::from(place.chunk)) + u64::from(place.part);
    memory.read(place.rank, Buffer::Output, cell)
}

/// Where the part of a chunk of an input is.
fn cell_of(memory: &Memory, chunk: u32, part: u32) -> u32 {
    memory.grain().cells(u64::from(chunk)) as u32 + part
}

/// Whether a part of a chunk holds what is promised. `kept` is the last value that was found to be right there.
fn is_kept<'m>(
    memory: &'m Memory,
    place: Place,
    expected: &Expected,
    kept: &mut Option<&'m Value>,
) -> bool {
    let Some(cell) = read(memory, place) else { return true };
    if kept.is_some_and(|kept| kept.is_shared_with(&cell.value)) {
        return true;
    }
    let found = cell.value.contributions();
    let holds = |found: &Contribution, term: &Contribution| {
        let there = cell_of(memory, term.cell, place.part);
        (found.rank, found.cell, found.count) == (term.rank, there, term.count)
    };
    let is_right = cell.value.combined().is_only(expected.op)
        && found.len() == expected.terms.len()
        && found.iter().zip(&expected.terms).all(|(found, term)| holds(found, term));
    if is_right {
        *kept = Some(&cell.value);
    }
    is_right
}

/// What is wrong with a part of a chunk.
fn explain(program: &Program, memory: &Memory, place: Place) -> Option<Broken> {
    let rank = program.ranks.lookup(place.rank)?;
    let promise = rank.promises.iter().find(|promise| promise.chunk == place.chunk)?;
    let expected = Expected::of(program, promise);
    let cell = read(memory, place)?;
    let found = cell.value.contributions();
    let combined = cell.value.combined();
    let wrong = Broken {
        rank: place.rank,
        chunk: place.chunk,
        part: place.part,
        missing: Vec::new(),
        too_few: Vec::new(),
        doubled: Vec::new(),
        unexpected: Vec::new(),
        combined: None,
        last_writer: cell.writer,
    };
    if !combined.is_only(expected.op) {
        return Some(Broken { combined: Some(combined), ..wrong });
    }
    let (parts, part, unit) = (memory.parts(), place.part, memory.grain().chunks_of_unit());
    let expected: BTreeMap<(u32, u32), u32> =
        expected.terms.iter().map(|term| ((term.rank, term.cell), term.count)).collect();
    let source = |c: &Contribution| (c.rank, c.cell / parts * unit);
    let promised =
        |c: &Contribution| expected.get(&source(c)).copied().filter(|_| c.cell % parts == part);
    let there = |key: &(u32, u32)| {
        let wanted = (key.0, cell_of(memory, key.1, part));
        found.binary_search_by_key(&wanted, |c| (c.rank, c.cell)).is_ok()
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
