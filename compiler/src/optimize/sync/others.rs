//! Memory that others than a block may be using: other blocks, other ranks, proxies.
//!
//! In: a program with its blocks. Out: whether anybody else may still be using what a block writes. Packets can
//! tell a block that others are done, but they tell only the threads that read them. Of the others' writes only
//! those to scratch count: packets say nothing about other data of the same launch, but scratch may have been
//! written by the previous launch, about which they do.

use super::lanes::{self, Context, Mark, Touch};
use crate::ir::memory::Extent;
use crate::ir::sharing::Sharing;
use crate::ir::{BlockId, Buffer, Op, Program, RankId, all_ops, memory};
use crate::table::{Id, Table};

/// All touches that may be in somebody's way, in a program that reads packets; empty for other programs.
#[derive(Debug, Default)]
pub(super) struct Others(Table<RankId, [Cells; 3]>);

/// The touches of a buffer.
#[derive(Debug, Default)]
struct Cells {
    /// In ascending order of where they begin.
    touched: Vec<Touched>,
    /// The length of the longest one.
    longest: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Touched {
    touch: Touch,
    /// The block that touches it; none for a proxy.
    by: Option<(RankId, BlockId)>,
}

impl Others {
    /// The touches of a program's blocks.
    pub(super) fn of(program: &Program) -> Others {
        if !reads_packets(program) {
            return Others::default();
        }
        let mut others = Others(program.ranks.iter().map(|_| Default::default()).collect());
        let (ranks, options, nothing) = (&program.ranks, &program.options, Others::default());
        // Whether several blocks take from a counter makes no difference to what is touched.
        let sharing = &Sharing::default();
        for (here, rank) in program.ranks.entries() {
            for (id, block) in rank.blocks.entries() {
                let by = (here, id);
                let context = Context { ranks, block: by, options, others: &nothing, sharing };
                for op in all_ops(&block.ops) {
                    let effects = lanes::effects(context, &op.action, Mark::default());
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

    /// Whether anybody else is using what a block writes. The other blocks of its group, which
    /// have other slices of the same cells, are not.
    pub(super) fn are_at(&self, written: &Touch, block: (RankId, BlockId)) -> bool {
        self.near(&written.extent)
            .any(|other| other.by != Some(block) && !lanes::apart_in_group(&other.touch, written))
    }

    /// Whether all touches that overlap these cells are to exactly these cells.
    pub(super) fn are_alike(&self, extent: &Extent) -> bool {
        self.near(extent).all(|other| other.touch.extent == *extent)
    }

    /// The touches that overlap an extent.
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

    /// The touches that overlap the cells from `start` to before `end`.
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
