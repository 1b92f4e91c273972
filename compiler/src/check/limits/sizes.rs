//! The message sizes that a plan can serve.
//!
//! In: the ranks of the final program and the author's range. Out: the range that the plan gets, in bytes of what the
//! executor compares (the output of an allgather, otherwise the input), and what is wrong with the author's.
//!
//! A chunk has the same number of bytes on every rank and in every buffer, a multiple of the alignment. At the largest
//! message size:
//!
//! * no operand ends at or beyond 2^32 bytes of its buffer, or 2^31 if it is packets: the executor counts offsets in 32
//!   bits, and a packet takes up twice its payload;
//! * under `double_scratch` without `reuse_resources`, the second half of scratch begins below 2^32 bytes, with room
//!   for its packets. The executor sizes scratch by the allocation that contains the input, up to the largest message,
//!   whatever is sent;
//! * under `reuse_resources`, all chunks of scratch fit in the 64 MiB (32 MiB with `double_scratch`) that the executor
//!   divides into slots. It has 128 MiB, but packets take up twice their payload: beyond that, slots overlap;
//! * a pipeline has at most 65,535 windows; and under `reuse_resources` its chunks fit in a slot of scratch, since
//!   there the executor begins again at the slot's first byte. Where [`ring`] shows that no window is overwritten
//!   before it is read, the two limits under `reuse_resources` do not apply.

mod report;

use super::super::ring::{self, Ring, Unsafe};
use super::findings::place_at;
use super::terms::Terms;
use crate::bytes;
use crate::diagnostic::Diagnostic;
use crate::ir;
use crate::ir::memory::{reads_packets, writes_packets};
use crate::ir::scratch::{REUSED_SCRATCH, ScratchChunks};
use report::{
    empty_range, endless, few_units, least_too_large, much_scratch, nothing_fits, ring_note,
    rounded, too_large,
};

/// The most windows of a pipeline that the executor can count.
const WINDOWS: u64 = ir::MOST_WINDOWS as u64;

/// The end of the range of least sizes: the loader reads them as signed 32-bit numbers.
const LEAST_END: u64 = 1 << 31;

/// As much scratch as the executor allocates for all plans with `reuse_resources`. More is worth a note.
const USUAL_SCRATCH: u128 = 1 << 27;

/// The range of sizes that a plan gets, all of them multiples of `unit`.
#[derive(Clone, Copy)]
struct Range {
    min: u64,
    max: u64,
    unit: u64,
}

/// The reason for a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Offset,
    Packets,
    Half,
    Slots,
    Ring(Unsafe),
    /// It could be larger if windows filled a slot evenly. They would with this many chunks of scratch; 0 if not with
    /// any number up to twice as many.
    Uneven {
        chunks: u64,
    },
    Windows,
}

/// A bound on the bytes of a chunk, and where it comes from.
#[derive(Clone, Copy)]
struct Bound {
    bytes: u64,
    reason: Reason,
    rank: ir::RankId,
    origin: Option<ir::OriginId>,
}

/// An operation that is cut into slices.
#[derive(Clone, Copy)]
struct Slicing {
    /// How many units a chunk needs for each slice to have one.
    units: u64,
    rank: ir::RankId,
    origin: ir::OriginId,
}

/// The bounds from the ranks seen so far.
#[derive(Default)]
pub(super) struct Bounds {
    least: Option<Bound>,
    /// The fewest chunks of what the executor compares, on any rank, and the most.
    compared: Option<u32>,
    most_compared: u32,
    /// The chunks of the rank that needs the most scratch for messages of one size.
    widest: Option<ScratchChunks>,
    /// The farthest end of a plain operand and of packets, in chunks.
    plain_end: u64,
    packets_end: u64,
    /// The operation whose chunks need the most units for each of its slices to have one.
    finest: Option<Slicing>,
    /// The properties that a slot of scratch must have for pipelines to wrap around in it; none where they may not.
    ring: Option<Result<Ring, Unsafe>>,
}

/// The rank that is checked.
#[derive(Clone, Copy)]
struct Site<'a> {
    program: &'a ir::Program,
    id: ir::RankId,
    rank: &'a ir::Rank,
}

impl Bounds {
    pub(super) fn new(program: &ir::Program) -> Bounds {
        Bounds { ring: Some(ring::ring(program)), ..Bounds::default() }
    }

