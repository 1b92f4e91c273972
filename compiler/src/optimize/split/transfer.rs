//! How a data operation is cut.
//!
//! - `copy`, `copy_packets`, `unpack_packets`, `broadcast`, `broadcast_packets`: one pair each.
//! - Lists of `put`, `put_packets` and `get`: runs of at most 10 pairs, 8 of a `get`. Over memory channels, the sources of a put
//!   are in one buffer, since the executor takes the buffer of the first for all. Over port channels,
//!   `put_with_signal` included: at most 8 pairs, each with a channel of its own, and since each pair is one
//!   thread's work, no more than the block has threads.
//! - `read_put_packets`: one source, at most 10 destinations (over port channels as many as of a put).
//! - Reductions: at most 10 sources, the first of them local, the others all local or all remote. Further sources are
//!   added to the result by further reductions, which is correct unless one of them overlaps the result: such a
//!   source goes first. At most 10 destinations, the first one local and for packets the second too; the others are
//!   remote. Further ones get a copy of the result.
//! - A reduction of one source is a copy, a `put` or a `get`; onto itself it is nothing. A copy onto
//!   itself that its author wrote is left alone.

use crate::check::limits::BUFFERS_OF_OPERATION;
use crate::ir::memory;
use crate::ir::{Alias, ChannelKind, ChannelNeed, Operand, Pairing, Transfer, Verb};
use crate::optimize::operands::{self, Parts, Placed};

/// The parts of a transfer, each with at most `channels` pairs over port channels; none if it fits as it is.
pub(super) fn pieces(
    alias: Option<Alias>,
    channels: usize,
    transfer: &Transfer,
) -> Option<Vec<Transfer>> {
    let reduces = transfer.verb.reduces();
    if !reduces && transfer.sources.len() == 1 && transfer.destinations.len() == 1 {
        return None;
    }
    let row = transfer.verb.row();
    let port = transfer.via == Some(ChannelKind::Port);
    match row.pairing {
        Pairing::Combine => reduction(alias, transfer),
        Pairing::Pairs | Pairing::OneToAll if row.channel_need() == ChannelNeed::Never => {
            lists(transfer, |_, _| false, 1)
        }
        Pairing::Pairs if row.sources.is_away() => {
            lists(transfer, |_, _| true, operands::pair_limit(transfer.verb, transfer.via))
        }
        Pairing::Pairs if transfer.via == Some(ChannelKind::Memory) && !transfer.verb.signals() => {
            lists(transfer, same_source_buffer, BUFFERS_OF_OPERATION)
        }
        Pairing::Pairs => lists(transfer, own_channel, channels),
        Pairing::OneToAll if port => {
            lists(transfer, |run, new| same_source(run, new) && own_channel(run, new), channels)
        }
        Pairing::OneToAll => lists(transfer, same_source, BUFFERS_OF_OPERATION),
    }
}

type Pair = (Placed, Placed);

/// Runs of pairs, each as long as `joins` and `limit` allow.
fn lists(
    transfer: &Transfer,
    joins: impl Fn(&[Pair], &Pair) -> bool,
    limit: usize,
) -> Option<Vec<Transfer>> {
    let parts = operands::parts(transfer);
    let mut runs: Vec<Vec<Pair>> = Vec::new();
    for pair in operands::pairs(&parts) {
        match runs.last_mut() {
            Some(run) if run.len() < limit && joins(run, &pair) => run.push(pair),
            Some(_) | None => runs.push(vec![pair]),
        }
    }
    let single = transfer.verb.row().pairing == Pairing::OneToAll;
    let as_one = runs.len() == 1 && !(single && parts.sources.len() > 1);
    (!as_one).then(|| runs.into_iter().map(|run| list(transfer, single, run)).collect())
}

fn list(transfer: &Transfer, single: bool, run: Vec<Pair>) -> Transfer {
    let mut parts = operands::unpaired(run);
    if single {
        parts.sources.truncate(1);
    }
    operands::assemble(transfer, transfer.verb, &parts)
}

fn same_source_buffer(run: &[Pair], new: &Pair) -> bool {
    run.first().is_none_or(|(source, _)| source.operand.buffer == new.0.operand.buffer)
}

fn same_source(run: &[Pair], new: &Pair) -> bool {
    run.first().is_none_or(|(source, _)| source == &new.0)
}

fn own_channel(run: &[Pair], new: &Pair) -> bool {
    run.iter().all(|(_, destination)| destination.channel != new.1.channel)
}

fn reduction(alias: Option<Alias>, transfer: &Transfer) -> Option<Vec<Transfer>> {
    let whole = operands::parts(transfer);
    if fits(transfer.verb, &whole)
        || whole.sources.iter().chain(&whole.destinations).any(|placed| placed.operand.is_switch())
    {
        return None;
    }
    let split = targets(transfer.verb, &whole)?;
    let steps = sums(alias, transfer.verb, &whole, &split.result)?;
    let mut out = Vec::new();
    let last = steps.len().saturating_sub(1);
    for (i, sources) in steps.into_iter().enumerate() {
        let mut destinations = vec![split.result];
        if i == last && sources.len() > 1 {
            destinations.extend(split.direct.iter().copied());
        }
        let lone = sources.len() == 1;
        let parts = Parts {
            sources: sources.into_iter().collect(),
            destinations: destinations.into_iter().collect(),
        };
        if !lone {
            out.push(operands::assemble(transfer, transfer.verb, &parts));
        } else if let Some(copy) = lone_source(alias, transfer, &parts) {
            out.push(copy);
        }
        if lone && i == last {
            hand_on(transfer, &split.result, &split.direct, &mut out);
        }
    }
    hand_on(transfer, &split.result, &split.further, &mut out);
    Some(out)
}

