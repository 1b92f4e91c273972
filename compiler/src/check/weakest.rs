//! The weakest change that makes a finding go away, found by trying.
//!
//! In: a program and findings with their witnesses. Out: the same findings, each with the first of these changes that
//! helps, and without those that it makes go away too: they have the same cause.
//! 1. the threads of the block meet;
//! 2. signals and waits between the two are no longer relaxed;
//! 3. a put that signals is flushed too;
//! 4. a signal goes behind the one, or a wait before the other;
//! 5. a new signal and wait, over the channels of the one or the other.
//!
//! For packets that meet those of the launch before, a doubled scratch comes first.
//!
//! A change helps where the finding is gone, nothing stands still, and nothing new of the same kind has come. Each is
//! tried on the whole program, as often as its size allows.

mod apply;

use super::past::{Line, Moment, Past, Run};
use super::race::{self, Met};
use super::{STEPS, matching, nearest};
use crate::diagnostic::change::{Change, Side};
use crate::diagnostic::witness::{Agent, Event, Finding, Race};
use crate::diagnostic::{Code, Diagnostic};
use crate::interrupt::Interrupt;
use crate::ir::run::{self, Outcome, broken_promises};
use crate::ir::{self, Action, BlockId, RankId};
use crate::source::Place;
use std::collections::BTreeSet;

/// How many operations and cells may be looked at in all trials.
const BUDGET: usize = 1_000_000;

/// How many pairs of a relaxed signal and its wait are tried.
const MOST_PAIRS: usize = 8;

/// Looks for changes in a program whose chunks are cut into so many parts, and leaves out what goes away with them.
pub(super) fn mend(
    program: &ir::Program,
    parts: u32,
    findings: Vec<Diagnostic>,
    interrupt: &Interrupt,
) -> Vec<Diagnostic> {
    if findings.iter().all(|finding| finding.witness.is_none()) {
        return findings;
    }
    let Some(past) = Past::new(program, parts) else { return findings };
    let size = size(program, parts);
    let mut trials = Trials { program, parts, interrupt, left: BUDGET, size, before: None };
    let mut kept: Vec<Diagnostic> = Vec::new();
    let mut open: Vec<Diagnostic> = findings;
    open.reverse();
    while let Some(finding) = open.pop() {
        let candidates = candidates(&past, &finding);
        let Some((change, after)) = trials.first(&finding, candidates) else {
            kept.push(finding);
            continue;
        };
        let all = open.len();
        open.retain(|other| met(other).is_none_or(|met| after.contains(&met)));
        kept.push(changed(finding, change, all - open.len()));
    }
    kept
}

fn changed(mut finding: Diagnostic, change: Change, others: usize) -> Diagnostic {
    finding.helps = vec![change.title()];
    finding.change = Some(change);
    match others {
        0 => finding,
        1 => finding.note("1 other finding goes away with it"),
        more => finding.note(format!("{more} other findings go away with it")),
    }
}

/// Operations and cells.
fn size(program: &ir::Program, parts: u32) -> usize {
    let cells = |rank: &ir::Rank| rank.input_chunks + rank.output_chunks + rank.scratch_chunks;
    let cells = program.ranks.iter().map(cells).sum::<u32>().saturating_mul(parts);
    let blocks = program.ranks.iter().flat_map(|rank| &rank.blocks);
    cells as usize + blocks.map(|block| ir::count_ops(&block.ops)).sum::<usize>()
}

struct Trials<'a> {
    program: &'a ir::Program,
    parts: u32,
    interrupt: &'a Interrupt,
    left: usize,
    size: usize,
    /// What meets in the program as it is.
    before: Option<BTreeSet<Met>>,
}

impl Trials<'_> {
    /// The first change that helps, and what meets then.
    fn first(
        &mut self,
        finding: &Diagnostic,
        candidates: Vec<Change>,
    ) -> Option<(Change, BTreeSet<Met>)> {
        candidates.into_iter().find_map(|change| {
            self.left = self.left.checked_sub(self.size)?;
            let changed = apply::apply(self.program, &change)?;
            let after = self.try_out(&changed, finding.code == Code::E0601)?;
            self.helps(finding, &after).then_some((change, after))
        })
    }

    /// What meets in a changed program; none where it stands still, or, if that is asked for, where it is not sound.
    fn try_out(&self, changed: &ir::Program, whole: bool) -> Option<BTreeSet<Met>> {
        if self.interrupt.is_set() || !matching::check(changed).is_empty() {
            return None;
        }
        let Outcome::Finished(memory) = run::run_in(changed, self.parts, STEPS) else {
            return None;
        };
        let after = race::met(changed, &memory, self.interrupt)?;
        let sound = || after.is_empty() && broken_promises(changed, &memory).is_empty();
        (!whole || sound()).then_some(after)
    }

    fn helps(&mut self, finding: &Diagnostic, after: &BTreeSet<Met>) -> bool {
        let Some(met) = met(finding) else { return true };
        if self.before.is_none() {
            self.before = self.try_out(self.program, false);
        }
        let known = |other: &Met| {
            self.before.as_ref().is_some_and(|before| before.contains(other))
                || other.order > met.order
        };
        !after.contains(&met) && after.iter().all(known)
    }
}