    pub(super) fn rank(&mut self, program: &ir::Program, id: ir::RankId, rank: &ir::Rank) {
        let options = &program.options;
        let message = program.collective.message();
        let compared = rank.chunks(message);
        if compared > 0 {
            self.compared = Some(self.compared.map_or(compared, |fewest| fewest.min(compared)));
        }
        self.most_compared = self.most_compared.max(compared);
        let chunks = ScratchChunks::of(rank);
        if self.widest.is_none_or(|widest| needs_more(chunks, widest)) {
            self.widest = Some(chunks);
        }
        for op in rank.blocks.iter().flat_map(|block| &block.ops) {
            self.op(Site { program, id, rank }, op);
        }
        if rank.scratch_chunks == 0 {
            return;
        }
        if options.reuse_resources {
            if !self.wraps(program, rank) {
                self.bound(slot(options, rank), Reason::Slots, id, None);
            }
        } else if options.double_scratch {
            let compared = most_compared(program, id, rank);
            self.bound(half(options, compared, rank), Reason::Half, id, None);
        }
    }

    fn op(&mut self, site: Site<'_>, op: &ir::Op) {
        if let Some(transfer) = op.transfer() {
            return self.transfer(site, transfer, op.origin, None);
        }
        let Some(pipeline) = op.pipeline() else { return };
        let bytes = WINDOWS.saturating_mul(pipeline.unit) / u64::from(pipeline.chunks.max(1));
        self.bound(bytes, Reason::Windows, site.id, Some(op.origin));
        for inner in &pipeline.body {
            if let Some(transfer) = inner.transfer() {
                self.transfer(site, transfer, inner.origin, Some(pipeline));
            }
        }
    }

    fn transfer(
        &mut self,
        Site { program, id, rank }: Site<'_>,
        transfer: &ir::Transfer,
        origin: ir::OriginId,
        within: Option<&ir::Pipeline>,
    ) {
        if let Some(slice) = transfer.slice {
            for operand in transfer.operands() {
                let units = u64::from(slice.count).div_ceil(u64::from(operand.size.max(1)));
                if units > self.finest.map_or(1, |finest| finest.units) {
                    self.finest = Some(Slicing { units, rank: id, origin });
                }
            }
        }
        let sources = (0..)
            .zip(&transfer.sources)
            .map(|(k, operand)| (reads_packets(transfer.verb, k), operand));
        let destinations = (0..)
            .zip(&transfer.destinations)
            .map(|(k, operand)| (writes_packets(transfer.verb, k), operand));
        for (packets, operand) in sources.chain(destinations) {
            let end = u64::from(operand.index) + u64::from(operand.size);
            let farthest = if packets { &mut self.packets_end } else { &mut self.plain_end };
            if end > *farthest {
                *farthest = end;
                let (space, reason) = if packets {
                    (1_u64 << 31, Reason::Packets)
                } else {
                    (1_u64 << 32, Reason::Offset)
                };
                self.bound((space - 1) / end, reason, id, Some(origin));
            }
            let ring = program.options.reuse_resources && operand.buffer == ir::Buffer::Scratch;
            if let Some(pipeline) = within.filter(|_| ring && !self.wraps(program, rank)) {
                let bytes = slot(&program.options, rank) / u64::from(pipeline.chunks.max(1));
                self.bound(bytes, self.why_not_around(program, rank), id, Some(origin));
            }
        }
    }

    /// Whether the pipelines of a rank may wrap around in its slots of scratch.
    fn wraps(&self, program: &ir::Program, rank: &ir::Rank) -> bool {
        let whole = space(&program.options).is_multiple_of(u64::from(rank.scratch_chunks.max(1)));
        whole && self.ring().is_ok_and(|ring| ring.is(slot(&program.options, rank)))
    }

    /// Why they may not wrap around.
    fn why_not_around(&self, program: &ir::Program, rank: &ir::Rank) -> Reason {
        let space = space(&program.options);
        let fits =
            |ring: &Ring, chunks: u64| space.is_multiple_of(chunks) && ring.is(space / chunks);
        let chunks = u64::from(rank.scratch_chunks.max(1));
        let ring = match self.ring() {
            Ok(ring) if ring.has_room(slot(&program.options, rank)) => ring,
            Ok(_) => return Reason::Ring(Unsafe::Unproved),
            Err(why) => return Reason::Ring(why),
        };
        let enough = (chunks + 1..=2 * chunks).find(|more| fits(ring, *more));
        Reason::Uneven { chunks: enough.unwrap_or_default() }
    }

    fn ring(&self) -> Result<&Ring, Unsafe> {
        match &self.ring {
            Some(Ok(ring)) => Ok(ring),
            Some(Err(why)) => Err(*why),
            None => Err(Unsafe::Unproved),
        }
    }

