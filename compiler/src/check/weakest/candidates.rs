//! The changes that are worth trying for a finding, weakest first.

use super::super::event_graph::{EventGraph, Line, Moment, Run};
use super::super::nearest;
use super::{counts, exchange, memory, order};
use crate::check::budget::RELAXED_PAIRS;
use crate::diagnostic::change::{Change, Side};
use crate::diagnostic::witness::{Agent, Event, Finding, Race};
use crate::diagnostic::{Code, Diagnostic};
use crate::ir::{self, Action, BlockId, Buffer, ChannelKind, RankId, Verb};
use crate::source::Place;
use std::collections::BTreeSet;

/// The changes that are worth trying, weakest first.
pub(super) fn candidates(graph: &EventGraph, finding: &Diagnostic) -> Vec<Change> {
    match finding.witness.as_ref().map(|witness| &witness.finding) {
        Some(Finding::Race(race)) => of_race(graph, finding.code, race),
        Some(Finding::Deadlock { cycle }) => {
            let waits = cycle.iter().filter_map(|wait| moment(graph, &wait.event));
            let waits: Vec<Moment> = waits.collect();
            match (finding.code, waits.as_slice()) {
                (Code::E0601, waits) => {
                    let turned = waits.iter().flat_map(|wait| turned(graph, *wait));
                    let given = cycle.iter().filter_map(|wait| moment(graph, &wait.given_by?));
                    turned
                        .chain(given.filter_map(|given| after_giving(graph, waits, given)))
                        .collect()
                }
                (_, [wait]) => counts::of(graph, *wait, 0),
                (_, _) => Vec::new(),
            }
        }
        Some(Finding::Counter { event, left, .. }) => {
            let last = moment(graph, event);
            last.map_or_else(Vec::new, |last| counts::of(graph, last, *left))
        }
        Some(Finding::Users { users, .. }) => order::of_users(graph, users),
        Some(Finding::Value(value)) => memory::of_value(graph, value),
        Some(Finding::Clobber(_) | Finding::Early { .. }) | None => Vec::new(),
    }
}

fn of_race(graph: &EventGraph, code: Code, race: &Race) -> Vec<Change> {
    if code == Code::E0520 {
        return memory::of_unwritten(graph, race);
    }
    if code == Code::E0521 {
        return memory::of_twice(graph, race);
    }
    let second_place = race.second.event.place;
    let mut changes = joins(graph, code, race);
    if code == Code::E0503 {
        return changes;
    }
    let Some(second) = moment(graph, &race.second.event) else { return changes };
    let first = race.first.and_then(|access| moment(graph, &access.event));
    if let Some(first) = first.filter(|_| race.ordered) {
        changes.extend(stronger(graph, first, second));
    }
    if code == Code::E0510 && race.memory.buffer == Buffer::Scratch.word() {
        changes.extend(answered(graph, RankId(race.memory.rank), second));
    }
    let first_access = race.first.filter(|access| access.event.step.is_some());
    if let Some(first) = first_access.filter(|_| matches!(code, Code::E0501 | Code::E0512)) {
        changes.extend(first.event.place.map(|at| Change::Flush { at, signal: None }));
        if let Some(first) = moment(graph, &first.event) {
            changes.extend(signals_itself(graph, first));
            changes.extend(beside(graph, first, Side::After));
        }
    }
    let proxy = first_access.filter(|first| matches!(first.event.agent, Agent::Proxy { .. }));
    if let Some(first) = proxy.filter(|_| code == Code::E0515) {
        changes.extend(first.event.place.map(|at| Change::Flush { at, signal: None }));
    }
    if matches!(code, Code::E0501 | Code::E0510) {
        changes.extend(beside(graph, second, Side::Before));
        changes.extend(released_later(graph, second));
    }
    if let Some(first) = first.filter(|_| code == Code::E0501 && !race.ordered) {
        let (one, other) = if race.second.write { (second, first) } else { (first, second) };
        changes.extend(read_later(graph, one, other));
    }
    if matches!(code, Code::E0501 | Code::E0510) {
        let ranks = first.iter().chain([&second]).map(|moment| graph.rank(moment.agent));
        changes.extend(order::of_semaphores(graph, ranks));
    }
    let across = code == Code::E0515;
    let second_packets = across && writes_packets(graph, second);
    let single = second_packets && !graph.program.options.double_scratch;
    let double = Change::Option { name: "double_scratch", value: "true" };
    changes.extend(single.then_some(double));
    if let Some(first) = first.filter(|_| code == Code::E0501) {
        changes.extend(order::of_blocks(graph, first, second));
    }
    if let Some(first) = first.filter(|_| code == Code::E0512) {
        changes.extend(order::of_end(graph, RankId(race.memory.rank), first));
    }
    let first_place = first_access.and_then(|first| first.event.place);
    if let Some(at) = first_place.filter(|_| across || matches!(code, Code::E0501 | Code::E0512)) {
        changes.push(Change::Handshake { at, side: Side::After, relaxed: false });
    }
    if let Some(at) = second_place.filter(|_| code != Code::E0512) {
        // A relaxed signal is enough to show that a rank has started, and then its previous launch is over.
        let relaxed = across || code == Code::E0510;
        changes.push(Change::Handshake { at, side: Side::Before, relaxed });
    }
    if code == Code::E0510 {
        changes.extend(exchange::of_start(graph, RankId(race.memory.rank), second));
        changes.extend(order::of_start(graph, RankId(race.memory.rank), second));
    }
    changes
}

