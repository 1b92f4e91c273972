//! A change as it is made to a concrete program: of every operation that comes from the statement.

use crate::diagnostic::change::{Change, Side};
use crate::ir::{
    Action, Channel, ChannelId, ChannelKind, List, Op, Origins, Program, Signal, Transfer, Verb,
};
use crate::source::Place;
use crate::table::Table;

/// The changed program; none where the change cannot be made.
pub(super) fn apply(program: &Program, change: &Change) -> Option<Program> {
    let mut changed = program.clone();
    let mut done = false;
    if *change == Change::DoubleScratch {
        changed.options.double_scratch = true;
        return Some(changed);
    }
    for rank in changed.ranks.iter_mut() {
        for block in rank.blocks.iter_mut() {
            let scene = Scene { origins: &program.origins, channels: &rank.channels };
            block.ops = scene.list(std::mem::take(&mut block.ops), change, &mut done)?;
        }
    }
    done.then_some(changed)
}

struct Scene<'a> {
    origins: &'a Origins,
    channels: &'a Table<ChannelId, Channel>,
}

impl Scene<'_> {
    fn list(&self, ops: Vec<Op>, change: &Change, done: &mut bool) -> Option<Vec<Op>> {
        let mut list = Vec::with_capacity(ops.len() + 2);
        for mut op in ops {
            if let Action::Pipeline(pipeline) = &mut op.action {
                pipeline.body = self.list(std::mem::take(&mut pipeline.body), change, done)?;
            }
            self.op(op, change, &mut list, done)?;
        }
        match change {
            Change::Move { what, past, side, .. } => self.moved(list, (*what, *past, *side), done),
            Change::Join { .. }
            | Change::Strong { .. }
            | Change::Flush { .. }
            | Change::DoubleScratch
            | Change::Handshake { .. } => Some(list),
        }
    }

    fn place(&self, op: &Op) -> Place {
        self.origins.place(op.origin)
    }

    /// An operation, and what is new beside it.
    fn op(&self, mut op: Op, change: &Change, list: &mut Vec<Op>, done: &mut bool) -> Option<()> {
        let place = self.place(&op);
        match change {
            Change::Join { before } if *before == place => {
                *done = true;
                list.push(Op { action: Action::Sync, origin: op.origin, sync: None });
                list.push(op);
            }
            Change::Strong { at } if at.contains(&place) => {
                if let Action::Signal(signal) | Action::Wait(signal) = &mut op.action {
                    *done |= signal.relaxed;
                    signal.relaxed = false;
                }
                list.push(op);
            }
            Change::Flush { at } if *at == place => {
                if let Action::Transfer(transfer) = &mut op.action {
                    *done |= transfer.verb == Verb::PutWithSignal;
                    transfer.verb = flushed(transfer.verb);
                }
                list.push(op);
            }
            Change::Handshake { at, side, relaxed } if *at == place => {
                *done = true;
                let handshake = self.handshake(&op, *relaxed)?;
                if *side == Side::Before {
                    list.extend(handshake);
                    list.push(op);
                } else {
                    list.push(op);
                    list.extend(handshake);
                }
            }
            Change::Join { .. }
            | Change::Strong { .. }
            | Change::Flush { .. }
            | Change::Handshake { .. }
            | Change::DoubleScratch
            | Change::Move { .. } => list.push(op),
        }
        Some(())
    }

    /// A signal and a wait over the channels of a transfer.
    fn handshake(&self, op: &Op, relaxed: bool) -> Option<[Op; 2]> {
        let Action::Transfer(Transfer { channels, via, .. }) = &op.action else { return None };
        if !matches!(via, Some(ChannelKind::Memory | ChannelKind::Port)) {
            return None;
        }
        let mut once: List<ChannelId> = List::new();
        for channel in channels {
            if self.channels.lookup(*channel)?.partner.is_some() && !once.contains(channel) {
                once.push(*channel);
            }
        }
        let signal = || Signal { channels: once.clone(), relaxed };
        let new = |action| Op { action, origin: op.origin, sync: None };
        (!once.is_empty()).then(|| [new(Action::Signal(signal())), new(Action::Wait(signal()))])
    }

    /// Moves each operation of one statement past the next one, or the last one, of another.
    fn moved(
        &self,
        mut ops: Vec<Op>,
        (what, past, side): (Place, Place, Side),
        done: &mut bool,
    ) -> Option<Vec<Op>> {
        if side == Side::Before {
            ops.reverse();
        }
        let mut list: Vec<Op> = Vec::with_capacity(ops.len());
        let mut held: Vec<Op> = Vec::new();
        for op in ops {
            let met = list.last().is_some_and(|last| self.place(last) == past);
            if met && self.place(&op) != past && !held.is_empty() {
                *done = true;
                list.append(&mut held);
            }
            if self.place(&op) == what { held.push(op) } else { list.push(op) }
        }
        if list.last().is_some_and(|last| self.place(last) == past) {
            *done |= !held.is_empty();
            list.append(&mut held);
        }
        if side == Side::Before {
            list.reverse();
        }
        // One that met nothing stands elsewhere in the text.
        held.is_empty().then_some(list)
    }
}

fn flushed(verb: Verb) -> Verb {
    match verb {
        Verb::PutWithSignal => Verb::PutWithSignalAndFlush,
        Verb::Copy
        | Verb::Put
        | Verb::PutWithSignalAndFlush
        | Verb::Get
        | Verb::Reduce
        | Verb::Broadcast
        | Verb::PutPackets
        | Verb::ReadPutPackets
        | Verb::CopyPackets
        | Verb::UnpackPackets
        | Verb::ReducePackets
        | Verb::BroadcastPackets => verb,
    }
}
