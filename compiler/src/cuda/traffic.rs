//! How much memory a program touches: what any time that it takes is to be measured by.
//!
//! In: the program. Out: how many chunks all ranks together read, and how many they write. Memory that is touched again, by
//! whomever, counts once, and what two buffers share counts once; packets count with their flags, as twice their data; what a
//! switch loads or stores counts on each of its ranks. Signals count nothing.

use crate::ir::grain::gcd;
use crate::ir::memory::{self, Access, Extent};
use crate::ir::{Buffer, Op, Program, RankId, Slice};
use std::collections::BTreeMap;

/// Chunks of distinct memory of all ranks; the last one may be touched in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Traffic {
    pub(super) read: u64,
    pub(super) written: u64,
}

impl Traffic {
    pub(super) fn of(program: &Program) -> Traffic {
        let parts = parts(program);
        let (mut read, mut written) = (Touched::default(), Touched::default());
        for (here, rank) in program.ranks.entries() {
            let transfers = rank.all_ops().filter_map(Op::transfer);
            for access in transfers.flat_map(memory::accesses) {
                let touched = if access.write { &mut written } else { &mut read };
                touched.add(program, here, &access, parts);
            }
        }
        Traffic { read: read.chunks(parts), written: written.chunks(parts) }
    }
}

/// Into how many parts a chunk is cut so that every share of every group of blocks is a whole number of them.
fn parts(program: &Program) -> u64 {
    let slices = program.all_ops().filter_map(Op::transfer).filter_map(|transfer| transfer.slice);
    let mut counts = slices.map(|slice| u64::from(slice.count.max(1)));
    let all = counts.try_fold(1, |all: u64, count| all.checked_mul(count / gcd(all, count)));
    all.filter(|parts| *parts <= u64::from(u16::MAX)).unwrap_or(1)
}

/// Half-open ranges of each buffer of each rank, in parts of chunks, as they come.
#[derive(Default)]
struct Touched(BTreeMap<(RankId, Buffer), Vec<(u64, u64)>>);

impl Touched {
    fn add(&mut self, program: &Program, here: RankId, access: &Access, parts: u64) {
        for extent in memory::cells(&program.ranks, here, access.operand, access.packets) {
            let range = share(extent, access.slice, parts);
            self.0.entry((extent.rank, extent.buffer)).or_default().push(range);
        }
    }

    /// How many chunks there are, each counted once.
    fn chunks(self, parts: u64) -> u64 {
        self.0.into_values().map(length).sum::<u64>().div_ceil(parts)
    }
}

/// A block's share of an extent, in parts of chunks. Where chunks could not be cut into shares, it is all.
fn share(extent: Extent, slice: Option<Slice>, parts: u64) -> (u64, u64) {
    let (start, end) = (extent.start * parts, extent.end * parts);
    match slice {
        Some(Slice { index, count }) if (end - start) % u64::from(count.max(1)) == 0 => {
            let each = (end - start) / u64::from(count.max(1));
            (start + u64::from(index) * each, start + (u64::from(index) + 1) * each)
        }
        Some(_) | None => (start, end),
    }
}

/// The length of what ranges cover together.
fn length(mut ranges: Vec<(u64, u64)>) -> u64 {
    ranges.sort_unstable();
    let (mut covered, mut reached) = (0, 0);
    for (start, end) in ranges {
        covered += end.max(reached) - start.max(reached);
        reached = reached.max(end);
    }
    covered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::build::{
        copy_of, group, input, local, memory, on, output, program, scratch, sliced,
    };
    use crate::ir::{ChannelId, Verb};

    fn counts(program: &Program) -> (u64, u64) {
        let Traffic { read, written } = Traffic::of(program);
        (read, written)
    }

    #[test]
    fn what_is_touched_twice_counts_once() {
        let put = |r: u32| vec![memory(r, Verb::Put, &[input(0, 3)], &[on(1 - r, output(0, 3))])];
        let once = program(2, 4, 4, 0).block(put);
        assert_eq!(counts(&once), (6, 6));
        assert_eq!(counts(&once.block(put)), (6, 6));
    }

    #[test]
    fn shared_memory_counts_once() {
        let copies = |_| {
            vec![
                local(Verb::Copy, &[input(0, 1)], &[output(3, 1)]),
                local(Verb::Copy, &[output(1, 1)], &[output(2, 1)]),
            ]
        };
        let program = program(2, 1, 4, 0).in_place(Buffer::Input, Buffer::Output, |_| 1);
        assert_eq!(counts(&program.block(copies)), (2, 4));
    }

    #[test]
    fn packets_count_with_their_flags() {
        let program = program(1, 1, 1, 1).block(|_| {
            vec![
                local(Verb::CopyPackets, &[input(0, 1)], &[scratch(0, 1)]),
                local(Verb::UnpackPackets, &[scratch(0, 1)], &[output(0, 1)]),
            ]
        });
        assert_eq!(counts(&program), (3, 3));
    }

    #[test]
    fn shares_add_up() {
        let share = |index, count| {
            move |_| vec![sliced(local(Verb::Copy, &[input(0, 2)], &[output(0, 2)]), index, count)]
        };
        let some = program(1, 2, 2, 0).block(share(0, 3));
        assert_eq!(counts(&some), (1, 1), "two thirds of a chunk");
        let all = some.block(share(1, 3)).block(share(2, 3));
        assert_eq!(counts(&all), (2, 2));
        assert_eq!(counts(&all.block(share(1, 2))), (2, 2));
        assert_eq!(
            counts(&program(1, 2, 2, 0).block(share(3, 70_001))),
            (2, 2),
            "too many to tell apart"
        );
    }

    #[test]
    fn a_switch_touches_every_rank() {
        let all = group(ChannelId(0), output(0, 1));
        let broadcast = |r: u32| match r {
            0 => vec![local(Verb::Broadcast, &[input(0, 1)], &[all])],
            _ => vec![copy_of(0)],
        };
        let program = program(3, 1, 1, 0).switch(Buffer::Output, 1).block(broadcast);
        assert_eq!(counts(&program), (3, 3));
    }
}