/// Joins that may be missing: before the second access, and before the operation that announces the first one. None
/// where the threads meet there anyway.
fn joins(graph: &EventGraph, code: Code, race: &Race) -> Vec<Change> {
    let told = race.after_first.filter(|_| code != Code::E0503);
    let second = Some(race.second.event).filter(|event| event.step.is_some());
    let apart = |event: &Event| {
        let line = moment(graph, event).and_then(|at| line(graph, at));
        let program = graph.program;
        program.joins == ir::Joins::Explicit
            || !program.options.auto_sync
            || line.is_some_and(|line| line.op.sync.is_some())
    };
    let events = [told, second].into_iter().flatten().filter(apart);
    events.filter_map(|event| join(graph, &event)).collect()
}

/// The threads of a block meet before the operation of an event.
pub(super) fn join(graph: &EventGraph, event: &Event) -> Option<Change> {
    let verb = word(action(graph, moment(graph, event)?)?)?;
    Some(Change::Join { verb, before: event.place? })
}

/// Whether an operation writes packets only. The two halves of scratch are for packets: plain puts use the first one
/// only.
fn writes_packets(graph: &EventGraph, moment: Moment) -> bool {
    let Some(Action::Transfer(transfer)) = action(graph, moment) else { return false };
    ir::memory::accesses(transfer).filter(|access| access.write).all(|access| access.packets)
}

/// Making strong the relaxed signals and waits on the way from the first to the second moment: one pair at a time, then
/// all of them.
fn stronger(graph: &EventGraph, first: Moment, second: Moment) -> Vec<Change> {
    let mut run = Run::new(graph);
    if !run.reach(second) {
        return Vec::new();
    }
    let moments = run.moments();
    let Some(start) = moments.iter().position(|moment| *moment == first) else {
        return Vec::new();
    };
    let mut pairs: Vec<Vec<Place>> = Vec::new();
    for wait in moments.iter().skip(start).rev() {
        for signal in relaxed_signals(graph, *wait) {
            // In a plan, every rank has its own wait for the signals of one operation.
            let met = std::iter::once(*wait).chain(waits(graph, signal)).chain([signal]);
            let places: BTreeSet<Place> = met.filter_map(|at| relaxed_place(graph, at)).collect();
            let pair: Vec<Place> = places.into_iter().collect();
            let mut before = Run::new(graph);
            if pairs.len() < RELAXED_PAIRS.count()
                && !pair.is_empty()
                && !pairs.contains(&pair)
                && before.reach(signal)
                && before.has(first)
            {
                pairs.push(pair);
            }
        }
    }
    let all: BTreeSet<Place> = pairs.iter().flatten().copied().collect();
    let all: Vec<Place> = all.into_iter().collect();
    let several = (pairs.len() > 1).then_some(all);
    pairs.into_iter().chain(several).map(|at| Change::Strong { at }).collect()
}