/// What meets where, of a race.
fn met(finding: &Diagnostic) -> Option<Met> {
    let race = race_of(finding)?;
    let first = race.first.and_then(|access| access.event.place);
    let second = race.second.event.place;
    Met::new(finding.code, first.or(second)?, second.or(first)?)
}

fn race_of(finding: &Diagnostic) -> Option<&Race> {
    match &finding.witness.as_ref()?.finding {
        Finding::Race(race) => Some(race),
        Finding::Deadlock { .. } | Finding::Counter { .. } | Finding::Value(_) => None,
    }
}

/// The changes that are worth trying, weakest first.
fn candidates(past: &Past, finding: &Diagnostic) -> Vec<Change> {
    match finding.witness.as_ref().map(|witness| &witness.finding) {
        Some(Finding::Race(race)) => of_race(past, finding.code, race),
        Some(Finding::Deadlock { circle }) => {
            let waits = circle.iter().filter_map(|wait| moment(past, &wait.event));
            waits.filter_map(|wait| signal_first(past, wait)).collect()
        }
        Some(Finding::Counter { .. } | Finding::Value(_)) | None => Vec::new(),
    }
}

fn of_race(past: &Past, code: Code, race: &Race) -> Vec<Change> {
    let second_place = race.second.event.place;
    let mut changes = joins(past, code, race);
    if code == Code::E0503 {
        return changes;
    }
    let Some(second) = moment(past, &race.second.event) else { return changes };
    let first = race.first.and_then(|access| moment(past, &access.event));
    if let Some(first) = first.filter(|_| race.ordered) {
        changes.extend(stronger(past, first, second));
    }
    let first_access = race.first.filter(|access| access.event.step.is_some());
    if let Some(first) = first_access.filter(|_| matches!(code, Code::E0501 | Code::E0512)) {
        changes.extend(first.event.place.map(|at| Change::Flush { at }));
        if let Some(first) = moment(past, &first.event) {
            changes.extend(beside(past, first, Side::After));
        }
    }
    if matches!(code, Code::E0501 | Code::E0510) {
        changes.extend(beside(past, second, Side::Before));
    }
    let across = code == Code::E0515;
    let second_packets = across && writes_packets(past, second);
    if second_packets && !past.program.options.double_scratch {
        changes.push(Change::DoubleScratch);
    }
    let first_place = first_access.and_then(|first| first.event.place);
    if let Some(at) = first_place.filter(|_| across || matches!(code, Code::E0501 | Code::E0512)) {
        changes.push(Change::Handshake { at, side: Side::After, relaxed: false });
    }
    if let Some(at) = second_place.filter(|_| code != Code::E0512) {
        // That a rank has started can be told by a relaxed signal, and what it did in the launch before is over then.
        let relaxed = across || code == Code::E0510;
        changes.push(Change::Handshake { at, side: Side::Before, relaxed });
    }
    changes
}

/// Places at which the threads of a block might have to meet: before the second access, and before what tells of the
/// first one. Where they do anyway, none.
fn joins(past: &Past, code: Code, race: &Race) -> Vec<Change> {
    let told = race.after_first.filter(|_| code != Code::E0503);
    let second = Some(race.second.event).filter(|event| event.step.is_some());
    let apart = |event: &Event| {
        let line = moment(past, event).and_then(|at| line(past, at));
        let program = past.program;
        program.joins == ir::Joins::Explicit
            || !program.options.auto_sync
            || line.is_some_and(|line| line.op.sync.is_some())
    };
    let events = [told, second].into_iter().flatten().filter(apart);
    events.filter_map(|event| event.place).map(|before| Change::Join { before }).collect()
}

/// Halves of scratch are for packets only: plain puts know the first one.
fn writes_packets(past: &Past, moment: Moment) -> bool {
    let Some(Action::Transfer(transfer)) = action(past, moment) else { return false };
    ir::memory::accesses(transfer).filter(|access| access.write).all(|access| access.packets)
}

