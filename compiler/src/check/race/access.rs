//! What an operation reads and writes, element by element.

use super::cells::Place;
use super::step::Step;
use crate::ir::memory::{covered, groups, home, source_is_packets, writes_packets};
use crate::ir::run::Grain;
use crate::ir::threads::Share;
use crate::ir::{Buffer, Link, Operand, Program, RankId, Transfer, Where};
use smallvec::SmallVec;

/// Which threads of a block do an element: those that do every element that falls to threads alike, at the same distance
/// from where its operation begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lane {
    /// How elements fall to threads.
    pub(super) share: Share,
    /// The distance from the first element.
    pub(super) at: u64,
}

/// One element of an operation: all that the thread which does it touches.
#[derive(Clone, Debug)]
pub(super) struct Element {
    /// Which, over all pairs of the operation.
    pub(super) number: u32,
    /// Which entry of the operation it belongs to: over a port, which channel.
    pub(super) entry: usize,
    /// Which threads do it.
    pub(super) lane: Lane,
    /// What it reads.
    pub(super) reads: Accesses,
    /// What it writes.
    pub(super) writes: Accesses,
}

/// What an element reads or writes: mostly one cell.
pub(super) type Accesses = SmallVec<[Access; 1]>;

/// One cell that is touched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// Which.
    pub(super) place: Place,
    /// The buffer as its author names it: in place, a cell has two names.
    pub(super) buffer: Buffer,
    /// Whether as a packet.
    pub(super) packet: bool,
    /// How the operand's elements fall to threads.
    pub(super) share: Share,
}

/// The elements of a transfer, as this step does them.
pub(super) fn elements(
    program: &Program,
    here: RankId,
    transfer: &Transfer,
    step: &Step,
    grain: Grain,
) -> Vec<Element> {
    let share = Share::of(&program.options, transfer);
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
        elements.extend(covered.clone().zip(elements.len() as u32..).map(|(at, number)| Element {
            number,
            entry,
            lane: Lane { share, at: at - covered.start },
            reads: reads.iter().map(|access| access.further(at)).collect(),
            writes: writes.iter().map(|access| access.further(at)).collect(),
        }));
    }
    elements
}

/// What an operand's first element touches.
fn first(
    (program, grain): (&Program, Grain),
    here: RankId,
    operand: &Operand,
    (packet, share): (bool, Share),
    into: &mut Accesses,
) {
    let mut on = |rank: RankId| {
        let alias = program.ranks.lookup(rank).and_then(|rank| rank.alias);
        let (buffer, chunk) = home(alias, operand.buffer, operand.index);
        let place = Place { rank, buffer, cell: grain.cells(chunk) };
        into.push(Access { place, buffer: operand.buffer, packet, share });
    };
    match operand.place {
        Where::Local => on(here),
        Where::Remote(peer) => on(peer),
        Where::Switch(channel) => {
            let channel = program.ranks.lookup(here).and_then(|rank| rank.channels.lookup(channel));
            if let Some(Link::Switch(group)) = channel.map(|channel| &channel.link) {
                group.ranks.iter().for_each(|member| on(*member));
            }
        }
    }
}

impl Access {
    /// The same so many cells further on.
    fn further(&self, cells: u64) -> Access {
        Access { place: Place { cell: self.place.cell + cells, ..self.place }, ..*self }
    }
}
