//! What is used by what: for each channel, semaphore and stretch of chunks, the sum of the marks of its uses.

use super::super::merged::Merged;
use super::super::turn::Turn;
use super::marks::mix;
use super::stretches::{Cuts, Stretches};
use super::{back, chunks, per_rank};
use crate::ir::memory::{Extent, extents, source_is_packets, writes_packets};
use crate::ir::{Action, Buffer, ChannelId, ChannelKind, Op, Operand, Program, RankId, all_ops};
use crate::table::Id;

/// How the buffers of one rank are cut.
pub(super) type Cells = [Stretches; 3];

/// The sums so far of the marks of everything that uses each channel, semaphore and stretch of a rank.
#[derive(Debug, Default)]
pub(super) struct Uses {
    pub(super) channels: Vec<u64>,
    pub(super) semaphores: Vec<u64>,
    pub(super) cells: [Slopes; 3],
}

/// For each stretch, the sum of the marks of the operands that contain it, each multiplied by a number for the
/// stretch's position in the operand, so that each stretch gets a mark of its own. The numbers of successive positions
/// are equally spaced; so the second differences of the sums are stored. An operand changes these only at its ends, and
/// costs the same however many stretches it has.
#[derive(Debug, Default)]
pub(super) struct Slopes(Vec<u64>);

/// The number of the first position in an operand, and the step from one position to the next.
const FIRST_AND_NEXT: (u64, u64) = (0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F);

/// Something that an operation uses.
pub(super) enum Used {
    /// A channel of its rank, and the role that it plays.
    Channel(ChannelId, u64),
    /// A semaphore of its rank, and the role that it plays.
    Semaphore(u32, u64),
    /// Chunks: the rank, the buffer, the first chunk, how many there are, and the role that they play.
    Cells(RankId, usize, u32, u32, u64),
}

/// Visits everything that an operation of a rank uses.
pub(super) fn used(program: &Program, here: RankId, op: &Op, visit: &mut impl FnMut(Used)) {
    match &op.action {
        Action::Signal(signal) => {
            signal.channels.iter().for_each(|id| visit(Used::Channel(*id, 1)))
        }
        Action::Wait(signal) => signal.channels.iter().for_each(|id| visit(Used::Channel(*id, 2))),
        Action::Flush(list) => list.iter().for_each(|id| visit(Used::Channel(*id, 3))),
        Action::Acquire(list) => list.iter().for_each(|id| visit(Used::Semaphore(id.0, 1))),
        Action::Release(list) => list.iter().for_each(|id| visit(Used::Semaphore(id.0, 2))),
        Action::Transfer(transfer) => {
            if transfer.via == Some(ChannelKind::Port) {
                transfer.channels.iter().for_each(|id| visit(Used::Channel(*id, 4)));
            }
            for (index, operand) in transfer.sources.iter().enumerate() {
                let role = if source_is_packets(transfer, index) { 2 } else { 1 };
                cells(program, here, operand, role, visit);
            }
            for (index, operand) in transfer.destinations.iter().enumerate() {
                let role = if writes_packets(transfer.verb, index) { 4 } else { 3 };
                cells(program, here, operand, role, visit);
            }
        }
        Action::Sync | Action::Barrier { .. } | Action::Pipeline(_) => {}
    }
}

fn cells(
    program: &Program,
    here: RankId,
    operand: &Operand,
    role: u64,
    visit: &mut impl FnMut(Used),
) {
    for Extent { rank, buffer, start, .. } in extents(&program.ranks, here, *operand) {
        visit(Used::Cells(rank, buffer as usize, start as u32, operand.size, role));
    }
}

/// How every rank's buffers are cut where operands begin and end. If that saves little, each chunk is a stretch, which
/// is faster to look up.
pub(super) fn cut(merged: &Merged<'_>) -> Vec<Cells> {
    let program = merged.program();
    let buffers = [Buffer::Input, Buffer::Output, Buffer::Scratch];
    let each =
        per_rank(program, |rank| buffers.map(|buffer| Stretches::Each(chunks(rank, buffer))));
    let mut cuts = per_rank(program, |rank| buffers.map(|buffer| Cuts::none(chunks(rank, buffer))));
    for here in program.ranks.ids() {
        for ops in merged.blocks(here) {
            all_ops(ops).for_each(|op| {
                used(program, here, op, &mut |used| {
                    let Used::Cells(rank, buffer, start, size, _) = used else { return };
                    let cuts = cuts.get_mut(rank.index()).and_then(|cuts| cuts.get_mut(buffer));
                    if let Some(cuts) = cuts {
                        cuts.add(start);
                        cuts.add(start.saturating_add(size));
                    }
                });
            });
        }
    }
    let cut: Vec<Cells> = cuts.into_iter().map(|cuts| cuts.map(Cuts::stretches)).collect();
    let count = |cells: &[Cells]| cells.iter().flatten().map(Stretches::len).sum::<usize>();
    if 3 * count(&cut) < 2 * count(&each) { cut } else { each }
}

