//! Applies a change to a concrete program: to every operation that comes from the changed statement.

mod order;

use crate::diagnostic::change::{Change, Side};
use crate::ir::{
    Action, ChannelId, ChannelKind, List, Op, Origins, Program, Rank, Signal, Transfer, Verb,
};
use crate::source::Place;

/// The changed program; none where the change cannot be made.
pub(super) fn apply(program: &Program, change: &Change) -> Option<Program> {
    let mut changed = program.clone();
    match change {
        Change::Option { name: "double_scratch", value } => {
            changed.options.double_scratch = *value == "true";
            return Some(changed);
        }
        // With these, operands would lie elsewhere, which the operations do not show.
        Change::Option { .. } | Change::InPlace { .. } => return None,
        Change::Initial { at, value, .. } => {
            let semaphores = changed.ranks.iter_mut().flat_map(|rank| rank.semaphores.iter_mut());
            for row in semaphores.filter(|row| program.origins.place(row.origin) == *at) {
                row.initial = *value;
            }
            return Some(changed);
        }
        Change::Handover(handover) => return order::hand_over(changed, handover),
        Change::Relay { family, .. } => return order::relay(changed, family),
        Change::Barrier { first, second } => return order::meet(changed, *first, *second),
        Change::Exchange { like, .. } => return exchange(changed, *like),
        Change::Attend { barrier, block } => return order::attend(changed, *barrier, block),
        Change::Join { .. }
        | Change::Strong { .. }
        | Change::Flush { .. }
        | Change::Move { .. }
        | Change::Handshake { .. }
        | Change::Remove { .. }
        | Change::Repeat { .. }
        | Change::Answer { .. }
        | Change::Release { .. } => {}
    }
    let mut done = false;
    for (rank, row) in changed.ranks.iter_mut().zip(program.ranks.iter()) {
        let context = Context { origins: &program.origins, rank: row };
        for block in rank.blocks.iter_mut() {
            block.ops = context.list(std::mem::take(&mut block.ops), change, &mut done)?;
        }
    }
    done.then_some(changed)
}

struct Context<'a> {
    origins: &'a Origins,
    rank: &'a Rank,
}

