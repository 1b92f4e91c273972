//! The size of the message with which a program is run.

use super::code::slice_unit;
use crate::ir::pace::measure_pace;
use crate::ir::{Op, Pipeline, Program};

/// The size of the message, in bytes, where nobody asks for another one.
const USUAL_BYTES: u64 = 64 << 10;

/// The largest size that is chosen so that pipelines go through several windows.
const MOST_BYTES: u64 = 4 << 20;

/// Bytes in a chunk of a message of at least this many bytes.
#[must_use]
pub fn round_chunk_bytes(program: &Program, message: u64) -> u64 {
    let bytes = message.div_ceil(u64::from(program.message_chunks())).max(1);
    bytes.checked_next_multiple_of(slice_unit(program)).unwrap_or(bytes)
}

/// Bytes in a chunk where nobody asks for a size: a usual one, more with pipelines, or the nearest that the program
/// serves.
#[must_use]
pub fn choose_chunk_bytes(program: &Program) -> u64 {
    let least = program.options.min_message_size.unwrap_or(0);
    let most = program.options.max_message_size.unwrap_or(u64::MAX);
    let chunks = u64::from(program.message_chunks());
    let windows = several_windows(program).saturating_mul(chunks);
    round_chunk_bytes(program, USUAL_BYTES.max(windows.min(MOST_BYTES)).min(most).max(least))
}

/// The size of a chunk for which every pipeline goes through several windows, more of them where pipelines run ahead of
/// each other or wait for later windows; 0 if there are no pipelines.
fn several_windows(program: &Program) -> u64 {
    let pace = measure_pace(program);
    let windows = pace.ahead.saturating_add(pace.behind).saturating_add(3);
    let size = |pipeline: &Pipeline| {
        pipeline.unit.saturating_mul(windows).div_ceil(u64::from(pipeline.chunks.max(1)))
    };
    program.all_ops().filter_map(Op::pipeline).map(size).max().unwrap_or(0)
}
