//! The memory of all ranks.
//!
//! A packet is 16 bytes: four of data, the number of the launch, four of data, the number again. If scratch
//! has two halves, launches alternate between them. Memory suffices for the largest message; smaller ones use the first
//! part of each buffer, and of each half.

use super::Writer;
use super::data::USERS;
use super::sizes::Sizes;
use crate::events::MemoryExtent;
use crate::ir::memory::{accesses, home};
use crate::ir::{Alias, Buffer, Op, Program, Rank, RankId};
use std::ops::Range;

/// What memory holds that nobody has written.
pub(super) const POISON: u8 = 0xee;

/// Bytes of data in a packet.
const PAYLOAD: u64 = 8;

/// A place in a rank's buffer, from byte `offset` on; for packets, offsets count their data only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) rank: RankId,
    pub(super) buffer: Buffer,
    /// The buffer by which the author names it: in place, another one may hold it.
    pub(super) named: Buffer,
    pub(super) offset: u64,
}

impl From<MemoryExtent> for Spot {
    /// The place of the extent's first element.
    fn from(extent: MemoryExtent) -> Spot {
        let MemoryExtent { rank, buffer, named, start, .. } = extent;
        Spot { rank, buffer, named, offset: start }
    }
}

impl Spot {
    /// The place so many bytes further on.
    pub(super) fn ahead(self, bytes: u64) -> Spot {
        Spot { offset: self.offset + bytes, ..self }
    }
}

/// Bytes of a rank's memory, whatever the name by which they are accessed.
#[derive(Debug)]
pub(super) struct Stretch {
    rank: RankId,
    buffer: Buffer,
    bytes: Range<usize>,
}

impl Stretch {
    /// The bytes that are also in another one, counted from the beginning of each; none if there are none.
    pub(super) fn overlap(&self, other: &Stretch) -> Option<(Range<usize>, Range<usize>)> {
        if (self.rank, self.buffer) != (other.rank, other.buffer) {
            return None;
        }
        let start = self.bytes.start.max(other.bytes.start);
        let end = self.bytes.end.min(other.bytes.end);
        let from = |begin: usize| start - begin..end - begin;
        (start < end).then(|| (from(self.bytes.start), from(other.bytes.start)))
    }
}

/// An access that leaves its buffer.
pub(super) struct OutOfBounds;

/// All ranks' memory.
pub(super) struct Memory {
    ranks: Vec<RankMemory>,
    sizes: Sizes,
    watch: Option<Watch>,
}

struct RankMemory {
    alias: Option<Alias>,
    input: Region,
    output: Region,
    scratch: Region,
    /// The distance to the second half of scratch; 0 if there is one half.
    half: u64,
}

/// The memory of a buffer.
struct Region {
    bytes: Vec<u8>,
    /// How many chunks a launch uses, where a chunk of packets counts as two.
    chunks: u64,
}

/// Bytes of an output for which it is recorded who writes them in one launch of its rank.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    rank: RankId,
    launch: u32,
    offset: u64,
    bytes: u64,
    /// Whether that launch is running.
    on: bool,
    pub(super) writers: Vec<Writer>,
}

impl Watch {
    pub(super) fn new(rank: RankId, launch: u32, offset: u64, bytes: u64) -> Watch {
        Watch { rank, launch, offset, bytes, on: false, writers: Vec::new() }
    }
}

/// The size of the memory of all ranks in bytes.
pub(super) fn bytes(program: &Program, chunk_bytes: u64) -> u64 {
    let factor = packet_factor(program) * halves(program);
    let of = |rank: &Rank| {
        let inner = rank.alias.map(|alias| alias.inner);
        let users = USERS.iter().filter(|buffer| Some(**buffer) != inner);
        users.map(|buffer| u64::from(rank.chunks(*buffer))).sum::<u64>()
            + factor * u64::from(rank.scratch_chunks)
    };
    program.ranks.iter().map(of).sum::<u64>().saturating_mul(chunk_bytes)
}

/// How many chunks of memory each chunk of scratch takes in one half.
fn packet_factor(program: &Program) -> u64 {
    let mut transfers = program.all_ops().filter_map(Op::transfer);
    let packets = transfers.any(|transfer| accesses(transfer).any(|access| access.packets));
    if packets { 2 } else { 1 }
}

fn halves(program: &Program) -> u64 {
    if program.options.double_scratch { 2 } else { 1 }
}

