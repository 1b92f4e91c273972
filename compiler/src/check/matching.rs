//! Balance: who signals, who waits, and how often. The counts must agree in every launch.
//!
//! Counters live as long as the plan. One signal too many lets a wait of the next launch pass early; one too few hangs.
//! So, for each launch:
//! * E0602: no more waits on one end of a channel than signals on the other;
//! * E0603: no more signals than waits;
//! * E0605: one block signals over an end and one waits on it; where signals pass over a port channel, one block puts
//!   over it; one block acquires a semaphore. With several blocks, the schedule would decide which signal a wait receives,
//!   unless they do so in turn ([`in_turn`]). The same goes for several threads of one block that do not meet in
//!   between ([`lanes`]);
//! * E0606: as many releases of a semaphore as acquires.
//!
//! Where its author accepts that the schedule decides, [`shared`](super::shared) takes over.
//!
//! An operation in a pipeline happens once for each window: such operations are counted separately, by window.

mod in_turn;
mod lanes;
mod report;
mod summary;

use super::event_graph::EventGraph;
use super::found::Found;
use crate::bytes;
use crate::diagnostic::{Code, Diagnostic, Label};
use crate::events::{Events, Give, ProxyRequest, SizeClass, StepPlace, StepRepeat, StepSink, Take};
use crate::ir::counter::CounterKind;
use crate::ir::grain::count_parts;
use crate::ir::{self, BlockId, ChannelId, OriginId, RankId, SemaphoreId};
use crate::source::At;
use crate::table::Table;
use in_turn::{ClockEntries, UsedInTurn};
pub(super) use lanes::Unordered;
use lanes::Which;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// A pipeline's windows; none outside pipelines.
type Window = Option<StepRepeat>;

/// How one end of a channel, or a semaphore, is used.
#[derive(Clone, Debug, Default)]
struct Use {
    counts: BTreeMap<Window, u64>,
    blocks: BTreeSet<BlockId>,
    /// The first use in each block.
    places: Vec<OriginId>,
    last: Option<OriginId>,
}

/// A way of using an end of a channel, the blocks that do so, and the verb for it.
type User<'u> = (fn(ChannelId) -> Which, &'u Use, &'static str);

static NO_USE: Use =
    Use { counts: BTreeMap::new(), blocks: BTreeSet::new(), places: Vec::new(), last: None };

impl Use {
    fn add(&mut self, block: BlockId, window: Window, origin: OriginId) {
        *self.counts.entry(window).or_insert(0) += 1;
        if self.blocks.insert(block) || self.places.is_empty() {
            self.places.push(origin);
        }
        self.last = Some(origin);
    }

    fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Whether there are more uses in some window than `others` has.
    fn exceeds(&self, others: &Use) -> bool {
        let others = |window: &Window| others.counts.get(window).copied().unwrap_or(0);
        self.counts.iter().any(|(window, count)| *count > others(window))
    }

    /// "twice", "once, and once in each window of a pipeline"; none where there is no use.
    fn times(&self) -> Option<String> {
        let once = |window: &Window, count: u64| match window {
            None => times(count),
            Some(StepRepeat { unit, .. }) => {
                format!("{} in each window of {}", times(count), bytes::text(*unit))
            }
        };
        let all: Vec<String> =
            self.counts.iter().map(|(window, count)| once(window, *count)).collect();
        (!all.is_empty()).then(|| all.join(", and "))
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

impl Ends {
    /// Those who need to be in order, with the verb for what they do. Puts are among the signals where there are any.
    fn users(&self) -> [User<'_>; 3] {
        let pushes = if self.signals.total() > 0 { &self.pushes } else { &NO_USE };
        [
            (Which::Signals, &self.signals, "signal over"),
            (Which::Waits, &self.waits, "wait on"),
            (Which::Signals, pushes, "put over"),
        ]
    }
}

impl Counters {
    /// Whether a release is missing somewhere.
    fn are_short(&self) -> bool {
        self.acquires.exceeds(&self.releases)
    }
}

/// The signals that pass over a channel in one direction.
struct Flow<'a> {
    /// The channel's name and declaration, on the signaling side if there is one.
    name: &'a str,
    origin: OriginId,
    /// The rank that signals, and the one that waits.
    from: Option<RankId>,
    to: Option<RankId>,
    /// The end that is waited on.
    end: Option<(RankId, ChannelId)>,
    signals: &'a Use,
    waits: &'a Use,
}

impl Flow<'_> {
    /// Whether there are as many waits as signals, in every window.
    fn is_balanced(&self) -> bool {
        self.signals.counts == self.waits.counts
    }

