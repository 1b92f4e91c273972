//! The items of wide random programs: what a rank does, together with the others concerned, from the
//! rank's own point of view.

use super::{CHUNKS, ENDS, Maker, SEMAPHORES, SLOTS, end};
use compiler::ir::{
    Action, Buffer, ChannelId, ChannelKind, List, Operand, Pipeline, RankId, ReduceOp, SemaphoreId,
    Signal, Slice, Transfer, Verb, Where,
};

/// An operand, and the channel through which it is reached.
type Routed = (Operand, Option<ChannelId>);

impl Maker {
    /// One block of a rank signals to all others, and waits for all of them.
    pub(super) fn signal_all(&mut self, rank: u32, relaxed: bool) {
        let peers = (0..self.ranks).filter(|peer| *peer != rank);
        let channels: List<ChannelId> = peers.map(|peer| end(rank, peer, 0)).collect();
        if channels.is_empty() {
            return;
        }
        let block = self.user(rank, 0);
        self.push(rank, block, Action::Signal(Signal { channels: channels.clone(), relaxed }));
        self.push(rank, block, Action::Wait(Signal { channels, relaxed }));
    }

    /// The block that uses the `k`-th channels of a rank; any block if they are shared.
    fn user(&mut self, _rank: u32, k: u32) -> u32 {
        let shared = self.program.ranks[RankId(0)].semaphores.iter().any(|s| s.shared);
        if shared && self.lot.once_in(2) { self.lot.below(self.blocks) } else { k % self.blocks }
    }

    /// Writes every chunk of scratch that is not used for packets.
    pub(super) fn filled(&mut self, rank: u32) {
        let whole = |buffer| here(buffer, 0, CHUNKS);
        let copy = local(Verb::Copy, &[whole(Buffer::Input)], &[whole(Buffer::Scratch)]);
        self.push(rank, 0, copy);
        self.meet(rank, 0);
    }

    /// Signals and waits: to one peer or two, over one channel or two, one way or both.
    pub(super) fn told(&mut self, rank: u32) {
        let Some(peer) = self.peer(rank) else { return };
        let Some(other) = self.peer(rank) else { return };
        let k = self.lot.below(ENDS);
        let relaxed = self.lot.once_in(3) && k + 1 < ENDS;
        let both = self.lot.once_in(2);
        let targets: Vec<(u32, u32)> = match self.lot.below(4) {
            0 if other != peer => vec![(peer, k), (other, k)],
            1 if k + 1 < ENDS => vec![(peer, 0), (peer, 1)],
            2 if k + 1 < ENDS => vec![(peer, 1), (peer, 0)],
            3 if k + 1 < ENDS && self.lot.once_in(4) => vec![(peer, k), (peer, k)],
            _ => vec![(peer, k)],
        };
        let joint = self.lot.once_in(2);
        self.tell(rank, &targets, relaxed, joint);
        if both {
            for (peer, k) in targets {
                self.tell(peer, &[(rank, k)], relaxed, joint);
            }
        }
    }

    fn tell(&mut self, rank: u32, targets: &[(u32, u32)], relaxed: bool, joint: bool) {
        let first = targets[0];
        let sender = self.user(rank, first.1);
        let over = |channels: List<ChannelId>| Signal { channels, relaxed };
        let lists: Vec<Vec<(u32, u32)>> = match joint {
            true => vec![targets.to_vec()],
            false => targets.iter().map(|target| vec![*target]).collect(),
        };
        for list in lists {
            let channels = list.iter().map(|(peer, k)| end(rank, *peer, *k)).collect();
            self.push(rank, sender, Action::Signal(over(channels)));
        }
        let same = targets.iter().all(|(peer, _)| *peer == first.0);
        if same && joint {
            let receiver = self.user(first.0, first.1);
            let channels = targets.iter().rev().map(|(_, k)| end(first.0, rank, *k)).collect();
            self.push(first.0, receiver, Action::Wait(over(channels)));
            return;
        }
        for (peer, k) in targets {
            let receiver = self.user(*peer, *k);
            let channels = [end(*peer, rank, *k)].into_iter().collect();
            self.push(*peer, receiver, Action::Wait(over(channels)));
        }
    }

