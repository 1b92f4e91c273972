//! The cells that a step reads and writes, element by element.

use super::cells::Place;
use crate::events::{CellForm, MemoryExtent, Step};
use crate::ir::threads::Share;
use crate::ir::{Buffer, ReduceOp};
use smallvec::SmallVec;

/// The threads of a block that process an element: those that process all elements that are distributed alike and are
/// at the same distance from the beginning of their operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lane {
    /// How elements are distributed over threads.
    pub(super) share: Share,
    /// The distance from the operation's first element.
    pub(super) at: u64,
}

/// One element of a step: everything that the thread processing it touches.
#[derive(Clone, Debug)]
pub(super) struct Element {
    /// Its number, over all entries of the operation.
    pub(super) number: u32,
    /// The entry of the operation that it belongs to: over a port, the index of the channel.
    pub(super) entry: u32,
    /// The threads that process it.
    pub(super) lane: Lane,
    /// What it reads.
    pub(super) reads: Accesses,
    /// What it writes.
    pub(super) writes: Accesses,
    /// How what it reads is combined.
    pub(super) reduce: ReduceOp,
}

/// What an element reads or writes: usually one cell.
pub(super) type Accesses = SmallVec<[Access; 1]>;

/// One cell that is touched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// The cell.
    pub(super) place: Place,
    /// The buffer as its author names it: in place, a cell has two names.
    pub(super) buffer: Buffer,
    /// Whether it is a packet.
    pub(super) packet: bool,
    /// Whether it is a packet that is sent as it is, without looking at its flag.
    pub(super) raw: bool,
    /// How the operand's elements are distributed over threads.
    pub(super) share: Share,
}

/// The elements of the moves of a step.
pub(super) fn list_elements(step: &Step) -> Vec<Element> {
    let mut elements = Vec::new();
    for one in step.moves {
        let access = |extent: &MemoryExtent| Access {
            place: Place { rank: extent.rank, buffer: extent.buffer, cell: extent.start },
            buffer: extent.named,
            packet: extent.form.is_packets(),
            raw: extent.form == CellForm::RawPackets,
            share: one.share,
        };
        let reads: Accesses = step.reads(one).iter().map(access).collect();
        let writes: Accesses = step.writes(one).iter().map(access).collect();
        for at in 0..one.elements {
            elements.push(Element {
                number: elements.len() as u32,
                entry: one.entry,
                lane: Lane { share: one.share, at },
                reads: shift_by(&reads, at),
                writes: shift_by(&writes, at),
                reduce: one.reduce,
            });
        }
    }
    elements
}

/// The same accesses, this many cells further on.
fn shift_by(accesses: &Accesses, cells: u64) -> Accesses {
    let mut all = Accesses::from_slice(accesses);
    all.iter_mut().for_each(|access| access.place.cell += cells);
    all
}
