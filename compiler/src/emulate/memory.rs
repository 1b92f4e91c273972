//! The memory of all ranks.
//!
//! A packet is 16 bytes: four of data, the number of the launch, four of data, the number again. If scratch
//! has two halves, launches alternate between them.

use super::Writer;
use super::data::USERS;
use crate::ir::memory::{accesses, home};
use crate::ir::{Alias, Buffer, Op, Program, Rank, RankId};

/// What memory holds that nobody has written.
const POISON: u8 = 0xee;

/// Bytes of data in a packet.
const PAYLOAD: u64 = 8;

/// A place in a rank's buffer, from byte `offset` on; for packets, offsets count their data only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) rank: RankId,
    pub(super) buffer: Buffer,
    pub(super) offset: u64,
}

impl Spot {
    /// The place so many bytes further on.
    pub(super) fn ahead(self, bytes: u64) -> Spot {
        Spot { offset: self.offset + bytes, ..self }
    }
}

/// An access that leaves its buffer.
pub(super) struct OutOfBounds;

/// All ranks' memory.
pub(super) struct Memory {
    ranks: Vec<RankMemory>,
    chunk_bytes: u64,
    watch: Option<Watch>,
}

struct RankMemory {
    alias: Option<Alias>,
    input: Vec<u8>,
    output: Vec<u8>,
    scratch: Vec<u8>,
    /// The distance to the second half of scratch.
    half: u64,
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
    let factor = scratch_factor(program);
    let of = |rank: &Rank| {
        let inner = rank.alias.map(|alias| alias.inner);
        let users = USERS.iter().filter(|buffer| Some(**buffer) != inner);
        users.map(|buffer| u64::from(rank.chunks(*buffer))).sum::<u64>()
            + factor * u64::from(rank.scratch_chunks)
    };
    program.ranks.iter().map(of).sum::<u64>().saturating_mul(chunk_bytes)
}

/// How many chunks of memory each chunk of scratch takes.
fn scratch_factor(program: &Program) -> u64 {
    let mut transfers = program.all_ops().filter_map(Op::transfer);
    let packets = transfers.any(|transfer| accesses(transfer).any(|access| access.packets));
    (if packets { 2 } else { 1 }) * (if program.options.double_scratch { 2 } else { 1 })
}

impl Memory {
    pub(super) fn new(program: &Program, chunk_bytes: u64, watch: Option<Watch>) -> Memory {
        let factor = scratch_factor(program);
        let fresh = |rank: &Rank| {
            let inner = rank.alias.map(|alias| alias.inner);
            let buffer = |buffer, factor| match inner == Some(buffer) {
                true => Vec::new(),
                false => {
                    let bytes = u64::from(rank.chunks(buffer)) * factor * chunk_bytes;
                    vec![POISON; bytes as usize]
                }
            };
            let scratch = buffer(Buffer::Scratch, factor);
            let half = if program.options.double_scratch { scratch.len() as u64 / 2 } else { 0 };
            RankMemory {
                alias: rank.alias,
                input: buffer(Buffer::Input, 1),
                output: buffer(Buffer::Output, 1),
                scratch,
                half,
            }
        };
        Memory { ranks: program.ranks.iter().map(fresh).collect(), chunk_bytes, watch }
    }

    /// Reads plain bytes.
    pub(super) fn read(&self, spot: Spot, bytes: u64, launch: u32) -> Result<&[u8], OutOfBounds> {
        let (buffer, from) = self.home(spot, 1, launch).ok_or(OutOfBounds)?;
        let range = from as usize..from.saturating_add(bytes) as usize;
        self.rank(spot.rank)?.buffer(buffer).get(range).ok_or(OutOfBounds)
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
        let (buffer, from) = self.home(spot, 2, launch).ok_or(OutOfBounds)?;
        let range = from as usize..from.saturating_add(2 * bytes) as usize;
        let words = self.rank(spot.rank)?.buffer(buffer).get(range).ok_or(OutOfBounds)?;
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
        let (buffer, start) = self.home(from, factor, launch).ok_or(OutOfBounds)?;
        let range = start as usize..start.saturating_add(factor * bytes) as usize;
        let moved = self.rank(from.rank)?.buffer(buffer).get(range).ok_or(OutOfBounds)?.to_vec();
        self.note(to, bytes, writer);
        self.place(to, factor, factor * bytes, launch)?.copy_from_slice(&moved);
        Ok(())
    }

    /// All of a rank's buffer, which may be a part of another one.
    pub(super) fn whole(&self, program: &Program, id: RankId, buffer: Buffer) -> &[u8] {
        let chunks = program.ranks.lookup(id).map_or(0, |rank| rank.chunks(buffer));
        let spot = Spot { rank: id, buffer, offset: 0 };
        self.read(spot, u64::from(chunks) * self.chunk_bytes, 0).unwrap_or_default()
    }

    /// The same, for its user to write.
    pub(super) fn whole_mut(&mut self, program: &Program, id: RankId, buffer: Buffer) -> &mut [u8] {
        let chunks = program.ranks.lookup(id).map_or(0, |rank| rank.chunks(buffer));
        let spot = Spot { rank: id, buffer, offset: 0 };
        self.place(spot, 1, u64::from(chunks) * self.chunk_bytes, 0).unwrap_or_default()
    }

    /// Fills a buffer with the pattern for memory that nobody has written.
    pub(super) fn spoil(&mut self, program: &Program, id: RankId, buffer: Buffer) {
        self.whole_mut(program, id, buffer).fill(POISON);
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
        let real = |buffer, offset| {
            let (buffer, chunks) = home(alias, buffer, 0);
            (buffer, chunks * self.chunk_bytes + offset)
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

    /// The buffer in which a place is stored, and the byte there.
    fn home(&self, spot: Spot, factor: u64, launch: u32) -> Option<(Buffer, u64)> {
        let rank = self.ranks.get(spot.rank.0 as usize)?;
        let (buffer, chunks) = home(rank.alias, spot.buffer, 0);
        let half = if buffer == Buffer::Scratch { u64::from(launch % 2) * rank.half } else { 0 };
        Some((buffer, chunks * self.chunk_bytes + factor * spot.offset + half))
    }

    fn place(
        &mut self,
        spot: Spot,
        factor: u64,
        bytes: u64,
        launch: u32,
    ) -> Result<&mut [u8], OutOfBounds> {
        let (buffer, from) = self.home(spot, factor, launch).ok_or(OutOfBounds)?;
        let range = from as usize..from.saturating_add(bytes) as usize;
        let rank = self.ranks.get_mut(spot.rank.0 as usize).ok_or(OutOfBounds)?;
        rank.buffer_mut(buffer).get_mut(range).ok_or(OutOfBounds)
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
    fn buffer(&self, buffer: Buffer) -> &[u8] {
        match buffer {
            Buffer::Input => &self.input,
            Buffer::Output => &self.output,
            Buffer::Scratch => &self.scratch,
        }
    }

    fn buffer_mut(&mut self, buffer: Buffer) -> &mut [u8] {
        match buffer {
            Buffer::Input => &mut self.input,
            Buffer::Output => &mut self.output,
            Buffer::Scratch => &mut self.scratch,
        }
    }
}
