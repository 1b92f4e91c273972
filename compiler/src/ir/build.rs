//! Small programs for tests, put together by hand.

use super::{
    Action, Alias, Block, Buffer, Channel, ChannelId, ChannelKind, Collective, Joins, Link, List,
    Op, Operand, Options, Origin, OriginId, Origins, Pipeline, Program, Promise, Rank, RankId,
    ReduceOp, Semaphore, SemaphoreId, Signal, SwitchGroup, Term, Transfer, Verb, Where,
};
use crate::source::{FileId, Place, Span};
use std::sync::Arc;

/// A program of `ranks` ranks with these chunks, out of place, without channels or blocks.
pub(crate) fn program(ranks: u32, input: u32, output: u32, scratch: u32) -> Program {
    let place = Place::Source(Span { file: FileId(0), start: 0, end: 0 });
    let rank = Rank {
        input_chunks: input,
        output_chunks: output,
        scratch_chunks: scratch,
        ..Rank::default()
    };
    Program {
        collective: Collective {
            name: "test".into(),
            arguments: Vec::new(),
            in_place: false,
            op: ReduceOp::Sum,
            place: None,
        },
        options: Options { name: "test".into(), ..Options::default() },
        ranks: (0..ranks).map(|_| rank.clone()).collect(),
        ranks_per_node: ranks,
        ranks_per_domain: ranks,
        machine: None,
        origins: Origins {
            rows: vec![Origin { place, binding: None }].into(),
            ..Origins::default()
        },
        joins: Joins::Implied,
        flush_waits: true,
        instances_done: 1,
        chunk_size: None,
    }
}

impl Program {
    /// Input is the chunks of output from `offset(rank)` on.
    pub(crate) fn in_place(
        mut self,
        inner: Buffer,
        outer: Buffer,
        offset: impl Fn(u32) -> u32,
    ) -> Program {
        self.collective.in_place = true;
        for (i, rank) in self.ranks.iter_mut().enumerate() {
            rank.alias = Some(Alias { inner, outer, offset: offset(i as u32) });
        }
        self
    }

    /// Every rank gets a channel to every other rank, in order: see [`to`].
    pub(crate) fn mesh(mut self, kind: ChannelKind) -> Program {
        let ranks = self.ranks.len() as u32;
        for r in 0..ranks {
            for p in (0..ranks).filter(|p| *p != r) {
                let link = match kind {
                    ChannelKind::Memory => Link::Memory(RankId(p)),
                    ChannelKind::Port => Link::Port(RankId(p)),
                    ChannelKind::Switch => unreachable!("a mesh is of pairs"),
                };
                self.ranks[RankId(r)].channels.push(channel(link, Some(to(p, r))));
            }
        }
        self
    }

    /// Every rank gets a switch channel over all ranks, after its other channels.
    pub(crate) fn switch(mut self, buffer: Buffer, size: u32) -> Program {
        let ranks = self.ranks.ids().collect();
        let group = Arc::new(SwitchGroup { buffer, ranks, size });
        for rank in self.ranks.iter_mut() {
            rank.channels.push(channel(Link::Switch(Arc::clone(&group)), None));
        }
        self
    }

    /// Every rank gets semaphores that start at 0.
    pub(crate) fn semaphores(mut self, count: u32) -> Program {
        for rank in self.ranks.iter_mut() {
            rank.semaphores = (0..count)
                .map(|i| Semaphore {
                    name: format!("s{i}").into(),
                    initial: 0,
                    origin: OriginId(0),
                    shared: false,
                })
                .collect();
        }
        self
    }

    /// Adds a block on every rank.
    pub(crate) fn block(mut self, ops: impl Fn(u32) -> Vec<Action>) -> Program {
        for (i, rank) in self.ranks.iter_mut().enumerate() {
            let ops = ops(i as u32).into_iter().map(op).collect();
            let name = format!("b{}", rank.blocks.len()).into();
            rank.blocks.push(Block { name, ops, origin: OriginId(0) });
        }
        self
    }

    /// Promises that output chunk c of rank r holds the given contributions (rank, chunk).
    pub(crate) fn promise(mut self, terms: impl Fn(u32, u32) -> Vec<(u32, u32)>) -> Program {
        for (r, rank) in self.ranks.iter_mut().enumerate() {
            let promise = |chunk| Promise {
                chunk,
                terms: terms(r as u32, chunk)
                    .into_iter()
                    .map(|(rank, chunk)| Term {
                        rank,
                        chunk,
                        count: 1,
                        rank_step: 0,
                        chunk_step: 0,
                    })
                    .collect(),
            };
            rank.promises = (0..rank.output_chunks).map(promise).collect();
        }
        self
    }

    /// The operations of a block as text, for comparisons: `signal:2 sync put:1>1`.
    pub(crate) fn words(&self, rank: u32, block: usize) -> String {
        words(&self.ranks[RankId(rank)].blocks.iter().nth(block).unwrap().ops)
    }
}

fn channel(link: Link, partner: Option<ChannelId>) -> Channel {
    Channel { name: "c".into(), link, partner, origin: OriginId(0), shared: false }
}

/// The channel of a mesh from rank `r` to rank `p`.
pub(crate) fn to(r: u32, p: u32) -> ChannelId {
    ChannelId(if p < r { p } else { p - 1 })
}

