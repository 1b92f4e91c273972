//! The sizes of chunks that make different patterns of slices' ends.
//!
//! In: a program, and the numbers of units that a chunk may have. Out: for each pattern that one of these numbers makes, the
//! least of them, and the least numbers that make the same pattern, whether the plan serves them or not: those are what the
//! checks run with, since a program with fewer cells is checked faster.
//!
//! Where blocks are told nothing by the packets of slices, whether two accesses to a cell are ordered depends on nothing but
//! which slices the cell is in. Then a few patterns are enough in which all such combinations occur. Otherwise every pattern
//! has to be looked at; where there are too many, the same few are, and the others are left out.

use super::budget::{ENDS, Exceeded, ORDERS};
use super::ends::{Ends, Pattern, Relation};
use crate::ir::Program;
use crate::ir::run::{self, Grain};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::RangeInclusive;

/// The sizes that make one pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alike {
    /// The fewest units that a chunk has in a message that the plan serves.
    pub(super) units: u64,
    /// The fewest that it has in any message.
    pub(super) parts: u32,
    /// The grain at which chunks that are always used together have as few cells as possible.
    pub(super) grain: Grain,
    /// Whether all slices are whole parts, as they are for some number of units.
    pub(super) is_even: bool,
}

/// The patterns that decide all others.
pub(super) struct Patterns {
    /// In the order of sizes.
    pub(super) all: Vec<Alike>,
    /// Why others are left out that may matter, if they are.
    pub(super) exceeded: Option<Exceeded>,
}

/// The patterns that these numbers of units make.
pub(super) fn patterns(
    program: &Program,
    served: RangeInclusive<u64>,
    relation: Relation,
) -> Result<Patterns, Exceeded> {
    let together = run::chunks_used_together(program);
    let ends = Ends::of(program, together, relation);
    let mut all = every_pattern(&ends, together, served)?;
    let is_short = match relation {
        Relation::Empty => Ok(()),
        Relation::Cells => {
            all = covering(&ends, all);
            Ok(())
        }
        Relation::Order | Relation::Distances => {
            let cells = |alike: &Alike| u64::from(alike.grain.cells_of_unit());
            let uneven = all.iter().filter(|alike| !alike.is_even).map(cells).sum::<u64>();
            ORDERS.allow(uneven / ends.period().max(1))
        }
    };
    if is_short.is_err() {
        all = covering(&ends, all);
    }
    Ok(Patterns { all, exceeded: is_short.err() })
}

/// A few patterns that have all cells that some pattern has.
fn covering(ends: &Ends, mut open: Vec<Alike>) -> Vec<Alike> {
    let mut known: FxHashSet<Vec<u64>> = FxHashSet::default();
    let mut chosen: Vec<Alike> = Vec::new();
    let cells = |alike: &Alike| ends.cells(alike.grain.cells_of_unit().into());
    // The even one is checked first, whatever else there is.
    open.sort_by_key(|alike| (!alike.is_even, alike.units));
    while !open.is_empty() {
        let new = |alike: &Alike| cells(alike).iter().filter(|cell| !known.contains(*cell)).count();
        let counts: Vec<usize> = open.iter().map(new).collect();
        let most = counts.iter().copied().max().unwrap_or(0);
        let even = chosen.is_empty() && open.first().is_some_and(|alike| alike.is_even);
        let at = if even { Some(0) } else { counts.iter().position(|count| *count == most) };
        let Some(at) = at else { break };
        if most == 0 {
            break;
        }
        let alike = open.remove(at);
        known.extend(cells(&alike));
        chosen.push(alike);
        let mut counts = counts.into_iter().enumerate().filter(|(index, _)| *index != at);
        open.retain(|_| counts.next().is_some_and(|(_, count)| count > 0));
    }
    chosen.sort_unstable_by_key(|alike| alike.units);
    chosen
}

/// Every pattern that these numbers of units make, in their order.
fn every_pattern(
    ends: &Ends,
    together: u32,
    served: RangeInclusive<u64>,
) -> Result<Vec<Alike>, Exceeded> {
    let (period, settled) = (ends.period(), ends.settled());
    let beyond = settled.saturating_add(period);
    ENDS.allow(beyond.saturating_mul(ends.work()))?;
    // Of each pattern, the fewest units of chunks that are used together; of each number of units, the pattern.
    let mut ids: FxHashMap<Pattern, usize> = FxHashMap::default();
    let mut fewest: Vec<u64> = Vec::new();
    let rows: Vec<usize> = (1..beyond)
        .map(|units| {
            let next = fewest.len();
            let id = *ids.entry(ends.pattern(units)).or_insert(next);
            if id == next {
                fewest.push(units);
            }
            id
        })
        .collect();
    let id = |chunk: u64| {
        let units = chunk.saturating_mul(together.into());
        let like = if units < beyond { units } else { settled + (units - settled) % period };
        rows.get(like as usize - 1).copied()
    };
    let even = rows.get(period as usize - 1).copied();
    let repeats =
        |first: u64| first.saturating_add(beyond / u64::from(together)).saturating_add(period);
    // Of each pattern, the first number of units of a chunk.
    let first = |from: u64, most: u64| {
        let mut first: Vec<Option<u64>> = vec![None; fewest.len()];
        for units in from..=most.min(repeats(from)) {
            if let Some(row) = id(units).and_then(|id| first.get_mut(id)) {
                row.get_or_insert(units);
            }
        }
        first
    };
    let of_any = first(1, u64::MAX);
    let of_served = first(*served.start(), *served.end());
    let mut found = Vec::new();
    for (id, ((units, parts), cells)) in of_served.into_iter().zip(of_any).zip(&fewest).enumerate()
    {
        let Some(units) = units else { continue };
        // A pattern that the plan serves must not be lost, whatever is wrong with its numbers.
        let parts = parts.and_then(|parts| u32::try_from(parts).ok());
        let numbers = parts.zip(u32::try_from(*cells).ok());
        let (parts, cells) = numbers.ok_or_else(|| ENDS.exceeded())?;
        let grain = Grain::cells_of_chunks(cells, together);
        found.push(Alike { units, parts, grain, is_even: Some(id) == even });
    }
    found.sort_unstable_by_key(|alike: &Alike| alike.units);
    Ok(found)
}
