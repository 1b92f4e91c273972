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
use crate::ir::grain::{Grain, count_chunks_used_together};
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

impl Alike {
    /// How many cells a chunk is cut into.
    fn cells(&self) -> u64 {
        self.grain.cells_of_unit().into()
    }
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
    let together = count_chunks_used_together(program);
    let ends = |relation| Ends::of(program, together, relation);
    let most = |ends: &Ends| ORDERS.amount().saturating_mul(ends.period());
    let exceeded = match relation {
        Relation::Cells => None,
        Relation::Empty => {
            let all = every_pattern(&ends(relation), together, served, u64::MAX)?;
            return Ok(Patterns { all: all.ok_or_else(|| ENDS.exceeded())?, exceeded: None });
        }
        Relation::Order | Relation::Distances => {
            let ends = ends(relation);
            match every_pattern(&ends, together, served.clone(), most(&ends)) {
                Ok(Some(all)) => return Ok(Patterns { all, exceeded: None }),
                Ok(None) => Some(ORDERS.exceeded()),
                Err(exceeded) => Some(exceeded),
            }
        }
    };
    let ends = ends(Relation::Cells);
    let all = every_pattern(&ends, together, served, u64::MAX)?;
    let all = all.ok_or_else(|| ENDS.exceeded())?;
    let most = if exceeded.is_some() { most(&ends) } else { u64::MAX };
    Ok(Patterns { all: covering(&ends, all, most), exceeded })
}

/// A few patterns that have all cells that some pattern has, or, if these would have more than `most_cells` that are not
/// even, the ones of them with the most different cells.
fn covering(ends: &Ends, mut open: Vec<Alike>, most_cells: u64) -> Vec<Alike> {
    let mut left = most_cells;
    let mut known: FxHashSet<Vec<u64>> = FxHashSet::default();
    let mut chosen: Vec<Alike> = Vec::new();
    let cells = |alike: &Alike| ends.cells(alike.cells());
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
        if !alike.is_even {
            let Some(less) = left.checked_sub(alike.cells()) else { break };
            left = less;
        }
        known.extend(cells(&alike));
        chosen.push(alike);
        let mut counts = counts.into_iter().enumerate().filter(|(index, _)| *index != at);
        open.retain(|_| counts.next().is_some_and(|(_, count)| count > 0));
    }
    chosen.sort_unstable_by_key(|alike| alike.units);
    chosen
}

/// Every pattern that these numbers of units make, in their order; none if those that are not even have more than
/// `most_cells`.
fn every_pattern(
    ends: &Ends,
    together: u32,
    served: RangeInclusive<u64>,
    most_cells: u64,
) -> Result<Option<Vec<Alike>>, Exceeded> {
    let (period, settled) = (ends.period(), ends.settled());
    let beyond = settled.saturating_add(period);
    ENDS.allow(beyond.saturating_mul(ends.work()))?;
    // Of each pattern, the fewest units of chunks that are used together; of each number of units, the pattern.
    let mut ids: FxHashMap<Pattern, usize> = FxHashMap::default();
    let mut fewest: Vec<u64> = Vec::new();
    let mut rows: Vec<usize> = Vec::new();
    let even = ends.pattern(period);
    let mut left = most_cells;
    for units in 1..beyond {
        let pattern = ends.pattern(units);
        let (next, is_even) = (fewest.len(), pattern == even);
        let id = *ids.entry(pattern).or_insert(next);
        rows.push(id);
        if id < next {
            continue;
        }
        fewest.push(units);
        // What some message of the plan is known to make already.
        let chunk = units / u64::from(together.max(1));
        if !is_even && chunk * u64::from(together) == units && served.contains(&chunk) {
            let Some(less) = left.checked_sub(units) else { return Ok(None) };
            left = less;
        }
    }
    let id = |chunk: u64| {
        let units = chunk.saturating_mul(together.into());
        let like = if units < beyond { units } else { settled + (units - settled) % period };
        rows.get(like as usize - 1).copied()
    };
    let even = ids.get(&even).copied();
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
    let uneven = found.iter().filter(|alike| !alike.is_even).map(Alike::cells).sum::<u64>();
    found.sort_unstable_by_key(|alike: &Alike| alike.units);
    Ok((uneven <= most_cells).then_some(found))
}
