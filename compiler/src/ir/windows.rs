//! The windows of pipelines in messages of any size: how large a chunk is taken to be, and how often pipelines go round.

use super::grain::{Grain, MOST_PARTS, gcd};
use super::pace::measure_pace;
use super::{Op, Pipeline, Program};

/// A size of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSize {
    /// The size, in `scale`-ths of a byte.
    pub size: u64,
    /// How many of these make a byte; not zero.
    pub scale: u64,
}

/// The size that a chunk is assumed to have, chosen so that every pipeline's windows are whole parts of it.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// How many chunks are treated as one: what is said of a chunk below is said of so many together.
    unit: u32,
    /// The size of a chunk, in `scale`-ths of a byte.
    chunk: u64,
    /// How many of these make a byte.
    scale: u64,
    /// Parts per chunk that make every window whole.
    pub(super) parts: u32,
}

impl Windows {
    /// The windows at a grain: where several chunks are treated as one, they get the size of one.
    #[must_use]
    pub fn at(self, grain: Grain) -> Windows {
        Windows { unit: grain.chunks_of_unit().max(1), ..self }
    }

    /// Whether every pipeline processes everything in one window, because there is no size for which all windows are
    /// whole.
    #[must_use]
    pub fn are_left_out(&self) -> bool {
        self.chunk == 0
    }

    /// The size of a chunk.
    #[must_use]
    pub fn chunk_size(&self) -> ChunkSize {
        ChunkSize { size: self.chunk, scale: self.scale }
    }

    /// The size in bytes of so many chunks; none if pipelines process everything in one window.
    #[must_use]
    pub fn bytes(&self, chunks: u32) -> Option<u64> {
        let size = self.chunk.saturating_mul(chunks.into());
        (!self.are_left_out()).then(|| size.div_ceil(self.scale))
    }

    /// The number of windows that a pipeline goes through.
    #[must_use]
    pub fn turns(&self, pipeline: &Pipeline) -> u64 {
        let window = if self.are_left_out() { u64::MAX } else { self.size(pipeline) };
        let chunks = u64::from(pipeline.chunks / self.unit);
        chunks.saturating_mul(self.chunk).div_ceil(window).max(1)
    }

    /// The size of a window, in `scale`-ths of a byte.
    fn size(&self, pipeline: &Pipeline) -> u64 {
        pipeline.unit.max(1).saturating_mul(self.scale)
    }

    /// The cells of an operand, counted from its beginning, that a turn covers; chunks are cut into `parts`.
    #[must_use]
    pub fn window(&self, pipeline: &Pipeline, turn: u64, parts: u32) -> std::ops::Range<u64> {
        if self.are_left_out() {
            return 0..u64::MAX / 2;
        }
        let cells =
            |size: u64| (u128::from(size) * u128::from(parts) / u128::from(self.chunk)) as u64;
        let size = self.size(pipeline);
        cells(turn.saturating_mul(size))..cells(turn.saturating_add(1).saturating_mul(size))
    }
}

/// The size of a chunk that is a multiple of every unit, at least two of each; more if pipelines wait for later windows
/// of others ([`super::pace::Pace::behind`]), and as many times more as the most blocks that share a chunk: then each slice has
/// windows that are not the last ones. It is no larger than in the largest message that the plan serves, if that has two
/// windows. If an operation covers other chunks than its pipeline does, the size is larger by half
/// the greatest common divisor of the units: then the operation's last window does not end where the pipeline does. If
/// there is no such size, every pipeline processes everything in one window. A program may also say the size itself.
#[must_use]
pub fn choose_windows(program: &Program) -> Windows {
    let (mut least, mut common, mut scale) = (0, 1_u64, 1);
    for pipeline in program.blocks().flat_map(|block| &block.ops).filter_map(Op::pipeline) {
        let unit = pipeline.unit.max(1);
        least = gcd(least, unit);
        common = (common / gcd(common, unit)).saturating_mul(unit);
        if pipeline.body.iter().any(|op| covers_other(op, pipeline.chunks)) {
            scale = 2;
        }
    }
    let none = Windows { unit: 1, chunk: 0, scale, parts: 1 };
    if least == 0 {
        return none;
    }
    if let Some(ChunkSize { size, scale }) = program.chunk_size {
        let part = gcd(size, least.saturating_mul(scale)).max(1);
        let parts = u32::try_from(size / part).unwrap_or(u32::MAX);
        return Windows { unit: 1, chunk: size, scale, parts };
    }
    let rest = if scale > 1 { least } else { 0 };
    let turns = match measure_pace(program).behind {
        0 => 2,
        behind => behind.saturating_add(2).saturating_mul(most_slices(program)),
    };
    let turns = turns.min(most_bytes(program).div_ceil(common)).max(2);
    let chunk = common.saturating_mul(turns.saturating_mul(scale)).saturating_add(rest);
    match u32::try_from(chunk / least) {
        Ok(parts) if parts <= MOST_PARTS => Windows { unit: 1, chunk, scale, parts },
        Ok(_) | Err(_) => none,
    }
}

/// The most bytes that a chunk has in a message that the plan serves.
fn most_bytes(program: &Program) -> u64 {
    let options = &program.options;
    let copies = if program.instances_done == 1 { options.instances.max(1) } else { 1 };
    let chunks = u64::from(program.message_chunks()) * u64::from(copies);
    options.max_message_size.map_or(u64::MAX, |most| most / chunks.max(1))
}

/// Over how many blocks an operation is distributed at most.
fn most_slices(program: &Program) -> u64 {
    let slices = program.all_ops().filter_map(Op::transfer).filter_map(|transfer| transfer.slice);
    slices.map(|slice| u64::from(slice.count)).max().unwrap_or(1).max(1)
}

/// Whether an operation in a pipeline covers other chunks than the pipeline does.
fn covers_other(op: &Op, chunks: u32) -> bool {
    op.transfer().is_some_and(|transfer| transfer.operands().any(|o| o.size != chunks))
}