    /// Whether a signal is missing somewhere.
    fn is_short(&self) -> bool {
        self.waits.exceeds(self.signals)
    }
}

struct Uses {
    channels: Table<ChannelId, Ends>,
    semaphores: Table<SemaphoreId, Counters>,
    /// What several blocks use, but only in turn.
    in_turn: UsedInTurn,
}

/// Checks every channel and semaphore.
pub(super) fn check(program: &ir::Program) -> Vec<Diagnostic> {
    let events = Events::new(program, SizeClass::Outline);
    let ordered = |rank| lanes::unordered(&events, rank).is_empty();
    if summary::is_sound(&events) && program.ranks.ids().all(ordered) {
        return Vec::new();
    }
    let entries = ClockEntries::new();
    let uses = program.ranks.ids().map(|rank| uses_of(&events, rank, &entries)).collect();
    let context = Context { program, uses, graph: OnceCell::new() };
    let mut all = All::default();
    for (rank, row) in program.ranks.entries() {
        for (id, channel) in row.channels.entries() {
            context.channel((rank, id), channel, &mut all);
        }
        for (id, semaphore) in row.semaphores.entries() {
            context.semaphore((rank, id), semaphore, &mut all);
        }
        for one in lanes::unordered(&events, rank) {
            let show = |graph: &_, report| report::show_threads(graph, rank, &one, report);
            let report = report::several_threads(program, rank, &one);
            all.threads.add_told(report, context.shown(show));
        }
    }
    all.finish()
}

/// The program that is checked.
struct Context<'p> {
    program: &'p ir::Program,
    uses: Table<RankId, Uses>,
    /// The order of events for witnesses, made on first use: most programs do not need it.
    graph: OnceCell<Option<EventGraph<'p>>>,
}

