//! The sizes of chunks that make different numbers of windows.
//!
//! In: a program with pipelines, and the numbers of units that a chunk may have. Out: sizes of chunks between that of a single
//! window and the one that the program is checked with, one for each way in which windows divide chunks. A message that goes
//! through few windows of one pipeline may go through many of another, and counters that are ahead or behind may order
//! accesses in the first windows only, or in later ones only.
//!
//! * Where windows end changes with the size `c` of a chunk only where some number of windows has the size of some number of
//!   chunks: at `c = j * unit / i`. So one size at each of these places, and one between each two, are enough.
//! * Where each chunk is at one distance from the beginning of every operand that windows cut, all that matters is through how
//!   many windows each pipeline goes.

use super::budget::{Exceeded, PARTS, SIZES_OF_WINDOWS};
use crate::ir::memory::{accesses, cells};
use crate::ir::run::{self, ChunkSize};
use crate::ir::{Buffer, Op, Program, RankId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// The sizes of chunks to check.
#[derive(Default)]
pub(super) struct Sizes {
    /// In ascending order.
    pub(super) all: Vec<Size>,
    /// Why others are left out that may matter, if they are.
    pub(super) exceeded: Option<Exceeded>,
    /// Whether these, what is left out, and the size of a single window are all that the plan serves.
    pub(super) is_complete: bool,
}

/// A size of chunks.
pub(super) struct Size {
    /// The size to check with.
    pub(super) like: ChunkSize,
    /// A size in bytes that is served and has the same windows.
    pub(super) served: u64,
    /// The most windows that a pipeline goes through.
    pub(super) windows: u64,
}

/// What windows are cut from: so many chunks, in windows of so many bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    unit: u64,
    chunks: u64,
}

/// How often the size that is checked may be exceeded by sizes that are looked at one by one.
const FURTHER: u64 = 8;

/// The sizes between that of one window and that of [`run::windows`]. Where the plan serves none as large as the latter, or
/// only slightly larger ones, the sizes that it serves. `served` is in units of `alignment` bytes.
pub(super) fn sizes(program: &Program, served: &RangeInclusive<u64>, alignment: u64) -> Sizes {
    let windows = run::windows(program);
    let Some(checked) = windows.bytes(1) else { return Sizes::default() };
    let bytes = |units: u64| units.saturating_mul(alignment);
    let (least, most) = (bytes(*served.start()), bytes(*served.end()));
    let is_complete = most < checked || least > checked && most <= checked.saturating_mul(FURTHER);
    let shapes = shapes(program);
    let is_aligned = is_aligned(program);
    let pace = run::pace(program);
    if shapes.len() == 1 && is_aligned && pace.behind == 0 && !is_complete {
        return Sizes::default();
    }
    let limit = if is_complete { most } else { checked - 1 };
    let unit = shapes.iter().fold(0, |unit, shape| run::gcd(unit, shape.unit));
    let places = places(&shapes, is_aligned, limit);
    let mut seen: FxHashSet<Vec<u64>> = FxHashSet::default();
    seen.insert(divided(&shapes, is_aligned, ChunkSize { size: 1, scale: 1 }));
    if !is_complete {
        seen.insert(divided(&shapes, is_aligned, windows.chunk_size()));
    }
    let mut sizes = Sizes { is_complete, ..Sizes::default() };
    for (like, served) in candidates(&places, limit, (least, most), alignment) {
        if !seen.insert(divided(&shapes, is_aligned, like)) {
            continue;
        }
        let allowed = SIZES_OF_WINDOWS.allow(sizes.all.len() as u64 + 1);
        let part = run::gcd(like.size, unit.saturating_mul(like.scale)).max(1);
        if let Err(exceeded) = allowed {
            sizes.exceeded = Some(exceeded);
            break;
        }
        if let Err(exceeded) = PARTS.allow(like.size / part) {
            sizes.exceeded = Some(exceeded);
            continue;
        }
        let windows = shapes.iter().map(|shape| shape.windows(like)).max().unwrap_or(1);
        sizes.all.push(Size { like, served, windows });
    }
    sizes
}

impl Shape {
    /// How many windows there are in chunks of a size.
    fn windows(self, chunk: ChunkSize) -> u64 {
        let all = self.chunks.saturating_mul(chunk.size);
        all.div_ceil(self.unit.saturating_mul(chunk.scale).max(1)).max(1)
    }
}

/// What windows are cut from, of pipelines and of the operands in them.
fn shapes(program: &Program) -> BTreeSet<Shape> {
    let mut shapes = BTreeSet::new();
    for pipeline in program.all_ops().filter_map(Op::pipeline) {
        let shape =
            |chunks: u32| Shape { unit: pipeline.unit.max(1), chunks: chunks.max(1).into() };
        shapes.insert(shape(pipeline.chunks));
        let transfers = pipeline.body.iter().filter_map(Op::transfer);
        shapes.extend(transfers.flat_map(|one| one.operands()).map(|one| shape(one.size)));
    }
    shapes
}