/// Where the result goes: to the local operand `result` with every sum, to `direct`
/// with the last sum, and as a copy to `further`.
struct Targets {
    result: Placed,
    direct: Vec<Placed>,
    further: Vec<Placed>,
}

fn targets(verb: Verb, whole: &Parts) -> Option<Targets> {
    let (locals, remotes): (Vec<Placed>, Vec<Placed>) =
        whole.destinations.iter().partition(|placed| placed.operand.is_local());
    let packets = usize::from(verb == Verb::ReducePackets);
    let mut locals = locals.into_iter();
    let result = locals.next()?;
    let mut direct: Vec<Placed> = locals.by_ref().take(packets).collect();
    let room = BUFFERS_OF_OPERATION - 1 - direct.len();
    direct.extend(remotes.iter().take(room));
    let further = locals.chain(remotes.into_iter().skip(room)).collect();
    Some(Targets { result, direct, further })
}

/// The sources of each sum; from the second sum on, the result comes first.
fn sums(
    alias: Option<Alias>,
    verb: Verb,
    whole: &Parts,
    result: &Placed,
) -> Option<Vec<Vec<Placed>>> {
    let overlaps =
        |placed: &&Placed| memory::overlap_locally(alias, &placed.operand, &result.operand);
    let mut order: Vec<Placed> = Vec::new();
    if verb == Verb::Reduce {
        let locals = || whole.sources.iter().filter(|placed| placed.operand.is_local());
        order.extend(locals().filter(overlaps));
        order.extend(locals().filter(|placed| !overlaps(placed)));
        order.extend(whole.sources.iter().filter(|placed| !placed.operand.is_local()));
    } else {
        order.extend(whole.sources.iter());
    }
    let mut steps: Vec<Vec<Placed>> = Vec::new();
    for source in order {
        let local = source.operand.is_local();
        match steps.last_mut() {
            Some(step) if step.len() < BUFFERS_OF_OPERATION && adds(step, local) => {
                step.push(source)
            }
            Some(_) => steps.push(vec![*result, source]),
            None => steps.push(vec![source]),
        }
    }
    let read_late = steps.iter().skip(1).flat_map(|step| step.iter().skip(1));
    let late = read_late.filter(|placed| placed.operand.is_local()).any(|placed| overlaps(&placed));
    (!late || verb == Verb::ReducePackets).then_some(steps)
}

/// Whether a sum with these sources can take one more: the first is local, the others are all local or all remote.
fn adds(step: &[Placed], local: bool) -> bool {
    let first = step.first().is_some_and(|placed| placed.operand.is_local());
    first && step.iter().skip(1).all(|placed| placed.operand.is_local() == local)
}

/// A reduction of one source; none if the result is already there.
fn lone_source(alias: Option<Alias>, transfer: &Transfer, parts: &Parts) -> Option<Transfer> {
    let (source, result) = (parts.sources.first()?, parts.destinations.first()?);
    if !source.operand.is_local() {
        return Some(operands::assemble(transfer, Verb::Get, parts));
    }
    let home = |operand: &Operand| memory::home(alias, operand.buffer, operand.index);
    let same = home(&source.operand) == home(&result.operand);
    (!same).then(|| operands::assemble(transfer, Verb::Copy, parts))
}

/// Copies the result to each of `targets`.
fn hand_on(transfer: &Transfer, result: &Placed, targets: &[Placed], out: &mut Vec<Transfer>) {
    let packets = transfer.verb == Verb::ReducePackets;
    let (local, remote) =
        if packets { (Verb::CopyPackets, Verb::PutPackets) } else { (Verb::Copy, Verb::Put) };
    let (locals, remotes): (Vec<Placed>, Vec<Placed>) =
        targets.iter().partition(|placed| placed.operand.is_local());
    for run in locals.chunks(1) {
        out.push(operands::assemble(
            transfer,
            local,
            &operands::unpaired(run.iter().map(|to| (*result, *to))),
        ));
    }
    for run in remotes.chunks(BUFFERS_OF_OPERATION) {
        let parts = operands::unpaired(run.iter().map(|to| (*result, *to)));
        out.push(operands::assemble(transfer, remote, &parts));
    }
}

/// Whether the executor has an operation for this reduction.
fn fits(verb: Verb, parts: &Parts) -> bool {
    let remote_from = if verb == Verb::ReducePackets { 2 } else { 1 };
    let place = |(i, placed): (usize, &Placed)| match placed.operand.is_local() {
        true => i < remote_from,
        false => i > 0,
    };
    let ordered = parts.destinations.iter().is_sorted_by_key(|placed| !placed.operand.is_local());
    let (first, rest) =
        parts.sources.split_first().map_or((None, &[][..]), |(first, rest)| (Some(first), rest));
    let alike = rest.first().is_none_or(|second| {
        rest.iter().all(|placed| placed.operand.is_local() == second.operand.is_local())
    });
    first.is_some_and(|placed| placed.operand.is_local())
        && alike
        && (2..=BUFFERS_OF_OPERATION).contains(&parts.sources.len())
        && (1..=BUFFERS_OF_OPERATION).contains(&parts.destinations.len())
        && ordered
        && parts.destinations.iter().enumerate().all(place)
}
