//! The scratch that MSCCL++'s executor allocates, and where its second half begins.
//!
//! In: the options of a program, a rank, and the bytes of the allocation in which the rank's input lies. Out: bytes, and
//! the number of which the chunks of scratch must be a multiple.
//!
//! The executor sizes scratch by the whole allocation that contains the input, up to the plan's largest message, and not
//! by the message that is sent. Allocations are taken to be multiples of [`ALLOCATION`] bytes.

use super::{Options, Program, Protocol, Rank};

/// The scratch that all plans with `reuse_resources` share, as far as the executor divides it into slots.
pub const REUSED_SCRATCH: u64 = 1 << 26;

/// The bytes of which the sizes of allocations on a GPU are taken to be multiples: CUDA's are multiples of 512, those
/// that a switch or another process can map of 2 MiB.
pub const ALLOCATION: u32 = 256;

/// The bytes at a multiple of which a packet must begin.
const PACKET: u32 = 16;

/// The chunks of a rank by which the executor sizes its scratch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScratchChunks {
    /// Those of its input.
    pub input: u32,
    /// Those of its scratch.
    pub scratch: u32,
}

impl ScratchChunks {
    /// Those of a rank.
    #[must_use]
    pub fn of(rank: &Rank) -> ScratchChunks {
        ScratchChunks { input: rank.input_chunks, scratch: rank.scratch_chunks }
    }

    /// The bytes that MSCCL++'s executor allocates for them, if the input lies in an allocation of `input` bytes, or the
    /// largest message of the plan has as many.
    #[must_use]
    pub fn allocated(self, options: &Options, input: u64) -> u128 {
        if options.reuse_resources && self.scratch > 0 {
            return REUSED_SCRATCH.into();
        }
        let chunk = u128::from(input.div_ceil(self.input.max(1).into()));
        let packets = if options.protocol == Protocol::Ll { 2 } else { 1 };
        let halves = if options.double_scratch { 2 } else { 1 };
        (chunk * u128::from(self.scratch) * packets * halves)
            .next_multiple_of(options.alignment.max(1).into())
    }

    /// Whether the second half then begins at a multiple of a packet's size.
    #[must_use]
    pub fn half_is_aligned(self, options: &Options, input: u64) -> bool {
        let half = self.allocated(options, input) / 2;
        !options.double_scratch || half.is_multiple_of(PACKET.into())
    }
}

/// The number of which the chunks of scratch must be a multiple, so that packets in its second half begin at a multiple
/// of their size, whatever allocation the input lies in. `copies` of each chunk of input are still to be made.
///
/// [`ScratchChunks::allocated`] rounds to the alignment, of which the second half begins after one half. So if the alignment is
/// an odd number of packets, it has to be an even multiple of it without being rounded. As a chunk may have any number of
/// bytes, and counts four times, half an alignment's chunks are enough. With the usual alignment, no more are needed if a
/// chunk is a multiple of eight bytes: if allocations, and the largest message, are cut into chunks evenly.
#[must_use]
pub fn scratch_multiple(program: &Program, copies: u32) -> u32 {
    let options = &program.options;
    let packets =
        options.double_scratch && !options.reuse_resources && options.protocol == Protocol::Ll;
    if !packets || options.alignment.is_multiple_of(2 * PACKET) {
        return 1;
    }
    let half = (options.alignment / 2).max(1);
    let compared = program.most_message_chunks().saturating_mul(copies);
    let even = |rank: &Rank| {
        let chunks = rank.input_chunks.saturating_mul(copies).max(1);
        (ALLOCATION / half).is_multiple_of(chunks)
            && compared.saturating_mul(PACKET / half).is_multiple_of(chunks)
    };
    let is_usual = options.alignment == PACKET;
    if is_usual && program.ranks.iter().all(even) { 1 } else { half }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::RankId;
    use crate::ir::build::program;

    /// A program that alternates between halves with packets: chunks of input and of scratch, and the alignment.
    fn doubled(input: u32, scratch: u32, alignment: u32) -> Program {
        let mut program = program(2, input, input, scratch).block(|_| Vec::new());
        program.options.protocol = Protocol::Ll;
        program.options.double_scratch = true;
        program.options.alignment = alignment;
        program
    }

    /// Whether the second half is aligned for allocations of this many bytes, and for its multiples.
    fn is_aligned(program: &Program, step: u64) -> bool {
        let chunks = ScratchChunks::of(&program.ranks[RankId(0)]);
        let mut allocations = (1..=2_000_u64).map(|k| k * step);
        allocations.all(|input| chunks.half_is_aligned(&program.options, input))
    }

    #[test]
    fn as_many_chunks_as_are_asked_for_align_the_second_half() {
        for alignment in [16, 32, 48, 64, 80, 96, 112, 144, 4096, 4112] {
            for input in 1..=70 {
                let multiple = scratch_multiple(&doubled(input, 1, alignment), 1);
                for times in 1..=3 {
                    let program = doubled(input, multiple * times, alignment);
                    assert!(is_aligned(&program, ALLOCATION.into()), "{alignment} {input} {times}");
                }
            }
        }
    }

    #[test]
    fn fewer_would_not_do() {
        assert_eq!(scratch_multiple(&doubled(1, 1, 48), 1), 24);
        assert!(!is_aligned(&doubled(1, 1, 48), ALLOCATION.into()));
        assert_eq!(scratch_multiple(&doubled(3, 1, 16), 1), 8);
        assert!(!is_aligned(&doubled(3, 1, 16), ALLOCATION.into()));
        assert_eq!(scratch_multiple(&doubled(64, 1, 16), 1), 8);
        assert!(!is_aligned(&doubled(64, 1, 16), ALLOCATION.into()));
        // Four copies of each of 16 chunks are 64.
        assert_eq!(scratch_multiple(&doubled(16, 1, 16), 4), 8);
    }

    #[test]
    fn the_size_of_allocations_is_an_assumption() {
        assert_eq!(scratch_multiple(&doubled(32, 1, 16), 1), 1);
        assert!(is_aligned(&doubled(32, 1, 16), ALLOCATION.into()));
        assert!(!is_aligned(&doubled(32, 1, 16), u64::from(ALLOCATION) / 2));
    }

    #[test]
    fn a_largest_message_that_is_cut_unevenly_counts_too() {
        // The plan of an AllGather whose inputs have more chunks than the output is cut into.
        let mut program = doubled(8, 1, 16);
        assert_eq!(scratch_multiple(&program, 1), 1);
        program.collective.name = "allgather".to_owned();
        for rank in program.ranks.iter_mut() {
            rank.output_chunks = 3;
        }
        assert_eq!(scratch_multiple(&program, 1), 8);
        let chunks = ScratchChunks::of(&program.ranks[RankId(0)]);
        assert!(!chunks.half_is_aligned(&program.options, 96));
    }

    #[test]
    fn what_is_not_halved_is_not_rounded() {
        for change in [
            (|options| options.double_scratch = false) as fn(&mut Options),
            |options| options.protocol = Protocol::Simple,
            |options| options.reuse_resources = true,
        ] {
            let mut program = doubled(3, 1, 48);
            change(&mut program.options);
            assert_eq!(scratch_multiple(&program, 1), 1);
        }
        assert_eq!(scratch_multiple(&doubled(3, 1, 96), 1), 1);
    }
}