    /// One or two blocks release what another one acquires; or a lock is held around something.
    pub(super) fn handed_on(&mut self, rank: u32) {
        if self.blocks < 2 {
            return;
        }
        let which = self.lot.below(SEMAPHORES);
        let taker = self.user(rank, which);
        let held = self.program.ranks[RankId(rank)].semaphores[SemaphoreId(which)].initial > 0;
        let one = |id: u32| -> List<SemaphoreId> { [SemaphoreId(id)].into_iter().collect() };
        if held {
            self.push(rank, taker, Action::Acquire(one(which)));
            self.data_in(rank, taker);
            self.push(rank, taker, Action::Release(one(which)));
            return;
        }
        let giver = (taker + 1 + self.lot.below(self.blocks - 1)) % self.blocks;
        let more = (which + 1) % SEMAPHORES;
        let list = if more > 0 && which > 0 && self.lot.once_in(3) {
            [which, more].into_iter().map(SemaphoreId).collect()
        } else {
            one(which)
        };
        if self.lot.once_in(2) {
            self.data_in(rank, giver);
        }
        self.push(rank, giver, Action::Release(list.clone()));
        self.push(rank, taker, Action::Acquire(list));
        if self.lot.once_in(2) {
            self.data_in(rank, taker);
        }
    }

    /// A barrier of some blocks of a rank.
    pub(super) fn meeting(&mut self, rank: u32) {
        let count = self.program.ranks[RankId(rank)].barriers.len() as u32;
        let which = self.lot.below(count);
        self.meet(rank, which);
    }

    /// Data is copied, put, gotten or reduced, in some block.
    pub(super) fn data(&mut self, rank: u32) {
        let block = self.lot.below(self.blocks);
        self.data_in(rank, block);
        // Passes fuse neighboring operations.
        if self.lot.once_in(2) {
            self.data_in(rank, block);
        }
    }

    pub(super) fn data_in(&mut self, rank: u32, block: u32) {
        if self.room(rank, block) {
            let action = self.moved(rank);
            self.push(rank, block, action);
        }
    }

    /// A plain operation that moves data, within a rank or over memory.
    fn moved(&mut self, rank: u32) -> Action {
        let size = self.lot.of(&[1, 1, 1, 2, 4]);
        self.moved_of(rank, size)
    }