impl<'p> Context<'p> {
    /// A function that adds to a report a witness of how the finding comes about, where the program can be followed.
    fn shown(
        &self,
        show: impl FnOnce(&EventGraph<'p>, Diagnostic) -> Diagnostic,
    ) -> impl FnOnce(Diagnostic) -> Diagnostic {
        let graph = || EventGraph::new(self.program, count_parts(self.program));
        move |report| match self.graph.get_or_init(graph) {
            Some(graph) => show(graph, report),
            None => report,
        }
    }

    /// A report about several users of a counter of a rank, where it may be that they use it in turn.
    fn noted(&self, rank: RankId, report: Diagnostic) -> Diagnostic {
        let exceeded = self.uses[rank].in_turn.exceeded;
        exceeded.into_iter().fold(report, |report, exceeded| report.note(exceeded.note()))
    }

    fn channel(&self, (rank, id): (RankId, ChannelId), channel: &ir::Channel, all: &mut All) {
        let ends = &self.uses[rank].channels[id];
        let aside = channel.shared || strays(self.program, &self.uses, (rank, id));
        let shared = shared_end(ends, id, &self.uses[rank].in_turn.all);
        if let Some((user, does)) = shared.filter(|_| !aside) {
            let named = (&*channel.name, does);
            let report = report::several_users(self.program, rank, named.0, does, user);
            let report = self.noted(rank, report);
            let show = |graph: &_, report| report::show_users(graph, (rank, user), named, report);
            all.channels.add_told(report, self.shown(show));
        }
        let none = Use::default();
        for flow in flows(&self.uses, (rank, id), channel, &none) {
            let All { channels, surplus, ways, .. } = &mut *all;
            let into = if flow.is_short() { channels } else { surplus };
            let report = report::unequal(self.program, &flow);
            let show = self.shown(|graph, report| report::show_unequal(graph, &flow, report));
            into.add_told(report, |report| {
                ways.insert(report.message.clone(), (flow.from, flow.to));
                show(report)
            });
        }
    }

    fn semaphore(
        &self,
        (rank, id): (RankId, SemaphoreId),
        semaphore: &ir::Semaphore,
        all: &mut All,
    ) {
        let counters = &self.uses[rank].semaphores[id];
        let user = &counters.acquires;
        let balanced = user.counts == counters.releases.counts;
        let in_turn = self.uses[rank].in_turn.all.contains(&Which::Acquires(id));
        if user.blocks.len() > 1 && !semaphore.shared && balanced && !in_turn {
            let named = (&*semaphore.name, "acquire");
            let report = report::several_users(self.program, rank, named.0, named.1, user);
            let report = self.noted(rank, report);
            let show = |graph: &_, report| report::show_users(graph, (rank, user), named, report);
            all.semaphores.add_told(report, self.shown(show));
        }
        if !balanced {
            let report = report::out_of_balance(self.program, rank, semaphore, counters);
            let into = if counters.are_short() { &mut all.semaphores } else { &mut all.spare };
            let show =
                |graph: &_, report| report::show_balance(graph, (rank, id), semaphore, report);
            into.add_told(report, self.shown(show));
        }
    }
}

/// Whether [`check`] would find nothing.
pub(super) fn is_clean(program: &ir::Program) -> bool {
    let events = Events::new(program, SizeClass::Outline);
    let entries = ClockEntries::new();
    let uses: Table<RankId, Uses> =
        program.ranks.ids().map(|rank| uses_of(&events, rank, &entries)).collect();
    let none = Use::default();
    program.ranks.entries().all(|(rank, row)| {
        let channel = |(id, channel): (ChannelId, &ir::Channel)| {
            let Uses { channels, in_turn, .. } = &uses[rank];
            let alone = channel.shared || shared_end(&channels[id], id, &in_turn.all).is_none();
            alone && flows(&uses, (rank, id), channel, &none).is_empty()
        };
        let semaphore = |(id, semaphore): (SemaphoreId, &ir::Semaphore)| {
            let Counters { acquires, releases } = &uses[rank].semaphores[id];
            let in_turn = uses[rank].in_turn.all.contains(&Which::Acquires(id));
            let alone = semaphore.shared || acquires.blocks.len() <= 1 || in_turn;
            alone && acquires.counts == releases.counts
        };
        let balanced =
            row.channels.entries().all(channel) && row.semaphores.entries().all(semaphore);
        balanced && lanes::unordered(&events, rank).is_empty()
    })
}

/// The findings, by subject.
#[derive(Default)]
struct All {
    channels: Found,
    surplus: Found,
    semaphores: Found,
    spare: Found,
    threads: Found,
    /// Who signals whom, by the message of the report about it.
    ways: BTreeMap<String, Way>,
}

/// The rank that signals, and the one that waits.
type Way = (Option<RankId>, Option<RankId>);

impl All {
    fn finish(self) -> Vec<Diagnostic> {
        let mut found = self.channels.finish("channel");
        let mut surplus = self.surplus.finish("channel");
        let mut semaphores = self.semaphores.finish("semaphore");
        let mut spare = self.spare.finish("semaphore");
        join(&mut found, &mut surplus, Code::E0602, |short, stray| {
            report::other_way(self.ways.get(short), self.ways.get(stray))
        });
        join(&mut semaphores, &mut spare, Code::E0606, |_, _| {
            "release the semaphore that is acquired".to_owned()
        });
        let others = [surplus, semaphores, spare, self.threads.finish("place")];
        found.extend(others.into_iter().flatten());
        found
    }
}

/// Joins reports of a missing use with reports of a surplus one, which are the same mistake: the wrong counter was
/// used. Other surplus reports at the places that such a joined report shows are dropped too. `help` makes the advice
/// from two messages.
fn join(
    short: &mut [Diagnostic],
    strays: &mut Vec<Diagnostic>,
    code: Code,
    help: impl Fn(&str, &str) -> String,
) {
    let mut told = BTreeSet::new();
    for report in short.iter_mut().filter(|report| report.code == code) {
        told.extend(places(report));
        if strays.is_empty() {
            return;
        }
        let near = strays.iter().position(|stray| !told.is_disjoint(&places(stray)));
        let stray = strays.remove(near.unwrap_or(0));
        told.extend(places(&stray));
        report.helps = vec![help(&report.message, &stray.message)];
        let label = stray.primary.map(|at| Label { text: stray.message, ..at });
        report.secondary.extend(label);
    }
    strays.retain(|stray| told.is_disjoint(&places(stray)));
}

fn places(report: &Diagnostic) -> BTreeSet<At> {
    report.primary.iter().chain(&report.secondary).map(Label::at).collect()
}

/// The counters that several blocks use, but only in turn: who gives to them, or who takes from them.
/// Found for each rank when it is asked for.
pub(super) struct InTurn<'p> {
    events: Events<'p>,
    ranks: Table<RankId, OnceCell<UsedInTurn>>,
    entries: ClockEntries,
}

