//! Sizes and offsets as MSCCL++'s loader computes them.
//!
//! In: a plan, a rank and the bytes of a chunk. Out: bytes, truncated where the loader truncates. It cuts a
//! buffer into chunks in units of the alignment; if that does not come out even, the first chunks are one unit
//! larger. It cuts the chunks of an operation into the parts of a group in the same way. The offsets of all
//! buffers are computed from the input's chunks, except for scratch under `reuse_resources`: there, chunks that
//! are too large for it get slots at fixed distances.

use super::{Refusal, refuse};
use crate::plan::{Buff, Gpu, Plan};

/// Sizes of one rank, as the loader computes them.
pub(super) struct Sizes {
    pub(super) alignment: u64,
    pub(super) input_chunks: u32,
    pub(super) scratch_chunks: u32,
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) scratch_alloc: u64,
    pub(super) scratch_chunk: u32,
    /// The distance of scratch chunks under `reuse_resources`, if slots replace the computed offsets.
    reused: Option<u64>,
}

/// The size of the scratch that the executor allocates under `reuse_resources`.
const REUSED_SCRATCH: u64 = 1 << 26;

/// How many chunks a message has, by whose size a plan is selected.
pub(super) fn message_chunks(plan: &Plan<'_>, gpu: &Gpu<'_>) -> u32 {
    let chunks = if plan.collective == "allgather" { gpu.output_chunks } else { gpu.input_chunks };
    chunks as u32
}

impl Sizes {
    pub(super) fn new(plan: &Plan<'_>, gpu: &Gpu<'_>, chunk_bytes: u64) -> Result<Sizes, Refusal> {
        let alignment = u64::from(plan.buffer_alignment as u32);
        let (input_chunks, output_chunks, scratch_chunks) =
            (gpu.input_chunks as u32, gpu.output_chunks as u32, gpu.scratch_chunks as u32);
        if input_chunks == 0 || output_chunks == 0 {
            return refuse("Output or Input chunks must be greater than 0");
        }
        if alignment == 0 {
            return refuse("Buffer alignment must be greater than 0");
        }
        let input = chunk_bytes.wrapping_mul(u64::from(input_chunks));
        let output = chunk_bytes.wrapping_mul(u64::from(output_chunks));
        let legal = |bytes: u64, chunks: u32| {
            bytes.is_multiple_of(alignment) && (bytes / alignment).is_multiple_of(u64::from(chunks))
        };
        if !legal(input, input_chunks) || !legal(output, output_chunks) {
            return refuse("Input or output size is not aligned with buffer alignment or chunks");
        }
        let size = chunk_bytes.wrapping_mul(u64::from(message_chunks(plan, gpu)));
        if size < plan.min_message_size || size > plan.max_message_size {
            return refuse("Input or output size is not within the valid range");
        }
        let mut sizes = Sizes {
            alignment,
            input_chunks,
            scratch_chunks,
            input,
            output,
            scratch_alloc: 0,
            scratch_chunk: 0,
            reused: None,
        };
        sizes.scratch_alloc = sizes.allocated(plan);
        sizes.scratch_chunk = sizes.chunk_of_scratch(plan, sizes.scratch_alloc) as u32;
        let fixed = sizes.chunk_of_scratch(plan, REUSED_SCRATCH);
        let chunk = input.div_ceil(u64::from(input_chunks)) as u32;
        sizes.reused = (plan.reuse_resources && (fixed as u32) < chunk).then_some(fixed);
        Ok(sizes)
    }

    fn allocated(&self, plan: &Plan<'_>) -> u64 {
        if plan.reuse_resources && self.scratch_chunks > 0 {
            return REUSED_SCRATCH;
        }
        let chunk = self.input.min(plan.max_message_size).div_ceil(u64::from(self.input_chunks));
        let packets = if plan.protocol == "LL" { 2 } else { 1 };
        let halves = if plan.use_double_scratch_buffer { 2 } else { 1 };
        self.aligned(
            chunk.wrapping_mul(u64::from(self.scratch_chunks)).wrapping_mul(packets * halves),
        )
    }

    fn chunk_of_scratch(&self, plan: &Plan<'_>, scratch: u64) -> u64 {
        if self.scratch_chunks == 0 {
            return 0;
        }
        let half = if plan.use_double_scratch_buffer { scratch / 2 } else { scratch };
        self.aligned(half.div_ceil(u64::from(self.scratch_chunks)))
    }

    fn aligned(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.alignment).wrapping_mul(self.alignment)
    }

    /// Where part `index` begins when `bytes` are cut into `parts`.
    fn slice(&self, bytes: u64, index: u32, parts: u32) -> u64 {
        let units = bytes / self.alignment;
        let (index, parts) = (u64::from(index), u64::from(parts));
        let begin = index.wrapping_mul(units / parts).wrapping_add(index.min(units % parts));
        begin.wrapping_mul(self.alignment)
    }

    /// Where chunk `index` begins, in any buffer except reused scratch.
    fn grid(&self, index: u32) -> u64 {
        self.slice(self.input, index, self.input_chunks)
    }

    /// Offset and size of chunks, or of a group's part of them, as 32-bit numbers.
    pub(super) fn extent(&self, buff: &Buff<'_>, buffer: &str, group: (u32, u32)) -> (u32, u32) {
        let (index, count) = (buff.index as u32, buff.size as u32);
        let begin = match self.reused {
            Some(distance) if buffer == "s" => u64::from(index).wrapping_mul(distance),
            _ => self.grid(index),
        };
        let end = self.grid(index.wrapping_add(count)) as u32;
        let bytes = u64::from(end.wrapping_sub(self.grid(index) as u32));
        let (part, parts) = group;
        let first = self.slice(bytes, part, parts);
        let last = self.slice(bytes, part.wrapping_add(1), parts);
        (begin.wrapping_add(first) as u32, (last as u32).wrapping_sub(first as u32))
    }
}
