//! For which message sizes a program is lowered: how memory is cut into cells, and how often pipelines go round.

use crate::ir::grain::Grain;
use crate::ir::memory::covered;
use crate::ir::windows::{Windows, choose_windows};
use crate::ir::{Pipeline, Program, Slice};
use std::ops::Range;

/// What steps are lowered for.
#[derive(Clone, Copy, Debug)]
pub enum SizeClass {
    /// Any size of a class: memory consists of symbolic cells, and pipelines go through symbolic windows.
    Symbolic {
        /// How many cells chunks have.
        grain: Grain,
        /// How pipelines go through windows, at this grain.
        windows: Windows,
    },
    /// No size: a cell is a chunk, slices cover all of their operands, and pipelines go through one window that has
    /// everything. For those who show what a program does.
    Outline,
    /// One size: a cell is a byte.
    Bytes {
        /// The bytes of a chunk.
        chunk: u64,
        /// Slices end at multiples of so many bytes.
        slice_unit: u64,
    },
}

impl SizeClass {
    /// Every chunk is one cell: for those who do not look at memory.
    #[must_use]
    pub fn whole_chunks(program: &Program) -> SizeClass {
        SizeClass::Symbolic { grain: Grain::parts(1), windows: choose_windows(program) }
    }

    /// The cells of so many chunks.
    #[must_use]
    pub fn cells(self, chunks: u64) -> u64 {
        match self {
            SizeClass::Symbolic { grain, .. } => grain.cells(chunks),
            SizeClass::Outline => chunks,
            SizeClass::Bytes { chunk, .. } => chunks.saturating_mul(chunk),
        }
    }

    /// How many windows a pipeline goes through.
    #[must_use]
    pub fn count_turns(self, pipeline: &Pipeline) -> u64 {
        match self {
            SizeClass::Symbolic { windows, .. } => windows.turns(pipeline),
            SizeClass::Outline => 1,
            SizeClass::Bytes { chunk, .. } => {
                u64::from(pipeline.chunks).saturating_mul(chunk).div_ceil(pipeline.unit.max(1))
            }
        }
    }

    /// The cells of an operand, counted from the beginning of the block's part of it, that a window covers if the operand
    /// reaches that far; none if that is everything.
    #[must_use]
    pub fn window(self, pipeline: &Pipeline, turn: u64) -> Option<Range<u64>> {
        match self {
            SizeClass::Symbolic { grain, windows } => {
                Some(windows.window(pipeline, turn, grain.cells_of_unit()))
            }
            SizeClass::Outline => None,
            SizeClass::Bytes { .. } => {
                let unit = pipeline.unit.max(1);
                Some(turn.saturating_mul(unit)..turn.saturating_add(1).saturating_mul(unit))
            }
        }
    }

    /// The cells of an operand of so many chunks that a block processes, counted from the operand's beginning: its slice, and
    /// of that the window. The range may be empty.
    #[must_use]
    pub fn covered(
        self,
        slice: Option<Slice>,
        window: Option<&Range<u64>>,
        chunks: u32,
    ) -> Range<u64> {
        let length = self.cells(u64::from(chunks));
        let slice_unit = match self {
            SizeClass::Symbolic { .. } => return covered(slice, window, length),
            SizeClass::Outline => return 0..length,
            SizeClass::Bytes { slice_unit, .. } => slice_unit,
        };
        let part = covered(slice, None, length / slice_unit);
        let part = part.start * slice_unit..part.end * slice_unit;
        let Some(window) = window else { return part };
        let bound = |cells: u64| part.start.saturating_add(cells).min(part.end);
        bound(window.start)..bound(window.end)
    }
}