/// Relaxed signals and waits on the way from the first to the second, one pair at a time, then all of them.
fn stronger(past: &Past, first: Moment, second: Moment) -> Vec<Change> {
    let mut run = Run::new(past);
    if !run.reach(second) {
        return Vec::new();
    }
    let moments = run.moments();
    let Some(start) = moments.iter().position(|moment| *moment == first) else {
        return Vec::new();
    };
    let mut pairs: Vec<Vec<Place>> = Vec::new();
    for wait in moments.iter().skip(start).rev() {
        for signal in relaxed_signals(past, *wait) {
            // In a plan every rank has a wait of its own for what a statement signals.
            let met = std::iter::once(*wait).chain(waits(past, signal)).chain([signal]);
            let places: BTreeSet<Place> = met.filter_map(|at| relaxed_place(past, at)).collect();
            let pair: Vec<Place> = places.into_iter().collect();
            let mut before = Run::new(past);
            if pairs.len() < MOST_PAIRS
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

/// The signals that meet a wait, where either is relaxed.
fn relaxed_signals(past: &Past, wait: Moment) -> Vec<Moment> {
    let Some(Action::Wait(list)) = action(past, wait) else { return Vec::new() };
    let rank = past.rank(wait.agent);
    let signals = list.channels.iter().filter_map(|channel| past.signal_for(rank, *channel, wait));
    signals.filter(|signal| list.relaxed || relaxed_place(past, *signal).is_some()).collect()
}

/// The waits that an operation's signals meet.
fn waits(past: &Past, signal: Moment) -> Vec<Moment> {
    let Some(Action::Signal(list)) = action(past, signal) else { return Vec::new() };
    let rank = past.rank(signal.agent);
    let Some(row) = past.program.ranks.lookup(rank) else { return Vec::new() };
    let ends = list.channels.iter().filter_map(|channel| row.channels.lookup(*channel));
    let ends = ends.filter_map(|end| Some((end.peer()?, end.partner?)));
    ends.filter_map(|(peer, there)| past.wait_for(peer, there, past.giver(signal, there, peer)?))
        .collect()
}

/// The place of a signal or wait that is relaxed.
fn relaxed_place(past: &Past, moment: Moment) -> Option<Place> {
    match action(past, moment)? {
        Action::Signal(list) | Action::Wait(list) if list.relaxed => past.event(moment).place,
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

fn action<'p>(past: &Past<'p>, moment: Moment) -> Option<&'p Action> {
    line(past, moment).map(|line| &line.op.action)
}

fn line<'a, 'p>(past: &'a Past<'p>, moment: Moment) -> Option<&'a Line<'p>> {
    let (agent, at) = past.line(moment)?;
    past.lines(agent).get(at as usize)
}

/// A signal that stands before an operation goes behind it; a wait that stands behind goes before it.
fn beside(past: &Past, moment: Moment, side: Side) -> Option<Change> {
    let (agent, at) = past.line(moment)?;
    let lines = past.lines(agent);
    let here = lines.get(at as usize)?;
    let other = match side {
        Side::After => {
            lines.get(..at as usize)?.iter().rfind(|line| nearest::tells(&line.op.action))
        }
        Side::Before => {
            lines.get(at as usize + 1..)?.iter().find(|line| nearest::hears(&line.op.action))
        }
    }?;
    past_it(past, other, here, side)
}

/// In a circle of waits: the block's next signal goes before the wait.
fn signal_first(past: &Past, wait: Moment) -> Option<Change> {
    let lines = past.lines(wait.agent);
    let here = lines.get(wait.at as usize)?;
    let signal =
        lines.get(wait.at as usize + 1..)?.iter().find(|line| nearest::tells(&line.op.action))?;
    past_it(past, signal, here, Side::Before)
}

/// The move of a statement past another one, where both are reached with the same loop values.
fn past_it(past: &Past, what: &Line, over: &Line, side: Side) -> Option<Change> {
    let verb = match &what.op.action {
        Action::Signal(_) => "signal",
        Action::Wait(_) => "wait",
        Action::Acquire(_) => "acquire",
        Action::Release(_) => "release",
        Action::Sync
        | Action::Barrier { .. }
        | Action::Flush(_)
        | Action::Transfer(_)
        | Action::Pipeline(_) => return None,
    };
    let rows = &past.program.origins.rows;
    let (a, b) = (rows.lookup(what.op.origin)?, rows.lookup(over.op.origin)?);
    let change = Change::Move { verb, what: a.place, past: b.place, side };
    (a.binding == b.binding && a.place != b.place).then_some(change)
}

/// The moment of an event.
fn moment(past: &Past, event: &Event) -> Option<Moment> {
    let rank = RankId(event.rank);
    match (event.agent, event.step) {
        (Agent::Block(block), Some(step)) => {
            let at = past.at_step(rank, BlockId(block), step)?;
            Some(Moment { launch: event.launch, ..at })
        }
        (Agent::Proxy { channel, block }, Some(step)) => {
            let line = past.at_step(rank, BlockId(block), step)?;
            past.request(rank, ir::ChannelId(channel), Moment { launch: event.launch, ..line })
        }
        (Agent::User, _) => Some(past.start(rank, event.launch)),
        (Agent::Block(_) | Agent::Proxy { .. }, None) => None,
    }
}
