//! The sizes of chunks that make different numbers of windows.
//!
//! In: a program with pipelines, and the numbers of units that a chunk may have. Out: sizes of chunks between that of a single
//! window and the one that the program is checked with, one for each way in which windows tile chunks. A message that goes
//! through few windows of one pipeline may go through many of another, and counters that are ahead or behind may order
//! accesses in the first windows only, or in later ones only.
//!
//! * Where windows end changes with the size `c` of a chunk only where some number of windows has the size of some number of
//!   chunks: at `c = j * unit / i`. So one size at each of these places, and one between each two, are enough.
//! * Where each chunk is at one distance from the beginning of every operand that windows cut, and no other operation accesses
//!   a part of such an operand, all that matters is through how many windows each pipeline goes.

use super::borders;
use super::budget::{BREAKPOINTS, Exceeded, PARTS, SIZES_OF_WINDOWS, TOLD_APART};
use crate::ir::grain::gcd;
use crate::ir::memory::{accesses, cells};
use crate::ir::pace::measure_pace;
use crate::ir::windows::{ChunkSize, choose_windows};
use crate::ir::{Buffer, Op, Program, RankId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// The sizes of chunks to check.
#[derive(Default)]
pub(super) struct ChunkSizes {
    /// In ascending order.
    pub(super) all: Vec<CheckedSize>,
    /// Why others are left out that may matter, if they are.
    pub(super) exceeded: Option<Exceeded>,
    /// Whether messages are served that go through other numbers of windows than one and those of [`choose_windows`], even if
    /// they need not be checked because these two stand for them.
    pub(super) has_others: bool,
    /// Whether these, what is left out, and the size of a single window are all that the plan serves.
    pub(super) is_complete: bool,
    /// Whether the plan serves only messages that go through more windows than those of [`choose_windows`], and many more.
    pub(super) are_longer: bool,
}

/// A size of chunks to check.
pub(super) struct CheckedSize {
    /// The size to check with.
    pub(super) like: ChunkSize,
    /// A size in bytes that is served and has the same windows.
    pub(super) served: u64,
    /// The most windows that a pipeline goes through.
    pub(super) windows: u64,
}

/// Chunks that windows tile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Tiling {
    /// The size of a window, in bytes.
    unit: u64,
    /// How many chunks there are.
    chunks: u64,
}

/// Plans that serve only larger sizes than the one that is usually checked are checked for all that they serve, if these are
/// at most so many times larger. Otherwise the usual size is checked, with fewer windows: that may refuse what is right, and
/// accepts nothing more.
const FURTHER: u64 = 8;

/// The sizes between that of one window and that of [`choose_windows`]. Where the plan serves none as large as the latter, or
/// only slightly larger ones, the sizes that it serves. `served` is in units of `alignment` bytes.
pub(super) fn sizes(program: &Program, served: &RangeInclusive<u64>, alignment: u64) -> ChunkSizes {
    let tilings = Tilings { all: tilings(program), is_aligned: is_aligned(program) };
    let least = ChunkSize { size: served.start().saturating_mul(alignment), scale: 1 };
    // What a number of windows allows, the fewest or the most of them do. The fewest are a single one, if that is served.
    let is_uniform = tilings.all.len() == 1 && tilings.is_aligned;
    let is_once = tilings.all.iter().all(|tiling| tiling.windows(least) == 1);
    let sizes = all_sizes(program, served, alignment, &tilings);
    if is_uniform && is_once && measure_pace(program).behind == 0 && !sizes.is_complete {
        let ChunkSizes { has_others, are_longer, .. } = sizes;
        return ChunkSizes { has_others, are_longer, ..ChunkSizes::default() };
    }
    sizes
}

/// All sizes that windows tile in other ways than a single one does, and those of [`choose_windows`].
fn all_sizes(
    program: &Program,
    served: &RangeInclusive<u64>,
    alignment: u64,
    tilings: &Tilings,
) -> ChunkSizes {
    let windows = choose_windows(program);
    let Some(checked) = windows.bytes(1) else { return ChunkSizes::default() };
    let bytes = |units: u64| units.saturating_mul(alignment);
    let (least, most) = (bytes(*served.start()), bytes(*served.end()));
    let is_complete = most < checked || least > checked && most <= checked.saturating_mul(FURTHER);
    let wanted = least..=if is_complete { most } else { checked - 1 };
    let unit = tilings.all.iter().fold(0, |unit, tiling| gcd(unit, tiling.unit));
    let mut seen: FxHashSet<Vec<u64>> = FxHashSet::default();
    let mut known = vec![ChunkSize { size: 1, scale: 1 }];
    if !is_complete {
        known.push(windows.chunk_size());
    }
    known.retain(|size| tilings.followed(*size) <= TOLD_APART.amount());
    seen.extend(known.into_iter().map(|size| tilings.signature(size)));
    let breakpoints = tilings.breakpoints(&wanted);
    let exceeded = breakpoints.exceeded;
    let are_longer = least > checked && !is_complete;
    let mut sizes = ChunkSizes { exceeded, is_complete, are_longer, ..ChunkSizes::default() };
    let mut left = TOLD_APART.amount();
    for (like, served) in candidates(&breakpoints.all, &wanted, alignment) {
        let Some(less) = left.checked_sub(tilings.followed(like)) else {
            sizes.exceeded = Some(TOLD_APART.exceeded());
            break;
        };
        left = less;
        if !seen.insert(tilings.signature(like)) {
            continue;
        }
        if let Err(exceeded) = SIZES_OF_WINDOWS.allow(sizes.all.len() as u64 + 1) {
            sizes.exceeded = Some(exceeded);
            break;
        }
        let part = gcd(like.size, unit.saturating_mul(like.scale)).max(1);
        if let Err(exceeded) = PARTS.allow(like.size / part) {
            sizes.exceeded = Some(exceeded);
            continue;
        }
        let windows = tilings.all.iter().map(|tiling| tiling.windows(like)).max().unwrap_or(1);
        sizes.all.push(CheckedSize { like, served, windows });
    }
    sizes.has_others = !sizes.all.is_empty() || sizes.exceeded.is_some();
    sizes
}