impl Memory {
    pub(super) fn new(program: &Program, sizes: Sizes, watch: Option<Watch>) -> Memory {
        let (factor, halves, chunk_bytes) =
            (packet_factor(program), halves(program), sizes.largest());
        let fresh = |rank: &Rank| {
            let inner = rank.alias.map(|alias| alias.inner);
            let region = |buffer, factor, halves| {
                let held = inner != Some(buffer);
                let chunks = if held { u64::from(rank.chunks(buffer)) * factor } else { 0 };
                Region { bytes: vec![POISON; (chunks * halves * chunk_bytes) as usize], chunks }
            };
            let scratch = region(Buffer::Scratch, factor, halves);
            RankMemory {
                alias: rank.alias,
                input: region(Buffer::Input, 1, 1),
                output: region(Buffer::Output, 1, 1),
                half: (halves - 1) * scratch.chunks * chunk_bytes,
                scratch,
            }
        };
        Memory { ranks: program.ranks.iter().map(fresh).collect(), sizes, watch }
    }

    /// Where the bytes of an access are; those of packets have flags in between.
    pub(super) fn stretch(
        &self,
        spot: Spot,
        bytes: u64,
        packets: bool,
        launch: u32,
    ) -> Result<Stretch, OutOfBounds> {
        let factor = if packets { 2 } else { 1 };
        let (buffer, bytes) = self.home(spot, factor, factor * bytes, launch)?;
        Ok(Stretch { rank: spot.rank, buffer, bytes })
    }

    /// Reads plain bytes.
    pub(super) fn read(&self, spot: Spot, bytes: u64, launch: u32) -> Result<&[u8], OutOfBounds> {
        self.at(spot, 1, bytes, launch)
    }

    /// Writes plain bytes.
    pub(super) fn write(
        &mut self,
        spot: Spot,
        bytes: &[u8],
        launch: u32,
        writer: Writer,
    ) -> Result<(), OutOfBounds> {
        self.note(spot, bytes.len() as u64, writer);
        self.place(spot, 1, bytes.len() as u64, launch)?.copy_from_slice(bytes);
        Ok(())
    }

    /// Reads the data of packets of a launch, up to the first packet that is not there.
    pub(super) fn packets(
        &self,
        spot: Spot,
        bytes: u64,
        launch: u32,
    ) -> Result<Vec<u8>, OutOfBounds> {
        let words = self.at(spot, 2, 2 * bytes, launch)?;
        let mut data = Vec::with_capacity(bytes as usize);
        for [a, b, c, d, f0, f1, f2, f3] in words.as_chunks().0 {
            if u32::from_le_bytes([*f0, *f1, *f2, *f3]) != flag(launch) {
                break;
            }
            data.extend_from_slice(&[*a, *b, *c, *d]);
        }
        Ok(data)
    }

    /// Writes packets of a launch.
    pub(super) fn write_packets(
        &mut self,
        spot: Spot,
        data: &[u8],
        launch: u32,
    ) -> Result<(), OutOfBounds> {
        let words = self.place(spot, 2, 2 * data.len() as u64, launch)?;
        for (to, from) in words.as_chunks_mut().0.iter_mut().zip(data.as_chunks().0) {
            let ([a, b, c, d], [f0, f1, f2, f3]) = (*from, flag(launch).to_le_bytes());
            *to = [a, b, c, d, f0, f1, f2, f3];
        }
        Ok(())
    }

    /// Copies bytes as they are, for a proxy; packets with the launch numbers in them.
    pub(super) fn copy(
        &mut self,
        (from, to): (Spot, Spot),
        bytes: u64,
        packets: bool,
        launch: u32,
        writer: Writer,
    ) -> Result<(), OutOfBounds> {
        let factor = if packets { 2 } else { 1 };
        let moved = self.at(from, factor, factor * bytes, launch)?.to_vec();
        self.note(to, bytes, writer);
        self.place(to, factor, factor * bytes, launch)?.copy_from_slice(&moved);
        Ok(())
    }

    /// All that a launch has of a rank's output, which may be a part of another buffer.
    pub(super) fn output(&self, id: RankId, rank: &Rank, launch: u32) -> &[u8] {
        let (spot, bytes) = self.whole((id, Buffer::Output), rank, launch);
        self.read(spot, bytes, launch).unwrap_or_default()
    }

    /// All that a launch has of a rank's buffer, for its user to write.
    pub(super) fn for_user(
        &mut self,
        (id, buffer): (RankId, Buffer),
        rank: &Rank,
        launch: u32,
    ) -> &mut [u8] {
        let (spot, bytes) = self.whole((id, buffer), rank, launch);
        self.place(spot, 1, bytes, launch).unwrap_or_default()
    }