impl Context<'_> {
    fn list(&self, ops: Vec<Op>, change: &Change, done: &mut bool) -> Option<Vec<Op>> {
        let mut list = Vec::with_capacity(ops.len() + 2);
        for mut op in ops {
            if let Action::Pipeline(pipeline) = &mut op.action {
                pipeline.body = self.list(std::mem::take(&mut pipeline.body), change, done)?;
            }
            self.op(op, change, &mut list, done)?;
        }
        if let Change::Move { what, past, side, .. } = change {
            return self.moved(list, (*what, *past, *side), done);
        }
        Some(list)
    }

    fn place(&self, op: &Op) -> Place {
        self.origins.place(op.origin)
    }

    /// Whether an operation comes from a statement. A pipeline has the place of the first one in it.
    fn is_from(&self, op: &Op, place: Place) -> bool {
        op.pipeline().is_none() && self.place(op) == place
    }

    /// Adds an operation to the list, changed as needed, with any new operations next to it.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "an operation that a change is not about stays as it is; `apply` lists all changes"
    )]
    fn op(&self, mut op: Op, change: &Change, list: &mut Vec<Op>, done: &mut bool) -> Option<()> {
        let place = self.place(&op);
        if op.pipeline().is_some() {
            list.push(op);
            return Some(());
        }
        let new = |action| Op { action, origin: op.origin, sync: None };
        match change {
            Change::Join { before, .. } if *before == place => {
                *done = true;
                list.extend([new(Action::Sync), op]);
            }
            Change::Strong { at } if at.contains(&place) => {
                *done |= strengthen(&mut op);
                list.push(op);
            }
            Change::Flush { at, signal } if *at == place => {
                *done |= flush(&mut op, signal.is_some());
                list.push(op);
            }
            Change::Flush { signal, .. } if *signal == Some(place) => {}
            Change::Handshake { at, side, relaxed } if *at == place => {
                *done = true;
                let handshake = self.handshake(&op, *relaxed)?;
                beside(list, op, *side, handshake);
            }
            Change::Remove { at, .. } if *at == place => *done = true,
            Change::Repeat { at, more, .. } if *at == place => {
                *done = true;
                list.extend((0..=*more).map(|_| op.clone()));
            }
            Change::Answer { verb, at, side } if *at == place => {
                *done = true;
                let signal = Signal { channels: self.channels(&op)?, relaxed: false };
                let answer = match *verb {
                    "signal" => new(Action::Signal(signal)),
                    _ => new(Action::Wait(signal)),
                };
                beside(list, op, *side, [answer]);
            }
            Change::Release { semaphore, after } if *after == place => {
                *done = true;
                let mut rows = self.rank.semaphores.entries();
                let (id, _) = rows.find(|(_, row)| *row.name == **semaphore)?;
                let release = new(Action::Release(std::iter::once(id).collect()));
                beside(list, op, Side::After, [release]);
            }
            _ => list.push(op),
        }
        Some(())
    }

    /// A signal and a wait over the channels of a transfer.
    fn handshake(&self, op: &Op, relaxed: bool) -> Option<[Op; 2]> {
        let channels = self.channels(op)?;
        let signal = || Signal { channels: channels.clone(), relaxed };
        let new = |action| Op { action, origin: op.origin, sync: None };
        Some([new(Action::Signal(signal())), new(Action::Wait(signal()))])
    }

    /// The channels of an operation that can signal at both ends, each once; none if there are none.
    fn channels(&self, op: &Op) -> Option<List<ChannelId>> {
        let channels = match &op.action {
            Action::Signal(signal) | Action::Wait(signal) => &signal.channels,
            Action::Transfer(Transfer {
                channels,
                via: Some(ChannelKind::Memory | ChannelKind::Port),
                ..
            }) => channels,
            Action::Transfer(_)
            | Action::Sync
            | Action::Barrier { .. }
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_)
            | Action::Pipeline(_) => return None,
        };
        let mut once: List<ChannelId> = List::new();
        for channel in channels {
            if self.rank.channels.lookup(*channel)?.partner.is_some() && !once.contains(channel) {
                once.push(*channel);
            }
        }
        (!once.is_empty()).then_some(once)
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
            let met = list.last().is_some_and(|last| self.is_from(last, past));
            if met && !self.is_from(&op, past) && !held.is_empty() {
                *done = true;
                list.append(&mut held);
            }
            if self.is_from(&op, what) { held.push(op) } else { list.push(op) }
        }
        if list.last().is_some_and(|last| self.is_from(last, past)) {
            *done |= !held.is_empty();
            list.append(&mut held);
        }
        if side == Side::Before {
            list.reverse();
        }
        // An operation left over has no statement in this list to move past.
        held.is_empty().then_some(list)
    }
}

/// Adds a relaxed signal and wait at the beginning of every block that runs a certain wait, over the same channels. None
/// where a block runs it more than once: what is repeated may have other channels each time.
fn exchange(mut program: Program, like: Place) -> Option<Program> {
    let Program { ranks, origins, .. } = &mut program;
    let mut done = false;
    for block in ranks.iter_mut().flat_map(|rank| rank.blocks.iter_mut()) {
        let mut waits = block.ops.iter().filter(|op| origins.place(op.origin) == like);
        let Some(op) = waits.next() else { continue };
        let (Action::Wait(wait), None) = (&op.action, waits.next()) else { return None };
        let both = Signal { channels: wait.channels.clone(), relaxed: true };
        let new = |action| Op { action, origin: op.origin, sync: None };
        let added = [new(Action::Signal(both.clone())), new(Action::Wait(both))];
        block.ops.splice(0..0, added);
        done = true;
    }
    done.then_some(program)
}

/// Makes a signal or wait strong; says whether it was relaxed.
fn strengthen(op: &mut Op) -> bool {
    let (Action::Signal(signal) | Action::Wait(signal)) = &mut op.action else { return false };
    std::mem::take(&mut signal.relaxed)
}

/// Makes a put over a port signal and flush, replacing the signal behind it if there is one; says whether that is
/// possible.
fn flush(op: &mut Op, signals_behind: bool) -> bool {
    let Action::Transfer(transfer) = &mut op.action else { return false };
    let own_signal = transfer.verb == Verb::PutWithSignal && !signals_behind;
    let fits = transfer.verb == Verb::Put || own_signal;
    let fits = fits && transfer.via == Some(ChannelKind::Port);
    if fits {
        transfer.verb = Verb::PutWithSignalAndFlush;
    }
    fits
}

/// Adds an operation, with others before or after it.
fn beside<const N: usize>(list: &mut Vec<Op>, op: Op, side: Side, others: [Op; N]) {
    match side {
        Side::Before => {
            list.extend(others);
            list.push(op);
        }
        Side::After => {
            list.push(op);
            list.extend(others);
        }
    }
}