impl Tiling {
    /// How many windows there are in chunks of a size.
    fn windows(self, chunk: ChunkSize) -> u64 {
        let all = self.chunks.saturating_mul(chunk.size);
        all.div_ceil(self.unit.saturating_mul(chunk.scale).max(1)).max(1)
    }
}

/// What windows tile: the chunks of pipelines, and of the operands in them.
fn tilings(program: &Program) -> BTreeSet<Tiling> {
    let mut tilings = BTreeSet::new();
    for pipeline in program.all_ops().filter_map(Op::pipeline) {
        let tiling =
            |chunks: u32| Tiling { unit: pipeline.unit.max(1), chunks: chunks.max(1).into() };
        tilings.insert(tiling(pipeline.chunks));
        let transfers = pipeline.body.iter().filter_map(Op::transfer);
        tilings.extend(transfers.flat_map(|one| one.operands()).map(|one| tiling(one.size)));
    }
    tilings
}

/// Whether each chunk that is written is at one distance from the beginning of every operand that windows cut, and no other
/// operation accesses a part of such an operand: where chunks end then makes no difference to a window.
fn is_aligned(program: &Program) -> bool {
    let mut buffers: FxHashMap<(RankId, Buffer), Accesses> = FxHashMap::default();
    for (here, rank) in program.ranks.entries() {
        for op in rank.blocks.iter().flat_map(|block| &block.ops) {
            let tiled = op.pipeline().map(|pipeline| &pipeline.body);
            let ops = tiled.map_or(std::slice::from_ref(op), Vec::as_slice);
            for access in ops.iter().filter_map(Op::transfer).flat_map(accesses) {
                let operand = borders::whole_chunks(&access);
                for extent in cells(&program.ranks, here, operand, access.packets) {
                    let of_buffer = buffers.entry((extent.rank, extent.buffer)).or_default();
                    let extent =
                        TiledExtent { start: extent.start, end: extent.end, write: access.write };
                    match tiled {
                        Some(_) => of_buffer.tiled.push(extent),
                        None => of_buffer.add_whole(extent),
                    }
                }
            }
        }
    }
    buffers.into_values().all(Accesses::are_aligned)
}

/// How a buffer is accessed.
#[derive(Default)]
struct Accesses {
    /// In pipelines.
    tiled: Vec<TiledExtent>,
    /// Where other operations begin and end to write.
    ends_of_writes: BTreeSet<u64>,
    /// Where other operations begin and end to read.
    ends_of_reads: BTreeSet<u64>,
}

impl Accesses {
    /// Adds an access outside of pipelines.
    fn add_whole(&mut self, extent: TiledExtent) {
        let ends = if extent.write { &mut self.ends_of_writes } else { &mut self.ends_of_reads };
        ends.extend([extent.start, extent.end]);
    }

    fn are_aligned(mut self) -> bool {
        self.tiled.sort_unstable();
        self.tiled.dedup();
        let is_cut = |cut: &TiledExtent| {
            let inside = |ends: &BTreeSet<u64>| ends.range(cut.start + 1..cut.end).next().is_some();
            inside(&self.ends_of_writes) || cut.write && inside(&self.ends_of_reads)
        };
        if self.tiled.iter().any(is_cut) {
            return false;
        }
        let mut last: Option<TiledExtent> = None;
        self.tiled.into_iter().all(|cut| {
            let meets = last.filter(|before| before.end > cut.start);
            let is_apart =
                meets.is_none_or(|before| before.start == cut.start || !before.write && !cut.write);
            last = Some(match meets {
                Some(before) => TiledExtent {
                    start: cut.start,
                    end: before.end.max(cut.end),
                    write: before.write || cut.write,
                },
                None => cut,
            });
            is_apart
        })
    }
}

/// Consecutive chunks of a buffer that windows tile.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TiledExtent {
    start: u64,
    end: u64,
    write: bool,
}

/// What windows tile in a program.
struct Tilings {
    all: BTreeSet<Tiling>,
    is_aligned: bool,
}

