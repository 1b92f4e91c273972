//! What the collectives that MSCCL++ names share between input and output, and what they promise.
//!
//! In: a collective's name and the chunks of one rank. Out: the alias of an in-place plan and the contributions that
//! each output chunk must hold. A name that is not known here, or chunks that do not have its shape, promise nothing.

use crate::ir;
use smallvec::smallvec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A collective on ranks with as many chunks each.
pub(super) struct Shape<'a> {
    pub(super) collective: &'a str,
    pub(super) ranks: u32,
    pub(super) input: u32,
    pub(super) output: u32,
}

/// The promises made so far, so that ranks which are promised the same share them.
#[derive(Default)]
pub(super) struct Cache {
    made: BTreeMap<(u32, u32, u32), Arc<[ir::Promise]>>,
}

/// The most promises for all ranks together; a plan with more chunks than that is promised nothing.
const MOST_PROMISES: u64 = 1 << 24;

impl Cache {
    pub(super) fn of(&mut self, shape: &Shape<'_>, rank: u32) -> Arc<[ir::Promise]> {
        if u64::from(shape.output) * u64::from(shape.ranks) > MOST_PROMISES {
            return Arc::default();
        }
        let of_rank = if shape.same_for_all() { 0 } else { rank };
        let key = (of_rank, shape.input, shape.output);
        Arc::clone(self.made.entry(key).or_insert_with(|| shape.promises(of_rank)))
    }
}

impl Shape<'_> {
    /// Whether every rank is promised the same.
    fn same_for_all(&self) -> bool {
        matches!(self.collective, "allgather" | "allreduce")
    }

    /// How input and output of `rank` share memory, in place.
    pub(super) fn alias(&self, rank: u32) -> Option<ir::Alias> {
        let (input, output) = (ir::Buffer::Input, ir::Buffer::Output);
        let (inner, outer, offset) = match self.collective {
            "allgather" if self.scaled(self.input, self.output) => {
                (input, output, rank * self.input)
            }
            "reducescatter" if self.scaled(self.output, self.input) => {
                (output, input, rank * self.output)
            }
            "allreduce" | "alltoall" if self.input == self.output => (input, output, 0),
            _ => return None,
        };
        Some(ir::Alias { inner, outer, offset })
    }

    /// What the output of `rank` must hold.
    fn promises(&self, rank: u32) -> Arc<[ir::Promise]> {
        let term = |chunk: u32, from: u32, their: u32, count: u32| ir::Promise {
            chunk,
            terms: smallvec![ir::Term {
                rank: from,
                chunk: their,
                count,
                rank_step: 1,
                chunk_step: 0
            }],
        };
        let (input, output) = (self.input, self.output);
        match self.collective {
            "allgather" if self.scaled(input, output) => {
                (0..output).map(|chunk| term(chunk, chunk / input, chunk % input, 1)).collect()
            }
            "allreduce" if input == output => {
                (0..output).map(|chunk| term(chunk, 0, chunk, self.ranks)).collect()
            }
            "reducescatter" if self.scaled(output, input) => {
                (0..output).map(|chunk| term(chunk, 0, rank * output + chunk, self.ranks)).collect()
            }
            "alltoall"
                if input == output && self.ranks > 0 && output.is_multiple_of(self.ranks) =>
            {
                let each = output / self.ranks;
                let from = |chunk: u32| term(chunk, chunk / each, rank * each + chunk % each, 1);
                (0..output).map(from).collect()
            }
            "sendrecv" if input == output && self.ranks > 0 => {
                let previous = (rank + self.ranks - 1) % self.ranks;
                (0..output).map(|chunk| term(chunk, previous, chunk, 1)).collect()
            }
            _ => Arc::default(),
        }
    }

    /// Whether `large` is `small` once for each rank, and not empty.
    fn scaled(&self, small: u32, large: u32) -> bool {
        small > 0 && small.checked_mul(self.ranks) == Some(large)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(collective: &str, ranks: u32, input: u32, output: u32) -> Shape<'_> {
        Shape { collective, ranks, input, output }
    }

    /// Each promise as (chunk, rank, their chunk, count).
    fn terms(promises: &[ir::Promise]) -> Vec<(u32, u32, u32, u32)> {
        promises
            .iter()
            .flat_map(|promise| {
                promise.terms.iter().map(move |t| (promise.chunk, t.rank, t.chunk, t.count))
            })
            .collect()
    }

    #[test]
    fn allgather_with_two_chunks_a_rank() {
        let shape = shape("allgather", 2, 2, 4);
        assert_eq!(
            terms(&shape.promises(1)),
            [(0, 0, 0, 1), (1, 0, 1, 1), (2, 1, 0, 1), (3, 1, 1, 1)]
        );
        let alias = shape.alias(1).map(|alias| (alias.inner, alias.outer, alias.offset));
        assert_eq!(alias, Some((ir::Buffer::Input, ir::Buffer::Output, 2)));
    }

    #[test]
    fn alltoall_transposes() {
        assert_eq!(terms(&shape("alltoall", 2, 2, 2).promises(1)), [(0, 0, 1, 1), (1, 1, 1, 1)]);
    }

    #[test]
    fn reductions_take_every_rank() {
        assert_eq!(terms(&shape("allreduce", 3, 1, 1).promises(2)), [(0, 0, 0, 3)]);
        assert_eq!(terms(&shape("reducescatter", 3, 3, 1).promises(2)), [(0, 0, 2, 3)]);
    }

    #[test]
    fn sendrecv_comes_from_the_previous_rank() {
        assert_eq!(terms(&shape("sendrecv", 3, 1, 1).promises(0)), [(0, 2, 0, 1)]);
    }

    #[test]
    fn ranks_share_what_is_the_same() {
        let (mut cache, allreduce) = (Cache::default(), shape("allreduce", 2, 4, 4));
        assert!(Arc::ptr_eq(&cache.of(&allreduce, 0), &cache.of(&allreduce, 1)));
        let huge = shape("allreduce", 2, u32::MAX, u32::MAX);
        assert!(cache.of(&huge, 0).is_empty());
    }

    #[test]
    fn other_shapes_promise_nothing() {
        assert!(shape("allgather", 2, 2, 3).promises(0).is_empty());
        assert!(shape("test", 2, 2, 2).promises(0).is_empty());
        assert_eq!(shape("allgather", 2, 2, 3).alias(0), None);
    }
}
