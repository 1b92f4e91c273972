//! Packets and plain chunks in one place: a packet takes up twice the space of its payload, from twice the offset on.
//!
//! Where a program has both in one place, they share memory: each access to one is checked against those to the other,
//! within a launch and across launches. Here, packets order nothing but packets.

use super::acts::Footprint;
use super::cells::Place;
use super::launches::TouchKind;
use super::machine::{Actor, Machine};
use super::writers::Slot;
use crate::ir::memory::{Extent, cells, source_is_packets, writes_packets};
use crate::ir::{Action, Buffer, Operand, Program, RankId, all_ops};
use crate::table::Id;

/// Whether packets overlap plain chunks of scratch, on any rank.
pub(in crate::check) fn mixed(program: &Program) -> bool {
    // Usually a program has no packets in scratch, or nothing but packets, or they are in separate places.
    let (mut plain, mut packets) = (false, false);
    each_operand(program, &mut |_, _, as_packets| {
        plain |= !as_packets;
        packets |= as_packets;
    });
    if !plain || !packets {
        return false;
    }
    let none = Extent { rank: RankId(0), buffer: Buffer::Scratch, start: u64::MAX, end: 0 };
    let mut bounds = vec![[none; 2]; program.ranks.len()];
    each_extent(program, &mut |extent, packets| {
        if let Some(bounds) = bounds.get_mut(extent.rank.index()) {
            let [plain, of_packets] = bounds;
            let all = if packets { of_packets } else { plain };
            (all.start, all.end) = (all.start.min(extent.start), all.end.max(extent.end));
        }
    });
    if !bounds.iter().any(|[plain, packets]| plain.overlaps(packets)) {
        return false;
    }
    let mut ranks = vec![[const { Vec::new() }; 2]; program.ranks.len()];
    each_extent(program, &mut |extent, packets| {
        if let Some([plain, of_packets]) = ranks.get_mut(extent.rank.index()) {
            (if packets { of_packets } else { plain }).push(extent);
        }
    });
    ranks.into_iter().any(|[plain, packets]| meet(plain, packets))
}

/// Visits every extent of scratch that is accessed, and whether it holds packets.
fn each_extent(program: &Program, visit: &mut dyn FnMut(Extent, bool)) {
    each_operand(program, &mut |here, operand, packets| {
        cells(&program.ranks, here, *operand, packets).for_each(|extent| visit(extent, packets));
    });
}

/// Visits every operand in scratch, with its rank, and whether it holds packets.
fn each_operand(program: &Program, visit: &mut impl FnMut(RankId, &Operand, bool)) {
    for (here, rank) in program.ranks.entries() {
        for block in &rank.blocks {
            all_ops(&block.ops).for_each(|op| {
                let Action::Transfer(transfer) = &op.action else { return };
                for (index, operand) in transfer.sources.iter().enumerate() {
                    if operand.buffer == Buffer::Scratch {
                        visit(here, operand, source_is_packets(transfer, index));
                    }
                }
                for (index, operand) in transfer.destinations.iter().enumerate() {
                    if operand.buffer == Buffer::Scratch {
                        visit(here, operand, writes_packets(transfer.verb, index));
                    }
                }
            });
        }
    }
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

/// Extents of one rank's scratch in order, adjacent ones merged.
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
    /// Checks a plain access where a packet lies.
    pub(super) fn plain_over_packet(
        &mut self,
        actor: &Actor<'_, 'p>,
        print: Footprint,
        place: Place,
    ) {
        let Some(packet) = self.packets.get(packet_at(place)) else { return };
        let earlier: Vec<Footprint> = packet.prints(print.writes()).collect();
        for first in earlier {
            self.check_order(actor, first, print, place);
        }
    }

    /// Whether a packet of this launch lies over a plain cell.
    pub(super) fn has_packet_over(&self, place: Place) -> bool {
        self.packets.get(packet_at(place)).is_some()
    }

    /// Checks an access to a packet where plain chunks lie: against this launch, and against the previous one.
    pub(super) fn packet_over_plain(
        &mut self,
        actor: &Actor<'_, 'p>,
        print: Footprint,
        place: Place,
    ) {
        for cell in [2 * place.cell, 2 * place.cell + 1] {
            let Some(cells) = self.cells.get_mut(place.rank.index()) else { continue };
            let Some(under) = cells.get_mut(place.buffer, cell) else { continue };
            under.covered |= print.writes();
            let earlier: Vec<Footprint> = under.prints(print.writes()).collect();
            for first in earlier {
                self.check_order(actor, first, print, place);
            }
            self.again(actor, print, Place { cell, ..place }, TouchKind::Under);
        }
    }
}

/// The packet that lies over a plain cell.
pub(super) fn packet_at(place: Place) -> Slot {
    (place.rank, (place.cell / 2) as u32)
}