impl<'p> InTurn<'p> {
    /// Those of a program.
    pub(super) fn of(program: &'p ir::Program) -> InTurn<'p> {
        let ranks = program.ranks.iter().map(|_| OnceCell::new()).collect();
        let events = Events::new(program, SizeClass::Outline);
        InTurn { events, ranks, entries: ClockEntries::new() }
    }

    /// Whether the blocks of a rank signal over an end of a channel in turn.
    pub(super) fn signals(&self, rank: RankId, id: ChannelId) -> bool {
        self.has(rank, Which::Signals(id))
    }

    /// Whether the blocks of a rank release a semaphore in turn.
    pub(super) fn releases(&self, rank: RankId, id: SemaphoreId) -> bool {
        self.has(rank, Which::Releases(id))
    }

    /// Whether the blocks of a rank take from a counter in turn.
    pub(super) fn takes(&self, rank: RankId, counter: CounterKind) -> bool {
        let which = match counter {
            CounterKind::Channel(id) => Which::Waits(id),
            CounterKind::Semaphore(id) => Which::Acquires(id),
        };
        self.has(rank, which)
    }

    fn has(&self, rank: RankId, which: Which) -> bool {
        let find = || in_turn::in_turn(&self.events, rank, &self.entries);
        self.ranks.lookup(rank).is_some_and(|found| found.get_or_init(find).all.contains(&which))
    }
}

/// Where two threads of a block take from one counter without meeting in between, as its author accepts.
pub(super) fn shared_by_threads(program: &ir::Program) -> Vec<(RankId, Unordered)> {
    let events = Events::new(program, SizeClass::Outline);
    let ranks = program.ranks.entries().filter(|(_, rank)| rank.may_share());
    let on = |(id, _)| lanes::shared(&events, id).into_iter().map(move |one| (id, one));
    ranks.flat_map(on).collect()
}

fn uses_of(events: &Events, rank: RankId, entries: &ClockEntries) -> Uses {
    let program = events.program();
    let row = &program.ranks[rank];
    let uses = Uses {
        channels: row.channels.iter().map(|_| Ends::default()).collect(),
        semaphores: row.semaphores.iter().map(|_| Counters::default()).collect(),
        in_turn: UsedInTurn::default(),
    };
    let (window, origin) = (None, OriginId::default());
    let mut counts = UseCounts { events, rank, block: BlockId::default(), window, origin, uses };
    for block in row.blocks.ids() {
        counts.block = block;
        events.visit_block(rank, block, &mut counts);
    }
    let mut uses = counts.uses;
    let shared = |ends: &Ends| ends.users().into_iter().any(|(_, user, _)| user.blocks.len() > 1);
    let acquired = |row: &Counters| row.acquires.blocks.len() > 1;
    if uses.channels.iter().any(shared) || uses.semaphores.iter().any(acquired) {
        uses.in_turn = in_turn::in_turn(events, rank, entries);
    }
    uses
}

/// Counts the uses of a rank's counters, step by step.
struct UseCounts<'a, 'p> {
    events: &'a Events<'p>,
    rank: RankId,
    block: BlockId,
    /// Of the current step.
    window: Window,
    origin: OriginId,
    uses: Uses,
}

impl UseCounts<'_, '_> {
    fn signal(&mut self, channel: ChannelId) {
        self.uses.channels[channel].signals.add(self.block, self.window, self.origin);
    }
}

impl StepSink for UseCounts<'_, '_> {
    const ASKS_FOR_MEMORY: bool = false;