    fn bound(
        &mut self,
        bytes: u64,
        reason: Reason,
        rank: ir::RankId,
        origin: Option<ir::OriginId>,
    ) {
        if self.least.is_none_or(|least| bytes < least.bytes) {
            self.least = Some(Bound { bytes, reason, rank, origin });
        }
    }

    /// The range that the plan gets.
    pub(super) fn finish(&self, program: &ir::Program) -> (u64, u64, Vec<Diagnostic>) {
        let (options, terms) = (&program.options, Terms::of(program));
        let alignment = u64::from(options.alignment.max(1));
        let chunks = u64::from(self.compared.unwrap_or(1));
        let unit = alignment * chunks;
        let largest = match self.least {
            Some(bound) => {
                (bound.bytes / alignment * alignment).saturating_mul(chunks) / unit * unit
            }
            None => u64::MAX / unit * unit,
        };
        let mut found = Vec::new();
        let asked_max = options.max_message_size;
        if largest == 0 {
            found.push(self.at_bound(program, nothing_fits(terms)));
        } else if let Some(max) = asked_max.filter(|max| *max > largest) {
            let report = too_large(terms, max, largest, self.reason());
            found.push(self.at_author(program, report, largest));
        }
        let max = asked_max.map_or(largest, |max| (max / unit * unit).min(largest));
        let asked_min = options.min_message_size;
        let min = asked_min.map_or(unit, |min| min.max(1).div_ceil(unit).saturating_mul(unit));
        if found.is_empty() {
            found.extend(range_fault((options, terms), (min, max), unit, (largest, self.reason())));
        }
        if found.is_empty() {
            found.extend(rounded((options, terms), (min, max), unit));
            found.extend(self.bound_note(program, terms, largest));
            found.extend(self.scratch_note(program, terms, Range { min, max, unit }));
            found.extend(self.slices_note(program, terms, Range { min, max, unit }));
        }
        (min.min(max), max, found)
    }

    /// The report where messages have a bound and nobody has set an upper end. For a program from source the compiler sets
    /// it, and a note says so where another program would have none. A plan that was read says that it serves any size.
    fn bound_note(&self, program: &ir::Program, terms: Terms, largest: u64) -> Option<Diagnostic> {
        if self.least.is_none() || program.options.max_message_size.is_some() {
            return None;
        }
        let reason = self.reason();
        let report = match (reason, terms) {
            (_, Terms::Plan) => endless(terms, largest, reason),
            (Reason::Ring(_) | Reason::Uneven { .. }, Terms::Source) => {
                ring_note(terms, largest, reason)
            }
            (
                Reason::Offset | Reason::Packets | Reason::Half | Reason::Slots | Reason::Windows,
                Terms::Source,
            ) => return None,
        };
        Some(self.at_bound(program, report))
    }

    /// The note where packets make the executor allocate much scratch, whatever is sent.
    fn scratch_note(
        &self,
        program: &ir::Program,
        terms: Terms,
        range: Range,
    ) -> Option<Diagnostic> {
        let options = &program.options;
        if self.packets_end == 0 {
            return None;
        }
        let chunks = self.widest?;
        let Range { min, max, unit } = range;
        // The executor compares what the largest rank has of a message with the end of the range.
        let (least, most) = (u64::from(self.compared?.max(1)), u64::from(self.most_compared));
        let allocated =
            |bytes: u64| chunks.allocated(options, (bytes / least).saturating_mul(most));
        if allocated(max) <= USUAL_SCRATCH {
            return None;
        }
        // Doubling finds a power of two where sizes are multiples of one.
        let mut enough = unit;
        while allocated(enough.saturating_mul(2)) <= USUAL_SCRATCH {
            enough = enough.saturating_mul(2);
        }
        let fits = enough >= min && allocated(enough) <= USUAL_SCRATCH;
        let note = much_scratch(terms, allocated(max), fits.then_some(enough));
        let place = options.message_size_place.or(program.collective.place);
        Some(place_at(note, place, String::new()))
    }

    /// The note where the plan serves messages in which some slice of an operation gets no unit.
    fn slices_note(
        &self,
        program: &ir::Program,
        terms: Terms,
        Range { min, max, unit }: Range,
    ) -> Option<Diagnostic> {
        let Slicing { units, rank, origin } = self.finest?;
        let least = units.saturating_mul(unit);
        if min >= least {
            return None;
        }
        let note = few_units(terms, least, least <= max);
        Some(at_operation(program, note, rank, Some(origin), "this needs the most"))
    }

