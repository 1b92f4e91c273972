//! Packets and plain chunks in one place: a packet takes twice the room of what it carries, from twice the offset on.
//!
//! Where a program has both in one place they are one memory: each access to one is checked against those to the other,
//! within a launch and across. Packets order nothing but packets here.

use super::cells::{Place, Touch};
use super::machine::{Actor, After, Machine, Packet};
use super::memory::Needs;
use crate::ir::memory::{Extent, accesses, cells};
use crate::ir::run::each_op;
use crate::ir::{Action, Buffer, Program, RankId};
use crate::table::Id;

/// Whether packets lie where plain chunks of scratch do, on any rank.
pub(super) fn mixed(program: &Program) -> bool {
    let mut ranks: Vec<[Vec<Extent>; 2]> =
        program.ranks.iter().map(|_| [Vec::new(), Vec::new()]).collect();
    for (here, rank) in program.ranks.entries() {
        for block in &rank.blocks {
            each_op(&block.ops, &mut |op| {
                let Action::Transfer(transfer) = &op.action else { return };
                for access in accesses(transfer).filter(|a| a.operand.buffer == Buffer::Scratch) {
                    cells(&program.ranks, here, &access.operand, access.packets, &mut |extent| {
                        if let Some([plain, packets]) = ranks.get_mut(extent.rank.index()) {
                            (if access.packets { packets } else { plain }).push(extent);
                        }
                    });
                }
            });
        }
    }
    ranks.into_iter().any(|[plain, packets]| meet(plain, packets))
}

/// Whether extents of two lists overlap.
fn meet(first: Vec<Extent>, second: Vec<Extent>) -> bool {
    let (first, second) = (joined(first), joined(second));
    let mut others = second.iter().peekable();
    first.iter().any(|one| {
        while others.next_if(|other| other.end <= one.start).is_some() {}
        others.peek().is_some_and(|other| other.overlaps(one))
    })
}

/// Extents of one rank's scratch in order, those that touch each other as one.
fn joined(mut extents: Vec<Extent>) -> Vec<Extent> {
    extents.sort_unstable();
    let mut out: Vec<Extent> = Vec::new();
    for extent in extents {
        match out.last_mut() {
            Some(last) if extent.start <= last.end => last.end = last.end.max(extent.end),
            Some(_) | None => out.push(extent),
        }
    }
    out
}

impl<'p> Machine<'p, '_> {
    /// A plain access where a packet lies.
    pub(super) fn plain_over_packet(
        &mut self,
        actor: &Actor<'_, 'p>,
        touch: Touch<'p>,
        place: Place,
    ) {
        let Some(packet) = self.packets.get(&packet_at(place)) else { return };
        let reads = packet.readers.iter().filter(|_| touch.write);
        let earlier: Vec<Touch<'p>> = packet.writers.iter().chain(reads).copied().collect();
        for first in earlier {
            self.check_order(actor, first, touch, place);
        }
    }

    /// A packet of the launch before where a plain access goes, unless one of this launch is there.
    pub(super) fn packet_before<'b>(
        &self,
        before: &'b After<'p>,
        place: Place,
    ) -> Option<&'b Packet<'p>> {
        let key = packet_at(place);
        before.packets.get(&key).filter(|_| !self.packets.contains_key(&key))
    }

    /// An access to a packet where plain chunks lie: of this launch, and of the one before.
    pub(super) fn packet_over_plain(
        &mut self,
        actor: &Actor<'_, 'p>,
        touch: Touch<'p>,
        place: Place,
    ) {
        for cell in [2 * place.cell, 2 * place.cell + 1] {
            let place = Place { cell, ..place };
            let Some(cells) = self.cells.get_mut(place.rank.index()) else { continue };
            let Some(under) = cells.get_mut(place.buffer, cell) else { continue };
            under.covered |= touch.write;
            let reads = under.reads.iter().filter(|_| touch.write);
            let earlier: Vec<Touch<'p>> = under.write.iter().chain(reads).copied().collect();
            for first in earlier {
                self.check_order(actor, first, touch, place);
            }
            self.check_plain_before(actor, touch, place);
        }
    }

    fn check_plain_before(&mut self, actor: &Actor<'_, 'p>, touch: Touch<'p>, place: Place) {
        let Some(before) = self.before else { return };
        let under = before.cells.get(place.rank.index());
        let Some(under) = under.and_then(|cells| cells.get(place.buffer, place.cell)) else {
            return;
        };
        let earlier = under.write.iter().chain(under.reads.iter().filter(|_| touch.write));
        let late = earlier.copied().find(|first| !self.ended(before, actor, first, Needs::Seen));
        if let Some(first) = late {
            self.across_launches(first, touch, place);
        }
    }
}

/// The packet that lies over a plain cell.
fn packet_at(place: Place) -> (RankId, u64) {
    (place.rank, place.cell / 2)
}
