//! What is decided about a program before its kernels are written: numbers for channels and
//! multicast groups, and sizes.
//!
//! In: the final program, with its instances made. Out: a [`Layout`].
//!
//! - *Lanes* distinguish the channels between two ranks (`lanes`).
//! - Switch channels with the same members and the same buffer are one *group*.

use super::lanes::lanes;
use crate::ir::sharing::Sharing;
use crate::ir::{self, Buffer, ChannelId, Link, Program, RankId, ReduceOp};

/// The numbers and sizes of a program.
pub(super) struct Layout {
    /// The number of lanes.
    pub(super) lanes: u32,
    /// For each rank and channel, the lane on which it signals; for a switch channel, its group.
    numbers: Vec<Vec<u32>>,
    /// The multicast groups, by first use.
    pub(super) groups: Vec<Group>,
    /// The most blocks, semaphores, barriers and chunks of scratch of a rank.
    pub(super) blocks: u32,
    pub(super) semaphores: u32,
    pub(super) barriers: u32,
    pub(super) scratch_chunks: u32,
    /// How many chunks a message has.
    pub(super) message_chunks: u32,
    /// The bytes of the smallest message, if the program says so: chunks are checked from this many whole units on.
    pub(super) least_bytes: Option<u64>,
    /// Properties of the program's operations.
    pub(super) traits: Traits,
    /// What several blocks use.
    pub(super) sharing: Sharing,
}

/// A multicast group.
#[derive(PartialEq)]
pub(super) struct Group {
    pub(super) buffer: Buffer,
    pub(super) ranks: Vec<u32>,
}

/// Properties of a program's operations.
#[derive(Default)]
pub(super) struct Traits {
    /// It combines elements, so their type matters.
    pub(super) reduces: bool,
    /// It also combines in other ways than its collective.
    pub(super) fixed_op: bool,
    /// In which ways it combines through switches.
    pub(super) switch_ops: Vec<ReduceOp>,
    /// It reads or writes packets.
    pub(super) packets: bool,
}

impl Layout {
    pub(super) fn of(program: &Program) -> Layout {
        let most = |count: fn(&ir::Rank) -> usize| {
            program.ranks.iter().map(count).max().unwrap_or(0) as u32
        };
        let (lanes, numbers, groups) = numbered(program);
        Layout {
            lanes,
            numbers,
            groups,
            blocks: most(|rank| rank.blocks.len()),
            semaphores: most(|rank| rank.semaphores.len()),
            barriers: most(|rank| rank.barriers.len()),
            scratch_chunks: most(|rank| rank.scratch_chunks as usize),
            message_chunks: program.message_chunks(),
            least_bytes: least_bytes(program),
            traits: Traits::of(program),
            sharing: Sharing::of(program),
        }
    }

    /// Whether all launches must have one size: those of a program with scratch, unless it is known that they may follow
    /// each other whatever their sizes.
    pub(super) fn needs_one_size(&self, any_size: bool) -> bool {
        self.scratch_chunks > 0 && !any_size
    }

    /// The lane on which an end of a channel signals, or the group of a switch channel.
    pub(super) fn number(&self, rank: RankId, channel: ChannelId) -> u32 {
        let numbers = self.numbers.get(rank.0 as usize);
        numbers.and_then(|row| row.get(channel.0 as usize)).copied().unwrap_or(0)
    }
}

impl Traits {
    pub(super) fn of(program: &Program) -> Traits {
        let mut traits = Traits::default();
        for transfer in program.all_ops().filter_map(ir::Op::transfer) {
            traits.add(program, transfer);
        }
        traits
    }

    fn add(&mut self, program: &Program, transfer: &ir::Transfer) {
        if transfer.verb.reduces() {
            self.reduces = true;
            self.fixed_op |= transfer.reduce != program.collective.op;
            let switches = transfer.sources.iter().any(ir::Operand::is_switch);
            if switches && !self.switch_ops.contains(&transfer.reduce) {
                self.switch_ops.push(transfer.reduce);
            }
        }
        for access in ir::memory::accesses(transfer) {
            self.packets |= access.packets;
        }
    }
}

/// The bytes of the smallest message that is not below the program's limit, and whose chunks are whole units.
pub(super) fn least_bytes(program: &Program) -> Option<u64> {
    let options = &program.options;
    let size = chunks_with_instances(program).saturating_mul(options.alignment.into()).max(1);
    Some(options.min_message_size?.div_ceil(size).saturating_mul(size))
}

/// The bytes of the smallest message that the kernels of a program without switches serve, with packets of 8 bytes.
pub(super) fn smallest_message(program: &Program) -> u64 {
    let grain = if Traits::of(program).packets { 8 } else { 1 };
    chunks_with_instances(program).saturating_mul(grain).max(least_bytes(program).unwrap_or(0))
}

/// How many chunks a message has once the instances are made.
fn chunks_with_instances(program: &Program) -> u64 {
    let copies = if program.instances_done == 1 { program.options.instances.max(1) } else { 1 };
    u64::from(program.message_chunks()) * u64::from(copies)
}

/// How many multicast groups a program has.
pub(super) fn groups(program: &Program) -> usize {
    numbered(program).2.len()
}

/// The number of lanes, every channel's number, and the groups.
fn numbered(program: &Program) -> (u32, Vec<Vec<u32>>, Vec<Group>) {
    let (count, mut numbers) = lanes(program);
    let mut groups: Vec<Group> = Vec::new();
    for (rank, row) in program.ranks.iter().zip(&mut numbers) {
        let used = rank.used_switches();
        for ((id, channel), number) in rank.channels.entries().zip(row) {
            let Link::Switch(group) = &channel.link else { continue };
            if !used.contains(&id) {
                continue;
            }
            let ranks = group.ranks.iter().map(|rank| rank.0).collect();
            let group = Group { buffer: group.buffer, ranks };
            let known = groups.iter().position(|other| *other == group);
            *number = known.unwrap_or_else(|| {
                groups.push(group);
                groups.len() - 1
            }) as u32;
        }
    }
    (count, numbers, groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::build::program;

    #[test]
    fn the_smallest_message_has_chunks_of_whole_units() {
        let mut two_chunks = program(2, 2, 2, 0);
        assert_eq!(least_bytes(&two_chunks), None);
        for (limit, least) in [(0, 0), (1, 32), (32, 32), (33, 64)] {
            two_chunks.options.min_message_size = Some(limit);
            assert_eq!(least_bytes(&two_chunks), Some(least), "{limit}");
        }
    }
}