    fn open_step(&mut self, place: &StepPlace) {
        self.window = place.repeat;
        self.origin = place.origin;
    }

    fn take(&mut self, take: Take) {
        let uses = match self.events.kind_on(self.rank, take.counter) {
            CounterKind::Channel(channel) => &mut self.uses.channels[channel].waits,
            CounterKind::Semaphore(semaphore) => &mut self.uses.semaphores[semaphore].acquires,
        };
        uses.add(self.block, self.window, self.origin);
    }

    fn give(&mut self, give: Give) {
        match (give.channel, give.counter) {
            (Some(channel), _) => self.signal(channel),
            (None, Some(counter)) => {
                let kind = self.events.kind_on(self.rank, counter);
                if let CounterKind::Semaphore(semaphore) = kind {
                    let releases = &mut self.uses.semaphores[semaphore].releases;
                    releases.add(self.block, self.window, self.origin);
                }
            }
            (None, None) => {}
        }
    }

    fn request(&mut self, request: ProxyRequest) {
        if request.put.is_some() {
            let pushes = &mut self.uses.channels[request.channel].pushes;
            pushes.add(self.block, self.window, self.origin);
        }
        if request.signal.is_some() {
            self.signal(request.channel);
        }
    }
}

/// The unbalanced flows of a channel: the signals from this end, and the waits on it where it has no other end.
fn flows<'a>(
    uses: &'a Table<RankId, Uses>,
    (rank, id): (RankId, ChannelId),
    channel: &'a ir::Channel,
    none: &'a Use,
) -> Vec<Flow<'a>> {
    let ends = &uses[rank].channels[id];
    let (name, origin) = (&*channel.name, channel.origin);
    let end = channel.peer().zip(channel.partner);
    let there = end.and_then(|(peer, there)| uses.lookup(peer)?.channels.lookup(there));
    let signalled = Flow {
        name,
        origin,
        from: Some(rank),
        to: end.map(|(peer, _)| peer),
        end,
        signals: &ends.signals,
        waits: there.map_or(none, |ends| &ends.waits),
    };
    let waited = Flow {
        name,
        origin,
        from: None,
        to: Some(rank),
        end: Some((rank, id)),
        signals: none,
        waits: &ends.waits,
    };
    let waited = Some(waited).filter(|_| channel.partner.is_none());
    [Some(signalled), waited].into_iter().flatten().filter(|flow| !flow.is_balanced()).collect()
}

/// Whether the signals and waits of a channel differ in number, in either direction. Blocks that share such a channel
/// probably use the wrong one, and the difference is reported instead of the sharing.
fn strays(program: &ir::Program, uses: &Table<RankId, Uses>, end: (RankId, ChannelId)) -> bool {
    let none = Use::default();
    let channel = |(rank, id)| program.ranks.lookup(rank)?.channels.lookup(id);
    let differ = |end, channel| !flows(uses, end, channel, &none).is_empty();
    let Some(here) = channel(end) else { return false };
    let other = here.peer().zip(here.partner);
    let there = other.and_then(|other| Some((other, channel(other)?)));
    differ(end, here) || there.is_some_and(|(other, there)| differ(other, there))
}

/// A use of a channel's end that several blocks share, and the verb for it; none where they use it in turn.
fn shared_end<'a>(
    ends: &'a Ends,
    id: ChannelId,
    in_turn: &BTreeSet<Which>,
) -> Option<(&'a Use, &'static str)> {
    let shared =
        |(which, user, _): &User<'_>| user.blocks.len() > 1 && !in_turn.contains(&which(id));
    ends.users().into_iter().find(shared).map(|(_, user, does)| (user, does))
}

/// "once", "twice", "3 times"; `count` is positive.
fn times(count: u64) -> String {
    match count {
        1 => "once".to_string(),
        2 => "twice".to_string(),
        more => format!("{more} times"),
    }
}