    fn reason(&self) -> Reason {
        self.least.map_or(Reason::Offset, |bound| bound.reason)
    }

    /// Places a finding at the operation that sets the bound.
    fn at_bound(&self, program: &ir::Program, diagnostic: Diagnostic) -> Diagnostic {
        let Some(bound) = self.least else { return diagnostic };
        at_operation(program, diagnostic, bound.rank, bound.origin, "this sets the bound")
    }

    /// Places a finding at the author's sizes, with the operation that sets the bound.
    fn at_author(
        &self,
        program: &ir::Program,
        mut diagnostic: Diagnostic,
        largest: u64,
    ) -> Diagnostic {
        let place = program.options.message_size_place;
        if let Some(place) = place {
            diagnostic =
                place_at(diagnostic, Some(place), format!("at most {} here", bytes::text(largest)));
        }
        if self.least.is_some_and(|bound| bound.origin.is_some()) || place.is_none() {
            diagnostic = self.at_bound(program, diagnostic);
        }
        diagnostic
    }
}

/// Places a finding at an operation, with what it is to the finding; at the collective, if the operation has no place.
fn at_operation(
    program: &ir::Program,
    diagnostic: Diagnostic,
    rank: ir::RankId,
    origin: Option<ir::OriginId>,
    role: &str,
) -> Diagnostic {
    let origins = &program.origins;
    let known = origin.filter(|origin| origins.rows.lookup(*origin).is_some());
    let Some(at) = known.map(|origin| origins.at(origin)) else {
        return place_at(diagnostic, program.collective.place, String::new());
    };
    let mut text = format!("{role}, on rank {}", rank.0);
    let values = origin.map(|origin| origins.values(origin)).unwrap_or_default();
    if !values.is_empty() {
        text += &format!(" ({})", values.join(", "));
    }
    place_at(diagnostic, Some(at), text)
}

/// Whether one rank needs more scratch than another for messages of one size.
fn needs_more(one: ScratchChunks, other: ScratchChunks) -> bool {
    let product = |scratch: u32, input: u32| u64::from(scratch) * u64::from(input.max(1));
    product(one.scratch, other.input) > product(other.scratch, one.input)
}

/// The bytes that a chunk of scratch has under `reuse_resources`.
fn slot(options: &ir::Options, rank: &ir::Rank) -> u64 {
    space(options) / u64::from(rank.scratch_chunks.max(1))
}

/// The bytes of scratch that are divided into slots.
fn space(options: &ir::Options) -> u64 {
    if options.double_scratch { REUSED_SCRATCH / 2 } else { REUSED_SCRATCH }
}

/// How many chunks the largest message has, by which the executor sizes scratch: the most that any rank has. Ranks are
/// checked with all their instances, and the program's own may have a single one.
fn most_compared(program: &ir::Program, id: ir::RankId, rank: &ir::Rank) -> u128 {
    let message = program.collective.message();
    let most = u128::from(program.most_message_chunks());
    match program.ranks.lookup(id).map_or(0, |single| single.chunks(message)) {
        0 => most,
        single => most * u128::from(rank.chunks(message)) / u128::from(single),
    }
}

/// The largest chunk for which offsets into the second half of scratch, and into its packets, fit in 32 bits.
fn half(options: &ir::Options, compared: u128, rank: &ir::Rank) -> u64 {
    let packets = if options.protocol == ir::Protocol::Ll { 2 } else { 1 };
    let scratch = u128::from(rank.scratch_chunks) * packets;
    let input = u128::from(rank.input_chunks.max(1));
    // Half of scratch is ceil(largest message / input chunks) * scratch, rounded up to the alignment.
    let space = ((1_u128 << 32) - 1).saturating_sub(scratch + u128::from(options.alignment));
    u64::try_from(space * input / (scratch * (compared + input))).unwrap_or(u64::MAX)
}

/// What is wrong with a range that exceeds no bound.
fn range_fault(
    (options, terms): (&ir::Options, Terms),
    (min, max): (u64, u64),
    unit: u64,
    (largest, reason): (u64, Reason),
) -> Option<Diagnostic> {
    let diagnostic =
        if min >= LEAST_END && options.min_message_size.is_some_and(|min| min <= largest) {
            least_too_large(terms, min)
        } else if options.min_message_size.is_some_and(|min| min > largest) {
            too_large(terms, options.min_message_size.unwrap_or(min), largest, reason)
        } else if min > max {
            empty_range((options, terms), unit)
        } else {
            return None;
        };
    Some(place_at(diagnostic, options.message_size_place, String::new()))
}