/// Making strong a relaxed signal of a rank, and its wait, on the rank that touches the first one's scratch too early.
/// If it is not relaxed, that of the previous launch tells that what was done there before is over. The last ones come
/// first.
fn answered(graph: &EventGraph, owner: RankId, touch: Moment) -> Vec<Change> {
    let to = graph.rank(touch.agent);
    let mut pairs: Vec<Vec<Place>> = Vec::new();
    for agent in graph.all_blocks().filter(|agent| graph.rank(*agent) == owner) {
        for at in (0..graph.lines(agent).len() as u32).rev() {
            let signal = Moment { launch: 0, agent, at };
            let waits =
                waits(graph, signal).into_iter().filter(|wait| graph.rank(wait.agent) == to);
            let mut ends: Vec<Moment> = waits.collect();
            if !ends.is_empty() {
                ends.push(signal);
            }
            let places: BTreeSet<Place> =
                ends.into_iter().filter_map(|end| relaxed_place(graph, end)).collect();
            let pair: Vec<Place> = places.into_iter().collect();
            if pairs.len() < RELAXED_PAIRS.count() && !pair.is_empty() && !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
    }
    pairs.into_iter().map(|at| Change::Strong { at }).collect()
}

/// The signals that a wait receives, where the signal or the wait is relaxed.
fn relaxed_signals(graph: &EventGraph, wait: Moment) -> Vec<Moment> {
    let Some(Action::Wait(list)) = action(graph, wait) else { return Vec::new() };
    let rank = graph.rank(wait.agent);
    let signals = list.channels.iter().filter_map(|channel| graph.signal_for(rank, *channel, wait));
    signals.filter(|signal| list.relaxed || relaxed_place(graph, *signal).is_some()).collect()
}

/// The waits that receive an operation's signals.
fn waits(graph: &EventGraph, signal: Moment) -> Vec<Moment> {
    let Some(Action::Signal(list)) = action(graph, signal) else { return Vec::new() };
    let rank = graph.rank(signal.agent);
    let Some(row) = graph.program.ranks.lookup(rank) else { return Vec::new() };
    let ends = list.channels.iter().filter_map(|channel| row.channels.lookup(*channel));
    let ends = ends.filter_map(|end| Some((end.peer()?, end.partner?)));
    ends.filter_map(|(peer, there)| graph.wait_for(peer, there, graph.giver(signal, there, peer)?))
        .collect()
}

/// The place of a signal or wait that is relaxed.
fn relaxed_place(graph: &EventGraph, moment: Moment) -> Option<Place> {
    match action(graph, moment)? {
        Action::Signal(list) | Action::Wait(list) if list.relaxed => graph.event(moment).place,
        Action::Signal(_)
        | Action::Wait(_)
        | Action::Sync
        | Action::Barrier { .. }
        | Action::Flush(_)
        | Action::Acquire(_)
        | Action::Release(_)
        | Action::Transfer(_)
        | Action::Pipeline(_) => None,
    }
}

pub(super) fn action<'p>(graph: &EventGraph<'p>, moment: Moment) -> Option<&'p Action> {
    line(graph, moment).map(|line| &line.op.action)
}

pub(super) fn line<'a, 'p>(graph: &'a EventGraph<'p>, moment: Moment) -> Option<&'a Line<'p>> {
    let (agent, at) = graph.line(moment)?;
    graph.lines(agent).get(at as usize)
}

/// Moves a read behind the wait for the data, if it comes before that wait.
pub(super) fn read_later(graph: &EventGraph, written: Moment, read: Moment) -> Option<Change> {
    let told = nearest::teller(graph, written)?;
    let heard = nearest::hearer(graph, told, graph.rank(read.agent))?;
    let (agent, at) = graph.line(read)?;
    let lines = graph.lines(agent);
    let (here, wait) = (lines.get(at as usize)?, lines.get(heard.at as usize)?);
    let late = heard.agent == agent && heard.at > at;
    if late { past_it(graph, here, wait, Side::After) } else { None }
}

/// Where a block releases a semaphore before it has heard enough itself: moves the release behind the next wait.
fn released_later(graph: &EventGraph, moment: Moment) -> Option<Change> {
    let heard = nearest::before(graph, moment)?;
    let Action::Acquire(list) = action(graph, heard)? else { return None };
    list.iter().find_map(|id| {
        let (releases, acquires) = graph.releases_and_acquires(graph.rank(heard.agent), *id);
        let turn = acquires.iter().position(|acquire| *acquire == heard)?;
        let release = releases.get(turn)?;
        let mut lines = graph.lines(release.agent).get(release.at as usize..)?.iter();
        let here = lines.next()?;
        let wait = lines.find(|line| line.hears)?;
        if is_transfer(wait) { None } else { past_it(graph, here, wait, Side::After) }
    })
}

