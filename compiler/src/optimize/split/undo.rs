//! Splitting undone: what was cut to the executor's sizes is one operation again.
//!
//! In: a program. Out: the same, operations in a row as one wherever cutting that one gives these again.

use super::{Limits, limits, pieces};
use crate::ir::{Action, ChannelKind, ChannelNeed, Op, Pairing, Program, Signal, Transfer};
use crate::optimize::blocks;

/// The most parts that become one operation. The executor runs no more operations in a block, and all parts are compared
/// again whenever one is added.
const MOST_PARTS: usize = 64;

/// The program that a split one may have been made from; none where nothing seems to have been cut.
#[must_use]
pub fn undo(program: &Program) -> Option<Program> {
    let mut whole = program.clone();
    blocks::rewrite(&mut whole, |program, (rank, _), ops| joined(limits(program, rank), ops));
    let count = |program: &Program| program.all_ops().count();
    (count(&whole) < count(program)).then_some(whole)
}

fn joined(limits: Limits, ops: Vec<Op>) -> Vec<Op> {
    let mut out: Vec<Op> = Vec::with_capacity(ops.len());
    // What the last operation of these is cut to.
    let mut parts: Vec<Action> = Vec::new();
    for mut op in ops {
        if let Action::Pipeline(pipeline) = &mut op.action {
            pipeline.body = joined(limits, std::mem::take(&mut pipeline.body));
        }
        let whole = out.last().filter(|last| last.sync.is_none() && op.sync.is_none());
        let whole = whole.filter(|_| parts.len() < MOST_PARTS);
        let whole = whole.and_then(|last| join(&last.action, &op.action)).filter(|whole| {
            let cut = pieces(limits, whole).unwrap_or_default();
            cut.iter().eq(parts.iter().chain([&op.action]))
        });
        match (whole, out.last_mut()) {
            (Some(whole), Some(last)) => {
                last.action = whole;
                parts.push(op.action);
            }
            _ => {
                parts = vec![op.action.clone()];
                out.push(op);
            }
        }
    }
    out
}

/// One operation that does what two do; none where there is none.
fn join(one: &Action, more: &Action) -> Option<Action> {
    match (one, more) {
        (Action::Signal(one), Action::Signal(more)) => signals(one, more).map(Action::Signal),
        (Action::Wait(one), Action::Wait(more)) => signals(one, more).map(Action::Wait),
        (Action::Flush(one), Action::Flush(more)) => apart(one, more).map(Action::Flush),
        (Action::Acquire(one), Action::Acquire(more)) => apart(one, more).map(Action::Acquire),
        (Action::Release(one), Action::Release(more)) => apart(one, more).map(Action::Release),
        (Action::Transfer(one), Action::Transfer(more)) => {
            transfers(one, more).map(Action::Transfer)
        }
        (
            Action::Sync
            | Action::Barrier { .. }
            | Action::Signal(_)
            | Action::Wait(_)
            | Action::Flush(_)
            | Action::Acquire(_)
            | Action::Release(_)
            | Action::Transfer(_)
            | Action::Pipeline(_),
            _,
        ) => None,
    }
}

fn signals(one: &Signal, more: &Signal) -> Option<Signal> {
    let channels = apart(&one.channels, &more.channels)?;
    (one.relaxed == more.relaxed).then_some(Signal { channels, relaxed: one.relaxed })
}

/// Both lists as one; none where something is in both: in one list, it would be used by two threads, in no certain order.
fn apart<T: Copy + PartialEq, L: FromIterator<T>>(one: &[T], more: &[T]) -> Option<L> {
    (!more.iter().any(|member| one.contains(member))).then(|| both(one, more))
}

fn both<T: Copy, L: FromIterator<T>>(one: &[T], more: &[T]) -> L {
    one.iter().chain(more).copied().collect()
}

/// Pairs and more pairs, or a sum that goes on with what it has made. Of what is always cut to single pairs nobody knows whether
/// it was one.
fn transfers(one: &Transfer, more: &Transfer) -> Option<Transfer> {
    let alike = |transfer: &Transfer| (transfer.verb, transfer.slice, transfer.reduce);
    if alike(one) != alike(more) || one.via.zip(more.via).is_some_and(|(one, more)| one != more) {
        return None;
    }
    let via = one.via.or(more.via);
    let channels = match via {
        Some(ChannelKind::Port) => apart(&one.channels, &more.channels)?,
        Some(ChannelKind::Memory | ChannelKind::Switch) | None => {
            both(&one.channels, &more.channels)
        }
    };
    let row = one.verb.row();
    let (sources, destinations) = match row.pairing {
        Pairing::Combine => {
            let (first, rest) = more.sources.split_first()?;
            let goes_on = one.destinations.as_slice() == [*first];
            let sources = one.sources.iter().chain(rest).copied().collect();
            (goes_on.then_some(sources)?, more.destinations.clone())
        }
        // Only what names a channel for each peer takes several pairs.
        Pairing::Pairs | Pairing::OneToAll if row.channel_need() == ChannelNeed::Never => {
            return None;
        }
        Pairing::Pairs | Pairing::OneToAll => {
            let single = one.sources.len() == 1 && one.sources == more.sources;
            let sources =
                if single { one.sources.clone() } else { both(&one.sources, &more.sources) };
            (sources, both(&one.destinations, &more.destinations))
        }
    };
    Some(Transfer { sources, destinations, via, channels, ..one.clone() })
}
