//! Who touched each cell of memory last.

use super::agents::{Agent, Agents};
use super::history::FlowId;
use super::turn::By;
use super::value::Value;
use crate::ir::{Buffer, Op, RankId};
use smallvec::SmallVec;

/// How the elements of an operand fall to a block's threads: two accesses that begin at the same cell and share alike
/// are made by the same thread, element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Share {
    /// 16 bytes each.
    Wide,
    /// A packet's payload each.
    Payload,
    /// Otherwise.
    Other,
}

/// One access to one cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch<'p> {
    /// Who.
    pub(super) agent: Agent,
    /// Whose block, or on whose behalf.
    pub(super) rank: RankId,
    /// In which step.
    pub(super) step: u32,
    /// Which element of it.
    pub(super) element: u32,
    /// The cell as the author names it.
    pub(super) said: (Buffer, u32),
    /// Whether it writes.
    pub(super) write: bool,
    /// Whether as a packet.
    pub(super) packet: bool,
    /// How its elements fall to threads.
    pub(super) share: Share,
    /// Where its operand begins.
    pub(super) base: u32,
    /// What its element makes of what it reads.
    pub(super) flow: (FlowId, By),
    /// The operation.
    pub(super) op: &'p Op,
}

impl Touch<'_> {
    /// The access that a turn puts in the place of this one.
    pub(super) fn moved(self, agents: &Agents, by: By) -> Self {
        if by == 0 {
            return self;
        }
        let turn = agents.turn();
        Touch {
            agent: agents.moved(self.agent, by),
            rank: RankId(turn.then(self.rank.0, by)),
            flow: (self.flow.0, turn.then(self.flow.1, by)),
            ..self
        }
    }
}

/// Who touched a cell since it was written last, that write included.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell<'p> {
    /// The last write.
    pub(super) write: Option<Touch<'p>>,
    /// The reads after it.
    pub(super) reads: SmallVec<[Touch<'p>; 1]>,
    /// Whether a packet was laid over it since.
    pub(super) covered: bool,
    /// What it holds was made so; followed only where there are packets.
    pub(super) made_from: Option<(FlowId, By)>,
    /// What that is; followed only where few ranks are.
    pub(super) value: Value,
}

/// A place in memory: of two buffers that share it, the outer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Whose.
    pub(super) rank: RankId,
    /// Which buffer.
    pub(super) buffer: Buffer,
    /// Which cell of it.
    pub(super) cell: u64,
}

/// The cells of one rank.
#[derive(Debug, Default)]
pub(super) struct Cells<'p> {
    input: Vec<Cell<'p>>,
    output: Vec<Cell<'p>>,
    scratch: Vec<Cell<'p>>,
}

impl<'p> Cells<'p> {
    /// A cell, if it was ever touched.
    pub(super) fn get(&self, buffer: Buffer, cell: u64) -> Option<&Cell<'p>> {
        self.buffer(buffer).get(cell as usize)
    }

    /// A cell, to be touched.
    pub(super) fn get_mut(&mut self, buffer: Buffer, cell: u64) -> Option<&mut Cell<'p>> {
        let cells = match buffer {
            Buffer::Input => &mut self.input,
            Buffer::Output => &mut self.output,
            Buffer::Scratch => &mut self.scratch,
        };
        if cells.is_empty() {
            // Many a buffer has one cell, and room for more by far than that would be made.
            cells.reserve_exact(cell as usize + 1);
        }
        if cells.len() <= cell as usize {
            cells.resize(cell as usize + 1, Cell::default());
        }
        cells.get_mut(cell as usize)
    }

    /// All cells of a buffer that were touched.
    pub(super) fn buffer(&self, buffer: Buffer) -> &[Cell<'p>] {
        match buffer {
            Buffer::Input => &self.input,
            Buffer::Output => &self.output,
            Buffer::Scratch => &self.scratch,
        }
    }
}
