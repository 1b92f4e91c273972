//! Operations that meet at run time: a signal and the waits that it lets pass, a release and its acquires; also the
//! two ends of a channel.
//!
//! In: the word that begins an operation, or a channel's declaration. Out: the operations or declarations at the
//! other ends, for the parameters with which the program is checked. Signals and waits of a channel are counted: the
//! n-th wait on one end takes the n-th signal from the other.

use crate::analysis::{Analysis, Part, Semantics, Spot};
use crate::concrete;
use compiler::ir::{self, Action, ChannelId, Op, OriginId, RankId, SemaphoreId};
use compiler::source::{FileId, Place};
use compiler::syntax::token::{Kind, tokens};
use std::collections::{BTreeMap, BTreeSet};

/// The operations that meet the one whose first word is at an offset; none if there is no such word.
#[must_use]
pub fn of_operation(analysis: &Analysis<'_>, offset: u32) -> Option<Vec<Spot>> {
    let part = analysis.part_at(offset)?;
    let start = verb(analysis, part, offset)?;
    let semantics = analysis.semantics(part);
    let program = concrete::complete(analysis.database, part.declaration)?;
    let at = semantics.forth(start);
    let meetings = Meetings::new(&program);
    let mut spots = BTreeSet::new();
    for (one, other) in &meetings.pairs {
        let (one, other) = (program.origins.place(*one), program.origins.place(*other));
        spots.extend(holds(one, at).then(|| spot(&semantics, other)).flatten());
        spots.extend(holds(other, at).then(|| spot(&semantics, one)).flatten());
    }
    Some(spots.into_iter().collect())
}

/// The declarations of the channels at the other ends of those declared at a place.
#[must_use]
pub fn of_channel(analysis: &Analysis<'_>, target: &Spot) -> Vec<Spot> {
    let other_ends = || {
        let part = analysis.part_at(target.start)?;
        let semantics = analysis.semantics(part);
        let program = concrete::complete(analysis.database, part.declaration)?;
        let at = semantics.forth(target.start);
        let mut spots = BTreeSet::new();
        for channel in program.ranks.iter().flat_map(|rank| rank.channels.iter()) {
            let partner = channel.peer().zip(channel.partner);
            let partner =
                partner.and_then(|(rank, id)| program.ranks.lookup(rank)?.channels.lookup(id));
            let Some(partner) = partner else { continue };
            if holds(program.origins.place(channel.origin), at)
                && !holds(program.origins.place(partner.origin), at)
            {
                spots.extend(spot(&semantics, program.origins.place(partner.origin)));
            }
        }
        Some(spots.into_iter().collect())
    };
    if target.name == *analysis.name() { other_ends().unwrap_or_default() } else { Vec::new() }
}

/// Where the word at an offset begins, if it begins an operation that meets others. Elsewhere, the word is a name.
fn verb(analysis: &Analysis<'_>, part: Part<'_>, offset: u32) -> Option<u32> {
    let text = analysis.text().get(part.start as usize..part.end as usize)?;
    let meets = |kind: Kind| {
        let signals = matches!(kind, Kind::Transfer(verb) if verb.signals());
        signals || matches!(kind, Kind::Signal | Kind::Wait | Kind::Acquire | Kind::Release)
    };
    let begins = |before: Kind| {
        let ends = matches!(before, Kind::Semicolon | Kind::LeftBrace | Kind::RightBrace);
        // An attribute may precede it.
        ends || before == Kind::RightBracket
    };
    let all = tokens(FileId(0), text).tokens;
    let words = all.windows(2).filter_map(|pair| {
        let [before, word] = pair else { return None };
        (begins(before.kind) && meets(word.kind)).then(|| part.range(word.span))
    });
    let mut at = words.filter(|range| range.start <= offset && offset <= range.end);
    at.next().map(|range| range.start)
}

fn holds(place: Place, offset: u32) -> bool {
    match place {
        Place::Source(span) => {
            span.file == FileId(0) && span.start <= offset && offset < span.end.max(span.start + 1)
        }
        Place::Plan(_) => false,
    }
}

fn spot(semantics: &Semantics<'_>, place: Place) -> Option<Spot> {
    match place {
        Place::Source(span) => Some(semantics.spot(span)),
        Place::Plan(_) => None,
    }
}

/// One end of a channel.
type End = (RankId, ChannelId);

/// Which operations meet, found by counting signals and waits.
#[derive(Default)]
struct Meetings {
    signals: BTreeMap<End, Vec<OriginId>>,
    waits: BTreeMap<End, Vec<OriginId>>,
    releases: BTreeMap<(RankId, SemaphoreId), BTreeSet<OriginId>>,
    acquires: BTreeMap<(RankId, SemaphoreId), BTreeSet<OriginId>>,
    pairs: BTreeSet<(OriginId, OriginId)>,
}

impl Meetings {
    fn new(program: &ir::Program) -> Meetings {
        let mut meetings = Meetings::default();
        for (id, rank) in program.ranks.entries() {
            for block in rank.blocks.iter() {
                meetings.operations(id, &block.ops);
            }
        }
        let mut pairs = BTreeSet::new();
        for ((rank, channel), signals) in &meetings.signals {
            let channel =
                program.ranks.lookup(*rank).and_then(|rank| rank.channels.lookup(*channel));
            let other = channel.and_then(|channel| channel.peer().zip(channel.partner));
            let waits = other.and_then(|end| meetings.waits.get(&end));
            pairs.extend(signals.iter().copied().zip(waits.into_iter().flatten().copied()));
        }
        for (semaphore, releases) in &meetings.releases {
            let acquires = meetings.acquires.get(semaphore);
            for acquire in acquires.into_iter().flatten() {
                pairs.extend(releases.iter().map(|release| (*release, *acquire)));
            }
        }
        meetings.pairs = pairs;
        meetings
    }

    fn operations(&mut self, rank: RankId, ops: &[Op]) {
        for op in ops {
            match &op.action {
                Action::Signal(signal) => signal.channels.iter().for_each(|channel| {
                    self.signals.entry((rank, *channel)).or_default().push(op.origin);
                }),
                Action::Wait(wait) => wait.channels.iter().for_each(|channel| {
                    self.waits.entry((rank, *channel)).or_default().push(op.origin);
                }),
                Action::Transfer(transfer) if transfer.verb.signals() => {
                    for channel in &transfer.channels {
                        self.signals.entry((rank, *channel)).or_default().push(op.origin);
                    }
                }
                Action::Release(semaphores) => semaphores.iter().for_each(|semaphore| {
                    self.releases.entry((rank, *semaphore)).or_default().insert(op.origin);
                }),
                Action::Acquire(semaphores) => semaphores.iter().for_each(|semaphore| {
                    self.acquires.entry((rank, *semaphore)).or_default().insert(op.origin);
                }),
                Action::Pipeline(pipeline) => self.operations(rank, &pipeline.body),
                Action::Transfer(_) | Action::Sync | Action::Flush(_) | Action::Barrier { .. } => {}
            }
        }
    }
}