/// Every rank's channels, semaphores and stretches, without any uses yet.
pub(super) fn unused(program: &Program, cells: &[Cells]) -> Vec<Uses> {
    let ranks = program.ranks.iter().zip(cells);
    ranks
        .map(|(rank, cells)| Uses {
            channels: vec![0; rank.channels.len()],
            semaphores: vec![0; rank.semaphores.len()],
            cells: cells.each_ref().map(|stretches| Slopes::new(stretches.len())),
        })
        .collect()
}

/// Adds the marks of a rank's blocks and operations to everything that they use.
pub(super) fn use_all(
    (turn, cells): (Turn, &[Cells]),
    merged: &Merged<'_>,
    (here, blocks, operations): (RankId, &[u64], &[u64]),
    uses: &mut [Uses],
) {
    let program = merged.program();
    let mut operations = operations.iter();
    for (block, ops) in blocks.iter().zip(merged.blocks(here)) {
        all_ops(ops).for_each(|op| {
            let own = mix(*block, operations.next().copied().unwrap_or(0));
            used(program, here, op, &mut |used| match used {
                Used::Channel(id, role) => {
                    let list = uses.get_mut(here.index()).map(|uses| &mut uses.channels);
                    add(list, id.0, mix(own, role));
                }
                Used::Semaphore(id, role) => {
                    let list = uses.get_mut(here.index()).map(|uses| &mut uses.semaphores);
                    add(list, id, mix(own, role));
                }
                Used::Cells(rank, buffer, start, size, role) => {
                    let seen = turn.then(here.0, back(turn, rank));
                    let mark = mix(mix(own, role), u64::from(seen));
                    let stretches = cells.get(rank.index()).and_then(|cells| cells.get(buffer));
                    let there = uses.get_mut(rank.index());
                    let slopes = there.and_then(|uses| uses.cells.get_mut(buffer));
                    if let Some((stretches, slopes)) = stretches.zip(slopes) {
                        let to = stretches.of(start.saturating_add(size));
                        slopes.add(stretches.of(start), to, mark);
                    }
                }
            });
        });
    }
}

fn add(list: Option<&mut Vec<u64>>, at: u32, mark: u64) {
    if let Some(sum) = list.and_then(|list| list.get_mut(at as usize)) {
        *sum = sum.wrapping_add(mark);
    }
}

impl Slopes {
    /// No uses, for this many stretches.
    fn new(stretches: usize) -> Slopes {
        // An operand that ends with the last stretch changes two entries behind it.
        Slopes(vec![0; stretches + 2])
    }

    /// Adds an operand that covers the stretches from one up to, but not including, another.
    fn add(&mut self, from: usize, to: usize, mark: u64) {
        let Some(further) = to.checked_sub(from + 1) else { return };
        let (first, next) =
            (mark.wrapping_mul(FIRST_AND_NEXT.0), mark.wrapping_mul(FIRST_AND_NEXT.1));
        let last = first.wrapping_add(next.wrapping_mul(further as u64));
        let mut differ = |at: usize, by: u64| {
            if let Some(here) = self.0.get_mut(at) {
                *here = here.wrapping_add(by);
            }
        };
        differ(from, first);
        differ(from + 1, next.wrapping_sub(first));
        differ(to, 0_u64.wrapping_sub(next).wrapping_sub(last));
        differ(to + 1, last);
    }

    /// The mark of each stretch; zero where nothing is used.
    pub(super) fn marks(self) -> Vec<u64> {
        let mut marks = self.0;
        let (mut sum, mut difference) = (0_u64, 0_u64);
        for mark in &mut marks {
            difference = difference.wrapping_add(*mark);
            sum = sum.wrapping_add(difference);
            *mark = mix(sum, 0);
        }
        marks.truncate(marks.len().saturating_sub(2));
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::Slopes;

    /// The marks of six stretches, used by these operands.
    fn marks(operands: &[(usize, usize, u64)]) -> Vec<u64> {
        let mut slopes = Slopes::new(6);
        operands.iter().for_each(|(from, to, mark)| slopes.add(*from, *to, *mark));
        slopes.marks()
    }

    #[test]
    fn what_is_used_alike_has_one_mark_wherever_it_is() {
        let early = marks(&[(0, 3, 7), (1, 3, 9)]);
        let late = marks(&[(3, 6, 7), (4, 6, 9)]);
        assert_eq!(early.get(..3), late.get(3..));
        assert_eq!(
            (early.get(3..), late.get(..3)),
            (Some([0; 3].as_slice()), Some([0; 3].as_slice()))
        );
    }

    #[test]
    fn the_places_of_an_operand_are_told_apart_and_so_is_how_often_each_is_used() {
        let [once, twice, both] =
            [marks(&[(0, 6, 7)]), marks(&[(0, 6, 7), (0, 6, 7)]), marks(&[(0, 6, 7), (1, 6, 7)])];
        // The second operand of the last begins one further on: what is before it is used once.
        let (before, both) = both.split_first().expect("six marks");
        assert_eq!(Some(before), once.first());
        let mut all = [once.as_slice(), twice.as_slice(), both].concat();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!((all.len(), count), (17, 17));
    }

    #[test]
    fn what_is_used_by_nothing_has_no_mark() {
        assert_eq!(marks(&[(2, 2, 7)]), [0; 6]);
    }
}
