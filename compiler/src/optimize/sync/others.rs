//! Who is at work on memory beside a block: other blocks, other ranks, proxies.
//!
//! In: a program with its blocks. Out: whether anybody else may be in the way of what a block writes. Packets can tell
//! that they are done, but they tell only the threads that read them. What was written in this launch is in nobody's way
//! by the word of packets, which say nothing of data; scratch may have been written by the launch before, of which they do.

use super::lanes::{self, Mark, Scene, Touch};
use crate::ir::memory::Extent;
use crate::ir::sharing::Sharing;
use crate::ir::{BlockId, Buffer, Op, Program, RankId, all_ops, memory};
use crate::table::{Id, Table};

/// What everybody touches that may be in somebody's way, in a program that reads packets; nothing in others.
#[derive(Debug, Default)]
pub(super) struct Others(Table<RankId, [Cells; 3]>);

/// What is touched of a buffer.
#[derive(Debug, Default)]
struct Cells {
    /// Ascending by where it begins.
    touched: Vec<Touched>,
    /// The length of the longest.
    longest: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Touched {
    touch: Touch,
    /// None is a proxy.
    by: Option<(RankId, BlockId)>,
}

impl Others {
    /// What the blocks of a program touch.
    pub(super) fn of(program: &Program) -> Others {
        if !reads_packets(program) {
            return Others::default();
        }
        let mut others = Others(program.ranks.iter().map(|_| Default::default()).collect());
        let (ranks, options, nothing) = (&program.ranks, &program.options, Others::default());
        // Who takes from what is asked of the block itself.
        let sharing = &Sharing::default();
        for (here, rank) in program.ranks.entries() {
            for (id, block) in rank.blocks.entries() {
                let by = (here, id);
                let scene = Scene { ranks, block: by, options, others: &nothing, sharing };
                for op in all_ops(&block.ops) {
                    let effects = lanes::effects(scene, &op.action, Mark::default());
                    let own = effects.touches.iter().map(|touch| (touch, Some(by)));
                    let all = own.chain(effects.proxied.iter().map(|touch| (touch, None)));
                    let matters =
                        |touch: &Touch| !touch.write || touch.extent.buffer == Buffer::Scratch;
                    all.filter(|(touch, _)| matters(touch))
                        .for_each(|(touch, by)| others.add(Touched { touch: *touch, by }));
                }
            }
        }
        others.0.iter_mut().flatten().for_each(Cells::sort);
        others
    }

    fn add(&mut self, new: Touched) {
        let extent = new.touch.extent;
        let buffers = self.0.iter_mut().nth(extent.rank.index());
        if let Some(cells) = buffers.and_then(|all| all.get_mut(extent.buffer as usize)) {
            cells.longest = cells.longest.max(extent.end - extent.start);
            cells.touched.push(new);
        }
    }

    /// Whether anybody but a block is at work on what it writes. The other blocks of a group, which have other parts of the
    /// same, are not.
    pub(super) fn are_at(&self, written: &Touch, block: (RankId, BlockId)) -> bool {
        self.near(&written.extent)
            .any(|other| other.by != Some(block) && !lanes::apart_in_group(&other.touch, written))
    }

    /// Whether cells are touched as they are here by everyone, none of them apart from the others.
    pub(super) fn are_alike(&self, extent: &Extent) -> bool {
        self.near(extent).all(|other| other.touch.extent == *extent)
    }

    /// What overlaps an extent.
    fn near(&self, extent: &Extent) -> impl Iterator<Item = &Touched> {
        let buffers = self.0.lookup(extent.rank);
        let cells = buffers.and_then(|all| all.get(extent.buffer as usize));
        let (start, end) = (extent.start, extent.end);
        cells.into_iter().flat_map(move |cells| cells.near(start, end))
    }
}

impl Cells {
    fn sort(&mut self) {
        self.touched.sort_by_key(|touched| touched.touch.extent.start);
        self.touched.dedup();
    }

    /// What overlaps the cells from `start` to before `end`.
    fn near(&self, start: u64, end: u64) -> impl Iterator<Item = &Touched> {
        let begin = |touched: &Touched| touched.touch.extent.start;
        let least = start.saturating_sub(self.longest);
        let first = self.touched.partition_point(|touched| begin(touched) < least);
        let near = self.touched.iter().skip(first).take_while(move |other| begin(other) < end);
        near.filter(move |other| other.touch.extent.end > start)
    }
}

fn reads_packets(program: &Program) -> bool {
    let mut accesses = program.all_ops().filter_map(Op::transfer).flat_map(memory::accesses);
    accesses.any(|access| access.packets && !access.write)
}
