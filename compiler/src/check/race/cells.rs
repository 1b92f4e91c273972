//! The last accesses to each cell of memory.

use super::acts::Footprint;
use super::value::Value;
use crate::ir::{Buffer, RankId};
use smallvec::SmallVec;

/// The accesses to a cell since its last write, including that write.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// The last write.
    pub(super) write: Option<Footprint>,
    /// The reads after it.
    pub(super) reads: SmallVec<[Footprint; 1]>,
    /// Whether a packet was written over it since.
    pub(super) covered: bool,
    /// What it holds; followed only where representatives are.
    pub(super) value: Value,
}

impl Cell {
    /// The last write, and with `reads` the reads after it.
    pub(super) fn prints(&self, reads: bool) -> impl Iterator<Item = Footprint> {
        self.write.iter().chain(self.reads.iter().filter(move |_| reads)).copied()
    }
}

/// A place in memory; where two buffers share memory, in terms of the outer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The rank.
    pub(super) rank: RankId,
    /// The buffer.
    pub(super) buffer: Buffer,
    /// The cell in it.
    pub(super) cell: u64,
}

/// The cells of one rank that were touched, by their buffers.
#[derive(Debug, Default)]
pub(super) struct Cells(SmallVec<[(Buffer, Vec<Cell>); 1]>);

impl Cells {
    /// A cell, if it was ever touched.
    pub(super) fn get(&self, buffer: Buffer, cell: u64) -> Option<&Cell> {
        self.buffer(buffer).get(cell as usize)
    }

    /// A cell, to be touched.
    pub(super) fn get_mut(&mut self, buffer: Buffer, cell: u64) -> Option<&mut Cell> {
        let known = self.0.iter().position(|(one, _)| *one == buffer);
        let at = known.unwrap_or_else(|| {
            self.0.push((buffer, Vec::new()));
            self.0.len() - 1
        });
        let (_, cells) = self.0.get_mut(at)?;
        if cells.is_empty() {
            // Many buffers have one cell, and growing on demand would allocate far more than that.
            cells.reserve_exact(cell as usize + 1);
        }
        if cells.len() <= cell as usize {
            cells.resize(cell as usize + 1, Cell::default());
        }
        cells.get_mut(cell as usize)
    }

    /// All cells of a buffer that were touched.
    pub(super) fn buffer(&self, buffer: Buffer) -> &[Cell] {
        let cells = self.0.iter().find(|(one, _)| *one == buffer);
        cells.map_or(&[], |(_, cells)| cells)
    }
}
