//! Who signals, who waits, and how often: counts that must balance in every launch.
//!
//! Counters live as long as the plan. A signal too many lets a wait of the next launch pass early, one too few hangs.
//! So, for each launch:
//! * E0602: no more waits on one end of a channel than signals on the other;
//! * E0603: no more signals than waits;
//! * E0605: one block signals over an end and one waits on it; where signals pass over a port channel, one block uses
//!   it; one block acquires a semaphore. With several, which signal a wait matches would depend on the schedule;
//! * E0606: as many releases of a semaphore as acquires.
//!
//! What happens in a pipeline happens once for each window: such operations are counted apart, by window.

use super::found::Found;
use crate::diagnostic::{Code, Diagnostic, Label};
use crate::ir::{
    self, Action, BlockId, ChannelId, ChannelKind, OriginId, RankId, SemaphoreId, Verb,
};
use crate::table::Table;
use std::collections::{BTreeMap, BTreeSet};

/// A pipeline's windows: bytes and chunks; none outside pipelines.
type Window = Option<(u64, u32)>;

/// How one end of a channel, or a semaphore, is used.
#[derive(Clone, Debug, Default)]
struct Use {
    counts: BTreeMap<Window, u64>,
    blocks: BTreeSet<BlockId>,
    places: Vec<OriginId>,
}

impl Use {
    fn add(&mut self, block: BlockId, window: Window, origin: OriginId) {
        *self.counts.entry(window).or_insert(0) += 1;
        if self.blocks.insert(block) || self.places.is_empty() {
            self.places.push(origin);
        }
    }

    fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// "twice", "once, and once in each window of a pipeline".
    fn times(&self) -> String {
        let once = |window: &Window, count: u64| match window {
            None => times(count),
            Some((unit, _)) => format!("{} in each window of {unit} bytes", times(count)),
        };
        let all: Vec<String> =
            self.counts.iter().map(|(window, count)| once(window, *count)).collect();
        if all.is_empty() { times(0) } else { all.join(", and ") }
    }
}

#[derive(Clone, Debug, Default)]
struct Ends {
    signals: Use,
    waits: Use,
    pushes: Use,
}

#[derive(Clone, Debug, Default)]
struct Counters {
    acquires: Use,
    releases: Use,
}

struct Uses {
    channels: Table<ChannelId, Ends>,
    semaphores: Table<SemaphoreId, Counters>,
}

/// Checks every channel and semaphore.
pub(super) fn check(program: &ir::Program) -> Vec<Diagnostic> {
    let uses: Table<RankId, Uses> = program.ranks.iter().map(uses_of).collect();
    let (mut found, mut surplus) = (Found::default(), Found::default());
    for (rank, row) in program.ranks.entries() {
        for (id, channel) in row.channels.entries() {
            let ends = &uses[rank].channels[id];
            if !channel.shared {
                shared_end(program, rank, channel, ends, &mut found);
            }
            let other = channel.peer().zip(channel.partner);
            let waits = other
                .and_then(|(peer, there)| uses.lookup(peer)?.channels.lookup(there))
                .map(|ends| &ends.waits);
            let none = Use::default();
            let uses = (&ends.signals, waits.unwrap_or(&none));
            balance(program, rank, channel, uses, &mut found, &mut surplus);
            if channel.partner.is_none() && ends.waits.total() > 0 {
                found.add(never_answered(program, (rank, channel), &none, &ends.waits));
            }
        }
        for (id, semaphore) in row.semaphores.entries() {
            balanced_semaphore(program, rank, semaphore, &uses[rank].semaphores[id], &mut found);
        }
    }
    let mut found = found.finish("place");
    // Where a signal is missing, one too many elsewhere is the same mistake: it went over the wrong channel.
    match found.iter().any(|report| report.code == Code::E0602) {
        true => {
            let strays = surplus
                .finish("place")
                .into_iter()
                .filter_map(|report| report.primary.map(|p| (p.place, report.message)));
            for (place, message) in strays.take(1) {
                let report = found.iter_mut().find(|report| report.code == Code::E0602);
                if let Some(report) = report {
                    report.secondary.push(Label { place, text: message });
                }
            }
        }
        false => found.extend(surplus.finish("place")),
    }
    found
}