    fn moved_of(&mut self, rank: u32, size: u32) -> Action {
        let peer = self.peer(rank);
        // The executor applies the current half of scratch only on the local side.
        let halves = self.program.options.double_scratch;
        let far = |maker: &mut Maker| maker.near(&[Buffer::Output, Buffer::Input], rank, size);
        let away = |maker: &mut Maker, write: bool| -> Option<Routed> {
            let peer = peer?;
            let k = maker.lot.below(ENDS - 1);
            let buffers = [Buffer::Output, Buffer::Output, Buffer::Scratch];
            let operand = match (write, halves) {
                (true, true) => maker.near(&[Buffer::Output], rank, size),
                (true, false) => maker.near(&buffers, rank, size),
                (false, _) => far(maker),
            };
            Some((
                Operand { place: Where::Remote(RankId(peer)), ..operand },
                Some(end(rank, peer, k)),
            ))
        };
        let all = [Buffer::Input, Buffer::Input, Buffer::Output, Buffer::Scratch];
        let source = self.near(&all, rank, size);
        let second = self.near(&all, rank, size);
        let mut into = self.near(&[Buffer::Output, Buffer::Output, Buffer::Scratch], rank, size);
        if self.lot.once_in(24) {
            into.buffer = Buffer::Input;
        }
        let other = self.near(&[Buffer::Output, Buffer::Scratch], rank, size);
        // Now and then an operation works on the result of the one before it.
        let plain = |operand| (operand, None);
        match self.lot.below(12) {
            0 => local(Verb::Copy, &[source], &[into]),
            1 => local(Verb::Copy, &[source, second], &[into, other]),
            2 => local(Verb::Copy, &[source], &[into, other]),
            3 => local(Verb::Reduce, &[source, second], &[into]),
            4 => local(Verb::Reduce, &[into, second], &[into]),
            5 | 6 => match away(self, true) {
                Some(there) => routed(Verb::Put, &[plain(source)], &[there]),
                None => local(Verb::Copy, &[source], &[into]),
            },
            7 => match (away(self, true), away(self, true)) {
                (Some(one), Some(two)) => {
                    let source =
                        self.lot.once_in(2).then_some(second).map_or(vec![plain(source)], |s| {
                            vec![plain(source), plain(Operand { buffer: source.buffer, ..s })]
                        });
                    routed(Verb::Put, &source, &[one, two])
                }
                _ => local(Verb::Copy, &[source], &[into]),
            },
            8 => match away(self, false) {
                Some(there) => routed(Verb::Get, &[there], &[plain(into)]),
                None => local(Verb::Copy, &[source], &[into]),
            },
            9 => match away(self, false) {
                Some(there) => routed(Verb::Reduce, &[plain(source), there], &[plain(into)]),
                None => local(Verb::Reduce, &[source, second], &[into]),
            },
            10 => match away(self, true) {
                Some(there) => {
                    let read = [plain(source), plain(second)];
                    routed(Verb::Reduce, &read, &[plain(into), there])
                }
                None => local(Verb::Reduce, &[source, second], &[into]),
            },
            _ => match (away(self, false), away(self, true)) {
                (Some(read), Some(written)) => {
                    routed(Verb::Reduce, &[plain(source), read], &[plain(into), written])
                }
                _ => local(Verb::Reduce, &[source, second], &[into]),
            },
        }
    }

    /// Chunks of one of these buffers; half of the time, chunks that belong to this rank.
    fn near(&mut self, buffers: &[Buffer], rank: u32, size: u32) -> Operand {
        let buffer = self.lot.of(buffers);
        let places = CHUNKS / size;
        let drawn = self.lot.below(places);
        let own = self.lot.once_in(2);
        let index = (if own { drawn + rank } else { drawn }) % places * size;
        here(buffer, index, size)
    }

    /// Through the switch: the data of all ranks is reduced, or stored to all, or both.
    pub(super) fn switch(&mut self, rank: u32) {
        let first = (self.ranks - 1) * ENDS;
        let scratch = self.lot.once_in(3) && !self.program.options.double_scratch;
        let channel = ChannelId(first + u32::from(scratch));
        let buffer = if scratch { Buffer::Scratch } else { Buffer::Output };
        let cell = self.near(&[buffer], rank, 1);
        let other = if self.lot.once_in(4) { self.near(&[buffer], rank, 1) } else { cell };
        let between = self.near(&[Buffer::Scratch, Buffer::Output, buffer], rank, 1);
        let between = if self.lot.once_in(3) { cell } else { between };
        let over = |operand: Operand| {
            (Operand { place: Where::Switch(channel), ..operand }, Some(channel))
        };
        let block = self.lot.below(self.blocks);
        let which = self.lot.below(4);
        if which > 0 {
            self.push(rank, block, routed(Verb::Reduce, &[over(cell)], &[(between, None)]));
        }
        if which != 1 {
            self.push(rank, block, routed(Verb::Broadcast, &[(between, None)], &[over(other)]));
        }
    }

