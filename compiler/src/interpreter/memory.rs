//! The memory of all ranks, cell by cell.

use super::tree::{Tree, TreeId, Trees};
use super::value::{Combined, Value};
use crate::ir::contribution::Contribution;
use crate::ir::grain::Grain;
use crate::ir::memory::home;
use crate::ir::{Alias, Buffer, OriginId, Program, RankId};
use std::collections::BTreeSet;

/// The contents of every buffer.
#[derive(Clone, Debug)]
pub struct Memory {
    ranks: Vec<RankMemory>,
    grain: Grain,
    rewritten: BTreeSet<(RankId, u64)>,
    /// How values were computed; kept where the collective promises that outputs have the same bits.
    trees: Option<Trees>,
}

/// The packets that a run has written more than once, with different values, in memory at a given grain.
#[derive(Clone, Debug)]
pub struct Rewritten {
    grain: Grain,
    cells: BTreeSet<(RankId, u64)>,
}

impl Rewritten {
    /// The grain of the memory.
    #[must_use]
    pub fn grain(&self) -> Grain {
        self.grain
    }

    /// Whether the packet at a cell of a rank's scratch is one of them.
    #[must_use]
    pub fn contains(&self, rank: RankId, cell: u64) -> bool {
        self.cells.contains(&(rank, cell))
    }
}

#[derive(Clone, Debug)]
struct RankMemory {
    alias: Option<Alias>,
    input: Vec<Cell>,
    output: Vec<Cell>,
    scratch: Vec<Cell>,
    packets: Vec<Option<Cell>>,
}

/// A cell, and the operation that wrote it last.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    pub(super) value: Value,
    pub(super) writer: Option<OriginId>,
}

impl Memory {
    /// Memory as it is when a program starts; none where it has more cells than `limit`.
    pub(super) fn new(program: &Program, grain: Grain, limit: u64) -> Option<Memory> {
        let chunks = |rank: &crate::ir::Rank| {
            u64::from(rank.input_chunks)
                + u64::from(rank.output_chunks)
                + 2 * u64::from(rank.scratch_chunks)
        };
        let cells = program.ranks.iter().map(|rank| grain.cells(chunks(rank))).sum::<u64>();
        if cells > limit.min(u64::from(u32::MAX)) {
            return None;
        }
        let kept = program.ranks.iter().any(|rank| !rank.same.is_empty());
        let mut trees = kept.then(Trees::default);
        let rows = program.ranks.entries();
        let ranks = rows.map(|(id, rank)| RankMemory::new(id, rank, grain, &mut trees)).collect();
        Some(Memory { ranks, grain, rewritten: BTreeSet::new(), trees })
    }

    /// How many cells a chunk has, or a unit of several chunks.
    #[must_use]
    pub fn parts(&self) -> u32 {
        self.grain.cells_of_unit()
    }

    /// The grain of the memory.
    #[must_use]
    pub fn grain(&self) -> Grain {
        self.grain
    }

    /// The contents of each cell of a rank's output.
    #[must_use]
    pub fn output(&self, program: &Program, rank: RankId) -> Vec<Value> {
        let chunks = program.ranks.lookup(rank).map_or(0, |rank| rank.output_chunks);
        let cells = 0..self.grain.cells(u64::from(chunks));
        cells
            .map(|cell| {
                self.read(rank, Buffer::Output, cell)
                    .map(|cell| cell.value.clone())
                    .unwrap_or_default()
            })
            .collect()
    }

    /// A cell of a buffer, by the name that its author gives it.
    pub(super) fn read(&self, rank: RankId, buffer: Buffer, cell: u64) -> Option<&Cell> {
        let memory = self.ranks.get(rank.0 as usize)?;
        let (buffer, cell) = memory.home(buffer, cell, self.grain);
        memory.buffer(buffer).get(cell as usize)
    }

    /// The last value of a cell of a rank's output, and the operation that wrote it.
    #[must_use]
    pub fn written(&self, rank: RankId, cell: u64) -> Option<(&Value, Option<OriginId>)> {
        self.read(rank, Buffer::Output, cell).map(|cell| (&cell.value, cell.writer))
    }

    /// How values were computed, if that is kept.
    #[must_use]
    pub fn trees(&self) -> Option<&Trees> {
        self.trees.as_ref()
    }

