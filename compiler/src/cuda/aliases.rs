//! Memory that one launch accesses in two ways: by its own address, and by the multicast address of a switch.
//!
//! In: the program. Out: whether there is any where one of the two accesses writes.
//!
//! - On a GPU, two addresses of the same memory are aliases. Within a launch, signals and joins order accesses by one
//!   of them with accesses by the other only across a fence for aliases.
//! - An operation that stores where it has loaded from needs no fence for that, nor do packets, which carry their flags.

use crate::ir::memory;
use crate::ir::{Buffer, Link, Op, Program, RankId};
use std::collections::BTreeMap;

/// Whether operations access some cell of memory in both ways, and one of them writes it.
pub(super) fn mixed(program: &Program) -> bool {
    let mut channels = program.ranks.iter().flat_map(|rank| rank.channels.iter());
    if !channels.any(|channel| matches!(channel.link, Link::Switch(_))) {
        return false;
    }
    let mut cells: BTreeMap<(RankId, Buffer, u64), Cell> = BTreeMap::new();
    for (here, rank) in program.ranks.entries() {
        for (number, transfer) in rank.all_ops().filter_map(Op::transfer).enumerate() {
            for access in memory::accesses(transfer).filter(|access| !access.packets) {
                for extent in memory::extents(&program.ranks, here, access.operand) {
                    for at in extent.start..extent.end {
                        let cell = cells.entry((extent.rank, extent.buffer, at)).or_default();
                        cell.users(access.operand.is_switch(), access.write).add((here, number));
                    }
                }
            }
        }
    }
    cells.values().any(Cell::is_mixed)
}

/// Who accesses a cell.
#[derive(Default)]
struct Cell {
    read: Users,
    written: Users,
    read_by_switch: Users,
    written_by_switch: Users,
}

impl Cell {
    fn users(&mut self, by_switch: bool, write: bool) -> &mut Users {
        match (by_switch, write) {
            (false, false) => &mut self.read,
            (false, true) => &mut self.written,
            (true, false) => &mut self.read_by_switch,
            (true, true) => &mut self.written_by_switch,
        }
    }

    fn is_mixed(&self) -> bool {
        self.written.meet(self.read_by_switch)
            || self.written.meet(self.written_by_switch)
            || self.read.meet(self.written_by_switch)
    }
}

/// Transfers, each given by its rank and its place among the transfers of that rank.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Users {
    #[default]
    None,
    One(RankId, usize),
    Several,
}

impl Users {
    fn add(&mut self, (rank, number): (RankId, usize)) {
        let user = Users::One(rank, number);
        *self = if *self == Users::None || *self == user { user } else { Users::Several };
    }

    /// Whether one of these and one of the others are two.
    fn meet(self, others: Users) -> bool {
        match (self, others) {
            (Users::None, _) | (_, Users::None) => false,
            (Users::One(..), Users::One(..)) => self != others,
            (Users::Several, _) | (_, Users::Several) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::build::{group, input, local, output, program, scratch};
    use crate::ir::{Action, ChannelId, Operand, Verb};

    const ALL: ChannelId = ChannelId(0);

    /// Two ranks in place, with two chunks and one of scratch, and a switch over the output or scratch.
    fn ranks(buffer: Buffer) -> Program {
        program(2, 2, 2, 2).in_place(Buffer::Input, Buffer::Output, |_| 0).switch(buffer, 2)
    }

    fn reduce(from: Operand, to: Operand) -> Action {
        local(Verb::Reduce, &[from], &[to])
    }

    fn broadcast(from: Operand, to: Operand) -> Action {
        local(Verb::Broadcast, &[from], &[to])
    }

    #[test]
    fn a_switch_that_combines_and_stores_mixes_nothing() {
        let own = |r: u32| group(ALL, output(r, 1));
        let fused = ranks(Buffer::Output).block(|r| vec![reduce(own(r), own(r))]);
        assert!(!mixed(&fused));
        let apart = |r: u32| vec![reduce(own(r), output(r, 1)), broadcast(output(r, 1), own(r))];
        assert!(
            mixed(&ranks(Buffer::Output).block(apart)),
            "the second stores what the first has stored"
        );
    }

    #[test]
    fn what_is_stored_where_it_was_mixes_nothing() {
        let own = |r: u32| vec![broadcast(input(r, 1), group(ALL, output(r, 1)))];
        assert!(!mixed(&ranks(Buffer::Output).block(own)));
        let other = |r: u32| vec![broadcast(input(r, 1), group(ALL, output(1 - r, 1)))];
        assert!(
            mixed(&ranks(Buffer::Output).block(other)),
            "each stores where the other one loads"
        );
    }

    #[test]
    fn scratch_that_is_filled_or_emptied_directly_is_mixed() {
        let stage = |r: u32| group(ALL, scratch(r, 1));
        let filled = |r: u32| {
            let copy = |c| local(Verb::Copy, &[input(c, 1)], &[scratch(c, 1)]);
            vec![copy(0), copy(1), reduce(stage(r), output(r, 1))]
        };
        assert!(mixed(&ranks(Buffer::Scratch).block(filled)));
        let emptied = |r: u32| {
            let copy = |c| local(Verb::Copy, &[scratch(c, 1)], &[output(c, 1)]);
            vec![broadcast(input(r, 1), stage(r)), copy(0), copy(1)]
        };
        assert!(mixed(&ranks(Buffer::Scratch).block(emptied)));
        let elsewhere = |r: u32| vec![broadcast(input(r, 1), stage(r))];
        assert!(!mixed(&ranks(Buffer::Scratch).block(elsewhere)));
    }

    #[test]
    fn packets_carry_their_flags() {
        let packets = |r: u32| {
            vec![
                local(Verb::CopyPackets, &[input(r, 1)], &[scratch(r, 1)]),
                local(Verb::BroadcastPackets, &[scratch(r, 1)], &[group(ALL, scratch(r, 1))]),
                local(Verb::UnpackPackets, &[scratch(1 - r, 1)], &[output(1 - r, 1)]),
            ]
        };
        assert!(!mixed(&ranks(Buffer::Scratch).block(packets)));
    }
}