    fn whole(&self, (id, buffer): (RankId, Buffer), rank: &Rank, launch: u32) -> (Spot, u64) {
        let bytes = u64::from(rank.chunks(buffer)) * self.sizes.chunk_bytes(launch);
        (Spot { rank: id, buffer, named: buffer, offset: 0 }, bytes)
    }

    /// Notes that a launch of a rank begins, or ends.
    pub(super) fn launched(&mut self, rank: RankId, launch: u32, on: bool) {
        if let Some(watch) = self.watch.as_mut().filter(|watch| watch.rank == rank) {
            watch.on = on && watch.launch == launch;
        }
    }

    /// The writers of the watched bytes.
    pub(super) fn writers(&mut self) -> Vec<Writer> {
        self.watch.as_mut().map(|watch| std::mem::take(&mut watch.writers)).unwrap_or_default()
    }

    fn note(&mut self, spot: Spot, bytes: u64, writer: Writer) {
        let alias = self.rank(spot.rank).ok().and_then(|rank| rank.alias);
        let Some(watch) = self.watch.as_mut().filter(|w| w.on && w.rank == spot.rank) else {
            return;
        };
        let chunk_bytes = self.sizes.chunk_bytes(watch.launch);
        let real = |buffer, offset| {
            let (buffer, chunks) = home(alias, buffer, 0);
            (buffer, chunks * chunk_bytes + offset)
        };
        let (watched, start) = real(Buffer::Output, watch.offset);
        let (buffer, from) = real(spot.buffer, spot.offset);
        if watched == buffer && from < start + watch.bytes && start < from + bytes {
            watch.writers.push(writer);
        }
    }

    fn rank(&self, rank: RankId) -> Result<&RankMemory, OutOfBounds> {
        self.ranks.get(rank.0 as usize).ok_or(OutOfBounds)
    }

    /// The buffer in which a place is stored, and the bytes there. They lie within what the launch has of the buffer.
    fn home(
        &self,
        spot: Spot,
        factor: u64,
        bytes: u64,
        launch: u32,
    ) -> Result<(Buffer, Range<usize>), OutOfBounds> {
        let rank = self.rank(spot.rank)?;
        let chunk_bytes = self.sizes.chunk_bytes(launch);
        let (buffer, chunks) = home(rank.alias, spot.buffer, 0);
        let from = chunks * chunk_bytes + factor * spot.offset;
        let to = from.saturating_add(bytes);
        if to > rank.region(buffer).chunks * chunk_bytes {
            return Err(OutOfBounds);
        }
        let half = if buffer == Buffer::Scratch { u64::from(launch % 2) * rank.half } else { 0 };
        Ok((buffer, (half + from) as usize..(half + to) as usize))
    }

    fn at(&self, spot: Spot, factor: u64, bytes: u64, launch: u32) -> Result<&[u8], OutOfBounds> {
        let (buffer, range) = self.home(spot, factor, bytes, launch)?;
        self.rank(spot.rank)?.region(buffer).bytes.get(range).ok_or(OutOfBounds)
    }

    fn place(
        &mut self,
        spot: Spot,
        factor: u64,
        bytes: u64,
        launch: u32,
    ) -> Result<&mut [u8], OutOfBounds> {
        let (buffer, range) = self.home(spot, factor, bytes, launch)?;
        let rank = self.ranks.get_mut(spot.rank.0 as usize).ok_or(OutOfBounds)?;
        rank.region_mut(buffer).bytes.get_mut(range).ok_or(OutOfBounds)
    }
}

/// The number that stands for a launch in packets.
fn flag(launch: u32) -> u32 {
    launch.wrapping_add(1)
}

/// The page of a rank's scratch in which a packet is, for agents that wait for it.
pub(super) fn page(spot: Spot) -> u64 {
    spot.offset / PAGE
}

/// The pages in which packets are.
pub(super) fn pages(spot: Spot, bytes: u64) -> std::ops::RangeInclusive<u64> {
    page(spot)..=page(spot.ahead(bytes.saturating_sub(1)))
}

/// The size of a page, in bytes of packets' data.
const PAGE: u64 = 512 * PAYLOAD;

impl RankMemory {
    fn region(&self, buffer: Buffer) -> &Region {
        match buffer {
            Buffer::Input => &self.input,
            Buffer::Output => &self.output,
            Buffer::Scratch => &self.scratch,
        }
    }

    fn region_mut(&mut self, buffer: Buffer) -> &mut Region {
        match buffer {
            Buffer::Input => &mut self.input,
            Buffer::Output => &mut self.output,
            Buffer::Scratch => &mut self.scratch,
        }
    }
}