    /// The same, to be added to.
    pub(super) fn trees_mut(&mut self) -> Option<&mut Trees> {
        self.trees.as_mut()
    }

    /// The value of a cell of a buffer that really holds it. Beyond its end there is nothing.
    pub(super) fn read_home(&self, rank: RankId, buffer: Buffer, cell: u64) -> &Value {
        let memory = self.ranks.get(rank.0 as usize);
        let found = memory.and_then(|memory| memory.buffer(buffer).get(cell as usize));
        found.map_or(&Value::Nothing, |cell| &cell.value)
    }

    /// Replaces a cell of a buffer that really holds it, if there is one.
    pub(super) fn write_home(&mut self, rank: RankId, buffer: Buffer, cell: u64, new: Cell) {
        let Some(memory) = self.ranks.get_mut(rank.0 as usize) else { return };
        if let Some(old) = memory.buffer_mut(buffer).get_mut(cell as usize) {
            *old = new;
        }
        // A plain write over half a packet destroys the packet.
        if buffer == Buffer::Scratch
            && let Some(packet) = memory.packets.get_mut(cell as usize / 2)
        {
            *packet = None;
        }
    }

    /// A packet, if it has been written. Beyond the end of scratch there is nothing to wait for.
    pub(super) fn packet(&self, rank: RankId, cell: u64) -> Option<&Value> {
        let packets = &self.ranks.get(rank.0 as usize)?.packets;
        packets
            .get(cell as usize)
            .map_or(Some(&Value::Nothing), |packet| packet.as_ref().map(|cell| &cell.value))
    }

    /// Writes a packet.
    pub(super) fn write_packet(&mut self, rank: RankId, cell: u64, new: Cell) {
        let Some(memory) = self.ranks.get_mut(rank.0 as usize) else { return };
        let Some(slot) = memory.packets.get_mut(cell as usize) else { return };
        if slot.as_ref().is_some_and(|old| old.value != new.value) {
            self.rewritten.insert((rank, cell));
        }
        *slot = Some(new);
        memory
            .scratch
            .iter_mut()
            .skip(2 * cell as usize)
            .take(2)
            .for_each(|cell| *cell = Cell::default());
    }

    /// The packets that were written more than once, with different values: all that the search for races needs of a
    /// run.
    #[must_use]
    pub fn rewritten(&self) -> Rewritten {
        Rewritten { grain: self.grain, cells: self.rewritten.clone() }
    }
}

impl RankMemory {
    fn new(
        id: RankId,
        rank: &crate::ir::Rank,
        grain: Grain,
        trees: &mut Option<Trees>,
    ) -> RankMemory {
        let cells = |chunks: u32| grain.cells(u64::from(chunks)) as usize;
        let empty = |chunks: u32| vec![Cell::default(); cells(chunks)];
        let mut memory = RankMemory {
            alias: rank.alias,
            input: empty(rank.input_chunks),
            output: empty(rank.output_chunks),
            scratch: empty(rank.scratch_chunks),
            packets: vec![None; cells(rank.scratch_chunks)],
        };
        for cell in 0..cells(rank.input_chunks) as u32 {
            let (buffer, at) = memory.home(Buffer::Input, u64::from(cell), grain);
            if let Some(place) = memory.buffer_mut(buffer).get_mut(at as usize) {
                let one = Contribution { rank: id.0, cell, count: 1 };
                let leaf = Tree::Input { rank: id.0, cell };
                let tree = trees.as_mut().map_or(TreeId::default(), |trees| trees.id(leaf));
                place.value = Value::One(one, Combined::Never, tree);
            }
        }
        memory
    }

    /// Where a cell really lies.
    fn home(&self, buffer: Buffer, cell: u64, grain: Grain) -> (Buffer, u64) {
        let (buffer, offset) = home(self.alias, buffer, 0);
        (buffer, grain.cells(offset) + cell)
    }

    fn buffer(&self, buffer: Buffer) -> &Vec<Cell> {
        match buffer {
            Buffer::Input => &self.input,
            Buffer::Output => &self.output,
            Buffer::Scratch => &self.scratch,
        }
    }

    fn buffer_mut(&mut self, buffer: Buffer) -> &mut Vec<Cell> {
        match buffer {
            Buffer::Input => &mut self.input,
            Buffer::Output => &mut self.output,
            Buffer::Scratch => &mut self.scratch,
        }
    }
}