/// All channels of a rank in a mesh.
pub(crate) fn all(r: u32, ranks: u32) -> List<ChannelId> {
    (0..ranks).filter(|p| *p != r).map(|p| to(r, p)).collect()
}

/// An operation without a particular origin.
pub(crate) fn op(action: Action) -> Op {
    Op { action, origin: OriginId(0), sync: None }
}

/// `signal`, relaxed or not.
pub(crate) fn signal(channels: impl IntoIterator<Item = ChannelId>, relaxed: bool) -> Action {
    Action::Signal(Signal { channels: channels.into_iter().collect(), relaxed })
}

/// `wait`, relaxed or not.
pub(crate) fn wait(channels: impl IntoIterator<Item = ChannelId>, relaxed: bool) -> Action {
    Action::Wait(Signal { channels: channels.into_iter().collect(), relaxed })
}

/// `acquire`
pub(crate) fn acquire(semaphores: &[u32]) -> Action {
    Action::Acquire(semaphores.iter().map(|id| SemaphoreId(*id)).collect())
}

/// `release`
pub(crate) fn release(semaphores: &[u32]) -> Action {
    Action::Release(semaphores.iter().map(|id| SemaphoreId(*id)).collect())
}

/// `pipeline`
pub(crate) fn pipeline(unit: u64, chunks: u32, body: Vec<Action>) -> Action {
    Action::Pipeline(Pipeline { unit, chunks, body: body.into_iter().map(op).collect() })
}

/// `n` chunks of this rank's input.
pub(crate) fn input(index: u32, size: u32) -> Operand {
    Operand { place: Where::Local, buffer: Buffer::Input, index, size }
}

/// `n` chunks of this rank's output.
pub(crate) fn output(index: u32, size: u32) -> Operand {
    Operand { place: Where::Local, buffer: Buffer::Output, index, size }
}

/// `n` chunks of this rank's scratch.
pub(crate) fn scratch(index: u32, size: u32) -> Operand {
    Operand { place: Where::Local, buffer: Buffer::Scratch, index, size }
}

/// The same chunks of rank `p`.
pub(crate) fn on(p: u32, operand: Operand) -> Operand {
    Operand { place: Where::Remote(RankId(p)), ..operand }
}

/// The same chunks of a switch channel's group.
pub(crate) fn group(channel: ChannelId, operand: Operand) -> Operand {
    Operand { place: Where::Switch(channel), ..operand }
}

/// A local operation.
pub(crate) fn local(verb: Verb, sources: &[Operand], destinations: &[Operand]) -> Action {
    over(verb, None, sources, destinations, &[])
}

/// Input chunk `i` copied to output chunk `i`.
pub(crate) fn copy_of(i: u32) -> Action {
    local(Verb::Copy, &[input(i, 1)], &[output(i, 1)])
}

/// An operation over channels.
pub(crate) fn over(
    verb: Verb,
    via: Option<ChannelKind>,
    sources: &[Operand],
    destinations: &[Operand],
    channels: &[ChannelId],
) -> Action {
    Action::Transfer(Transfer {
        verb,
        sources: sources.iter().copied().collect(),
        destinations: destinations.iter().copied().collect(),
        via,
        channels: channels.iter().copied().collect(),
        slice: None,
        reduce: ReduceOp::Sum,
    })
}

/// An operation over memory channels of a mesh, from rank `r`.
pub(crate) fn memory(r: u32, verb: Verb, sources: &[Operand], destinations: &[Operand]) -> Action {
    mesh(r, ChannelKind::Memory, verb, sources, destinations)
}

/// An operation over port channels of a mesh, from rank `r`.
pub(crate) fn port(r: u32, verb: Verb, sources: &[Operand], destinations: &[Operand]) -> Action {
    mesh(r, ChannelKind::Port, verb, sources, destinations)
}

fn mesh(
    r: u32,
    kind: ChannelKind,
    verb: Verb,
    sources: &[Operand],
    destinations: &[Operand],
) -> Action {
    let channel = |operand: &Operand| match operand.place {
        Where::Remote(peer) => Some(to(r, peer.0)),
        Where::Local | Where::Switch(_) => None,
    };
    let channels: Vec<ChannelId> = sources.iter().chain(destinations).filter_map(channel).collect();
    over(verb, Some(kind), sources, destinations, &channels)
}

/// One block's part of an operation that `count` blocks share.
pub(crate) fn sliced(action: Action, index: u32, count: u32) -> Action {
    let Action::Transfer(transfer) = action else { return action };
    Action::Transfer(Transfer { slice: Some(super::Slice { index, count }), ..transfer })
}

fn words(ops: &[Op]) -> String {
    let word = |op: &Op| match &op.action {
        Action::Sync => "sync".to_owned(),
        Action::Barrier { .. } => "barrier".to_owned(),
        Action::Signal(signal) => format!("signal:{}", signal.channels.len()),
        Action::Wait(signal) => format!("wait:{}", signal.channels.len()),
        Action::Flush(channels) => format!("flush:{}", channels.len()),
        Action::Acquire(semaphores) => format!("acquire:{}", semaphores.len()),
        Action::Release(semaphores) => format!("release:{}", semaphores.len()),
        Action::Transfer(t) => format!("{:?}:{}>{}", t.verb, t.sources.len(), t.destinations.len()),
        Action::Pipeline(pipeline) => format!("[{}]", words(&pipeline.body)),
    };
    ops.iter().map(word).collect::<Vec<_>>().join(" ")
}