fn uses_of(rank: &ir::Rank) -> Uses {
    let mut uses = Uses {
        channels: rank.channels.iter().map(|_| Ends::default()).collect(),
        semaphores: rank.semaphores.iter().map(|_| Counters::default()).collect(),
    };
    for (id, block) in rank.blocks.entries() {
        count(&mut uses, id, None, &block.ops);
    }
    uses
}

fn count(uses: &mut Uses, block: BlockId, window: Window, ops: &[ir::Op]) {
    for op in ops {
        let origin = op.origin;
        match &op.action {
            Action::Signal(signal) => {
                signal
                    .channels
                    .iter()
                    .for_each(|id| uses.channels[*id].signals.add(block, window, origin));
            }
            Action::Wait(signal) => {
                signal
                    .channels
                    .iter()
                    .for_each(|id| uses.channels[*id].waits.add(block, window, origin));
            }
            Action::Acquire(list) => {
                list.iter().for_each(|id| uses.semaphores[*id].acquires.add(block, window, origin));
            }
            Action::Release(list) => {
                list.iter().for_each(|id| uses.semaphores[*id].releases.add(block, window, origin));
            }
            Action::Transfer(transfer) if transfer.via == Some(ChannelKind::Port) => {
                for id in &transfer.channels {
                    uses.channels[*id].pushes.add(block, window, origin);
                    if matches!(transfer.verb, Verb::PutWithSignal | Verb::PutWithSignalAndFlush) {
                        uses.channels[*id].signals.add(block, window, origin);
                    }
                }
            }
            Action::Pipeline(pipeline) => {
                count(uses, block, Some((pipeline.unit, pipeline.chunks)), &pipeline.body);
            }
            Action::Transfer(_) | Action::Flush(_) | Action::Sync | Action::Barrier { .. } => {}
        }
    }
}

fn balance(
    program: &ir::Program,
    rank: RankId,
    channel: &ir::Channel,
    (signals, waits): (&Use, &Use),
    found: &mut Found,
    surplus: &mut Found,
) {
    if signals.counts == waits.counts {
        return;
    }
    let windows = signals.counts.keys().chain(waits.counts.keys());
    let of =
        |counts: &BTreeMap<Window, u64>, window: &Window| counts.get(window).copied().unwrap_or(0);
    let missing =
        windows.clone().any(|window| of(&waits.counts, window) > of(&signals.counts, window));
    match missing {
        true => found.add(never_answered(program, (rank, channel), signals, waits)),
        false => surplus.add(never_heard(program, (rank, channel), signals, waits)),
    }
}

fn shared_end(
    program: &ir::Program,
    rank: RankId,
    channel: &ir::Channel,
    ends: &Ends,
    found: &mut Found,
) {
    let signalled = ends.signals.total() > 0;
    let users: [(&Use, &str, bool); 3] = [
        (&ends.signals, "signal over", true),
        (&ends.waits, "wait on", true),
        (&ends.pushes, "put over", signalled),
    ];
    for (user, does, counts) in users {
        if counts && user.blocks.len() > 1 {
            found.add(several_users(program, rank, &channel.name, does, user));
            return;
        }
    }
}

fn balanced_semaphore(
    program: &ir::Program,
    rank: RankId,
    semaphore: &ir::Semaphore,
    counters: &Counters,
    found: &mut Found,
) {
    if counters.acquires.blocks.len() > 1 && !semaphore.shared {
        found.add(several_users(program, rank, &semaphore.name, "acquire", &counters.acquires));
    }
    if counters.acquires.counts != counters.releases.counts {
        found.add(out_of_balance(program, rank, semaphore, counters));
    }
}

/// "once", "twice", "3 times".
fn times(count: u64) -> String {
    match count {
        0 => "never".to_string(),
        1 => "once".to_string(),
        2 => "twice".to_string(),
        more => format!("{more} times"),
    }
}