/// Sizes at which windows and chunks end together.
struct Breakpoints {
    /// In ascending order.
    all: Vec<ChunkSize>,
    /// Why there are more, if there are.
    exceeded: Option<Exceeded>,
}

/// So many breakpoints of each number of chunks are looked at. That is far more than there are sizes in the budget; which
/// of them make a difference is found only then.
const BREAKPOINTS_OF_CHUNKS: u64 = 1_000;

impl Tilings {
    /// The sizes in a range at which windows and chunks end together, and the last one before them.
    fn breakpoints(&self, wanted: &RangeInclusive<u64>) -> Breakpoints {
        let (mut all, mut exceeded) = (Vec::new(), None);
        let mut left = BREAKPOINTS.amount();
        for tiling in &self.all {
            let first = if self.is_aligned { tiling.chunks } else { 1 };
            for chunks in first..=tiling.chunks {
                let Some(less) = left.checked_sub(1) else {
                    exceeded = Some(BREAKPOINTS.exceeded());
                    break;
                };
                left = less;
                let windows = |size: u64| size.saturating_mul(chunks) / tiling.unit;
                let (least, mut most) = (windows(*wanted.start()).max(1), windows(*wanted.end()));
                if most.saturating_sub(least) > BREAKPOINTS_OF_CHUNKS {
                    most = least + BREAKPOINTS_OF_CHUNKS;
                    exceeded = Some(SIZES_OF_WINDOWS.exceeded());
                }
                left = left.saturating_sub(most.saturating_sub(least));
                all.extend((least..=most).map(|windows| ChunkSize {
                    size: windows.saturating_mul(tiling.unit),
                    scale: chunks,
                }));
            }
        }
        all.sort_unstable_by(|one, other| compare(*one, *other));
        all.dedup_by(|one, other| compare(*one, *other) == Ordering::Equal);
        Breakpoints { all, exceeded }
    }

    /// How many windows a signature follows.
    fn followed(&self, chunk: ChunkSize) -> u64 {
        let windows = self.all.iter().map(|tiling| tiling.windows(chunk));
        if self.is_aligned { self.all.len() as u64 } else { windows.fold(0, u64::saturating_add) }
    }

    /// How windows tile chunks of a size: how many there are, and, unless all that matters is their number, in which chunk each
    /// of them ends, and in which order the places of these ends follow each other.
    fn signature(&self, chunk: ChunkSize) -> Vec<u64> {
        let mut signature: Vec<u64> = self.all.iter().map(|tiling| tiling.windows(chunk)).collect();
        if self.is_aligned {
            return signature;
        }
        let size = chunk.size.max(1);
        let ends: Vec<u64> = self
            .all
            .iter()
            .zip(&signature)
            .flat_map(|(tiling, windows)| {
                let unit = tiling.unit.saturating_mul(chunk.scale);
                (1..*windows).map(move |at| at.saturating_mul(unit))
            })
            .collect();
        let places: BTreeSet<u64> = ends.iter().map(|end| end % size).chain([0]).collect();
        let places: Vec<u64> = places.into_iter().collect();
        let rank = |place: u64| places.partition_point(|one| *one < place) as u64;
        signature.extend(ends.iter().flat_map(|end| [end / size, rank(end % size)]));
        signature
    }
}

fn compare(one: ChunkSize, other: ChunkSize) -> Ordering {
    let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
    product(one.size, other.scale).cmp(&product(other.size, one.scale))
}

/// Sizes at these breakpoints and between them, each with a wanted size, in bytes, that windows tile alike.
fn candidates(
    breakpoints: &[ChunkSize],
    wanted: &RangeInclusive<u64>,
    alignment: u64,
) -> Vec<(ChunkSize, u64)> {
    let mut found = Vec::new();
    let least = wanted.start().div_ceil(alignment).saturating_mul(alignment);
    for (at, one) in breakpoints.iter().enumerate() {
        let bytes = one.size / one.scale;
        let is_whole = one.size.is_multiple_of(one.scale) && bytes.is_multiple_of(alignment);
        if is_whole && wanted.contains(&bytes) {
            found.push((*one, bytes));
        }
        // The first wanted size behind it.
        let next = (bytes / alignment + 1).saturating_mul(alignment).max(least);
        let exact = ChunkSize { size: next, scale: 1 };
        let end = breakpoints.get(at + 1);
        let is_before = end.is_none_or(|end| compare(exact, *end) == Ordering::Less);
        if wanted.contains(&next) && is_before {
            found.push((end.map_or(exact, |end| middle(*one, *end)), next));
        }
    }
    found
}

/// The middle of two sizes, which has few parts where they have.
fn middle(one: ChunkSize, other: ChunkSize) -> ChunkSize {
    let scale = one.scale.saturating_mul(other.scale).saturating_mul(2);
    let size =
        one.size.saturating_mul(other.scale).saturating_add(other.size.saturating_mul(one.scale));
    let common = gcd(size, scale).max(1);
    ChunkSize { size: size / common, scale: scale / common }
}
