//! How large chunks are and how many threads blocks have, so that a small run meets everything that a large one does.

use super::each_program_op;
use compiler::ir::{Action, ChannelKind, Program};

/// The most elements in a chunk.
const MOST_ELEMENTS: u64 = 96;

/// The size of the message, and the number of threads of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// The smallest number of threads of a block; there are at least as many as the longest list of channels or
    /// semaphores needs.
    pub(crate) threads: usize,
    /// Elements in the smallest window, or in a chunk if there are no pipelines.
    pub(crate) unit: u32,
    /// Further elements in a chunk.
    pub(crate) odd: u32,
    /// How many windows a chunk has in the pipelines with the largest unit; with 1, a message goes through every
    /// pipeline in a single turn.
    pub(crate) windows: u32,
}

/// What a size comes to in a program.
pub(super) struct Shape {
    /// Threads of a block.
    pub(super) threads: usize,
    /// Elements in a chunk.
    pub(super) chunk: u32,
    /// How many bytes of a pipeline's unit correspond to one `unit` of the size, and that `unit` in elements.
    pub(super) window: (u64, u32),
}

impl Size {
    /// The threads, chunks and windows of a program of this size.
    pub(super) fn shape(self, program: &Program) -> Shape {
        let (least, common) = units(program);
        let turns = match common {
            0 => 1,
            _ => u64::from(self.windows.max(2)) * common / least,
        };
        let window = match (self.windows, common) {
            (1, _) => (least.max(1), u32::MAX),
            (_, 0) => (1, self.unit),
            (_, _) => (least, self.unit),
        };
        let (mut threads, mut slices) = (self.threads, 0);
        each_program_op(program, &mut |op| {
            threads = threads.max(entries(&op.action));
            slices = slices.max(count(&op.action));
        });
        // Each block of a group gets elements for two threads.
        let chunk = (turns * u64::from(self.unit)).min(MOST_ELEMENTS) as u32;
        let mut chunk = chunk.max(2 * slices) + self.odd;
        if self.threads > 2 {
            threads = prime(threads + 1);
        }
        // The same element of neighboring chunks belongs to different threads.
        while (common == 0 || self.windows == 1) && gcd(u64::from(chunk), threads as u64) != 1 {
            chunk += 1;
        }
        Shape { threads, chunk, window }
    }
}

/// Whether a program has pipelines, so that messages of a single window matter.
pub(crate) fn has_pipelines(program: &Program) -> bool {
    units(program).1 > 0
}

/// The greatest common divisor of all pipelines' units, and their least common multiple; 0 if there are none.
fn units(program: &Program) -> (u64, u64) {
    let (mut least, mut common) = (0, 0);
    each_program_op(program, &mut |op| {
        if let Action::Pipeline(pipeline) = &op.action {
            let unit = pipeline.unit.max(1);
            least = gcd(least, unit);
            common = if common == 0 { unit } else { common / gcd(common, unit) * unit };
        }
    });
    (least, common)
}

/// The smallest prime that is at least `least`.
fn prime(least: usize) -> usize {
    let mut number = least.max(2);
    while (2..number).any(|factor| number.is_multiple_of(factor)) {
        number += 1;
    }
    number
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn entries(action: &Action) -> usize {
    match action {
        Action::Signal(signal) | Action::Wait(signal) => signal.channels.len(),
        Action::Flush(list) => list.len(),
        Action::Acquire(list) | Action::Release(list) => list.len(),
        Action::Transfer(t) if t.via == Some(ChannelKind::Port) => t.destinations.len(),
        Action::Transfer(_) | Action::Sync | Action::Barrier { .. } | Action::Pipeline(_) => 1,
    }
}

/// How many blocks share an operation.
fn count(action: &Action) -> u32 {
    match action {
        Action::Transfer(t) => t.slice.map_or(0, |slice| slice.count),
        Action::Sync
        | Action::Barrier { .. }
        | Action::Signal(_)
        | Action::Wait(_)
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Pipeline(_) => 0,
    }
}