    /// A request to a proxy, and the wait for it.
    pub(super) fn port(&mut self, rank: u32) {
        let k = ENDS - 1;
        let Some(peer) = self.peer(rank) else { return };
        let size = self.lot.of(&[1, 1, 2]);
        // The executor's proxies use only one half of scratch.
        let all = [Buffer::Input, Buffer::Output, Buffer::Scratch];
        let buffers = if self.program.options.double_scratch { &all[..2] } else { &all[..] };
        let source = self.near(buffers, rank, size);
        let into = self.near(&buffers[1..], rank, size);
        let channel = Some(end(rank, peer, k));
        let there = (Operand { place: Where::Remote(RankId(peer)), ..into }, channel);
        let (sender, receiver) = (self.user(rank, k), self.user(peer, k));
        let verbs = [Verb::Put, Verb::PutWithSignal, Verb::PutWithSignalAndFlush];
        let verb = self.lot.of(&verbs);
        self.push(rank, sender, routed(verb, &[(source, None)], &[there]));
        let channels: List<ChannelId> = [end(peer, rank, k)].into_iter().collect();
        if verb == Verb::Put {
            if self.lot.once_in(3) {
                return;
            }
            let channels = [end(rank, peer, k)].into_iter().collect();
            self.push(rank, sender, Action::Signal(Signal { channels, relaxed: false }));
        }
        if verb != Verb::PutWithSignalAndFlush && self.lot.once_in(3) {
            let flusher = if self.lot.once_in(4) { self.user(rank, k + 1) } else { sender };
            self.push(rank, flusher, Action::Flush([end(rank, peer, k)].into_iter().collect()));
        }
        self.push(peer, receiver, Action::Wait(Signal { channels, relaxed: false }));
        if self.lot.once_in(2) {
            let back = [end(peer, rank, k)].into_iter().collect();
            self.push(peer, receiver, Action::Signal(Signal { channels: back, relaxed: false }));
            let channels = [end(rank, peer, k)].into_iter().collect();
            self.push(rank, sender, Action::Wait(Signal { channels, relaxed: false }));
        }
    }

    /// A free place for a packet on a rank; now and then one that is in use.
    fn slot(&mut self, rank: u32) -> Operand {
        let any = self.lot.below(SLOTS.1);
        let taken = &mut self.taken[rank as usize];
        let free = (0..SLOTS.1).find(|slot| !taken.contains(slot)).unwrap_or(any);
        let slot = if self.lot.once_in(20) { any } else { free };
        self.taken[rank as usize].push(slot);
        here(Buffer::Scratch, SLOTS.0 + slot, 1)
    }

    /// Packets to one peer or two, and what those do with them.
    pub(super) fn packets(&mut self, rank: u32) {
        let block = self.lot.below(self.blocks);
        let source = self.near(&[Buffer::Input, Buffer::Input, Buffer::Output], rank, 1);
        let Some(peer) = self.peer(rank) else { return };
        let slot = self.slot(peer);
        let k = self.lot.below(ENDS - 1);
        let there = |slot: Operand, to: u32, k: u32| {
            (Operand { place: Where::Remote(RankId(to)), ..slot }, Some(end(rank, to, k)))
        };
        match self.lot.below(5) {
            4 => self.stored(rank, block, source),
            0 => {
                // By way of the rank's own packets, which are sent on unchanged.
                let own = self.slot(rank);
                self.push(rank, block, local(Verb::CopyPackets, &[source], &[own]));
                let port = self.lot.once_in(2);
                let sent = there(slot, peer, if port { ENDS - 1 } else { k });
                let block =
                    if port { self.user(rank, ENDS - 1) } else { self.lot.below(self.blocks) };
                self.push(rank, block, routed(Verb::ReadPutPackets, &[(own, None)], &[sent]));
                self.take(peer, slot);
            }
            1 => {
                let Some(other) = self.peer(rank) else { return };
                let more = self.slot(other);
                let targets = [there(slot, peer, k), there(more, other, k)];
                self.push(rank, block, routed(Verb::PutPackets, &[(source, None)], &targets));
                self.take(peer, slot);
                self.take(other, more);
            }
            _ => {
                let sent = routed(Verb::PutPackets, &[(source, None)], &[there(slot, peer, k)]);
                self.push(rank, block, sent);
                self.take(peer, slot);
            }
        }
    }

