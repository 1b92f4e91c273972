//! The cells that an operation reads and writes, element by element.

use super::cells::Place;
use super::step::Step;
use crate::ir::memory::{covered, extents, groups, source_is_packets, writes_packets};
use crate::ir::run::Grain;
use crate::ir::threads::{Share, find_share};
use crate::ir::{Buffer, Operand, Program, RankId, Transfer};
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

/// One element of an operation: everything that the thread processing it touches.
#[derive(Clone, Debug)]
pub(super) struct Element {
    /// Its number, over all entries of the operation.
    pub(super) number: u32,
    /// The entry of the operation that it belongs to: over a port, the index of the channel.
    pub(super) entry: usize,
    /// The threads that process it.
    pub(super) lane: Lane,
    /// What it reads.
    pub(super) reads: Accesses,
    /// What it writes.
    pub(super) writes: Accesses,
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
    /// How the operand's elements are distributed over threads.
    pub(super) share: Share,
}

/// The elements of a transfer that this step processes.
pub(super) fn elements(
    program: &Program,
    here: RankId,
    transfer: &Transfer,
    step: &Step,
    grain: Grain,
) -> Vec<Element> {
    let share = find_share(&program.options, transfer);
    let mut elements = Vec::new();
    for (entry, group) in groups(transfer).into_iter().enumerate() {
        let size = group.destinations.first().map_or(0, |(_, operand)| operand.size);
        let length = grain.cells(u64::from(size));
        let covered = covered(transfer.slice, step.window.as_deref(), length);
        let (mut reads, mut writes) = (Accesses::new(), Accesses::new());
        for (index, operand) in &group.sources {
            let packet = source_is_packets(transfer, *index);
            first((program, grain), here, operand, (packet, share), &mut reads);
        }
        for (index, operand) in &group.destinations {
            let packet = writes_packets(transfer.verb, *index);
            first((program, grain), here, operand, (packet, share), &mut writes);
        }
        for at in covered.clone() {
            elements.push(Element {
                number: elements.len() as u32,
                entry,
                lane: Lane { share, at: at - covered.start },
                reads: further(&reads, at),
                writes: further(&writes, at),
            });
        }
    }
    elements
}

/// Adds what an operand's first element touches.
fn first(
    (program, grain): (&Program, Grain),
    here: RankId,
    operand: &Operand,
    (packet, share): (bool, Share),
    into: &mut Accesses,
) {
    for extent in extents(&program.ranks, here, *operand) {
        let cell = grain.cells(extent.start);
        let place = Place { rank: extent.rank, buffer: extent.buffer, cell };
        into.push(Access { place, buffer: operand.buffer, packet, share });
    }
}

/// The same accesses, this many cells further on.
fn further(accesses: &Accesses, cells: u64) -> Accesses {
    let mut all = Accesses::from_slice(accesses);
    all.iter_mut().for_each(|access| access.place.cell += cells);
    all
}