/// A put over a port takes over the work of the signal behind it.
fn signals_itself(graph: &EventGraph, put: Moment) -> Option<Change> {
    let (agent, at) = graph.line(put)?;
    let lines = graph.lines(agent);
    let here = lines.get(at as usize)?;
    let mut behind = lines.get(at as usize + 1..)?.iter();
    let signal = behind.find(|line| matches!(line.op.action, Action::Signal(_)))?;
    let place = |line: &Line| graph.program.origins.place(line.op.origin);
    let ports = matches!(&here.op.action, Action::Transfer(transfer)
        if (transfer.verb, transfer.via) == (Verb::Put, Some(ChannelKind::Port)));
    ports.then(|| Change::Flush { at: place(here), signal: Some(place(signal)) })
}

/// Moves a signal from before an operation to behind it, or a wait from behind it to before it.
fn beside(graph: &EventGraph, moment: Moment, side: Side) -> Option<Change> {
    let (agent, at) = graph.line(moment)?;
    let lines = graph.lines(agent);
    let here = lines.get(at as usize)?;
    let other = match side {
        Side::After => lines.get(..at as usize)?.iter().rfind(|line| line.tells),
        Side::Before => lines.get(at as usize + 1..)?.iter().find(|line| line.hears),
    }?;
    if is_transfer(other) { None } else { past_it(graph, other, here, side) }
}

fn is_transfer(line: &Line) -> bool {
    matches!(line.op.action, Action::Transfer(_))
}

/// In a cycle of waits: the block's next signal moves before the wait, or the wait behind the signal.
fn turned(graph: &EventGraph, wait: Moment) -> Vec<Change> {
    let lines = graph.lines(wait.agent);
    let behind = lines.get(wait.at as usize + 1..).unwrap_or_default();
    let signal = behind.iter().find(|line| line.tells);
    let Some((here, signal)) = lines.get(wait.at as usize).zip(signal) else { return Vec::new() };
    let moves = [(signal, here, Side::Before), (here, signal, Side::After)].into_iter();
    let moves = moves.filter(|(what, ..)| !is_transfer(what));
    moves.filter_map(|(what, over, side)| past_it(graph, what, over, side)).collect()
}

/// The move of a statement past another one, where both are reached with the same loop values.
pub(super) fn past_it(graph: &EventGraph, what: &Line, over: &Line, side: Side) -> Option<Change> {
    let (verb, over_verb) = (word(&what.op.action)?, word(&over.op.action)?);
    let rows = &graph.program.origins.rows;
    let (a, b) = (rows.lookup(what.op.origin)?, rows.lookup(over.op.origin)?);
    let change = Change::Move { verb, what: a.place, past: b.place, over: over_verb, side };
    (a.binding == b.binding && a.place != b.place).then_some(change)
}

/// The keyword of an operation that can be moved or moved past: none for those that concern several blocks or contain
/// others.
fn word(action: &Action) -> Option<&'static str> {
    match action {
        Action::Signal(_) => Some("signal"),
        Action::Wait(_) => Some("wait"),
        Action::Acquire(_) => Some("acquire"),
        Action::Release(_) => Some("release"),
        Action::Transfer(transfer) => Some(transfer.verb.word()),
        Action::Sync | Action::Barrier { .. } | Action::Flush(_) | Action::Pipeline(_) => None,
    }
}

/// In a cycle: a block's wait for packets moves behind the packets that it writes for the previous block.
fn after_giving(graph: &EventGraph, waits: &[Moment], given: Moment) -> Option<Change> {
    let wait = waits.iter().find(|wait| wait.agent == given.agent)?;
    let (here, there) = (line(graph, *wait)?, line(graph, given)?);
    let packets = is_transfer(here) && is_transfer(there);
    if packets { past_it(graph, here, there, Side::After) } else { None }
}

/// The moment of an event.
pub(super) fn moment(graph: &EventGraph, event: &Event) -> Option<Moment> {
    let rank = RankId(event.rank);
    match (event.agent, event.step) {
        (Agent::Block(block), Some(step)) => {
            let at = graph.at_step(rank, BlockId(block), step)?;
            Some(Moment { launch: event.launch, ..at })
        }
        (Agent::Proxy { channel, block }, Some(step)) => {
            let line = graph.at_step(rank, BlockId(block), step)?;
            graph.request(rank, ir::ChannelId(channel), Moment { launch: event.launch, ..line })
        }
        (Agent::User, _) => Some(graph.start(rank, event.launch)),
        (Agent::Block(_) | Agent::Proxy { .. }, None) => None,
    }
}