    /// The rank's own packets, stored through the switch to all ranks, which read them.
    fn stored(&mut self, rank: u32, block: u32, source: Operand) {
        let taken = |slot: &u32| self.taken.iter().all(|taken| !taken.contains(slot));
        let Some(slot) = (0..SLOTS.1).find(taken) else { return };
        self.taken.iter_mut().for_each(|taken| taken.push(slot));
        let slot = here(Buffer::Scratch, SLOTS.0 + slot, 1);
        let channel = ChannelId((self.ranks - 1) * ENDS + 1);
        let all = (Operand { place: Where::Switch(channel), ..slot }, Some(channel));
        self.push(rank, block, local(Verb::CopyPackets, &[source], &[slot]));
        self.push(rank, block, routed(Verb::BroadcastPackets, &[(slot, None)], &[all]));
        for taker in 0..self.ranks {
            self.take(taker, slot);
        }
    }

    /// A rank reads a packet: it copies it, or reduces it with something, and may send the result back or
    /// keep it as a packet.
    fn take(&mut self, rank: u32, slot: Operand) {
        let block = self.lot.below(self.blocks);
        let source = self.near(&[Buffer::Input, Buffer::Output], rank, 1);
        let into = self.near(&[Buffer::Output, Buffer::Output, Buffer::Scratch], rank, 1);
        match self.lot.below(6) {
            0 => self.push(rank, block, local(Verb::ReducePackets, &[source, slot], &[into])),
            1 => {
                let kept = self.slot(rank);
                let sum = local(Verb::ReducePackets, &[source, slot], &[into]);
                self.push(rank, block, sum);
                self.push(rank, block, local(Verb::CopyPackets, &[into], &[kept]));
                let last = self.near(&[Buffer::Output], rank, 1);
                self.push(rank, block, local(Verb::UnpackPackets, &[kept], &[last]));
            }
            2 => {
                let Some(peer) = self.peer(rank) else { return };
                let there = self.slot(peer);
                let k = self.lot.below(ENDS - 1);
                let remote = Operand { place: Where::Remote(RankId(peer)), ..there };
                let sent = (remote, Some(end(rank, peer, k)));
                if self.lot.once_in(2) {
                    let read = [(source, None), (slot, None)];
                    let sum = routed(Verb::ReducePackets, &read, &[(into, None), sent]);
                    self.push(rank, block, sum);
                } else {
                    let sum = local(Verb::ReducePackets, &[source, slot], &[into]);
                    self.push(rank, block, sum);
                    self.push(rank, block, routed(Verb::PutPackets, &[(into, None)], &[sent]));
                }
                let last = self.near(&[Buffer::Output], peer, 1);
                let block = self.lot.below(self.blocks);
                self.push(peer, block, local(Verb::UnpackPackets, &[there], &[last]));
            }
            _ => self.push(rank, block, local(Verb::UnpackPackets, &[slot], &[into])),
        }
    }

    /// An operation shared by several blocks.
    pub(super) fn group(&mut self, rank: u32) {
        let action = self.moved(rank);
        let count = self.blocks;
        for index in 0..count {
            let mut action = action.clone();
            if let Action::Transfer(transfer) = &mut action {
                transfer.slice = (count > 1).then_some(Slice { index, count });
            }
            self.nth = 0;
            self.push(rank, index, action);
        }
    }