/// Whether each chunk is at one distance from the beginning of every operand that windows of one size cut, if it is written.
fn is_aligned(program: &Program) -> bool {
    let mut operands: FxHashMap<(RankId, Buffer, u64), Vec<Cut>> = FxHashMap::default();
    for (here, rank) in program.ranks.entries() {
        for pipeline in rank.all_ops().filter_map(Op::pipeline) {
            for access in pipeline.body.iter().filter_map(Op::transfer).flat_map(accesses) {
                for extent in cells(&program.ranks, here, access.operand, access.packets) {
                    let key = (extent.rank, extent.buffer, pipeline.unit);
                    let cut = Cut { start: extent.start, end: extent.end, write: access.write };
                    operands.entry(key).or_default().push(cut);
                }
            }
        }
    }
    operands.into_values().all(|mut cuts| {
        cuts.sort_unstable();
        cuts.dedup();
        let mut last: Option<Cut> = None;
        cuts.into_iter().all(|cut| {
            let meets = last.filter(|before| before.end > cut.start);
            let is_apart =
                meets.is_none_or(|before| before.start == cut.start || !before.write && !cut.write);
            last = Some(match meets {
                Some(before) => Cut {
                    start: cut.start,
                    end: before.end.max(cut.end),
                    write: before.write || cut.write,
                },
                None => cut,
            });
            is_apart
        })
    })
}

/// Chunks that windows cut.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cut {
    start: u64,
    end: u64,
    write: bool,
}

/// The sizes up to a limit at which windows and chunks end together, ascending.
fn places(shapes: &BTreeSet<Shape>, is_aligned: bool, limit: u64) -> Vec<ChunkSize> {
    let mut places = Vec::new();
    for shape in shapes {
        let first = if is_aligned { shape.chunks } else { 1 };
        for chunks in first..=shape.chunks {
            // Far more than are checked: what is beyond the budget is said there.
            let most = (limit.saturating_mul(chunks) / shape.unit).min(PLACES);
            places.extend((1..=most).map(|windows| ChunkSize {
                size: windows.saturating_mul(shape.unit),
                scale: chunks,
            }));
        }
    }
    places.sort_unstable_by(|one, other| compare(*one, *other));
    places.dedup_by(|one, other| compare(*one, *other) == Ordering::Equal);
    places
}

/// So many windows of each number of chunks are looked at.
const PLACES: u64 = 1_000;

fn compare(one: ChunkSize, other: ChunkSize) -> Ordering {
    let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
    product(one.size, other.scale).cmp(&product(other.size, one.scale))
}

/// Sizes at these places and between them, each with a size that is served and divided alike.
fn candidates(
    places: &[ChunkSize],
    limit: u64,
    (least, most): (u64, u64),
    alignment: u64,
) -> Vec<(ChunkSize, u64)> {
    let mut found = Vec::new();
    let most = most.min(limit);
    let mut ends = places.iter().copied().skip(1);
    for place in places.iter().copied() {
        let whole = place.size / place.scale;
        let is_served = place.size.is_multiple_of(place.scale)
            && whole.is_multiple_of(alignment)
            && (least..=most).contains(&whole);
        if is_served {
            found.push((place, whole));
        }
        // The first served size behind it.
        let next = (whole / alignment + 1).saturating_mul(alignment);
        let next = next.max(least.div_ceil(alignment).saturating_mul(alignment));
        let end = ends.next();
        let is_before = end
            .is_none_or(|end| compare(ChunkSize { size: next, scale: 1 }, end) == Ordering::Less);
        if next <= most && is_before {
            let between = end.map_or(ChunkSize { size: next, scale: 1 }, |end| middle(place, end));
            found.push((between, next));
        }
    }
    found
}

/// The middle of two sizes, which has few parts where they have.
fn middle(one: ChunkSize, other: ChunkSize) -> ChunkSize {
    let scale = one.scale.saturating_mul(other.scale).saturating_mul(2);
    let size =
        one.size.saturating_mul(other.scale).saturating_add(other.size.saturating_mul(one.scale));
    let common = run::gcd(size, scale).max(1);
    ChunkSize { size: size / common, scale: scale / common }
}

/// How windows divide chunks of a size: how many there are, and, unless all that matters is their number, in which chunk each
/// of them ends, and in which order the places of these ends follow each other.
fn divided(shapes: &BTreeSet<Shape>, is_aligned: bool, chunk: ChunkSize) -> Vec<u64> {
    let numbers = shapes.iter().map(|shape| shape.windows(chunk));
    if is_aligned {
        return numbers.collect();
    }
    let ends: Vec<u64> = shapes
        .iter()
        .zip(numbers)
        .flat_map(|(shape, windows)| {
            let unit = shape.unit.saturating_mul(chunk.scale);
            (1..windows).map(move |at| at.saturating_mul(unit))
        })
        .collect();
    let places: BTreeSet<u64> = ends.iter().map(|end| end % chunk.size.max(1)).chain([0]).collect();
    let rank = |end: u64| places.range(..end % chunk.size.max(1)).count() as u64;
    ends.iter().flat_map(|end| [end / chunk.size.max(1), rank(*end)]).collect()
}