fn other_side(channel: &ir::Channel) -> String {
    channel.peer().map_or_else(|| "nobody".to_string(), |peer| format!("rank {}", peer.0))
}

fn never_answered(
    program: &ir::Program,
    (rank, channel): (RankId, &ir::Channel),
    signals: &Use,
    waits: &Use,
) -> Diagnostic {
    let (signalled, waited) = (signals.times(), waits.times());
    let place = |origin: &OriginId| program.origins.place(*origin);
    let at = waits.places.last().map_or_else(|| program.origins.place(channel.origin), place);
    let report = Diagnostic::new(
        Code::E0602,
        at,
        format!(
            "{} waits {waited} for a channel over which rank {} signals {signalled}",
            other_side(channel),
            rank.0
        ),
    )
    .label(format!("waits for rank {}'s `{}`", rank.0, channel.name));
    let report = match signals.places.first() {
        Some(origin) => report.and(place(origin), format!("rank {} signals here", rank.0)),
        None => report.and(program.origins.place(channel.origin), "the channel"),
    };
    report.help("every wait needs one signal over the same channel, in the same launch")
}

fn never_heard(
    program: &ir::Program,
    (rank, channel): (RankId, &ir::Channel),
    signals: &Use,
    waits: &Use,
) -> Diagnostic {
    let (signalled, waited) = (signals.times(), waits.times());
    let place = |origin: &OriginId| program.origins.place(*origin);
    let at = signals.places.last().map_or_else(|| program.origins.place(channel.origin), place);
    let report = Diagnostic::new(
        Code::E0603,
        at,
        format!(
            "rank {} signals over `{}` {signalled}, and {} waits {waited}",
            rank.0,
            channel.name,
            other_side(channel)
        ),
    )
    .note("counters outlive a launch: the first wait of the next one would pass too early");
    let report = match waits.places.first() {
        Some(origin) => report.and(place(origin), format!("{} waits here", other_side(channel))),
        None => report,
    };
    report.help("wait as often as is signalled, or leave the signal out")
}

fn several_users(
    program: &ir::Program,
    rank: RankId,
    name: &str,
    does: &str,
    user: &Use,
) -> Diagnostic {
    let blocks: Vec<String> = user
        .blocks
        .iter()
        .filter_map(|id| program.ranks.lookup(rank)?.blocks.lookup(*id))
        .map(|block| format!("`{}`", block.name))
        .collect();
    let shown = blocks.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
    let mut places = user.places.iter().map(|origin| program.origins.place(*origin));
    let first = places.next().unwrap_or_else(|| program.origins.place(OriginId::default()));
    let report = Diagnostic::new(
        Code::E0605,
        first,
        format!("{} blocks of rank {} {does} `{name}`: {shown}", blocks.len(), rank.0),
    )
    .note("which signal meets which wait would depend on the schedule");
    let report = match places.next() {
        Some(second) if second != first => report.and(second, "and here"),
        _ => report,
    };
    report.help("give each block one of its own: a family with one more index")
}

fn out_of_balance(
    program: &ir::Program,
    rank: RankId,
    semaphore: &ir::Semaphore,
    counters: &Counters,
) -> Diagnostic {
    let (acquires, releases) = (&counters.acquires, &counters.releases);
    let place = |user: &Use| user.places.first().map(|origin| program.origins.place(*origin));
    let declared = program.origins.place(semaphore.origin);
    let at = place(acquires).or(place(releases)).unwrap_or(declared);
    let report = Diagnostic::new(
        Code::E0606,
        at,
        format!(
            "`{}` of rank {} is acquired {} and released {} in a launch",
            semaphore.name,
            rank.0,
            acquires.times(),
            releases.times()
        ),
    )
    .note("its value outlives a launch, and must be the same after each");
    match place(releases).filter(|place| *place != at) {
        Some(place) => report.and(place, "released here"),
        None => report,
    }
}