    /// A pipeline in one block, or in two that hand off to each other: within a rank or to a peer.
    pub(super) fn pipeline(&mut self, rank: u32) {
        let unit = self.lot.of(&[1024, 1024, 2048]);
        let chunks = self.lot.of(&[1, 1, 2]);
        let first = self.moved_of(rank, chunks);
        let peer = self.peer(rank);
        let which = self.lot.below(3);
        let one = |id: u32| -> List<SemaphoreId> { [SemaphoreId(id)].into_iter().collect() };
        let over = |channel: ChannelId| Signal {
            channels: [channel].into_iter().collect(),
            relaxed: false,
        };
        match (which, peer) {
            (0, Some(peer)) => {
                let second = self.moved_of(peer, chunks);
                let (sender, receiver) = (self.user(rank, 1), self.user(peer, 1));
                let there = self.lot.once_in(2);
                let mut sent = vec![first, Action::Signal(over(end(rank, peer, 1)))];
                let mut taken = vec![Action::Wait(over(end(peer, rank, 1))), second];
                if there {
                    taken.push(Action::Signal(over(end(peer, rank, 1))));
                    sent.push(Action::Wait(over(end(rank, peer, 1))));
                }
                let give = (rank, sender, Action::Signal(over(end(rank, peer, 1))));
                let take = (peer, receiver, Action::Wait(over(end(peer, rank, 1))));
                self.handed_off((unit, chunks), (give, sent), (take, taken));
            }
            (1, _) if self.blocks > 1 => {
                let second = self.moved_of(rank, chunks);
                let taker = self.user(rank, 1);
                let giver = (taker + 1) % self.blocks;
                let given = vec![first, Action::Release(one(1))];
                let taken = vec![Action::Acquire(one(1)), second];
                let give = (rank, giver, Action::Release(one(1)));
                let take = (rank, taker, Action::Acquire(one(1)));
                self.handed_off((unit, chunks), (give, given), (take, taken));
            }
            _ => {
                let second = self.moved_of(rank, chunks);
                let block = self.lot.below(self.blocks);
                self.piped(rank, block, (unit, chunks), vec![first, second]);
            }
        }
    }

    /// Two pipelines that hand off to each other. Sometimes one may be some windows ahead of the other, because of
    /// further uses of their counter before and after them.
    fn handed_off(
        &mut self,
        shape: (u64, u32),
        (give, given): ((u32, u32, Action), Vec<Action>),
        (take, taken): ((u32, u32, Action), Vec<Action>),
    ) {
        let further = if self.lot.once_in(3) { 1 + self.lot.below(2) } else { 0 };
        let (before, after) = if self.lot.once_in(2) { (&give, &take) } else { (&take, &give) };
        for _ in 0..further {
            self.push(before.0, before.1, before.2.clone());
        }
        self.piped(give.0, give.1, shape, given);
        self.piped(take.0, take.1, shape, taken);
        for _ in 0..further {
            self.push(after.0, after.1, after.2.clone());
        }
    }

    fn piped(&mut self, rank: u32, block: u32, (unit, chunks): (u64, u32), body: Vec<Action>) {
        let explicit = self.program.joins == compiler::ir::Joins::Explicit;
        let mut ops = Vec::new();
        for action in body {
            let op = self.op(action);
            let origin = op.origin;
            ops.push(op);
            if explicit {
                ops.push(compiler::ir::Op { action: Action::Sync, origin, sync: None });
            }
        }
        self.push(rank, block, Action::Pipeline(Pipeline { unit, chunks, body: ops }));
    }
}

fn here(buffer: Buffer, index: u32, size: u32) -> Operand {
    Operand { place: Where::Local, buffer, index, size }
}

fn local(verb: Verb, sources: &[Operand], destinations: &[Operand]) -> Action {
    let plain = |operands: &[Operand]| -> Vec<Routed> {
        operands.iter().map(|operand| (*operand, None)).collect()
    };
    routed(verb, &plain(sources), &plain(destinations))
}

fn routed(verb: Verb, sources: &[Routed], destinations: &[Routed]) -> Action {
    let operands = |all: &[Routed]| all.iter().map(|(operand, _)| *operand).collect();
    let channels: List<ChannelId> =
        sources.iter().chain(destinations).filter_map(|(_, channel)| *channel).collect();
    let switch = |(operand, _): &Routed| matches!(operand.place, Where::Switch(_));
    let via = channels.first().map(|channel| {
        if sources.iter().chain(destinations).any(switch) {
            ChannelKind::Switch
        } else if channel.0 % ENDS == ENDS - 1 {
            ChannelKind::Port
        } else {
            ChannelKind::Memory
        }
    });
    Action::Transfer(Transfer {
        verb,
        sources: operands(sources),
        destinations: operands(destinations),
        via,
        channels,
        slice: None,
        reduce: ReduceOp::Sum,
    })
}
